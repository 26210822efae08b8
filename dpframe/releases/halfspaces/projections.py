"""Released histograms of rows along directions, and what they tell of any plane.

The direction nearest to a plane's normal n tells most. With ``n = c u + r``, r being
perpendicular to u, a row x lies at ``<x, n> = c <x, u> + <x, r>``, and the last term is
at most ``s = min(|r|, |r|_1 / sqrt(d))`` either way, as x is in the unit ball and in a
cube. So a bin of u from t to t' is above the plane if ``c t - s >= b``, and below it if
``c t' + s < b``.

References
----------
.. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
   Database Privacy, Section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.products import product
from dpframe.releases.halfspaces.ball import ROUNDED, nearest
from dpframe.releases.halfspaces.cloud import Cloud
from dpframe.releases.halfspaces.denoise import denoised
from dpframe.releases.halfspaces.evidence import AllRows, Evidence
from dpframe.releases.halfspaces.fit import fitted_points
from dpframe.releases.interval_tree import monotone
from dpframe.tally import COARSE

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise
    from dpframe.releases.halfspaces.ball import Planes, UnitBall

Array = np.ndarray[Any, np.dtype[Any]]

POINTS: Final = 4000
"""Synthetic rows that are fitted."""

_LABELLED: Final = 2
_ROW_BYTES: Final = 16  # of a code and a place


@dataclass(frozen=True, kw_only=True)
class Projections:
    """Counts of rows in bins along directions.

    Attributes
    ----------
    ball : UnitBall
    directions : array of int64
        Shape ``(K, d)``: all of about the same length.
    shift : int
        Bins are ``2**shift`` long in whole numbers, the middle one of their ends at 0.
    counts : array of float64
        Released rows, unbiased: shape ``(labels, K, bins)``, one label or two.
    noise : Noise
        The law of the noise in each count, in grid units.
    unit : Fraction
        Rows in a grid unit.
    radius : float
        No unit vector is further than this from a direction, or its opposite.
    """

    ball: UnitBall
    directions: Array
    shift: int
    counts: Array
    noise: Noise
    unit: Fraction
    radius: float

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        size = self.ball.dimension
        shape = (len(self.directions), size)
        broken = self.directions.dtype != np.int64 or self.directions.shape != shape
        if broken or not self.directions.any(axis=1).all():
            msg = "a direction has a whole number for each column"
            raise ValueError(msg)
        labels, directions, bins = self.counts.shape
        fits = labels in {1, _LABELLED} and directions == shape[0]
        if not fits or not bins or bins % 2:
            msg = "each direction has an even number of bins"
            raise ValueError(msg)
        if not np.isfinite(self.counts).all() or not self.radius >= 0:
            msg = "bins hold numbers of rows"
            raise ValueError(msg)

    @property
    def is_labelled(self) -> bool:
        """Whether rows are told apart by a label."""
        return len(self.counts) == _LABELLED

    @cached_property
    def units(self) -> Array:
        """The directions as unit vectors."""
        return self.directions / self._lengths[:, None]

    @cached_property
    def _lengths(self) -> Array:
        u = self.directions.astype(np.float64)
        return np.sqrt((u * u).sum(axis=1))

    @cached_property
    def edges(self) -> Array:
        """The ends of all bins, as places along their direction: ``(K, bins + 1)``."""
        bins = int(self.counts.shape[2])
        steps: Array = np.arange(-(bins // 2), bins // 2 + 1) * math.ldexp(
            1.0, self.shift
        )
        places = self._lengths * COARSE * math.sqrt(self.ball.dimension)
        return steps[None, :] / places[:, None]

    @cached_property
    def total(self) -> AllRows:
        """All rows: the mean of what all directions count."""
        rows = float(self.counts.sum()) / len(self.directions)
        return _total(self.counts.shape, rows, self.noise, self.unit)

    @property
    def raw(self) -> Array:
        """The released counts."""
        return self.counts

    @property
    def points(self) -> int:
        """How many synthetic rows there are."""
        return POINTS

    @property
    def nbytes(self) -> int:
        """Bytes of the counts, the directions and the synthetic rows."""
        rows = POINTS * self.ball.dimension * _ROW_BYTES
        return self.counts.nbytes + self.directions.nbytes + rows

    # Answers

    def rows(self, number: int) -> tuple[Array, Array | None]:
        """Return so many synthetic rows: points of the grids, and their labels.

        They are taken evenly from those that were fitted.
        """
        places = ((np.arange(number) + 0.5) * (POINTS / max(number, 1))).astype(np.intp)
        labels = self.cloud.labels
        return self._codes[places], None if labels is None else labels[places]

    @cached_property
    def _codes(self) -> Array:
        """Fitted rows as points of the grids: those of the first label first."""
        stddev = math.sqrt(self.noise.variance) * float(self.unit)
        edges = np.linspace(-1, 1, self.counts.shape[2] + 1)
        found: list[Array] = []
        for counts, size in zip(self.counts, self._sizes, strict=True):
            clean = denoised(counts, stddev=stddev)
            below = _fractions(_running(clean), float(clean[0].sum()))
            found.append(fitted_points(self.units, below, edges, size=size))
        return self.ball.codes(np.concatenate(found))

    @cached_property
    def cloud(self) -> Cloud:
        """The synthetic rows, in the unit ball."""
        labels = None
        if self.is_labelled:
            labels = np.repeat([False, True], self._sizes)
        return Cloud(places=self.ball.places(self._codes), labels=labels)

    @cached_property
    def _sizes(self) -> list[int]:
        """How many synthetic rows have each label."""
        masses = np.maximum(self.counts.sum(axis=(1, 2)), 0.0)
        if not masses.sum() > 0:
            masses = np.ones(len(masses))
        running = np.concatenate([[0.0], np.cumsum(masses)])
        ends = np.rint(running / running[-1] * POINTS).astype(int)
        return [int(size) for size in np.diff(ends)]

    def above(self, planes: Planes, margin: float) -> Array:
        """Return the fraction of rows above each plane: that of synthetic rows.

        It is kept within what the nearest direction proves. Where directions cover all
        others, that is also what it tells of the plane moved by the margin, to either
        side: from there the theorem follows. Elsewhere that would be the answer of a
        direction that is too far away.
        """
        near = self._nearest(planes, margin if self._covers(margin) else 0.0)
        least = near.beyond(self._below, near.plus)
        most = near.beyond(self._below, near.minus)
        return np.clip(self.cloud.above(planes), least, np.maximum(least, most))

    def wrong(self, planes: Planes, margin: float) -> Array:
        """Return the fraction whose label is not whether they are above each plane."""
        del margin
        return self.cloud.wrong(planes)

    def evidence(self, planes: Planes, *, wrong: bool = False) -> Evidence:
        """Return what the nearest direction proves of the rows above each plane.

        Of rows whose label is not whether they are, if `wrong`.
        """
        near = self._nearest(planes, 0.0)
        bins = self.counts.shape[2]
        running = _running(self.counts)
        sure, possible = bins - near.sure, bins - near.possible
        if not wrong:
            rows = running.sum(axis=0)
            labels = len(self.counts)
            return Evidence(
                sure=near.beyond(rows, near.sure),
                possible=near.beyond(rows, near.possible),
                sure_noises=labels * sure.astype(np.float64),
                possible_noises=labels * possible.astype(np.float64),
            )
        false, true = running
        return Evidence(
            sure=near.beyond(false, near.sure) + near.upto(true, near.possible),
            possible=near.beyond(false, near.possible) + near.upto(true, near.sure),
            sure_noises=(sure + near.possible).astype(np.float64),
            possible_noises=(possible + near.sure).astype(np.float64),
        )

    @property
    def choices(self) -> float:
        """The logarithm of how many sums of counts `evidence` may be about."""
        _, size, bins = self.counts.shape
        return math.log(2 * size * (bins + 1) ** 2)

    # What is proved of all planes at once

    def alpha(self, confidence: float, margin: float) -> float:
        """Return the largest error of any plane at a margin, as a fraction of rows.

        It is 1, which says nothing, where some planes are too far from all directions.
        """
        if not (self._covers(margin) and self.total.rows > 0):
            return 1.0
        return min(self.worst(confidence) / self.total.rows, 1.0)

    def worst(self, confidence: float) -> float:
        """Return by how many rows any end of a bin, and all rows, are off together."""
        return worst_noise(
            self.noise, self.unit, self.counts.shape, confidence=confidence
        )

    # Inside

    @cached_property
    def _below(self) -> Array:
        """Which fraction of the rows is below each end of a bin: from 0 to 1."""
        running = _running(self.counts.sum(axis=0))
        running[:, 1:] = [monotone(each) for each in running[:, 1:]]
        return _fractions(running, self.total.rows)

    def _covers(self, margin: float) -> bool:
        """Whether each plane's nearest direction decides it but for the margin."""
        width = float(np.diff(self.edges, axis=1).max())
        return 2 * (margin - self.radius - ROUNDED) >= width

    def _nearest(self, planes: Planes, margin: float) -> _Nearest:
        """Return the nearest direction of each plane, and which of its bins decide."""
        cosines = product(self.units, np.ascontiguousarray(planes.normals.T))
        place = nearest(cosines.T)
        near = self.units[place]
        cosine = (planes.normals * near).sum(axis=1)  # alone as among others
        rest = planes.normals - cosine[:, None] * near
        long = np.sqrt((rest * rest).sum(axis=1))
        wide = np.abs(rest).sum(axis=1) / math.sqrt(self.ball.dimension)
        slack = np.minimum(long, wide) + ROUNDED
        size, b = np.abs(cosine), planes.offsets
        flipped = cosine < 0
        edges = self.edges[place]
        edges = np.where(flipped[:, None], -edges[:, ::-1], edges)

        def starts(threshold: Array) -> Array:
            return (edges[:, :-1] < (threshold / size)[:, None]).sum(axis=1)

        def stops(threshold: Array) -> Array:
            return (edges[:, 1:] < (threshold / size)[:, None]).sum(axis=1)

        sure, possible = starts(b + slack), stops(b - slack)
        plus, minus = stops(b + margin - slack), starts(b - margin + slack)
        decided = plus >= minus
        return _Nearest(
            place=place,
            flipped=flipped,
            sure=sure,
            possible=possible,
            plus=np.where(decided, np.minimum(sure, plus), sure),
            minus=np.where(decided, np.maximum(possible, minus), possible),
        )


def worst_noise(
    noise: Noise, unit: Fraction, shape: tuple[int, int, int], *, confidence: float
) -> float:
    """Return by how many rows any end of a bin, and all rows, are off together.

    Sums of symmetric independent noises pass a bound on the way with a chance of at
    most twice that at the end (Lévy). Each direction has sums both ways.

    Parameters
    ----------
    noise : Noise
        The law of the noise in each count, in grid units.
    unit : Fraction
        Rows in a grid unit.
    shape : tuple of int
        Labels, directions and bins.
    confidence : float
    """
    labels, size, bins = shape
    half = (1 - confidence) / 2
    total = _total(shape, 0.0, noise, unit)
    return total.bound(labels * bins, half / (4 * size)) + total.error(half / 2)


def _total(
    shape: tuple[int, int, int], rows: float, noise: Noise, unit: Fraction
) -> AllRows:
    """Return the mean of what all directions count."""
    labels, size, bins = shape
    noises = float(labels * size * bins)
    return AllRows(rows=rows, noise=noise, unit=unit, noises=noises, sums=size)


@dataclass(frozen=True, kw_only=True)
class _Nearest:
    """For each plane a direction, turned towards its normal, and bins along it.

    Bins from `sure` on are above the plane, those before `possible` below it. Those
    from `plus` on hold the rows that are above it by the margin, those from `minus` on
    none that is below it by more than that.
    """

    place: Array
    flipped: Array
    sure: Array
    possible: Array
    plus: Array
    minus: Array

    def upto(self, running: Array, bins: Array) -> Array:
        """Return what lies before some bins, from running sums ``(K, bins + 1)``."""
        last = running.shape[1] - 1
        whole = running[self.place, last]
        there = running[self.place, np.where(self.flipped, last - bins, bins)]
        return np.where(self.flipped, whole - there, there)

    def beyond(self, running: Array, bins: Array) -> Array:
        """Return what lies in some bins and all after them."""
        return running[self.place, -1] - self.upto(running, bins)


def _running(counts: Array) -> Array:
    """Return rows below the ends of bins, from counts along the last axis."""
    sums = np.cumsum(counts, axis=-1)
    return np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)


def _fractions(running: Array, whole: float) -> Array:
    """Return rows below the ends of bins as fractions; even ones if there are none."""
    if not whole > 0:
        return np.broadcast_to(np.linspace(0, 1, running.shape[1]), running.shape)
    found = np.minimum(running / whole, 1.0)
    found[:, -1] = 1.0  # beyond all bins are no rows, whatever a direction has counted
    return found
