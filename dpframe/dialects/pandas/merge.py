"""merge: rows of a private frame with public ones, or with those of the same unit.

With a public frame, what becomes of a private row depends on that row alone, as long
as public rows do not appear by themselves. With a private frame, the privacy unit is
among the keys, so that the rows of a unit depend on that unit's rows alone.
"""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

import pandas as pd
import polars as pl

from dpframe.combine import check_combinable, combined
from dpframe.dialects.pandas.columns import polars_column
from dpframe.dialects.pandas.frame import usable
from dpframe.dialects.pandas.matches import (
    check_kinds,
    check_readable,
    check_same,
    from_either,
    matches,
    rows_at,
    settled,
)
from dpframe.dialects.pandas.merge_names import (
    Keys,
    Names,
    find_keys,
    name_columns,
)
from dpframe.dialects.shared import unit_gone
from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.frame import UNIT, Step, is_reserved
from dpframe.proofs.pandas.kinds import column_kind, polars_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.dialects.pandas.matches import How
    from dpframe.frame import State
    from dpframe.public import Public

_PUBLIC: Final = ("inner", "left", "left_anti")
_PRIVATE: Final = (*_PUBLIC, "right", "outer")
_OUTER: Final = ("right", "outer")
_VALIDATES: Final = {
    **dict.fromkeys(("m:1", "many_to_one"), True),
    **dict.fromkeys(("m:m", "many_to_many"), False),
}
"""What can be checked without a private row, and whether there is anything to check."""


@dataclass(frozen=True, kw_only=True)
class Merge:
    """What a merge is asked for, in pandas' words."""

    how: Any
    on: Any
    left_on: Any
    right_on: Any
    suffixes: Any
    validate: Any


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two key columns that are matched, and what each is read as."""

    left: pd.Series[Any]
    right: pd.Series[Any]
    dtypes: tuple[pl.DataType, pl.DataType]

    @classmethod
    def of(cls, left: pd.Series[Any], right: pd.Series[Any], *, what: str) -> _Pair:
        """Check that two columns can be equal; no row is read.

        A public column of Python objects is read as what it is matched with.
        """
        mine, theirs = polars_dtype(left.dtype), polars_dtype(right.dtype)
        if isinstance(theirs, pl.Object):
            theirs = mine
        check_kinds(mine, theirs, what=what)
        return cls(left=left, right=right, dtypes=(mine, theirs))

    def left_key(self) -> pl.Series:
        """Read the left column."""
        mine, theirs = self.dtypes
        return settled(polars_column("", self.left, mine), theirs)

    def right_key(self) -> pl.Series:
        """Read the right column."""
        mine, theirs = self.dtypes
        return settled(polars_column("", self.right, theirs), mine)


def merge_public(
    native: pd.DataFrame, state: State, right: Public, asked: Merge
) -> tuple[pd.DataFrame, State]:
    """Return the rows and the state of a private frame merged with a public one.

    Raises
    ------
    NotProvedError
        If a row would appear or count several times because of other rows.
    ParameterError, ParameterTypeError
        If the arguments do not suit the columns.
    """
    table = _public_table(right)
    how = _checked_how(asked.how, _PUBLIC)
    there = [str(name) for name in table]
    keys = find_keys(asked.on, asked.left_on, asked.right_on, usable(native), there)
    names = name_columns(native.columns[:-1], table.columns, keys, asked.suffixes)
    pairs = [
        _Pair.of(native[one], table[other], what=f"{one!r} with {other!r}")
        for one, other in zip(keys.left, keys.right, strict=True)
    ]
    unique = _are_unique([pair.right_key() for pair in pairs])
    _check_validate(asked.validate, unique=unique)
    once = unique or how == "left_anti"
    if state.privacy_unit is None and not once:
        msg = "The keys of the public frame repeat: one row would count several times."
        raise NotProvedError(
            msg,
            step="merge",
            hint="drop duplicates of the public frame, or attach with a privacy unit.",
        )
    merged = _joined(native, table, pairs, how=how, keys=keys, names=names)
    options = f"how={how!r}, {keys}"
    step = Step(f"merge({right!r}, {options})", f"merge({options})")
    after = replace(state, one_row=state.one_row and once)
    return merged, after.rename(names.left).after(step)


def merge_private(
    native: pd.DataFrame,
    state: State,
    other: pd.DataFrame,
    other_state: State,
    asked: Merge,
) -> tuple[pd.DataFrame, State]:
    """Return the rows and the state of two private frames merged on their unit.

    Raises
    ------
    NotProvedError
        If the unit is not among the keys of both, at the same place, or the frames
        are of several budgets.
    ParameterError, ParameterTypeError
        If the arguments do not suit the columns.
    """
    how = _checked_how(asked.how, _PRIVATE)
    keys = find_keys(
        asked.on, asked.left_on, asked.right_on, usable(native), usable(other)
    )
    units = [polars_dtype(frame[UNIT].dtype) for frame in (native, other)]
    check_combinable("merge", [state, other_state], units=units)
    place = _unit_place(state, other_state, keys)
    if asked.validate not in (None, "m:m", "many_to_many"):
        msg = "merge(validate=...) of private frames would fail by what the rows are."
        raise NotProvedError(msg, step="merge(validate=)", hint="leave validate out.")
    names = name_columns(native.columns[:-1], other.columns[:-1], keys, asked.suffixes)
    pairs: list[_Pair] = []
    for at, pair in enumerate(zip(keys.left, keys.right, strict=True)):
        one, other_one = (UNIT, UNIT) if at == place else pair
        what = f"{pair[0]!r} with {pair[1]!r}"
        pairs.append(_Pair.of(native[one], other[other_one], what=what))
    merged = _joined(native, other, pairs, how=how, keys=keys, names=names)
    mine = state.rename(names.left)
    theirs = other_state.forget(keys.shared).rename(names.right)
    after = combined(
        "merge",
        [mine, other_state],
        units=units,
        options=f"how={how!r}, {keys}",
        bounds={**theirs.bounds, **mine.bounds},
        domain={**theirs.domain, **mine.domain},
    )
    lost = how in _OUTER and state.privacy_unit not in keys.shared
    return merged, replace(after, unit_visible=after.unit_visible and not lost)


def _public_table(right: Public) -> pd.DataFrame:
    table: object = right.native
    if not isinstance(table, pd.DataFrame):
        kind = type(table).__name__
        msg = (
            f"merge of a private pandas frame takes a public pandas frame, not {kind}."
        )
        raise ParameterTypeError(msg, hint="write dpframe.public(frame.to_pandas()).")
    columns = table.columns
    texts = columns.map(type).isin([str]).all()
    if isinstance(columns, pd.MultiIndex) or not texts or columns.has_duplicates:
        msg = "The columns of a public frame to merge need distinct names, as text."
        raise ParameterTypeError(msg, hint="rename them first.")
    for name in filter(is_reserved, columns):
        msg = f"The column name {name!r} is reserved."
        raise ParameterError(msg, hint="rename it first.")
    for name in columns:
        column_kind(str(name), table[name].dtype)
    return table.set_axis(pd.RangeIndex(len(table)))


def _checked_how(how: object, offered: Sequence[str]) -> How:
    if how in offered:
        return cast("How", how)
    if how in ("right", "outer", "right_anti"):
        msg = (
            f"merge(how={how!r}) shows a public row where no private row matches it, "
            "which depends on all rows."
        )
        if how == "right_anti":
            msg = "merge(how='right_anti') is not offered on private frames."
        hint = 'write how="left" or how="inner", with the private frame on the left.'
        raise NotProvedError(msg, step=f"merge(how={how!r})", hint=hint)
    listed = ", ".join(repr(each) for each in offered)
    if how == "cross":
        msg = "merge(how='cross') is not offered on private frames."
        raise NotProvedError(
            msg, step="merge(how='cross')", hint=f"write one of {listed}, with keys."
        )
    msg = f"merge(how=) is one of {listed}, not {how!r}."
    raise ParameterError(msg)


def _are_unique(keys: Sequence[pl.Series]) -> bool:
    table = pl.DataFrame({str(at): key for at, key in enumerate(keys)})
    return not table.is_duplicated().any()


def _check_validate(validate: Any, *, unique: bool) -> None:
    if validate is None:
        return
    if validate in ("1:1", "one_to_one", "1:m", "one_to_many"):
        msg = f"merge(validate={validate!r}) would fail by what the private keys are."
        raise NotProvedError(
            msg, step="merge(validate=)", hint='the public keys are checked by "m:1".'
        )
    if not isinstance(validate, str) or validate not in _VALIDATES:
        msg = f"merge(validate=) is one of {', '.join(_VALIDATES)}, not {validate!r}."
        raise ParameterError(msg)
    if _VALIDATES[validate] and not unique:
        msg = "The keys of the public frame are not unique; not a many-to-one merge."
        raise ParameterError(msg, hint="drop its duplicates, or leave validate out.")


def _unit_place(state: State, other: State, keys: Keys) -> int:
    """Return which of the keys is the privacy unit, on both sides."""
    for at, pair in enumerate(zip(keys.left, keys.right, strict=True)):
        units = (state.privacy_unit, other.privacy_unit)
        if pair == units:
            if state.unit_visible and other.unit_visible:
                return at
            raise unit_gone(other if state.unit_visible else state, "merge")
    msg = (
        "A merge of private frames needs the privacy unit among the keys of both, at "
        "the same place: else rows of several units would come together."
    )
    raise NotProvedError(
        msg,
        step="merge",
        hint=f"add {state.privacy_unit!r} to on=.",
    )


def _joined(
    native: pd.DataFrame,
    right: pd.DataFrame,
    pairs: Sequence[_Pair],
    *,
    how: How,
    keys: Keys,
    names: Names,
) -> pd.DataFrame:
    """Return the merged rows, the hidden column last."""
    both_miss, right_misses = how in _OUTER, how != "inner"
    extra = right.drop(columns=[*keys.shared, UNIT], errors="ignore")
    left = native.iloc[:, :-1]
    if both_miss:
        check_readable(left)
    if right_misses:
        check_readable(extra)
    if both_miss:
        for name in (*keys.shared, UNIT):
            check_same(native[name], right[name])
    at, there = matches(
        [pair.left_key() for pair in pairs], [pair.right_key() for pair in pairs], how
    )
    mine = rows_at(left, at, some=both_miss)
    theirs = rows_at(extra, there, some=right_misses)
    mine.columns = [names.left.get(name, name) for name in mine.columns]
    theirs.columns = [names.right.get(name, name) for name in theirs.columns]
    merged = pd.concat([mine, theirs], axis=1)
    if both_miss:
        for name in keys.shared:
            merged[name] = from_either(native[name], right[name], at, there)
        merged[UNIT] = from_either(native[UNIT], right[UNIT], at, there)
    else:
        merged[UNIT] = native[UNIT].take(at).array
    return merged
