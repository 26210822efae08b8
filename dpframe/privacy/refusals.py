"""What is said where a budget does not reach."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Final

from dpframe.errors import BudgetExceededError
from dpframe.privacy.loss import decimal_text

if TYPE_CHECKING:
    from dpframe.privacy.loss import Loss

_FINE: Final = 10**40


def exceeded(
    cost: Loss,
    remaining: Loss,
    *,
    what: str = "this release",
    child: str | None = None,
    divided: bool = False,
) -> BudgetExceededError:
    """Return the error for a loss that no longer fits.

    Parameters
    ----------
    cost : Loss
        What was asked.
    remaining : Loss
        What a release could cost at most, in each lane that still holds.
    what : str
        What costs it.
    child : str, optional
        The child that is to pay. Default: it is the whole budget.
    divided : bool
        Whether a part of the budget is set aside in children.
    """
    spend = bool(cost.delta)
    fits = _choices(remaining, spend=spend)
    if spend and not remaining.delta:
        left = "nothing remains of keys_delta"
        ways = ["use keys that are public or were found"]
    else:
        payer = "this budget" if child is None else f"child {child!r}"
        left = f"only {fits} remains" if fits else "nothing remains"
        left += "" if fits and child is None else f" of {payer}"
        ways = [f"pass {fits} or less"] if fits else []
    if divided:
        left += " outside its children"
        ways.append("close a child that has some left")
    if child is not None:
        ways.append("set aside a new child")
    ways.append("open a new budget")
    return BudgetExceededError(
        f"{what} costs {_amounts(cost)}, but {left}.\n"
        "Nothing was released and nothing was spent.",
        requested=cost,
        remaining=remaining,
        hint=f"{', or '.join(ways)}.",
    )


def nothing_to_split(remaining: Loss) -> BudgetExceededError:
    """Return the error for a budget that has nothing left to share."""
    return BudgetExceededError(
        "nothing remains of this budget to be split.\nNothing was set aside.",
        requested=remaining,
        remaining=remaining,
        hint="close a child that has some left, or open a new budget.",
    )


def _amounts(cost: Loss) -> str:
    pairs = {"epsilon": cost.epsilon, "delta": cost.delta, "rho": cost.rho}
    return " and ".join(f"{k}={decimal_text(v)}" for k, v in pairs.items() if v)


def _choices(remaining: Loss, *, spend: bool) -> str:
    """Return what fits in each lane, as it would be typed.

    Where only a rho is left, the epsilon that costs it is told, too.
    """
    pairs = {"epsilon": remaining.epsilon, "rho": remaining.rho}
    if remaining.epsilon is None and remaining.rho and not spend:
        pairs = {"rho": remaining.rho, "epsilon": _root(2 * remaining.rho)}
    lanes = [f"{k}={decimal_text(v, ROUND_FLOOR)}" for k, v in pairs.items() if v]
    fits = " or ".join(lanes)
    if spend and remaining.delta:
        fits += f" with delta={decimal_text(remaining.delta, ROUND_FLOOR)}"
    return fits


def _root(number: Fraction) -> Fraction:
    """Return a square root, rounded down."""
    return Fraction(isqrt(number.numerator * _FINE**2 // number.denominator), _FINE)
