"""Exact choices with probabilities made of exponentials.

No float and no rejection: a uniform fraction is drawn as far as it takes to see
between which cumulative shares it falls. Nothing is kept from one call to the
next, since weights may come from private rows.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from dpframe.errors import ParameterError
from dpframe.noise.brackets import context, exponential, locate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpframe.noise.brackets import Bracket, Cuts


def choose(weights: Sequence[tuple[int, Fraction]]) -> int:
    """Choose an index with probability proportional to its weight.

    Parameters
    ----------
    weights : sequence of (int, Fraction)
        Pairs (v, r), each of the weight ``v * exp(-r)``; v at least 0, and
        positive somewhere.

    Returns
    -------
    int

    Raises
    ------
    RandomnessError
        If the operating system gives no usable random bytes.

    References
    ----------
    .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy.
    """
    return locate(cumulative(weights))


def cumulative(weights: Sequence[tuple[int, Fraction]]) -> Cuts:
    """Cumulative shares of all weights but the last, to any number of digits.

    Parameters
    ----------
    weights : sequence of (int, Fraction)
        As in `choose`.

    Returns
    -------
    callable
        From a number of digits to brackets, in the order of `weights`; what it
        has computed it keeps, so hold on to it for public weights alone.
    """
    factors = [factor for factor, _ in weights]
    if not any(factors) or min(factors) < 0:
        fact = "A choice needs weights of at least 0, and one above it."
        raise ParameterError(fact)
    lightest = min(rate for factor, rate in weights if factor)
    rates = [max(rate - lightest, 0 * rate) for _, rate in weights]

    @lru_cache(maxsize=4)
    def cuts(digits: int) -> Sequence[Bracket]:
        down, up = context(digits, ROUND_FLOOR), context(digits, ROUND_CEILING)
        edges = [exponential(rate, digits) for rate in rates]
        lows = list(
            accumulate(
                (
                    down.multiply(Decimal(factor), low)
                    for factor, (low, _) in zip(factors, edges, strict=True)
                ),
                down.add,
            )
        )
        highs = list(
            accumulate(
                (
                    up.multiply(Decimal(factor), high)
                    for factor, (_, high) in zip(factors, edges, strict=True)
                ),
                up.add,
            )
        )
        return [
            (down.divide(low, highs[-1]), up.divide(high, lows[-1]))
            for low, high in zip(lows[:-1], highs[:-1], strict=True)
        ]

    return cuts
