"""A ledger is made once, and what is there is opened, never replaced."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checks.ledgers import STARTS, charges, created, granted, in_processes, paid, pay

from dpframe.errors import (
    BudgetExceededError,
    LedgerCorruptError,
    LedgerError,
    MissingExtraError,
    NotDurableWarning,
    ParameterError,
    ParameterTypeError,
)
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.ledger import postgres as module
from dpframe.privacy.ledger.sqlite import SQLiteFile
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition

if TYPE_CHECKING:
    from tests.unit.privacy.ledger.conftest import Ledger

TOTALS: list[dict[str, Any]] = [
    {"epsilon": Fraction(1, 3)},
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 1, "delta": 1e-6, "keys_delta": 1e-7},
    {"rho": 0.5},
    {"rho": 0.5, "keys_delta": 1e-7},
    {"epsilon": 1e-300},
    {"epsilon": 10**9},
]


@pytest.mark.parametrize("total", TOTALS, ids=str)
def test_budget_is_found_again_as_it_was_left(
    ledger: Ledger, total: dict[str, Any]
) -> None:
    budget = ledger.budget(**total)
    pay(budget, Fraction(1, 7) * (budget.total.epsilon or 1)).released()
    before = budget.total, budget.spent, budget.remaining, budget.events.to_dicts()
    for again in (ledger.afresh(), ledger.budget(**total), ledger.open()):
        assert (
            again.total,
            again.spent,
            again.remaining,
            again.events.to_dicts(),
        ) == before
        assert again.keys_delta == budget.keys_delta
        assert again.durable


def test_what_is_missing_is_made_only_where_that_is_asked_for(ledger: Ledger) -> None:
    for act in (lambda: Accountant(1, ledger=ledger.address), ledger.open):
        with pytest.raises(LedgerError, match=r"(?s)no ledger.*create=True"):
            act()
    assert not (ledger.is_file and Path(ledger.address).exists())
    pay(ledger.budget(1), 0.5)
    with pytest.raises(LedgerError, match=r"(?s)no budget 'b'.*'default'.*create=True"):
        Accountant(1, ledger=ledger.address, dataset="b")
    assert ledger.budget(1, dataset="b").spent.epsilon == 0
    assert ledger.open().spent.epsilon == Fraction(1, 2)


def test_another_total_than_that_on_record_is_refused(ledger: Ledger) -> None:
    ledger.budget(3)
    others: dict[str, dict[str, Any]] = {
        "epsilon=4.": {"epsilon": 4},
        "epsilon=1/3.": {"epsilon": Fraction(1, 3)},
        "rho=3.": {"rho": 3},
        "epsilon=3, delta=1e-6, keys_delta=5e-7.": {
            "epsilon": 3,
            "delta": 1e-6,
            "keys_delta": 5e-7,
        },
    }
    for words, other in others.items():
        for create in (True, False):
            with pytest.raises(LedgerError) as error:
                Accountant(**other, ledger=ledger.address, create=create)
            assert f"total of epsilon=3, not {words}\n" in str(error.value)
    assert ledger.open().total == Loss(epsilon=Fraction(3))


def test_budget_is_the_same_where_deltas_are_converted_more_tightly_since(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rho is on record: what was granted by it stays as it was granted."""
    budget = ledger.budget(epsilon=1, delta=1e-6)
    recorded = budget.total
    monkeypatch.setattr("dpframe.privacy.total.rho_within", lambda *_: Fraction(1, 40))
    assert Accountant(epsilon=1, delta=1e-6).total.rho == Fraction(1, 40)
    again = ledger.budget(epsilon=1, delta=1e-6)
    assert again == budget
    assert again.total == recorded
    monkeypatch.setattr("dpframe.privacy.total.rho_within", lambda *_: Fraction(1, 50))
    with pytest.raises(LedgerError, match="has a total of"):  # it granted too much
        ledger.budget(epsilon=1, delta=1e-6)
    for other in ({"epsilon": 1, "delta": 1e-7}, {"epsilon": 1}, {"rho": 1}):
        with pytest.raises(LedgerError, match="has a total of"):
            ledger.budget(**other)


@pytest.mark.parametrize("start", STARTS)
def test_processes_that_make_one_ledger_at_once_make_one_budget(
    ledger: Ledger, start: str
) -> None:
    first = set(in_processes(start, created, [(ledger.address, 1)] * 2))
    assert first == {ledger.open().anchor}
    assert len(ledger.sql("SELECT * FROM dpframe_budget")) == 1
    if ledger.is_file:
        path = Path(ledger.address)
        assert list(path.parent.iterdir()) == [path]


def test_of_two_totals_made_at_once_one_is_refused(ledger: Ledger) -> None:
    results = in_processes("fork", created, [(ledger.address, n) for n in (1, 2)])
    assert "LedgerError" in results
    assert ledger.open().anchor in results


def test_datasets_of_one_ledger_are_apart(ledger: Ledger) -> None:
    one, other = (ledger.budget(1, dataset=name) for name in ("one", "other"))
    assert one != other
    pay(one, 1)
    pay(other, 0.5)
    assert (one.spent.epsilon, other.spent.epsilon) == (1, Fraction(1, 2))
    assert {row["dataset"] for row in one.events.to_dicts()} == {"one"}


def test_handles_of_one_budget_in_a_process_are_equal(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    assert budget == ledger.open() == ledger.budget(1)
    assert len({budget, ledger.open()}) == 1
    assert granted(ledger.open(), 0.6)
    assert not granted(budget, 0.6)


def test_one_file_by_many_names_is_one_budget(
    sqlite: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(sqlite.address)
    link = path.with_name("link.db")
    budget = sqlite.budget(1)
    link.symlink_to(path)
    monkeypatch.chdir(path.parent)
    roundabout = f"./../{path.parent.name}/budget.db"
    for name in ("budget.db", Path("budget.db"), link, path, roundabout):
        assert Accountant.open(name) == budget
    assert "budget.db" in repr(budget).splitlines()[0]
    assert str(path.parent) not in repr(budget)


@pytest.mark.parametrize("name", ["a b.db", "50%.db", "what?.db", "#1.db", "ü.db"])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    budget = Accountant(1, ledger=tmp_path / name, create=True)
    assert granted(budget, 1)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("content", [b"", b"no database at all", b"\0" * 8192])
def test_file_that_is_no_ledger_is_never_made_one(
    sqlite: Ledger, content: bytes
) -> None:
    path = Path(sqlite.address)
    path.write_bytes(content)
    for act in (lambda: sqlite.budget(1), sqlite.open):
        with pytest.raises(LedgerCorruptError, match=r"(is|holds) no ledger"):
            act()
    assert path.read_bytes() == content


def test_database_of_something_else_is_left_alone(sqlite: Ledger) -> None:
    sqlite.sql("CREATE TABLE mine (x)", "INSERT INTO mine VALUES (1)")
    for act in (lambda: sqlite.budget(1), sqlite.open):
        with pytest.raises(LedgerCorruptError, match="holds no ledger"):
            act()
    assert sqlite.sql("SELECT name FROM sqlite_master") == [("mine",)]


def test_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be used"):
        Accountant(1, ledger=tmp_path, create=True)
    with pytest.raises(LedgerError, match="cannot be used"):
        Accountant(1, ledger=tmp_path / "no" / "budget.db", create=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ledger", "error"),
    [
        (1, ParameterTypeError),
        (True, ParameterTypeError),
        (b"budget.db", ParameterTypeError),
        ("", ParameterError),
        ("a\0b", ParameterError),
        ("mysql://user@host/db", ParameterError),
        ("postgresql://user:canary@host:port/db", ParameterError),
        ("postgresql:/user:canary@host/db", ParameterError),
        ("postgres:user:canary@host/db", ParameterError),
        (" postgresql://user:canary@host/db", ParameterError),
        ("PostgreSQL+psycopg :/user:canary@host/db", ParameterError),
    ],
    ids=repr,
)
def test_ledger_that_names_nothing_is_refused(ledger: Any, error: type) -> None:
    with pytest.raises(error) as caught:
        Accountant(1, ledger=ledger, create=True)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", None, 3, "x" * 300])
def test_name_of_no_use_is_refused(ledger: Ledger, name: Any) -> None:
    with pytest.raises((ParameterError, ParameterTypeError)):
        ledger.budget(1, dataset=name)


def test_children_are_opened_by_their_names(ledger: Ledger) -> None:
    budget = ledger.budget(3, dataset="visits")
    daily = budget.child("daily", epsilon=1)
    pay(daily, 0.25)
    deep = daily.child("deep", epsilon=0.5)
    children = {"visits/daily": daily, "visits/daily/deep": deep}
    for name, child in children.items():
        assert ledger.open(name) == child
    for name, child in children.items():
        found = ledger.afresh(name)
        assert (found.total, found.spent) == (child.total, child.spent)
    with pytest.raises(LedgerError, match=r"no budget named 'visits/weekly'"):
        ledger.open("visits/weekly")
    with pytest.raises(BudgetExceededError):
        pay(ledger.afresh("visits"), 2.1)
    assert granted(ledger.open("visits"), 2)


def test_parts_of_a_split_are_opened_by_their_names(ledger: Ledger) -> None:
    parts = ledger.budget(1).split(3)
    named = ledger.budget(1, dataset="b").split({"x": 2, "y": 1})
    assert [ledger.afresh(f"default/{n}").total for n in (1, 2, 3)] == [
        part.total for part in parts
    ]
    assert ledger.afresh("b/x").total == named["x"].total
    assert granted(ledger.afresh("default/2"), Fraction(1, 3))
    assert not granted(ledger.afresh("default/2"), 1e-9)
    assert not granted(ledger.afresh("default"), 1e-9)


def test_anchor_is_found_again(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    anchors = [budget.anchor]
    for _ in range(3):
        pay(budget, 0.1)
        anchors.append(budget.anchor)
    for anchor in anchors:
        assert ledger.afresh(anchor=anchor).anchor == anchors[-1]
        assert Accountant(1, ledger=ledger.address, anchor=anchor) == ledger.open()
    number, digest = anchors[-1].split(":")
    for row, text in ((int(number) + 1, digest), (number, digest[::-1]), (0, digest)):
        wrong = f"{row}:{text}"
        with pytest.raises(LedgerCorruptError, match="older copy, or was changed"):
            ledger.afresh(anchor=wrong)


def test_ledger_that_an_anchor_knows_is_never_made(sqlite: Ledger) -> None:
    anchor = sqlite.budget(1).anchor
    Path(sqlite.address).unlink()
    with pytest.raises(LedgerError, match="create=True"):
        sqlite.budget(1, anchor=anchor)
    assert not Path(sqlite.address).exists()


@pytest.mark.parametrize("anchor", ["", "1", "1:abc", "x:" + "0" * 64, 1, b"1:0"])
def test_anchor_of_another_form_is_refused(ledger: Ledger, anchor: Any) -> None:
    ledger.budget(1)
    with pytest.raises((ParameterError, ParameterTypeError), match="anchor"):
        ledger.open(anchor=anchor)


def test_text_of_any_kind_is_recorded(ledger: Ledger) -> None:
    odd = "ü 漢 \0 \ud800 'quoted' \"twice\" :name %s {} \n"
    budget = ledger.budget(1)
    event = Event(
        mechanism="count",
        columns=(odd,),
        parameters=odd,
        scope=Partition(scope=ROOT).part(odd),
    )
    budget.charge(Loss(epsilon=Fraction(1, 2)), event).released()
    found = ledger.afresh()
    assert found.events.to_dicts() == budget.events.to_dicts()
    assert "漢 \\x00 \\ud800 'quoted'" in charges(found)[0]["columns"]


def test_password_is_shown_nowhere(postgres: Ledger) -> None:
    address = postgres.address.replace("dpframe@", "dpframe:canary@")
    budget = Accountant(1, ledger=address, create=True)
    pay(budget, 0.5)
    _, (reference, _) = budget.__reduce_ex__(4)
    assert "canary" not in f"{budget!r} {budget._repr_html_()} {reference!r}"
    assert "postgresql://dpframe@" in repr(budget)
    postgres.sql("DROP TABLE dpframe_event")
    for act in (lambda: pay(budget, 0.1), lambda: Accountant.open(address)):
        with pytest.raises(LedgerError) as error:
            act()
        assert "canary" not in f"{error.value} {error.value.__context__}"
        assert error.value.__cause__ is None


def test_server_that_is_not_there_is_a_ledger_error(tmp_path: Path) -> None:
    address = f"postgresql://user:canary@/name?host={tmp_path}"
    with pytest.raises(LedgerError, match="the connection failed") as error:
        Accountant(1, ledger=address, create=True)
    assert "canary" not in str(error.value)


def test_database_without_a_ledger_is_told_apart(postgres: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"(?s)holds no ledger.*create=True"):
        postgres.open()
    postgres.budget(1)
    assert postgres.open().spent.epsilon == 0


def test_server_without_sync_is_warned_of(
    postgres: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.ServerSession.run

    def run(self: Any, statement: str, *values: Any) -> Any:
        return [("off",)] if "'fsync'" in statement else real(self, statement, *values)

    monkeypatch.setattr(module.ServerSession, "run", run)
    with pytest.warns(NotDurableWarning, match="without fsync"):
        postgres.budget(1)


def test_missing_packages_name_their_extra() -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import dpframe\n"
        "dpframe.Accountant(1, ledger='postgresql://user:canary@host/name')"
    )
    run = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert MissingExtraError.__name__ in run.stderr.splitlines()[-2]
    assert 'pip install "dpframe[postgres]"' in run.stderr.splitlines()[-1]


def test_no_database_is_loaded_for_a_budget_in_memory() -> None:
    script = (
        "import sys, dpframe; dpframe.Accountant(1)\n"
        "sys.exit(bool({'sqlalchemy', 'psycopg', 'sqlite3'} & {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - our own


def test_charge_is_on_record_when_it_returns(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    receipt = pay(budget, 0.25)
    states = 'SELECT "state", "charged" FROM dpframe_event ORDER BY "sequence"'
    rows = [("opened", ""), ("charged", "epsilon=1/4")]
    assert ledger.sql(states) == rows
    receipt.released()
    assert ledger.sql(states) == [*rows, ("released", "epsilon=1/4")]
    assert ledger.sql('SELECT "spent", "cap" FROM dpframe_budget') == [
        (25 * 10**13, 10**15)
    ]
    assert paid(budget) == budget.spent.epsilon


@pytest.mark.parametrize(("lasting", "level"), [(True, 3), (False, 2)])
def test_file_waits_for_its_disk(sqlite: Ledger, *, lasting: bool, level: int) -> None:
    sqlite.budget(1)
    file = SQLiteFile(sqlite.address, unsafe_network_fs=False)
    with file.writing("default", lasting=lasting) as session:
        found = {
            name: session.run(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "fullfsync", "busy_timeout")
        }
    assert found == {
        "journal_mode": "delete",
        "synchronous": level,
        "fullfsync": 1,
        "busy_timeout": 30_000,
    }


@pytest.mark.parametrize("lasting", [True, False])
def test_server_waits_for_its_disk(postgres: Ledger, *, lasting: bool) -> None:
    postgres.budget(1)
    server = module.PostgresDatabase(postgres.address)
    with server.writing("default", lasting=lasting) as session:
        (found,) = session.run("SHOW synchronous_commit")
    assert found == ("on" if lasting else "off",)


def test_charge_waits_for_the_disk_and_its_release_need_not(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ledger.budget(1)
    kind = SQLiteFile if ledger.is_file else module.PostgresDatabase
    seen: list[bool] = []
    real = kind.writing

    def writing(self: Any, dataset: str, *, lasting: bool) -> Any:
        seen.append(lasting)
        return real(self, dataset, lasting=lasting)

    monkeypatch.setattr(kind, "writing", writing)
    receipt = pay(budget, 0.5)
    receipt.released()
    budget.child("c", epsilon=0.25).close()
    assert seen == [True, False, True, True]


def test_journal_of_a_lost_ledger_is_no_part_of_a_new_one(sqlite: Ledger) -> None:
    journal = Path(f"{sqlite.address}-journal")
    journal.write_bytes(b"what SQLite would apply to the next file of this name")
    with pytest.raises(LedgerError, match="journal of a lost ledger"):
        sqlite.budget(1)
    assert not Path(sqlite.address).exists()
    journal.unlink()
    assert granted(sqlite.budget(1), 1)


def test_mode_that_loses_charges_is_put_right(sqlite: Ledger) -> None:
    budget = sqlite.budget(1)
    assert sqlite.sql("PRAGMA journal_mode=WAL") == [("wal",)]
    pay(budget, 0.5)
    assert sqlite.sql("PRAGMA journal_mode") == [("delete",)]
