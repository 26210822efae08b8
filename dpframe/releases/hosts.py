"""Public tables in the library of the frame they came from: pandas or Polars."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import pandas as pd

from dpframe.errors import ParameterError
from dpframe.releases.pandas_tables import host_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

N = TypeVar("N")
N_co = TypeVar("N_co", covariant=True)


class Host(Protocol[N_co]):
    """Makes a public table a native frame (`PrivateFrame.to_host`)."""

    def __call__(self, table: pl.DataFrame, like: Mapping[str, str], /) -> N_co:
        """Return the table; `like` maps its columns to those whose dtype they take."""
        ...


def handed_out(native: N) -> N:
    """Return a frame that can be changed without changing this one."""
    frame: Any = native
    if isinstance(frame, pd.DataFrame):
        return cast("N", frame.copy(deep=False))  # pandas copies on write
    return cast("N", frame.clone())


def with_columns(native: N, columns: Sequence[pl.Series]) -> N:
    """Return a native frame with Polars columns added at its end."""
    frame: Any = handed_out(native)
    if isinstance(frame, pd.DataFrame):
        for column in columns:
            frame[column.name] = host_column(column, None, None)
        return cast("N", frame)
    return frame.with_columns(columns)


@dataclass(frozen=True, kw_only=True)
class StoredHost:
    """A host that was written down: its library, and the dtypes of its columns.

    Attributes
    ----------
    library : str
        ``"pandas"`` or ``"polars"``.
    dtypes : mapping
        pandas dtypes of columns, by name.
    categories : mapping
        Levels of categorical columns; whether they are ordered.
    """

    library: str
    dtypes: Mapping[str, str] = field(default_factory=dict[str, str])
    categories: Mapping[str, tuple[tuple[Any, ...], bool]] = field(
        default_factory=dict[str, "tuple[tuple[Any, ...], bool]"]
    )

    @classmethod
    def of(cls, native: object) -> StoredHost:
        """Return what is needed to make frames like this one."""
        if not isinstance(native, pd.DataFrame):
            return cls(library="polars")
        dtypes: dict[str, str] = {}
        categories: dict[str, tuple[tuple[Any, ...], bool]] = {}
        for name in native.columns:
            dtype: Any = native[name].dtype
            if isinstance(dtype, pd.CategoricalDtype):
                levels: Any = dtype.categories
                categories[name] = (tuple(levels.tolist()), bool(dtype.ordered))
                dtypes[name] = str(levels.dtype)
            elif _from_text(str(dtype)) == dtype:
                dtypes[name] = str(dtype)
        return cls(library="pandas", dtypes=dtypes, categories=categories)

    def __call__(self, table: pl.DataFrame, like: Mapping[str, str], /) -> Any:
        """Return a public table; columns in `like` take the dtype on record."""
        if self.library == "polars":
            return table
        if self.library != "pandas":
            msg = f"This file was made from a {self.library} frame."
            raise ParameterError(msg, hint="a newer version of dpframe can read it.")
        columns = {c.name: self._column(c, liked=c.name in like) for c in table}
        return pd.DataFrame(columns, index=pd.RangeIndex(table.height))

    def _column(self, column: pl.Series, *, liked: bool) -> pd.Series[Any]:
        host: Any = None
        levels: tuple[Any, ...] | None = None
        if liked and column.name in self.dtypes:
            host = _from_text(self.dtypes[column.name])
            if column.name in self.categories:
                levels, ordered = self.categories[column.name]
                index = pd.Index(levels, dtype=host)
                host = pd.CategoricalDtype(index, ordered=ordered)
        return host_column(column, host, levels)


def _from_text(dtype: str) -> Any:
    try:
        return pd.api.types.pandas_dtype(dtype)
    except (TypeError, NotImplementedError):  # such as a decimal of Arrow
        return None
