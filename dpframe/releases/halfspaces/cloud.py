"""Synthetic rows in the unit ball, and how many of them are above a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.products import product, weighed

if TYPE_CHECKING:
    from dpframe.releases.halfspaces.ball import Planes

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK: Final = 1 << 17
"""Places that are held at once: so few stay near the processor."""

_DIGITS: Final = 12
"""Of a sum of weights; those after them depend on the order of the sum."""


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """Synthetic rows, and what they weigh.

    Attributes
    ----------
    places : array of float64
        Shape ``(rows, d)``, in the unit ball.
    labels : array of bool, or None
        Shape ``(rows,)``.
    weights : array of float64, or None
        Shape ``(rows,)``, at least 0; None where all weigh the same.
    """

    places: Array
    labels: Array | None = None
    weights: Array | None = None

    def above(self, planes: Planes) -> Array:
        """Return which fraction of the rows is above each plane."""
        return self._fraction(self._weighed(planes, slice(None)))

    def wrong(self, planes: Planes) -> Array:
        """Return the fraction whose label is not whether they are above each plane."""
        labels = self.labels
        if labels is None:
            msg = "these rows have no labels"
            raise ValueError(msg)
        false, true = self._weighed(planes, ~labels), self._weighed(planes, labels)
        positive = labels if self.weights is None else self.weights[labels]
        return self._fraction(false + float(positive.sum()) - true)

    def _fraction(self, weighed: Array) -> Array:
        """Return weights as fractions of all, of which all together are exactly 1."""
        if self.weights is None:
            return weighed / max(len(self.places), 1)
        whole = float(self.weights.sum()) or 1.0
        return np.round(weighed / whole, _DIGITS) + 0.0  # no negative zero

    def _weighed(self, planes: Planes, some: Any) -> Array:
        """Return what some of the rows weigh above each plane."""
        places = np.ascontiguousarray(self.places[some].T)
        weights = None if self.weights is None else self.weights[some]
        least = planes.least[:, None]
        found = np.empty(len(planes))
        step = max(1, _BLOCK // max(places.shape[1], 1))
        for start in range(0, len(planes), step):
            part = slice(start, start + step)
            met = product(planes.normals[part], places) >= least[part]
            if weights is None:
                found[part] = np.count_nonzero(met, axis=1)
            else:
                found[part] = weighed(met, weights)
        return found
