"""What a database must do to hold a ledger: transactions, one writer at a time."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from dpframe.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

BUSY_SECONDS: Final = 30
"""How long a writer waits for another one before it gives up."""


def consequence(*, at_the_end: bool) -> str:
    """Return what a failed transaction has cost; at its commit that is not known."""
    if at_the_end:
        return "Nothing was released; what was to be charged may be spent."
    return "Nothing was released and nothing was spent."


class Session(ABC):
    """An open transaction; it is of no use in a child that was forked in it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def is_left_behind(self) -> bool:
        """Whether a signal handler forked in the middle, and this is the child."""
        return os.getpid() != self._process

    def run(
        self, statement: str, values: Mapping[str, object] | None = None
    ) -> Sequence[Sequence[object]]:
        """Run a statement with named values, and return its rows.

        Raises
        ------
        LedgerError
            If the transaction is the parent's.
        """
        if self.is_left_behind:
            msg = (
                "this process was forked in the middle of a charge, which is its "
                "parent's.\nNothing was released and nothing was spent here."
            )
            raise LedgerError(msg, hint="charge again.")
        return self.rows_of(statement, values or {})

    @abstractmethod
    def rows_of(
        self, statement: str, values: Mapping[str, object]
    ) -> Sequence[Sequence[object]]:
        """Run a statement on the connection."""

    @abstractmethod
    def close(self) -> None:
        """Roll back what was not committed, and let the connection go.

        In a forked child it is kept, unused: it is the parent's to end.
        """


class Database(ABC):
    """A place for the tables of a ledger.

    All errors of the database leave it as a `LedgerError` in our own words, without
    the contents of a row.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, in words for print, without a password."""

    @property
    @abstractmethod
    def address(self) -> str:
        """What another process opens it by."""

    @property
    def unsafe_network_fs(self) -> bool:
        """Whether a network file system was accepted."""
        return False

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables where there are none; what is there is left as it is."""

    @abstractmethod
    def recognise(self) -> None:
        """Take what is at the address now for the ledger, from here on.

        Raises
        ------
        LedgerError
            If nothing is there, or it is where a ledger must not be.
        """

    @abstractmethod
    def warn(self, stacklevel: int) -> None:
        """Warn, with `NotDurableWarning`, where what was spent may be lost."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Return a transaction that sees one state of the record."""

    @abstractmethod
    def writing(
        self, dataset: str, *, lasting: bool
    ) -> AbstractContextManager[Session]:
        """Return a transaction that is alone with a dataset.

        It ends with a commit or changes nothing. A lasting commit has reached the
        disk; another one may be undone by a loss of power, as a whole.

        Raises
        ------
        LedgerBusyError
            If another writer does not let go within `BUSY_SECONDS`.
        LedgerError
            If the database cannot be written. Where that shows only at the commit
            it is not known whether the rows are there.
        """

    @abstractmethod
    def check(self, session: Session) -> None:
        """Look for damage that reading rows does not show."""

    @abstractmethod
    def left_behind(self) -> None:
        """Give up what a forked child must not share with its parent."""
