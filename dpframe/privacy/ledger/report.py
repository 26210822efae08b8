"""A ledger in print: each budget, its events, and whether its record is whole.

Nothing is written. Where a record is broken, what stands before the break is shown.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpframe.errors import LedgerCorruptError, LedgerError, NotDurableWarning
from dpframe.privacy.book import Book
from dpframe.privacy.display import charge_place, loss_text, overview
from dpframe.privacy.entries import CHARGED, CLOSED, OPENED, RELEASED
from dpframe.privacy.ledger import tables
from dpframe.privacy.ledger.durable import check_mark
from dpframe.privacy.ledger.opening import database_at, mark_of, no_budget
from dpframe.privacy.standing import standing_of
from dpframe.privacy.total import Total
from dpframe.table import aligned_lines, cell_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from dpframe.privacy.entries import Entry
    from dpframe.privacy.ledger.database import Database
    from dpframe.privacy.ledger.durable import Mark
    from dpframe.privacy.standing import Charge, Standing

_WIDTH: Final = 100
_DETAIL: Final = " " * 6
_LONGEST: Final = 32


@dataclass(frozen=True, kw_only=True)
class Report:
    """One budget of a ledger in print.

    Attributes
    ----------
    text : str
        What is known of it; empty where nothing is.
    fault : LedgerCorruptError or None
        Why the record is not as it was written.
    """

    text: str = ""
    fault: LedgerCorruptError | None = None


def reports(
    ledger: str | os.PathLike[str],
    dataset: str | None = None,
    *,
    anchor: str | None = None,
) -> Iterator[Report]:
    """Yield a report of one budget or child, or of all budgets, in order of name.

    Parameters
    ----------
    ledger : str or path
        A file, or the address of a database.
    dataset : str, optional
        Name of a budget, or of a child: ``"visits/daily"``.
    anchor : str, optional
        A row that the record must hold.

    Raises
    ------
    ParameterError
        If `ledger` names nothing, or `anchor` is no anchor.
    LedgerError
        If the ledger or the budget is not there, or cannot be read;
        `LedgerCorruptError` if nothing in it can.
    """
    mark = None if anchor is None else mark_of(anchor)
    # Reading rows is safe where locks are not; the report then is of one moment.
    database = database_at(ledger, unsafe_network_fs=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotDurableWarning)
        database.recognise()
        database.warn(stacklevel=1)
    notes = [f"note: {cell_text(warning.message)}" for warning in caught]
    with database.reading() as session:
        names = tables.datasets(session)
    if dataset is not None:
        root = dataset.partition("/")[0]
        if root not in names:
            raise no_budget(root, database.place, names)
        names = [root]
    elif mark is not None and len(names) > 1:
        msg = f"an anchor is of one budget, and {database.place} holds {len(names)}."
        raise LedgerError(msg, hint="name the budget too.")
    damage = _damage(database)
    if damage is not None or notes or not names:
        empty = [] if names else [f"{cell_text(database.place)} holds no budget."]
        yield Report(text="\n".join([*notes, *empty]), fault=damage)
    for name in names:
        yield _report(database, name, dataset or name, mark)


def _damage(database: Database) -> LedgerCorruptError | None:
    try:
        with database.reading() as session:
            database.check(session)
    except LedgerCorruptError as error:
        return error
    return None


def _report(database: Database, root: str, path: str, mark: Mark | None) -> Report:
    try:
        with database.reading() as session:
            kept = tables.budget_row(session, root)
            rows = tables.entries(session, root, start=0)
    except LedgerCorruptError as error:
        return Report(fault=error)
    book, sound, fault = _replayed(rows)
    if fault is None:
        fault = _misfit(book, kept, root)
    if fault is None and mark is not None:
        try:
            check_mark(mark, rows, database.place)
        except LedgerCorruptError as error:
            fault = error
    if fault is not None and path not in book.accounts:
        return Report(fault=fault)
    shown = standing_of(
        book,
        book.account(path),
        sound,
        place=database.place,
        durable=True,
        most=len(sound),
    )
    lines = [piece for line in overview(shown) for piece in _parted(line)]
    lines += ["", *_indented(_events(shown, sound)), ""]
    if fault is None:
        count = f"{len(rows)} row{'s' if len(rows) > 1 else ''}"
        whole = f"The record is whole: {count}, chained by their hashes."
        lines += _indented([whole, "anchor {}:{}".format(*book.lasting)])
    else:
        known = f"its first {len(sound)} of {len(rows)} rows"
        lines += _indented([f"The record is broken. What {known} say is above."])
    return Report(text="\n".join(_fitted(lines)), fault=fault)


def _replayed(
    rows: Sequence[Entry],
) -> tuple[Book, Sequence[Entry], LedgerCorruptError | None]:
    """Return the book of all rows before the first that is wrong, and these rows."""
    book = Book()
    for place, row in enumerate(rows):
        try:
            book.read(row)
        except LedgerCorruptError as fault:
            return _replayed(rows[:place])[0], rows[:place], fault
    return book, rows, None


def _misfit(
    book: Book, kept: tables.BudgetRow | None, root: str
) -> LedgerCorruptError | None:
    if kept is None or not book.length:
        return tables.damaged(root, "has lost its rows")
    if kept != tables.BudgetRow.of(book):
        return tables.damaged(root, "does not lead to what is put down")
    return None


def _events(shown: Standing, rows: Sequence[Entry]) -> list[str]:
    """Return the events of an account and of those below it."""
    released = {row.request for row in rows if row.state == RELEASED}
    charges = iter(shown.charges)
    cells = [("row", "time (UTC)", "event", "cost", "state")]
    details: list[list[str]] = [[]]
    for row in rows:
        if row.state == RELEASED or not row.is_below(shown.path):
            continue
        when = cell_text(row.time[:19].replace("T", " "))
        number = str(row.sequence)
        if row.state == CHARGED:
            charge = next(charges)
            what = _short(row.mechanism)
            state = "released" if row.request in released else "not released"
            cost = loss_text(shown, charge.cost)
            cells.append((number, when, what, cost, state))
            details.append(_details(shown, row, charge))
        else:
            what = {OPENED: "opened", CLOSED: "closed"}[row.state]
            child = row.account.removeprefix(shown.path).removeprefix("/")
            what = _short(f"{child} {what}" if child else what)
            total = Total.parsed(row.cost).loss if row.state == OPENED else None
            cost = "" if total is None else loss_text(shown, total)
            cells.append((number, when, what, cost, ""))
            details.append([])
    lines: list[str] = []
    for line, below in zip(aligned_lines(cells, right={0}), details, strict=True):
        lines += [line, *(f"{_DETAIL}{detail}" for detail in below)]
    return lines


def _short(text: str) -> str:
    line = cell_text(text)
    return line if len(line) <= _LONGEST else f"…{line[1 - _LONGEST :]}"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _details(shown: Standing, row: Entry, charge: Charge) -> list[str]:
    """Return what a charge was for, parameters and steps, and what nobody proved."""
    parts = {
        "columns": row.columns,
        "charged": charge_place(shown, charge),
        "how": row.parameters,
        "not proved": "; ".join(p for p in row.parameters.split("; ") if "trust(" in p),
    }
    return [f"{name}: {cell_text(text)}" for name, text in parts.items() if text]


def _parted(line: str) -> list[str]:
    """Return a line, or if it is too long with its bar below, beside its share."""
    text, gap, bar = line.rpartition("   ")
    if len(line) <= _WIDTH or not gap:
        return [line]
    return [text.rstrip(), f"    {bar}"]


def _fitted(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, those that are too long in several pieces."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent=indent, drop_whitespace=True
        ) or [""]
