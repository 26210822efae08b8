"""The largest error of public answers, from the codes of the rows: exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.deviation import EveryInterval
from dpframe.engines.codes import coded, grid_names, row_weights, running

if TYPE_CHECKING:
    import polars as pl

    from dpframe.deviation import Compared, EveryPlane, EveryQuery

Array = np.ndarray[Any, np.dtype[Any]]


def plane_deviation(counts: Array, statistic: EveryPlane) -> Array:
    """Return the largest error in grid units, from counts of all bins: ``(1, 1)``."""
    above = counts.reshape(-1, 2)[:, 1]
    found = np.abs(above - np.array(statistic.answers, dtype=np.int64)).max()
    return np.array([[found]], dtype=np.int64)


def largest_deviation(
    source: pl.LazyFrame, statistic: EveryInterval | EveryQuery
) -> Array:
    """Return the largest error in grid units, shape ``(1, 1)``."""
    codes, below = _sorted(source, statistic)
    if isinstance(statistic, EveryInterval):
        found = _of_all(codes[:, 0], below, statistic)
    elif len(statistic.grids) == 1:
        found = _of_intervals(codes[:, 0], below, statistic)
    else:
        found = _of_boxes(codes, np.diff(below), statistic)
    return np.array([[found]], dtype=np.int64)


def _sorted(source: pl.LazyFrame, statistic: Compared) -> tuple[Array, Array]:
    """Return rows in the order of their first codes, and what the first so many weigh.

    Shapes ``(rows, grids)`` and ``(rows + 1,)``.
    """
    names = grid_names(statistic.grids)
    contribution = statistic.contribution
    found = coded(source, grids=statistic.grids, contribution=contribution)
    found = found.sort(names[0])
    weight = row_weights(found, contribution)
    if weight is None:
        weight = np.ones(found.height, dtype=np.int64)
    codes = np.stack([found[name].to_numpy() for name in names], axis=1)
    return codes, running(weight)


def _of_all(codes: Array, below: Array, statistic: EveryInterval) -> int:
    """Return the largest error of any interval of one grid."""
    (grid,) = statistic.grids
    distinct, first = np.unique(codes, return_index=True)
    stops = np.append(first[1:], len(codes))[: len(first)]
    after = statistic.below(distinct + np.uint64(1))  # the last of 2^64 codes wraps
    after = np.where(distinct == np.uint64(grid.size - 1), statistic.total, after)
    errors = np.concatenate(
        [
            below[first] - statistic.below(distinct),
            below[stops] - after,
            [0, int(below[-1]) - statistic.total],
        ]
    )
    return int(errors.max()) - int(errors.min())


def _of_intervals(codes: Array, below: Array, statistic: EveryQuery) -> int:
    """Return the largest error of listed intervals of one grid."""
    first, last = statistic.first[:, 0], statistic.last[:, 0]
    starts = np.searchsorted(codes, first, side="left")
    stops = np.searchsorted(codes, last, side="right")
    counts = below[stops] - below[starts]
    return int(np.abs(counts - statistic.answers).max())


def _of_boxes(codes: Array, weight: Array, statistic: EveryQuery) -> int:
    """Return the largest error of listed boxes; each looks at the rows it may hold."""
    axes = [np.ascontiguousarray(axis) for axis in codes.T]
    starts = np.searchsorted(axes[0], statistic.first[:, 0], side="left").tolist()
    stops = np.searchsorted(axes[0], statistic.last[:, 0], side="right").tolist()
    largest = 0
    for query, answer in enumerate(statistic.answers.tolist()):
        near = slice(starts[query], stops[query])
        inside = np.ones(near.stop - near.start, dtype=np.bool_)
        for axis in range(1, len(axes)):
            inside &= axes[axis][near] >= statistic.first[query, axis]
            inside &= axes[axis][near] <= statistic.last[query, axis]
        count = int(weight[near] @ inside)
        largest = max(largest, abs(count - answer))
    return largest
