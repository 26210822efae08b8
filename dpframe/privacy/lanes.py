"""Which noise an epsilon buys: pure, or Gaussian where the budget gains by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.errors import ParameterError
from dpframe.privacy.loss import Loss
from dpframe.privacy.total import EPSILON, RHO

if TYPE_CHECKING:
    from dpframe.privacy.book import Account, Book
    from dpframe.privacy.scope import Scope
    from dpframe.privacy.total import Total


def check_kind(stated: Loss, total: Total) -> None:
    """Refuse a rho where only epsilons add up.

    Raises
    ------
    ParameterError
    """
    if stated.epsilon is None and RHO not in total.lanes:
        msg = "rho= needs a budget in rho or (epsilon, delta); this one is pure."
        raise ParameterError(msg, hint="pass epsilon= instead.")


def settled(stated: Loss, book: Book, account: Account, scope: Scope) -> Loss:
    """Return what a call's stated loss means in an account.

    A rho is Gaussian noise. An epsilon is pure noise where only epsilons add up, and
    Gaussian noise of ``epsilon**2 / 2`` where only rhos do: it then has at most half
    the variance of pure noise of the same rho. With both lanes open the first
    Gaussian release ends the lane of pure ones, for children and all. An epsilon is
    therefore Gaussian only if

    - pure noise of it no longer fits, or
    - the budget is not divided among children, and the Gaussian release takes no
      larger share of what remains in its lane than the pure one of its own.

    Raises
    ------
    ParameterError
        For a rho where only epsilons add up.
    """
    lanes = account.total.lanes
    check_kind(stated, account.total)
    if stated.epsilon is None or RHO not in lanes:
        return stated
    gaussian = Loss(rho=stated.as_rho)
    if EPSILON not in lanes or not book.pure:
        return gaussian
    if not book.allows(account, gaussian, scope):
        return stated
    room = book.room(account, scope)
    if room.epsilon is None or room.epsilon < stated.epsilon:
        return gaussian
    if book.is_divided or room.rho is None:
        return stated
    share = stated.epsilon * room.rho  # over room.epsilon * room.rho, both
    return gaussian if stated.as_rho * room.epsilon <= share else stated
