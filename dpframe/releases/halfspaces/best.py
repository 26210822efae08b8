"""The plane that tells two kinds of points apart with few errors.

To find the best plane is hard in many dimensions, so this is a local search. It
starts from the planes of statistics: axes, means, discriminant and logistic
regression. Then it turns a plane about one of its lines: each point changes sides
at one angle, so one sort gives the errors at all angles, and the best of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpframe.repeatable import Repeatable

Array = np.ndarray[Any, np.dtype[Any]]

# Points this close are equal: their projections differ by rounding alone.
_TIE = 1e-12
# Turns without a gain before the search goes on from another plane.
_PATIENCE = 40
# Planes of statistics to start from.
_STARTS = 3
# Of this many points, the nearest to the plane stays where it is in a turn.
_PIVOTS = 4
# A smooth loss looks at points this near to the plane, in spreads.
_NARROW = 0.03
# Turns: fewer for more and longer points, so that the time is about the same.
_FEWEST, _MOST, _WORK = 60, 1000, 256_000_000


def best_plane(points: Array, labels: Array) -> tuple[Array, float]:
    """Return a plane that misclassifies as few points as a search can find.

    The rule is True where ``<x, w> >= b``. The search is local and repeatable:
    the same points give the same plane. No other offset of the same normal, with
    either sign, has fewer errors.

    Parameters
    ----------
    points : ndarray
        In the unit ball, shape ``(M, d)``. Synthetic, or public.
    labels : ndarray
        Of bool, shape ``(M,)``.

    Returns
    -------
    tuple of (ndarray, float)
        The unit normal ``w``, shape ``(d,)``, and the offset ``b``. The offset is
        half-way between two neighboring projections, so that rounding moves no
        point to the other side. Points with equal projections are on one side.

    References
    ----------
    .. [1] Nguyen and Sanner (2013), Algorithms for direct 0-1 loss optimization in
       binary classification.

    Examples
    --------
    >>> import numpy as np
    >>> from dpframe.releases.halfspaces.best import best_plane
    >>> points = np.array([[-0.5, 0.0], [0.0, 0.5], [0.1, -0.4], [0.5, 0.1]])
    >>> labels = np.array([False, False, True, True])
    >>> normal, offset = best_plane(points, labels)
    >>> points @ normal >= offset
    array([False, False,  True,  True])
    """
    axes = np.eye(points.shape[1])
    if len(points) == 0:
        return axes[0], 0.0
    alike = bool(labels.all()) or not labels.any()
    if alike or float(np.ptp(points, axis=0).max()) <= _TIE:
        plane = _cut(points, labels, axes[0])
    else:
        normals = [*axes, *_regressions(points, labels)]
        planes = [_cut(points, labels, normal) for normal in normals]
        planes.sort(key=lambda plane: plane.errors)
        plane = _search(points, labels, planes[:_STARTS])
    return plane.normal, plane.offset


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """A unit normal, an offset, and the number of points on the wrong side."""

    normal: Array
    offset: float
    errors: int


def _cut(points: Array, labels: Array, direction: Array) -> _Plane:
    """Return the best plane across a direction that is not zero, with either sign."""
    normal = direction / np.sqrt(direction @ direction)
    projections = points @ normal
    order = np.argsort(projections)
    ordered = projections[order]
    ends = min(-1.0, ordered[0] - 0.1), max(1.0, ordered[-1] + 0.1)
    # The lowest offset calls all points True: each False one is an error.
    errors, offset, turned = _fewest(
        ordered,
        np.where(labels[order], 1, -1),
        first=int(np.count_nonzero(~labels)),
        ends=ends,
    )
    sign = -1.0 if turned else 1.0
    return _Plane(normal=sign * normal, offset=sign * offset, errors=errors)


def _fewest(
    places: Array, changes: Array, *, first: int, ends: tuple[float, float]
) -> tuple[int, float, bool]:
    """Return the fewest errors, where they are, and whether with sides swapped.

    Parameters
    ----------
    places : ndarray
        Where the errors change, ascending, one for each point.
    changes : ndarray
        By how much they change there.
    first : int
        Errors below all places.
    ends : (float, float)
        Beyond all places.

    Returns
    -------
    tuple of (int, float, bool)
        The place is the middle of the widest gap that has so few errors.
    """
    edges = np.concatenate([ends[:1], places, ends[1:]])
    gaps = np.diff(edges)
    errors = np.concatenate([[first], first + np.cumsum(changes)])
    fewer = np.minimum(errors, len(places) - errors)
    fewer[gaps <= _TIE] = len(places) + 1
    lowest = int(fewer.min())
    ties = np.flatnonzero(fewer == lowest)
    at = int(ties[np.argmax(gaps[ties])])
    middle = float(edges[at] + edges[at + 1]) / 2
    return lowest, middle, int(errors[at]) != lowest


def _regressions(points: Array, labels: Array) -> list[Array]:
    """Return normals by means, by linear discriminant and by logistic regression.

    Each Newton step of the regression gives one. If the labels can be told apart
    then the steps have no limit, but each of them is a fair guess.
    """
    rows, width = points.shape
    centred = points - points.mean(axis=0)
    moments = centred.T @ centred / rows
    variance = float(np.trace(moments)) / width
    apart = points[labels].mean(axis=0) - points[~labels].mean(axis=0)
    within = moments + (1e-6 * variance) * np.eye(width)
    normals: list[Array] = [apart, np.linalg.solve(within, apart)]
    table = np.column_stack([centred / np.sqrt(variance), np.ones(rows)])
    ridge = 1e-3
    weights: Array = np.zeros(width + 1)
    for _ in range(8):
        # Beyond 30 the chance is 0 or 1 in all but the last digits.
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = (table * (chance * (1 - chance))[:, None]).T @ table
        gradient = table.T @ (labels - chance) - ridge * weights
        weights = weights + np.linalg.solve(slope + ridge * np.eye(width + 1), gradient)
        normals.append(weights[:width])
    return [normal for normal in normals if float(normal @ normal) > _TIE**2]


def _search(points: Array, labels: Array, starts: list[_Plane]) -> _Plane:
    """Return the best of the planes that turns from the starts lead to."""
    stream = _Stream(len(points))
    plane = best = starts[0]
    waiting = starts[1:]
    stale = 0
    turns = _WORK // (points.size + 60 * len(points))
    for number in range(min(max(turns, _FEWEST), _MOST)):
        if best.errors == 0:
            break
        after = _turn(points, labels, plane, number=number, stream=stream)
        stale = 0 if after.errors < plane.errors else stale + 1
        plane = after
        best = min(best, plane, key=lambda plane: plane.errors)
        if stale == _PATIENCE:
            stale = 0
            if waiting:
                plane = waiting.pop(0)
            else:
                push = stream.uniform() * stream.normals(points.shape[1])
                plane = _cut(points, labels, best.normal + push)
    return best


def _turn(
    points: Array, labels: Array, plane: _Plane, *, number: int, stream: _Stream
) -> _Plane:
    """Return the plane turned by the best angle, or as it is if that is no better.

    It turns towards the number's direction, about a point that is near to it.
    """
    heights = points @ plane.normal - plane.offset
    toward = _toward(points, labels, heights, number=number, stream=stream)
    toward = toward - (toward @ plane.normal) * plane.normal
    length = float(np.sqrt(toward @ toward))
    if length <= _TIE:
        return plane
    toward /= length
    some = stream.whole(_PIVOTS, below=len(points))
    pivot = points[some[np.argmin(np.abs(heights[some]))]]
    slopes = points @ toward - pivot @ toward
    # At angle t a point's height is cos(t) * height + sin(t) * slope, up to the
    # offset: it rises or falls through zero once in the half-turn.
    rises = np.where(slopes < 0, -1, 1)
    angles = np.arctan2(-heights * rises, np.abs(slopes))
    order = np.argsort(angles)
    errors, angle, _ = _fewest(
        angles[order],
        np.where(labels, -rises, rises)[order],
        first=int(np.count_nonzero((rises < 0) != labels)),
        ends=(-np.pi / 2, np.pi / 2),
    )
    # The pivot itself may go to its better side when the offset is found anew.
    if errors > plane.errors + 1:
        return plane
    direction = np.cos(angle) * plane.normal + np.sin(angle) * toward
    turned = _cut(points, labels, direction)
    return turned if turned.errors <= plane.errors else plane


def _toward(
    points: Array, labels: Array, heights: Array, *, number: int, stream: _Stream
) -> Array:
    """Return where to turn to: at random, to an axis, or down a smooth loss.

    The loss counts the points near the plane, with random weights.
    """
    width = points.shape[1]
    match number % 5:
        case 0:
            return stream.normals(width)
        case 1:
            return np.eye(width)[number // 5 % width]
        case _:
            near = float(np.std(heights)) * _NARROW ** stream.uniform() + _TIE
            weights = np.exp(-((heights / near) ** 2)) * stream.weights()
            weights[~labels] *= -1
            return (weights - weights.mean()) @ points


class _Stream(Repeatable):
    """What the search draws: weights of points, places and directions."""

    def __init__(self, rows: int) -> None:
        super().__init__(b"best plane")
        self._rows = rows
        self._weights = self.uniforms(2 * rows)

    def uniform(self) -> float:
        """Return a float in (0, 1)."""
        return float(self.uniforms(1)[0])

    def weights(self) -> Array:
        """Return uniform weights of all points, shape ``(rows,)``."""
        # A window of one long table: hashing anew would cost more than a sort.
        first = int(self.whole(1, below=self._rows)[0])
        return self._weights[first : first + self._rows]

    def whole(self, count: int, *, below: int) -> Array:
        """Return whole numbers, shape ``(count,)``."""
        return (self.uniforms(count) * below).astype(np.int64)
