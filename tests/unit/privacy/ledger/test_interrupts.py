"""What comes in the middle of other things harms neither them nor what follows."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from checks.ledgers import granted, pay

from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from pathlib import Path


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
