"""How far off a covariance may be, before anything is released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.block import GAUSSIAN, LAPLACE, MAX_NORM
from dpframe.mechanisms.moment_sums import scale_of
from dpframe.releases.error_bounds import Alike
from dpframe.releases.noise_sums import equal_quantile, gaussian_bound

if TYPE_CHECKING:
    from dpframe.noise import Noise
    from dpframe.outlook import ErrorLaw
    from dpframe.query import Part

Array = np.ndarray[Any, np.dtype[Any]]

_TERMS: Final = (1, 2, 1)
"""To first order n times an entry's error is ``dn + 2 ds + dF2``, for |y| <= 1."""


@dataclass(frozen=True, kw_only=True)
class _ScaledError(Alike):
    """The first-order error of any covariance entry, in units of the half-widths."""

    part: Part
    columns: int
    rows: int

    @property
    def noise(self) -> Noise:
        """The law of the first block's noise."""
        return self.part.noise(self.part.blocks[0])

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return a bound for all entries together, whatever the number of cells."""
        del cells
        bound = _first_order(self.part, self.columns, confidence)
        return np.array([bound / self._resolution / self.rows])

    def stddev(self) -> Array:
        """Return the standard deviation of the largest single noise."""
        spread = max(
            math.sqrt(self.part.noise(block).variance) / scale_of(self.part, block)
            for block in self.part.blocks
        )
        return np.array([spread / self._resolution / self.rows])

    @property
    def _resolution(self) -> int:
        return self.part.statistic.contribution.resolution


def expected_error(part: Part, columns: int, rows: int | None) -> ErrorLaw | None:
    """Return the error at a guessed number of rows, None without a guess."""
    if rows is None:
        return None
    return _ScaledError(part=part, columns=columns, rows=rows)


def _first_order(part: Part, columns: int, confidence: float) -> float:
    """Return a bound on n times the error of all entries, in scaled grid units."""
    blocks = part.blocks
    first, law = part.noise(blocks[0]), blocks[0].law
    miss = 1 - confidence
    if law == MAX_NORM:
        return sum(_TERMS) * first.accuracy(confidence, 2) / scale_of(part, blocks[0])
    if law == LAPLACE and len(blocks) == 1:
        # The pair's cells: a square and a count sum nine of them, a sum six.
        steps = 2 * equal_quantile(9, miss / 6) + 2 * equal_quantile(6, miss / 6)
        return steps * float(first.scale) / scale_of(part, blocks[0])
    if law == GAUSSIAN:
        terms = blocks if len(blocks) > 1 else blocks * len(_TERMS)
        weights = [
            factor / scale_of(part, block)
            for block, factor in zip(terms, _TERMS, strict=True)
        ]
        sigmas = [part.noise(block).scale for block in terms]
        entries = columns * (columns + 1) // 2
        bound = gaussian_bound(np.array([weights]), np.array(sigmas), miss / entries)
        return float(bound[0])
    total = 0.0
    for block, factor in zip(blocks, _TERMS, strict=True):
        share = 1 - miss / len(blocks)
        steps = part.noise(block).accuracy(share, block.stop - block.start)
        total += factor * steps / scale_of(part, block)
    return total
