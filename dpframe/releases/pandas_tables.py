"""Public tables as pandas has them: columns of the host's own dtypes."""

# pandas' and pyarrow's arrays are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpframe.proofs.pandas.kinds import polars_dtype

if TYPE_CHECKING:
    from dpframe.values import Keys


def host_column(column: pl.Series, host: Any, keys: Keys | None) -> pd.Series[Any]:
    """Return a column of a public table in pandas.

    Parameters
    ----------
    column : polars.Series
        The public column.
    host : pandas dtype or None
        The dtype it takes; None leaves the choice to the values' own dtype.
    keys : tuple or None
        Levels of a category, in order; None takes the table's own.

    Notes
    -----
    Whole numbers with a missing cell (the row of `other=True`) become nullable
    `Int64`, Booleans `boolean`; dates are objects, since pandas has no day dtype.
    """
    if isinstance(host, pd.CategoricalDtype):
        return _category(column, host, keys)
    if column.dtype.is_temporal() and isinstance(host, pd.ArrowDtype):
        return _arrow_times(column, host)
    values = column.to_list()
    missing = isinstance(host, pd.ArrowDtype) and pa.types.is_null(host.pyarrow_dtype)
    if host is None or missing:
        return _plain_column(column)
    numpy_kind = host.kind if isinstance(host, np.dtype) else ""
    if numpy_kind and numpy_kind in "biu" and column.null_count():
        nullable = "boolean" if numpy_kind == "b" else str(polars_dtype(host))
        return pd.Series(values, dtype=nullable)
    if numpy_kind == "O":
        return pd.Series(values, dtype=object)
    if column.dtype.is_temporal():
        return _plain_column(column).astype(host)
    return pd.Series(values, dtype=host)


def _category(column: pl.Series, host: Any, keys: Keys | None) -> pd.Series[Any]:
    dtype: Any = host.categories.dtype
    values: Any = column.to_list()
    levels: Any = keys or column.unique(maintain_order=True).drop_nulls().to_list()
    if column.dtype.is_temporal():  # Python's times end at microseconds
        values = host_column(column, dtype, None)
        levels = keys or values.dropna().unique()
    index = pd.Index(levels, dtype=dtype)
    return pd.Series(pd.Categorical(values, categories=index, ordered=host.ordered))


def _arrow_times(column: pl.Series, host: pd.ArrowDtype) -> pd.Series[Any]:
    if pa.types.is_null(host.pyarrow_dtype):
        return _plain_column(column)
    held = column.to_arrow().cast(host.pyarrow_dtype, safe=False)
    return pd.Series(held, dtype=host)


def _plain_column(column: pl.Series) -> pd.Series[Any]:
    values = column.to_list()
    dtype: Any = column.dtype
    if dtype == pl.Boolean or dtype.is_integer():
        if not column.null_count():
            return pd.Series(column.to_numpy())
        nullable = "boolean" if dtype == pl.Boolean else str(dtype)
        return pd.Series(values, dtype=nullable)
    if dtype.is_float():
        return pd.Series(column.to_numpy())
    if isinstance(dtype, pl.Datetime):
        physical = column.to_physical()
        instants = _numpy_time(physical, f"datetime64[{dtype.time_unit}]")
        if dtype.time_zone is None:
            return pd.Series(instants)
        return pd.Series(instants).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if isinstance(dtype, pl.Duration):
        unit = f"timedelta64[{dtype.time_unit}]"
        return pd.Series(_numpy_time(column.to_physical(), unit))
    if dtype in {pl.String, pl.Categorical} or isinstance(dtype, pl.Enum):
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype=object)


def _numpy_time(physical: pl.Series, dtype: str) -> Any:
    nat = np.iinfo(np.int64).min
    return physical.fill_null(nat).to_numpy().astype(np.int64).view(dtype)
