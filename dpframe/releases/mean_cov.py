"""A released mean vector and covariance matrix, with the error of every entry.

Everything here is post-processing of one vector of noisy sums in scaled units, where
each column's bounds (or the ball's radius) are -1 and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import polars as pl

from dpframe.goal import checked_confidence
from dpframe.query import Measured
from dpframe.releases.answer import Release
from dpframe.releases.figures import PRINTED, Figures, SimulatedError
from dpframe.releases.hosts import StoredHost
from dpframe.releases.intervals import Sampling, ends
from dpframe.releases.labelled import Labelled
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.plot import plot_matrix
from dpframe.releases.rounding import shown_cell
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.second_moments import (
    Layout,
    Moments,
    NoisySums,
    correlation,
    projected,
)
from dpframe.table import Table, aligned_lines, enumeration, html_table
from dpframe.values import column_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpframe.releases.hosts import Host

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_SHOWN: Final = 10


class MeanCov(Release[N]):
    """Count, mean vector and covariance matrix, released together.

    `n`, `mean`, `cov` and `corr()` are its parts, each with error bars; they were
    charged once. The covariance divides by n and is positive semi-definite. Rows
    with a missing value in any of the columns count as absent.

    Parameters
    ----------
    layout : Layout
    sums : NoisySums
    measured, host
        As for every release.
    """

    __slots__ = ("_layout", "_measured", "_moved_by", "_sums")

    def __init__(
        self,
        *,
        layout: Layout,
        sums: NoisySums,
        measured: Measured,
        host: Host[N],
    ) -> None:
        self._layout = layout
        self._sums = sums
        self._measured = Measured(
            figures=(), cost=measured.cost, provenance=measured.provenance
        )
        self._moved_by: dict[str, Array] = {}
        super().__init__(
            table=tidy(layout.names).with_columns(value=self._entries()),
            like={},
            measured=measured,
            host=host,
            title=f"mean and covariance of {enumeration(layout.names)}",
        )

    @staticmethod
    def table_schema() -> dict[str, pl.DataType]:
        """Return the columns of the tidy table."""
        return {**dict(tidy(()).schema), "value": pl.Float64()}

    # The parts

    @property
    def n(self) -> ScalarRelease[N]:
        """The number of rows."""
        return ScalarRelease(
            figures=self._sums.count(),
            measured=self._measured,
            host=self._stored_host(),
            title="count of rows",
        )

    @property
    def mean(self) -> Labelled:
        """The mean vector, in the order of the columns."""
        middle, half = self._layout.scales
        return self._labelled("mean", self.value.mean, middle - half, middle + half)

    @property
    def cov(self) -> Labelled:
        """The covariance matrix; it divides by n."""
        _, half = self._layout.scales
        reach = np.outer(half, half).ravel()
        low = np.where(np.eye(len(half)).ravel() > 0, 0.0, -reach)
        return self._labelled("cov", self.value.cov.ravel(), low, reach)

    def corr(self) -> Labelled:
        """Return the correlation matrix: post-processing, at no further cost.

        Where the variance of a column is within twice its own error of 0, its
        correlations may be anything, and their interval is all of ``[-1, 1]``.
        """
        cov = self.cov
        entries = correlation(np.asarray(cov))
        faint = np.diag(np.asarray(cov)) < 2 * np.diag(cov.accuracy(PRINTED))
        unknown = (faint[:, None] | faint) & ~np.eye(len(faint), dtype=bool)
        ones = np.ones(entries.size)
        return self._labelled(
            "corr", entries.ravel(), -ones, ones, unknown=unknown.ravel()
        )

    @property
    def value(self) -> Moments:
        """Count, mean vector and covariance matrix."""
        n, sums, products = self._sums.scaled()
        mean, cov = projected(float(n[0]), sums[0], products[0])
        middle, half = self._layout.scales
        return Moments(
            n=int(self._sums.count().values[0]),
            mean=middle + half * mean,
            cov=np.outer(half, half) * cov,
        )

    @property
    def raw(self) -> dict[str, Any]:
        """The unbiased noisy count, sums and sums of products of the columns."""
        n, sums, products = self._sums.scaled()
        middle, half = self._layout.scales
        crossed = np.outer(middle, half * sums[0])
        square = n[0] * np.outer(middle, middle) + crossed + crossed.T
        return {
            "count": float(n[0]),
            "sum": middle * n[0] + half * sums[0],
            "products": square + np.outer(half, half) * products[0],
        }

    # What it says

    @property
    def noise(self) -> NoiseLaw:
        """The family and scale of the noise, as it enters the count."""
        return NoiseLaw.of_figures(self._sums.count())

    @property
    def low_count(self) -> bool:
        """Whether the noisy count is within twice its own error of 0."""
        count = self._sums.count()
        error = float(count.error.half_width(PRINTED, cells=1)[0])
        return bool(float(count.centre[0]) < 2 * error)

    @property
    def stddev(self) -> Table:
        """Standard deviation of the noise of each entry, as a tidy table."""
        stddevs = [self.n.stddev, self.mean.stddev, self.cov.stddev]
        return self._table("stddev", stddevs)

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> Table:
        """Return the half-width of the noise of each entry, as a tidy table.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: of each entry, or of all of a part together where `joint`.
        joint : bool, default False
            Whether all entries of a part keep it together.
        """
        level = checked_confidence(confidence)
        widths = [
            self.n.accuracy(level),
            self.mean.accuracy(level, joint=joint),
            self.cov.accuracy(level, joint=joint),
        ]
        return self._table("accuracy", widths)

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> Table:
        """Return a confidence interval for each entry, as a tidy table.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: of each entry, or of all of a part together where `joint`.
        joint : bool, default False
            Whether all entries of a part keep it together.
        population : bool, default False
            Whether the means' intervals cover the sampling of the rows as well as
            the noise.
        """
        level = checked_confidence(confidence)
        columns = self._both_ends(level, joint=joint, population=population)
        return Table(tidy(self._layout.names).with_columns(columns))

    def interval_columns(self, confidence: float) -> list[pl.Series]:
        """Return the ends of the intervals as columns of the tidy table."""
        return self._both_ends(confidence, joint=False, population=False)

    def to_numpy(self) -> Array:
        """Return the covariance matrix."""
        return self.value.cov

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the correlations as a labelled grid; needs matplotlib."""
        return plot_matrix(self.corr(), ax)

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {"layout": self._layout, "sums": self._sums}

    # In print

    def headline(self) -> str:
        """Return the title, and whether there were hardly any rows."""
        return f"{self._title}{', low count' if self.low_count else ''}"

    def lines(self) -> list[str]:
        """Return count, means and covariances, each with its error."""
        rows = self._printed()
        count = self._sums.count()
        error = float(count.accuracy(PRINTED, joint=False)[0])
        first = f"n  {shown_cell(count, 0, error)}"
        return [first, *aligned_lines(rows, right=set(range(1, len(rows[0]))))]

    def html_lines(self) -> str:
        """Return the same as an HTML table."""
        header, *rows = self._printed()
        return html_table(header, rows, set(range(1, len(header))))

    def _printed(self) -> list[list[str]]:
        names = self._layout.names[:_SHOWN]
        mean, cov = self.mean, self.cov
        rows = [["", "mean", *(f"cov with {name}" for name in names)]]
        for i, name in enumerate(names):
            crossed = [cov.shown(i, j) for j in range(len(names))]
            rows.append([name, mean.shown(i), *crossed])
        if len(names) < len(self._layout.names):
            rows.append(["…", *[""] * (len(names) + 1)])
        return rows

    # Helpers

    def _stored_host(self) -> StoredHost:
        return StoredHost(library=StoredHost.of(self.handed_out()).library)

    def _labelled(
        self,
        what: str,
        values: Array,
        low: Array,
        high: Array,
        *,
        unknown: Array | None = None,
    ) -> Labelled:
        """Return a part with its errors; `unknown` entries may lie anywhere."""
        deviations = self._moved()[what]
        low_count = unknown
        if self.low_count:
            low_count = np.full(values.shape, fill_value=True)
        figures = Figures(
            name=what,
            column=column_type(what, pl.Float64()),
            values=values,
            centre=values,
            raw={what: values},
            error=SimulatedError(noise=self._sums.laws[-1], deviations=deviations),
            low=low,
            high=high,
            low_count=low_count,
        )
        return Labelled(
            what=what,
            names=self._layout.names,
            shape=(len(self._layout.names),) * (1 if what == "mean" else 2),
            figures=figures,
            measured=self._measured,
            host=self._stored_host(),
        )

    def _moved(self) -> dict[str, Array]:
        """Return how far redrawn noise moves mean, covariance and correlation."""
        if not self._moved_by:
            n, sums, products = self._sums.redrawn()
            _, half = self._layout.scales
            rows = np.maximum(n, 1.0)[:, None]
            means = sums / rows
            covs = products / rows[:, :, None] - means[:, :, None] * means[:, None, :]
            found = {
                "mean": means * half,
                "cov": covs * np.outer(half, half),
                "corr": correlation(covs),
            }
            self._moved_by = {
                name: (entries[1:] - entries[0]).reshape(len(n) - 1, -1)
                for name, entries in found.items()
            }
        return self._moved_by

    def _entries(self) -> pl.Series:
        n, mean, cov = self.value
        return pl.Series(np.concatenate([[float(n)], mean, cov.ravel()]))

    def _table(self, name: str, parts: list[Any]) -> Table:
        flat = [np.ravel(np.asarray(part, dtype=np.float64)) for part in parts]
        column = pl.Series(name, np.concatenate(flat))
        return Table(tidy(self._layout.names).with_columns(column))

    def _both_ends(
        self, confidence: float, *, joint: bool, population: bool
    ) -> list[pl.Series]:
        parts = [self._sums.count(), self.mean.figures, self.cov.figures]
        provenance = self.provenance
        # Rows of one unit may be alike, so its rows count as one.
        alike = 1 if provenance.privacy_unit is None else provenance.max_rows or 1
        rows = max(self.value.n, 1) / alike
        stderr = np.sqrt(np.diag(self.value.cov) / rows)
        both = [
            ends(
                part,
                confidence,
                joint=joint,
                sampling=Sampling(stderr=stderr),
                population=population and part.name == "mean",
            )
            for part in parts
        ]
        return [
            pl.Series(name, np.concatenate([pair[place] for pair in both]))
            for place, name in enumerate(("lower", "upper"))
        ]


def tidy(names: tuple[str, ...]) -> pl.DataFrame:
    """Return the key columns of the tidy table: n, means, then covariances."""
    pairs = [(a, b) for a in names for b in names]
    return pl.DataFrame(
        {
            "statistic": ["n", *["mean"] * len(names), *["cov"] * len(pairs)],
            "column": [None, *names, *(a for a, _ in pairs)],
            "against": [None, *[None] * len(names), *(b for _, b in pairs)],
        },
        schema=dict.fromkeys(("statistic", "column", "against"), pl.String()),
    )
