"""What holds for a frame after a step that nobody proved: as little as can be known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.values import column_type, parse_bounds, parse_keys

if TYPE_CHECKING:
    import polars as pl

    from dpframe.frame import PrivateFrame, State, Step


def check_unit_visible(state: State) -> None:
    """Refuse a frame whose unit could not be told from its visible columns again.

    Raises
    ------
    ParameterError
    """
    if state.privacy_unit is not None and not state.unit_visible:
        msg = (
            f"The column of the privacy unit, {state.privacy_unit!r}, was dropped or "
            "overwritten: a step on the native frame would lose whose rows are whose."
        )
        raise ParameterError(msg, hint="call .dp.trust(...) before that step.")


def check_same_class(before: object, after: object) -> None:
    """Refuse what a step gives if it is no frame of the class that it was given.

    Raises
    ------
    ParameterTypeError
    """
    wanted, given = type(before).__name__, type(after).__name__
    if given != wanted or not isinstance(after, type(before)):
        msg = f"The trusted step was given a {wanted} and gave a {given}."
        raise ParameterTypeError(msg, hint=f"return a {wanted} from it.")


def trusting(before: PrivateFrame, after: PrivateFrame, record: Step) -> State:
    """Return the state after a trusted step: declarations by name, where they suit."""
    state, types = before.private_state, after.types()
    lost = [
        name
        for name in {*state.bounds, *state.domain}
        if name not in types or not suits(state, name, types[name])
    ]
    return replace(state.forget(lost), one_row=False, unit_visible=True).after(record)


def suits(state: State, name: str, dtype: pl.DataType) -> bool:
    """Return whether what was declared for a column can be declared for this dtype."""
    try:
        ctype = column_type(name, dtype)
        if name in state.bounds:
            parse_bounds(ctype, state.bounds[name])
        if name in state.domain:
            parse_keys(ctype, state.domain[name])
    except (ParameterError, ParameterTypeError):
        return False
    return True
