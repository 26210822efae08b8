"""Releases that hand out synthetic rows, and answer questions for nothing."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
import polars as pl

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.goal import checked_rows
from dpframe.privacy.loss import Loss
from dpframe.query import Measured
from dpframe.releases.answer import Release
from dpframe.releases.hosts import StoredHost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.releases.hosts import Host
    from dpframe.values import ColumnType

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_FREE: Final = Loss(epsilon=Fraction(0))

MOST_ROWS: Final = 10**8
"""Synthetic rows that are made at most."""


class NoRowErrorError(ParameterError, AttributeError):
    """Synthetic rows have no error bars; the answers about them have."""


class SyntheticRows(Release[N]):
    """Rows that are made when they are first asked for, in the columns' own dtypes.

    Parameters
    ----------
    columns : sequence of ColumnType
        Those of the rows.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes rows a native frame; not kept.
    title : str
        What was released, in words.
    """

    __slots__ = ("_host", "_rows")

    def __init__(
        self,
        *,
        columns: Sequence[ColumnType],
        measured: Measured,
        host: Host[N],
        title: str,
    ) -> None:
        none = pl.DataFrame([pl.Series(c.name, [], c.dtype) for c in columns])
        super().__init__(
            table=none,
            like={column.name: column.name for column in columns},
            measured=measured,
            host=host,
            title=title,
        )
        self._host = StoredHost.of(self._native)
        self._rows: tuple[pl.DataFrame, N] | None = None

    @property
    @abstractmethod
    def row_count(self) -> int:
        """How many rows there are if no number is asked for."""

    @abstractmethod
    def columns_of(self, number: int) -> list[pl.Series]:
        """Return so many rows, spread as evenly as the release allows."""

    @abstractmethod
    def no_error(self) -> NoRowErrorError:
        """Return what says that rows have no error bars, and which answers have."""

    def sample(self, n: int) -> N:
        """Return so many synthetic rows, in the library that the data came from.

        They are spread as evenly as the release allows, not drawn at random: the same
        release gives the same rows for the same n.

        Parameters
        ----------
        n : int
            At least 1. How many there are in `to_native` and its siblings, the release
            says when it is printed.
        """
        number = checked_rows(n)
        if number is None:
            msg = "A sample needs a number of rows."
            raise ParameterTypeError(msg, hint="use .to_native() for all of them.")
        return self._made(number)[1]

    @property
    def value(self) -> N:
        """The synthetic rows, in the frame's own library."""
        return self.handed_out()

    @property
    def stddev(self) -> NoReturn:
        """Not there: rows have no error bars."""
        raise self.no_error()

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> NoReturn:
        """Refuse: rows have no error bars."""
        del confidence, joint, population
        raise self.no_error()

    def interval_columns(self, confidence: float) -> NoReturn:
        """Refuse: rows have no error bars."""
        del confidence
        raise self.no_error()

    def to_numpy(self) -> Array:
        """Return the synthetic rows: shape ``(rows,)``, or ``(rows, columns)``."""
        array = self.to_polars().to_numpy()
        return array[:, 0] if array.shape[1] == 1 else array

    def polars_table(self) -> pl.DataFrame:
        """Return the synthetic rows as a Polars frame."""
        return self._all_rows()[0]

    def native_table(self) -> N:
        """Return the synthetic rows as a native frame."""
        return self._all_rows()[1]

    def free(self) -> Measured:
        """Return what an answer says of itself: it costs nothing more."""
        return Measured(figures=(), cost=_FREE, provenance=self._provenance)

    def measured_on(self, frame: Any, queries: object, **loss: object) -> Any:
        """Return the largest error on a private frame, whose budget pays for it."""
        namespace: Any = getattr(frame, "dp", None)
        if namespace is None:
            kind = type(frame).__name__
            msg = f"Errors are measured on a private frame, not on a {kind}."
            raise ParameterTypeError(msg, hint="pass frame.dp.attach(accountant).")
        return namespace.largest_error(self, queries, **loss)

    def _all_rows(self) -> tuple[pl.DataFrame, N]:
        if not self.row_count:
            return self._polars, self._native
        if self._rows is None:
            self._rows = self._made(self.row_count)
        return self._rows

    def _made(self, number: int) -> tuple[pl.DataFrame, N]:
        if number > MOST_ROWS:
            msg = f"{number} synthetic rows are too many; the most is {MOST_ROWS}."
            raise ParameterError(msg, hint="ask for fewer with .sample(n).")
        table = pl.DataFrame(self.columns_of(number))
        return table, self._host(table, self._like)
