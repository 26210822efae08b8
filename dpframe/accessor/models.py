"""Moments of several columns of a private frame together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.goal import Goal
from dpframe.mechanisms.mean_cov import NOISE, mean_cov

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.privacy.loss import Amount
    from dpframe.releases.mean_cov import MeanCov

N = TypeVar("N")


class Models(Runner[N]):
    """Releases of mean vectors and covariance matrices."""

    __slots__ = ()

    def mean_cov(
        self,
        columns: list[str] | tuple[str, ...],
        *,
        norm: str = "box",
        method: str = "auto",
        radius: float | None = None,
        bounds: Mapping[str, Any] | None = None,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> MeanCov[N]:
        """Release count, mean vector and covariance matrix of some columns.

        All parts come from one release and are charged once. Rows with a missing value
        in any of the columns are dropped. The covariance divides by n and is positive
        semidefinite.

        Parameters
        ----------
        columns : list of str
            The d numeric or Boolean columns, each of shape ``(n_rows,)``.
        norm : {"box", "l1", "l2"}, optional
            How rows are bounded: each column by its bounds, or the vector of a row by
            its l1 or l2 norm.
        method : {"auto", "gauss", "bernstein", "linf", "sym", "dwork"}, optional
            ``"gauss"``: Gaussian noise on all moments, the default where the loss is a
            ρ. The others have pure noise, for an ε in any budget.
            ``"bernstein"``: two columns with bounds, through nine cells. ``"linf"``:
            all moments at once with max-norm noise, for boxes. ``"dwork"``: count, sums
            and all products, a third of the loss each. ``"sym"``: each product once,
            with the loss split 1 : 3 : 6. Default for an ε: that of least noise, which
            is ``"bernstein"`` for a box of two columns, ``"linf"`` for another, else
            ``"sym"``.
        radius : float, optional
            Largest norm of a row, in the columns' unit; longer rows are scaled down to
            it. Public. For ``"l1"`` and ``"l2"`` only.
        bounds : mapping, optional
            Clipping bounds ``(low, high)`` by column, in its unit. Public. Default:
            those the frame carries.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise. Needs a budget in ρ, or in
            ε and δ; there an `epsilon` may be spent as ρ = ε²/2.
        within : float, optional
            Error of the noise to stay within instead, scaled to half the bounds' width:
            the smallest loss that does is used.
        confidence : float, optional
            With which probability `within` holds, in ``(0, 1)``. Default: 0.95.
        rows : int, optional
            Public guess of the number of rows, to plan `within` with.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        MeanCov
            With `n`, `mean` of shape ``(d,)``, `cov` of shape ``(d, d)`` and `corr()`,
            in the order of `columns`, each figure with its error.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon`.

        ``"bernstein"`` scales both columns to t and u in [0, 1] and releases the sums
        of the nine products of ``((1 - t)^2, 2 t (1 - t), t^2)`` and the same of u. No
        product is negative and they add up to 1, so a unit moves all sums together by
        at most `max_rows`, or by 1 without a privacy unit; each has discrete Laplace
        noise at the whole loss. ``"linf"`` scales every column to y in [-1, 1] and
        releases the ``k = 1 + d + d * (d + 1) / 2`` sums of 1, ``y_i``,
        ``2 y_i^2 - 1`` and ``y_i y_j``, each of which a unit moves by at most as much:
        the sensitivity in the max-norm. For ``"sym"`` and ``"dwork"`` rows have a
        scaled l1 norm of at most g (d for boxes, 1 for l1, sqrt(d) for l2); count, sums
        and products then have the l1 sensitivities `max_rows`, ``max_rows * g`` and
        ``max_rows * g^2``, and discrete Laplace noise at their shares of the loss.

        ``"gauss"`` is ρ-zCDP. For boxes it releases the sums of 1, ``y_i`` and all
        products ``y_i y_j``, whose l2 sensitivity is ``sqrt(1 + d + d^2)`` times
        `max_rows`, with one discrete Gaussian noise at the whole loss. For balls
        count, sums and products have l2 sensitivities of `max_rows` each, in units of
        1, `radius` and ``radius^2``, and discrete Gaussian noise at shares of the loss
        of 1 : 3 : 6. The two noises of a product of two columns are averaged.

        Accuracy
        --------
        With columns scaled to [-1, 1] and ``scale = max_rows / epsilon``, the standard
        deviation of the noise is ``scale * sqrt(18)`` for the count and for each sum of
        squares of ``"bernstein"``, ``scale * sqrt(12)`` for each sum and
        ``scale * sqrt(8)`` for the sum of products; for each sum of ``"linf"`` it is
        ``scale * sqrt((k + 1) * (k + 2) / 3)``. With a ρ it is
        ``max_rows * sqrt((1 + d + d^2) / (2 * rho))`` for each sum of a box, and that
        over ``sqrt(2)`` for products of two columns. Means and covariances move by sums
        of these over n, times the half-widths of their bounds. The ± of each figure is
        found by redrawing the noise. Clipping bias comes on top.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If a column has no bounds, or the frame a privacy unit and no `max_rows`.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon`, `rho` and `within` is needed, and `within` also needs `rows`.

        References
        ----------
        .. [1] Dwork (2006), Differential privacy, ICALP.
        .. [2] Hardt and Talwar (2010), On the geometry of differential privacy, STOC.
        .. [3] Awan and Slavkovic (2021), Structure and sensitivity in differential
           privacy, JASA.
        .. [4] Dwork, Talwar, Thakurta and Zhang (2014), Analyze Gauss, STOC.

        Examples
        --------
        >>> pairs = pl.DataFrame({"x": [0, 2, 4, 6] * 500, "y": [1, 1, 3, 5] * 500})
        >>> pairs = pairs.dp.attach(dpframe.Accountant(epsilon=1))
        >>> pairs = pairs.dp.bounds(x=(0, 6), y=(0, 6))
        >>> pairs.dp.mean_cov(["x", "y"], epsilon=1)
        Release(mean and covariance of x and y, ε=1)
          n  2000 ± 10
                      mean     cov with x     cov with y
          x  3.006 ± 0.010  4.989 ± 0.037  3.509 ± 0.028
          y  2.500 ± 0.010  3.509 ± 0.028  2.768 ± 0.038
        """
        goal = Goal(epsilon, rho, within, confidence, rows, allow_weak)
        plan = partial(
            mean_cov,
            self._frame,
            columns=columns,
            norm=norm,
            method=method,
            radius=radius,
            bounds=bounds,
        )
        return self._run(plan, goal, noise=NOISE.get(method))
