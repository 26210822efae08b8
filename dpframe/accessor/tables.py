"""Tables of a private frame: histograms, contingency tables and groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.goal import Goal
from dpframe.mechanisms.aggregate import aggregate
from dpframe.mechanisms.cells import product_axes, table_cells
from dpframe.mechanisms.inputs import listed_columns
from dpframe.mechanisms.tables import contingency, grouped, histogram

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.measure import Query
    from dpframe.mechanisms.cells import Cells
    from dpframe.privacy.loss import Amount, Loss
    from dpframe.release import TableRelease

N = TypeVar("N")
R = TypeVar("R")


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
        """Release the counts of a column by keys or by bins."""
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
        """Release the counts of a column by keys."""
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
        bins: Mapping[str, Any] | None = None,
        other: bool = False,
        of: str = "rows",
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        within: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        allow_weak: bool = False,
    ) -> TableRelease[N]:
        """Release the counts of all combinations of several columns."""
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
        bins: Mapping[str, Any] | None = None,
    ) -> GroupBy[N]:
        """Group by public keys or bins; the releases follow as methods."""
        return GroupBy(
            self._frame, self._run, group_cells(self._frame, columns, keys, bins)
        )


def group_cells(
    frame: PrivateFrame, columns: tuple[Any, ...], keys: Any, bins: Any
) -> Cells:
    """Return the cells of a `group_by` call, its columns one by one or as a list."""
    names: Any = columns[0] if len(columns) == 1 else list(columns)
    axes = product_axes(frame, listed_columns(names), keys=keys, bins=bins)
    return table_cells(axes, other=False, plain_bins=False)


class Grouped(Runner[N]):
    """The cells of a `group_by`, and what to do with a query on them."""

    __slots__ = ("_cells", "_run_query")

    def __init__(
        self,
        frame: PrivateFrame,
        run: Callable[[Callable[[Loss], Query[Any]], Goal], Any],
        cells: Cells,
    ) -> None:
        super().__init__(frame)
        self._run_query = run
        self._cells = cells

    def _run(self, plan: Callable[[Loss], Query[R]], goal: Goal) -> R:
        return self._run_query(plan, goal)

    def _plan(self, kind: str, **arguments: Any) -> Any:
        return partial(grouped, self._frame, cells=self._cells, kind=kind, **arguments)


class GroupBy(Grouped[N]):
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
        """Release the number of rows, or of privacy units, in each group."""
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
        """Release the sum of a column in each group."""
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
        """Release the mean of a column in each group."""
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
        """Release the variance of a column in each group."""
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
        """Release the standard deviation of a column in each group."""
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
        """Release several statistics in each group, under one charge."""
        goal = Goal(epsilon, rho, allow_weak=allow_weak)
        plan = partial(
            aggregate,
            self._frame,
            statistics=statistics,
            named=named,
            cells=self._cells,
        )
        return self._run(plan, goal)
