"""Exact events of chance ``exp(-m / scale)``, for whole numbers m.

Such an event is the meeting of one of chance ``exp(-2**j / scale)`` for each binary
digit j of m that is 1. All of them are drawn for every m, and those that m does not
ask for are left out, so the work does not depend on m. From a place J on a single
digit makes the event rarer than 2**-64. It is one event above the places, as long
as it fails; should it happen, what it stands for is decided against decimals.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpframe.noise.bernoulli import Coins, places_of
from dpframe.noise.brackets import exponential, locate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpframe.noise.brackets import Bracket
    from dpframe.noise.protocol import Integers

_BYTE = 8
_HALF = np.uint64(32)
_MASK = np.uint64(2**32 - 1)


@lru_cache(maxsize=256)
def coins_of(scale: Fraction) -> Coins:
    """Coins for the places of m and, last, for the first digit above them."""
    count = places_of(scale)
    return Coins.of(
        partial(exponential, 2**place / scale) for place in range(count + 1)
    )


def survives(
    coins: Coins, scale: Fraction, octets: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Draw events of chance ``exp(-m / scale)`` in one block.

    Parameters
    ----------
    coins : Coins
        Those of `scale`.
    scale : Fraction
        Positive.
    octets : numpy.ndarray
        The numbers m, shape ``(size, length)``: bytes from the lowest on, and
        more of them than the places fill.

    Returns
    -------
    numpy.ndarray
        Shape ``(size,)``.
    """
    whole, rest = divmod(coins.count, _BYTE)
    fell = coins.throw(len(octets))
    rows = np.ascontiguousarray(octets[:, : whole + 1].T)
    asked = np.unpackbits(rows, axis=0, count=coins.count, bitorder="little")
    result = (fell[:-1] >= asked.view(np.bool_)).all(axis=0)
    above = octets[:, whole] >> np.uint8(rest) != 0
    above |= (octets[:, whole + 1 :] != 0).any(axis=1)
    result &= ~above | fell[-1]
    for index in np.flatnonzero(result & above).tolist():
        number = int.from_bytes(octets[index].tobytes(), "little") >> coins.count
        result[index] = _happens((number - 1 << coins.count) / scale)
    return result


def pairs(items: Integers, length: int) -> NDArray[np.uint8]:
    """Count pairs, ``n * (n - 1) / 2`` for each n from 1 on.

    Parameters
    ----------
    items : numpy.ndarray
        The numbers n, shape ``(size,)``: int64 or Python integers.
    length : int
        Bytes that Python integers fill at least. Public.

    Returns
    -------
    numpy.ndarray
        Bytes from the lowest on, shape ``(size, length)`` or wider; 16 of them
        for int64, since a square may pass 2**64.
    """
    if items.dtype == object:
        numbers = [n * (n - 1) // 2 for n in items.tolist()]
        length = max(length, -(-max(numbers).bit_length() // _BYTE))
        data = b"".join(number.to_bytes(length, "little") for number in numbers)
        return np.frombuffer(data, np.uint8).reshape(-1, length)
    n = items.astype(np.uint64)
    one = np.uint64(1)
    # One of n and n - 1 is even: half of it times the other one, in half words.
    half, odd = n >> one, (n - one) | one
    a, b = half >> _HALF, half & _MASK
    c, d = odd >> _HALF, odd & _MASK
    low = b * d
    middle = a * d + (low >> _HALF)
    cross = b * c + (middle & _MASK)
    product = np.empty((len(n), 2), dtype="<u8")
    product[:, 0] = (cross << _HALF) | (low & _MASK)
    product[:, 1] = a * c + (middle >> _HALF) + (cross >> _HALF)
    return product.view(np.uint8)


def _happens(exponent: Fraction) -> bool:
    def cuts(digits: int) -> Sequence[Bracket]:
        return (exponential(exponent, digits),)

    return locate(cuts) == 0
