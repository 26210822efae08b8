"""The Polars verbs that bring rows of one privacy unit together, or multiply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import polars as pl

from dpframe.dialects.polars import reshapes
from dpframe.dialects.polars.frame import PolarsFrame
from dpframe.dialects.polars.groups import PrivateGroupBy, aggregated, group_keys
from dpframe.dialects.polars.inputs import column_names, expressions
from dpframe.dialects.polars.join_plan import Join
from dpframe.dialects.polars.joins import join, join_private
from dpframe.dialects.polars.made import Rows
from dpframe.frame import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence


class UnitVerbs(PolarsFrame):
    """Verbs whose output rows depend on the rows of one privacy unit each."""

    __slots__ = ()

    def join(
        self,
        other: Any,
        on: Any = None,
        how: str = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
        validate: str = "m:m",
        nulls_equal: bool = False,
        coalesce: bool | None = None,
        maintain_order: str | None = None,
        build_side: str = "auto",
        allow_parallel: bool = True,
        force_parallel: bool = False,
    ) -> Self:
        """Join with a public frame, or with a private one of the same unit.

        Parameters
        ----------
        other : public frame or PrivatePolars
            ``dpframe.public(table)``, or a frame with the same budget and unit. A
            lazy table is read at once where its keys must not repeat.
        on, left_on, right_on : column, expression or list of them
            Keys. Between private frames the privacy unit is among them, on both
            sides.
        how : str
            With a public frame ``"inner"``, ``"left"``, ``"semi"`` or ``"anti"``;
            with a private one ``"right"`` and ``"full"`` too.
        suffix : str
            For columns of `other` whose name is there already.
        validate : str
            ``"m:1"``: the keys of a public frame must not repeat.
        nulls_equal : bool
            Whether missing keys match each other.
        coalesce : bool, optional
            Whether the keys of both sides become one column.
        maintain_order, build_side, allow_parallel, force_parallel
            How Polars runs it; no answer depends on it.

        Returns
        -------
        PrivatePolars
            Bounds and keys stay with their columns. A unit may have more rows than
            before: its limit counts those that come out.

        Raises
        ------
        NotProvedError
            If rows of several units could meet, a private row could count several
            times without a privacy unit, or `other` is neither public nor attached.

        Privacy
        -------
        Costs nothing. What is made of two parts of a partition is charged to the
        frame that both are parts of.

        Examples
        --------
        Looking up what is public:

        >>> stays = pl.DataFrame({"ward": ["A", "B", "A"], "days": [3, 7, 2]})
        >>> wards = pl.DataFrame({"ward": ["A", "B"], "floor": [1, 2]})
        >>> private = stays.dp.attach(dpframe.Accountant(epsilon=1))
        >>> private.join(dpframe.public(wards), on="ward").columns
        ['ward', 'days', 'floor']
        """
        asked = Join(
            on=on,
            left_on=left_on,
            right_on=right_on,
            how=how,
            suffix=suffix,
            validate=validate,
            nulls_equal=nulls_equal,
            coalesce=coalesce,
            running={
                "maintain_order": maintain_order,
                "build_side": build_side,
                "allow_parallel": allow_parallel,
                "force_parallel": force_parallel,
            },
        )
        if isinstance(other, UnitVerbs):
            return self._joined(other, asked)
        return self._of(join(self._rows(), other, asked))

    def explode(
        self,
        columns: Any,
        *more_columns: Any,
        empty_as_null: bool = False,
        keep_nulls: bool = True,
    ) -> Self:
        """Make a row of each element of a list; needs a privacy unit.

        Parameters
        ----------
        columns : str or selector
            One column of lists or arrays. Several at once fail where their lists
            differ in length, and are refused.
        empty_as_null, keep_nulls : bool
            Whether an empty list, and a missing one, become a row with a missing
            value.

        Returns
        -------
        PrivatePolars
            What was declared for the column is forgotten. The limit of a unit
            counts the new rows.

        Raises
        ------
        NotProvedError
            If there is no privacy unit: each element would count by itself.

        Privacy
        -------
        Costs nothing.
        """
        names = column_names(self._types, "explode", [columns, *more_columns])
        return self._of(
            reshapes.explode(
                self._rows(), names, empty_as_null=empty_as_null, keep_nulls=keep_nulls
            )
        )

    def unpivot(
        self,
        on: Any = None,
        *,
        index: Any = None,
        variable_name: str | None = None,
        value_name: str | None = None,
    ) -> Self:
        """Make a row of each value of several columns; needs a privacy unit.

        Parameters
        ----------
        on : columns, optional
            Columns of one dtype, or of plain numbers. Default: all that are not in
            `index`.
        index : columns, optional
            Columns to repeat beside each value. The unit column stays with them.
        variable_name, value_name : str, optional
            Names of the new columns. Default: ``"variable"``, ``"value"``.

        Returns
        -------
        PrivatePolars
            What was declared for the columns of `on` is forgotten. The limit of a
            unit counts the new rows.

        Raises
        ------
        NotProvedError
            If there is no privacy unit: each value would count by itself.

        Privacy
        -------
        Costs nothing.
        """

        def names(columns: Any) -> list[str]:
            return column_names(self._types, "unpivot", [columns])

        return self._of(
            reshapes.unpivot(
                self._rows(),
                None if on is None else names(on),
                [] if index is None else names(index),
                variable_name=variable_name,
                value_name=value_name,
            )
        )

    def group_by(
        self, *by: Any, maintain_order: bool = False, **named_by: Any
    ) -> PrivateGroupBy[Self]:
        """Group the rows of each unit, to be aggregated to one row per group.

        Parameters
        ----------
        *by : column, selector or expression
            The privacy unit, and what else splits its rows.
        maintain_order : bool
            Rows have no order: no answer depends on it.
        **named_by : column or expression
            ``name=expression`` names the key.

        Returns
        -------
        PrivateGroupBy
            With ``.agg(...)`` and Polars' shortcuts. By the unit alone, each unit
            has one row from there on.

        Raises
        ------
        NotProvedError
            If the unit is not among the keys: groups would hold rows of several.

        Privacy
        -------
        Costs nothing.

        Examples
        --------
        Totals per person, as a new private frame:

        >>> visits = pl.DataFrame({"who": [1, 1, 2], "cost": [30.0, 20.0, 45.0]})
        >>> private = visits.dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="who"
        ... )
        >>> private.group_by("who").agg(pl.col("cost").sum(), visits=pl.len()).columns
        ['who', 'cost', 'visits']
        """
        del maintain_order
        listed = expressions("group_by", by, named_by)
        keys = group_keys(self._types, self._state, listed)

        def run(exprs: Sequence[pl.Expr]) -> Self:
            return self._of(aggregated(self._rows(), keys, exprs))

        return PrivateGroupBy(keys, run)

    def unit_dtype(self) -> pl.DataType:
        """Return the dtype of the hidden unit column."""
        return self._native.collect_schema()[UNIT]

    def stacked(self, others: Sequence[Any]) -> Self:
        """Return the rows of this frame and of others, under this frame's state."""
        native = pl.concat([self._ordered(frame) for frame in (self, *others)])
        return self._made(native, self._state, self._types)

    def _joined(self, other: UnitVerbs, asked: Join) -> Self:
        return self._of(join_private(self._rows(), other._rows(), asked))

    def _ordered(self, frame: UnitVerbs) -> pl.LazyFrame:
        """Return the rows of a frame, its columns in the order of this one."""
        return frame._native.select(pl.selectors.by_name(*self._types), UNIT)

    def _rows(self) -> Rows:
        return Rows(native=self._native, types=self._types, state=self._state)

    def _of(self, rows: Rows) -> Self:
        return self._made(rows.native, rows.state, rows.types)
