"""Statistics of the audits: one false-alarm rate, and one rule to confirm with.

Every test has a false-alarm rate of 1e-6. A rejection is confirmed once with four
times as many fresh draws, so a sound release turns red about once in 10^12 tests.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

ALPHA = 1e-6
EFFORT = float(os.environ.get("DPFRAME_AUDIT", "1"))

_FEW = 20  # expected counts below it are pooled
_BINS = 20  # on each side of the middle
_REACH = 6  # scales


def draws(number: int) -> int:
    """Return a number of draws at the effort asked for."""
    return max(1, int(number * EFFORT))


def confirmed(rejects: Callable[[int], bool], number: int) -> bool:
    """Whether a test rejects, and rejects again with four times as many draws."""
    return rejects(number) and rejects(4 * number)


def chi_square(observed: Array, chances: Array) -> float:
    """Return the p-value of counts; cells with few expected ones are pooled."""
    expected = chances / chances.sum() * observed.sum()
    order = np.argsort(expected)
    few = np.cumsum(expected[order]) < _FEW
    cut = min(int(few.sum()) + 1, len(order) - 1) if few.any() else 0
    rest, kept = order[:cut], order[cut:]
    seen, wanted = observed[kept], expected[kept]
    if cut:
        seen = np.append(seen, observed[rest].sum())
        wanted = np.append(wanted, expected[rest].sum())
    return float(stats.chisquare(seen, wanted).pvalue)


def law_p_value(values: Array, law: Noise) -> float:
    """Return the p-value of whole numbers as values of a symmetric noise law.

    Chi-square over 40 bins within six Laplace scales (by the variance), and both
    tails. The expected counts come from the law's tail alone, not from its sampler.
    """
    reach = max(_REACH * math.sqrt(law.variance / 2), _REACH)
    edges = sorted({int(reach * step / _BINS) for step in range(-_BINS, _BINS + 1)})
    # The chance that a value lies left of each edge.
    left = [
        law.tail(-edge) / 2 if edge <= 0 else 1 - law.tail(edge - 1) / 2
        for edge in edges
    ]
    chances = np.diff([0, *left, 1])
    found = np.searchsorted(np.array(edges), values.astype(np.float64), side="right")
    return chi_square(np.bincount(found, minlength=len(edges) + 1), chances)


def clopper_pearson(seen: int, number: int, alpha: float) -> tuple[float, float]:
    """Return bounds on a chance that are each wrong with a chance of `alpha`."""
    low = 0.0 if seen == 0 else float(stats.beta.ppf(alpha, seen, number - seen + 1))
    high = 1.0
    if seen < number:
        high = float(stats.beta.isf(alpha, seen + 1, number - seen))
    return low, high


def least_loss(here: int, there: int, number: int) -> float:
    """Return a lower bound of the privacy loss, wrong with a chance of 1e-6.

    Parameters
    ----------
    here, there : int
        How many of `number` releases of each of two neighbours were in the event.
    """
    low, _ = clopper_pearson(here, number, ALPHA / 2)
    _, high = clopper_pearson(there, number, ALPHA / 2)
    return -math.inf if low == 0 else math.log(low / high)


def covers(hits: int, number: int, confidence: float) -> bool:
    """Whether so many hits leave a coverage of at least `confidence` possible."""
    return float(stats.binom.cdf(hits, number, confidence)) >= ALPHA
