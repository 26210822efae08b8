"""Which grid a column is rounded to, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.errors import (
    BoundsRequiredError,
    ColumnNotFoundError,
    DomainRequiredError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.grid import EvenGrid, ListedGrid
from dpframe.mechanisms.grids import grid_of
from dpframe.testing import recording

DAY = dt.timedelta(days=1)
JAN = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)

FRAME = pl.DataFrame(
    schema={
        "i": pl.Int64,
        "f": pl.Float64,
        "b": pl.Boolean,
        "s": pl.String,
        "e": pl.Enum(["lo", "hi"]),
        "d": pl.Date,
        "t": pl.Datetime("ms", "UTC"),
        "p": pl.Duration("us"),
        "m": pl.Decimal(10, 2),
        "big": pl.UInt128,
        "clock": pl.Time,
    }
)


def grid(column: object, frame: Any = FRAME, **declared: Any) -> Any:
    private = dpframe.attach(frame, dpframe.Accountant(epsilon=1))
    carried = declared.pop("carried", {})
    if "bounds" in carried:
        private = private.dp.bounds(carried["bounds"])
    if "domain" in carried:
        private = private.dp.domain(carried["domain"])
    return grid_of(private, column, release="synthetic_intervals", **declared)


@pytest.mark.parametrize(
    ("column", "declared", "low", "step", "size"),
    [
        ("i", {"bounds": (0, 9)}, 0, 1, 10),
        ("i", {"bounds": (0, 9), "step": 4}, 0, 4, 3),
        ("i", {"bounds": (0.5, 9.5)}, 1, 1, 9),
        ("i", {"bounds": (0, 9), "step": np.int64(3)}, 0, 3, 4),
        ("i", {"bounds": (-(2**63), 2**63 - 1)}, -(2**63), 1, 2**64),
        ("i", {"carried": {"bounds": {"i": (2, 5)}}}, 2, 1, 4),
        ("i", {"carried": {"bounds": {"i": (2, 5)}}, "bounds": (0, 1)}, 0, 1, 2),
        ("i", {"domain": [4, 2, 6]}, 2, 2, 3),
        ("i", {"domain": range(0, 100, 10)}, 0, 10, 10),
        ("i", {"carried": {"domain": {"i": [1, 3]}}}, 1, 2, 2),
        ("f", {"bounds": (0, 1), "step": 0.1}, 0, Fraction(1, 10), 11),
        ("f", {"bounds": (0, 1), "step": Fraction(1, 3)}, 0, Fraction(1, 3), 4),
        ("f", {"bounds": (0.1, 0.95), "step": Decimal("0.1")}, "0.1", "0.1", 9),
        ("f", {"bounds": (0, 1), "fine": True}, 0, Fraction(1, 2**20), 2**20 + 1),
        ("m", {"bounds": (0, 2)}, 0, 1, 201),
        ("m", {"bounds": (0, 2), "step": 0.25}, 0, 25, 9),
        ("b", {"bounds": (False, True)}, 0, 1, 2),
        ("d", {"bounds": (JAN, JAN + 6 * DAY)}, 19723, 1, 7),
        ("d", {"bounds": (JAN, JAN + 6 * DAY), "step": 2 * DAY}, 19723, 2, 4),
        ("p", {"bounds": (0 * DAY, DAY), "step": DAY / 24}, 0, 3_600_000_000, 25),
        (
            "t",
            {"bounds": (NOON, NOON + DAY), "step": np.timedelta64(1, "h")},
            1704110400000,
            3_600_000,
            25,
        ),
    ],
)
def test_a_grid_follows_from_bounds_and_step_or_a_list(
    column: str, declared: dict[str, Any], low: Any, step: Any, size: int
) -> None:
    found = grid(column, **declared)
    assert isinstance(found, EvenGrid)
    expected = (Fraction(str(low)), Fraction(str(step)), size)
    assert (found.low, found.step, found.size) == expected
    assert found.column.name == column


def test_uneven_points_and_floats_are_listed_in_order() -> None:
    found = grid("i", domain=[9, 1, 4])
    assert isinstance(found, ListedGrid)
    assert found.points == (1, 4, 9)
    assert isinstance(grid("f", domain=[0.0, 0.5, 1.0]), ListedGrid)
    assert grid("f", domain=np.array([2.0, 0.25])).points == (Fraction(1, 4), 2)


def test_a_boolean_column_has_its_points_by_type() -> None:
    assert grid("b").size == 2


def test_an_object_column_takes_its_type_from_what_is_declared() -> None:
    frame = pd.DataFrame({"o": [Decimal("0.1"), "text", None]}, dtype=object)
    assert grid("o", frame, bounds=(0, 9)).column.dtype == pl.Int64()
    listed = grid("o", frame, domain=[Decimal("0.1"), Decimal("0.25")])
    assert listed.column.dtype.is_decimal()
    with pytest.raises(ParameterTypeError, match="no order"):
        grid("o", frame, domain=["a", "b"])


REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("f", {}, DomainRequiredError, "continuous"),
    ("f", {"bounds": (0, 1)}, DomainRequiredError, "Blum, Ligett and Roth"),
    ("f", {"step": 0.1}, DomainRequiredError, "continuous"),
    ("i", {}, BoundsRequiredError, "needs the bounds of column 'i'"),
    ("d", {}, BoundsRequiredError, "bounds"),
    ("i", {"step": 2}, BoundsRequiredError, "bounds"),
    ("s", {"bounds": (0, 1)}, ParameterTypeError, "no bounds"),
    ("s", {}, ParameterTypeError, "no order"),
    ("s", {"domain": ["a", "b"]}, ParameterTypeError, "no order"),
    ("e", {}, ParameterTypeError, "no order"),
    ("clock", {"bounds": (0, 1)}, ParameterTypeError, "Time"),
    ("x", {"bounds": (0, 1)}, ColumnNotFoundError, "x"),
    (5, {"bounds": (0, 1)}, ParameterTypeError, "named|one name"),
    ("i", {"bounds": (9, 0)}, ParameterError, "low"),
    ("i", {"bounds": (3, 3)}, ParameterError, "low"),
    ("i", {"bounds": (0.2, 0.8)}, ParameterError, "fewer"),
    ("i", {"bounds": (0, float("nan"))}, ParameterError, "finite"),
    ("i", {"bounds": ("a", "b")}, ParameterTypeError, "number"),
    ("i", {"bounds": (JAN, JAN + DAY)}, ParameterTypeError, "number"),
    (
        "d",
        {"bounds": ("2024-01-01", "2024-01-02")},
        ParameterTypeError,
        "datetime.date",
    ),
    ("i", {"bounds": (0, 9), "step": 0}, ParameterError, "greater than 0"),
    ("i", {"bounds": (0, 9), "step": -1}, ParameterError, "greater than 0"),
    ("i", {"bounds": (0, 9), "step": 0.5}, ParameterError, "whole number"),
    ("i", {"bounds": (0, 9), "step": 10}, ParameterError, "fewer than 2"),
    ("i", {"bounds": (0, 9), "step": "1"}, ParameterTypeError, "step"),
    ("i", {"bounds": (0, 9), "step": True}, ParameterTypeError, "step"),
    ("i", {"bounds": (0, 9), "step": DAY}, ParameterTypeError, "step"),
    ("i", {"bounds": (0, 9), "step": [1]}, ParameterTypeError, "step"),
    ("f", {"bounds": (0, 1), "step": float("inf")}, ParameterError, "step"),
    ("f", {"bounds": (0, 1), "step": float("nan")}, ParameterError, "step"),
    ("f", {"bounds": (0, 1), "step": 1e-300}, ParameterError, "2\\*\\*64"),
    ("f", {"bounds": (0, 1), "step": 2}, ParameterError, "fewer than 2"),
    ("m", {"bounds": (0, 2), "step": 0.001}, ParameterError, "whole number"),
    ("d", {"bounds": (JAN, JAN + DAY), "step": 1}, ParameterTypeError, "timedelta"),
    ("d", {"bounds": (JAN, JAN + DAY), "step": DAY / 2}, ParameterError, "longer"),
    (
        "t",
        {"bounds": (NOON, NOON + DAY), "step": DAY / 10**9},
        ParameterError,
        "longer",
    ),
    ("big", {"bounds": (0, 2**127 - 1)}, ParameterError, "2\\*\\*64"),
    ("big", {"domain": [0, 5, 2**127]}, ParameterError, "128"),
    ("i", {"domain": [1]}, ParameterError, "2 points"),
    ("i", {"domain": []}, ParameterError, "empty"),
    ("i", {"domain": [1, 1]}, ParameterError, "repeat"),
    ("i", {"domain": [1, None]}, ParameterError, "missing"),
    ("i", {"domain": [1, "a"]}, ParameterTypeError, "number"),
    ("i", {"domain": 5}, ParameterTypeError, "list"),
    ("i", {"domain": pl.Series([1, 2])}, ParameterTypeError, "public"),
    ("i", {"domain": [1, 2], "step": 1}, ParameterError, "domain="),
    ("i", {"domain": [1, 2], "bounds": (0, 1)}, ParameterError, "domain="),
]


@pytest.mark.parametrize(("column", "declared", "error", "words"), REFUSED)
def test_what_makes_no_grid_is_refused(
    column: str, declared: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        grid(column, **declared)
    assert type(caught.value) is error


@pytest.mark.parametrize(("column", "declared", "error", "words"), REFUSED)
def test_a_release_refuses_the_same_before_it_reads_or_charges(
    column: str,
    declared: dict[str, Any],
    error: type[Exception],
    words: str,
    nothing_is_read: None,
) -> None:
    del nothing_is_read
    account = dpframe.Accountant(epsilon=1)
    private: Any = FRAME.dp.attach(account)
    for ask in (private.dp, private.dp.preview):
        with (
            recording() as recorder,
            pytest.raises(error, match=words) as caught,
        ):
            ask.synthetic_intervals(column, epsilon=1, **declared)
        assert type(caught.value) is error
        assert not recorder.records
        assert recorder.bytes_used == 0
    assert not account.events.to_dicts()


def test_a_public_list_or_bound_may_be_wrapped() -> None:
    assert grid("i", domain=dpframe.public(pl.Series([1, 2, 5]))).points == (1, 2, 5)


FAR = (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))  # noqa: DTZ001 - a plain column


@pytest.mark.parametrize(
    ("column", "declared", "calls"),
    [
        (pl.Series([5], dtype=pl.Int8), {"bounds": (-1000, 1000)}, "rows"),
        (
            pl.Series([5.0], dtype=pl.Float32),
            {"bounds": (0, 1e99), "step": 1e98},
            "rows",
        ),
        (pl.Series([5]), {"bounds": (0, 2**63)}, "both"),
        (pl.Series([5], dtype=pl.UInt64), {"bounds": (-1, 2**63)}, "both"),
        (pl.Series([None], dtype=pl.Datetime("ns")), {"bounds": FAR}, "both"),
        (
            pl.Series([DAY], dtype=pl.Duration("us")),
            {"bounds": (0 * DAY, dt.timedelta.max), "step": DAY},
            "both",
        ),
        (
            pl.Series([NOON], dtype=pl.Datetime("us", "America/New_York")),
            {"bounds": (dt.datetime(1, 1, 1, 1, tzinfo=dt.UTC), NOON), "step": DAY},
            "both",
        ),
        (pd.Series([5], dtype=object), {"bounds": (0, 2**64), "step": 2}, "both"),
    ],
    ids=str,
)
def test_points_that_a_release_could_not_hold_are_refused_for_nothing(
    column: Any, declared: dict[str, Any], calls: str, nothing_is_read: None
) -> None:
    del nothing_is_read
    if isinstance(column, pl.Series):
        frame: Any = column.alias("x").to_frame()
    else:
        frame = column.rename("x").to_frame()
    declared = {"step": DAY if "Datetime" in str(column.dtype) else 1, **declared}
    account = dpframe.Accountant(epsilon=1)
    private = frame.dp.attach(account)
    with pytest.raises(ParameterError, match="beyond what"):
        private.dp.synthetic_intervals("x", epsilon=1, **declared)
    if calls == "both":
        with pytest.raises(ParameterError, match="beyond what"):
            private.dp.quantile("x", [0, 0.5, 1], epsilon=1, **declared)
    assert not account.events.to_dicts()


def test_quantiles_are_wider_than_a_column_that_is_too_narrow_for_its_bounds() -> None:
    narrow = pl.DataFrame({"x": [5] * 100, "y": [5.0] * 100}).cast(
        {"x": pl.Int8, "y": pl.Float32}
    )
    private = dpframe.attach(narrow, dpframe.Accountant(epsilon=2))
    far = private.dp.quantile("x", 1, bounds=(1000, 2000), epsilon=1)
    assert 1000 <= far.value <= 2000
    assert private.dp.median("y", bounds=(1e90, 1e99), epsilon=1).value >= 1e90
