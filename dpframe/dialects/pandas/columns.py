"""Columns of a pandas frame as Polars columns.

What is missing in pandas (NaN aside), in whatever form, is null in Polars.
"""

# pandas' and pyarrow's arrays are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import datetime as dt
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpframe.proofs.pandas.kinds import is_missing, polars_dtype
from dpframe.values import Kind, column_type

if TYPE_CHECKING:
    from collections.abc import Callable


def polars_column(name: str, column: pd.Series[Any], dtype: pl.DataType) -> pl.Series:
    """Return a column as Polars', without a copy where the memory allows it.

    `dtype` is that of `polars_dtype`, save for object columns: they take the one
    that is asked for, and a value of another type becomes null.
    """
    host: Any = column.dtype
    if isinstance(host, pd.CategoricalDtype):
        levels = pd.Series(host.categories)
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.uint32))  # -1 wraps
        known = codes < len(levels)
        held = pl.select(pl.when(known).then(codes)).to_series()
        return polars_column(name, levels, dtype).gather(held).alias(name)
    if isinstance(host, np.dtype) and host.kind == "O":
        return _from_objects(name, column.to_numpy(), dtype)
    if isinstance(host, np.dtype) and host.kind in "mM":
        return _from_instants(name, column.to_numpy(), dtype)
    if isinstance(host, pd.DatetimeTZDtype):
        utc = column.array.to_numpy(f"datetime64[{host.unit}]")
        return _from_instants(name, utc, dtype)
    if isinstance(host, np.dtype):
        return pl.Series(name, np.ascontiguousarray(column.to_numpy())).cast(dtype)
    try:
        arrow: Any = pa.array(column.array)
    except UnicodeEncodeError:  # half a character, in text that Python holds
        return _from_objects(name, column.to_numpy(dtype=object), dtype)
    if isinstance(host, pd.ArrowDtype):
        arrow = _readable(arrow)
    found = cast("pl.Series", pl.from_arrow(arrow)).alias(name)
    return found if found.dtype == dtype else found.cast(dtype, strict=False)


def _from_instants(name: str, values: Any, dtype: pl.DataType) -> pl.Series:
    """Read numpy instants or durations; seconds become milliseconds exactly."""
    if np.datetime_data(values.dtype)[0] == "s":
        most = np.iinfo(np.int64).max // 1000  # later than any calendar: held there
        whole = values.view(np.int64)
        scaled = np.clip(whole, -most, most) * 1000
        missing = np.isnat(values)
        held = np.where(missing, np.iinfo(np.int64).min, scaled)
        values = held.view(f"{values.dtype.kind}8[ms]")
    found = pl.Series(name, np.ascontiguousarray(values))
    zone = getattr(dtype, "time_zone", None)
    return found if zone is None else found.dt.replace_time_zone("UTC").cast(dtype)


def _readable(arrow: Any) -> Any:
    """Return an Arrow array in a type that Polars has, with the same values."""
    kind = arrow.type
    if pa.types.is_dictionary(kind):
        arrow = arrow.cast(kind.value_type)
        kind = arrow.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        arrow = arrow.cast(pa.int64())
        target = polars_dtype(pd.ArrowDtype(kind))
        if kind.unit == "s":
            most = np.iinfo(np.int64).max // 1000
            held = pl.from_arrow(arrow).clip(-most, most) * 1000  # pyright: ignore[reportAttributeAccessIssue, reportOperatorIssue, reportCallIssue] - a column, never a table
            return held.cast(target).to_arrow()
    return arrow


def _from_objects(name: str, values: Any, dtype: pl.DataType) -> pl.Series:
    kind = column_type(name, dtype).kind
    if kind is Kind.OBJECT:  # nothing was declared, so nothing can be read from it
        return pl.Series(name, [None] * len(values), dtype=pl.Null)
    if kind is Kind.FLOAT:
        floats = np.fromiter((_float(value) for value in values), np.float64)
        return pl.Series(name, floats).cast(dtype)
    if kind is Kind.DECIMAL:
        convert = _decimal_to(int(getattr(dtype, "scale", 0)))
    elif kind is Kind.DATETIME:
        zone = getattr(dtype, "time_zone", None)
        convert = _instant_to(aware=zone is not None)
        held = pl.Series(name, _each(convert, values), dtype=pl.Datetime("us"))
        if zone is not None:
            held = held.dt.replace_time_zone("UTC")
        return held.cast(dtype)
    else:
        convert = _CONVERTERS[kind]
    return pl.Series(name, _each(convert, values), dtype=dtype)


def _each(convert: Callable[[object], Any], values: Any) -> list[Any]:
    """Convert objects one by one; one that fails is missing: failing would tell."""

    def converted(value: object) -> Any:
        try:
            return convert(value)
        except Exception:  # noqa: BLE001 - beyond the calendar, or its own code
            return None

    return [converted(value) for value in values]


def _float(value: object) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating))
    if not number or isinstance(value, (bool, np.timedelta64)):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every double
        return np.inf if value > 0 else -np.inf


def _integer(value: object) -> int | None:
    if not isinstance(value, (int, np.integer)):
        return None
    if isinstance(value, (bool, np.timedelta64)):
        return None
    return int(value) if -(2**63) <= value < 2**63 else None


def _boolean(value: object) -> bool | None:
    return bool(value) if isinstance(value, (bool, np.bool_)) else None


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return str(value).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _date(value: object) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return None
    return value if isinstance(value, dt.date) else None


_MOST_DAYS: Final = 106_000_000  # of a duration in microseconds


def _duration(value: object) -> dt.timedelta | None:
    if isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    if not isinstance(value, dt.timedelta) or is_missing(value):
        return None
    held = value.to_pytimedelta() if isinstance(value, pd.Timedelta) else value
    return held if abs(held.days) <= _MOST_DAYS else None


def _instant_to(*, aware: bool) -> Callable[[object], dt.datetime | None]:
    def convert(value: object) -> dt.datetime | None:
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if not isinstance(value, dt.datetime) or is_missing(value):
            return None
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        if (value.utcoffset() is not None) is not aware:
            return None
        try:
            return value.astimezone(dt.UTC).replace(tzinfo=None) if aware else value
        except OverflowError:  # the first or last day of the calendar
            return value.replace(tzinfo=None)

    return convert


_EXACT: Final = Context(prec=100, traps=[])


def _decimal_to(scale: int) -> Callable[[object], Decimal | None]:
    """Round half to even where a value has more digits than were declared."""
    step = Decimal(1).scaleb(-scale)

    def convert(value: object) -> Decimal | None:
        if not isinstance(value, Decimal) or not value.is_finite():
            return None
        held = value.quantize(step, rounding=ROUND_HALF_EVEN, context=_EXACT)
        if held.is_nan():  # more digits than any column holds
            return None
        return held if held.copy_abs() < Decimal(10) ** (38 - scale) else None

    return convert


_CONVERTERS: Final[dict[Kind, Callable[[object], Any]]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: _integer,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.DURATION: _duration,
}


def unit_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a privacy unit column in a dtype that an engine can group by.

    Objects are told apart by type and by what they print; text stays itself. So
    1 and 1.0 are two units in an object column, as are 1 and "1". What an engine
    would find missing is missing: it must not be one unit of many. So are seconds
    that milliseconds cannot hold, which an engine would hold to one instant.
    """
    host: Any = column.dtype
    levels: Any = host.categories.dtype if _is_category(host) else host
    if isinstance(levels, np.dtype) and levels.kind == "O":
        names = [_unit_name(value) for value in column.to_numpy(dtype=object)]
        return pd.Series(names, index=column.index, dtype="str")
    read = polars_column("", column, polars_dtype(host))
    known = read.is_not_null() & (read.is_not_nan() if read.dtype.is_float() else True)
    if isinstance(read.dtype, (pl.Datetime, pl.Duration)):
        most = _FAR - 1 if read.dtype.time_unit == "ms" else np.iinfo(np.int64).max
        known &= read.to_physical().is_between(-most, most)  # the least is pandas' NaT
    held = known.to_numpy()
    if held.all() or np.array_equal(held, column.notna()):  # missing there already
        return column
    return column.where(held)


_FAR: Final = np.iinfo(np.int64).max // 1000 * 1000
"""Milliseconds to which more distant seconds are held."""


def _is_category(host: Any) -> bool:
    return isinstance(host, pd.CategoricalDtype)


def _unit_name(value: object) -> str | None:
    if isinstance(value, str):
        plain = type(value) is str and value.isascii()  # nothing to take the place of
        return value if plain else _text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    try:
        return f"\x00{type(value).__qualname__}:{value!r}"
    except Exception:  # noqa: BLE001 - its own code; which values fail is private
        return f"\x00{type(value).__qualname__}"
