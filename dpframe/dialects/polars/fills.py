"""Values put where one is missing, in all columns of the dtypes that they suit."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dpframe.dialects.polars.steps import Outputs, prove_outputs
from dpframe.proofs.polars.sample import sample_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST: Final = 2**31 - 1
_NUMBERS: Final = frozenset(
    {
        *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()),
        *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.Float32(), pl.Float64()),
    }
)


def suited(
    groups: Mapping[pl.DataType, Sequence[str]], suits: Sequence[Any] | None
) -> dict[pl.DataType, Sequence[str]]:
    """Return the columns, by dtype, that Polars fills with a value of some sort."""
    if suits is None:
        return dict(groups)
    listed = tuple(suits)
    return {dtype: names for dtype, names in groups.items() if _takes(dtype, listed)}


def prove_fills(
    types: Mapping[str, pl.DataType],
    value: object,
    groups: Mapping[pl.DataType, Sequence[str]],
) -> tuple[list[pl.Expr], Outputs]:
    """Prove that columns are filled row by row; return what was asked and is run.

    Raises as `prove_outputs` does.
    """
    asked = {
        dtype: alike(names).fill_null(value)  # pyright: ignore[reportArgumentType] - as the caller gave it
        for dtype, names in groups.items()
    }
    plain = [dtype for dtype in groups if is_plain(dtype, value)]
    found = prove_outputs(
        types, "fill_null", [asked[dtype] for dtype in groups if dtype not in plain]
    )
    filled = _filled(plain, value)
    more = {
        name: dtype
        for old, dtype in zip(plain, filled, strict=True)
        for name in groups[old]
    }
    runs = [*found.exprs, *(asked[dtype] for dtype in plain)]
    outputs = Outputs(exprs=runs, types={**found.types, **more}, sources=found.sources)
    return list(asked.values()), outputs


def is_plain(dtype: pl.DataType, value: object) -> bool:
    """Return whether a value is a plain one that columns of a dtype are filled with.

    Polars then brings both to a dtype that holds all numbers of the column, and no
    row makes it fail.
    """
    match value:
        case bool():
            return dtype == pl.Boolean()
        case int():
            return abs(value) <= _LARGEST and dtype in _NUMBERS
        case float():
            return math.isfinite(value) and dtype in _NUMBERS
        case str():
            return dtype == pl.String()
        case _:
            return False


def alike(names: Sequence[str]) -> pl.Expr:
    """Return columns of one dtype as one expression."""
    return pl.col(names[0]) if len(names) == 1 else pl.selectors.by_name(*names)


def by_dtype(
    types: Mapping[str, pl.DataType], names: Sequence[str]
) -> dict[pl.DataType, Sequence[str]]:
    """Return columns by their dtype."""
    groups: dict[pl.DataType, list[str]] = {}
    for name in names:
        groups.setdefault(types[name], []).append(name)
    return dict(groups)


def _filled(dtypes: Sequence[pl.DataType], value: Any) -> list[pl.DataType]:
    """Return the dtypes that columns of these have when they are filled."""
    if not dtypes:
        return []
    rows = sample_rows({str(place): dtype for place, dtype in enumerate(dtypes)})
    return rows.lazy().select(pl.all().fill_null(value)).collect_schema().dtypes()


@lru_cache(maxsize=512)
def _takes(dtype: pl.DataType, suits: tuple[Any, ...]) -> bool:
    rows = sample_rows({"x": dtype})
    return bool(rows.lazy().select(pl.col(suits)).collect_schema())
