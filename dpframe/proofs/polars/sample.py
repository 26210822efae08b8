"""A few public rows of a schema, to try a step on before it is accepted.

What a step is given besides columns (a pattern, a format, a duration, a level of
an Enum) is checked by Polars only when it runs. Trying the step on rows that are
made up brings such a mistake up where the step is written.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS = 2


def sample_rows(schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return two rows of made-up values, then one of missing ones; do not edit it.

    Truths are of both sorts, since a choice brings to its dtype only what it takes.
    """
    return _rows(tuple(schema.items()))


@lru_cache(maxsize=512)
def _rows(schema: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    return pl.DataFrame([_sample(dtype).alias(name) for name, dtype in schema])


@lru_cache(maxsize=256)
def _sample(dtype: pl.DataType) -> pl.Series:
    truths = isinstance(dtype, pl.Boolean)
    values = [True, False] if truths else [_value(dtype)] * _ROWS
    return pl.Series([*values, None], dtype=dtype, strict=False)


def _value(dtype: pl.DataType) -> Any:
    if isinstance(dtype, (pl.List, pl.Array)):
        length = dtype.size if isinstance(dtype, pl.Array) else 1
        return [_value(_instance(dtype.inner))] * length
    if isinstance(dtype, pl.Struct):
        return {field.name: _value(_instance(field.dtype)) for field in dtype.fields}
    if isinstance(dtype, pl.Enum):
        return next(iter(dtype.categories), None)
    if isinstance(dtype, pl.Datetime):
        return dt.datetime(2000, 1, 2, tzinfo=dt.UTC if dtype.time_zone else None)
    if dtype.is_decimal():
        return Decimal(0)
    return _VALUES.get(type(dtype), 1 if dtype.is_numeric() else None)


def _instance(dtype: Any) -> pl.DataType:
    return dtype() if isinstance(dtype, type) else dtype


_VALUES: Mapping[type[pl.DataType], Any] = {
    pl.Boolean: True,
    pl.String: "a",
    pl.Categorical: "a",
    pl.Binary: b"a",
    pl.Date: dt.date(2000, 1, 2),
    pl.Time: dt.time(1, 2, 3),
    pl.Duration: dt.timedelta(days=1),
}
