"""Rows as codes of their points on public grids, and what each of them weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.engines import rows
from dpframe.engines.steps import weights
from dpframe.frame import UNIT
from dpframe.tally import Per

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.grid import Grid
    from dpframe.tally import Axis, Contribution


Array = np.ndarray[Any, np.dtype[Any]]

CELL: Final = "__cell__"
_ROWS: Final = "__rows__"


def grid_names(grids: Sequence[Grid]) -> list[str]:
    """Return the names of the columns in which `coded` has the codes of each grid."""
    return [f"__{place}__" for place in range(len(grids))]


def coded(
    source: pl.LazyFrame,
    *,
    grids: Sequence[Grid],
    contribution: Contribution,
    axes: Sequence[Axis] = (),
) -> pl.DataFrame:
    """Return the codes of the rows on each grid, and their `CELL` where there are axes.

    Rows with a missing value, or in no cell, are left out.
    """
    chosen = dict(zip(grid_names(grids), map(rows.grid_code, grids), strict=True))
    if axes:
        chosen[CELL] = rows.code(axes).cast(pl.UInt64)
    if contribution.per is Per.ROWS:
        chosen[_ROWS] = pl.len().over(UNIT)
    return source.select(**chosen).drop_nulls().collect(engine="streaming")


def row_weights(found: pl.DataFrame, contribution: Contribution) -> Array | None:
    """Return what each row of `coded` weighs in grid units, None where all weigh 1."""
    if contribution.per is not Per.ROWS:
        return None
    return weights(found[_ROWS].to_numpy(), contribution.limit)


def running(weight: Array) -> Array:
    """Return what the first so many rows weigh together: shape ``(rows + 1,)``."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(weight)])
