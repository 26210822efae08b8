"""Which noise an epsilon buys: pure, or Gaussian where the budget gains by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpframe.errors import ParameterError
from dpframe.privacy.loss import Loss
from dpframe.privacy.total import EPSILON, RHO

if TYPE_CHECKING:
    from fractions import Fraction

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


def only_meaning(stated: Loss, total: Total) -> Loss | None:
    """Return what a stated loss means where no other choice is left, else None.

    A rho is Gaussian noise. An epsilon is pure noise where only epsilons add up, and
    Gaussian noise of ``epsilon**2 / 2`` where only rhos do: it then has at most half
    the variance of pure noise of the same rho.

    Raises
    ------
    ParameterError
        For a rho where only epsilons add up.
    """
    check_kind(stated, total)
    if stated.epsilon is None or RHO not in total.lanes:
        return stated
    return None if EPSILON in total.lanes else Loss(rho=stated.as_rho)


def chosen(epsilon: Fraction, book: Book, account: Account, scope: Scope) -> Loss:
    """Return what an epsilon means in an account with both lanes.

    The first Gaussian release ends the lane of pure ones, for children and all. An
    epsilon is therefore Gaussian only if that lane has ended, or

    - pure noise of it no longer fits, or
    - the budget is not divided among children, and the Gaussian release takes no
      larger share of what remains in its lane than the pure one of its own.
    """
    pure = Loss(epsilon=epsilon)
    gaussian = Loss(rho=pure.as_rho)
    if not book.pure:
        return gaussian
    if not book.allows(account, gaussian, scope):
        return pure
    room = book.room(account, scope)
    if room.epsilon is None or room.epsilon < epsilon:
        return gaussian
    if book.is_divided or room.rho is None:
        return pure
    share = epsilon * room.rho  # over room.epsilon * room.rho, both
    return gaussian if pure.as_rho * room.epsilon <= share else pure
