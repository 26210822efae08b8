"""Rows told apart by random low bits, so that none of them are tied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.noise.randomness import words

if TYPE_CHECKING:
    from dpframe.engines.ordered import Ordered

Array = np.ndarray[Any, np.dtype[Any]]

MOST_BITS: Final = 32
"""The most random bits that a row has."""

_CODE_BITS: Final = 64


class Spread:
    """An order of codes, each extended by random low bits of its own.

    A code c becomes ``c * 2**bits + low``, with a uniform `low` for each row. However
    many rows share a code, about equally many of them are at each of its ``2**bits``
    extended codes.

    Parameters
    ----------
    order : Ordered
        Private.
    bits : int
        Random bits for each row, 0 to 32. Public.

    Privacy
    -------
    Whatever is private about extended rows is equally private about the rows. The low
    bits of a row are drawn independently of all rows, its own among them. So give the
    rows that two neighbouring data sets share the same low bits: for every outcome of
    the draws the extended data sets are neighbours, by the same unit and the same
    weights. A release that is private for each of these pairs is private for the
    mixture over the draws. The low bits themselves are forgotten.
    """

    __slots__ = ("_bits", "_codes", "_lows", "_running")

    def __init__(self, order: Ordered, bits: int) -> None:
        self._bits = bits
        self._codes = order.codes
        self._running = order.running
        self._lows = np.zeros(len(order.codes), dtype=np.uint32)
        if bits:
            self._spread(order)

    def _spread(self, order: Ordered) -> None:
        drawn = words(len(order.codes), np.uint64) >> np.uint64(_CODE_BITS - self._bits)
        places = np.lexsort((drawn, order.codes))  # the codes are in order already
        self._lows = drawn[places].astype(np.uint32)
        if order.running is not None:
            weights = np.diff(order.running)[places]
            self._running = np.concatenate([order.running[:1], np.cumsum(weights)])

    @property
    def bits(self) -> int:
        """Random bits for each row."""
        return self._bits

    def below(self, extended: int) -> int:
        """Return what the rows weigh whose extended code is less than this."""
        code, low = extended >> self._bits, extended & ((1 << self._bits) - 1)
        place = len(self._codes)
        if code < 1 << _CODE_BITS:
            key = np.uint64(code)
            first = int(np.searchsorted(self._codes, key, side="left"))
            last = int(np.searchsorted(self._codes, key, side="right"))
            place = first + int(np.searchsorted(self._lows[first:last], np.uint32(low)))
        return place if self._running is None else int(self._running[place])
