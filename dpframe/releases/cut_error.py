"""How far off counts of intervals and boxes may be: noise, and cells that are cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.releases.error_bounds import Alike, Bounded
from dpframe.releases.interval_error import interval_quantile
from dpframe.releases.noise_sums import many_bound

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class TreeError(Bounded):
    """The largest error of all intervals of a tree of noisy counts, in rows.

    It holds for every interval at once, whichever are asked, and whyever.

    Attributes
    ----------
    noise : Noise
        The law of each node's noise, in grid units.
    size : int
        Number of leaves.
    unit : Fraction
        Rows in a grid unit.
    """

    noise: Noise
    size: int
    unit: Fraction

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the same bound however many intervals are asked."""
        del cells
        steps = interval_quantile(self.size, self.noise, confidence=confidence)
        return np.array([steps * float(self.unit)])


@dataclass(frozen=True, kw_only=True)
class StatedError(Bounded):
    """An error of all intervals that a theorem states at one confidence.

    Attributes
    ----------
    noise : Noise
        The law of the noise in each count that was asked.
    width : float
        In rows; infinite where the theorem needs more rows than there are.
    confidence : float
    unit : Fraction
        Rows in a grid unit.
    """

    noise: Noise
    width: float
    confidence: float
    unit: Fraction

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the stated width; nothing is known at a greater confidence."""
        del cells
        known = confidence <= self.confidence
        return np.array([self.width if known else math.inf])

    def stddev(self) -> Array:
        """Return the stated width."""
        return np.array([self.width])


@dataclass(frozen=True, kw_only=True)
class CutError(Bounded):
    """The error of one answer: that of the released counts, and of cells cut in two.

    Attributes
    ----------
    law : TreeError or StatedError
        Of the counts of whole cells.
    below, above : float
        How far the truth may lie below and above the answer, if a cut cell's rows all
        lie on one side.
    scale : float
        What both are multiplied with: 1, or one over the number of rows.
    times : float
        How often the error of `law` enters.
    """

    law: TreeError | StatedError
    below: float
    above: float
    scale: float = 1.0
    times: float = 1.0

    @property
    def noise(self) -> Noise:
        """The law of the noise in each released count."""
        return self.law.noise

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return the noise, and what cut cells add to either side."""
        width = self.times * self.law.half_width(confidence, cells=cells)
        return (width + self.below) * self.scale, (width + self.above) * self.scale

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the larger side."""
        return np.maximum(*self.sides(confidence, cells=cells))

    def stddev(self) -> Array:
        """Return that of the noise alone."""
        return self.times * self.law.stddev() * self.scale


@dataclass(frozen=True, kw_only=True)
class BoxError(Alike):
    """The error of the count in one box, around a value that was cleaned up.

    Attributes
    ----------
    noise : Noise
        The law of each noise, in grid units.
    unit : Fraction
        Rows in a grid unit.
    below, above : float
        From the unbiased count of the cells inside to the value, and from there to that
        of all cells touched.
    noises : pair of float
        How many noises' variance the two counts have, at most.
    scale : float
        What the error is multiplied with: 1, or one over the number of rows.
    total : float
        How many noises' variance the number of rows has, where that is divided by.
    """

    noise: Noise
    unit: Fraction
    below: float
    above: float
    noises: tuple[float, float]
    scale: float = 1.0
    total: float = 0.0

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the larger side."""
        return np.maximum(*self.sides(confidence, cells=cells))

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return bounds: what can be missed is shared by the sums that enter."""
        share = (1 - confidence) / cells / (4 if self.total else 2)
        unit = float(self.unit)
        inner, outer = (
            many_bound(self.noise, n, share) * unit if n else 0.0 for n in self.noises
        )
        rows = many_bound(self.noise, self.total, share) * unit if self.total else 0.0
        below = max(self.below + inner, 0.0) + rows
        above = max(self.above + outer, 0.0) + rows
        return np.array([below * self.scale]), np.array([above * self.scale])

    def stddev(self) -> Array:
        """Return that of the noise in all cells touched."""
        variance = (max(self.noises) + self.total) * self.noise.variance
        return np.array([math.sqrt(variance) * float(self.unit) * self.scale])
