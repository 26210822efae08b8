"""Answers that a release of intervals gives for nothing, as figures with errors."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.releases.figures import COUNT, FRACTION, Figures
from dpframe.releases.quantile_error import QuantileError
from dpframe.releases.ranges import everything

if TYPE_CHECKING:
    from dpframe.releases.boxes import Boxes
    from dpframe.releases.line import Line
    from dpframe.releases.ranges import Ranges

Array = np.ndarray[Any, np.dtype[Any]]

_JUST_BELOW: Final = 1 - 2.0**-40
"""So that a fraction that is reached exactly stays so where sums are rounded."""

_MOST: Final = float(2**62)


def whole(counts: Array) -> Array:
    """Return counts in whole rows; a tiny loss may have released more than fit."""
    return np.rint(np.minimum(counts, _MOST)).astype(np.int64)


def count_of(shape: Line | Boxes, ranges: Ranges) -> Figures:
    """Return the rows in an interval, or a box."""
    value, error = shape.counted(ranges)
    centre = np.array([value])
    return Figures(
        name="count",
        column=COUNT,
        values=whole(centre),
        centre=centre,
        raw={"count": np.array([shape.unbiased(ranges)])},
        error=error,
        low=Fraction(0),
    )


def fraction_of(shape: Line | Boxes, ranges: Ranges, *, low_count: bool) -> Figures:
    """Return the fraction of the rows in an interval, or a box."""
    share, error = shape.fraction(ranges)
    centre = np.array([share])
    return Figures(
        name="fraction",
        column=FRACTION,
        values=np.clip(centre, 0.0, 1.0),
        centre=centre,
        raw={
            "count": np.array([shape.unbiased(ranges)]),
            "rows": np.array([shape.unbiased(everything(shape.grids))]),
        },
        error=error,
        low=Fraction(0),
        high=Fraction(1),
        low_count=np.array([low_count]),
    )


def quantile_of(line: Line, level: Fraction, *, low_count: bool) -> Figures:
    """Return the least point with so large a fraction of the rows up to it."""
    rank = float(level) * line.rows * _JUST_BELOW
    code = int(line.codes_at(np.array([rank]))[0])
    number = line.grid.numbers(np.array([code], dtype=np.uint64))
    column = line.grid.column
    return Figures(
        name=column.name,
        column=column,
        values=number,
        centre=number,
        raw={column.name: number},
        error=QuantileError(line=line, level=level, code=code),
        low=line.grid.low,
        high=line.grid.high,
        low_count=np.array([low_count]),
    )
