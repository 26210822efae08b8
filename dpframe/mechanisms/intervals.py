"""Synthetic rows for every interval of a column, or every box of several.

Which method, how fine a grid and how many levels a tree has follow from public
parameters alone; what comes back is made from noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpframe.adaptive.session import tree_block
from dpframe.block import Block
from dpframe.declare import public_value
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.grids import check_held, grid_of
from dpframe.mechanisms.inputs import chosen, listed_columns, row_contribution
from dpframe.mechanisms.interval_search import count_loss, search_intervals
from dpframe.mechanisms.interval_shapes import (
    dense_boxes,
    fitted_cells,
    leaf_boxes,
    line_of,
    pieced,
)
from dpframe.nested import Nested, line_fanouts, root
from dpframe.ordering import Ordering
from dpframe.outlook import Outlook
from dpframe.query import Part, Query, Search
from dpframe.releases.cut_error import TreeError
from dpframe.releases.figures import COUNT
from dpframe.releases.interval_tree import MOST_LEAVES
from dpframe.releases.synthetic_intervals import SyntheticIntervals
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.adaptive.session import Session
    from dpframe.frame import PrivateFrame
    from dpframe.grid import Grid
    from dpframe.mechanisms.interval_search import Pieces
    from dpframe.nested import Fanouts
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured
    from dpframe.releases.boxes import Boxes
    from dpframe.releases.line import Line
    from dpframe.tally import Contribution

Array = np.ndarray[Any, np.dtype[Any]]

METHODS: Final = ("auto", "binary_search", "tree", "privtree", "quad")
MOST_COLUMNS: Final = 6
LARGEST_TREE: Final = (1 << 20) + 1
"""Points of a grid up to which a complete tree is the default: 2^20 steps.

On the worst of five shapes of data, of 10^3 to 10^7 rows on 2^20 points, it errs 0.7 to
1.25 times as much as a PrivTree, and on 2^10 points half to three quarters as much. On
rows that share a few points it may err twice as much; its error is known beforehand.
"""
LARGEST_QUAD: Final = 1 << 12
"""Cells of boxes up to which it is."""
_SIDE: Final = 3  # bits that a level of a tree over boxes splits along an axis
_SHAPE_SHARE: Final = Fraction(2, 5)
_RELEASE: Final = "synthetic_intervals"


def synthetic_intervals(
    frame: PrivateFrame,
    loss: Loss,
    columns: object,
    *,
    step: object = None,
    domain: object = None,
    bounds: object = None,
    method: object = "auto",
) -> Query[SyntheticIntervals[Any]]:
    """Plan counts of all intervals of a column, or boxes of several.

    Raises
    ------
    DomainRequiredError
        For a float column without step or domain.
    ParameterError
        If there are more than six columns, or the method does not suit them.
    """
    names = listed_columns(columns)
    if len(names) > MOST_COLUMNS:
        msg = f"Boxes have at most {MOST_COLUMNS} columns, not {len(names)}."
        raise ParameterError(msg, hint="release several sets of fewer columns.")
    given = {
        what: _by_column(value, names, what=what)
        for what, value in (("step", step), ("domain", domain), ("bounds", bounds))
    }
    grids = tuple(
        grid_of(
            frame,
            name,
            step=given["step"].get(name),
            domain=given["domain"].get(name),
            bounds=given["bounds"].get(name),
            release=_RELEASE,
        )
        for name in names
    )
    for grid in grids:
        check_held(grid, grid.column)
    word = _method(chosen(method, among=METHODS, what="method"), grids)
    plan = _PLANS[word]
    return plan(frame, loss, grids, row_contribution(frame))


def _by_column(
    value: object, names: tuple[Any, ...], *, what: str
) -> Mapping[object, object]:
    """Return a parameter by column; for one column it may stand alone."""
    given = public_value(value)
    if given is None:
        return {}
    if isinstance(given, Mapping):
        found = cast("Mapping[object, object]", given)
        for stray in found:
            if stray not in names:
                msg = f"{what} names {stray!r}, which is not among the columns."
                raise ParameterError(msg)
        return found
    if len(names) == 1:
        return {names[0]: value}
    msg = f"{what} of several columns must be a mapping by column."
    raise ParameterTypeError(msg, hint=f"write {what}={{{names[0]!r}: ...}}.")


def _method(word: str, grids: tuple[Grid, ...]) -> str:
    """Return the method that a word means for some grids: public facts alone."""
    cells = math.prod(grid.size for grid in grids)
    several = len(grids) > 1
    if word == "auto":
        if several:
            return "quad" if cells <= LARGEST_QUAD else "privtree"
        return "tree" if cells <= LARGEST_TREE else "privtree"
    if word in {"tree", "binary_search"} and several:
        msg = f'method="{word}" is for one column.'
        raise ParameterError(msg, hint='use "quad" or "privtree" for boxes.')
    if word == "quad" and not several:
        msg = 'method="quad" is for boxes of several columns.'
        raise ParameterError(msg, hint='use "tree" for one.')
    if word in {"tree", "quad"} and cells > MOST_LEAVES:
        msg = f'method="{word}" has at most {MOST_LEAVES} cells, and there are {cells}.'
        raise ParameterError(msg, hint='use "privtree", or a coarser step.')
    return word


def _complete(
    frame: PrivateFrame,
    loss: Loss,
    grids: tuple[Grid, ...],
    contribution: Contribution,
) -> Query[SyntheticIntervals[Any]]:
    """Plan a complete tree: noisy counts of every node, which agree after a fit."""
    levels = box_fanouts(grids)
    tree = Nested(axes=grids, fanouts=levels, contribution=contribution)
    block = tree_block(levels, loss)
    part = Part(statistic=tree, blocks=(block,))
    noise, unit = part.noise(block), Fraction(1, contribution.resolution)
    method = "tree" if len(grids) == 1 else "quad"

    def finish(measured: Measured) -> SyntheticIntervals[Any]:
        fitted = fitted_cells(measured.figures[0], levels) * float(unit)
        raw = fitted[tuple(slice(grid.size) for grid in grids)]
        shape: Line | Boxes
        if len(grids) == 1:
            starts = np.arange(grids[0].size, dtype=np.uint64)
            shape = line_of(grids[0], starts, raw, noise=noise, unit=unit)
        else:
            shape = dense_boxes(grids, raw, noise=noise, unit=unit, fanouts=levels)
        return SyntheticIntervals(
            shape=shape, method=method, measured=measured, host=frame.to_host
        )

    return _query(
        frame,
        loss,
        grids,
        method=method,
        parameters={"levels": str(len(levels))},
        part=part,
        error=TreeError(noise=noise, size=grids[0].size, unit=unit)
        if len(grids) == 1
        else None,
        finish=finish,
    )


def _adaptive(
    frame: PrivateFrame,
    loss: Loss,
    grids: tuple[Grid, ...],
    contribution: Contribution,
) -> Query[SyntheticIntervals[Any]]:
    """Plan a PrivTree: cells as fine as the rows are dense, then their counts."""
    ordering = Ordering(grids=grids, contribution=contribution)
    several = len(grids) > 1
    counts = loss.share(1 - _SHAPE_SHARE)

    def run(session: Session) -> tuple[Array, Array]:
        starts = session.splits(loss.share(_SHAPE_SHARE))
        if not several:  # points beyond the grid are in no row
            starts = starts[starts <= np.uint64(grids[0].size - 1)]
        return starts, session.tree(starts, leaf_fanouts(len(starts), several), counts)

    def finish(measured: Measured) -> SyntheticIntervals[Any]:
        starts, nodes = measured.figures[0]
        levels = leaf_fanouts(len(starts), several)
        noise = tree_block(levels, counts).noise(ordering)
        unit = Fraction(1, ordering.weight)
        raw = fitted_cells(nodes, levels)[: len(starts)] * float(unit)
        shape: Line | Boxes
        if several:
            shape = leaf_boxes(ordering, starts, raw, noise=noise, unit=unit)
        else:
            shape = line_of(grids[0], starts, raw, noise=noise, unit=unit)
        return SyntheticIntervals(
            shape=shape, method="privtree", measured=measured, host=frame.to_host
        )

    return _query(
        frame,
        loss,
        grids,
        method="privtree",
        parameters={},
        part=Search(ordering=ordering, loss=loss, run=run),
        error=None,
        finish=finish,
    )


def _bisected(
    frame: PrivateFrame,
    loss: Loss,
    grids: tuple[Grid, ...],
    contribution: Contribution,
) -> Query[SyntheticIntervals[Any]]:
    """Plan the search of Blum, Ligett and Roth."""
    (grid,) = grids
    ordering = Ordering(grids=grids, contribution=contribution)
    unit = Fraction(1, ordering.weight)
    run = partial(
        search_intervals,
        size=grid.size,
        loss=loss,
        multiplicity=ordering.multiplicity,
        weight=ordering.weight,
    )

    def finish(measured: Measured) -> SyntheticIntervals[Any]:
        pieces: Pieces = measured.figures[0]
        each = count_loss(loss, size=grid.size, alpha=pieces.alpha)
        shape = pieced(grid, pieces, Block.independent(each).noise(ordering), unit)
        return SyntheticIntervals(
            shape=shape, method="binary_search", measured=measured, host=frame.to_host
        )

    return _query(
        frame,
        loss,
        grids,
        method="binary_search",
        parameters={},
        part=Search(ordering=ordering, loss=loss, run=run),
        error=None,
        finish=finish,
    )


_PLANS: Final[Mapping[str, Callable[..., Query[SyntheticIntervals[Any]]]]] = {
    "tree": _complete,
    "quad": _complete,
    "privtree": _adaptive,
    "binary_search": _bisected,
}


def _query(
    frame: PrivateFrame,
    loss: Loss,
    grids: tuple[Grid, ...],
    *,
    method: str,
    parameters: Mapping[str, str],
    error: TreeError | None,
    finish: Callable[[Measured], SyntheticIntervals[Any]],
    part: Part | Search,
) -> Query[SyntheticIntervals[Any]]:
    names = tuple(grid.column.name for grid in grids)
    points = " × ".join(str(grid.size) for grid in grids)
    return Query(
        frame=frame,
        mechanism=_RELEASE,
        columns=names,
        parameters={"points": points, "method": method, **parameters},
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=f"intervals of {enumeration(names)}, {points} points, {method}",
            column=COUNT,
            schema={grid.column.name: grid.column.dtype for grid in grids},
            error=lambda _: error,
            unit=" rows of any interval",
            law="" if error else Block.independent(loss).law,
        ),
        finish=finish,
    )


def box_fanouts(grids: tuple[Grid, ...]) -> Fanouts:
    """Return the branching of a complete tree over some grids, level by level.

    For one grid that of `fanouts`; for several about 8 along each axis.
    """
    if len(grids) == 1:
        return line_fanouts(grids[0].size)
    bits = math.log2(math.prod(grid.size for grid in grids)) / len(grids)
    levels = max(1, round(bits / _SIDE))
    sides = tuple(root(grid.size, levels) for grid in grids)
    return (sides,) * levels


def leaf_fanouts(leaves: int, several: bool) -> Fanouts:  # noqa: FBT001 - a fact
    """Return the tree over the leaves of a partition; boxes have one level."""
    return ((leaves,),) if several else line_fanouts(leaves)
