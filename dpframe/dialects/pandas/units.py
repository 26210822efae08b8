"""The pandas verbs that bring rows of one privacy unit together, or multiply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from dpframe.dialects.pandas.frame import PandasFrame, usable
from dpframe.dialects.pandas.grouping import Grouping, grouped, grouping
from dpframe.dialects.pandas.groups import PandasGroups
from dpframe.dialects.pandas.merge import Merge, merge_private, merge_public
from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.frame import PrivateFrame
from dpframe.proofs.pandas.refusals import refuse_options
from dpframe.public import Public

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.dialects.pandas.figures import Figure


class UnitVerbs(PandasFrame):
    """Verbs whose output rows depend on the rows of one privacy unit each."""

    __slots__ = ()

    def merge(
        self,
        right: Any,
        how: str = "inner",
        on: str | Sequence[str] | None = None,
        left_on: str | Sequence[str] | None = None,
        right_on: str | Sequence[str] | None = None,
        *,
        sort: bool = False,
        suffixes: tuple[str | None, str | None] = ("_x", "_y"),
        validate: str | None = None,
        **options: Any,
    ) -> Self:
        """Merge with a public frame, or with a private frame of the same unit.

        Parameters
        ----------
        right : public frame or PrivatePandas
            `dpframe.public(frame)`, or a frame of the same budget and privacy unit;
            then the unit is among the keys of both, at the same place.
        how : str
            ``"inner"``, ``"left"`` or ``"left_anti"``; with a private frame also
            ``"right"`` and ``"outer"``.
        on, left_on, right_on : str or list of str, optional
            The keys, as in pandas. Default: the columns that both frames have.
        sort : bool
            Without effect: rows have no order.
        suffixes : pair of str or None
            Ends of names that occur on both sides.
        validate : str, optional
            ``"m:1"``, which is checked on the public frame alone.
        **options
            pandas' others are refused, unless left at their defaults.

        Returns
        -------
        PrivatePandas
            Bounds and keys stay, under the new names.

        Raises
        ------
        NotProvedError
            If `right` is neither public nor private, if a row would appear because
            of rows of other units, or if, without a privacy unit, public keys repeat.
        ParameterError, ParameterTypeError
            If the arguments do not suit the columns.

        Privacy
        -------
        Costs nothing. A unit has as many rows as it has matches; `max_rows` limits
        their weight when something is released. Without a privacy unit, the keys of
        the public frame must be unique.

        Notes
        -----
        Dtypes never depend on the rows: where a column may miss values (any that
        comes from the right of a left join), whole numbers become `Int64` and
        Booleans `boolean`, whether or not any is missing. Shared keys keep the dtype
        that they have on the left. A missing key matches a missing one.

        Examples
        --------
        >>> wards = dpframe.public(pd.DataFrame({"ward": ["A", "B"], "floor": [1, 2]}))
        >>> stays = pd.DataFrame({"ward": ["A", "C"], "days": [3, 7]})
        >>> stays = stays.dp.attach(dpframe.Accountant(epsilon=1))
        >>> stays.merge(wards, how="left")
        PrivateFrame · pandas DataFrame · each row a unit · 1 of ε 1 left
          ward   str
          days   int64
          floor  Int64
        steps: merge(how='left', on=['ward'])
        """
        del sort
        refuse_options("merge", options, like=pd.DataFrame.merge)
        merge = Merge(
            how=how,
            on=on,
            left_on=left_on,
            right_on=right_on,
            suffixes=suffixes,
            validate=validate,
        )
        mine = (self._native, self._state)
        if isinstance(right, Public):
            return type(self)(*merge_public(*mine, right, merge))
        if isinstance(right, PandasFrame):
            theirs = (right._native, right._state)  # noqa: SLF001 - of this class
            return type(self)(*merge_private(*mine, *theirs, merge))
        if isinstance(right, PrivateFrame):
            msg = "merge of a private pandas frame takes another private pandas frame."
            raise ParameterTypeError(msg, hint="attach those rows as a pandas frame.")
        msg = f"merge was given a {type(right).__name__}, not known to be public."
        raise NotProvedError(
            msg,
            step="merge",
            hint=(
                "write dpframe.public(frame) if it is; else attach it, with the same "
                "Accountant and the same privacy unit."
            ),
        )

    def groupby(
        self,
        by: str | Sequence[str],
        *,
        as_index: bool = True,
        sort: bool = True,
        observed: bool = True,
        dropna: bool = True,
        **options: Any,
    ) -> PandasGroups[Self]:
        """Group by the privacy unit, and perhaps by other columns.

        Parameters
        ----------
        by : str or list of str
            The keys, the column of the privacy unit among them.
        as_index, sort : bool
            Without effect: keys are columns, and rows have no order.
        observed : bool
            True: groups are those that have rows.
        dropna : bool
            Whether rows of which a key is missing are left out.
        **options
            pandas' others are refused.

        Returns
        -------
        PandasGroups
            Its figures are private frames: ``.agg(total=("x", "sum"))``,
            ``["x"].sum()``, ``.size()``.

        Raises
        ------
        NotProvedError
            If the privacy unit is not among the keys.
        ColumnNotFoundError
            If a column is not there.
        ParameterTypeError
            If a key is no column of comparable values.

        Privacy
        -------
        Costs nothing. Grouped by the unit alone, each unit has one row, so that no
        limit on its rows is needed.

        Examples
        --------
        >>> stays = pd.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="patient"
        ... )
        >>> stays.groupby("patient")["days"].sum()
        PrivateFrame · pandas DataFrame · unit patient, one row each · 1 of ε 1 left
          patient  int64  privacy unit
          days     int64
        steps: groupby(['patient']).agg(days)
        """
        del as_index, sort
        refuse_options("groupby", options, like=pd.DataFrame.groupby)
        dtypes = usable(self._native)
        asked = grouping(by, dtypes, self._state, dropna=dropna, observed=observed)

        def made(asked: Grouping, figures: Mapping[str, Figure]) -> Self:
            return type(self)(*grouped(self._native, self._state, asked, figures))

        return PandasGroups(asked, dtypes, made)
