"""Choosing between values row by row: conditions, and lookups of public keys."""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.proofs.pandas.casts import cast_column, nullable
from dpframe.proofs.pandas.kinds import is_missing, literal_kind
from dpframe.proofs.pandas.recording import Recording, record_step
from dpframe.proofs.pandas.rules import (
    TIMES,
    check_member,
    filler,
    fits_unit,
    kind_of,
    operand,
    scalar_fits,
    text_of,
    time_unit,
    unsuited,
)
from dpframe.public import Public
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBERS: Final = {Kind.INTEGER, Kind.FLOAT}


def condition(value: Any, *, step: str) -> Recording:
    """Check that a condition is made of columns, and tells true from false."""
    if not isinstance(value, Recording):
        msg = f"{step} needs a condition made of columns."
        raise NotProvedError(msg, step=step, hint="write it as df[name] > 0.")
    if value.kind is not Kind.BOOLEAN:
        msg = f"{step} needs a condition: {value.text} does not tell true from false."
        raise ParameterTypeError(msg)
    return value


def choose(holds: Any, first: Any, second: Any, *, step: str) -> Recording:
    """Record the first value where a condition holds, and else the second.

    Both take a dtype that holds either, found by their dtypes alone. A missing
    condition does not hold.
    """
    text = f"{step}({text_of(holds)}, {text_of(first)}, {text_of(second)})"
    holds = condition(holds, step=step)
    dtype = _common_dtype(text, first, second)
    pair = [_held(value, dtype) for value in (first, second)]

    def pick(chosen: Any, one: Any, other: Any) -> Any:
        kept = chosen.fillna(False).astype(bool)
        rows = [
            value
            if isinstance(value, pd.Series)
            else pd.Series(value, index=chosen.index, dtype=dtype)
            for value in (one, other)
        ]
        return rows[0].where(kept, rows[1])

    return record_step(text, pick, holds, *pair)


def _held(value: Any, dtype: Any) -> Any:
    if isinstance(value, Recording):
        return value if value.dtype == dtype else cast_column(value, dtype)
    return None if is_missing(value) else value


def _common_dtype(text: str, *values: Any) -> Any:
    """Return the dtype that holds these columns and public scalars."""
    columns = [value for value in values if isinstance(value, Recording)]
    scalars = [value for value in values if not isinstance(value, Recording)]
    known = [operand(v, step=text) for v in scalars if not is_missing(v)]
    for column in columns:
        if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
            raise unsuited(text, column)
    if not columns and not known:
        msg = f"{text} is missing everywhere."
        raise ParameterError(msg)
    kinds = {kind_of(value) for value in (*columns, *known)}
    if len(kinds) > 1 and kinds != _NUMBERS:
        raise unsuited(text, *columns, *known)
    dtype = _dtype_of(text, columns, known)
    missing = [value for value in scalars if is_missing(value)]
    if not missing or not isinstance(dtype, np.dtype) or dtype.kind not in "biu":
        return dtype
    if kinds == {Kind.INTEGER} and any(isinstance(v, float) for v in missing):
        return np.dtype("float64")  # NaN is a float, and makes floats in pandas
    return nullable(dtype)


def _dtype_of(text: str, columns: Sequence[Recording], scalars: Sequence[Any]) -> Any:
    if not columns:
        return pd.Series(list(scalars)).dtype
    first, *others = columns
    dtype: Any = first.dtype
    if others and others[0].dtype != dtype:
        if first.kind not in _NUMBERS:
            msg = f"{text} mixes {dtype} and {others[0].dtype}."
            raise ParameterTypeError(msg, hint="cast one of them by astype first.")
        rows = [column.probe.iloc[1:] for column in columns]
        return pd.concat(rows).dtype
    for value in scalars:
        if scalar_fits(first, value):
            continue
        if kind_of(value) is not Kind.FLOAT or first.kind is not Kind.INTEGER:
            msg = f"{text} puts {value!r} beside a column of {dtype}."
            raise ParameterTypeError(msg, hint="cast it by astype first.")
        return pd.api.types.pandas_dtype("float64" if first.is_numpy else "Float64")
    return dtype


def choose_first(column: Recording, cases: object) -> Recording:
    """Record case_when: the replacement of the first condition that holds."""
    if not isinstance(cases, list) or not cases:
        msg = "case_when takes a list of pairs (condition, replacement)."
        raise ParameterTypeError(msg)
    outcome = column
    for case in reversed(cast("list[object]", cases)):
        pair = cast("Sequence[Any]", case)
        if not isinstance(case, tuple) or len(pair) != 2:  # noqa: PLR2004 - a pair
            msg = "case_when takes a list of pairs (condition, replacement)."
            raise ParameterTypeError(msg)
        outcome = choose(pair[0], pair[1], outcome, step="case_when")
    return outcome


def look_up(column: Recording, mapping: object) -> Recording:
    """Record map: public keys give public values; what is no key becomes missing.

    The values decide the dtype, in the form that can be missing: whole numbers are
    `Int64`, whether or not some row has no key.
    """
    if isinstance(mapping, Public):
        mapping = _table(mapping)
    if not isinstance(mapping, Mapping) or hasattr(mapping, "__missing__"):
        msg = f"map takes public keys and values, not a {type(mapping).__name__}."
        hint = (
            "write map({key: value, ...}), or operations on the column itself: "
            'd["x"] * 2, d["s"].str.lower(), dpframe.where(d["x"] > 0, 1, 0).'
        )
        raise NotProvedError(msg, step="map", hint=hint)
    pairs = dict(cast("Mapping[Any, Any]", mapping))
    step = f"{column.text}.map({pairs!r})"
    if not pairs:
        msg = f"{step} has no key."
        raise ParameterError(msg)
    values = [v if is_missing(v) else operand(v, step=step) for v in pairs.values()]
    if any(isinstance(value, Recording) for value in values):
        msg = f"{step} gives a column: write dpframe.where()."
        raise NotProvedError(msg, step=step)
    dtype = _common_dtype(step, *values, None)
    table = pd.Series(
        [None if is_missing(value) else value for value in values], dtype=dtype
    )
    find = finder(column, list(pairs), step=step)

    def replace(rows: Any) -> Any:
        return table.reindex(find(rows)).set_axis(rows.index)

    return record_step(step, replace, column)


def _table(public: Public) -> dict[Any, Any]:
    native: Any = public.native
    if not isinstance(native, pd.Series) or not native.index.is_unique:
        msg = "map takes a public Series whose index has each key once."
        raise ParameterTypeError(
            msg, hint="write dpframe.public(frame.set_index(key)[name])."
        )
    return dict(zip(native.index, native, strict=True))


def replace_values(column: Recording, old: object, new: Any) -> Recording:
    """Record replace: some public values by others, the dtype as it is."""
    pairs = _replacements(old, new)
    step = f"{column.text}.replace({pairs!r})"
    if not pairs:
        msg = f"{step} replaces nothing."
        raise ParameterError(msg)
    if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
        raise unsuited(step, column)
    find = finder(column, list(pairs), step=step)
    for value in pairs.values():
        _check_kept(column, value, step=step)
    values = [filler(column, v, step=step, missing=True) for v in pairs.values()]
    if any(isinstance(value, Recording) for value in values):
        msg = f"{step} puts a column in."
        raise NotProvedError(msg, step=step, hint="write dpframe.where().")
    held = [None if is_missing(value) else value for value in values]
    table = pd.Series(held, dtype=column.dtype)

    def replace(rows: Any) -> Any:
        places = find(rows)
        instead = table.take(np.maximum(places, 0)).set_axis(rows.index)
        return rows.where(places < 0, instead)

    return record_step(step, replace, column)


def _check_kept(column: Recording, value: Any, *, step: str) -> None:
    """Refuse values of another kind, that would change the column's dtype."""
    known = literal_kind(value) is not None and not is_missing(value)
    if known and not scalar_fits(column, operand(value, step=step)):
        msg = f"{step} puts {value!r} into a column of {column.dtype}."
        raise ParameterTypeError(
            msg, hint="write map({old: new, ...}), with every value that is to stay."
        )


def _replacements(old: object, new: Any) -> dict[Any, Any]:
    given = new is not NOT_GIVEN
    if isinstance(old, Mapping) and not given:
        return dict(cast("Mapping[Any, Any]", old))
    if isinstance(old, (list, tuple)) and given:
        keys = list(cast("Sequence[Any]", old))
        listed = isinstance(new, (list, tuple))
        values = list(cast("Sequence[Any]", new)) if listed else [new] * len(keys)
        if len(values) != len(keys):
            msg = "replace takes as many new values as old ones."
            raise ParameterError(msg)
        return dict(zip(keys, values, strict=True))
    if given and (literal_kind(old) is not None or is_missing(old)):
        return {cast("Any", old): new}
    msg = "replace takes {old: new}, two values, or two lists of values."
    raise NotProvedError(msg, step="replace", hint="write replace({old: new}).")


NOT_GIVEN: Final = object()
"""Stands for a new value that was not given."""


def finder(
    column: Recording, keys: Sequence[Any], *, step: str
) -> Callable[[Any], Any]:
    """Return a function that gives each row's place among public keys, or -1."""
    for key in keys:
        if is_missing(key):
            msg = f"{step} looks for a missing value."
            raise NotProvedError(msg, step=step, hint="write fillna(value).")
    listed = [operand(key, step=step) for key in keys]
    for key in listed:
        check_member(column, key, step=step)
    if column.kind is Kind.TEXT:
        places = {key: place for place, key in enumerate(listed)}

        def find_text(rows: Any) -> Any:
            values = rows.to_numpy(dtype=object)
            found = (places.get(value, -1) for value in values)
            return np.fromiter(found, np.int64, len(values))

        return find_text
    return _find_numbers(column, listed)


def _find_numbers(column: Recording, keys: Sequence[Any]) -> Callable[[Any], Any]:
    """Look numbers and times up in a sorted array of the column's own type."""
    numpy_dtype = _numbers_dtype(column)
    held = [
        (number, n)
        for n, k in enumerate(keys)
        if (number := _exact(column, k)) is not None
    ]
    held.sort(key=lambda pair: pair[0])
    known = np.array([number for number, _ in held], dtype=numpy_dtype)
    places = np.array([place for _, place in held] or [-1], dtype=np.int64)

    def find(rows: Any) -> Any:
        missing = rows.isna().to_numpy()
        values = _numbers(rows, numpy_dtype)
        if not len(known):
            return np.full(len(values), -1)
        at = np.minimum(np.searchsorted(known, values), len(known) - 1)
        hit = (known[at] == values) & ~missing
        return np.where(hit, places[at], -1)

    return find


def _numbers_dtype(column: Recording) -> Any:
    if column.kind in TIMES:
        return np.dtype("int64")
    return np.dtype(str(column.dtype).lower().replace("boolean", "bool"))


def _numbers(rows: Any, dtype: Any) -> Any:
    if rows.dtype.kind in "mM":
        return rows.astype("int64").to_numpy()
    if isinstance(rows.dtype, np.dtype):
        return rows.to_numpy()
    return rows.to_numpy(dtype=dtype, na_value=dtype.type(0))


def _exact(column: Recording, key: Any) -> Any:
    """Return a key as the column holds it; None where it cannot hold it."""
    if column.kind in TIMES:
        if not fits_unit(column, key):
            return None
        return int(key.as_unit(time_unit(column.dtype)).asm8.view(np.int64))
    if column.kind is Kind.FLOAT:
        held = _numbers_dtype(column).type(key)
        return held if held == key else None
    if column.kind is Kind.BOOLEAN:
        return bool(key)
    whole = int(key) if math.isfinite(key) else None
    return whole if whole == key and scalar_fits(column, whole) else None
