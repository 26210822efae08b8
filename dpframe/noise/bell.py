"""Public figures of discrete Gaussian noise: variance, tails and error bounds.

All of them are sums of ``f(k) = exp(-k**2 / (2 * sigma2))``. Where few terms matter
they are added up. Where many do, f is smooth, and the Euler-Maclaurin formula turns
the sum into the normal integral and a few derivatives. Either way a sum is right to
more than 60 digits, and then widened by one unit of the 60th.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpframe.noise.brackets import DIGITS, context
from dpframe.noise.quantiles import as_decimal, rounded_up

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPARE = 40  # digits for squares, subtractions and rounding
_SLACK = Decimal((0, (1,), -DIGITS))
_FINE = Decimal((0, (1,), -DIGITS - 15))
_SMOOTH = 256  # sigma2 from which on f is smooth
_STEEP = 4  # f falls fast, and few terms matter, beyond sigma2 / 4
_FAR = 10**6  # exponents beyond it are held at it: no float is that small
_NEAR = 8  # sigmas up to which the normal integral is a Taylor series
_DERIVATIVES = 30  # pairs of them: the next one is below 10**-80 of the sum


def variance(sigma2: Fraction) -> Decimal:
    """Variance of one value, in squared grid units."""
    with localcontext(_arithmetic(sigma2)) as near:
        largest = as_decimal(sigma2, near)
        if sigma2 >= _SMOOTH:
            # By Poisson summation, less by no more than exp(-5000) of it.
            return largest
        if 2 * _FAR * sigma2 < 1:
            return Decimal(1 - _FAR).exp()
        terms = list(_terms(sigma2, 1))
        squares = sum(
            (number * number * term for number, term in enumerate(terms, start=1)),
            start=Decimal(0),
        )
        told = 2 * squares / (1 + 2 * sum(terms, start=Decimal(0)))
        return min(told * (1 + _SLACK), largest)


def tail(sigma2: Fraction, limit: int) -> Decimal:
    """Probability that one value exceeds `limit` in size; never too low."""
    if limit < 0:
        return Decimal(1)
    with localcontext(_arithmetic(sigma2)):
        start = limit + 1
        if start * start > 2 * _FAR * sigma2:
            # P(|z| >= k) is at most 2 * exp(-k**2 / (2 * sigma2)).
            return Decimal(1 - _FAR).exp()
        share = 2 * _sum_from(sigma2, start) / _total(sigma2)
        return min(share * (1 + _SLACK), Decimal(1))


def bound(sigma2: Fraction, miss: Decimal) -> int:
    """Find the least k that one value exceeds in size with chance `miss` at most.

    It starts at the normal quantile. The tail is convex, so Newton steps on it come
    close from below; the last word has the tail itself.
    """
    with localcontext(_arithmetic(sigma2)) as near:
        square = as_decimal(sigma2, near)
        quantile = NormalDist().inv_cdf(rounded_up(miss / 2))
        found = max(0, int(-Decimal(quantile) * square.sqrt()))
        while True:
            excess = tail(sigma2, found) - miss
            slope = 2 * (-Decimal(found * found) / (2 * square)).exp() / _total(sigma2)
            step = int(excess / slope)
            if -1 <= step <= 1:
                break
            found = max(0, found + step)
        while found and tail(sigma2, found - 1) <= miss:
            found -= 1
        while tail(sigma2, found) > miss:
            found += 1
        return found


def _sum_from(sigma2: Fraction, start: int) -> Decimal:
    """Sum of f(k) over k from `start` on; call it inside a local context."""
    if sigma2 < _SMOOTH or start * _STEEP > sigma2:
        return sum(_terms(sigma2, start), start=Decimal(0))
    square = _decimal(sigma2)
    sigma = square.sqrt()
    place = start / sigma
    # Derivatives of f, over f: Hermite polynomials over powers of sigma.
    total = sigma * _mills(place) + Decimal(1) / 2
    before, here = Decimal(1), start / square
    for number, weight in enumerate(_weights()):
        total += here * weight.numerator / weight.denominator
        for order in (2 * number + 1, 2 * number + 2):
            before, here = here, (start * here - order * before) / square
    return total * (-(place * place) / 2).exp()


@lru_cache(maxsize=256)
def _total(sigma2: Fraction) -> Decimal:
    """Sum of f(k) over all k; call it inside the context of sigma2.

    Where f is smooth, Poisson summation leaves out less than exp(-5000) of it.
    """
    if sigma2 < _SMOOTH:
        return 1 + 2 * sum(_terms(sigma2, 1), start=Decimal(0))
    return 2 * _decimal(sigma2).sqrt() * _half_normal()


def _terms(sigma2: Fraction, start: int) -> Iterator[Decimal]:
    """f(k) for k from `start` on, until the others do not matter."""
    rate = 1 / (2 * sigma2)
    term = first = (-_decimal(start * start * rate)).exp()
    ratio = (-_decimal((2 * start + 1) * rate)).exp()
    fall = (-_decimal(2 * rate)).exp()
    least = first * _SLACK * _SLACK
    while term > least:
        yield term
        term *= ratio
        ratio *= fall


def _mills(place: Decimal) -> Decimal:
    """Mills ratio: the normal integral from `place` on, over the density there."""
    if place < _NEAR:
        return (place * place / 2).exp() * _half_normal() - _below(place)
    return _beyond(place)


def _half_normal() -> Decimal:
    """Integral of ``exp(-x**2 / 2)`` from 0 on."""
    return _half_normal_to(getcontext().prec)


@lru_cache(maxsize=64)
def _half_normal_to(digits: int) -> Decimal:
    with localcontext(context(digits, ROUND_HALF_EVEN)):
        place = Decimal(_NEAR)
        return (_below(place) + _beyond(place)) * (-place * place / 2).exp()


def _below(place: Decimal) -> Decimal:
    """Sum Taylor's series: the normal integral from 0 on, over the density."""
    square, number = place * place, 1
    total = term = place
    least = term.scaleb(-getcontext().prec)
    while term > least:
        number += 2
        term = term * square / number
        total += term
    return total


def _beyond(place: Decimal) -> Decimal:
    """Follow Laplace's continued fraction of the Mills ratio until it is known.

    Its convergents lie on both sides, ``number! / (under * under_before)`` apart.
    """
    over_before, over = Decimal(0), Decimal(1)
    under_before, under = Decimal(1), place
    gap, number = Decimal(1), 0
    while gap > _FINE * over * under_before:
        number += 1
        gap *= number
        over_before, over = over, place * over + number * over_before
        under_before, under = under, place * under + number * under_before
    return over / under


@lru_cache(maxsize=1)
def _weights() -> tuple[Fraction, ...]:
    """Bernoulli numbers ``B_n / n!`` for even n from 2 on.

    They are the coefficients of ``x / (exp(x) - 1)``.
    """
    weights = [Fraction(1)]
    for order in range(1, 2 * _DERIVATIVES + 1):
        parts = [
            weight / math.factorial(order + 1 - place)
            for place, weight in enumerate(weights)
        ]
        weights.append(-sum(parts, start=Fraction(0)))
    return tuple(weights[2::2])


def _decimal(number: Fraction) -> Decimal:
    return as_decimal(number, getcontext())


def _arithmetic(sigma2: Fraction) -> Context:
    spare = len(str(int(sigma2))) + len(str(int(1 / sigma2)))
    return context(DIGITS + _SPARE + spare, ROUND_HALF_EVEN)
