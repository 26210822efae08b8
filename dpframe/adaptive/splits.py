"""The shape of a PrivTree: a private partition of a line, finer where there are rows.

Ranges of codes are halved as long as they hold more rows than their depth asks for, up
to noise. Only which ranges were halved is published, never a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.noise import DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.engines.ordered import Ordered
    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

MOST_RANGES: Final = 1 << 24
"""A partition of more ranges than this is not refined further: it must fit memory."""

_LAST_DEPTH: Final = 64
_FINE: Final = 1 << 20
_LOG_2: Final = Fraction(693147180559945309418, 10**21)  # just above the logarithm of 2
_INT64_BIAS: Final = 1 << 55


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """When a range of codes is split, and what that costs.

    A range at depth k of weight c is split if ``max(-bias, c - k * bias) + Z > 0``,
    with fresh discrete Laplace noise Z [1]_. All numbers are whole ones, in steps of
    some 2^-20 of a full row, or finer.

    Parameters
    ----------
    epsilon : Fraction
        What the whole shape costs, whatever its depth.
    multiplicity : int
        What the rows of one privacy unit weigh together, at most, in grid units.
    weight : int
        What one full row weighs, in grid units.

    Privacy
    -------
    ε-DP per privacy unit, add-or-remove-one. With t the noise scale, in steps, and
    ``a = exp(-1 / t)``, a range of score s is split with chance p(s), where

    - ``p(s) = a**(1 - s) / (1 + a)`` for ``s <= 1``, so ``p(s + 1) / p(s) = 1 / a``
      for ``s <= 0``;
    - ``p(s) = 1 - a**s / (1 + a)`` for ``s >= 1``, so ``p(s + 1) / p(s)`` is
      ``1 + a**s * (1 - a) / (1 + a - a**s) <= 1 + a**s / t`` there.

    Let one step of weight be added at one place. It raises the scores along one path,
    by one step each. Let ``b = c - k * bias`` be those scores before, without the
    floor. Weights fall along a path, so each b is at least `bias` below the one before
    it, and ``a**bias <= 1/2``. A split of a range costs ``log(p(s + 1) / p(s))``:

    - nothing where ``b < -bias``: the floor hides the step;
    - at most ``1 / t`` where ``-bias <= b <= 0``. There is one such range, or there are
      two, of ``b = 0`` and ``b = -bias``;
    - at most ``a**b / t`` where ``b >= 1``. These add up to at most
      ``(1 + 1/2 + ...) / t = 2 / t``, and where there is one of ``b = 0``, and so none
      between it and `bias`, to ``(1/2 + 1/4 + ...) / t = 1 / t``.

    So all splits along the path cost at most ``3 / t``. What is not split becomes less
    likely, by at most ``1 / a`` for the one leaf that the step falls into.
    Taking the step away again costs that ``1 / t`` and gains from the splits: at
    most ``3 / t`` both ways, at any depth and for any t.

    A unit is at most ``multiplicity * refinement`` steps, which are added one after
    the other. Each changes a data set of whole weights into another one, so the losses
    add up, and it does not matter over how many rows and places the unit is spread:
    ``multiplicity * refinement * 3 / t = epsilon``.

    References
    ----------
    .. [1] Zhang, Xiao and Xie (2016), PrivTree: A Differentially Private Algorithm
       for Hierarchical Decompositions.
    """

    epsilon: Fraction
    multiplicity: int
    weight: int

    @property
    def refinement(self) -> int:
        """Steps in one grid unit of weight."""
        return -(-_FINE // self.weight)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise of a score, in steps."""
        steps = self.multiplicity * self.refinement
        return DiscreteLaplace(scale=3 * steps / self.epsilon)

    @cached_property
    def bias(self) -> int:
        """By how much a score falls from one depth to the next, in steps."""
        return level_bias(self.noise.scale)

    def scores(self, weights: Array, depth: int) -> Array:
        """Return the scores of ranges at one depth, in steps.

        They are int64 if the parameters leave room: fewer than 2^40 rows are fewer
        than 2^60 steps, and 64 times a bias below 2^55 is at most 2^61.
        """
        if self.bias >= _INT64_BIAS:
            weights = weights.astype(object)
        return np.maximum(weights * self.refinement - depth * self.bias, -self.bias)


def level_bias(scale: Fraction) -> int:
    """Return a bias that halves ``exp(-bias / scale)``: the least, or one more."""
    return -(-scale * _LOG_2 // 1)


def split(
    order: Ordered,
    *,
    depth: int,
    epsilon: Fraction,
    multiplicity: int,
    weight: int,
    draw: Callable[[Noise, int], Array],
) -> Array:
    """Return where the leaves of a PrivTree over codes begin.

    Parameters
    ----------
    order : Ordered
        Codes below ``2**depth``. Private.
    depth : int
        The tree covers the codes 0 to ``2**depth - 1``, and splits them down to single
        codes at most; up to 64.
    epsilon, multiplicity, weight
        As in `SplitRule`.
    draw : callable
        Draws so many values of a noise.

    Returns
    -------
    array of uint64
        Ascending; the first is 0.

    Privacy
    -------
    As `SplitRule` proves. How many values are drawn follows from the shape; so does
    where no more of them are, as there are too many ranges: a range that is not asked
    about costs nothing.

    Notes
    -----
    Its privacy needs no limit to the size of the tree, and few come near theirs. A
    range whose score is at the floor is split with a chance of at most 1/4, and its
    halves are at the floor, too; so it has at most 2 ranges below it and itself
    together, on average. A range above the floor weighs more than ``(k - 1) * bias`` at
    depth k, so there are at most ``n / ((k - 1) * bias)`` of them at depth ``k > 1``,
    each with two halves. With U of them in all, a tree has at most ``5 * U`` ranges on
    average; without any rows, 3.
    But a bias of a tenth of a row, at an epsilon of 50, splits ten million rows in
    sevens into a hundred million ranges.
    """
    rule = SplitRule(epsilon=epsilon, multiplicity=multiplicity, weight=weight)
    starts = np.zeros(1, dtype=np.uint64)
    below, above = np.zeros(1, dtype=np.int64), np.array([order.total])
    leaves: list[Array] = []
    closed = 0
    for level in range(min(depth, _LAST_DEPTH)):
        if closed + len(starts) > MOST_RANGES:
            break
        scores = rule.scores(above - below, level)
        chosen = np.asarray(draw(rule.noise, len(starts)) > -scores, dtype=np.bool_)
        leaves.append(starts[~chosen])
        closed += len(leaves[-1])
        starts, below, above = starts[chosen], below[chosen], above[chosen]
        if not len(starts):
            break
        middles = starts + np.uint64(1 << (depth - level - 1))
        between = order.all_below(middles)
        starts = _woven(starts, middles)
        below, above = _woven(below, between), _woven(between, above)
    return np.sort(np.concatenate([*leaves, starts]))


def _woven(first: Array, second: Array) -> Array:
    """Return the pairs of two arrays, one after the other."""
    return np.stack([first, second], axis=1).ravel()
