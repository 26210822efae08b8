"""Points of a number line become Python values, at the ends of a dtype too."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.testing import recording
from dpframe.values import column_type

LONG = 10**38 - 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "dtype",
    [pl.Decimal(38, 0), pl.Decimal(38, 7), *map(pl.Duration, ("ms", "us", "ns"))],
)
def test_a_point_beyond_a_dtype_becomes_a_value_that_it_holds(
    dtype: pl.DataType, sign: int
) -> None:
    column = column_type("x", dtype)
    value = column.value(Fraction(sign * 10**45))
    held = pl.Series([value], dtype=dtype)
    assert abs(held.item() - value) <= abs(value) / 10**9
    assert (value > 0 * value) == (sign > 0)


def test_a_decimal_keeps_all_its_digits() -> None:
    column = column_type("x", pl.Decimal(38, 2))
    assert column.value(Fraction(LONG)) == Decimal(f"{LONG}E-2")
    assert str(column.value(Fraction(-125))) == "-1.25"


@pytest.mark.parametrize("statistics", [{"s": "sum"}, {"s": "sum", "m": "mean"}])
@pytest.mark.parametrize(
    ("dtype", "bounds", "top"),
    [
        (pl.Int64(), (-(2**63), 2**63 - 1), 2**63 - 1),
        (pl.UInt64(), (0, 2**64 - 1), 2**64 - 1),
        (pl.Decimal(38, 0), (Decimal(-LONG), Decimal(LONG)), Decimal(LONG)),
        (
            pl.Duration("us"),
            (dt.timedelta(), dt.timedelta(days=10**8)),
            dt.timedelta(days=10**8),
        ),
    ],
)
def test_a_sum_beyond_its_dtype_is_released_all_the_same(
    dtype: pl.DataType,
    bounds: tuple[object, object],
    top: object,
    statistics: dict[str, str],
) -> None:
    frame = pl.DataFrame({"x": pl.Series([top] * 9, dtype=dtype)})
    private = dpframe.attach(frame, dpframe.Accountant(epsilon=1), bounds={"x": bounds})
    with recording(noiseless=True):
        asked = {name: ("x", kind) for name, kind in statistics.items()}
        released = private.dp.agg(asked, epsilon=1)
    assert released.to_polars().height == 1
    assert str(released)
    assert released.interval() is not None


def test_fractions_of_numpy_integers_do_not_overflow_in_bounds_and_losses() -> None:
    odd = [Fraction(np.int64(a), np.int64(b)) for a, b in ((10**9 + 7, 10**10), (7, 3))]  # type: ignore[arg-type]
    plain = [Fraction(10**9 + 7, 10**10), Fraction(7, 3)]
    frame = pl.DataFrame({"x": [1.0, 2.0]}).dp.attach(dpframe.Accountant(epsilon=9))
    noise = [
        frame.dp.bounds(x=(low, 2**40)).dp.preview.sum("x", epsilon=epsilon).noise.scale
        for epsilon, low in (odd, plain)
    ]
    assert noise[0] == noise[1]
