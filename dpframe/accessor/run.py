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
from dpframe.preview import KeysPreview, Preview

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import PrivateFrame
    from dpframe.goal import NoiseKind
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle
    from dpframe.releases.keys import KeysRelease
    from dpframe.releases.mean_cov import MeanCov
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.synthetic_intervals import SyntheticIntervals
    from dpframe.releases.tabular import TableRelease

N = TypeVar("N")
P = ParamSpec("P")
R = TypeVar("R")


def planned(
    frame: PrivateFrame,
    plan: Callable[[Loss], Query[R]],
    goal: Goal | Loss,
    *,
    noise: NoiseKind | None,
) -> Query[R]:
    """Plan at a stated loss, or at the one that reaches a goal.

    `noise` is the only noise that the release has, where it has not both.
    """
    state = frame.private_state
    accountant, scope = state.accountant, state.scope
    if isinstance(goal, Goal):
        return goal.query(plan, accountant, scope, noise=noise)
    return plan(settled(goal, accountant, scope, noise=noise))


class Runner(Generic[N]):
    """A private frame and what to do with a query on it: release it."""

    __slots__ = ("_frame",)

    def __init__(self, frame: PrivateFrame) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        offered = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"{type(self).__name__}({', '.join(offered)})"

    def _run(
        self,
        plan: Callable[[Loss], Query[R]],
        goal: Goal | Loss,
        *,
        noise: NoiseKind | None = None,
    ) -> R:
        return release(planned(self._frame, plan, goal, noise=noise))


class Previewer(Runner[N]):
    """The same, which only looks at the query: nothing is read or spent."""

    __slots__ = ()

    def _run(
        self,
        plan: Callable[[Loss], Query[R]],
        goal: Goal | Loss,
        *,
        noise: NoiseKind | None = None,
    ) -> R:
        rows = checked_rows(goal.rows) if isinstance(goal, Goal) else None
        query = planned(self._frame, plan, goal, noise=noise)
        preview = Preview(query, rows=rows)
        if query.selection is not None:
            preview = KeysPreview(query)
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
@overload
def previewed(
    method: Callable[Concatenate[Any, P], SyntheticIntervals[Any]],
) -> Callable[Concatenate[Runner[N], P], Preview[SyntheticIntervals[N]]]: ...
@overload
def previewed(
    method: Callable[Concatenate[Any, P], HalfspaceOracle[Any]],
) -> Callable[Concatenate[Runner[N], P], Preview[HalfspaceOracle[N]]]: ...
@overload
def previewed(
    method: Callable[Concatenate[Any, P], KeysRelease[Any]],
) -> Callable[Concatenate[Runner[N], P], KeysPreview[KeysRelease[N]]]: ...
def previewed(method: Any) -> Any:
    """Type a method of a namespace whose runner previews as returning previews."""
    return method
