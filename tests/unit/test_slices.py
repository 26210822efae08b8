"""What a statistic of slices says of itself, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from checks.slices import quantity, slices

import dpframe
from dpframe.block import Block
from dpframe.engines.local import evaluate
from dpframe.errors import ParameterError
from dpframe.mechanisms.grids import grid_of
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.privacy.loss import Loss
from dpframe.query import Part
from dpframe.slices import EXACT, Slices
from dpframe.tally import (
    COARSE,
    FINE,
    MAX_CELLS,
    WEIGHT,
    Contribution,
    Per,
    unit_interval,
)

EPSILON = Loss(epsilon=Fraction(1, 3))
RHO = Loss(rho=Fraction(1, 7))
BOUNDS = (-COARSE, COARSE)


def private(columns: int = 2) -> Any:
    schema: dict[str, Any] = {f"x{i}": pl.Int64 for i in range(columns)}
    frame = pl.DataFrame(schema=schema | {"g": pl.Boolean})
    return dpframe.attach(frame, dpframe.Accountant(epsilon=1))


def made(directions: Any, **given: Any) -> Slices:
    columns = len(directions[0]) - given.get("lifted", False)
    frame = private(columns)
    quantities = [quantity(frame, f"x{i}", BOUNDS) for i in range(columns)]
    return slices(quantities, directions, **({"shift": 10, "bins": 4} | given))


def label() -> Any:
    return grid_of(private(), "g", bounds=(False, True), release="count")


def test_counts_are_shaped_by_label_direction_and_bin() -> None:
    plain = made([[1, 0], [0, 1], [1, 1]])
    assert plain.shape == (1, 3, 4)
    assert plain.cells == 12
    assert plain.row == 3
    assert list(plain.columns) == ["x0", "x1"]
    told_apart = replace(plain, label=label())
    assert told_apart.shape == (2, 3, 4)
    assert told_apart.cells == 24
    assert told_apart.row == 3
    assert set(told_apart.columns) == {"x0", "x1", "g"}


def test_equal_ones_count_the_same_along_the_same_directions() -> None:
    one, other = made([[1, 2], [3, 4]]), made([[1, 2], [3, 4]])
    assert one == other
    assert len({one, other}) == 1
    changes: list[dict[str, Any]] = [
        {"directions": one.directions[::-1]},
        {"offsets": one.offsets + 1},
        {"shift": 11},
        {"bins": 5},
        {"label": label()},
        {"quantities": one.quantities[::-1]},
        {"contribution": Contribution(per=Per.ROWS, limit=2)},
    ]
    for change in changes:
        assert one != replace(one, **change)
    flat, lifted = made([[1, 2, 3]]), made([[1, 2, 3]], lifted=True)
    assert flat != lifted
    assert one != "slices"


def test_only_the_columns_that_are_named_are_read() -> None:
    frame = pl.LazyFrame({"x0": [1], "x1": [2]}).with_columns(
        other=pl.col("x0").cast(pl.String).str.to_date("no date", strict=True)
    )
    held = dpframe.attach(frame, dpframe.Accountant(epsilon=1))
    assert evaluate(held, made([[1, 0]])).sum() == 1


@pytest.mark.parametrize(
    ("directions", "offsets", "lifted", "reach"),
    [
        ([[1, 0]], 0, False, COARSE),
        ([[1, 0], [-3, 2]], 0, False, 5 * COARSE),
        ([[1, 0], [-3, 2]], [7, -9], False, 5 * COARSE + 9),
        ([[-3, 2], [5, 0]], [0, -7], False, 5 * COARSE + 7),
        ([[3, 2, 0]], 0, True, 5 * COARSE),
        ([[3, 2, -1]], 0, True, 5 * COARSE + 1482910),  # floor(sqrt(2) * 2^20)
    ],
)
def test_the_reach_is_the_largest_inner_product(
    directions: Any, offsets: Any, reach: int, *, lifted: bool
) -> None:
    assert made(directions, offsets=offsets, lifted=lifted).reach == reach


def test_the_reach_is_counted_in_whole_numbers_of_any_size() -> None:
    most = (1 << 63) - 1
    with pytest.raises(ValueError, match="too long"):
        made([[most, most]])
    with pytest.raises(ValueError, match="too long"):
        made([[-most - 1, 0]])
    with pytest.raises(ValueError, match="too long"):
        made([[0, 0]], offsets=-most - 1)


@pytest.mark.parametrize("lifted", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_products_that_doubles_would_round_are_refused(
    sign: int, *, lifted: bool
) -> None:
    last = [0] * lifted
    longest = (EXACT - 1) // COARSE
    rest = EXACT - 1 - longest * COARSE
    directions = [[1, 0, *last], [sign * (longest - 5), -5, *last]]
    largest = made(directions, offsets=[0, rest], lifted=lifted)
    assert largest.reach == EXACT - 1
    with pytest.raises(ValueError, match="doubles would round"):
        made(directions, offsets=[0, rest + 1], lifted=lifted)
    directions[1][1] -= 1
    with pytest.raises(ValueError, match="doubles would round"):
        made(directions, lifted=lifted)


def test_columns_that_reach_further_are_refused() -> None:
    fine = made([[1, 0]])
    finer = unit_interval(
        fine.quantities[0].column, (Fraction(0), Fraction(FINE)), degree=1
    )
    assert finer.reach == FINE
    with pytest.raises(ValueError, match="at most 1048576"):
        replace(fine, quantities=(fine.quantities[0], finer))


@pytest.mark.parametrize("per", [Per.UNITS, Per.TOTALS, Per.MEANS])
def test_units_that_would_not_share_a_weight_are_refused(per: Per) -> None:
    with pytest.raises(ValueError, match="sharing the weight"):
        made([[1, 0]], contribution=Contribution(per=per, limit=2))


def test_what_has_no_column_direction_or_bins_is_refused() -> None:
    fine = made([[1, 0]])
    none = np.zeros((0, 2), dtype=np.int64)
    changes: list[dict[str, Any]] = [
        {"quantities": (), "directions": fine.directions[:, :0]},
        {"quantities": (), "directions": fine.directions[:, :1], "lifted": True},
        {"directions": none, "offsets": none[:, 0]},
        {"bins": 1},
        {"bins": 0},
    ]
    for change in changes:
        with pytest.raises(ValueError, match="at least"):
            replace(fine, **change)


def test_directions_of_another_shape_or_dtype_are_refused() -> None:
    fine = made([[1, 0], [0, 1]])
    changes: list[dict[str, Any]] = [
        {"directions": fine.directions[:, :1]},
        {"directions": fine.directions[:1]},
        {"directions": fine.directions[0]},
        {"directions": fine.directions.astype(np.float64)},
        {"directions": fine.directions.astype(np.int32)},
        {"directions": fine.directions.astype(np.uint64)},
        {"directions": fine.directions.astype(object)},
        {"offsets": fine.offsets[:1]},
        {"offsets": fine.offsets.astype(np.float64)},
        {"lifted": True},
        {"quantities": fine.quantities[:1]},
    ]
    for change in changes:
        with pytest.raises(ValueError, match="whole number for each coordinate"):
            replace(fine, **change)


def test_tables_that_are_too_large_are_refused() -> None:
    fine = made([[1, 0], [0, 1]], bins=MAX_CELLS // 2)
    assert fine.cells == MAX_CELLS
    for change in ({"bins": MAX_CELLS // 2 + 1}, {"label": label()}):
        with pytest.raises(ParameterError, match="bins; the most is") as caught:
            replace(fine, **change)
        assert "larger margin" in str(caught.value)


@pytest.mark.parametrize(
    ("contribution", "worth"),
    [
        (Contribution(), 1),
        (Contribution(per=Per.ROWS, limit=1), WEIGHT),
        (Contribution(per=Per.ROWS, limit=5), 5 * WEIGHT),
    ],
)
def test_a_unit_is_in_one_bin_of_each_direction_with_all_its_weight(
    contribution: Contribution, worth: int
) -> None:
    sliced = made([[1, 0], [0, 1], [1, 1]], contribution=contribution)
    row = sliced.row
    pure = Part(statistic=sliced, blocks=(Block.independent(EPSILON, row=row),))
    assert pure.sensitivity(pure.blocks[0]) == 3 * worth
    assert pure.noise(pure.blocks[0]) == DiscreteLaplace(scale=Fraction(9 * worth))
    block = Block.independent(RHO, row=row, row_squared=row)
    rho = Part(statistic=sliced, blocks=(block,))
    assert rho.sensitivity(block) == 3 * worth**2
    sigma2 = Fraction(3 * worth**2 * 7, 2)
    assert rho.noise(block) == DiscreteGaussian(sigma2=sigma2)
