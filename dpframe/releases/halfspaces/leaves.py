"""Released counts of boxes of a partition, and what they tell of any plane.

A box is above a plane if its lowest corner is, and below it if its highest one is; of
the rows of a box that is cut, nothing is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.products import product, weighed
from dpframe.releases.halfspaces.ball import TIE
from dpframe.releases.halfspaces.cloud import Cloud
from dpframe.releases.halfspaces.evidence import AllRows, Evidence

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise import Noise
    from dpframe.releases.boxes import Boxes
    from dpframe.releases.halfspaces.ball import Planes, UnitBall

Array = np.ndarray[Any, np.dtype[Any]]

POINTS: Final = 40_000
"""Synthetic rows that are handed out."""

_PLACES: Final = 20_000
"""About how many places answers are counted from, apart from boxes that hold less."""

_ROW_BYTES: Final = 16  # of a code and a place
_BLOCK: Final = 1 << 17
"""Corners that are held at once."""


@dataclass(frozen=True, kw_only=True)
class Leaves:
    """Counts of rows in boxes that fill the cube of some columns.

    Attributes
    ----------
    ball : UnitBall
    boxes : Boxes
        Over the grids of the ball; before them, that of the label if there is one.
    """

    ball: UnitBall
    boxes: Boxes

    def __post_init__(self) -> None:
        """Refuse what is none: a file may have been edited."""
        columns = self.boxes.grids[self._labelled :]
        if columns != self.ball.grids or self._labelled not in {0, 1}:
            msg = "boxes are those of the columns of the ball"
            raise ValueError(msg)

    @property
    def is_labelled(self) -> bool:
        """Whether rows are told apart by a label."""
        return self._labelled == 1

    @property
    def _labelled(self) -> int:
        return len(self.boxes.grids) - self.ball.dimension

    @property
    def noise(self) -> Noise:
        """The law of the noise in each count, in grid units."""
        return self.boxes.noise

    @property
    def unit(self) -> Fraction:
        """Rows in a grid unit."""
        return self.boxes.unit

    @cached_property
    def total(self) -> AllRows:
        """All rows: the sum of all boxes."""
        return AllRows(
            rows=float(self.boxes.raw.sum()),
            noise=self.noise,
            unit=self.unit,
            noises=float(len(self.boxes.raw)),
        )

    @property
    def raw(self) -> Array:
        """The released counts."""
        return self.boxes.raw

    @property
    def points(self) -> int:
        """How many synthetic rows there are."""
        return POINTS

    @property
    def nbytes(self) -> int:
        """Bytes of the boxes and the synthetic rows."""
        boxes = self.boxes
        held = (boxes.first, boxes.last, boxes.values, boxes.raw)
        rows = _PLACES * len(boxes.grids) * _ROW_BYTES
        return sum(array.nbytes for array in held) + rows

    # Answers

    def rows(self, number: int) -> tuple[Array, Array | None]:
        """Return so many synthetic rows: points of the grids, and their labels."""
        return self._split(self.boxes.codes(number))

    @cached_property
    def cloud(self) -> Cloud:
        """Places in the unit ball, which together weigh in each box what it holds.

        Equal weights would round the share of each box, and where boxes are many that
        is more than their noise.
        """
        values, whole = self.boxes.values, self.boxes.rows
        if not whole:
            codes, labels = self.rows(_PLACES)
            return Cloud(places=self.ball.places(codes), labels=labels)
        held = np.maximum(np.rint(values / whole * _PLACES), values > 0).astype(np.intp)
        boxes = np.repeat(np.arange(len(values)), held)
        codes, labels = self._split(self.boxes.codes_in(boxes))
        weights = (values / np.maximum(held, 1))[boxes]
        return Cloud(places=self.ball.places(codes), labels=labels, weights=weights)

    def _split(self, codes: Array) -> tuple[Array, Array | None]:
        labels = codes[:, 0] == 1 if self._labelled else None
        return codes[:, self._labelled :], labels

    def above(self, planes: Planes, margin: float) -> Array:
        """Return the fraction of rows above each plane: that of synthetic rows."""
        del margin
        return self.cloud.above(planes)

    def wrong(self, planes: Planes, margin: float) -> Array:
        """Return the fraction whose label is not whether they are above each plane."""
        del margin
        return self.cloud.wrong(planes)

    def evidence(self, planes: Planes, *, wrong: bool = False) -> Evidence:
        """Return what the boxes prove of the rows above each plane.

        Of rows whose label is not whether they are, if `wrong`.
        """
        raw = self.boxes.raw
        centres = np.ascontiguousarray(self._centres.T)
        halves = np.ascontiguousarray(self._halves.T)
        normals, offsets = planes.normals, planes.least[:, None]
        rows, noises = np.empty((2, len(planes))), np.empty((2, len(planes)))
        step = max(1, _BLOCK // len(raw))
        for start in range(0, len(planes), step):
            part = slice(start, start + step)
            middle = product(normals[part], centres) - offsets[part]
            spread = product(np.abs(normals[part]), halves)
            decided = middle >= spread, middle >= -spread
            if wrong:
                decided = self._mislabelled(*decided)
            for end, boxes in enumerate(decided):
                rows[end, part] = weighed(boxes, raw)
                noises[end, part] = np.count_nonzero(boxes, axis=1)
        return Evidence(
            sure=rows[0],
            possible=rows[1],
            sure_noises=noises[0],
            possible_noises=noises[1],
        )

    @property
    def choices(self) -> float:
        """The logarithm of how many sums of counts `evidence` may be about.

        Which boxes count follows from the side on which their corners lie, and planes
        divide m points in d dimensions in at most ``2 (e m / d)^d`` ways [1]_.

        References
        ----------
        .. [1] Cover (1965), Geometrical and Statistical Properties of Systems of Linear
           Inequalities with Applications in Pattern Recognition.
        """
        size = self.ball.dimension
        corners = math.log(len(self.boxes.raw)) + size * math.log(2)
        return math.log(2) + size * (1 + max(corners - math.log(size), 0.0))

    # What is proved of all planes at once

    def alpha(self, confidence: float, margin: float) -> float:
        """Return the largest error of any plane at a margin, as a fraction of rows.

        Boxes no wider than the margin are decided. The rows of the others may all lie
        on the wrong side, and what made counts add up moved rows between boxes.
        """
        rows = self.total.rows
        if not rows > 0:
            return 1.0
        wide = 2 * np.sqrt((self._halves**2).sum(axis=1)) + TIE > margin
        boxes, each = self.boxes, (1 - confidence) / 5
        undecided = float(boxes.raw[wide].sum())
        undecided += self.total.bound(float(wide.sum()), each)
        moved = float(np.maximum(boxes.raw - boxes.values, 0.0).sum())
        return min((max(undecided, 0.0) + moved + self._off(each)) / rows, 1.0)

    def worst(self, confidence: float) -> float:
        """Return by how many rows any boxes above a plane, and all rows, are off."""
        return self._off((1 - confidence) / 4)

    # Inside

    def _off(self, each: float) -> float:
        """Return the same; each of both is off to either side with such a chance."""
        chosen = each * math.exp(-self.choices)
        sums = self.total.bound(float(len(self.boxes.raw)), chosen)
        return sums + self.total.error(each)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The lowest and the highest place of each box along each column."""
        low = self.boxes.first[:, self._labelled :]
        high = self.boxes.last[:, self._labelled :]
        found = (self.ball.places(low), self.ball.places(high))
        limit = 1 / math.sqrt(self.ball.dimension)
        reach = self.ball.reach
        return (
            np.maximum(found[0] - reach, -limit),
            np.minimum(found[1] + reach, limit),
        )

    @cached_property
    def _centres(self) -> Array:
        return (self._ends[0] + self._ends[1]) / 2

    @cached_property
    def _halves(self) -> Array:
        return (self._ends[1] - self._ends[0]) / 2

    def _mislabelled(self, above: Array, touched: Array) -> tuple[Array, Array]:
        """Return where all rows have a label that is not their side, and where some."""
        false = self.boxes.last[:, 0] == 0
        true = self.boxes.first[:, 0] == 1
        sure = (above & false) | (~touched & true)
        never = (~touched & false) | (above & true)
        return sure, ~never
