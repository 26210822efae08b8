"""Quantiles and distributions of a private frame."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dpframe.accessor.run import Previewer, Runner, previewed
from dpframe.goal import Goal
from dpframe.mechanisms.cdf import cdf
from dpframe.mechanisms.quantiles import MEDIAN, quantile

if TYPE_CHECKING:
    from dpframe.preview import Preview
    from dpframe.privacy.loss import Amount
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")


class Distributions(Runner[N]):
    """Releases of how the values of a column are spread."""

    __slots__ = ()

    @overload
    def quantile(
        self,
        column: str,
        q: float = 0.5,
        *,
        bounds: Any = None,
        step: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[N]: ...
    @overload
    def quantile(
        self,
        column: str,
        q: list[float] | tuple[float, ...],
        *,
        bounds: Any = None,
        step: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]: ...
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
    ) -> Any:
        """Release a quantile of a column, or several: points with so many rows below.

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
            Rank error to stay within instead, in rows, for all of them: the smallest
            loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease or TableRelease
            In the column's own type, within the bounds. For a list a table of
            `quantile` and the column, whose value is a list.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A point is chosen
        with probability proportional to ``exp(-t / scale)``, t being how many rows too
        many lie below or above it and ``scale = 2 * max(q, 1 - q) * s / epsilon`` (for
        q of 0 and 1 half of that) [1]_. The sensitivity s is `max_rows`, and 1 without
        a privacy unit. Several levels share the loss so that their scales are equal;
        more than three are read off one tree of noisy counts [4]_ where that promises
        smaller errors, and then the noise is discrete Laplace.

        With a ρ it is ρ-zCDP: the choice is that of ``epsilon = sqrt(8 * rho)`` [3]_,
        and a tree has discrete Gaussian noise.

        Accuracy
        --------
        The error is one of ranks, in rows, not of values: with L rows below the point
        and R above, of n rows, ``max(L - q * n, R - (1 - q) * n)`` is at most
        ``scale * ln(20 * points * levels)`` in 95% of releases, for a grid of so many
        points; off a tree, the largest error of any interval of the grid.
        How far that is in values depends on the data, so `.interval()` is the whole
        range. Values are rounded to the grid and clipped to the bounds first; that bias
        comes on top.

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
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1), bounds={"days": (0, 60)}
        ... )
        >>> stays.dp.quantile("days", 0.9, epsilon=0.5)
        Release(31, rank ± 26 rows, ε=0.5)
        >>> stays.dp.quantile("days", [0.25, 0.5, 0.75], epsilon=0.5)
        Release(quantiles of days, 3 rows, rank ± 66 rows each, ε=0.5)
          quantile  days  ± rows
              0.25     3      66
               0.5     5      66
              0.75     7      66
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan: Any = partial(
            quantile, self._frame, column=column, q=q, bounds=bounds, step=step
        )
        return self._run(plan, goal)

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
    ) -> ScalarRelease[N]:
        """Release the median of a column: half of the rows are below, half above.

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
            Rank error to stay within instead, in rows: the smallest loss
            that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Not needed: this error does not depend on the number of rows.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In the column's own type, within the bounds.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. A point is chosen
        with probability proportional to ``exp(-t / scale)``, t being how many rows too
        many lie below or above it and ``scale = sensitivity / epsilon`` [1]_, [2]_. The
        sensitivity is `max_rows`, and 1 without a privacy unit.

        With a ρ it is ρ-zCDP: the choice is that of ``epsilon = sqrt(8 * rho)`` [3]_.

        Accuracy
        --------
        The error is one of ranks, in rows, not of values: with L rows below the point
        and R above, of n rows, ``max(L, R) - n / 2`` is at most
        ``scale * ln(20 * points)`` in 95% of releases, for a grid of so many points.
        How far that is in values depends on the data, so `.interval()` is the whole
        range. Values are rounded to the grid and clipped to the bounds first; that bias
        comes on top.

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
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.median("days", bounds=(0, 60), epsilon=0.5)
        Release(5, rank ± 15 rows, ε=0.5)
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
        )
        return self._run(plan, goal)

    def cdf(
        self,
        column: str,
        *,
        bins: Any,
        bounds: Any = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the cumulative distribution of a column at the ends of bins.

        Parameters
        ----------
        column : str
            Numeric or temporal column, shape ``(n_rows,)``. Rows that are missing or in
            no bin are left out.
        bins : int or list
            Number of equal bins between the bounds, or their increasing edges. Public.
            Bins are closed on the left, the last one on both sides.
        bounds : (low, high), optional
            Values are clipped to them first, in the column's unit. Public. Default:
            those the frame carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in ε
            and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, as a fraction in ``(0, 1)``, for
            all bins at once: the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows, to plan `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        TableRelease
            Columns `bin_right` and `fraction`: the share of the rows in this bin and
            those before. It never falls, and the last one is 1. Where no row is
            counted, it rises evenly.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`. The rows are counted
        in every node of a tree over the bins, whose branching follows from their
        number. A row is in one node of each level, so the sensitivity is the number of
        levels times `max_rows`, and the levels alone without a privacy unit. The noise
        is discrete Laplace; the counts are made consistent and the sums of them
        monotone [1]_.

        With a ρ it is ρ-zCDP: the noise is discrete Gaussian of standard deviation
        ``max_rows * sqrt(levels / (2 * rho))``.

        Accuracy
        --------
        All fractions are within ``S / n`` of the true ones in 95% of releases, n being
        the noisy number of rows and S the largest error of any interval of bins: about
        ``27 / epsilon`` rows for 64 bins and ``68 / epsilon`` for 1000. Where S is no
        less than n, every fraction is of low count, and its error the whole range.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If `bins` is a number and the column has no bounds, or the frame has a
            privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Hay, Rastogi, Miklau and Suciu (2010), Boosting the accuracy of
           differentially private histograms through consistency, VLDB.

        Examples
        --------
        >>> days = [3, 7, 2, 31, 5] * 200
        >>> stays = pl.DataFrame({"days": days}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.cdf("days", bins=[0, 4, 8, 40], epsilon=0.5)
        Release(cumulative distribution of days, 3 rows, ± 0.011 each, ε=0.5)
          bin_right  fraction      ±
                  4     0.403  0.011
                  8     0.806  0.011
                 40     1.000  0.011
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(cdf, self._frame, column=column, bins=bins, bounds=bounds)
        return self._run(plan, goal)


class PreviewDistributions(Previewer[N]):
    """Previews of how the values of a column are spread."""

    __slots__ = ()

    median = previewed(Distributions[Any].median)
    cdf = previewed(Distributions[Any].cdf)

    if TYPE_CHECKING:  # `previewed` sees one overload of a method

        @overload
        def quantile(
            self,
            column: str,
            q: float = 0.5,
            *,
            bounds: Any = None,
            step: Any = None,
            epsilon: Amount | None = None,
            rho: Amount | None = None,
            within: float | None = None,
            confidence: float = 0.95,
            rows: int | None = None,
            allow_weak: bool = False,
        ) -> Preview[ScalarRelease[N]]: ...
        @overload
        def quantile(
            self,
            column: str,
            q: list[float] | tuple[float, ...],
            *,
            bounds: Any = None,
            step: Any = None,
            epsilon: Amount | None = None,
            rho: Amount | None = None,
            within: float | None = None,
            confidence: float = 0.95,
            rows: int | None = None,
            allow_weak: bool = False,
        ) -> Preview[TableRelease[N]]: ...
        def quantile(self, *args: Any, **options: Any) -> Any:
            """Preview one quantile, or several."""
            ...

    else:
        quantile = previewed(Distributions[Any].quantile)
