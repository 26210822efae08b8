"""Groups of a private frame: one statistic, or several, in every public cell."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.group_quantiles import GroupQuantiles
from dpframe.goal import Goal
from dpframe.mechanisms.aggregate import aggregate
from dpframe.privacy.loss import stated_loss

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from dpframe.privacy.loss import Amount
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class GroupBy(GroupQuantiles[N]):
    """Groups of a private frame by public keys or bins.

    Made by `.dp.group_by`. Every group is in the table of a release, in declared
    order, whether it has rows or not; one loss pays for all of them.
    """

    __slots__ = ()

    def count(
        self,
        *,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the number of rows, or of privacy units, in each group.

        Parameters
        ----------
        of : {"rows", "units"}, optional
            Whether rows are counted, or privacy units, each once per group.
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
            The key columns and `count`; one row for each group, in declared order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups: the sensitivity of the whole table is
        `max_rows`, `max_groups` for ``of="units"``, and 1 without a privacy unit. The
        noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        Each count is within about ``scale * ln(20)`` in 95% of releases, where
        ``scale = sensitivity / epsilon``; all groups together within about
        ``scale * ln(20 * groups)``.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the frame has a privacy unit and no `max_rows` (`max_groups` for
            ``of="units"``).
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
        >>> stays.dp.group_by("ward", keys=["A", "B", "C"]).count(epsilon=0.5)
        Release(count by ward, 3 rows, ± 6 each, ε=0.5)
          ward  count  ±
          A       509  6
          B       252  6
          C       252  6
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        return self._run(self._plan("count", of=of), goal)

    def sum(
        self,
        column: str,
        *,
        bound: str = "rows",
        bounds: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | dt.timedelta | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the sum of a column in each group.

        Parameters
        ----------
        column : str
            Numeric, Boolean or duration column, shape ``(n_rows,)``. Missing values are
            dropped.
        bound : {"rows", "total"}, optional
            Whether each row is clipped to the bounds, or each unit's own sum in a
            group. For ``"total"`` pass `bounds`, which then limit that sum.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float or timedelta, optional
            Error of the noise to stay within instead, in the column's unit, for all
            cells at once: the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The key columns and the column's name; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups: the sensitivity of the whole table is
        ``max_rows * max(|low|, |high|)`` for ``bound="rows"`` and
        ``max_groups * max(|low|, |high|)`` for ``bound="total"``, in the column's unit.
        The noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        Each sum is within ``scale * ln(20)`` of the clipped sum in 95% of releases,
        where ``scale = sensitivity / epsilon``. Clipping bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`
            (`max_groups` for ``bound="total"``).
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
        .. [3] Wilson et al. (2020), Differentially private SQL with bounded user
           contribution, PoPETs.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 250, "days": [3, 7, 2, 9] * 250}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> stays.dp.group_by("ward", keys=["A", "B", "C"]).sum("days", epsilon=0.5)
        Release(sum of days by ward, 3 rows, ± 180 each, ε=0.5)
          ward  days    ±
          A     2440  180
          B      377  180
          C     2367  180
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = self._plan("sum", column=column, bound=bound, bounds=bounds)
        return self._run(plan, goal)

    def mean(
        self,
        column: str,
        *,
        of: str = "rows",
        bounds: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | dt.timedelta | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the mean of a column in each group.

        Parameters
        ----------
        column : str
            Numeric, Boolean or temporal column, shape ``(n_rows,)``. Missing values are
            dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit in a group: a
            unit's own mean then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float or timedelta, optional
            Error of the noise to stay within instead, in the column's unit, for all
            cells at once: the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows in every group, to plan `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The key columns and the column's name; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups. The values, scaled to t in [0, 1], are
        released as the two sums of ``1 - t`` and ``t`` (their total is the count),
        which a unit moves by at most `max_rows` together, by `max_groups` for
        ``of="units"``, and by 1 without a privacy unit. Both have discrete Laplace
        noise at the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        At most about ``(high - low) * scale * ln(20) / n`` from the clipped mean of
        each group in 95% of releases, where ``scale = sensitivity / epsilon``, the
        sensitivity is `max_rows`, `max_groups` or 1 as above, and n is the number of
        rows (units) in the group. A group whose noisy count is within its own error of
        0 is of low count, and its error the whole range. Clipping bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`
            (`max_groups` for ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

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
        >>> stays.dp.group_by("ward", keys=["A", "B", "C"]).mean("days", epsilon=1)
        Release(mean of days by ward, 3 rows, ε=1)
          ward  days     ±
          A     4.97  0.15
          B     1.69  0.34
          C     9.01  0.27
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = self._plan("mean", column=column, of=of, bounds=bounds)
        return self._run(plan, goal)

    def var(
        self,
        column: str,
        *,
        of: str = "rows",
        bounds: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the variance of a column in each group.

        It divides by n.

        Parameters
        ----------
        column : str
            Numeric or Boolean column, shape ``(n_rows,)``. Missing values are dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit in a group: a
            unit's own mean then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in the column's unit squared, for
            all cells at once: the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows in every group, to plan `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The key columns and the column's name; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups. The values, scaled to t in [0, 1], are
        released as the sums of ``(1 - t)^2``, ``2 t (1 - t)`` and ``t^2`` (their total
        is the count), which a unit moves by at most `max_rows` together, by
        `max_groups` for ``of="units"``, and by 1 without a privacy unit. All three have
        discrete Laplace noise at the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        At most about ``(high - low)^2 * scale * ln(20) / n`` from the clipped variance
        of each group in 95% of releases, where ``scale = sensitivity / epsilon``, the
        sensitivity is `max_rows`, `max_groups` or 1 as above, and n is the number of
        rows (units) in the group. A group whose noisy count is within its own error of
        0 is of low count, and its error the whole range. Clipping bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`
            (`max_groups` for ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] McSherry (2009), Privacy integrated queries, SIGMOD: parallel
           composition.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 5000, "days": [3, 7, 2, 9] * 5000}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 10)}
        ... )
        >>> stays.dp.group_by("ward", keys=["A", "B", "C"]).var("days", epsilon=1)
        Release(var of days by ward, 3 rows, ε=1)
          ward   days      ±
          A     4.005  0.014
          B     0.000  0.048
          C     0.020  0.060
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = self._plan("var", column=column, of=of, bounds=bounds)
        return self._run(plan, goal)

    def std(
        self,
        column: str,
        *,
        of: str = "rows",
        bounds: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the standard deviation of a column in each group.

        It divides by n.

        Parameters
        ----------
        column : str
            Numeric or Boolean column, shape ``(n_rows,)``. Missing values are dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit in a group: a
            unit's own mean then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in the column's unit, for
            all cells at once: the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows in every group, to plan `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            The key columns and the column's name; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups. The values, scaled to t in [0, 1], are
        released as the sums of ``(1 - t)^2``, ``2 t (1 - t)`` and ``t^2`` (their total
        is the count), which a unit moves by at most `max_rows` together, by
        `max_groups` for ``of="units"``, and by 1 without a privacy unit. All three have
        discrete Laplace noise at the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        At most about ``(high - low)^2 * scale * ln(20) / (2 * n * std)`` from that of
        each group's clipped values in 95% of releases, where
        ``scale = sensitivity / epsilon``, the sensitivity is `max_rows`, `max_groups`
        or 1 as above, and n is the number of rows (units) in the group. A group whose
        noisy count is within its own error of 0 is of low count, and its error the
        whole range. Clipping bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`
            (`max_groups` for ``of="units"``).
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] McSherry (2009), Privacy integrated queries, SIGMOD: parallel
           composition.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 5000, "days": [3, 7, 2, 9] * 5000}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 10)}
        ... )
        >>> stays.dp.group_by("ward", keys=["A", "B", "C"]).std("days", epsilon=1)
        Release(std of days by ward, 3 rows, ε=1)
          ward    days       ±
          A     2.0012  0.0036
          B       0.18    0.18
          C       0.00    0.25
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = self._plan("std", column=column, of=of, bounds=bounds)
        return self._run(plan, goal)

    def agg(
        self,
        statistics: Mapping[str, Any] | None = None,
        /,
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        allow_weak: bool = False,
        **named: Any,
    ) -> TableRelease[N]:
        """Release several statistics in each group, under one charge.

        Parameters
        ----------
        statistics : mapping, optional
            The same as the keywords, for names that are no identifiers.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.
        **named : str, (str, str) or (str, str, float)
            For each name, ``"count"`` or a pair of a column and one of ``"count"``,
            ``"sum"``, ``"mean"``, ``"var"``, ``"std"`` and ``"median"``; or a column,
            ``"quantile"`` and its level.

        Returns
        -------
        TableRelease
            The key columns and the names given; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups. The columns share the loss equally, and
        the quantiles of a column count as one more; statistics of one column that need
        the same sums share those. Each part has the sensitivity of the release of its
        name, at its share. The noise is discrete Laplace; quantiles are found as by
        `.dp.quantile`.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, with ``sqrt(max_groups)`` in place of
        `max_groups`; 95% of it is within 1.96 of these.

        Accuracy
        --------
        That of the release of each statistic's name, at its share of `epsilon`. A count
        that is read off the sums of a mean (variance) carries the noise of two (three)
        sums.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon` and `rho` is needed.

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
        >>> wards = stays.dp.group_by("ward", keys=["A", "B", "C"])
        >>> wards.agg(n="count", average=("days", "mean"), epsilon=1)
        Release(n, average by ward, 3 rows, ε=1)
          ward    n  ±  average     ±
          A     501  6     4.95  0.30
          B     249  6     1.85  0.68
          C     253  6     8.95  0.53
        """
        loss = stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
        plan = partial(
            aggregate,
            self._frame,
            statistics=statistics,
            named=named,
            cells=self._cells,
        )
        return self._run(plan, loss)
