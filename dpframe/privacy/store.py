"""Where a record is kept, and how one row at a time is added to it.

The record is the truth; a `Book` is what was read of it so far. Whoever adds a row
has read all rows before it and is alone while he writes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import TYPE_CHECKING, TypeVar, final

from dpframe.errors import LedgerError
from dpframe.privacy.book import Book

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpframe.privacy.entries import Entry

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The way to a durable record, never an amount.

    Attributes
    ----------
    ledger : str
        Absolute path of a file, or address of a database; one with a password in it
        is shown nowhere but travels with the reference.
    dataset : str
        The budget in it.
    identity : str
        The name that it was given when it was made: another one in its place is
        refused.
    unsafe_network_fs : bool
        Whether a network file system was accepted.
    """

    ledger: str = field(repr=False)
    dataset: str
    identity: str
    unsafe_network_fs: bool = False


class Store(ABC):
    """The record of one budget and its children."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, in words for print: ``"in memory"``, ``"budget.db"``."""

    @property
    @abstractmethod
    def reference(self) -> Reference | None:
        """What leads another process to it; None where none does."""

    @abstractmethod
    def view(self, look: Callable[[Book], T]) -> T:
        """Return what a function reads off the record as it stands."""

    @abstractmethod
    def add(
        self, *writes: Callable[[Book], Entry | None], lasting: bool = True
    ) -> None:
        """Add the entries that functions make, each of the record as it then stands.

        Nobody else adds one in between. A function that finds nothing to add returns
        None. If one raises, nothing is added. Entries that need not be `lasting` may
        be lost with the machine's power.
        """

    @abstractmethod
    def entries(self) -> Sequence[Entry]:
        """Return all rows, in order."""


@final
class MemoryStore(Store):
    """A record in this process's memory, lost with it."""

    __slots__ = ("_book", "_lock", "_pid", "_rows", "_turn")

    def __init__(self) -> None:
        self._rows: list[Entry] = []
        self._book: Book | None = Book()
        self._turn = RLock()  # one thread at a time
        self._lock = Lock()  # held within a turn: then a signal handler came between
        self._pid = os.getpid()

    @property
    def place(self) -> str:
        """In memory."""
        return "in memory"

    @property
    def reference(self) -> None:
        """Nothing: no other process can share it."""

    def view(self, look: Callable[[Book], T]) -> T:
        """Return what a function reads off the record; in a forked child, its copy."""
        if os.getpid() != self._pid:  # the lock may be held by a thread left behind
            return look(self._reread())
        with self._turn:
            if self._lock.locked():
                return look(self._reread())
            with self._lock:
                return look(self._current())

    def add(
        self,
        *writes: Callable[[Book], Entry | None],
        lasting: bool = True,  # noqa: ARG002 - nothing here is
    ) -> None:
        """Add entries, all or none.

        Raises
        ------
        LedgerError
            In a forked child, whose copy of the budget would be spent twice; in a
            signal handler that came in the middle of another use of the budget.
        """
        if os.getpid() != self._pid:
            msg = (
                "this budget lives in the memory of the process that made it, "
                "not in this forked child.\n"
                "Nothing was released and nothing was spent."
            )
            hint = "charge in the parent, or give several processes a ledger: "
            raise LedgerError(msg, hint=f'{hint}Accountant(..., ledger="budget.db").')
        with self._turn:
            if self._lock.locked():
                msg = (
                    "this budget is being charged or read, and a signal handler came "
                    "in between.\nNothing was released and nothing was spent."
                )
                raise LedgerError(msg, hint="charge outside of signal handlers.")
            with self._lock:
                self._write(writes)

    def _write(self, writes: Iterable[Callable[[Book], Entry | None]]) -> None:
        book = self._current()
        rows: list[Entry] = []
        for write in writes:
            entry = write(book)
            if entry is None:
                continue
            self._book = None  # it may be left halfway: then all rows are reread
            book.read(entry)
            rows.append(entry)
        self._rows.extend(rows)
        self._book = book

    def entries(self) -> Sequence[Entry]:
        """Return all rows."""
        return tuple(self._rows)

    def _current(self) -> Book:
        if self._book is None:
            self._book = self._reread()
        return self._book

    def _reread(self) -> Book:
        book = Book()
        for entry in tuple(self._rows):
            book.read(entry)
        return book
