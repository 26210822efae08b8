"""Rows along directions by hand, in Python's own whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.mechanisms.inputs import clipped
from dpframe.slices import Slices
from dpframe.tally import COARSE, Contribution, centred

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpframe.grid import Grid
    from dpframe.tally import Quantity

    Row = tuple[Sequence[int], int, int]  # coordinates, label, weight


def quantity(frame: Any, name: str, bounds: tuple[Any, Any]) -> Quantity:
    """Return a column of a private frame, centred between its bounds."""
    found = clipped(frame, name, bounds)
    return centred(found.column, found.limits)


def slices(
    quantities: Iterable[Quantity],
    directions: Sequence[Sequence[int]],
    *,
    offsets: Sequence[int] | int = 0,
    shift: int,
    bins: int,
    label: Grid | None = None,
    lifted: bool = False,
    contribution: Contribution | None = None,
) -> Slices:
    """Return the statistic of directions that are written as lists."""
    taken = tuple(quantities)
    shape = (len(directions), len(taken) + lifted)
    return Slices(
        quantities=taken,
        directions=np.array(directions, dtype=np.int64).reshape(shape),
        offsets=np.broadcast_to(np.array(offsets, dtype=np.int64), shape[:1]),
        shift=shift,
        bins=bins,
        label=label,
        lifted=lifted,
        contribution=contribution or Contribution(),
    )


def lift(row: Sequence[int]) -> list[int]:
    """Return a row with the coordinate that puts it on the sphere."""
    room = len(row) * COARSE**2 - sum(part**2 for part in row)
    return [*row, math.isqrt(room)]


def product(row: Sequence[int], direction: Sequence[int]) -> int:
    """Return an inner product."""
    return sum(int(a) * int(b) for a, b in zip(row, direction, strict=True))


def place(sliced: Slices, row: Sequence[int], direction: int) -> int:
    """Return the bin of a row of whole numbers along one direction."""
    y = lift(row) if sliced.lifted else row
    along = product(y, sliced.directions[direction])
    found = (along + int(sliced.offsets[direction])) >> sliced.shift
    return min(max(found, 0), sliced.bins - 1)


def counted(sliced: Slices, rows: Iterable[Row]) -> list[int]:
    """Return the counts of all bins: by label, direction and bin."""
    labels, directions, bins = sliced.shape
    found = [0] * (labels * directions * bins)
    for y, label, weight in rows:
        for k in range(directions):
            found[(label * directions + k) * bins + place(sliced, y, k)] += weight
    return found
