"""A call for a halfspace oracle whose parameters were checked, whatever its method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpframe.block import Block
from dpframe.errors import ParameterError
from dpframe.grid import EvenGrid
from dpframe.mechanisms.grids import check_held
from dpframe.outlook import Outlook
from dpframe.query import Query
from dpframe.releases.figures import FRACTION
from dpframe.releases.halfspaces.ball import UnitBall
from dpframe.releases.halfspaces.oracle import HalfspaceOracle
from dpframe.table import enumeration
from dpframe.tally import centred

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.inputs import Clipped
    from dpframe.privacy.loss import Loss
    from dpframe.query import Following, Measured, Part, Search
    from dpframe.releases.halfspaces.answers import Shape
    from dpframe.tally import Contribution, Quantity
    from dpframe.values import ColumnType

RELEASE: Final = "halfspace_oracle"
_FINE: Final = 1 << 20
_LONG: Final = 1 << 40
_SMALL: Final = Fraction(1, 1 << 24)  # of a width: then proofs allow for it


@dataclass(frozen=True, kw_only=True)
class HalfspaceCall:
    """What a halfspace oracle is to be of, and what it may spend.

    Attributes
    ----------
    frame : PrivateFrame
    loss : Loss
    box : tuple of Clipped
        The columns, with their bounds.
    label : EvenGrid or None
        The two values of the column that rows are told apart by.
    margin : Fraction
        In the unit ball.
    contribution : Contribution
        Of rows: each alone, or sharing a weight within their unit.
    """

    frame: PrivateFrame
    loss: Loss
    box: tuple[Clipped, ...]
    label: EvenGrid | None
    margin: Fraction
    contribution: Contribution

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.box)

    @property
    def unit(self) -> Fraction:
        """Rows in a grid unit."""
        return Fraction(1, self.contribution.resolution)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The columns as whole numbers about the middle of their bounds."""
        return tuple(centred(one.column, one.limits) for one in self.box)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        labels = [] if self.label is None else [self.label.column]
        read = [*(one.column for one in self.box), *labels]
        return {column.name: column for column in read}

    def ball(self, grid: Callable[[Clipped], EvenGrid]) -> UnitBall:
        """Return how rows on a grid of each column lie in the unit ball.

        It is made before anything is spent: a column may not hold its bounds.
        """
        return UnitBall(
            grids=tuple(map(grid, self.box)),
            limits=tuple(one.limits for one in self.box),
        )

    def query(
        self,
        method: str,
        parts: tuple[Part | Following | Search, ...],
        shape: Callable[[Measured], Shape],
    ) -> Query[HalfspaceOracle[Any]]:
        """Return the planned release."""
        label = None if self.label is None else self.label.column
        names = [one.column.name for one in self.box]

        def finish(measured: Measured) -> HalfspaceOracle[Any]:
            return HalfspaceOracle(
                shape=shape(measured),
                method=method,
                margin=float(self.margin),
                label=label,
                measured=measured,
                host=self.frame.to_host,
            )

        return Query(
            frame=self.frame,
            mechanism=RELEASE,
            columns=tuple(self.columns),
            parameters={"margin": f"{float(self.margin):g}", "method": method},
            cost=self.loss,
            parts=parts,
            outlook=Outlook(
                title=f"halfspaces of {enumeration(names)}, {method}",
                column=FRACTION,
                schema={name: column.dtype for name, column in self.columns.items()},
                error=lambda _: None,
                law=Block.independent(self.loss).law,
            ),
            finish=finish,
        )


def row_grid(one: Clipped) -> EvenGrid:
    """Return the points that synthetic rows lie on: whole numbers, or fine steps."""
    low, high = one.limits
    width = high - low
    step = width / _FINE
    if one.column.is_whole:
        step = Fraction(max(math.ceil(width / _LONG), 1))
    grid = EvenGrid(column=one.column, low=low, step=step, size=int(width // step) + 1)
    check_held(grid, one.column)
    return grid


def check_floats(one: Clipped, *points: Fraction) -> None:
    """Refuse points that rows are measured from, if floats near by are too far apart.

    Rows would be further from where they are measured than proofs allow for.
    """
    low, high = one.limits
    if one.column.is_whole:  # whose distances are exact
        return
    off = max(abs(Fraction(float(point)) - point) for point in points)
    if off > (high - low) * _SMALL:
        msg = f"Bounds of column {one.column.name!r} have too few floats between them: "
        msg += "rows would be taken for others near by."
        hint = "pass wider bounds=, or subtract the lower one in a step first."
        raise ParameterError(msg, hint=hint)
