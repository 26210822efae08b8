"""How the stand-ins of a pandas step refuse what would look at rows."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dpframe.errors import NotProvedAttributeError, NotProvedTypeError
from dpframe.proofs.pandas.hints import (
    ACROSS_HINTS,
    COLUMN_HINTS,
    FREE_HINTS,
    HARMLESS,
    OPTION_REASONS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STAY: Final = "stay elementwise: & | ~ for logic, dpframe.where(), isin(), isna()."


def not_a_value(step: str, *, hint: str | None = None) -> NotProvedTypeError:
    """Return the error for a protocol that would read rows.

    Where a function of pandas or numpy asks, its stand-in is the hint.
    """
    caller = _free_function()
    if caller is not None:
        msg = f"{caller} reads the rows, so it does not take a private column."
        return NotProvedTypeError(msg, step=caller, hint=FREE_HINTS[caller])
    msg = f"A private column has no {step}: that would read its rows."
    return NotProvedTypeError(msg, step=step, hint=hint or _STAY)


def _free_function() -> str | None:
    """Return the function of pandas or numpy that was called on a stand-in."""
    frame: Any = inspect.currentframe()
    found = None
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _LIBRARIES:
            name = f"{_LIBRARIES[package]}.{frame.f_code.co_name}"
            found = name if name in FREE_HINTS else None
        elif package != "dpframe":
            return found
        frame = frame.f_back
    return found


_LIBRARIES: Final = {"pandas": "pd", "numpy": "np"}


def not_elementwise(name: str, on: str) -> NotProvedAttributeError:
    """Return the error for a method that no stand-in has, with what to write."""
    msg = f"{name} on {on} looks at other rows, or is not known to work row by row."
    owner = "" if on in {"a column", "a frame"} else f"{on.lstrip('.')}."
    hints = {**COLUMN_HINTS, **ACROSS_HINTS} if on == "a frame" else COLUMN_HINTS
    hint = hints.get(f"{owner}{name}", "write it as elementwise operations on columns.")
    return NotProvedAttributeError(msg, step=name, hint=hint)


def refuse_options(
    step: str, options: Mapping[str, Any], *, like: Callable[..., Any] | None = None
) -> None:
    """Refuse keywords by name; those that say what pandas does anyway may stay.

    Parameters
    ----------
    step : str
        The method, for messages.
    options : mapping
        What was given beside the arguments that the method takes.
    like : callable, optional
        pandas' own method, whose defaults change nothing.
    """
    defaults = {} if like is None else _defaults(like)
    for name, value in options.items():
        harmless = (*HARMLESS.get(name, ()), defaults.get(name, NoReturn))
        if any(value is each or _equal(value, each) for each in harmless):
            continue
        reason = OPTION_REASONS.get(name, "is not known to work row by row.")
        msg = f"{step}({name}=...) {reason}"
        raise NotProvedTypeError(
            msg, step=f"{step}({name}=)", hint=f"leave {name} out."
        )


def _equal(value: Any, other: Any) -> bool:
    return type(value) is type(other) and value == other


@cache
def _defaults(method: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(method).parameters
    plain = (bool, int, str, type(None))
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if isinstance(parameter.default, plain)
    }
