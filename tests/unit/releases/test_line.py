"""Counts between released cells: on grids whose codes no double holds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from dpframe.grid import EvenGrid
from dpframe.noise import DiscreteLaplace
from dpframe.releases.cut_error import StatedError
from dpframe.releases.line import Line
from dpframe.values import column_type

HIGH = 2**62 + 12_345  # doubles near it are 1,024 apart


def line(starts: list[int], below: list[float], size: int) -> Line:
    column = column_type("x", pl.UInt64())
    grid = EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=size)
    noise = DiscreteLaplace(scale=Fraction(1))
    return Line(
        grid=grid,
        starts=np.array(starts, dtype=np.uint64),
        below=np.array(below),
        raw=np.diff(below),
        error=StatedError(noise=noise, width=1.0, confidence=0.95, unit=Fraction(1)),
    )


def counted(one: Line, first: int, stop: int) -> tuple[float, ...]:
    return tuple(float(cell[0]) for cell in one.between([first], [stop]))


@pytest.mark.parametrize("size", [2**63, 2**64])
def test_a_cell_of_one_code_far_up_holds_its_rows(size: int) -> None:
    one = line([0, HIGH, HIGH + 1], [0.0, 10.0, 30.0, 40.0], size)
    assert one.between([HIGH], [HIGH + 1]).value[0] == 20.0
    assert one.between([0], [HIGH]).value[0] == 10.0
    assert one.between([HIGH + 1], [size]).value[0] == 10.0


def test_rows_are_spread_evenly_within_a_cell_far_up() -> None:
    one = line([0, HIGH, HIGH + 8], [0.0, 0.0, 80.0, 80.0], 2**63)
    codes = np.array([HIGH + i for i in range(9)], dtype=np.uint64)
    assert one.prefixes(codes).tolist() == [10.0 * i for i in range(9)]


def test_the_last_cell_is_cut_in_proportion() -> None:
    one = line([0, 6], [0.0, 6.0, 10.0], 10)
    codes = np.array([0, 3, 6, 8, 10], dtype=np.uint64)
    assert one.prefixes(codes).tolist() == [0.0, 3.0, 6.0, 8.0, 10.0]


@pytest.mark.parametrize("size", [10, 2**53 + 1, 2**63, 2**64])
def test_ranks_lie_at_the_points_that_reach_them(size: int) -> None:
    one = line([0, size // 2], [0.0, 40.0, 80.0], size)
    ranks = np.array([0.0, 4.0, 20.0, 40.0, 60.0, 80.0, 99.0])
    codes = one.codes_at(ranks).tolist()
    half = size // 2
    assert codes[0] == 0
    assert codes[3] == half - 1
    assert codes[5] == codes[6] == size - 1
    for code, share in ((codes[1], 0.1), (codes[2], 0.5)):
        assert abs(code + 1 - share * half) <= max(1, half * 2.0**-50)
    assert abs(codes[4] + 1 - half - (size - half) / 2) <= max(1, half * 2.0**-50)


def test_ranks_pass_over_cells_without_rows() -> None:
    one = line([0, 2, 4, 6], [0.0, 0.0, 8.0, 8.0, 16.0], 8)
    ranks = np.array([1.0, 4.0, 4.5, 8.0, 8.5, 12.0, 16.0])
    assert one.codes_at(ranks).tolist() == [2, 2, 3, 3, 6, 6, 7]
    assert one.codes(16).tolist() == [*[2] * 4, *[3] * 4, *[6] * 4, *[7] * 4]


def test_rows_of_a_cut_cell_may_lie_on_either_side() -> None:
    one = replace(line([0, 10, 11], [0.0, 100.0, 130.0, 130.0], 20), cut=True)
    assert counted(one, 0, 5) == (50.0, 0.0, 100.0)
    assert counted(one, 0, 10) == (100.0, 100.0, 100.0)
    assert counted(one, 5, 11) == (80.0, 30.0, 130.0)
    assert counted(one, 2, 4) == (20.0, 0.0, 100.0)
    assert counted(one, 3, 3) == (0.0, 0.0, 0.0)
    assert one.widest_cuts == 100.0
    held = replace(one, cut=False)
    assert counted(held, 0, 5) == (50.0, 50.0, 50.0)
    assert held.widest_cuts == 0.0


@pytest.mark.parametrize(
    ("starts", "below"),
    [
        ([], [0.0]),
        ([1, 6], [0.0, 6.0, 10.0]),
        ([0, 6, 6], [0.0, 6.0, 6.0, 10.0]),
        ([0, 6, 3], [0.0, 6.0, 8.0, 10.0]),
        ([0, 10], [0.0, 6.0, 10.0]),
        ([0, 6], [0.0, 6.0]),
        ([0, 6], [1.0, 6.0, 10.0]),
        ([0, 6], [0.0, 10.0, 6.0]),
        ([0, 6], [0.0, math.nan, 10.0]),
        ([0, 6], [0.0, 6.0, math.inf]),
    ],
)
def test_rows_that_fall_or_cells_that_do_not_ascend_are_no_line(
    starts: list[int], below: list[float]
) -> None:
    with pytest.raises(ValueError, match=r"line|cell"):
        line(starts, below, 10)


def test_a_line_holds_codes_and_rows_in_their_own_types() -> None:
    whole = line([0, 6], [0.0, 6.0, 10.0], 10)
    for wrong in (
        {"starts": np.array([0, 6])},
        {"below": np.array([0, 6, 10])},
        {"below": np.array([0.0, None, 10.0], dtype=object)},
        {"starts": np.zeros((1, 2), dtype=np.uint64)},
    ):
        with pytest.raises(ValueError, match="line"):
            replace(whole, **wrong)
