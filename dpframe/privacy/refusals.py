"""What is said where a budget does not reach."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from dpframe.errors import BudgetExceededError
from dpframe.privacy.loss import decimal_text

if TYPE_CHECKING:
    from dpframe.privacy.loss import Loss


def exceeded(
    cost: Loss, remaining: Loss, *, what: str = "this release"
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
    """
    fits = _choices(remaining, spend=cost.delta is not None)
    left = f"only {fits} remains" if fits else "nothing remains of this budget"
    return BudgetExceededError(
        f"{what} costs {_amounts(cost)}, but {left}.\n"
        "Nothing was released and nothing was spent.",
        requested=cost,
        remaining=remaining,
        hint=f"pass {fits} or less, or open a new budget."
        if fits
        else "open a new budget.",
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
    given = [f"{k}={decimal_text(v)}" for k, v in pairs.items() if v is not None]
    return " and ".join(given)


def _choices(remaining: Loss, *, spend: bool) -> str:
    """Return what fits in each lane, as it would be typed."""
    pairs = {"epsilon": remaining.epsilon, "rho": remaining.rho}
    lanes = [f"{k}={decimal_text(v, ROUND_FLOOR)}" for k, v in pairs.items() if v]
    fits = " or ".join(lanes)
    if spend and remaining.delta is not None:
        fits += f" with delta={decimal_text(remaining.delta, ROUND_FLOOR)}"
    return fits
