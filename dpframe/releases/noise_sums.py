"""Bounds on weighted sums of independent noises: what ratios and moments are off by."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dpframe.noise import DiscreteGaussian, DiscreteLaplace

if TYPE_CHECKING:
    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

Independent: TypeAlias = DiscreteLaplace | DiscreteGaussian
"""The laws whose draws are independent of each other."""

_APART: Final = 1.02
_HALF_STEP: Final = 0.5


def independent(noise: Noise) -> Independent:
    """Return a law whose draws are independent, as the type that says so."""
    if isinstance(noise, (DiscreteLaplace, DiscreteGaussian)):
        return noise
    msg = f"{noise.name} noise is not independent from figure to figure"
    raise TypeError(msg)


def sum_bound(noise: Independent, weights: Array, share: float) -> Array:
    """Return what a weighted sum of independent noises exceeds with a chance at most.

    Parameters
    ----------
    noise : DiscreteLaplace or DiscreteGaussian
        The law of each noise, in grid units.
    weights : array
        Shape ``(cells, noises)``, per grid unit.
    share : float
        The chance, in ``(0, 1)``.

    Returns
    -------
    array
        Shape ``(cells,)``.
    """
    if isinstance(noise, DiscreteLaplace):
        return float(noise.scale) * laplace_quantile(weights, share)
    return gaussian_bound(weights, np.array([noise.scale]), share)


def gaussian_bound(weights: Array, sigmas: Array, share: float) -> Array:
    """Return the same for discrete Gaussian noises, each with a sigma of its own.

    Parameters
    ----------
    weights : array
        Shape ``(cells, noises)``, per grid unit.
    sigmas : array
        Shape ``(noises,)`` or ``(1,)``, in grid units.
    share : float
        The chance, in ``(0, 1)``.

    Notes
    -----
    The normal quantile, made safe on a coarse grid. A discrete Gaussian spread evenly
    over half a step to each side is more peaked about 0 than a normal variable of
    variance ``sigma^2 + 1/4``. Both are symmetric and unimodal, so weighted sums of
    them are ordered alike [1]_; what was spread lies within half a step of each.

    References
    ----------
    .. [1] Birnbaum (1948), On random variables with comparable peakedness.
    """
    spread: Array = np.sqrt((weights**2 * (sigmas**2 + _HALF_STEP**2)).sum(axis=1))
    steps: Array = _HALF_STEP * np.abs(weights).sum(axis=1)
    return -NormalDist().inv_cdf(share / 2) * spread + steps


def laplace_quantile(weights: Array, share: float) -> Array:
    """Return what a weighted sum of independent Laplace noises exceeds with a chance.

    Parameters
    ----------
    weights : array
        Shape ``(cells, noises)``; every noise has scale 1.
    share : float
        The chance, in ``(0, 1)``.

    Returns
    -------
    array
        Shape ``(cells,)``, up to 2 % too large per noise: equal weights are set
        apart upwards, so that the tail is a sum of exponentials,
        ``sum_i prod_{j != i} w_i^2 / (w_i^2 - w_j^2) * exp(-x / w_i)``.
    """
    ordered = np.sort(np.abs(weights), axis=1)
    largest = ordered[:, -1].copy()
    ordered[:, 0] = np.maximum(ordered[:, 0], np.maximum(largest * 1e-3, 1e-300))
    for place in range(1, ordered.shape[1]):
        apart = ordered[:, place - 1] * _APART
        ordered[:, place] = np.maximum(ordered[:, place], apart)
    squares: Array = ordered**2
    ratios: Array = squares[:, :, None] / squares[:, None, :]
    with np.errstate(divide="ignore"):
        factors: Array = 1 / (1 - 1 / ratios)
    for place in range(ordered.shape[1]):
        factors[:, place, place] = 1.0
    mixture: Array = factors.prod(axis=2)
    low: Array = np.zeros(len(ordered))
    high: Array = ordered.sum(axis=1) * (math.log(1 / share) + 1)
    for _ in range(60):
        middle: Array = (low + high) / 2
        tail: Array = (mixture * np.exp(-middle[:, None] / ordered)).sum(axis=1)
        low = np.where(tail > share, middle, low)
        high = np.where(tail > share, high, middle)
    return high


@lru_cache(maxsize=64)
def equal_quantile(noises: int, share: float) -> float:
    """Return `laplace_quantile` of so many noises of weight 1."""
    return float(laplace_quantile(np.ones((1, noises)), share)[0])


def many_bound(noise: Noise, variances: float, share: float) -> float:
    """Return what a sum of many independent noises exceeds, upwards, with a chance.

    Parameters
    ----------
    noise : DiscreteLaplace or DiscreteGaussian
        The law of each noise, in grid units.
    variances : float
        The sum of the squares of their weights, none of which is beyond 1: for a plain
        sum, how many there are. Positive.
    share : float
        The chance, in ``(0, 1)``, of at most.

    Notes
    -----
    Chernoff's bound. For Laplace noise of scale 1 the log-moment of weight w at s is
    ``-ln(1 - s^2 w^2)``, at most ``-w^2 ln(1 - s^2)`` as that is convex in ``w^2``; the
    moments of the discrete law are smaller at every s. The discrete Gaussian has those
    of the normal law at most [1]_.

    References
    ----------
    .. [1] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential
       Privacy, Lemma 8.
    """
    law, miss = independent(noise), -math.log(share)
    if isinstance(law, DiscreteGaussian):
        return float(law.scale) * math.sqrt(2 * variances * miss)
    slopes = np.linspace(0.001, 0.999, 999)
    bounds = (miss - variances * np.log1p(-(slopes**2))) / slopes
    return float(law.scale) * float(bounds.min())
