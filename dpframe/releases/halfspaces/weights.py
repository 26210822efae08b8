"""Weights and offsets of questions, in the forms in which they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
import pandas as pd

from dpframe.declare import public_value
from dpframe.errors import ColumnNotFoundError, ParameterError, ParameterTypeError
from dpframe.table import enumeration

Array = np.ndarray[Any, np.dtype[Any]]

_NO_NUMBERS: Final = (bool, np.bool_, str, bytes, np.datetime64, np.timedelta64)
"""What Python takes for a number, or reads as one."""

_VECTOR: Final = 1
_MATRIX: Final = 2


def read_weights(given: Any, names: Sequence[str]) -> Array:
    """Return the weights of one question or several: a row for each.

    Parameters
    ----------
    given : array, sequence, mapping or data frame
        Numbers in the order of the columns, or mappings of columns to numbers, where
        those left out weigh 0. A frame, or a pandas Series with names, is read by
        these.
    names : sequence of str
        The columns.

    Raises
    ------
    ColumnNotFoundError
        If another column is named.
    ParameterTypeError, ParameterError
        If something is no finite number, or there are too few or too many of them.
    """
    read = _named(given) or public_value(given)
    if hasattr(read, "to_numpy") and hasattr(read, "columns"):
        return _of_frame(read, names)
    if isinstance(read, Mapping):
        return _of_mapping(cast("Mapping[object, object]", read), names)[None, :]
    mapped = isinstance(read, Sequence) and not isinstance(read, str)
    listed = list(cast("Sequence[object]", read)) if mapped else []
    if listed and any(isinstance(each, Mapping) for each in listed):
        return np.stack([_of_mapping(each, names) for each in listed])
    found = _weights(read)
    found = found[None, :] if found.ndim == _VECTOR else found
    if found.ndim != _MATRIX or found.shape[1] != len(names):
        size = found.shape[-1] if found.ndim else 1
        msg = f"A direction has {size} weights, and there are the columns "
        msg += f"{enumeration(names)}."
        hint = f"pass {len(names)} numbers, or a mapping by column."
        raise ParameterError(msg, hint=hint)
    return found


def numbers(given: Any, *, what: str) -> Array:
    """Return finite numbers as floats; Booleans and text are none.

    Raises
    ------
    ParameterTypeError, ParameterError
        If something is no number, or not finite.
    """
    try:
        # Lists as objects, since Booleans among numbers would be taken for numbers.
        array = hasattr(given, "dtype")
        found = np.asarray(given) if array else np.asarray(given, dtype=object)
        if found.dtype.kind not in "iuf":
            cells = [_number(cell, what=what) for cell in np.ravel(found)]
            found = np.array(cells).reshape(found.shape)
        floats = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        msg = f"{what.capitalize()} is made of numbers, and this is not."
        raise ParameterTypeError(msg) from None
    if not np.isfinite(floats).all():
        msg = f"{what.capitalize()} holds NaN or infinity."
        raise ParameterError(msg)
    return floats


def _of_frame(given: Any, names: Sequence[str]) -> Array:
    frame = {str(name): given[name].to_numpy() for name in given.columns}
    _check_names(frame, names)
    blank = np.zeros(len(given))
    return np.stack([_weights(frame.get(name, blank)) for name in names], axis=1)


def _of_mapping(given: object, names: Sequence[str]) -> Array:
    if not isinstance(given, Mapping):
        msg = "Directions are all mappings of columns to numbers, or none is."
        raise ParameterTypeError(msg)
    named = cast("Mapping[object, object]", given)
    _check_names(named, names)
    return _weights([named.get(name, 0.0) for name in names])


def _check_names(named: Mapping[Any, object], names: Sequence[str]) -> None:
    for name in named:
        if name not in names:
            msg = f"There is no column {name!r} in this release."
            hint = f"it has {enumeration(names)}."
            raise ColumnNotFoundError(msg, column=str(name), hint=hint)


def _named(given: Any) -> dict[str, object] | None:
    """Return a pandas Series with names as a mapping; None for all else."""
    series: Any = given
    if not isinstance(given, pd.Series) or series.empty:
        return None
    labels: list[object] = list(series.index)
    if not all(isinstance(label, str) for label in labels):
        return None
    values: list[object] = series.tolist()
    return dict(zip(cast("list[str]", labels), values, strict=True))


def _weights(given: Any) -> Array:
    return numbers(given, what="a direction")


def _number(cell: Any, *, what: str) -> float:
    if isinstance(cell, _NO_NUMBERS):
        msg = f"{what} holds {cell!r}"
        raise TypeError(msg)
    return float(cell)
