"""The private Polars frame: Polars' verbs, each proved before it is taken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import polars as pl

from dpframe.declare import (
    check_contributions,
    declare_bounds,
    declare_domain,
    find_column,
)
from dpframe.dialects.polars.rows import RowVerbs
from dpframe.dialects.polars.units import UnitVerbs
from dpframe.dialects.shared import check_accountant
from dpframe.dialects.trusted import check_same_class, check_unit_visible, trusting
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import UNIT, State, Step, is_reserved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.accessor import PrivateNamespace
    from dpframe.privacy.accountant import Accountant

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
    def attach(
        cls,
        frame: N,
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivatePolars[N]:
        """Return the frame under a budget; later edits of it are not seen.

        Parameters
        ----------
        frame : pl.DataFrame or pl.LazyFrame
            Private rows. Names, dtypes and Enum levels are taken as public.
        accountant : Accountant
            The budget that releases are charged to.
        privacy_unit : str, optional
            Column that says whom a row belongs to; rows without it are dropped.
            Default: each row is a unit.
        max_rows, max_groups : int, optional
            Contribution limits per unit. Public.
        bounds, domain : mapping, optional
            Clipping bounds and keys by column. Public.

        Raises
        ------
        ColumnNotFoundError
            If a column is not there.
        ParameterTypeError
            If `accountant` is no Accountant, or a column holds Python objects.
        ParameterError
            If a limit is below 1, or a declaration does not suit its column.
        """
        check_accountant(accountant)
        limits = check_contributions(max_rows, max_groups, unit=privacy_unit)
        state = State(
            accountant=accountant,
            privacy_unit=privacy_unit,
            max_rows=limits[0],
            max_groups=limits[1],
            salt=os.urandom(16),
        )
        held = cls._holding(frame, state)
        return held.with_state(
            state.declare(
                bounds=declare_bounds(held, bounds), domain=declare_domain(held, domain)
            )
        )

    @classmethod
    def _holding(cls, frame: N, state: State) -> PrivatePolars[N]:
        """Return native rows under a state, their unit taken from its column."""
        native = frame.clone().lazy() if isinstance(frame, pl.DataFrame) else frame
        types = native.collect_schema()
        for name, dtype in types.items():
            if is_reserved(name):
                msg = f"A column is named {name!r}, which is reserved."
                raise ParameterError(msg, hint="rename it before attaching.")
            if isinstance(dtype, pl.Object):
                msg = f"Column {name!r} holds Python objects, which Polars cannot read."
                raise ParameterTypeError(
                    msg, hint="convert it, or drop it, before attaching."
                )
        plain = cls(native, state, types=types, eager=isinstance(frame, pl.DataFrame))
        held = plain._with_native(plain._with_unit(state.privacy_unit))
        return cast("PrivatePolars[N]", held)

    def trusted(self, step: Callable[[Any], Any], record: Step) -> Self:
        """Return what a step that nobody proved makes of the native frame."""
        check_unit_visible(self._state)
        before = self.detach()
        after = step(before)
        check_same_class(before, after)
        held = self._holding(after, self._state)
        return cast("Self", held.with_state(trusting(self, held, record)))

    def detach(self) -> N:
        """Return the native frame without the hidden column; tracking ends."""
        rows = self._native.select(pl.selectors.by_name(*self.columns))
        return cast("N", rows.collect() if self._eager else rows)

    def _with_unit(self, unit: str | None) -> pl.LazyFrame:
        """Return the native frame with the hidden column, taken from `unit`."""
        if unit is None:
            return self._native.with_columns(pl.lit(0, dtype=pl.UInt8).alias(UNIT))
        ctype = find_column(self, unit)
        column = pl.col(unit)
        if ctype.dtype.is_float():
            zero = pl.lit(0.0, dtype=ctype.dtype)  # of both signs: one unit
            column = pl.when(column == 0).then(zero).otherwise(column.fill_nan(None))
        if isinstance(ctype.dtype, pl.Categorical):
            column = column.cast(pl.String)
        named = self._native.with_columns(column.alias(UNIT))
        return named.filter(pl.col(UNIT).is_not_null())
