"""What every noise law can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[Any]  # int64, or Python integers as objects


class Noise(Protocol):
    """Integer noise of a known law, in grid units.

    The figures of a law (`variance`, `tail`, `accuracy`) are public: they follow
    from its parameters alone.
    """

    @property
    def name(self) -> str:
        """The law's name."""
        ...

    @property
    def scale(self) -> Fraction | float:
        """The law's scale, in grid units: that of Laplace noise, or sigma."""
        ...

    @property
    def variance(self) -> float:
        """Variance of one value, in squared grid units."""
        ...

    def sample(self, size: int) -> Integers:
        """Draw `size` values, shape ``(size,)``: int64 or Python integers."""
        ...

    def tail(self, limit: int) -> float:
        """Probability that one value is larger than `limit` in size."""
        ...

    def accuracy(self, confidence: float, cells: int = 1) -> int:
        """Error that `cells` values stay within, together, at `confidence`."""
        ...
