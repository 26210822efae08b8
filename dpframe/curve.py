"""One order for several grids: their codes' bits, taken in turn.

Halving a range of such codes halves a box along one axis, and along the axes in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]

MOST_BITS: Final = 64


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A space-filling order of the cells of some grids (a Z-order).

    Attributes
    ----------
    sizes : tuple of int
        How many points each grid has. One grid keeps its own codes. Bits beyond 64 in
        all are left out, the lowest of each axis first.
    """

    sizes: tuple[int, ...]

    @property
    def depth(self) -> int:
        """How many bits a code has."""
        return len(self._places)

    @cached_property
    def _places(self) -> tuple[tuple[int, int], ...]:
        """The axis and the place of each bit, the most significant first."""
        widths = [max(size - 1, 0).bit_length() for size in self.sizes]
        places: list[tuple[int, int]] = []
        for step in range(max(widths)):
            for axis, width in enumerate(widths):
                if step < width:
                    places.append((axis, width - 1 - step))
        return tuple(places[:MOST_BITS])

    def codes(self, axes: Sequence[Array]) -> Array:
        """Return the codes, as uint64, of cells whose codes on each grid are given."""
        if len(axes) == 1:
            return axes[0].astype(np.uint64, copy=False)
        found = np.zeros(len(axes[0]), dtype=np.uint64)
        for axis, tables in zip(axes, self._tables, strict=True):
            rest = axis.astype(np.uint64, copy=False)
            for place, table in enumerate(tables):
                byte = (rest >> np.uint64(8 * place)) & np.uint64(255)
                found |= table[byte.astype(np.intp)]
        return found

    @cached_property
    def _tables(self) -> list[list[Array]]:
        """For each axis and each byte of its codes, where the bits of a byte go."""
        found: list[list[Array]] = []
        for axis, size in enumerate(self.sizes):
            bits = max(size - 1, 0).bit_length()
            tables = [np.zeros(256, dtype=np.uint64) for _ in range(-(-bits // 8))]
            for place, (where, bit) in enumerate(reversed(self._places)):
                if where == axis:
                    set_bit = np.arange(256) >> (bit % 8) & 1
                    tables[bit // 8] |= set_bit.astype(np.uint64) << np.uint64(place)
            found.append(tables)
        return found

    def boxes(self, starts: Array, free: Array) -> tuple[Array, Array]:
        """Return the first and the last cell, on each grid, of ranges of codes.

        Parameters
        ----------
        starts : array of uint64
            Where each range begins.
        free : array of int
            How many low bits run free in it: it holds ``2**free`` codes.

        Returns
        -------
        first, last : arrays of uint64
            Shape ``(ranges, grids)``; a last cell may lie beyond its grid.
        """
        first = np.zeros((len(starts), len(self.sizes)), dtype=np.uint64)
        last = np.zeros_like(first)
        for place, (axis, bit) in enumerate(reversed(self._places)):
            one = (starts >> np.uint64(place)) & _ONE
            first[:, axis] |= one << np.uint64(bit)
            either = np.where(place < free, _ONE, one)
            last[:, axis] |= either << np.uint64(bit)
        for axis, size in enumerate(self.sizes):
            kept = [bit for where, bit in self._places if where == axis]
            dropped = min(kept, default=max(size - 1, 0).bit_length())
            last[:, axis] |= np.uint64((1 << dropped) - 1)
        return first, last


_ONE: Final = np.uint64(1)
