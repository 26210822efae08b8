"""A release in a forked process is one that ends, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SCRIPT = """
import os, sys, warnings
import polars as pl
import dpframe
from dpframe.engines import forks

forks.PATIENCE = 3.0
before, path = sys.argv[1] == "before", sys.argv[2]
warnings.simplefilter("ignore")  # newer Pythons warn of any fork with threads
budget = dpframe.Accountant(epsilon=10, ledger=path, create=True)

def attached():
    return pl.DataFrame({"x": list(range(1000))}).dp.attach(budget)

if not before:
    frame = attached()
    frame.dp.count(epsilon=1)
child = os.fork()
if child == 0:
    try:
        released = (attached() if before else frame).dp.count(epsilon=1)
    except dpframe.DPFrameError as error:
        print(type(error).__name__, str(error).splitlines()[-2], flush=True)
    else:
        print("released", flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(budget.spent.epsilon)
"""


@pytest.mark.parametrize(
    ("when", "printed"),
    [
        ("before", ["released", "1"]),
        ("after", ["EvaluationError Nothing was released and nothing was spent.", "1"]),
    ],
)
def test_forked_process_releases_or_refuses_before_it_charges(
    when: str, printed: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", SCRIPT, when, str(tmp_path / "budget.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == printed
