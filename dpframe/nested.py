"""Counts at every level of a complete tree of cells: what interval trees measure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dpframe.errors import ParameterError
from dpframe.tally import MAX_CELLS, Contribution, Limited, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.grid import Grid
    from dpframe.tally import Axis
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

_BITS_PER_LEVEL: Final = 4

Fanouts: TypeAlias = tuple[tuple[int, ...], ...]
"""For each level of a tree, the top one first, the branching of each axis."""


@dataclass(frozen=True, kw_only=True)
class Nested(Limited):
    """How many rows lie in each node of a complete tree, level by level.

    The leaves are the cells of some axes. Level k splits each axis j of the level above
    into ``fanouts[k][j]``; the root is not counted. A row is in one node of each level.

    Attributes
    ----------
    axes : tuple of Axis or Grid
    fanouts : tuple of tuple of int
        For each level the branching of each axis. Along an axis they multiply to at
        least its size; leaves beyond it are empty.
    contribution : Contribution
    """

    axes: tuple[Axis | Grid, ...]
    fanouts: Fanouts
    contribution: Contribution

    def __post_init__(self) -> None:
        """Refuse trees that miss cells, or are too large to hold."""
        leaves = self.shapes[-1]
        if any(n < axis.size for n, axis in zip(leaves, self.axes, strict=True)):
            msg = "the leaves of a tree must hold every cell"
            raise ValueError(msg)
        if self.cells > MAX_CELLS:
            msg = f"The tree would have {self.cells} nodes; the most is {MAX_CELLS}."
            raise ParameterError(msg, hint="use a coarser step.")

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """How many nodes each level has along each axis."""
        return tree_shapes(self.fanouts)

    @property
    def cells(self) -> int:
        """Number of nodes of all levels."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def row(self) -> int:
        """How many nodes one row is in: its L1 norm and its squared L2 norm."""
        return len(self.fanouts)

    @property
    def leaves(self) -> Tally:
        """What counts the cells."""
        return Tally(axes=self.axes, contribution=self.contribution)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return self.leaves.columns

    def stack(self, cells: Array) -> Array:
        """Return the counts of all nodes, as `stacked`, from those of the cells."""
        return stacked(cells.reshape([axis.size for axis in self.axes]), self.fanouts)


def fanouts(size: int) -> tuple[int, ...]:
    """Return how many children each node has, level by level, root first.

    Parameters
    ----------
    size : int
        Number of cells to cover, at least 1. Public.

    Returns
    -------
    tuple of int
        One entry per measured level, all equal to b: the smallest whole number
        with ``b**h >= size`` for ``h = max(1, floor(log2(size) / 4))`` levels. For
        h of 2 and more, b is from 16 to 64.
    """
    levels = max(1, (size.bit_length() - 1) // _BITS_PER_LEVEL)
    return (root(size, levels),) * levels


def line_fanouts(size: int) -> Fanouts:
    """Return the same for a tree over one axis."""
    return tuple((children,) for children in fanouts(size))


def root(size: int, levels: int) -> int:
    """Return the least whole number whose power of so many levels reaches a size."""
    least = max(1, int(size ** (1 / levels)) - 1)
    while least**levels < size:
        least += 1
    return least


def tree_shapes(fanouts: Fanouts) -> list[tuple[int, ...]]:
    """Return how many nodes each level of a tree has along each axis."""
    found: list[tuple[int, ...]] = []
    for level in range(len(fanouts)):
        splits = zip(*fanouts[: level + 1], strict=True)
        found.append(tuple(math.prod(axis) for axis in splits))
    return found


def stacked(cells: Array, fanouts: Fanouts) -> Array:
    """Return the counts of all nodes, shape ``(nodes, 1)``, from those of the cells.

    Levels follow each other, the top one first; within a level the first axis varies
    slowest. Leaves beyond the cells given are empty.
    """
    leaves = tree_shapes(fanouts)[-1]
    missing = zip(leaves, cells.shape, strict=True)
    counts = np.pad(cells, [(0, n - have) for n, have in missing])
    levels = [counts]
    for fanout in reversed(fanouts[1:]):
        counts = _gathered(counts, fanout)
        levels.append(counts)
    flat = [level.reshape(-1) for level in reversed(levels)]
    return np.concatenate(flat).reshape(-1, 1)


def unstacked(nodes: Array, fanouts: Fanouts) -> list[Array]:
    """Return what belongs to each level, in the shape of the level."""
    shapes = tree_shapes(fanouts)
    stops = np.cumsum([math.prod(shape) for shape in shapes])
    flat = np.split(nodes.reshape(-1), stops[:-1])
    return [one.reshape(shape) for one, shape in zip(flat, shapes, strict=True)]


def _gathered(counts: Array, fanout: Sequence[int]) -> Array:
    """Add up blocks of as many cells along each axis."""
    parts: list[int] = []
    for size, block in zip(counts.shape, fanout, strict=True):
        parts += [size // block, block]
    blocks = tuple(range(1, 2 * counts.ndim, 2))
    return counts.reshape(parts).sum(axis=blocks)
