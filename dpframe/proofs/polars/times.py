"""Dates and instants kept within the calendar that Polars can compute in.

Polars prints, truncates, shifts and casts times only some 260,000 years around the
epoch, and fails beyond. A number, a shift or a sum can bring a time there for some
rows alone, and failing would then say which rows there are. So what such a function
reads is clipped to 100,000 years first, and no shift is longer than that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from dpframe.proofs.polars.tree import Node, head, items, pairs, reads, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

_DAYS: Final = 36_525_000
_PER_DAY: Final = {"ms": 86_400 * 10**3, "us": 86_400 * 10**6}
_UNITS: Final = {"ms": "Milliseconds", "us": "Microseconds"}
_PART: Final = re.compile(r"(\d+)([a-z]+)")
_LENGTHS: Final = {"y": 366, "q": 92, "mo": 31, "w": 7, "d": 1}
_FAILING: Final = frozenset(
    {
        "TemporalExpr",
        "StringExpr.Format",
        "StringExpr.ConcatHorizontal",
        "FillNull",
        "Coalesce",
        "MinHorizontal",
        "MaxHorizontal",
        "SumHorizontal",
        "Boolean.IsBetween",
        "Boolean.IsIn",
        "Clip",
        "Replace",
        "ReplaceStrict",
    }
)
"""Functions that may fail on times beyond the calendar: print, cast or compute them."""

_MISSING: Final = (
    *("Year", "Quarter", "Month", "Week", "WeekDay", "Day", "OrdinalDay"),
    *("Hour", "Minute", "Second"),
)
"""Parts of times, missing beyond the calendar where no time zone is looked up."""


class MixedTimesError(Exception):
    """Columns of several dtypes, times among them, are taken in one expression."""


def is_short(duration: str) -> bool:
    """Return whether a shift leads from no time within 100,000 years off the calendar.

    Parameters
    ----------
    duration : str
        In Polars' words, such as ``"1mo15d"``.
    """
    days = sum(
        int(number) * _LENGTHS.get(unit, 0) for number, unit in _PART.findall(duration)
    )
    return days <= _DAYS


def keep(node: Node, dtypes: Callable[[Node], list[pl.DataType]]) -> Node:
    """Return a proved tree in which no function reads a time off the calendar.

    Parameters
    ----------
    node : tree
        What the proof accepted.
    dtypes : callable
        The dtypes of a part of it.

    Raises
    ------
    MixedTimesError
        If a selector takes times together with other columns.
    """

    def change(inner: Node, before: Node) -> Node:
        name, body = head(before)
        if name == "Cast":
            held = _held(inner["Cast"]["expr"], body["expr"], dtypes)
            return {"Cast": {**inner["Cast"], "expr": held}}
        if name == "Ternary":
            branches = {
                side: _held(inner["Ternary"][side], body[side], dtypes)
                for side in ("truthy", "falsy")
            }
            return {"Ternary": {**inner["Ternary"], **branches}}
        if name == "Function" and _may_fail(body, dtypes):
            given = zip(inner["Function"]["input"], items(body["input"]), strict=True)
            held = [_held(part, old, dtypes) for part, old in given]
            return {"Function": {**inner["Function"], "input": held}}
        return inner

    return rewritten(node, change)


def _may_fail(function: Node, dtypes: Callable[[Node], list[pl.DataType]]) -> bool:
    name, options = head(pairs(function).get("function"))
    if name == "TemporalExpr" and options in _MISSING:
        found = dtypes(items(pairs(function)["input"])[0])
        return any(getattr(dtype, "time_zone", None) is not None for dtype in found)
    return name in _FAILING or f"{name}.{head(options)[0]}" in _FAILING


def _held(
    node: Node, before: Node, dtypes: Callable[[Node], list[pl.DataType]]
) -> Node:
    """Return a part that reads columns clipped to the calendar, where it is a time."""
    found = dtypes(before) if reads(before) else []
    ends = [_ends(dtype) for dtype in found]
    if not any(ends):
        return node
    if any(dtype != found[0] for dtype in found):
        raise MixedTimesError
    bounds = [{"Literal": {"Scalar": end}} for end in ends[0]]
    clip = {"Clip": {"has_min": True, "has_max": True}}
    return {"Function": {"input": [node, *bounds], "function": clip}}


def _ends(dtype: pl.DataType) -> list[Node]:
    """Return the first and last time of a dtype; none where it ends before."""
    if isinstance(dtype, pl.Date):
        return [{"Date": -_DAYS}, {"Date": _DAYS}]
    if not isinstance(dtype, pl.Datetime) or dtype.time_unit not in _PER_DAY:
        return []
    end = _DAYS * _PER_DAY[dtype.time_unit]
    zone = None if dtype.time_zone is None else {"inner": dtype.time_zone}
    return [{"Datetime": [e, _UNITS[dtype.time_unit], zone]} for e in (-end, end)]
