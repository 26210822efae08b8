"""Every member of pandas' columns, called with plausible arguments, on every dtype.

Names come from `dir()`, so that what a newer pandas adds is met too. What the proof
accepts is replayed on frames that share a few rows and differ in all others: if a
shared row comes out otherwise anywhere, or in another dtype, the proof was wrong.
"""

from __future__ import annotations

import datetime as dt
import inspect
import itertools
import operator
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dpframe
from dpframe.errors import DPFrameError, EvaluationError
from dpframe.proofs.pandas.column import RecordedColumn
from dpframe.proofs.pandas.record import Schema, record
from dpframe.proofs.pandas.recording import Recording, record_step, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Step = Callable[[Any], Any]

KEPT = 9
OTHERS = 20

WHOLES = [0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63)]
SMALL = [0, 1, 2, 100, 255]
FLOATS = [0.0, -0.0, 1.0, 1.5, -2.5, 1e-310, 1e308, -1e308, 1e30]
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]
TEXTS = ["", "a", "Bb", "ß", " x ", "12", "-3.5e2", "2020-02-30", "2020-02-29", "é\0"]
TEXTS += ["a,b,c", "now", "nan", "1_0", "2020-02-29 01:02:03.123456789", "(", "ǅ"]
TICKS = [0, 1, -1, 1_583_000_000_123_456, 1_710_055_800_000_000, 2**62, -(2**62)]
SECONDS = [0, 1, -1, 1_583_000_000, 1_710_055_800, -62_135_596_800, 253_402_300_799]


def _ticks(values: list[Any], unit: str, zone: str | None = None) -> pd.Series:
    missing = np.iinfo(np.int64).min
    held = np.array([missing if v is None else v for v in values], dtype=np.int64)
    column = pd.Series(held.view(f"M8[{unit}]"))
    return column.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else column


def _category(values: list[Any]) -> pd.Series:
    return pd.Series(pd.Categorical(values, categories=["12", "a", "Bb", ""]))


def _plain(dtype: str) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(values, dtype=dtype)


COLUMNS: dict[str, tuple[list[Any], Callable[[list[Any]], pd.Series]]] = {
    "int64": (WHOLES, _plain("int64")),
    "uint8": (SMALL, _plain("uint8")),
    "Int64": ([*WHOLES, None], _plain("Int64")),
    "float64": ([*FLOATS, *NOT_FINITE], _plain("float64")),
    "float32": ([*FLOATS[:6], *NOT_FINITE], _plain("float32")),
    "Float64": ([*FLOATS, None, float("inf")], _plain("Float64")),
    "bool": ([True, False], _plain("bool")),
    "boolean": ([True, False, None], _plain("boolean")),
    "str": ([*TEXTS, None], _plain("str")),
    "string[python]": ([*TEXTS, "\ud800", None], _plain("string[python]")),
    "category": (["12", "a", "", None], _category),
    "datetime64[ns]": ([*TICKS, None], lambda v: _ticks(v, "ns")),
    "datetime64[us]": ([*TICKS, *SECONDS, None], lambda v: _ticks(v, "us")),
    "datetime64[s]": ([*SECONDS, 2**62, None], lambda v: _ticks(v, "s")),
    "New York": (
        [*TICKS, 1_730_611_800_000_000, 1_730_615_400_000_000, None],
        lambda v: _ticks(v, "us", "America/New_York"),
    ),
    "UTC": ([*TICKS, None], lambda v: _ticks(v, "ns", "UTC")),
    "timedelta64[ns]": (
        [*TICKS, 2**63 - 1, 1 - 2**63, None],
        lambda v: pd.Series(_ticks(v, "ns").to_numpy().view("m8[ns]")),
    ),
    "int64[pyarrow]": ([*WHOLES, None], _plain("int64[pyarrow]")),
    "double[pyarrow]": ([*FLOATS, *NOT_FINITE[1:], None], _plain("double[pyarrow]")),
    "date32[pyarrow]": (
        [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 2, 29), None],
        _plain("date32[pyarrow]"),
    ),
    "object": ([1, "a", 1.5, None, dt.date(2020, 1, 1)], _plain("object")),
}
SECOND = " 2"
"""Ends the name of another column of the same dtype."""


@cache
def worlds() -> tuple[tuple[list[int], pd.DataFrame], ...]:
    """Return frames that share rows 0 to 8, with the place of each, or -1."""
    names = [f"{name}{end}" for name in COLUMNS for end in ("", SECOND)]

    def drawn(seed: int, rows: int) -> dict[str, list[Any]]:
        rng = np.random.default_rng(seed)
        values = {name: COLUMNS[name.removesuffix(SECOND)][0] for name in names}
        return {
            name: [held[at] for at in rng.integers(0, len(held), rows)]
            for name, held in values.items()
        }

    kept = drawn(1, KEPT)

    def among(seed: int, order: list[int], others: int) -> tuple[list[int], Any]:
        more = drawn(seed, others)
        places = [*order, *[-1] * others]
        at = np.random.default_rng(seed).permutation(len(places))
        columns = {}
        for name in names:
            values = [kept[name][row] for row in order] + more[name]
            make = COLUMNS[name.removesuffix(SECOND)][1]
            columns[name] = make([values[row] for row in at])
        return [places[row] for row in at], pd.DataFrame(columns)

    every = list(range(KEPT))
    return (
        among(2, every, OTHERS),
        among(3, every[::-1], OTHERS),
        among(5, every[5:], 2),
        among(6, every[:1], 0),
        among(7, [], 0),
    )


def schema() -> Schema:
    return Schema(dtypes=worlds()[0][1].dtypes.to_dict())


def bits(column: pd.Series) -> list[str]:
    """Cells, told apart to the last bit; NaN, NaT and NA are all missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype.kind in "mM" and not isinstance(column.dtype, pd.ArrowDtype):
        whole = column.astype("int64")
        return [repr(cell) for cell in whole.tolist()]
    missing = column.isna().tolist()
    cells = column.astype(object).tolist()
    return ["missing" if m else repr(v) for m, v in zip(missing, cells, strict=True)]


def refuted(recording: Recording) -> str | None:
    """Return how a recording is refuted; None where every shared row is the same."""
    seen: dict[int, str] = {}
    found_dtype = None
    for places, world in worlds():
        try:
            found = replay(recording, world)
        except EvaluationError:
            return "it fails"
        if len(found) != len(world):
            return "it changes the rows"
        found_dtype = found_dtype or found.dtype
        if found.dtype != found_dtype:
            return f"its dtype is {found_dtype} or {found.dtype}"
        for place, cell in zip(places, bits(found), strict=True):
            if place >= 0 and seen.setdefault(place, cell) != cell:
                return f"row {place} was {seen[place]} and is {cell}"
    return None


# Calls

Argument = Any
"""A public value, or a function of the frame and the column's name."""


def same(d: Any, name: str) -> Any:
    return d[f"{name}{SECOND}"]


def texts(d: Any, name: str) -> Any:
    return d["str" if name == "string[python]" else "string[python]"]


def holds(d: Any, name: str) -> Any:
    return d[f"{name}{SECOND}"].notna()


def floats(d: Any, _: str) -> Any:
    return d["float64"]


FIRST = pd.Timestamp("2020-02-29")
LEVELS: list[Any] = [
    ["a", "Bb"],
    [1, 7],
    [1.5, 0.0],
    [True],
    [FIRST],
    [pd.Timedelta(0)],
]
ARGUMENTS: dict[str, list[Argument]] = {
    "other": [
        same,
        floats,
        texts,
        1,
        0,
        -2.5,
        True,
        "a",
        FIRST,
        pd.Timedelta("1h"),
        None,
    ],
    "left": [same, 0, "a", FIRST, pd.Timedelta(0)],
    "right": [same, 7, "b", pd.Timestamp("2021-01-01"), pd.Timedelta("1D")],
    "lower": [None, 0, -1.5, FIRST, pd.Timedelta(0), same],
    "upper": [None, 7, pd.Timestamp("2021-01-01"), pd.Timedelta("1D")],
    "cond": [holds, lambda d, n: d[n].isna(), lambda c: c.notna(), [True] * 3],
    "values": [[1, 7], ["a", ""], [True], [FIRST], [pd.Timedelta(0)], [], {1.5}, same],
    "value": [0, 1.5, "a", True, FIRST, pd.Timedelta(0), same, {0: 1}],
    "dtype": [
        *("float64", "int64", "Int64", "str", "boolean", "datetime64[s]", "category"),
        *("Int8", "UInt64", "bool", "string", "string[python]"),
        *map(pd.CategoricalDtype, LEVELS),
    ],
    "to_replace": [1, {1: 0}, {"a": "b"}, [0.0, 1.5], {True: False}, {FIRST: None}],
    "func": [
        {1: "x", 7: "y"},
        {"a": 1},
        {1.5: 2.5},
        {True: 0},
        {FIRST: 1},
        np.sqrt,
        abs,
    ],
    "caselist": [
        lambda d, n: [(d[n].isna(), same(d, n)), (same(d, n).notna(), d[n])],
        lambda d, n: [(d[n].isna(), 1)],
        lambda d, n: [(d[n].notna(), "a")],
    ],
    "decimals": [0, 1, -2],
    "periods": [1],
    "inclusive": ["both", "left", "neither"],
    "na_action": [None, "ignore"],
    "deep": [True],
    "fill_value": [None, 0],
    "axis": [0, 1],
    "inplace": [False, True],
    "limit": [None, 1],
    "errors": ["raise", "ignore"],
    "regex": [False, True],
    "pat": ["a", "(", r"(\d)", r"[a-z]+", "", re.compile("b")],
    "repl": ["", r"\g<0>x", r"\9", "x", "\ud800"],
    "sub": ["a", ""],
    "sep": [",", "", None],
    "others": [same, texts, None],
    "na_rep": [None, "-"],
    "join": ["left", "outer"],
    "prefix": ["a", ""],
    "suffix": ["a", ""],
    "width": [0, 1, 5],
    "side": ["left", "both"],
    "fillchar": ["*", "\ud800"],
    "start": [None, 1, -1],
    "stop": [None, 2],
    "step": [None, -1, 2],
    "i": [0, -1, 3],
    "form": ["NFC", "NFKD", "nope"],
    "table": [{97: "b", 98: None}, {98: 2**21}, {98: 1.5}, {98: 0xD800}],
    "repeats": [0, 2],
    "to_strip": [None, "a "],
    "na": [False, True],
    "case": [True, False],
    "flags": [0, re.IGNORECASE],
    "expand": [False, True],
    "n": [-1, 1],
    "encoding": ["utf-8"],
    "freq": ["D", "100000D", "h", "7min", "ME", "1ns", pd.Timedelta("1D")],
    "ambiguous": ["raise", "NaT", "infer"],
    "nonexistent": ["raise", "NaT", "shift_forward", "shift_backward"],
    "tz": ["UTC", "Asia/Tokyo", "America/New_York", None, dt.UTC],
    "unit": ["s", "ms", "us", "ns"],
    "round_ok": [True, False],
    "date_format": ["%Y-%m-%d", "%B %d %H:%M:%S.%f", "%G-W%V %j", "", 3],
    "locale": [None, "C"],
}
DEFAULT: list[Argument] = [1, "a", same, lambda x: x]
TOGETHER = [("ambiguous", "nonexistent"), ("lower", "upper"), ("start", "stop")]
"""Optional arguments that are tried in all combinations."""


def calls(member: Any) -> Iterator[tuple[tuple[Argument, ...], dict[str, Argument]]]:
    """Generate plausible arguments of a method, by the names of its parameters."""
    try:
        parameters = list(inspect.signature(member).parameters.values())
    except (TypeError, ValueError):
        yield (), {}
        return
    parameters = [p for p in parameters if p.name != "self"]
    fixed = [p for p in parameters if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}]
    needed = [p.name for p in fixed if p.default is p.empty]
    defaults = {p.name: p.default for p in fixed if p.default is not p.empty}
    optional = list(defaults)
    for values in itertools.product(*(ARGUMENTS.get(n, DEFAULT) for n in needed)):
        yield values, {}
    first = [ARGUMENTS.get(name, DEFAULT)[:2] for name in needed]
    for values in itertools.product(*first):
        for name in optional:
            for value in ARGUMENTS.get(name, DEFAULT):
                if value is not defaults[name]:
                    yield values, {name: value}
        for names in TOGETHER:
            if set(names) <= set(optional):
                for pair in itertools.product(*(ARGUMENTS[n] for n in names)):
                    yield values, dict(zip(names, pair, strict=True))


def bound(value: Argument, d: Any, name: str) -> Any:
    """Return an argument; functions of the frame and the column are called."""
    takes = getattr(getattr(value, "__code__", None), "co_argcount", 0)
    return value(d, name) if takes == 2 else value


def members(owner: Any, reach: Step, name: str) -> Iterator[tuple[str, Step]]:
    """Generate what can be asked of a column or of one of its accessors."""
    for member in dir(owner):
        if member.startswith("_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(owner, member, None)

        def attribute(d: Any, member: str = member) -> Any:
            return getattr(reach(d[name]), member)

        yield member, attribute
        if not callable(found) or inspect.isclass(found):
            continue
        for args, options in calls(found):

            def call(
                d: Any,
                member: str = member,
                args: Any = args,
                options: Any = options,
            ) -> Any:
                given = [bound(value, d, name) for value in args]
                keys = {key: bound(value, d, name) for key, value in options.items()}
                return getattr(reach(d[name]), member)(*given, **keys)

            yield f"{member}{args}{options}", call


OPERATORS: list[Callable[..., Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
    operator.mod, operator.pow, operator.lt, operator.le, operator.eq, operator.ne,
    operator.gt, operator.ge, operator.and_, operator.or_, operator.xor, divmod,
]  # fmt: skip
ALONE: list[Callable[..., Any]] = [
    operator.neg,
    operator.pos,
    operator.invert,
    abs,
    round,
]


def operations(name: str) -> Iterator[tuple[str, Step]]:
    """Generate operators, numpy functions and this package's own functions."""
    for function in ALONE:
        yield function.__name__, lambda d, function=function: function(d[name])
    for function, other in itertools.product(OPERATORS, ARGUMENTS["other"]):
        text = f"{function.__name__} {other}"
        yield text, lambda d, f=function, o=other: f(d[name], bound(o, d, name))
        yield f"r {text}", lambda d, f=function, o=other: f(bound(o, d, name), d[name])
    for ufunc in vars(np).values():
        if isinstance(ufunc, np.ufunc) and ufunc.nin == 1:
            yield ufunc.__name__, lambda d, f=ufunc: f(d[name])
        elif isinstance(ufunc, np.ufunc) and ufunc.nin == 2:
            yield ufunc.__name__, lambda d, f=ufunc: f(d[name], same(d, name))
            yield f"{ufunc.__name__} 2", lambda d, f=ufunc: f(d[name], 2)
    sides = [same, floats, 1, -2.5, "a", FIRST, None, float("nan")]
    for one, other in itertools.product(sides, repeat=2):
        yield (
            f"where {one} {other}",
            lambda d, a=one, b=other: dpframe.where(
                holds(d, name), bound(a, d, name), bound(b, d, name)
            ),
        )
    edges: list[list[Any]] = [[0, 1, 7], [-0.5, 1.5, 1e300]]
    edges += [
        [FIRST, pd.Timestamp("2030-01-01")],
        [pd.Timedelta(0), pd.Timedelta("9D")],
    ]
    options: list[dict[str, Any]] = [{}, {"right": False}, {"include_lowest": True}]
    options += [{"labels": False}, {"labels": ["x", "y"]}, {"labels": [3]}]
    for bins, keys in itertools.product(edges, options):
        yield (
            f"cut {bins} {keys}",
            lambda d, b=bins, k=keys: dpframe.cut(d[name], b, **k),
        )
    yield "to_numeric", lambda d: dpframe.to_numeric(d[name])
    for form in ("%Y-%m-%d", "%Y", "%Y-%m-%d %H:%M:%S.%f", "%d/%m/%y", "%d"):
        for utc in (False, True):
            yield (
                f"to_datetime {form} {utc}",
                lambda d, f=form, u=utc: dpframe.to_datetime(d[name], format=f, utc=u),
            )


def parts(name: str) -> Iterator[tuple[str, Step]]:
    """Generate what is done to the parts of texts and the weeks of instants."""
    for pattern, i in itertools.product([None, ",", "", r"[,.]"], [0, 1, -1]):
        yield (
            f"split {pattern} {i}",
            lambda d, p=pattern, i=i: d[name].str.split(p).str[i],
        )
        yield (
            f"rsplit {pattern}",
            lambda d, p=pattern: d[name].str.rsplit(p, n=1).str[0],
        )
    for sep in (",", "a"):
        yield (
            f"partition {sep}",
            lambda d, s=sep: d[name].str.partition(s, expand=False).str[2],
        )
        yield f"find {sep}", lambda d, s=sep: d[name].str.findall(s).str.len()
        yield f"pair {sep}", lambda d, s=sep: d[name].str.findall(f"({s})(.)").str[0]
        yield f"find0 {sep}", lambda d, s=sep: d[name].str.findall(s).str[0]
        yield f"join {sep}", lambda d, s=sep: d[name].str.split(s).str.join("-")
    yield "letters", lambda d: d[name].str[::-1]
    for part in ("year", "week", "day"):
        yield part, lambda d, p=part: d[name].dt.isocalendar()[p]


def owners() -> dict[str, tuple[Any, Step]]:
    """Return what has members: a column, its texts, its instants, its durations."""
    text = pd.Series(["a"])
    instants = pd.Series([pd.Timestamp(0)])
    return {
        "Series": (pd.Series, lambda column: column),
        "str": (text.str, lambda column: column.str),
        "dt": (instants.dt, lambda column: column.dt),
        "span": (instants.diff().dt, lambda column: column.dt),
    }


def judge(steps: Iterator[tuple[str, Step]]) -> tuple[dict[str, str], int, int]:
    """Return which accepted steps are refuted, and how many were taken or not."""
    wrong: dict[str, str] = {}
    accepted = refused = 0
    known = schema()
    for text, step in steps:
        try:
            recording = record(step, known, what="step")
        except (DPFrameError, TypeError, ValueError, AttributeError):
            refused += 1
            continue
        if not isinstance(recording, Recording):
            refused += 1
            continue
        accepted += 1
        how = refuted(recording)
        if how is not None:
            wrong[text] = how
    return wrong, accepted, refused


TIMES = {n for n in COLUMNS if n.startswith(("date", "New", "UTC", "timedelta"))}
SUITED = {
    "Series": set(COLUMNS),
    "str": {"str", "string[python]", "category"},
    "dt": TIMES,
    "span": TIMES,
}
"""Which dtypes have members of which owner."""


@pytest.mark.parametrize("owner", owners())
@pytest.mark.parametrize("name", COLUMNS)
def test_accepted_member_of_a_column_leaves_rows_apart(name: str, owner: str) -> None:
    found, reach = owners()[owner]
    wrong, accepted, refused = judge(members(found, reach, name))
    assert wrong == {}
    assert refused > 10
    if name not in SUITED[owner]:
        assert accepted == 0
    elif name == "object":  # whether values are missing, and no more
        assert 4 <= accepted < 20
    else:
        assert accepted > 20


@pytest.mark.parametrize("name", COLUMNS)
def test_accepted_operation_on_a_column_leaves_rows_apart(name: str) -> None:
    wrong, accepted, refused = judge(operations(name))
    assert wrong == {}
    assert accepted > (10 if name == "object" else 50)
    assert refused > 100


@pytest.mark.parametrize("name", ["str", "string[python]", "category", "UTC", "object"])
def test_accepted_part_of_a_value_leaves_rows_apart(name: str) -> None:
    wrong, accepted, _ = judge(parts(name))
    assert wrong == {}
    assert (accepted > 2) is (name != "object")


# Controls


def mixing(function: Step) -> Recording:
    known = schema().column("float64")
    return record_step("step", function, known)


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (lambda rows: rows - rows.clip(-9, 9).mean(), "row"),
        (lambda rows: rows.shift(), "row"),
        (lambda rows: rows.rank(), "row"),
        (lambda rows: rows.cumsum(), "row"),
        (lambda rows: rows.iloc[::-1].reset_index(drop=True), "row"),
        (
            lambda rows: pd.concat([rows, rows]).iloc[: len(rows) + (len(rows) > 2)],
            "it",
        ),
    ],
)
def test_the_oracle_refutes_what_looks_at_other_rows(function: Step, how: str) -> None:
    found = refuted(mixing(function))
    assert found is not None
    assert found.startswith(how)


def test_the_sweep_refutes_a_member_that_was_wrongly_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shift(self: RecordedColumn, periods: int = 1) -> RecordedColumn:
        step = record_step("shift", lambda rows: rows.shift(periods), self.recording)
        return RecordedColumn(step)

    monkeypatch.setattr(RecordedColumn, "shift", shift, raising=False)
    found, reach = owners()["Series"]
    wrong, _, _ = judge(members(found, reach, "float64"))
    assert {text.partition("(")[0] for text in wrong} == {"shift"}


def test_member_that_a_newer_pandas_may_add_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pd.Series, "frobnicate", lambda self: self, raising=False)
    accessor = type(pd.Series(["a"]).str)
    monkeypatch.setattr(accessor, "frobnicate", lambda self: self, raising=False)
    times = type(pd.Series([pd.Timestamp(0)]).dt)
    monkeypatch.setattr(times, "frobnicate", lambda self: self, raising=False)
    for owner, name in (("Series", "float64"), ("str", "str"), ("dt", "UTC")):
        found, reach = owners()[owner]
        new = [
            (text, step)
            for text, step in members(found, reach, name)
            if text.startswith("frobnicate")
        ]
        assert len(new) == 2
        assert judge(iter(new)) == ({}, 0, 2)
