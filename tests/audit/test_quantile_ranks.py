"""Whether printed rank errors, and those of distributions, hold as often as they say.

One release of a thousand groups that hold the same rows is a thousand tries. The ranks
are computed apart, in plain numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from checks.power import confirmed, covers, draws

import dpframe

pytestmark = pytest.mark.audit

CONFIDENCE = 0.95
TOP = 200
MOST = 2
"""Rows of a unit that count in full."""

Array = np.ndarray[Any, np.dtype[Any]]

RNG = np.random.default_rng(5)
ROWS: dict[str, Array] = {
    "spread": RNG.integers(0, TOP + 1, 60),
    "tied": np.repeat([20, 21, 150], [40, 7, 20]),
    "skewed": np.minimum(RNG.geometric(0.08, 60), TOP),
    "few": np.array([3, 150]),
}
LEVELS: dict[str, list[float]] = {
    "median": [0.5],
    "high": [0.9],
    "quartiles": [0.75, 0.25, 0.5],
    "deciles": [k / 10 for k in range(1, 10)],
}


def owners(rows: int) -> Array:
    """Return each row's unit: every third one has five rows, the others one."""
    sizes = np.resize([1, 1, 5], rows)
    return np.repeat(np.arange(rows), sizes)[:rows]


def weights(values: Array, *, unit: bool) -> Array:
    if not unit:
        return np.ones(len(values))
    units = owners(len(values))
    return np.minimum(1, MOST / np.bincount(units, minlength=1)[units])


def copies(values: Array, groups: int, *, unit: bool, gaussian: bool) -> Any:
    """Return a private frame of groups that hold the same rows, each of own units."""
    group = np.repeat(np.arange(groups), len(values))
    data = {"x": np.tile(values, groups), "k": group}
    declared: dict[str, Any] = {}
    if unit:
        each = np.tile(owners(len(values)), groups)
        data["u"] = group * (len(values) + 1) + each
        declared = {"privacy_unit": "u", "max_rows": MOST}
    budget = {"rho": 10**6} if gaussian else {"epsilon": 10**6}
    frame: Any = pl.DataFrame(data)
    return frame.dp.attach(
        dpframe.Accountant(**budget),
        bounds={"x": (0, TOP)},
        domain={"k": list(range(groups))},
        **declared,
    )


def rank_errors(values: Array, weight: Array, points: Array, level: Any) -> Array:
    """Return how many rows too many lie on one side of each point."""
    below = ((values < points[:, None]) * weight).sum(axis=1)
    above = ((values > points[:, None]) * weight).sum(axis=1)
    total = weight.sum()
    sides = [below - level * total, above - (1 - level) * total]
    return np.maximum(np.max(sides, axis=0), 0)


def keeps(hits: Any, number: int, *, times: int = 1) -> bool:
    """Whether tries, so many at a time, leave the coverage at 95% or more."""

    def rejects(rounds: int) -> bool:
        found = sum(hits() for _ in range(rounds))
        return not covers(found, rounds * number, CONFIDENCE)

    return not confirmed(rejects, times)


@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("shape", ["spread", "tied", "few"])
@pytest.mark.parametrize("asked", LEVELS)
def test_rank_errors_cover_the_ranks(
    asked: str, shape: str, *, unit: bool, gaussian: bool
) -> None:
    values, levels, groups = ROWS[shape], LEVELS[asked], draws(200)
    weight = weights(values, unit=unit)
    by_group = copies(values, groups, unit=unit, gaussian=gaussian).dp.group_by("k")

    def hits() -> int:
        made = by_group.quantile("x", levels, epsilon=0.5)
        points = made.to_polars()["x"].to_numpy()
        level = np.tile(levels, groups)
        errors = rank_errors(values, weight, points, level)
        inside = (errors <= made.accuracy(CONFIDENCE) + 1e-9).reshape(groups, -1)
        return int(inside.all(axis=1).sum())

    assert keeps(hits, groups)


def test_rank_errors_that_are_too_small_are_found() -> None:
    """On rows that are all alike every other point is as far off as there are rows."""
    values, groups = np.full(21, 100), draws(1000)
    by_group = copies(values, groups, unit=False, gaussian=False).dp.group_by("k")
    made = by_group.median("x", epsilon=0.5)
    points = made.to_polars()["x"].to_numpy()
    errors = rank_errors(values, np.ones(len(values)), points, 0.5)
    assert covers(int((errors <= made.accuracy()).sum()), groups, CONFIDENCE)
    small = made.accuracy() / 1.6
    assert not covers(int((errors <= small).sum()), groups, CONFIDENCE)


@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("bins", [3, 20, 200])
def test_errors_of_a_distribution_cover_it(
    bins: int, *, unit: bool, gaussian: bool
) -> None:
    for shape in ("skewed", "few"):
        values = ROWS[shape]
        weight = weights(values, unit=unit)
        edges = np.linspace(0, TOP, bins + 1)[1:]
        inside = (values < edges[:, None]) | (edges[:, None] == TOP)
        truth = (inside * weight).sum(axis=1) / weight.sum()
        frame = copies(values, 1, unit=unit, gaussian=gaussian)

        def hits(frame: Any = frame, truth: Array = truth) -> int:
            made = frame.dp.cdf("x", bins=bins, epsilon=0.5)
            ends = made.interval(CONFIDENCE).to_polars()
            lower, upper = ends["lower"].to_numpy(), ends["upper"].to_numpy()
            return int(((lower <= truth + 1e-9) & (truth - 1e-9 <= upper)).all())

        assert keeps(hits, 1, times=draws(100))
