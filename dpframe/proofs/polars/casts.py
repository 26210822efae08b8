"""Which casts between Polars dtypes are row-local, and which cannot fail."""

from __future__ import annotations

from typing import Final

import polars as pl

_NUMBERS: Final = 1
_TIMES: Final = 2
_TEXTS: Final = 3
_BINARY: Final = 4

_FINENESS: Final = {"ms": 0, "us": 1, "ns": 2}


def cast_is_local(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether a cast that gives null where it fails looks at one row alone.

    A Categorical is read as its text; its codes depend on the other rows, so that
    neither a cast to it nor one to its numbers is local.
    """
    if source == target:
        return not isinstance(source, pl.Object)
    if isinstance(source, pl.Null):
        return _group(target) is not None and not isinstance(target, pl.Categorical)
    if isinstance(target, pl.Categorical):
        return False
    if isinstance(source, pl.Categorical):
        return isinstance(target, (pl.String, pl.Enum))
    of, to = _group(source), _group(target)
    if of is None or to is None or of == _BINARY:
        return False
    if of == _TEXTS:
        return to in {_NUMBERS, _TEXTS, _BINARY}
    return to in {_NUMBERS, _TIMES} or isinstance(target, pl.String)


def cast_never_fails(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether every value of one dtype has its place in the other."""
    if source == target or isinstance(source, pl.Null) or isinstance(target, pl.String):
        return True
    if isinstance(source, pl.Boolean):
        return target.is_numeric()
    if source.is_integer():
        return (
            target.is_float() or isinstance(target, pl.Boolean) or _fits(source, target)
        )
    if source.is_float():
        return target.is_float() or isinstance(target, pl.Boolean)
    if source.is_decimal():
        return target.is_float()
    return _time_never_fails(source, target)


def _time_never_fails(source: pl.DataType, target: pl.DataType) -> bool:
    if isinstance(source, pl.Date):
        coarse = isinstance(target, pl.Datetime) and target.time_unit != "ns"
        return coarse or isinstance(target, (pl.Int32, pl.Int64))
    if isinstance(source, (pl.Datetime, pl.Duration)) and isinstance(
        target, (pl.Datetime, pl.Duration)
    ):
        coarser = _FINENESS[target.time_unit] <= _FINENESS[source.time_unit]
        return coarser and type(source) is type(target)
    if isinstance(source, pl.Datetime):
        return isinstance(target, (pl.Int64, pl.Date))
    return isinstance(source, (pl.Duration, pl.Time)) and isinstance(target, pl.Int64)


def _fits(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether whole numbers of one dtype are all of the other."""
    if not target.is_integer():
        return False
    of, to = _bits(source), _bits(target)
    if source.is_signed_integer():
        return target.is_signed_integer() and of <= to
    return of <= to if target.is_unsigned_integer() else of < to


def _bits(dtype: pl.DataType) -> int:
    return int(str(dtype).lstrip("UInt"))


def _group(dtype: pl.DataType) -> int | None:
    if dtype.is_numeric() or isinstance(dtype, pl.Boolean):
        return _NUMBERS
    if dtype.is_temporal():
        return _TIMES
    if isinstance(dtype, (pl.String, pl.Enum, pl.Categorical)):
        return _TEXTS
    return _BINARY if isinstance(dtype, pl.Binary) else None
