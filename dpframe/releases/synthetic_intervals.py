"""A release that answers every interval, or box, and hands out synthetic rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.goal import checked_confidence
from dpframe.grid import series
from dpframe.releases.figures import COUNT, PRINTED, Figures, GridError
from dpframe.releases.interval_answers import (
    count_of,
    fraction_of,
    quantile_of,
    whole,
)
from dpframe.releases.line import Line
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.plot import plot_intervals
from dpframe.releases.quantiles import level_of, level_text
from dpframe.releases.ranges import asked, asked_by, listed
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.synthetic_rows import NoRowErrorError, SyntheticRows
from dpframe.table import Table, cell_text, enumeration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpframe.query import Measured
    from dpframe.releases.boxes import Boxes
    from dpframe.releases.hosts import Host

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_ROUNDED: Final = 0.5
"""How far a count may be rounded to whole rows."""


class SyntheticIntervals(SyntheticRows[N]):
    """Counts of every interval of a column, or box of several, and rows to match.

    Answers cost nothing more, however many are asked. Their error bars hold for all
    intervals of a column at once; for boxes, for each one that was chosen beforehand.

    Parameters
    ----------
    shape : Line or Boxes
        The cells and what was released of their rows.
    method : str
        How they were found.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes rows a native frame; not kept.
    """

    __slots__ = ("_method", "_shape")

    def __init__(
        self,
        *,
        shape: Line | Boxes,
        method: str,
        measured: Measured,
        host: Host[N],
    ) -> None:
        columns = [grid.column for grid in shape.grids]
        super().__init__(
            columns=columns,
            measured=measured,
            host=host,
            title=enumeration([column.name for column in columns]),
        )
        self._shape = shape
        self._method = method

    # Answers, for nothing

    def count(self, lo: object = None, hi: object = None) -> ScalarRelease[N]:
        """Return how many rows lie in an interval, or in a box.

        Parameters
        ----------
        lo, hi : value of the column, optional
            The ends, both included; None leaves an end open. For several columns one
            mapping of names to pairs: ``{"age": (20, 30), "bmi": (18, 25)}``; columns
            that it leaves out are open.

        Returns
        -------
        ScalarRelease
            Whole rows, at least 0, at a cost of 0.

        Accuracy
        --------
        Rows were clipped to the bounds before, and each went to a point of the grid:
        numbers to the nearest, times to the last one not after them. Points from `lo`
        to `hi` are counted. The error covers the noise; where a partition put several
        points in a cell, also rows anywhere in a cell that an end cuts.

        Raises
        ------
        ParameterTypeError
            If an end is not of the column's kind.
        ParameterError
            If the ends are reversed, or a column is none of the release's.
        """
        ranges, words = asked(self._shape.grids, lo, hi)
        figures = count_of(self._shape, ranges)
        return self._answer(figures, f"count of {words}")

    def count_many(self, queries: object, *, confidence: float = 0.95) -> Table:
        """Return how many rows lie in each of many intervals, or boxes.

        Parameters
        ----------
        queries : list, or array of shape ``(n, 2)``
            Pairs of ends, or mappings of columns to pairs, as `count` takes them.
        confidence : float, default 0.95
            In ``(0, 1)``, of the ends `lower` and `upper`.

        Returns
        -------
        Table
            One row for each query: `count`, `lower` and `upper`, in rows; at no cost.

        Raises
        ------
        ParameterTypeError, ParameterError
            As `count`.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 2000})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), bounds={"days": (0, 63)}
        ... )
        >>> synth = stays.dp.synthetic_intervals("days", epsilon=0.5)
        >>> synth.count_many([(0, 7), (8, None)]).to_polars().columns
        ['count', 'lower', 'upper']
        """
        level = checked_confidence(confidence)
        shape = self._shape
        found = [asked_by(shape.grids, query).ranges for query in listed(queries)]
        value, below, above = shape.counted_many(found, level)
        ends = (np.maximum(value - below, 0.0), np.maximum(value + above, 0.0))
        return Table(
            pl.DataFrame(
                {
                    "count": whole(value),
                    "lower": np.floor(ends[0]),
                    "upper": np.ceil(ends[1]),
                }
            )
        )

    def fraction(self, lo: object = None, hi: object = None) -> ScalarRelease[N]:
        """Return which fraction of the rows lies in an interval, or in a box.

        Parameters are those of `count`.

        Returns
        -------
        ScalarRelease
            Between 0 and 1, at a cost of 0. Where the number of rows is within its own
            error of 0 its interval is all of that.
        """
        ranges, words = asked(self._shape.grids, lo, hi)
        figures = fraction_of(self._shape, ranges, low_count=self.low_count)
        return self._answer(figures, f"fraction of {words}")

    def cdf(self, x: object) -> ScalarRelease[N]:
        """Return which fraction of the rows of one column lies at or below a value."""
        return self.fraction(None, x)

    def quantile(self, q: object) -> ScalarRelease[N]:
        """Return the value that a fraction q of the rows of one column reaches.

        Parameters
        ----------
        q : float
            In ``[0, 1]``.

        Returns
        -------
        ScalarRelease
            The least point with at least that fraction of the rows at or below it, in
            the column's own type (a Boolean as 0 or 1), at a cost of 0.

        Raises
        ------
        ParameterError
            If q is out of range, or the release is of several columns.
        """
        line, level = self._line("quantile"), level_of(q)
        figures = quantile_of(line, level, low_count=self.low_count)
        return self._answer(figures, f"{level_text(level)} quantile of {figures.name}")

    def alpha(self, confidence: float = 0.95) -> float:
        """Return the largest error of any interval, as a fraction of the rows.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: with which chance every interval is answered that well.

        Returns
        -------
        float
            Of the released number of rows. Where that is small, or 0, the error may
            well be more than all of it: then this is above 1, or infinite.
        """
        width = self.accuracy(confidence)
        return width / self._shape.rows if self._shape.rows else math.inf

    def evaluate(
        self,
        frame: Any,
        queries: object = None,
        *,
        epsilon: object = None,
        rho: object = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[Any]:
        """Measure the largest error on a private frame: a release that is paid for.

        The same as ``frame.dp.largest_error(self, queries, ...)``, which says what it
        means.

        Parameters
        ----------
        frame : PrivateFrame
            Whose rows the answers are compared with, and whose budget pays.
        queries : list, optional
            Pairs ``(lo, hi)``, or mappings of columns to such pairs. Default: all
            intervals of the one column.
        epsilon, rho : float, optional
            Privacy loss of this release, exactly one of them.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In rows, at least 0.

        Raises
        ------
        ParameterTypeError
            If `frame` is none.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 2000})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 63)}
        ... )
        >>> synth = stays.dp.synthetic_intervals("days", epsilon=0.5)
        >>> synth.evaluate(stays, [(0, 7)], epsilon=0.5).value < 200
        True
        """
        found: ScalarRelease[Any] = self.measured_on(
            frame, queries, epsilon=epsilon, rho=rho, allow_weak=allow_weak
        )
        return found

    @property
    def shape(self) -> Line | Boxes:
        """The cells and what was released of their rows, as the mechanism made them."""
        return self._shape

    @property
    def method(self) -> str:
        """How the cells were found: ``"tree"``, ``"privtree"`` and so on."""
        return self._method

    # What every release says

    @property
    def raw(self) -> Array:
        """The unbiased noisy counts of the cells, in rows.

        Of a binary search, which counts no cell, those that it found.
        """
        return self._shape.raw.copy()

    @property
    def noise(self) -> NoiseLaw:
        """The family and scale of the noise in each count, in rows."""
        shape = self._shape
        return NoiseLaw.of(GridError(noise=shape.noise, unit=shape.unit), COUNT)

    @property
    def low_count(self) -> bool:
        """Whether the released number of rows is within its own error of 0."""
        rows, error = self._shape.total
        return rows <= float(error.half_width(PRINTED, cells=1)[0])

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> float:
        """Return the largest error of any interval of one column, in rows.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: with which chance every interval is answered that well.
        joint : bool
            No difference: it holds for all intervals at once.

        Raises
        ------
        ParameterError
            For several columns: each box has an error of its own.
        """
        del joint
        line = self._line("one accuracy for all")
        level = checked_confidence(confidence)
        width = float(line.error.half_width(level, cells=1)[0])
        return width + line.widest_cuts

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of rows below each value, with its 95% band.

        Of several columns, the synthetic rows on the first two.
        """
        return plot_intervals(self, ax)

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {"shape": self._shape, "method": self._method}

    @classmethod
    def display_name(cls) -> str:
        """Return the word that a printed release starts with."""
        return "SyntheticIntervals"

    def headline(self) -> str:
        """Return the columns, the points of their grids and the error."""
        points = " × ".join(str(grid.size) for grid in self._shape.grids)
        parts = [cell_text(self._title), f"{points} points", self._method]
        if isinstance(self._shape, Line):
            width = np.ceil(self.accuracy(PRINTED) + _ROUNDED)
            known = np.isfinite(width)
            rows = f"± {width:.0f} rows" if known else "of unknown error"
            parts.append(f"any interval {rows}")
        if self.low_count:
            parts.append("low count")
        return ", ".join(parts)

    # Rows, made when they are first asked for

    @property
    def row_count(self) -> int:
        """The released number of rows."""
        return round(self._shape.rows)

    def columns_of(self, number: int) -> list[pl.Series]:
        """Return so many rows, spread as evenly as the released counts allow."""
        codes = self._shape.codes(number).reshape(number, len(self._shape.grids))
        return [
            series(grid, codes[:, axis]) for axis, grid in enumerate(self._shape.grids)
        ]

    def no_error(self) -> NoRowErrorError:
        """Return what says that rows have no error bars, and which answers have."""
        msg = "Synthetic rows have no error bars."
        hint = "ask .count(lo, hi), or .accuracy() for the most."
        return NoRowErrorError(msg, hint=hint)

    # Inside

    def _line(self, what: str) -> Line:
        if isinstance(self._shape, Line):
            return self._shape
        msg = f"Boxes of several columns have no {what}."
        raise ParameterError(msg, hint="ask .count({...}) for one box and its error.")

    def _answer(self, figures: Figures, title: str) -> ScalarRelease[N]:
        return ScalarRelease(
            figures=figures, measured=self.free(), host=self._host, title=title
        )
