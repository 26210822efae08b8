"""What plans of sample sizes have in common: a loss, a confidence, and no rows.

Each release is planned on a frame that has its schema and no rows, so a plan and the
release that follows it have one and the same error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import polars as pl

from dpframe.attach import attach
from dpframe.declare import check_contributions
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query

ROWS: Final = "of the rows"
NOISE: Final = "the error is that of the noise: nothing is clipped or sampled"


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a release says of its error, before it is made.

    Attributes
    ----------
    shape : mapping
        Its public parameters, by the words of a call.
    alpha : callable
        From a number of rows to the error; infinite where nothing is known.
    unit : str
        What the error is a part of.
    assumed : tuple of str
        What is left out of it.
    points : int or None
        Of a release that answers every interval: how many points it tells apart.
    fewest : callable or None
        From an error to the number of rows; None where the first that `alpha` finds
        good enough is it.
    """

    shape: Mapping[str, object]
    alpha: Callable[[int], float]
    unit: str = ROWS
    assumed: tuple[str, ...] = (NOISE,)
    points: int | None = None
    fewest: Callable[[float], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is common to all planned releases.

    Attributes
    ----------
    loss : Loss
    confidence : float
        With which chance the error holds, for all figures together.
    max_rows : int
        Rows that one privacy unit has at most.
    """

    loss: Loss
    confidence: float
    max_rows: int

    def frame(self, dtype: pl.DataType, high: int) -> PrivateFrame:
        """Return a frame without rows, whose column x has bounds from 0."""
        return self.frame_of({"x": dtype}, bounds={"x": (0, high)})

    def frame_of(
        self,
        schema: Mapping[str, pl.DataType],
        *,
        bounds: Mapping[str, tuple[int, int]],
    ) -> PrivateFrame:
        """Return a frame without rows, of some columns with bounds."""
        single = self.max_rows == 1
        return attach(
            pl.DataFrame(schema={"unit": pl.Int64(), **schema}),
            Accountant(epsilon=1),
            privacy_unit=None if single else "unit",
            max_rows=None if single else self.max_rows,
            bounds=dict(bounds),
        )

    def width(self, query: Query[Any], rows: int, *, cells: int | None = None) -> float:
        """Return the error that a planned release states."""
        outlook = query.outlook
        together = outlook.cells if cells is None else cells
        error = outlook.known_error(rows)
        return float(error.half_width(self.confidence, cells=together).max())


def checked_limit(max_rows: object) -> int:
    """Return a limit of rows per unit.

    Raises
    ------
    ParameterTypeError, ParameterError
        If it is no whole number of at least 1.
    """
    rows, _ = check_contributions(max_rows, None, unit="unit")
    return 1 if rows is None else rows


def whole(value: object, *, what: str, least: int, most: int) -> int:
    """Return a public whole number of a range.

    Raises
    ------
    ParameterTypeError, ParameterError
        If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        msg = f"{what} must be a whole number, not {type(value).__name__}."
        raise ParameterTypeError(msg)
    if not least <= value <= most:
        msg = f"{what} must be from {least} to {most}, not {value}."
        raise ParameterError(msg)
    return int(cast("int", value))
