"""Levels of quantiles, and a release of several quantiles of one column."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

from dpframe.errors import ParameterError
from dpframe.privacy.loss import exact_rational
from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


def level_of(q: object) -> Fraction:
    """Return a level, read as its shortest decimal.

    Raises
    ------
    ParameterError
        If it is not from 0 to 1.
    """
    level = exact_rational(q, what="q")
    if not 0 <= level <= 1:
        msg = f"q must be from 0 to 1, not {float(level):g}."
        raise ParameterError(msg, hint="write 0.95 for the 95th percentile.")
    return level


def level_text(level: Fraction) -> str:
    """Return a level as its decimal, or as a fraction where that has no short one."""
    decimal = f"{float(level):g}"
    return decimal if Fraction(decimal) == level else str(level)


class QuantilesRelease(TableRelease[N]):
    """Quantiles of a column: a table of levels and points, whose value is a list."""

    __slots__ = ()

    @property
    def value(self) -> list[Any]:
        """The points in the order of the levels asked for, in the column's type."""
        (figures,) = self.figures
        return [figures.value(cell) for cell in range(len(figures.values))]
