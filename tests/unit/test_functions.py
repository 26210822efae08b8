from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.errors import (
    DPFrameError,
    EvaluationError,
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.proofs.pandas.record import Schema, record
from dpframe.proofs.pandas.recording import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[Any], Any]

RAW = pd.DataFrame(
    {
        "i": [-3, 0, 1, 2, 7, 18],
        "x": [0.0, -0.0, 1.5, np.nan, np.inf, 2.5],
        "k": pd.array([1, None, 3, 4, 5, 2**53 + 1], dtype="Int64"),
        "b": [True, False, True, True, False, True],
        "s": ["a", "", "12.5", None, "1e400", "-7"],
        "d": ["2024-02-29", "2023-02-29", "now", None, "0001-01-05", "24-02-29"],
        "n": [20240229, 20230229, 0, -5, 99991201, 20240101],
        "f": [
            *("0001-01-05 00:00:00.5", "2024-02-29 01:02:03.123456789"),
            *("2024-02-29 01:02:03.000001", "2024-02-29 01:02:03", None, "x"),
        ],
        "z": ["2024-02-29 +0100", "2024-02-29 -0500", "2024-02-29", None, "", "x"],
        "t": pd.to_datetime(["2024-01-01", "2024-02-29", None, *["2030-01-01"] * 3]),
        "w": pd.to_timedelta(["0h", "1h", None, "-1h", "36h", "12h"]),
        "c": pd.Categorical(["u", "v", None, "u", "w", "u"]),
    }
)


def run(step: Any, frame: pd.DataFrame = RAW) -> pd.Series:
    schema = Schema(dtypes=frame.dtypes.to_dict())
    return replay(record(step, schema, what="step"), frame)


def same(ours: pd.Series, theirs: Any) -> None:
    """Equal values; NaN, NaT and NA are all missing."""
    ours = ours.astype(object)
    theirs = pd.Series(theirs).astype(object)
    missing = theirs.isna().to_numpy()
    assert (ours.isna().to_numpy() == missing).all()
    assert ours[~missing].tolist() == theirs[~missing].tolist()


# where

WHERE: dict[str, tuple[Any, Any, Any]] = {
    "text": (1, "yes", "no"),
    "numbers": (1, 1, 0),
    "mixed numbers": (1, 1, 0.5),
    "column": (1, pd.col("x"), 0),
    "whole column beside a half": (1, pd.col("i"), 0.5),
    "two columns": (1, pd.col("i"), pd.col("x")),
    "nullable": (1, pd.col("k"), pd.col("i")),
    "NaN": (1, pd.col("i"), np.nan),
    "Booleans": (1, pd.col("b"), False),
    "texts": (1, pd.col("s"), "none"),
    "times": (1, pd.col("t"), pd.Timestamp("2020-01-01")),
    "missing time": (1, pd.col("t"), None),
    "category": (1, pd.col("c"), "other"),
}


@pytest.mark.parametrize("name", WHERE)
def test_where_takes_one_value_or_the_other(name: str) -> None:
    low, first, second = WHERE[name]
    ours = run(dpframe.where(pd.col("i") > low, first, second))
    chosen = (RAW["i"] > low).tolist()

    def values(side: Any) -> list[Any]:
        if isinstance(side, pd.api.typing.Expression):
            return RAW.assign(out=side)["out"].astype(object).tolist()
        return [side] * len(RAW)

    pairs = zip(chosen, values(first), values(second), strict=True)
    same(ours, pd.Series([a if c else b for c, a, b in pairs], dtype=object))


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (1, 0, "int64"),
        (1, None, "Int64"),
        (1, np.nan, "float64"),
        (True, pd.NA, "boolean"),
        ("a", None, "str"),
        (pd.col("i"), None, "Int64"),
        (pd.col("b"), None, "boolean"),
        (pd.col("k"), 0.5, "Float64"),
    ],
)
def test_dtype_of_where_does_not_depend_on_rows(
    first: Any, second: Any, dtype: str
) -> None:
    step = dpframe.where(pd.col("i") > 0, first, second)
    for rows in (RAW, RAW.iloc[:1], RAW.iloc[-1:], RAW.iloc[:0]):
        assert run(step, rows).dtype == dtype


def test_missing_condition_does_not_hold() -> None:
    found = run(lambda d: dpframe.where(d.k > 2, "big", "small"))
    assert found.tolist() == ["small", "small", "big", "big", "big", "big"]


def test_where_works_alike_on_columns_and_expressions_and_goes_on() -> None:
    a = run(lambda d: dpframe.where(d.i > 0, d.i, 0) * 2 + 1)
    b = run(dpframe.where(pd.col("i") > 0, pd.col("i"), 0) * 2 + 1)
    assert a.tolist() == b.tolist() == [1, 1, 3, 5, 15, 37]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", 1),
        (True, 1),
        (pd.col("s"), 1),
        (pd.col("i"), "a"),
        (pd.col("t"), pd.col("w")),
        (pd.col("t"), pd.Timestamp("2020-01-01", tz="UTC")),
        (pd.col("i"), 2**70),
        ([1] * 6, 0),
        (RAW["i"], 0),
        (None, None),
    ],
)
def test_where_refuses_what_no_one_dtype_holds(first: Any, second: Any) -> None:
    with pytest.raises(DPFrameError):
        run(dpframe.where(pd.col("i") > 0, first, second))


def test_where_needs_a_condition_of_columns() -> None:
    for bad in (True, RAW["b"], [True] * 6, "b"):
        with pytest.raises(ParameterTypeError, match="a column of a step"):
            dpframe.where(bad, 1, 0)
    with pytest.raises(ParameterTypeError, match="true from false"):
        run(dpframe.where(pd.col("i"), 1, 0))


def test_where_works_on_polars_expressions() -> None:
    frame = pl.DataFrame({"x": [1, -1], "s": ["a", "b"]})
    made = frame.select(dpframe.where(pl.col("x") > 0, "x", pl.col("s")).alias("y"))
    assert made["y"].to_list() == ["x", "b"]
    private = frame.dp.attach(dpframe.Accountant(epsilon=1))
    assert private.with_columns(y=dpframe.where(pl.col("x") > 0, 1, 0)) is not None


# cut

EDGES = [0, 1, 7]
CUTS: dict[str, dict[str, Any]] = {
    "plain": {"labels": ["low", "high"]},
    "left": {"labels": ["low", "high"], "right": False},
    "lowest": {"labels": ["low", "high"], "include_lowest": True},
    "numbers": {"labels": [10, 20]},
    "codes": {"labels": False},
    "unordered": {"labels": ["a", "a"], "ordered": False},
}


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("column", ["i", "x", "k"])
def test_cut_puts_values_where_pandas_puts_them(name: str, column: str) -> None:
    ours = run(dpframe.cut(pd.col(column), EDGES, **CUTS[name]))
    theirs = pd.cut(RAW[column], EDGES, **CUTS[name])
    same(ours, theirs)
    if CUTS[name]["labels"] is False:
        assert ours.dtype == "Int64"
    else:
        assert ours.cat.categories.tolist() == theirs.cat.categories.tolist()
        assert ours.cat.ordered is theirs.cat.ordered


def test_cut_writes_bins_as_pandas_prints_them() -> None:
    for edges, options in [
        ([0, 18, 65], {}),
        ([0, 18, 65], {"right": False}),
        ([0.5, 1.23456], {}),
        ([0.5, 1.23456], {"precision": 5}),
        ([0, 18], {"include_lowest": True}),
    ]:
        ours = run(dpframe.cut(pd.col("i"), edges, **options))
        theirs = pd.cut(pd.Series([], dtype="int64"), edges, **options)
        assert ours.cat.categories.tolist() == list(map(str, theirs.cat.categories))


def test_cut_takes_times_and_durations() -> None:
    edges = pd.to_datetime(["2024-01-01", "2024-06-01", "2031-01-01"])
    ours = run(dpframe.cut(pd.col("t"), list(edges), labels=["a", "b"]))
    same(ours, pd.cut(RAW["t"], edges, labels=["a", "b"]))
    spans = pd.to_timedelta(["0h", "10h", "99h"])
    ours = run(dpframe.cut(pd.col("w"), list(spans), labels=["a", "b"]))
    same(ours, pd.cut(RAW["w"], spans, labels=["a", "b"]))


def test_whole_numbers_are_cut_exactly() -> None:
    frame = pd.DataFrame({"i": [2**53, 2**53 + 1, 2**53 + 2]})
    step = dpframe.cut(pd.col("i"), [0, 2**53, 2**53 + 1], labels=["a", "b"])
    same(run(step, frame), ["a", "b", None])


def test_cut_is_computed_with_as_its_labels() -> None:
    found = run(lambda d: dpframe.cut(d.i, EDGES, labels=["low", "high"]) == "low")
    assert found.tolist() == [False, False, True, False, False, False]
    upper = run(dpframe.cut(pd.col("i"), EDGES, labels=["low", "high"]).str.upper())
    same(upper, [None, None, "LOW", "HIGH", "HIGH", None])


@pytest.mark.parametrize(
    ("bins", "options", "error"),
    [
        (3, {}, NotProvedError),
        ([1], {}, ParameterError),
        ([1, 1], {}, ParameterError),
        ([2, 1], {}, ParameterError),
        (["a", "b"], {}, ParameterTypeError),
        ([0, np.nan], {}, DPFrameError),
        ([False, True], {}, ParameterTypeError),
        ([pd.Timestamp(0), pd.Timestamp(1)], {}, ParameterTypeError),
        (RAW["i"], {}, ParameterTypeError),
        (pd.col("i"), {}, ParameterTypeError),
        (EDGES, {"labels": ["a"]}, ParameterError),
        (EDGES, {"labels": ["a", "a"]}, ParameterError),
        (EDGES, {"labels": "ab"}, ParameterTypeError),
        (EDGES, {"labels": [0.5, 1.5]}, ParameterTypeError),
        (EDGES, {"labels": True}, ParameterTypeError),
    ],
)
def test_cut_refuses_bins_and_labels_that_are_not_written_out(
    bins: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(lambda d: dpframe.cut(d.i, bins, **options))


def test_cut_refuses_columns_that_have_no_bins() -> None:
    for name in ("s", "b", "c"):
        with pytest.raises(ParameterTypeError):
            run(dpframe.cut(pd.col(name), EDGES))


# to_datetime and to_numeric


def test_to_datetime_reads_what_pandas_reads_and_leaves_the_rest_missing() -> None:
    for name in ("d", "n"):
        form = {"d": "%Y-%m-%d", "n": "%Y%m%d"}[name]
        ours = run(dpframe.to_datetime(pd.col(name), format=form))
        texts = RAW[name].astype("str")
        theirs = pd.to_datetime(texts, format=form, errors="coerce")
        same(ours, theirs.mask(RAW["d"] == "now") if name == "d" else theirs)
        assert ours.dtype == "datetime64[us]"


def test_to_datetime_does_not_drop_distant_times_beside_nanoseconds() -> None:
    step = dpframe.to_datetime(pd.col("f"), format="%Y-%m-%d %H:%M:%S.%f")
    found = run(step)
    assert found.dtype == "datetime64[us]"
    assert found.tolist()[:3] == [
        pd.Timestamp("0001-01-05 00:00:00.5"),
        pd.Timestamp("2024-02-29 01:02:03.123456"),
        pd.Timestamp("2024-02-29 01:02:03.000001"),
    ]
    assert found[3:].isna().all()
    theirs = pd.to_datetime(RAW["f"], format="%Y-%m-%d %H:%M:%S.%f", errors="coerce")
    assert theirs.isna()[0]  # why digits are cut off first


def test_to_datetime_reads_zones_into_utc() -> None:
    found = run(dpframe.to_datetime(pd.col("z"), format="%Y-%m-%d %z", utc=True))
    assert str(found.dtype) == "datetime64[us, UTC]"
    assert found[0] == pd.Timestamp("2024-02-28 23:00", tz="UTC")
    assert found[1] == pd.Timestamp("2024-02-29 05:00", tz="UTC")
    assert found[2:].isna().all()


def test_now_is_not_a_time_of_a_row() -> None:
    frame = pd.DataFrame({"d": ["now", "today", " NOW ", "nat", "2024-01-01"]})
    found = run(dpframe.to_datetime(pd.col("d"), format="%Y-%m-%d"), frame)
    assert found.isna().tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("form", ["", "%Q", "%c", "%s", "%U", "%f", "mixed", "ISO8601"])
def test_to_datetime_refuses_formats_that_are_not_known(form: str) -> None:
    with pytest.raises(DPFrameError):
        run(dpframe.to_datetime(pd.col("d"), format=form))


def test_to_datetime_needs_a_format_and_text() -> None:
    with pytest.raises(ParameterTypeError, match="needs a format"):
        run(dpframe.to_datetime(pd.col("d")))
    with pytest.raises(NotProvedError, match="utc=True"):
        run(dpframe.to_datetime(pd.col("z"), format="%Y-%m-%d %z"))
    for name in ("x", "b", "w"):
        with pytest.raises(ParameterTypeError):
            run(dpframe.to_datetime(pd.col(name), format="%Y"))
    assert run(dpframe.to_datetime(pd.col("t"), format="%Y")).equals(RAW["t"])


@pytest.mark.parametrize(
    "read",
    [
        dpframe.to_numeric,
        lambda column, **options: dpframe.to_datetime(column, format="%Y", **options),
    ],
)
def test_readers_never_fail_on_a_value(read: Any) -> None:
    same(run(read(pd.col("s"), errors="coerce")), list(run(read(pd.col("s")))))
    for errors in ("raise", "ignore", None):
        with pytest.raises(NotProvedError, match="coerce") as refused:
            read(pd.col("s"), errors=errors)
        assert repr(errors) in str(refused.value)


def test_to_numeric_reads_what_python_reads_and_leaves_the_rest_missing() -> None:
    found = run(dpframe.to_numeric(pd.col("s")))
    same(found, [None, None, 12.5, None, np.inf, -7.0])
    texts = ["1_0", "0x1", " 3 ", "nan", "1e5", "9007199254740993", "٣"]
    frame = pd.DataFrame({"s": texts})
    found = run(dpframe.to_numeric(pd.col("s")), frame)
    same(found, [None, None, 3.0, None, 1e5, 9007199254740992.0, 3.0])
    for name in ("i", "x", "b"):
        assert run(dpframe.to_numeric(pd.col(name))).equals(RAW[name])
    with pytest.raises(ParameterTypeError):
        run(dpframe.to_numeric(pd.col("t")))


# What they are for, and what stands in for what

FREE: dict[str, tuple[Step, str]] = {
    "np.where": (lambda d: np.where(d.i > 0, 1, 0), "dpframe.where"),
    "np.where column": (lambda d: np.where(d.b, d.i, d.x), "dpframe.where"),
    "np.select": (lambda d: np.select([d.i > 0], [1], 0), "case_when"),
    "np.clip": (lambda d: np.clip(d.i, 0, 1), "column.clip"),
    "np.round": (lambda d: np.round(d.x, 1), "column.round"),
    "np.digitize": (lambda d: np.digitize(d.x, [0, 1]), "dpframe.cut"),
    "np.isin": (lambda d: np.isin(d.i, [1]), "column.isin"),
    "np.maximum": (lambda d: np.maximum(d.i, 0), "column.clip"),
    "np.nan_to_num": (lambda d: np.nan_to_num(d.x), "column.fillna"),
    "np.mean": (lambda d: np.mean(d.x), "release it"),
    "pd.cut": (lambda d: pd.cut(d.i, [0, 1]), "dpframe.cut"),
    "pd.qcut": (lambda d: pd.qcut(d.i, 4), "dpframe.cut"),
    "pd.to_datetime": (lambda d: pd.to_datetime(d.d), "dpframe.to_datetime"),
    "pd.to_datetime format": (
        lambda d: pd.to_datetime(d.d, format="%Y"),
        "dpframe.to_datetime",
    ),
    "pd.to_numeric": (lambda d: pd.to_numeric(d.s), "dpframe.to_numeric"),
    "pd.to_timedelta": (lambda d: pd.to_timedelta(d.s), "before attaching"),
    "pd.isna": (lambda d: pd.isna(d.x), r"column.isna\(\)"),
    "pd.notna": (lambda d: pd.notna(d.x), r"column.notna\(\)"),
    "pd.get_dummies": (lambda d: pd.get_dummies(d.s), "column == key"),
}


@pytest.mark.parametrize("name", FREE)
def test_free_function_is_refused_by_name_with_its_stand_in(name: str) -> None:
    step, hint = FREE[name]
    with pytest.raises(NotProvedTypeError, match=hint) as caught:
        run(step)
    assert caught.value.step == name.partition(" ")[0]


def test_what_is_no_column_of_a_step_is_refused() -> None:
    calls: list[Step] = [
        lambda x: dpframe.where(x, 1, 0),
        lambda x: dpframe.cut(x, EDGES),
        lambda x: dpframe.to_datetime(x, format="%Y"),
        dpframe.to_numeric,
    ]
    for call in calls:
        for bad in (RAW["i"], np.arange(3), [1], 1, None, "i", RAW):
            with pytest.raises(ParameterTypeError, match=r"pd\.col\(name\)"):
                call(bad)


def test_polars_expressions_are_answered_in_the_words_of_polars() -> None:
    x = pl.col("x")
    with pytest.raises(NotProvedError, match=r"x\.cut"):
        dpframe.cut(x, EDGES)
    with pytest.raises(NotProvedError, match="strict=False"):
        dpframe.to_datetime(x, format="%Y")
    with pytest.raises(NotProvedError, match=r"pl\.Float64"):
        dpframe.to_numeric(x)


def test_expressions_put_off_methods_that_pandas_does_not_know() -> None:
    put_off = getattr(pd.col("x"), "__dpframe_where__")  # noqa: B009 - the canary
    assert isinstance(put_off, pd.api.typing.Expression)
    assert isinstance(put_off(1, 0), pd.api.typing.Expression)


def test_functions_are_refused_before_a_row_is_read() -> None:
    private = RAW[["i", "s"]].dp.attach(dpframe.Accountant(epsilon=1))
    for step in (
        lambda d: dpframe.cut(d.i, 3),
        lambda d: dpframe.where(d.i > 0, "a", 1),
        lambda d: dpframe.to_datetime(d.s, format="%Z"),
    ):
        with pytest.raises(DPFrameError) as caught:
            private.assign(out=step)
        assert not isinstance(caught.value, EvaluationError)
