"""Part of a release that is labelled by columns: a vector or a square matrix."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import polars as pl

from dpframe.errors import ColumnNotFoundError
from dpframe.releases.figures import PRINTED
from dpframe.releases.rounding import shown_cell
from dpframe.releases.scalar import ScalarRelease
from dpframe.table import aligned_lines, html_table

if TYPE_CHECKING:
    from dpframe.query import Measured
    from dpframe.releases.figures import Figures
    from dpframe.releases.hosts import StoredHost

Array = np.ndarray[Any, np.dtype[Any]]

_VECTOR: Final = 1


class Labelled:
    """Entries of a release by column, or by pairs of columns, with their errors.

    ``np.asarray`` gives the values, shape ``(d,)`` or ``(d, d)`` in the order of the
    columns; indexing by names gives one entry as a number with its error.
    """

    __slots__ = ("_figures", "_host", "_measured", "_names", "_shape", "_what")

    def __init__(
        self,
        *,
        what: str,
        names: tuple[str, ...],
        shape: tuple[int, ...],
        figures: Figures,
        measured: Measured,
        host: StoredHost,
    ) -> None:
        self._what = what
        self._names = names
        self._shape = shape
        self._figures = figures
        self._measured = measured
        self._host = host

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self._names

    @property
    def figures(self) -> Figures:
        """The entries in a row, with their errors."""
        return self._figures

    @property
    def shape(self) -> tuple[int, ...]:
        """``(d,)`` or ``(d, d)``."""
        return self._shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: FBT001 - numpy's protocol
        del copy  # always one
        entries = self._figures.series().to_numpy(writable=True)
        return entries.reshape(self.shape).astype(dtype or np.float64)

    def __len__(self) -> int:
        return len(self._names)

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if n not in {"figures", "shown"}]

    def __getitem__(self, names: str | tuple[str, str]) -> ScalarRelease[Any]:
        """Return one entry, as a number with its error.

        Raises
        ------
        ColumnNotFoundError
            If a name is not among the columns, or there are too many or too few.
        """
        asked = (names,) if isinstance(names, str) else tuple(names)
        for name in asked:
            if name not in self._names:
                msg = f"There is no column {name!r} in this {self._what}."
                raise ColumnNotFoundError(msg, column=str(name))
        if len(asked) != len(self.shape):
            msg = f"A {self._what} entry is named by {len(self.shape)} columns."
            raise ColumnNotFoundError(msg, column=str(names))
        places = tuple(self._names.index(name) for name in asked)
        cell = int(np.ravel_multi_index(places, self.shape))
        label = f"{self._what} of {' and '.join(asked)}"
        return ScalarRelease(
            figures=self._figures.cell(cell, name=self._what),
            measured=self._measured,
            host=self._host,
            title=label,
        )

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> Array:
        """Return the half-width of the noise of each entry, shaped as the values."""
        widths = self._figures.accuracy(confidence, joint=joint)
        return np.asarray(widths).reshape(self.shape)

    @property
    def stddev(self) -> Array:
        """Standard deviation of the noise of each entry, shaped as the values."""
        return np.asarray(self._figures.stddev()).reshape(self.shape)

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False
    ) -> tuple[Array, Array]:
        """Return lower and upper ends of each entry, shaped as the values."""
        lower, upper = self._figures.interval(confidence, joint=joint)
        return lower.reshape(self.shape), upper.reshape(self.shape)

    def to_polars(self) -> pl.DataFrame:
        """Return the entries by column, after a `column` column."""
        values = np.asarray(self)
        labels = pl.Series("column", self._names)
        if values.ndim == _VECTOR:
            return pl.DataFrame([labels, pl.Series(self._what, values)])
        columns = [pl.Series(n, values[:, i]) for i, n in enumerate(self._names)]
        return pl.DataFrame([labels, *columns])

    def to_pandas(self) -> Any:
        """Return the entries labelled: a Series, or a square frame."""
        values, labels = np.asarray(self), list(self._names)
        if values.ndim == _VECTOR:
            return pd.Series(values, index=labels, name=self._what)
        return pd.DataFrame(values, index=labels, columns=labels)

    def shown(self, *places: int) -> str:
        """Return one entry and its error as text."""
        cell = int(np.ravel_multi_index(places, self.shape))
        error = float(self._figures.accuracy(PRINTED, joint=False)[cell])
        return str(shown_cell(self._figures, cell, error))

    def __repr__(self) -> str:
        rows = self._printed()
        right = set(range(1, len(rows[0])))
        return "\n".join([self._what, *aligned_lines(rows, right=right)])

    def _repr_html_(self) -> str:
        header, *rows = self._printed()
        if len(self.shape) == _VECTOR:
            header, rows = ["", self._what], [header, *rows]
        table = html_table(header, rows, set(range(1, len(header))))
        return f"<div>{html.escape(self._what)}</div>{table}"

    def _printed(self) -> list[list[str]]:
        """Return the entries with their errors as text, names first."""
        size = len(self._names)
        if len(self.shape) == _VECTOR:
            return [[name, self.shown(i)] for i, name in enumerate(self._names)]
        rows = [["", *self._names]]
        rows += [
            [name, *(self.shown(i, j) for j in range(size))]
            for i, name in enumerate(self._names)
        ]
        return rows
