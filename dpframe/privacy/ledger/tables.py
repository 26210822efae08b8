"""The two tables of a ledger, and the statements on them; alike in both databases.

A budget has one row that says where its record ends and how full it is. It is
compared with the record whenever that is read. Beside the exact amounts, which are
text, it holds the share that is spent as a whole number, for the database itself to
check: a second fence.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from dpframe.errors import LedgerCorruptError
from dpframe.privacy.entries import COLUMNS, Entry
from dpframe.privacy.scope import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from dpframe.privacy.book import Book
    from dpframe.privacy.ledger.database import Session

WHOLE: Final = 10**15
"""Parts that a total is divided into for the second fence."""


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """What is kept of a budget beside its record.

    Attributes
    ----------
    dataset, identity : str
        Its name, and the one that it was given when it was made.
    length : int
        How many rows its record has.
    head : str
        Digest of the last one.
    total : str
        The exact total.
    spent, cap : int
        Parts of the total that are spent, rounded down, and how many there are.
    keys, keys_cap : int
        The same of the delta that releases may spend themselves.
    """

    dataset: str
    identity: str
    length: int
    head: str
    total: str
    spent: int
    cap: int
    keys: int
    keys_cap: int

    @classmethod
    def of(cls, book: Book) -> BudgetRow:
        """Return the row that belongs to a record.

        Of two lanes that both hold, the emptier one counts: it alone can grant.
        """
        total, room = book.root.total, book.room(book.root, ROOT)
        lanes = ((total.epsilon, room.epsilon), (total.rho, room.rho))
        return cls(
            dataset=book.root.path,
            identity=book.identity,
            length=book.length,
            head=book.head,
            total=total.exact,
            spent=min(_parts(limit, left) for limit, left in lanes if left is not None),
            cap=WHOLE,
            keys=_parts(total.keys_delta, room.delta),
            keys_cap=WHOLE,
        )


def _parts(limit: Fraction | None, left: Fraction | None) -> int:
    if not limit or left is None:
        return 0
    return int((1 - left / limit) * WHOLE)


_BUDGET: Final = tuple(field.name for field in fields(BudgetRow))
_WHOLE_NUMBERS: Final = {"sequence", "length", "spent", "cap", "keys", "keys_cap"}


def _listed(names: Iterable[str], form: str = '"{}"') -> str:
    return ", ".join(form.format(name) for name in names)


def _column(name: str) -> str:
    return f'"{name}" {"BIGINT" if name in _WHOLE_NUMBERS else "TEXT"} NOT NULL'


def creation(*, is_whole: str = "TRUE") -> tuple[str, ...]:
    """Return the statements that make the tables.

    Parameters
    ----------
    is_whole : str
        What makes sure that a column ``{}`` holds a whole number, where its type
        does not.
    """
    fences = [
        f'CHECK ({is_whole.format(name)} AND "{name}" >= 0 AND "{name}" <= "{cap}")'
        for name, cap in (("spent", "cap"), ("keys", "keys_cap"))
    ]
    budget = [*map(_column, _BUDGET), 'PRIMARY KEY ("dataset")', *fences]
    event = [
        _column("dataset"),
        *map(_column, COLUMNS),
        'PRIMARY KEY ("dataset", "sequence")',
        'UNIQUE ("dataset", "request", "state")',
    ]
    return (
        f"CREATE TABLE dpframe_budget ({', '.join(budget)})",
        f"CREATE TABLE dpframe_event ({', '.join(event)})",
    )


def datasets(session: Session) -> list[str]:
    """Return the names of all budgets, those too that have lost a part."""
    rows = session.run(
        'SELECT "dataset" FROM dpframe_budget UNION '
        'SELECT "dataset" FROM dpframe_event ORDER BY "dataset"'
    )
    return [_text(row[0]) for row in rows]


def budget_row(session: Session, dataset: str) -> BudgetRow | None:
    """Return what is kept of a budget, or None where there is none of this name.

    Raises
    ------
    LedgerCorruptError
        If its record is there without it.
    """
    found = _kept(session, dataset)
    if found is None and entries(session, dataset, start=0):
        # Another process may have made both since the first look, in one transaction.
        found = _kept(session, dataset)
        if found is None:
            raise damaged(dataset, "has lost the row that says how full it is")
    return found


def _kept(session: Session, dataset: str) -> BudgetRow | None:
    rows = session.run(
        f'SELECT {_listed(_BUDGET)} FROM dpframe_budget WHERE "dataset" = :dataset',  # noqa: S608 - names from here
        {"dataset": dataset},
    )
    return BudgetRow(**_cells(_BUDGET, rows[0])) if rows else None


def entries(session: Session, dataset: str, *, start: int) -> list[Entry]:
    """Return the rows of a record from one on."""
    rows = session.run(
        f'SELECT {_listed(COLUMNS)} FROM dpframe_event WHERE "dataset" = :dataset '  # noqa: S608 - names from here
        'AND "sequence" >= :start ORDER BY "sequence"',
        {"dataset": dataset, "start": start},
    )
    return [Entry(**_cells(COLUMNS, row)) for row in rows]


def insert_budget(session: Session, row: BudgetRow) -> None:
    """Add a budget, if there is none of its name."""
    session.run(
        f"INSERT INTO dpframe_budget ({_listed(_BUDGET)}) "  # noqa: S608 - names from here
        f"VALUES ({_listed(_BUDGET, ':{}')}) ON CONFLICT DO NOTHING",
        dict(zip(_BUDGET, astuple(row), strict=True)),
    )


def update_budget(session: Session, row: BudgetRow) -> None:
    """Put down where a record ends now."""
    changes = ", ".join(f'"{name}" = :{name}' for name in _BUDGET if name != "dataset")
    session.run(
        f'UPDATE dpframe_budget SET {changes} WHERE "dataset" = :dataset',  # noqa: S608 - names from here
        dict(zip(_BUDGET, astuple(row), strict=True)),
    )


def insert_entry(session: Session, dataset: str, entry: Entry) -> None:
    """Add a row to a record."""
    names = ("dataset", *COLUMNS)
    session.run(
        f"INSERT INTO dpframe_event ({_listed(names)}) "  # noqa: S608 - names from here
        f"VALUES ({_listed(names, ':{}')})",
        dict(zip(names, (dataset, *astuple(entry)), strict=True)),
    )


def check_written(session: Session, row: BudgetRow, rows: Sequence[Entry]) -> None:
    """Refuse a database that took rows and does not hold them as they were written.

    A trigger, a rule or a policy of its administrator may drop them in silence.

    Raises
    ------
    LedgerCorruptError
    """
    found = entries(session, row.dataset, start=rows[0].sequence)
    if found != rows or budget_row(session, row.dataset) != row:
        raise damaged(row.dataset, "does not hold what is written to it")


def damaged(dataset: str, what: str) -> LedgerCorruptError:
    """Return the error for a record that is not as it was written."""
    msg = (
        f"the record of {dataset!r} {what}: it was damaged or changed.\n"
        "Nothing was released and nothing was spent."
    )
    return LedgerCorruptError(msg, hint="go back to a copy, or open a new budget.")


def _cells(names: Sequence[str], row: Sequence[object]) -> dict[str, Any]:
    """Return cells by name; SQLite keeps cells of any type in any column."""
    return {
        name: _number(cell) if name in _WHOLE_NUMBERS else _text(cell)
        for name, cell in zip(names, row, strict=True)
    }


def _text(cell: object) -> str:
    if isinstance(cell, str):
        return cell
    raise _odd()


def _number(cell: object) -> int:
    if isinstance(cell, int):
        return cell
    raise _odd()


def _odd() -> LedgerCorruptError:
    msg = (
        "the ledger holds a cell of another type than was written.\n"
        "Nothing was released and nothing was spent."
    )
    return LedgerCorruptError(msg, hint="go back to a copy, or open a new budget.")
