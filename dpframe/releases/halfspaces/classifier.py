"""A linear classifier that is chosen among all by what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpframe.releases.halfspaces.best import best_plane

if TYPE_CHECKING:
    from dpframe.releases.halfspaces.leaves import Leaves
    from dpframe.releases.halfspaces.projections import Projections
    from dpframe.releases.scalar import ScalarRelease

_SEARCHED: Final = 10_000
"""Synthetic rows among which it is sought, at most."""


class Halfspace(NamedTuple):
    """A linear classifier: True where the weighted sum reaches the offset.

    Attributes
    ----------
    w : dict of str to float
        Weights by column, in the columns' own units.
    offset : float
    error : ScalarRelease
        The fraction of rows that it classifies wrongly. Its interval holds although
        the halfspace was chosen by looking at the release.
    """

    w: dict[str, float]
    offset: float
    error: ScalarRelease[Any]


def best_weights(shape: Projections | Leaves) -> tuple[dict[str, float], float]:
    """Return weights and an offset, in the columns' units, of few errors on its rows.

    Parameters
    ----------
    shape : Projections or Leaves
        With labels.
    """
    codes, labels = shape.rows(min(shape.points, _SEARCHED))
    places = shape.ball.places(codes)
    normal, offset = best_plane(places, np.asarray(labels, dtype=np.bool_))
    return shape.ball.own(normal, offset)
