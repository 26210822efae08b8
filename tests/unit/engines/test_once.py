"""A release of several statistics goes through the file and the steps once."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.engines.once import Once
from dpframe.frame import UNIT

ROWS = {"u": [1, 1, 2, 3], "x": [1.0, 2.0, None, 4.0], "k": [0, 1, 1, None]}


@pytest.mark.parametrize("library", [pl.DataFrame, pl.LazyFrame, pd.DataFrame])
def test_columns_are_handed_on_as_the_frame_would(library: Any) -> None:
    frame = library(ROWS).dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="u")
    types = frame.types()
    once = Once(frame, types)
    for names in (["x"], ["k", "x"], ["u"], []):
        columns = {name: types[name] for name in names}
        found = once.scan(columns).collect()
        assert found.columns == [*names, UNIT]
        assert found.equals(frame.scan(columns).collect())


def test_a_file_is_read_once_for_several_statistics() -> None:
    reads: list[int] = []

    def watched(rows: pl.DataFrame) -> pl.DataFrame:
        reads.append(rows.height)
        return rows

    lazy = pl.LazyFrame({"x": [1, 2, 3], "y": [3, 4, 5]}).map_batches(watched)
    frame = lazy.dp.attach(
        dpframe.Accountant(epsilon=9), bounds={"x": (0, 9), "y": (0, 9)}
    )
    frame.dp.agg(
        n="count", a=("x", "median"), b=("y", "median"), c=("y", "mean"), epsilon=1
    )
    assert reads == [3]
