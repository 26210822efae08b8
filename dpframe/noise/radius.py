"""Public figures of max-norm noise: variance and tails.

With ``S_k(n)`` the sum of ``(2 * m + 1)**k * a**m`` over ``m >= n``, all of them
are ratios of such sums, and every sum is one of positive terms over ``S_0(0)`` to
``S_k(0)``. Beyond `LARGEST` coordinates, where the grid is fine, they are those of
the continuous law: the radius is Gamma distributed.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from dpframe.noise.brackets import DIGITS, context
from dpframe.noise.quantiles import as_decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 512  # coordinates whose exact law is at hand


def variance(dimension: int, scale: Fraction) -> Decimal:
    """Variance of one coordinate: a third of the mean of ``m * (m + 1)``."""
    near = _arithmetic(scale, 0)
    if dimension > LARGEST:
        factor = Fraction((dimension + 1) * (dimension + 2), 3)
        return as_decimal(factor * scale * scale, near)
    # m * (m + 1) = ((2 * m + 1)**2 - 1) / 4
    sums = _sums(dimension + 2, scale)
    square = near.divide(sums[dimension + 2], sums[dimension])
    return near.divide(near.subtract(square, 1), 12)


def coordinate_tail(dimension: int, scale: Fraction, limit: int) -> Decimal:
    """Probability that one coordinate exceeds `limit` in size."""
    if limit < 0:
        return Decimal(1)
    if dimension > LARGEST:
        return _gamma_tail(dimension, limit / scale, falling=True)
    # A share 2 * (m - limit) / (2 * m + 1) of the cube of radius m lies outside.
    near, sums = _arithmetic(scale, limit), _sums(dimension + 2, scale)
    pairs = [near.add(low, high) for low, high in pairwise(sums[: dimension + 1])]
    total = _shifted(pairs, Decimal(2 * (limit + 1)), near)
    share = near.divide(total, sums[dimension])
    return min(near.multiply(share, _power(scale, limit + 1, near)), Decimal(1))


def joint_tail(dimension: int, scale: Fraction, limit: int) -> Decimal:
    """Probability that any coordinate exceeds `limit` in size."""
    if limit < 0:
        return Decimal(1)
    if dimension > LARGEST:
        return _gamma_tail(dimension, limit / scale, falling=False)
    # A share 1 - ((2 * limit + 1) / (2 * m + 1))**k of the cube lies outside.
    near, sums = _arithmetic(scale, limit), _sums(dimension + 2, scale)
    total = _shifted(sums[: dimension + 1], Decimal(2 * (limit + 1)), near)
    edge = near.power(Decimal(2 * limit + 1), Decimal(dimension))
    outside = near.subtract(total, near.multiply(edge, sums[0]))
    share = near.divide(outside, sums[dimension])
    return min(near.multiply(share, _power(scale, limit + 1, near)), Decimal(1))


def _shifted(sums: Sequence[Decimal], shift: Decimal, near: Context) -> Decimal:
    """Turn sums of powers of ``2 * m + 1`` into that of the last, moved by `shift`.

    This is the binomial theorem: all terms are positive.
    """
    order = len(sums) - 1
    total, power = Decimal(0), Decimal(1)
    for low in range(order, -1, -1):
        weight = near.multiply(Decimal(math.comb(order, low)), power)
        total = near.fma(weight, sums[low], total)
        power = near.multiply(power, shift)
    return total


@lru_cache(maxsize=64)
def _sums(order: int, scale: Fraction) -> tuple[Decimal, ...]:
    """``S_0(0)`` to ``S_order(0)``.

    Shifting the index by one gives ``(1 - a) * S_k = 1 + a * sum of comb(k, l) *
    2**(k - l) * S_l`` over l below k.
    """
    near = _arithmetic(scale, 0)
    ratio = _power(scale, 1, near)
    rest = near.subtract(1, ratio)
    sums: list[Decimal] = []
    for k in range(order + 1):
        total = Decimal(0)
        for low, known in enumerate(sums):
            weight = Decimal(math.comb(k, low) << (k - low))
            total = near.fma(weight, known, total)
        sums.append(near.divide(near.fma(ratio, total, Decimal(1)), rest))
    return tuple(sums)


def _gamma_tail(dimension: int, rate: Fraction, *, falling: bool) -> Decimal:
    """Chance that a Poisson count at `rate` is below `dimension`.

    If `falling`, a count i has the weight ``1 - i / dimension``.
    """
    near = context(DIGITS + len(str(int(rate))), ROUND_CEILING)
    mean = as_decimal(rate, near)
    term = near.exp(near.minus(mean))
    total = Decimal(0)
    for count in range(dimension):
        weight = dimension - count if falling else dimension
        total = near.fma(Decimal(weight), term, total)
        term = near.divide(near.multiply(term, mean), Decimal(count + 1))
    return min(near.divide(total, Decimal(dimension)), Decimal(1))


def _power(scale: Fraction, steps: int, arithmetic: Context) -> Decimal:
    rate = as_decimal(steps / scale, arithmetic)
    return arithmetic.exp(arithmetic.minus(rate))


def _arithmetic(scale: Fraction, limit: int) -> Context:
    """Decimals with room for what the scale and the limit cancel."""
    spare = len(str(int(scale))) + len(str(int(limit / scale)))
    return context(DIGITS + spare, ROUND_CEILING)
