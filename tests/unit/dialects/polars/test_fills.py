from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import dpframe
from dpframe.dialects.polars.fills import is_plain
from dpframe.dialects.polars.inputs import filled_dtypes
from dpframe.proofs.polars.prove import prove

DTYPES = [
    *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Int128()),
    *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64(), pl.Float32(), pl.Float64()),
    *(pl.Decimal(9, 2), pl.Boolean(), pl.String(), pl.Categorical(), pl.Enum(["a"])),
    *(pl.Date(), pl.Datetime("us"), pl.Datetime("ms"), pl.Duration("ms")),
    *(pl.Time(), pl.Null(), pl.Binary(), pl.List(pl.Int64())),
]
VALUES = [0, -1, 127, 128, -129, 300, 2**31 - 1, -(2**31) + 1, 0.5, 1e300, True, "a"]


def _schema() -> dict[str, pl.DataType]:
    return {f"c{place}": dtype for place, dtype in enumerate(DTYPES)}


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_fills_are_those_that_the_proof_takes_as_they_are(value: object) -> None:
    plain = 0
    for dtype in DTYPES:
        if is_plain(dtype, value):
            plain += 1
            asked = pl.col("x").fill_null(value)  # pyright: ignore[reportArgumentType] - any
            proved = prove(asked, schema={"x": dtype})
            assert proved.kind is not None
            assert proved.runnable() is asked or proved.parts.expr is proved.runnable()
    assert plain


@pytest.mark.parametrize("value", [2**31, float("nan"), float("inf"), None, b"a", ()])
def test_other_values_are_not_plain(value: object) -> None:
    assert not any(is_plain(dtype, value) for dtype in DTYPES)


@pytest.mark.parametrize("dtype", [pl.UInt64(), pl.Int128(), pl.Decimal(9, 2)])
def test_dtypes_that_lose_numbers_are_not_plain(dtype: pl.DataType) -> None:
    assert not any(is_plain(dtype, value) for value in VALUES)


@pytest.mark.parametrize(
    "value",
    [
        *VALUES,
        dt.date(2000, 1, 1),
        dt.datetime(2000, 1, 1),  # noqa: DTZ001 - naive as the column
        dt.timedelta(1),
        dt.time(1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("matches", [True, False])
def test_columns_that_are_filled_are_those_of_polars(
    value: object, *, matches: bool
) -> None:
    kept = {
        name: dtype
        for name, dtype in _schema().items()
        if not dtype.is_decimal() and dtype not in {pl.UInt64(), pl.Int128()}
    }
    rows = pl.DataFrame(schema=kept)
    expected = rows.fill_null(value, matches_supertype=matches).schema
    private = rows.dp.attach(dpframe.Accountant(epsilon=1))
    found = private.fill_null(value, matches_supertype=matches)
    assert found.schema == expected
    suits = filled_dtypes(value, matches_supertype=matches)
    assert suits is not None
