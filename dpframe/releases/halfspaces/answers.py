"""What was released, asked: figures with what is proved of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from dpframe.releases.figures import COUNT, FRACTION, PRINTED, Figures
from dpframe.releases.halfspaces.evidence import BandError, HalfspaceError, bounds
from dpframe.releases.halfspaces.leaves import Leaves
from dpframe.releases.halfspaces.projections import Projections
from dpframe.releases.halfspaces.sketches import Sketches
from dpframe.table import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.releases.halfspaces.ball import Planes
    from dpframe.releases.halfspaces.evidence import Evidence

Array = np.ndarray[Any, np.dtype[Any]]

Shape: TypeAlias = Projections | Leaves | Sketches
"""What was released, by the method that it was found with."""

_SPELLED: Final = 4
"""Columns of a weighted sum that is written out."""

_MOST: Final = 2.0**62


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The answer to one question: a fraction, the rows, and those near the plane."""

    fraction: Figures
    count: Figures
    band: float


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answers from what was released, at a margin.

    Attributes
    ----------
    shape : Projections, Leaves or Sketches
    margin : float
    """

    shape: Shape
    margin: float

    @property
    def low_count(self) -> bool:
        """Whether the released number of rows is within its own error of 0."""
        total = self.shape.total
        return total.rows <= total.error((1 - PRINTED) / 2)

    def answered(self, planes: Planes) -> Answered:
        """Return the rows above a plane."""
        value = float(self.shape.above(planes, self.margin)[0])
        return self._of(planes, value, self.shape.evidence(planes), choices=0.0)

    def mistaken(self, planes: Planes, *, choices: float) -> Answered:
        """Return the rows whose label is not whether they are above a plane.

        Parameters
        ----------
        planes : Planes
            One.
        choices : float
            As that of `HalfspaceError`.
        """
        value = float(self.shape.wrong(planes, self.margin)[0])
        evidence = self.shape.evidence(planes, wrong=True)
        return self._of(planes, value, evidence, choices=choices)

    def table(self, planes: Planes, confidence: float | None) -> pl.DataFrame:
        """Return a row for each plane, with the ends of intervals at a confidence."""
        fraction = self.shape.above(planes, self.margin)
        columns = {
            "query": np.arange(len(planes)),
            "fraction": fraction,
            "count": self.counts(fraction),
            "margin_band": self._bands(planes),
        }
        if confidence is not None:
            lower, upper = self._ends(planes, confidence)  # each holds its fraction
            columns["lower"] = np.minimum(lower, fraction)
            columns["upper"] = np.maximum(upper, fraction)
        return pl.DataFrame(columns)

    def counts(self, fraction: Array) -> Array:
        """Return fractions of the rows in whole rows."""
        return _whole(fraction * max(self.shape.total.rows, 0.0))

    def band_figures(self, planes: Planes) -> Figures:
        """Return the fraction of the rows within the margin of a plane."""
        values: list[float] = []
        errors: list[HalfspaceError] = []
        for side in (planes.moved(-self.margin), planes.moved(self.margin)):
            values.append(float(self.shape.above(side, self.margin)[0]))
            evidence = self.shape.evidence(side)
            errors.append(self._error(values[-1], evidence, 0.0, fraction=True))
        value = max(values[0] - values[1], 0.0)
        error = BandError(value=value, wide=errors[0], narrow=errors[1])
        return self._fraction("margin_band", value, error)

    def _of(
        self, planes: Planes, value: float, evidence: Evidence, *, choices: float
    ) -> Answered:
        error = self._error(value, evidence, choices, fraction=True)
        rows = value * max(self.shape.total.rows, 0.0)
        count = Figures(
            name="count",
            column=COUNT,
            values=_whole(np.array([rows])),
            centre=np.array([rows]),
            raw={},
            error=self._error(rows, evidence, choices, fraction=False),
            low=Fraction(0),
        )
        return Answered(
            fraction=self._fraction("fraction", value, error),
            count=count,
            band=float(self._bands(planes)[0]),
        )

    def _fraction(
        self, name: str, value: float, error: HalfspaceError | BandError
    ) -> Figures:
        centre = np.array([value])
        return Figures(
            name=name,
            column=FRACTION,
            values=centre,
            centre=centre,
            raw={},
            error=error,
            low=Fraction(0),
            high=Fraction(1),
            low_count=np.array([self.low_count]),
        )

    def _error(
        self, value: float, evidence: Evidence, choices: float, *, fraction: bool
    ) -> HalfspaceError:
        return HalfspaceError(
            value=value,
            sure=float(evidence.sure[0]),
            possible=float(evidence.possible[0]),
            sure_noises=float(evidence.sure_noises[0]),
            possible_noises=float(evidence.possible_noises[0]),
            total=self.shape.total,
            fraction=fraction,
            choices=choices,
        )

    def _bands(self, planes: Planes) -> Array:
        """Return which fraction of the rows is within the margin of each plane."""
        wide = self.shape.above(planes.moved(-self.margin), self.margin)
        narrow = self.shape.above(planes.moved(self.margin), self.margin)
        return np.maximum(wide - narrow, 0.0)

    def _ends(self, planes: Planes, confidence: float) -> tuple[Array, Array]:
        """Return the ends of the interval of each fraction."""
        if self.low_count:
            return np.zeros(len(planes)), np.ones(len(planes))
        known, total = self.shape.evidence(planes), self.shape.total
        rows = zip(known.sure.tolist(), known.possible.tolist(), strict=True)
        noises = zip(
            known.sure_noises.tolist(), known.possible_noises.tolist(), strict=True
        )
        found = [
            bounds(total, each, noise, chance=1 - confidence, fraction=True)
            for each, noise in zip(rows, noises, strict=True)
        ]
        ends = np.array(found).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]


def question(names: Sequence[str], weights: Sequence[float], offset: Any) -> str:
    """Return a question in words: ``age - 0.01 spending >= 20``."""
    named = zip(names, weights, strict=True)
    terms = {name: weight for name, weight in named if weight}
    if len(terms) > _SPELLED:
        words = f"a weighted sum of {len(terms)} columns"
    else:
        words = cell_text(_sum_text(terms))
    return f"{words} >= {float(np.ravel(offset).item()):.6g}"


def _sum_text(terms: Mapping[str, float]) -> str:
    """Return a weighted sum in words."""
    words = ""
    for name, weight in terms.items():
        size = "" if abs(weight) == 1 else f"{abs(weight):.4g} "
        if words:
            words += f" {'-' if weight < 0 else '+'} {size}{name}"
        else:
            words = f"{'-' if weight < 0 else ''}{size}{name}"
    return words


def _whole(rows: Array) -> Array:
    """Return rows as whole ones; a tiny loss may have released more than fit."""
    return np.rint(np.minimum(rows, _MOST)).astype(np.int64)
