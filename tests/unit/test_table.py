from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpframe.table import Table, aligned_lines, cell_text, enumeration


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "decade": [0, 10],
            "state": ["CA", None],
            "share": [0.1 + 0.2, 12.5],
            "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        }
    )


def test_table_gives_its_rows_to_every_library(frame: pl.DataFrame) -> None:
    table = Table(frame)
    assert table.columns == ["decade", "state", "share", "day"]
    assert len(table) == 2
    assert table.to_polars().equals(frame)
    assert table.to_dicts() == frame.to_dicts()
    arrow: Any = table
    assert pl.DataFrame(arrow).equals(frame)
    assert pa.table(arrow).column_names == table.columns


def test_pandas_frame_has_a_range_index_and_plain_dtypes(frame: pl.DataFrame) -> None:
    result = Table(frame).to_pandas()
    assert isinstance(result.index, pd.RangeIndex)
    assert list(result.columns) == frame.columns
    assert result["decade"].dtype == "int64"
    assert result["share"].dtype == "float64"
    assert isinstance(result["state"].dtype, pd.StringDtype)
    assert result["state"].isna().tolist() == [False, True]


def test_table_is_frozen(frame: pl.DataFrame) -> None:
    table = Table(frame)
    frame[0, "decade"] = 99
    handed_out = table.to_polars()
    handed_out[0, "decade"] = 98
    handed_out.columns = list("abcd")
    pandas = table.to_pandas()
    pandas.loc[0, "decade"] = 97
    table.to_dicts()[0]["decade"] = 96
    assert table.to_dicts()[0]["decade"] == 0
    assert table.columns[0] == "decade"
    target: Any = table
    with pytest.raises(AttributeError):
        target.columns = ["x"]
    with pytest.raises(AttributeError):
        target.anything = 1


def test_copy_of_a_table_has_the_same_rows(frame: pl.DataFrame) -> None:
    assert copy.deepcopy(Table(frame)).to_polars().equals(frame)
    assert copy.copy(Table(frame)).to_polars().equals(frame)


def test_table_prints_aligned(frame: pl.DataFrame) -> None:
    assert repr(Table(frame)) == (
        "Table(2 rows)\n"
        "  decade  state  share  day\n"
        "       0  CA       0.3  2020-01-01\n"
        "      10  null    12.5  2020-01-02"
    )


def test_empty_tables_print() -> None:
    assert repr(Table(pl.DataFrame())) == "Table(0 rows)"
    assert repr(Table(pl.DataFrame({"a": [1]}))) == "Table(1 row)\n  a\n  1"
    assert repr(Table(pl.DataFrame(schema={"a": pl.Int64}))) == "Table(0 rows)\n  a"


def test_long_table_prints_its_ends() -> None:
    lines = repr(Table(pl.DataFrame({"a": range(1000)}))).splitlines()
    assert lines[0] == "Table(1000 rows)"
    assert [line.strip() for line in lines[2:]] == [
        *map(str, range(10)),
        "…",
        *map(str, range(990, 1000)),
    ]
    assert len(repr(Table(pl.DataFrame({"a": range(20)}))).splitlines()) == 22


def test_html_is_escaped() -> None:
    table = Table(pl.DataFrame({"<b>": ["<script>alert('&')</script>"], "n": [3]}))
    page = table._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
    assert '<td style="text-align: right">3</td>' in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "True"),
        (3, "3"),
        (0.1 + 0.2, "0.3"),
        (1234567.5, "1234567.5"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("é 日本", "é 日本"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC), "2020-01-02 03:04:05+00:00"),
    ],
)
def test_cell_is_text_on_one_line(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_lines_are_aligned_left_or_right() -> None:
    assert aligned_lines([["1", "a"], ["10", "bb"]], right={0}) == [" 1  a", "10  bb"]
    assert aligned_lines([], right={0}) == []


def test_names_stand_in_a_sentence() -> None:
    assert enumeration(["a"]) == "a"
    assert enumeration(["a", "b"]) == "a and b"
    assert enumeration(["a", "b", "c"], "or") == "a, b or c"
