"""What a frame carries that is made of the rows of several private frames.

A unit's rows come together from all of them. So they must be of one unit, and what
is made of them is charged where all of them are: to their nearest common scope.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.frame import Step
from dpframe.privacy.scope import common_ancestor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.frame import State
    from dpframe.values import Bounds, Keys


def combined(
    verb: str,
    states: Sequence[State],
    *,
    units: Sequence[object],
    options: str = "",
    bounds: Mapping[str, Bounds],
    domain: Mapping[str, Keys],
) -> State:
    """Return the state of a frame made of the rows of several private frames.

    Parameters
    ----------
    verb : str
        What is done to them, as the caller wrote it: ``"join"``.
    states : sequence of State
        Of the frames, at least one. The limits and the salt are those of the first.
    units : sequence of dtype
        The dtype of the hidden unit column of each.
    options : str
        The other arguments, in public words, for the record.
    bounds, domain : mapping
        What is still declared, by column of the new frame.

    Returns
    -------
    State
        In the nearest scope that holds all frames, with the steps of all on record.
        A unit may have any number of rows, and its column says whose they are where
        it does in all frames.

    Raises
    ------
    NotProvedError
        If a frame has no privacy unit, or the frames have several budgets.
    ParameterTypeError
        If the units are of several dtypes.
    """
    first = states[0]
    check_combinable(verb, states, units=units)
    scope = first.scope
    for state in states[1:]:
        scope = common_ancestor(scope, state.scope)
    others = [f"private frame{_own_steps(state, first)}" for state in states[1:]]
    arguments = [*others, options] if options else others
    return replace(
        first,
        bounds=MappingProxyType(dict(bounds)),
        domain=MappingProxyType(dict(domain)),
        scope=scope,
        one_row=False,
        unit_visible=all(state.unit_visible for state in states),
    ).after(Step(f"{verb}({', '.join(arguments)})", f"{verb}({options})"))


def check_combinable(
    verb: str, states: Sequence[State], *, units: Sequence[object]
) -> None:
    """Check that frames are of one unit and one budget; raises as `combined` does."""
    if any(state.privacy_unit is None for state in states):
        raise NotProvedError(
            f"{verb} of private frames needs a privacy unit on each: without one, a "
            "row could count several times.",
            step=verb,
            hint='attach all of them with privacy_unit="...", the same unit.',
        )
    if any(state.accountant != states[0].accountant for state in states):
        raise NotProvedError(
            f"{verb} was given private frames of several budgets: neither would "
            "account for the rows of the other.",
            step=verb,
            hint="attach all of them to one Accountant object, with the same "
            "privacy unit.",
        )
    if any(unit != units[0] for unit in units):
        kinds = " and ".join(dict.fromkeys(map(str, units)))
        msg = f"{verb} was given privacy units of several dtypes: {kinds}."
        raise ParameterTypeError(msg, hint="cast them to one before attaching.")


def _own_steps(state: State, first: State) -> str:
    """Return the steps of another frame that the first does not begin with."""
    shared = 0
    for mine, theirs in zip(state.steps, first.steps, strict=False):
        if mine != theirs:
            break
        shared += 1
    own = [*["as here"][: min(shared, 1)], *state.steps[shared:]]
    return f" [{', '.join(own)}]" if own else ""
