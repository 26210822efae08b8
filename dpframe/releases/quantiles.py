"""A release of several quantiles of one column."""

from __future__ import annotations

from typing import Any, TypeVar

from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class QuantilesRelease(TableRelease[N]):
    """Quantiles of a column: a table of levels and points, whose value is a list."""

    __slots__ = ()

    @property
    def value(self) -> list[Any]:
        """The points in the order of the levels asked for, in the column's type."""
        (figures,) = self.figures
        return [figures.value(cell) for cell in range(len(figures.values))]
