"""What a durable budget costs: charges per second, and milliseconds per release.

A release in SQLite waits some ten times for the disk: how long one wait takes at the
time is printed beside it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

import dpframe
from tests.checks.ledgers import grants, grants_at, in_processes
from tests.checks.server import postgres_server, programs

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR: Final = 20
_TIMES: Final = 200
_CONTENDING: Final = 8


def run() -> list[dict[str, object]]:
    """Return a row for each database, without PostgreSQL where none is installed."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        places = {"SQLite": str(Path(folder) / "budget.db")}
        server = programs()
        if server is not None:
            places["PostgreSQL"] = stack.enter_context(postgres_server(server))
        return [_row(name, place) for name, place in places.items()]


def _row(name: str, place: str) -> dict[str, object]:
    budget = dpframe.Accountant(10_000, ledger=place, create=True)
    wait = _wait()
    added = _added(budget)
    cost = Fraction(1, 1000)
    alone = _seconds(lambda: grants(budget, cost, _TIMES))
    work = [(place, cost, _TIMES // 4)] * _CONTENDING
    started = _seconds(
        lambda: in_processes("fork", grants_at, [(place, cost, 0)] * _CONTENDING)
    )
    many = _seconds(lambda: in_processes("fork", grants_at, work)) - started
    rows = len(budget.events)
    opened = _seconds(lambda: dpframe.Accountant.open(place))
    return {
        "ledger": name,
        "charges a second": _TIMES / alone,
        f"by {_CONTENDING} processes": _TIMES // 4 * _CONTENDING / many,
        "reading a total, ms": _seconds(lambda: budget.spent) * 1e3,
        "opening, us a row": opened / rows * 1e6,
        "one fsync, ms": wait,
        f"added to a release, ms (bar {_BAR})": added,
        "verdict": "over the bar" if added > _BAR else "",
    }


def _added(budget: dpframe.Accountant, repeat: int = 101) -> float:
    """Return the median of what a release takes longer than on a budget in memory."""
    rows = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 1000})
    frames = [rows.dp.attach(b) for b in (dpframe.Accountant(10_000), budget)]
    gaps: list[float] = []
    for turn in range(repeat + 1):
        plain, durable = (
            _seconds(lambda frame=frame: frame.dp.count(epsilon=0.01))
            for frame in frames
        )
        if turn:
            gaps.append(durable - plain)
    return statistics.median(gaps) * 1e3


def _wait(repeat: int = 50) -> float:
    """Return the median milliseconds until a block written anew is on the disk."""
    times: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(repeat):
            os.pwrite(file.fileno(), b"." * 512, 0)
            times.append(_seconds(lambda: os.fsync(file.fileno())))
    return statistics.median(times) * 1e3


def _seconds(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
