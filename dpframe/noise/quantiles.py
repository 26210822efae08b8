"""Shared arithmetic of error bounds: decimals in, figures rounded up out."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from dpframe.errors import ParameterError
from dpframe.noise.brackets import DIGITS, context

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction


def as_decimal(number: Fraction, arithmetic: Context) -> Decimal:
    """Round a rational to the digits of `arithmetic`."""
    return arithmetic.divide(Decimal(number.numerator), Decimal(number.denominator))


def rounded_up(value: Decimal) -> float:
    """Give the least float that is not below `value`."""
    nearest = float(value)
    exact = Decimal.from_float(nearest)  # noqa: FURB164 - a context may trap the other
    return nearest if exact >= value else math.nextafter(nearest, math.inf)


def miss_per_cell(confidence: float, cells: int) -> Decimal:
    """``1 - confidence**(1 / cells)``, to some 60 digits and rounded down."""
    if not 0 <= confidence < 1:
        fact = f"confidence must be at least 0 and below 1; it is {confidence}."
        raise ParameterError(fact)
    if cells < 1:
        fact = f"cells must be at least 1; it is {cells}."
        raise ParameterError(fact)
    down = context(2 * DIGITS, ROUND_FLOOR)
    level = Decimal(str(confidence))
    if cells == 1 or not level:
        return down.subtract(1, level)
    root = down.exp(down.divide(down.ln(level), cells))
    return down.subtract(1, root)


def smallest(holds: Callable[[int], bool], *, start: int) -> int:
    """Find the least integer from 0 on at which a bound holds, and then always."""
    if holds(0):
        return 0
    high = max(1, start)
    low = 0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
