"""Which part of a partition each row is in, with each unit in few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dpframe.engines import rows
from dpframe.engines.contribution import kept_cells
from dpframe.frame import UNIT
from dpframe.tally import Per

if TYPE_CHECKING:
    from dpframe.tally import Contribution, KeyAxis

PART: Final = f"{UNIT}part__"


def in_parts(plan: pl.LazyFrame, axis: KeyAxis, units: Contribution) -> pl.LazyFrame:
    """Return the rows that are in a part, with the number of its key as `PART`.

    Parameters
    ----------
    plan : pl.LazyFrame
        With the columns of the axis, and `UNIT`.
    axis : KeyAxis
        A part for each key.
    units : Contribution
        In how many parts a unit keeps its rows, and the salt of its choice. The choice
        looks at all the parts that the unit's own rows are in, so it is the same for
        every part and every release.
    """
    marked = plan.with_columns(rows.code([axis]).cast(pl.Int64).alias(PART))
    inside = marked.filter(pl.col(PART).is_not_null())
    if units.per is Per.ROW or units.limit >= axis.size:
        return inside

    def keep(cells: pl.DataFrame) -> pl.DataFrame:
        return kept_cells(cells, PART, units)

    kept = (
        inside.select(UNIT, PART)
        .unique()
        .map_batches(  # no part may be picked before the units chose among all
            keep,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )
    )
    return inside.join(kept, on=[UNIT, PART], how="semi")
