"""Rows binned along directions, in whole numbers: exact at the speed of BLAS.

An inner product of whole numbers whose parts stay below 2^53 is the same in any order,
so the matrix product of a block of rows cannot move one of them. Nor can it if all are
divided by a power of two first: bins are one long then.

Counting takes longer than multiplying. So the bins of a few directions become one
code, and codes are counted; they are as many as a cache holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.products import product
from dpframe.tally import COARSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.slices import Slices

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK: Final = 1 << 18
"""Products that are held at once."""

_ROWS: Final = 1 << 13  # in a block
_CODES: Final = 1 << 13  # of directions that are counted together


class Binned:
    """Counts of all bins of all directions, added up batch by batch.

    Parameters
    ----------
    slices : Slices
    """

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._together = _together(slices.bins, slices.labels)
        size, width = slices.directions.shape
        groups = -(-size // self._together)
        # Directions fill the last group up that are none: all rows are in bin 0.
        self._planes: Array = np.zeros((groups * self._together, width + 1))
        self._planes[:size, :-1] = slices.directions
        self._planes[:size, -1] = slices.offsets
        self._planes *= 2.0**-slices.shift  # exact
        self._codes = slices.labels * slices.bins**self._together
        self._counts: Array = np.zeros((groups, self._codes), dtype=np.int64)

    def add(
        self,
        rows: int,
        codes: Array | None,
        values: Sequence[Array],
        weights: Array | None,
    ) -> None:
        """Add a batch of rows: whole numbers by column, labels and weights.

        `weights` are whole numbers up to 2^16, and None where all weigh 1.
        """
        block = min(_ROWS, _BLOCK)
        for start in range(0, rows, block):
            part = slice(start, start + block)
            y = [np.asarray(value[part], dtype=np.float64) for value in values]
            if self._slices.lifted:
                y.append(_lift(np.stack(y)))
            self._add(
                np.stack([*y, np.ones_like(y[0])]),
                None if codes is None else codes[part].astype(np.int32),
                None if weights is None else weights[part].astype(np.float64),
            )

    def total(self) -> Array:
        """Return the counts, shape ``(cells, 1)``: by label, direction and bin."""
        labels, size, bins = self._slices.shape
        groups, together = len(self._counts), self._together
        found = np.empty((labels, groups, together, bins), dtype=np.int64)
        for place in range(together):
            shape = (groups, labels, bins**place, bins, -1)
            each = self._counts.reshape(shape).sum(axis=(2, 4))
            found[:, :, place] = each.transpose(1, 0, 2)
        return found.reshape(labels, -1, bins)[:, :size].reshape(-1, 1)

    def _add(self, y: Array, labels: Array | None, weights: Array | None) -> None:
        bins, together, rows = self._slices.bins, self._together, y.shape[1]
        step = together * max(1, _BLOCK // (rows * together))
        for start in range(0, len(self._planes), step):
            places = product(self._planes[start : start + step], y)
            np.clip(places, 0, bins - 1, out=places)
            cells = places.astype(np.int32).reshape(-1, together, rows)
            joint = cells[:, 0]
            if labels is not None:
                joint += labels * np.int32(bins)
            for place in range(1, together):
                joint *= np.int32(bins)
                joint += cells[:, place]
            for group, codes in enumerate(joint, start=start // together):
                found = np.bincount(codes, weights=weights, minlength=self._codes)
                self._counts[group] += found.astype(np.int64)


def _together(bins: int, labels: int) -> int:
    """Return how many directions are counted together."""
    found = 1
    while labels * bins ** (found + 1) <= _CODES:
        found += 1
    return found


def _lift(y: Array) -> Array:
    """Return the coordinate that puts rows on a sphere; sums here are whole numbers."""
    room = len(y) * float(COARSE) ** 2 - (y * y).sum(axis=0)
    return np.floor(np.sqrt(room))
