"""Exact choices with probabilities made of exponentials.

No float and no rejection: a uniform fraction is drawn as far as it takes to see
between which cumulative shares it falls. Nothing is kept from one call to the
next, since weights may come from private rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dpframe.errors import ParameterError
from dpframe.noise.brackets import context, locate
from dpframe.noise.powers import Powers

if TYPE_CHECKING:
    from dpframe.noise.brackets import Bracket, Cuts

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 1 << 14  # weights that are held at once: millions of them would fill memory
_GUARD = 24  # bits given up to what the powers lack


def choose(weights: Sequence[tuple[int, Fraction]]) -> int:
    """Choose an index with probability proportional to its weight.

    Parameters
    ----------
    weights : sequence of (int, Fraction)
        Pairs (v, r), each of the weight ``v * exp(-r)``; v at least 0, and
        positive somewhere.

    Returns
    -------
    int

    Raises
    ------
    RandomnessError
        If the operating system gives no usable random bytes.

    References
    ----------
    .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy.
    """
    return locate(cumulative(weights))


def cumulative(weights: Sequence[tuple[int, Fraction]]) -> Cuts:
    """Cumulative shares of all weights but the last, to any number of digits.

    Parameters
    ----------
    weights : sequence of (int, Fraction)
        As in `choose`.

    Returns
    -------
    callable
        From a number of digits to brackets, in the order of `weights`; what it
        has computed it keeps, so hold on to it for public weights alone.
    """
    factors = np.array([factor for factor, _ in weights], dtype=object)
    if not any(factors) or min(factors) < 0:
        fact = "A choice needs weights of at least 0, and one above it."
        raise ParameterError(fact)
    lightest = min(rate for factor, rate in weights if factor)
    rates = [max(rate - lightest, Fraction(0)) for _, rate in weights]
    common = lcm(*(rate.denominator for rate in rates))
    whole = [int(rate * common) for rate in rates]
    unit = gcd(*whole) or 1
    steps = np.array([number // unit for number in whole], dtype=object)

    @lru_cache(maxsize=4)
    def cuts(digits: int) -> Sequence[Bracket]:
        return [*Shares(factors, steps, Fraction(unit, common), digits=digits)]

    return cuts


class Shares(Sequence["Bracket"]):
    """Cumulative shares of the weights ``factor * exp(-rate * step)``, bracketed.

    A share is divided out when it is asked for: a search among many asks for few.

    Parameters
    ----------
    factors, steps : array of int
        Whole numbers of at least 0, of any size; a positive factor has step 0.
    rate : Fraction
        Positive.
    digits : int
        How fine the brackets are: about ``10**-digits``.
    hidden, beyond : int
        The weights of 0 stand in for further factors, `hidden` in all, whose steps
        are only known to be at least `beyond`. Brackets allow for them.
    """

    def __init__(
        self,
        factors: Array,
        steps: Array,
        rate: Fraction,
        *,
        digits: int,
        hidden: int = 0,
        beyond: int = 0,
    ) -> None:
        self._factors, self._steps = factors, steps
        size = int(factors.sum())
        bits = digits * 10 // 3 + (size + hidden).bit_length() + _GUARD
        largest = max(int(steps.max()), beyond)
        self._powers = Powers.of(rate, largest=largest, bits=bits)
        self._spread = size * self._powers.slack
        if hidden:
            self._spread += hidden * self._powers.above(beyond)
        self._down = context(digits + _GUARD, ROUND_FLOOR)
        self._up = context(digits + _GUARD, ROUND_CEILING)
        self._before = [0]
        for block in range(-(-len(factors) // _BLOCK)):
            self._held = block, self._add_up(block)
            self._before.append(self._held[1][-1])
        # Bits below the digits asked for only make a division slow.
        self._idle = max(0, self._before[-1].bit_length() - digits * 10 // 3 - _GUARD)

    def __len__(self) -> int:
        return len(self._factors) - 1

    @overload
    def __getitem__(self, index: int) -> Bracket: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Bracket]: ...
    def __getitem__(self, index: int | slice) -> Bracket | Sequence[Bracket]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._share(place) for place in places]
        return self._share(places)

    def _share(self, place: int) -> Bracket:
        block, rest = divmod(place, _BLOCK)
        if self._held[0] != block:
            self._held = block, self._add_up(block)
        part, whole = self._ends(self._held[1][rest]), self._ends(self._before[-1])
        return (
            self._down.divide(part[0], whole[1]),
            self._up.divide(part[1], whole[0]),
        )

    def _ends(self, least: int) -> Bracket:
        """Bracket a sum that may be `least` or up to the spread more."""
        most = least + self._spread
        return Decimal(least >> self._idle), Decimal(-(-most >> self._idle))

    def _add_up(self, block: int) -> list[int]:
        """Add up the weights before and up to each one of a block, from below."""
        here = slice(block * _BLOCK, (block + 1) * _BLOCK)
        factors = self._factors[here].astype(object)
        masses = factors * self._powers.at(self._steps[here])
        masses[0] += self._before[block]
        return np.add.accumulate(masses).tolist()
