"""What is done to instants and durations: rounding, zones, names and text.

pandas fails where an outcome leaves the calendar, or a local hour occurs twice or
never. Here ticks are counted as whole numbers, which wrap, and such hours are
missing or moved as the caller says.
"""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.proofs.pandas.kinds import on_calendar
from dpframe.proofs.pandas.recording import record_step
from dpframe.proofs.pandas.rules import TICKS, time_unit, unsuited, zone_of
from dpframe.values import Kind

if TYPE_CHECKING:
    from dpframe.proofs.pandas.recording import Recording

_NANOS: Final = 10**9
_SHIFTS: Final = ("NaT", "shift_forward", "shift_backward")


def round_times(
    column: Recording, how: str, freq: object, *, ambiguous: object, nonexistent: object
) -> Recording:
    """Record floor, ceil or round to a fixed span, in local time.

    Raises
    ------
    ParameterError
        If the span is not fixed, or no whole number of the column's ticks.
    NotProvedError
        If the column has a zone whose clocks change, and the call does not say
        what becomes of local hours that occur twice or never.
    """
    step = f"{column.text}.dt.{how}({freq!r}{_clock(ambiguous, nonexistent)})"
    span = _ticks(column, freq, step=step)
    zone = zone_of(column)
    changes = zone is not None and not _is_fixed(zone)
    if changes:
        _check_clock(step, ambiguous, nonexistent)

    def compute(rows: Any) -> Any:
        local = rows if zone is None else rows.dt.tz_localize(None)
        ticks = local.to_numpy()
        moved = _rounded(ticks.view(np.int64), span, how).view(ticks.dtype)
        moved[np.isnat(ticks)] = np.array("NaT", ticks.dtype)
        found = pd.Series(moved, index=rows.index)
        if zone is None:
            return found
        found = on_calendar(found)
        if not changes:
            return found.dt.tz_localize(zone)
        return found.dt.tz_localize(zone, ambiguous="NaT", nonexistent=nonexistent)

    return record_step(step, compute, column)


def _rounded(ticks: Any, span: int, how: str) -> Any:
    rest = ticks % span
    low = ticks - rest
    if how == "floor":
        return low
    if how == "ceil":
        return np.where(rest > 0, low + span, low)
    odd = (low // span) % 2 == 1
    up = (rest > span - rest) | ((rest == span - rest) & odd)
    return np.where(up, low + span, low)


def _ticks(column: Recording, freq: object, *, step: str) -> int:
    try:
        nanos = int(to_offset(freq).nanos)  # pyright: ignore[reportArgumentType, reportCallIssue, reportOptionalMemberAccess] - whatever it is
    except (ValueError, TypeError, AttributeError):
        nanos = 0
    ticks, rest = divmod(nanos * TICKS[time_unit(column.dtype)], _NANOS)
    if nanos <= 0:
        msg = f"{step} needs a span of a fixed length."
        raise ParameterError(
            msg, hint='"D", "h", "15min"; for months .dt.strftime("%Y-%m").'
        )
    if rest:
        msg = f"{step} is finer than the column's {time_unit(column.dtype)}."
        raise ParameterError(msg)
    return ticks


def _is_fixed(zone: Any) -> bool:
    """Whether a zone's clocks never change."""
    return isinstance(zone, dt.timezone) or getattr(zone, "key", "") == "UTC"


def _check_clock(step: str, ambiguous: object, nonexistent: object) -> None:
    if ambiguous != "NaT" or nonexistent not in _SHIFTS:
        msg = f"{step} fails on local hours that occur twice or never."
        hint = 'pass ambiguous="NaT", nonexistent="shift_forward".'
        raise NotProvedError(msg, step=step, hint=hint)


def _clock(ambiguous: object, nonexistent: object) -> str:
    """Return how the answers about local hours read, where there are any."""
    if ambiguous in (None, "raise") and nonexistent in (None, "raise"):
        return ""
    return f", ambiguous={ambiguous!r}, nonexistent={nonexistent!r}"


def normalize(column: Recording) -> Recording:
    """Record the midnight before each instant."""
    zone = zone_of(column)
    if zone is not None and not _is_fixed(zone):
        msg = f"{column.text}.dt.normalize() fails where midnight never occurs."
        hint = 'write .dt.floor("D", ambiguous="NaT", nonexistent="shift_forward").'
        raise NotProvedError(msg, step="normalize", hint=hint)
    if column.kind is Kind.DURATION:
        raise unsuited(f"{column.text}.dt.normalize()", column)
    return round_times(column, "floor", "D", ambiguous=None, nonexistent=None)


def localize(
    column: Recording, zone: object, *, ambiguous: object, nonexistent: object
) -> Recording:
    """Record tz_localize: local time in a zone, or local time without one."""
    step = f"{column.text}.dt.tz_localize({zone!s}{_clock(ambiguous, nonexistent)})"
    if column.kind is Kind.DURATION:
        raise unsuited(step, column)
    found = _zone(zone, step=step)
    if (found is None) is (zone_of(column) is None):
        msg = f"{step} does not suit a column of {column.dtype}."
        hint = "write .dt.tz_convert(zone) where there is one already."
        raise ParameterTypeError(msg, hint=hint)
    if found is None:
        return record_step(step, lambda rows: rows.dt.tz_localize(None), column)  # pyright: ignore[reportUnknownLambdaType] - loosely typed
    if _is_fixed(found):
        return record_step(step, lambda rows: rows.dt.tz_localize(found), column)  # pyright: ignore[reportUnknownLambdaType] - loosely typed
    _check_clock(step, ambiguous, nonexistent)

    def place(rows: Any) -> Any:
        return rows.dt.tz_localize(found, ambiguous="NaT", nonexistent=nonexistent)

    return record_step(step, place, column)


def convert(column: Recording, zone: object) -> Recording:
    """Record tz_convert: the same instant on the clocks of another zone."""
    step = f"{column.text}.dt.tz_convert({zone!s})"
    if zone_of(column) is None:
        raise unsuited(step, column)
    found = _zone(zone, step=step)
    return record_step(step, lambda rows: rows.dt.tz_convert(found), column)  # pyright: ignore[reportUnknownLambdaType] - loosely typed


def _zone(zone: object, *, step: str) -> Any:
    if zone is None:
        return None
    if isinstance(zone, str):
        try:
            return dt.UTC if zone == "UTC" else ZoneInfo(zone)
        except (ValueError, OSError, KeyError):  # what is no name of a zone
            msg = f"{step}: {zone!r} is no time zone."
            raise ParameterError(msg) from None
    if isinstance(zone, dt.timezone | ZoneInfo):
        return zone
    msg = f"{step} takes a zone's name, not a {type(zone).__name__}."
    raise ParameterTypeError(msg)


def text_of_times(column: Recording, method: str, form: object) -> Recording:
    """Record strftime, month_name or day_name: text, whatever is missing."""
    shown = f"{form!r}" if method == "strftime" else ""
    step = f"{column.text}.dt.{method}({shown})"
    if column.kind is Kind.DURATION:
        raise unsuited(step, column)
    if method == "strftime" and not isinstance(form, str):
        msg = f"{step} takes a format, as text."
        raise ParameterTypeError(msg, hint='write .dt.strftime("%Y-%m").')
    args = (form,) if method == "strftime" else ()

    def compute(rows: Any) -> Any:
        words = getattr(rows.dt, method)(*args).to_numpy(dtype=object)
        return pd.Series(words, index=rows.index, dtype="str")

    return record_step(step, compute, column)


def to_unit(column: Recording, unit: object) -> Recording:
    """Record as_unit, to a coarser unit: a finer one does not hold distant times."""
    step = f"{column.text}.dt.as_unit({unit!r})"
    if not isinstance(unit, str) or unit not in TICKS:
        msg = f"{step} takes one of {', '.join(TICKS)}."
        raise ParameterError(msg)
    if TICKS[unit] > TICKS[time_unit(column.dtype)]:
        msg = f"{step} is finer than the column, and does not hold distant times."
        raise NotProvedError(msg, step=step, hint="cast before attaching.")
    return record_step(step, lambda rows: rows.dt.as_unit(unit), column)  # pyright: ignore[reportUnknownLambdaType] - loosely typed
