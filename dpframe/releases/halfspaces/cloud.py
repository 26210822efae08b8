"""Synthetic rows in the unit ball, and how many of them are above a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.releases.halfspaces.ball import TIE

if TYPE_CHECKING:
    from dpframe.releases.halfspaces.ball import Planes

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK: Final = 1 << 21
"""Places that are held at once."""


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """Synthetic rows, all of the same weight.

    Attributes
    ----------
    places : array of float64
        Shape ``(rows, d)``, in the unit ball.
    labels : array of bool, or None
        Shape ``(rows,)``.
    """

    places: Array
    labels: Array | None = None

    def above(self, planes: Planes) -> Array:
        """Return which fraction of the rows is above each plane."""
        return self._counted(self.places, planes) / max(len(self.places), 1)

    def wrong(self, planes: Planes) -> Array:
        """Return the fraction whose label is not whether they are above each plane."""
        labels = self.labelled
        false = self._counted(self.places[~labels], planes)
        true = self._counted(self.places[labels], planes)
        return (false + labels.sum() - true) / max(len(labels), 1)

    @property
    def labelled(self) -> Array:
        """The labels, of rows that have some."""
        if self.labels is None:
            msg = "these rows have no labels"
            raise ValueError(msg)
        return self.labels

    @staticmethod
    def _counted(places: Array, planes: Planes) -> Array:
        found = np.empty(len(planes))
        step = max(1, _BLOCK // max(len(places), 1))
        for start in range(0, len(planes), step):
            part = slice(start, start + step)
            along = planes.normals[part] @ places.T
            met = along >= (planes.offsets[part] - TIE)[:, None]
            found[part] = np.count_nonzero(met, axis=1)
        return found
