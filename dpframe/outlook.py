"""What a planned release will look like and how far off it will be.

All of it follows from public parameters: previews print it, and `within=` searches
it for the smallest loss that is accurate enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from dpframe.releases.figures import ErrorLaw
    from dpframe.values import ColumnType


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The shape and the error of a release before it is made.

    Attributes
    ----------
    title : str
        What is released, in words: ``"count by decade"``.
    column : ColumnType
        The number line of the main measure.
    cells : int
        How many figures `within=` bounds together.
    schema : mapping
        Names and dtypes of the table's columns (of one row for a scalar).
    error : callable
        From a public guess of the number of rows (None where it is not given) to
        the error of one cell; None where the guess is needed.
    unit : str
        What the error is counted in, where that is not the answer's own unit.
    """

    title: str
    column: ColumnType
    cells: int = 1
    schema: Mapping[str, pl.DataType] = field(default_factory=dict[str, Any])
    error: Callable[[int | None], ErrorLaw | None]
    unit: str = ""
