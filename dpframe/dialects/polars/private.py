"""The private Polars frame: Polars' verbs, each proved before it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import polars as pl

from dpframe.declare import find_column
from dpframe.dialects.polars.rows import RowVerbs
from dpframe.dialects.polars.units import UnitVerbs
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import UNIT, is_reserved

if TYPE_CHECKING:
    from dpframe.accessor import PrivateNamespace
    from dpframe.frame import State

N = TypeVar("N", pl.DataFrame, pl.LazyFrame)


class PrivatePolars(RowVerbs, UnitVerbs, Generic[N]):
    """A Polars frame that only proved steps and paid releases can be made from.

    It has the verbs of Polars that look at one row, or at the rows of one privacy
    unit, with Polars' own arguments, and releases under `.dp`. Nothing is run before
    a release.
    """

    __slots__ = ()

    dp: PrivateNamespace[PrivatePolars[N], pl.DataFrame]

    @classmethod
    def bare(cls, native: Any, state: State) -> Self:
        """Return a native frame under a state; later edits of it are not seen.

        Raises
        ------
        ParameterError
            If a column has a reserved name.
        ParameterTypeError
            If a column holds Python objects.
        ColumnNotFoundError
            If the column of the unit is not there.
        """
        eager = isinstance(native, pl.DataFrame)
        rows = native.clone().lazy() if eager else cast("pl.LazyFrame", native)
        types = rows.collect_schema()
        for name, dtype in types.items():
            if is_reserved(name):
                msg = f"A column is named {name!r}, which is reserved."
                raise ParameterError(msg, hint="rename it before attaching.")
            if isinstance(dtype, pl.Object):
                msg = f"Column {name!r} holds Python objects, which Polars cannot read."
                raise ParameterTypeError(
                    msg, hint="convert it, or drop it, before attaching."
                )
        made = cls(rows, state, types=types, eager=eager)
        if state.privacy_unit is not None:
            find_column(made, state.privacy_unit)
        return made

    def detach(self) -> N:
        """Return the native frame without the hidden column; tracking ends."""
        rows = self._native.select(pl.selectors.by_name(*self.columns))
        return cast("N", rows.collect() if self._eager else rows)

    def with_unit(self) -> Self:
        """Return the rows that have a unit, with the hidden column taken from it."""
        unit = self._state.privacy_unit
        if unit is None:
            nobody = pl.lit(0, dtype=pl.UInt8).alias(UNIT)
            return self._with_native(self._native.with_columns(nobody))
        dtype = self._types[unit]
        column = pl.col(unit)
        if dtype.is_float():
            zero = pl.lit(0.0, dtype=dtype)  # of both signs: one unit
            column = pl.when(column == 0).then(zero).otherwise(column.fill_nan(None))
        if isinstance(dtype, pl.Categorical):
            column = column.cast(pl.String)
        named = self._native.with_columns(column.alias(UNIT))
        return self._with_native(named.filter(pl.col(UNIT).is_not_null()))
