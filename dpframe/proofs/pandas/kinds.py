"""Which kind of values a pandas column holds, by its dtype alone."""

# pandas' and pyarrow's dtypes are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpframe.errors import ParameterTypeError
from dpframe.values import Kind, column_type

_TIME_UNITS: Final = {"s": "ms", "ms": "ms", "us": "us", "ns": "ns"}
"""Seconds are held as milliseconds by an exact multiplication."""

_INTEGERS: Final[dict[str, pl.DataType]] = {
    "i1": pl.Int8(),
    "i2": pl.Int16(),
    "i4": pl.Int32(),
    "i8": pl.Int64(),
    "u1": pl.UInt8(),
    "u2": pl.UInt16(),
    "u4": pl.UInt32(),
    "u8": pl.UInt64(),
}
_FLOATS: Final[dict[str, pl.DataType]] = {
    "f2": pl.Float32(),
    "f4": pl.Float32(),
    "f8": pl.Float64(),
}


def polars_dtype(dtype: Any) -> pl.DataType:
    """Return the Polars dtype that holds the same values as a pandas dtype.

    A category becomes the dtype of its categories, never an Enum: its levels may
    have been found in the data. What no release can read is `pl.Unknown`.
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return polars_dtype(dtype.categories.dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return _from_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pl.Datetime(_unit(dtype.unit), _zone_name(dtype.tz))
    if isinstance(dtype, pd.StringDtype):
        return pl.String()
    if not isinstance(dtype, np.dtype):
        numpy_dtype = getattr(dtype, "numpy_dtype", None)  # the nullable dtypes
        known = isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "biuf"
        return polars_dtype(numpy_dtype) if known else pl.Unknown()
    if dtype.kind == "b":
        return pl.Boolean()
    if dtype.kind == "O":
        return pl.Object()
    if dtype.kind in "mM":
        unit = _unit(np.datetime_data(dtype)[0])
        return pl.Datetime(unit) if dtype.kind == "M" else pl.Duration(unit)
    code = f"{dtype.kind}{dtype.itemsize}"
    return _INTEGERS.get(code) or _FLOATS.get(code) or pl.Unknown()


def _from_arrow(dtype: Any) -> pl.DataType:
    is_a = pa.types
    if is_a.is_dictionary(dtype):
        return _from_arrow(dtype.value_type)
    if is_a.is_boolean(dtype):
        return pl.Boolean()
    if is_a.is_integer(dtype) or is_a.is_floating(dtype):
        return polars_dtype(np.dtype(dtype.to_pandas_dtype()))
    if is_a.is_string(dtype) or is_a.is_large_string(dtype):
        return pl.String()
    if is_a.is_string_view(dtype):
        return pl.String()
    if is_a.is_decimal(dtype) and 0 <= dtype.scale <= dtype.precision <= 38:  # noqa: PLR2004 - digits of 128 bits
        return pl.Decimal(dtype.precision, dtype.scale)
    if is_a.is_date(dtype):
        return pl.Date()
    if is_a.is_timestamp(dtype):
        zone = None if dtype.tz is None else _zone_name(dtype.tz)
        return pl.Datetime(_unit(dtype.unit), zone)
    if is_a.is_duration(dtype):
        return pl.Duration(_unit(dtype.unit))
    return pl.Null() if is_a.is_null(dtype) else pl.Unknown()


def _unit(unit: str) -> Any:
    return _TIME_UNITS[unit]


def _zone_name(zone: object) -> str:
    """Return a time zone's name; a fixed offset is read by its instants, in UTC."""
    name = str(getattr(zone, "key", None) or zone)
    try:
        return ZoneInfo(name).key
    except (ValueError, ZoneInfoNotFoundError):
        return "UTC"


def column_kind(name: str, dtype: Any) -> Kind:
    """Return the kind of a column's values.

    Raises
    ------
    ParameterTypeError
        For dtypes that no release can read.
    """
    found = polars_dtype(dtype)
    if found == pl.Unknown():
        msg = f"Column {name!r} has dtype {type(dtype).__name__}, which is not read."
        raise ParameterTypeError(msg, hint="drop it, or cast it before attaching.")
    return column_type(name, found).kind


def literal_kind(value: object) -> Kind | None:
    """Return the kind of a public scalar; None where it is no scalar of any kind."""
    for types, kind in _LITERALS:
        if isinstance(value, types):
            return None if value is pd.NaT else kind
    return None


_LITERALS: Final[tuple[tuple[tuple[type, ...], Kind], ...]] = (
    ((bool, np.bool_), Kind.BOOLEAN),
    ((np.timedelta64, dt.timedelta), Kind.DURATION),  # numpy has it as an integer
    ((int, np.integer), Kind.INTEGER),
    ((float, np.floating), Kind.FLOAT),
    ((Decimal,), Kind.DECIMAL),
    ((str,), Kind.TEXT),
    ((dt.datetime, np.datetime64), Kind.DATETIME),
    ((dt.date,), Kind.DATE),
)


def is_missing(value: object) -> bool:
    """Whether a public scalar is None, NaN, NaT or NA."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return literal_kind(value) is not None and value != value  # noqa: PLR0124 - NaN


def plain_dtype(dtype: Any) -> Any:
    """Return the dtype in which a column is computed with.

    Categories and Arrow-backed columns take pandas' own nullable dtypes, whose
    elementwise operations neither raise nor change dtype with the values they
    meet (Arrow's checked arithmetic does raise). Every such cast is infallible.
    """
    is_arrow = isinstance(dtype, pd.ArrowDtype)
    if not is_arrow and not isinstance(dtype, pd.CategoricalDtype):
        return dtype
    kind = polars_dtype(dtype)
    if kind == pl.Boolean():
        return pd.BooleanDtype()
    if kind.is_integer():
        return pd.api.types.pandas_dtype(str(kind))
    if kind.is_float():
        return np.dtype(str(kind).lower())
    if kind == pl.String():  # in Python where it was: half a character is held there
        levels: Any = dtype if is_arrow else dtype.categories.dtype
        if isinstance(levels, pd.StringDtype):
            return pd.StringDtype(levels.storage, na_value=np.nan)
        return pd.StringDtype(na_value=np.nan)
    if kind.is_temporal():
        return _plain_time(dtype, kind)
    return dtype if is_arrow else dtype.categories.dtype


def _plain_time(dtype: Any, kind: pl.DataType) -> Any:
    if kind == pl.Date():
        return np.dtype("datetime64[s]")
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories.dtype
    arrow: Any = dtype.pyarrow_dtype
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if isinstance(kind, pl.Duration):
        return np.dtype(f"timedelta64[{arrow.unit}]")
    if arrow.tz is None:
        return np.dtype(f"datetime64[{arrow.unit}]")
    return pd.DatetimeTZDtype(arrow.unit, arrow.tz)


def as_plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in its `plain_dtype`."""
    dtype, target = column.dtype, plain_dtype(column.dtype)
    if dtype is target:
        return column
    if isinstance(dtype, pd.CategoricalDtype):  # pandas' way is through floats
        levels = as_plain(pd.Series(dtype.categories)).astype(target)
        return levels.reindex(column.cat.codes.to_numpy()).set_axis(column.index)
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_dictionary(dtype.pyarrow_dtype):
        column = column.astype(pd.ArrowDtype(dtype.pyarrow_dtype.value_type))
    if isinstance(column.dtype, pd.ArrowDtype) and target.kind == "M":
        return _instants(column, target)
    return column.astype(target)


def _instants(column: pd.Series[Any], target: Any) -> pd.Series[Any]:
    """Return Arrow dates and instants as numpy's, those far away too."""
    arrow: Any = pa.array(column.array)
    zone = getattr(target, "tz", None)
    unit = str(np.datetime_data(target)[0]) if zone is None else target.unit
    if pa.types.is_date(arrow.type):
        arrow = arrow.cast(pa.date32(), safe=False)
    else:
        arrow = arrow.cast(pa.int64())
    held = arrow.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False)
    return _zoned(held, zone, column.index)


def on_calendar(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return instants clipped to Python's calendar, and any other column as it is.

    pandas fails on some beyond it, and failing would say that there are such.
    """
    dtype: Any = column.dtype
    zone = getattr(dtype, "tz", None)
    if getattr(dtype, "kind", "") != "M" or isinstance(dtype, pd.ArrowDtype):
        return column
    unit = str(np.datetime_data(dtype)[0]) if zone is None else dtype.unit
    ends = _NANOSECOND_ENDS if unit == "ns" else _ENDS
    first, last = (np.datetime64(day, unit) for day in ends)
    utc: Any = column.array.to_numpy(f"datetime64[{unit}]")
    return _zoned(np.minimum(np.maximum(utc, first), last), zone, column.index)


def _zoned(utc: Any, zone: Any, index: Any) -> pd.Series[Any]:
    found = pd.Series(utc, index=index)
    return found if zone is None else found.dt.tz_localize("UTC").dt.tz_convert(zone)


_ENDS: Final = ("0001-01-03", "9999-12-29")
_NANOSECOND_ENDS: Final = ("1677-09-23", "2262-04-09")


_TYPICAL: Final[dict[Kind, Any]] = {
    Kind.BOOLEAN: True,
    Kind.INTEGER: 1,
    Kind.FLOAT: 1.0,
    Kind.DECIMAL: Decimal(1),
    Kind.DATE: dt.date(2000, 1, 1),
    Kind.TEXT: "a",
    Kind.OBJECT: None,
}


def probe(dtype: Any) -> pd.Series[Any]:
    """Return two made-up rows of a dtype, one of them missing where that can be."""
    kind = column_kind("", dtype)
    if kind is Kind.DATETIME:
        zone = getattr(dtype, "tz", None)
        return pd.Series([pd.NaT, pd.Timestamp(0, tz=zone)]).astype(dtype)
    if kind is Kind.DURATION:
        return pd.Series([pd.NaT, pd.Timedelta(0)]).astype(dtype)
    value = _TYPICAL[kind]
    can_miss = not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
    return pd.Series([None if can_miss else value, value], dtype=dtype)
