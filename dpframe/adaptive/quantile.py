"""The exact choice of a quantile on a public grid, by the exponential mechanism.

A point of the grid weighs exp(-rate * deficit), the deficit being what keeps it from
being the quantile. The choice is one of a piece of the grid, then of a point in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpframe.adaptive.pieces import Pieces, pieces_of
from dpframe.noise.brackets import DIGITS, locate
from dpframe.noise.randomness import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.engines.ordered import Ordered
    from dpframe.noise.brackets import Bracket

_FOLDS = 90  # exp(-90) < 2**-129


def select_quantile(
    order: Ordered, *, size: int, level: Fraction, rate: Fraction
) -> int:
    """Choose a code with probability proportional to ``exp(-rate * deficit)``.

    For a code v let L weigh the rows below it, R those above it and n all rows. At the
    level s/r the deficit is ``max(r * L - s * n, r * R - (r - s) * n, 0)``.

    Parameters
    ----------
    order : Ordered
        The rows' codes, all below `size`, and what the rows weigh.
    size : int
        How many points the grid has, from 1 to 2**64. Public.
    level : Fraction
        Which quantile, from 0 to 1. Public.
    rate : Fraction
        Positive. Public.

    Returns
    -------
    int
        From 0 to ``size - 1``; any of them alike if the rows weigh nothing.

    Privacy
    -------
    With the level s/r in lowest terms, a unit that changes no count of a range by more
    than w changes no deficit by more than ``w * max(s, r - s)``. So the choice is ε-DP,
    add-or-remove-one, for ``rate = epsilon / (2 * w * max(s, r - s))``. At the levels 0
    and 1 a further unit lowers no deficit, so there twice that rate is ε-DP. The law is
    exact: no float takes part.

    Accuracy
    --------
    With a chance of at least ``1 - beta`` the rows below the code weigh no more than
    ``q * n + e`` and those at or below it no less than ``q * n - e``, where e is
    ``log(size / beta) / (rate * r)``.

    Raises
    ------
    RandomnessError
        If the operating system gives no usable random bytes.

    References
    ----------
    .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy.
    .. [2] Smith (2011), Privacy-Preserving Statistical Estimation with Optimal
       Convergence Rates.
    .. [3] Ilvento (2020), Implementing the Exponential Mechanism with Base-2
       Differential Privacy.
    """
    search = _Search(order=order, size=size, level=level, rate=rate)
    place = locate(search.cuts)
    first, last = int(search.pieces.first[place]), int(search.pieces.last[place])
    points = below(last - first + 1, 1, width=size.bit_length())
    return first + int(points[0])


def reach_of(size: int, rate: Fraction, digits: int = DIGITS) -> int:
    """Give a deficit beyond which `size` points have a share below ``exp(-90)``.

    Each digit more makes that ``exp(-2.4)`` times less, which is finer than the digit:
    a random fraction outruns the window only as far as it outruns the digits.
    """
    folds = Fraction(7 * size.bit_length(), 10) + Fraction(12 * (digits - DIGITS), 5)
    return int((folds + _FOLDS) / rate) + 1


@dataclass(kw_only=True)
class _Search:
    """Brackets for `locate`, and the pieces that the last ones lie between.

    Finer brackets come with a wider window, so what lies outside it is seen only if
    the random fraction falls where it matters. Pieces are in the order of the grid
    whatever the window, so the fraction stands for one and the same piece throughout.
    """

    order: Ordered
    size: int
    level: Fraction
    rate: Fraction
    pieces: Pieces = field(init=False)

    def cuts(self, digits: int) -> Sequence[Bracket]:
        self.pieces = pieces_of(
            self.order,
            size=self.size,
            level=self.level,
            reach=reach_of(self.size, self.rate, digits),
        )
        return self.pieces.shares(self.rate, digits=digits)
