"""What was damaged, edited, put back or put in another's place is noticed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checks.ledgers import charges, granted, pay

from dpframe.errors import BudgetExceededError, LedgerCorruptError, LedgerError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.book import Book
from dpframe.privacy.entries import COLUMNS, Entry
from dpframe.privacy.ledger.tables import BudgetRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.privacy.ledger.conftest import Ledger

# Statements by what they do; `default` holds an opening at 0, charges at 1, 3 and 4,
# and the release of the first at 2.
EDITS = {
    "cheaper charge": (
        "UPDATE dpframe_event SET \"cost\" = 'epsilon=1/100', "
        '"charged" = \'epsilon=1/100\' WHERE "sequence" = 3'
    ),
    "cheaper sum": (
        'UPDATE dpframe_event SET "charged" = \'epsilon=1/100\' WHERE "sequence" = 3'
    ),
    "larger total": (
        'UPDATE dpframe_event SET "cost" = \'epsilon=9\' WHERE "sequence" = 0'
    ),
    "another method": (
        'UPDATE dpframe_event SET "mechanism" = \'mean\' WHERE "sequence" = 1'
    ),
    "another time": (
        "UPDATE dpframe_event SET \"time\" = '2000-01-01T00:00:00+00:00' "
        'WHERE "sequence" = 1'
    ),
    "another scope": (
        "UPDATE dpframe_event SET \"scope\" = 'a', "
        '"path" = \'[["0",1,"a"]]\' WHERE "sequence" = 1'
    ),
    "charge made a release": (
        'UPDATE dpframe_event SET "state" = \'released\' WHERE "sequence" = 3'
    ),
    "unknown state": (
        'UPDATE dpframe_event SET "state" = \'refunded\' WHERE "sequence" = 3'
    ),
    "unreadable amount": (
        'UPDATE dpframe_event SET "cost" = \'1/0\' WHERE "sequence" = 3'
    ),
    "row in the middle left out": 'DELETE FROM dpframe_event WHERE "sequence" = 3',
    "release left out": 'DELETE FROM dpframe_event WHERE "sequence" = 2',
    "last row left out": 'DELETE FROM dpframe_event WHERE "sequence" = 4',
    "first row left out": 'DELETE FROM dpframe_event WHERE "sequence" = 0',
    "all rows left out": "DELETE FROM dpframe_event",
    "row moved to the end": (
        'UPDATE dpframe_event SET "sequence" = 5 WHERE "sequence" = 3'
    ),
    "row of another budget": (
        'UPDATE dpframe_event SET "dataset" = \'default\', "sequence" = 5 '
        'WHERE "dataset" = \'other\' AND "sequence" = 1'
    ),
    "smaller sum kept": 'UPDATE dpframe_budget SET "spent" = 5',
    "smaller length kept": 'UPDATE dpframe_budget SET "length" = 4',
    "another end kept": "UPDATE dpframe_budget SET \"head\" = '0'",
    "larger total kept": "UPDATE dpframe_budget SET \"total\" = 'epsilon=9'",
    "larger cap kept": 'UPDATE dpframe_budget SET "cap" = "cap" * 2',
    "keys kept": 'UPDATE dpframe_budget SET "keys" = 1',
    "row of the budget left out": (
        "DELETE FROM dpframe_budget WHERE \"dataset\" = 'default'"
    ),
}
# Done with what follows the last row that a process has read, these are noticed by
# it at once; the others when all rows are read.
LATE = {
    "cheaper charge",
    "cheaper sum",
    "larger total",
    "another method",
    "another time",
    "another scope",
    "charge made a release",
    "unknown state",
    "unreadable amount",
    "row in the middle left out",
    "release left out",
    "first row left out",
}


@pytest.fixture
def written(ledger: Ledger) -> Ledger:
    """A ledger with four charges' worth of rows, and another budget beside it."""
    budget = ledger.budget(1)
    pay(budget, 0.1).released()
    pay(budget, 0.2)
    pay(budget, 0.3)
    pay(ledger.budget(1, dataset="other"), 0.5)
    return ledger


def test_record_that_was_left_alone_is_good(written: Ledger) -> None:
    before = written.snapshot()
    assert granted(written.afresh(), 0.1)
    written.restore(before)
    assert written.afresh().spent.epsilon == Fraction(3, 5)


@pytest.mark.parametrize("edit", EDITS)
def test_edited_record_is_refused(written: Ledger, edit: str) -> None:
    budget = written.open()
    written.sql(EDITS[edit])
    before = written.snapshot()
    for act in (
        written.afresh,
        lambda: written.budget(1),
        lambda: budget.events,
        *([] if edit in LATE else [lambda: pay(budget, 0.01), lambda: budget.spent]),
    ):
        with pytest.raises(LedgerError, match="Nothing was released") as error:
            act()
        assert isinstance(error.value, LedgerCorruptError)
    assert written.snapshot() == before


@pytest.mark.parametrize("sequence", range(5))
def test_doubled_rows_are_refused(written: Ledger, sequence: int) -> None:
    """Under another name: the database itself refuses the same one."""
    rest = [name for name in COLUMNS if name not in {"sequence", "request"}]
    names = ", ".join(f'"{name}"' for name in rest)
    written.sql(
        f'INSERT INTO dpframe_event ("dataset", "sequence", "request", {names}) '  # noqa: S608 - names of columns
        f"SELECT 'default', 5, 'another', {names} FROM dpframe_event "
        f'WHERE "dataset" = \'default\' AND "sequence" = {sequence}'
    )
    with pytest.raises(LedgerCorruptError):
        written.afresh()


@pytest.mark.parametrize(
    ("table", "column", "cell"),
    [
        ("event", "cost", "x'00'"),
        ("event", "sequence", "'three'"),
        ("event", "sequence", "3.5"),
        ("event", "path", "7"),
        ("budget", "length", "5.5"),
        ("budget", "head", "x'00'"),
    ],
)
def test_cells_of_another_type_are_refused(
    sqlite: Ledger, table: str, column: str, cell: str
) -> None:
    budget = sqlite.budget(1)
    for _ in range(4):
        pay(budget, 0.1)
    where = ' WHERE "sequence" = 3' if table == "event" else ""
    sqlite.sql(f'UPDATE dpframe_{table} SET "{column}" = {cell}{where}')  # noqa: S608 - above
    with pytest.raises(LedgerCorruptError):
        sqlite.afresh()


@pytest.mark.parametrize(
    "cells",
    ['"spent" = "cap" + 1', '"spent" = -1', '"keys" = "keys_cap" + 1', '"keys" = -1'],
)
def test_database_itself_lets_no_budget_be_overspent(
    ledger: Ledger, cells: str
) -> None:
    ledger.budget(1)
    with pytest.raises(Exception, match=r"(?i)check constraint"):
        ledger.sql(f"UPDATE dpframe_budget SET {cells}")  # noqa: S608 - above


@pytest.mark.parametrize("value", ["'much'", "0.5", "x'00'"])
def test_database_itself_keeps_whole_numbers(sqlite: Ledger, value: str) -> None:
    sqlite.budget(1)
    with pytest.raises(Exception, match="CHECK constraint"):
        sqlite.sql(f'UPDATE dpframe_budget SET "spent" = {value}')  # noqa: S608 - above


def test_second_fence_follows_the_fuller_budget(ledger: Ledger) -> None:
    whole = 10**15
    spent = 'SELECT "spent", "keys" FROM dpframe_budget WHERE "dataset" = '
    pure = ledger.budget(3, dataset="pure")
    pay(pure, 1)
    assert ledger.sql(f"{spent} 'pure'") == [(whole // 3, 0)]
    child = pure.child("c", epsilon=1)
    assert ledger.sql(f"{spent} 'pure'") == [(2 * whole // 3, 0)]
    child.close()
    assert ledger.sql(f"{spent} 'pure'") == [(whole // 3, 0)]
    pay(pure, 2)
    assert ledger.sql(f"{spent} 'pure'") == [(whole, 0)]
    two = ledger.budget(epsilon=1, delta=1e-6, dataset="two")
    pay(two, 0.1)  # a tenth of epsilon, and a fifth of rho
    assert ledger.sql(f"{spent} 'two'") == [(whole // 10, 0)]


def test_older_copy_is_refused_by_who_has_read_more(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    pay(budget, 0.25)
    copy = ledger.snapshot()
    pay(budget, 0.5)
    latest = ledger.snapshot()
    ledger.restore(copy)
    for _ in range(2):
        for act in (
            lambda: pay(budget, 0.5),
            lambda: budget.spent,
            lambda: budget.events,
            ledger.open,
        ):
            with pytest.raises(LedgerCorruptError, match="older copy"):
                act()
    ledger.restore(latest)
    assert budget.spent.epsilon == 0.75


def test_older_copy_is_noticed_elsewhere_by_an_anchor_alone(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    pay(budget, 0.25)
    copy, early = ledger.snapshot(), budget.anchor
    pay(budget, 0.5)
    late = budget.anchor
    ledger.restore(copy)
    assert ledger.afresh(anchor=early).spent.epsilon == 0.25  # no way to know
    with pytest.raises(LedgerCorruptError, match="older copy"):
        ledger.afresh(anchor=late)
    pay(ledger.afresh(), 0.125)  # a fork of the copy: as long, and not the same
    with pytest.raises(LedgerCorruptError, match="older copy, or was changed"):
        ledger.afresh(anchor=late)


def test_record_written_anew_is_noticed_by_an_anchor_alone(written: Ledger) -> None:
    """Who recomputes the digests writes a record like any other."""
    anchor = written.open().anchor
    rows = written.sql(
        f"SELECT {', '.join(map('{0!r}'.format, COLUMNS)).replace(chr(39), chr(34))} "  # noqa: S608 - names of columns
        'FROM dpframe_event WHERE "dataset" = \'default\' ORDER BY "sequence"'
    )
    book, forged = Book(), []
    for row in rows:
        cells: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
        cells |= {"previous": book.head}
        if cells["sequence"] == 4:
            cells |= {"cost": "epsilon=1/100", "charged": "epsilon=1/100"}
        entry = Entry(**cells)
        book.read(entry)
        forged.append(entry)
    kept = BudgetRow.of(book)
    written.sql(
        *(
            f"UPDATE dpframe_event SET \"cost\" = '{entry.cost}', "  # noqa: S608 - above
            f"\"charged\" = '{entry.charged}', \"previous\" = '{entry.previous}' "
            f'WHERE "dataset" = \'default\' AND "sequence" = {entry.sequence}'
            for entry in forged
        ),
        f"UPDATE dpframe_budget SET \"head\" = '{kept.head}', "  # noqa: S608 - above
        f'"spent" = {kept.spent} WHERE "dataset" = \'default\'',
    )
    assert str(written.afresh().spent.epsilon) == "31/100"
    with pytest.raises(LedgerCorruptError, match="was changed"):
        written.afresh(anchor=anchor)


def damaged_pages(path: Path) -> list[tuple[str, bytes]]:
    whole = path.read_bytes()
    size = 4096
    found = [("header", b"\0" * 16 + whole[16:]), ("cut", whole[: len(whole) // 2])]
    for start in range(0, len(whole), size):
        for name, fill in (("blank", b"\0"), ("noise", b"\xa7")):
            page = bytearray(whole)
            page[start + (100 if start == 0 else 0) : start + size] = fill * (
                size - (100 if start == 0 else 0)
            )
            found.append((f"{name} page {start // size + 1}", bytes(page)))
    return found


def refuses(act: Callable[[], object]) -> bool:
    try:
        act()
    except LedgerError:
        return True
    return False


def test_damaged_file_is_never_a_fresh_budget(sqlite: Ledger) -> None:
    budget = sqlite.budget(1)
    for _ in range(30):
        pay(budget, 0.01).released()
    path = Path(sqlite.address)
    whole = path.read_bytes()
    cases = damaged_pages(path)
    assert len(cases) > 10
    for name, content in cases:
        path.write_bytes(content)
        for act in (sqlite.afresh, lambda: sqlite.budget(1)):
            assert refuses(act), name
        # A page of an index may be one that a charge does not touch.
        assert "page" in name or refuses(lambda: pay(budget, 0.01)), name
    path.write_bytes(whole)
    assert str(sqlite.afresh().spent.epsilon) == "3/10"


def test_deleted_file_is_an_error_to_all_who_know_it(sqlite: Ledger) -> None:
    budget = sqlite.budget(1)
    pay(budget, 0.5)
    Path(sqlite.address).unlink()
    for act in (sqlite.open, lambda: pay(budget, 0.1), lambda: budget.spent):
        with pytest.raises(LedgerError, match="no ledger"):
            act()
    fresh = sqlite.budget(1)  # asked for in so many words
    assert fresh != budget
    for act in (lambda: pay(budget, 0.1), lambda: budget.spent):
        with pytest.raises(LedgerError, match=r"another (file is in the place|one or)"):
            act()
    assert granted(fresh, 1)


def test_file_that_is_moved_or_replaced_is_refused(sqlite: Ledger) -> None:
    budget = sqlite.budget(1)
    pay(budget, 0.5)
    path = Path(sqlite.address)
    away, other = path.with_name("away.db"), path.with_name("other.db")
    path.rename(away)
    with pytest.raises(LedgerError, match="no ledger"):
        pay(budget, 0.1)
    shutil.copy(away, path)
    with pytest.raises(LedgerError, match="another file is in the place"):
        pay(budget, 0.1)
    assert sqlite.open() == budget  # opened again: it holds all that was seen
    assert granted(budget, 0.1)
    path.unlink()
    shutil.copy(away, path)
    with pytest.raises(LedgerCorruptError, match="older copy"):
        sqlite.open()
    path.rename(other)
    away.rename(path)
    with pytest.raises(LedgerError):
        pay(budget, 0.1)


def test_file_replaced_in_the_middle_of_a_charge_releases_nothing(
    sqlite: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = sqlite.budget(1)
    path = Path(sqlite.address)
    charge = Book.charge

    def moved(book: Book, *args: Any) -> Any:
        shutil.copy(path, path.with_name("copy.db"))
        path.with_name("copy.db").rename(path)
        return charge(book, *args)

    monkeypatch.setattr(Book, "charge", moved)
    with pytest.raises(LedgerError):
        pay(budget, 0.5)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="another file is in the place"):
        pay(budget, 0.5)


def test_deleted_tables_are_no_fresh_budget(postgres: Ledger) -> None:
    budget = postgres.budget(1)
    pay(budget, 0.5)
    postgres.sql("DROP TABLE dpframe_budget, dpframe_event")
    with pytest.raises(LedgerError, match="holds no ledger"):
        postgres.open()
    with suppress(BudgetExceededError), pytest.raises(LedgerError):
        pay(budget, 0.5)
    fresh = postgres.budget(1)
    assert fresh != budget
    with pytest.raises(LedgerError, match="another one or none"):
        pay(budget, 0.5)
    assert len(charges(fresh)) == 0


def test_release_that_a_server_forgot_is_no_damage(ledger: Ledger) -> None:
    """As after a loss of its power: nothing was spent by that row."""
    budget, other = ledger.budget(1), ledger.open()
    receipt = pay(budget, 0.25)
    copy = ledger.snapshot()
    receipt.released()
    anchor = budget.anchor
    ledger.restore(copy)
    assert other.spent.epsilon == 0.25
    assert granted(budget, 0.5)
    assert not granted(budget, 0.5)
    assert [row["state"] for row in budget.events.to_dicts()] == ["charged"] * 2
    assert ledger.afresh(anchor=anchor).spent.epsilon == 0.75


@pytest.mark.parametrize(
    "table", ["BEFORE INSERT ON dpframe_event", "BEFORE UPDATE ON dpframe_budget"]
)
def test_rows_that_are_dropped_in_silence_grant_nothing(
    ledger: Ledger, table: str
) -> None:
    budget = ledger.budget(1)
    if ledger.is_file:
        ledger.sql(f"CREATE TRIGGER t {table} BEGIN SELECT RAISE(IGNORE); END")
    else:
        ledger.sql(
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'",
            f"CREATE TRIGGER t {table} FOR EACH ROW EXECUTE FUNCTION f()",
        )
    for _ in range(2):
        with pytest.raises(LedgerCorruptError, match="does not hold what is written"):
            pay(budget, 0.5)
    assert ledger.afresh().spent.epsilon == 0


def test_file_of_two_names_is_refused(sqlite: Ledger) -> None:
    """After a crash, what was charged by one name was undone by the other."""
    budget = sqlite.budget(1)
    path = Path(sqlite.address)
    link = path.with_name("link.db")
    link.hardlink_to(path)
    for name in (path, link):
        with pytest.raises(LedgerError, match="has another name"):
            Accountant.open(name)
    assert granted(budget, 0.5)  # the journal is where it is looked for
    path.unlink()
    link.rename(path)
    assert sqlite.open().spent.epsilon == 0.5
