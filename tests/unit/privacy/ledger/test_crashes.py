"""Whatever ends a process, no answer is handed out that is not on record."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from checks.interrupts import interrupted
from checks.ledgers import SCALE, charges, granted, paid, pay, scripts

import dpframe
from dpframe.errors import LedgerError
from dpframe.noise import DiscreteLaplace
from dpframe.privacy import accountant, book, store
from dpframe.privacy.entries import CHARGED, RELEASED
from dpframe.privacy.ledger import durable, postgres, sqlite, tables
from dpframe.testing import recording, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.privacy.ledger.conftest import Ledger

MODULES = (accountant, book, store, durable, postgres, sqlite, tables)


def reporting(ledger: Ledger) -> tuple[int, int]:
    """Start a child that says what it was granted, until it is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            budget = ledger.open()
            while True:
                receipt = pay(budget, Fraction(1, 1000))
                os.write(writer, f"{receipt.request}\n".encode())
                receipt.released()
        os._exit(1)
    os.close(writer)
    return child, reader


def test_killed_process_loses_no_charge_that_it_reported(ledger: Ledger) -> None:
    """At most one charge of each is on record and was not reported.

    A server may end the charge of a process that was killed a little later.
    """
    ledger.budget(100)
    clock = random.Random(1)  # noqa: S311 - when to strike
    trials, reported = 15 * SCALE, list[str]()
    for _ in range(trials):
        child, reader = reporting(ledger)
        with os.fdopen(reader) as pipe:
            reported.append(pipe.readline().strip())
            time.sleep(clock.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            reported += [line.strip() for line in pipe]
        rows = ledger.afresh()._store.entries()  # noqa: SLF001 - requests are not shown
        assert {*reported} <= {row.request for row in rows if row.state == CHARGED}
    states = [row.state for row in rows]
    assert len(reported) == len({*reported}) > trials
    assert 0 <= states.count(CHARGED) - len(reported) <= trials
    assert 0 <= states.count(CHARGED) - states.count(RELEASED) <= trials
    budget, before = ledger.afresh(), ""
    while before != budget.anchor:
        before = budget.anchor
        spent = budget.spent.epsilon, paid(budget)
    assert spent[0] == spent[1] >= Fraction(len(reported), 1000)


def test_crash_at_any_step_costs_the_charge_or_nothing(ledger: Ledger) -> None:
    ledger.budget(1)
    (left,) = scripts(["checks.crashes", ledger.address, str(3 * SCALE)])
    assert {name: {tuple(each) for each in found} for name, found in left.items()} == {
        "before commit": {("0", "opened")},
        "after commit": {("1/100", "charged")},
        "after noise": {("1/100", "charged")},
        "before return": {("1/100", "released")},
    }


@pytest.mark.parametrize("release", [False, True])
def test_interrupt_leaves_a_whole_charge_or_none(ledger: Ledger, release: bool) -> None:  # noqa: FBT001 - a case
    """Interrupt at lines of the modules that a charge or a release runs.

    All but those that take and free the lock: Python delivers no signal between a
    lock and its block, while a trace function can raise there.
    """
    budget = ledger.budget(1000)
    stop, stride, ends = 1, 7 if SCALE == 1 else 1, False
    outcomes: set[int] = set()
    while not ends:
        receipt = pay(budget, 0.25)
        act: Callable[[], object] = (
            receipt.released if release else lambda: pay(budget, 0.5)
        )
        before, spent = len(budget.events), budget.spent.epsilon
        ends = not interrupted(act, *MODULES, at=stop)
        added = len(budget.events) - before
        assert added in (0, 1)
        assert budget.spent.epsilon - spent == (0 if release else Fraction(added, 2))
        outcomes.add(added)
        stop += stride
        assert stop < 2000
    assert outcomes == {0, 1}
    assert ledger.afresh().spent.epsilon == budget.spent.epsilon == paid(budget)


def test_release_of_many_figures_is_one_charge_before_the_first(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ledger.budget(1)
    frame = pl.DataFrame({"x": [1.0, 2.0], "g": ["a", "b"]}).dp.attach(budget)
    grouped = frame.dp.bounds(x=(0, 3)).dp.group_by("g", keys=["a", "b"])
    drawn: list[int] = []
    real = DiscreteLaplace.sample

    def sample(self: Any, size: int) -> Any:
        drawn.append(len(charges(budget)))
        if len(drawn) == 2:
            raise error
        return real(self, size)

    monkeypatch.setattr(DiscreteLaplace, "sample", sample)
    ends = [SystemExit(1), KeyboardInterrupt(), GeneratorExit()]
    for count, error in enumerate(ends, start=1):
        drawn.clear()
        with pytest.raises(type(error)):
            grouped.agg(a="count", m=("x", "mean"), epsilon=0.25)
        assert drawn == [count, count]
        assert budget.spent.epsilon == Fraction(count, 4)
    assert {row["state"] for row in budget.events.to_dicts()} == {"charged"}
    assert granted(budget, 0.25)


def test_refused_and_mistaken_calls_spend_nothing(ledger: Ledger) -> None:
    budget = ledger.budget(1)
    frame = pl.DataFrame({"x": [1.0, 2.0]}).dp.attach(budget)
    frame.dp.count(epsilon=0.5)
    before = budget.anchor
    mistakes: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: frame.dp.count(epsilon=0.6), dpframe.BudgetExceededError),
        (lambda: frame.dp.count("y", epsilon=0.1), dpframe.ColumnNotFoundError),
        (lambda: frame.dp.mean("x", epsilon=0.1), dpframe.BoundsRequiredError),
        (lambda: frame.dp.count(epsilon=-1), dpframe.ParameterError),
        (lambda: frame.dp.count(rho=1), dpframe.ParameterError),
    ]
    for call, error in mistakes:
        with pytest.raises(error):
            call()
    assert ledger.afresh().anchor == budget.anchor == before


def test_release_that_is_watched_or_repeats_is_refused_before_its_charge(
    ledger: Ledger,
) -> None:
    budget = ledger.budget(1)
    frame = pl.DataFrame({"x": [1.0, 2.0]}).dp.attach(budget)
    before = budget.anchor
    for seam in (recording, lambda: seeded(1), lambda: recording(noiseless=True)):
        with seam(), pytest.raises(LedgerError, match="not private"):
            frame.dp.count(epsilon=0.5)
    assert budget.anchor == before
    frame.dp.count(epsilon=0.5)
    assert budget.spent.epsilon == Fraction(1, 2)
