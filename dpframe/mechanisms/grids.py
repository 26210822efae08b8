"""Which public grid a column is rounded to: from a step, or from listed points."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import polars as pl

from dpframe.declare import find_column, public_keys, public_value
from dpframe.errors import (
    BoundsRequiredError,
    DomainRequiredError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.grid import MOST_POINTS, EvenGrid, ListedGrid
from dpframe.mechanisms.inputs import carried_bounds
from dpframe.privacy.loss import exact_rational
from dpframe.values import (
    PER_SECOND,
    ColumnType,
    Kind,
    declared_type,
    numeric_bounds,
    parse_keys,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.frame import PrivateFrame
    from dpframe.grid import Grid
    from dpframe.values import Bounds

_FINE: Final = 1 << 20
"""Steps across the bounds of a float column whose step is not given."""

WIDEST_NUMBER: Final = 1 << 127
"""Whole numbers from here on are beyond 128 signed bits."""


def grid_of(
    frame: PrivateFrame,
    column: object,
    *,
    bounds: object = None,
    step: object = None,
    domain: object = None,
    fine: bool = False,
    release: str,
) -> Grid:
    """Return the grid of a column: its finite ordered public domain.

    Parameters
    ----------
    column : str
    bounds : pair, optional
        The ends of the grid. Default: the bounds that the frame carries.
    step : number or timedelta, optional
        Between neighbouring points. Default: 1 for whole numbers, one unit of a time.
    domain : list, optional
        The points themselves, instead; else those that the frame carries, where it has
        no bounds.
    fine : bool, default False
        Whether a float column without a step gets 2^20 of them; else it is refused.
    release : str
        Who asks, for messages.

    Raises
    ------
    DomainRequiredError
        For a float column without step or domain.
    BoundsRequiredError
        If there are neither bounds nor points.
    ParameterTypeError
        If the column has no order, or a step is not of its kind.
    ParameterError
        If the step does not divide the bounds into 2 to 2^64 points.
    """
    ctype = find_column(frame, column)
    state = frame.private_state
    if domain is not None:
        if step is not None or bounds is not None:
            msg = "domain= lists the points; bounds= and step= would set others."
            raise ParameterError(msg, hint="pass domain=, or bounds= and step=.")
        return _listed(ctype, public_keys(domain, (ctype.name,)))
    found = carried_bounds(frame, ctype, bounds)
    if found is None and step is None and ctype.name in state.domain:
        return _listed(ctype, state.domain[ctype.name])
    if not ctype.kind.is_ordered and ctype.kind is not Kind.OBJECT:
        msg = f"Column {ctype.name!r} holds {ctype.kind.value}, which has no order."
        raise ParameterTypeError(msg, hint="release its counts by keys instead.")
    if ctype.kind is Kind.FLOAT and not fine and (step is None or found is None):
        lacks = ["bounds"] * (found is None) + ["step"] * (step is None)
        raise _continuous(ctype.name, release, lacks)
    if found is None:
        msg = f"{release} needs the bounds of column {ctype.name!r}."
        name = ctype.name
        hint = f"write .dp.bounds({{{name!r}: (low, high)}}), or pass bounds=."
        raise BoundsRequiredError(msg, hint=hint)
    ctype = declared_type(ctype, (found.low, found.high))
    return _even(ctype, found, step)


def check_held(grid: Grid, column: ColumnType) -> None:
    """Refuse points that a released column cannot hold.

    A column may be declared to reach further than its dtype does. Points that are drawn
    out there could not be handed out, after they were paid for.

    Parameters
    ----------
    grid : Grid
    column : ColumnType
        In whose dtype points are released.

    Raises
    ------
    ParameterError
        If the dtype, or Python's calendar, ends before the grid.
    """
    try:
        ends = [column.value(Fraction(end)) for end in (grid.low, grid.high)]
        held = pl.Series(ends, dtype=column.dtype)
    except (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError):
        pass
    else:
        if not (column.kind is Kind.FLOAT and held.is_infinite().any()):
            return
    msg = f"Bounds of column {column.name!r} reach beyond what {column.dtype} holds."
    raise ParameterError(msg, hint="pass narrower bounds=, or cast it in a step first.")


def _continuous(name: str, release: str, lacks: list[str]) -> DomainRequiredError:
    msg = (
        f"{release} needs a finite ordered domain, and column {name!r} is continuous: "
        "without bounds and a step no differentially private answer can be accurate "
        "on every data set (Blum, Ligett and Roth 2013, Cor. 5.2). "
        f"It has no {' and no '.join(lacks)}."
    )
    forms = {"bounds": "bounds=(low, high)", "step": "step=..."}
    hint = (
        f"pass {' and '.join(forms[what] for what in lacks)}, or domain=[...], chosen "
        "without looking at the data."
    )
    return DomainRequiredError(msg, hint=hint)


def _even(ctype: ColumnType, bounds: Bounds, step: object) -> EvenGrid:
    low, high = numeric_bounds(ctype, bounds)
    if ctype.kind is Kind.FLOAT:
        low, high = (
            exact_rational(public_value(end), what=f"bounds of {ctype.name!r}")
            for end in (bounds.low, bounds.high)
        )
    length = _step_length(ctype, step, high - low)
    size = (high - low) // length + 1
    if not 1 < size <= MOST_POINTS:
        few = size <= 1
        fault = "fewer than 2" if few else f"{size}"
        given = "The default step" if step is None else f"step={step}"
        msg = f"{given} leaves {fault} points between {bounds}."
        hint = "pass a smaller step." if few else "pass a larger one: at most 2**64."
        raise ParameterError(msg, hint=hint)
    return EvenGrid(column=ctype, low=low, step=length, size=size)


def _step_length(ctype: ColumnType, step: object, width: Fraction) -> Fraction:
    """Return a step on the number line."""
    if step is None:
        return width / _FINE if ctype.kind is Kind.FLOAT else Fraction(1)
    given = public_value(step)
    if ctype.kind.is_temporal:
        length = _time_step(ctype, given)
    else:
        length = exact_rational(given, what="step") * 10**ctype.scale
    if length <= 0:
        msg = f"step must be greater than 0, not {step}."
        raise ParameterError(msg)
    if ctype.is_whole and length.denominator != 1:
        msg = f"step={step} is no whole number of steps of {ctype.dtype}."
        raise ParameterError(msg, hint="pass a whole number, or a longer time.")
    return length


def _time_step(ctype: ColumnType, step: object) -> Fraction:
    if not isinstance(step, (dt.timedelta, np.timedelta64)):
        msg = f"step must be a datetime.timedelta, not {type(step).__name__}."
        raise ParameterTypeError(msg, hint="write step=datetime.timedelta(days=1).")
    seconds = (
        ColumnType("step", pl.Duration("ns"), Kind.DURATION).number(
            cast("object", step), what="step"
        )
        / PER_SECOND["ns"]
    )
    if ctype.kind is Kind.DATE:
        return seconds / 86_400
    return seconds * PER_SECOND[ctype.time_unit]


def _listed(ctype: ColumnType, keys: object) -> Grid:
    listed = parse_keys(ctype, keys)
    ctype = declared_type(ctype, listed)
    if not ctype.kind.is_ordered:
        msg = f"Column {ctype.name!r} holds {ctype.kind.value}, which has no order."
        raise ParameterTypeError(msg, hint="release its counts by keys instead.")
    what = f"domain of {ctype.name!r}"
    points = sorted(ctype.number(key, what=what) for key in listed)
    if len(points) < 2:  # noqa: PLR2004 - an interval has two ends
        msg = f"{what} needs at least 2 points."
        raise ParameterError(msg)
    if ctype.is_whole and max(-points[0], points[-1]) >= WIDEST_NUMBER:
        msg = f"{what} has points beyond 128 signed bits."
        raise ParameterError(msg)
    return _evened(ctype, points)


def _evened(ctype: ColumnType, points: Sequence[Fraction]) -> Grid:
    """Return listed points as a grid: whole evenly spaced ones by their step."""
    step = points[1] - points[0]
    gaps = pairwise(points)
    if ctype.is_whole and all(after - before == step for before, after in gaps):
        return EvenGrid(column=ctype, low=points[0], step=step, size=len(points))
    return ListedGrid(column=ctype, points=tuple(points))
