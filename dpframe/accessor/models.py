"""Moments of several columns of a private frame together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.accessor.run import Runner
from dpframe.goal import Goal
from dpframe.mechanisms.mean_cov import mean_cov

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.mean_cov import MeanCov
    from dpframe.privacy.loss import Amount

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
        """Release count, mean vector and covariance matrix of some columns."""
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
        return self._run(plan, goal)
