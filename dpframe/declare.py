"""What a caller declares about a private frame, checked against its schema alone.

Bounds, keys, contribution limits and column names come in here, from `attach`,
from `.dp.bounds` and `.dp.domain`, and from every release; no row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from operator import index
from typing import TYPE_CHECKING, Final, SupportsIndex, cast

import numpy as np

from dpframe.errors import ColumnNotFoundError, ParameterError, ParameterTypeError
from dpframe.values import column_type, parse_bounds, parse_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from dpframe.frame import PrivateFrame, State
    from dpframe.values import Bounds, ColumnType, Keys

_CLOSE: Final = 0.65
"""How alike names must be to be suggested: 'yr' is for 'year', no 'nope' 'income'."""


def find_column(
    frame: PrivateFrame, name: object, *, several: str | None = None
) -> ColumnType:
    """Return the type of one visible column of a private frame.

    `several` says what to write for a list of names, where there is such a way.

    Raises
    ------
    ParameterTypeError
        If `name` is not text, or the column's dtype has no kind.
    ColumnNotFoundError
        If there is no such column; it names the nearest ones.
    ParameterError
        If the name stands for more than one column, or is a pattern of names.
    """
    if not isinstance(name, str):
        kind = type(name).__name__
        article = "an" if kind[:1] in "AEIOaeio" else "a"
        msg = f"A column is named by its text, not by {article} {kind}."
        other = "derive a column in a step"
        if several is not None and isinstance(name, (list, tuple)):
            other = f"for several, {several}"
        raise ParameterTypeError(msg, hint=f'write one name, such as "age"; {other}.')
    types = frame.types()
    if name in frame.duplicate_names():
        msg = f"Column {name!r} occurs more than once."
        raise ParameterError(msg, hint="rename one of them before attaching.")
    if name not in types:
        raise no_such_column(name, types)
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        msg = f"{name!r} stands for a pattern of names, not for one column."
        raise ParameterError(msg, hint="rename the column before attaching.")
    return column_type(name, types[name])


def no_such_column(name: str, columns: Iterable[str]) -> ColumnNotFoundError:
    """Return the error for a missing column, with the nearest names."""
    folded: dict[str, list[str]] = {}
    for column in columns:
        folded.setdefault(column.casefold(), []).append(column)
    alike = get_close_matches(name.casefold(), folded, cutoff=_CLOSE)
    near = [column for key in alike for column in folded[key]]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else None
    return ColumnNotFoundError(
        f"There is no column {name!r}.", column=name, close_matches=near, hint=hint
    )


def declare_bounds(frame: PrivateFrame, bounds: object) -> Mapping[str, Bounds]:
    """Check clipping bounds by column: pairs ``(low, high)``, or their releases.

    Raises
    ------
    ParameterTypeError
        If `bounds` is no mapping, or a pair does not suit its column.
    ParameterError
        If bounds are reversed, equal, not finite or too wide.
    ColumnNotFoundError
        If there is no such column.
    """
    found = _by_column(frame, bounds, what="bounds", example="(0, 65)")
    return {
        ctype.name: parse_bounds(ctype, public_value(pair)) for ctype, pair in found
    }


def declare_domain(frame: PrivateFrame, domain: object) -> Mapping[str, Keys]:
    """Check public keys by column: lists, tuples, ranges, arrays, or their releases.

    Raises
    ------
    ParameterTypeError
        If `domain` is no mapping, or keys do not suit their column.
    ParameterError
        If keys are empty, repeat a value or hold a missing one.
    ColumnNotFoundError
        If there is no such column.
    """
    found = _by_column(frame, domain, what="domain", example='["a", "b"]')
    return {
        ctype.name: parse_keys(ctype, public_keys(keys, (ctype.name,)))
        for ctype, keys in found
    }


def forget_unsuited(state: State, types: Mapping[str, pl.DataType]) -> State:
    """Return the state without what could not be declared for columns of these dtypes.

    It keeps what was declared for other columns.
    """
    declared = {*state.bounds, *state.domain} & types.keys()
    return state.forget([n for n in declared if not _suits(state, n, types[n])])


def check_contributions(
    max_rows: object, max_groups: object, *, unit: str | None
) -> tuple[int | None, int | None]:
    """Check the contribution limits of a privacy unit: positive whole numbers.

    Raises
    ------
    ParameterTypeError
        If a limit is no whole number.
    ParameterError
        If a limit is below 1, or there is no unit to limit.
    """
    limits = (
        _limit(max_rows, what="max_rows"),
        _limit(max_groups, what="max_groups"),
    )
    if unit is None and limits != (None, None):
        msg = "max_rows and max_groups limit a privacy unit, and none is named."
        raise ParameterError(msg, hint="attach with privacy_unit=, a column name.")
    return limits


def public_value(declared: object) -> object:
    """Return what an object that is public by its making holds, else the object.

    An object says so by a method ``__public_value__`` of its class. A
    column of a frame does not, so it is refused where public values are needed.
    """
    reveal = getattr(type(declared), "__public_value__", None)
    return declared if reveal is None else reveal(declared)


def public_keys(declared: object, columns: Sequence[object]) -> object:
    """Return the keys that a release of keys found in these columns, else the object.

    Such a release says so by a method ``__public_keys__`` of its class, which
    refuses other columns than its own. Else it is as `public_value`.
    """
    reveal = getattr(type(declared), "__public_keys__", None)
    return public_value(declared) if reveal is None else reveal(declared, columns)


def _limit(limit: object, *, what: str) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)):
        kind = type(cast("object", limit)).__name__
        msg = f"{what} must be a whole number, not {kind}."
        raise ParameterTypeError(msg)
    number = index(cast("SupportsIndex", limit))
    if number < 1:
        msg = f"{what} must be at least 1, not {number}."
        raise ParameterError(msg)
    return number


def _suits(state: State, name: str, dtype: pl.DataType) -> bool:
    try:
        ctype = column_type(name, dtype)
        if name in state.bounds:
            parse_bounds(ctype, state.bounds[name])
        if name in state.domain:
            parse_keys(ctype, state.domain[name])
    except (ParameterError, ParameterTypeError):
        return False
    return True


def _by_column(
    frame: PrivateFrame, declared: object, *, what: str, example: str
) -> list[tuple[ColumnType, object]]:
    if declared is None:
        return []
    if not isinstance(declared, Mapping):
        msg = f"{what} must be a mapping by column, not {type(declared).__name__}."
        raise ParameterTypeError(msg, hint=f'write {{"column": {example}}}.')
    return [
        (find_column(frame, name), value)
        for name, value in cast("Mapping[object, object]", declared).items()
    ]
