"""Points whose projections have released distributions: sliced optimal transport.

All of it is arithmetic on released figures: nothing here reads private data. In one
dimension the shortest way from points to a distribution is known: sort them, and move
each to the quantile at its rank. Here this is done along some directions at a time
[1]_ [2]_, with the momentum of a heavy ball [3]_: it goes on in the ways that many
rounds agree on, and forgets those of one round, which are mostly noise.

References
----------
.. [1] Rabin, Peyré, Delon and Bernot (2011), Wasserstein barycenter and its
   application to texture mixing.
.. [2] Bonneel, Rabin, Peyré and Pfister (2015), Sliced and Radon Wasserstein
   barycenters of measures.
.. [3] Polyak (1964), Some methods of speeding up the convergence of iteration methods.
.. [4] Fritsch and Butland (1984), A method for constructing local monotone piecewise
   cubic interpolants.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from tqdm import tqdm

from dpframe.products import product
from dpframe.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Iterable

Array = np.ndarray[Any, np.dtype[Any]]

_DRAWN: Final = b"fit to slices"  # a fit is a function of released figures
_TOGETHER: Final = 32  # directions of one round
_ROUNDS: Final = 40
_PER_ROUND: Final = 5  # directions that call for one round more
_LEAST_MOMENTUM: Final = 0.8
_MOST_MOMENTUM: Final = 0.9  # from 200 directions on: few are soon all in agreement
_STEP_AND_MOMENTUM: Final = 1.2
_RIDGE: Final = 0.1
_LEAST_VARIANCE: Final = 1e-5
_FINER: Final = 4  # parts of a bin


class _Bar(tqdm):  # pyright: ignore[reportMissingTypeArgument] - no generic when run
    """A bar without the thread that others leave behind in the process."""

    monitor_interval = 0


def fitted_points(directions: Array, below: Array, edges: Array, *, size: int) -> Array:
    """Return points whose projections are distributed as released.

    Parameters
    ----------
    directions : array of float64
        Unit vectors, shape ``(K, d)``.
    below : array of float64
        For each direction, which fraction is below each edge: from 0 to 1, never
        falling. Shape ``(K, B + 1)``.
    edges : array of float64
        Places along a direction, rising by the same step: shape ``(B + 1,)``.
    size : int
        How many points.

    Returns
    -------
    array of float64
        Shape ``(size, d)``, in the cube ``|x_j| <= 1 / sqrt(d)``. The same figures
        give the same points, bit for bit on one machine.
    """
    count, dimension = directions.shape
    if size == 0:
        return np.zeros((0, dimension))
    below, edges = _finer(below), _finer(edges[None])[0]
    source = Repeatable(_DRAWN)
    side = 1 / math.sqrt(dimension)
    points = _start(directions, below, edges, source.normals(dimension, size))
    np.clip(points, -side, side, out=points)
    ranks = (np.arange(size) + 0.5) / size
    aims = np.empty((count, size), dtype=np.float32)
    for aim, fractions in zip(aims, below, strict=True):
        aim[:] = np.interp(ranks, fractions, edges)
    units = directions.astype(np.float32)
    pace = np.zeros_like(points)
    rounds = _ROUNDS + count // _PER_ROUND
    momentum = min(_LEAST_MOMENTUM + count / 2000, _MOST_MOMENTUM)
    first = _STEP_AND_MOMENTUM - momentum
    batches = _batches(count, rounds, source)
    # A bar that shows up after two seconds: it tells of rounds, which are public.
    shown = _Bar(batches, desc="Fitting points", unit="round", delay=2, leave=False)
    bar = cast("Iterable[Array]", shown)
    for done, batch in enumerate(bar):
        some = units[batch]
        places = product(some, points)
        order = np.argsort(places, axis=1)
        moves = np.empty_like(places)
        np.put_along_axis(moves, order, aims[batch], axis=1)
        moves -= places
        step = first * (1 - done / rounds) * dimension / len(batch)
        pace *= np.float32(momentum)
        pace += product(np.float32(step) * some.T, moves)
        points += pace
        np.clip(points, -side, side, out=points)
    return np.clip(points.T.astype(np.float64, order="C"), -side, side)


def _finer(lines: Array) -> Array:
    """Return values between values that never fall: smooth, and never falling [4]_.

    A bin may be as wide as all rows spread: inside it they are not even.
    """
    steps = np.diff(lines, axis=1)
    before, after = steps[:, :-1], steps[:, 1:]
    both = before + after
    inner = 2 * before * after / np.where(both > 0, both, 1)
    slopes = np.concatenate([steps[:, :1], inner, steps[:, -1:]], axis=1)
    t = np.arange(_FINER) / _FINER
    rise = t * t * (3 - 2 * t)
    found = (
        lines[:, :-1, None]
        + steps[:, :, None] * rise
        + slopes[:, :-1, None] * (t * (1 - t) ** 2)
        - slopes[:, 1:, None] * (t * t * (1 - t))
    ).reshape(len(lines), -1)
    # Rounding may make it fall by a last digit.
    found = np.concatenate([found, lines[:, -1:]], axis=1)
    return np.minimum(np.maximum.accumulate(found, axis=1), lines[:, -1:])


def _batches(count: int, rounds: int, source: Repeatable) -> list[Array]:
    """Return the directions of each round: a shuffle is dealt out, then another."""
    size = min(_TOGETHER, count)
    found: list[Array] = []
    while len(found) < rounds:
        mixed = np.argsort(source.uniforms(count))
        found += [mixed[k : k + size] for k in range(0, count - size + 1, size)]
    return found[:rounds]


def _start(directions: Array, below: Array, edges: Array, normal: Array) -> Array:
    """Return Gaussian points with the mean and covariance that directions tell of.

    Where they leave a covariance open, ridge least squares take that of a ball.
    """
    mass = np.diff(below, axis=1)
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    means = mass @ middle
    spread = mass @ (middle**2) - means**2 - float((width**2).mean()) / 12
    spread = np.maximum(spread, _LEAST_VARIANCE)
    mean = np.linalg.lstsq(directions, means, rcond=None)[0]

    count, dimension = directions.shape
    one, other = np.triu_indices(dimension)
    twice = np.where(one == other, 1, 2)
    terms = directions[:, one] * directions[:, other] * twice
    round_ = np.where(one == other, spread.mean(), 0.0)
    gram = terms.T @ terms
    gram[np.diag_indices_from(gram)] += _RIDGE * count / dimension
    found = round_ + np.linalg.solve(gram, terms.T @ (spread - terms @ round_))
    covariance = np.empty((dimension, dimension))
    covariance[one, other] = covariance[other, one] = found
    values, vectors = np.linalg.eigh(covariance)
    scales = np.sqrt(np.clip(values, _LEAST_VARIANCE, 1.0))
    points = (vectors * scales) @ normal + mean[:, None]
    return points.astype(np.float32)
