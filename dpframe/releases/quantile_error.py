"""How far a quantile that was read off released counts may be from the rows' own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.releases.error_bounds import Bounded

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise
    from dpframe.releases.line import Line

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class QuantileError(Bounded):
    """The error of the q-quantile of a line, in the column's unit.

    Attributes
    ----------
    line : Line
    level : Fraction
        q, in ``[0, 1]``.
    code : int
        The point that was read off.

    Notes
    -----
    Let E be the largest error of any interval. For counts F below an end of a cell and
    rows n, as released and as they are, ``F - q n`` is released to within E, as it is
    ``(1 - q)`` times one interval less q times another. So the quantile is in no cell
    that ends with ``F < q n - E``, and in none that begins with ``F >= q n + E``.
    """

    line: Line
    level: Fraction
    code: int

    @property
    def noise(self) -> Noise:
        """The law of the noise in each released count."""
        return self.line.error.noise

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the larger side."""
        return np.maximum(*self.sides(confidence, cells=cells))

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return how far below and above the quantile may be."""
        line = self.line
        error = float(line.error.half_width(confidence, cells=cells)[0])
        goal = float(self.level) * line.rows
        last = line.grid.size - 1
        first = int(np.searchsorted(line.below[1:], goal - error, side="left"))
        low = int(line.starts[min(first, len(line.starts) - 1)])
        beyond = int(np.searchsorted(line.below[:-1], goal + error, side="left"))
        high = last
        if 0 < beyond < len(line.starts):
            high = int(line.starts[beyond]) - 1
        elif beyond == 0:  # even the first cell begins beyond it
            high = 0
        low, high = min(low, self.code), max(high, self.code)
        least, here, most = (line.grid.point(code) for code in (low, self.code, high))
        return np.array([float(here - least)]), np.array([float(most - here)])
