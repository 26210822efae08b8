"""Many at once spend what one alone could, and not a fraction more."""

from __future__ import annotations

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import joblib
import pytest
from checks.ledgers import (
    EVENT,
    SCALE,
    STARTS,
    adaptive,
    charged_with_keys,
    charges,
    ends_and_spends,
    granted,
    grants,
    grants_at,
    held_together,
    in_processes,
    paid,
    pay,
    requested,
    scripts,
    set_aside,
    splits,
)
from joblib.externals.loky import get_reusable_executor

from dpframe.errors import (
    BudgetExceededError,
    LedgerBusyError,
    LedgerError,
    ParameterTypeError,
)
from dpframe.privacy.book import Book
from dpframe.privacy.ledger import database
from dpframe.privacy.ledger.postgres import ServerSession
from dpframe.privacy.ledger.sqlite import SQLiteFile
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition, Scope, scope_at

if TYPE_CHECKING:
    from tests.unit.privacy.ledger.conftest import Ledger

PROCESSES, TIMES = min(4 * SCALE, 8), min(50 * SCALE, 200)
FITS = PROCESSES * TIMES * 5 // 8


def check_full(ledger: Ledger, grants: int, fits: int) -> None:
    """All that fits was granted, and the record says so."""
    budget = ledger.afresh()
    assert grants == fits
    assert budget.spent == budget.total
    assert len(charges(budget)) == fits
    assert paid(budget) == budget.total.epsilon
    counted = "SELECT count(*) FROM dpframe_event WHERE state = 'charged'"
    assert ledger.sql(counted) == [(fits,)]


@pytest.mark.parametrize("start", STARTS)
def test_processes_share_one_budget(ledger: Ledger, start: str) -> None:
    ledger.budget(1)
    fewer = 2 if start == "spawn" and SCALE == 1 else 1  # each imports all it needs
    work = [(ledger.address, Fraction(1, FITS), TIMES * fewer)] * (PROCESSES // fewer)
    check_full(ledger, sum(in_processes(start, grants_at, work)), FITS)


def test_threads_share_one_budget(ledger: Ledger) -> None:
    budget, fits = ledger.budget(1), 5 * TIMES // 2

    def work(_: int) -> int:
        return grants(budget, Fraction(1, fits), TIMES // 2)

    with ThreadPoolExecutor(8) as pool:
        check_full(ledger, sum(pool.map(work, range(8))), fits)


def test_workers_of_joblib_share_one_budget(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    work = [joblib.delayed(grants)(budget, Fraction(1, 50), 20) for _ in range(4)]
    try:
        found = joblib.Parallel(n_jobs=2, backend="loky")(work)
    finally:
        get_reusable_executor().shutdown(wait=True)
    check_full(ledger, sum(found), 50)


def test_two_programs_share_one_budget(ledger: Ledger) -> None:
    ledger.budget(1)
    command = ["checks.etl", ledger.address, "0.05", "15"]
    assert sum(scripts(command, command)) == 20
    budget = ledger.afresh()
    assert budget.spent == budget.total
    states = [row["state"] for row in budget.events.to_dicts()]
    assert sorted(states) == ["charged"] * 20 + ["released"] * 20


def test_writer_that_waits_too_long_charges_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ledger.budget(1)
    receipt = pay(budget, 0.25)
    before = budget.events.to_dicts()
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    lock = "BEGIN IMMEDIATE"
    if not ledger.is_file:
        lock = "SELECT 1 FROM dpframe_budget FOR UPDATE"
    with closing(ledger.connect()) as other:
        other.execute(lock)
        for act in (lambda: pay(budget, 0.5), receipt.released, budget.close):
            with pytest.raises(LedgerBusyError, match=r"kept .* busy for 0\.2 seconds"):
                act()
        assert budget.spent.epsilon == Fraction(1, 4)  # reading waits for nobody
        other.rollback()
    assert budget.events.to_dicts() == before
    assert granted(budget, 0.75)
    receipt.released()


def test_reader_in_the_way_of_a_commit_leaves_nothing_behind(
    sqlite: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = sqlite.budget(1)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    with closing(sqlite.connect()) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM dpframe_budget").fetchall()
        with pytest.raises(LedgerBusyError):
            pay(budget, 0.5)
        other.rollback()
    assert budget.spent.epsilon == 0
    assert granted(budget, 1)


def test_without_the_lock_writers_trip_over_each_other(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the lock is for; even then no row overspends the record."""
    ledger.budget(1)
    handles = [ledger.afresh() for _ in range(2)]  # each with a lock of its own
    if ledger.is_file:
        begin = SQLiteFile._transaction  # noqa: SLF001 - the lock is taken there
        monkeypatch.setattr(
            SQLiteFile,
            "_transaction",
            lambda self, _, *args, **options: begin(self, "DEFERRED", *args, **options),
        )
    else:
        run = ServerSession.run
        monkeypatch.setattr(
            ServerSession,
            "run",
            lambda self, text, *args: run(self, text.replace("FOR UPDATE", ""), *args),
        )
    together = threading.Barrier(2, timeout=10)
    checked = Book.charge

    def pause(book: Book, *args: Any) -> Any:
        entry = checked(book, *args)
        together.wait()
        return entry

    monkeypatch.setattr(Book, "charge", pause)
    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(pay, handle, 1) for handle in handles]
    errors = [outcome.exception() for outcome in outcomes]
    assert sorted(isinstance(error, LedgerError) for error in errors) == [False, True]
    assert errors.count(None) == 1
    found = ledger.afresh()
    assert found.spent.epsilon == 1
    assert len(charges(found)) == 1


def test_same_request_is_charged_once(ledger: Ledger) -> None:
    ledger.budget(1)
    each = [(ledger.address, "a request")] * 3
    assert sorted(held_together("fork", requested, *each)) == [False, False, True]
    budget = ledger.afresh()
    assert budget.spent.epsilon == Fraction(1, 10)
    assert len(charges(budget)) == 1
    with pytest.raises(LedgerError, match="charged before"):
        budget.charge(Loss(epsilon=Fraction(1, 10)), EVENT, request="a request")


@pytest.mark.parametrize("request_", [5, b"5", 5.0])
def test_request_that_is_no_text_is_refused_and_breaks_no_record(
    ledger: Ledger, request_: Any
) -> None:
    budget = ledger.budget(1)
    with pytest.raises(ParameterTypeError, match="request must be text"):
        budget.charge(Loss(epsilon=Fraction(1)), EVENT, request=request_)
    assert granted(ledger.afresh(), 1)


def test_request_of_any_text_is_charged_once(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    odd = "half \ud800, none \0"
    receipt = budget.charge(Loss(epsilon=Fraction(1, 2)), EVENT, request=odd)
    receipt.released()
    with pytest.raises(LedgerError, match="charged before"):
        ledger.afresh().charge(Loss(epsilon=Fraction(1, 2)), EVENT, request=odd)


def test_database_itself_refuses_a_request_on_record(ledger: Ledger) -> None:
    """A second guard, where the first one is missing."""
    budget = ledger.budget(1)
    pay(budget, 0.1)
    columns = "dataset, time, state, account, request, mechanism, columns, parameters"
    rest = "cost, scope, path, charged, previous"
    quoted = ", ".join(f'"{name}"' for name in f"{columns}, {rest}".split(", "))
    again = (
        f'INSERT INTO dpframe_event ("sequence", {quoted}) SELECT 9, {quoted} '  # noqa: S608 - names of columns
        "FROM dpframe_event WHERE \"state\" = 'charged'"
    )
    with pytest.raises(Exception, match=r"(?i)unique"):
        ledger.sql(again)


@pytest.mark.parametrize("limit", ["epsilon", "delta"])
def test_epsilon_and_delta_are_charged_together_or_not_at_all(
    ledger: Ledger, limit: str
) -> None:
    """Whichever of the two is spent first, the other stops with it."""
    epsilon, keys = (Fraction(1, 10), 1e-6) if limit == "epsilon" else (100, 1e-8)
    ledger.budget(epsilon=epsilon, delta=1e-5, keys_delta=keys)
    work = [(ledger.address, 10)] * 2
    grants = sum(in_processes("fork", charged_with_keys, work))
    budget = ledger.afresh()
    rows = charges(budget)
    assert len(rows) == grants == 10
    assert budget.spent.epsilon == Fraction(grants, 100)
    assert budget.spent.delta == Fraction(grants, 10**9)
    spent = dict(part.split("=") for part in rows[0]["charged"].split(", "))
    assert (spent["epsilon"], spent["delta"]) == ("1/100", "1/1000000000")


def test_two_lanes_are_one_budget_for_all(ledger: Ledger) -> None:
    """A Gaussian release in one process ends the lane of pure ones in another."""
    one = ledger.budget(epsilon=1, delta=1e-6)
    pay(one, 0.1)
    two = ledger.afresh()
    two.charge(Loss(rho=Fraction(1, 1000)), EVENT)
    assert one.spent.epsilon is None
    assert one.spent.rho == two.spent.rho == Fraction(6, 1000)
    with pytest.raises(BudgetExceededError):
        pay(one, 0.7)


@pytest.mark.parametrize("most", [1, 2])
def test_parts_of_a_partition_are_charged_for_the_largest(
    ledger: Ledger, most: int
) -> None:
    budget = ledger.budget(1)
    outer = Partition(scope=ROOT, most=most)
    first, second = outer.part("a"), outer.part("b")
    inner = Partition(scope=first, most=1)
    other = Partition(scope=ROOT, most=1)
    scopes: list[Scope] = [
        first,
        second,
        outer.part("c"),
        inner.part("x"),
        inner.part("y"),
        other.part("a"),
        other.part("b"),
        ROOT,
    ]
    work = [(ledger.address, scopes, n, 12) for n in range(PROCESSES)]
    counts = in_processes("fork", adaptive, work)
    found = ledger.afresh()
    assert len(charges(found)) == sum(counts) > 20
    expected = _cost(found, most={"outer": most})
    assert found.spent.epsilon == budget.spent.epsilon == expected <= 1
    assert paid(found) == expected


def _cost(budget: Any, *, most: dict[str, int]) -> Fraction:
    """Add the charges up as a tree, part by part, from the rows alone."""
    own: dict[Scope, Fraction] = defaultdict(Fraction)
    for row in budget._store.entries():  # noqa: SLF001 - the paths are not shown
        if row.state == "charged":
            own[scope_at(row.path)] += Fraction(row.cost.removeprefix("epsilon="))
    known = {*own}
    for scope in own:
        above = scope
        while above.partition is not None:
            above = above.partition.scope
            known.add(above)

    def cost(scope: Scope) -> Fraction:
        below: dict[Partition, list[Fraction]] = defaultdict(list)
        for part in known:
            if part.partition is not None and part.partition.scope == scope:
                below[part.partition].append(cost(part))
        counted = [
            sum(sorted(costs, reverse=True)[: partition.most], Fraction(0))
            for partition, costs in below.items()
        ]
        return own[scope] + sum(counted, Fraction(0))

    assert max(p.most for p in (s.partition for s in known) if p) == most["outer"]
    return cost(ROOT)


def test_what_a_closed_child_gives_back_is_spent_once(ledger: Ledger) -> None:
    """One closes the child, one charges it, one charges its parent, all at once."""
    names = [f"trial {n}" for n in range(10 * SCALE)]
    for name in names:
        ledger.budget(1, dataset=name).child("child", epsilon=Fraction(1, 2))
        pay(ledger.open(name), Fraction(1, 2))
    acts = ("close", "child", "parent")
    work = [(ledger.address, names, act) for act in acts]
    ended, below, above = held_together("fork", ends_and_spends, *work)
    for name, end, child, parent in zip(names, ended, below, above, strict=True):
        whole = ledger.afresh(name)
        assert end
        assert not (child and parent)
        assert paid(whole) == Fraction(1, 2) * (1 + child + parent)
        assert whole.spent.epsilon == paid(whole)
        assert granted(whole, Fraction(1, 2)) is not (child or parent)
        assert not granted(whole, 1e-9)
        with pytest.raises(LedgerError, match="was closed"):
            pay(ledger.open(f"{name}/child"), 1e-9)


def test_child_made_by_many_at_once_is_one(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    each = [(ledger.address, "daily")] * 3
    assert held_together("fork", set_aside, *each) == ["ε=0.5"] * 3
    assert budget.remaining.epsilon == Fraction(1, 2)


def test_what_remains_is_split_once(ledger: Ledger) -> None:
    ledger.budget(1)
    found = held_together("fork", splits, *[(ledger.address,)] * 3)
    assert sorted(found) == [[], [], ["epsilon=1/2"] * 2]
    assert ledger.afresh().remaining.epsilon == 0


@pytest.mark.parametrize(
    ("total", "amounts"),
    [
        (1, [0.1] * 10),
        (0.3, [0.1, 0.2]),
        (1, [Fraction(1, 3)] * 3),
        (1, [1 / 50] * 50),
        pytest.param(1, [1 / 2000] * 2000, marks=pytest.mark.scale),
    ],
    ids=lambda v: f"{len(v)} charges" if isinstance(v, list) else str(v),
)
def test_amounts_that_add_up_fill_the_budget(
    ledger: Ledger, total: Any, amounts: list[Any]
) -> None:
    if len(amounts) > 200 * SCALE:
        amounts = [Fraction(total, 200 * SCALE)] * 200 * SCALE
    budget = ledger.budget(total)
    for amount in amounts:
        pay(budget, amount)
    assert budget.spent == budget.total
    for handle in (budget, ledger.afresh()):
        assert not granted(handle, 1e-300)
        assert len(charges(handle)) == len(amounts)


def test_order_is_that_of_the_record_when_the_clock_jumps(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ledger.budget(1)
    for year in ("2030", "1970", "2999"):
        monkeypatch.setattr(
            "dpframe.privacy.book.now", lambda year=year: f"{year}-01-01T00:00:00+00:00"
        )
        pay(budget, 0.3)
    found = ledger.afresh()
    assert [row["time"].year for row in charges(found)] == [2030, 1970, 2999]
    assert found.spent.epsilon == Fraction(9, 10)
    assert not granted(found, 0.2)
