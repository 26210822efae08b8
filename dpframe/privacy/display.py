"""How a budget is shown as text: what was spent, on what, and what remains."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING, Final

from dpframe.privacy.loss import decimal_text
from dpframe.privacy.total import DELTA, EPSILON, MEASURES, RHO
from dpframe.table import aligned_lines, cell_text

if TYPE_CHECKING:
    from dpframe.privacy.loss import Loss
    from dpframe.privacy.standing import Charge, Child, Lane, Standing

_BAR: Final = 20
_LONGEST: Final = 40
"""Longer lists of columns and names are cut."""

_SYMBOLS: Final = {EPSILON: "ε", RHO: "ρ", DELTA: "δ"}
_LABELS: Final = {
    EPSILON: "ε, pure noise only",
    RHO: "ρ, Gaussian noise too",
    DELTA: "δ, for discover_keys",
}


def accountant_text(shown: Standing) -> str:
    """Return a budget as plain text: its lanes, its children and the last charges."""
    charges = (f"  {line}" for line in charge_lines(shown))
    return "\n".join([*overview(shown), *charges])


def overview(shown: Standing) -> list[str]:
    """Return the lines above the charges: name, lanes and children."""
    lines = [note] if (note := lanes_note(shown)) else []
    lines += lane_lines(shown)
    lines += aligned_lines(child_rows(shown), right=())
    return [f"{heading(shown)} · {where(shown)}", *(f"  {line}" for line in lines)]


def heading(shown: Standing) -> str:
    """Return how the budget was opened; of a child, what it holds."""
    total = shown.total
    amounts = {"epsilon": total.epsilon, "delta": total.delta}
    if total.epsilon is None or "/" in shown.path:
        amounts = {"epsilon": total.epsilon or None, "rho": total.rho or None}
    amounts["keys_delta"] = total.keys_delta or None
    given = [f"{k}={decimal_text(v)}" for k, v in amounts.items() if v is not None]
    return f"Accountant({', '.join(given)})"


def where(shown: Standing) -> str:
    """Return where a budget is kept and by which name it is opened there."""
    root, _, child = shown.path.partition("/")
    place = cell_text(shown.place)
    if shown.durable:
        place += f', dataset "{shown.path}"'
    elif child:
        place += f', child "{child}"'
    elif root != "default":
        place += f', dataset "{root}"'
    return f"{place} · closed" if shown.closed else place


def lanes_note(shown: Standing) -> str:
    """Return what two lanes mean; nothing where there is one."""
    lanes = [lane for lane in shown.lanes if lane.measure != DELTA]
    if len(lanes) == 1 or shown.closed:
        return ""
    if all(lane.holds for lane in lanes):
        return "one of two lanes has to hold, for all releases together:"
    return "one of two lanes had to hold, and one is left:"


def lane_lines(shown: Standing) -> list[str]:
    """Return a line for each lane: what is spent, what remains, and a bar."""
    rows = [
        (lane_label(shown, lane), balance(shown, lane), _bar(shown, lane))
        for lane in shown.lanes
    ]
    width = max(len(label) for label, *_ in rows)
    room = max((len(text) for _, text, bar in rows if bar), default=0)
    return [
        (f"{label:<{width}}  " if width else "")
        + (f"{text:<{room}}   {bar}" if bar else text)
        for label, text, bar in rows
    ]


def lane_label(shown: Standing, lane: Lane) -> str:
    """Return which noise a lane is for; nothing where it is the only one."""
    if len(shown.lanes) == 1:
        return ""
    if lane.measure != DELTA and len(shown.total.lanes) == 1:
        return f"{_SYMBOLS[lane.measure]}, for all releases"
    return _LABELS[lane.measure]


def balance(shown: Standing, lane: Lane) -> str:
    """Return what is spent, set aside and remains in a lane, or why it is over."""
    if not lane.holds:
        if lane.measure == EPSILON and not shown.pure:
            return "over, since a release had Gaussian noise"
        return "over: more than it holds was spent or set aside"
    if not lane.total:
        return "nothing of it was set aside here"
    symbol = "" if len(shown.lanes) > 1 else _symbol(shown, lane.measure)
    parts = [f"spent {symbol}{decimal_text(lane.spent)}"]
    if shown.closed:
        return f"{parts[0]} of {decimal_text(lane.total)}, the rest was given back"
    if lane.aside:
        parts.append(f"set aside {symbol}{decimal_text(lane.aside)}")
    parts.append(f"remaining {symbol}{decimal_text(lane.remaining, ROUND_FLOOR)}")
    return " · ".join(parts)


def has_bar(shown: Standing, lane: Lane) -> bool:
    """Return whether there is a share to draw."""
    return lane.holds and bool(lane.total) and not shown.closed


def percent(lane: Lane) -> int:
    """Return the share that is spent or set aside, rounded up.

    It is 100 only where nothing remains.
    """
    if not lane.remaining:
        return 100
    return min(99, math.ceil(100 * (lane.spent + lane.aside) / lane.total))


def _bar(shown: Standing, lane: Lane) -> str:
    """Return a bar and its share in words; what is set aside is lighter."""
    if not has_bar(shown, lane):
        return ""
    taken = round(percent(lane) * _BAR / 100)
    if lane.remaining:
        taken = min(taken, _BAR - 1)
    spent = min(taken, round(lane.spent * _BAR / lane.total)) if lane.aside else taken
    bar = "█" * spent + "▒" * (taken - spent) + "░" * (_BAR - taken)
    return f"{bar} {percent(lane)}%"


def child_rows(shown: Standing) -> list[tuple[str, str, str]]:
    """Return name, amounts and state of each child, indented below its parent."""
    rows = [
        (
            f"{'  ' * (child.depth - 1)}child {_cut(child.name)}",
            _holdings(shown, child),
            "closed" if child.closed else "",
        )
        for child in shown.children
    ]
    if shown.more_children:
        rows.append((f"… {shown.more_children} more children", "", ""))
    return rows


def _holdings(shown: Standing, child: Child) -> str:
    """Return what a child spent of what it holds, in each lane that still holds."""
    parts: list[str] = []
    for lane in child.lanes:
        if not lane.holds or not lane.total:
            continue
        symbol = _symbol(shown, lane.measure)
        aside = f" and set aside {decimal_text(lane.aside)}" if lane.aside else ""
        whole = decimal_text(lane.total)
        parts.append(f"{symbol}{decimal_text(lane.spent)}{aside} of {whole}")
    return f"spent {', '.join(parts)}" if parts else ""


def charge_lines(shown: Standing) -> list[str]:
    """Return the last charges, one a line."""
    earlier = shown.earlier_charges
    lines = [f"… {earlier} earlier charges"] if earlier else []
    return [*lines, *aligned_lines(charge_rows(shown), right={0})]


def charge_rows(shown: Standing) -> list[tuple[str, ...]]:
    """Return number, release, columns, cost and, if any is told, place of charges."""
    rows = [
        (
            str(charge.number),
            _cut(charge.mechanism),
            _cut(charge.columns),
            loss_text(shown, charge.cost),
            charge_place(shown, charge),
        )
        for charge in shown.charges
    ]
    return rows if any(place for *_, place in rows) else [row[:-1] for row in rows]


def charge_place(shown: Standing, charge: Charge) -> str:
    """Return where in the budget a charge was made, and what it added to the whole."""
    names = [_cut(name) for name in (charge.child, charge.scope) if name]
    place = f"in {', '.join(names)}" if names else ""
    cost = charge.cost
    asked = {EPSILON: cost.epsilon, RHO: cost.as_rho, DELTA: cost.delta or 0}
    raised = {m: amount for m in MEASURES if (amount := getattr(charge.raised, m))}
    tracked = [m for m in MEASURES if getattr(charge.raised, m) is not None]
    if all(raised.get(m, 0) == asked.get(m) for m in tracked):
        return place
    if not raised:
        return f"{place}: adds nothing"
    added = (f"{_symbol(shown, m)}{decimal_text(v)}" for m, v in raised.items())
    return f"{place}: adds {', '.join(added)}"


def loss_text(shown: Standing, loss: Loss) -> str:
    """Return a loss; its symbols are left out where all amounts are epsilons."""
    amounts = {EPSILON: loss.epsilon, RHO: loss.rho, DELTA: loss.delta}
    return ", ".join(
        f"{_symbol(shown, measure)}{decimal_text(amount)}"
        for measure, amount in amounts.items()
        if amount is not None
    )


def _symbol(shown: Standing, measure: str) -> str:
    """Return what is printed before an amount, where there are several kinds."""
    pure = [lane.measure for lane in shown.lanes] == [EPSILON]
    return "" if pure else f"{_SYMBOLS[measure]}="


def _cut(text: str) -> str:
    line = cell_text(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
