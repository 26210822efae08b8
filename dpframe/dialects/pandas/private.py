"""The private pandas frame: pandas' verbs, each proved before it is taken."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from dpframe.declare import find_column
from dpframe.dialects.pandas.columns import unit_column
from dpframe.dialects.pandas.frame import kept_rows, public_dtype
from dpframe.dialects.pandas.rows import RowVerbs
from dpframe.dialects.pandas.units import UnitVerbs
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import UNIT, is_reserved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.accessor import PrivateNamespace
    from dpframe.frame import State


class PrivatePandas(RowVerbs, UnitVerbs):
    """A pandas frame that only proved steps and paid releases can be made from.

    Verbs take pandas' own arguments; what could mix units is refused when it is
    written, before a row is read. Index labels never matter: rows are taken by
    position, and every step numbers them anew.

    Notes
    -----
    Attaching takes a copy-on-write snapshot: what is later done to the raw frame by
    pandas is not seen. Writing into a numpy array that shares memory with the frame
    goes behind pandas' back and is seen, as it is by any copy-on-write copy.

    Columns whose names are not text, or occur twice, ride along but cannot be used.
    Object columns allow `isna` and `notna` alone, since what pandas makes of Python
    objects depends on every one of them.
    """

    __slots__ = ()

    dp: PrivateNamespace[PrivatePandas, pd.DataFrame]

    @classmethod
    def bare(cls, native: Any, state: State) -> Self:
        """Return a native frame under a state.

        Raises
        ------
        ParameterTypeError
            If it has MultiIndex columns.
        ParameterError
            If a column has a reserved name.
        ColumnNotFoundError
            If the column of the unit is not there.
        """
        if isinstance(native.columns, pd.MultiIndex):
            msg = "Columns with several levels cannot be attached."
            raise ParameterTypeError(msg, hint="flatten them to one name each first.")
        for name in filter(is_reserved, native.columns):
            msg = f"The column name {name!r} is reserved."
            raise ParameterError(msg, hint="rename it before attaching.")
        made = cls(native, state)
        if state.privacy_unit is not None:
            find_column(made, state.privacy_unit)
        return made

    def with_unit(self) -> Self:
        """Return the rows that have a unit, numbered anew, the hidden column last."""
        native = pd.DataFrame(self._native)
        native.index = pd.RangeIndex(len(native))
        if self._state.privacy_unit is None:
            native[UNIT] = np.zeros(len(native), dtype=np.uint8)
            return type(self)(native, self._state)
        native[UNIT] = unit_column(native[self._state.privacy_unit])
        known = native[UNIT].notna().to_numpy()
        kept = native if known.all() else kept_rows(native, known)
        return type(self)(kept, self._state)

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
