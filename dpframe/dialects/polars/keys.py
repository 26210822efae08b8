"""The keys of a join, as callers write them: columns, or proved expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dpframe.dialects.polars.inputs import expressions
from dpframe.dialects.polars.steps import prove_outputs
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.proofs.polars.parts import step_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class Key:
    """One key of one side.

    Attributes
    ----------
    column : str or None
        The column that it is; None where it is derived.
    expr : pl.Expr
        What is run.
    text : str
        The key in public words.
    """

    column: str | None
    expr: pl.Expr
    text: str


def keys_of(given: Any, types: Mapping[str, pl.DataType]) -> list[Key]:
    """Prove the keys of one side; raises as `prove_outputs` does.

    Raises
    ------
    ParameterTypeError
        If a key is not one column, or reads none.
    """
    listed = expressions("join", [given], {})
    return [_key(expr, types) for expr in listed]


def check_distinct(keys: Sequence[Key]) -> None:
    """Refuse a column that is a key twice on one side."""
    names = [key.column for key in keys if key.column is not None]
    if len(set(names)) < len(names):
        msg = f"join names a key twice: {', '.join(names)}."
        raise ParameterError(msg, hint="compare columns in .filter after the join.")


def one_column_each(keys: Sequence[Key]) -> bool:
    """Return whether all keys are columns, as Polars needs to make one of two."""
    return all(key.column is not None for key in keys)


def _key(expr: pl.Expr, types: Mapping[str, pl.DataType]) -> Key:
    outputs = prove_outputs(types, "join", [expr])
    text = step_text(expr)
    if len(outputs.types) != 1:
        msg = f"A key of a join is one column: {text}."
        raise ParameterTypeError(msg, hint="list the keys one by one.")
    if expr.meta.is_column_selection():
        name = next(iter(outputs.types))
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            msg = f"{name!r} stands for a pattern of names, not for one column."
            raise ParameterError(msg, hint="rename the column before attaching.")
        return Key(column=name, expr=pl.col(name), text=name)
    bound = outputs.exprs[0]
    if not bound.meta.root_names():
        msg = f"A key of a join reads a column: {text}."
        raise ParameterTypeError(msg, hint="add it in .with_columns first.")
    return Key(column=None, expr=bound, text=text)
