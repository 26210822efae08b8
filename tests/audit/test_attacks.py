"""Known attacks on private releases, tried on these."""

from __future__ import annotations

import logging
import math
import os
import re
import time
import traceback
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks import promises
from checks.kinds import BASE, FINE, FULL, KINDS, SUM_UNIT, Kind, attached
from checks.power import ALPHA, confirmed, draws
from checks.promises import BY_NAME
from checks.releases import bulk, seen
from scipy import stats

import dpframe
from dpframe.noise import DiscreteGaussian, DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.noise import Noise

pytestmark = pytest.mark.audit

PACKAGE = Path(dpframe.__file__).parent
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.name) for kind in KINDS]
)


# Holes and low bits of the outputs (Mironov 2012; Haney et al. 2022)


def test_every_released_sum_is_a_whole_number_of_grid_steps() -> None:
    for frame in BY_NAME["sum without unit"].frames():
        for _ in range(200):
            raw = frame.dp.sum("x", epsilon=1).raw
            assert (Fraction(raw) / SUM_UNIT).denominator == 1


def test_what_one_neighbor_often_releases_the_other_releases_too() -> None:
    here, there = (
        seen(frame, BY_NAME["count without unit"].ask)
        for frame in BY_NAME["count without unit"].frames()
    )
    sides: list[Any] = []
    for shown in (here, there):
        ((part, block, exact),) = shown.blocks
        noise = bulk(part.noise(block), 1, draws(100_000))[:, 0]
        sides.append(exact[0] + noise)
    for one, other in (sides, sides[::-1]):
        outputs, times = np.unique(one, return_counts=True)
        frequent = outputs[times >= 100]
        assert len(frequent) > 5
        assert np.isin(frequent, other).all()


def low_bits(values: Any) -> Any:
    """Return the exponent of the lowest set bit of each float."""
    mantissas, exponents = np.frexp(values)
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    return exponents - 53 + np.log2(whole & -whole).astype(np.int64)


def bits_tell_apart(first: Any, second: Any) -> float:
    """Return the p-value of equal low bits among small outputs of two neighbours."""
    kept = [low_bits(v[(v > 0) & (v < 0.06)]) for v in (first, second)]
    least = min(bits.min() for bits in kept)
    table = np.stack([np.bincount(b - least, minlength=80) for b in kept])
    table = table[:, table.sum(axis=0) >= 20]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


@pytest.mark.parametrize(
    ("noise", "inexact"),
    [
        (DiscreteLaplace(scale=1 / SUM_UNIT), "laplace"),
        (DiscreteGaussian(sigma2=1 / SUM_UNIT**2), "normal"),
    ],
)
def test_low_bits_do_not_tell_neighbors_apart(noise: Noise, inexact: str) -> None:
    sums = [0, round(1 / SUM_UNIT)]  # 0 and 1
    number = draws(500_000)
    ours = [(noise.sample(number) + s) * float(SUM_UNIT) for s in sums]
    for values in ours:
        assert low_bits(values[values != 0]).min() >= round(math.log2(SUM_UNIT))
    assert bits_tell_apart(*ours) > ALPHA
    floats = getattr(np.random.default_rng(1), inexact)
    theirs = [s + floats(size=number) for s in (0.0, 1.0)]
    assert bits_tell_apart(*theirs) < ALPHA


# Randomness (weak generators, seeds, a broken source)


@every_kind
def test_no_release_asks_a_pseudo_random_generator(kind: Kind) -> None:
    promises.noise_is_not_pseudo_random(kind)


def test_no_file_imports_one() -> None:
    wanted = re.compile(r"import random|from random|(np|numpy)\.random|default_rng")
    for path in PACKAGE.rglob("*.py"):
        assert not wanted.search(path.read_text(encoding="utf-8")), path.name


def test_no_public_parameter_is_a_seed() -> None:
    promises.no_seed_is_accepted()
    assert len(promises.public_callables()) > 50
    assert "testing" not in dpframe.__all__


def _failing(_: int) -> bytes:
    raise OSError


BROKEN: dict[str, Callable[[int], bytes]] = {
    "all zero": bytes,
    "all one": lambda size: b"\xff" * size,
    "short": lambda size: os.getrandom(size)[:-1],
    "failing": _failing,
}


@pytest.mark.parametrize("name", BROKEN)
@every_kind
def test_a_broken_source_of_randomness_releases_nothing(
    kind: Kind, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = attached(BASE, unit=kind.unit, epsilon=3)
    budget = frame.private_state.accountant
    kind.ask(frame.dp)  # fills caches of public tables
    monkeypatch.setattr("dpframe.noise.randomness.os.urandom", BROKEN[name])
    # A charge's name comes from the same source; here the noise is to miss it.
    monkeypatch.setattr("dpframe.privacy.accountant.new_identity", lambda: "named")
    with pytest.raises(dpframe.RandomnessError):
        kind.ask(frame.dp)
    assert budget.spent.epsilon == 2
    states = budget.events.to_polars()["state"].to_list()
    assert states == ["charged", "released", "charged"]


@pytest.mark.parametrize("name", ["short", "failing"])
def test_a_charge_that_cannot_be_named_spends_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = attached(BASE, epsilon=1)
    monkeypatch.setattr("os.urandom", BROKEN[name])
    with pytest.raises(dpframe.RandomnessError, match="Nothing was released or spent"):
        frame.dp.count(epsilon=1)
    assert frame.private_state.accountant.spent.epsilon == 0


# Time (Jin et al. 2022): in processor time of the thread, and only by rank


def rank_correlation(draw: Callable[[], int], number: int) -> float:
    """Return how the size of noise and the time that it took rise together."""
    sizes, times = np.empty(number), np.empty(number)
    for place in range(number):
        start = time.thread_time_ns()
        noise = draw()
        times[place] = time.thread_time_ns() - start
        sizes[place] = abs(noise)
    return float(stats.spearmanr(sizes, times).statistic)


def one_by_one() -> int:
    """Draw a geometric integer by counting, as a naive sampler does."""
    count = 0
    while DIE.random() > 1 / 40:
        count += 1
    return count


DIE = np.random.default_rng(1)


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplace(scale=Fraction(1)),
        DiscreteLaplace(scale=Fraction(FULL * FINE)),
        DiscreteGaussian(sigma2=Fraction(37**2)),
        DiscreteGaussian(sigma2=Fraction(FULL * FINE) ** 2),
    ],
)
def test_time_does_not_tell_the_size_of_the_noise(noise: Noise) -> None:
    def tells(number: int) -> bool:
        found = rank_correlation(lambda: int(noise.sample(1)[0]), number)
        return abs(found) * math.sqrt(number) > stats.norm.isf(ALPHA / 2)

    assert not confirmed(tells, draws(20_000))
    assert rank_correlation(one_by_one, 2_000) > 0.3


# Averaging and replay


def test_equal_calls_are_charged_each_and_never_replayed() -> None:
    frame = attached(BASE, epsilon=1)
    tables = [
        frame.dp.histogram("x", bins=64, epsilon=Fraction(1, 50)) for _ in range(50)
    ]
    assert len({tuple(table.raw["count"].to_list()) for table in tables}) == 50
    with pytest.raises(dpframe.BudgetExceededError):
        frame.dp.histogram("x", bins=64, epsilon=Fraction(1, 50))


# Charges before rows


@every_kind
def test_rows_are_read_after_the_charge_alone(kind: Kind) -> None:
    promises.charges_come_first(kind)


@every_kind
def test_a_frame_that_fails_keeps_its_charge_and_its_words(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = attached(BASE, unit=kind.unit, epsilon=1)

    def failing(*_: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(dpframe.PrivatePolars, "scan", failing)
    with pytest.raises(dpframe.EvaluationError) as caught:
        kind.ask(frame.dp)
    assert leaks(everything_of(caught.value)) == []
    assert frame.private_state.accountant.remaining.epsilon == 0
    states = frame.private_state.accountant.events.to_polars()["state"].to_list()
    assert states == ["charged"]


# Words (a cell in a message, a repr, a log or a file)

CANARY = "CANARY-zebra-piano"
NUMBER = 918273645546372
CANARIES = ("CANARY", "zebra", "piano", "9182736", "9.182736", "9_182")


def leaks(text: str) -> list[str]:
    """Return the canaries in a text."""
    return [canary for canary in CANARIES if canary in text]


def everything_of(error: BaseException) -> str:
    """Return all words of an error: causes, contexts, notes and fields."""
    parts = [*traceback.format_exception(error)]
    seen_errors: list[BaseException | None] = [error, error.__cause__]
    seen_errors += [error.__context__]
    for one in seen_errors:
        if one is not None:
            notes = getattr(one, "__notes__", [])
            parts += [str(one), repr(one), repr(vars(one)), *notes]
    return "\n".join(parts)


CELLS = {
    "u": [CANARY, CANARY, f"{CANARY}2", None],
    "k": [CANARY, f"{CANARY}3", None, CANARY],
    "x": [float(NUMBER), NUMBER + 0.5, float("nan"), -float(NUMBER)],
    "y": [float(NUMBER), NUMBER + 1.0, None, -float(NUMBER)],
}


def canary_frames() -> list[Any]:
    """Return private frames of both libraries with a canary in every cell."""
    declared: dict[str, Any] = {
        "privacy_unit": "u",
        "max_rows": 2,
        "max_groups": 2,
        "bounds": {"x": (-1, 3), "y": (0, 1)},
        "domain": {"k": ["a", "b", "c"]},
    }
    budget = dpframe.Accountant(epsilon=10**6)
    eager = pl.DataFrame(CELLS, strict=False)
    whole = eager.with_columns(pl.col("y").cast(pl.Int64))
    natives: list[Any] = [eager, eager.lazy(), pd.DataFrame(CELLS), whole]
    return [native.dp.attach(budget, **declared) for native in natives]


ASKS = [kind for kind in KINDS if kind.unit]
WRONG: list[Any] = [None, True, "1", 0, -1, math.nan, math.inf, [1], 1j, 51, 10**7]
BAD: list[Callable[[Any], Any]] = [
    *(lambda f, e=e: f.dp.count(epsilon=e) for e in WRONG),
    *(lambda f, e=e: f.dp.histogram("k", epsilon=e) for e in WRONG),
    *(lambda f, e=e: f.dp.sum("x", bounds=(0, e), epsilon=1) for e in WRONG[2:9]),
    *(lambda f, e=e: f.dp.mean("x", bounds=e, epsilon=1) for e in WRONG[1:9]),
    *(lambda f, e=e: f.dp.mean("x", within=e) for e in WRONG[:9]),
    *(lambda f, e=e: f.dp.histogram("x", bins=e, epsilon=1) for e in WRONG[1:9]),
    *(lambda f, e=e: f.dp.mean_cov(e, epsilon=1) for e in WRONG[:9]),
    *(lambda f, e=e: f.dp.contingency(["k", "k"], bins=e, epsilon=1) for e in WRONG),
    *(lambda f, e=e: f.dp.bounds(x=e) for e in WRONG),
    *(lambda f, e=e: f.dp.domain(k=e) for e in WRONG[1:9]),
    *(lambda f, e=e: f.dp.contributions(max_rows=e) for e in WRONG[1:9]),
    *(
        lambda f, m=m: getattr(f.dp, m)("none", epsilon=1)
        for m in ("sum", "mean", "var", "std", "histogram", "value_counts", "n_unique")
    ),
    *(
        lambda f, m=m: getattr(f.dp, m)("k", epsilon=1)
        for m in ("sum", "mean", "var", "std")
    ),
    lambda f: f.dp.group_by("u").count(epsilon=1),
    lambda f: f.dp.value_counts("u", epsilon=1),
    lambda f: f.dp.agg(a=("x", "median"), epsilon=1),
    lambda f: f.dp.nothing(),
    lambda f: f["x"].sum(),
    lambda f: f.collect(),
    lambda f: f.head(1),
    lambda f: f.sort("x"),
    lambda f: f.join(f, on="u"),
    lambda f: f.to_pandas(),
    lambda f: f.to_dict(),
    lambda f: f.x.max(),
    lambda f: f.describe(),
    len,
    list,
    bool,
    lambda f: f == f,  # noqa: PLR0124 - the comparison is what is refused
    lambda f: f[0],
    lambda f: f.iloc[0],
    lambda f: f.loc[f["x"] > 0],
    lambda f: f.apply(print),
    lambda f: f.map_rows(print),
    lambda f: f.with_columns(pl.col("x").rank()),
    lambda f: f.with_columns(pl.col("k").cast(pl.Int64)).dp.mean(
        "k", bounds=(0, 1), epsilon=1
    ),
    lambda f: f.filter(pl.col("x") > pl.col("x").mean()),
    lambda f: f.with_columns(z=pl.col("k").str.to_date("%Y")).dp.count("z", epsilon=1),
    lambda f: f.assign(z=lambda d: d["k"].astype(int)).dp.count("z", epsilon=1),
    lambda f: f.query("x > @f"),
]


def test_no_error_quotes_a_cell(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    raised = 0
    words: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for frame in canary_frames():
            for bad in BAD:
                try:
                    words.append(repr(bad(frame)))
                except Exception as error:  # noqa: BLE001 - every error is read
                    raised += 1
                    words.append(everything_of(error))
    printed = capsys.readouterr()
    words += [str(warning.message) for warning in warned]
    words += [caplog.text, printed.out, printed.err]
    assert raised > 300
    assert [text for text in words if leaks(text)] == []


def test_no_release_shows_a_cell(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    words: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for place, frame in enumerate(canary_frames()):
            words += [repr(frame), str(frame), repr(frame.dp.state)]
            fractional = frame.schema["y"] != pl.Int64()
            asks = [k.ask for k in ASKS if fractional or k.name != "boxes"]
            for index, ask in enumerate(asks):
                words.append(repr(ask(frame.dp.preview)))
                release = ask(frame.dp)
                path = release.save(tmp_path / f"{place}-{index}")
                words += [repr(release), str(release), release._repr_html_()]
                words += [repr(release.provenance), release.guarantee]
                words.append(repr(release.raw))
                rows = (dpframe.SyntheticIntervals, dpframe.HalfspaceOracle)
                if not isinstance(release, rows):
                    words.append(repr(release.interval()))
                words += [repr(release.to_dict()), repr(release.noise)]
                words.append(path.read_bytes().decode("latin-1"))
                words.append(repr(dpframe.load(path)))
            budget = frame.dp.state.accountant
            words += [repr(budget), budget._repr_html_()]
            words.append(repr(budget.events.to_dicts()))
    printed = capsys.readouterr()
    words += [str(warning.message) for warning in warned]
    words += [caplog.text, printed.out, printed.err]
    assert len(words) > 500
    assert [text for text in words if leaks(text)] == []


def test_the_canary_is_found_where_it_is() -> None:
    assert leaks(repr(pl.DataFrame(CELLS, strict=False).to_dicts()))
