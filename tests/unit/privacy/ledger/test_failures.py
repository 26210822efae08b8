"""A ledger that cannot be written grants nothing, and can be used when it can."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest
from checks.ledgers import granted, in_child, pay
from sqlalchemy.exc import SQLAlchemyError

from dpframe.errors import BudgetExceededError, LedgerError
from dpframe.noise import DiscreteLaplace
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.ledger import sqlite as module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.privacy.ledger.conftest import Ledger

NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that every user can read; pytest's own are the user's alone."""
    folder = Path(tempfile.mkdtemp(prefix="dpframe-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except LedgerError as error:
        return str(error)
    return ""


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(LedgerError) as error:
        act()
    assert error.value.__cause__ is None
    if not error.value.__suppress_context__:
        shown = (sqlite3.Error, SQLAlchemyError)
        assert not isinstance(error.value.__context__, shown)
    return str(error.value)


def test_full_disk_refuses_before_any_noise_is_drawn(
    sqlite: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = sqlite.budget(100)
    frame = pl.DataFrame({"x": [1.0, 2.0]}).dp.attach(budget)
    ((pages,),) = sqlite.sql("PRAGMA page_count")
    full = (*module.PRAGMAS, f"PRAGMA max_page_count={pages}")
    draws: list[int] = []
    sample = DiscreteLaplace.sample
    monkeypatch.setattr(
        DiscreteLaplace, "sample", lambda s, n: draws.append(n) or sample(s, n)
    )
    monkeypatch.setattr(module, "PRAGMAS", full)
    count = 0
    while not (said := refusal(lambda: pay(budget, 0.01))):
        count += 1
    assert "the disk is full" in said
    with pytest.raises(LedgerError, match="the disk is full"):
        frame.dp.count(epsilon=0.01)
    assert draws == []
    assert budget.spent.epsilon == Fraction(count, 100)
    monkeypatch.setattr(module, "PRAGMAS", full[:-1])
    frame.dp.count(epsilon=0.5)
    assert draws == [1]
    assert budget.spent.epsilon == Fraction(count + 50, 100)
    assert sqlite.afresh().spent == budget.spent


def test_largest_file_size_refuses(sqlite: Ledger) -> None:
    budget = sqlite.budget(100)

    def fill() -> list[Any]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = Path(sqlite.address).stat().st_size
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        for count in range(200):
            try:
                pay(budget, 0.01)
            except LedgerError as error:
                spent = str(budget.spent.epsilon)
                resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
                return [count, spent, str(error), granted(budget, 0.5)]
        return []

    count, spent, said, after = in_child(fill)
    assert spent == str(Fraction(count, 100))
    assert "reading or writing failed" in said
    assert after
    assert sqlite.afresh().spent.epsilon == budget.spent.epsilon


@pytest.mark.parametrize("what", ["file", "directory", "both"])
def test_what_can_only_be_read_can_only_be_read(open_folder: Path, what: str) -> None:
    path = open_folder / "budget.db"
    pay(Accountant(1, ledger=path, create=True), 0.25)
    if what != "directory":
        path.chmod(0o444)
    if what == "directory":
        path.chmod(0o666)
    if what != "file":
        open_folder.chmod(0o555)
    elif os.getuid() == 0:
        open_folder.chmod(0o777)

    def attempt() -> list[Any]:
        if os.getuid() == 0:  # who may write everything
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        found = Accountant.open(path)
        said = []
        for act in (lambda: pay(found, 0.5), lambda: found.child("c", epsilon=0.1)):
            try:
                act()
            except LedgerError as error:
                said.append(str(error))
        return [str(found.spent.epsilon), *said]

    spent, *said = in_child(attempt)
    assert spent == "1/4"
    assert len(said) == 2
    for each in said:
        assert "cannot be used" in each
        assert "Nothing was released" in each
    open_folder.chmod(0o755)
    path.chmod(0o644)
    assert Accountant.open(path).spent.epsilon == 0.25


def test_directory_that_cannot_be_written_gets_no_ledger(open_folder: Path) -> None:
    open_folder.chmod(0o555)

    def attempt() -> str:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return refused(
            lambda: Accountant(1, ledger=open_folder / "budget.db", create=True)
        )

    assert "cannot be used" in in_child(attempt)
    assert list(open_folder.iterdir()) == []


def test_directory_that_was_removed_refuses(sqlite: Ledger) -> None:
    budget = sqlite.budget(1)
    receipt = pay(budget, 0.25)
    shutil.rmtree(Path(sqlite.address).parent)
    for act in (
        lambda: pay(budget, 0.5),
        receipt.released,
        lambda: budget.spent,
        lambda: budget.events,
        sqlite.open,
        lambda: sqlite.budget(1),
    ):
        refused(act)
    assert not Path(sqlite.address).parent.exists()


def test_server_that_drops_its_connections_is_used_again(postgres: Ledger) -> None:
    budget = postgres.budget(1)
    pay(budget, 0.25)
    for _ in range(3):
        with psycopg.connect(postgres.address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        assert granted(budget, 0.05)
    assert str(postgres.afresh().spent.epsilon) == "2/5"


@pytest.mark.parametrize("when", ["check_written", "insert_entry"])
def test_connection_lost_in_the_middle_charges_nothing(
    postgres: Ledger, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    budget = postgres.budget(1)
    step = getattr(module.tables, when)

    def cut(session: Any, *args: Any) -> None:
        step(session, *args)
        ((pid,),) = session.run("SELECT pg_backend_pid()")
        with psycopg.connect(postgres.address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

    with monkeypatch.context() as patch:
        patch.setattr(module.tables, when, cut)
        said = refused(lambda: pay(budget, 0.5))
    assert "cannot be used" in said
    assert ("may be spent" in said) == (when == "check_written")
    assert budget.spent.epsilon == 0
    assert granted(budget, 1)


def test_server_where_all_is_read_only_refuses(postgres: Ledger) -> None:
    budget = postgres.budget(1)
    pay(budget, 0.25)
    address = f"{postgres.address}%20-cdefault_transaction_read_only%3Don"
    found = Accountant.open(address)
    assert found.spent.epsilon == 0.25
    assert "it can only be read" in refused(lambda: pay(found, 0.5))
    assert budget.spent.epsilon == 0.25


def test_refused_charge_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    pay(budget, 0.5)
    before = ledger.snapshot()
    with pytest.raises(BudgetExceededError):
        pay(budget, 0.6)
    with pytest.raises(BudgetExceededError):
        budget.child("c", epsilon=0.6)
    with pytest.raises(LedgerError):
        budget.close()
    with pytest.raises(BudgetExceededError):
        budget.child("all", epsilon=0.5).split(3)[0].child("c", epsilon=0.5)
    after = ledger.snapshot()
    assert before["dpframe_event"] == after["dpframe_event"][:2]
    assert len(after["dpframe_event"]) == 2 + 1 + 3
