from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import dpframe
from dpframe.errors import EvaluationError


def test_plan_that_panics_is_an_error_and_never_fewer_rows() -> None:
    days = [dt.date(2001, 1, 1)] * 200_000 + [dt.date(9999, 1, 1)]
    far = pl.col("day").to_physical().cast(pl.Int32) + 93_000_000
    raw = pl.DataFrame({"day": days}).lazy()
    raw = raw.select(text=far.cast(pl.Date).dt.to_string("%Y"))
    frame = dpframe.attach(raw, dpframe.Accountant(epsilon=1))
    with pytest.raises(EvaluationError):
        frame.dp.count("text", epsilon=1)
