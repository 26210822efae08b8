"""What callers pass to Polars' verbs, read as expressions the way Polars reads it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import numpy as np
import pandas as pd
import polars as pl

from dpframe.dialects.polars.steps import prove_outputs
from dpframe.errors import NotProvedError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BY_PLACE: Final = (pl.Series, np.ndarray, pd.Series, pd.Index)
_WHOLE: Final = (str, bytes, pl.Expr, *_BY_PLACE)


def expressions(
    verb: str, exprs: Sequence[object], named: Mapping[str, object]
) -> list[pl.Expr]:
    """Return the expressions of `select` and `with_columns`; text names a column."""
    listed = [_expression(verb, part) for part in _flat(exprs)]
    return listed + [
        _expression(verb, part).alias(name) for name, part in named.items()
    ]


def predicates(
    exprs: Sequence[object], constraints: Mapping[str, object]
) -> list[pl.Expr]:
    """Return the conditions of `filter`; a list of truths goes by place: refused."""
    for part in exprs:
        listed = cast("list[object]", part) if isinstance(part, list) else []
        if any(isinstance(truth, bool) for truth in listed):
            _by_place("filter", "list")
    conditions = [_expression("filter", part) for part in _flat(exprs)]
    for name, value in constraints.items():
        right = value if isinstance(value, pl.Expr) else _literal("filter", value)
        conditions.append(pl.col(name).eq(right))
    return conditions


def column_names(
    types: Mapping[str, pl.DataType],
    verb: str,
    columns: Sequence[object],
    *,
    strict: bool = True,
) -> list[str]:
    """Return the visible columns that names and selectors stand for."""
    names: dict[str, None] = {}
    for expr in expressions(verb, columns, {}):
        if not expr.meta.is_column_selection():
            msg = f"{verb} takes columns, not an expression."
            raise ParameterTypeError(msg, hint="derive columns in with_columns.")
        if not strict and expr.meta.is_column():
            found = [n for n in [expr.meta.output_name()] if n in types]
        else:
            found = list(prove_outputs(types, verb, [expr]).types)
        names.update(dict.fromkeys(found))
    return list(names)


def _flat(exprs: Sequence[object]) -> Iterator[object]:
    """Yield the parts of lists; text, expressions and columns of values are whole."""
    for part in exprs:
        listed = _is_listed(part)
        yield from cast("Iterable[object]", part) if listed else (part,)


def _is_listed(part: object) -> bool:
    if _is_frame(part) or isinstance(part, _WHOLE):
        return False
    return isinstance(part, Iterable)


def _is_frame(part: object) -> bool:
    return hasattr(type(part), "__arrow_c_stream__") or hasattr(type(part), "keys")


def _expression(verb: str, part: object) -> pl.Expr:
    if isinstance(part, pl.Expr):
        return part
    return pl.col(part) if isinstance(part, str) else _literal(verb, part)


def _literal(verb: str, value: object) -> pl.Expr:
    kind = type(value).__name__
    if isinstance(value, _BY_PLACE):
        _by_place(verb, kind)
    try:
        if not _is_frame(value):
            return pl.lit(cast("Any", value))
    except (TypeError, ValueError):
        pass
    msg = f"{verb} takes expressions, not {kind}."
    raise ParameterTypeError(msg, hint='write them with polars: pl.col("age") + 1.')


def _by_place(verb: str, kind: str) -> NoReturn:
    raise NotProvedError(
        f"The values of a {kind} go to rows by their place, and these have none.",
        step=f"{verb}({kind})",
        hint="write an expression of columns, or look values up with .is_in([...]).",
    )


_NUMBERS: Final = [
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128),
    *(pl.Float32, pl.Float64, pl.Decimal),
]
_UNITS: Final = ("ms", "us", "ns")


def filled_dtypes(value: object, *, matches_supertype: bool) -> list[Any] | None:
    """Return the dtypes that Polars fills with a value; None for any."""
    if isinstance(value, bool):
        suits: list[Any] = [pl.Boolean]
    elif isinstance(value, (int, float)):
        own = pl.Int64 if isinstance(value, int) else pl.Float64
        suits = list(_NUMBERS) if matches_supertype else [own]
    elif isinstance(value, dt.datetime):
        suits = [pl.Datetime, *map(pl.Datetime, _UNITS)]
    elif isinstance(value, dt.timedelta):
        suits = [pl.Duration, *map(pl.Duration, _UNITS)]
    elif isinstance(value, dt.date):
        suits = [pl.Date]
    elif isinstance(value, dt.time):
        suits = [pl.Time]
    elif isinstance(value, str):
        suits = [pl.String, pl.Categorical]
    else:
        return None
    return [*suits, pl.Null]
