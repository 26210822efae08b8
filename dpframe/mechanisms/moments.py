"""Means, variances and standard deviations from Bernstein sums.

A value t in [0, 1] adds ``(1-t, t)`` for a mean, ``((1-t)^2, 2t(1-t), t^2)`` for a
variance: non-negative parts that add up to 1 for every row. So one L1 sensitivity
of 1 buys the count and the moments together, with no split of the loss. It bounds the
L2 sensitivity, which a row at an end of the range attains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.block import Block
from dpframe.errors import ParameterTypeError
from dpframe.mechanisms.inputs import (
    chosen,
    clipped,
    row_contribution,
    unit_contribution,
)
from dpframe.mechanisms.scalar import scalar_query
from dpframe.mechanisms.sums import sum_line
from dpframe.query import Part
from dpframe.releases.figures import COUNT, Figures, RootError, WeightedError
from dpframe.releases.intervals import Sampling
from dpframe.releases.noise_sums import Independent, independent
from dpframe.tally import Per, Tally, unit_interval
from dpframe.values import Kind, column_type

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.outlook import ErrorLaw
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.tally import Axis, Contribution, Output, Quantity
    from dpframe.values import Bounds, ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

LOW_COUNT_CONFIDENCE: Final = 0.95
_MONOMIALS: Final = ((), (0,), (0, 0))


@dataclass(frozen=True, kw_only=True)
class Bernstein:
    """The Bernstein sums of a clipped column, up to a degree of 1 or 2."""

    quantity: Quantity
    bounds: Bounds
    contribution: Contribution
    degree: int

    @classmethod
    def of(
        cls,
        frame: PrivateFrame,
        column: object,
        *,
        of: object,
        bounds: object,
        degree: int,
        cells: int,
    ) -> Bernstein:
        """Return the sums that a call asks for."""
        word = chosen(of, among=("rows", "units"), what="of")
        found = clipped(frame, column, bounds)
        if word == "rows":
            contribution = row_contribution(frame)
        else:
            contribution = unit_contribution(frame, Per.MEANS, cells=cells)
        narrow = degree if contribution.per is not Per.MEANS else 2
        return cls(
            quantity=unit_interval(found.column, found.limits, degree=narrow),
            bounds=found.bounds,
            contribution=contribution,
            degree=degree,
        )

    @property
    def row_sum(self) -> int:
        """What the parts of one full row add up to, in grid units."""
        return self.quantity.high**self.degree

    @property
    def per_row(self) -> float:
        """What they add up to in the tally, whose rows may share a weight."""
        return float(self.row_sum) * self.contribution.resolution

    @property
    def width(self) -> float:
        """The bounds' width, on the column's number line."""
        return float(self.quantity.unit * self.quantity.high)

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> Part:
        """Return the sums by cell, all with the same noise."""
        top = self.quantity.high
        outputs: tuple[Output, ...]
        if self.degree == 1:
            outputs = (((top, ()), (-1, (0,))), ((1, (0,)),))
        else:
            outputs = (
                ((top * top, ()), (-2 * top, (0,)), (1, (0, 0))),
                ((2 * top, (0,)), (-2, (0, 0))),
                ((1, (0, 0)),),
            )
        tally = Tally(
            axes=axes,
            other=other,
            quantities=(self.quantity,),
            monomials=_MONOMIALS[: self.degree + 1],
            outputs=outputs,
            contribution=self.contribution,
        )
        block = Block.independent(loss, stop=self.degree + 1, row=self.row_sum)
        return Part(statistic=tally, blocks=(block,))

    def noise(self, part: Part) -> Independent:
        """Return the law of each sum's noise."""
        return independent(part.noise(part.blocks[0]))

    @property
    def heights(self) -> Array:
        """Where on [0, 1] each part counts towards the mean."""
        return np.arange(self.degree + 1) / self.degree

    def shares(self, noisy: Array) -> tuple[Array, Array]:
        """Return noisy counts, and each part as a share of the count.

        Shapes ``(cells,)`` and ``(cells, parts)``. A count below 1 divides as 1.
        """
        parts = noisy.astype(np.float64) / self.per_row
        counts = parts.sum(axis=1)
        return counts, parts / np.maximum(counts, 1.0)[:, None]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One measure read off Bernstein sums.

    Attributes
    ----------
    sums : Bernstein
    kind : str
        ``"count"``, ``"sum"``, ``"mean"``, ``"var"`` or ``"std"``.
    """

    sums: Bernstein
    kind: str

    @classmethod
    def of(
        cls,
        frame: PrivateFrame,
        column: object,
        *,
        kind: str,
        of: object,
        bounds: object,
        cells: int,
    ) -> Moment:
        """Return the mean, variance or standard deviation that a call asks for."""
        degree = 1 if kind == "mean" else 2
        sums = Bernstein.of(
            frame, column, of=of, bounds=bounds, degree=degree, cells=cells
        )
        return cls(sums=sums, kind=kind)

    def __post_init__(self) -> None:
        """Refuse squares of times."""
        column = self.sums.quantity.column
        if self.kind in {"var", "std"} and column.kind.is_temporal:
            msg = f"Column {column.name!r} holds {column.kind.value}: no {self.kind}."
            start = "datetime.datetime(2000, 1, 1)"
            if column.zone is not None:
                start = "datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)"
            lasts = column.kind is Kind.DURATION
            span = "" if lasts else f"(column - {start})"
            hint = f"make it a number in a step first: {span}.dt.total_seconds()."
            raise ParameterTypeError(msg, hint=hint)

    @property
    def measure(self) -> ColumnType:
        """The number line of the measure."""
        column = self.sums.quantity.column
        if self.kind == "count":
            return COUNT
        if self.kind == "sum":
            return sum_line(column)
        if self.kind == "mean" and (
            column.kind.is_temporal or column.kind is Kind.DECIMAL
        ):
            return column
        return column_type(column.name, pl.Float64())

    @property
    def error_line(self) -> ColumnType:
        """The same."""
        return self.measure

    @property
    def width(self) -> float:
        """The bounds' width on the measure's number line."""
        return self.sums.width * self._rescale

    @property
    def _rescale(self) -> float:
        """How long one step of the column is on the measure's number line."""
        column = self.sums.quantity.column
        plain = column.kind is Kind.DECIMAL and self.measure.kind is Kind.FLOAT
        return 10.0**-column.scale if plain else 1.0

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> Part:
        """Return the Bernstein sums."""
        return self.sums.part(axes, other=other, loss=loss)

    def figures(self, noisy: Array, part: Part, *, name: str) -> Figures:
        """Return the measure by cell, clamped to its public range."""
        counts, shares = self.sums.shares(noisy)
        error = self._error(part, counts, shares)
        low_count = self._is_low(part, counts)
        means = shares @ self.sums.heights
        raw = self._raw(noisy, counts, name)
        measure = replace(self.measure, name=name)
        low = float(self.sums.quantity.origin) * self._rescale
        if self.kind == "count":
            values = np.maximum(np.rint(counts), 0).astype(np.int64)
            return Figures(
                name=name,
                column=measure,
                values=values,
                centre=counts,
                raw=raw,
                error=error,
                low=Fraction(0),
            )
        if self.kind == "sum":
            centre = low * counts + self.width * (counts * means)
            values = np.rint(centre) if measure.is_whole else centre
            return Figures(
                name=name,
                column=measure,
                values=values,
                centre=centre,
                raw=raw,
                error=error,
            )
        if self.kind == "mean":
            centre = low + self.width * means
            ends = (low, self._top)
        else:
            centre = self.width**2 * (shares[:, -1] - means**2)
            ends = (0.0, self.width**2 / 4)
        values = np.clip(centre, *ends)
        return Figures(
            name=name,
            column=measure,
            values=np.sqrt(values) if self.kind == "std" else values,
            centre=centre,
            raw=raw,
            error=error,
            low=Fraction(ends[0]),
            high=Fraction(ends[1]),
            low_count=low_count,
            rooted=self.kind == "std",
        )

    def sampling(self, noisy: Array) -> Sampling | None:
        """Return the standard error of a mean; other measures have none here.

        The spread is the released one, or the largest that a mean within its bounds
        allows. Rows of one unit may be alike, so its rows count as one.
        """
        if self.kind != "mean":
            return None
        counts, shares = self.sums.shares(noisy)
        means = np.clip(shares @ self.sums.heights, 0.0, 1.0)
        spread = means * (1 - means)
        if self.sums.degree == 2:  # noqa: PLR2004 - squares are there
            spread = np.minimum(np.clip(shares[:, -1] - means**2, 0.0, 0.25), spread)
        contribution = self.sums.contribution
        alike = contribution.limit if contribution.per is Per.ROWS else 1
        rows = np.maximum(counts, 1.0) / alike
        return Sampling(stderr=self.width * np.sqrt(spread / rows))

    def expected_error(self, part: Part, rows: int | None) -> ErrorLaw | None:
        """Return the error at a guessed number of rows, the worst over the data."""
        if rows is None:
            if self.kind not in {"count", "sum"}:
                return None
            rows = 1  # any number will do: theirs does not depend on it
        counts = np.array([float(rows)])
        lowest = np.eye(self.sums.degree + 1)[:1]
        error = self._error(part, counts, lowest)
        return RootError(square=error) if self.kind == "std" else error

    @property
    def _top(self) -> float:
        """The upper clipping bound on the measure's number line."""
        return float(self.sums.quantity.clip[1]) * self._rescale

    def _error(self, part: Part, counts: Array, shares: Array) -> WeightedError:
        """Return the weighted sums of noise that each cell's error is, to first order.

        With shares p of a noisy count n: ``p_hat_i - p_i = (Z_i - p_i sum Z) / n``,
        exactly; a variance moves by that of its last share, less ``2 m dm``, plus
        ``dm^2``.
        """
        heights = self.sums.heights
        per_row = self.sums.per_row
        shares = np.clip(shares, 0.0, 1.0)
        rows = np.maximum(counts, 1.0)[:, None] * per_row
        means = (shares @ heights)[:, None]
        towards_mean = (heights[None, :] - means) / rows
        square: Array | None = None
        if self.kind == "count":
            weights = np.ones((1, len(heights))) / per_row
        elif self.kind == "sum":
            low = float(self.sums.quantity.origin) * self._rescale
            weights = (low + self.width * heights)[None, :] / per_row
        elif self.kind == "mean":
            weights = self.width * towards_mean
        else:
            last = (np.arange(len(heights)) == len(heights) - 1)[None, :]
            towards_last = (last - shares[:, -1:]) / rows
            weights = self.width**2 * (towards_last - 2 * means * towards_mean)
            square = self.width * towards_mean
        return WeightedError(
            noise=self.sums.noise(part), weights=weights, square=square
        )

    def _is_low(self, part: Part, counts: Array) -> Array:
        """Return where the noisy count is within twice its own error of 0."""
        weights = np.ones((1, self.sums.degree + 1)) / self.sums.per_row
        error = WeightedError(noise=self.sums.noise(part), weights=weights)
        return counts < 2 * error.half_width(LOW_COUNT_CONFIDENCE, cells=1)

    def _raw(self, noisy: Array, counts: Array, name: str) -> dict[str, Array]:
        """Return the noised statistics behind the measure."""
        if self.kind == "count":
            return {name: counts}
        parts = noisy.astype(np.float64) / self.sums.per_row
        sums = parts @ self.sums.heights
        low = float(self.sums.quantity.origin) * self._rescale
        raw = {"count": counts, "sum": low * counts + self.width * sums}
        if self.kind == "sum":
            return {name: raw["sum"]}
        if self.sums.degree == 2:  # noqa: PLR2004 - squares are there
            raw["squares"] = low**2 * counts + 2 * low * self.width * sums
            raw["squares"] += self.width**2 * parts[:, -1]
        return raw


def moment(
    frame: PrivateFrame,
    loss: Loss,
    column: object,
    *,
    kind: str,
    of: object = "rows",
    bounds: object = None,
) -> Query[ScalarRelease[Any]]:
    """Plan the mean, variance or standard deviation of a column."""
    statistic = Moment.of(frame, column, kind=kind, of=of, bounds=bounds, cells=1)
    name = statistic.sums.quantity.column.name
    return scalar_query(
        frame,
        loss,
        statistic,
        mechanism=kind,
        name=name,
        title=f"{kind} of {name}",
        columns=(name,),
        parameters={"of": str(of), "bounds": str(statistic.sums.bounds)},
    )
