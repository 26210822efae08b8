"""The codes that rows get on their grids, and their exact order."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.columns import BERLIN, COLUMNS, FLOAT32, FLOAT64, NIGHT, Column

import dpframe
from dpframe.engines.ordered import Ordered, ordered
from dpframe.engines.rows import grid_code
from dpframe.errors import EvaluationError
from dpframe.grid import EvenGrid, ListedGrid, series
from dpframe.mechanisms.grids import grid_of
from dpframe.ordering import Ordering
from dpframe.tally import Contribution, KeyAxis, Per
from dpframe.values import Kind, column_type

if TYPE_CHECKING:
    from dpframe.grid import Grid

WEIGHT = 2**16
LAST = 2**64 - 1

STEPS: dict[str, list[Any]] = {
    "Float64": [0.1, 0.01, 1e-12],
    "Float32": [0.1, 0.5],
    "Int64": [None, 4, 5],
    "Int64 to its limits": [None, 3, 2**40],
    "UInt64": [None, 7],
    "Int128": [2**64 + 1, 2**100 + 1, 2**125 - 1, 2**126, 2**127 - 1, 2**128 - 2],
    "UInt128": [2**62, 2**125],
    "Decimal": [None, Decimal("0.05"), Decimal("0.07")],
    "Decimal to its limits": [10**37, 2 * 10**19 + 1, 10**38],
    "Boolean": [None],
    "Date": [None, dt.timedelta(days=3)],
    "Datetime with a zone": [None, dt.timedelta(hours=1)],
    "Duration": [None, dt.timedelta(microseconds=4)],
}
EVEN = [
    pytest.param(column, step, id=f"{column}-{step}")
    for column in COLUMNS
    for step in STEPS[column.name]
]


def private(frame: Any, **declared: Any) -> Any:
    return dpframe.attach(frame, dpframe.Accountant(epsilon=1), **declared)


def grid_for(column: Column, **declared: Any) -> Grid:
    empty = pl.DataFrame({"x": pl.Series([], dtype=column.dtype)})
    return grid_of(private(empty), "x", release="count", **declared)


def values(column: Column, grid: Grid, number: int = 400) -> pl.Series:
    """Return the hardest values of a dtype, and all around the first points."""
    rng = Random(column.name)  # noqa: S311 - test data
    found = [*column.special, None, *(column.value(rng) for _ in range(number))]
    made = pl.Series("x", found, dtype=column.dtype, strict=True)
    codes = np.arange(min(grid.size, 50), dtype=np.uint64)
    return pl.concat([made, series(grid, codes)])


def numbers(column: Column, made: pl.Series) -> list[Fraction | None]:
    """Return where values lie on their number line; None where they are missing."""
    ctype = column_type("x", column.dtype)
    if ctype.kind is Kind.FLOAT:
        wide = made.cast(pl.Float64).to_list()
        limit = Fraction(10) ** 400
        ends = {float("inf"): limit, float("-inf"): -limit}
        return [
            None if x is None or x != x else ends.get(x) or Fraction(x)  # noqa: PLR0124 - NaN
            for x in wide
        ]
    if ctype.kind is Kind.DECIMAL:
        scale = 10**ctype.scale
        return [None if x is None else Fraction(x) * scale for x in made.to_list()]
    whole = made.to_physical().to_list()
    return [None if x is None else Fraction(int(x)) for x in whole]


def codes_of(grid: Grid, made: pl.Series) -> list[int | None]:
    return made.to_frame("x").select(c=grid_code(grid))["c"].to_list()


def assert_nearest(grid: Grid, number: Fraction, code: int) -> None:
    """Whether a point is nearest: for floats, as far as doubles tell middles."""
    if grid.column.is_whole:
        assert code == grid.code(number)
        return
    inside = min(max(number, grid.low), grid.high)
    best = abs(grid.point(grid.code(inside)) - inside)
    here = abs(grid.point(code) - inside)
    rounding = Fraction(2) ** -51 * max(abs(grid.low), abs(grid.high))
    assert here <= best + rounding


@pytest.mark.parametrize(("column", "step"), EVEN)
def test_a_row_goes_to_the_nearest_point_of_an_even_grid(
    column: Column, step: Any
) -> None:
    grid = grid_for(column, bounds=column.bounds, step=step)
    assert isinstance(grid, EvenGrid)
    made = values(column, grid)
    found = codes_of(grid, made)
    for number, code in zip(numbers(column, made), found, strict=True):
        if number is None:
            assert code is None
        else:
            assert code is not None
            assert 0 <= code < grid.size
            assert_nearest(grid, number, code)


LISTED = [column for column in COLUMNS if column.name != "Boolean"]


@pytest.mark.parametrize("column", LISTED, ids=str)
def test_a_row_goes_to_the_nearest_listed_point(column: Column) -> None:
    keys = [key for key in column.keys if not is_beyond(key)]
    ends = [*column.bounds]
    for points in (ends, [*keys, *ends], [*ends, *keys[:1]]):
        grid = grid_for(column, domain=list(dict.fromkeys(points)))
        made = values(column, grid)
        found = codes_of(grid, made)
        for number, code in zip(numbers(column, made), found, strict=True):
            if number is None:
                assert code is None
            else:
                assert code is not None
                assert_nearest(grid, number, code)


def is_beyond(key: Any) -> bool:
    return isinstance(key, int) and not -(2**127) < key < 2**127


def test_both_kinds_of_grids_are_tested_with_lists() -> None:
    kinds = {
        type(grid_for(column, domain=list(dict.fromkeys([*ends, *column.bounds]))))
        for column in LISTED
        for ends in ((), column.keys[:1])
        if not any(map(is_beyond, ends))
    }
    assert kinds == {EvenGrid, ListedGrid}


@pytest.mark.parametrize(("column", "step"), EVEN)
def test_a_point_that_was_made_a_value_goes_back_to_its_code(
    column: Column, step: Any
) -> None:
    grid = grid_for(column, bounds=column.bounds, step=step)
    rng = Random(7)  # noqa: S311 - test data
    spread = [0, grid.size - 1, *(rng.randrange(grid.size) for _ in range(500))]
    codes = np.array(sorted({*spread, *range(min(grid.size, 300))}), dtype=np.uint64)
    made = series(grid, codes)
    assert made.dtype == column.dtype
    ends = numbers(column, made)
    if grid.column.is_whole:
        assert codes_of(grid, made) == codes.tolist()
        assert ends == [grid.point(int(code)) for code in codes]
        return
    exact = codes_of(grid, made)
    for code, found in zip(codes.tolist(), exact, strict=True):
        assert found is not None
        assert abs(found - code) <= grid.size * 2.0**-52


@pytest.mark.parametrize("column", [FLOAT64, FLOAT32], ids=str)
@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 1, "0.1"), (-7, 13, "0.01"), (0, 100, "0.3"), (5, 6, "0.001"), (0, 7, 0.7)],
)
def test_points_of_decimal_steps_go_to_themselves(
    column: Column, low: int, high: int, step: str
) -> None:
    grid = grid_for(column, bounds=(low, high), step=Decimal(str(step)))
    codes = np.arange(grid.size, dtype=np.uint64)
    assert codes_of(grid, series(grid, codes)) == codes.tolist()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_go_to_the_hour_they_are_in_in_every_unit(
    unit: Any, zone: str | None
) -> None:
    start = NIGHT if zone else dt.datetime(2024, 10, 27)  # noqa: DTZ001 - no zone
    minutes = [start + dt.timedelta(minutes=m) for m in range(-40, 26 * 60, 7)]
    if zone:
        minutes = [
            (start.astimezone(dt.UTC) + dt.timedelta(minutes=m)).astimezone(BERLIN)
            for m in range(-40, 26 * 60, 7)
        ]
    made = pl.Series("x", minutes, dtype=pl.Datetime(unit, zone))
    frame = private(made.to_frame())
    grid = grid_of(
        frame,
        "x",
        bounds=(start, start + dt.timedelta(hours=24)),
        step=dt.timedelta(hours=1),
        release="count",
    )
    last = grid.size - 1
    assert last == (25 if zone else 24)  # a clock in Berlin is put back that night
    expected = [min(max(m // 60, 0), last) for m in range(-40, 26 * 60, 7)]
    assert codes_of(grid, made) == expected


# Engines agree, rows do not look at each other


def order(frame: Any, *grids: Grid, axes: Any = (), **limits: Any) -> list[Ordered]:
    contribution = Contribution(**limits)
    return ordered(frame, Ordering(grids=grids, contribution=contribution, axes=axes))


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_rows_are_ordered_alike_whatever_the_library_and_the_batches(
    column: Column,
) -> None:
    grid = grid_for(column, bounds=column.bounds, step=STEPS[column.name][-1])
    made = values(column, grid, 3000)
    expected = sorted(code for code in codes_of(grid, made) if code is not None)
    pieces = pl.concat(
        [made.slice(k, 7) for k in range(0, len(made), 7)], rechunk=False
    )
    hosts = [made.to_frame(), made.to_frame().lazy(), pieces.to_frame()]
    if "128" not in column.name:  # pandas has no such integers
        hosts.append(made.to_frame().to_pandas(use_pyarrow_extension_array=True))
    for host in hosts:
        (found,) = order(private(host), grid)
        assert found.codes.dtype == np.uint64
        assert found.codes.tolist() == expected
        assert found.running is None
        assert found.total == len(expected)


def test_numpy_backed_pandas_columns_are_ordered_alike() -> None:
    values = [0.1, float("nan"), 0.35, 5.0, -1.0, None]
    frame = pd.DataFrame(
        {
            "f": values,
            "i": pd.array([1, None, 9, -4, 2, 2], dtype="Int64"),
            "t": pd.to_datetime(
                ["2024-01-01 00:00", None, *["2024-01-02 11:59"] * 4], utc=True
            ),
            "o": [Decimal("0.1"), None, Decimal("0.3"), Decimal(9), Decimal(-9), None],
        }
    )
    one = private(frame)
    day = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    grids = {
        "f": {"bounds": (0, 1), "step": 0.1},
        "i": {"bounds": (0, 5)},
        "t": {
            "bounds": (day, day + dt.timedelta(days=5)),
            "step": dt.timedelta(days=1),
        },
        "o": {"domain": [Decimal("0.1"), Decimal("0.25"), Decimal(1)]},
    }
    expected = {
        "f": [0, 1, 4, 10],
        "i": [0, 1, 2, 2, 5],
        "t": [0, 1, 1, 1, 1],
        "o": [0, 0, 1, 2],
    }
    for name, declared in grids.items():
        grid = grid_of(one, name, release="count", **declared)
        (found,) = order(one, grid)
        assert found.codes.tolist() == expected[name], name


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_a_code_depends_on_its_own_row_alone(column: Column) -> None:
    rng = Random(3)  # noqa: S311 - test data
    grid = grid_for(column, bounds=column.bounds, step=STEPS[column.name][-1])
    made = values(column, grid, 200)
    together = codes_of(grid, made)
    alone = [codes_of(grid, made.slice(k, 1))[0] for k in range(60)]
    assert alone == together[:60]
    shuffled = rng.sample(range(len(made)), len(made))
    assert codes_of(grid, made.gather(shuffled)) == [together[k] for k in shuffled]


# The order itself


def table(rows: list[tuple[int, int | None, str | None]]) -> pl.DataFrame:
    schema = {"u": pl.Int64, "x": pl.Int64, "g": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_counts_below_a_code_are_those_of_brute_force() -> None:
    rng = Random(1)  # noqa: S311 - test data
    codes = sorted(rng.choice([0, 1, 5, 2**63, LAST - 1, LAST]) for _ in range(50))
    weights = [rng.randint(1, 9) for _ in codes]
    running = np.concatenate([[0], np.cumsum(weights)])
    array = np.array(codes, dtype=np.uint64)
    plain, weighed = Ordered(codes=array), Ordered(codes=array, running=running)
    asked = [0, 1, 2, 5, 6, 2**63, 2**63 + 1, LAST - 1, LAST]
    for code in [-5, *asked, LAST + 1, LAST + 7]:
        assert plain.below(code) == sum(one < code for one in codes)
        expected = sum(w for one, w in zip(codes, weights, strict=True) if one < code)
        assert weighed.below(code) == expected
    for one in (plain, weighed):
        many = one.all_below(np.array(asked, dtype=np.uint64))
        assert many.tolist() == [one.below(code) for code in asked]
    assert (plain.total, weighed.total) == (50, sum(weights))


def test_an_empty_frame_has_an_empty_order() -> None:
    frame = private(table([]), privacy_unit="u", max_rows=2)
    grid = grid_of(frame, "x", bounds=(0, 9), release="count")
    for limits in ({}, {"per": Per.ROWS, "limit": 2}):
        (found,) = order(frame, grid, **limits)
        assert found.total == found.below(5) == found.below(2**64) == 0
        assert found.all_below(np.array([0, 9], dtype=np.uint64)).tolist() == [0, 0]


def test_rows_of_a_unit_share_its_weight_and_go_to_their_cells() -> None:
    rows: list[Any] = [
        (1, 3, "a"),
        (2, 4, "a"),
        (2, 3, "b"),
        (3, 9, "b"),
        (3, None, "b"),
        (3, 1, "z"),
        (3, 1, "a"),
    ]
    frame = private(table(rows), privacy_unit="u", max_rows=2)
    grid = grid_of(frame, "x", bounds=(0, 9), release="count")
    axis = KeyAxis(columns=(column_type("g", pl.String()),), keys=("b", "a", "c"))
    limits = {"per": Per.ROWS, "limit": 2}
    half = WEIGHT // 2
    b, a, c = order(frame, grid, axes=(axis,), **limits)
    assert (b.codes.tolist(), b.total) == ([3, 9], WEIGHT + half)
    assert (a.codes.tolist(), a.total) == ([1, 3, 4], half + 2 * WEIGHT)
    assert (c.codes.tolist(), c.total) == ([], 0)
    assert a.running is not None
    assert a.running.tolist() == [0, half, half + WEIGHT, half + 2 * WEIGHT]
    (whole,) = order(frame, grid, **limits)
    assert whole.total == 2 * half + half + 3 * WEIGHT


def test_a_row_that_misses_a_value_of_any_grid_is_in_no_order() -> None:
    frame = private(pl.DataFrame({"x": [1, None, 3], "y": [0.5, 0.5, float("nan")]}))
    x = grid_of(frame, "x", bounds=(0, 7), release="count")
    y = grid_of(frame, "y", bounds=(0, 1), step=0.25, release="count")
    (found,) = order(frame, x, y)
    assert (
        found.codes.tolist()
        == Ordering(grids=(x, y), contribution=Contribution())
        .curve.codes([np.array([1]), np.array([2])])
        .tolist()
    )


def test_a_frame_that_fails_says_nothing_of_its_cells() -> None:
    frame = private(
        pl.LazyFrame({"x": ["secret"]}).with_columns(pl.col("x").cast(pl.Int64))
    )
    grid = grid_of(frame, "x", bounds=(0, 9), release="count")
    with pytest.raises(EvaluationError) as caught:
        order(frame, grid)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
