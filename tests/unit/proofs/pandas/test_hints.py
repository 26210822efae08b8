"""Whatever pandas' columns have is accepted, or refused with what to write instead."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dpframe
from dpframe.errors import DPFrameError, NotProvedAttributeError, NotProvedTypeError
from dpframe.privacy.accountant import Accountant
from dpframe.proofs.pandas.accessor import RecordedText, RecordedTimes
from dpframe.proofs.pandas.column import RecordedColumn
from dpframe.proofs.pandas.hints import COLUMN_HINTS, FREE_HINTS, OPTION_REASONS
from dpframe.proofs.pandas.record import Schema
from dpframe.proofs.pandas.vocabulary import TEXT_METHODS, TIME_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable

RAW = pd.DataFrame(
    {
        "x": [1.0, 2.0],
        "i": [1, 2],
        "s": ["a", "b"],
        "t": pd.to_datetime(["2024-01-01", "2024-02-01"]),
        "w": pd.to_timedelta(["1h", "2h"]),
    }
)
SCHEMA = Schema(dtypes=RAW.dtypes.to_dict())
ACCESSORS = {
    "": (pd.Series, RecordedColumn, frozenset[str]()),
    "str.": (RAW["s"].str, RecordedText, TEXT_METHODS),
    "dt.": (RAW["t"].dt, RecordedTimes, TIME_PARTS),
    "span.": (RAW["w"].dt, RecordedTimes, TIME_PARTS),
}
PLAIN = {"dt.freq": "span.freq", "span.freq": "span.freq"}
"""What is refused in general words."""


@pytest.mark.parametrize("owner", ACCESSORS)
def test_every_public_member_is_accepted_or_has_a_hint(owner: str) -> None:
    found, recorded, known = ACCESSORS[owner]
    spelled = "dt." if owner == "span." else owner
    names = [name for name in dir(found) if not name.startswith("_")]
    unanswered = [
        name
        for name in names
        if name not in known
        and not hasattr(recorded, name)
        and f"{spelled}{name}" not in COLUMN_HINTS
        and f"{owner}{name}" not in PLAIN
    ]
    assert unanswered == []
    assert len(names) > 10


def test_hints_are_of_members_that_pandas_has() -> None:
    accessors = {
        "str": RAW["s"].str,
        "dt": RAW["t"].dt,
        "span": RAW["w"].dt,
        "period": pd.Series(pd.period_range("2024", periods=1)).dt,
    }
    for name in COLUMN_HINTS:
        owner, _, member = name.rpartition(".")
        if owner:
            times = [accessors[n] for n in ("dt", "span", "period")]
            owners: list[Any] = [accessors["str"]] if owner == "str" else times
            assert any(member in dir(each) for each in owners), name
        else:
            assert member in dir(pd.Series) or member in {"attrs", "name"}, name


def test_stand_ins_have_only_what_pandas_has() -> None:
    own = {"recording"}
    for owner, (found, recorded, _) in ACCESSORS.items():
        names = {n for n in dir(recorded) if not n.startswith("_")} - own
        if owner == "":
            assert names <= set(dir(found))
    spans, instants = set(dir(RAW["w"].dt)), set(dir(RAW["t"].dt))
    times = {name for name in dir(RecordedTimes) if not name.startswith("_")}
    assert times <= spans | instants
    assert spans | instants >= TIME_PARTS
    texts = {name for name in dir(RecordedText) if not name.startswith("_")}
    assert texts | TEXT_METHODS <= set(dir(RAW["s"].str))


def test_free_functions_in_hints_exist() -> None:
    for name in FREE_HINTS:
        library, _, function = name.partition(".")
        gone = {"np.in1d"}
        assert name in gone or hasattr({"np": np, "pd": pd}[library], function)


def parameters(method: Callable[..., Any]) -> list[str]:
    return [
        p.name
        for p in inspect.signature(method).parameters.values()
        if p.kind is not p.VAR_KEYWORD
    ]


@pytest.mark.parametrize(
    "name", ["where", "mask", "clip", "between", "map", "replace", "astype", "fillna"]
)
def test_arguments_are_spelled_as_pandas_spells_them(name: str) -> None:
    ours = parameters(getattr(RecordedColumn, name))
    theirs = parameters(getattr(pd.Series, name))
    assert theirs[: len(ours)] == ours


@pytest.mark.parametrize(
    "name", ["floor", "ceil", "round", "tz_localize", "tz_convert"]
)
def test_arguments_of_dt_are_spelled_as_pandas_spells_them(name: str) -> None:
    ours = parameters(getattr(RecordedTimes, name))[1:]
    assert ours == parameters(getattr(RAW["t"].dt, name))


# Keywords of column methods

KEYWORDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "add level": (lambda d: d.x.add(1, level=0), "level"),
    "add fill": (lambda d: d.x.add(1, fill_value=0), "fill_value"),
    "add axis": (lambda d: d.x.add(1, axis=1), "axis"),
    "fillna limit": (lambda d: d.x.fillna(0.0, limit=1), "limit"),
    "fillna inplace": (lambda d: d.x.fillna(0.0, inplace=True), "inplace"),  # noqa: PD002 - refused
    "fillna method": (lambda d: d.x.fillna(0.0, method="ffill"), "method"),
    "clip axis": (lambda d: d.x.clip(0, 1, axis=1), "axis"),
    "clip inplace": (lambda d: d.x.clip(0, 1, inplace=True), "inplace"),  # noqa: PD002 - refused
    "where level": (lambda d: d.x.where(d.x > 0, level=1), "level"),
    "mask inplace": (lambda d: d.x.mask(d.x > 0, inplace=True), "inplace"),  # noqa: PD002 - refused
    "replace regex": (lambda d: d.s.replace("a", "b", regex=True), "regex"),
    "replace method": (lambda d: d.s.replace("a", "b", method="pad"), "method"),
    "astype errors": (lambda d: d.i.astype("float64", errors="ignore"), "errors"),
    "map engine": (lambda d: d.i.map({1: 2}, engine=len), "engine"),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keyword_that_breaks_the_proof_is_refused_by_name(name: str) -> None:
    step, keyword = KEYWORDS[name]
    private = dpframe.attach(RAW, Accountant(epsilon=1))
    with pytest.raises(NotProvedTypeError, match=rf"\({keyword}=\.\.\.\)") as caught:
        private.assign(out=step)
    assert OPTION_REASONS[keyword] in str(caught.value)


HARMLESS: dict[str, Callable[[Any], Any]] = {
    "add": lambda d: d.x.add(1, None, None, 0),
    "add index": lambda d: d.x.add(1, axis="index"),
    "fillna": lambda d: d.x.fillna(0.0, axis=None, inplace=False, limit=None),
    "clip": lambda d: d.x.clip(0, 1, axis=0, inplace=False),
    "where": lambda d: d.x.where(d.x > 1, -1.0, inplace=False, axis=None, level=None),
    "where callable": lambda d: d.x.where(lambda x: x > 1, lambda x: -x),
    "replace": lambda d: d.s.replace("a", "b", inplace=False, regex=False),
    "astype": lambda d: d.i.astype("float64", errors="raise"),
    "map": lambda d: d.i.map({1: 2.5, 2: 1.5}, na_action=None, engine=None),
    "between": lambda d: d.x.between(1, 2, "left"),
    "copy": lambda d: d.x.copy(deep=True),
    "pipe": lambda d: d.x.pipe(lambda x, n: x + n, 1),
    "apply": lambda d: d.x.apply(np.sqrt),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_keyword_that_changes_nothing_is_accepted(name: str) -> None:
    private = dpframe.attach(RAW, Accountant(epsilon=1))
    ours = private.assign(out=HARMLESS[name]).detach()
    pd.testing.assert_frame_equal(ours, RAW.assign(out=HARMLESS[name]))


# Methods of this proof alone

MORE: dict[str, Callable[[Any], Any]] = {
    "case_when": lambda d: d.i.case_when([(d.i > 1, 10), (d.x > 0, d.i * 2)]),
    "case_when callable": lambda d: d.i.case_when([(lambda i: i > 1, 10)]),
    "combine_first": lambda d: d.x.combine_first(d.x),
    "map text": lambda d: d.s.map({"a": "one", "b": "two"}),
    "replace": lambda d: d.i.replace([1, 2], [2, 1]),
    "replace one": lambda d: d.x.replace(1, 7.0),
    "cat": lambda d: d.s.str.cat(d.s, sep="-"),
    "extract": lambda d: d.s.str.extract("(a)", expand=False),
    "split": lambda d: d.s.str.split("a").str[0].astype("str"),
    "divmod": lambda d: divmod(d.i, 2)[0] + d.i.rdivmod(d.x)[1],
    "floor": lambda d: d.t.dt.floor("7D"),
    "round": lambda d: d.w.dt.round("2h"),
    "normalize": lambda d: d.t.dt.normalize(),
    "localize": lambda d: d.t.dt.tz_localize("UTC").dt.floor("h"),
    "wall": lambda d: d.t.dt.tz_localize("UTC").dt.tz_localize(None),
    "month": lambda d: d.t.dt.month_name() + d.t.dt.day_name(),
    "strftime": lambda d: d.t.dt.strftime("%Y/%m"),
    "text and time": lambda d: (d.t > "2024-01-15") & (d.w <= "90min"),
    "between texts": lambda d: d.t.between("2024-01-01", "2024-01-15"),
}


@pytest.mark.parametrize("name", MORE)
def test_accepted_method_gives_what_pandas_gives(name: str) -> None:
    private = dpframe.attach(RAW, Accountant(epsilon=1))
    ours = private.assign(out=MORE[name]).detach()
    pd.testing.assert_frame_equal(ours, RAW.assign(out=MORE[name]))


def test_public_table_is_looked_up() -> None:
    private = dpframe.attach(RAW, Accountant(epsilon=1))
    table = dpframe.public(pd.Series({"a": 1, "z": 2}))
    found = private.assign(out=lambda d: d.s.map(table)).detach()["out"]
    assert found.dtype == "Int64"
    assert found.isna().tolist() == [False, True]
    twice = dpframe.public(pd.Series([1, 2], index=["a", "a"]))
    with pytest.raises(DPFrameError, match="each key once"):
        private.assign(out=lambda d: d.s.map(twice))
    kept = private[lambda d: d.s.isin(dpframe.public(pd.Series(["b"])))]
    assert kept.detach()["s"].tolist() == ["b"]


CLOCK = {
    "localize": lambda d: d.t.dt.tz_localize("Europe/Paris"),
    "floor": lambda d: d.z.dt.floor("h"),
    "normalize": lambda d: d.z.dt.normalize(),
    "infer": lambda d: d.t.dt.tz_localize("Europe/Paris", ambiguous="infer"),
}


@pytest.mark.parametrize("name", CLOCK)
def test_local_hours_that_occur_twice_or_never_need_an_answer(name: str) -> None:
    raw = RAW.assign(z=RAW["t"].dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"))
    private = dpframe.attach(raw, Accountant(epsilon=1))
    with pytest.raises(DPFrameError, match='ambiguous="NaT"'):
        private.assign(out=CLOCK[name])


@pytest.mark.parametrize(
    "name", ["mean", "shift", "unique", "iloc", "apply", "explode"]
)
def test_refused_member_says_what_to_write(name: str) -> None:
    with pytest.raises(NotProvedAttributeError) as caught:
        getattr(RecordedColumn(SCHEMA.column("x")), name)(len)
    assert caught.value.hint == COLUMN_HINTS[name]
