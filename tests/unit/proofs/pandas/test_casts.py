"""What casts make of values: the dtype that was asked for, whatever the rows are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpframe
from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.proofs.pandas.record import Schema, record
from dpframe.proofs.pandas.recording import replay

NA = pd.NA
FLOATS = [3.0, -0.0, 2.5, np.nan, np.inf, -np.inf, 127.0, 128.0, -1.0]
FLOATS += [2.0**63, -(2.0**63)]
TABLE = pd.DataFrame(
    {
        "f": FLOATS,
        "half": pd.Series([*FLOATS[:9], 1.0, 1.0], dtype="float16"),
        "F": pd.Series([3.0, None, 2.5, *[1.0] * 8], dtype="Float64"),
        "i": [0, 1, 2, -1, 2**62, *[5] * 6],
        "I": pd.Series([0, None, *[7] * 9], dtype="Int64"),
        "s": ["3", "x", None, *["4"] * 8],
        "t": pd.to_datetime(["2024-02-29 13:05", None, *["2024-01-01 00:00"] * 9]),
        "w": pd.to_timedelta(["1h", None, *["2D"] * 9]),
    }
)


def made(step: Any) -> pd.Series:
    recording = record(step, Schema(dtypes=TABLE.dtypes.to_dict()), what="step")
    found = replay(recording, TABLE)
    assert found.dtype == recording.dtype
    few = replay(recording, TABLE.iloc[:1])
    assert few.dtype == recording.dtype
    return found


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("f", "Int64", [3, 0, NA, NA, NA, NA, 127, 128, -1, NA, -(2**63)]),
        ("f", "Int8", [3, 0, NA, NA, NA, NA, 127, NA, -1, NA, NA]),
        ("f", "UInt64", [3, 0, NA, NA, NA, NA, 127, 128, NA, 2**63, NA]),
        ("half", "Int16", [3, 0, NA, NA, NA, NA, 127, 128, -1, 1, 1]),
        ("F", "Int64", [3, NA, NA, *[1] * 8]),
    ],
)
def test_floats_that_are_whole_and_fit_become_whole_numbers(
    name: str, dtype: str, expected: list[Any]
) -> None:
    found = made(lambda d: d[name].astype(dtype))
    assert str(found.dtype) == dtype
    assert found.tolist() == expected


def test_a_whole_number_is_true_where_it_is_not_zero() -> None:
    found = made(lambda d: d["i"].astype(bool))
    assert found.dtype == np.dtype("bool")
    assert found.tolist() == [False, *[True] * 10]


@pytest.mark.parametrize("dtype", ["str", "string"])
def test_numbers_are_written_each_by_itself(dtype: str) -> None:
    found = made(lambda d: d["f"].astype(dtype))
    assert found.tolist()[:3] == ["3.0", "-0.0", "2.5"]
    assert pd.isna(found[3])
    assert found[9] == "9.223372036854776e+18"
    whole = made(lambda d: d["I"].astype(dtype))
    assert whole.tolist()[2] == "7"
    assert pd.isna(whole[1])


@pytest.mark.parametrize(
    ("name", "dtype", "words"),
    [
        ("f", int, 'astype("Int64")'),
        ("f", "int64", ".round()"),
        ("I", "int64", 'astype("Int64")'),
        ("f", bool, "!= 0"),
        ("I", bool, "!= 0"),
        ("i", "boolean", "!= 0"),
        ("s", "Int64", "dpframe.to_numeric"),
        ("s", "datetime64[s]", "dpframe.to_datetime"),
        ("f", "int64[pyarrow]", 'astype("Int64")'),
    ],
)
def test_cast_that_can_fail_is_refused_with_one_that_cannot(
    name: str, dtype: Any, words: str
) -> None:
    with pytest.raises(NotProvedError) as refused:
        made(lambda d: d[name].astype(dtype))
    assert words in (refused.value.hint or "")


@pytest.mark.parametrize(
    "part",
    [
        lambda d: d["t"].dt.hour,
        lambda d: d["t"].dt.year,
        lambda d: d["w"].dt.days,
        lambda d: d["s"].str.len(),
        lambda d: d["s"].str.count("3"),
        lambda d: d["s"].str.find("3"),
        lambda d: d["s"].str.rfind("3"),
        lambda d: d["s"].str.split("x").str.len(),
    ],
)
def test_parts_that_are_whole_numbers_stay_whole_beside_missing_ones(
    part: Any,
) -> None:
    found = made(part)
    assert str(found.dtype) == "Int64"
    assert found.isna().sum() == 1


def test_seconds_of_a_duration_are_floats() -> None:
    assert made(lambda d: d["w"].dt.total_seconds()).dtype == np.dtype("float64")


def test_hours_are_compared_written_and_counted() -> None:
    frame = TABLE[["t"]].dp.attach(dpframe.Accountant(epsilon=1))
    frame = frame.assign(hour=lambda d: d["t"].dt.hour)
    table = frame.dp.value_counts("hour", keys=[0, 13], epsilon=1).to_pandas()
    assert list(table["hour"]) == [0, 13]
    text = frame.assign(shown=lambda d: d["hour"].astype("str"))
    assert str(text.dtypes["shown"]) == "str"
    frame.query("hour < 6").dp.detach()


def test_keys_that_a_cast_column_cannot_hold_are_forgotten() -> None:
    frame = TABLE[["f"]].dp.attach(
        dpframe.Accountant(epsilon=1), bounds={"f": (0, 65)}, domain={"f": [0.5, 1.0]}
    )
    whole = frame.astype({"f": "Int64"})
    assert "f" not in whole.dp.state.domain
    assert whole.dp.state.bounds == frame.dp.state.bounds
    kept = frame.dp.domain(f=[0.0, 1.0]).astype({"f": "Int64"})
    assert kept.dp.state.domain["f"] == (0.0, 1.0)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda d: d["i"].replace({1: "a"}), "map("),
        (lambda d: d["s"].replace({"3": 3}), "map("),
        (lambda d: d["i"].map(lambda value: value + 1), "dpframe.where"),
        (lambda d: d["s"] + d["f"], "dpframe.to_numeric"),
        (lambda d: d["i"].map({"a": 1}), "dpframe.to_numeric"),
        (lambda d: d["i"].str.len(), '.astype("str")'),
        (lambda d: d["s"].dt.hour, "dpframe.to_datetime"),
        (lambda d: d["t"] - d["t"].dt.tz_localize("UTC"), "tz_localize"),
        (lambda d: d["t"] + d["i"], "total_seconds"),
        (lambda d: d["t"].dt.date, ".dt.normalize()"),
        (lambda d: pd.to_timedelta(d["i"], unit="h"), "total_seconds"),
    ],
)
def test_values_of_other_kinds_are_refused_with_what_brings_them_together(
    step: Any, words: str
) -> None:
    with pytest.raises((NotProvedError, ParameterTypeError)) as refused:
        made(step)
    assert words in (refused.value.hint or "")


def test_numbers_are_named_by_a_map() -> None:
    found = made(lambda d: d["i"].map({0: "no", 1: "yes"}))
    assert found.tolist()[:2] == ["no", "yes"]
    assert found.isna().sum() == 9


def test_keys_of_decimals_stay_where_decimals_become_floats() -> None:
    raw = pd.DataFrame(
        {"d": pd.Series(["1.50"], dtype=pd.ArrowDtype(pa.decimal128(9, 2)))}
    )
    frame = raw.dp.attach(
        dpframe.Accountant(epsilon=1), domain={"d": [Decimal("1.50"), Decimal("0.10")]}
    )
    cast = frame.astype({"d": "float64"})
    assert cast.dp.state.domain["d"] == frame.dp.state.domain["d"]
