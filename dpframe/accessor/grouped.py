"""The cells of a `group_by`, and the way of a query on them to its release."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.mechanisms.cells import product_axes, table_cells
from dpframe.mechanisms.inputs import listed_columns
from dpframe.mechanisms.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import PrivateFrame
    from dpframe.goal import Goal, NoiseKind
    from dpframe.mechanisms.cells import Cells
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query

N = TypeVar("N")
R = TypeVar("R")


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
        run: Callable[..., Any],
        cells: Cells,
    ) -> None:
        super().__init__(frame)
        self._run_query = run
        self._cells = cells

    def _run(
        self,
        plan: Callable[[Loss], Query[R]],
        goal: Goal | Loss,
        *,
        noise: NoiseKind | None = None,
    ) -> R:
        return self._run_query(plan, goal, noise=noise)

    def _plan(self, kind: str, **arguments: Any) -> Any:
        return partial(grouped, self._frame, cells=self._cells, kind=kind, **arguments)
