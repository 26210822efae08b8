"""Figures as text: a value to the digit that its error leaves standing.

An error is shown in two significant digits and its value to the same place. Whole
numbers (counts and their sums) keep all their digits, dates their day.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from dpframe.releases.figures import RANK
from dpframe.table import cell_text
from dpframe.values import PER_SECOND, Kind

if TYPE_CHECKING:
    import datetime as dt

    from dpframe.releases.figures import Figures
    from dpframe.values import ColumnType

_DIGITS: Final = 2
_EXACT: Final = Context(prec=1000, rounding=ROUND_HALF_EVEN, traps=[])
_SHORT: Final = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, traps=[])
_TIMES: Final = (
    ("days", Fraction(86_400)),
    ("hours", Fraction(3_600)),
    ("minutes", Fraction(60)),
    ("seconds", Fraction(1)),
    ("milliseconds", Fraction(1, 10**3)),
    ("microseconds", Fraction(1, 10**6)),
    ("nanoseconds", Fraction(1, 10**9)),
)


class Shown(NamedTuple):
    """A value, its error and the unit that follows both, as text."""

    value: str
    error: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.value} ± {self.error}{self.unit}"


def shown_cell(figures: Figures, cell: int, error: float) -> Shown:
    """Return one figure and its error (number-line units) as text."""
    column = figures.column
    if figures.error_line is not None:
        text = cell_text(figures.value(cell))
        return Shown(text, error_text(figures.error_line, error))
    value = Fraction(figures.values.item(cell))
    if column.kind is Kind.INTEGER:
        return Shown(str(round(value)), error_text(column, error))
    if column.kind is Kind.DATE:
        return Shown(column.value(value).isoformat(), error_text(column, error))
    if column.kind is Kind.DATETIME:
        instant: dt.datetime = column.value(value)
        fine = error < PER_SECOND[column.time_unit]
        text = instant.isoformat(sep=" ", timespec="microseconds" if fine else "auto")
        return Shown(
            cell_text(instant) if not fine else text, error_text(column, error)
        )
    if column.kind is Kind.DURATION:
        return _shown_duration(column, value, error)
    value /= 10**column.scale
    error /= 10**column.scale
    coarsest = -column.scale if column.kind is Kind.DECIMAL else None
    return Shown(*_to_same_place(value, error, coarsest))


def shown_range(value: float, low: float, high: float) -> str:
    """Return a number and the ends of its interval, which may be far to one side.

    To the second digit of half the distance between the ends.
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and half > 0):
        return f"{cell_text(value)} ({cell_text(low)} to {cell_text(high)})"
    place = _place(Fraction(half))
    told, *ends = (_plain(Fraction(number), place) for number in (value, low, high))
    return f"{told} ({' to '.join(ends)})"


def error_text(column: ColumnType, error: float) -> str:
    """Return a length of the number line as text, with its unit of time."""
    if not math.isfinite(error):
        return "inf"
    if column.kind is Kind.INTEGER:
        return str(math.ceil(error))
    if column.kind is Kind.DATE:
        days = math.ceil(error)
        return f"{days} day{'' if days == 1 else 's'}"
    if column.kind.is_temporal:
        name, length = _unit_of_time(column, error)
        return f"{_short(_in_unit(column, Fraction(error), length))} {name}"
    return _short(Fraction(error) / 10**column.scale)


def error_phrase(column: ColumnType, error: float) -> str:
    """Return a length of the number line with its ±, and in what it is counted."""
    text = error_text(column, error)
    if column != RANK:
        return f"± {text}"
    return f"rank ± {text} row{'' if text == '1' else 's'}"


def _shown_duration(column: ColumnType, value: Fraction, error: float) -> Shown:
    if not math.isfinite(error):
        return Shown(cell_text(column.value(value)), "inf")
    name, length = _unit_of_time(column, error)
    scaled = float(_in_unit(column, Fraction(error), length))
    return Shown(
        *_to_same_place(_in_unit(column, value, length), scaled, None), f" {name}"
    )


def _unit_of_time(column: ColumnType, error: float) -> tuple[str, Fraction]:
    """Return the largest unit that an error is at least one of."""
    seconds = Fraction(error) / PER_SECOND[column.time_unit]
    units = (unit for unit in _TIMES if unit[1] <= seconds)
    return next(units, ("seconds", Fraction(1)) if seconds == 0 else _TIMES[-1])


def _in_unit(column: ColumnType, length: Fraction, unit: Fraction) -> Fraction:
    return length / PER_SECOND[column.time_unit] / unit


def _to_same_place(
    value: Fraction, error: float, finest: int | None
) -> tuple[str, str]:
    if error == 0 or not math.isfinite(error):
        return cell_text(float(value)), "0" if error == 0 else "inf"
    place = _place(Fraction(error))
    if finest is not None:
        place = max(place, finest)
    return _plain(value, place), _plain(Fraction(error), place)


def _short(number: Fraction) -> str:
    return "0" if number == 0 else _plain(number, _place(number))


def _place(number: Fraction) -> int:
    """Return the decimal place of the last of two significant digits."""
    return _SHORT.plus(_decimal(number)).adjusted() - (_DIGITS - 1)


def _plain(number: Fraction, place: int) -> str:
    rounded = _decimal(number).quantize(Decimal((0, (1,), place)), context=_EXACT)
    rounded = rounded.copy_abs() if rounded == 0 else rounded
    small, large = -7, 15
    plain = place >= small and rounded.adjusted() <= large
    return f"{rounded:f}" if plain else f"{rounded:e}"


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
