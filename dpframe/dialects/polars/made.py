"""What a verb of the private Polars frame starts from, and what it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from dpframe.frame import State


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows that a verb starts from or makes.

    Attributes
    ----------
    native : pl.LazyFrame
        The visible columns and `UNIT`.
    types : mapping of str to pl.DataType
        The visible columns.
    state : State
        What they carry.
    """

    native: pl.LazyFrame
    types: Mapping[str, pl.DataType]
    state: State
