"""The private pandas frame: pandas' verbs, each proved before it is taken."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from dpframe.declare import (
    check_contributions,
    declare_bounds,
    declare_domain,
    find_column,
)
from dpframe.dialects.pandas.columns import unit_column
from dpframe.dialects.pandas.frame import kept_rows, public_dtype
from dpframe.dialects.pandas.rows import RowVerbs
from dpframe.dialects.pandas.units import UnitVerbs
from dpframe.dialects.shared import check_accountant
from dpframe.dialects.trusted import check_same_class, check_unit_visible, trusting
from dpframe.errors import (
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT, State, Step, is_reserved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.accessor import PrivateNamespace
    from dpframe.privacy.accountant import Accountant


class PrivatePandas(RowVerbs, UnitVerbs):
    """A pandas frame that only proved steps and paid releases can be made from.

    Verbs take pandas' own arguments; what could mix units is refused when it is
    written, before a row is read. Index labels never matter: rows are taken by
    position, and every step numbers them anew.

    Notes
    -----
    `attach` takes a copy-on-write snapshot: what is later done to the raw frame by
    pandas is not seen. Writing into a numpy array that shares memory with the frame
    goes behind pandas' back and is seen, as it is by any copy-on-write copy.

    Columns whose names are not text, or occur twice, ride along but cannot be used.
    Object columns allow `isna` and `notna` alone, since what pandas makes of Python
    objects depends on every one of them.
    """

    __slots__ = ()

    dp: PrivateNamespace[PrivatePandas, pd.DataFrame]

    @classmethod
    def attach(
        cls,
        frame: pd.DataFrame,
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> Self:
        """Attach a budget to a pandas frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            The raw frame; it is never written to.
        accountant : Accountant
            The budget that releases are charged to.
        privacy_unit : str, optional
            Column that says whom a row belongs to; rows where it is missing are
            dropped. Default: each row is a unit of its own.
        max_rows, max_groups : int, optional
            Public limits on what one unit contributes.
        bounds, domain : mapping, optional
            Public clipping bounds and keys, by column.

        Returns
        -------
        PrivatePandas
            Nothing is read from it but by a release.

        Raises
        ------
        ParameterTypeError
            If `frame` is no pandas frame, has MultiIndex columns, or `accountant`
            is no budget.
        ColumnNotFoundError
            If the unit or a declared column is not there.

        Privacy
        -------
        Costs nothing. The schema (names and dtypes) is taken as public, the
        categories of a categorical column are not.
        """
        check_accountant(accountant)
        _check_attached(frame)
        limits = check_contributions(max_rows, max_groups, unit=privacy_unit)
        state = State(
            accountant=accountant,
            privacy_unit=privacy_unit,
            max_rows=limits[0],
            max_groups=limits[1],
            salt=os.urandom(16),
        )
        bare = cls(frame, state)
        if privacy_unit is not None:
            find_column(bare, privacy_unit)
        declared = state.declare(
            bounds=declare_bounds(bare, bounds), domain=declare_domain(bare, domain)
        )
        return cls(_with_unit(frame, privacy_unit), declared)

    def trusted(self, step: Callable[[Any], Any], record: Step) -> Self:
        """Return what a step that nobody proved makes of the native frame."""
        check_unit_visible(self._state)
        before = self.detach()
        after = step(before)
        check_same_class(before, after)
        _check_attached(after)
        unit = self._state.privacy_unit
        if unit is not None:
            find_column(type(self)(after, self._state), unit)
        held = type(self)(_with_unit(after, unit), self._state)
        return held.with_state(trusting(self, held, record))

    def detach(self) -> pd.DataFrame:
        """Return the native frame without the hidden column; tracking ends."""
        return self._native.iloc[:, :-1].copy(deep=False)

    def unit_dtype(self) -> Any:
        """Return the dtype of the hidden unit column, without categories."""
        return public_dtype(self._native.dtypes[UNIT])

    def stacked(self, others: Sequence[Any]) -> Self:
        """Return the rows of this frame and of others, under this frame's state.

        Categories are refused: they may come from the rows, and those that differ
        are stacked in another dtype, or are too many for theirs.
        """
        tables = [self._native, *(frame._native for frame in others)]  # noqa: SLF001 - frames of this class
        names = list(self._native.columns)
        for table in tables:
            if {*table.columns} != {*names}:
                msg = "concat was given frames of several columns."
                raise ParameterError(msg, hint="select the same columns of each.")
            for name in names:
                dtype = public_dtype(table.dtypes[name])
                if isinstance(dtype, pd.CategoricalDtype) or "dictionary" in str(dtype):
                    shown = self._state.privacy_unit if name == UNIT else name
                    msg = f"concat was given column {shown!r}, a category."
                    raise ParameterTypeError(
                        msg, hint='write .astype({"name": "str"}) before attaching.'
                    )
                if dtype != public_dtype(self._native.dtypes[name]):
                    msg = f"concat was given column {name!r} in two dtypes."
                    raise ParameterTypeError(msg, hint="cast it in each with .astype.")
        native = pd.concat([table[names] for table in tables], ignore_index=True)
        return type(self)(native, self._state)


def _with_unit(frame: pd.DataFrame, unit: str | None) -> pd.DataFrame:
    """Return the rows that have a unit, numbered anew, with the hidden column last."""
    native = pd.DataFrame(frame)
    native.index = pd.RangeIndex(len(native))
    if unit is None:
        native[UNIT] = np.zeros(len(native), dtype=np.uint8)
        return native
    visible = native[unit]
    hidden = unit_column(visible)
    known = hidden.notna().to_numpy()
    if not known.all():
        native = kept_rows(native, known)
        hidden = native[unit] if hidden is visible else hidden[known]
        hidden.index = native.index
    native[UNIT] = hidden
    return native


def _check_attached(frame: object) -> None:
    if not isinstance(frame, pd.DataFrame):
        msg = f"attach needs a frame, not a {type(frame).__name__}."
        raise ParameterTypeError(msg, hint="write series.to_frame() for a Series.")
    if isinstance(frame.columns, pd.MultiIndex):
        msg = "Columns with several levels cannot be attached."
        raise ParameterTypeError(msg, hint="flatten them to one name each first.")
    for name in filter(is_reserved, frame.columns):
        msg = f"The column name {name!r} is reserved."
        raise ParameterError(msg, hint="rename it before attaching.")
