"""How far exact counts lie from answers that are public: the largest of all errors.

It is a number of rows. A unit moves each count by its own rows at most, and the answers
not at all: so it moves the largest error by no more than it moves a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dpframe.tally import Limited, by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.grid import Grid
    from dpframe.slices import Slices
    from dpframe.tally import Contribution
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

WIDEST: Final = 1 << 61
"""Answers in grid units stay below: differences of two fit 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Compared(Limited):
    """Rows on public grids, whose counts are compared with answers in grid units.

    Rows with a missing value count as absent.

    Attributes
    ----------
    grids : tuple of Grid
    contribution : Contribution
        Of rows: each alone, or sharing a weight within their unit.
    """

    grids: tuple[Grid, ...]
    contribution: Contribution

    @property
    def cells(self) -> int:
        """One: there is a single number."""
        return 1

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return by_name(grid.column for grid in self.grids)


@dataclass(frozen=True, kw_only=True)
class EveryInterval(Compared):
    """The largest error of all intervals of one grid.

    With F the rows below a point and A the answer for it, it is the largest ``F - A``
    minus the smallest: an interval's error is that between its ends. Between the codes
    of rows F is constant and A does not fall, so the extremes lie at these codes, right
    after them, and at the ends of the grid.

    Attributes
    ----------
    below : callable
        From codes, an array of uint64, to the answers for what lies below them, as
        int64: 0 at the first code, and never falling.
    total : int
        The answer for the whole grid.
    """

    below: Callable[[Array], Array]
    total: int


@dataclass(frozen=True, kw_only=True)
class EveryQuery(Compared):
    """The largest error of listed boxes, or intervals of one grid.

    Attributes
    ----------
    first, last : array of uint64
        The least and the greatest code on each grid, both included: shape ``(queries,
        grids)``. An empty box has a first code one above its last.
    answers : array of int64
        Shape ``(queries,)``.
    """

    first: Array
    last: Array
    answers: Array


@dataclass(frozen=True, kw_only=True)
class EveryPlane:
    """The largest error of listed halfspaces.

    Attributes
    ----------
    slices : Slices
        Two bins along the direction of each halfspace: rows below it and above.
    answers : tuple of int
        Rows above each, in grid units.
    """

    slices: Slices
    answers: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse other bins, and answers whose differences leave 64 bits."""
        labels, directions, bins = self.slices.shape
        if labels != 1 or bins != 2 or directions != len(self.answers):  # noqa: PLR2004 - below and above
            msg = "there are two bins and an answer for each halfspace"
            raise ValueError(msg)
        if not all(0 <= answer < WIDEST for answer in self.answers):
            msg = f"an answer is a number of grid units from 0 to {WIDEST}"
            raise ValueError(msg)

    @property
    def cells(self) -> int:
        """One: there is a single number."""
        return 1

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return self.slices.columns

    @property
    def contribution(self) -> Contribution:
        """Of rows: each alone, or sharing a weight within their unit."""
        return self.slices.contribution

    @property
    def multiplicity(self) -> int:
        """By how many grid units one unit changes a count at most, and so the error."""
        return self.slices.multiplicity

    @property
    def multiplicity_squared(self) -> int:
        """The square of that."""
        return self.slices.multiplicity_squared


Deviation: TypeAlias = EveryInterval | EveryQuery | EveryPlane
