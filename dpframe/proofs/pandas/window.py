"""The stand-in for the groups of a privacy unit: figures of its rows, in each of them.

What such a figure is depends on the rows of one unit alone. The recording groups by
the hidden column of the unit, whatever became of the visible one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast, final

import pandas as pd

from dpframe.errors import (
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
    ParameterTypeError,
)
from dpframe.proofs.pandas.column import RecordedColumn
from dpframe.proofs.pandas.hints import GROUP_ORDER_HINTS
from dpframe.proofs.pandas.recording import record_column, record_step
from dpframe.proofs.pandas.refusals import not_a_value, refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.proofs.pandas.recording import Recording


class Spread(Protocol):
    """A figure of each row's group, in that row."""

    @property
    def name(self) -> str:
        """The figure, in pandas' words."""
        ...

    def __call__(
        self, keys: list[pd.Series[Any]], value: pd.Series[Any] | None
    ) -> pd.Series[Any]:
        """Return it on real or made-up rows; `keys` starts with the unit."""
        ...


@dataclass(frozen=True, kw_only=True)
class UnitWindow:
    """How a step reaches the rows of one privacy unit.

    Attributes
    ----------
    unit : str
        The visible column that still says whose a row is.
    hidden : str
        The column that is grouped by in its place.
    dtype : dtype
        Of the hidden column.
    spread : callable
        Takes a figure, a column and its dtype (None where only rows are counted),
        and whether other keys may be missing. Returns what computes it, or refuses.
    """

    unit: str
    hidden: str
    dtype: Any
    spread: Callable[[object, str | None, Any, bool], Spread]

    def key(self, owner: object) -> Recording:
        """Return the recording of the hidden column, beside the visible ones."""
        key = record_column(self.hidden, self.dtype, owner=owner)
        return replace(key, text=self.unit, hidden=True)


def record_groups(
    by: object,
    options: Mapping[str, Any],
    *,
    window: UnitWindow | None,
    dtypes: Mapping[str, Any],
    column: Callable[[object], Recording],
    owner: object,
) -> RecordedGroups:
    """Return the stand-in for a groupby inside a step.

    Raises
    ------
    NotProvedError
        If the privacy unit is not among the keys.
    ParameterTypeError
        If the keys are no names of columns.
    """
    refuse_options("groupby", options, like=pd.DataFrame.groupby)
    listed = [by] if isinstance(by, str) else by
    if not isinstance(listed, (list, tuple)):
        msg = f"groupby takes the names of columns, not a {type(by).__name__}."
        raise ParameterTypeError(msg, hint='write groupby("id"), or a list of names.')
    names = list(dict.fromkeys(cast("list[object]", listed)))
    if window is None or window.unit not in names:
        msg = f"groupby({names}) would bring rows of several privacy units together."
        add = "attach with privacy_unit=, and keep its column"
        raise NotProvedError(
            msg,
            step="groupby",
            hint=f"{add if window is None else f'add {window.unit!r} to the keys'}.",
        )
    others = [column(name) for name in names if name != window.unit]
    return RecordedGroups(window, [window.key(owner), *others], dtypes, column, None)


@final
class RecordedGroups:
    """The stand-in for groups: a column of them by name, and `transform`."""

    __slots__ = ("_column", "_dtypes", "_keys", "_name", "_window")

    def __init__(
        self,
        window: UnitWindow,
        keys: list[Recording],
        dtypes: Mapping[str, Any],
        column: Callable[[object], Recording],
        name: str | None,
    ) -> None:
        self._window = window
        self._keys = keys
        self._dtypes = dtypes
        self._column = column
        self._name = name

    def __getitem__(self, name: object) -> RecordedGroups:
        if not isinstance(name, str) or self._name is not None:
            msg = f"{self!r}[...] takes one column name, once."
            raise NotProvedTypeError(msg, step="groupby(...)[...]")
        self._column(name)  # it is there
        return RecordedGroups(
            self._window, self._keys, self._dtypes, self._column, name
        )

    def transform(self, func: object, *args: object, **options: Any) -> RecordedColumn:
        """Return a figure of each row's group, in that row."""
        if args or options:
            msg = "transform takes the name of a figure, and nothing else."
            raise NotProvedTypeError(
                msg, step="transform", hint='write "sum", or such.'
            )
        if self._name is None:
            msg = "transform of a groupby without a column gives a frame."
            raise NotProvedTypeError(
                msg,
                step="transform",
                hint='choose a column first: d.groupby(unit)["x"].transform("sum").',
            )
        others = len(self._keys) > 1
        host = self._dtypes[self._name]
        spread = self._window.spread(func, self._name, host, others)
        value = [] if spread.name == "size" else [self._column(self._name)]
        by = ", ".join(key.text for key in self._keys)
        text = f"groupby({by})[{self._name}].transform({spread.name})"

        def compute(*columns: pd.Series[Any]) -> pd.Series[Any]:
            keys = list(columns[: len(self._keys)])
            return spread(keys, columns[-1] if value else None)

        return RecordedColumn(record_step(text, compute, *self._keys, *value))

    def __getattr__(self, name: str) -> RecordedGroups:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._dtypes and self._name is None:
            return self[name]
        msg = f"{name} of a groupby inside a step is not offered."
        hint = GROUP_ORDER_HINTS.get(name) or (
            f'write .transform("{name}"), or frame.groupby(...) outside of a step.'
        )
        raise NotProvedAttributeError(msg, step=name, hint=hint)

    def __repr__(self) -> str:
        return f"groupby({', '.join(key.text for key in self._keys)})"

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration")

    def __len__(self) -> NoReturn:
        raise not_a_value("len()")
