"""The keys that occur in private rows, and how many units hold each of them.

Both are private: they go to `measure`, which lets a key pass when its noisy count
is high enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from dpframe.engines import rows
from dpframe.engines.contribution import kept_cells
from dpframe.engines.failures import withheld
from dpframe.frame import UNIT
from dpframe.tally import Per

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.tally import Occupied

Array = np.ndarray[Any, np.dtype[Any]]

_CELL: Final = "__cell__"
_COUNT: Final = "__count__"


class Occurrences(NamedTuple):
    """The keys that occur, one in each row, and the exact count of each."""

    keys: pl.DataFrame
    counts: Array


def occurrences(frame: PrivateFrame, statistic: Occupied) -> Occurrences:
    """Return every key that occurs, sorted, with the number of units that hold it.

    Numbers are sorted by value, text by code point, times by instant, False before
    True; several columns lexicographically.

    Raises
    ------
    EvaluationError
        If the frame's own plan fails; the cause is withheld.
    """
    columns = {name: column.dtype for name, column in statistic.columns.items()}
    return withheld(lambda: _counted(frame.scan(columns), statistic))


def _counted(source: pl.LazyFrame, statistic: Occupied) -> Occurrences:
    found = {f"__{i}__": column for i, column in enumerate(statistic.keys)}
    held = {name: replace(column, name=name) for name, column in found.items()}
    keys = {name: rows.key(column) for name, column in found.items()}
    plan = source.select(UNIT, **keys).drop_nulls()
    if statistic.contribution.per is Per.UNITS:
        pairs = plan.unique().collect(engine="streaming")
        same = {f"{name}same__": column for name, column in held.items()}
        named = pairs.with_columns(
            **{name: rows.identity(column) for name, column in same.items()}
        ).with_columns(rows.spelled(same).alias(_CELL))
        plan = kept_cells(named, _CELL, statistic.contribution).lazy()
    counted = plan.group_by(*found).agg(pl.len().cast(pl.Int64).alias(_COUNT))
    ordered = counted.collect(engine="streaming").sort(
        [rows.identity(column) for column in held.values()]
    )
    return Occurrences(
        keys=ordered.select(
            pl.col(name).alias(column.name) for name, column in found.items()
        ),
        counts=ordered[_COUNT].to_numpy(),
    )
