"""Released counts along one grid: how many rows lie below each of some points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpframe.releases.cut_error import CutError
from dpframe.releases.ranges import everything

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpframe.grid import Grid
    from dpframe.noise import Noise
    from dpframe.releases.cut_error import StatedError, TreeError
    from dpframe.releases.ranges import Ranges

Array = np.ndarray[Any, np.dtype[Any]]


class Counted(NamedTuple):
    """Counts, and the same without and with all of the cells that an end cuts."""

    value: Array
    least: Array
    most: Array


_CROSSED: Final = [0, 2, 1]
"""A count is the least where the rows below its lower end are the most."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """Cells of one grid, in order, and what was released of their rows.

    Attributes
    ----------
    grid : Grid
    starts : array of uint64
        Where each cell begins: codes, ascending, the first one 0.
    below : array of float64
        Rows below each cell, and below the end: shape ``(cells + 1,)``, from 0 on,
        never decreasing.
    raw : array of float64
        Rows in each cell before clean-up, shape ``(cells,)``.
    error : TreeError or StatedError
        Of the rows of all intervals of whole cells.
    cut : bool
        Whether an end may cut a cell's rows anyhow. Not where `error` covers it.
    """

    grid: Grid
    starts: Array
    below: Array
    raw: Array
    error: TreeError | StatedError
    cut: bool = True

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited.

        Errors are measured against these numbers, at the rows' own codes. One row moves
        the largest error by one row only if the numbers never fall, and whether they
        can be read at all must not depend on where the rows are.
        """
        starts, below = self.starts, self.below
        if (starts.dtype, below.dtype) != (np.uint64, np.float64):
            msg = "a line has codes in uint64 and rows in float64"
            raise ValueError(msg)
        if starts.ndim != 1 or below.shape != (len(starts) + 1,):
            msg = "a line has one number of rows below each cell, and one in all"
            raise ValueError(msg)
        ascending = len(starts) and starts[0] == 0 and (starts[1:] > starts[:-1]).all()
        if not ascending or int(starts[-1]) >= self.grid.size:
            msg = "the cells of a line begin with the first code, and ascend"
            raise ValueError(msg)
        if below[0] != 0 or not (below[1:] >= below[:-1]).all() or np.isinf(below[-1]):
            msg = "the rows below a cell never fall"
            raise ValueError(msg)

    @property
    def rows(self) -> float:
        """All rows, as released."""
        return float(self.below[-1])

    @property
    def noise(self) -> Noise:
        """The law of the noise in each count that was released, in grid units."""
        return self.error.noise

    @property
    def unit(self) -> Fraction:
        """Rows in a grid unit."""
        return self.error.unit

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The one grid."""
        return (self.grid,)

    @property
    def widest_cuts(self) -> float:
        """How far the rows of cells that two ends cut may take an answer, at most."""
        if not self.cut:
            return 0.0
        held = np.diff(self.below)
        return float(np.sort(held[self._lasts > self.starts])[-2:].sum())

    @cached_property
    def _lasts(self) -> Array:
        """The last code of each cell."""
        return np.append(self.starts[1:] - np.uint64(1), np.uint64(self.grid.size - 1))

    def between(self, firsts: Sequence[int], stops: Sequence[int]) -> Counted:
        """Return the rows of ``first <= code < stop`` for some intervals."""
        value, least, most = (
            upper - lower
            for upper, lower in zip(
                self._around(stops), self._around(firsts)[_CROSSED], strict=True
            )
        )
        empty = np.array([f >= s for f, s in zip(firsts, stops, strict=True)])
        if not self.cut:
            least = most = value
        cells = (value, np.maximum(least, 0.0), most)
        return Counted(*(np.where(empty, 0.0, cell) for cell in cells))

    def counted(self, ranges: Ranges) -> tuple[float, CutError]:
        """Return the rows in an interval, and how far off they may be."""
        ((first, stop),) = ranges
        found = self.between([first], [stop])
        value, least, most = (float(cell[0]) for cell in found)
        error = CutError(law=self.error, below=value - least, above=most - value)
        return value, error

    @cached_property
    def total(self) -> tuple[float, CutError]:
        """All rows, and how far off they may be."""
        return self.counted(everything(self.grids))

    def counted_many(
        self, queries: Sequence[Ranges], confidence: float
    ) -> tuple[Array, Array, Array]:
        """Return the rows in intervals, and how far below and above they may be."""
        firsts = [first for ((first, _),) in queries]
        value, least, most = self.between(firsts, [stop for ((_, stop),) in queries])
        width = self.error.half_width(confidence, cells=1)
        return value, value - least + width, most - value + width

    def fraction(self, ranges: Ranges) -> tuple[float, CutError]:
        """Return the fraction of all rows in an interval, and how far off it may be.

        Let e be the error of the interval's rows and t their true share. The fraction
        errs by ``(1 - t) e`` less t times the error of the rest, over all rows. What is
        left of an interval with an open end is one interval, of others two.
        """
        ((first, stop),) = ranges
        value, error = self.counted(ranges)
        scale = 1 / self.rows if self.rows else 1.0
        times = 1.0 if first == 0 or stop == self.grid.size else 2.0
        return value * scale, replace(error, scale=scale, times=times)

    def unbiased(self, ranges: Ranges) -> float:
        """Return the rows in an interval before clean-up.

        Those of a cell that an end cuts are shared evenly among its codes.
        """
        ((first, stop),) = ranges
        return self._unbiased_below(stop) - self._unbiased_below(first)

    def prefixes(self, codes: Array) -> Array:
        """Return the rows below each code, an array of uint64 up to the size."""
        places = np.searchsorted(self.starts, codes, side="right") - 1
        starts = self.starts[places]
        # Whole numbers are subtracted: doubles above 2^53 are more than 1 apart.
        inside = (codes - starts).astype(np.float64)
        share = inside / ((self._lasts[places] - starts).astype(np.float64) + 1.0)
        low, high = self.below[places], self.below[places + 1]
        return low + np.clip(share, 0.0, 1.0) * (high - low)

    def codes_at(self, ranks: Array) -> Array:
        """Return the first codes, as uint64, with so many rows up to them."""
        last = len(self.starts) - 1
        places = np.searchsorted(self.below, ranks, side="left") - 1
        places = np.clip(places, 0, last)
        low, high = self.below[places], self.below[places + 1]
        held = np.maximum(high - low, 1e-300)
        share = np.clip((ranks - low) / held, 0.0, 1.0)
        most = self._lasts[places] - self.starts[places]
        passed = np.maximum(np.ceil(share * (most.astype(np.float64) + 1.0)) - 1.0, 0.0)
        passed = np.where(share < 1.0, passed, 0.0)  # 2^64 is no uint64
        steps = np.minimum(passed.astype(np.uint64), most)
        steps = np.where(share < 1.0, steps, most)
        return self.starts[places] + steps

    def codes(self, number: int) -> Array:
        """Return the codes of so many rows, spread as the released counts are."""
        if not self.rows:
            share = (np.arange(number) + 0.5) / max(number, 1)
            return (share * float(self.grid.size)).astype(np.uint64)
        return self.codes_at((np.arange(number) + 0.5) * (self.rows / max(number, 1)))

    @cached_property
    def _running(self) -> Array:
        """Rows below each cell, and in all, before clean-up."""
        return np.concatenate([[0.0], np.cumsum(self.raw)])

    def _unbiased_below(self, code: int) -> float:
        if code >= self.grid.size:
            return float(self._running[-1])
        place = int(np.searchsorted(self.starts, np.uint64(code), side="right")) - 1
        start, last = int(self.starts[place]), int(self._lasts[place])
        share = (code - start) / (last - start + 1)
        return float(self._running[place]) + share * float(self.raw[place])

    def _around(self, codes: Sequence[int]) -> Array:
        """Return the rows below codes, and below the ends of the cells they cut.

        Shape ``(3, codes)``, in the order of `Counted`.
        """
        size = self.grid.size
        inside = np.array([min(code, size - 1) for code in codes], dtype=np.uint64)
        value = self.prefixes(inside)
        places = np.searchsorted(self.starts, inside, side="right") - 1
        met = self.starts[places] == inside
        least = np.where(met, value, self.below[places])
        most = np.where(met, value, self.below[places + 1])
        beyond = np.array([code >= size for code in codes])
        return np.where(beyond, self.rows, np.stack([value, least, most]))
