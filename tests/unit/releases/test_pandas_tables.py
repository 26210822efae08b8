"""Columns of public tables in pandas' dtypes, each value exactly."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpframe.releases.pandas_tables import host_column

TICKS = [3, 1, None, 2]
INSTANTS = pd.Series(pd.to_datetime([3, 1, None, 2], unit="ns"))
IN_BERLIN = INSTANTS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
DURATIONS = pd.Series(pd.to_timedelta([3, 1, None, 2], unit="ns"))

TIMES = {
    "instants": (pl.Datetime("ns"), INSTANTS),
    "instants in Arrow": (
        pl.Datetime("ns"),
        INSTANTS.astype(pd.ArrowDtype(pa.timestamp("ns"))),
    ),
    "instants in categories": (pl.Datetime("ns"), INSTANTS.astype("category")),
    "instants of a zone": (pl.Datetime("ns", "Europe/Berlin"), IN_BERLIN),
    "instants of a zone in Arrow": (
        pl.Datetime("ns", "Europe/Berlin"),
        IN_BERLIN.astype(pd.ArrowDtype(pa.timestamp("ns", "Europe/Berlin"))),
    ),
    "instants of a zone in categories": (
        pl.Datetime("ns", "Europe/Berlin"),
        IN_BERLIN.astype("category"),
    ),
    "durations": (pl.Duration("ns"), DURATIONS),
    "durations in Arrow": (
        pl.Duration("ns"),
        DURATIONS.astype(pd.ArrowDtype(pa.duration("ns"))),
    ),
    "durations in categories": (pl.Duration("ns"), DURATIONS.astype("category")),
}


@pytest.mark.parametrize(("dtype", "expected"), TIMES.values(), ids=TIMES)
def test_nanoseconds_stay(dtype: pl.DataType, expected: pd.Series[Any]) -> None:
    column = pl.Series("t", TICKS, dtype=pl.Int64).cast(dtype)
    made = host_column(column, expected.dtype, None)
    pd.testing.assert_series_equal(made, expected, check_categorical=False)


def test_seconds_of_arrow_take_milliseconds() -> None:
    column = pl.Series("t", [5000, None]).cast(pl.Datetime("ms"))
    host = pd.ArrowDtype(pa.timestamp("s"))
    made = host_column(column, host, None)
    assert made.dtype == host
    assert made[0] == pd.Timestamp(5, unit="s")
    assert made.isna().tolist() == [False, True]
