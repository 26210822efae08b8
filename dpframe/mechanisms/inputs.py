"""What every release checks before it is planned: words, bounds and limits.

All of it from parameters and schema, so that a mistake costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import polars as pl

from dpframe.declare import find_column, public_value
from dpframe.errors import (
    BoundsRequiredError,
    DomainRequiredError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.table import enumeration
from dpframe.tally import Contribution, Per
from dpframe.values import (
    declared_type,
    default_bounds,
    numeric_bounds,
    parse_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpframe.frame import PrivateFrame
    from dpframe.privacy.loss import Loss
    from dpframe.values import Bounds, ColumnType


_SEVERAL: Final = ".dp.agg(...) or .dp.mean_cov([...])"


def check_pure(loss: Loss, *, what: str, hint: str) -> None:
    """Refuse a loss that only Gaussian noise can spend.

    Raises
    ------
    ParameterError
        For a rho.
    """
    if loss.epsilon is None:
        msg = f"{what} has pure noise, and a rho buys Gaussian noise."
        raise ParameterError(msg, hint=hint)


def chosen(word: object, *, among: Sequence[str], what: str) -> str:
    """Return a word that is one of a few.

    Raises
    ------
    ParameterTypeError
        If it is no text. For bounds given as ``bound=``, the hint says so.
    ParameterError
        If it is another word.
    """
    allowed = enumeration([f'"{choice}"' for choice in among], "or")
    if not isinstance(word, str):
        hint = "clipping bounds go to bounds=." if what == "bound" else None
        msg = f"{what} must be {allowed}, not {type(word).__name__}."
        raise ParameterTypeError(msg, hint=hint)
    if word not in among:
        msg = f"{what} must be {allowed}, not {word!r}."
        raise ParameterError(msg)
    return word


def mapping_of(value: object, *, what: str) -> Mapping[object, object]:
    """Return a mapping by column; None is an empty one.

    Raises
    ------
    ParameterTypeError
        If it is no mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        msg = f"{what} must be a mapping by column, not {type(value).__name__}."
        raise ParameterTypeError(msg)
    return cast("Mapping[object, object]", value)


@dataclass(frozen=True, kw_only=True)
class Clipped:
    """A column and the public bounds that a release clips it to.

    Attributes
    ----------
    column : ColumnType
    bounds : Bounds
        As declared.
    limits : pair of Fraction
        The same on the column's number line.
    """

    column: ColumnType
    bounds: Bounds
    limits: tuple[Fraction, Fraction]


def clipped(frame: PrivateFrame, column: object, bounds: object) -> Clipped:
    """Return a column with its clipping bounds.

    Those given win over those the frame carries; Booleans need none.

    Raises
    ------
    BoundsRequiredError
        If there are none.
    """
    ctype = find_column(frame, column, several=_SEVERAL)
    found = carried_bounds(frame, ctype, bounds)
    if found is None:
        msg = f"Clipping bounds of column {ctype.name!r} are needed and not declared."
        hint = f"write .dp.bounds({{{ctype.name!r}: (low, high)}}), or pass bounds=."
        raise BoundsRequiredError(msg, hint=hint)
    ctype = declared_type(ctype, (found.low, found.high))
    return Clipped(column=ctype, bounds=found, limits=numeric_bounds(ctype, found))


def typed(frame: PrivateFrame, column: object) -> ColumnType:
    """Return a column whose missing values can be told from the others.

    A column of Python objects takes its type from the keys or bounds it carries.

    Raises
    ------
    DomainRequiredError
        If it carries none.
    """
    ctype = find_column(frame, column, several=_SEVERAL)
    state = frame.private_state
    bounds = state.bounds.get(ctype.name)
    found = () if bounds is None else (bounds.low, bounds.high)
    ctype = declared_type(ctype, state.domain.get(ctype.name, found))
    if isinstance(ctype.dtype, pl.Object):
        msg = f"Column {ctype.name!r} holds {ctype.kind.value} of no declared type."
        hint = (
            f"write .dp.domain({{{ctype.name!r}: [...]}}) or "
            f".dp.bounds({{{ctype.name!r}: (low, high)}}), or cast it before "
            'attaching, as by .astype("str").'
        )
        raise DomainRequiredError(msg, hint=hint)
    return ctype


def carried_bounds(
    frame: PrivateFrame, ctype: ColumnType, bounds: object = None
) -> Bounds | None:
    """Return the bounds given for a column, else those it carries, else None."""
    if bounds is not None:
        return parse_bounds(ctype, public_value(bounds))
    carried = frame.private_state.bounds.get(ctype.name)
    return default_bounds(ctype) if carried is None else carried


def row_contribution(frame: PrivateFrame) -> Contribution:
    """Return how rows count: each alone, or sharing a weight within their unit.

    They count alone where each is a unit, or each unit has one by construction.

    Raises
    ------
    BoundsRequiredError
        If there is a privacy unit and no `max_rows`.
    """
    state = frame.private_state
    if state.rows_are_units:
        return Contribution()
    if state.max_rows is None:
        msg = (
            f"Rows are counted, and one {state.privacy_unit!r} may have any number "
            "of them: max_rows is needed."
        )
        hint = "write .dp.contributions(max_rows=...)."
        raise BoundsRequiredError(msg, hint=hint)
    return Contribution(per=Per.ROWS, limit=state.max_rows)


def unit_contribution(frame: PrivateFrame, per: Per, *, cells: int) -> Contribution:
    """Return how units count once per cell; where each has one row, rows count.

    Raises
    ------
    BoundsRequiredError
        If a unit may be in several cells and there is no `max_groups`.
    """
    state = frame.private_state
    if state.rows_are_units:
        return Contribution()
    if cells == 1:
        return Contribution(per=per, limit=1, salt=state.salt)
    return Contribution(per=per, limit=min(max_groups(frame), cells), salt=state.salt)


def value_contribution(frame: PrivateFrame, names: Sequence[object]) -> Contribution:
    """Return for how many values of some columns together a unit counts, once each.

    A row has one; so has a unit of its own column.

    Raises
    ------
    BoundsRequiredError
        If a unit may have several and there is no `max_groups`.
    """
    state = frame.private_state
    if state.rows_are_units:
        return Contribution()
    itself = state.unit_visible and tuple(names) == (state.privacy_unit,)
    limit = 1 if itself else max_groups(frame)
    return Contribution(per=Per.UNITS, limit=limit, salt=state.salt)


def max_groups(frame: PrivateFrame) -> int:
    """Return the most cells that one unit may count in.

    Raises
    ------
    BoundsRequiredError
        If it is not declared.
    """
    state = frame.private_state
    if state.max_groups is None:
        msg = (
            f"One {state.privacy_unit!r} may count in any number of cells: "
            "max_groups is needed."
        )
        hint = "write .dp.contributions(max_groups=...)."
        raise BoundsRequiredError(msg, hint=hint)
    return state.max_groups


def listed_columns(columns: object) -> tuple[Any, ...]:
    """Return one name, or a list of distinct names, as a tuple.

    Raises
    ------
    ParameterTypeError
        If it is neither text nor a list or tuple.
    ParameterError
        If the list is empty or names a column twice.
    """
    if isinstance(columns, str):
        return (columns,)
    if not isinstance(columns, (list, tuple)):
        msg = "columns must be one name or a list of names."
        raise ParameterTypeError(msg)
    names = tuple(cast("Sequence[object]", columns))
    if not names:
        msg = "columns are empty."
        raise ParameterError(msg)
    if len({str(name) for name in names}) < len(names):
        msg = "columns name a column twice."
        raise ParameterError(msg)
    return names
