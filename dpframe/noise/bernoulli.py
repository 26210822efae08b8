"""Exact coins: many independent events of known chance, decided side by side.

A coin compares 16 random bits with the first 16 bits of its chance. Only equality
leaves it open; then 64 more bits are compared in the same way, and what is still
open after them is decided against decimal brackets. The work does not depend on
how a coin falls, except in such a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from dpframe.noise.brackets import DIGITS, ceil_scaled, floor_scaled, locate
from dpframe.noise.randomness import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpframe.noise.brackets import Bracket, Cuts

_WORD = 16
_REST = 64
_BLOCK = 1 << 19  # random words at a time: they stay in the processor's cache
_TOP = 45  # exp(-45) < 2**-64


@dataclass(frozen=True, kw_only=True)
class Coins:
    """One coin for each place of a binary number and, last, one for all above.

    For a word equal to ``first``, the next 64 bits decide for 1 if they are below
    ``sure`` and for 0 if they are above ``open``.
    """

    cuts: tuple[Cuts, ...]
    first: NDArray[np.uint16]
    sure: NDArray[np.uint64]
    open: NDArray[np.uint64]

    @classmethod
    def of(cls, laws: Iterable[Callable[[int], Bracket]]) -> Self:
        """Thresholds of chances, each a function from digits to a bracket.

        Every chance is irrational, so that fine enough digits tell it apart from
        each threshold.
        """
        cuts = tuple(_cut(law) for law in laws)
        rows = [_thresholds(cut) for cut in cuts]
        return cls(
            cuts=cuts,
            first=np.array([row[0] for row in rows], dtype=np.uint16)[:, np.newaxis],
            sure=np.array([row[1] for row in rows], dtype=np.uint64),
            open=np.array([row[2] for row in rows], dtype=np.uint64),
        )

    @property
    def count(self) -> int:
        """How many places have a coin of their own."""
        return len(self.cuts) - 1

    @property
    def block(self) -> int:
        """How many times to throw all coins at once."""
        return max(1, _BLOCK // len(self.cuts))

    def throw(self, size: int) -> NDArray[np.bool_]:
        """Throw every coin `size` times, shape ``(count + 1, size)``."""
        drawn = words(len(self.cuts) * size, np.uint16).reshape(-1, size)
        fell = drawn < self.first
        ties = np.flatnonzero(drawn == self.first)
        if ties.size:
            fell.reshape(-1)[ties] = self._settle(ties // size)
        return fell

    def throw_last(self, size: int) -> NDArray[np.bool_]:
        """Throw the last coin alone, `size` times."""
        drawn = words(size, np.uint16)
        fell = drawn < self.first[-1, 0]
        ties = np.flatnonzero(drawn == self.first[-1, 0])
        fell[ties] = self._settle(np.full(len(ties), self.count))
        return fell

    def _settle(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Decide coins whose first word is that of their chance."""
        rest = words(len(places), np.uint64)
        result = rest < self.sure[places]
        undecided = ~result & (rest <= self.open[places])
        for index in np.flatnonzero(undecided).tolist():
            place = int(places[index])
            fraction = int(self.first[place, 0]) << _REST | int(rest[index])
            cut = self.cuts[place]
            result[index] = locate(cut, fraction=fraction, bits=_WORD + _REST) == 0
        return result


def places_of(scale: Fraction) -> int:
    """Count the places j with ``2**j < 45 * scale``.

    From there on ``exp(-2**j / scale)`` is below 2**-64.
    """
    return max(0, (-(-_TOP * scale.numerator // scale.denominator) - 1).bit_length())


def _cut(law: Callable[[int], Bracket]) -> Cuts:
    @lru_cache(maxsize=4)
    def cuts(digits: int) -> tuple[Bracket]:
        return (law(digits),)

    return cuts


def _thresholds(cut: Cuts) -> tuple[int, int, int]:
    digits = DIGITS
    while True:
        ((low, high),) = cut(digits)
        first = floor_scaled(low, _WORD)
        if ceil_scaled(high, _WORD) == first + 1:
            break
        digits *= 2  # ends: no such chance is rational
    bits = _WORD + _REST
    sure = floor_scaled(low, bits) - (first << _REST)
    last = ceil_scaled(high, bits) - 1 - (first << _REST)
    return first, sure, last
