"""How the stand-ins of a pandas step refuse what would look at rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpframe.errors import NotProvedAttributeError, NotProvedTypeError
from dpframe.proofs.pandas_vocabulary import COLUMN_HINTS

if TYPE_CHECKING:
    from collections.abc import Mapping


def not_a_value(step: str, *, hint: str | None = None) -> NotProvedTypeError:
    """Return the error for a protocol that would read rows."""
    msg = f"A private column has no {step}: that would read its rows."
    return NotProvedTypeError(
        msg,
        step=step,
        hint=hint or "stay elementwise: & | ~ for logic, where(), isin(), isna().",
    )


def not_elementwise(name: str, on: str) -> NotProvedAttributeError:
    """Return the error for a method that no stand-in has, with what to write."""
    msg = f"{name} on {on} looks at other rows, or is not known to work row by row."
    hint = COLUMN_HINTS.get(name, "write it as elementwise operations on columns.")
    return NotProvedAttributeError(msg, step=name, hint=hint)


def refuse_options(step: str, options: Mapping[str, Any]) -> None:
    """Refuse the first keyword there is, by name."""
    for name in options:
        msg = f"{step}({name}=...) is not known to work row by row."
        raise NotProvedTypeError(
            msg, step=f"{step}({name}=)", hint=f"leave {name} out."
        )
