"""Counts of rows or of units, and of distinct values.

A row lies in one cell, so it moves one count by 1: the L1 sensitivity is what one
unit's rows weigh together, whatever the number of cells (Dwork, McSherry, Nissim
and Smith 2006, Example 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.block import Block
from dpframe.mechanisms.inputs import (
    chosen,
    listed_columns,
    row_contribution,
    typed,
    unit_contribution,
    value_contribution,
)
from dpframe.mechanisms.scalar import scalar_query
from dpframe.outlook import Outlook
from dpframe.query import Part, Query
from dpframe.releases.figures import COUNT, Figures, GridError
from dpframe.releases.scalar import ScalarRelease
from dpframe.table import enumeration
from dpframe.tally import Distinct, Per, Tally

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.outlook import ErrorLaw
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured
    from dpframe.tally import Axis, Contribution
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

_MOST = 2.0**62  # no count is larger, though its noise may be


@dataclass(frozen=True, kw_only=True)
class Count:
    """The number of rows or units, of those where some columns are not missing."""

    contribution: Contribution
    present: tuple[ColumnType, ...] = ()

    @classmethod
    def of(
        cls, frame: PrivateFrame, column: object, *, of: object, cells: int
    ) -> Count:
        """Return the count that a call asks for."""
        word = chosen(of, among=("rows", "units"), what="of")
        present = () if column is None else (typed(frame, column),)
        if word == "rows":
            return cls(contribution=row_contribution(frame), present=present)
        contribution = unit_contribution(frame, Per.UNITS, cells=cells)
        return cls(contribution=contribution, present=present)

    @property
    def measure(self) -> ColumnType:
        """The number line of counts."""
        return COUNT

    @property
    def error_line(self) -> ColumnType:
        """The same."""
        return self.measure

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> Part:
        """Return the counts by cell."""
        tally = Tally(
            axes=axes,
            other=other,
            present=self.present,
            contribution=self.contribution,
        )
        return Part(statistic=tally, blocks=(Block.independent(loss),))

    def figures(self, noisy: Array, part: Part, *, name: str) -> Figures:
        """Return counts rounded to whole rows, at least 0."""
        return count_figures(noisy[:, 0], part, name=name)

    def sampling(self, noisy: Array) -> None:
        """Return None: it describes these rows, not a population."""

    def expected_error(self, part: Part, rows: int | None) -> ErrorLaw | None:
        """Return the error, which does not depend on the rows."""
        del rows
        return _error(part)


def count_figures(noisy: Array, part: Part, *, name: str) -> Figures:
    """Return the figures of noisy counts on their grid."""
    resolution = part.statistic.contribution.resolution
    exact = noisy if resolution == 1 else noisy.astype(np.float64) / resolution
    rounded = np.clip(np.rint(exact.astype(np.float64)), -_MOST, _MOST).astype(np.int64)
    return Figures(
        name=name,
        column=COUNT,
        values=np.maximum(rounded if resolution > 1 else exact, 0),
        centre=exact,
        raw={name: exact},
        error=_error(part),
        low=Fraction(0),
    )


def _error(part: Part) -> GridError:
    resolution = part.statistic.contribution.resolution
    return GridError(noise=part.noise(part.blocks[0]), unit=Fraction(1, resolution))


def count(
    frame: PrivateFrame, loss: Loss, column: object = None, *, of: object = "rows"
) -> Query[ScalarRelease[Any]]:
    """Plan the number of rows or units."""
    statistic = Count.of(frame, column, of=of, cells=1)
    named = () if column is None else (str(column),)
    title = f"count of {of}" + (f" with {named[0]}" if named else "")
    return scalar_query(
        frame,
        loss,
        statistic,
        mechanism="count",
        name="count",
        title=title,
        columns=named,
        parameters={"of": str(of)},
    )


def n_unique(
    frame: PrivateFrame, loss: Loss, columns: object
) -> Query[ScalarRelease[Any]]:
    """Plan the number of distinct values of a column, or of tuples over several.

    Without a privacy unit a row brings at most one new value. With one, each unit
    keeps `max_groups` of its values, which is then the sensitivity; of its own column
    it has one.
    """
    names = listed_columns(columns)
    keys = tuple(typed(frame, name) for name in names)
    distinct = Distinct(keys=keys, contribution=value_contribution(frame, names))
    part = Part(statistic=distinct, blocks=(Block.independent(loss),))
    title = f"distinct values of {enumeration([key.name for key in keys])}"

    def finish(measured: Measured) -> ScalarRelease[Any]:
        figures = count_figures(measured.figures[0][:, 0], part, name="n_unique")
        return ScalarRelease(
            figures=figures, measured=measured, host=frame.to_host, title=title
        )

    return Query(
        frame=frame,
        mechanism="n_unique",
        columns=tuple(key.name for key in keys),
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=title,
            column=COUNT,
            schema={"n_unique": COUNT.dtype},
            error=lambda _rows: _error(part),
        ),
        finish=finish,
    )
