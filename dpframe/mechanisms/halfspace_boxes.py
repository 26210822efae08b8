"""Rows counted in boxes, for halfspaces: a partition as fine as the rows are dense."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.block import Block
from dpframe.grid import EvenGrid
from dpframe.mechanisms.grids import check_held
from dpframe.mechanisms.halfspace_call import check_floats
from dpframe.mechanisms.interval_shapes import leaf_boxes
from dpframe.ordering import Ordering
from dpframe.query import Search
from dpframe.releases.halfspaces.leaves import Leaves

if TYPE_CHECKING:
    from dpframe.adaptive.session import Session
    from dpframe.mechanisms.halfspace_call import HalfspaceCall
    from dpframe.mechanisms.inputs import Clipped
    from dpframe.query import Measured, Query
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle

Array = np.ndarray[Any, np.dtype[Any]]

MOST_BOXED: Final = 20
"""Columns of a partition: with more, fewer than three halvings are left for each."""

_DEPTH: Final = 60
_SHAPE_SHARE: Final = Fraction(1, 2)


def boxed(asked: HalfspaceCall) -> Query[HalfspaceOracle[Any]]:
    """Plan a PrivTree over the cube of the columns, and counts of its leaves."""
    bits = _DEPTH // asked.dimension
    ball = asked.ball(partial(_cells, bits=bits))
    labelled = () if asked.label is None else (asked.label,)
    ordering = Ordering(grids=(*labelled, *ball.grids), contribution=asked.contribution)
    first = asked.loss.share(_SHAPE_SHARE)
    rest = asked.loss.share(1 - _SHAPE_SHARE)

    def run(session: Session) -> tuple[Array, Array]:
        starts = session.splits(first)
        return starts, session.tree(starts, ((len(starts),),), rest)

    def shape(measured: Measured) -> Leaves:
        starts, nodes = measured.figures[0]
        raw = nodes[:, 0].astype(np.float64) * float(asked.unit)
        noise = Block.independent(rest).noise(ordering)
        boxes = leaf_boxes(ordering, starts, raw, noise=noise, unit=asked.unit)
        return Leaves(ball=ball, boxes=boxes)

    search = Search(ordering=ordering, loss=asked.loss, run=run)
    return asked.query("kd", (search,), shape)


def _cells(one: Clipped, bits: int) -> EvenGrid:
    """Return a column's cells, by their middles: at most ``2**bits`` of them."""
    low, high = one.limits
    width, size = high - low, 1 << bits
    if not one.column.is_whole:
        step = width / size
        start = low + step / 2
        check_floats(one, start)
        grid = EvenGrid(column=one.column, low=start, step=step, size=size)
        check_held(grid, one.column)
        return grid
    values = int(width) + 1
    step = -(-values // size)
    cells = -(-values // step)
    spare = cells * step - values  # beyond the bounds, about as much at either end
    grid = EvenGrid(
        column=one.column,
        low=low - (spare + 1) // 2 + step // 2,
        step=Fraction(step),
        size=cells,
    )
    check_held(grid, one.column)
    return grid
