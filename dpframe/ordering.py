"""What to sort: rows by their points on public grids, for searches that adapt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dpframe.curve import Curve
from dpframe.tally import Contribution, Limited, by_name

if TYPE_CHECKING:
    from dpframe.grid import Grid
    from dpframe.tally import Axis
    from dpframe.values import ColumnType


@dataclass(frozen=True, kw_only=True)
class Ordering(Limited):
    """The order of the rows on a grid, or on several along a curve; by cell.

    Rows with a missing value count as absent. The weight of the rows in any range of
    codes is a count: a unit changes it by at most `multiplicity`, and all disjoint
    ranges of all cells together by no more.

    Attributes
    ----------
    grids : tuple of Grid
    contribution : Contribution
        Of rows: each alone, or sharing a weight within their unit.
    axes : tuple of Axis
        The cells, as those of a `Tally`; none makes one single cell.
    """

    grids: tuple[Grid, ...]
    contribution: Contribution
    axes: tuple[Axis, ...] = ()

    @cached_property
    def curve(self) -> Curve:
        """How the codes of several grids become one."""
        return Curve(sizes=tuple(grid.size for grid in self.grids))

    @property
    def cells(self) -> int:
        """Number of cells."""
        product = 1
        for axis in self.axes:
            product *= axis.size
        return product

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        read = [column for axis in self.axes for column in axis.columns]
        return by_name([*read, *(grid.column for grid in self.grids)])

    @property
    def weight(self) -> int:
        """Grid units that one full row weighs."""
        return self.contribution.resolution
