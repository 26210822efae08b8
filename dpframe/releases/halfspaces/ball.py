"""Columns scaled into the unit ball, and the planes that cut it.

A column with public bounds is y in [-1, 1], and a row of d columns ``x = y / sqrt(d)``.
A question ``w · row >= offset`` in the columns' own units is the plane
``<x, n> = b`` with a unit normal n there.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.declare import public_value
from dpframe.errors import ParameterError
from dpframe.grid import series
from dpframe.releases.halfspaces.weights import numbers, read_weights
from dpframe.values import Kind

if TYPE_CHECKING:
    from dpframe.grid import EvenGrid

Array = np.ndarray[Any, np.dtype[Any]]

TIE: Final = 2.0**-40
"""Sums this little short of an offset reach it: floats round them by less."""

ROUNDED: Final = 2.0**-20
"""Rows that were made whole numbers lie within half of this of where they are."""

_CLOSE: Final = 1e-12
"""Cosines that differ by less are the same, but for rounding."""

_FAR: Final = 2.0**24
"""Places of rows, in halves of their bounds, beyond which floats are too coarse."""

_LARGEST: Final = Fraction(sys.float_info.max)
_VECTOR: Final = 1


@dataclass(frozen=True, kw_only=True)
class Planes:
    """Planes in the unit ball: rows with ``<x, normal> >= offset`` are above them.

    Attributes
    ----------
    normals : array of float64
        Unit vectors, shape ``(planes, d)``.
    offsets : array of float64
        Shape ``(planes,)``.
    """

    normals: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def least(self) -> Array:
        """From where on sums reach the offset: a `TIE` below it."""
        return self.offsets - TIE

    def moved(self, by: float) -> Planes:
        """Return the same planes, further along their normals."""
        return Planes(normals=self.normals, offsets=self.offsets + by)


@dataclass(frozen=True, kw_only=True)
class UnitBall:
    """How rows of some columns are put into the unit ball.

    Attributes
    ----------
    grids : tuple of EvenGrid
        The points that synthetic rows lie on, by column.
    limits : tuple of pair of Fraction
        The bounds of each column, on its number line.
    """

    grids: tuple[EvenGrid, ...]
    limits: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        pairs = len(self.limits) == len(self.grids)
        if not pairs or any(not low < high for low, high in self.limits):
            msg = "each column of a unit ball has two bounds"
            raise ValueError(msg)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(grid.column.name for grid in self.grids)

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.grids)

    @cached_property
    def middle(self) -> Array:
        """The middle of each column's bounds, in its own unit."""
        return np.array([float((lo + hi) / 2 * unit) for lo, hi, unit in self._sized])

    @cached_property
    def half(self) -> Array:
        """Half the width of each column's bounds, in its own unit."""
        return np.array([float((hi - lo) / 2 * unit) for lo, hi, unit in self._sized])

    @property
    def _sized(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """The bounds, and what a step of the number line is in the column's unit."""
        return [
            (low, high, Fraction(10) ** -grid.column.scale)
            for grid, (low, high) in zip(self.grids, self.limits, strict=True)
        ]

    @cached_property
    def reach(self) -> Array:
        """How far from a point's x rows may lie that went to it: half a step.

        Floats a little further, by what they round to where the bounds are. Whole
        numbers that are points themselves are nowhere else.
        """
        found: list[float] = []
        for grid, (low, high) in zip(self.grids, self.limits, strict=True):
            apart = Fraction(math.ulp(float(max(abs(low), abs(high)))))
            steps = grid.step + 4 * apart
            if grid.column.is_whole:
                steps = grid.step if grid.step > 1 else Fraction(0)
            found.append(float(steps / (high - low)))
        return np.array(found) / math.sqrt(self.dimension) + (np.array(found) > 0) * TIE

    def places(self, codes: Array) -> Array:
        """Return points of the grids as x: shapes ``(n, d)`` of uint64 and floats."""
        found = np.empty(codes.shape)
        for axis, (grid, (low, high)) in enumerate(
            zip(self.grids, self.limits, strict=True)
        ):
            half = (high - low) / 2
            start, step = (grid.low - low) / half - 1, grid.step / half
            found[:, axis] = codes[:, axis] * float(step) + float(start)
        return np.clip(found, -1, 1) / math.sqrt(self.dimension)

    def columns(self, codes: Array) -> list[pl.Series]:
        """Return points of the grids as columns: within the bounds, rounded or not."""
        found: list[pl.Series] = []
        for axis, (grid, limits) in enumerate(
            zip(self.grids, self.limits, strict=True)
        ):
            column = series(grid, codes[:, axis])
            if grid.column.kind is Kind.FLOAT:
                column = column.clip(*_held(limits, column.dtype.base_type()))
            found.append(column)
        return found

    def codes(self, places: Array) -> Array:
        """Return the points of the grids that are nearest to some x."""
        found = np.empty(places.shape, dtype=np.uint64)
        y = places * math.sqrt(self.dimension)
        for axis, (grid, (low, high)) in enumerate(
            zip(self.grids, self.limits, strict=True)
        ):
            half = (high - low) / 2
            start, step = (grid.low - low) / half - 1, grid.step / half
            steps = np.rint((y[:, axis] - float(start)) / float(step))
            found[:, axis] = np.clip(steps, 0, float(grid.size - 1)).astype(np.uint64)
        return found

    def lengths(self, margin: float) -> dict[str, float]:
        """Return how far apart rows are in each column, in its own unit, by a margin.

        Rows that differ in that column alone.
        """
        far = margin * math.sqrt(self.dimension) * self.half
        return dict(zip(self.names, far.tolist(), strict=True))

    def planes(self, weights: object, offsets: object, *, scaled: bool) -> Planes:
        """Return the planes that some questions ask for.

        Parameters
        ----------
        weights : array, sequence or mapping
            Of one question or several, in any form that `read_weights` takes.
        offsets : float or sequence of float
            One for all, or one each; several of one direction are as many questions.
        scaled : bool
            Whether both are meant in the unit ball.

        Raises
        ------
        ColumnNotFoundError
            If a mapping names another column.
        ParameterTypeError
            If something is no number, or a list of them.
        ParameterError
            If a direction is zero, not finite, or of the wrong length.
        """
        asked = read_weights(weights, self.names)
        given = numbers(public_value(offsets), what="an offset")
        if given.ndim == _VECTOR and len(asked) == 1:
            asked = np.repeat(asked, given.size, axis=0)
        if given.ndim > _VECTOR or given.size not in {1, len(asked)}:
            shape = " x ".join(map(str, given.shape)) or "1"
            msg = f"There are {len(asked)} directions and {shape} offsets."
            raise ParameterError(msg, hint="pass one offset for all, or one for each.")
        wanted = np.broadcast_to(given.reshape(-1), len(asked))
        # The longest weight becomes 1 first, so that no product or square overflows.
        # Offsets may: these planes are beyond all rows.
        longest = np.abs(asked).max(axis=1, initial=0.0)
        if not (longest > 0).all():
            msg = "A direction is zero: every weighted sum is 0."
            raise ParameterError(msg, hint="give some column a weight that is not 0.")
        w = asked / longest[:, None]
        with np.errstate(over="ignore"):
            b = wanted / longest
            if not scaled:
                reach = np.abs(w * self.half).max(axis=1, initial=0.0)
                far = np.abs(b) + np.abs(w * self.middle).sum(axis=1) > _FAR * reach
                b = b - w @ self.middle
                for place in np.flatnonzero(far):  # a difference of large numbers
                    exact = self._moved(asked[place], wanted[place])
                    b[place] = _float(exact / Fraction(longest[place]))
                w = w * (self.half / reach[:, None]) * math.sqrt(self.dimension)
                b = b / reach
            norms = np.sqrt((w * w).sum(axis=1))
            b = b / norms
        return Planes(normals=w / norms[:, None], offsets=np.clip(b, -2.0, 2.0))

    def _moved(self, weights: Array, offset: float) -> Fraction:
        """Return an offset from the middle of the bounds, without rounding."""
        found = Fraction(offset)
        for w, (low, high, unit) in zip(weights.tolist(), self._sized, strict=True):
            found -= Fraction(w) * (low + high) / 2 * unit
        return found

    def own(self, normal: Array, offset: float) -> tuple[dict[str, float], float]:
        """Return a plane as weights by column and an offset, in the columns' units."""
        w = normal / (self.half * math.sqrt(self.dimension))
        longest = np.abs(w).max()
        w = w / longest
        shift = float(w @ self.middle)
        return (
            dict(zip(self.names, w.tolist(), strict=True)),
            offset / float(longest) + shift,
        )


def nearest(cosines: Array) -> Array:
    """Return the place of the longest cosine in each row: of equal ones, the first.

    So that a plane between two directions has one answer, alone or among others.
    """
    return np.rint(np.abs(cosines) / _CLOSE).argmax(axis=1)


def _held(limits: tuple[Fraction, Fraction], dtype: type[pl.DataType]) -> list[float]:
    """Return the lowest and the highest float of a dtype within limits."""
    kind = np.float32 if dtype is pl.Float32 else np.float64
    ends: list[float] = []
    for limit, sign in zip(limits, (1, -1), strict=True):
        end = kind(float(limit))
        if sign * Fraction(float(end)) < sign * limit:
            end = np.nextafter(end, kind(sign * math.inf))
        ends.append(float(end))
    return ends


def _float(value: Fraction) -> float:
    """Return a number as a float; one that is too large as the largest of its sign."""
    return float(max(min(value, _LARGEST), -_LARGEST))
