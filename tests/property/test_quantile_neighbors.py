"""No unit moves an order of rows, or a tree of them, further than it claims.

Neighbours differ by one privacy unit with all its rows, or by one row where there is no
unit. What a search is shown of them differs by ranges of rows that weigh no more than
is claimed, and some unit reaches that. Everything else in the records of two
neighbours is equal, but for what was drawn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from checks.calls import attached, native
from checks.columns import COLUMNS, LEVELS, Column
from checks.neighbours import moved, neighbours

from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.testing import Record

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
PAIRS = 4 * AUDIT
LIMITS = {"privacy_unit": "u", "max_rows": 2, "max_groups": 2}
DECILES = [k / 10 for k in range(1, 10)]

TOO_MANY = ("Int128", "UInt128", "Decimal to its limits")
ORDERED = [column for column in COLUMNS if column.name not in TOO_MANY]

CALLS: dict[str, Callable[[Any, Column], Any]] = {
    "median": lambda dp, c: dp.median("x", bounds=c.bounds, epsilon=1),
    "quartiles": lambda dp, c: dp.quantile(
        "x", [0.25, 0.5, 0.75], bounds=c.bounds, epsilon=1
    ),
    "deciles": lambda dp, c: dp.quantile("x", DECILES, bounds=c.bounds, epsilon=1),
    "median by group": lambda dp, c: dp.group_by("g", keys=LEVELS).median(
        "x", bounds=c.bounds, epsilon=1
    ),
    "deciles by group": lambda dp, c: dp.group_by("g", keys=LEVELS).quantile(
        "x", DECILES, bounds=c.bounds, epsilon=1
    ),
    "median beside others": lambda dp, _: dp.group_by("g", keys=LEVELS).agg(
        n="count", m=("y", "mean"), mid=("y", "median"), epsilon=1
    ),
    "cdf": lambda dp, c: dp.cdf("x", bins=c.edges, epsilon=1),
    "cdf of clipped values": lambda dp, c: dp.cdf(
        "x", bins=20, bounds=c.bounds, epsilon=1
    ),
}


def seen(rows: list[dict[str, Any]], column: Column, call: str, unit: Any) -> Record:
    declared: dict[str, Any] = {"bounds": {"y": (-1.0, 2.0)}}
    frame = attached(native(rows, column), **declared, **(LIMITS if unit else {}))
    with recording() as recorder:
        CALLS[call](frame.dp, column)
    (record,) = recorder.records
    return record


@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("call", CALLS)
def test_no_unit_moves_a_range_of_rows_further_than_claimed(
    call: str, *, unit: bool
) -> None:
    for column in ORDERED:
        widest: dict[int, int] = {}
        for pair in range(PAIRS):
            whole, less = (
                seen(rows, column, call, unit)
                for rows in neighbours(column, pair, unit=unit, name="quantiles")
            )
            assert whole.parameters == less.parameters
            assert whole.cost == less.cost
            found: list[tuple[int, int]] = list(whole.distance(less))
            for mine, theirs in zip(whole.searches, less.searches, strict=True):
                assert mine.ordering == theirs.ordering
                assert mine.loss == theirs.loss
                found.append((moved(mine, theirs), mine.ordering.multiplicity))
            assert found
            for place, (distance, claimed) in enumerate(found):
                assert distance <= claimed
                widest[place] = max(widest.get(place, 0), distance * 1000 // claimed)
        # A claim of less would be refuted: the first pair moves all it may.
        assert set(widest.values()) == {1000}, (call, column.name, widest)
