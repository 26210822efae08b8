"""Discrete Gaussian noise: discrete Laplace noise, of which a part is kept."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from dpframe.errors import ParameterError
from dpframe.noise import bell
from dpframe.noise.brackets import DIGITS, context
from dpframe.noise.decay import coins_of, pairs, survives
from dpframe.noise.geometric import digits_of, geometric
from dpframe.noise.quantiles import as_decimal, miss_per_cell, rounded_up
from dpframe.noise.randomness import REPEATS, ROUNDS, failure

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.noise.protocol import Integers

_SPARE = 64  # candidates beyond two per value: one is kept with chance over 0.58
_BYTE = 8


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    """Integer noise with P(z) proportional to ``exp(-z**2 / (2 * sigma2))``.

    Parameters
    ----------
    sigma2 : Fraction
        Squared L2 sensitivity over ``2 * rho``, in squared grid units; positive.

    Privacy
    -------
    Added to each coordinate of an integer vector of L2 sensitivity D, it makes the
    whole ``D**2 / (2 * sigma2)``-zCDP. The law is exactly that of `sigma2`, of
    however many digits: no float takes part in a draw.

    Accuracy
    --------
    The variance is at most `sigma2`, and ``P(|z| > k)`` at most
    ``2 * exp(-(k + 1)**2 / (2 * sigma2))``.

    Notes
    -----
    With s the integer part of sigma and ``t = sigma2 / (s + 1/2)``, a discrete
    Laplace value y of scale t is kept with chance ``exp(-m / sigma2)``, where m is
    ``(|y| - s) * (|y| - s - 1) / 2``: this m is a whole number of at least 0, and
    the exponents add up to ``y**2 / (2 * sigma2)`` and a constant.

    Candidates come in blocks. All of a block are drawn and judged in full, and the
    kept ones are taken in order. Whether a candidate is kept tells nothing of the
    values of others, and the kept ones all have the law asked for however many were
    drawn before. So the number of blocks, the only part of the work that varies,
    is independent of the noise.

    References
    ----------
    .. [1] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for
       Differential Privacy.
    """

    sigma2: Fraction

    def __post_init__(self) -> None:
        """Refuse a variance that is none."""
        if self.sigma2 <= 0:
            fact = f"The noise variance must be positive; it is {self.sigma2}."
            raise ParameterError(fact)

    @property
    def name(self) -> str:
        """The law's name."""
        return "discrete Gaussian"

    @property
    def scale(self) -> float:
        """Sigma, in grid units: for display, not for a draw."""
        up = context(DIGITS, ROUND_CEILING)
        return rounded_up(up.sqrt(as_decimal(self.sigma2, up)))

    def sample(self, size: int) -> Integers:
        """Draw `size` independent values.

        Parameters
        ----------
        size : int
            How many, at least 0.

        Returns
        -------
        numpy.ndarray
            Shape ``(size,)``, in grid units: int64 as long as sigma leaves room
            for it, else Python integers.

        Raises
        ------
        RandomnessError
            If the operating system gives no usable random bytes.
        """
        wide = digits_of(self._laplace_scale).wide
        parts: list[Integers] = [np.empty(0, dtype=object if wide else np.int64)]
        missing = size
        while missing > 0:
            kept = self._kept(2 * missing + _SPARE)[:missing]
            parts.append(kept)
            missing -= len(kept)
        return np.concatenate(parts)

    @property
    def variance(self) -> float:
        """Variance of one value, in squared grid units; rounded up."""
        return rounded_up(bell.variance(self.sigma2))

    def tail(self, limit: int) -> float:
        """Probability of ``|z| > limit``, rounded up."""
        return rounded_up(bell.tail(self.sigma2, limit))

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
        return bell.bound(self.sigma2, miss_per_cell(confidence, cells))

    @property
    def _middle(self) -> int:
        """The integer part of sigma."""
        return isqrt(self.sigma2.numerator // self.sigma2.denominator)

    @property
    def _laplace_scale(self) -> Fraction:
        return 2 * self.sigma2 / (2 * self._middle + 1)

    def _kept(self, wanted: int) -> Integers:
        """Draw up to `wanted` candidates in one block and give the kept ones.

        A block of which none is kept is drawn again; the limit is for a source of
        bytes that is broken.
        """
        digits, coins = digits_of(self._laplace_scale), coins_of(self.sigma2)
        size = min(wanted, coins.block, max(1, digits.block // 2))
        for _ in range(ROUNDS):
            numbers = geometric(digits, 2 * size)
            values = numbers[:size] - numbers[size:]
            steps = abs(values) - self._middle
            counts = pairs(np.maximum(steps, 1 - steps), coins.count // _BYTE + 1)
            kept = values[survives(coins, self.sigma2, counts)]
            if len(kept):
                return kept
        raise failure(REPEATS)
