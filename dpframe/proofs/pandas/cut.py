"""Public bins: where between written-out edges each value lies."""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.proofs.pandas.kinds import is_missing
from dpframe.proofs.pandas.recording import record_step
from dpframe.proofs.pandas.rules import (
    TIMES,
    comparable,
    fits_unit,
    operand,
    time_unit,
    unsuited,
)
from dpframe.public import Public
from dpframe.values import Kind, listed_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.proofs.pandas.recording import Recording

_KINDS: Final = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DATETIME, Kind.DURATION})


def cut_column(
    column: Recording,
    bins: object,
    *,
    right: bool,
    labels: object,
    include_lowest: bool,
    precision: int,
    ordered: bool,
) -> Recording:
    """Record the label of the bin that each value lies in; outside it is missing."""
    shown = "" if right else ", right=False"
    shown += "" if labels is None else f", labels={labels!r}"
    shown += ", include_lowest=True" if include_lowest else ""
    step = f"cut({column.text}, {bins!r}{shown})"
    if column.kind not in _KINDS:
        raise unsuited(step, column)
    edges = _edges(column, bins, step=step)
    place = _placer(column, edges, right=right, include_lowest=include_lowest)
    if labels is False:

        def code(rows: Any) -> Any:
            places = pd.Series(place(rows), index=rows.index, dtype="Int64")
            return places.where(places >= 0)

        return record_step(step, code, column)
    if labels is None:
        names = _interval_names(
            edges, right=right, include_lowest=include_lowest, precision=precision
        )
    else:
        names = _labels(labels, len(edges) - 1, unique=ordered)
    table = pd.Series(names)
    if table.dtype.kind in "iu":
        table = table.astype("Int64")
    if table.dtype not in (pd.StringDtype(na_value=np.nan), pd.Int64Dtype()):
        msg = f"{step} takes text or whole numbers as labels."
        raise ParameterTypeError(msg)

    def name(rows: Any) -> Any:
        return table.reindex(place(rows)).set_axis(rows.index)

    levels = pd.CategoricalDtype(list(dict.fromkeys(names)), ordered=ordered)
    return replace(record_step(step, name, column), category=levels)


def _edges(column: Recording, bins: object, *, step: str) -> list[Any]:
    if isinstance(bins, Public):
        bins = bins.__public_value__()
    if isinstance(bins, int | np.integer):
        msg = f"{step} would find its bins in the rows: a number of bins spans them."
        hint = "write the edges out: bins=[0, 18, 65]."
        raise NotProvedError(msg, step="cut", hint=hint)
    edges = [operand(e, step=step) for e in listed_values(bins, what="bins of cut")]
    for edge in edges:
        if not comparable(column, edge) or isinstance(edge, bool) or is_missing(edge):
            raise unsuited(step, column, edge)
        if column.kind in TIMES and not fits_unit(column, edge):
            msg = f"{step}: {edge} is no whole number of the column's ticks."
            raise ParameterError(msg)
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):  # noqa: PLR2004 - one bin
        msg = f"{step} needs edges that increase, at least two."
        raise ParameterError(msg)
    return edges


def _placer(
    column: Recording, edges: Sequence[Any], *, right: bool, include_lowest: bool
) -> Callable[[Any], Any]:
    """Return a function that gives each row's bin, or -1."""
    is_time = column.kind in TIMES
    if is_time:
        unit = time_unit(column.dtype)
        known = np.array([int(e.as_unit(unit).asm8.view(np.int64)) for e in edges])
    else:
        known = _numbers(edges)
    side = "left" if right else "right"

    def place(rows: Any) -> Any:
        missing = rows.isna().to_numpy()
        if is_time:
            values = rows.astype("int64").to_numpy()
        elif isinstance(rows.dtype, np.dtype):
            values = rows.to_numpy()
        else:
            wanted = rows.dtype.numpy_dtype
            values = rows.to_numpy(dtype=wanted, na_value=wanted.type(0))
        places = np.searchsorted(known, values, side=side) - 1
        if include_lowest:
            places[values == known[0]] = 0
        outside = missing | (places == len(known) - 1)
        return np.where(outside, -1, places)

    return place


def _numbers(edges: Sequence[Any]) -> Any:
    whole = all(isinstance(edge, int) for edge in edges)
    if whole and edges[0] >= -(2**63) and edges[-1] < 2**63:
        return np.array(edges, dtype=np.int64)
    return np.array([float(edge) for edge in edges])


def _interval_names(
    edges: Sequence[Any], *, right: bool, include_lowest: bool, precision: int
) -> list[str]:
    """Return the names that pandas gives to bins, as text."""
    none = pd.Series(list(edges)).iloc[:0]
    made: Any = pd.cut(
        none,
        cast("Any", list(edges)),
        right=right,
        include_lowest=include_lowest,
        precision=precision,
    )
    return [str(each) for each in made.cat.categories]


def _labels(labels: object, count: int, *, unique: bool) -> list[Any]:
    if isinstance(labels, str) or not isinstance(labels, Sequence | np.ndarray):
        msg = f"labels of cut are a list, None or False, not a {type(labels).__name__}."
        raise ParameterTypeError(msg)
    listed = list(listed_values(labels, what="labels of cut"))
    if len(listed) != count:
        msg = f"cut has {count} bins, but {len(listed)} labels."
        raise ParameterError(msg)
    if unique and len(set(listed)) < count:
        msg = "cut has two bins of one label."
        raise ParameterError(msg, hint="pass ordered=False.")
    return listed
