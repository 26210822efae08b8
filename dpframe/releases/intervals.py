"""Confidence intervals of figures: of the noise, and of the sample they came from."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.releases.figures import INT64
from dpframe.values import Kind

if TYPE_CHECKING:
    from dpframe.releases.figures import Figures

Array = np.ndarray[Any, np.dtype[Any]]

_TO_SAMPLING: Final = 0.8
"""Share of the chance of a miss that sampling gets; the noise gets the rest."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The error of figures as estimates of the population the rows came from.

    Attributes
    ----------
    stderr : array
        Standard error for each cell, shape ``(cells,)`` or ``(1,)``, on the number
        line; itself a function of what was released.
    """

    stderr: Array

    def __call__(self, confidence: float) -> Array:
        """Return the half-width of a two-sided normal interval, for each cell."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * self.stderr


def ends(
    figures: Figures,
    confidence: float,
    *,
    joint: bool = False,
    sampling: Sampling | None = None,
    population: bool = False,
) -> tuple[Array, Array]:
    """Return the ends of each cell's interval on the number line, as floats.

    A value whose error is counted in rows lies within its public range: no more is
    known. With `population` the chance of a miss is split, 0.8 to sampling and 0.2 to
    noise, and the widths add up. Where the number line is whole, ends are rounded
    outwards.

    Raises
    ------
    ParameterError
        If `population` is asked for and no sampling error is known.
    """
    if figures.error_line is not None and not population:
        return figures.whole_range
    if not population:
        lower, upper = figures.interval(confidence, joint=joint)
    elif sampling is None:
        msg = f"No population interval is offered for {figures.name!r}."
        raise ParameterError(
            msg, hint="means and moments have one; .interval() covers the noise."
        )
    else:
        miss = 1 - confidence
        cells = len(figures.values) if joint else 1
        width = sampling(1 - _TO_SAMPLING * miss / cells)
        noise = 1 - (1 - _TO_SAMPLING) * miss
        lower, upper = figures.interval(noise, joint=joint)
        least, most = figures.value_range
        lower = np.clip(lower - width, least, most)
        upper = np.clip(upper + width, least, most)
    if figures.column.is_whole:
        return np.floor(lower), np.ceil(upper)
    return lower, upper


def point_columns(
    figures: Figures, lower: Array, upper: Array, *, prefix: str
) -> list[pl.Series]:
    """Return ends of intervals as columns of the measure's own dtype."""
    return [
        figures.series(_held(figures, points), f"{prefix}{name}")
        for name, points in (("lower", lower), ("upper", upper))
    ]


def _held(figures: Figures, points: Array) -> Array:
    """Return points of a whole number line as integers that a column can hold."""
    if not figures.column.is_whole or figures.error_line is not None:
        return points
    least, most = INT64
    cells = [int(min(max(point, least), most)) for point in points.tolist()]
    return np.array(cells, dtype=object)


def lengths(figures: Figures, widths: Array) -> pl.Series:
    """Return lengths of the number line as a column: Float64, or Duration."""
    line = figures.line_of_error
    if not line.kind.is_temporal:
        scale = line.scale if line.kind is Kind.DECIMAL else 0
        return pl.Series(figures.name, widths / 10**scale, dtype=pl.Float64)
    spans = [figures.distance(float(width)) for width in widths]
    return pl.Series(figures.name, spans, dtype=pl.Duration("us"))
