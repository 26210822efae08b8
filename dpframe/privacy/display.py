"""How a budget is shown: what was spent, on what, and what remains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.privacy.loss import decimal_text
from dpframe.table import aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN: Final = 20
_BAR: Final = 20


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge as it is shown.

    Attributes
    ----------
    mechanism, columns : str
        What it paid for.
    cost : Fraction
        Its epsilon, where it was charged.
    scope : str
        The part of a partition that it was charged to; empty for the whole budget.
    charged : Fraction
        By how much it raised what is spent.
    """

    mechanism: str
    columns: str
    cost: Fraction
    scope: str = ""
    charged: Fraction


def accountant_text(total: Fraction, charges: Sequence[Charge]) -> str:
    """Return a budget as plain text, one line per charge (the last 20)."""
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


def accountant_html(total: Fraction, charges: Sequence[Charge]) -> str:
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
        _charges_table(rows) if rows else "",
    ]
    return f"<div>{''.join(parts)}</div>"


def _charges_table(rows: Sequence[tuple[str, ...]]) -> str:
    header = ["", "mechanism", "columns", "ε", ""]
    return html_table(header[: len(rows[0])], rows, {0, 3})


def _percent(total: Fraction, charges: Sequence[Charge]) -> int:
    """Return the share spent, rounded up; 100 only where nothing remains."""
    spent = _spent(charges)
    return 100 if spent == total else min(99, math.ceil(100 * spent / total))


def _balance(total: Fraction, charges: Sequence[Charge]) -> str:
    spent = _spent(charges)
    remaining = decimal_text(total - spent, ROUND_FLOOR)
    return f"spent {decimal_text(spent)} · remaining {remaining}"


def _spent(charges: Sequence[Charge]) -> Fraction:
    return sum((charge.charged for charge in charges), start=Fraction(0))


def _rows(charges: Sequence[Charge]) -> list[tuple[str, ...]]:
    numbered = list(enumerate(charges, start=1))
    rows = [
        (
            str(number),
            cell_text(charge.mechanism),
            cell_text(charge.columns),
            decimal_text(charge.cost),
            _place(charge),
        )
        for number, charge in numbered[-_SHOWN:]
    ]
    return rows if any(place for *_, place in rows) else [row[:-1] for row in rows]


def _place(charge: Charge) -> str:
    """Return where in the budget a charge was made, and what it added to the whole."""
    if not charge.scope:
        return ""
    place = f"in {cell_text(charge.scope)}"
    if charge.charged == charge.cost:
        return place
    added = decimal_text(charge.charged) if charge.charged else "nothing"
    return f"{place}: adds {added}"
