"""Grids as plain arithmetic: codes, points and ends, by exact fractions."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import polars as pl
import pytest

from dpframe.grid import EvenGrid, ListedGrid, series
from dpframe.values import column_type

BERLIN = "Europe/Berlin"
RNG = Random(5)  # noqa: S311 - test data


def even(dtype: pl.DataType, low: object, step: object, size: int) -> EvenGrid:
    return EvenGrid(
        column=column_type("x", dtype),
        low=Fraction(str(low)),
        step=Fraction(str(step)),
        size=size,
    )


def listed(dtype: pl.DataType, *points: object) -> ListedGrid:
    return ListedGrid(
        column=column_type("x", dtype),
        points=tuple(Fraction(str(point)) for point in points),
    )


def far(numbers: list[Fraction], number: Fraction) -> list[Fraction]:
    return [abs(point - number) for point in numbers]


GRIDS = [
    even(pl.Int64(), -3, 1, 14),
    even(pl.Int64(), -3, 4, 5),
    even(pl.Int64(), 10, 7, 3),
    even(pl.Float64(), "-0.1", "0.1", 5),
    even(pl.Float64(), 0, "0.3", 4),
    even(pl.Float64(), "1e9", "0.001", 2),
    listed(pl.Int64(), -7, 0, 1, 9),
    listed(pl.Int64(), 0, 3, 4),
    listed(pl.Float64(), "-0.1", 0, "0.1", "2.5"),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_number_goes_to_the_nearest_point_and_a_middle_upwards(
    grid: EvenGrid | ListedGrid,
) -> None:
    points = [grid.point(code) for code in range(grid.size)]
    width = points[-1] - points[0]
    numbers = [
        points[0] + width * Fraction(RNG.randint(-50, 150), 100) for _ in range(200)
    ]
    numbers += [*points, points[0] - 10**30, points[-1] + 10**30]
    if grid.column.is_whole:
        numbers = [Fraction(round(number)) for number in numbers]
        middles = [(a + b) / 2 for a, b in pairwise(points)]
        numbers += [middle for middle in middles if middle.denominator == 1]
    for number in numbers:
        distances = far(points, number)
        nearest = [c for c, away in enumerate(distances) if away == min(distances)]
        if grid.column.is_whole or len(nearest) == 1:
            assert grid.code(number) == nearest[-1]
        else:  # a middle of floats is a double, which may lie beside it
            assert grid.code(number) in nearest


def test_a_time_goes_to_the_last_point_that_is_not_after_it() -> None:
    for grid in (even(pl.Date(), 0, 7, 4), listed(pl.Date(), 0, 7, 14, 21)):
        found = [grid.code(Fraction(day)) for day in range(-2, 30)]
        assert found == [min(max(day // 7, 0), 3) for day in range(-2, 30)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_ends_count_the_points_below_and_up_to_them(
    grid: EvenGrid | ListedGrid,
) -> None:
    points = [grid.point(code) for code in range(grid.size)]
    width = points[-1] - points[0]
    numbers = [*points, points[0] - 1, points[-1] + 1, points[0] - 10**40]
    shares = (Fraction(RNG.randint(-100, 1100), 997) for _ in range(200))
    numbers += [points[0] + width * share for share in shares]
    for number in numbers:
        assert grid.above(number) == sum(point < number for point in points)
        assert grid.upto(number) == sum(point <= number for point in points)


def test_an_end_that_reads_back_as_a_points_double_is_that_point() -> None:
    grid = even(pl.Float64(), 0, "0.1", 11)
    for code in range(11):
        for number in (Fraction(code, 10), Fraction(code / 10)):
            assert grid.above(number) == code
            assert grid.upto(number) == code + 1
    for beside in (math.nextafter(0.3, 1.0), math.nextafter(0.3, 0.0), 0.1 + 0.2):
        assert (grid.above(Fraction(beside)), grid.upto(Fraction(beside))) == (3, 4)
    for apart, met in ((Fraction("0.3000000002"), 4), (Fraction("0.2999999998"), 3)):
        assert (grid.above(apart), grid.upto(apart)) == (met, met)


def test_an_end_that_a_32_bit_column_holds_is_that_point() -> None:
    grid = even(pl.Float32(), 0, "0.1", 11)
    held = listed(pl.Float32(), 0, "0.1", "0.3")
    for code in range(11):
        number = Fraction(float(np.float32(code / 10)))
        assert (grid.above(number), grid.upto(number)) == (code, code + 1)
    for code, point in enumerate((0, 0.1, 0.3)):
        number = Fraction(float(np.float32(point)))
        assert (held.above(number), held.upto(number)) == (code, code + 1)


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        (even(pl.Int8(), -128, 1, 256), list(range(-128, 128))),
        (even(pl.UInt16(), 0, 5, 4), [0, 5, 10, 15]),
        (even(pl.Float64(), 0, "0.1", 4), [0.0, 0.1, 0.2, 0.3]),
        (even(pl.Float32(), 0, "0.1", 4), [np.float32(k / 10) for k in range(4)]),
        (even(pl.Decimal(5, 2), 5, 10, 3), [Decimal(f"0.{k}5") for k in range(3)]),
        (even(pl.Boolean(), 0, 1, 2), [False, True]),
        (even(pl.Date(), -1, 1, 2), [dt.date(1969, 12, 31), dt.date(1970, 1, 1)]),
        (
            even(pl.Duration("ms"), 0, 1500, 2),
            [dt.timedelta(0), dt.timedelta(seconds=1.5)],
        ),
        (listed(pl.Int64(), 1, 4, 6), [1, 4, 6]),
        (listed(pl.Float64(), "0.1", "0.7", 2), [0.1, 0.7, 2.0]),
        (listed(pl.Decimal(5, 1), 1, 4, 6), [Decimal(f"0.{k}") for k in (1, 4, 6)]),
    ],
    ids=str,
)
def test_points_have_the_dtype_and_the_values_of_their_column(
    grid: EvenGrid | ListedGrid, values: list[object]
) -> None:
    codes = np.arange(grid.size, dtype=np.uint64)
    made = series(grid, codes)
    assert made.dtype == grid.column.dtype
    assert made.name == "x"
    assert made.to_list() == values
    assert series(grid, codes[::-1], "y").to_list() == values[::-1]
    none = series(grid, codes[:0])
    assert none.dtype == made.dtype
    assert none.len() == 0


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, BERLIN])
def test_times_come_in_their_unit_and_zone(unit: str, zone: str | None) -> None:
    per = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    dtype = pl.Datetime(unit, zone)  # type: ignore[arg-type]
    made = series(even(dtype, 0, 3600 * per, 3), np.arange(3, dtype=np.uint64))
    assert made.dtype == dtype
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for hours, value in enumerate(made.to_list()):
        seen = value if zone else value.replace(tzinfo=dt.UTC)
        assert seen == start + dt.timedelta(hours=hours)


@pytest.mark.parametrize(
    ("dtype", "low"),
    [
        (pl.UInt64(), 0),
        (pl.Int64(), -(2**63)),
        (pl.Int128(), -(2**100)),
        (pl.UInt128(), 2**100),
        (pl.Decimal(38, 0), 10**30),
    ],
    ids=str,
)
def test_all_of_2_to_the_64_points_have_their_own_place(
    dtype: pl.DataType, low: int
) -> None:
    grid = even(dtype, low, 1, 2**64)
    codes = [0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    made = series(grid, np.array(codes, dtype=np.uint64))
    assert made.dtype == dtype
    assert [int(value) for value in made.to_list()] == [low + code for code in codes]
    for code in codes:
        number = Fraction(low + code)
        assert grid.code(number) == code
        assert grid.above(number) == code
        assert grid.upto(number) == code + 1


def test_points_of_floats_stay_within_the_ends_and_rise() -> None:
    for low, step, size in [
        (0, "1e-18", 10**18 + 1),
        ("0.1", "1e-19", 3 * 10**18),
        ("-0.3", "7e-20", 2**63),
        (1, Fraction(1, 3 * 2**60), 2**60),
    ]:
        grid = even(pl.Float64(), low, step, size)
        codes = [0, 1, size // 3, size // 2, size - 2, size - 1]
        numbers = grid.numbers(np.array(codes, dtype=np.uint64)).tolist()
        assert numbers == sorted(numbers)
        assert float(grid.low) <= numbers[0]
        assert numbers[-1] <= float(grid.high)
        for code, number in zip(codes, numbers, strict=True):
            assert abs(Fraction(number) - grid.point(code)) <= Fraction(1, 2**51)


def test_points_of_decimal_steps_are_the_doubles_one_writes() -> None:
    grid = even(pl.Float64(), "-0.7", "0.01", 171)
    numbers = grid.numbers(np.arange(171, dtype=np.uint64)).tolist()
    assert numbers == [float(f"{(code - 70) / 100:.2f}") for code in range(171)]


def test_thresholds_are_whole_where_the_numbers_are() -> None:
    assert listed(pl.Int64(), 0, 3, 4).thresholds == (2, 4)
    assert listed(pl.Float64(), 0, 3, "3.5").thresholds == (1.5, 3.25)


@pytest.mark.parametrize(
    ("dtype", "low", "step", "size"),
    [
        (pl.Int64(), 0, 1, 0),
        (pl.Int64(), 0, 1, 2**64 + 1),
        (pl.Int64(), 0, 0, 5),
        (pl.Float64(), 0, -1, 5),
        (pl.Int64(), 0.5, 1, 5),
        (pl.Date(), 0, 0.5, 5),
    ],
)
def test_points_that_do_not_ascend_on_a_columns_line_are_no_grid(
    dtype: pl.DataType, low: object, step: object, size: int
) -> None:
    with pytest.raises(ValueError, match="a grid has"):
        even(dtype, low, step, size)


@pytest.mark.parametrize("points", [(), (1, 1), (2, 1), (0, 0.5)])
def test_listed_points_that_do_not_ascend_are_no_grid(points: tuple[object]) -> None:
    with pytest.raises(ValueError, match="listed points"):
        listed(pl.Int64(), *points)
