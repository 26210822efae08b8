"""No unit moves what a release of intervals looks at further than it claims.

Neighbours differ by one privacy unit with all its rows, or by one row where there is no
unit. All nodes of a tree, and all ranges of an order, move by no more than is claimed,
and some unit reaches that. Everything else in the records of two neighbours is equal,
but for what was drawn.
"""

from __future__ import annotations

import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from checks.calls import attached, native
from checks.columns import COLUMNS, DAY, Column
from checks.neighbours import moved, neighbours

from dpframe.block import GAUSSIAN
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.testing import Record

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
PAIRS = 3 * AUDIT
LIMITS = {"privacy_unit": "u", "max_rows": 2}

STEPS: dict[str, Any] = {
    "Float64": 0.01,
    "Float32": 0.1,
    "Int64 to its limits": 2**56,
    "UInt64": 2**57 + 1,
    "Int128": 2**121 + 1,
    "UInt128": 2**120 + 3,
    "Decimal to its limits": 10**37,
    "Decimal": Decimal("0.05"),
    "Datetime with a zone": DAY / 24,
}


def ask(dp: Any, column: Column, method: str, **loss: Any) -> Any:
    declared = {"bounds": column.bounds, "step": STEPS.get(column.name)}
    return dp.synthetic_intervals("x", method=method, **declared, **loss)


def ask_boxes(dp: Any, column: Column, method: str, **loss: Any) -> Any:
    step = {"y": 0.5}
    if column.name in STEPS:
        step["x"] = STEPS[column.name]
    bounds = {"x": column.bounds, "y": (-1.0, 2.0)}
    return dp.synthetic_intervals(
        ["x", "y"], method=method, bounds=bounds, step=step, **loss
    )


def whole_line(dp: Any, column: Column, method: str, **loss: Any) -> Any:
    """Ask about each of up to 2^64 points."""
    step = STEPS.get(column.name)
    if column.name in {"Int64 to its limits", "UInt64", "Datetime with a zone"}:
        step = None
    declared = {"bounds": column.bounds, "step": step}
    return dp.synthetic_intervals("x", method=method, **declared, **loss)


CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "tree": (ask, "tree"),
    "partition": (whole_line, "privtree"),
    "search": (whole_line, "binary_search"),
    "boxes": (ask_boxes, "quad"),
    "boxes of a partition": (ask_boxes, "privtree"),
}


def seen(
    rows: list[dict[str, Any]], column: Column, call: str, *, unit: bool, gaussian: bool
) -> tuple[Record, Any]:
    frame = attached(
        native(rows, column), gaussian=gaussian, **(LIMITS if unit else {})
    )
    run, method = CALLS[call]
    with recording() as recorder:
        made = run(frame.dp, column, method, epsilon=1)
    (record,) = recorder.records
    return record, made


def public(made: Any) -> tuple[Any, ...]:
    """Return what a release says that must not follow from rows."""
    facts = (made.method, made.shape.grids, made.cost, made.provenance, made.guarantee)
    return (*facts, dict(made.sample(3).schema), dict(made.to_polars().schema))


@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
@pytest.mark.parametrize("call", CALLS)
def test_no_unit_moves_a_tree_or_an_order_further_than_claimed(
    call: str, *, unit: bool, gaussian: bool
) -> None:
    columns = COLUMNS[:: 4 if gaussian or call == "search" else 1]
    for column in columns:
        widest = 0.0
        for pair in range(PAIRS):
            (whole, one), (less, other) = (
                seen(rows, column, call, unit=unit, gaussian=gaussian)
                for rows in neighbours(column, pair, unit=unit, name="intervals")
            )
            assert public(one) == public(other)
            assert (whole.parameters, whole.cost) == (less.parameters, less.cost)
            found: list[tuple[int, int]] = list(whole.distance(less))
            for mine, theirs in zip(whole.parts, less.parts, strict=True):
                assert mine.statistic == theirs.statistic
                for here, there in zip(mine.blocks, theirs.blocks, strict=True):
                    assert (here.law == GAUSSIAN) == gaussian
                    assert here.scale == there.scale
                    assert here.sensitivity == there.sensitivity
                    assert len(here.exact) == len(there.exact)
            for mine, theirs in zip(whole.searches, less.searches, strict=True):
                assert mine.ordering == theirs.ordering
                assert mine.loss == theirs.loss
                found.append((moved(mine, theirs), mine.ordering.multiplicity))
            ((distance, claimed),) = found
            assert distance <= claimed
            widest = max(widest, distance / claimed)
        # A claim of less would be refuted: the first pair moves all it may.
        assert widest == 1, (call, column.name)
