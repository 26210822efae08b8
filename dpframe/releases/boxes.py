"""Released counts in boxes over several grids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.nested import tree_shapes
from dpframe.releases.cut_error import BoxError
from dpframe.releases.interval_tree import consistent
from dpframe.releases.ranges import everything

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpframe.grid import Grid
    from dpframe.nested import Fanouts
    from dpframe.noise import Noise
    from dpframe.releases.ranges import Ranges

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Boxes:
    """Boxes that fill the product of some grids, and what was released of their rows.

    Attributes
    ----------
    grids : tuple of Grid
    first, last : array of uint64
        The corners of each box: codes, both included, shape ``(boxes, grids)``.
    values : array of float64
        Rows in each box, at least 0.
    raw : array of float64
        The same before clean-up: unbiased.
    noise : Noise
        The law of the noise in each count that was released, in grid units.
    unit : Fraction
        Rows in a grid unit.
    fanouts : tuple of tuple of int, or None
        Of the tree whose leaves the boxes are; None where each box has a noise of its
        own.
    """

    grids: tuple[Grid, ...]
    first: Array
    last: Array
    values: Array
    raw: Array
    noise: Noise
    unit: Fraction
    fanouts: Fanouts | None = None

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        shape = (len(self.values), len(self.grids))
        corners = (self.first, self.last)
        if any(c.dtype != np.uint64 or c.shape != shape for c in corners):
            msg = "a box has two corners, with a code on each grid"
            raise ValueError(msg)
        tops = np.array([grid.size - 1 for grid in self.grids], dtype=np.uint64)
        if not ((self.first <= self.last) & (self.last <= tops)).all():
            msg = "boxes lie within their grids"
            raise ValueError(msg)
        counts = self.raw.shape == self.values.shape and np.isfinite(self.values).all()
        if not (counts and (self.values >= 0).all()):
            msg = "a box holds a number of rows, at least 0"
            raise ValueError(msg)

    @property
    def rows(self) -> float:
        """All rows, as released."""
        return float(self.values.sum())

    def counted(self, ranges: Ranges) -> tuple[float, BoxError]:
        """Return the rows in a box, and how far off they may be.

        Parameters
        ----------
        ranges : sequence of (int, int)
            For each grid ``first <= code < stop``.
        """
        share, whole = self._shares(ranges)
        touched = share > 0
        value = float(self.values @ share)
        if self.fanouts is None:
            noises = (float(whole.sum()), float(touched.sum()))
        else:
            variance = _variance(ranges, self.fanouts)
            noises = (variance, variance)
        error = BoxError(
            noise=self.noise,
            unit=self.unit,
            below=value - float(self.raw[whole].sum()),
            above=float(self.raw[touched].sum()) - value,
            noises=noises,
        )
        return value, error

    @cached_property
    def total(self) -> tuple[float, BoxError]:
        """All rows, and how far off they may be."""
        return self.counted(everything(self.grids))

    def counted_many(
        self, queries: Sequence[Ranges], confidence: float
    ) -> tuple[Array, Array, Array]:
        """Return the rows in some boxes, and how far below and above they may be."""
        found = [self.counted(ranges) for ranges in queries]
        sides = [error.sides(confidence, cells=1) for _, error in found]
        value = np.array([value for value, _ in found])
        below, above = (np.array([float(side[i][0]) for side in sides]) for i in (0, 1))
        return value, below, above

    def fraction(self, ranges: Ranges) -> tuple[float, BoxError]:
        """Return the fraction of all rows in a box, and how far off it may be.

        It errs by the error of the box and that of all rows, over all rows.
        """
        value, error = self.counted(ranges)
        scale = 1 / self.rows if self.rows else 1.0
        total = max(self.total[1].noises)
        return value * scale, replace(error, scale=scale, total=total)

    def unbiased(self, ranges: Ranges) -> float:
        """Return the rows in a box before clean-up.

        Those of a box of the partition that it cuts lie evenly in that.
        """
        return float(self.raw @ self._shares(ranges)[0])

    def _shares(self, ranges: Ranges) -> tuple[Array, Array]:
        """Return how much of each box lies in a box, and whether all of it does."""
        share = np.ones(len(self.values))
        whole = np.ones(len(self.values), dtype=np.bool_)
        for axis, (start, stop) in enumerate(ranges):
            first, last = self.first[:, axis], self.last[:, axis]
            if start >= stop:
                return np.zeros_like(share), np.zeros_like(whole)
            begin = np.maximum(first, np.uint64(start))
            end = np.minimum(last, np.uint64(stop - 1))
            inside = begin <= end
            both = np.where(inside, end - begin, 0).astype(np.float64) + 1.0
            share *= inside * both / ((last - first).astype(np.float64) + 1.0)
            whole &= (first >= np.uint64(start)) & (last <= np.uint64(stop - 1))
        return share, whole

    def codes(self, number: int) -> Array:
        """Return the codes of so many rows, spread as the released counts are.

        Each box gets its share of the rows. Shape ``(number, grids)``.
        """
        mass = self.values if self.rows else self._volumes()
        running: Array = np.concatenate([[0.0], np.cumsum(mass)])
        ranks: Array = (np.arange(number) + 0.5) * (running[-1] / max(number, 1))
        passed: Array = np.searchsorted(running, ranks, side="left")
        return self.codes_in(np.clip(passed - 1, 0, len(mass) - 1))

    def codes_in(self, places: Array) -> Array:
        """Return the codes of rows in some boxes, each named as often as it has rows.

        They lie in it as evenly as the steps of an additive recurrence do [1]_.

        Parameters
        ----------
        places : array of int
            The boxes, ascending.

        References
        ----------
        .. [1] Niederreiter (1992), Random Number Generation and Quasi-Monte Carlo
           Methods, Chapter 3.
        """
        starts = np.searchsorted(places, np.arange(len(self.values)))
        turns: Array = np.arange(len(places)) - starts[places]
        codes = np.zeros((len(places), len(self.grids)), dtype=np.uint64)
        base = _plastic(len(self.grids))
        for axis in range(len(self.grids)):
            first, last = self.first[places, axis], self.last[places, axis]
            lengths = (last - first).astype(np.float64) + 1.0
            shift = np.mod(0.5 + turns * base ** -(axis + 1.0), 1.0)
            steps = np.floor(shift * lengths).astype(np.uint64)
            codes[:, axis] = first + np.minimum(steps, last - first)
        return codes

    def _volumes(self) -> Array:
        lengths = (self.last - self.first).astype(np.float64) + 1.0
        return np.prod(lengths / lengths.max(axis=0), axis=1)


def _variance(ranges: Ranges, fanouts: Fanouts) -> float:
    """Return the variance of the fitted count of a box, in variances of one noise.

    A fit to counts y solves ``X'X z = X'y``, X telling which leaves are in a node. The
    sum of z over a box c varies by ``c' (X'X)^-1 c``: the fit to the box itself, as if
    its leaves had counted 1, summed over the box. No weight of a noise is above 1.
    """
    levels = [np.zeros(shape) for shape in tree_shapes(fanouts)]
    inside = tuple(slice(start, stop) for start, stop in ranges)
    levels[-1][inside] = 1.0
    return float(consistent(levels, fanouts)[inside].sum())


def _plastic(dimension: int) -> float:
    """Return the root above 1 of ``x^(d+1) = x + 1``: its powers are spread evenly."""
    root = 1.5
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1.0))
    return root
