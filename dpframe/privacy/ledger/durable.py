"""A record in a database, shared with all processes that open it.

Every use of it is one transaction: the rows that were added since the last one are
read and checked, and only then is it decided what comes next. A charge is granted
when its transaction has reached the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, Final, TypeVar, final

from dpframe.errors import LedgerCorruptError, LedgerError
from dpframe.privacy.book import Book
from dpframe.privacy.ledger import tables
from dpframe.privacy.store import Reference, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpframe.privacy.entries import Entry
    from dpframe.privacy.ledger.database import Database, Session
    from dpframe.privacy.total import Total

T = TypeVar("T")

_LAST_DIGITS: Final = Fraction(1, 10**9)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A row that a record must hold.

    Attributes
    ----------
    sequence : int
        Its place.
    digest : str
        Its digest, and so that of all rows before it.
    """

    sequence: int
    digest: str


@final
class DurableStore(Store):
    """The record of one budget and its children in a database.

    In one process there is one for each budget; see `registry`.
    """

    def __init__(self, database: Database, dataset: str, identity: str) -> None:
        self._database = database
        self._dataset = dataset
        self._identity = identity
        self.lock = RLock()  # a signal handler may charge in the middle of a charge
        self._book: Book | None = None  # None: all rows are read again
        self._seen: Mark | None = None  # the last row that is known to be on the disk

    @property
    def place(self) -> str:
        """Path or address."""
        return self._database.place

    @property
    def reference(self) -> Reference:
        """What leads another process here."""
        return Reference(
            ledger=self._database.address,
            dataset=self._dataset,
            identity=self._identity,
            unsafe_network_fs=self._database.unsafe_network_fs,
        )

    def view(self, look: Callable[[Book], T]) -> T:
        """Return what a function reads off the record as it stands."""
        with self.lock, self._database.reading() as session:
            return look(self._current(session))

    def add(
        self, *writes: Callable[[Book], Entry | None], lasting: bool = True
    ) -> None:
        """Add entries, all or none; lasting ones are on the disk when it returns.

        Raises
        ------
        LedgerBusyError
            If others keep the ledger busy for too long.
        LedgerCorruptError
            If the record is not as it was written.
        LedgerError
            If the ledger is gone, is another one, or cannot be written.
        """
        with self.lock:
            with self._database.writing(self._dataset, lasting=lasting) as session:
                book = self._current(session)
                rows: list[Entry] = []
                for write in writes:
                    entry = write(book)
                    if entry is not None:
                        self._book = None  # until the row is there for sure
                        book.read(entry)
                        rows.append(entry)
                for row in rows:
                    tables.insert_entry(session, self._dataset, row)
                if rows:
                    tables.update_budget(session, tables.BudgetRow.of(book))
                    tables.check_written(session, tables.BudgetRow.of(book), rows)
            self._keep(book)

    def entries(self) -> Sequence[Entry]:
        """Return all rows, checked from the first one."""
        with self.lock, self._database.reading() as session:
            return self._read(session, Book())[1]

    def verify(self, total: Total | None, anchor: Mark | None) -> None:
        """Check all of the record, and that it is the one that was asked for.

        Raises
        ------
        LedgerError
            If the total is another one; `LedgerCorruptError` if the record does not
            hold what it must.
        """
        with self.lock:
            self._database.recognise()
            with self._database.reading() as session:
                self._database.check(session)
                marks = [] if anchor is None else [anchor]
                book, _ = self._read(session, Book(), marks)
            recorded = book.root.total
            if (
                total is not None
                and total.epsilon is not None
                and _near(recorded, total)
            ):
                total = replace(total, rho=recorded.rho)
            if total is not None and total != recorded:
                one, other = recorded.words, total.words
                if one == other:
                    one, other = recorded.exact, total.exact
                msg = (
                    f"the budget {self._dataset!r} in {self.place} has a total of "
                    f"{one}, not {other}."
                )
                raise LedgerError(
                    msg,
                    hint="pass the total on record, or another dataset=; "
                    "Accountant.open(...) reads the total from the ledger.",
                )

    def left_behind(self) -> None:
        """In a forked child: share nothing with the parent but the record."""
        self.lock = RLock()
        self._book = None
        self._database.left_behind()

    def _current(self, session: Session) -> Book:
        """Return the book, after reading the rows that were added since."""
        book = Book() if self._book is None else self._book
        self._book = None  # until it is whole again
        return self._read(session, book)[0]

    def _read(
        self, session: Session, book: Book, marks: Iterable[Mark] = ()
    ) -> tuple[Book, list[Entry]]:
        """Read what follows a book, and make that the current one.

        The rows of releases at its end may have been undone by a loss of the server's
        power. Then, as at first, all rows are read.
        """
        kept = tables.budget_row(session, self._dataset)
        if kept is None or kept.identity != self._identity:
            msg = (
                f"{self.place} no longer holds the budget {self._dataset!r} that was "
                "opened, but another one or none.\n"
                "Nothing was released and nothing was spent."
            )
            raise LedgerError(msg, hint="bring the ledger back, or open the new one.")
        rows: list[Entry] = []
        if book.length:
            rows = tables.entries(session, self._dataset, start=book.length - 1)
        if rows and rows[0].digest == book.head:
            new = rows[1:]
        else:
            book, rows = Book(), tables.entries(session, self._dataset, start=0)
            for mark in (*marks, *([] if self._seen is None else [self._seen])):
                check_mark(mark, rows, self.place)
            new = rows
        for row in new:
            book.read(row)
        if not rows or kept != tables.BudgetRow.of(book):
            raise tables.damaged(self._dataset, "does not lead to what is put down")
        self._keep(book)
        return book, rows

    def _keep(self, book: Book) -> None:
        self._seen = Mark(sequence=book.lasting[0], digest=book.lasting[1])
        self._book = book  # last: an interrupt in between has all rows read again


def _near(recorded: Total, total: Total) -> bool:
    """Return whether the rho on record grants no more than one converted now."""
    return (
        recorded.rho is not None
        and total.rho is not None
        and recorded.rho <= total.rho * (1 + _LAST_DIGITS)
    )


def check_mark(mark: Mark, rows: Sequence[Entry], place: str) -> None:
    """Refuse rows that do not hold a row as it was seen before.

    Raises
    ------
    LedgerCorruptError
    """
    first = rows[0].sequence if rows else 0
    found = rows[mark.sequence - first : mark.sequence - first + 1]
    if not found or found[0].digest != mark.digest:
        msg = (
            f"{place} does not hold row {mark.sequence} as it was seen before: it is "
            "an older copy, or was changed.\n"
            "Nothing was released and nothing was spent."
        )
        raise LedgerCorruptError(msg, hint="bring back the latest copy.")
