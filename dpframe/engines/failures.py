"""What is told of a failure while private rows are read: nothing of its cause."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

import polars as pl

from dpframe.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_FAILURES: Final = (Exception, pl.exceptions.PanicException)


def withheld(read: Callable[[], T]) -> T:
    """Return what is read off rows; where it fails, not even the cause is told.

    Raises
    ------
    EvaluationError
        If it fails. The engine's words may quote cells.
    """
    with contextlib.suppress(*_FAILURES):
        return read()
    msg = (
        "The frame could not be evaluated: its file or a step before it was "
        "attached failed. The cause is withheld, since it may quote private cells."
    )
    raise EvaluationError(
        msg, hint="check the frame before it is attached, for example its casts."
    )
