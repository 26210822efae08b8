"""What released counts prove of the rows above a plane, and how far answers are off.

Figures that were released tell of some cells that all their rows are above a plane, of
some that none is, and of the others, which the plane cuts, nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.releases.error_bounds import Bounded
from dpframe.releases.noise_sums import many_bound

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

_LEAST_CHANCE: Final = 1e-300
"""Smaller chances are taken for this one."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """For each of some questions, released rows in cells that are decided, or are not.

    Attributes
    ----------
    sure, possible : array of float64
        Rows that are counted for sure, and those that may be, sure ones included:
        sums of released counts, unbiased. Shape ``(questions,)``.
    sure_noises, possible_noises : array of float64
        The variances of their noise, in those of one released count.
    """

    sure: Array
    possible: Array
    sure_noises: Array
    possible_noises: Array


@dataclass(frozen=True, kw_only=True)
class AllRows:
    """The released number of all rows.

    Attributes
    ----------
    rows : float
    noise : Noise
        The law of the noise in each released count, in grid units.
    unit : Fraction
        Rows in a grid unit.
    noises : float
        How many released counts there are in the sums that it is the mean of.
    sums : int
        How many sums these are.
    """

    rows: float
    noise: Noise
    unit: Fraction
    noises: float
    sums: int = 1

    def bound(self, variances: float, chance: float) -> float:
        """Return what a sum of noises exceeds, in rows, with a chance of at most."""
        if not variances:
            return 0.0
        share = max(chance, _LEAST_CHANCE)
        return _bound(self.noise, variances, share) * float(self.unit)

    def error(self, chance: float) -> float:
        """Return by how many rows it is off, to one side, with a chance of at most."""
        return self.bound(self.noises, chance) / self.sums


@lru_cache(maxsize=1024)
def _bound(noise: Noise, variances: float, share: float) -> float:
    """Return `many_bound`, which many questions ask for alike."""
    return many_bound(noise, variances, share)


@dataclass(frozen=True, kw_only=True)
class HalfspaceError(Bounded):
    """How far the rows above a plane, or their fraction, may be from an answer.

    Attributes
    ----------
    value : float
        The answer.
    sure, possible : float
        As those of `Evidence`, in rows.
    sure_noises, possible_noises : float
    total : AllRows
    fraction : bool
        Whether the answer is a fraction of the rows.
    choices : float
        The logarithm of how many sums of counts the question could have been about,
        where it was chosen after looking at answers; 0 for one chosen beforehand.
    """

    value: float
    sure: float
    possible: float
    sure_noises: float
    possible_noises: float
    total: AllRows
    fraction: bool
    choices: float = 0.0

    @property
    def noise(self) -> Noise:
        """The law of the noise in each released count."""
        return self.total.noise

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the larger side."""
        return np.maximum(*self.sides(confidence, cells=cells))

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return bounds: each end needs a sum of counts and the number of rows."""
        low, high = bounds(
            self.total,
            (self.sure, self.possible),
            (self.sure_noises, self.possible_noises),
            chance=(1 - confidence) / cells,
            choices=self.choices,
            fraction=self.fraction,
        )
        below, above = max(self.value - low, 0.0), max(high - self.value, 0.0)
        return np.array([below]), np.array([above])


@dataclass(frozen=True, kw_only=True)
class BandError(Bounded):
    """How far the fraction of rows between two planes may be from an answer.

    Attributes
    ----------
    value : float
        The answer.
    wide, narrow : HalfspaceError
        Of the fractions above the lower plane and above the upper one.
    """

    value: float
    wide: HalfspaceError
    narrow: HalfspaceError

    @property
    def noise(self) -> Noise:
        """The law of the noise in each released count."""
        return self.wide.noise

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the larger side."""
        return np.maximum(*self.sides(confidence, cells=cells))

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return bounds: the two planes share what may be missed."""
        ends: list[tuple[float, float]] = []
        for error in (self.wide, self.narrow):
            below, above = error.sides(confidence, cells=2 * cells)
            ends.append((error.value - float(below[0]), error.value + float(above[0])))
        (low, high), (least, most) = ends
        return (
            np.array([max(self.value - max(low - most, 0.0), 0.0)]),
            np.array([max(high - least - self.value, 0.0)]),
        )


def bounds(
    total: AllRows,
    rows: tuple[float, float],
    noises: tuple[float, float],
    *,
    chance: float,
    choices: float = 0.0,
    fraction: bool,
) -> tuple[float, float]:
    """Return between what the rows that are counted lie, but with a chance.

    Four sums of noises each get a quarter of the chance; those of counts, which may be
    any of ``exp(choices)`` ones, that part of it.
    """
    each = chance / 4
    chosen = each * math.exp(-choices)
    low = max(rows[0] - total.bound(noises[0], chosen), 0.0)
    high = max(rows[1] + total.bound(noises[1], chosen), 0.0)
    off = total.error(each)
    most = max(total.rows + off, 0.0)
    low, high = min(low, most), min(high, most)
    if not fraction:
        return low, high
    least = total.rows - off
    return (
        low / most if most else 0.0,
        min(high / least, 1.0) if least > 0 else 1.0,
    )
