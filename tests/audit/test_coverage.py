"""Whether printed errors hold: how often they cover what is there without noise.

The truth is computed apart, in plain numpy. A coverage below 95% is a failure; one
above it only costs width, and nothing is asserted of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from checks.kinds import attached
from checks.power import confirmed, covers, draws
from checks.releases import seen
from checks.truths import KEYS, SHAPES, Truth, truth

from dpframe.releases.intervals import ends

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.audit

CONFIDENCE = 0.95
ROUNDING = 1e-6
"""What the column's grid may move a figure by, far below every noise here."""

STATISTICS: dict[str, tuple[Callable[..., Any], Callable[[Truth], float]]] = {
    "count": (lambda groups: groups.count(epsilon=1), Truth.count),
    "sum": (lambda groups: groups.sum("x", epsilon=1), Truth.sum),
    "mean": (lambda groups: groups.mean("x", epsilon=1), Truth.mean),
    "var": (lambda groups: groups.var("x", epsilon=1), Truth.var),
    "std": (lambda groups: groups.std("x", epsilon=1), Truth.std),
    "count of units": (
        lambda groups: groups.count(of="units", epsilon=1),
        lambda rows: rows.units().count(),
    ),
    "mean of units": (
        lambda groups: groups.mean("x", of="units", epsilon=1),
        lambda rows: rows.units().mean(),
    ),
    "std of units": (
        lambda groups: groups.std("x", of="units", epsilon=1),
        lambda rows: rows.units().std(),
    ),
}
both_laws = pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
CASES = [
    pytest.param(name, shape, unit, id=f"{name}-{shape}-{'units' if unit else 'rows'}")
    for name in STATISTICS
    for shape in SHAPES
    for unit in (False, True)
    if unit or "units" not in name
]


def keeps(hits: Callable[[int], tuple[int, int]], number: int) -> bool:
    """Whether hits, of so many tries, leave the coverage at 95% or more."""

    def rejects(tries: int) -> bool:
        found, of = hits(tries)
        return not covers(found, of, CONFIDENCE)

    return not confirmed(rejects, number)


@pytest.mark.parametrize(("name", "shape", "unit"), CASES)
@both_laws
def test_errors_of_a_figure_cover_it(
    name: str,
    shape: str,
    unit: bool,  # noqa: FBT001 - a case
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    """One release of a thousand groups that hold the same rows: a thousand tries."""
    ask, exact = STATISTICS[name]
    rows = truth(shape, unit=unit)
    groups = draws(1000)
    frame = rows.copies(groups, unit=unit, gaussian=gaussian)
    keys = [str(group) for group in range(groups)]
    wanted = exact(rows)

    def hits(number: int, *, by_interval: bool) -> tuple[int, int]:
        found = 0
        for _ in range(number // groups):
            release = ask(frame.dp.group_by("k", keys=keys))
            values = release.to_numpy().astype(float)
            if by_interval:
                ends = release.interval(CONFIDENCE).to_polars()
                lower, upper = ends["lower"].to_numpy(), ends["upper"].to_numpy()
            else:
                width = release.accuracy(CONFIDENCE)
                lower, upper = values - width, values + width
            inside = (lower - ROUNDING <= wanted) & (wanted <= upper + ROUNDING)
            found += int(inside.sum())
        return found, number // groups * groups

    assert keeps(lambda n: hits(n, by_interval=False), groups)
    assert keeps(lambda n: hits(n, by_interval=True), groups)


@both_laws
def test_errors_that_are_too_small_are_found(gaussian: bool) -> None:  # noqa: FBT001 - a case
    rows = truth("plain", unit=False)
    groups = draws(1000)
    frame = rows.copies(groups, unit=False, gaussian=gaussian)
    keys = [str(group) for group in range(groups)]
    release = frame.dp.group_by("k", keys=keys).mean("x", epsilon=1)
    misses = np.abs(release.to_numpy() - rows.mean())
    width = release.accuracy(CONFIDENCE)
    assert covers(int((misses <= width).sum()), groups, CONFIDENCE)
    assert not covers(int((misses <= width / 1.5).sum()), groups, CONFIDENCE)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("name", ["count", "mean", "std"])
def test_errors_of_a_single_figure_cover_it(name: str, unit: bool) -> None:  # noqa: FBT001 - a case
    rows = truth("plain", unit=unit)
    ask, exact = STATISTICS[name]
    shown = seen(rows.frame(unit=unit), ask)
    wanted = exact(rows)

    def hits(number: int) -> tuple[int, int]:
        releases = list(shown.again(number))
        ends = [release.interval(CONFIDENCE) for release in releases]
        return sum(e.lower <= wanted <= e.upper for e in ends), number

    assert keeps(hits, draws(500))


@pytest.mark.parametrize("shape", SHAPES)
@both_laws
def test_all_cells_of_a_table_keep_their_error_together(
    shape: str,
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    rows = truth(shape, unit=True)
    frame = rows.frame(unit=True, gaussian=gaussian)
    shown = seen(frame, lambda dp: dp.histogram("k", epsilon=1))

    def hits(number: int) -> tuple[int, int]:
        found = 0
        for release in shown.again(number):
            ends = release.interval(CONFIDENCE, joint=True).to_polars()
            low, high = ends["lower"].to_numpy(), ends["upper"].to_numpy()
            found += bool(np.all((low <= rows.shares()) & (rows.shares() <= high)))
        return found, number

    assert keeps(hits, draws(1000))


@both_laws
def test_a_loss_found_for_an_error_keeps_it_in_all_cells_together(
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    rows = truth("plain", unit=False)
    frame = rows.frame(unit=False, gaussian=gaussian)
    shown = seen(frame, lambda dp: dp.histogram("k", keys=list(KEYS), within=7))

    def hits(number: int) -> tuple[int, int]:
        tables = [release.to_numpy() for release in shown.again(number)]
        return sum(bool(np.all(abs(t - rows.shares()) <= 7)) for t in tables), number

    assert keeps(hits, draws(1000))


@pytest.mark.parametrize("name", ["mean", "std"])
@both_laws
def test_a_loss_found_for_an_error_keeps_it_for_a_moment(
    name: str,
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    rows = truth("skewed", unit=False)
    _, exact = STATISTICS[name]
    size, within = len(rows.weights), 0.2

    def ask(dp: Any) -> Any:
        return getattr(dp, name)("x", within=within, rows=size)

    shown = seen(rows.frame(unit=False, gaussian=gaussian), ask)
    wanted = exact(rows)

    def hits(number: int) -> tuple[int, int]:
        values = [float(release) for release in shown.again(number)]
        return sum(abs(value - wanted) <= within for value in values), number

    assert keeps(hits, draws(500))


MODELS = {
    "auto": {"norm": "box"},
    "linf": {"norm": "box", "method": "linf"},
    "sym": {"norm": "box", "method": "sym"},
    "dwork": {"norm": "box", "method": "dwork"},
    "gauss": {"norm": "box", "method": "gauss"},
}


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", MODELS)
def test_errors_of_moments_cover_every_entry(
    method: str,
    shape: str,
    unit: bool,  # noqa: FBT001 - a case
) -> None:
    rows = truth(shape, unit=unit)
    frame = rows.frame(unit=unit, gaussian=method == "gauss")
    shown = seen(frame, lambda dp: dp.mean_cov(["x", "y"], epsilon=1, **MODELS[method]))
    mean, cov = rows.moments()
    spread = np.sqrt(np.diag(cov))
    wanted = np.array([rows.count(), *mean, *cov.ravel()])
    corr = float(cov[0, 1] / spread.prod())

    def inside(release: Any) -> list[bool]:
        ends = release.interval(CONFIDENCE).to_polars()
        low, high = ends["lower"].to_numpy(), ends["upper"].to_numpy()
        entries = (low - ROUNDING <= wanted) & (wanted <= high + ROUNDING)
        least, most = release.corr().interval(CONFIDENCE)
        return [*entries.tolist(), bool(least[0, 1] <= corr <= most[0, 1])]

    table = np.array([inside(release) for release in shown.again(draws(100))])
    for entry in range(table.shape[1]):

        def hits(number: int, entry: int = entry) -> tuple[int, int]:
            if number == len(table):
                return int(table[:, entry].sum()), number
            again = [inside(release)[entry] for release in shown.again(number)]
            return sum(again), number

        assert keeps(hits, len(table)), f"entry {entry}"


# The population that the rows were drawn from


def samples(
    groups: int, *, unit: bool, spread: bool, gaussian: bool = False
) -> tuple[Any, float]:
    """Return a frame of samples from one population, and the mean of that.

    With `unit`, everybody has two rows that are alike. With `spread`, values lie
    evenly between the bounds; else at the bounds alone.
    """
    random = np.random.default_rng()
    size = 300 * groups
    values = random.uniform(-1, 3, size)
    if not spread:
        values = np.where(values < 2, -1.0, 3.0)
    people, copies = np.arange(size), 2 if unit else 1
    rows = {
        "u": np.repeat(people, copies),
        "k": np.repeat((people % groups).astype(str), copies),
        "x": np.repeat(values, copies),
        "y": np.repeat(random.uniform(0, 1, size), copies),
    }
    return attached(rows, unit=unit, gaussian=gaussian), 1.0 if spread else 0.0


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("spread", [False, True])
@both_laws
def test_intervals_for_a_population_cover_its_mean(
    unit: bool,  # noqa: FBT001 - a case
    spread: bool,  # noqa: FBT001 - a case
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    def hits(number: int) -> tuple[int, int]:
        frame, wanted = samples(number, unit=unit, spread=spread, gaussian=gaussian)
        groups = frame.dp.group_by("k", keys=[str(group) for group in range(number)])
        release = groups.agg(
            {"x mean": ("x", "mean"), "x std": ("x", "std")}, epsilon=1
        )
        if not spread:
            release = groups.mean("x", epsilon=1)
        mean = release.figures[0]
        lower, upper = ends(
            mean,
            CONFIDENCE,
            sampling=release.saved_parts()["sampling"][mean.name],
            population=True,
        )
        return int(((lower <= wanted) & (wanted <= upper)).sum()), number

    found = hits(draws(1000))
    assert keeps(hits, draws(1000)), found


@pytest.mark.parametrize("unit", [False, True])
def test_intervals_for_a_population_cover_the_means_of_several_columns(
    unit: bool,  # noqa: FBT001 - a case
) -> None:
    def hits(number: int) -> tuple[int, int]:
        found = 0
        for _ in range(number):
            frame, wanted = samples(1, unit=unit, spread=True)
            release = frame.dp.mean_cov(["x", "y"], epsilon=1)
            rows = release.interval(CONFIDENCE, population=True).to_dicts()
            mean = rows[1]
            found += mean["lower"] <= wanted <= mean["upper"]
        return found, number

    assert keeps(hits, draws(200))
