"""How a ledger is opened: what is missing is made only where that is asked for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from dpframe.errors import LedgerError, ParameterError, ParameterTypeError
from dpframe.privacy.book import Book
from dpframe.privacy.identity import new_identity
from dpframe.privacy.ledger import tables
from dpframe.privacy.ledger.durable import DurableStore, Mark
from dpframe.privacy.ledger.registry import REGISTRY
from dpframe.privacy.ledger.sqlite import SQLiteFile
from dpframe.privacy.store import Reference

if TYPE_CHECKING:
    from dpframe.privacy.ledger.database import Database
    from dpframe.privacy.store import Store
    from dpframe.privacy.total import Total


_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+]+)://")
_ALMOST: Final = re.compile(
    r"\s*postgres[a-z0-9+]*\s*:|\s+[a-z0-9+]+://", re.IGNORECASE
)


def open_ledger(
    ledger: str | os.PathLike[str],
    *,
    dataset: str,
    total: Total | None = None,
    create: bool = False,
    anchor: str | None = None,
    unsafe_network_fs: bool = False,
) -> Store:
    """Return the record of a budget in a ledger, checked from its first row.

    Parameters
    ----------
    ledger : str or path
        A file, or the address of a database.
    dataset : str
        Name of the budget.
    total : Total, optional
        What it must hold. Default: what is on record.
    create : bool
        Make what is missing, of this total.
    anchor : str, optional
        A row that the record must hold.
    unsafe_network_fs : bool
        Accept a network file system.

    Raises
    ------
    ParameterTypeError, ParameterError
        If `ledger` names no file and no database, or `anchor` is no anchor.
    LedgerError
        If the ledger is missing, has another total, or cannot be used.
    """
    mark = None if anchor is None else mark_of(anchor)
    database = database_at(ledger, unsafe_network_fs=unsafe_network_fs)
    if create and total is not None and mark is None:  # an anchor was there before
        database.prepare()
        database.recognise()
        _add_budget(database, dataset, total)
    database.recognise()
    with database.reading() as session:
        row = tables.budget_row(session, dataset)
        names = [] if row is not None else tables.datasets(session)
    if row is None:
        raise no_budget(dataset, database.place, names)
    reference = Reference(
        ledger=database.address, dataset=dataset, identity=row.identity
    )
    store = REGISTRY.shared(
        reference, lambda: DurableStore(database, dataset, reference.identity)
    )
    store.verify(total, mark)
    database.warn(stacklevel=3)  # the caller of the accountant
    return store


def reopened(reference: Reference) -> Store:
    """Return the record that a pickled reference leads to.

    Raises
    ------
    LedgerError
        If it is not there, or another one is in its place.
    """
    store = REGISTRY.find(reference)
    if store is None:
        database = database_at(
            reference.ledger, unsafe_network_fs=reference.unsafe_network_fs
        )
        store = REGISTRY.shared(
            reference,
            lambda: DurableStore(database, reference.dataset, reference.identity),
        )
        store.verify(None, None)
        database.warn(stacklevel=2)
    return store


def _add_budget(database: Database, dataset: str, total: Total) -> None:
    """Add a budget, unless one of this name is there."""
    with database.writing(dataset, lasting=True) as session:
        if tables.budget_row(session, dataset) is not None:
            return
        book = Book()
        entry = book.opening(dataset, total, new_identity())
        book.read(entry)
        tables.insert_budget(session, tables.BudgetRow.of(book))
        added = tables.budget_row(session, dataset)
        if added is not None and added.identity == book.identity:  # none was faster
            tables.insert_entry(session, dataset, entry)


def database_at(ledger: object, *, unsafe_network_fs: bool) -> Database:
    """Return what a path or address leads to; it is not looked at yet.

    Raises
    ------
    ParameterTypeError, ParameterError
        If it names no file and no database.
    MissingExtraError
        If a package that it needs is not installed.
    """
    if not isinstance(ledger, (str, os.PathLike)) or isinstance(ledger, bytes):
        msg = f"ledger must be a path or an address, not {type(ledger).__name__}."
        raise ParameterTypeError(msg, hint='write ledger="budget.db".')
    path = os.fsdecode(ledger)  # pyright: ignore[reportUnknownArgumentType]
    scheme = _SCHEME.match(path)
    if scheme is None:
        if not path or "\0" in path:
            msg = "ledger must name a file."
            raise ParameterError(msg, hint='write ledger="budget.db".')
        if _ALMOST.match(path):  # as a path it would be printed, password and all
            msg = "ledger looks like the address of a database and is none."
            hint = 'write ledger="postgresql://user@host/name".'
            raise ParameterError(msg, hint=hint)
        return SQLiteFile(path, unsafe_network_fs=unsafe_network_fs)
    if scheme[1].lower() not in {"postgresql", "postgres", "postgresql+psycopg"}:
        msg = f"a ledger is a file or in PostgreSQL, not in {scheme[1]}://."
        hint = 'write ledger="budget.db" or ledger="postgresql://user@host/name".'
        raise ParameterError(msg, hint=hint)
    from dpframe.privacy.ledger.postgres import PostgresDatabase  # noqa: PLC0415 - an extra

    return PostgresDatabase(path)


def mark_of(anchor: object) -> Mark:
    """Return the row that an anchor names.

    Raises
    ------
    ParameterTypeError, ParameterError
        If it is no anchor.
    """
    if not isinstance(anchor, str):
        msg = f"anchor must be text, not {type(anchor).__name__}."
        raise ParameterTypeError(msg, hint="pass what .anchor returned.")
    found = re.fullmatch(r"([0-9]{1,18}):([0-9a-f]{64})", anchor)
    if found is None:
        msg = "anchor must be a number of a row and its digest."
        raise ParameterError(msg, hint="pass what .anchor returned.")
    return Mark(sequence=int(found[1]), digest=found[2])


def no_budget(dataset: str, place: str, names: list[str]) -> LedgerError:
    """Return the error for a budget that is not in a ledger."""
    known = f"it holds {', '.join(map(repr, names))}" if names else "it holds none"
    msg = f"there is no budget {dataset!r} in {place}: {known}."
    hint = "Accountant(..., create=True) makes it"
    if names:
        hint += f"; a child is named after its budget, as in {names[0] + '/name'!r}"
    return LedgerError(msg, hint=f"{hint}.")
