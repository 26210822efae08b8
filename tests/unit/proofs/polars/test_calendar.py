from __future__ import annotations

import datetime as dt
import itertools

import polars as pl
import pytest

from dpframe.errors import NotProvedError
from dpframe.proofs.polars.prove import prove

YEARS = [1999, 2000, 1900, 2004, -4, 0, 1, 2**31, -(2**31), None]
MONTHS = [-1, 0, 1, 2, 4, 12, 13, 300, None]
DAYS = [-5, 0, 1, 28, 29, 30, 31, 32, None]
DATE = pl.date("y", "m", "d")


def _rows(dtype: pl.DataType) -> pl.DataFrame:
    given = itertools.product(YEARS, MONTHS, DAYS)
    rows = pl.DataFrame(list(given), schema=["y", "m", "d"], orient="row")
    return rows.cast(dtype, strict=False).unique()


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        dt.date(2000 + year % 400, month, day)  # years of 4 digits, as leap as these
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Int16(), pl.UInt64(), pl.Int8()])
def test_dates_are_those_of_polars_and_what_is_no_date_is_missing(
    dtype: pl.DataType,
) -> None:
    rows = _rows(dtype)
    run = prove(DATE, schema=rows.schema).runnable()
    good = [
        None not in row and abs(row[0]) <= 98_000 and _is_date(*row)
        for row in rows.iter_rows()
    ]
    assert sum(good) > 10
    found = rows.select(run.alias("z"))["z"]
    assert found.is_not_null().to_list() == good
    expected = rows.filter(pl.Series(good)).select(DATE.alias("z"))["z"]
    assert found.drop_nulls().equals(expected)
    for place in range(0, rows.height, 40):
        one = rows[place : place + 1].select(run.alias("z"))["z"]
        assert one.equals(found[place : place + 1])


def test_instants_are_those_of_polars_and_what_is_none_is_missing() -> None:
    parts = {
        "h": [-1, 0, 23, 24],
        "n": [-1, 0, 59, 60],
        "s": [-1, 0, 59, 60],
        "u": [-1, 0, 999_999, 1_000_000],
    }
    rows = pl.DataFrame(
        list(itertools.product(*parts.values())), schema=[*parts], orient="row"
    )
    instant = pl.datetime(2000, 2, 29, *parts)
    found = rows.select(prove(instant, schema=rows.schema).runnable().alias("z"))["z"]
    good = [all(n in parts[k][1:3] for k, n in row.items()) for row in rows.to_dicts()]
    assert found.is_not_null().to_list() == good
    expected = rows.filter(pl.Series(good)).select(instant.alias("z"))["z"]
    assert found.drop_nulls().equals(expected)


@pytest.mark.parametrize(
    "expr",
    [
        pl.date("f", 1, 1),
        pl.date("y", pl.col("f"), 1),
        pl.datetime("y", 1, 1, time_unit="ns"),
        pl.datetime("y", 1, 1, time_zone="UTC"),
    ],
    ids=str,
)
def test_what_can_fail_is_refused(expr: pl.Expr) -> None:
    with pytest.raises(NotProvedError, match="whole numbers"):
        prove(expr, schema={"y": pl.Int64(), "f": pl.Float64()})


SCHEMA = {
    "a": pl.Int64(),
    "b": pl.Int64(),
    "f": pl.Float64(),
    "s": pl.String(),
    "l": pl.List(pl.Int64()),
    "c": pl.Categorical(),
    "e": pl.Enum(["x"]),
}


@pytest.mark.parametrize(
    "expr",
    [
        pl.concat_list("a", "b"),
        pl.concat_list("a", pl.lit(3, dtype=pl.Int64)),
        pl.concat_list("a", pl.lit(None)),
        pl.concat_list("s", pl.lit("x"), pl.col("s").str.to_uppercase()),
        pl.concat_list("f", pl.lit(0.5)),
        pl.concat_list(pl.col("a", "b")),
        pl.concat_list("e", "e"),
    ],
    ids=str,
)
def test_values_of_one_row_are_listed_alike_in_all_chunks(expr: pl.Expr) -> None:
    run = prove(expr.alias("z"), schema=SCHEMA).runnable()
    rows = pl.DataFrame(
        {
            "a": [1, None, 3],
            "b": [None, None, 6],
            "f": [0.5, float("nan"), None],
            "s": ["p", None, "q"],
            "l": [[1], None, []],
            "c": ["x", None, "y"],
            "e": ["x", None, "x"],
        },
        schema=SCHEMA,
    )
    whole = rows.select(run)
    assert not whole["z"].has_nulls()
    singly = pl.concat([part.select(run) for part in rows.iter_slices(1)])
    assert whole.equals(singly)
    assert whole.equals(rows[::-1].select(run)[::-1])


@pytest.mark.parametrize(
    "expr",
    [
        pl.concat_list("a", "f"),
        pl.concat_list("a", "s"),
        pl.concat_list("a", pl.lit(0.5)),
        pl.concat_list("a", pl.lit("x")),
        pl.concat_list("l", "l"),
        pl.concat_list("l", "a"),
        pl.concat_list("c", "c"),
        pl.concat_list(pl.all()),
    ],
    ids=str,
)
def test_values_of_several_dtypes_are_not_listed(expr: pl.Expr) -> None:
    with pytest.raises(NotProvedError):
        prove(expr, schema=SCHEMA)
