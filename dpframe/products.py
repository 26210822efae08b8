"""Matrix products that stay in one thread.

BLAS shares a large product out among threads, which wait for each other in turns. On a
machine whose processors others want too that takes many times as long as the work.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_SMALL: Final = 1 << 17
"""Multiplications in a product that no library gives to threads."""

_SMALL_SUM: Final = 1 << 13
"""The same, of a matrix and a vector."""


def product(left: Array, right: Array) -> Array:
    """Return the matrix product, tile by tile.

    Parameters
    ----------
    left : array
        Shape ``(m, k)``: a few rows, as each tile takes all of them.
    right : array
        Shape ``(k, n)``, of the same dtype.

    Returns
    -------
    array
        Shape ``(m, n)``.
    """
    size = right.shape[1]
    found = np.empty((len(left), size), dtype=right.dtype)
    wide = max(1, _SMALL // max(left.size, 1))
    whole = size - size % wide
    if whole:
        tiles = _tiled(right[:, :whole], wide)
        np.matmul(left, tiles, out=_tiled(found[:, :whole], wide))
    if whole < size:
        np.matmul(left, right[:, whole:], out=found[:, whole:])
    return found


def weighed(met: Array, weights: Array) -> Array:
    """Return what the cells that are met weigh, row by row.

    Parameters
    ----------
    met : array of bool
        Shape ``(m, n)``: a few rows.
    weights : array of float64
        Shape ``(n,)``.

    Returns
    -------
    array of float64
        Shape ``(m,)``.
    """
    rows, size = met.shape
    wide = max(1, _SMALL_SUM // max(rows, 1))
    whole = size - size % wide
    cells = met.astype(np.float64)
    tiles = _tiled(cells[:, :whole], wide)
    parts = np.matmul(tiles, weights[:whole].reshape(-1, wide, 1))
    return parts[:, :, 0].sum(axis=0) + cells[:, whole:] @ weights[whole:]


def _tiled(matrix: Array, wide: int) -> Array:
    """Return a view of a matrix as a stack of narrow ones."""
    shape = (len(matrix), matrix.shape[1] // wide, wide)
    return matrix.reshape(shape).transpose(1, 0, 2)
