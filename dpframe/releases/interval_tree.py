"""From noisy counts at every level of a tree to leaves, prefix sums and cells.

All of it is arithmetic on released figures: nothing here reads private data.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]

MOST_LEAVES: Final = 1 << 22
"""A complete tree of more leaves, in all cells together, takes too long to draw."""

_FEW: Final = 4096  # blocks that a loop pools sooner than arrays do
_WORTHWHILE: Final = 7 / 8  # a round leaves this share of the blocks, or is the last


def consistent(levels: Sequence[Array], fanouts: Sequence[tuple[int, ...]]) -> Array:
    """Return the leaves that fit the counts of all levels best.

    Parameters
    ----------
    levels : sequence of array
        Noisy counts below the root, top level first, leaves last; all of equal
        noise variance. Along each axis, ``levels[k]`` is as long as the product of
        that axis's fan-outs up to level k. Integers of any width, or floats.
    fanouts : sequence of tuple of int
        ``fanouts[k][j]`` is how many parts level k cuts a node into along axis j.

    Returns
    -------
    array
        Estimates of the leaves, in floats, in their shape: the generalised least
        squares solution, in time linear in the number of leaves.

    Notes
    -----
    Going up, each node's own count and the sum of its children are averaged by
    their variances. Going down, what a node's children lack to its final value is
    shared out evenly [1]_.

    References
    ----------
    .. [1] Hay, Rastogi, Miklau and Suciu (2010), Boosting the accuracy of
       differentially private histograms through consistency.
    """
    found = [np.array(level, dtype=np.float64, order="C") for level in levels]
    lacking: list[Array] = []
    variance = 1.0
    for k in range(len(found) - 1, 0, -1):
        children = math.prod(fanouts[k])
        sums = _blocks(found[k], fanouts[k]).sum(axis=_inner(fanouts[k]))
        spread = children * variance
        variance = spread / (spread + 1)
        parent = found[k - 1]
        parent -= sums
        parent *= variance  # the weight of a node's own count, too
        parent += sums
        lacking.append(sums)
    for k in range(1, len(found)):
        missing = (found[k - 1] - lacking.pop()) / math.prod(fanouts[k])
        blocks = _blocks(found[k], fanouts[k])
        blocks += np.expand_dims(missing, _inner(fanouts[k]))
    return found[-1]


def _blocks(cells: Array, fanout: tuple[int, ...]) -> Array:
    """View cells with two axes for each one: the parent, and the child in it."""
    pairs = zip(cells.shape, fanout, strict=True)
    return cells.reshape([n for long, b in pairs for n in (long // b, b)])


def _inner(fanout: tuple[int, ...]) -> tuple[int, ...]:
    """Return the children's axes in `_blocks`."""
    return tuple(range(1, 2 * len(fanout), 2))


def monotone(cumulative: Array) -> Array:
    """Return prefix sums that rise from at least 0, close to noisy ones.

    Parameters
    ----------
    cumulative : array
        Noisy prefix sums F_1..F_N, shape ``(N,)`` with N of at least 1; F_0 is 0.

    Returns
    -------
    array
        The isotonic regression in least squares, clipped to ``[0, max(F_N, 0)]``.

    Accuracy
    --------
    No interval's and no prefix's largest error grows. With m and M the least and
    the largest error of the F_i, 0 included, ``truth + m <= F <= truth + M``.
    Isotonic regression keeps the order of sequences, commutes with adding a
    constant and leaves the truth as it is, so the same bounds hold after it.
    Clipping moves a value towards the truth, or to F_N, whose error is within m
    and M, where the true total is no less than any prefix.
    """
    values = np.asarray(cumulative, dtype=np.float64)
    return np.clip(_isotonic(values), 0, max(float(values[-1]), 0.0))


def _isotonic(values: Array) -> Array:
    """Pool adjacent violators: falling runs all at once, then one by one.

    Blocks whose means fall from one to the next share one value in the solution,
    whatever the order in which they are pooled. A few rounds over arrays leave few
    blocks of a noisy distribution. There are sequences of which a round pools only
    two blocks; so a round that does little is the last one, and a loop over the
    remaining blocks ends the work in linear time.
    """
    sums, counts, means = values, np.ones(len(values), dtype=np.int64), values
    while len(means) > _FEW:
        starts = np.flatnonzero(np.append(True, means[1:] >= means[:-1]))
        if len(starts) == len(means):
            return np.repeat(means, counts)
        shrunk = len(starts) < _WORTHWHILE * len(means)
        sums = np.add.reduceat(sums, starts)
        counts = np.add.reduceat(counts, starts)
        means = sums / counts
        if not shrunk:
            break
    return np.repeat(*_pooled(sums, counts))


def _pooled(sums: Array, counts: Array) -> tuple[Array, Array]:
    """Return rising means of pooled blocks and how many values each stands for."""
    means: list[float] = []
    sizes: list[int] = []
    for total, size in zip(sums.tolist(), counts.tolist(), strict=True):
        mean = total / size
        joined, length = total, size
        while means and means[-1] > mean:
            before = sizes.pop()
            joined += means.pop() * before
            length += before
            mean = joined / length
        means.append(mean)
        sizes.append(length)
    return np.array(means), np.array(sizes)


def simplex(values: Array, total: float) -> Array:
    """Return the nearest cells that are not negative and add up to a total.

    Parameters
    ----------
    values : array
        Noisy cells, of any shape.
    total : float
        What they are to add up to; 0 or less gives zeros.

    Returns
    -------
    array
        ``max(values - t, 0)`` with the t that gives the sum `total`: the Euclidean
        projection on ``{x >= 0, sum x = total}``.

    References
    ----------
    .. [1] Duchi, Shalev-Shwartz, Singer and Chandra (2008), Efficient projections
       onto the l1-ball for learning in high dimensions.
    """
    cells = np.asarray(values, dtype=np.float64)
    if total <= 0 or cells.size == 0:
        return np.zeros(cells.shape)
    ordered = np.sort(cells, axis=None)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, cells.size + 1)
    kept = int(np.flatnonzero(ordered > shifts)[-1])
    return np.maximum(cells - shifts[kept], 0)
