"""Whether the errors of intervals and boxes hold: how often they cover the truth.

The truth is counted apart, in plain numpy. What is claimed for all intervals together
is tested on the worst of them in each release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.power import covers, draws
from checks.releases import seen

import dpframe
from dpframe.adaptive.session import CHANCE, Session
from dpframe.query import Search
from dpframe.releases.intervals import ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from checks.releases import Seen

pytestmark = pytest.mark.audit

Array = np.ndarray[Any, np.dtype[Any]]
CONFIDENCE = 0.95
NUMBER = 120
LEVELS = (0.0, 0.02, 0.25, 0.5, 0.9, 1.0)


@dataclass(frozen=True)
class World:
    """Codes of rows on a grid, and a release of all their intervals."""

    codes: Array
    size: int
    release: Seen

    @property
    def below(self) -> Array:
        """How many rows lie below each code, the size included."""
        found: Array = np.searchsorted(self.codes, np.arange(self.size + 1))
        return found

    def releases(self, number: int) -> Iterator[Any]:
        """Return releases of the same rows, each with fresh noise."""
        (part,) = self.release.query.parts
        if not isinstance(part, Search):
            return self.release.again(number)
        return self._searched(part, number)

    def _searched(self, part: Search, number: int) -> Iterator[Any]:
        for _ in range(number):
            session = Session(
                orders=self.release.exact[0],
                ordering=part.ordering,
                allowance=part.loss,
                chance=CHANCE,
            )
            yield self.release.finish((part.run(session),))


SHAPES: dict[str, Callable[[int], Array]] = {
    "flat": lambda size: np.repeat(np.arange(size), max(4000 // size, 1)),
    "atoms": lambda size: np.repeat([size // 3, size // 3 + 1, size - 1], 400),
    "clumped": lambda size: np.sort((np.arange(2000) * 37 % 1000 // 40) ** 2 % size),
}


@cache
def world(shape: str, size: int, method: str, noise: str) -> World:
    codes = SHAPES[shape](size)
    budget = {"rho": 10**9} if noise == "rho" else {"epsilon": 10**9}
    units = {"privacy_unit": "u", "max_rows": 2} if noise == "units" else {}
    frame: Any = pl.DataFrame({"x": codes, "u": np.arange(len(codes)) // 2})
    private = frame.dp.attach(dpframe.Accountant(**budget), **units)
    loss = {"rho": 0.5} if noise == "rho" else {"epsilon": 1}

    def ask(dp: Any) -> Any:
        return dp.synthetic_intervals("x", bounds=(0, size - 1), method=method, **loss)

    return World(codes=codes, size=size, release=seen(private, ask))


CASES = [
    *(("tree", 40, "pure"), ("tree", 300, "rho"), ("tree", 300, "units")),
    *(("privtree", 300, "pure"), ("privtree", 2**12, "rho")),
]
every_case = pytest.mark.parametrize(
    ("method", "size", "noise"), CASES, ids=["-".join(map(str, c)) for c in CASES]
)


def worst(errors: Array) -> tuple[int, int]:
    """Return the interval ``first <= code < stop`` of the largest error."""
    one, two = int(errors.argmin()), int(errors.argmax())
    return min(one, two), max(one, two)


def inside(answer: Any, truth: float, confidence: float = CONFIDENCE) -> bool:
    lower, upper = answer.interval(confidence)[:2]
    return bool(lower - 1e-9 <= truth <= upper + 1e-9)


@every_case
@pytest.mark.parametrize("shape", SHAPES)
def test_every_interval_is_within_the_stated_error_together(
    shape: str, method: str, size: int, noise: str
) -> None:
    here = world(shape, size, method, noise)
    below, places = here.below, np.arange(size + 1, dtype=np.uint64)
    number = draws(NUMBER)
    wide, narrow, counted, shares = 0, 0, 0, 0
    for made in here.releases(number):
        line = made.shape
        errors = np.append(line.prefixes(places[:-1]), line.rows) - below
        largest = errors.max() - errors.min()
        wide += bool(largest <= made.accuracy(CONFIDENCE) + 1e-9)
        narrow += bool(largest <= 0.3 * line.error.half_width(CONFIDENCE, cells=1)[0])
        first, stop = worst(errors)
        lo, hi = (first, stop - 1) if stop > first else (0, size - 1)
        truth = int(below[hi + 1] - below[lo])
        counted += inside(made.count(lo, hi), truth)
        shares += inside(made.fraction(lo, hi), truth / len(here.codes))
    assert covers(wide, number, CONFIDENCE)
    assert covers(counted, number, CONFIDENCE)
    assert covers(shares, number, CONFIDENCE)
    if shape == "flat":  # clean-up makes errors smaller elsewhere
        assert not covers(narrow, number, CONFIDENCE)


@every_case
@pytest.mark.parametrize("shape", ["flat", "clumped"])
def test_quantiles_and_cdfs_are_within_theirs_together(
    shape: str, method: str, size: int, noise: str
) -> None:
    here = world(shape, size, method, noise)
    rows = len(here.codes)
    true = [int(here.codes[max(int(np.ceil(q * rows)) - 1, 0)]) for q in LEVELS]
    true[0] = 0  # every point has that fraction at or below it
    asked = [0, size // 3, size // 2, size - 2, size - 1]
    number = draws(NUMBER // 2)
    quantiles, cdfs, close = 0, 0, 0
    for made in here.releases(number):
        found = [made.quantile(q) for q in LEVELS]
        pairs = list(zip(found, true, strict=True))
        quantiles += all(inside(one, truth) for one, truth in pairs)
        close += all(one.value == truth for one, truth in pairs)
        cdfs += all(inside(made.cdf(x), int(here.below[x + 1]) / rows) for x in asked)
    assert covers(quantiles, number, CONFIDENCE)
    assert covers(cdfs, number, CONFIDENCE)
    if shape == "flat":
        assert not covers(close, number, CONFIDENCE)


# Boxes


SIDES = (24, 18)


@cache
def plane(method: str, noise: str) -> tuple[Seen, Array]:
    first = np.arange(3000) * 7919 % 997
    x = np.where(first < 500, 5, first % SIDES[0])
    y = np.where(first < 250, 7, first * 31 % SIDES[1])
    budget = {"rho": 10**9} if noise == "rho" else {"epsilon": 10**9}
    frame: Any = pl.DataFrame({"x": x, "y": y})
    private = frame.dp.attach(
        dpframe.Accountant(**budget),
        bounds={"x": (0, SIDES[0] - 1), "y": (0, SIDES[1] - 1)},
    )
    loss = {"rho": 0.5} if noise == "rho" else {"epsilon": 1}
    release = seen(
        private,
        lambda dp: dp.synthetic_intervals(["x", "y"], method=method, **loss),
    )
    table: Array = np.zeros(SIDES, dtype=np.int64)
    np.add.at(table, (x, y), 1)
    return release, table


ASKED = [
    *((0, 23, 0, 17), (0, 0, 0, 0), (5, 5, 7, 7), (5, 5, 0, 17), (1, 22, 3, 16)),
    *((8, 15, 6, 11), (8, 15, 9, 17), (4, 6, 6, 8), (12, 23, 0, 17), (3, 3, 9, 9)),
]


@pytest.mark.parametrize("method", ["quad", "privtree"])
@pytest.mark.parametrize("noise", ["pure", "rho"])
def test_each_box_is_within_its_own_error(method: str, noise: str) -> None:
    release, table = plane(method, noise)
    here = World(codes=np.zeros(0), size=1, release=release)
    number = draws(NUMBER // 2)
    hits = np.zeros((len(ASKED), 3), dtype=np.int64)
    for made in here.releases(number):
        for place, (a, b, c, d) in enumerate(ASKED):
            truth = int(table[a : b + 1, c : d + 1].sum())
            box = {"x": (a, b), "y": (c, d)}
            answer = made.count(box)
            lower, upper = ends(answer.figures, CONFIDENCE, joint=False)[:2]
            hits[place, 0] += bool(lower[0] <= truth <= upper[0])
            share = truth / table.sum()
            hits[place, 1] += inside(made.fraction(box), share)
            hits[place, 2] += abs(answer.value - truth) < 2
    for counted, shares, _ in hits.tolist():
        assert covers(counted, number, CONFIDENCE)
        assert covers(shares, number, CONFIDENCE)
    assert not covers(int(hits[0, 2]), number, CONFIDENCE)


# The search of Blum, Ligett and Roth: what its theorem says


def test_a_search_with_rows_enough_keeps_its_theorem() -> None:
    size = 16
    codes = np.repeat(np.arange(size), 1500)
    frame: Any = pl.DataFrame({"x": codes})
    private = frame.dp.attach(dpframe.Accountant(epsilon=10**9))
    release = seen(
        private,
        lambda dp: dp.synthetic_intervals(
            "x", bounds=(0, size - 1), method="binary_search", epsilon=50
        ),
    )
    here = World(codes=codes, size=size, release=release)
    number, wide, narrow = draws(NUMBER // 3), 0, 0
    for made in here.releases(number):
        line = made.shape
        assert np.isfinite(line.error.width)
        errors = (
            np.append(line.prefixes(np.arange(size, dtype=np.uint64)), line.rows)
            - here.below
        )
        largest = errors.max() - errors.min()
        wide += bool(largest <= made.accuracy(CONFIDENCE))
        narrow += bool(largest <= made.accuracy(CONFIDENCE) / 1000)
        assert made.accuracy(0.99) == np.inf
    assert covers(wide, number, CONFIDENCE)
    assert not covers(narrow, number, CONFIDENCE)
