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
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    """Return a context in which nothing is left to the defaults of the process."""
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        clamp=0,
        flags=[],
        traps=traps,
    )


_DIGITS: Final = 60
_NEAR: Final = _context(_DIGITS)
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
    size, chance = _log(rho), -_log(delta)

    def roughly(order: float) -> float:
        return _exp(size) + _exp(size + order) + _penalty(order, chance)

    def terms(above: Decimal) -> list[Decimal]:
        steps = [_decimal(rho), _NEAR.multiply(_decimal(rho), above)]
        return [*steps, *_penalty_terms(above, delta)]

    best = _minimum(roughly, lambda above: reduce(_NEAR.add, terms(above)))
    return max(_total(terms(best), rounding=ROUND_CEILING), Fraction(0))


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
    wanted, chance = _log(epsilon), -_log(delta)

    def roughly(order: float) -> float:
        room = _exp(wanted) - _penalty(order, chance)
        return math.inf if room <= 0 else _log_order(order) - math.log(room)

    def terms(above: Decimal) -> list[Decimal]:
        penalties = (_NEAR.minus(term) for term in _penalty_terms(above, delta))
        return [_decimal(epsilon), *penalties]

    def shortfall(above: Decimal) -> Decimal:
        room = reduce(_NEAR.add, terms(above))
        return _NEAR.minus(_NEAR.divide(room, _NEAR.add(above, 1)))

    best = _minimum(roughly, shortfall)
    room = max(_total(terms(best), rounding=ROUND_FLOOR), Fraction(0))
    return _rounded(room / (1 + Fraction(best)), rounding=ROUND_FLOOR)


def _penalty(order: float, chance: float) -> float:
    """Return ``log(1 - 1/a) + (log(1/delta) - log(a)) / (a - 1)``, a = 1 + exp(order).

    Orders are searched by their logarithm, so that they reach far on both sides.
    """
    return order - _log_order(order) + (chance - _log_order(order)) * _exp(-order)


def _log_order(order: float) -> float:
    """Return ``log(a)`` for ``a = 1 + exp(order)``."""
    return max(order, 0.0) + math.log1p(_exp(-abs(order)))


def _penalty_terms(above: Decimal, delta: Fraction) -> list[Decimal]:
    """Return the terms of the same sum in decimals, for ``a = 1 + above``."""
    log_order = _decimal_log(1 + Fraction(above))
    return [
        _NEAR.ln(above),
        _NEAR.minus(log_order),
        _NEAR.minus(_NEAR.divide(_decimal_log(delta), above)),
        _NEAR.minus(_NEAR.divide(log_order, above)),
    ]


def _minimum(
    roughly: Callable[[float], float], exactly: Callable[[Decimal], Decimal]
) -> Decimal:
    """Return an ``a - 1`` where a function is small: found in floats, then refined."""

    def above(order: float) -> Decimal:
        return Decimal(repr(_exp(order)))  # of few digits

    def at(order: float) -> Decimal:
        return exactly(above(order))

    coarse = [-_WIDEST + step for step in range(int(2 * _WIDEST))]
    middle = min(coarse, key=roughly)
    low, high = max(middle - 1, -_WIDEST), min(middle + 1, 709.0)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    for _ in range(50):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = at(right)
    return above((low + high) / 2)


def _total(terms: Sequence[Decimal], *, rounding: str) -> Fraction:
    """Add up decimals, and give what their rounding may have cost."""
    total = Fraction(0)
    for term in terms:
        slack = abs(Fraction(term)) * Fraction(_SLACK) + Fraction(_SLACK)
        total += Fraction(term) + (slack if rounding == ROUND_CEILING else -slack)
    return _rounded(total, rounding=rounding)


def _rounded(number: Fraction, *, rounding: str) -> Fraction:
    quotient = _context(_REPORTED, rounding).divide(
        Decimal(number.numerator), Decimal(number.denominator)
    )
    return Fraction(quotient)


def _decimal(number: Fraction) -> Decimal:
    return _NEAR.divide(Decimal(number.numerator), Decimal(number.denominator))


def _decimal_log(number: Fraction) -> Decimal:
    """Return a logarithm whose digits all count, also near 1 where it is small."""
    lost = max(-_decimal(number - 1).adjusted(), 0)
    context = _context(_DIGITS + lost)
    ratio = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return _NEAR.plus(context.ln(ratio))


def _log(number: Fraction) -> float:
    return float(_decimal_log(number))


def _exp(power: float) -> float:
    return math.exp(min(max(power, -_WIDEST), 709.0))
