"""Clipped sums: of rows, or of each unit's own total.

A row clipped to ``[low, high]`` moves the sum by at most ``max(|low|, |high|)``, and
so does a unit whose total is clipped to them (Wilson et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dpframe.block import Block
from dpframe.errors import BoundsRequiredError, ParameterError, ParameterTypeError
from dpframe.mechanisms.inputs import (
    chosen,
    clipped,
    row_contribution,
    unit_contribution,
)
from dpframe.mechanisms.scalar import scalar_query
from dpframe.query import Part
from dpframe.releases.figures import Figures, GridError
from dpframe.tally import WIDEST_TOTAL, Per, Tally, whole
from dpframe.values import ColumnType, Kind, column_type

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.outlook import ErrorLaw
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.tally import Axis, Contribution, Quantity
    from dpframe.values import Bounds

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Sum:
    """The sum of a clipped column."""

    quantity: Quantity
    bounds: Bounds
    contribution: Contribution

    @classmethod
    def of(
        cls,
        frame: PrivateFrame,
        column: object,
        *,
        bound: object,
        bounds: object,
        cells: int,
    ) -> Sum:
        """Return the sum that a call asks for."""
        word = chosen(bound, among=("rows", "total"), what="bound")
        total = word == "total"
        if total and bounds is None:
            msg = 'bound="total" clips each unit\'s sum, and bounds= of it are needed.'
            raise BoundsRequiredError(msg, hint="pass bounds=(low, high) of a total.")
        found = clipped(frame, column, bounds)
        ctype = found.column
        if ctype.kind in {Kind.DATE, Kind.DATETIME}:
            msg = f"Column {ctype.name!r} holds {ctype.kind.value}, which have no sum."
            raise ParameterTypeError(msg, hint="release its mean instead.")
        contribution = (
            unit_contribution(frame, Per.TOTALS, cells=cells)
            if total
            else row_contribution(frame)
        )
        quantity = whole(ctype, found.limits)
        if contribution.per is Per.TOTALS and quantity.reach > WIDEST_TOTAL:
            msg = f"bounds of a unit's total are too wide: {found.bounds}."
            raise ParameterError(msg)
        return cls(quantity=quantity, bounds=found.bounds, contribution=contribution)

    @property
    def measure(self) -> ColumnType:
        """The number line of the sum."""
        return sum_line(self.quantity.column)

    @property
    def error_line(self) -> ColumnType:
        """The same."""
        return self.measure

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> Part:
        """Return the sums by cell."""
        tally = Tally(
            axes=axes,
            other=other,
            quantities=(self.quantity,),
            monomials=((0,),),
            outputs=(((1, (0,)),),),
            contribution=self.contribution,
        )
        block = Block.independent(loss, row=self.quantity.reach)
        return Part(statistic=tally, blocks=(block,))

    def figures(self, noisy: Array, part: Part, *, name: str) -> Figures:
        """Return sums in the column's unit."""
        measure = replace(self.measure, name=name)
        noised = noisy[:, 0]
        resolution = self.contribution.resolution
        unit = self.quantity.unit / resolution
        centre = noised.astype(np.float64) * float(unit)
        if not measure.is_whole:
            values = raw = centre
        elif resolution == 1:
            values, raw = noised.astype(object), noised.astype(object)
            if measure.kind is Kind.DECIMAL:
                raw = np.array([measure.value(Fraction(x)) for x in noised], object)
        else:
            shared = [Fraction(int(x), resolution) for x in noised]
            values = np.array([round(x) for x in shared], dtype=object)
            raw = np.array([float(x) for x in shared])
        return Figures(
            name=name,
            column=measure,
            values=values,
            centre=centre,
            raw={name: raw},
            error=self._error(part),
        )

    def sampling(self, noisy: Array) -> None:
        """Return None: it describes these rows, not a population."""

    def expected_error(self, part: Part, rows: int | None) -> ErrorLaw | None:
        """Return the error, which does not depend on the rows."""
        del rows
        return self._error(part)

    def _error(self, part: Part) -> GridError:
        unit = self.quantity.unit / self.contribution.resolution
        return GridError(noise=part.noise(part.blocks[0]), unit=unit)


def sum_line(column: ColumnType) -> ColumnType:
    """Return the number line of a column's sum: whole for Booleans, else its own."""
    if column.kind in {Kind.BOOLEAN, Kind.INTEGER}:
        return column_type(column.name, pl.Int64())
    if column.kind is Kind.FLOAT:
        return column_type(column.name, pl.Float64())
    if column.kind is Kind.DECIMAL:
        return column_type(column.name, pl.Decimal(38, column.scale))
    return column


def sum_(
    frame: PrivateFrame,
    loss: Loss,
    column: object,
    *,
    bound: object = "rows",
    bounds: object = None,
) -> Query[ScalarRelease[Any]]:
    """Plan the sum of a column."""
    statistic = Sum.of(frame, column, bound=bound, bounds=bounds, cells=1)
    name = statistic.quantity.column.name
    return scalar_query(
        frame,
        loss,
        statistic,
        mechanism="sum",
        name=name,
        title=f"sum of {name}",
        columns=(name,),
        parameters={"bound": str(bound), "bounds": str(statistic.bounds)},
    )
