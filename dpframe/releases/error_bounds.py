"""What laws of errors have in common: one for all cells, and known by bounds alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_ONE_SIGMA: Final = 0.6827
"""How often a normal error is within its standard deviation."""


class Alike:
    """The error of every cell is one and the same."""

    __slots__ = ()

    def cell(self, place: int) -> Self:
        """Return the error of one cell: that of every cell."""
        del place
        return self


class Bounded(Alike, ABC):
    """Bounds are known of the error, and no standard deviation."""

    __slots__ = ()

    @abstractmethod
    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return a bound on the error of `cells` cells together."""

    def stddev(self) -> Array:
        """Return what the error is within in 68% of releases."""
        return self.half_width(_ONE_SIGMA, cells=1)
