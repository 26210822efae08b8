from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.declare import (
    check_contributions,
    declare_bounds,
    declare_domain,
    find_column,
    no_such_column,
    public_value,
)
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.privacy.accountant import Accountant
from dpframe.values import Bounds, Kind


class Released:
    def __public_value__(self) -> tuple[int, int]:
        return (0, 65)


@pytest.fixture
def frame() -> PrivatePolars[pl.DataFrame]:
    raw = pl.DataFrame({"age": [1, 2], "state": ["CA", "NY"], "parts": [[1], [2]]})
    return dpframe.attach(raw, Accountant(1))


@pytest.mark.parametrize("limit", [1, 5, np.int64(5)])
def test_limits_are_positive_whole_numbers(limit: Any) -> None:
    assert check_contributions(limit, None, unit="u") == (int(limit), None)
    assert check_contributions(None, limit, unit="u") == (None, int(limit))


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        (0, ParameterError),
        (-1, ParameterError),
        (True, ParameterTypeError),
        (np.True_, ParameterTypeError),
        (1.0, ParameterTypeError),
        ("1", ParameterTypeError),
        (np.array(1), ParameterTypeError),
    ],
)
def test_other_limits_are_refused(limit: Any, error: type[DPFrameError]) -> None:
    with pytest.raises(error, match="max_rows"):
        check_contributions(limit, None, unit="u")
    with pytest.raises(error, match="max_groups"):
        check_contributions(None, limit, unit="u")


@pytest.mark.parametrize("host", [pl.DataFrame, pl.LazyFrame, pd.DataFrame])
@pytest.mark.parametrize("limit", ["max_rows", "max_groups"])
def test_limits_without_a_privacy_unit_to_limit_are_refused(
    host: Any, limit: str
) -> None:
    raw = host({"age": [1, 2]})
    with pytest.raises(ParameterError, match="none is named") as caught:
        raw.dp.attach(Accountant(1), **{limit: 3})
    assert "privacy_unit=" in str(caught.value)
    frame = raw.dp.attach(Accountant(1))
    with pytest.raises(ParameterError, match="none is named"):
        frame.dp.contributions(**{limit: 3})


@pytest.mark.parametrize(
    ("rows", "text"), [(1, "at most 1 row's weight"), (2, "at most 2 rows' weight")]
)
def test_a_frame_says_in_words_how_much_a_unit_may_weigh(rows: int, text: str) -> None:
    raw = pl.DataFrame({"id": [1, 2]})
    frame = raw.dp.attach(Accountant(1), privacy_unit="id", max_rows=rows)
    assert text in repr(frame)


def test_column_is_found_by_its_name(frame: PrivatePolars[pl.DataFrame]) -> None:
    assert find_column(frame, "age").kind is Kind.INTEGER
    with pytest.raises(ColumnNotFoundError, match="did you mean 'state'") as caught:
        find_column(frame, "stat")
    assert caught.value.close_matches == ("state",)
    for name in (["age"], pl.col("age"), None, 1, "parts"):
        with pytest.raises(ParameterTypeError):
            find_column(frame, name)


def test_name_of_two_columns_is_refused(
    frame: PrivatePolars[pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = frozenset({"age"})
    monkeypatch.setattr(PrivatePolars, "duplicate_names", lambda _: twice)
    with pytest.raises(ParameterError, match="more than once"):
        find_column(frame, "age")


def test_declarations_are_checked_by_column(
    frame: PrivatePolars[pl.DataFrame],
) -> None:
    assert declare_bounds(frame, {"age": (0, 65)}) == {"age": Bounds(0, 65)}
    assert declare_domain(frame, {"state": ["CA"]}) == {"state": ("CA",)}
    assert declare_bounds(frame, None) == {}
    with pytest.raises(ParameterTypeError, match="mapping"):
        declare_bounds(frame, (0, 65))
    with pytest.raises(ParameterTypeError):
        declare_domain(frame, {"state": pl.Series(["CA"])})


def test_released_value_is_public(frame: PrivatePolars[pl.DataFrame]) -> None:
    assert declare_bounds(frame, {"age": Released()}) == {"age": Bounds(0, 65)}
    column = pl.Series([1])
    assert public_value(column) is column


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("nope", ()),
        ("incme", ("income",)),
        ("yr", ("year",)),
        ("Income", ("income",)),
        ("YEAR", ("year",)),
    ],
)
def test_names_are_suggested_that_are_alike(asked: str, near: tuple[str, ...]) -> None:
    found = no_such_column(asked, ["income", "year", "sex"])
    assert found.close_matches == near
