"""Numbers of a private frame: counts, sums, means and their spread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.goal import Goal
from dpframe.mechanisms.aggregate import aggregate
from dpframe.mechanisms.counts import count, n_unique
from dpframe.mechanisms.moments import moment
from dpframe.mechanisms.sums import sum_
from dpframe.privacy.loss import stated_loss

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from dpframe.privacy.loss import Amount
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class Numbers(Runner[N]):
    """Releases of one number, or of one row of numbers."""

    __slots__ = ()

    def count(
        self,
        column: str | None = None,
        *,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[N]:
        """Release the number of rows, or of privacy units.

        Parameters
        ----------
        column : str, optional
            Count only where this column is not missing. Default: every row.
        of : {"rows", "units"}, optional
            Whether rows are counted, or privacy units, each once.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in rows: the smallest loss that
            does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In rows or units; its value is an int of at least 0.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. Sensitivity is
        `max_rows`, and 1 for ``of="units"`` or without a privacy unit. The noise is
        discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        Within about ``scale * ln(20)`` of the true count in 95% of releases, where
        ``scale = sensitivity / epsilon``. Units with more than `max_rows` rows count as
        `max_rows`; that bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the frame has a privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] Ghosh, Roughgarden and Sundararajan (2009), Universally utility-
           maximizing privacy mechanisms, STOC.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.count(epsilon=0.5)
        Release(1002 ± 6, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        return self._run(partial(count, self._frame, column=column, of=of), goal)

    def n_unique(
        self,
        columns: str | list[str] | tuple[str, ...],
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[N]:
        """Release the number of distinct values, or of distinct tuples of values.

        Parameters
        ----------
        columns : str or list of str
            One column, or several whose values count as tuples. Rows with a missing one
            are dropped.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in values: the smallest loss that
            does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In values; an int of at least 0.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. Sensitivity is
        `max_groups`: a unit with more values keeps that many of them. Without a privacy
        unit, and for the unit's own column, it is 1. The noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        Within about ``scale * ln(20)`` of the true number in 95% of releases, where
        ``scale = sensitivity / epsilon``. Values that only units over `max_groups` hold
        may be lost; that bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If the frame has a privacy unit and no `max_groups`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.

        Examples
        --------
        >>> codes = pl.DataFrame({"code": list(range(300)) * 2})
        >>> codes = codes.dp.attach(dpframe.Accountant(epsilon=1))
        >>> codes.dp.n_unique("code", epsilon=0.5)
        Release(304 ± 6, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        return self._run(partial(n_unique, self._frame, columns=columns), goal)

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
    ) -> ScalarRelease[N]:
        """Release the sum of a column.

        Parameters
        ----------
        column : str
            Numeric, Boolean or duration column, shape ``(n_rows,)``. Missing values are
            dropped.
        bound : {"rows", "total"}, optional
            Whether each row is clipped to the bounds, or each unit's own sum. For
            ``"total"`` pass `bounds`, which then limit that sum.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float or timedelta, optional
            Error of the noise to stay within instead, in the column's unit: the
            smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In the column's unit: an int for integers and Booleans.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. Sensitivity is
        ``max_rows * max(|low|, |high|)`` for ``bound="rows"`` and
        ``max(|low|, |high|)`` for ``bound="total"``, in the column's unit. The noise is
        discrete Laplace.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        Within ``scale * ln(20)`` of the clipped sum in 95% of releases, where
        ``scale = sensitivity / epsilon``. Clipping bias comes on top.

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
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.
        .. [2] Wilson et al. (2020), Differentially private SQL with bounded user
           contribution, PoPETs.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.sum("days", bounds=(0, 30), epsilon=0.5)
        Release(9404 ± 180, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(sum_, self._frame, column=column, bound=bound, bounds=bounds)
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
    ) -> ScalarRelease[N]:
        """Release the mean of a column.

        Parameters
        ----------
        column : str
            Numeric, Boolean or temporal column, shape ``(n_rows,)``. Missing values are
            dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit: a unit's own mean
            then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float or timedelta, optional
            Error of the noise to stay within instead, in the column's unit: the
            smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows (units for ``of="units"``), to plan
            `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In the column's unit, within its bounds.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. The values, scaled to
        t in [0, 1], are released as the two sums of ``1 - t`` and ``t`` (their total is
        the count), which a unit moves by at most `max_rows` together, or by 1 for
        ``of="units"`` or without a privacy unit. Both have discrete Laplace noise at
        the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        At most about ``(high - low) * scale * ln(20) / n`` from the clipped mean in 95%
        of releases, where ``scale = sensitivity / epsilon``, the sensitivity is
        `max_rows` or 1 as above, and n is the number of rows (units). Clipping bias
        comes on top.

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
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.mean("days", bounds=(0, 30), epsilon=0.5)
        Release(9.43 ± 0.13, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            moment, self._frame, column=column, kind="mean", of=of, bounds=bounds
        )
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
    ) -> ScalarRelease[N]:
        """Release the variance of a column.

        It divides by n.

        Parameters
        ----------
        column : str
            Numeric or Boolean column, shape ``(n_rows,)``. Missing values are dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit: a unit's own mean
            then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in the column's unit squared: the
            smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows (units for ``of="units"``), to plan
            `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In the column's unit squared, between 0 and ``(high - low)^2 / 4``.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. The values, scaled to
        t in [0, 1], are released as the sums of ``(1 - t)^2``, ``2 t (1 - t)`` and
        ``t^2`` (their total is the count), which a unit moves by at most `max_rows`
        together, or by 1 for ``of="units"`` or without a privacy unit. All three have
        discrete Laplace noise at the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        At most about ``(high - low)^2 * scale * ln(20) / n`` from the clipped variance
        in 95% of releases, where ``scale = sensitivity / epsilon``, the sensitivity is
        `max_rows` or 1 as above, and n is the number of rows (units). Clipping bias
        comes on top.

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
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 2000
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.var("days", bounds=(0, 30), epsilon=0.5)
        Release(108.76 ± 0.31, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            moment, self._frame, column=column, kind="var", of=of, bounds=bounds
        )
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
    ) -> ScalarRelease[N]:
        """Release the standard deviation of a column.

        It divides by n.

        Parameters
        ----------
        column : str
            Numeric or Boolean column, shape ``(n_rows,)``. Missing values are dropped.
        of : {"rows", "units"}, optional
            Whether every row weighs the same, or every privacy unit: a unit's own mean
            then counts once.
        bounds : (low, high), optional
            Clipping bounds, in the column's unit. Public. Default: those the frame
            carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, in the column's unit: the
            smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows (units for ``of="units"``), to plan
            `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In the column's unit, between 0 and ``(high - low) / 2``.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. The values, scaled to
        t in [0, 1], are released as the sums of ``(1 - t)^2``, ``2 t (1 - t)`` and
        ``t^2`` (their total is the count), which a unit moves by at most `max_rows`
        together, or by 1 for ``of="units"`` or without a privacy unit. All three have
        discrete Laplace noise at the whole loss.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

        Accuracy
        --------
        The error is that of the variance divided by twice the standard deviation: at
        most about ``(high - low)^2 * scale * ln(20) / (2 * n * std)`` in 95% of
        releases, where ``scale = sensitivity / epsilon``, the sensitivity is `max_rows`
        or 1 as above, and n is the number of rows (units). Clipping bias comes on top.

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
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
           sensitivity in private data analysis, TCC.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 2000
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.std("days", bounds=(0, 30), epsilon=0.5)
        Release(10.426 ± 0.015, ε=0.5)
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            moment, self._frame, column=column, kind="std", of=of, bounds=bounds
        )
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
        """Release several statistics under one charge, as a table of one row.

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
            One row; a column for each name, in the order given.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. The columns share the
        loss equally, and the quantiles of a column count as one more; statistics of one
        column that need the same sums share those. Each part has the sensitivity of the
        release of its name, at its share. The noise is discrete Laplace; quantiles are
        found as by `.dp.quantile`.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``sensitivity / sqrt(2 * rho)``, and 95% of it is within 1.96 of these.

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

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays = stays.dp.bounds(days=(0, 30))
        >>> stays.dp.agg(n=("days", "count"), average=("days", "mean"), epsilon=0.5)
        Release(n, average, ε=0.5)
            n  ±  average     ±
          997  9     9.32  0.13
        """
        loss = stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
        plan = partial(aggregate, self._frame, statistics=statistics, named=named)
        return self._run(plan, loss)
