"""Names that never repeat: of charges, of partitions, of ledgers."""

from __future__ import annotations

from uuid import uuid4

from dpframe.errors import RandomnessError


def new_identity() -> str:
    """Return a fresh name, from the operating system's random bytes.

    Raises
    ------
    RandomnessError
        If it gives none, or too few.
    """
    try:
        return uuid4().hex
    except (OSError, ValueError):
        msg = "The source of random bytes failed.\nNothing was released or spent."
    raise RandomnessError(msg)
