from __future__ import annotations

import datetime as dt
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpframe
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    EvaluationError,
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.privacy.accountant import Accountant
from dpframe.proofs.pandas.record import Schema, record
from dpframe.proofs.pandas.recording import replay

if TYPE_CHECKING:
    from dpframe.dialects.pandas.private import PrivatePandas

ROWS = 40


def make_frame(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)

    def holes(values: object, dtype: object = None) -> pd.Series:
        column = pd.Series(values, dtype=dtype)
        column[rng.random(rows) < 0.2] = None
        return column

    ints = rng.integers(-5, 6, rows)
    days = pd.Series(pd.Timestamp("2023-12-30") + pd.to_timedelta(ints * 37, "h"))
    words = rng.choice(["Ann", "bob 7", "", "ćΩ", "a.c", " pad "], rows)
    return pd.DataFrame(
        {
            "f": holes(rng.choice([0.0, -0.0, 1.5, -2.25, 1e300, np.inf], rows)),
            "h": holes(rng.normal(size=rows)).astype("float32"),
            "i": ints,
            "j": rng.choice([2**53 + 1, 0, 1, -7, 2**62], rows),
            "k": holes(ints, "Int64"),
            "b": rng.random(rows) < 0.5,
            "bb": holes(rng.random(rows) < 0.5, "boolean"),
            "s": holes(words, "str"),
            "r": holes(words, "str"),
            "t": holes(days),
            "v": days.sample(frac=1, random_state=seed).reset_index(drop=True),
            "z": holes(days.dt.tz_localize("UTC").dt.tz_convert("America/New_York")),
            "w": holes(pd.to_timedelta(ints, "h")),
            "c": pd.Series(pd.Categorical(words)),
            "ai": holes(ints, "int64[pyarrow]"),
            "ad": holes(rng.normal(size=rows), "double[pyarrow]"),
            "day": holes(days.dt.date, "date32[pyarrow]"),
            "o": pd.Series([1, "x"] * (rows // 2), dtype=object),
            "a b": ints,
        },
        index=rng.permutation(rows),
    )


def attach(frame: pd.DataFrame) -> PrivatePandas:
    return dpframe.attach(frame, Accountant(epsilon=1))


GOOD = {
    "add": lambda d: d["f"] + d.h * 2 - 1,
    "reflected": lambda d: 10 - d.i,
    "integer sums wrap": lambda d: d.j * d.j + d.j,
    "divide": lambda d: d.i / d["a b"],
    "floor": lambda d: d.i // 3 * 3,
    "modulo": lambda d: d.i % -4,
    "float floor": lambda d: d.f // d.h,
    "power": lambda d: d.i**2 + 2.0**d.i,
    "method arithmetic": lambda d: d.i.add(1).mul(2).rsub(3).div(4),
    "negate": lambda d: -d.h + abs(d.i),
    "nullable": lambda d: (d.k + 1) / d.i,
    "compare": lambda d: d.f > d.i,
    "compare text": lambda d: d.s <= "b",
    "compare two texts": lambda d: d.s == d.r,
    "compare times": lambda d: d.t < d.v,
    "compare time with literal": lambda d: d.t >= dt.datetime(2023, 12, 31),  # noqa: DTZ001 - naive
    "compare zone": lambda d: d.z != pd.Timestamp("2024-01-01", tz="UTC"),
    "logic": lambda d: (d.i > 0) & ~d.b | (d.f < 0) ^ d.b,
    "nullable logic": lambda d: d.bb & (d.k > 0),
    "isin": lambda d: d.i.isin([1, 2, 2**60]),
    "isin text": lambda d: d.s.isin(("Ann", "")),
    "between": lambda d: d.h.between(-0.5, 0.5, inclusive="left"),
    "isna": lambda d: d.o.isna() | d.s.isna() | d.t.notna(),
    "fillna": lambda d: d.f.fillna(7),
    "fillna column": lambda d: d.s.fillna(d.r),
    "fillna time": lambda d: d.t.fillna(pd.Timestamp("2020-01-01")),
    "clip": lambda d: d.h.clip(-0.5, 0.5),
    "clip above": lambda d: d.i.clip(upper=2),
    "round": lambda d: d.h.round(1) + round(d.i),
    "astype": lambda d: d.i.astype("float64") + d.b.astype("int64"),
    "astype text": lambda d: d.i.astype("str"),
    "where": lambda d: d.f.where(d.i > 0, -1.0),
    "mask": lambda d: d.s.mask(d.b, "other"),
    "where missing": lambda d: d.h.where(d.h > 0),
    "lower": lambda d: d.s.str.lower().str.strip(),
    "len": lambda d: d.s.str.len(),
    "contains": lambda d: d.s.str.contains("A", case=False) | d.s.str.startswith("b"),
    "slice": lambda d: d.s.str[:2] + d.r.str.replace("a", "x"),
    "regex": lambda d: d.s.str.replace(r"(\w)", r"\1\1", regex=True),
    "year": lambda d: d.t.dt.year * 100 + d.t.dt.month,
    "local hour": lambda d: d.z.dt.hour,
    "leap": lambda d: d.v.dt.is_leap_year,
    "zone": lambda d: d.z.dt.tz_convert("Asia/Tokyo").dt.day,
    "difference": lambda d: (d.v - d.t).dt.total_seconds(),
    "shift a time": lambda d: d.t + dt.timedelta(hours=5) - d.w,
    "log": lambda d: np.log1p(np.abs(d.h)),
    "ufunc operator": lambda d: np.add(d.i, 2),
    "scalar": lambda _: 5,
    "col": pd.col("i") * 2 + pd.col("a b"),
    "col methods": pd.col("s").str.upper().fillna("none"),
    "col ufunc": np.sqrt(abs(pd.col("h"))),
    "col case_when": pd.col("f").case_when([(pd.col("i") > 0, 1.0)]),
    "col condition": (pd.col("f") > 0) & pd.col("i").isin([1, 2]),
}

BAD = {
    "mean": lambda d: d.f - d.f.mean(),
    "sum": lambda d: d.i / d.i.sum(),
    "max": lambda d: d.i.max(),
    "min": lambda d: d.i.min(),
    "std": lambda d: d.i.std(),
    "quantile": lambda d: d.f.quantile(0.5),
    "rank": lambda d: d.f.rank(),
    "shift": lambda d: d.f.shift(1),
    "diff": lambda d: d.f.diff(),
    "cumsum": lambda d: d.i.cumsum(),
    "pct_change": lambda d: d.i.pct_change(),
    "rolling": lambda d: d.i.rolling(2).sum(),
    "expanding": lambda d: d.i.expanding().sum(),
    "ewm": lambda d: d.i.ewm(2).mean(),
    "sort": lambda d: d.i.sort_values(),
    "unique": lambda d: d.s.isin(d.s.unique()),
    "duplicated": lambda d: d.s.duplicated(),
    "value_counts": lambda d: d.s.value_counts(),
    "map function": lambda d: d.i.map(lambda x: x + 1),
    "apply": lambda d: d.i.apply(str),
    "iloc": lambda d: d.i.iloc[0],
    "item": lambda d: d.i[0],
    "mask by item": lambda d: d.i[d.i > 0],
    "len": len,
    "column len": lambda d: d.i * len(d.i),
    "iteration": lambda d: list(d.i),
    "frame iteration": list,
    "index": lambda d: d.index,
    "column index": lambda d: d.i.index,
    "values": lambda d: d.i.values,  # noqa: PD011 - refused
    "to_numpy": lambda d: d.i.to_numpy(),
    "numpy array": lambda d: np.asarray(d.i),
    "shape": lambda d: d.shape[0] * d.i,
    "groupby": lambda d: d.groupby("s").i.transform("mean"),
    "interpolate": lambda d: d.f.interpolate(),
    "ffill": lambda d: d.f.ffill(),
    "fillna of a mean": lambda d: d.f.fillna(d.f.mean()),
    "python branch": lambda d: 1 if (d.i > 0) else 2,
    "python and": lambda d: (d.i > 0) and (d.i < 3),
    "python max": lambda d: max(d.i, d.j),
    "float": lambda d: float(d.i),
    "raw series": lambda d: d.i + pd.Series(range(ROWS)),
    "reflected series": lambda d: pd.Series(range(ROWS)) + d.i,
    "raw array": lambda d: d.i + np.arange(ROWS),
    "reflected array": lambda d: np.arange(ROWS) * d.i,
    "list": lambda d: d.i + [1] * ROWS,
    "returned series": lambda _: pd.Series(range(ROWS)),
    "returned list": lambda _: list(range(ROWS)),
    "np.where": lambda d: np.where(d.i > 0, 1, 2),
    "np.mean": lambda d: np.mean(d.i),
    "np.cumsum": lambda d: np.cumsum(d.i),
    "ufunc reduce": lambda d: np.add.reduce(d.i),
    "ufunc accumulate": lambda d: np.add.accumulate(d.i),
    "ufunc out": lambda d: np.log(d.h, out=np.zeros(ROWS)),
    "ufunc where": lambda d: np.log(d.h, where=np.arange(ROWS) > 3),
    "isin of a column": lambda d: d.i.isin(d.j),
    "isin of columns": lambda d: d.i.isin([d.j]),
    "where of a series": lambda d: d.i.where(pd.Series([True] * ROWS), 1),
    "clip by a column": lambda d: d.f.clip(d.f, None),
    "cat codes": lambda d: d.c.cat.codes,
    "get_dummies": lambda d: d.s.str.get_dummies(),
    "str cat": lambda d: d.s.str.cat(),
    "str split": lambda d: d.s.str.split(" "),
    "str index": lambda d: d.s.str.index("A"),
    "callable replacement": lambda d: d.s.str.replace("a", lambda m: m[0], regex=True),
    "float to int": lambda d: d.f.astype("int64"),
    "narrower int": lambda d: d.j.astype("int8"),
    "nullable to int": lambda d: d.k.astype("int64"),
    "text to int": lambda d: d.s.astype("int64"),
    "text to category": lambda d: d.s.astype("category"),
    "times to text": lambda d: d.t.astype("str"),
    "finer times": lambda d: d.t.astype("datetime64[ns]"),
    "localize": lambda d: d.t.dt.tz_localize("America/New_York"),
    "time floor": lambda d: d.z.dt.floor("D"),
    "whole division": lambda d: d.i // d.j,
    "whole modulo": lambda d: 7 % d.i,
    "whole power": lambda d: d.i ** d["a b"],
    "negative power": lambda d: d.i**-1,
    "ints made missing": lambda d: d.i.where(d.b),
    "ints made floats": lambda d: d.i.where(d.b, 0.5),
    "object arithmetic": lambda d: d.o + 1,
    "object comparison": lambda d: d.o == 1,
    "object fill": lambda d: d.o.fillna(1),
    "object to float": lambda d: d.o.astype("float64"),
    "object to int": lambda d: d.o.astype("int64"),
    "text and number": lambda d: d.s < 3,
    "naive and aware": lambda d: d.t < d.z,
    "clip by nan": lambda d: d.f.clip(0, np.nan),
    "clip reversed": lambda d: d.f.clip(1, 0),
    "frame of columns": lambda d: d[["i", "j"]],
    "pd.concat": lambda d: pd.concat([d.i, d.j]),
    "pd.Series": lambda d: pd.Series(d.i),
    "pd.cut": lambda d: pd.cut(d.h, 3),
    "option": lambda d: d.i.add(1, fill_value=0),
    "fill limit": lambda d: d.f.fillna(0, limit=1),
    "col mean": pd.col("f") - pd.col("f").mean(),
    "col shift": pd.col("f").shift(),
    "col series": pd.col("f") + pd.Series(range(ROWS)),
    "col in a list": pd.col("f").isin([pd.col("h")]),
    "col missing": pd.col("nope") + 1,
    "unknown column": lambda d: d["nope"],
}

GOOD_QUERIES = [
    "i > 2",
    "1 < i <= 3",
    "i > 0 and f < 1 or not b",
    "i > 0 & f < 1 | ~b",
    "`a b` == 1",
    "s in ['Ann', 'a.c']",
    "s not in ('Ann',)",
    "s == ['Ann', '']",
    "i + `a b` * 2 > 3",
    "(i - 1) ** 2 >= 4",
    "f / 2 > -h",
    "i % 2 == 1",
    "s == 'say `hi`' or s == 'Ann'",
    "i > @limit",
    "i in @wanted",
    "t >= @when",
    "t.dt.year == 2024",
    "s.str.contains('a') and k > 0",
    "f.isna()",
    "bb",
    "not (i == 1)",
    "i > 2 * 1 - 1",
    "3 > i",
]

BAD_QUERIES = [
    "f > f.mean()",
    "i > i.shift(1)",
    "i == i.max()",
    "f.rank() > 3",
    "index > 3",
    "len(s) > 3",
    "sin(f, i) > 0",
    "gamma(f) > 0",
    "__import__('os').getcwd() == 'x'",
    "i.__class__ == 1",
    "@series.mean() > i",
    "i > @series",
    "i > @frame",
    "i > @missing_name",
    "i.recording.text == 'a'",
    "i in j",
    "i in [j, 1]",
    "(lambda: 1)() > i",
    "[x for x in i]",
    "i if b else j",
    "i[0] > 3",
    "f'{i}' == 's'",
    "i > 1; j > 2",
    "x = i",
    "i := 1",
    "i >",
    "",
    "`a b > 1",
    "i",
    "1 < 2",
    "True",
    "9 ** 9 ** 9 > i",
    "i / 0 > 1 and 1 / 0 > i",
    "i.astype('int8') > 1",
    "i.add(*b) > 1",
    "i == None",
    "s > 3",
    "i | j",
    "nope > 1",
    "@",
    "(" * 5_000 + "i" + ")" * 5_000,
]


def plain(frame: pd.DataFrame, step: object) -> pd.Series:
    """What pandas itself makes of a step."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return frame.assign(out=step)["out"]


def same(ours: pd.Series, theirs: pd.Series) -> None:
    """Equal values; NaN, NaT and NA are all missing."""
    ours, theirs = ours.astype(object), theirs.astype(object)
    missing = theirs.isna().to_numpy()
    assert (ours.isna().to_numpy() == missing).all()
    assert ours[~missing].tolist() == theirs[~missing].tolist()


@pytest.mark.parametrize("name", GOOD)
def test_accepted_step_equals_what_pandas_makes_of_it(name: str) -> None:
    frame = make_frame().reset_index(drop=True)
    ours = attach(frame).assign(out=GOOD[name]).detach()
    same(ours["out"], plain(frame, GOOD[name]))
    pd.testing.assert_frame_equal(ours.drop(columns="out"), frame)


@pytest.mark.parametrize("name", GOOD)
def test_accepted_step_keeps_rows_apart(name: str) -> None:
    frame, other = make_frame(1).reset_index(drop=True), make_frame(2)
    whole = attach(frame).assign(out=GOOD[name]).detach()["out"]
    order = np.random.default_rng(3).permutation(ROWS)[:17]
    mixed = pd.concat([other, frame.iloc[order]], ignore_index=True)
    mixed["c"] = pd.Categorical(mixed["c"])
    for rows in (frame.iloc[order], frame.iloc[order[:1]]):
        alone = attach(rows).assign(out=GOOD[name]).detach()["out"]
        assert alone.dtype == whole.dtype
        same(alone, whole[order[: len(rows)]].reset_index(drop=True))
    among = attach(mixed).assign(out=GOOD[name]).detach()["out"]
    assert among.dtype == whole.dtype
    same(among[ROWS:].reset_index(drop=True), whole[order].reset_index(drop=True))


@pytest.mark.parametrize("name", BAD)
def test_step_that_may_mix_rows_or_fail_on_a_value_is_refused(name: str) -> None:
    private = attach(make_frame())
    with pytest.raises((DPFrameError, TypeError, ValueError)) as caught:
        private.assign(out=BAD[name])
    if name not in {"pd.concat", "pd.Series", "pd.cut", "frame iteration"}:
        assert isinstance(caught.value, DPFrameError)
    assert not isinstance(caught.value, EvaluationError)


@pytest.mark.parametrize("text", GOOD_QUERIES)
def test_accepted_query_equals_what_pandas_makes_of_it(text: str) -> None:
    frame = make_frame().reset_index(drop=True)
    limit, wanted, when = 1, [1, 2], pd.Timestamp("2024-01-01")
    assert wanted
    assert when
    assert limit
    theirs = frame.query(text, engine="python").reset_index(drop=True)
    pd.testing.assert_frame_equal(attach(frame).query(text).detach(), theirs)


@pytest.mark.parametrize("text", BAD_QUERIES)
def test_query_beyond_the_grammar_is_refused(text: str) -> None:
    frame = make_frame()
    series = frame["i"]
    private = attach(frame)
    with pytest.raises(DPFrameError) as caught:
        private.query(text)
    assert not isinstance(caught.value, EvaluationError)
    assert series is not None


def test_query_reads_public_names_from_the_mapping_it_is_given() -> None:
    frame = make_frame().reset_index(drop=True)
    got = attach(frame).query("i == @n", local_dict={"n": 2}).detach()
    assert got["i"].tolist() == [2] * int((frame["i"] == 2).sum())


def test_callable_is_called_once_and_never_with_rows() -> None:
    seen = []

    def step(frame: object) -> object:
        seen.append(type(frame).__name__)
        return frame["i"] + 1

    attach(make_frame()).assign(out=step)
    assert seen == ["RecordedFrame"]


def test_col_expressions_are_still_kept_the_way_they_are_read() -> None:
    expression = pd.col("x") + 1
    assert isinstance(expression, pd.api.typing.Expression)
    assert callable(expression._eval_expression)  # noqa: SLF001 - the canary


def test_refusal_names_the_step_and_what_to_write() -> None:
    private = attach(make_frame())
    fact = "mean on a column looks at other rows"
    with pytest.raises(NotProvedAttributeError, match=fact) as caught:
        private.assign(out=BAD["mean"])
    assert caught.value.step == "mean"
    assert ".dp.mean" in str(caught.value)
    with pytest.raises(NotProvedTypeError, match="where"):
        private.assign(out=BAD["np.where"])
    with pytest.raises(ColumnNotFoundError) as missing:
        private.assign(out=lambda d: d["fx"])
    assert missing.value.column == "fx"
    with pytest.raises(ParameterTypeError):
        private.query(3)
    with pytest.raises(ParameterError):
        private.query("i >")
    with pytest.raises(NotProvedError):
        private.query("gamma(f) > 0")


def test_warnings_and_settings_of_pandas_and_numpy_are_left_alone() -> None:
    before = np.geterr(), list(warnings.filters), pd.get_option("compute.use_numexpr")
    frame = pd.DataFrame({"x": [0.0, -1.0]})
    attach(frame).assign(out=lambda d: np.log(d.x) / d.x)
    after = np.geterr(), list(warnings.filters), pd.get_option("compute.use_numexpr")
    assert before == after


def test_a_failure_of_pandas_is_told_without_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    greater = pd.Series.__gt__

    def fail(self: pd.Series, other: object) -> pd.Series:
        if len(self) > 2:
            raise ValueError(str(self.tolist()))
        return greater(self, other)

    frame = pd.DataFrame({"x": [123_456_789.0] * 3})
    monkeypatch.setattr(pd.Series, "__gt__", fail)
    with pytest.raises(EvaluationError) as caught:
        attach(frame).query("x > 0")
    assert "123456789" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


FAR = {
    "naive": pd.Series(np.array([0, 2**62, -(2**62)], "datetime64[s]")),
    "zoned": pd.Series(np.array([0, 2**62, -(2**62)], "datetime64[us]"))
    .dt.tz_localize("UTC")
    .dt.tz_convert("Europe/Paris"),
    "fine": pd.Series(np.array([0, 2**63 - 1, 1 - 2**63], "datetime64[ns]"))
    .dt.tz_localize("UTC")
    .dt.tz_convert("Asia/Kolkata"),
    "arrow": pd.Series(
        pd.arrays.ArrowExtensionArray(
            pa.array([0, 2**62, -(2**62)]).cast(pa.timestamp("us", "Europe/Paris"))
        )
    ),
    "span": pd.Series(np.array([0, 2**62, -(2**62)], "timedelta64[s]")),
    "text": pd.Series(["a", "\ud800", None], dtype="string[python]"),
}
DAY = pd.Timedelta(days=1)
FAR_STEPS: list[tuple[str, Any]] = [
    *((name, lambda c: c.dt.year) for name in ("naive", "zoned", "fine", "arrow")),
    *((name, lambda c: c.dt.day_of_week) for name in ("zoned", "fine", "arrow")),
    *((name, lambda c: c + DAY) for name in ("naive", "zoned", "fine", "arrow")),
    *((name, lambda c: c.where(c.notna())) for name in ("zoned", "arrow")),
    ("zoned", lambda c: c.dt.tz_convert("Asia/Tokyo").dt.hour),
    ("naive", lambda c: c.isin([pd.Timestamp(0)])),
    ("zoned", lambda c: c.isin([pd.Timestamp(0, tz="UTC")])),
    ("arrow", lambda c: c.isin([pd.Timestamp(0, tz="UTC")])),
    ("span", lambda c: c.isin([pd.Timedelta(0)])),
    ("text", lambda c: c.astype("string[python]")),
]


@pytest.mark.parametrize(("name", "step"), FAR_STEPS)
def test_step_fails_on_no_value_however_far(name: str, step: Any) -> None:
    native = pd.DataFrame({name: FAR[name]})
    schema = Schema(dtypes=dict(native.dtypes))
    recording = record(lambda df: step(df[name]), schema, what="step")
    found = replay(recording, native)
    near = replay(recording, native.iloc[:1])
    assert found.iloc[:1].equals(near)


def test_text_that_python_holds_is_not_cast_to_arrow() -> None:
    schema = Schema(dtypes={"text": FAR["text"].dtype})
    with pytest.raises(NotProvedError):
        record(lambda df: df["text"].astype("string[pyarrow]"), schema, what="step")


def test_isin_of_an_instant_between_two_ticks_finds_none() -> None:
    native = pd.DataFrame({"t": pd.Series(np.array([0, 1], "datetime64[s]"))})
    half = [pd.Timestamp(500, unit="ms"), pd.Timestamp(1, unit="s")]
    schema = Schema(dtypes=dict(native.dtypes))
    recording = record(lambda df: df["t"].isin(half), schema, what="step")
    assert replay(recording, native).tolist() == [False, True]


HALF = pd.DataFrame(
    {
        "a": pd.Series(["ab", "b", None], dtype="str"),
        "p": pd.Series(["ab\ud800", "b", None], dtype="string[python]"),
    }
)


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.a + d.p,
        lambda d: d.p == d.a,
        lambda d: d.a.str.cat(d.p),
        lambda d: d.a.where(d.a.notna(), d.p),
        lambda d: d.a.str.replace("b", "\ud800", regex=True, flags=2),
        lambda d: d.a.str.translate({98: 0xD800}),
        lambda d: d.a.str.pad(2, fillchar="\ud800"),
        lambda d: d.a.str.findall("(a)(b)").str[0],
    ],
)
def test_text_that_only_some_columns_hold_is_refused(step: Any) -> None:
    schema = Schema(dtypes=HALF.dtypes.to_dict())
    with pytest.raises(DPFrameError) as caught:
        record(step, schema, what="step")
    assert not isinstance(caught.value, EvaluationError)


def test_texts_are_joined_once_python_holds_both() -> None:
    schema = Schema(dtypes=HALF.dtypes.to_dict())
    step = record(lambda d: d.a.astype("string[python]") + d.p, schema, what="step")
    assert replay(step, HALF).tolist()[:2] == ["abab\ud800", "bb"]


def test_rounding_up_beyond_the_calendar_fails_on_no_value() -> None:
    native = pd.DataFrame({"zoned": FAR["zoned"]})
    schema = Schema(dtypes=dict(native.dtypes))
    step = record(
        lambda d: d.zoned.dt.ceil("100000D", "NaT", "shift_forward"),
        schema,
        what="step",
    )
    assert replay(step, native).notna().all()


def test_levels_of_a_category_are_read_exactly_whatever_is_missing_beside_them() -> (
    None
):
    whole = pd.Index([2**63 - 1, 2**53 + 1, -(2**63)])
    half = pd.Index(["a", "\ud800"], dtype=pd.StringDtype("python", na_value=np.nan))
    none = pd.Index([], dtype="int64")
    for codes in ([0, 1], [0, 1, -1], [-1, -1], []):
        made = {"i": (whole, codes), "s": (half, codes), "n": (none, [-1] * len(codes))}
        frame = pd.DataFrame(
            {name: pd.Categorical.from_codes(at, of) for name, (of, at) in made.items()}
        )
        found = (
            attach(frame)
            .assign(i=lambda d: d["i"] + 0, n=lambda d: d["n"] + 0)
            .assign(s=lambda d: d["s"].fillna("b"))
            .detach()
        )
        assert [str(dtype) for dtype in found.dtypes] == ["Int64", "str", "Int64"]
        assert list(found["i"]) == [pd.NA if at < 0 else whole[at] for at in codes]
        assert list(found["s"]) == ["b" if at < 0 else half[at] for at in codes]


def test_the_shortest_floats_are_cast_to_written_categories() -> None:
    frame = pd.DataFrame({"h": np.array([0.0, 1.5, np.nan, 7], dtype="float16")})
    found = attach(frame).astype({"h": pd.CategoricalDtype([0, 1.5])}).detach()
    assert list(found["h"].cat.codes) == [0, 1, -1, -1]


def test_a_number_of_a_class_of_its_own_never_meets_the_rows() -> None:
    met: list[Any] = []

    class Curious(int):
        def __array_ufunc__(self, ufunc: Any, _: str, *inputs: Any) -> Any:
            met.extend(inputs)
            return ufunc(*(int(i) if i is self else i for i in inputs))

    step = attach(make_frame()).assign(i=lambda d: d["i"] + Curious(1))
    assert list(step.detach()["i"]) == list(make_frame()["i"] + 1)
    assert not met
