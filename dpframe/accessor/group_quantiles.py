"""Quantiles in every group of a private frame."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.grouped import Grouped
from dpframe.goal import Goal
from dpframe.mechanisms.quantiles import MEDIAN, quantile

if TYPE_CHECKING:
    from dpframe.privacy.loss import Amount
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class GroupQuantiles(Grouped[N]):
    """Quantiles in every group of a private frame."""

    __slots__ = ()

    def median(
        self,
        column: str,
        *,
        bounds: Any = None,
        step: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the median of a column in each group.

        Parameters
        ----------
        column : str
            Numeric, Boolean or temporal column, shape ``(n_rows,)``. Missing values are
            dropped.
        bounds : (low, high), optional
            First and last point that can come out, in the column's unit. Public.
            Default: those the frame carries; where it has none, the keys of
            `.dp.domain` are the points.
        step : number or timedelta, optional
            Distance of the points, in the column's unit. Public. Default: 1 for whole
            numbers, the time unit for times, ``(high - low) / 2**20`` for floats.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless. Needs a budget in ρ, or in ε and δ;
            there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Rank error to stay within instead, in rows, for all groups at once:
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
            The key columns and the column's name; one row for each group, in declared
            order.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups: in each of them a point is chosen with
        probability proportional to ``exp(-t / scale)``, t being how many rows too many
        lie below or above it and ``scale = sensitivity / epsilon`` [1]_, [2]_. The
        sensitivity is `max_rows`, and 1 without a privacy unit.

        With a ρ it is ρ-zCDP: the choice is that of ``epsilon = sqrt(8 * rho)`` [3]_.

        Accuracy
        --------
        The error is one of ranks, in rows of the group: ``max(L, R) - n / 2`` for L
        rows below and R above, of n. It is at most ``scale * ln(20 * points)`` in 95%
        of releases for each group. Values are rounded to the grid and clipped to the
        bounds first. In a group without rows every point has the same chance.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError, DomainRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy,
           FOCS.
        .. [2] Smith (2011), Privacy-Preserving Statistical Estimation with Optimal
           Convergence Rates, STOC.
        .. [3] Cesar and Rogers (2021), Bounding, Concentrating, and Truncating:
           Unifying Privacy Loss Composition for Data Analytics, ALT.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "A", "B"] * 200, "days": [3, 5, 7, 2] * 200}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> wards = stays.dp.group_by("ward", keys=["A", "B"])
        >>> wards.median("days", epsilon=1)
        Release(median of days by ward, 2 rows, rank ± 7 rows each, ε=1)
          ward  days  ± rows
          A        5       7
          B        2       7
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan: Any = partial(
            quantile,
            self._frame,
            column=column,
            q=MEDIAN,
            bounds=bounds,
            step=step,
            mechanism="median",
            cells=self._cells,
        )
        return self._run(plan, goal)

    def quantile(
        self,
        column: str,
        q: Any = 0.5,
        *,
        bounds: Any = None,
        step: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release a quantile of a column, or several, in each group.

        Parameters
        ----------
        column : str
            Numeric, Boolean or temporal column, shape ``(n_rows,)``. Missing values are
            dropped.
        q : float or list of float, optional
            The share of rows below, in ``[0, 1]``, read as its shortest decimal; or
            distinct shares. Public. Default: 0.5.
        bounds : (low, high), optional
            First and last point that can come out, in the column's unit. Public.
            Default: those the frame carries; where it has none, the keys of
            `.dp.domain` are the points.
        step : number or timedelta, optional
            Distance of the points, in the column's unit. Public. Default: 1 for whole
            numbers, the time unit for times, ``(high - low) / 2**20`` for floats.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless. Needs a budget in ρ, or in ε and δ;
            there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Rank error to stay within instead, in rows, for all cells at once:
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
            The key columns, `quantile` where `q` is a list, and the column's name; the
            groups in declared order, within each the levels as given.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A row lies in one
        group, so one loss pays for all groups; within a group it is spent as by
        `.dp.quantile` [1]_, [4]_.

        With a ρ it is ρ-zCDP: a choice is that of ``epsilon = sqrt(8 * rho)`` [3]_, and
        a tree has discrete Gaussian noise.

        Accuracy
        --------
        That of `.dp.quantile` for each group, in rows of the group.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError, DomainRequiredError
            If the column has no bounds, or the frame a privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed.

        References
        ----------
        .. [1] McSherry and Talwar (2007), Mechanism Design via Differential Privacy,
           FOCS.
        .. [2] Smith (2011), Privacy-Preserving Statistical Estimation with Optimal
           Convergence Rates, STOC.
        .. [3] Cesar and Rogers (2021), Bounding, Concentrating, and Truncating:
           Unifying Privacy Loss Composition for Data Analytics, ALT.
        .. [4] Hay, Rastogi, Miklau and Suciu (2010), Boosting the accuracy of
           differentially private histograms through consistency, VLDB.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "A", "B"] * 200, "days": [3, 5, 7, 2] * 200}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> wards = stays.dp.group_by("ward", keys=["A", "B"])
        >>> wards.quantile("days", [0.25, 0.75], epsilon=1)
        Release(quantiles of days by ward, 4 rows, rank ± 22 rows each, ε=1)
          ward  quantile  days  ± rows
          A         0.25     3      22
          A         0.75     7      22
          B         0.25     2      22
          B         0.75     2      22
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan: Any = partial(
            quantile,
            self._frame,
            column=column,
            q=q,
            bounds=bounds,
            step=step,
            cells=self._cells,
        )
        return self._run(plan, goal)
