"""Contribution limits, where values or limits are at their extremes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.engines.contribution import value_hash
from dpframe.tally import WEIGHT
from dpframe.testing import recording


@pytest.mark.parametrize("limit", [2**40, 2**47, 2**62, 2**100])
def test_a_limit_beyond_any_number_of_rows_leaves_every_row_whole(limit: int) -> None:
    private = dpframe.attach(
        pl.DataFrame({"u": [1, 1, 2]}),
        dpframe.Accountant(epsilon=1),
        privacy_unit="u",
        max_rows=limit,
    )
    with recording() as seen:
        private.dp.count(epsilon=1)
    (block,) = seen.records[0].blocks
    assert block.exact == ((3 * WEIGHT,),)
    assert block.sensitivity == limit * WEIGHT


@pytest.mark.parametrize("unit", [math.inf, -math.inf, 1e300, 2.5, -0.0])
def test_a_unit_named_by_any_float_keeps_its_cells(unit: float) -> None:
    rows = {"u": [unit] * 3, "g": ["a", "b", "c"]}
    private = dpframe.attach(
        pl.DataFrame(rows),
        dpframe.Accountant(epsilon=1),
        privacy_unit="u",
        max_groups=2,
    )
    with recording() as seen:
        private.dp.value_counts("g", keys=["a", "b", "c"], of="units", epsilon=1)
    (block,) = seen.records[0].blocks
    assert sum(figure for (figure,) in block.exact) == 2


K = b"key"


def test_equal_values_have_equal_bytes_in_every_library() -> None:
    assert value_hash(2, K) == value_hash(2.0, K) == value_hash(Decimal("2.00"), K)
    assert value_hash(0, K) == value_hash(-0.0, K)
    assert value_hash("2", K) != value_hash(2, K)
    assert len({value_hash(value, K) for value in (math.inf, -math.inf, 1, "inf")}) == 4


def test_a_total_beyond_64_bits_is_clipped_not_wrapped() -> None:
    rows = {"u": [1] * 4 + [2], "x": pl.Series([2**62] * 4 + [-(2**63)])}
    private = dpframe.attach(
        pl.DataFrame(rows), dpframe.Accountant(epsilon=10), privacy_unit="u"
    )
    with recording() as seen:
        private.dp.sum("x", bound="total", bounds=(-5, 2**60), epsilon=1)
        private.dp.sum("x", bound="total", bounds=(-(2**70), 2**70), epsilon=1)
    first, second = (record.blocks[0].exact for record in seen.records)
    assert first == ((2**60 - 5,),)
    assert second == ((2**64 - 2**63,),)


def test_too_wide_a_total_is_refused_and_costs_nothing() -> None:
    frame = pl.DataFrame({"u": [1], "x": [1]}).cast({"x": pl.Decimal(38, 0)})
    budget = dpframe.Accountant(epsilon=1)
    private = dpframe.attach(frame, budget, privacy_unit="u")
    with pytest.raises(dpframe.ParameterError, match="too wide"):
        private.dp.sum("x", bound="total", bounds=(0, 2**95), epsilon=1)
    assert budget.spent == dpframe.Accountant(epsilon=1).spent


def test_weights_round_down_so_that_a_unit_never_counts_more_than_its_limit() -> None:
    rows = np.repeat(np.arange(1, 60), np.arange(1, 60))  # unit m has m rows
    private = dpframe.attach(
        pl.DataFrame({"u": rows}),
        dpframe.Accountant(epsilon=1),
        privacy_unit="u",
        max_rows=7,
    )
    with recording() as seen:
        private.dp.value_counts("u", keys=range(1, 60), epsilon=1)
    found = [figure for (figure,) in seen.records[0].blocks[0].exact]
    assert found == [m * min(WEIGHT, 7 * WEIGHT // m) for m in range(1, 60)]
    assert max(found) <= Fraction(7 * WEIGHT)


@pytest.mark.parametrize(
    "dtype", [pl.Date(), pl.Datetime("us"), pl.Datetime("ms", "UTC"), pl.Duration("ms")]
)
def test_units_beyond_the_calendar_of_python_are_limited_like_others(
    dtype: pl.DataType,
) -> None:
    units = pl.Series([2**31 - 1] * 3 + [7], dtype=pl.Int32)
    if dtype != pl.Date():
        units = units.cast(pl.Int64) * 2**31
    raw = pl.DataFrame({"unit": units.cast(dtype), "key": ["a", "b", "c", "a"]})
    frame = dpframe.attach(
        raw, dpframe.Accountant(epsilon=9), privacy_unit="unit", max_groups=1
    )
    with recording(noiseless=True):
        table = frame.dp.histogram("key", keys=["a", "b", "c"], of="units", epsilon=1)
    assert table.to_polars()["count"].sum() == 2
