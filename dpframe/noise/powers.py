"""Whole powers of exp(-rate), many at a time, as integers that lie just below them.

A power is a product of one entry per base-256 digit of its exponent, so that an
exponential is computed once for a digit's place and never for a power.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpframe.noise.brackets import ceil_scaled, exponential, floor_scaled

if TYPE_CHECKING:
    from fractions import Fraction

Array = np.ndarray[Any, np.dtype[Any]]

_PLACE = 8  # bits of an exponent that one table answers for
_LAST = (1 << _PLACE) - 1


@dataclass(frozen=True, kw_only=True)
class Powers:
    """Powers ``exp(-rate * step)`` for whole steps from 0 to a largest one.

    Attributes
    ----------
    bits : int
        A power p is held as an integer just below ``p * 2**bits``.
    slack : int
        No integer is lower than that by more than this.
    """

    bits: int
    slack: int
    tables: tuple[Array, ...]

    @classmethod
    def of(cls, rate: Fraction, *, largest: int, bits: int) -> Self:
        """Fill the tables for steps up to `largest`."""
        tables: list[Array] = []
        slack = 0
        while True:
            place = len(tables) * _PLACE
            entries = min(largest >> place, _LAST)
            table, loss = _table(rate * (1 << place), entries, bits)
            tables.append(table)
            # A product of two powers loses what both lack, and less than 1 more.
            slack += loss + 1
            if largest >> place <= _LAST:
                return cls(bits=bits, slack=slack, tables=tuple(tables))

    def at(self, steps: Array) -> Array:
        """Give the powers of many steps, int64 or Python integers."""
        powers = self._factors(0, steps)
        for place in range(1, len(self.tables)):
            powers = powers * self._factors(place, steps) >> self.bits
        return powers

    def above(self, step: int) -> int:
        """Give an integer that is not below one power."""
        return int(self.at(np.array([step], dtype=object))[0]) + self.slack

    def _factors(self, place: int, steps: Array) -> Array:
        digits = (steps >> place * _PLACE) & _LAST
        return self.tables[place][digits.astype(np.intp)]


def _table(rate: Fraction, last: int, bits: int) -> tuple[Array, int]:
    """Powers 0 to `last`, and the most that any of them lacks."""
    low, high = exponential(rate, bits * 31 // 100 + 10)
    base = floor_scaled(low, bits)
    loss = ceil_scaled(high, bits) - base
    table = np.empty(last + 1, dtype=object)
    power = table[0] = 1 << bits
    for step in range(1, last + 1):
        power = table[step] = power * base >> bits
    return table, last * (loss + 1)
