"""Intervals of about equal weight, found one after the other by binary search.

This is the algorithm by which Blum, Ligett and Roth showed that all intervals can be
answered at once. It is here to be compared with: other methods need far fewer rows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.privacy.loss import Loss

DELTA: Final = 0.05
"""The chance that the stated accuracy fails."""

TOTAL_SHARE: Final = Fraction(1, 10)
"""The part of the loss that buys the weight of all rows."""

WIDEST: Final = 0.5
FINEST: Final = 2.0**-12  # its rows are told apart by 32 random bits
_STEPS: Final = 64
_CROWD: Final = 0.35  # see the notes on `IntervalSearch`
_RARE: Final = 0.001  # independent counts leave more of `DELTA` than this


class Counter(Protocol):
    """Noisy counts over extended codes; see `Rows.spread`."""

    def count(self, start: int, stop: int, loss: Loss) -> int:
        """Return what rows with ``start <= code < stop`` weigh, with noise."""
        ...


class Rows(Protocol):
    """Rows in the order of their codes, seen through noisy counts alone."""

    def spread(self, bits: int) -> Counter:
        """Return the rows with so many random low bits below their codes."""
        ...


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """A partition of the codes, and what each part weighs; within it, evenly.

    Attributes
    ----------
    bounds : tuple of int
        Where the pieces begin, ascending, and where the last one ends: the first is 0
        and the last the size of the domain.
    masses : tuple of int
        What each piece weighs, in grid units, at least 0; `total` together, if that
        is not negative.
    total : int
        The noisy weight of all rows, in grid units.
    alpha : float
        What was searched for: an error of every interval of at most this share.
    guaranteed : bool
        Whether there were rows enough for that, at a confidence of 95 %.
    """

    bounds: tuple[int, ...]
    masses: tuple[int, ...]
    total: int
    alpha: float
    guaranteed: bool


@dataclass(frozen=True, kw_only=True)
class IntervalSearch:
    """A search at an error `alpha`: its public parameters.

    Parameters
    ----------
    size : int
        Points of the domain.
    alpha : float
        In ``[2**-12, 1/2]``.

    Notes
    -----
    Each interval sought holds a sixth of `alpha` of the rows. If each count of n rows
    errs by at most ``1 + t`` rows, and

        ``n >= 24 / alpha**2 * (1 + t)``,

    then every interval query is answered within ``alpha * n``. Write s for a sixth of
    alpha, and u for the error of an interval found, as a share of the rows: at most
    ``(1 + t) / n``, plus the share of the heaviest extended code. An interval query
    errs by u for each found interval it contains, of which there are at most
    ``1 / (s - u)``, by ``2 * (s + u)`` at its ends, and by s in the last interval. With
    ``s <= 1/12`` and ``u = x * 3/2 * s**2`` this is at most
    ``s * (3/2 * x / (1 - x/8) + 3 + x/4)``, and for ``x <= 1.35`` less than
    ``5.8 * s``. The rest, ``s / 5``, is for the noise of n.

    The noise of the counts takes x up to 1. What is left of x, 0.35, is 2.8 times what
    an extended code holds on average even if all rows share one code: at most
    ``alpha**2 / 192`` of them. `crowding` bounds the chance that one holds more.

    References
    ----------
    .. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
       Database Privacy, Section 5 and Algorithm 2.
    """

    size: int
    alpha: float

    @property
    def low_bits(self) -> int:
        """Random bits below each code, so that no extended code is heavy."""
        return math.ceil(math.log2(24 / self.alpha**2)) + 3

    @property
    def bits(self) -> int:
        """Bits of an extended code: counts that one interval takes, at most."""
        return max(1, ((self.size << self.low_bits) - 1).bit_length())

    @property
    def intervals(self) -> int:
        """Intervals that are searched for, at most."""
        return most_intervals(self.alpha)

    @property
    def probes(self) -> int:
        """Counts that the search takes, at most."""
        return self.bits * self.intervals

    def crowding(self, rows: float) -> float:
        """Return at most which chance there is that an extended code holds too much.

        A code of m rows on average, each drawn into it on its own, holds x or more with
        a chance of at most ``exp(-m) * (e * m / x)**x`` (Chernoff). With ``x >= m + 1``
        the sum of these over all extended codes is largest where all rows share one
        code.
        """
        limit = _CROWD * rows * self.alpha**2 / 24
        mean = rows / 2**self.low_bits
        if limit < mean + 1:
            return 1.0
        power = math.log(2) * self.low_bits - mean
        return math.exp(min(power + limit * (1 + math.log(mean / limit)), 0))

    def threshold(self, total: int) -> int:
        """Return what an interval has to weigh, of so much in all; at least 0."""
        return math.floor(Fraction(self.alpha) * max(total, 0) / 6)


def most_intervals(alpha: float) -> int:
    """Return how many intervals of a sixth of alpha there can be, with their errors."""
    return math.ceil(8 / alpha)


def rows_needed(
    *, alpha: float, bits: int, loss: Loss, cap: Fraction, delta: float = DELTA
) -> float:
    """Return how many rows are enough for an error of `alpha`.

    Parameters
    ----------
    alpha : float
        Share of the rows by which an interval may be wrong, in ``(0, 1/2]``.
    bits : int
        Bits of the codes that are searched, with the random ones.
    loss : Loss
        What all counts of the search may cost together.
    cap : Fraction
        Rows that one privacy unit counts as, at most.
    delta : float
        The chance of a larger error.

    Notes
    -----
    ``24 / alpha**2 * (1 + t)``, where each of k counts is within ``1 + t`` rows with a
    chance of ``1 - delta / k``. For Laplace noise t is
    ``cap * k / epsilon * ln(k / delta)``. For Gaussian noise it is the normal quantile
    at ``1 - delta / (2 * k)``, for a variance of ``cap**2 * k / (2 * rho)``: the
    discrete law reaches a whole number no more often than the normal law reaches the
    one before it [1]_.

    References
    ----------
    .. [1] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential
       Privacy.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpframe.privacy.loss import Loss
    >>> loss = Loss(epsilon=Fraction(1))
    >>> round(rows_needed(alpha=0.5, bits=12, loss=loss, cap=Fraction(1)))
    152219
    """
    probes = bits * most_intervals(alpha)
    if loss.epsilon is not None:
        error = probes / float(loss.epsilon) * math.log(probes / delta)
    else:
        normal = NormalDist(sigma=math.sqrt(probes / (2 * float(loss.as_rho))))
        error = -normal.inv_cdf(delta / (2 * probes))
    return 24 / alpha**2 * (1 + float(cap) * error)


def finest_search(
    *, size: int, rows: Fraction, loss: Loss, cap: Fraction
) -> tuple[IntervalSearch, bool]:
    """Return the search with the least error that so many rows are enough for.

    Parameters
    ----------
    size : int
        Points of the domain.
    rows : Fraction
        How many rows there are: a noisy number.
    loss, cap
        As in `rows_needed`.

    Returns
    -------
    (IntervalSearch, bool)
        One of error 1/2, and False, if the rows are too few for any.
    """

    def suffices(alpha: float) -> bool:
        search = IntervalSearch(size=size, alpha=alpha)
        needed = rows_needed(alpha=alpha, bits=search.bits, loss=loss, cap=cap)
        return rows >= needed and search.crowding(float(rows)) <= _RARE

    low, high = FINEST, WIDEST
    if not suffices(high):
        return IntervalSearch(size=size, alpha=high), False
    if suffices(low):
        return IntervalSearch(size=size, alpha=low), True
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return IntervalSearch(size=size, alpha=high), True


def search_intervals(
    rows: Rows, *, size: int, loss: Loss, multiplicity: int, weight: int
) -> Pieces:
    """Find intervals of about equal weight by noisy binary search.

    Parameters
    ----------
    rows : Rows
        The data, of codes below `size`.
    size : int
        Points of the domain, at most 2^64.
    loss : Loss
        What all counts together may cost.
    multiplicity, weight : int
        What one privacy unit, and one full row, weigh in grid units.

    Privacy
    -------
    A tenth of the loss buys the weight of all rows. It settles how fine the search is,
    and with it the most counts that it can take; the rest of the loss is shared evenly
    among so many, and what is not asked is not spent. All that is returned follows
    from the noisy counts.
    """
    total = rows.spread(0).count(0, size, loss.share(TOTAL_SHARE))
    rest = loss.share(1 - TOTAL_SHARE)
    plan, guaranteed = finest_search(
        size=size,
        rows=Fraction(total, weight),
        loss=rest,
        cap=Fraction(multiplicity, weight),
    )
    threshold = plan.threshold(total)
    ends = find_ends(
        rows.spread(plan.low_bits),
        top=size << plan.low_bits,
        intervals=plan.intervals,
        threshold=threshold,
        loss=count_loss(loss, size=size, alpha=plan.alpha),
    )
    weighed = [min(threshold * piece, max(total, 0)) for piece in range(len(ends))]
    bounds, masses = without_low_bits(ends, [*weighed, max(total, 0)], plan.low_bits)
    return Pieces(
        bounds=bounds,
        masses=masses,
        total=total,
        alpha=plan.alpha,
        guaranteed=guaranteed,
    )


def count_loss(loss: Loss, *, size: int, alpha: float) -> Loss:
    """Return what each count of a search at an error `alpha` costs: the rest's share.

    Parameters
    ----------
    loss : Loss
        What the whole search may cost.
    size, alpha
        As in `IntervalSearch`.
    """
    probes = IntervalSearch(size=size, alpha=alpha).probes
    return loss.share((1 - TOTAL_SHARE) / probes)


def find_ends(
    counter: Counter, *, top: int, intervals: int, threshold: int, loss: Loss
) -> list[int]:
    """Return where intervals end that weigh just more than a threshold.

    Parameters
    ----------
    counter : Counter
    top : int
        Where the domain ends; the last interval ends there, whatever it weighs.
    intervals : int
        Intervals to search for, at most; what is left after them is one more.
    threshold : int
        In grid units.
    loss : Loss
        What each count costs. There are at most ``(top - 1).bit_length()`` for each
        interval.

    Returns
    -------
    list of int
        Ascending, each at least 1 above the one before; the last one is `top`.
    """
    ends: list[int] = []
    start = 0
    while start < top and len(ends) < intervals:
        low, high = start, top
        while high - low > 1:
            middle = (low + high) // 2
            if counter.count(start, middle, loss) > threshold:
                high = middle
            else:
                low = middle
        ends.append(high)
        start = high
    return ends if start == top else [*ends, top]


def without_low_bits(
    ends: Sequence[int], before: Sequence[int], bits: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Drop the random bits of pieces, each of which is spread evenly over its codes.

    A code in which a piece ends becomes a piece of its own.

    Parameters
    ----------
    ends : sequence of int
        Where the pieces end, in extended codes; the last one at a whole code.
    before : sequence of int
        What the pieces before each of them weigh together, in grid units, and last what
        all of them weigh.
    bits : int

    Returns
    -------
    (tuple of int, tuple of int)
        Bounds and masses, as `Pieces` has them. Weights below a bound are rounded down
        to grid units; they add up to the same.
    """
    bounds = sorted(
        {0, *(end >> bits for end in ends), *(-(-end >> bits) for end in ends)}
    )
    starts = [0, *ends]
    below: list[int] = []
    for bound in bounds:
        place = bound << bits
        piece = bisect_right(starts, place) - 1
        inside = 0
        if piece < len(ends):
            mass = before[piece + 1] - before[piece]
            length = ends[piece] - starts[piece]
            inside = mass * (place - starts[piece]) // length
        below.append(before[piece] + inside)
    return tuple(bounds), tuple(high - low for low, high in pairwise(below))
