"""How a private frame prints: its columns and its privacy state, and no data."""

from __future__ import annotations

import html
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from dpframe.privacy.loss import decimal_text
from dpframe.table import aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import State
    from dpframe.values import Keys

_SHOWN_KEYS = 3


def frame_text(host: str, dtypes: Mapping[str, str], state: State) -> str:
    """Return a private frame as plain text.

    Parameters
    ----------
    host : str
        The native frame, as in ``"polars LazyFrame"``.
    dtypes : mapping of str to str
        Visible columns and their dtypes, as the library prints them.
    state : State
        The privacy state.
    """
    rows = _rows(dtypes, state)
    lines = [f"  {line}" for line in aligned_lines(rows, right=())] if rows else []
    steps = [f"steps: {_steps(state)}"] if state.steps else []
    return "\n".join([_title(host, state), *lines, *steps])


def frame_html(host: str, dtypes: Mapping[str, str], state: State) -> str:
    """Return a private frame as HTML, escaped."""
    table = html_table(["column", "dtype", "declared"], _rows(dtypes, state), ())
    steps = f"<div>steps: {html.escape(_steps(state))}</div>" if state.steps else ""
    return (
        f"<div><strong>{html.escape(_title(host, state))}</strong>{table}{steps}</div>"
    )


def _title(host: str, state: State) -> str:
    if state.privacy_unit is None:
        unit = "each row a unit"
    elif state.max_rows is None:
        unit = f"unit {cell_text(state.privacy_unit)}"
    else:
        rows = "1 row's" if state.max_rows == 1 else f"{state.max_rows} rows'"
        unit = f"unit {cell_text(state.privacy_unit)}, at most {rows} weight each"
    return f"PrivateFrame · {host} · {unit} · {_balance(state)}"


def _balance(state: State) -> str:
    remaining, total = state.accountant.remaining, state.accountant.total
    for symbol, left, whole in (
        ("ε", remaining.epsilon, total.epsilon),
        ("ρ", remaining.rho, total.rho),
    ):
        if left is not None and whole is not None:
            left_text = decimal_text(left, ROUND_FLOOR)
            return f"{left_text} of {symbol} {decimal_text(whole)} left"
    return "nothing left"


def _rows(dtypes: Mapping[str, str], state: State) -> list[tuple[str, str, str]]:
    return [
        (cell_text(name), cell_text(dtype), _declared(name, state))
        for name, dtype in dtypes.items()
    ]


def _declared(name: str, state: State) -> str:
    parts = ["privacy unit"] if name == state.privacy_unit else []
    if name in state.bounds:
        bounds = state.bounds[name]
        parts.append(f"bounds {cell_text(bounds.low)} to {cell_text(bounds.high)}")
    if name in state.domain:
        parts.append(_keys(state.domain[name]))
    return ", ".join(parts)


def _keys(keys: Keys) -> str:
    texts = [cell_text(key) for key in keys]
    if len(texts) > _SHOWN_KEYS:
        shown = f"{texts[0]}, {texts[1]}, … {texts[-1]}"
    else:
        shown = ", ".join(texts)
    return f"{len(texts)} key{'s' if len(texts) > 1 else ''}: {shown}"


def _steps(state: State) -> str:
    return ", ".join(state.steps)
