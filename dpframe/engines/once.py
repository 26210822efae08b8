"""Rows that several statistics read, collected once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpframe.engines.failures import withheld
from dpframe.frame import UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


class Rows(Protocol):
    """What engines read: a private frame, or what was read of one."""

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand the rows to an engine: these columns in these dtypes, and `UNIT`."""
        ...


class Once:
    """Some columns of a frame, whose file and steps are gone through once.

    Raises
    ------
    EvaluationError
        If the frame's own plan fails; the cause is withheld.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows, columns: Mapping[str, pl.DataType]) -> None:
        self._rows = withheld(lambda: rows.scan(columns).collect(engine="streaming"))

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand some of the columns to an engine, and `UNIT`."""
        return self._rows.lazy().select(*columns, UNIT)
