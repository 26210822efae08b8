"""`frame.loc[...]`: rows by a condition, columns by a list of names."""

from __future__ import annotations

from typing import Any, Final, Generic, NoReturn, Protocol, Self, TypeVar, cast, final

from dpframe.dialects.pandas.frame import column_hint
from dpframe.errors import NotProvedTypeError


class Selectable(Protocol):
    """A frame that is selected from by a list of names or a condition."""

    def __getitem__(self, key: Any) -> Self:
        """Return what was selected."""
        ...


Frame = TypeVar("Frame", bound=Selectable)

_ALL: Final = slice(None)
_ROWS: Final = "give a condition: frame.loc[lambda df: df[name] > 0]."


@final
class Locator(Generic[Frame]):
    """What `loc` is on a private frame: index labels are dropped at attach."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Frame:
        """Keep the rows for which a condition holds, and the named columns."""
        rows, columns = key, _ALL
        if isinstance(key, tuple):
            pair = cast("tuple[Any, ...]", key)
            if len(pair) != 2:  # noqa: PLR2004 - rows and columns
                msg = f"loc[...] takes rows and columns, not {len(pair)} keys."
                raise NotProvedTypeError(msg, step="loc", hint=_ROWS)
            rows, columns = pair
        self._check_rows(rows)
        self._check_columns(columns)
        frame = self._frame if isinstance(rows, slice) else self._frame[rows]
        return frame if isinstance(columns, slice) else frame[columns]

    def _check_rows(self, rows: Any) -> None:
        if callable(rows) or (isinstance(rows, slice) and rows == _ALL):
            return
        what = "a slice of rows" if isinstance(rows, slice) else "labels of rows"
        msg = f"loc[...] was given {what}, but index labels are dropped at attach."
        raise NotProvedTypeError(msg, step="loc", hint=_ROWS)

    def _check_columns(self, columns: object) -> None:
        if isinstance(columns, list) or columns == _ALL:
            return
        if isinstance(columns, str):
            msg = (
                f"A column cannot be taken out of a private frame: loc[:, {columns!r}]."
            )
            raise NotProvedTypeError(msg, step="loc", hint=column_hint(columns))
        msg = (
            f"loc[:, ...] takes a list of column names, not a {type(columns).__name__}."
        )
        raise NotProvedTypeError(msg, step="loc", hint="write the names out: [a, b].")

    def __setitem__(self, key: object, value: object) -> NoReturn:
        msg = "A private frame is not changed in place: loc[...] = ..."
        hint = (
            "write frame = frame.assign(name=lambda df: "
            "dpframe.where(condition, value, df[name]))."
        )
        raise NotProvedTypeError(msg, step="loc", hint=hint)

    def __delitem__(self, key: object) -> NoReturn:
        msg = "A private frame is not changed in place: del loc[...]"
        raise NotProvedTypeError(msg, step="loc", hint="write frame.drop(columns=...).")
