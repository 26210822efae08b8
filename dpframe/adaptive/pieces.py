"""A grid in pieces: stretches of points that miss a quantile by the same.

For a code v let L weigh the rows below it, R those above it and n all rows. At the
level s/r the *deficit* of v is ``max(r * L - s * n, r * R - (r - s) * n, 0)``: r times
what keeps v from being the quantile. It is 0 on a stretch of the grid and grows, step
by step, on both sides. So few pieces cover even a grid of 2**64 points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.noise.choice import Shares

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.engines.ordered import Ordered

Array = np.ndarray[Any, np.dtype[Any]]

_NARROW = 1 << 62  # deficits below it fit an int64


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """Stretches of a grid, ascending and without a gap.

    Attributes
    ----------
    first, last : array of uint64
        The least and the greatest code of each.
    deficits : array of int64, or of int
        The deficit of each one's points.
    open_left, open_right : bool
        Whether the first or last piece covers rows that were not looked at. Then its
        points have deficits of at least the one given, and most of them more.
    """

    first: Array
    last: Array
    deficits: Array
    open_left: bool
    open_right: bool

    def shares(self, rate: Fraction, *, digits: int) -> Shares:
        """Cumulative shares of the pieces if a point weighs ``exp(-rate * deficit)``.

        Parameters
        ----------
        rate : Fraction
            Positive.
        digits : int
            How fine the brackets are, but for what an open piece leaves open.
        """
        points = (self.last - self.first).astype(object) + 1
        steps = self.deficits.copy()
        ends = [0] * self.open_left + [-1] * self.open_right
        hidden = sum(int(points[end]) for end in ends)
        beyond = min((int(steps[end]) for end in ends), default=0)
        points[ends], steps[ends] = 0, 0
        return Shares(points, steps, rate, digits=digits, hidden=hidden, beyond=beyond)


def pieces_of(order: Ordered, *, size: int, level: Fraction, reach: int) -> Pieces:
    """Part a grid by deficit, as far as the deficit is at most `reach`.

    Parameters
    ----------
    order : Ordered
        The rows' codes, all below `size`, and what the rows weigh.
    size : int
        How many points the grid has, from 1 to 2**64.
    level : Fraction
        Which quantile, from 0 to 1.
    reach : int
        At least 0. Only rows of ranks within it are looked at.
    """
    start, stop = _rows(order, level, reach)
    codes, before, through = _knots(order, start, stop)
    edges = np.array([0, size - 1], dtype=np.uint64)
    if not len(codes):
        nothing = np.zeros(1, dtype=np.int64)
        return Pieces(
            first=edges[:1],
            last=edges[1:],
            deficits=nothing,
            open_left=False,
            open_right=False,
        )
    # What lies at or below a code decides whether that is too low, and it grows where
    # a knot starts; what lies below a code decides whether that is too high, and it
    # grows past the end of a knot.
    starts = np.concatenate([edges[:1], codes])
    ends = np.concatenate([codes, edges[1:]])
    goal, r = level.numerator * order.total, level.denominator
    short = -_excess(np.concatenate([before[:1], through]), goal, r)
    over = _excess(np.concatenate([before, through[-1:]]), goal, r)
    low, high = np.count_nonzero(short > 0), np.count_nonzero(over <= 0)
    first = np.concatenate([starts[: low + 1], ends[high - 1 : -1] + 1])
    last = np.concatenate([starts[1 : low + 1] - 1, ends[high - 1 :]])
    deficits = np.concatenate([short[:low], [0], over[high:]])
    # No point lies below a knot of code 0, and none above one of the last code.
    skip = int(low > 0 and codes[0] == edges[0])
    keep = len(first) - int(high < len(ends) and codes[-1] == edges[1])
    return Pieces(
        first=first[skip:keep],
        last=last[skip:keep],
        deficits=deficits[skip:keep],
        open_left=start > 0 and not skip,
        open_right=stop < len(order.codes) and keep == len(first),
    )


def _rows(order: Ordered, level: Fraction, reach: int) -> tuple[int, int]:
    """Find the rows that end and begin at ranks within `reach` of the quantile."""
    goal, total = level.numerator * order.total, order.total
    low = max(-((reach - goal) // level.denominator), 0)
    high = min((reach + goal) // level.denominator, total)
    if order.running is None:
        return max(low - 1, 0), min(high + 1, total)
    start = np.searchsorted(order.running[1:], low)
    stop = np.searchsorted(order.running[:-1], high, side="right")
    return int(start), int(stop)


def _knots(order: Ordered, start: int, stop: int) -> tuple[Array, Array, Array]:
    """List the codes that weigh something, what lies below each and at or below it."""
    codes = order.codes[start:stop]
    if order.running is None:
        before = np.arange(start, stop, dtype=np.int64)
        through = before + 1
    else:
        before = order.running[start:stop]
        through = order.running[start + 1 : stop + 1]
        weighs = through > before
        codes, before, through = codes[weighs], before[weighs], through[weighs]
    changes = codes[1:] != codes[:-1]
    edge = np.ones(min(len(codes), 1), dtype=np.bool_)
    heads, tails = np.concatenate([edge, changes]), np.concatenate([changes, edge])
    return codes[heads], before[heads], through[tails]


def _excess(weights: Array, goal: int, r: int) -> Array:
    """Return ``r * weight - goal`` for ascending weights, as int64 where it fits."""
    middle, rest = divmod(goal, r)
    near = weights - middle
    widest = max(abs(int(near[0])), abs(int(near[-1])))
    if (widest + 1) * r >= _NARROW:
        near = near.astype(object)
    return near * r - rest
