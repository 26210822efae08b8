"""Discrete Laplace noise: the difference of two geometric variables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

import numpy as np

from dpframe.errors import ParameterError
from dpframe.noise.brackets import DIGITS, context, exponential
from dpframe.noise.geometric import digits_of, geometric
from dpframe.noise.quantiles import as_decimal, miss_per_cell, rounded_up

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise.geometric import Digits
    from dpframe.noise.protocol import Integers


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Integer noise with P(z) proportional to ``exp(-|z| / scale)``.

    Parameters
    ----------
    scale : Fraction
        Sensitivity over epsilon, in grid units; positive.

    Privacy
    -------
    Added to an integer of sensitivity D, it makes the sum ``D / scale``-DP. The
    law is exact: no float takes part in a draw.

    Accuracy
    --------
    ``P(|z| > k) = 2 * a**(k + 1) / (1 + a)`` with ``a = exp(-1 / scale)``.

    References
    ----------
    .. [1] Ghosh, Roughgarden and Sundararajan (2012), Universally
       Utility-Maximizing Privacy Mechanisms.
    .. [2] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for
       Differential Privacy.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        """Refuse a scale that is no scale."""
        if self.scale <= 0:
            fact = f"The noise scale must be positive; it is {self.scale}."
            raise ParameterError(fact)

    @property
    def name(self) -> str:
        """The law's name."""
        return "discrete Laplace"

    def sample(self, size: int) -> Integers:
        """Draw `size` independent values.

        Parameters
        ----------
        size : int
            How many, at least 0.

        Returns
        -------
        numpy.ndarray
            Shape ``(size,)``, in grid units: int64 as long as the scale leaves
            room for it, else Python integers.

        Raises
        ------
        RandomnessError
            If the operating system gives no usable random bytes.
        """
        digits = digits_of(self.scale)
        block = max(1, digits.block // 2)
        parts = [
            _difference(digits, min(block, size - start))
            for start in range(0, size, block)
        ]
        if not parts:
            return np.empty(0, dtype=object if digits.wide else np.int64)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def variance(self) -> float:
        """``2 * a / (1 - a)**2``, in squared grid units."""
        rate = float(1 / self.scale)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def tail(self, limit: int) -> float:
        """Probability of ``|z| > limit``, rounded up."""
        if limit < 0:
            return 1.0
        up = context(DIGITS, ROUND_CEILING)
        share = up.divide(self._power(limit + 1), up.add(self._power(1), 1))
        return min(1.0, rounded_up(up.multiply(share, 2)))

    def accuracy(self, confidence: float, cells: int = 1) -> int:
        """Error that `cells` independent values stay within, together.

        Parameters
        ----------
        confidence : float
            In ``[0, 1)``; read as its shortest decimal.
        cells : int, default 1
            How many values.

        Returns
        -------
        int
            The smallest k, in grid units, with P(all ``|z| <= k``) at least
            `confidence`.
        """
        miss = miss_per_cell(confidence, cells)
        scale = self.scale
        up = context(DIGITS + len(str(int(scale))), ROUND_CEILING)
        level = up.divide(2, up.multiply(up.add(self._power(1), 1), miss))
        bound = up.multiply(up.ln(level), as_decimal(scale, up))
        return max(0, int(up.to_integral_value(up.subtract(bound, 1))))

    def upper_quantile(self, miss: Fraction) -> int:
        """Value that a draw reaches with a probability of at most `miss`.

        Parameters
        ----------
        miss : Fraction
            In ``(0, 1)``.

        Returns
        -------
        int
            The smallest k of at least 0, in grid units, with P(z >= k) at most
            `miss`; P(z >= k) is ``a**k / (1 + a)`` for such k.
        """
        scale = self.scale
        up = context(DIGITS + len(str(int(scale))), ROUND_CEILING)
        level = up.divide(
            1, up.multiply(up.add(self._power(1), 1), as_decimal(miss, up))
        )
        bound = up.multiply(up.ln(level), as_decimal(scale, up))
        found = max(0, int(up.to_integral_value(bound)))
        while not self._is_within(found, miss):
            found += 1
        while found > 0 and self._is_within(found - 1, miss):
            found -= 1
        return found

    def _is_within(self, value: int, miss: Fraction) -> bool:
        """Whether P(z >= value) is surely at most `miss`."""
        rate = 1 / self.scale
        digits = DIGITS + len(str(int(self.scale)))
        up, down = context(digits, ROUND_CEILING), context(digits, ROUND_FLOOR)
        above = exponential(value * rate, digits)[1]
        below = exponential(rate, digits)[0]
        return up.divide(above, down.add(below, 1)) <= as_decimal(miss, down)

    def _power(self, steps: int) -> Decimal:
        """``a**steps`` to some 60 digits beyond those of the scale."""
        rate = steps / self.scale
        digits = DIGITS + len(str(int(rate))) + len(str(int(self.scale)))
        up = context(digits, ROUND_CEILING)
        return up.exp(up.minus(as_decimal(rate, up)))


def _difference(digits: Digits, size: int) -> Integers:
    numbers = geometric(digits, 2 * size)
    return numbers[:size] - numbers[size:]
