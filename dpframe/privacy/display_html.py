"""How a budget is shown in a notebook: the text's words, with bars drawn."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from dpframe.privacy.display import (
    balance,
    charge_rows,
    child_rows,
    has_bar,
    heading,
    lane_label,
    lanes_note,
    percent,
    where,
)
from dpframe.table import html_table

if TYPE_CHECKING:
    from dpframe.privacy.standing import Lane, Standing

_FRAME: Final = (
    "display: flex; width: 12em; height: 0.7em; box-sizing: border-box; "
    "border: 1px solid currentColor; border-radius: 2px; overflow: hidden"
)
_SPENT: Final = "background: currentColor; opacity: 0.65"
_ASIDE: Final = (
    "background: repeating-linear-gradient(135deg, currentColor 0 2px, "
    "transparent 2px 5px); opacity: 0.65"
)
_CELL: Final = "text-align: left; white-space: nowrap"


def accountant_html(shown: Standing) -> str:
    """Return a budget as HTML, in the colours of the page around it."""
    title = f"<strong>{html.escape(heading(shown))}</strong>"
    parts = [f"<div>{title} · {html.escape(where(shown))}</div>"]
    if note := lanes_note(shown):
        parts.append(f"<div>{html.escape(note)}</div>")
    lanes = "".join(_lane_row(shown, lane) for lane in shown.lanes)
    parts.append(f"<table><tbody>{lanes}</tbody></table>")
    if children := child_rows(shown):
        # A page folds blanks at the beginning of a cell.
        named = [(name.replace("  ", "\u2003"), *rest) for name, *rest in children]
        parts.append(html_table([], named, ()))
    if shown.earlier_charges:
        parts.append(f"<div>… {shown.earlier_charges} earlier charges</div>")
    if rows := charge_rows(shown):
        header = ["", "release", "columns", "cost", ""][: len(rows[0])]
        parts.append(html_table(header, rows, {0, 3}))
    return f"<div>{''.join(parts)}</div>"


def _lane_row(shown: Standing, lane: Lane) -> str:
    text, bar = html.escape(balance(shown, lane)), ""
    if has_bar(shown, lane):
        taken = f"{percent(lane)}% {'spent or set aside' if lane.aside else 'spent'}"
        text, bar = f"{text} · {taken}", _bar(lane, taken)
    cells = [html.escape(lane_label(shown, lane)), text, bar]
    row = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells if cell)
    return f"<tr>{row}</tr>"


def _bar(lane: Lane, taken: str) -> str:
    """Return a bar that is read out as the words beside it."""
    share = percent(lane)
    aside = min(share, round(100 * lane.aside / lane.total))
    parts = [(_SPENT, share - aside), (_ASIDE, aside)]
    drawn = "".join(
        f'<div style="width: {width}%; {style}"></div>'
        for style, width in parts
        if width
    )
    return (
        f'<div role="meter" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{share}" aria-valuetext="{taken}" style="{_FRAME}">'
        f"{drawn}</div>"
    )
