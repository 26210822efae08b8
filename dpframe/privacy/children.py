"""How a budget is divided: names and weights of its children."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.loss import exact_amount

if TYPE_CHECKING:
    from dpframe.privacy.book import Book

_LONGEST: Final = 200
_MOST: Final = 10_000


def checked_name(name: object, *, what: str) -> str:
    """Return the name of a budget or child.

    Raises
    ------
    ParameterTypeError
        If it is no text.
    ParameterError
        If it is empty, too long, or holds a slash or an unprintable character.
    """
    if not isinstance(name, str):
        msg = f"{what} must be text, not {type(name).__name__}."
        raise ParameterTypeError(msg)
    if not name or len(name) > _LONGEST or "/" in name or not name.isprintable():
        msg = f"{what} must be printable text of 1 to {_LONGEST} characters, no slash."
        raise ParameterError(msg)
    return name


def weights_of(parts: object) -> dict[str, Fraction]:
    """Return a weight for each part of a budget, by name or by number.

    Raises
    ------
    ParameterTypeError
        If it is neither a number of parts nor a mapping of weights.
    ParameterError
        If there are none, too many, or a weight is not positive.
    """
    if isinstance(parts, Mapping):
        given = cast("Mapping[object, object]", parts)
        weights = {
            checked_name(name, what="a name"): exact_amount(weight, what="a weight")
            for name, weight in given.items()
        }
    elif isinstance(parts, int) and not isinstance(parts, bool):
        weights = {str(n): Fraction(1) for n in range(1, min(parts, _MOST + 1) + 1)}
    else:
        msg = "a budget is split into a number of parts or by a mapping of weights."
        raise ParameterTypeError(
            msg, hint='write .split(3) or .split({"a": 2, "b": 1}).'
        )
    if not 0 < len(weights) <= _MOST:
        msg = f"a budget is split into 1 to {_MOST} parts."
        raise ParameterError(msg)
    return weights


def free_name(book: Book, path: str) -> str:
    """Return the first number that no child of an account is named by."""
    number = 1
    while f"{path}/{number}" in book.accounts:
        number += 1
    return str(number)
