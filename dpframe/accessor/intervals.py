"""Releases that answer later questions for nothing, and what they are worth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.mechanisms.intervals import synthetic_intervals
from dpframe.mechanisms.largest_error import largest_error
from dpframe.privacy.loss import stated_loss

if TYPE_CHECKING:
    from dpframe.privacy.loss import Amount
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.synthetic_intervals import SyntheticIntervals

N = TypeVar("N")


class IntervalMethods(Runner[N]):
    """Synthetic rows for intervals and boxes, and how far off their answers are."""

    __slots__ = ()

    def synthetic_intervals(
        self,
        columns: str | list[str],
        *,
        step: Any = None,
        domain: Any = None,
        bounds: Any = None,
        method: str = "auto",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        allow_weak: bool = False,
    ) -> SyntheticIntervals[N]:
        """Release counts of every interval of a column at once, and synthetic rows.

        Parameters
        ----------
        columns : str or list of str
            One column; or two to six, for axis-aligned boxes of them.
        step : number or timedelta, optional
            Distance of neighbouring points of the grid that values are rounded to, in
            the column's unit; by column where there are several. Default: 1 for whole
            numbers and the unit of a time; a float column needs it. Public.
        domain : list, optional
            The points of the grid instead; by column where there are several. Public.
        bounds : pair, optional
            Ends of the grid, in the column's unit; by column where there are several.
            Default: those of `.dp.bounds`. Public.
        method : {"auto", "tree", "privtree", "quad", "binary_search"}, optional
            ``"tree"`` counts a complete tree of cells, ``"quad"`` the same for boxes;
            ``"privtree"`` first finds where the rows are; ``"binary_search"`` is the
            algorithm of Blum, Ligett and Roth, to compare with. Default: a complete
            tree up to 2^20 steps of a column, or 4096 cells of several; else privtree.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        SyntheticIntervals
            With `.count(lo, hi)`, `.fraction`, `.cdf` and `.quantile`, each at no
            further cost, and synthetic rows in the columns' own dtypes.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one. Costs `epsilon` once, whatever is
        asked later. A row is in one node of each of h levels of a tree, so each count
        has discrete Laplace noise of scale ``h * max_rows / epsilon``. A partition has
        2/5 of the loss, and its counts the rest.

        With a ρ it is ρ-zCDP: the noise of counts is discrete Gaussian.

        Accuracy
        --------
        ``.accuracy(confidence)`` is what the answers of all intervals of a column stay
        within together: in 95% of releases of 2^10 points 68 rows at ε = 1, of 2^20
        points 271. The count of a box covers its own noise, and rows that lie anywhere
        in the cells that it cuts. Clipping to bounds and rounding to the grid are left
        out.

        Raises
        ------
        DomainRequiredError
            For a float column without step or domain: over the reals no private
            answer is accurate on every data set.
        BoundsRequiredError
            If there are no bounds, or the frame has a privacy unit and no `max_rows`.
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind; exactly one of
            `epsilon` and `rho` is needed.

        References
        ----------
        .. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to
           Non-Interactive Database Privacy, J. ACM.
        .. [2] Hay, Rastogi, Miklau and Suciu (2010), Boosting the Accuracy of
           Differentially Private Histograms Through Consistency, VLDB.
        .. [3] Zhang, Xiao and Xie (2016), PrivTree: A Differentially Private Algorithm
           for Hierarchical Decompositions, SIGMOD.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 2000})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), bounds={"days": (0, 63)}
        ... )
        >>> synth = stays.dp.synthetic_intervals("days", epsilon=0.5)
        >>> abs(synth.count(0, 7).value - 8000) < 200
        True
        >>> synth.quantile(0.5).value
        5
        >>> synth.to_native().schema
        Schema([('days', Int64)])
        """
        plan = partial(
            synthetic_intervals,
            self._frame,
            columns=columns,
            step=step,
            domain=domain,
            bounds=bounds,
            method=method,
        )
        return self._run(
            plan, stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
        )

    def largest_error(
        self,
        release: SyntheticIntervals[Any] | HalfspaceOracle[Any],
        queries: Any = None,
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[N]:
        """Release by how many rows the answers of an earlier release are off, at most.

        Parameters
        ----------
        release : SyntheticIntervals or HalfspaceOracle
            Whose answers are compared with this frame's rows: those that it was made
            from, or others that it should describe. Columns are found by name; widths
            of numbers, units of times and places of decimals may differ.
        queries : list, optional
            Pairs ``(lo, hi)`` as `.count` takes them, or mappings of columns to such
            pairs: at most a million intervals, or ten thousand boxes. Default: all
            intervals of the one column. Of halfspaces they are needed: pairs
            ``(w, offset)`` as `.query` takes them, in the columns' own units, at most
            ten thousand. Public.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            zCDP loss ρ instead, unitless: Gaussian noise.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            The largest error of any of the queries, in whole rows, at least 0.

        Privacy
        -------
        ε-DP per privacy unit, add-or-remove-one; ρ-zCDP with a ρ. Costs `epsilon`. The
        answers are public, so the largest error changes by at most what one count
        does: by ``max_rows``, however many queries there are.

        Accuracy
        --------
        Within ``max_rows * ln(20) / epsilon`` in 95% of releases. Rows are clipped to
        the release's bounds and rounded to its grid first, as they were for the
        release: what that does to an answer is left out. Listed queries are compared
        with what `.count` says, in whole rows. For all intervals both ends are rounded,
        to whole rows or with a privacy unit to 2^-16 of one.

        Rows are rounded in the unit ball, so one is above a plane from 2^-20 below it
        on. Rows count whatever their label is, and also where it is missing.

        Raises
        ------
        ColumnNotFoundError
            If the frame lacks a column of the release.
        ParameterTypeError
            If that column is of another kind, or a query is no interval, no box or no
            pair of a direction and an offset.
        ParameterError
            If the list is empty or too long, or left out for several columns; if a
            direction is zero.
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 2000})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), bounds={"days": (0, 63)}
        ... )
        >>> synth = stays.dp.synthetic_intervals("days", epsilon=0.5)
        >>> off = stays.dp.largest_error(synth, epsilon=0.1)
        >>> off.value <= synth.accuracy(0.999999) + off.accuracy(0.999999)
        True
        >>> stays.dp.preview.largest_error(synth, [(0, 7), (8, None)], epsilon=0.1)
        Preview(largest error of 2 intervals of days, ± 30, ε=0.1 of 0.4 left, nothing spent)

        Of halfspaces, on the rows of another year:

        >>> last, this = (
        ...     pl.DataFrame({"days": days * 2000, "age": [70, 30, 80, 50, 60] * 2000})
        ...     for days in ([3, 7, 2, 31, 5], [3, 24, 2, 31, 5])
        ... )
        >>> bounds = {"days": (0, 31), "age": (0, 100)}
        >>> last, this = (
        ...     year.dp.attach(dpframe.Accountant(epsilon=1), bounds=bounds)
        ...     for year in (last, this)
        ... )
        >>> oracle = last.dp.halfspace_oracle(["days", "age"], margin=0.1, epsilon=1)
        >>> moved = this.dp.largest_error(oracle, [({"days": 1}, 15)], epsilon=0.5)
        >>> abs(moved.value - 2000) < 300
        True
        """  # noqa: E501 - what is printed is one line
        plan = partial(largest_error, self._frame, release=release, queries=queries)
        return self._run(
            plan, stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
        )
