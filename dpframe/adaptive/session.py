"""Questions about an exact order, each answered with noise and paid for.

What is asked next may follow from the answers so far. The whole search was charged
before the first question; a session refuses to spend more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpframe.adaptive.quantile import select_quantile
from dpframe.adaptive.splits import split
from dpframe.adaptive.spread import Spread
from dpframe.block import Block
from dpframe.nested import stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from dpframe.engines.ordered import Ordered
    from dpframe.nested import Fanouts
    from dpframe.noise import Noise
    from dpframe.ordering import Ordering
    from dpframe.privacy.loss import Loss

Array = np.ndarray[Any, np.dtype[Any]]


class Chance(Protocol):
    """Where a release's chances come from: drawn exactly, or frozen by a test."""

    def draw(self, noise: Noise, size: int) -> Array:
        """Return the noise to add."""
        ...

    def select(
        self, order: Ordered, *, size: int, level: Fraction, rate: Fraction
    ) -> int:
        """Return a point chosen as `select_quantile` does."""
        ...


class Drawn:
    """The chances of a real release."""

    def draw(self, noise: Noise, size: int) -> Array:
        """Return fresh noise."""
        return noise.sample(size)

    def select(
        self, order: Ordered, *, size: int, level: Fraction, rate: Fraction
    ) -> int:
        """Return an exact choice."""
        return select_quantile(order, size=size, level=level, rate=rate)


CHANCE: Final = Drawn()


class Session:
    """Noisy counts, quantiles and splits of the rows' order, up to an allowance.

    Parameters
    ----------
    orders : sequence of Ordered
        The exact order of the rows of each cell.
    ordering : Ordering
        What was sorted: how much one unit can change a count.
    allowance : Loss
        What all questions may spend together.
    chance : Chance
    """

    __slots__ = ("_allowance", "_chance", "_ordering", "_orders", "_spent")

    def __init__(
        self,
        *,
        orders: Sequence[Ordered],
        ordering: Ordering,
        allowance: Loss,
        chance: Chance,
    ) -> None:
        self._orders = orders
        self._ordering = ordering
        self._allowance = allowance
        self._chance = chance
        self._spent: Loss | None = None

    def quantiles(self, level: Fraction, loss: Loss) -> list[int]:
        """Return for each cell the code of a point close to a quantile.

        A row is in one cell, so each has its choice at the full loss. An epsilon pays
        for the exponential mechanism at that epsilon, a rho for one at
        ``sqrt(8 rho)``: its choices have a bounded range [1]_.

        References
        ----------
        .. [1] Cesar and Rogers (2021), Bounding, Concentrating, and Truncating:
           Unifying Privacy Loss Composition for Data Analytics.
        """
        self._take(loss)
        rate = quantile_rate(self._ordering, level, loss)
        (grid,) = self._ordering.grids
        return [
            self._chance.select(order, size=grid.size, level=level, rate=rate)
            for order in self._orders
        ]

    def tree(self, edges: Array, fanouts: Fanouts, loss: Loss) -> Array:
        """Return noisy counts of all nodes of a tree over ranges between edges.

        Parameters
        ----------
        edges : array of uint64
            Where each range begins, ascending; the last one is open.
        fanouts : tuple of (int,)
            The branching of each level.
        loss : Loss

        Returns
        -------
        array
            Shape ``(nodes, 1)``, in grid units, as `stacked` orders them.
        """
        self._take(loss)
        (order,) = self._orders
        below = np.append(order.all_below(edges), order.total)
        exact = stacked(np.diff(below), fanouts)
        noise = tree_block(fanouts, loss).noise(self._ordering)
        drawn = self._chance.draw(noise, exact.size)
        return exact + drawn.reshape(exact.shape)

    def splits(self, loss: Loss) -> Array:
        """Return where the leaves of a PrivTree begin: codes, ascending."""
        self._take(loss)
        (order,) = self._orders
        return split(
            order,
            depth=self._ordering.curve.depth,
            epsilon=loss.pure,
            multiplicity=self._ordering.multiplicity,
            weight=self._ordering.weight,
            draw=self._chance.draw,
        )

    def spread(self, bits: int) -> Counter:
        """Return the same rows with random low bits below their codes, to be counted.

        They break ties between rows: each row draws its own, whatever the others are.
        """
        (order,) = self._orders
        return Counter(Spread(order, bits), self._answer)

    def _answer(self, exact: int, loss: Loss) -> int:
        """Return one count with noise."""
        self._take(loss)
        noise = Block.independent(loss).noise(self._ordering)
        return exact + int(self._chance.draw(noise, 1)[0])

    def _take(self, loss: Loss) -> None:
        """Refuse what is more than the allowance: a search was planned wrongly."""
        self._spent = loss if self._spent is None else self._spent + loss
        if self._spent.exceeds(self._allowance):
            msg = "a search asks for more than it was planned for"
            raise ValueError(msg)


class Counter:
    """Noisy counts of rows in ranges of codes that no two rows share."""

    __slots__ = ("_answer", "_rows")

    def __init__(self, rows: Spread, answer: Callable[[int, Loss], int]) -> None:
        self._rows = rows
        self._answer = answer

    def count(self, start: int, stop: int, loss: Loss) -> int:
        """Return what the rows of ``start <= code < stop`` weigh, with noise.

        Parameters
        ----------
        start, stop : int
            Codes that end in the random bits.
        loss : Loss
            What the answer spends.
        """
        exact = self._rows.below(stop) - self._rows.below(start)
        return self._answer(exact, loss)


def quantile_rate(ordering: Ordering, level: Fraction, loss: Loss) -> Fraction:
    """Return by how much each unit of a point's deficit lowers its log-chance.

    A level s/r in lowest terms makes the deficit of ``select_quantile`` whole. One unit
    changes it by at most ``max(s, r - s)`` times what it changes a count by: up at some
    points and down at others, but at levels 0 and 1 all one way, where half the loss
    would be left unspent.
    """
    epsilon = loss.pure if loss.epsilon is not None else 2 * loss.pure
    steps = max(level.numerator, level.denominator - level.numerator)
    ways = 2 if 0 < level < 1 else 1
    return epsilon / (ways * steps * ordering.multiplicity)


def tree_block(fanouts: Fanouts, loss: Loss) -> Block:
    """Return the noise of all nodes of a tree: a row is in one of each level."""
    return Block.independent(loss, row=len(fanouts), row_squared=len(fanouts))
