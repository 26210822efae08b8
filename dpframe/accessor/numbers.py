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

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from dpframe.privacy.loss import Amount
    from dpframe.release import ScalarRelease, TableRelease

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
        """Release the number of rows, or of privacy units."""
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
        """Release the number of distinct values, or of distinct tuples of values."""
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
        """Release the sum of a column."""
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
        """Release the mean of a column."""
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
        """Release the variance of a column."""
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
        """Release the standard deviation of a column."""
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
        """Release several statistics under one charge, as a table of one row."""
        goal = Goal(epsilon, rho, allow_weak=allow_weak)
        plan = partial(aggregate, self._frame, statistics=statistics, named=named)
        return self._run(plan, goal)
