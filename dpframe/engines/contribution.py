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
    from dpframe.tally import Contribution

Words = np.ndarray[Any, np.dtype[np.uint64]]

_WHOLE: Final = frozenset(
    {
        pl.Int8(),
        pl.Int16(),
        pl.Int32(),
        pl.Int64(),
        pl.UInt8(),
        pl.UInt16(),
        pl.UInt32(),
        pl.UInt64(),
    }
)
_NANOSECONDS: Final = {"ms": 10**6, "us": 10**3, "ns": 1, "day": 86_400 * 10**9}
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
    of_units, of_cells = _hashes(units, salt + b"unit"), _hashes(cells, salt + b"cell")
    return pl.Series(_mixed(of_units ^ of_cells))


def _hashes(values: pl.Series, key: bytes) -> Words:
    """Hash each value, in a pass for whole numbers, else once per distinct one."""
    if values.dtype in _WHOLE:
        start = np.uint64(_keyed(b"", key))
        return _mixed(values.to_numpy().astype(np.uint64) + start)
    tick = 0
    if values.dtype.is_temporal():  # Python's own times end before a column's
        tick = _NANOSECONDS[getattr(values.dtype, "time_unit", None) or "day"]
        values = values.to_physical()
    distinct = values.unique()
    listed = [value * tick if tick else value for value in distinct.to_list()]
    digests = [value_hash(value, key) for value in listed]
    table = pl.DataFrame(
        {"value": distinct, "hash": pl.Series(digests, dtype=pl.UInt64)}
    )
    joined = pl.DataFrame({"value": values}).join(
        table, on="value", how="left", maintain_order="left"
    )
    return joined["hash"].to_numpy()


def value_hash(value: object, key: bytes) -> int:
    """Return the hash of one value: equal for equal values of any library or dtype."""
    if isinstance(value, (float, Decimal)) and isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        word = (value + _keyed(b"", key)) % (1 << 64)
        return int(_mixed(np.array([word], dtype=np.uint64))[0])
    return _keyed(f"{type(value).__name__}:{value}".encode(), key)


def _keyed(text: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8, key=key).digest())


def _mixed(words: Words) -> Words:
    """Spread the bits of 64-bit words (the finish of SplitMix64)."""
    mixed = words + np.uint64(_MIX[0])  # arrays of words wrap without a warning
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MIX[1])
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIX[2])
    return mixed ^ (mixed >> np.uint64(31))
