"""A release of figures in public cells: a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.goal import checked_confidence
from dpframe.releases.answer import Release
from dpframe.releases.figures import (
    PRINTED,
    Figures,
    GridError,
    low_counts,
    whole_booleans,
)
from dpframe.releases.hosts import handed_out
from dpframe.releases.intervals import Sampling, ends, lengths, point_columns
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.plot import plot_table
from dpframe.releases.rounding import error_phrase, shown_cell
from dpframe.releases.scalar import ScalarRelease
from dpframe.table import Table, aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from dpframe.query import Measured
    from dpframe.releases.hosts import Host

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_SHOWN: Final = 20


class NoOtherCellError(ParameterError, AttributeError):
    """The release has no cell for what is in no other."""


class TableRelease(Release[N]):
    """Released figures in public cells, one row for each.

    Parameters
    ----------
    keys : pl.DataFrame
        Key columns, one row per cell, in declared order.
    like : mapping
        Key column to the frame's column whose host dtype it takes.
    figures : tuple of Figures
        The measures, each with a value for every cell.
    shape : tuple of int
        Cells along each axis, without the `other` cell.
    other : bool
        Whether the last row is the cell for what is in no other.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes the table a native frame; not kept.
    title : str
        What was released, in words.
    sampling : mapping, optional
        By measure, the error of the sample itself.
    """

    __slots__ = ("_figures", "_keys", "_other", "_raw", "_sampling", "_shape")

    def __init__(
        self,
        *,
        keys: pl.DataFrame,
        like: Mapping[str, str],
        figures: tuple[Figures, ...],
        shape: tuple[int, ...],
        other: bool,
        measured: Measured,
        host: Host[N],
        title: str,
        sampling: Mapping[str, Sampling] | None = None,
    ) -> None:
        if math.prod(shape) + other != len(figures[0].values):
            msg = "every cell needs a figure"
            raise ValueError(msg)
        self._figures = tuple(whole_booleans(measure) for measure in figures)
        self._keys = keys
        self._shape = shape
        self._sampling = dict(sampling or {})
        super().__init__(
            table=_beside(keys, [measure.series() for measure in self._figures]),
            like=like,
            measured=measured,
            host=host,
            title=title,
        )
        self._raw: N = host(
            _beside(keys, [c for f in self._figures for c in _raw_columns(f)]), like
        )
        self._other: ScalarRelease[N] | None = None
        if other:
            self._other = ScalarRelease(
                figures=_last_cell(self._figures),
                measured=measured,
                host=host,
                title=f"{title}, other",
            )

    @property
    def value(self) -> Any:
        """The table, in the library that the data came from."""
        return self.handed_out()

    @property
    def raw(self) -> N:
        """The keys with the unbiased noisy figures behind each measure.

        Of quantiles, which have none, the values.
        """
        return handed_out(self._raw)

    @property
    def other(self) -> ScalarRelease[N]:
        """The cell for what is in no other.

        Raises
        ------
        NoOtherCellError
            If the table was asked for without it.
        """
        if self._other is None:
            msg = "This table has no cell for what is in no other."
            raise NoOtherCellError(msg, hint="ask for it with other=True.")
        return self._other

    @property
    def noise(self) -> NoiseLaw | dict[str, NoiseLaw]:
        """The family and scale of the noise; by measure where there are several."""
        laws = {measure.name: NoiseLaw.of_figures(measure) for measure in self._figures}
        return laws if len(laws) > 1 else laws[self._figures[0].name]

    @property
    def low_count(self) -> Array:
        """For each cell, whether its noisy count is within its own error of 0."""
        return np.any([low_counts(measure) for measure in self._figures], axis=0)

    @property
    def stddev(self) -> Array | Table:
        """Standard deviation of the noise, for each cell; shaped as `accuracy`.

        Of quantiles and of a cdf, what their error is within in 68% of releases.
        """
        return self._lengths([measure.stddev() for measure in self._figures])

    def accuracy(
        self, confidence: float = 0.95, *, joint: bool = False
    ) -> Array | Table:
        """Return the half-width of the noise for each cell, in the answer's unit.

        That of a quantile is its rank error, in rows.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: of each cell, or of all together where `joint`.
        joint : bool, default False
            Whether all cells of a measure keep it together.

        Returns
        -------
        array or Table
            Shape ``(rows,)``, floats or timedeltas; where there are several
            measures, a table of the keys and one column for each.
        """
        level = checked_confidence(confidence)
        return self._lengths([m.accuracy(level, joint=joint) for m in self._figures])

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> Table:
        """Return a confidence interval for each cell.

        How far a quantile is off in values is not known: its interval is the whole
        public range.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: of each cell, or of all together where `joint`.
        joint : bool, default False
            Whether all cells of a measure keep it together.
        population : bool, default False
            Whether to cover the sampling of the rows as well as the noise.

        Returns
        -------
        Table
            The keys, `lower` and `upper`; ``<measure>_lower`` and
            ``<measure>_upper`` where there are several measures.

        Raises
        ------
        ParameterError
            If `population` is asked of a measure that does not offer it.
        """
        level = checked_confidence(confidence)
        columns = self._interval_columns(level, joint=joint, population=population)
        return Table(_beside(self._keys, columns))

    def interval_columns(self, confidence: float) -> list[pl.Series]:
        """Return the ends of the intervals as columns that fit the table."""
        return self._interval_columns(confidence)

    def to_numpy(self) -> Array:
        """Return the figures, shaped by the keys and without the `other` cell.

        Several measures are along a last axis.
        """
        cells = math.prod(self._shape)
        measures = [self._polars[m.name].head(cells) for m in self._figures]
        arrays = [m.to_numpy(writable=True).reshape(self._shape) for m in measures]
        return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=-1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every cell with its 95% error bar; needs matplotlib."""
        return plot_table(self, ax)

    @property
    def keys(self) -> pl.DataFrame:
        """The key columns, one row per cell."""
        return self._keys.clone()

    @property
    def figures(self) -> tuple[Figures, ...]:
        """The measures, with their errors, as the mechanism made them."""
        return self._figures

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {
            "keys": self._keys,
            "figures": self._figures,
            "title": self._title,
            "sampling": self._sampling,
            "like": self._like,
            "shape": self._shape,
            "other": self._other is not None,
        }

    # In print

    def headline(self) -> str:
        """Return the title, the number of rows and the error they share."""
        rows = self._polars.height
        parts = [cell_text(self._title)]
        if self._keys.width:
            parts.append(f"{rows} row{'' if rows == 1 else 's'}")
        shared = self._shared_error()
        if shared is not None:
            parts.append(f"{shared}{' each' if rows > 1 else ''}")
        doubtful = next(iter(self._figures)).low_count
        low = 0 if doubtful is None else int(doubtful.sum())
        if low:
            parts.append(f"{low} of low count")
        return ", ".join(parts)

    def lines(self) -> list[str]:
        """Return the first rows as text, each figure with its ± in a column."""
        header, rows, numeric = self._cells()
        return aligned_lines([header, *rows], right=numeric)

    def html_lines(self) -> str:
        """Return the first rows as HTML."""
        return html_table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]], set[int]]:
        keys = self._keys.head(_SHOWN)
        header = [cell_text(name) for name in keys.columns]
        rows = [[cell_text(cell) for cell in row] for row in keys.rows()]
        numeric = {i for i, t in enumerate(keys.dtypes) if t.is_numeric()}
        rows = rows or [[] for _ in range(min(self._polars.height, _SHOWN))]
        for measure in self._figures:
            numeric |= {len(header), len(header) + 1}
            ranked = measure.error_line is not None
            header += [cell_text(measure.name), "± rows" if ranked else "±"]
            errors = measure.accuracy(PRINTED, joint=False)
            for cell, row in enumerate(rows):
                shown = shown_cell(measure, cell, float(errors[cell]))
                row += [f"{shown.value}{shown.unit}", f"{shown.error}{shown.unit}"]
        if self._polars.height > _SHOWN:
            rows.append(["…", *[""] * (len(header) - 1)])
        return header, rows, numeric

    def _shared_error(self) -> str | None:
        """Return the one ± of all cells, None where there are several."""
        first, *others = self._figures
        errors = first.accuracy(PRINTED, joint=False)
        if others or np.any(errors != errors[0]):
            return None
        return error_phrase(first.line_of_error, float(errors[0]))

    def _lengths(self, widths: list[Array]) -> Array | Table:
        columns = [lengths(m, w) for m, w in zip(self._figures, widths, strict=True)]
        if len(columns) == 1:
            return columns[0].to_numpy(writable=True)
        return Table(_beside(self._keys, columns))

    def _interval_columns(
        self, confidence: float, *, joint: bool = False, population: bool = False
    ) -> list[pl.Series]:
        several = len(self._figures) > 1
        columns: list[pl.Series] = []
        for measure in self._figures:
            lower, upper = ends(
                measure,
                confidence,
                joint=joint,
                sampling=self._sampling.get(measure.name),
                population=population,
            )
            prefix = f"{measure.name}_" if several else ""
            columns += point_columns(measure, lower, upper, prefix=prefix)
        return columns


def _beside(keys: pl.DataFrame, columns: list[pl.Series]) -> pl.DataFrame:
    """Return columns beside the keys; one whose name is taken gets a longer one."""
    named = {key.name: key for key in keys}
    for column in columns:
        name = column.name
        while name in named:
            name += "_"
        named[name] = column
    return pl.DataFrame(named)


def _raw_columns(figures: Figures) -> list[pl.Series]:
    """Return the raw figures as columns: Int64 where the array is, else Float64."""
    if not figures.raw:
        return [figures.series()]
    several = len(figures.raw) > 1
    return [
        pl.Series(
            f"{figures.name}_{name}" if several else figures.name,
            values.astype(np.int64 if values.dtype.kind in "iu" else np.float64),
        )
        for name, values in figures.raw.items()
    ]


def _last_cell(figures: tuple[Figures, ...]) -> Figures:
    found, *others = figures
    if others or not isinstance(found.error, GridError):
        msg = "only tables of counts have an other cell"
        raise ValueError(msg)
    return found.cell(len(found.values) - 1, name=found.name)
