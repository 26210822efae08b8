"""All of Polars' expressions, as windows over the unit, in groups, and as functions.

What is accepted may depend on the rows of one unit at most; see the oracles.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from checks.expressions import calls, functions
from checks.unit_worlds import ID, SCHEMA, attached, refuted, shown

from dpframe.errors import DPFrameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Step = Callable[[Any, Sequence[pl.Expr]], Any]

COLUMNS = [name for name in SCHEMA if name != ID]


def windowed(frame: Any, exprs: Sequence[pl.Expr]) -> Any:
    """Take windows over the unit."""
    named = {str(place): expr.over(ID) for place, expr in enumerate(exprs)}
    return frame.select(ID, **named)


def grouped(frame: Any, exprs: Sequence[pl.Expr]) -> Any:
    """Take figures of each unit."""
    named = {str(place): expr for place, expr in enumerate(exprs)}
    return frame.group_by(ID).agg(**named)


def selected(frame: Any, exprs: Sequence[pl.Expr]) -> Any:
    """Take them as they are."""
    named = {str(place): expr for place, expr in enumerate(exprs)}
    return frame.select(ID, **named)


@cache
def everything() -> Any:
    """Return a private frame that steps are written on."""
    return attached(pl.DataFrame(schema=SCHEMA))


def accepted(step: Step, exprs: Iterator[pl.Expr]) -> tuple[list[pl.Expr], int]:
    """Return the expressions that a step takes, and how many it refuses."""
    taken, refused = list[pl.Expr](), 0
    for expr in exprs:
        try:
            step(everything(), [expr])
        except DPFrameError:
            refused += 1
        except (TypeError, ValueError):  # Polars' own, of its arguments
            refused += 1
        else:
            taken.append(expr)
    return taken, refused


def wrong(step: Step, exprs: Sequence[pl.Expr]) -> list[tuple[str, str]]:
    """Return which accepted expressions are refuted, and how."""

    def judged(some: Sequence[pl.Expr]) -> str | None:
        return refuted(lambda world: shown(step(attached(world), some)), signs=False)

    found: list[tuple[str, str]] = []
    for start in range(0, len(exprs), 30):
        some = exprs[start : start + 30]
        if judged(some) is None:
            continue
        each = [(str(expr), judged([expr])) for expr in some]
        found += [(text, how) for text, how in each if how is not None]
    return found


@pytest.mark.parametrize(
    "step", [selected, windowed, grouped], ids=["rows", "windows", "groups"]
)
@pytest.mark.parametrize("part", range(3))
def test_no_method_that_is_accepted_is_refuted(step: Step, part: int) -> None:
    tried: list[pl.Expr] = []
    for name in COLUMNS[part::3]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of methods on their way out
            tried += calls(pl.col(name))
    taken, refused = accepted(step, iter(tried))
    assert len(taken) > 20
    assert refused > 1_000
    assert wrong(step, taken) == []


def test_no_free_function_that_is_accepted_is_refuted() -> None:
    taken, refused = accepted(selected, functions(["i", "n", "f", "s", "b", "d", "t"]))
    assert len(taken) > 100
    assert refused > 200
    assert wrong(selected, taken) == []


def test_the_sweep_would_see_a_step_that_mixes_units() -> None:
    def leaking(frame: Any, exprs: Sequence[pl.Expr]) -> Any:
        return attached(frame.detach().with_columns(exprs))

    for expr in (pl.col("f").sum(), pl.col("i").max(), pl.col("i").rank("ordinal")):
        assert wrong(leaking, [expr.alias("leak")]) != []
