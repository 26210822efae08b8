"""Which elementwise operations suit which kinds of values.

What pandas decides by looking at the values (a dtype, an error) is refused here:
whole numbers divided by a column become floats only where a zero is met, a missing
fill turns whole numbers into floats only where it is used, and so on.
"""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.proofs.pandas.kinds import is_missing, literal_kind
from dpframe.proofs.pandas.recording import Recording, record_step
from dpframe.values import PER_SECOND, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NUMBERS: Final = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT})
TIMES: Final = frozenset({Kind.DATETIME, Kind.DURATION})
COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
LOGIC: Final[dict[str, Callable[..., Any]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def binary(symbol: str, left: Any, right: Any) -> Recording:
    """Record a comparison, arithmetic or logic of columns and public scalars."""
    text = f"({text_of(left)} {symbol} {text_of(right)})"
    if symbol in COMPARISONS:
        left, right = time_beside(right, left), time_beside(left, right)
    left, right = operand(left, step=text), operand(right, step=text)
    kinds = (kind_of(left), kind_of(right))
    check_storage(text, left, right)
    if symbol in COMPARISONS:
        return _compare(text, symbol, left, right)
    if symbol in LOGIC:
        if set(kinds) != {Kind.BOOLEAN}:
            msg = f"{text} needs true or false on both sides."
            raise ParameterTypeError(msg)
        return record_step(text, LOGIC[symbol], left, right)
    if Kind.DURATION in kinds or Kind.DATETIME in kinds:
        return _time_arithmetic(text, symbol, left, right)
    if set(kinds) == {Kind.TEXT} and symbol == "+":
        return record_step(text, ARITHMETIC[symbol], left, right)
    if not set(kinds) <= NUMBERS:
        raise unsuited(text, left, right)
    if symbol in {"//", "%"}:
        _check_divisor(text, left, right)
    if symbol == "**":
        _check_power(text, left, right)
    return record_step(text, ARITHMETIC[symbol], left, right)


def time_beside(column: Any, value: Any) -> Any:
    """Read text that is compared with times, as pandas does: in the column's zone.

    Raises
    ------
    ParameterError
        If it is no time.
    """
    if not isinstance(value, str) or not isinstance(column, Recording):
        return value
    kind = kind_of(column)
    if kind not in TIMES:
        return value
    read: Any = pd.Timedelta if kind is Kind.DURATION else pd.Timestamp
    try:
        found = read(value)
        zone = zone_of(column)
        if zone is not None and found.tzinfo is None:
            found = found.tz_localize(zone)
    except (ValueError, OverflowError):  # of pandas' own, all of them
        found = pd.NaT
    if found is pd.NaT:
        msg = f"{value!r} is no time to compare {column.text} with."
        raise ParameterError(msg, hint='write it like "2024-02-29 12:00" or "90min".')
    return found


def check_storage(text: str, *operands: Any) -> None:
    """Refuse texts that Python holds beside texts that Arrow holds.

    Python may hold half a character, on which Arrow fails.
    """
    texts = [o for o in operands if isinstance(o, Recording) and o.kind is Kind.TEXT]
    storages = {str(getattr(each.dtype, "storage", None)) for each in texts}
    if len(storages) > 1:
        msg = f"{text} mixes texts that {' and '.join(sorted(storages))} hold."
        raise NotProvedError(
            msg, step=text, hint='cast both by .astype("string[python]").'
        )


def operand(value: Any, *, step: str) -> Any:
    """Check that an operand is a recording or a public scalar.

    Dates become instants at midnight, as columns of dates do.
    """
    if isinstance(value, Recording):
        return value
    kind = literal_kind(value)
    if kind is None or kind is Kind.DECIMAL or is_missing(value):
        msg = f"A {type(value).__name__} cannot take part in {step}."
        hint = release_hint(value) or (
            "a Series, array or list is matched by index or position, which is not "
            "row-local: write columns through the callable's own argument."
        )
        if is_missing(value):
            hint = "ask for missing values by isna() or notna()."
        raise NotProvedError(msg, step=step, hint=hint)
    if kind in {Kind.DATE, Kind.DATETIME}:
        return pd.Timestamp(value)
    if kind is Kind.DURATION:
        return pd.Timedelta(value)
    if isinstance(value, np.generic):
        return value.item()
    for plain in (bool, int, float, str):  # a class of its own may take rows over
        if isinstance(value, plain):
            return _PLAIN[plain](value)
    return value


def release_hint(value: object) -> str | None:
    """Return what to write instead of a release; None for what is no release."""
    kind: Any = type(value)
    if not hasattr(kind, "provenance"):
        return None
    if hasattr(kind, "value"):
        return "it is a release: write its .value."
    return "it is a release: write one of its figures, as a number."


_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    bool: bool,
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}


def kind_of(value: Any) -> Kind:
    """Return the kind of an operand; dates count as instants."""
    if isinstance(value, Recording):
        return Kind.DATETIME if value.kind is Kind.DATE else value.kind
    return literal_kind(value) or Kind.OBJECT


def text_of(value: Any) -> str:
    """Return how an operand reads."""
    return value.text if isinstance(value, Recording) else repr(value)


def unsuited(text: str, *operands: Any) -> ParameterTypeError:
    """Return the error for operands of kinds that do not go together."""
    kinds = [kind_of(each) for each in operands]
    found = " and ".join(kind.value for kind in kinds)
    return ParameterTypeError(
        f"{text} is not computed from {found}.", hint=_kinds_hint({*kinds})
    )


def _kinds_hint(kinds: set[Kind]) -> str:
    """Return what brings values of some kinds together."""
    if Kind.OBJECT in kinds:
        return "object columns allow isna() and notna() alone; cast before attaching."
    if Kind.DECIMAL in kinds:
        return 'decimals are computed with as floats: write .astype("float64").'
    if kinds == {Kind.DATETIME}:
        return "write .dt.tz_localize(zone), or .dt.tz_localize(None), on one of them."
    if Kind.TEXT in kinds and kinds & NUMBERS:
        return (
            "numbers are read by dpframe.to_numeric(column), and written by "
            '.astype("str").'
        )
    if Kind.TEXT in kinds:
        return 'times are read by dpframe.to_datetime(column, format="%Y-%m-%d").'
    if kinds & TIMES:
        return "numbers out of times are .dt.year, .dt.hour, .dt.total_seconds(), ..."
    return (
        'text out of numbers is .astype("str"), and times are read by '
        "dpframe.to_datetime(column, format=...)."
    )


def comparable(left: Any, right: Any) -> bool:
    """Whether two operands can be compared: of one kind, zones on both or neither."""
    kinds = {kind_of(left), kind_of(right)}
    if kinds == {Kind.DATETIME}:
        return zone_of(left) is zone_of(right) is None or None not in {
            zone_of(left),
            zone_of(right),
        }
    return kinds <= NUMBERS or kinds in ({Kind.TEXT}, {Kind.DURATION})


def zone_of(value: Any) -> Any:
    """Return the time zone of an operand, or None."""
    return getattr(value.dtype if isinstance(value, Recording) else value, "tz", None)


def _compare(text: str, symbol: str, left: Any, right: Any) -> Recording:
    if not comparable(left, right):
        raise unsuited(text, left, right)
    return record_step(text, COMPARISONS[symbol], left, right)


def _check_divisor(text: str, left: Any, right: Any) -> None:
    if not isinstance(right, Recording):
        if right == 0:
            msg = f"{text} divides by zero."
            raise ParameterError(msg)
    elif Kind.FLOAT not in {kind_of(left), kind_of(right)}:
        msg = f"pandas gives {text} a dtype that depends on whether a zero is met."
        raise NotProvedError(
            msg, step=text, hint='cast one of them to "float64", or divide by a number.'
        )


def _check_power(text: str, base: Any, exponent: Any) -> None:
    if Kind.FLOAT in {kind_of(base), kind_of(exponent)}:
        return
    if isinstance(exponent, Recording) or exponent < 0:
        msg = f"{text} fails on whole numbers where the exponent is negative."
        raise NotProvedError(msg, step=text, hint='cast the base to "float64".')


def _time_arithmetic(text: str, symbol: str, left: Any, right: Any) -> Recording:
    """Record sums and differences of times, which wrap as whole numbers do.

    pandas' own would raise where the outcome leaves the calendar.
    """
    columns = [o for o in (left, right) if isinstance(o, Recording)]
    if any(kind_of(o) not in TIMES for o in (left, right)) or symbol not in "+-/":
        raise unsuited(text, left, right)
    units = {time_unit(column.dtype) for column in columns}
    if len(units) > 1:
        msg = f"{text} mixes the time units {' and '.join(sorted(units))}."
        raise NotProvedError(
            msg, step=text, hint="cast both to the coarser unit by astype."
        )
    unit = units.pop()
    zones = {zone_of(o) for o in (left, right) if kind_of(o) is Kind.DATETIME}
    if len({zone is None for zone in zones}) > 1:
        raise unsuited(text, left, right)
    zone = zone_of(columns[0]) or zone_of(columns[-1])

    def compute(first: Any, second: Any) -> Any:
        index = (first if isinstance(first, pd.Series) else second).index
        values = ARITHMETIC[symbol](raw_times(first, unit), raw_times(second, unit))
        found = pd.Series(values, index=index)
        if zone is None or values.dtype.kind != "M":
            return found
        return found.dt.tz_localize("UTC").dt.tz_convert(zone)

    return record_step(text, compute, left, right)


def time_unit(dtype: Any) -> str:
    """Return the unit in which times of a dtype are counted."""
    if isinstance(dtype, np.dtype):
        return str(np.datetime_data(dtype)[0])
    return str(dtype.unit)


def raw_times(value: Any, unit: str) -> Any:
    """Return instants (in UTC) or durations as numpy has them."""
    if isinstance(value, pd.Series):
        if value.dtype.kind == "M":
            return value.array.to_numpy(f"datetime64[{unit}]")
        return value.to_numpy()
    exact = value.as_unit(unit, round_ok=False)
    return exact.to_numpy()


def scalar_fits(column: Recording, value: Any) -> bool:
    """Whether a column holds this scalar without changing its dtype."""
    kind, have = column.kind, kind_of(value)
    if kind is Kind.INTEGER and have is Kind.INTEGER:
        info = np.iinfo(str(column.dtype).lower())
        return info.min <= value <= info.max
    if kind is Kind.FLOAT:
        return have in {Kind.INTEGER, Kind.FLOAT}
    if kind is Kind.DATETIME and have is Kind.DATETIME:
        return comparable(column, value) and fits_unit(column, value)
    if kind is Kind.DURATION and have is Kind.DURATION:
        return fits_unit(column, value)
    return kind is have and kind in {Kind.BOOLEAN, Kind.TEXT}


def fits_unit(column: Recording, value: Any) -> bool:
    """Whether a time is a whole number of a column's ticks."""
    try:
        value.as_unit(time_unit(column.dtype), round_ok=False)
    except (ValueError, OverflowError):
        return False
    return True


def filler(column: Recording, value: Any, *, step: str, missing: bool = False) -> Any:
    """Check what takes the place of some cells: the dtype must stay as it is.

    Raises
    ------
    ParameterTypeError
        If the column cannot hold it in its own dtype.
    NotProvedError
        If it is a list, Series or array.
    """
    if missing and not isinstance(value, Recording) and is_missing(value):
        if column.is_numpy and column.dtype.kind in "biu":
            msg = f"A column of {column.dtype} has no missing values, as {step} needs."
            raise ParameterTypeError(
                msg, hint='cast it by astype("Int64"), "boolean" or "float64" first.'
            )
        return value
    value = operand(value, step=step)
    if isinstance(value, Recording):
        if value.dtype != column.dtype:
            msg = f"{step} mixes {column.dtype} and {value.dtype}."
            raise ParameterTypeError(msg, hint="cast one of them by astype first.")
    elif not scalar_fits(column, value):
        msg = f"{step} puts {value!r} into a column of {column.dtype}."
        raise ParameterTypeError(msg, hint="cast it by astype first.")
    return value


def fill_missing(column: Recording, value: Any) -> Recording:
    """Record fillna with a scalar or another column."""
    step = f"{column.text}.fillna({text_of(value)})"
    if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
        raise unsuited(step, column)
    value = filler(column, value, step=step)

    def fill(rows: Any, instead: Any) -> Any:
        return rows.fillna(instead)

    return record_step(step, fill, column, value)


TICKS: Final = {"s": 1, **PER_SECOND}
"""Ticks of a second, by time unit."""


def check_member(column: Recording, value: Any, *, step: str) -> None:
    """Refuse a public value that a column's values cannot be looked up among.

    Raises
    ------
    ParameterTypeError
        If it is of another kind, or a column.
    """
    same = (kind_of(value) is Kind.BOOLEAN) is (column.kind is Kind.BOOLEAN)
    if isinstance(value, Recording) or not comparable(column, value) or not same:
        raise unsuited(step, column, value)


def members(column: Recording, values: Sequence[Any]) -> Recording:
    """Record isin with public values of the column's kind."""
    step = f"{column.text}.isin({list(values)!r})"
    listed = [operand(value, step=step) for value in values]
    for value in listed:
        if isinstance(value, Recording):
            msg = f"{step} looks for a column's values, which is not row-local."
            raise NotProvedError(msg, step=step, hint="write the values out.")
        check_member(column, value, step=step)

    if column.kind in TIMES:  # pandas fails on columns that do not fit their unit
        unit = time_unit(column.dtype)
        listed = [v.as_unit(unit) for v in listed if fits_unit(column, v)]

    def among(rows: Any) -> Any:
        return rows.isin(listed)

    return record_step(step, among, column)
