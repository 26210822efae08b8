"""What comes in the middle of other things harms neither them nor what follows."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from checks.ledgers import granted, pay

from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.privacy.ledger.conftest import Ledger

FORKING = """
import os, sys
import dpframe
from dpframe.privacy.entries import Event
from dpframe.privacy.ledger import tables
from dpframe.privacy.loss import Loss

budget = dpframe.Accountant.open(sys.argv[1])
update = tables.update_budget

def forking(*args):
    update(*args)
    if os.fork():
        print(os.waitstatus_to_exitcode(os.wait()[1]), end=" ")

tables.update_budget = forking
event = Event(mechanism="count", columns=(), parameters="")
budget.charge(Loss(epsilon=budget.total.epsilon), event)
print(budget.remaining)
"""


@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",  # Python tells of it so
)
def test_interrupt_of_a_fork_that_waits_leaves_all_budgets_usable(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / "one.db", tmp_path / "two.db"]
    one, two = (Accountant(9, ledger=path, create=True) for path in paths)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    assert main is not None
    with (
        closing(sqlite3.connect(paths[0], isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        charge = pool.submit(pay, one, 1)
        while one._store.lock.acquire(blocking=False):  # type: ignore[attr-defined]  # noqa: SLF001
            one._store.lock.release()  # type: ignore[attr-defined]  # noqa: SLF001
        threading.Timer(0.2, signal.pthread_kill, [main, signal.SIGINT]).start()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        other.execute("ROLLBACK")
        charge.result()
    done: list[bool] = []  # by another thread: a lock that was kept is not its own
    elsewhere = threading.Thread(
        target=lambda: done.extend(granted(Accountant.open(p), 1) for p in paths),
        daemon=True,
    )
    elsewhere.start()
    elsewhere.join(5)
    assert done == [True, True]
    assert (one.spent.epsilon, two.spent.epsilon) == (2, 1)


def test_forked_child_that_ends_leaves_the_charge_to_its_parent(ledger: Ledger) -> None:
    """It ends like any program, and all that it holds is taken down."""
    ledger.budget(1)
    parent = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", FORKING, ledger.address],
        capture_output=True,
        check=False,
        text=True,
    )
    assert "forked in the middle" in parent.stderr
    assert (parent.stdout, parent.returncode) == ("1 ε=0\n", 0)
    assert ledger.afresh().spent.epsilon == 1
