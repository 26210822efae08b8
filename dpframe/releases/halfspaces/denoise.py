"""Less noise in histograms of the same rows: what many directions have in common.

The histograms of all directions are a matrix. That of the rows themselves is nearly of
low rank, as one cloud seen from many sides is much alike; noise of equal variance is
not, and spreads over all singular values evenly. So the values that noise alone would
have are dropped and the others are shortened by what noise adds to them, which loses
the least in the mean of squares [1]_. It is arithmetic on released figures.

References
----------
.. [1] Gavish and Donoho (2017), Optimal shrinkage of singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpframe.releases.interval_tree import simplex

Array = np.ndarray[Any, np.dtype[Any]]


def denoised(counts: Array, *, stddev: float) -> Array:
    """Return histograms that are closer to those of the rows, in the mean.

    Parameters
    ----------
    counts : array of float64
        Noisy rows in the bins of each direction: shape ``(K, B)``.
    stddev : float
        The standard deviation of the noise in each count, in rows.

    Returns
    -------
    array of float64
        Shape ``(K, B)``: no count is below 0, and each direction's sum is the mean
        of all directions' sums; zeros, if that is not above 0.
    """
    bins = counts.shape[1]
    sums = counts.sum(axis=1, keepdims=True)
    total = float(sums.mean())
    if not total > 0:
        return np.zeros_like(counts)
    found = _shrunk(counts + (total - sums) / bins, stddev)
    return np.stack([simplex(each, total) for each in found])


def _shrunk(matrix: Array, stddev: float) -> Array:
    """Return a matrix whose singular values are freed from noise of equal variance."""
    if not stddev > 0:
        return matrix
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    short, long = sorted(matrix.shape)
    ratio, unit = short / long, stddev * np.sqrt(long)
    seen = values / unit
    inside = np.maximum((seen**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    kept = seen > 1 + np.sqrt(ratio)
    shorter = np.sqrt(inside) / np.where(kept, seen, 1) * kept
    return (left * (shorter * unit)) @ right
