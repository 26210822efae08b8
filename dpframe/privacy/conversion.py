"""From zCDP to (epsilon, delta) and back, never on the side of too little loss.

A rho-zCDP release is (epsilon, delta)-DP for every order a > 1 with [1]_

    delta = exp((a - 1) * (a * rho - epsilon)) * (1 - 1 / a)**a / (a - 1)

Every order gives a true statement, so the search for a good one may be rough. What
is reported is computed at the order found, in decimals whose rounding is paid for.

References
----------
.. [1] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential
   Privacy, Prop. 12.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS: Final = 60
_NEAR: Final = Context(prec=_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
_SLACK: Final = Decimal(10) ** -45
"""More than all roundings of `_NEAR` together, relative to the largest term."""

_REPORTED: Final = 15
_WIDEST: Final = 745.0
"""Orders are searched between ``1 + exp(-_WIDEST)`` and ``1 + exp(_WIDEST)``."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=256)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    rho : Fraction
        Not negative.
    delta : Fraction
        In ``(0, 1)``.

    Returns
    -------
    Fraction
        At least 0, with 15 significant digits.

    Examples
    --------
    >>> float(epsilon_of(Fraction(1, 2), Fraction(1, 1000)))
    3.53656184616896
    """
    if rho == 0:
        return Fraction(0)
    size, chance = _log(rho), -float(_decimal_log(delta))

    def epsilon(order: float) -> float:
        return _exp(size) + _exp(size + order) + _penalty(order, chance)

    best = _minimum(epsilon)
    terms = [_decimal(rho), _NEAR.multiply(_decimal(rho), _decimal(best))]
    value = _total([*terms, *_penalty_terms(best, delta)], rounding=ROUND_CEILING)
    return max(value, Fraction(0))


@lru_cache(maxsize=256)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho that is (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : Fraction
        Positive.
    delta : Fraction
        In ``(0, 1)``.

    Returns
    -------
    Fraction
        With 15 significant digits.

    Examples
    --------
    >>> float(rho_within(Fraction(1), Fraction(1, 10**6)))
    0.0243559703595383
    """
    chance, wanted = -float(_decimal_log(delta)), _log(epsilon)

    def shortfall(order: float) -> float:
        room = _exp(wanted) - _penalty(order, chance)
        if room <= 0:
            return math.inf
        return max(order, 0.0) + math.log1p(_exp(-abs(order))) - math.log(room)

    best = _minimum(shortfall)
    terms = [_NEAR.minus(term) for term in _penalty_terms(best, delta)]
    room = _total([_decimal(epsilon), *terms], rounding=ROUND_FLOOR)
    return _rounded(max(room, Fraction(0)) / (1 + best), rounding=ROUND_FLOOR)


def _penalty(order: float, chance: float) -> float:
    """Return ``log(1 - 1/a) + (log(1/delta) - log(a)) / (a - 1)``, a = 1 + exp(order).

    Orders are searched by their logarithm, so that they reach far on both sides.
    """
    above = max(order, 0.0) + math.log1p(_exp(-abs(order)))  # log(a)
    return (order - above) + (chance - above) * _exp(-order)


def _penalty_terms(best: Fraction, delta: Fraction) -> list[Decimal]:
    """Return the same sum's terms in decimals, at the order ``1 + best``."""
    above = _decimal_log(1 + best)
    spread = _NEAR.divide(Decimal(1), _decimal(best))
    return [
        _decimal_log(best),
        _NEAR.minus(above),
        _NEAR.minus(_NEAR.multiply(_decimal_log(delta), spread)),
        _NEAR.minus(_NEAR.multiply(above, spread)),
    ]


def _minimum(function: Callable[[float], float]) -> Fraction:
    """Return ``a - 1`` of an order where a function of its logarithm is small."""
    coarse = [-_WIDEST + step for step in range(int(2 * _WIDEST) + 1)]
    middle = min(coarse, key=function)
    low, high = middle - 1, middle + 1
    for _ in range(60):
        width = _GOLDEN * (high - low)
        if function(high - width) < function(low + width):
            high = low + width
        else:
            low = high - width
    return Fraction(_exp((low + high) / 2))


def _total(terms: list[Decimal], *, rounding: str) -> Fraction:
    """Add up decimals, and give what their rounding may have cost."""
    total = Fraction(0)
    for term in terms:
        slack = Fraction(abs(term)) * Fraction(_SLACK) + Fraction(_SLACK)
        total += Fraction(term) + (slack if rounding == ROUND_CEILING else -slack)
    return _rounded(total, rounding=rounding)


def _rounded(number: Fraction, *, rounding: str) -> Fraction:
    context = Context(prec=_REPORTED, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Fraction(quotient)


def _decimal(number: Fraction) -> Decimal:
    return _NEAR.divide(Decimal(number.numerator), Decimal(number.denominator))


def _decimal_log(number: Fraction) -> Decimal:
    return _NEAR.subtract(
        _NEAR.ln(Decimal(number.numerator)), _NEAR.ln(Decimal(number.denominator))
    )


def _log(number: Fraction) -> float:
    return float(_decimal_log(number))


def _exp(power: float) -> float:
    return math.exp(min(max(power, -_WIDEST), 709.0))
