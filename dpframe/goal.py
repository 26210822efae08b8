"""What a caller asks of a release: a loss, or an error that the loss must reach."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
)

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.loss import WEAK, Loss, requested_loss
from dpframe.values import PER_SECOND, Kind, exact_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.outlook import Outlook
    from dpframe.privacy.accountant import Accountant
    from dpframe.privacy.scope import Scope
    from dpframe.values import ColumnType

_STEP: Final = Fraction(1, 10**6)
"""Losses found for `within=` are multiples of this."""


class Planned(Protocol):
    """A planned release, which knows how far off it will be."""

    @property
    def outlook(self) -> Outlook:
        """What it will look like."""
        ...


Q = TypeVar("Q", bound=Planned)

NoiseKind: TypeAlias = Literal["pure", "gaussian"]
"""Noise of one kind: that of an epsilon, or that of a rho."""


@dataclass(frozen=True)
class Goal:
    """Exactly one of a loss (`epsilon` or `rho`) and an error (`within`).

    Attributes
    ----------
    epsilon, rho : number or None
        The privacy loss of the whole call.
    within : number or timedelta or None
        Error of the noise, in the answer's unit, that all cells keep together.
    confidence : float
        With which chance they keep it.
    rows : int or None
        A public guess of the number of rows, for errors that depend on it.
    allow_weak : bool
        Whether an epsilon above 50 is meant.
    """

    epsilon: Any = None
    rho: Any = None
    within: Any = None
    confidence: Any = 0.95
    rows: Any = None
    allow_weak: Any = False

    def query(
        self,
        plan: Callable[[Loss], Q],
        accountant: Accountant,
        scope: Scope,
        *,
        noise: NoiseKind | None = None,
    ) -> Q:
        """Plan at the loss asked for, or at the smallest that is accurate enough.

        Parameters
        ----------
        plan : callable
            From a loss to a planned release. An epsilon plans pure noise, a rho
            Gaussian noise.
        accountant, scope
            Who would pay and where: that decides which noise a loss buys.
        noise : {"pure", "gaussian"}, optional
            The only noise that the release has, where it has not both.

        Raises
        ------
        ParameterTypeError
            If none or several of the three are given, or one is no number.
        ParameterError
            If a value is out of range, or no loss reaches the error.
        """
        loss = requested_loss(
            epsilon=self.epsilon,
            rho=self.rho,
            within=self.within,
            allow_weak=self.allow_weak,
        )
        confidence = checked_confidence(self.confidence)
        rows = checked_rows(self.rows)
        if loss is not None:
            return plan(settled(loss, accountant, scope, noise=noise))
        search = _Search(plan, self.within, confidence, rows)
        return search.smallest(accountant, scope, noise)


def settled(
    stated: Loss,
    accountant: Accountant,
    scope: Scope,
    *,
    noise: NoiseKind | None = None,
) -> Loss:
    """Return the loss that a call's stated one means: which noise it buys.

    Parameters
    ----------
    stated : Loss
        An epsilon or a rho, as the caller wrote it.
    accountant, scope
        Who would pay and where.
    noise : {"pure", "gaussian"}, optional
        The only noise that the release has, where it has not both.

    Returns
    -------
    Loss
        An epsilon for pure noise, a rho for Gaussian noise.

    Raises
    ------
    ParameterError
        For a rho where only pure losses add up. A loss that the release has no noise
        for is refused where it is planned.
    """
    if noise == "gaussian" and "rho" in accountant.lanes:
        return Loss(rho=stated.as_rho)
    if noise == "pure" and stated.epsilon is not None:
        return stated
    return accountant.settle(stated, scope)


def checked_confidence(confidence: object) -> float:
    """Return a confidence in (0, 1)."""
    number = exact_number(confidence, what="confidence")
    if not 0 < number < 1:
        msg = f"confidence must lie between 0 and 1, not {float(number)}."
        raise ParameterError(msg)
    return float(number)


def checked_rows(rows: object) -> int | None:
    """Return a public guess of the row count, None where there is none."""
    if rows is None:
        return None
    number = exact_number(rows, what="rows")
    if number.denominator != 1 or number < 1:
        msg = f"rows must be a whole number of at least 1, not {float(number)}."
        raise ParameterError(msg)
    return int(number)


@dataclass(frozen=True)
class _Search(Generic[Q]):
    """The search for the smallest loss that stays within an error."""

    plan: Callable[[Loss], Q]
    within: object
    confidence: float
    rows: int | None

    def smallest(
        self, accountant: Accountant, scope: Scope, noise: NoiseKind | None
    ) -> Q:
        """Return the plan at the smallest epsilon of a multiple of 1e-6.

        Gaussian noise, where the budget has it, is planned at ``epsilon**2 / 2``: the
        rho of the pure noise of that epsilon. It is taken where the budget would give
        it for the epsilon found; else that of pure noise is found.
        """
        lanes = accountant.lanes
        only = noise is not None or "epsilon" not in lanes
        if "rho" in lanes and noise != "pure":
            found = self._least(_gaussian)
            if found is None and only:
                raise self._out_of_reach()
            if found is not None and (
                only or accountant.settle(Loss(epsilon=found), scope).epsilon is None
            ):
                return self.plan(_gaussian(found))
        found = self._least(_pure)
        if found is None:
            raise self._out_of_reach()
        return self.plan(_pure(found))

    def _least(self, loss: Callable[[Fraction], Loss]) -> Fraction | None:
        """Return the smallest epsilon whose loss is enough, None if none is."""
        high = int(WEAK / _STEP)
        if not self._is_met(loss(high * _STEP)):
            return None
        low = 0  # not met, as no loss is 0
        while high - low > 1:
            middle = (low + high) // 2
            met = self._is_met(loss(middle * _STEP))
            low, high = (low, middle) if met else (middle, high)
        return high * _STEP

    def _is_met(self, loss: Loss) -> bool:
        outlook = self.plan(loss).outlook
        error = outlook.known_error(self.rows)
        target = _length(outlook.column, self.within)
        if target >= outlook.widest:
            msg = f"Every answer is within {self.within}, even one of noise alone."
            hint = f"the error is never above {outlook.widest:g}; pass a smaller one."
            raise ParameterError(msg, hint=hint)
        widest = error.half_width(self.confidence, cells=outlook.cells).max()
        return bool(widest <= target)

    def _out_of_reach(self) -> ParameterError:
        return ParameterError(
            f"No epsilon up to {WEAK} keeps the error within {self.within}.",
            hint="allow a larger error, or use fewer cells.",
        )


def _pure(epsilon: Fraction) -> Loss:
    return Loss(epsilon=epsilon)


def _gaussian(epsilon: Fraction) -> Loss:
    return Loss(rho=Loss(epsilon=epsilon).as_rho)


def _length(column: ColumnType, within: object) -> float:
    """Return an error in the answer's unit as a length of the number line."""
    if column.kind.is_temporal:
        if not isinstance(within, dt.timedelta):
            msg = f"within must be a datetime.timedelta, not {type(within).__name__}."
            raise ParameterTypeError(msg)
        seconds = Fraction(within / dt.timedelta(microseconds=1)) / 10**6
        if column.kind is Kind.DATE:
            length = seconds / 86_400
        else:
            length = seconds * PER_SECOND[column.time_unit]
    else:
        length = exact_number(within, what="within") * 10**column.scale
    if length <= 0:
        msg = f"within must be greater than 0, not {within}."
        raise ParameterError(msg)
    return float(length)
