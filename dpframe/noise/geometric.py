"""Exact geometric variables, drawn digit by digit.

If P(G = g) is proportional to exp(-g / t), the binary digits of G are
independent, and digit j is 1 with probability ``1 / (1 + exp(2**j / t))``. Every
digit below the J-th is a coin of its own; all that lies above them is one event of
chance below 2**-64, itself an exact coin, so the law is not truncated.

The work does not depend on the value drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpframe.noise.bernoulli import Coins, places_of
from dpframe.noise.brackets import exponential, logistic
from dpframe.noise.randomness import REPEATS, ROUNDS, failure

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpframe.noise.protocol import Integers

_WIDE = 63  # digits that an int64 holds


@dataclass(frozen=True, kw_only=True)
class Digits(Coins):
    """The digits of a geometric variable and, last, the event above them."""

    @property
    def wide(self) -> bool:
        """Whether the digits need Python integers."""
        return self.count > _WIDE


@lru_cache(maxsize=256)
def digits_of(scale: Fraction) -> Digits:
    """Thresholds of all digits for the ratio ``exp(-1 / scale)``."""
    count = places_of(scale)
    laws = [partial(logistic, 2**place / scale) for place in range(count)]
    return Digits.of([*laws, partial(exponential, 2**count / scale)])


def geometric(digits: Digits, size: int) -> Integers:
    """Draw `size` independent geometric integers in one block.

    Returns
    -------
    numpy.ndarray
        Shape ``(size,)``: int64, or Python integers if the digits (or, with
        chance below 2**-64, an event above them) do not fit.
    """
    bits = digits.throw(size)
    numbers = _assemble(bits[:-1], wide=digits.wide)
    above = np.flatnonzero(bits[-1])
    return _raise_above(digits, numbers, above) if above.size else numbers


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
    for _ in range(ROUNDS):
        raised[above] += 1 << digits.count
        above = above[digits.throw_last(len(above))]
        if not above.size:
            fits = max(raised) >> _WIDE - 1 == 0
            return raised.astype(np.int64) if fits else raised
    raise failure(REPEATS)
