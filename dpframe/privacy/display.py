"""How a budget is shown: what was spent, on what, and what remains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.privacy.loss import Loss, decimal_text
from dpframe.privacy.total import EPSILON, RHO
from dpframe.table import aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.privacy.total import Total

_SHOWN: Final = 20
_BAR: Final = 20


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One charge as it is shown.

    Attributes
    ----------
    mechanism, columns : str
        What it paid for.
    account : str
        The budget or child that paid.
    cost : Loss
        What it cost, where it was charged.
    scope : str
        The part of a partition that it was charged to; empty for the whole budget.
    charged : str
        By how much it raised what is spent, exactly.
    """

    mechanism: str
    columns: str
    account: str
    cost: Loss
    scope: str = ""
    charged: str


@dataclass(frozen=True, kw_only=True)
class Child:
    """A child as it is shown."""

    path: str
    total: Total
    spent: Loss
    closed: bool


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is shown of a budget.

    Attributes
    ----------
    path, place : str
        Its name, and where its record is kept.
    total : Total
    spent, remaining : Loss
        In each lane that still holds.
    closed : bool
        Whether it is a child that was closed.
    children : tuple of Child
    charges : tuple of Shown
        In order, those of children too.
    """

    path: str
    place: str
    total: Total
    spent: Loss
    remaining: Loss
    closed: bool
    children: tuple[Child, ...]
    charges: tuple[Shown, ...]


def accountant_text(shown: Standing) -> str:
    """Return a budget as plain text, one line per charge (the last 20)."""
    filled = min(_BAR, round(_percent(shown) * _BAR / 100))
    bar = "█" * filled + "░" * (_BAR - filled)
    lines = [
        f"{_heading(shown)} · {_where(shown)}",
        f"  {_balance(shown)}   {bar} {_percent(shown)}%",
    ]
    rows = _rows(shown.charges)
    if len(shown.charges) > len(rows):
        lines.append(f"  … {len(shown.charges) - len(rows)} earlier charges")
    return "\n".join(
        [*lines, *(f"  {line}" for line in aligned_lines(rows, right={0}))]
    )


def accountant_html(shown: Standing) -> str:
    """Return a budget as HTML, in the colours of the page around it."""
    percent = _percent(shown)
    rows = _rows(shown.charges)
    earlier = len(shown.charges) - len(rows)
    filled = f"width: {percent}%; height: 100%; background: currentColor; opacity: 0.6"
    parts = [
        f"<strong>{_heading(shown)}</strong> · {_where(shown)}",
        f"<div>{_balance(shown)} · {percent}% spent</div>",
        '<div style="width: 20em; height: 0.6em; border: 1px solid currentColor">',
        f'<div style="{filled}"></div>',
        "</div>",
        f"<div>… {earlier} earlier charges</div>" if earlier else "",
        _charges_table(rows) if rows else "",
    ]
    return f"<div>{''.join(parts)}</div>"


def _heading(shown: Standing) -> str:
    total = shown.total
    amounts = {"epsilon": total.epsilon, "delta": total.delta}
    if total.epsilon is None:
        amounts = {"rho": total.rho, "delta": total.delta}
    given = [f"{k}={decimal_text(v)}" for k, v in amounts.items() if v is not None]
    return f"Accountant({', '.join(given)})"


def _where(shown: Standing) -> str:
    return shown.place


def _charges_table(rows: Sequence[tuple[str, ...]]) -> str:
    header = ["", "mechanism", "columns", "ε", ""]
    return html_table(header[: len(rows[0])], rows, {0, 3})


def _lane(shown: Standing) -> tuple[Fraction, Fraction, Fraction]:
    """Return total, spent and remaining in the lane that is shown."""
    if shown.remaining.epsilon is not None:
        whole, rest = shown.total.limit(EPSILON), shown.remaining.epsilon
    else:
        whole, rest = shown.total.limit(RHO), shown.remaining.rho or Fraction(0)
    return whole, whole - rest, rest


def _percent(shown: Standing) -> int:
    """Return the share spent, rounded up; 100 only where nothing remains."""
    whole, spent, rest = _lane(shown)
    return 100 if not rest else min(99, math.ceil(100 * spent / whole))


def _balance(shown: Standing) -> str:
    _, spent, rest = _lane(shown)
    remaining = decimal_text(rest, ROUND_FLOOR)
    return f"spent {decimal_text(spent)} · remaining {remaining}"


def _rows(charges: Sequence[Shown]) -> list[tuple[str, ...]]:
    numbered = list(enumerate(charges, start=1))
    rows = [
        (
            str(number),
            cell_text(charge.mechanism),
            cell_text(charge.columns),
            _amount(charge.cost),
            _place(charge),
        )
        for number, charge in numbered[-_SHOWN:]
    ]
    return rows if any(place for *_, place in rows) else [row[:-1] for row in rows]


def _amount(cost: Loss) -> str:
    plain = cost.epsilon is not None and cost.delta is None
    return decimal_text(cost.epsilon) if plain and cost.epsilon else str(cost)


def _place(charge: Shown) -> str:
    """Return where in the budget a charge was made, and what it added to the whole."""
    if not charge.scope:
        return ""
    place = f"in {cell_text(charge.scope)}"
    if charge.charged == charge.cost.exact:
        return place
    raised = Loss.parsed(charge.charged)
    if not any((raised.epsilon, raised.rho, raised.delta)):
        return f"{place}: adds nothing"
    return f"{place}: adds {_amount(raised)}"
