"""What a private pandas frame is: an eager frame and its privacy state."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

import numpy as np
import pandas as pd
import polars as pl

from dpframe.accessor import PrivateNamespace
from dpframe.declare import find_column
from dpframe.dialects.pandas.columns import polars_column
from dpframe.dialects.pandas.hints import HINTS
from dpframe.dialects.pandas.windows import unit_window
from dpframe.dialects.shared import (
    describe,
    describe_html,
    refuse_attribute,
    refuse_protocol,
)
from dpframe.engines.parts import PART, in_parts
from dpframe.errors import NotProvedTypeError
from dpframe.frame import UNIT, PrivateFrame, State
from dpframe.proofs.pandas.kinds import polars_dtype
from dpframe.proofs.pandas.record import Schema
from dpframe.releases.pandas_tables import host_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.tally import Contribution, KeyAxis

_HOST: Final = "pandas DataFrame"
_ROW: Final = f"{UNIT}row__"


class PandasFrame(PrivateFrame):
    """A pandas frame with the hidden unit column last, and its privacy state."""

    __slots__ = ()

    dp: PrivateNamespace[Any, pd.DataFrame]

    def __init__(self, native: pd.DataFrame, state: State) -> None:
        self._native = native
        self._state = state
        self.dp = PrivateNamespace(self)

    # What it shows

    @property
    def columns(self) -> pd.Index[Any]:
        """Column names, as pandas gives them."""
        return self._native.columns[: self._native.shape[1] - 1]

    @property
    def dtypes(self) -> pd.Series[Any]:
        """The dtype of each column; a category does not show its categories."""
        shown = [public_dtype(dtype) for dtype in self._native.dtypes.iloc[:-1]]
        return pd.Series(shown, index=self.columns, dtype=object)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The dtype of each column by name; duplicate names are absent."""
        dtypes = usable(self._native)
        return MappingProxyType({k: public_dtype(v) for k, v in dtypes.items()})

    def __repr__(self) -> str:
        return describe(self._state, _HOST, self._shown())

    def _repr_html_(self) -> str:
        return describe_html(self._state, _HOST, self._shown())

    def _shown(self) -> dict[str, str]:
        pairs = zip(self.columns, self._native.dtypes, strict=False)
        return {str(name): str(public_dtype(dtype)) for name, dtype in pairs}

    # What engines and releases need

    def with_state(self, state: State) -> Self:
        """Return the same rows under another state."""
        return type(self)(self._native, state)

    def types(self) -> Mapping[str, pl.DataType]:
        """Return the Polars dtype of each usable column, in order."""
        return {
            name: polars_dtype(dtype) for name, dtype in usable(self._native).items()
        }

    def duplicate_names(self) -> frozenset[str]:
        """Return the names that stand for more than one column."""
        return duplicates(self._native)

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand these columns and the unit to an engine, without other columns.

        Memory is shared where it can be: collect while this frame is alive, since
        pandas lets the raw frame write in place once its last snapshot is gone.
        """
        host = self._native[UNIT]
        unit = polars_column(UNIT, host, polars_dtype(host.dtype))
        found = [
            polars_column(name, self._native[name], dtype)
            for name, dtype in columns.items()
        ]
        named = {column.name: column for column in [*found, unit]}  # even ""
        return pl.DataFrame(named).lazy()

    def parts(self, axis: KeyAxis, units: Contribution) -> Sequence[Self]:
        """Return the rows of each key, under this frame's own state."""
        read = {column.name: column.dtype for column in axis.columns}
        numbered = self.scan(read).with_row_index(_ROW)
        found = in_parts(numbered, axis, units).select(_ROW, PART).collect()
        place = np.full(len(self._native), -1)
        place[found[_ROW].to_numpy()] = found[PART].to_numpy()
        return [
            type(self)(kept_rows(self._native, place == part), self._state)
            for part in range(axis.size)
        ]

    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> pd.DataFrame:
        """Return a public table as a pandas frame, its keys as columns.

        A column in `like` takes this frame's dtype: a category has the declared
        keys as its categories, never those of the data. Whole numbers with a
        missing cell are nullable `Int64`.
        """
        made: dict[str, pd.Series[Any]] = {}
        for column in table:
            source = like.get(column.name)
            host = None if source is None else self._native[source].dtype
            keys = None if source is None else self._state.domain.get(source)
            made[column.name] = host_column(column, host, keys)
        return pd.DataFrame(made, index=pd.RangeIndex(table.height))

    # For verbs

    def _checked(self, name: object) -> str:
        """Check that a name stands for one visible column, of whatever dtype."""
        if isinstance(name, str) and name in usable(self._native):
            return name
        return find_column(self, name).name

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restored, (type(self), self._state, self._native)  # it may refuse first

    # What it refuses

    def __getattr__(self, name: str) -> NoReturn:
        hints: Mapping[str, str] = HINTS
        if name not in HINTS and not name.startswith("_") and name in self.schema:
            hints = {name: column_hint(name)}
        refuse_attribute(name, hints)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        step = f"[{key!r}] = ..."
        msg = f"A private frame is not changed in place: {step}"
        raise NotProvedTypeError(
            msg, step=step, hint="write frame = frame.assign(name=lambda df: ...)."
        )

    def __delitem__(self, key: object) -> NoReturn:
        step = f"del [{key!r}]"
        msg = f"A private frame is not changed in place: {step}"
        raise NotProvedTypeError(msg, step=step, hint="write frame.drop(columns=...).")

    def __len__(self) -> NoReturn:
        raise refuse_protocol("len()", "release it: .dp.count(...).")

    def __iter__(self) -> NoReturn:
        raise refuse_protocol("iteration", ".columns holds the names.")

    def __contains__(self, key: object) -> NoReturn:
        raise refuse_protocol("in", "write name in frame.columns.")

    def __bool__(self) -> NoReturn:
        raise refuse_protocol("truth value", "write frame is not None.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise refuse_protocol("array", "releases have to_numpy().")

    def __dataframe__(self, *args: Any, **options: Any) -> NoReturn:
        raise refuse_protocol("interchange", "write .dp.detach() to end tracking.")

    def __arrow_c_stream__(self, requested_schema: object = None) -> NoReturn:
        raise refuse_protocol("Arrow stream", "write .dp.detach() to end tracking.")


def _restored(
    cls: type[PandasFrame], state: State, native: pd.DataFrame
) -> PandasFrame:
    """Return a frame that was pickled with a budget that outlives its process."""
    return cls(native, state)


def duplicates(native: pd.DataFrame) -> frozenset[str]:
    """Return the names that stand for more than one column."""
    columns = native.columns
    return frozenset(columns[columns.duplicated()])


def usable(native: pd.DataFrame) -> dict[str, Any]:
    """Return the dtype of each column that a step can name."""
    repeated = duplicates(native)
    return {
        name: dtype
        for name, dtype in native.dtypes.items()
        if isinstance(name, str) and name != UNIT and name not in repeated
    }


def schema_of(native: pd.DataFrame, state: State) -> Schema:
    """Return the visible columns, and how a step reaches the rows of a unit."""
    return Schema(
        dtypes=usable(native),
        duplicates=duplicates(native),
        window=unit_window(state, native.dtypes[UNIT]),
    )


def kept_rows(native: pd.DataFrame, kept: Any) -> pd.DataFrame:
    """Return some rows, numbered anew."""
    rows = native[kept]
    rows.index = pd.RangeIndex(len(rows))
    return rows


def public_dtype(dtype: Any) -> Any:
    """Return a dtype as it may be shown: categories may come from the data."""
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.CategoricalDtype(ordered=dtype.ordered)
    return dtype


def column_hint(name: str) -> str:
    """Return how a step or a release names a column that was asked for itself."""
    return (
        f'write pd.col("{name}") or lambda df: df["{name}"] in a step, as in '
        f'.assign(y=lambda df: df["{name}"] * 2); [["{name}"]] to select, or .dp for '
        "a release."
    )
