"""Keys that are found in the data, and published if enough units hold them.

The keys that occur are private. Each has its units counted; noise and a threshold
make sure that a key which depends on a single unit is hardly ever published.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpframe.errors import ParameterError
from dpframe.mechanisms.inputs import listed_columns, typed, value_contribution
from dpframe.outlook import Outlook
from dpframe.privacy.loss import Loss, decimal_text, exact_amount, stated_loss
from dpframe.query import Query, Selection
from dpframe.releases.figures import COUNT, GridError
from dpframe.releases.keys import KeysRelease
from dpframe.table import enumeration
from dpframe.tally import Occupied

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.query import Measured


def keys_loss(
    *, epsilon: object, rho: object, delta: object, allow_weak: object
) -> Loss:
    """Return what a search for keys costs: an epsilon and a delta.

    A rho stands for the epsilon whose pure noise costs no more, rounded down.

    Raises
    ------
    ParameterTypeError
        If none or both of `epsilon` and `rho` are given, or one is no number.
    ParameterError
        If an amount is out of range.
    """
    stated = stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
    failure = exact_amount(delta, what="delta")
    if failure >= 1:
        msg = f"delta must be less than 1, not {decimal_text(failure)}."
        raise ParameterError(msg)
    return Loss(epsilon=stated.pure, delta=failure)


def discover_keys(
    frame: PrivateFrame, loss: Loss, columns: object
) -> Query[KeysRelease[Any]]:
    """Plan a search for the keys of a column, or of several together.

    Raises
    ------
    ParameterError
        If nothing of the budget's delta was set aside for keys.
    """
    keys = tuple(typed(frame, name) for name in listed_columns(columns))
    names = tuple(key.name for key in keys)
    state = frame.private_state
    if not state.accountant.keys_delta:
        msg = "keys are found with a delta, and this budget has none set aside for it."
        hint = "open one with Accountant(epsilon=..., delta=..., keys_delta=...)."
        if "/" in state.accountant.path:
            hint = "give the child a part of it: .child(..., keys_delta=...)."
        raise ParameterError(msg, hint=hint)
    contribution = value_contribution(frame, names)
    selection = Selection(
        statistic=Occupied(keys=keys, contribution=contribution), loss=loss
    )
    noise, threshold = selection.noise, selection.threshold
    title = f"keys of {enumeration(names)}"
    host = frame.with_state(state.forget(names)).to_host  # the keys are its own levels

    def finish(measured: Measured) -> KeysRelease[Any]:
        return KeysRelease(
            keys=measured.selected,
            like={name: name for name in names},
            noise=noise,
            threshold=threshold,
            measured=measured,
            host=host,
            title=title,
        )

    return Query(
        frame=frame,
        mechanism="discover_keys",
        columns=names,
        parameters={
            "max_groups": str(contribution.limit),
            "threshold": str(threshold),
        },
        cost=loss,
        selection=selection,
        outlook=Outlook(
            title=title,
            column=COUNT,
            schema={key.name: key.dtype for key in keys},
            error=partial(_error, selection),
        ),
        finish=finish,
    )


def _error(selection: Selection, rows: int | None) -> GridError:
    del rows
    return GridError(noise=selection.noise, unit=Fraction(1))
