"""Rows with and without one privacy unit, and how far their orders lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from checks.calls import random_row, random_rows
from checks.columns import seeded

if TYPE_CHECKING:
    from checks.columns import Column

    from dpframe.engines.ordered import Ordered
    from dpframe.testing import RecordedSearch

    Rows = list[dict[str, Any]]


def neighbours(
    column: Column, pair: int, *, unit: bool, name: str
) -> tuple[Rows, Rows]:
    """Return rows with and without unit 0; in the first pair all its weight counts."""
    rng = seeded(f"{name} {column} {unit} {pair}")
    rows = (
        random_rows(rng, column, most=5, units=4)
        if unit
        else [random_row(rng, column, place) for place in range(5)]
    )
    rest = [row for row in rows if row["u"] != 0]
    value = float(column.keys[0]) if column.dtype.is_float() else column.keys[0]
    full = {"y": 0.5, "g": "a", "b": True, "u": 0, "x": value}
    own = [row for row in rows if row["u"] == 0]
    return rest + (own if pair else [full] * (2 if unit else 1)), rest


def moved(mine: RecordedSearch, theirs: RecordedSearch) -> int:
    """Return the weight that moved, over all points of all cells together."""
    cells = zip(mine.exact, theirs.exact, strict=True)
    return sum(_moved_in_cell(one, other) for one, other in cells)


def _moved_in_cell(one: Ordered, other: Ordered) -> int:
    codes = np.unique(np.concatenate([one.codes, other.codes]))
    below = [np.append(order.all_below(codes), order.total) for order in (one, other)]
    return int(np.abs(np.diff(below[0]) - np.diff(below[1])).sum())
