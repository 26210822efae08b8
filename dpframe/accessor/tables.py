"""Tables of a private frame: histograms, contingency tables, and the way to groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.grouped import group_cells
from dpframe.accessor.groups import GroupBy
from dpframe.accessor.run import Runner
from dpframe.goal import Goal
from dpframe.mechanisms.tables import contingency, histogram

if TYPE_CHECKING:
    from dpframe.privacy.loss import Amount
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class Tables(Runner[N]):
    """Releases of tables over public keys and bins."""

    __slots__ = ()

    def histogram(
        self,
        column: str,
        *,
        bins: Any = None,
        keys: Any = None,
        bounds: Any = None,
        other: bool = False,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the counts of a column by keys or by bins.

        Every key and every bin is in the table, in order, whether it has rows or not.

        Parameters
        ----------
        column : str
            Column to count by, shape ``(n_rows,)``. Rows that are missing, or match no
            key and no bin, are counted by `other` alone.
        bins : int or list, optional
            Number of equal bins between the bounds, or their increasing edges. Public.
            Bins are closed on the left, the last one on both sides.
        keys : list, optional
            Values to count, distinct. Public, or what `.dp.discover_keys` released.
            Default: those of `.dp.domain`, or of a Boolean or Enum column's type.
        bounds : (low, high), optional
            Values are clipped to them first, in the column's unit. Public. Default:
            those the frame carries. For bins only.
        other : bool, optional
            Whether a last cell counts all rows that are in no other, missing ones too.
        of : {"rows", "units"}, optional
            Whether rows are counted, or privacy units, each once per cell.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in rows, for all cells at once:
            the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            Columns `bin_left`, `bin_right`, `count`, or the column's name and `count`.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        cell, so one loss pays for all cells: the sensitivity of the whole table is
        `max_rows`, `max_groups` for ``of="units"``, and 1 without a privacy unit. The
        noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        Each count is within about ``scale * ln(20)`` in 95% of releases, where
        ``scale = sensitivity / epsilon``; all cells together within about
        ``scale * ln(20 * cells)``.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        DomainRequiredError
            If keys and bins are neither given nor carried.
        BoundsRequiredError
            If `bins` is a number and the column has no bounds, or the frame has a
            privacy unit and no `max_rows` (`max_groups` for ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] McSherry (2009), Privacy integrated queries, SIGMOD: parallel
           composition.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.histogram("days", bins=[0, 4, 8, 40], epsilon=0.5)
        Release(count by days, 3 rows, ± 6 each, ε=0.5)
          bin_left  bin_right  count  ±
                 0          4    399  6
                 4          8    402  6
                 8         40    202  6
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            histogram,
            self._frame,
            column=column,
            bins=bins,
            keys=keys,
            bounds=bounds,
            other=other,
            of=of,
        )
        return self._run(plan, goal)

    def value_counts(
        self,
        column: str,
        *,
        keys: Any = None,
        other: bool = False,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the counts of a column by keys.

        The keys are in the table in the order given, whether they occur or not.

        Parameters
        ----------
        column : str
            Column to count by, shape ``(n_rows,)``. Rows that are missing or match no
            key are counted by `other` alone.
        keys : list, optional
            Values to count, distinct. Public, or what `.dp.discover_keys` released.
            Default: those of `.dp.domain`, or of a Boolean or Enum column's type.
        other : bool, optional
            Whether a last cell counts all rows that are in no other, missing ones too.
        of : {"rows", "units"}, optional
            Whether rows are counted, or privacy units, each once per cell.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in rows, for all cells at once:
            the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The column's name and `count`.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        cell, so one loss pays for all cells: the sensitivity of the whole table is
        `max_rows`, `max_groups` for ``of="units"``, and 1 without a privacy unit. The
        noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        Each count is within about ``scale * ln(20)`` in 95% of releases, where
        ``scale = sensitivity / epsilon``; all cells together within about
        ``scale * ln(20 * cells)``.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        DomainRequiredError
            If keys are neither given nor carried.
        BoundsRequiredError
            If the frame has a privacy unit and no `max_rows` (`max_groups` for
            ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] McSherry (2009), Privacy integrated queries, SIGMOD: parallel
           composition.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 250, "days": [3, 7, 2, 9] * 250}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> stays.dp.value_counts("ward", keys=["A", "B", "C"], epsilon=0.5)
        Release(count by ward, 3 rows, ± 6 each, ε=0.5)
          ward  count  ±
          A       504  6
          B       252  6
          C       248  6
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            histogram,
            self._frame,
            column=column,
            keys=keys,
            other=other,
            of=of,
            mechanism="value_counts",
        )
        return self._run(plan, goal)

    def contingency(
        self,
        columns: list[str] | tuple[str, ...],
        *,
        keys: Any = None,
        bins: Any = None,
        other: bool = False,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the counts of all combinations of several columns.

        Every combination is in the table, the first column varying slowest.

        Parameters
        ----------
        columns : list of str
            Columns to count by. Rows that match no combination are counted by `other`
            alone.
        keys : mapping or list of tuple, optional
            For each column the values to count, or the combinations themselves. Public,
            or what `.dp.discover_keys` released. Default: those of `.dp.domain`, or of
            a column's type.
        bins : mapping, int or list, optional
            For each column the number of its bins, or their edges; for one column these
            alone. Public.
        other : bool, optional
            Whether a last cell counts all rows that are in no other, missing ones too.
        of : {"rows", "units"}, optional
            Whether rows are counted, or privacy units, each once per cell.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in rows, for all cells at once:
            the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The columns' names (``<column>_left`` and ``_right`` for bins) and `count`.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        cell, so one loss pays for all cells: the sensitivity of the whole table is
        `max_rows`, `max_groups` for ``of="units"``, and 1 without a privacy unit. The
        noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        Each count is within about ``scale * ln(20)`` in 95% of releases, where
        ``scale = sensitivity / epsilon``; all cells together within about
        ``scale * ln(20 * cells)``.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        DomainRequiredError
            If keys and bins are neither given nor carried.
        BoundsRequiredError
            If the frame has a privacy unit and no `max_rows` (`max_groups` for
            ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork (2006), Differential privacy, ICALP.
        .. [2] McSherry (2009), Privacy integrated queries, SIGMOD: parallel
           composition.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 250, "days": [3, 7, 2, 9] * 250}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> cells = {"keys": {"ward": ["A", "B"]}, "bins": {"days": [0, 5, 30]}}
        >>> stays.dp.contingency(["ward", "days"], **cells, epsilon=0.5)
        Release(count by ward and days, 4 rows, ± 6 each, ε=0.5)
          ward  days_left  days_right  count  ±
          A             0           5    250  6
          A             5          30    251  6
          B             0           5    247  6
          B             5          30      0  6
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            contingency,
            self._frame,
            columns=columns,
            keys=keys,
            bins=bins,
            other=other,
            of=of,
        )
        return self._run(plan, goal)

    def group_by(
        self,
        *columns: str | list[str],
        keys: Any = None,
        bins: Any = None,
    ) -> GroupBy[N]:
        """Group by public keys or bins; the releases follow as methods.

        Parameters
        ----------
        *columns : str or list of str
            Columns to group by, one by one or as a list.
        keys : mapping or list, optional
            For each column the values of its groups; for one column a list, for several
            a list of tuples. Public, or what `.dp.discover_keys` released. Default:
            those of `.dp.domain`, or of a column's type.
        bins : mapping, int or list, optional
            For each column the number of its bins, or their edges; for one column these
            alone. Public.

        Returns
        -------
        GroupBy
            With `count`, `sum`, `mean`, `var`, `std` and `agg`. Nothing is spent yet.

        Raises
        ------
        DomainRequiredError
            If a column has no keys and no bins.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If keys or bins are empty, repeat one, or are of another type than the
            column.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 250, "days": [3, 7, 2, 9] * 250}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> wards = stays.dp.group_by("ward", keys=["A", "B", "C"])
        >>> wards.mean("days", epsilon=0.5)
        Release(mean of days by ward, 3 rows, ε=0.5)
          ward  days     ±
          A     5.08  0.30
          B     1.81  0.68
          C     8.92  0.54
        """
        return GroupBy(
            self._frame, self._run, group_cells(self._frame, columns, keys, bins)
        )
