"""From noisy counts of cells to what a release of intervals answers from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.nested import unstacked
from dpframe.releases.boxes import Boxes
from dpframe.releases.cut_error import StatedError, TreeError
from dpframe.releases.interval_tree import consistent, monotone, simplex
from dpframe.releases.line import Line

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.grid import Grid
    from dpframe.mechanisms.interval_search import Pieces
    from dpframe.nested import Fanouts
    from dpframe.noise import Noise
    from dpframe.ordering import Ordering

Array = np.ndarray[Any, np.dtype[Any]]


def fitted_cells(nodes: Array, levels: Fanouts) -> Array:
    """Return the counts of the leaves that fit the noisy counts of all nodes best."""
    counts = nodes.astype(np.float64)
    return consistent(unstacked(counts, levels), levels)


def from_zero(cells: Array) -> Array:
    """Return the rows below each cell, and in all: from 0 on and never decreasing."""
    return np.concatenate([[0.0], monotone(np.cumsum(cells))])


def line_of(
    grid: Grid, starts: Array, raw: Array, *, noise: Noise, unit: Fraction
) -> Line:
    """Return cells of one grid in order, their counts made to add up and never fall."""
    return Line(
        grid=grid,
        starts=starts,
        below=from_zero(raw),
        raw=raw,
        error=TreeError(noise=noise, size=len(starts), unit=unit),
    )


def dense_boxes(
    grids: tuple[Grid, ...],
    raw: Array,
    *,
    noise: Noise,
    unit: Fraction,
    fanouts: Fanouts,
) -> Boxes:
    """Return each cell of some grids as a box."""
    axes = np.meshgrid(
        *(np.arange(grid.size, dtype=np.uint64) for grid in grids), indexing="ij"
    )
    corners = np.stack([axis.reshape(-1) for axis in axes], axis=1)
    counts = raw.reshape(-1)
    return Boxes(
        grids=grids,
        first=corners,
        last=corners,
        values=simplex(counts, float(counts.sum())),
        raw=counts,
        noise=noise,
        unit=unit,
        fanouts=fanouts,
    )


def leaf_boxes(
    ordering: Ordering, starts: Array, raw: Array, *, noise: Noise, unit: Fraction
) -> Boxes:
    """Return the leaves of a partition along the curve as boxes within the grids."""
    depth = ordering.curve.depth
    ends = [*starts[1:].tolist(), 1 << depth]
    lengths = [end - int(start) for start, end in zip(starts, ends, strict=True)]
    free = np.array([length.bit_length() - 1 for length in lengths])
    first, last = ordering.curve.boxes(starts, free)
    tops = np.array([grid.size - 1 for grid in ordering.grids], dtype=np.uint64)
    inside = (first <= tops).all(axis=1)
    counts = raw[inside]
    return Boxes(
        grids=ordering.grids,
        first=first[inside],
        last=np.minimum(last[inside], tops),
        values=simplex(counts, float(counts.sum())),
        raw=counts,
        noise=noise,
        unit=unit,
    )


def pieced(grid: Grid, pieces: Pieces, noise: Noise, unit: Fraction) -> Line:
    """Return the pieces that a search found, and what its theorem says of them."""
    masses = np.array(pieces.masses, dtype=np.float64) * float(unit)
    rows = float(max(pieces.total, 0) * unit)
    width = pieces.alpha * rows if pieces.guaranteed else math.inf
    return Line(
        grid=grid,
        starts=np.array(pieces.bounds[:-1], dtype=np.uint64),
        below=np.concatenate([[0.0], np.cumsum(masses)]),
        raw=masses,
        error=StatedError(noise=noise, width=width, confidence=0.95, unit=unit),
        cut=False,
    )
