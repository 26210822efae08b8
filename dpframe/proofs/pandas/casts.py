"""Casts of columns that no value can fail, to dtypes that are asked for by name.

Some of pandas' own fail on a value: those of floats to whole numbers give a missing
value here where pandas would fail, and all others are refused.
"""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.proofs.pandas.recording import record_step
from dpframe.proofs.pandas.rules import (
    NUMBERS,
    TICKS,
    TIMES,
    filler,
    members,
    time_unit,
)
from dpframe.values import Kind

if TYPE_CHECKING:
    from dpframe.proofs.pandas.recording import Recording


def cast_column(column: Recording, dtype: Any) -> Recording:
    """Record astype, where no value can fail it or be formatted by its neighbors."""
    try:
        target: Any = pd.api.types.pandas_dtype(dtype)
    except (TypeError, ValueError):
        msg = f"{dtype!r} is no dtype of pandas."
        raise ParameterTypeError(msg) from None
    step = f"{column.text}.astype({str(target)!r})"
    if isinstance(target, pd.CategoricalDtype):
        return _as_category(step, column, target)
    if _is_whole_dtype(target) and column.kind is Kind.FLOAT:
        return _as_whole(step, column, target)
    if not _cast_is_safe(column, target):
        msg = f"astype from {column.dtype} to {target} can fail on a value."
        raise NotProvedError(msg, step=step, hint=_cast_hint(column, target))

    def cast(rows: Any) -> Any:
        return rows.astype(target)

    return record_step(step, cast, column)


def _cast_hint(column: Recording, target: Any) -> str:
    wanted: Any = getattr(target, "numpy_dtype", target)
    kind = getattr(wanted, "kind", "")
    if column.kind in NUMBERS and kind in "iu" and isinstance(wanted, np.dtype):
        if column.kind is Kind.FLOAT:
            return (
                'write .astype("Int64"): what is no whole number becomes missing, so '
                "round first by .round()."
            )
        return 'write .astype("Int64"), where a value can be missing.'
    if column.kind in NUMBERS and kind == "b":
        return "write column != 0."
    if column.kind is Kind.TEXT and kind in "iuf":
        return 'write dpframe.to_numeric(column), and perhaps .astype("Int64").'
    if column.kind is Kind.TEXT and kind == "M":
        return 'write dpframe.to_datetime(column, format="%Y-%m-%d").'
    return (
        "cast to a wider dtype of the same kind (numbers also to float or text), or "
        "cast before attaching."
    )


def _is_whole_dtype(target: Any) -> bool:
    """Whether a dtype is one of pandas' own for whole numbers that can be missing."""
    numpy_dtype = getattr(target, "numpy_dtype", None)
    arrow = isinstance(target, pd.ArrowDtype)
    return isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "iu" and not arrow


def _as_whole(step: str, column: Recording, target: Any) -> Recording:
    """Record a cast of floats to whole numbers: what is none of them is missing.

    pandas would fail on a fraction, and on what is too large.
    """
    wanted = target.numpy_dtype
    info = np.iinfo(wanted)
    low, end = float(info.min), 2.0 ** (info.bits - (wanted.kind == "i"))

    def cast(rows: Any) -> Any:
        values = rows.to_numpy(dtype="float64", na_value=np.nan)
        whole = (values >= low) & (values < end) & (np.trunc(values) == values)
        held = np.where(whole, values, 0.0).astype(wanted)
        found = pd.Series(held, index=rows.index).astype(target)
        return found.where(whole)

    return record_step(step, cast, column)


def as_whole(found: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers as `Int64`, whether or not some are missing.

    pandas makes floats of them where one is missing, and else some dtype of numpy's.
    """
    dtype: Any = found.dtype
    return found.astype("Int64") if dtype.kind in "iuf" else found


def _as_category(step: str, column: Recording, target: Any) -> Recording:
    """Record a cast to public categories: what is not among them becomes missing."""
    if target.categories is None:
        msg = f"{step} would take its categories from the rows."
        raise NotProvedError(
            msg, step=step, hint="write them out: pd.CategoricalDtype([...])."
        )
    levels = list(target.categories)
    step = f"{column.text}.astype(category of {levels!r})"
    if column.is_numpy and column.dtype.kind in "biu":
        column = cast_column(column, nullable(column.dtype))
    if column.dtype == np.float16:  # of which pandas makes no categories
        column = cast_column(column, "float32")
    among = members(column, levels)

    def keep(rows: Any, known: Any) -> Any:
        return rows.where(known.astype(bool))

    filler(column, None, step=step, missing=True)
    return replace(record_step(step, keep, column, among), category=target)


def nullable(dtype: Any) -> Any:
    """Return the dtype of whole numbers or Booleans that can be missing."""
    if dtype.kind == "b":
        return pd.BooleanDtype()
    name = str(dtype).replace("i", "I", 1).replace("u", "U", 1)
    return pd.api.types.pandas_dtype(name)


def _cast_is_safe(column: Recording, target: Any) -> bool:
    """Whether no value can fail a cast, by its dtypes alone."""
    if column.dtype == target:
        return True
    wanted: Any = getattr(target, "numpy_dtype", target)
    if isinstance(target, pd.ArrowDtype):
        return False
    kind = column.kind
    if kind is Kind.TEXT:
        held: Any = getattr(column.dtype, "storage", None)  # in Python: any characters
        return isinstance(target, pd.StringDtype) and target.storage in (held, "python")
    if isinstance(target, pd.StringDtype):
        return kind in NUMBERS
    if not isinstance(wanted, np.dtype):
        return False
    if kind in NUMBERS:
        return _number_fits(column, target, wanted)
    if kind in TIMES:
        same = isinstance(column.dtype, np.dtype) and wanted.kind == column.dtype.kind
        return same and TICKS.get(time_unit(wanted), 2**63) <= TICKS.get(
            time_unit(column.dtype), 0
        )
    decimal = kind is Kind.DECIMAL and wanted is target
    return decimal and wanted == np.dtype("float64")


def _number_fits(column: Recording, target: Any, wanted: np.dtype[Any]) -> bool:
    if wanted.kind == "f":
        return True
    if column.kind is Kind.FLOAT or wanted.kind not in "biu":
        return False
    if wanted is target and not column.is_numpy:
        return False  # nothing stands for what is missing
    if wanted is target and wanted.kind == "b":
        return True  # what is not zero
    source = np.dtype(str(column.dtype).lower().replace("boolean", "bool"))
    return np.can_cast(source, wanted, "safe")
