"""The kinds of values a column can hold, and public values that match them.

Every supported dtype has an exact number line: whole numbers for integers, days,
instants and durations (in the column's own unit), scaled whole numbers for
decimals, doubles for floats. Bounds, keys and edges that a caller passes are
checked against the column's kind here, from the schema alone.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl

from dpframe.errors import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
PER_SECOND: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_NUMPY_SECONDS: Final[Mapping[str, Fraction]] = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}
_LARGEST: Final = Fraction(sys.float_info.max)
_MOST_PLACES: Final = 400
WIDEST: Final = 2.0**500
"""Float bounds beyond this, or closer together than its inverse, are refused."""
_MOST_DIGITS: Final = 10**38 - 1  # the widest decimal of a column
_MOST_TICKS: Final = (1 << 63) - 1000  # the widest duration of a column, in its unit
_MOST_INT64: Final = (1 << 63) - 1
_A_DATE: Final = "datetime.date(2024, 1, 31)"
_AN_INSTANT: Final = "datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC)"
_MOST_SECONDS: Final = 999_999_999 * 86_400  # the widest timedelta


class Kind(Enum):
    """What a column's values are, whatever their physical dtype."""

    BOOLEAN = "true or false"
    INTEGER = "whole numbers"
    FLOAT = "numbers"
    DECIMAL = "decimal numbers"
    DATE = "dates"
    DATETIME = "instants"
    DURATION = "durations"
    TEXT = "text"
    OBJECT = "Python objects"

    @property
    def is_number(self) -> bool:
        """Whether the values add up to a plain number."""
        return self in {Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL}

    @property
    def is_temporal(self) -> bool:
        """Whether the values are dates, instants or durations."""
        return self in {Kind.DATE, Kind.DATETIME, Kind.DURATION}

    @property
    def is_ordered(self) -> bool:
        """Whether values can be clipped to bounds."""
        return self.is_number or self.is_temporal


@dataclass(frozen=True)
class Bounds:
    """Public clipping bounds, as the caller wrote them."""

    low: Any
    high: Any

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


Keys = tuple[Any, ...]
"""Public keys of a column: distinct, none missing, in declared order."""


@dataclass(frozen=True)
class ColumnType:
    """A column's name, dtype and kind, with its exact number line."""

    name: str
    dtype: pl.DataType
    kind: Kind

    @property
    def time_unit(self) -> str:
        """Unit of an instant or a duration: ``"ms"``, ``"us"`` or ``"ns"``."""
        return str(getattr(self.dtype, "time_unit", None) or "us")

    @property
    def zone(self) -> str | None:
        """Time zone of an instant, None where it is naive."""
        return cast("str | None", getattr(self.dtype, "time_zone", None))

    @property
    def scale(self) -> int:
        """Digits after the point of a decimal."""
        return int(getattr(self.dtype, "scale", 0) or 0)

    @property
    def is_whole(self) -> bool:
        """Whether the number line is the integers."""
        return self.kind.is_ordered and self.kind is not Kind.FLOAT

    @property
    def ends(self) -> tuple[int, int]:
        """First and last point of a time line that Python's own times reach.

        In every time zone, where the column has one.
        """
        if self.kind is Kind.DATE:
            return _days(dt.date.min), _days(dt.date.max)
        ticks = PER_SECOND[self.time_unit]
        if self.kind is Kind.DURATION:
            most = min(_MOST_TICKS, _MOST_SECONDS * ticks)
            return -most, most
        margin = 0 if self.zone is None else 86_400 * ticks
        first = _days(dt.date.min) * 86_400 * ticks
        last = (_days(dt.date.max) + 1) * 86_400 * ticks - 1
        return max(first, -_MOST_INT64) + margin, min(last, _MOST_INT64) - margin

    def number(self, value: object, *, what: str) -> Fraction:
        """Return where a public value lies on the column's number line.

        Raises
        ------
        ParameterTypeError
            If `value` is not of the column's kind.
        ParameterError
            If it is NaN or infinite.
        """
        if self.kind is Kind.BOOLEAN:
            if isinstance(value, (bool, np.bool_)):
                return Fraction(int(cast("bool", value)))
            return exact_number(value, what=what)
        if self.kind.is_number:
            number = exact_number(value, what=what)
            if self.kind is Kind.FLOAT:
                return Fraction(float(number))
            return number * 10**self.scale if self.kind is Kind.DECIMAL else number
        if self.kind is Kind.DATE:
            return _day(value, what=what)
        if self.kind is Kind.DATETIME:
            seconds = _instant(value, zone=self.zone, what=what)
            return seconds * PER_SECOND[self.time_unit]
        if self.kind is Kind.DURATION:
            return _duration(value, what=what) * PER_SECOND[self.time_unit]
        msg = f"{what} of column {self.name!r} must suit {self.kind.value}."
        raise ParameterTypeError(msg)

    def value(self, number: Fraction) -> Any:
        """Return the Python value nearest to a point of the number line."""
        if self.kind is Kind.BOOLEAN:
            return bool(round(number))
        if self.kind is Kind.INTEGER:
            return round(number)
        if self.kind is Kind.DECIMAL:
            digits = min(max(round(number), -_MOST_DIGITS), _MOST_DIGITS)
            return Decimal(f"{digits}E-{self.scale}")
        if self.kind is Kind.DATE:
            return (EPOCH + dt.timedelta(days=round(number))).date()
        if self.kind is Kind.DATETIME:
            micros = round(number * 10**6 / PER_SECOND[self.time_unit])
            utc = EPOCH + dt.timedelta(microseconds=micros)
            if self.zone is None:
                return utc.replace(tzinfo=None)
            return utc.astimezone(ZoneInfo(self.zone))
        if self.kind is Kind.DURATION:
            ticks = min(max(number, -_MOST_TICKS), _MOST_TICKS)
            seconds = ticks / PER_SECOND[self.time_unit]
            seconds = min(max(seconds, -_MOST_SECONDS), _MOST_SECONDS)
            return dt.timedelta(microseconds=round(seconds * 10**6))
        return float(number)


def column_type(name: str, dtype: pl.DataType) -> ColumnType:
    """Return the kind of a column, refusing dtypes that have no number line.

    Raises
    ------
    ParameterTypeError
        For lists, structs, binary, times of day and other nested or opaque dtypes.
    """
    if dtype.is_integer():
        kind = Kind.INTEGER
    elif dtype.is_float():
        kind = Kind.FLOAT
    elif dtype.is_decimal():
        kind = Kind.DECIMAL
    else:
        found = _OTHER_KINDS.get(dtype.base_type())
        if found is None:
            msg = f"Column {name!r} has dtype {dtype}, which no release can read."
            raise ParameterTypeError(
                msg, hint="cast it to numbers, text, dates or Boolean first."
            )
        kind = found
    return ColumnType(name, dtype, kind)


_OTHER_KINDS: Final[Mapping[Any, Kind]] = {
    pl.Boolean: Kind.BOOLEAN,
    pl.Date: Kind.DATE,
    pl.Datetime: Kind.DATETIME,
    pl.Duration: Kind.DURATION,
    pl.String: Kind.TEXT,
    pl.Categorical: Kind.TEXT,
    pl.Enum: Kind.TEXT,
    pl.Object: Kind.OBJECT,
    pl.Null: Kind.OBJECT,
}


def declared_type(ctype: ColumnType, values: Sequence[object]) -> ColumnType:
    """Return the type of a column once public values are declared for it.

    Only an object column (or one that is missing throughout) takes its type from
    them; any other keeps its own.
    """
    if ctype.kind is not Kind.OBJECT or not values:
        return ctype
    kinds = {_python_dtype(value) for value in values}
    if kinds == {pl.Int64(), pl.Float64()}:
        kinds = {pl.Float64()}
    if all(isinstance(kind, pl.Decimal) for kind in kinds):
        finest = max(getattr(kind, "scale", 0) for kind in kinds)
        kinds = {pl.Decimal(38, finest)}
    if len(kinds) != 1 or None in kinds:
        msg = f"The values declared for column {ctype.name!r} are not of one type."
        raise ParameterTypeError(msg)
    return column_type(ctype.name, cast("pl.DataType", kinds.pop()))


def _python_dtype(value: object) -> pl.DataType | None:
    if isinstance(value, (bool, np.bool_)):
        return pl.Boolean()
    if isinstance(value, (int, np.integer)):
        return pl.Int64()
    if isinstance(value, (float, np.floating, Fraction)):
        return pl.Float64()
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return pl.Decimal(38, max(0, -exponent) if isinstance(exponent, int) else 0)
    if isinstance(value, str):
        return pl.String()
    if isinstance(value, dt.datetime):
        return pl.Datetime("us", None if value.tzinfo is None else "UTC")
    if isinstance(value, dt.date):
        return pl.Date()
    if isinstance(value, dt.timedelta):
        return pl.Duration("us")
    return None


def exact_number(value: object, *, what: str) -> Fraction:
    """Return a public number as an exact fraction; a float is its own binary value.

    Raises
    ------
    ParameterTypeError
        For anything that is not a real number, Booleans and text included.
    ParameterError
        For NaN and infinities.
    """
    if isinstance(value, (bool, np.bool_, np.timedelta64)) or not isinstance(
        value, (int, float, Fraction, Decimal, np.integer, np.floating)
    ):
        kind = type(cast("object", value)).__name__
        msg = f"{what} must be a number, not {kind}."
        raise ParameterTypeError(msg)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction):  # its own numbers may be numpy's, which overflow
        value = Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        msg = f"{what} must be finite, not {value}."
        raise ParameterError(msg)
    far = isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_PLACES
    if far or abs(Fraction(value)) > _LARGEST:
        msg = f"{what} must be within the range of a double."
        raise ParameterError(msg)
    return Fraction(value)


def _day(value: object, *, what: str) -> Fraction:
    if isinstance(value, np.datetime64):
        return _numpy_seconds(value, what=what) / 86_400
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            msg = f"{what} have a time zone, but the column holds dates."
            raise ParameterTypeError(msg, hint=f"write {_A_DATE}.")
        return _instant(value, zone=None, what=what) / 86_400
    if isinstance(value, dt.date):
        return Fraction(_days(value))
    msg = f"{what} must be a datetime.date, not {type(value).__name__}."
    raise ParameterTypeError(msg, hint=f"write {_A_DATE}.")


def _days(day: dt.date) -> int:
    return (day - EPOCH.date()).days


def _instant(value: object, *, zone: str | None, what: str) -> Fraction:
    """Return seconds since the epoch."""
    if isinstance(value, np.datetime64):
        if zone is None:
            return _numpy_seconds(value, what=what)
        raise _other_zone(what, zone)
    if isinstance(value, dt.datetime):
        if value != value:  # noqa: PLR0124 - NaT differs from itself
            msg = f"{what} hold a missing value."
            raise ParameterError(msg)
        if (value.tzinfo is None) != (zone is None):
            raise _other_zone(what, zone)
        nanos = getattr(value, "nanosecond", 0)  # pandas' Timestamp
        elapsed = (value if zone else value.replace(tzinfo=dt.UTC)) - EPOCH
        return _seconds(elapsed) + Fraction(nanos, 10**9)
    if isinstance(value, dt.date) and zone is None:
        return Fraction(_days(value) * 86_400)
    msg = f"{what} must be a datetime.datetime, not {type(value).__name__}."
    hint = f"write {_A_DATE if zone is None else _AN_INSTANT}."
    raise ParameterTypeError(msg, hint=hint)


def _other_zone(what: str, zone: str | None) -> ParameterTypeError:
    if zone is None:
        msg = f"{what} have a time zone, but the column has none."
        return ParameterTypeError(msg, hint="drop it: .replace(tzinfo=None).")
    msg = f"{what} have no time zone, but the column has one."
    return ParameterTypeError(msg, hint=f"pass tzinfo=, as in {_AN_INSTANT}.")


def _duration(value: object, *, what: str) -> Fraction:
    """Return seconds."""
    if isinstance(value, np.timedelta64):
        return _numpy_seconds(value, what=what)
    if isinstance(value, dt.timedelta):
        nanos = getattr(value, "nanoseconds", 0)  # pandas' Timedelta
        return _seconds(value) + Fraction(nanos, 10**9)
    msg = f"{what} must be a datetime.timedelta, not {type(value).__name__}."
    raise ParameterTypeError(msg, hint="write datetime.timedelta(days=1).")


def _numpy_seconds(value: Any, *, what: str) -> Fraction:
    """Return the seconds of a numpy instant or duration, exactly."""
    if np.isnat(value):
        msg = f"{what} hold a missing value."
        raise ParameterError(msg)
    unit, step = np.datetime_data(value.dtype)
    if unit in {"Y", "M"} and isinstance(value, np.datetime64):
        days: Any = value.astype("datetime64[D]")
        value, unit, step = days, "D", 1
    if unit not in _NUMPY_SECONDS:
        msg = f"{what} must be a time of a fixed length, not {value!r}."
        raise ParameterTypeError(msg, hint="give it in days or seconds.")
    return int(value.astype(np.int64)) * step * _NUMPY_SECONDS[unit]


def _seconds(elapsed: dt.timedelta) -> Fraction:
    micros = (elapsed.days * 86_400 + elapsed.seconds) * 10**6 + elapsed.microseconds
    return Fraction(micros, 10**6)


def parse_bounds(ctype: ColumnType, bounds: object) -> Bounds:
    """Check clipping bounds against a column.

    Raises
    ------
    ParameterTypeError
        If they are not a pair, or not of the column's kind.
    ParameterError
        If they are reversed, equal, not finite, or too wide for exact sums.
    """
    what = f"bounds of {ctype.name!r}"
    if isinstance(bounds, Bounds):
        bounds = (bounds.low, bounds.high)
    if not isinstance(bounds, (tuple, list)):
        msg = f"{what} must be a pair (low, high), not {type(bounds).__name__}."
        raise ParameterTypeError(msg, hint=f"write {ctype.name}=(low, high).")
    pair = cast("Sequence[object]", bounds)
    if len(pair) != 2:  # noqa: PLR2004 - low and high
        msg = f"{what} must be a pair (low, high), not {len(pair)} values."
        raise ParameterTypeError(msg)
    parsed = Bounds(*pair)
    numeric_bounds(declared_type(ctype, pair), parsed)
    return parsed


def numeric_bounds(ctype: ColumnType, bounds: Bounds) -> tuple[Fraction, Fraction]:
    """Return bounds on the column's number line: on it exactly where it is whole."""
    what = f"bounds of {ctype.name!r}"
    if not ctype.kind.is_ordered:
        msg = f"Column {ctype.name!r} holds {ctype.kind.value}, which has no bounds."
        raise ParameterTypeError(msg)
    low = ctype.number(bounds.low, what=what)
    high = ctype.number(bounds.high, what=what)
    if low >= high:
        msg = f"{what} must have low < high, not {bounds}."
        raise ParameterError(msg)
    if ctype.is_whole:
        low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        if low >= high:
            msg = f"{what} hold fewer than two values of the column: {bounds}."
            raise ParameterError(msg)
        if max(-low, high) >= 2**127:
            msg = f"{what} are too wide for exact sums: {bounds}."
            raise ParameterError(msg)
    elif max(-low, high) > WIDEST or high - low < 1 / WIDEST:
        msg = f"{what} are too wide or too narrow for exact sums: {bounds}."
        raise ParameterError(msg)
    return low, high


def parse_keys(ctype: ColumnType, keys: object) -> Keys:
    """Check public keys against a column and return them in declared order.

    Raises
    ------
    ParameterTypeError
        If they are no list, tuple, range or numpy array, or hold a value of
        another type than the column.
    ParameterError
        If they are empty, repeat a value, hold a missing one, or one that the
        column's dtype cannot hold.
    """
    listed = listed_values(keys, what=f"keys of {ctype.name!r}")
    check_present(ctype, listed)
    ctype = declared_type(ctype, listed)
    seen: set[object] = set()
    for key in listed:
        identity = key_identity(ctype, key)
        if identity in seen:
            msg = f"keys of {ctype.name!r} repeat {key!r}."
            raise ParameterError(msg)
        seen.add(identity)
    return listed


def listed_values(values: object, *, what: str) -> Keys:
    """Return a list, tuple, range or one-dimensional array of public values."""
    if isinstance(values, np.ndarray):
        array = cast("np.ndarray[Any, Any]", values)
        if array.ndim != 1:
            msg = f"{what} must be one-dimensional."
            raise ParameterTypeError(msg)
        temporal = array.dtype.kind in "mM"
        listed = tuple(array) if temporal else tuple(array.tolist())
    elif isinstance(values, (list, tuple, range)):
        listed = tuple(cast("Sequence[Any]", values))
    else:
        msg = (
            f"{what} must be a list, tuple, range or numpy array of public values, "
            f"not {type(values).__name__}."
        )
        hint = "write the values out: those found in a private column are private"
        if not isinstance(values, str):
            hint += "; for public ones, such as pd.date_range(...), pass list(...)"
        raise ParameterTypeError(msg, hint=f"{hint}.")
    if not listed:
        msg = f"{what} are empty."
        raise ParameterError(msg)
    return listed


def check_present(ctype: ColumnType, keys: Keys) -> None:
    """Refuse a missing key, in whatever form: it would be one of every dtype.

    Raises
    ------
    ParameterError
    """
    for key in keys:
        differs: object = key != key  # noqa: PLR0124 - NaN and NaT differ from themselves
        if key is None or key is pd.NA or differs is True or differs is np.True_:
            msg = f"keys of {ctype.name!r} hold a missing value."
            raise ParameterError(msg, hint="missing rows are counted by other=True.")


def key_identity(ctype: ColumnType, key: object) -> object:
    """Return what two keys must share to be the same key: their value, by kind."""
    what = f"keys of {ctype.name!r}"
    if ctype.kind is Kind.TEXT:
        if not isinstance(key, str):
            msg = f"{what} must be text, not {type(key).__name__}."
            raise ParameterTypeError(msg)
        if isinstance(ctype.dtype, pl.Enum) and key not in set(ctype.dtype.categories):
            msg = f"{what}: {key!r} is no level of the column."
            raise ParameterError(msg)
        if any("\ud800" <= letter <= "\udfff" for letter in key):
            msg = f"{what}: {key!r} holds half a character, which no column does."
            raise ParameterError(msg)
        return str(key)
    if ctype.kind is Kind.BOOLEAN and not isinstance(key, (bool, np.bool_)):
        msg = f"{what} must be True or False, not {type(key).__name__}."
        raise ParameterTypeError(msg)
    number = ctype.number(cast("object", key), what=what)
    if ctype.is_whole and number.denominator != 1:
        msg = f"{what}: {key!r} is no value of a column of {ctype.dtype}."
        raise ParameterError(msg)
    return number


def default_bounds(ctype: ColumnType) -> Bounds | None:
    """Return the bounds that follow from the dtype alone: Booleans have them."""
    return Bounds(low=0, high=1) if ctype.kind is Kind.BOOLEAN else None


def default_keys(ctype: ColumnType) -> Keys | None:
    """Return the keys that follow from the dtype alone: Boolean and Enum have them."""
    if ctype.kind is Kind.BOOLEAN:
        return (False, True)
    if isinstance(ctype.dtype, pl.Enum):
        return tuple(ctype.dtype.categories)
    return None
