"""A column's finite ordered public domain: what intervals and quantiles run over.

No private answer about intervals over the reals is accurate on every data set [1]_, so
a column is rounded to a grid of public points first: evenly spaced ones, or a list.
Each point has a code, `0` to `size - 1`.

References
----------
.. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
   Database Privacy, Cor. 5.2.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from dpframe.values import Kind

if TYPE_CHECKING:
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

MOST_POINTS: Final = 1 << 64
_EXACT: Final = 1 << 53
_ALIKE: Final = 10**9
_INT64: Final = 1 << 63


@dataclass(frozen=True, kw_only=True)
class EvenGrid:
    """Evenly spaced points: a value goes to the nearest, halfway ones upwards.

    A double that is a middle but for its rounding goes to either. A time goes to the
    last point that is not after it, as a moment goes to its day.

    Attributes
    ----------
    column : ColumnType
    low, step : Fraction
        The first point and the distance of the next, on the column's number line;
        whole numbers where that is whole.
    size : int
        The number of points, at most 2^64.
    """

    column: ColumnType
    low: Fraction
    step: Fraction
    size: int

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        broken = self.column.is_whole and (self.low % 1 or self.step % 1)
        if broken or self.step <= 0 or not 1 <= self.size <= MOST_POINTS:
            msg = "a grid has 1 to 2^64 points of its column, evenly spaced"
            raise ValueError(msg)

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        """The one column, as a tuple like that of the other axes."""
        return (self.column,)

    @property
    def high(self) -> Fraction:
        """The last point."""
        return self.point(self.size - 1)

    def point(self, code: int) -> Fraction:
        """Return where a point lies on the number line."""
        return self.low + code * self.step

    @property
    def shift(self) -> Fraction:
        """How far below a point lie the first values that go to it."""
        return Fraction(0) if self.column.kind.is_temporal else self.step / 2

    def code(self, number: Fraction) -> int:
        """Return the code of the point that a place on the number line goes to."""
        steps = math.floor((number - self.low + self.shift) / self.step)
        return min(max(steps, 0), self.size - 1)

    def above(self, number: Fraction) -> int:
        """Return how many points lie below a place: the code of the first that is not.

        A point is met by whatever the column holds as the same float, and within a
        billionth of a step: ends of intervals are sums as often as not.
        """
        here = self.code(number)
        if self._meets(here, number):
            return here
        steps = math.ceil((number - self.low) / self.step)
        return min(max(steps, 0), self.size)

    def upto(self, number: Fraction) -> int:
        """Return how many points lie at or below a place."""
        above = self.above(number)
        return above + (above < self.size and self._meets(above, number))

    def _meets(self, code: int, number: Fraction) -> bool:
        point = self.point(code)
        if same(self.column, point, number):
            return True
        return not self.column.is_whole and abs(point - number) <= self.step / _ALIKE

    def numbers(self, codes: Array) -> Array:
        """Return where points lie: whole numbers, or the nearest doubles."""
        whole = self.column.is_whole
        least, stride, parts = self._in_parts
        reach = max(abs(least), abs(least + stride * (self.size - 1)))
        if reach < (_INT64 if whole else _EXACT) and parts < _EXACT:
            steps = codes.astype(np.int64) * stride + least
            return steps if whole else steps / parts
        if whole:
            return codes.astype(object) * stride + least
        found = float(self.low) + codes.astype(np.float64) * float(self.step)
        return np.minimum(found, float(self.high))

    @cached_property
    def _in_parts(self) -> tuple[int, int, int]:
        """The first point and the step as whole numbers of one fraction."""
        parts = math.lcm(self.low.denominator, self.step.denominator)
        return int(self.low * parts), int(self.step * parts), parts


@dataclass(frozen=True, kw_only=True)
class ListedGrid:
    """Listed points in ascending order: a value goes to one as in an `EvenGrid`.

    Attributes
    ----------
    column : ColumnType
    points : tuple of Fraction
        At least two, on the column's number line.
    """

    column: ColumnType
    points: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        broken = self.column.is_whole and any(point % 1 for point in self.points)
        falling = any(after <= before for before, after in pairwise(self.points))
        if broken or falling or not self.points:
            msg = "listed points are those of their column, and ascend"
            raise ValueError(msg)

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        """The one column, as a tuple like that of the other axes."""
        return (self.column,)

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.points)

    @property
    def low(self) -> Fraction:
        """The first point."""
        return self.points[0]

    @property
    def high(self) -> Fraction:
        """The last point."""
        return self.points[-1]

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """For each point but the first, the least value that goes to it or beyond.

        Whole numbers where the number line is whole.
        """
        if self.column.kind.is_temporal:
            return tuple(int(point) for point in self.points[1:])
        middles = [(one + other) / 2 for one, other in pairwise(self.points)]
        if self.column.is_whole:
            return tuple(math.ceil(middle) for middle in middles)
        return tuple(float(middle) for middle in middles)

    def point(self, code: int) -> Fraction:
        """Return where a point lies on the number line."""
        return self.points[code]

    def code(self, number: Fraction) -> int:
        """Return the code of the point that a place on the number line goes to."""
        return sum(threshold <= number for threshold in self.thresholds)

    def above(self, number: Fraction) -> int:
        """Return how many points lie below a place; as those of an `EvenGrid`."""
        here = self.code(number)
        if same(self.column, self.points[here], number):
            return here
        return bisect_left(self.points, number)

    def upto(self, number: Fraction) -> int:
        """Return how many points lie at or below a place."""
        above = self.above(number)
        return above + (
            above < self.size and same(self.column, self.points[above], number)
        )

    def numbers(self, codes: Array) -> Array:
        """Return where points lie: whole numbers, or the nearest doubles."""
        if self.column.is_whole:
            table = np.array([int(point) for point in self.points], dtype=object)
            if all(abs(point) < _INT64 for point in self.points):
                table = table.astype(np.int64)
        else:
            table = np.array([float(point) for point in self.points])
        return table[codes.astype(np.int64)]


Grid: TypeAlias = EvenGrid | ListedGrid


def same(column: ColumnType, one: Fraction, other: Fraction) -> bool:
    """Whether a column holds two places on its number line as the same value."""
    if column.is_whole:
        return one == other
    if column.dtype != pl.Float32():
        return float(one) == float(other)
    with np.errstate(over="ignore"):
        return bool(np.float32(float(one)) == np.float32(float(other)))


def series(grid: Grid, codes: Array, name: str | None = None) -> pl.Series:
    """Return points as a column of the grid's own dtype."""
    column = grid.column
    label = column.name if name is None else name
    numbers = grid.numbers(codes)
    if column.kind is Kind.DECIMAL or numbers.dtype == object:
        distinct, places = np.unique(codes, return_inverse=True)
        values = [column.value(grid.point(int(code))) for code in distinct]
        return pl.Series(label, values, dtype=column.dtype).gather(places)
    found = pl.Series(label, numbers)
    if column.kind is Kind.DATE:
        return found.cast(pl.Int32).cast(column.dtype)
    return found.cast(column.dtype)
