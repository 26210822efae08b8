"""The scheme that was published: halfspaces counted after random projections.

It is here to be compared with: its theorem asks for more rows than there are atoms, so
it is run in few dimensions, and nothing is guaranteed of what it says.

References
----------
.. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
   Database Privacy, Section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from dpframe.errors import ParameterError
from dpframe.releases.halfspaces.ball import nearest
from dpframe.releases.halfspaces.evidence import AllRows, Evidence

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import NoReturn

    from dpframe.noise import Noise
    from dpframe.releases.halfspaces.ball import Planes, UnitBall

Array = np.ndarray[Any, np.dtype[Any]]

_SIDES: Final = 2


@dataclass(frozen=True, kw_only=True)
class Sketches:
    """Rows above canonical planes after each of some projections.

    Attributes
    ----------
    ball : UnitBall
    projections : array of float64
        Shape ``(m, T, d + 2)``: of rows put on a sphere, with a constant beside.
    canonical : array of float64
        Unit vectors in few dimensions, or their opposites, shape ``(U, T)``.
    counts : array of float64
        Released rows below and above each canonical plane: shape ``(m, U, 2)``.
    noise : Noise
    unit : Fraction
        Rows in a grid unit.
    """

    ball: UnitBall
    projections: Array
    canonical: Array
    counts: Array
    noise: Noise
    unit: Fraction

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        many, few, size = self.projections.shape
        shape = (many, len(self.canonical), _SIDES)
        fits = self.counts.shape == shape and self.canonical.shape[1] == few
        if not fits or size != self.ball.dimension + 2:
            msg = "each projection has two counts for each canonical plane"
            raise ValueError(msg)
        if not np.isfinite(self.counts).all():
            msg = "counts are numbers of rows"
            raise ValueError(msg)

    def rows(self, number: int) -> NoReturn:
        """Refuse: the scheme makes no rows."""
        del number
        raise _no_rows()

    points: ClassVar[int] = 0
    """How many synthetic rows there are."""

    is_labelled: ClassVar[bool] = False
    """Whether rows are told apart by a label."""

    @property
    def raw(self) -> Array:
        """The released counts."""
        return self.counts

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the planes."""
        held = (self.counts, self.projections, self.canonical)
        return sum(array.nbytes for array in held)

    def wrong(self, planes: Planes, margin: float) -> NoReturn:
        """Refuse: the scheme has no labels."""
        del planes, margin
        raise _no_rows()

    @cached_property
    def total(self) -> AllRows:
        """All rows: the mean of what all planes count."""
        planes = self.counts.shape[0] * self.counts.shape[1]
        return AllRows(
            rows=float(self.counts.sum()) / planes,
            noise=self.noise,
            unit=self.unit,
            noises=float(_SIDES * planes),
            sums=planes,
        )

    def above(self, planes: Planes, margin: float) -> Array:
        """Return the fraction of rows above each plane: the median over projections.

        Each projects the plane and takes the canonical one that is nearest.
        """
        del margin
        b = planes.offsets[:, None]
        lifted = np.hstack([planes.normals, np.zeros_like(b), -b])
        found: list[Array] = []
        for projection, counts in zip(self.projections, self.counts, strict=True):
            near = lifted @ projection.T @ self.canonical.T
            place = nearest(near)
            side = np.take_along_axis(near, place[:, None], axis=1)[:, 0] >= 0
            found.append(counts[place, side.astype(np.intp)])
        rows = max(self.total.rows, 1.0)
        return np.clip(np.median(np.stack(found), axis=0) / rows, 0.0, 1.0)

    def evidence(self, planes: Planes, *, wrong: bool = False) -> Evidence:
        """Return that nothing is known of any plane."""
        del wrong
        none = np.zeros(len(planes))
        return Evidence(
            sure=none,
            possible=np.full(len(planes), math.inf),
            sure_noises=none,
            possible_noises=none,
        )

    def alpha(self, confidence: float, margin: float) -> float:
        """Return 1: nothing is guaranteed."""
        del confidence, margin
        return 1.0

    def worst(self, confidence: float) -> float:
        """Return infinity: no number of rows that there are is enough."""
        del confidence
        return math.inf


def _no_rows() -> ParameterError:
    msg = 'method="jl_net" makes no synthetic rows.'
    return ParameterError(msg, hint='use method="auto".')
