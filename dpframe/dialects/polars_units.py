"""The Polars verbs that bring rows of one privacy unit together, or multiply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from dpframe.dialects.polars_frame import PolarsFrame
from dpframe.dialects.polars_groups import PrivateGroupBy, aggregated, group_keys
from dpframe.dialects.polars_inputs import expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


class UnitVerbs(PolarsFrame):
    """Verbs whose output rows depend on the rows of one privacy unit each."""

    __slots__ = ()

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
        >>> private.group_by("who").agg(pl.col("cost").sum(), visits=pl.len()).schema
        Schema({'who': Int64, 'cost': Float64, 'visits': UInt32})
        """
        del maintain_order
        listed = expressions("group_by", by, named_by)
        keys = group_keys(self._types, self._state, listed)

        def run(exprs: Sequence[pl.Expr]) -> Self:
            rows = aggregated(self._native, self._types, self._state, keys, exprs)
            return self._made(rows.native, rows.state, rows.types)

        return PrivateGroupBy(keys, run)
