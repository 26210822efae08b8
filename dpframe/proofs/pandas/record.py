"""Proof that a pandas step is row-local: by what it can do, not by what it says.

A callable or a `pd.col` expression never meets the rows. It is called once with a
stand-in for the frame whose columns know elementwise operations and nothing else,
and what it did to them is written down. That recording runs on the real columns;
the callable does not. Whatever the stand-ins do not know is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, final

import pandas as pd

from dpframe.declare import no_such_column
from dpframe.errors import (
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.proofs.pandas.column import RecordedColumn
from dpframe.proofs.pandas.kinds import is_missing, literal_kind
from dpframe.proofs.pandas.recording import Recording, other_frame, record_column
from dpframe.proofs.pandas.refusals import not_a_value, not_elementwise
from dpframe.proofs.pandas.rules import release_hint
from dpframe.proofs.pandas.window import RecordedGroups, UnitWindow, record_groups

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The visible columns of a frame, as a step may know them."""

    dtypes: Mapping[str, Any]
    duplicates: frozenset[str] = frozenset()
    window: UnitWindow | None = None

    def column(self, name: object) -> Recording:
        """Return the recording of one column.

        Raises
        ------
        ParameterTypeError
            If `name` is not text, or the column cannot be read.
        ColumnNotFoundError
            If there is no such column.
        ParameterError
            If the name stands for more than one.
        """
        if not isinstance(name, str):
            msg = f"A column is named by its text, not by a {type(name).__name__}."
            raise ParameterTypeError(msg)
        if name in self.duplicates:
            msg = f"Column {name!r} occurs more than once."
            raise ParameterError(msg, hint="rename one of them before attaching.")
        if name not in self.dtypes:
            raise no_such_column(name, self.dtypes)
        return record_column(name, self.dtypes[name], owner=self)


def record(step: Any, schema: Schema, *, what: str) -> Recording | Any:
    """Return what a callable or `pd.col` expression does, or the scalar it gives.

    Parameters
    ----------
    step : callable or pandas.api.typing.Expression
        Called once, with a stand-in for the frame.
    schema : Schema
        The columns it may use.
    what : str
        The verb, for messages.

    Raises
    ------
    NotProvedError
        If it does, or gives, anything that is not elementwise, or has kept a column
        of another step.
    """
    if isinstance(step, pd.api.typing.Expression):
        evaluate = getattr(step, "_eval_expression", None)  # pandas has no other way
        if not callable(evaluate):
            msg = "This version of pandas keeps pd.col expressions in another way."
            raise NotProvedError(
                msg, step=what, hint="write a callable: lambda df: df[name]."
            )
        outcome = evaluate(RecordedFrame(schema, any_name=True))
    else:
        outcome = step(RecordedFrame(schema))
    if isinstance(outcome, RecordedColumn):
        if outcome.recording.owner is not schema:
            raise other_frame(what)
        return outcome.recording
    if literal_kind(outcome) is None and not is_missing(outcome):
        msg = f"{what} was given a callable that makes a {type(outcome).__name__}."
        hint = "return elementwise work on its argument's columns."
        raise NotProvedError(msg, step=what, hint=release_hint(outcome) or hint)
    return outcome


def _selection_hint(key: object) -> str:
    """Return what to write instead of a selection of columns inside a step."""
    if isinstance(key, list) and {"year", "month"} <= {*map(str, key)}:  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - whatever it holds
        return (
            'write dpframe.to_datetime(d["year"] * 10000 + d["month"] * 100 + '
            'd["day"], format="%Y%m%d").'
        )
    if isinstance(key, list):
        return (
            'write d["x"] + d["y"], or dpframe.where(condition, d["x"], d["y"]); '
            "columns are selected outside of steps: frame[[...]]."
        )
    return "rows are chosen by frame[condition], outside of other steps."


class _AnyName(tuple[str, ...]):
    """Column names among which any can be looked up, so that a miss is named by us."""

    __slots__ = ()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)


@final
class RecordedFrame:
    """The stand-in for a frame: its columns by name, and groups of the unit."""

    __slots__ = ("_names", "_schema")

    def __init__(self, schema: Schema, *, any_name: bool = False) -> None:
        self._schema = schema
        self._names = (_AnyName if any_name else tuple)(schema.dtypes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._names

    def __getitem__(self, name: object) -> RecordedColumn:
        if not isinstance(name, str):
            msg = f"df[...] takes one column name here, not a {type(name).__name__}."
            raise NotProvedTypeError(msg, step="[...]", hint=_selection_hint(name))
        return RecordedColumn(self._schema.column(name))

    def groupby(self, by: object = None, **options: Any) -> RecordedGroups:
        """Group by the privacy unit, for `[column].transform(...)`."""
        return record_groups(
            by,
            options,
            window=self._schema.window,
            dtypes=self._schema.dtypes,
            column=self._schema.column,
            owner=self._schema,
        )

    def __getattr__(self, name: str) -> RecordedColumn:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._schema.dtypes or name in self._schema.duplicates:
            return self[name]
        raise not_elementwise(name, "a frame")

    def __repr__(self) -> str:
        return f"RecordedFrame({', '.join(self._names)})"

    def __len__(self) -> NoReturn:
        raise not_a_value("len()")

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration")

    def __contains__(self, key: object) -> NoReturn:
        raise not_a_value("in", hint="df.columns holds the names.")

    def __bool__(self) -> NoReturn:
        raise not_a_value("a truth value")
