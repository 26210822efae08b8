"""What the dialects print and refuse alike."""

from __future__ import annotations

import html
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING, Final, NoReturn

from dpframe.errors import (
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
)
from dpframe.privacy.loss import decimal_text
from dpframe.privacy.scope import ROOT
from dpframe.table import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import State
    from dpframe.values import Keys

_FEW: Final = 3
"""Keys shown in full; of more, the first two and the last."""


def describe(state: State, host: str, dtypes: Mapping[str, str]) -> str:
    """Return a private frame's schema and privacy state as text, without a value.

    Parameters
    ----------
    state : State
        The frame's privacy state.
    host : str
        The library and class of the native frame, as in ``"polars LazyFrame"``.
    dtypes : mapping
        The host's dtype of each visible column, as text.
    """
    lines = [_headline(state, host)]
    widths = [max(map(len, part), default=0) for part in (dtypes, dtypes.values())]
    for name, dtype in dtypes.items():
        notes = ", ".join(_notes(state, name))
        line = f"  {name:<{widths[0]}}  {dtype:<{widths[1]}}  {notes}"
        lines.append(line.rstrip())
    if state.steps:
        lines.append(f"steps: {_steps_text(state)}")
    return "\n".join(lines)


def describe_html(state: State, host: str, dtypes: Mapping[str, str]) -> str:
    """Return the same as `describe`, for notebooks."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(dtype)}</td>"
        f"<td>{html.escape(', '.join(_notes(state, name)))}</td></tr>"
        for name, dtype in dtypes.items()
    )
    steps = html.escape(_steps_text(state))
    below = f"<div>steps: {steps}</div>" if steps else ""
    title = html.escape(_headline(state, host))
    return f"<div>{title}</div><table><tbody>{rows}</tbody></table>{below}"


def _steps_text(state: State) -> str:
    return ", ".join(step.short for step in state.steps)


def _headline(state: State, host: str) -> str:
    parts = ["PrivateFrame", host, _unit_text(state)]
    if state.scope != ROOT:
        parts.append(f"part {cell_text(state.scope.name)}")
    return " · ".join([*parts, _left_text(state)])


def _left_text(state: State) -> str:
    """Return what is left where the frame is charged, in each lane that holds."""
    total, left = state.accountant.total, state.accountant.room(state.scope)
    lanes = [
        f"{decimal_text(rest, ROUND_FLOOR)} of {symbol} "
        f"{decimal_text(whole, ROUND_FLOOR if rest == whole else ROUND_CEILING)}"
        for symbol, whole, rest in (
            ("ε", total.epsilon, left.epsilon),
            ("ρ", total.rho, left.rho),
        )
        if whole and rest is not None
    ]
    return f"{' or '.join(lanes)} left" if lanes else "nothing left"


def _unit_text(state: State) -> str:
    if state.privacy_unit is None:
        return "each row a unit"
    text = f"unit {state.privacy_unit}"
    if state.one_row:
        text += ", one row each"
    elif state.max_rows is not None:
        rows = "row's" if state.max_rows == 1 else "rows'"
        text += f", at most {state.max_rows} {rows} weight each"
    if state.max_groups is not None:
        groups = "group" if state.max_groups == 1 else "groups"
        text += f", in at most {state.max_groups} {groups}"
    return text


def _notes(state: State, name: str) -> list[str]:
    notes: list[str] = []
    if name == state.privacy_unit:
        notes.append("privacy unit")
    if name in state.bounds:
        notes.append(f"bounds {state.bounds[name]}")
    if name in state.domain:
        notes.append(_keys_text(state.domain[name]))
    return notes


def _keys_text(keys: Keys) -> str:
    shown = [str(key) for key in keys]
    if len(keys) > _FEW:
        shown = [*shown[:2], "…", shown[-1]]
    count = "1 key" if len(keys) == 1 else f"{len(keys)} keys"
    return f"{count}: {', '.join(shown)}"


def unit_gone(state: State, step: str) -> NotProvedError:
    """Return the error for a frame whose visible unit column was replaced."""
    return NotProvedError(
        f"Column {state.privacy_unit!r} no longer holds the privacy unit: {step}.",
        step=step,
        hint="do this step before the unit's column is overwritten or dropped.",
    )


def refuse_attribute(name: str, hints: Mapping[str, str]) -> NoReturn:
    """Raise for a method or attribute that a private frame does not have."""
    if name.startswith("_"):
        msg = f"A private frame has no attribute {name!r}."
        raise AttributeError(msg)
    msg = f"A private frame has no {name}: it is not proved to keep units apart."
    raise NotProvedAttributeError(
        msg,
        step=name,
        hint=hints.get(name, "its verbs are listed by dir(); releases are under .dp."),
    )


def refuse_protocol(step: str, hint: str) -> NotProvedTypeError:
    """Return the error for a protocol that would read rows."""
    msg = f"A private frame has no {step}: that would show its rows."
    return NotProvedTypeError(msg, step=step, hint=hint)
