"""What a release is compared with: its own columns, found by name on another frame."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dpframe.declare import find_column
from dpframe.errors import ParameterTypeError
from dpframe.mechanisms.grids import WIDEST_NUMBER
from dpframe.values import PER_SECOND, Kind, declared_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.deviation import Deviation
    from dpframe.frame import PrivateFrame
    from dpframe.values import ColumnType


class Comparison(NamedTuple):
    """Public answers, with the rows that they are compared with.

    Attributes
    ----------
    statistic : Deviation
    queries : str
        How many, or ``"all"``.
    title : str
        What the largest error is of.
    """

    statistic: Deviation
    queries: str
    title: str


def namesake(
    frame: PrivateFrame,
    column: ColumnType,
    numbers: Sequence[Fraction],
    *,
    ends: tuple[Fraction, Fraction],
) -> tuple[ColumnType, tuple[Fraction, ...]]:
    """Return the frame's own column of a name, and numbers on its number line.

    Integers and floats may be of other widths, times and decimals of other units: the
    points are the same.

    Parameters
    ----------
    frame : PrivateFrame
    column : ColumnType
        That of a release.
    numbers : sequence of Fraction
        On its number line: each must be a point of the frame's column, too.
    ends : pair of Fraction
        The bounds of the release: a column of Python objects takes its type from them.

    Raises
    ------
    ColumnNotFoundError
        If the frame has no such column.
    ParameterTypeError
        If the column is of another kind, or so coarse that numbers are lost.
    """
    values = [column.value(Fraction(end)) for end in ends]
    new = declared_type(find_column(frame, column.name), values)
    zones = (column.zone is None) == (new.zone is None)
    if new.kind is not column.kind or not zones:
        msg = f"Column {column.name!r} is {new.dtype}, and the release is of "
        msg += f"{column.dtype}."
        raise ParameterTypeError(msg, hint="cast it in a step first.")
    factor = _ticks(new) / _ticks(column)
    moved = tuple(number * factor for number in numbers)
    hint = f"cast it to {column.dtype} in a step first."
    if new.is_whole and any(number.denominator != 1 for number in moved):
        msg = f"Column {column.name!r} is {new.dtype}, which lacks points of the "
        msg += "release."
        raise ParameterTypeError(msg, hint=hint)
    if new.is_whole and max(map(abs, moved)) >= WIDEST_NUMBER:
        msg = f"The release has points too far out to be counted in {new.dtype}."
        raise ParameterTypeError(msg, hint=hint)
    return new, moved


def _ticks(column: ColumnType) -> Fraction:
    """Return how many steps of the number line a second, or the number 1, is."""
    if column.kind in {Kind.DATETIME, Kind.DURATION}:
        return Fraction(PER_SECOND[column.time_unit])
    return Fraction(10**column.scale if column.kind is Kind.DECIMAL else 1)
