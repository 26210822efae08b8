"""Noise for a whole vector whose largest coordinate is what a unit can change."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpframe.errors import ParameterError
from dpframe.noise import radius
from dpframe.noise.brackets import context, locate
from dpframe.noise.choice import cumulative
from dpframe.noise.geometric import digits_of, geometric
from dpframe.noise.quantiles import miss_per_cell, rounded_up, smallest
from dpframe.noise.randomness import REPEATS, ROUNDS, below, failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.noise.brackets import Bracket, Cuts
    from dpframe.noise.geometric import Digits
    from dpframe.noise.protocol import Integers

_FINE = 64  # scale per dimension that makes a rejection rare (chance < 1/128)
_NARROW = 62  # bits of a radius that leave room in an int64


@dataclass(frozen=True, kw_only=True)
class MaxNorm:
    """Integer vector noise with P(z) proportional to ``exp(-max|z_i| / scale)``.

    Parameters
    ----------
    dimension : int
        How many coordinates; at least 1.
    scale : Fraction
        Sensitivity in the max norm over epsilon, in grid units; positive, and at
        least ``64 * dimension`` above 512 coordinates.

    Privacy
    -------
    Added to an integer vector of which a unit changes no coordinate by more than
    D, it makes the sum ``D / scale``-DP as a whole. The law is exact: no float
    takes part in a draw.

    Accuracy
    --------
    On a fine grid a coordinate has the variance ``(k + 1) * (k + 2) / 3 *
    scale**2``, where independent Laplace noise needs ``2 * k**2 * scale**2``.

    Notes
    -----
    The vector is uniform on the cube of a random radius m, P(m) proportional to
    ``(2 * m + 1)**k * exp(-m / scale)``. The radius is a sum of ``k + 1``
    geometric variables and an offset, chosen with the type-B Eulerian numbers.

    References
    ----------
    .. [1] Hardt and Talwar (2010), On the Geometry of Differential Privacy.
    .. [2] Awan and Slavković (2021), Structure and Sensitivity in Differential
       Privacy: Comparing K-Norm Mechanisms.
    """

    dimension: int
    scale: Fraction

    def __post_init__(self) -> None:
        """Refuse a dimension or a scale that has no law or no sampler."""
        if self.dimension < 1:
            fact = f"The dimension must be at least 1; it is {self.dimension}."
            raise ParameterError(fact)
        if self.scale <= 0:
            fact = f"The noise scale must be positive; it is {self.scale}."
            raise ParameterError(fact)
        if self.dimension > radius.LARGEST and self.scale < _FINE * self.dimension:
            fact = (
                f"Max-norm noise in {self.dimension} coordinates needs a scale of "
                f"at least {_FINE * self.dimension} grid units; it is {self.scale}."
            )
            raise ParameterError(fact, hint="use a finer grid.")

    @property
    def name(self) -> str:
        """The law's name."""
        return "max-norm"

    def sample(self, size: int) -> Integers:
        """Draw one vector.

        Parameters
        ----------
        size : int
            The dimension.

        Returns
        -------
        numpy.ndarray
            Shape ``(dimension,)``, in grid units: int64 as long as dimension and
            scale leave room for it, else Python integers.

        Raises
        ------
        ParameterError
            If `size` is not the dimension.
        RandomnessError
            If the operating system gives no usable random bytes.
        """
        if size != self.dimension:
            fact = (
                f"Max-norm noise comes as one vector of {self.dimension} "
                f"coordinates; {size} were asked for."
            )
            raise ParameterError(fact)
        digits = digits_of(self.scale)
        # The size of the work follows the largest radius, not the one drawn.
        bits = ((size + 1) << digits.count).bit_length() + 1
        drawn = self._radius(digits)
        vector = below(2 * drawn + 1, size, width=bits) - drawn
        narrow = bits <= _NARROW and drawn.bit_length() <= _NARROW
        return vector.astype(np.int64) if narrow else vector

    def _radius(self, digits: Digits) -> int:
        dimension = self.dimension
        if dimension <= radius.LARGEST:
            offset = locate(_offsets(dimension, self.scale))
            return offset + _sum_of_geometrics(digits, dimension + 1)
        for _ in range(ROUNDS):
            proposed = _sum_of_geometrics(digits, dimension + 1)
            if locate(_acceptance(dimension, proposed)) == 0:
                return proposed
        raise failure(REPEATS)

    @property
    def variance(self) -> float:
        """Variance of one coordinate, in squared grid units; rounded up."""
        return rounded_up(radius.variance(self.dimension, self.scale))

    def tail(self, limit: int) -> float:
        """Probability that one coordinate exceeds `limit` in size; rounded up."""
        return rounded_up(radius.coordinate_tail(self.dimension, self.scale, limit))

    def joint_tail(self, limit: int) -> float:
        """Probability that any coordinate exceeds `limit` in size; rounded up."""
        return rounded_up(radius.joint_tail(self.dimension, self.scale, limit))

    def accuracy(self, confidence: float, cells: int = 1) -> int:
        """Error of one coordinate or, for more cells, of all of them together.

        Parameters
        ----------
        confidence : float
            In ``[0, 1)``; read as its shortest decimal.
        cells : int, default 1
            1 for a single coordinate; any more for the whole vector.

        Returns
        -------
        int
            The smallest bound, in grid units, that holds with a probability of at
            least `confidence`.
        """
        miss = miss_per_cell(confidence, min(cells, 1))
        law = radius.coordinate_tail if cells == 1 else radius.joint_tail
        return smallest(
            lambda limit: law(self.dimension, self.scale, limit) <= miss,
            start=int(self.scale),
        )


@lru_cache(maxsize=64)
def _offsets(dimension: int, scale: Fraction) -> Cuts:
    """Cumulative shares of the offsets 0 to `dimension` of the radius."""
    numbers = _eulerian(dimension)
    return cumulative([(n, Fraction(j) / scale) for j, n in enumerate(numbers)])


@lru_cache(maxsize=64)
def _eulerian(dimension: int) -> tuple[int, ...]:
    """Eulerian numbers of type B: 1, 23, 23, 1 for three dimensions."""
    row = [1]
    for k in range(1, dimension + 1):
        padded = [0, *row, 0]
        row = [
            (2 * j + 1) * padded[j + 1] + (2 * k - 2 * j + 1) * padded[j]
            for j in range(k + 1)
        ]
    return tuple(row)


def _sum_of_geometrics(digits: Digits, count: int) -> int:
    total = 0
    for start in range(0, count, digits.block):
        numbers = geometric(digits, min(digits.block, count - start))
        total += sum(numbers.tolist())
    return total


def _acceptance(dimension: int, proposed: int) -> Cuts:
    """Share of the proposals that are kept: (2m + 1)**k over (2m + 2)...(2m + 2k)."""

    def cuts(digits: int) -> Sequence[Bracket]:
        down, up = context(digits, ROUND_FLOOR), context(digits, ROUND_CEILING)
        low = high = Decimal(1)
        width = Decimal(2 * proposed + 1)
        for place in range(1, dimension + 1):
            over = Decimal(2 * (proposed + place))
            low = down.multiply(low, down.divide(width, over))
            high = up.multiply(high, up.divide(width, over))
        return ((low, high),)

    return cuts
