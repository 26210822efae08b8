"""Losses and charges, as tests of accounting write them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpframe.errors import BudgetExceededError
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss

if TYPE_CHECKING:
    from dpframe.privacy.accountant import Accountant

EVENT = Event(mechanism="count", columns=(), parameters="")


def pure(epsilon: float | str | Fraction) -> Loss:
    return Loss(epsilon=Fraction(str(epsilon)))


def gaussian(rho: float | str | Fraction) -> Loss:
    return Loss(rho=Fraction(str(rho)))


def granted(budget: Accountant, cost: Loss) -> bool:
    """Charge a cost; return whether that was granted."""
    try:
        budget.charge(cost, EVENT)
    except BudgetExceededError:
        return False
    return True
