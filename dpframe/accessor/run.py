"""How a method of the namespace becomes a release, or the preview of one."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

from dpframe.goal import Goal, checked_rows, settled
from dpframe.measure import release
from dpframe.preview import Preview

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import PrivateFrame
    from dpframe.measure import Query
    from dpframe.privacy.loss import Loss
    from dpframe.releases.mean_cov import MeanCov
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")
P = ParamSpec("P")
R = TypeVar("R")


def planned(
    frame: PrivateFrame,
    plan: Callable[[Loss], Query[R]],
    goal: Goal | Loss,
    *,
    pure: bool,
) -> Query[R]:
    """Plan at a stated loss, or at the one that reaches a goal.

    `pure` tells that the release has pure noise alone, whatever the budget offers.
    """
    state = frame.private_state
    accountant, scope = state.accountant, state.scope
    if isinstance(goal, Goal):
        return goal.query(plan, accountant, scope, pure=pure)
    return plan(settled(goal, accountant, scope, pure=pure))


class Runner(Generic[N]):
    """A private frame and what to do with a query on it: release it."""

    __slots__ = ("_frame",)

    def __init__(self, frame: PrivateFrame) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        offered = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"{type(self).__name__}({', '.join(offered)})"

    def _run(
        self, plan: Callable[[Loss], Query[R]], goal: Goal | Loss, *, pure: bool = False
    ) -> R:
        return release(self._frame, planned(self._frame, plan, goal, pure=pure))


class Previewer(Runner[N]):
    """The same, which only looks at the query: nothing is read or spent."""

    __slots__ = ()

    def _run(
        self, plan: Callable[[Loss], Query[R]], goal: Goal | Loss, *, pure: bool = False
    ) -> R:
        rows = checked_rows(goal.rows) if isinstance(goal, Goal) else None
        query = planned(self._frame, plan, goal, pure=pure)
        preview = Preview(self._frame, query, rows=rows)
        return cast("R", preview)  # `previewed` gives the method its honest type


@overload
def previewed(
    method: Callable[Concatenate[Any, P], ScalarRelease[Any]],
) -> Callable[Concatenate[Runner[N], P], Preview[ScalarRelease[N]]]: ...
@overload
def previewed(
    method: Callable[Concatenate[Any, P], TableRelease[Any]],
) -> Callable[Concatenate[Runner[N], P], Preview[TableRelease[N]]]: ...
@overload
def previewed(
    method: Callable[Concatenate[Any, P], MeanCov[Any]],
) -> Callable[Concatenate[Runner[N], P], Preview[MeanCov[N]]]: ...
def previewed(method: Any) -> Any:
    """Type a method of a namespace whose runner previews as returning previews."""
    return method
