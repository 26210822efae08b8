"""How far a quantile read off released counts may be: every truth within the error."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpframe.grid import EvenGrid
from dpframe.noise import DiscreteLaplace
from dpframe.releases.cut_error import StatedError
from dpframe.releases.line import Line
from dpframe.releases.quantile_error import QuantileError
from dpframe.values import column_type

Array = np.ndarray[Any, np.dtype[Any]]
LEVELS = [Fraction(k, 10) for k in range(11)]
WIDTHS = (2, 1, 3)  # codes of the cells: 6 points in all


def line(counts: tuple[int, ...], error: float) -> Line:
    grid = EvenGrid(
        column=column_type("x", pl.Int64()), low=Fraction(0), step=Fraction(1), size=6
    )
    stated = StatedError(
        noise=DiscreteLaplace(scale=Fraction(1)),
        width=error,
        confidence=0.95,
        unit=Fraction(1),
    )
    return Line(
        grid=grid,
        starts=np.cumsum([0, *WIDTHS[:-1]]).astype(np.uint64),
        below=np.cumsum([0.0, *counts]),
        raw=np.array(counts, dtype=np.float64),
        error=stated,
    )


POINTS = np.array(list(product(range(4), repeat=6)))


def truths(counts: tuple[int, ...], error: float) -> Array:
    """Return all counts by point that are that close in every interval of cells."""
    zeros = np.zeros((len(POINTS), 1), dtype=np.int64)
    below = np.hstack([zeros, POINTS.cumsum(axis=1)])[:, [0, 2, 3, 6]]
    off = below - np.cumsum([0, *counts])
    close = off.max(axis=1) - off.min(axis=1) <= error
    return POINTS[close & (below[:, -1] > 0)]


def quantiles(points: Array, level: Fraction) -> set[int]:
    running = points.cumsum(axis=1)
    reached = running >= float(level) * running[:, -1:] - 1e-12
    return set(reached.argmax(axis=1).tolist())


def ends(shape: Line, level: Fraction) -> tuple[int, int]:
    code = int(shape.codes_at(np.array([float(level) * shape.rows]))[0])
    error = QuantileError(line=shape, level=level, code=code)
    below, above = error.sides(0.95, cells=1)
    assert float(error.half_width(0.95, cells=1)[0]) == max(below[0], above[0])
    return code - int(below[0]), code + int(above[0])


@pytest.mark.parametrize("counts", [(2, 3, 2), (1, 3, 1), (3, 0, 3), (1, 0, 0)])
@pytest.mark.parametrize("error", [1, 2])
def test_the_quantile_of_every_possible_truth_is_within_the_ends(
    counts: tuple[int, ...], error: int
) -> None:
    possible = truths(counts, error)
    assert len(possible) > 10
    missed = 0
    for level in LEVELS:
        low, high = ends(line(counts, error), level)
        found = quantiles(possible, level)
        assert low <= min(found)
        assert max(found) <= high
        narrow = ends(line(counts, error / 4), level)
        missed += min(found) < narrow[0] or max(found) > narrow[1]
    assert missed  # a quarter of the error would be too little


@pytest.mark.parametrize(("side", "counts"), [("low", (2, 3, 2)), ("high", (2, 3, 2))])
def test_each_end_is_needed(side: str, counts: tuple[int, ...]) -> None:
    possible = truths(counts, 2)
    reached = 0
    for level in LEVELS:
        low, high = ends(line(counts, 2), level)
        found = quantiles(possible, level)
        reached += min(found) == low if side == "low" else max(found) == high
    assert reached > len(LEVELS) // 2


def test_nothing_known_of_the_error_leaves_the_whole_grid() -> None:
    shape = line((2, 3, 2), float("inf"))
    for level in LEVELS:
        assert ends(shape, level) == (0, 5)
