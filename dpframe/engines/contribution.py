"""Bounding what one privacy unit can do, at release time, after all steps.

Rows of a unit share a weight; where a unit counts once per cell, the cells beyond
its limit are dropped by a salted hash of the unit and the cell, which looks at
nothing but that unit's own cells.
"""

from __future__ import annotations

from decimal import Decimal
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.frame import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpframe.tally import Contribution

_MIX: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def kept_cells(
    cells: pl.DataFrame, cell: str, contribution: Contribution
) -> pl.DataFrame:
    """Return one row per unit and cell, with at most `limit` cells for each unit.

    Parameters
    ----------
    cells : polars.DataFrame
        One row per unit and cell: the columns `UNIT`, `cell` and what else belongs
        to them.
    cell : str
        Column of whole numbers or of text that names the cell by value.
    contribution : Contribution
        The limit and the salt.
    """
    limit = contribution.limit
    over = pl.len().over(UNIT) > limit
    marked = cells.with_columns(__over=over)
    crowded = marked.filter("__over").drop("__over")
    if crowded.is_empty():
        return cells
    ranked = crowded.with_columns(
        __hash=_pair_hash(crowded[UNIT], crowded[cell], contribution.salt)
    ).sort(UNIT, "__hash", cell)
    kept = ranked.filter(pl.int_range(pl.len()).over(UNIT) < limit)
    calm = marked.filter(~pl.col("__over")).drop("__over")
    return pl.concat([calm, kept.drop("__hash")])


def _pair_hash(units: pl.Series, cells: pl.Series, salt: bytes) -> pl.Series:
    mixed = _hashes(units, salt + b"unit") ^ _hashes(cells, salt + b"cell")
    with np.errstate(over="ignore"):
        mixed = mixed + np.uint64(_MIX[0])
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MIX[1])
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIX[2])
        mixed = mixed ^ (mixed >> np.uint64(31))
    return pl.Series(mixed)


def _hashes(values: pl.Series, key: bytes) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Hash each value, once per distinct one, over its canonical bytes."""
    distinct = values.unique()
    digests = _digests(distinct.to_list(), key)
    table = pl.DataFrame({"value": distinct, "hash": digests})
    joined = pl.DataFrame({"value": values}).join(
        table, on="value", how="left", maintain_order="left"
    )
    return joined["hash"].to_numpy()


def _digests(values: Iterable[object], key: bytes) -> pl.Series:
    hashed = [
        int.from_bytes(blake2b(canonical(value), digest_size=8, key=key).digest())
        for value in values
    ]
    return pl.Series(hashed, dtype=pl.UInt64)


def canonical(value: object) -> bytes:
    """Return bytes that are equal for equal values, whatever library they came from."""
    if isinstance(value, (float, Decimal)) and isfinite(value) and value == int(value):
        value = int(value)
    return f"{type(value).__name__}:{value}".encode()
