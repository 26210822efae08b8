"""Exact decisions about real numbers, with as many random bits as they take.

A probability such as exp(-1/3) is never rounded. It is held between two
decimals, and a uniform fraction U is drawn bit by bit until it is known on which
side U falls; if the decimals are too wide to tell, finer ones are computed.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
)
from typing import TYPE_CHECKING, TypeAlias

from dpframe.noise.randomness import REPEATS, ROUNDS, failure, random_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    Bracket: TypeAlias = tuple[Decimal, Decimal]
    Cuts: TypeAlias = Callable[[int], Sequence[Bracket]]

DIGITS = 60
_MARGIN = 5  # digits given up to cover every rounding on the way
_NEVER = 10**9  # exp(-x) beyond it is only ever held below exp(-_NEVER)


def context(digits: int, rounding: str) -> Context:
    """Decimal arithmetic with an exponent range that nothing here leaves."""
    return Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[]
    )


def exponential(x: Fraction, digits: int) -> Bracket:
    """Decimals around exp(-x), x at least 0, about ``10**(5 - digits)`` apart."""
    if x == 0:
        return Decimal(1), Decimal(1)
    if x > _NEVER:
        return Decimal(0), exponential(x * 0 + _NEVER, digits)[1]
    precision = digits + _MARGIN + len(str(int(x)))
    down, up = context(precision, ROUND_FLOOR), context(precision, ROUND_CEILING)
    ratio = down.divide(Decimal(x.numerator), Decimal(x.denominator))
    value = down.exp(down.minus(ratio))
    slack = down.scaleb(value, _MARGIN - digits)
    return down.subtract(value, slack), up.add(value, slack)


def logistic(x: Fraction, digits: int) -> Bracket:
    """Decimals around ``1 / (1 + exp(x))``, x at least 0."""
    low, high = exponential(x, digits)
    down, up = context(digits, ROUND_FLOOR), context(digits, ROUND_CEILING)
    return (
        down.divide(low, up.add(low, 1)),
        up.divide(high, down.add(high, 1)),
    )


def floor_scaled(value: Decimal, bits: int) -> int:
    """Give the integer part of ``value * 2**bits``, or a little less."""
    down = context(DIGITS + bits, ROUND_FLOOR)
    return int(down.to_integral_value(down.multiply(value, Decimal(1 << bits))))


def ceil_scaled(value: Decimal, bits: int) -> int:
    """Give ``value * 2**bits`` rounded up to an integer, or a little more."""
    up = context(DIGITS + bits, ROUND_CEILING)
    return int(up.to_integral_value(up.multiply(value, Decimal(1 << bits))))


def locate(cuts: Cuts, *, fraction: int = 0, bits: int = 0) -> int:
    """Draw a uniform fraction U and count the cuts that it is not below.

    Parameters
    ----------
    cuts : callable
        From a number of digits to brackets of ascending numbers in [0, 1].
    fraction, bits : int
        The bits of U that are already drawn, as an integer, and their number.

    Returns
    -------
    int

    Raises
    ------
    RandomnessError
        If thousands of random bits do not decide.
    """
    for _ in range(ROUNDS):
        fraction = fraction << 64 | int.from_bytes(random_bytes(8))
        bits += 64
        # The decimals stay finer than U, so a bracket alone never keeps it open.
        digits = max(DIGITS, bits // 3 + 20)
        found = _position(cuts(digits), fraction, bits)
        if found is not None:
            return found
    raise failure(REPEATS)


def _position(brackets: Sequence[Bracket], fraction: int, bits: int) -> int | None:
    passed = bisect_right(
        brackets, fraction, key=lambda bracket: ceil_scaled(bracket[1], bits)
    )
    if passed == len(brackets):
        return passed
    decided = fraction < floor_scaled(brackets[passed][0], bits)
    return passed if decided else None
