"""How far off the answers of a tree of noisy counts may be, before it is drawn.

Without clean-up the errors do not depend on the data: they are those of a tree of
noise alone. So the largest one, over all intervals, has a known law for each size, and
clean-up never increases it.

The law is simulated once, for continuous noise of scale 1, at some fan-outs and
confidences. What lies between, beyond and below is covered thus:

- Between two confidences, the quantile is interpolated linearly in the logarithm of
  the confidence. This is never too small: the largest error S is a norm of noise with
  a log-concave density, so ``P(S <= q)`` is log-concave in q [1]_.
- Beyond the largest confidence, Borell's lemma holds: ``P(S <= q) = c > 1/2`` gives
  ``P(S > t * q) <= c * ((1 - c) / c)**((t + 1) / 2)`` for t of 1 and more [2]_.
- Below the least confidence, its quantile is taken.
- Between two fan-outs, the quantile is interpolated linearly in the logarithm of the
  fan-out; the tabulated quantiles are convex in it.
- Noise on the grid takes half a grid step more. For a single cell of Laplace noise
  this is a proof: ``P(|z| > k) = 2 * a**(k + 1) / (1 + a)`` for ``a = exp(-1 / b)``
  is at most ``exp(-(k + 1 / 2) / b)``. Elsewhere it is a measured margin: it suffices
  by the exact laws of one level, and by draws of more, at scales from 0.1 to 5.
- A hundredth is added for the error of the simulation.
- Beyond 2^22 cells it is a bound, about three times as large: an interval is made of
  ``2 (b - 1)`` nodes of each level at most, whose sum varies no less than the fitted
  one, and Chernoff's bound holds for all intervals together.

References
----------
.. [1] Prékopa (1973), On logarithmic concave measures and functions.
.. [2] Borell (1974), Convex measures on locally convex spaces.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from dpframe.nested import fanouts
from dpframe.noise import DiscreteLaplace
from dpframe.noise.quantiles import miss_per_cell
from dpframe.releases.interval_table import CONFIDENCES, TABLE
from dpframe.releases.noise_sums import independent, many_bound

if TYPE_CHECKING:
    from dpframe.noise import Noise

LARGEST: Final = 2**22
"""The most cells whose errors were simulated."""

_MARGIN: Final = 1.01
_HALF_STEP: Final = 0.5


def interval_quantile(size: int, noise: Noise, *, confidence: float) -> float:
    """Return what the errors of all intervals stay within, together.

    Parameters
    ----------
    size : int
        Number of cells, at least 1; the tree is that of ``fanouts(size)``.
    noise : DiscreteLaplace or DiscreteGaussian
        The law of every node's noise, independent of each other, in grid units.
    confidence : float
        In ``[0, 1)``.

    Returns
    -------
    float
        In grid units: a multiple of the noise's scale (sigma for Gaussian noise),
        the same for all scales, and half a grid step.

    Raises
    ------
    ParameterError
        If `confidence` is out of range.
    """
    law = "laplace" if isinstance(independent(noise), DiscreteLaplace) else "normal"
    miss = float(miss_per_cell(confidence, 1))
    if size > LARGEST:
        nodes = 2 * sum(children - 1 for children in fanouts(size))
        return many_bound(noise, nodes, miss / (size * (size + 1)))
    unit = _at_confidence(_row(law, size), miss)
    return float(noise.scale) * _MARGIN * unit + _HALF_STEP


def _row(law: str, size: int) -> tuple[float, ...]:
    """Return the quantiles at all tabulated confidences for a number of cells."""
    rows = TABLE[law]
    levels, branching = len(fanouts(size)), fanouts(size)[0]
    known = [b for height, b in rows if height == levels]
    low = max(b for b in known if b <= branching)
    high = min(b for b in known if b >= branching)
    if low == high:
        return rows[levels, low]
    share = math.log(branching / low) / math.log(high / low)
    pairs = zip(rows[levels, low], rows[levels, high], strict=True)
    return tuple((1 - share) * below + share * above for below, above in pairs)


def _at_confidence(row: tuple[float, ...], miss: float) -> float:
    """Interpolate between tabulated confidences, or go beyond the largest."""
    last = CONFIDENCES[-1]
    if miss < 1 - last:
        steps = math.log(last / miss) / math.log(last / (1 - last))
        return row[-1] * (2 * steps - 1)
    level = math.log1p(-miss) if miss < 1 else -math.inf
    return float(np.interp(level, np.log(CONFIDENCES), row))
