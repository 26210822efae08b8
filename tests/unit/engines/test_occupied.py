"""The keys that occur, and how many units hold each, on every dtype and library."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpframe import Accountant
from dpframe.engines.occupied import occurrences
from dpframe.errors import EvaluationError
from dpframe.tally import Contribution, Occupied, Per
from dpframe.values import column_type

BERLIN = ZoneInfo("Europe/Berlin")
SUMMER, WINTER = (
    dt.datetime(2024, 10, 27, hour, 30, tzinfo=dt.UTC).astimezone(BERLIN)
    for hour in (0, 1)
)
FAR = 1 << 62


def found(
    private: Any, *columns: str, dtype: pl.DataType | None = None, **limits: Any
) -> list[tuple[Any, int]]:
    """Return the keys that occur with their counts, in order."""
    types = private.types()
    keys = tuple(column_type(name, dtype or types[name]) for name in columns)
    contribution = Contribution(per=Per.UNITS, **limits) if limits else Contribution()
    exact = occurrences(private, Occupied(keys=keys, contribution=contribution))
    rows = exact.keys.rows()
    shown = [row[0] if len(row) == 1 else row for row in rows]
    return list(zip(shown, exact.counts.tolist(), strict=True))


SORTED = {
    "text by code point": (
        pl.Series(["b", "é", "B", "b", None, "", "z"]),
        [("", 1), ("B", 1), ("b", 2), ("z", 1), ("é", 1)],
    ),
    "levels by code point, not by their order": (
        pl.Series(["b", "c", "a", "c", None], dtype=pl.Enum(["c", "b", "a", "never"])),
        [("a", 1), ("b", 1), ("c", 2)],
    ),
    "categories": (
        pl.Series(["b", "c", "a", "c", None], dtype=pl.Categorical()),
        [("a", 1), ("b", 1), ("c", 2)],
    ),
    "truths": (pl.Series([True, None, False, True]), [(False, 1), (True, 2)]),
    "whole numbers": (pl.Series([10, 9, None, -1, 10]), [(-1, 1), (9, 1), (10, 2)]),
    "whole numbers beyond 63 bits": (
        pl.Series([2**64 - 1, 3, 2**63, 2**64 - 1], dtype=pl.UInt64),
        [(3, 1), (2**63, 1), (2**64 - 1, 2)],
    ),
    "whole numbers of 128 bits": (
        pl.Series([2**100, -(2**100), 2**100], dtype=pl.Int128),
        [(-(2**100), 1), (2**100, 2)],
    ),
    "numbers, zeros of both signs alike": (
        pl.Series([0.5, -0.0, 0.0, math.nan, None, math.inf, -math.inf, 1e308]),
        [(0.0, 2), (0.5, 1), (1e308, 1)],
    ),
    "single numbers": (
        pl.Series([0.1, -0.0, 0.0, math.nan, math.inf], dtype=pl.Float32),
        [(0.0, 2), (float(np.float32(0.1)), 1)],
    ),
    "decimals": (
        pl.Series([Decimal("1.10"), Decimal(-2), Decimal("1.1")]),
        [(Decimal("-2.00"), 1), (Decimal("1.10"), 2)],
    ),
    "dates, the last of the calendar too": (
        pl.Series([dt.date(9999, 12, 31), dt.date(1, 1, 1), None]),
        [(dt.date(1, 1, 1), 1), (dt.date(9999, 12, 31), 1)],
    ),
    "no dates beyond the calendar": (
        pl.Series([0, 2**31 - 1, -(2**31)], dtype=pl.Int32).cast(pl.Date),
        [(dt.date(1970, 1, 1), 1)],
    ),
    "no instants beyond the calendar": (
        pl.Series([0, FAR, -FAR]).cast(pl.Datetime("us")),
        [(dt.datetime(1970, 1, 1), 1)],  # noqa: DTZ001 - the column has no zone
    ),
    "an hour that occurs twice": (
        pl.Series([WINTER, SUMMER, WINTER], dtype=pl.Datetime("ms", "Europe/Berlin")),
        [(SUMMER, 1), (WINTER, 2)],
    ),
    "no durations beyond Python's": (
        pl.Series([60_000, FAR, -FAR]).cast(pl.Duration("ms")),
        [(dt.timedelta(minutes=1), 1)],
    ),
}


@pytest.mark.parametrize(("column", "expected"), SORTED.values(), ids=SORTED)
def test_keys_of_every_dtype_are_sorted_by_value(
    column: pl.Series, expected: list[Any]
) -> None:
    frame = column.alias("g").to_frame()
    for rows in (frame, frame.lazy(), frame.reverse()):
        assert found(rows.dp.attach(Accountant(epsilon=1)), "g") == expected


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
@pytest.mark.parametrize("zeros", [[-0.0], [-0.0, 0.0, -0.0] * 9, [0.0, -0.0]])
def test_no_zero_has_a_sign(dtype: type[pl.DataType], zeros: list[float]) -> None:
    frame = pl.DataFrame({"g": pl.Series(zeros, dtype=dtype)})
    ((zero, count),) = found(frame.dp.attach(Accountant(epsilon=1)), "g")
    assert count == len(zeros)
    assert math.copysign(1, zero) == 1


def test_nanoseconds_tell_keys_apart() -> None:
    column = pl.Series("g", [3, 1, 2, 1]).cast(pl.Datetime("ns"))
    private = column.to_frame().lazy().dp.attach(Accountant(epsilon=1))
    exact = occurrences(private, Occupied(keys=(column_type("g", pl.Datetime("ns")),)))
    assert exact.keys["g"].to_physical().to_list() == [1, 2, 3]
    assert exact.counts.tolist() == [2, 1, 1]


PANDAS = {
    "text": (pd.Series(["b", "a", None, "b"], dtype="str"), [("a", 1), ("b", 2)]),
    "text in objects, of a declared type": (
        pd.Series(["b", "a", None, 7, math.nan, True], dtype=object),
        [("a", 1), ("b", 1)],
    ),
    "categories": (
        pd.Series(pd.Categorical(["b", "a", "b"], categories=["b", "never", "a"])),
        [("a", 1), ("b", 2)],
    ),
    "whole numbers with a missing one": (
        pd.Series([3, None, 1, 3], dtype="Int64"),
        [(1, 1), (3, 2)],
    ),
    "whole numbers beyond 63 bits": (
        pd.Series([2**64 - 1, 2**63], dtype="uint64"),
        [(2**63, 1), (2**64 - 1, 1)],
    ),
    "numbers": (
        pd.Series([0.0, -0.0, math.nan, math.inf, 2.5]),
        [(0.0, 2), (2.5, 1)],
    ),
    "truths": (
        pd.Series([True, None, False], dtype="boolean"),
        [(False, 1), (True, 1)],
    ),
    "instants": (
        pd.Series(pd.to_datetime(["2024-01-02", None, "2024-01-01"])),
        [(dt.datetime(2024, 1, 1), 1), (dt.datetime(2024, 1, 2), 1)],  # noqa: DTZ001 - the column has no zone
    ),
}


@pytest.mark.parametrize(("column", "expected"), PANDAS.values(), ids=PANDAS)
def test_keys_of_pandas_dtypes_are_sorted_by_value(
    column: pd.Series[Any], expected: list[Any]
) -> None:
    private = pd.DataFrame({"g": column}).dp.attach(Accountant(epsilon=1))
    dtype = pl.String() if column.dtype == object else None
    assert found(private, "g", dtype=dtype) == expected


def test_several_columns_are_sorted_together_and_a_missing_part_is_no_key(
    host: Any,
) -> None:
    data = {"a": ["y", "x", "x", None, "x"], "b": [1, 2, 1, 1, 2]}
    assert found(host.attached(data), "a", "b") == [
        (("x", 1), 1),
        (("x", 2), 2),
        (("y", 1), 1),
    ]


def test_a_unit_counts_once_for_each_key_and_for_few_keys(host: Any) -> None:
    data = {"u": [1, 1, 1, 2, 2, 3], "g": ["a", "a", "b", "a", "a", "c"]}
    private = host.attached(data, privacy_unit="u")
    assert found(private, "g", limit=2) == [("a", 2), ("b", 1), ("c", 1)]
    kept = dict(found(private, "g", limit=1, salt=b"salt"))
    assert sum(kept.values()) == 3
    assert kept["c"] == 1


def test_libraries_and_dtypes_keep_the_same_keys_of_a_unit(host: Any) -> None:
    many = {"u": [1] * 50 + [2] * 50, "g": [*range(50), *range(25, 75)]}
    private = host.attached(many, privacy_unit="u")
    limits = {"limit": 7, "salt": b"salt"}
    expected = found(
        pl.DataFrame(many).dp.attach(Accountant(epsilon=1), privacy_unit="u"),
        "g",
        **limits,
    )
    assert found(private, "g", **limits) == expected
    floats = host.attached(
        {**many, "g": [float(g) for g in many["g"]]}, privacy_unit="u"
    )
    assert found(floats, "g", **limits) == expected


def test_a_frame_without_keys_has_none(host: Any) -> None:
    empty = pl.DataFrame({"g": pl.Series([None, None], dtype=pl.String)})
    data = empty.to_pandas().astype({"g": "str"}) if host.is_pandas else empty
    assert found(host.attached(data), "g") == []


def test_a_failure_is_told_without_its_cause() -> None:
    frame = pl.LazyFrame({"g": ["canary"]}).with_columns(pl.col("g").cast(pl.Int64))
    with pytest.raises(EvaluationError) as caught:
        found(frame.dp.attach(Accountant(epsilon=1)), "g")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "canary" not in str(caught.value)
