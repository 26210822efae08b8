"""What a private Polars frame is: a lazy frame, its schema and its privacy state."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import polars as pl

from dpframe.accessor import PrivateNamespace
from dpframe.dialects.polars.hints import PROTOCOLS, private_way
from dpframe.dialects.shared import (
    describe,
    describe_html,
    refuse_attribute,
    refuse_protocol,
)
from dpframe.engines.parts import PART, in_parts
from dpframe.frame import UNIT, PrivateFrame, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dpframe.tally import Contribution, KeyAxis


class PolarsFrame(PrivateFrame):
    """A lazy frame with the hidden unit column, and what is known of it in public.

    Parameters
    ----------
    native : pl.LazyFrame
        The visible columns and `UNIT`.
    state : State
    types : mapping of str to pl.DataType
        The visible columns.
    eager : bool
        Whether it was attached as a `pl.DataFrame`, and is detached as one.
    """

    __slots__ = ("_eager", "_types")

    _native: pl.LazyFrame
    _types: Mapping[str, pl.DataType]
    _eager: bool
    dp: PrivateNamespace[Any, pl.DataFrame]

    def __init__(
        self,
        native: pl.LazyFrame,
        state: State,
        *,
        types: Mapping[str, pl.DataType],
        eager: bool,
    ) -> None:
        self._native = native
        self._state = state
        self._types = MappingProxyType(dict(types))
        self._eager = eager
        self.dp = PrivateNamespace(self)

    # ------------------------------------------------------------------ schema

    @property
    def schema(self) -> pl.Schema:
        """Names and dtypes of the visible columns."""
        return pl.Schema(self._types)

    @property
    def columns(self) -> list[str]:
        """Names of the visible columns."""
        return list(self._types)

    @property
    def dtypes(self) -> list[pl.DataType]:
        """Dtypes of the visible columns."""
        return list(self._types.values())

    @property
    def width(self) -> int:
        """Number of visible columns."""
        return len(self._types)

    # ------------------------------------------------------ for engines and others

    def with_state(self, state: State) -> Self:
        """Return the same rows under another state."""
        return self._made(self._native, state, self._types)

    def types(self) -> Mapping[str, pl.DataType]:
        """Return the dtype of each visible column, in order."""
        return self._types

    def duplicate_names(self) -> frozenset[str]:
        """Return no names: those of Polars are distinct."""
        return frozenset()

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand these columns and `UNIT` to an engine."""
        return self._native.select(
            *(
                pl.col(name).cast(dtype)
                if isinstance(self._types[name], pl.Null)
                else pl.col(name)
                for name, dtype in columns.items()
            ),
            UNIT,
        )

    def parts(self, axis: KeyAxis, units: Contribution) -> Sequence[Self]:
        """Return the rows of each key, under this frame's own state."""
        typed = [
            pl.col(column.name).cast(column.dtype)
            for column in axis.columns
            if isinstance(self._types[column.name], pl.Null)
        ]
        marked = in_parts(self._native.with_columns(typed), axis, units)
        as_before = [
            pl.lit(None).alias(name)
            for name, dtype in self._types.items()
            if isinstance(dtype, pl.Null)
        ]
        visible = pl.selectors.by_name(*self._types)
        return [
            self._made(
                marked.filter(pl.col(PART) == place)
                .with_columns(as_before)
                .select(visible, UNIT),
                self._state,
                self._types,
            )
            for place in range(axis.size)
        ]

    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> pl.DataFrame:
        """Return a public table in the dtypes of this frame."""
        wanted = {name: self._types[source] for name, source in like.items()}
        return table.with_columns(
            pl.col(name).cast(dtype)
            for name, dtype in wanted.items()
            if table.schema[name] != dtype and not isinstance(dtype, pl.Null)
        )

    # ----------------------------------------------------------------- refusals

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # also before there is a state
            refuse_attribute(name, {})
        refuse_attribute(name, {name: private_way(name, self._state.privacy_unit)})

    def __repr__(self) -> str:
        return describe(self._state, self._host(), self._dtype_texts())

    def _repr_html_(self) -> str:
        return describe_html(self._state, self._host(), self._dtype_texts())

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in PROTOCOLS]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        kept = {"types": dict(self._types), "eager": self._eager}
        return _restored, (type(self), self._state, kept, self._native)

    # ------------------------------------------------------------------ for verbs

    def _after(self, step: str, native: pl.LazyFrame) -> Self:
        return self._made(native, self._state.after(step), self._types)

    def _with_native(self, native: pl.LazyFrame) -> Self:
        return self._made(native, self._state, self._types)

    def _made(
        self,
        native: pl.LazyFrame,
        state: State,
        types: Mapping[str, pl.DataType],
    ) -> Self:
        return type(self)(native, state, types=types, eager=self._eager)

    def _host(self) -> str:
        return "polars DataFrame" if self._eager else "polars LazyFrame"

    def _dtype_texts(self) -> dict[str, str]:
        return {name: str(dtype) for name, dtype in self._types.items()}


def _refused(name: str) -> Callable[..., NoReturn]:
    asked, hint = PROTOCOLS[name]

    def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
        del self, args, kwargs
        raise refuse_protocol(asked, hint)

    return refuse


for _name in PROTOCOLS:
    setattr(PolarsFrame, _name, _refused(_name))


def _restored(
    cls: type[PolarsFrame], state: State, kept: dict[str, Any], native: pl.LazyFrame
) -> PolarsFrame:
    """Return a frame that was pickled with a budget that outlives its process."""
    return cls(native, state, **kept)
