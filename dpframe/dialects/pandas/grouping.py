"""What a groupby is asked for, proved to keep privacy units apart, and its outcome."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pandas as pd

from dpframe.declare import no_such_column
from dpframe.dialects.pandas.figures import group_figures
from dpframe.dialects.pandas.hints import GROUP_HINTS
from dpframe.dialects.shared import unit_gone
from dpframe.errors import (
    NotProvedError,
    NotProvedTypeError,
    ParameterTypeError,
)
from dpframe.frame import UNIT, Step
from dpframe.proofs.pandas.kinds import column_kind
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.dialects.pandas.figures import Figure
    from dpframe.frame import State

FIGURES: Final = (
    *("size", "count", "nunique", "sum", "mean", "median"),
    *("min", "max", "any", "all"),
)
"""What pandas calls figures of rows that depend on neither order nor other rows."""

_FUNCTIONS: Final[list[tuple[Any, str]]] = [
    *((getattr(builtins, n), n) for n in ("sum", "min", "max", "any", "all")),
    *((getattr(np, n), n) for n in FIGURES if n not in {"count", "nunique"}),
    *((getattr(pd.Series, n), n) for n in FIGURES if n != "size"),
    (len, "size"),
]
"""Functions that pandas takes for the names of figures."""


OFFERED: Final = f"figures are {', '.join(FIGURES)}, by agg(name=(column, figure))."


def group_hint(name: str) -> str:
    """Return what to write instead of what groups do not have."""
    return GROUP_HINTS.get(name, OFFERED)


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """Keys of a groupby, the privacy unit among them."""

    keys: tuple[str, ...]
    dropna: bool

    def __str__(self) -> str:
        more = "" if self.dropna else ", dropna=False"
        return f"groupby({list(self.keys)}{more})"


def grouping(
    by: object,
    dtypes: Mapping[str, Any],
    state: State,
    *,
    dropna: bool,
    observed: bool,
) -> Grouping:
    """Return the keys of a groupby.

    Raises
    ------
    NotProvedError
        If the privacy unit is not among them, or a group would appear without rows.
    ColumnNotFoundError
        If a column is not there.
    ParameterTypeError
        If a key is no column of comparable values.
    """
    listed = [by] if isinstance(by, str) else by
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(name, str) for name in cast("list[Any]", listed)
    ):
        msg = f"groupby takes the names of columns, not a {type(by).__name__}."
        raise ParameterTypeError(msg, hint='write groupby("id"), or a list of names.')
    keys = tuple(dict.fromkeys(cast("list[str]", listed)))
    for name in keys:
        if name not in dtypes:
            raise no_such_column(name, dtypes)
    unit = state.privacy_unit
    if unit in keys and not state.unit_visible:
        raise unit_gone(state, "groupby")
    if unit is None or unit not in keys:
        release = next((name for name in keys if name != unit), "column")
        say = (
            "attach with privacy_unit=" if unit is None else f"add {unit!r} to the keys"
        )
        msg = (
            f"groupby({list(keys)}) would bring rows of several privacy units together."
        )
        raise NotProvedError(
            msg,
            step="groupby",
            hint=f'release it: .dp.group_by("{release}", keys=[...]); or {say}.',
        )
    for name in keys:
        if name != unit and column_kind(name, dtypes[name]) is Kind.OBJECT:
            msg = f"Column {name!r} holds Python objects, which are not compared."
            raise ParameterTypeError(msg, hint="cast it before attaching.")
        if not observed and isinstance(dtypes[name], pd.CategoricalDtype):
            msg = "groupby(observed=False) shows categories that no row of a unit has."
            raise NotProvedTypeError(
                msg, step="groupby(observed=)", hint="leave observed out."
            )
    return Grouping(keys=keys, dropna=dropna)


def figure_name(func: object) -> str:
    """Return the name of a figure that was named, or stood for by a function.

    Raises
    ------
    NotProvedError
        If it is not one of those offered.
    ParameterTypeError
        If it is neither a name nor a function.
    """
    if isinstance(func, str):
        name: str | None = func
    elif callable(func):
        name = next((n for known, n in _FUNCTIONS if known is func), None)
    else:
        msg = f"A figure is asked for by its name, not by a {type(func).__name__}."
        raise ParameterTypeError(msg, hint=OFFERED)
    if name in FIGURES:
        return name
    if name is None:
        msg = "A function in agg cannot be shown to depend on a unit's rows alone."
        raise NotProvedError(msg, step="agg(function)", hint=OFFERED)
    msg = f"{name} is not a figure that depends on a unit's rows alone."
    raise NotProvedError(msg, step=f"agg({name!r})", hint=group_hint(name))


def grouped(
    native: pd.DataFrame, state: State, asked: Grouping, figures: Mapping[str, Figure]
) -> tuple[pd.DataFrame, State]:
    """Return the groups of a private frame: keys, figures, the hidden column last."""
    unit = state.privacy_unit
    by = [native[UNIT], *(native[name] for name in asked.keys if name != unit)]
    values = {
        each.column: native[each.column]
        for each in figures.values()
        if each.column is not None
    }
    rows, made = group_figures(by, values, [*figures.values()], dropna=asked.dropna)
    found = native[[*asked.keys, UNIT]].take(rows)
    found.index = pd.RangeIndex(len(rows))
    for name in asked.keys:
        found[name] = _settled(found[name])
    for name, column in zip(figures, made, strict=True):
        found.insert(found.shape[1] - 1, name, column)
    alone = set(asked.keys) == {unit}
    gone = [name for name in native.columns if name not in asked.keys]
    texts = [f"{name}={each.text}" for name, each in figures.items()]
    step = Step(
        f"{asked}.agg({', '.join(texts)})", f"{asked}.agg({', '.join(figures)})"
    )
    after = replace(
        state.forget(gone),
        one_row=state.one_row or alone,
        max_rows=1 if alone else state.max_rows,
    )
    return found, after.after(step)


def _settled(key: pd.Series[Any]) -> pd.Series[Any]:
    """Return keys whose zeros have one sign, whichever row they were taken from."""
    if getattr(key.dtype, "kind", "") != "f":
        return key
    zero = (key == 0).fillna(False)
    return key.mask(zero.to_numpy(dtype=bool), 0.0)
