"""Numbers and times out of text; what cannot be read becomes missing."""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.proofs.pandas.casts import cast_column
from dpframe.proofs.pandas.recording import record_step
from dpframe.proofs.pandas.rules import NUMBERS, unsuited
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.proofs.pandas.recording import Recording

_DIRECTIVE: Final = re.compile(r"%(.)", re.DOTALL)
_DIRECTIVES: Final = frozenset("YymdHIpMSfbBaAjz%")


def parse_number(column: Recording) -> Recording:
    """Record to_numeric: text becomes doubles, numbers stay as they are."""
    if column.kind in NUMBERS:
        return column
    step = f"to_numeric({column.text})"
    if column.kind is not Kind.TEXT:
        raise unsuited(step, column)

    def read(rows: Any) -> Any:
        return _each_text(
            rows, lambda texts: pd.Series([_number(t) for t in texts], dtype="float64")
        )

    return record_step(step, read, column)


def _each_text(rows: Any, read: Callable[[Any], Any]) -> Any:
    """Read each text once, however many rows hold it."""
    places, texts = pd.factorize(rows.to_numpy(dtype=object))
    return read(texts).reindex(places).set_axis(rows.index)


def _number(text: str) -> float:
    if "_" in text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        return np.nan


def parse_time(column: Recording, form: object, *, utc: bool) -> Recording:
    """Record to_datetime with a format: text becomes instants, in microseconds.

    pandas chooses a finer unit for all rows where one of them has nanoseconds, and
    then drops distant ones: so digits beyond microseconds are cut off first.
    """
    if not isinstance(form, str):
        msg = "to_datetime needs a format: without one it is read off the rows."
        raise ParameterTypeError(msg, hint='write format="%Y-%m-%d".')
    shown = ", utc=True" if utc else ""
    step = f"to_datetime({column.text}, format={form!r}{shown})"
    _check_format(form, step=step, utc=utc)
    if column.kind is Kind.DATETIME and not utc:
        return column
    if column.kind is Kind.INTEGER:
        column = cast_column(column, "str")
    if column.kind is not Kind.TEXT:
        raise unsuited(step, column)

    def parse(texts: Any) -> Any:
        plain = pd.Series([_plain(text) for text in texts], dtype=object)
        found: Any = pd.to_datetime(
            plain, format=form, errors="coerce", utc=utc, cache=False
        )
        return found.dt.as_unit("us")

    def read(rows: Any) -> Any:
        return _each_text(rows, parse)

    example = dt.datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC).strftime(form)
    try:
        read(pd.Series([example, None], dtype="str"))
    except (ValueError, TypeError):
        msg = f"{step} has a format that pandas cannot use."
        raise ParameterError(msg) from None
    return record_step(step, read, column)


def _check_format(form: str, *, step: str, utc: bool) -> None:
    used = _DIRECTIVE.findall(form)
    unknown = [f"%{letter}" for letter in used if letter not in _DIRECTIVES]
    if unknown or not used:
        what = ", ".join(unknown) or "no directive"
        msg = f"{step} has {what} in its format, about which nothing is known."
        raise NotProvedError(
            msg, step="to_datetime", hint='write it like "%Y-%m-%d %H:%M:%S".'
        )
    if "z" in used and not utc:
        msg = f"{step} has zones that may differ from row to row."
        raise NotProvedError(msg, step="to_datetime", hint="pass utc=True.")
    if "f" in used and ".%f" not in form:
        msg = f"{step} has a fraction that no point stands before."
        raise NotProvedError(msg, step="to_datetime", hint='write "%S.%f".')


_FINE: Final = re.compile(r"(\.[0-9]{6})[0-9]+")


def _plain(word: str) -> str | None:
    """Return text as pandas may read it: "now" is no time of a row's own."""
    if _WORD.fullmatch(word):
        return None
    return _FINE.sub(r"\1", word)


_WORD: Final = re.compile(r"\s*(now|today|nat|nan|none|null)?\s*", re.IGNORECASE)
