"""Exact geometric variables, drawn digit by digit.

If P(G = g) is proportional to exp(-g / t), the binary digits of G are
independent, and digit j is 1 with probability ``1 / (1 + exp(2**j / t))``. Every
digit below the J-th is drawn on its own; all that lies above them is one event of
chance below 2**-64, itself drawn exactly, so the law is not truncated.

A digit compares 16 random bits with the first 16 bits of its probability. Only
equality leaves it open; then 64 more bits are compared in the same way, and what
is still open after them is decided against decimal brackets. The work does not
depend on the value drawn, except in such a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpframe.noise.brackets import (
    DIGITS,
    ceil_scaled,
    exponential,
    floor_scaled,
    locate,
    logistic,
)
from dpframe.noise.randomness import REPEATS, ROUNDS, failure, words

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpframe.noise.brackets import Bracket, Cuts
    from dpframe.noise.protocol import Integers

_WORD = 16
_REST = 64
_WIDE = 63  # digits that an int64 holds
_BLOCK = 1 << 19  # random words at a time: they stay in the processor's cache
_TOP = 45  # exp(-45) < 2**-64


@dataclass(frozen=True, kw_only=True)
class Digits:
    """The digits of a geometric variable and, last, the event above them.

    For a word equal to ``first``, the next 64 bits decide for 1 if they are below
    ``sure`` and for 0 if they are above ``open``.
    """

    cuts: tuple[Cuts, ...]
    first: NDArray[np.uint16]
    sure: NDArray[np.uint64]
    open: NDArray[np.uint64]

    @property
    def count(self) -> int:
        """How many digits are drawn one by one."""
        return len(self.cuts) - 1

    @property
    def block(self) -> int:
        """How many variables to draw at a time."""
        return max(1, _BLOCK // len(self.cuts))

    @property
    def wide(self) -> bool:
        """Whether the digits need Python integers."""
        return self.count > _WIDE


@lru_cache(maxsize=256)
def digits_of(scale: Fraction) -> Digits:
    """Thresholds of all digits for the ratio ``exp(-1 / scale)``."""
    count = max(0, (-(-_TOP * scale.numerator // scale.denominator) - 1).bit_length())
    laws = [partial(logistic, 2**place / scale) for place in range(count)]
    laws.append(partial(exponential, 2**count / scale))
    cuts = tuple(_cut(law) for law in laws)
    rows = [_thresholds(cut) for cut in cuts]
    return Digits(
        cuts=cuts,
        first=np.array([row[0] for row in rows], dtype=np.uint16)[:, np.newaxis],
        sure=np.array([row[1] for row in rows], dtype=np.uint64),
        open=np.array([row[2] for row in rows], dtype=np.uint64),
    )


def geometric(digits: Digits, size: int) -> Integers:
    """Draw `size` independent geometric integers in one block.

    Returns
    -------
    numpy.ndarray
        Shape ``(size,)``: int64, or Python integers if the digits (or, with
        chance below 2**-64, an event above them) do not fit.
    """
    drawn = words(len(digits.cuts) * size, np.uint16).reshape(-1, size)
    bits = drawn < digits.first
    ties = np.flatnonzero(drawn == digits.first)
    if ties.size:
        bits.reshape(-1)[ties] = _settle(digits, ties // size)
    numbers = _assemble(bits[:-1], wide=digits.wide)
    above = np.flatnonzero(bits[-1])
    return _raise_above(digits, numbers, above) if above.size else numbers


def _cut(law: partial[Bracket]) -> Cuts:
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
        digits *= 2  # ends: no such probability is rational
    bits = _WORD + _REST
    sure = floor_scaled(low, bits) - (first << _REST)
    last = ceil_scaled(high, bits) - 1 - (first << _REST)
    return first, sure, last


def _settle(digits: Digits, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Decide digits whose first word is that of their probability."""
    rest = words(len(places), np.uint64)
    result = rest < digits.sure[places]
    undecided = ~result & (rest <= digits.open[places])
    for index in np.flatnonzero(undecided).tolist():
        place = int(places[index])
        fraction = int(digits.first[place, 0]) << _REST | int(rest[index])
        cut = digits.cuts[place]
        result[index] = locate(cut, fraction=fraction, bits=_WORD + _REST) == 0
    return result


def _assemble(bits: NDArray[np.bool_], *, wide: bool) -> Integers:
    """Integers from their binary digits, one row per place."""
    count, size = bits.shape
    rows = bits.view(np.uint8)
    length = -(-count // 8) if wide else 8
    columns = np.zeros((size, length), dtype=np.uint8)
    octet = np.empty(size, dtype=np.uint8)
    for low in range(0, count, 8):
        high = min(low + 8, count)
        octet[:] = rows[high - 1]
        for row in rows[low : high - 1][::-1]:
            np.add(octet, octet, out=octet)
            np.bitwise_or(octet, row, out=octet)
        columns[:, low // 8] = octet
    if not wide:
        return columns.view("<i8")[:, 0].astype(np.int64, copy=False)
    data = columns.tobytes()
    numbers = np.empty(size, dtype=object)
    for index in range(size):
        octets = data[index * length : (index + 1) * length]
        numbers[index] = int.from_bytes(octets, "little")
    return numbers


def _raise_above(
    digits: Digits, numbers: Integers, above: NDArray[np.intp]
) -> Integers:
    """Add the event above the last digit to the numbers that it happened to."""
    raised = numbers.astype(object)
    step, last = 1 << digits.count, len(digits.cuts) - 1
    for _ in range(ROUNDS):
        raised[above] += step
        drawn = words(len(above), np.uint16)
        again = drawn < digits.first[last, 0]
        ties = np.flatnonzero(drawn == digits.first[last, 0])
        again[ties] = _settle(digits, np.full(len(ties), last))
        above = above[again]
        if not above.size:
            fits = max(raised) >> _WIDE - 1 == 0
            return raised.astype(np.int64) if fits else raised
    raise failure(REPEATS)
