"""Figures of a release and how far off they may be, cell by cell.

Values and errors lie on the number line of a column (days, microseconds, plain
numbers); `Figures` turns them into the column's own type at the very end. The
error is that of the noise alone: clipping and sampling are not in it.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.outlook import sides_of
from dpframe.releases.error_bounds import Alike
from dpframe.releases.noise_sums import sum_bound
from dpframe.values import PER_SECOND, ColumnType, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.noise import Noise
    from dpframe.outlook import ErrorLaw, Law
    from dpframe.releases.noise_sums import Independent

Array = np.ndarray[Any, np.dtype[Any]]

PRINTED: Final = 0.95
"""The confidence of every ± in print."""

COUNT: Final = ColumnType("count", pl.Int64(), Kind.INTEGER)
"""The number line of counts."""

FRACTION: Final = ColumnType("fraction", pl.Float64(), Kind.FLOAT)
"""The number line of fractions of the rows."""

RANK: Final = ColumnType("rank", pl.Int64(), Kind.INTEGER)
"""What the errors of quantiles are counted in: rows."""

INT64: Final = (-(2**63), 2**63 - 1)
"""The whole numbers that a column of a table holds."""

_DAY: Final = 86_400
_LONGEST: Final = dt.timedelta.max // dt.timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True)
class GridError(Alike):
    """The error of a noisy whole number times a public unit: exact."""

    noise: Noise
    unit: Fraction

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the noise's own accuracy; the same for every cell."""
        steps = self.noise.accuracy(confidence, cells)
        return np.array([float(steps * self.unit)])

    def stddev(self) -> Array:
        """Return the noise's standard deviation."""
        return np.array([math.sqrt(self.noise.variance) * float(self.unit)])


@dataclass(frozen=True, kw_only=True)
class WeightedError:
    """The error of a ratio: a weighted sum of independent noises, to first order.

    Attributes
    ----------
    noise : DiscreteLaplace or DiscreteGaussian
        The law of each noise.
    weights : array
        How much of each noise enters each cell, shape ``(cells, noises)``, in
        number-line units.
    square : array or None
        Weights of a second sum whose square adds to the error, in units whose
        square is that of the number line (a variance's mean).
    """

    noise: Independent
    weights: Array
    square: Array | None = None

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return a bound on the sum, its miss shared equally among the cells."""
        share = (1 - confidence) / cells
        if self.square is None:
            return sum_bound(self.noise, self.weights, share)
        width = sum_bound(self.noise, self.weights, share / 2)
        return width + sum_bound(self.noise, self.square, share / 2) ** 2

    def stddev(self) -> Array:
        """Return the first-order standard deviation."""
        return np.sqrt((self.weights**2).sum(axis=1) * self.noise.variance)

    def cell(self, place: int) -> WeightedError:
        """Return the error of one cell."""
        only = slice(place, place + 1)
        shared = len(self.weights) == 1
        square = self.square
        return replace(
            self,
            weights=self.weights if shared else self.weights[only],
            square=square if shared or square is None else square[only],
        )


@dataclass(frozen=True, kw_only=True)
class RootError:
    """The error of a square root, at worst: the root of the square's error."""

    square: ErrorLaw

    @property
    def noise(self) -> Law:
        """The law of the noise in the square."""
        return self.square.noise

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return the root of the square's bound."""
        return np.sqrt(self.square.half_width(confidence, cells=cells))

    def stddev(self) -> Array:
        """Return the root of the square's standard deviation."""
        return np.sqrt(self.square.stddev())

    def cell(self, place: int) -> RootError:
        """Return the error of one cell."""
        return RootError(square=self.square.cell(place))


@dataclass(frozen=True, kw_only=True)
class SimulatedError:
    """The error of figures that depend on many noises: the noise drawn again.

    Attributes
    ----------
    noise : Noise
        The law of the noise in the sums.
    deviations : array
        How far redrawn noise moved each figure, shape ``(draws, cells)``.
    """

    noise: Noise
    deviations: Array

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return quantiles of the deviations, for one cell or all together."""
        sizes = np.abs(self.deviations)
        if cells == 1:
            return np.quantile(sizes, confidence, axis=0, method="higher")
        spread = np.maximum(self.stddev(), 1e-300)
        widest = (sizes / spread).max(axis=1)
        return spread * np.quantile(widest, confidence, method="higher")

    def stddev(self) -> Array:
        """Return the deviations' root mean square."""
        return np.sqrt((self.deviations**2).mean(axis=0))

    def cell(self, place: int) -> SimulatedError:
        """Return the error of one cell."""
        return replace(self, deviations=self.deviations[:, place : place + 1])


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One measure of a release: a value for each cell, and its error.

    Attributes
    ----------
    name : str
        The measure's column in tables.
    column : ColumnType
        The number line its values lie on.
    values : array
        After post-processing, shape ``(cells,)``: whole numbers, floats, or exact
        fractions as objects.
    centre : array
        Before it (not clamped to `low` and `high`), on the same number line.
    raw : mapping
        The noised statistics behind it, by name: unbiased, multiples of their grid.
    error : ErrorLaw
        The error of `centre`.
    low, high : number, array or None
        Public range of the values; an array where each cell has its own.
    low_count : array or None
        Cells whose noisy count is within its own error of 0: the whole range is
        their interval.
    rooted : bool
        Whether values are square roots: then `centre` and `error` are those of the
        square, and so is the range.
    error_line : ColumnType or None
        What the error is counted in, where that is not the values' own number line.
        Then it says nothing of how far off a value is, but for the range.
    """

    name: str
    column: ColumnType
    values: Array
    centre: Array
    raw: Mapping[str, Array]
    error: ErrorLaw
    low: Fraction | Array | None = None
    high: Fraction | Array | None = None
    low_count: Array | None = None
    rooted: bool = False
    error_line: ColumnType | None = None

    def interval(self, confidence: float, *, joint: bool) -> tuple[Array, Array]:
        """Return lower and upper ends for each cell, on the number line, as floats."""
        cells = self._cells(joint=joint)
        below, above = sides_of(self.error, confidence, cells=cells)
        least, most = self.range
        centre = np.clip(self.centre.astype(np.float64), least, most)
        lower = np.clip(centre - below, least, most)
        upper = np.clip(centre + above, least, most)
        if self.low_count is not None:
            lower = np.where(self.low_count, least, lower)
            upper = np.where(self.low_count, most, upper)
        if self.rooted:
            return np.sqrt(np.maximum(lower, 0)), np.sqrt(np.maximum(upper, 0))
        return lower, upper

    @property
    def value_range(self) -> tuple[Any, Any]:
        """The public range of the values: the root of `range` where they are roots."""
        least, most = self.range
        if self.rooted:
            return np.sqrt(np.maximum(least, 0)), np.sqrt(most)
        return least, most

    @property
    def range(self) -> tuple[Any, Any]:
        """The public range as floats, or arrays of them; infinite where it has none."""
        least, most = self.low, self.high
        return (
            -math.inf if least is None else np.asarray(least, dtype=np.float64),
            math.inf if most is None else np.asarray(most, dtype=np.float64),
        )

    @property
    def whole_range(self) -> tuple[Array, Array]:
        """The ends of the public range for each cell, exactly.

        All that is known of a value whose error is counted in something else.
        """
        number = int if self.column.is_whole else float
        ends = (number(end) for end in (self.low or 0, self.high or 0))
        low, high = (np.full(len(self.values), end) for end in ends)
        return low, high

    def cell(self, place: int, *, name: str) -> Figures:
        """Return one cell as figures of their own."""
        only = slice(place, place + 1)
        return replace(
            self,
            name=name,
            values=self.values[only],
            centre=self.centre[only],
            raw={label: numbers[only] for label, numbers in self.raw.items()},
            error=self.error.cell(place),
            low=self.low[only] if isinstance(self.low, np.ndarray) else self.low,
            high=self.high[only] if isinstance(self.high, np.ndarray) else self.high,
            low_count=None if self.low_count is None else self.low_count[only],
        )

    def accuracy(self, confidence: float, *, joint: bool) -> Array:
        """Return half-widths around the values, on the number line, as floats.

        Clamping to the range brings a value no further from the truth, so the error
        of `centre` holds for it too; no error reaches beyond the range. Rounding to
        whole numbers may take it half a step away.
        """
        width = self.error.half_width(confidence, cells=self._cells(joint=joint))
        if self.error_line is not None:
            return np.broadcast_to(width, self.values.shape)
        width = np.broadcast_to(width, self.values.shape) + self._rounding
        if not self.rooted and self.low_count is None:
            return width
        values = self.values.astype(np.float64)
        least, most = self.value_range
        if self.rooted:
            square = values**2
            below = values - np.sqrt(np.maximum(square - width, 0))
            width = np.maximum(below, np.sqrt(square + width) - values)
        whole = np.maximum(values - least, most - values)
        if self.low_count is None:
            return np.minimum(width, whole)
        return np.where(self.low_count, whole, np.minimum(width, whole))

    def stddev(self) -> Array:
        """Return the noise's standard deviation for each cell, to first order.

        That of a root is at most the root of its square's, as far down as 0.
        """
        spread = np.broadcast_to(self.error.stddev(), self.values.shape)
        if self.rooted:
            slope = np.maximum(2 * self.values.astype(np.float64), np.sqrt(spread))
            return spread / slope
        return spread

    def value(self, cell: int = 0) -> Any:
        """Return a value as the column's own Python type."""
        return self.column.value(Fraction(self.values.item(cell)))

    def series(
        self, numbers: Array | None = None, name: str | None = None
    ) -> pl.Series:
        """Return the values (or other points of the number line) as a column."""
        points = self.values if numbers is None else numbers
        label = self.name if name is None else name
        if self.column.kind is Kind.FLOAT:
            return pl.Series(label, points.astype(np.float64), dtype=pl.Float64)
        if self.column.kind is Kind.INTEGER and self.column.dtype != pl.Int64:
            return pl.Series(label, points.tolist(), dtype=self.column.dtype)
        if self.column.kind is Kind.INTEGER:
            if points.dtype.kind == "f" and (np.abs(points) < 2.0**63).all():
                points = points.astype(np.int64)
            if points.dtype != np.int64:
                points = np.array(
                    [min(max(int(x), INT64[0]), INT64[1]) for x in points], np.int64
                )
            return pl.Series(label, points)
        if self.column.kind.is_temporal and points.dtype == np.int64:
            whole = pl.Series(label, points)  # Python's times end at microseconds
            days = self.column.kind is Kind.DATE
            return whole.cast(pl.Int32 if days else pl.Int64).cast(self.column.dtype)
        cells = [self.column.value(Fraction(point)) for point in points.tolist()]
        return pl.Series(label, cells, dtype=self.column.dtype)

    def distance(self, length: float) -> Any:
        """Return a length of the number line as a number or a timedelta."""
        return column_length(self.line_of_error, length)

    @property
    def line_of_error(self) -> ColumnType:
        """The number line of the error."""
        return self.column if self.error_line is None else self.error_line

    @property
    def _rounding(self) -> float:
        """How far the values may have been rounded, on the number line."""
        error = self.error
        is_exact = isinstance(error, GridError) and error.unit.denominator == 1
        was_whole = self.centre.dtype.kind in "iu"  # the point of a grid, for example
        rounded = self.column.is_whole and not is_exact and not was_whole
        return 0.5 if rounded else 0.0

    def _cells(self, *, joint: bool) -> int:
        return len(self.values) if joint else 1


def column_length(column: ColumnType, length: float) -> Any:
    """Return a length of a column's number line as a number or a timedelta.

    The longest timedelta stands for all that are longer.
    """
    if column.kind.is_temporal:
        whole = column.kind is Kind.DATE
        seconds = length * _DAY if whole else length / PER_SECOND[column.time_unit]
        return dt.timedelta(seconds=min(seconds, _LONGEST))
    if column.kind is Kind.DECIMAL:
        return length / 10**column.scale
    return length


def whole_booleans(figures: Figures) -> Figures:
    """Return figures of a Boolean column as whole numbers, where they are some."""
    if figures.column.kind is not Kind.BOOLEAN or figures.error_line is not None:
        return figures
    column = ColumnType(figures.column.name, pl.Int64(), Kind.INTEGER)
    return replace(figures, column=column)


def low_counts(figures: Figures) -> Array:
    """Return, for each cell, whether a noisy count is within its error of 0."""
    if figures.low_count is not None:
        return figures.low_count.astype(np.bool_)
    if figures.column != COUNT:
        return np.zeros(len(figures.values), dtype=np.bool_)
    width = figures.error.half_width(PRINTED, cells=1)
    return figures.centre.astype(np.float64) <= width
