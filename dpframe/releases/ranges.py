"""Questions about intervals and boxes, read as codes of the grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.table import cell_text, enumeration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.grid import Grid

Ranges: TypeAlias = "Sequence[tuple[int, int]]"
"""For each grid the codes of an interval: ``first <= code < stop``."""


class Asked(NamedTuple):
    """An interval or a box as codes, and in words."""

    ranges: Ranges
    words: str


def asked(grids: tuple[Grid, ...], lo: object, hi: object) -> Asked:
    """Return what two ends ask for, or a mapping of columns to pairs of ends.

    Raises
    ------
    ParameterTypeError
        If an end is not of its column's kind, or a box is not given as a mapping.
    ParameterError
        If ends are reversed, or a column is none of the grids'.
    """
    pairs: dict[object, object]
    if isinstance(lo, Mapping):
        if hi is not None:
            msg = "A mapping of columns to pairs (lo, hi) has both ends in it."
            raise ParameterTypeError(msg)
        pairs = {**cast("Mapping[object, object]", lo)}
    elif len(grids) > 1 and (lo is not None or hi is not None):
        names = ", ".join(f'"{grid.column.name}": (lo, hi)' for grid in grids[:2])
        msg = "An interval of several columns is a mapping of columns to pairs."
        raise ParameterTypeError(msg, hint=f"write .count({{{names}}}).")
    else:
        pairs = {next(iter(grids)).column.name: (lo, hi)}
    known = [grid.column.name for grid in grids]
    for name in pairs:
        if name not in known:
            msg = f"{name!r} is no column of this release: {enumeration(known)}."
            raise ParameterError(msg)
    found: list[tuple[int, int]] = []
    words: list[str] = []
    for grid in grids:
        ends = _pair(pairs.get(grid.column.name, (None, None)), what="An interval")
        found.append(_range(grid, *ends))
        words.append(_in_words(grid.column.name, *ends))
    return Asked(found, enumeration(words))


def asked_by(grids: tuple[Grid, ...], query: object) -> Asked:
    """Return what one query of a list asks for: a pair, or a mapping."""
    if isinstance(query, Mapping):
        return asked(grids, cast("Mapping[object, object]", query), None)
    return asked(grids, *_pair(query, what="A query"))


def listed(queries: object) -> list[object]:
    """Return a list, tuple or array of queries as a list.

    Raises
    ------
    ParameterTypeError
        If it is none.
    """
    if isinstance(queries, np.ndarray):
        pairs: Any = cast("Any", queries)
        return [tuple(pair) if np.ndim(pair) else pair for pair in pairs]
    if not isinstance(queries, (list, tuple)):
        msg = f"queries must be a list of pairs (lo, hi), not {type(queries).__name__}."
        raise ParameterTypeError(msg, hint="write [(0, 10), (10, 20)].")
    return list(cast("Sequence[object]", queries))


def everything(grids: tuple[Grid, ...]) -> Ranges:
    """Return all codes of all grids."""
    return [(0, grid.size) for grid in grids]


def _pair(given: object, *, what: str) -> tuple[object, object]:
    if not isinstance(given, (tuple, list)):
        msg = f"{what} is a pair (lo, hi), not {type(given).__name__}."
        raise ParameterTypeError(msg)
    pair = cast("Sequence[object]", given)
    if len(pair) != 2:  # noqa: PLR2004 - two ends
        msg = f"{what} is a pair (lo, hi), not {len(pair)} values."
        raise ParameterTypeError(msg)
    return pair[0], pair[1]


def _range(grid: Grid, lo: object, hi: object) -> tuple[int, int]:
    """Return the codes ``first <= code < stop`` between two ends, both included."""
    column, what = grid.column, f"an end of an interval of {grid.column.name!r}"
    low = None if lo is None else column.number(lo, what=what)
    high = None if hi is None else column.number(hi, what=what)
    if low is not None and high is not None and low > high:
        msg = f"The ends of an interval are reversed: {lo} to {hi}."
        raise ParameterError(msg)
    first = 0 if low is None else grid.above(low)
    stop = grid.size if high is None else grid.upto(high)
    if first == grid.size or stop == 0:
        ends = [column.value(end) for end in (grid.low, grid.high)]
        msg = (
            f"The release knows {column.name!r} from {cell_text(ends[0])} to "
            f"{cell_text(ends[1])}: rows beyond were counted at these ends."
        )
        raise ParameterError(msg, hint="ask for an interval that meets them.")
    return first, max(first, stop)


def _in_words(name: str, lo: object, hi: object) -> str:
    if lo is None and hi is None:
        return name
    if lo is None:
        return f"{name} up to {cell_text(hi)}"
    if hi is None:
        return f"{name} from {cell_text(lo)}"
    return f"{name} from {cell_text(lo)} to {cell_text(hi)}"
