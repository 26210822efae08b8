"""Figures of a unit's rows in pandas' words, and their columns in pandas' dtypes.

They are the exact aggregates of `dpframe.engines.aggregates`, over Polars columns.
Where the two libraries differ it is pandas that is followed: `count` and `nunique`
leave out what is missing, `size` does not, and whole numbers add up in 64 bits. The
dtype of a figure depends on that of its column, never on the rows.
"""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import polars as pl

from dpframe.dialects.pandas.columns import polars_column
from dpframe.dialects.pandas.matches import missing_dtype
from dpframe.engines.aggregates import Aggregate, aggregate
from dpframe.errors import EvaluationError, NotProvedError, ParameterTypeError
from dpframe.proofs.pandas.kinds import (
    column_kind,
    on_calendar,
    plain_dtype,
    polars_dtype,
)
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COUNTS: Final = ("size", "count", "nunique")
_INT64: Final = np.dtype("int64")
_ROW: Final = "row"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of the rows of a group.

    Attributes
    ----------
    name : str
        In pandas' words: size, count, nunique, sum, mean, min, max, median, any, all.
    column : str or None
        Of what; None for ``size``.
    dtype : dtype
        Of the figure, in pandas.
    """

    name: str
    column: str | None
    dtype: Any

    @property
    def text(self) -> str:
        """How it reads, for the record."""
        return f"{self.name}({self.column or ''})"


def figure(name: str, column: str | None, host: Any) -> Figure:
    """Return a figure of a column of this dtype.

    Raises
    ------
    NotProvedError
        If there is no such figure of that dtype.
    ParameterTypeError
        If nothing is known of the dtype.
    """
    if name == "size" or column is None:
        return Figure(name="size", column=None, dtype=_INT64)
    if column_kind(column, host) is Kind.OBJECT:
        msg = f"Column {column!r} holds Python objects: only size counts its rows."
        raise ParameterTypeError(msg, hint="cast it before attaching.")
    category = isinstance(host, pd.CategoricalDtype)
    found: pl.DataType | None = None
    if name in _COUNTS or not category:
        try:
            found = _aggregate(name, pl.col(_ROW), polars_dtype(host)).dtype
        except NotProvedError:
            found = None
    if found is None:
        shown = "a category" if category else str(host)
        msg = f"{name} of column {column!r} is not offered: it is {shown}."
        raise NotProvedError(
            msg,
            step=f"{name}({column})",
            hint='choose columns by groupby(...)[["x"]], or cast it by astype first.',
        )
    return Figure(name=name, column=column, dtype=_figure_dtype(name, host, found))


def _aggregate(name: str, value: pl.Expr, dtype: pl.DataType) -> Aggregate:
    """Return what a figure of a column is, by pandas' rules."""
    if name == "size":
        return aggregate("len", None, None)
    if name == "nunique":
        distinct = aggregate("n_unique", value, dtype)
        missing = aggregate("null_count", value, dtype)

        def known(values: pl.Expr, nulls: pl.Expr) -> pl.Expr:
            return values.cast(pl.Int64) - (nulls > 0).cast(pl.Int64)

        parts = (*distinct.parts, *missing.parts)
        return Aggregate(parts=parts, finish=known, dtype=pl.Int64())
    if name == "sum" and (dtype.is_integer() or dtype == pl.Boolean()):
        wide = pl.UInt64() if dtype.is_unsigned_integer() else pl.Int64()
        return aggregate("sum", value.cast(wide), wide)
    if name == "median" and dtype == pl.Boolean():
        return aggregate("median", value.cast(pl.Int8), pl.Int8())
    return aggregate(name, value, dtype)


def _figure_dtype(name: str, host: Any, found: pl.DataType) -> Any:
    if name in {"min", "max"} or found.is_temporal():
        return plain_dtype(host)
    if found.is_float() or found == pl.UInt64():
        return np.dtype(str(found).lower())
    return np.dtype("bool") if found == pl.Boolean() else _INT64


def group_figures(
    keys: Sequence[pd.Series[Any]],
    values: Mapping[str, pd.Series[Any]],
    figures: Sequence[Figure],
    *,
    dropna: bool,
) -> tuple[Any, list[pd.Series[Any]]]:
    """Return the position of a row of each group, and the figures of the groups.

    Rows of which a key is missing are left out, or with `dropna` false are a group.
    """
    table, by, named = _table(keys, values)
    lazy = table.with_row_index(_ROW).lazy()
    if dropna:
        lazy = lazy.drop_nulls(by)
    parts, finished = _parts(figures, named, values)
    grouped = lazy.group_by(by).agg(pl.col(_ROW).min(), *parts)
    found = _collected(grouped.sort(_ROW).select(_ROW, *finished))
    made = [host_figure(found[str(at)], each.dtype) for at, each in enumerate(figures)]
    return found[_ROW].cast(pl.Int64).to_numpy(), made


def spread_figure(
    keys: Sequence[pd.Series[Any]],
    value: pd.Series[Any] | None,
    each: Figure,
    *,
    some: bool,
) -> pd.Series[Any]:
    """Return a figure of each row's group, in that row.

    With `some`, keys may be missing: there the figure is too, and its dtype can miss
    values whether or not any is.
    """
    values = {} if value is None or each.column is None else {each.column: value}
    table, by, named = _table(keys, values)
    parts, finished = _parts([each], named, values)
    over = [part.over(by) for part in parts]
    whole = pl.all_horizontal(pl.col(by).is_not_null())
    made = pl.when("whole").then(finished[0]) if some else finished[0]
    lazy = table.lazy().select(*over, whole=whole).select(made)
    dtype = missing_dtype(each.dtype) if some else each.dtype
    spread = host_figure(_collected(lazy).to_series(), dtype)
    spread.index = keys[0].index
    return spread


def _table(
    keys: Sequence[pd.Series[Any]], values: Mapping[str, pd.Series[Any]]
) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """Return keys and values as Polars columns, under names of their own."""
    columns: dict[str, pl.Series] = {}
    for at, key in enumerate(keys):
        read = polars_column("", key, polars_dtype(key.dtype))
        columns[f"key {at}"] = read.fill_nan(None) if read.dtype.is_float() else read
    by = list(columns)
    named = {name: f"value {at}" for at, name in enumerate(values)}
    for name, value in values.items():
        columns[named[name]] = polars_column("", value, polars_dtype(value.dtype))
    return pl.DataFrame(columns), by, named


def _parts(
    figures: Sequence[Figure],
    named: Mapping[str, str],
    values: Mapping[str, pd.Series[Any]],
) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Return the parts of all figures, and the figures made of these."""
    parts: list[pl.Expr] = []
    finished: list[pl.Expr] = []
    for at, each in enumerate(figures):
        column = each.column
        value = pl.col(_ROW if column is None else named[column])
        dtype = pl.UInt32() if column is None else polars_dtype(values[column].dtype)
        made = _aggregate(each.name, value, dtype)
        names = [f"part {at} {place}" for place in range(len(made.parts))]
        parts += [p.alias(name) for p, name in zip(made.parts, names, strict=True)]
        finished.append(made.finish(*map(pl.col, names)).alias(str(at)))
    return parts, finished


def _collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    failed = False
    found = pl.DataFrame()
    try:
        found = lazy.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        failed = True
    if failed:  # outside of the handler: nothing of its words is kept
        msg = "The rows could not be grouped; the reason is withheld."
        raise EvaluationError(msg)
    return found


def host_figure(column: pl.Series, dtype: Any) -> pd.Series[Any]:
    """Return a Polars column in a dtype that `Figure` gives."""
    if isinstance(dtype, pd.StringDtype):
        return pd.Series(column.to_list(), dtype=dtype)
    if isinstance(dtype, pd.ArrowDtype):  # decimals, which pandas has no other way
        arrow = column.to_arrow().cast(dtype.pyarrow_dtype)
        return pd.Series(pd.arrays.ArrowExtensionArray(arrow))
    if getattr(dtype, "kind", "") in {"m", "M"}:
        return on_calendar(_host_times(column, dtype))
    if isinstance(dtype, np.dtype):
        if dtype.kind == "f":
            column = column.fill_null(float("nan"))
        return pd.Series(column.to_numpy().astype(dtype))
    missing = column.is_null().to_numpy()
    plain = column.fill_null(False if column.dtype == pl.Boolean else 0)
    values = plain.to_numpy().astype(dtype.numpy_dtype)
    return pd.Series(dtype.construct_array_type()(values, missing))


def _host_times(column: pl.Series, dtype: Any) -> pd.Series[Any]:
    """Return instants or durations; those of seconds come as milliseconds."""
    zone = getattr(dtype, "tz", None)
    unit = np.datetime_data(dtype)[0] if zone is None else dtype.unit
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("ms"))
    ticks = column.to_physical().cast(pl.Int64)
    if unit == "s":
        ticks = ticks // 1000
    nat = np.iinfo(np.int64).min
    values = ticks.fill_null(nat).to_numpy().view(f"{dtype.kind}8[{unit}]")
    found: Any = pd.Series(values)
    return found if zone is None else found.dt.tz_localize("UTC").dt.tz_convert(zone)
