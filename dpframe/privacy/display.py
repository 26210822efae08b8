"""How a budget is shown: what was spent, on what, and what remains."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.privacy.loss import decimal_text
from dpframe.table import aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN: Final = 20
_BAR: Final = 20


def accountant_text(
    total: Fraction, charges: Sequence[tuple[str, str, Fraction]]
) -> str:
    """Return a budget as plain text, one line per charge (the last 20).

    Parameters
    ----------
    total : Fraction
        The whole budget.
    charges : sequence of (str, str, Fraction)
        Mechanism, columns and epsilon of each charge, in order.
    """
    filled = min(_BAR, round(_percent(total, charges) * _BAR / 100))
    bar = "█" * filled + "░" * (_BAR - filled)
    lines = [
        f"Accountant(epsilon={decimal_text(total)}) · in memory",
        f"  {_balance(total, charges)}   {bar} {_percent(total, charges)}%",
    ]
    rows = _rows(charges)
    if len(charges) > len(rows):
        lines.append(f"  … {len(charges) - len(rows)} earlier charges")
    return "\n".join(
        [*lines, *(f"  {line}" for line in aligned_lines(rows, right={0}))]
    )


def accountant_html(
    total: Fraction, charges: Sequence[tuple[str, str, Fraction]]
) -> str:
    """Return a budget as HTML, in the colours of the page around it."""
    percent = _percent(total, charges)
    rows = _rows(charges)
    earlier = len(charges) - len(rows)
    filled = f"width: {percent}%; height: 100%; background: currentColor; opacity: 0.6"
    parts = [
        f"<strong>Accountant(epsilon={decimal_text(total)})</strong> · in memory",
        f"<div>{_balance(total, charges)} · {percent}% spent</div>",
        '<div style="width: 20em; height: 0.6em; border: 1px solid currentColor">',
        f'<div style="{filled}"></div>',
        "</div>",
        f"<div>… {earlier} earlier charges</div>" if earlier else "",
        html_table(["", "mechanism", "columns", "ε"], rows, {0, 3}) if rows else "",
    ]
    return f"<div>{''.join(parts)}</div>"


def _percent(total: Fraction, charges: Sequence[tuple[str, str, Fraction]]) -> int:
    """Return the share spent, rounded up; 100 only where nothing remains."""
    spent = _spent(charges)
    return 100 if spent == total else min(99, math.ceil(100 * spent / total))


def _balance(total: Fraction, charges: Sequence[tuple[str, str, Fraction]]) -> str:
    spent = _spent(charges)
    remaining = decimal_text(total - spent, ROUND_FLOOR)
    return f"spent {decimal_text(spent)} · remaining {remaining}"


def _spent(charges: Sequence[tuple[str, str, Fraction]]) -> Fraction:
    return sum((cost for _, _, cost in charges), start=Fraction(0))


def _rows(charges: Sequence[tuple[str, str, Fraction]]) -> list[tuple[str, ...]]:
    numbered = list(enumerate(charges, start=1))
    return [
        (str(number), cell_text(mechanism), cell_text(columns), decimal_text(cost))
        for number, (mechanism, columns, cost) in numbered[-_SHOWN:]
    ]
