from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe
from dpframe.errors import (
    ColumnNotFoundError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT
from dpframe.testing import recording

if TYPE_CHECKING:
    from dpframe.dialects.pandas.private import PrivatePandas


def people(**options: Any) -> PrivatePandas:
    frame = pd.DataFrame(
        {
            "id": [1, 1, 2, 3],
            "k": ["a", "b", "a", None],
            "x": [1, 2, 3, 4],
            "y": [True, False, True, True],
        }
    )
    return dpframe.attach(frame, dpframe.Accountant(epsilon=10), **options)


def units(**options: Any) -> PrivatePandas:
    return people(privacy_unit="id", max_rows=3, **options)


def wards() -> pd.DataFrame:
    return pd.DataFrame(
        {"k": ["a", None, "z"], "x": [10, 20, 30], "f": [True, False, True]}
    )


def same_rows(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Compare values, whatever the dtypes; the dtypes are told apart elsewhere."""
    assert list(found.columns) == list(wanted.columns)
    cells = [
        frame.astype(object).where(frame.notna(), None) for frame in (found, wanted)
    ]
    rows = [frame.to_numpy().tolist() for frame in cells]
    assert sorted(rows[0], key=repr) == sorted(rows[1], key=repr)


def decimals(cells: list[str | None], digits: int) -> pd.Series:
    read = [None if cell is None else Decimal(cell) for cell in cells]
    return pd.Series(read, dtype=pd.ArrowDtype(pa.decimal128(digits, 2)))


@pytest.mark.parametrize("how", ["inner", "left", "left_anti"])
@pytest.mark.parametrize(
    "options",
    [
        {"on": "k"},
        {"on": ["k"], "suffixes": ("", "_ward")},
        {"left_on": ["k"], "right_on": ["k"], "suffixes": ("_left", None)},
        {"left_on": ["x"], "right_on": ["x"]},
        {"left_on": ["k", "x"], "right_on": ["k", "x"]},
        {"on": "k", "validate": "m:1", "sort": True, "indicator": False},
    ],
)
def test_a_merge_with_a_public_frame_is_that_of_pandas(how: Any, options: Any) -> None:
    private = people()
    found = private.merge(dpframe.public(wards()), how=how, **options).detach()
    same_rows(found, private.detach().merge(wards(), how=how, **options))


def test_keys_of_two_names_are_both_kept() -> None:
    right = wards().rename(columns={"k": "ward"})
    private = people()
    options: Any = {"left_on": "k", "right_on": "ward", "how": "left"}
    found = private.merge(dpframe.public(right), **options).detach()
    same_rows(found, private.detach().merge(right, **options))


@pytest.mark.parametrize("how", ["inner", "left", "left_anti", "right", "outer"])
def test_a_merge_of_private_frames_is_that_of_pandas(how: Any) -> None:
    one = units()
    two = one.query("k == 'a'")[["x", "y"]].assign(z=lambda d: d["x"] * 2)
    found = one.query("x < 3").merge(two, on="id", how=how).detach()
    wanted = one.detach().query("x < 3").merge(two.detach(), on="id", how=how)
    same_rows(found, wanted)


@pytest.mark.parametrize("rows", [slice(0, 4), slice(0, 1), slice(0, 0)])
@pytest.mark.parametrize("how", ["inner", "left", "left_anti"])
def test_dtypes_do_not_depend_on_whether_a_row_finds_a_match(
    how: Any, rows: slice
) -> None:
    right = wards().assign(
        i=np.array([1, 2, 3], dtype="uint8"),
        c=pd.Categorical(["p", "q", "r"]),
        t=pd.to_datetime(["2024-01-01"] * 3),
        a=pd.Series([1, 2, 3], dtype="int64[pyarrow]"),
        o=pd.Series([1, "b", None], dtype=object),
    )
    left = people().detach().iloc[rows]
    private = dpframe.attach(left, dpframe.Accountant(epsilon=1))
    found = private.merge(dpframe.public(right), on="k", how=how)
    plain = {**right.drop(columns=["k", "x"]).dtypes, "x_y": np.dtype("int64")}
    can_miss = {"i": "UInt8", "f": "boolean", "x_y": "Int64"}
    for name, dtype in plain.items():
        wanted = can_miss.get(name, dtype) if how != "inner" else dtype
        assert found.detach()[name].dtype == wanted, name
    assert found.detach()[["id", "k", "y"]].dtypes.equals(left[["id", "k", "y"]].dtypes)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pd.Series([1, 2], dtype="int8"), pd.Series([1, 300], dtype="uint64")),
        (pd.Series([-1, 2], dtype="int64"), pd.Series([2**64 - 1, 2], dtype="uint64")),
        (pd.Series([1, None], dtype="Int64"), pd.Series([1, 2])),
        (pd.Series([0.0, np.nan]), pd.Series([-0.0, None], dtype="Float64")),
        (pd.Series([0.1], dtype="float32"), pd.Series([0.1])),
        (pd.Series(["a", None]), pd.Series(["a", "b"], dtype="category")),
        (
            pd.Series(["a", None], dtype="category"),
            pd.Series(["a", None], dtype=object),
        ),
        (pd.Series(["a"], dtype="string[pyarrow]"), pd.Series(["a"])),
        (
            pd.Series(pd.to_datetime(["2024-01-01"])).astype("M8[s]"),
            pd.Series(pd.to_datetime(["2024-01-01"])).astype("M8[ns]"),
        ),
        (pd.Series([True, False]), pd.Series([True, None], dtype="boolean")),
        (decimals(["1.50", None], 10), decimals(["1.50", "2.25"], 12)),
        (
            pd.Series(pd.to_datetime(["2024-01-01"], utc=True)),
            pd.Series(
                pd.to_datetime(["2024-01-01"], utc=True).tz_convert("Asia/Tokyo")
            ),
        ),
    ],
)
def test_keys_match_by_value_in_any_dtype_of_their_kind(
    left: pd.Series, right: pd.Series
) -> None:
    def value(cell: Any) -> object:
        return None if pd.isna(cell) else cell

    frame = pd.DataFrame({"k": left, "row": range(len(left))})
    private = dpframe.attach(frame, dpframe.Accountant(epsilon=1))
    table = dpframe.public(pd.DataFrame({"k": right, "there": range(len(right))}))
    found = private.merge(table, on="k").detach()
    wanted = {
        (i, j)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
        if value(one) == value(other)
    }
    assert set(found[["row", "there"]].itertuples(index=False, name=None)) == wanted
    assert found["k"].dtype == left.dtype


def test_declarations_move_with_the_columns_they_are_for() -> None:
    frame = units(bounds={"x": (0, 5)}, domain={"k": ["a", "b"]})
    state = frame.merge(dpframe.public(wards()), on="k").private_state
    assert set(state.bounds) == {"x_x"}
    assert set(state.domain) == {"k"}
    state = frame.merge(frame[["x"]], on="id").private_state
    assert set(state.bounds) == {"x_x", "x_y"}
    both = dpframe.public(pd.DataFrame({"k": ["a"], "id": [1]}))
    assert frame.merge(both, on="k").private_state.privacy_unit == "id_x"


def test_one_row_per_unit_lasts_while_a_row_cannot_find_two() -> None:
    from dataclasses import replace  # noqa: PLC0415

    frame = units()
    single = frame.with_state(replace(frame.private_state, one_row=True))
    once, twice = wards(), pd.concat([wards()] * 2)
    assert single.merge(dpframe.public(once), on="k").private_state.one_row
    assert not single.merge(dpframe.public(twice), on="k").private_state.one_row
    anti = single.merge(dpframe.public(twice), on="k", how="left_anti")
    assert anti.private_state.one_row
    assert not single.merge(single, on="id").private_state.one_row


def test_a_unit_with_many_matches_weighs_no_more_than_its_limit() -> None:
    twice = pd.concat([wards()] * 50)
    merged = units().merge(dpframe.public(twice), on="k")
    with recording(noiseless=True) as seen:
        merged.dp.count(epsilon=1)
    ((exact,),) = seen.records[0].blocks[0].exact
    whole = 3 * 2**16
    assert exact <= 3 * whole
    assert exact > 2 * whole


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_same_merge_in_polars_gives_the_same_exact_integers(how: Any) -> None:
    frame = people().detach()
    table = pd.DataFrame({"k": ["a", "b", "a"], "z": [1.5, 2.5, 3.0]})
    budget = dpframe.Accountant(epsilon=100)
    options: Any = {"privacy_unit": "id", "max_rows": 2, "bounds": {"x": (0, 5)}}
    one = frame.dp.attach(budget, **options)
    two = pl.from_pandas(frame).dp.attach(budget, **options)
    public = dpframe.public(table), dpframe.public(pl.from_pandas(table))
    pairs = [
        (one.merge(public[0], on="k", how=how), two.join(public[1], on="k", how=how)),
        (one.merge(one, on="id", how=how), two.join(two, on="id", how=how)),
    ]
    for mine, theirs in pairs:
        column = "x" if "x" in mine.columns else "x_x"
        with recording(noiseless=True) as seen:
            mine.dp.sum(column, epsilon=1)
            theirs.dp.sum("x", epsilon=1)
        first, second = seen.records
        assert first.blocks[0].exact == second.blocks[0].exact


def test_the_step_is_on_record_with_what_was_stated_to_be_public() -> None:
    table = dpframe.public(wards(), reason="floor plan")
    step = people().merge(table, on="k", how="left").private_state.steps[-1]
    assert step == (
        "merge(public(frame of k, x, f, reason='floor plan'), how='left', on=['k'])"
    )
    assert step.short == "merge(how='left', on=['k'])"


PUBLIC = dpframe.public(wards())


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda f: f.merge(wards(), on="k"), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", how="right"), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", how="outer"), NotProvedError),
        (lambda f: f.merge(PUBLIC, how="cross"), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", how="sideways"), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", validate="1:1"), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", validate="one_to_many"), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", validate="2:3"), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", validate=["m:1"]), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", indicator=True), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="k", left_index=True), NotProvedError),
        (lambda f: f.merge(PUBLIC, on="nobody"), ColumnNotFoundError),
        (lambda f: f.merge(PUBLIC, left_on="k"), ParameterTypeError),
        (lambda f: f.merge(PUBLIC, on="k", left_on="k"), ParameterError),
        (lambda f: f.merge(PUBLIC, left_on="id", right_on="k"), ParameterTypeError),
        (lambda f: f.merge(PUBLIC, on=["k", "k"]), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", suffixes=("", "")), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", suffixes=("_z", "_z")), ParameterError),
        (lambda f: f.merge(PUBLIC, on="k", suffixes="_x"), ParameterTypeError),
        (lambda f: f.merge(dpframe.public(wards()["k"]), on="k"), ParameterTypeError),
        (
            lambda f: f.merge(dpframe.public(pl.from_pandas(wards())), on="k"),
            ParameterTypeError,
        ),
        (lambda f: f.join(wards()), NotProvedError),
        (lambda f: f.merge(f, on="k"), NotProvedError),
        (lambda f: f.merge(units(), on="id"), NotProvedError),
        (lambda f: f.merge(f, on="id", validate="m:1"), NotProvedError),
        (lambda f: f.merge(f.rename(columns={"id": "u"}), left_on=["id", "k"],
                           right_on=["k", "u"]), NotProvedError),
        (lambda f: f.assign(id=1).merge(f, on="id"), NotProvedError),
    ],
)  # fmt: skip
def test_what_would_depend_on_other_rows_or_suits_no_column_is_refused(
    step: Any, error: Any
) -> None:
    with pytest.raises(error):
        step(units())


def test_without_a_unit_public_keys_are_unique_and_private_frames_do_not_meet() -> None:
    twice = dpframe.public(pd.concat([wards()] * 2))
    for how in ("inner", "left"):
        with pytest.raises(NotProvedError, match="repeat"):
            people().merge(twice, on="k", how=how)
    assert people().merge(twice, on="k", how="left_anti") is not None
    frame = people()
    with pytest.raises(NotProvedError, match="privacy unit"):
        frame.merge(frame, on="id")


def test_a_key_of_python_objects_stays_one_whatever_the_objects_are() -> None:
    for cells in (["u", "v", "u"], ["u", 2, "u"], [1, 2, 1]):
        frame = pd.DataFrame({"id": pd.Series(cells, dtype=object), "x": [1, 2, 3]})
        budget = dpframe.Accountant(epsilon=1)
        one = dpframe.attach(frame, budget, privacy_unit="id")
        for how in ("inner", "left", "right", "outer"):
            found = one.merge(one.query("x < 2"), on="id", how=how).detach()
            assert found["id"].dtype == object


def test_a_column_of_one_budget_is_not_merged_with_that_of_another() -> None:
    with pytest.raises(NotProvedError, match="budgets"):
        units().merge(units(), on="id")


def test_no_suffix_makes_a_name_that_hidden_columns_have() -> None:
    start, end = UNIT[:9], UNIT[9:]
    frame = people().rename(columns={"x": start})
    table = dpframe.public(wards().rename(columns={"x": start}))
    for suffixes in ((end, "_y"), ("_x", end)):
        with pytest.raises(ParameterError, match="reserved"):
            frame.merge(table, on="k", suffixes=suffixes)
