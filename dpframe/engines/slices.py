"""Rows binned along directions, in whole numbers: exact at the speed of BLAS.

An inner product of whole numbers whose parts stay below 2^53 is the same in any order,
so the matrix product of a block of rows cannot move one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.tally import COARSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.slices import Slices

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK: Final = 1 << 20
"""Products that are held at once."""


class Binned:
    """Counts of all bins of all directions, added up batch by batch.

    Parameters
    ----------
    slices : Slices
    """

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._counts: Array = np.zeros(slices.cells, dtype=np.int64)
        self._directions: Array = slices.directions.astype(np.float64)
        self._offsets: Array = slices.offsets.astype(np.float64)[:, None]
        self._first: Array = np.arange(len(slices.offsets))[:, None] * slices.bins

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
        y = np.stack([np.asarray(value, dtype=np.float64) for value in values])
        if self._slices.lifted:
            y = np.vstack([y, _lift(y)])
        block = max(1, _BLOCK // len(self._directions))
        for start in range(0, rows, block):
            part = slice(start, start + block)
            self._add(
                y[:, part],
                None if codes is None else codes[part],
                None if weights is None else weights[part],
            )

    def total(self) -> Array:
        """Return the counts, shape ``(cells, 1)``: by label, direction and bin."""
        return self._counts.reshape(-1, 1)

    def _add(self, y: Array, codes: Array | None, weights: Array | None) -> None:
        slices = self._slices
        places = self._directions @ y
        places += self._offsets
        places *= 2.0**-slices.shift  # exact
        np.floor(places, out=places)
        np.clip(places, 0, slices.bins - 1, out=places)
        cells = places.astype(np.int64)
        cells += self._first
        if codes is not None:
            cells += codes.astype(np.int64) * (slices.bins * len(self._directions))
        weight = None
        if weights is not None:
            weight = np.broadcast_to(weights, cells.shape).ravel()
        found = np.bincount(cells.ravel(), weights=weight, minlength=slices.cells)
        self._counts += found.astype(np.int64)


def _lift(y: Array) -> Array:
    """Return the coordinate that puts rows on a sphere; sums here are whole numbers."""
    room = len(y) * float(COARSE) ** 2 - (y * y).sum(axis=0)
    return np.floor(np.sqrt(room))
