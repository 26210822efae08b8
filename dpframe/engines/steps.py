"""Floats to whole steps of a grid, elementwise and in place.

Each operation is one correctly rounded numpy pass in a fixed order, so a row's steps
depend on nothing but the row. (A column divided by a constant, say, would not do:
engines turn that into a product, or do not, by the number of rows.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.tally import WEIGHT

if TYPE_CHECKING:
    from dpframe.tally import Quantity

Array = np.ndarray[Any, np.dtype[Any]]

_LISTED: Final = 1 << 12
"""Units of up to so many rows look their weight up."""


def scaled(quantity: Quantity, values: Array) -> Array:
    """Return ``round((clip(x) - base) * multiplier) + offset``, clamped; NaN stays.

    One that is squared goes on to ``round(v^2 / high)``.

    Ties round to even. A whole-number column was clipped and set off from its base
    before, exactly.
    """
    if quantity.multiplier is None:
        return values
    if quantity.column.is_whole:
        steps = values * quantity.multiplier
    else:
        low, high = quantity.clip
        steps = np.clip(values, float(low), float(high))
        if quantity.base:
            steps -= float(quantity.base)
        steps *= quantity.multiplier
    np.rint(steps, out=steps)
    if quantity.offset:
        steps += float(quantity.offset)
    np.clip(steps, float(quantity.low), float(quantity.high), out=steps)
    if quantity.squared:
        steps *= steps
        steps *= 1 / quantity.high  # exact: `high` is a power of two
        np.rint(steps, out=steps)
    return steps


def weights(rows: Array, limit: int) -> Array:
    """Return what each row weighs in a unit of so many rows: they share `limit`."""
    most = int(rows.max(initial=1))
    if most <= limit:
        return np.full(rows.shape, WEIGHT, dtype=np.int64)
    if most > _LISTED:
        return np.minimum(WEIGHT * limit // rows.astype(np.int64), WEIGHT)
    sizes = np.maximum(np.arange(most + 1), 1)
    return np.minimum(WEIGHT * limit // sizes, WEIGHT)[rows]
