"""How far off quantiles and distributions are: in rows, and in shares of them.

With L rows below a released point and R above it, of n rows, its rank error at the
level q is ``max(L - q * n, R - (1 - q) * n, 0)``: so many rows too many lie on one of
its sides. How far that is in values depends on the data, so no error tells it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.releases.error_bounds import Bounded
from dpframe.releases.interval_error import interval_quantile

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

_SUREST: Final = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The exponential mechanism: a point's chance falls with its rank error.

    Attributes
    ----------
    scale : Fraction
        By how many rows more the chance is e times less.
    """

    scale: Fraction

    @property
    def name(self) -> str:
        """The law's name."""
        return "exponential mechanism"


@dataclass(frozen=True, kw_only=True)
class RankError(Bounded):
    """The rank error of points that were chosen one by one.

    A point of rank error t has a chance below ``exp(-t / scale)`` against one of none,
    so with a chance of ``1 - beta`` no point beyond ``scale * ln(points / beta)`` is
    chosen [1]_.

    Attributes
    ----------
    noise : Choice
        The least sharp of the choices.
    points : int
        Number of points of the grid.
    levels : int
        How many points were chosen for each cell, and sorted: an error is then one of
        any of them.
    listed : int
        How many of them the measure lists for each cell.

    References
    ----------
    .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy, FOCS.
    """

    noise: Choice
    points: int
    levels: int = 1
    listed: int = 1

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the bound, its miss shared equally among all choices."""
        choices = self.levels * -(-cells // self.listed)
        folds = math.log(self.points) + math.log(choices / (1 - confidence))
        return np.array([float(self.noise.scale) * folds])


@dataclass(frozen=True, kw_only=True)
class TreeRankError(Bounded):
    """The rank error of points that are read off a tree of noisy counts.

    Let e be the error of a prefix sum F, and m and M the least and the largest of
    them, 0 included. The leftmost point with ``F(x) >= q * F(n)`` has a rank error of
    at most ``e(x) - q * e(n)`` on one side, ``q * e(n) - e(x - 1)`` on the other: never
    above ``M - m``, the largest error of all intervals. That holds for all levels
    together.

    Attributes
    ----------
    noise : Noise
        The law of each node's noise, in grid units.
    size : int
        Number of leaves.
    unit : Fraction
        Rows in a grid unit.
    listed : int
        How many points the measure lists for each cell.
    """

    noise: Noise
    size: int
    unit: Fraction
    listed: int = 1

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the bound, its miss shared equally among the trees."""
        trees = -(-cells // self.listed)
        sure = min(1 - (1 - confidence) / trees, _SUREST)
        steps = interval_quantile(self.size, self.noise, confidence=sure)
        return np.array([steps * float(self.unit)])


@dataclass(frozen=True, kw_only=True)
class ShareError(Bounded):
    """The error of the shares of a noisy distribution, all of them together.

    With t the true share and e the error of a prefix sum F, the share ``F(x) / F(n)``
    is off by ``((1 - t) * e(x) + t * (e(x) - e(n))) / F(n)``. Both are errors of
    intervals, so it is no further off than the largest of these over F(n).

    Attributes
    ----------
    noise : Noise
        The law of each node's noise, in grid units.
    size : int
        Number of leaves.
    total : float
        F(n), in grid units; above 0.
    """

    noise: Noise
    size: int
    total: float

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the same bound for one share and for all together."""
        del cells
        steps = interval_quantile(self.size, self.noise, confidence=confidence)
        return np.array([min(steps / self.total, 1.0)])
