"""What a planned release will look like and how far off it will be.

All of it follows from public parameters: previews print it, and `within=` searches
it for the smallest loss that is accurate enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dpframe.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from dpframe.values import ColumnType


Array = np.ndarray[Any, np.dtype[Any]]


class Law(Protocol):
    """A law of chance that has a name."""

    @property
    def name(self) -> str:
        """What papers call it."""
        ...


class ErrorLaw(Protocol):
    """How far a noisy figure may lie from the one without noise."""

    @property
    def noise(self) -> Law:
        """The law of each noise in it, or of the choice that was made."""
        ...

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return, for each cell, a bound on the error of `cells` cells together.

        Shape ``(n_cells,)`` or ``(1,)`` where all cells share it; number-line units.
        """
        ...

    def stddev(self) -> Array:
        """Return the standard deviation of the noise, shaped as `half_width`."""
        ...

    def cell(self, place: int) -> ErrorLaw:
        """Return the error of one cell."""
        ...


@runtime_checkable
class TwoSided(ErrorLaw, Protocol):
    """An error that reaches further to one side than to the other."""

    def sides(self, confidence: float, *, cells: int) -> tuple[Array, Array]:
        """Return bounds on how far the truth may lie below a figure, and above it.

        Shaped as `half_width`, which is the larger of the two.
        """
        ...


def sides_of(error: ErrorLaw, confidence: float, *, cells: int) -> tuple[Array, Array]:
    """Return how far the truth may lie below a figure, and above it."""
    if isinstance(error, TwoSided):
        return error.sides(confidence, cells=cells)
    width = error.half_width(confidence, cells=cells)
    return width, width


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The shape and the error of a release before it is made.

    Attributes
    ----------
    title : str
        What is released, in words: ``"count by decade"``.
    column : ColumnType
        The number line of the main measure's error.
    cells : int
        How many figures `within=` bounds together.
    schema : mapping
        Names and dtypes of the table's columns (of one row for a scalar).
    error : callable
        From a public guess of the number of rows (None where it is not given) to
        the error of one cell; None where the guess is needed.
    unit : str
        What the error is counted in, where that is not the answer's own unit.
    widest : float
        An error that every answer keeps, whatever it costs: a fraction is never more
        than 1 off.
    law : str
        What papers call the noise, where its error is known only when it is released:
        it follows from cells that are found on the way.
    """

    title: str
    column: ColumnType
    cells: int = 1
    schema: Mapping[str, pl.DataType] = field(default_factory=dict[str, Any])
    error: Callable[[int | None], ErrorLaw | None]
    unit: str = ""
    widest: float = math.inf
    law: str = ""

    def known_error(self, rows: int | None) -> ErrorLaw:
        """Return the error of one cell.

        Raises
        ------
        ParameterError
            If it depends on the number of rows and no guess is given, or on what is
            released.
        """
        error = self.error(rows)
        if error is None and self.law:
            msg = "This error follows from what is released."
            raise ParameterError(msg, hint="release it: its answers state their own.")
        if error is None:
            msg = "This error depends on the number of rows, which is private."
            raise ParameterError(msg, hint="pass a public guess as rows=.")
        return error
