"""Steps that nobody proved, and what holds after one: as little as can be known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpframe.declare import forget_unsuited
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import PrivateFrame

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import State, Step

F = TypeVar("F", bound=PrivateFrame)


def trusted(frame: F, step: Callable[[Any], Any], record: Step) -> F:
    """Return what a step makes of the native frame, under what is still known.

    Bounds and keys stay by name, where they suit. The unit is taken from its column
    again, so it has to be there before and after.

    Raises
    ------
    ParameterError
        If the visible columns do not tell the unit before the step.
    ParameterTypeError
        If the step gives no frame of the class that it was given.
    ColumnNotFoundError
        If the column of the unit is not there after the step.
    """
    state = frame.private_state
    _check_unit_visible(state)
    before = frame.detach()
    after = step(before)
    _check_same_class(before, after)
    held = frame.bare(after, state).with_unit()
    types = held.types()
    gone = [name for name in {*state.bounds, *state.domain} if name not in types]
    known = forget_unsuited(state.forget(gone), types)
    return held.with_state(
        replace(known, one_row=False, unit_visible=True).after(record)
    )


def _check_unit_visible(state: State) -> None:
    if state.privacy_unit is not None and not state.unit_visible:
        msg = (
            f"The column of the privacy unit, {state.privacy_unit!r}, was dropped or "
            "overwritten: a step on the native frame would lose whose rows are whose."
        )
        raise ParameterError(msg, hint="call .dp.trust(...) before that step.")


def _check_same_class(before: object, after: object) -> None:
    wanted, given = type(before).__name__, type(after).__name__
    if given != wanted or not isinstance(after, type(before)):
        msg = f"The trusted step was given a {wanted} and gave a {given}."
        raise ParameterTypeError(msg, hint=f"return a {wanted} from it.")
