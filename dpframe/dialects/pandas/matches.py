"""Which rows of two pandas frames match, and those rows in dtypes that are settled.

pandas' own merge picks dtypes by what it meets: whole numbers become floats and
Booleans become objects where some row has no match. Here the rows that match are
found on the key columns alone, by Polars, and then taken by position; a column that
may miss values is first given a dtype that can hold them, whatever the rows are.
"""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pandas as pd
import polars as pl

from dpframe.errors import ParameterTypeError
from dpframe.proofs.pandas.kinds import (
    as_plain,
    column_kind,
    plain_dtype,
    polars_dtype,
)
from dpframe.values import Kind, column_type

if TYPE_CHECKING:
    from collections.abc import Sequence

How = Literal["inner", "left", "left_anti", "right", "outer"]
Positions = np.ndarray[Any, np.dtype[np.int64]]

_JOINS: Final[dict[How, Any]] = {
    "inner": "inner",
    "left": "left",
    "left_anti": "anti",
    "right": "right",
    "outer": "full",
}


def matches(
    left: Sequence[pl.Series], right: Sequence[pl.Series], how: How
) -> tuple[Positions, Positions]:
    """Return the positions of the rows that a join pairs; -1 where there is none.

    Keys are given as by `settled`. A missing key matches a missing one, as in
    pandas: that looks at the row's own key alone.
    """
    names = [str(place) for place in range(len(left))]
    mine, theirs = (
        pl.DataFrame(dict(zip(names, keys, strict=True))).with_row_index(side)
        for side, keys in (("left", left), ("right", right))
    )
    order = "right_left" if how == "right" else "left_right"
    found = mine.join(
        theirs, on=names, how=_JOINS[how], nulls_equal=True, maintain_order=order
    )
    return _positions(found, "left"), _positions(found, "right")


def _positions(found: pl.DataFrame, side: str) -> Positions:
    if side not in found.columns:
        return np.full(found.height, -1, dtype=np.int64)
    return found[side].cast(pl.Int64).fill_null(-1).to_numpy()


def check_kinds(left: pl.DataType, right: pl.DataType, *, what: str) -> None:
    """Check that two keys can be equal, by their dtypes.

    Raises
    ------
    ParameterTypeError
        If their values are not of one kind, or are Python objects.
    """
    kinds = [column_type(what, dtype).kind for dtype in (left, right)]
    zones = [getattr(dtype, "time_zone", None) is None for dtype in (left, right)]
    scales = [getattr(dtype, "scale", 0) for dtype in (left, right)]
    if Kind.OBJECT in kinds:
        msg = f"merge cannot match {what}: Python objects are not compared."
        raise ParameterTypeError(msg, hint="cast to text or numbers before attaching.")
    if kinds[0] is not kinds[1] or zones[0] is not zones[1] or scales[0] != scales[1]:
        msg = f"merge cannot match {what}: {left} and {right} are not of one kind."
        raise ParameterTypeError(msg, hint="cast one of them by astype first.")


def settled(column: pl.Series, other: pl.DataType) -> pl.Series:
    """Return a key in a dtype in which keys of the other dtype can be equal to it.

    Every cast is exact: to 64 or 128 bits, and instants to their nanoseconds.
    """
    dtype = column.dtype
    if dtype.is_float():
        return column.cast(pl.Float64).fill_nan(None)
    if dtype == other:
        return column
    if dtype.is_signed_integer() and other.is_signed_integer():
        return column.cast(pl.Int64)
    if dtype.is_integer():
        return column.cast(pl.Int128)
    if isinstance(dtype, (pl.Datetime, pl.Duration)):
        ticks = pl.Series([_TICKS[str(dtype.time_unit)]], dtype=pl.Int128)
        return column.to_physical().cast(pl.Int128) * ticks
    if isinstance(dtype, pl.Decimal):
        return column.cast(pl.Decimal(38, dtype.scale))
    return column


_TICKS: Final = {"ms": 10**6, "us": 10**3, "ns": 1}


def check_readable(frame: pd.DataFrame) -> None:
    """Check that all columns are of dtypes that are known to hold missing values.

    Raises
    ------
    ParameterTypeError
    """
    for name, dtype in frame.dtypes.items():
        column_kind(str(name), dtype)


def check_same(left: pd.Series[Any], right: pd.Series[Any]) -> None:
    """Check that two columns hold values of one dtype, whatever their categories.

    Raises
    ------
    ParameterTypeError
    """
    dtypes = [plain_dtype(column.dtype) for column in (left, right)]
    if dtypes[0] != dtypes[1]:
        says = " and ".join(map(str, dtypes))
        msg = f"This merge takes one key from both frames, where it is {says}."
        raise ParameterTypeError(msg, hint="cast it to one dtype in both first.")


def from_either(
    left: pd.Series[Any], right: pd.Series[Any], at: Positions, there: Positions
) -> pd.Series[Any]:
    """Return the left column's value in each row that has one, else the right one's."""
    both = pd.concat([as_plain(left), as_plain(right)], ignore_index=True)
    found = both.take(np.where(at >= 0, at, there + len(left)))
    found.index = pd.RangeIndex(len(found))
    return found  # a column: from an array of objects, pandas would infer a dtype


def rows_at(frame: pd.DataFrame, positions: Positions, *, some: bool) -> pd.DataFrame:
    """Return rows by position; with `some`, a row of missing values at each -1.

    Then all columns are first cast to dtypes that can miss values, whether or not
    any does.
    """
    taken = _with_missing(frame).reindex(positions) if some else frame.take(positions)
    taken.index = pd.RangeIndex(len(positions))
    return taken


def _with_missing(frame: pd.DataFrame) -> pd.DataFrame:
    columns = [
        frame.iloc[:, place].astype(missing_dtype(dtype))
        for place, dtype in enumerate(frame.dtypes)
    ]
    if not columns:
        return frame
    made = pd.concat(columns, axis=1)
    made.columns = frame.columns
    return made


def missing_dtype(dtype: Any) -> Any:
    """Return a dtype itself, or the one of the same values that can miss some."""
    if isinstance(dtype, np.dtype) and dtype.kind == "b":
        return pd.BooleanDtype()
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return pd.api.types.pandas_dtype(str(polars_dtype(dtype)))
    return dtype
