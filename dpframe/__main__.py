"""The command line: ``python -m dpframe demo`` and ``python -m dpframe ledger``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpframe.demo import demo
from dpframe.errors import DPFrameError, LedgerCorruptError
from dpframe.privacy.ledger.report import reports

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    That is 0, or 1 where the demo could not run or a ledger's record is broken, or 2
    where there is no such ledger.
    """
    chosen = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal may have no ε
    try:
        return _demo(chosen.out) if chosen.command == "demo" else _ledger(chosen)
    except BrokenPipeError:  # who reads has seen enough, as in: ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dpframe",
        description="Differentially private releases from dataframe code.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser(
        "demo",
        help="release a table and some figures from a health survey, with a picture",
        description="Release figures from the RAND Health Insurance Experiment: "
        "20,190 rows of public data, in a few seconds.",
    )
    shown.add_argument(
        "--out",
        type=Path,
        default=Path("dpframe-demo"),
        metavar="DIR",
        help="folder for the table and its picture (default: %(default)s)",
    )
    ledger = commands.add_parser(
        "ledger",
        help="print what a ledger holds, and check that its record is whole",
        description="Print the budgets of a ledger, with what they paid for, and "
        "check every row. The exit status is 0 if all are whole, 1 if one is broken "
        "and 2 if there is no such ledger or budget.",
    )
    ledger.add_argument(
        "ledger", metavar="LEDGER", help="a file, or postgresql://user@host/database"
    )
    ledger.add_argument(
        "dataset",
        nargs="?",
        metavar="DATASET",
        help="one budget, or a child such as visits/daily (default: all budgets)",
    )
    ledger.add_argument(
        "--anchor",
        metavar="TEXT",
        help="what .anchor returned earlier: a row that the record must still hold",
    )
    return parser


def _demo(folder: Path) -> int:
    try:
        for paragraph in demo(folder):
            _say(f"{paragraph}\n\n")
    except DPFrameError as error:
        return _fail(error, 1)
    return 0


def _ledger(chosen: argparse.Namespace) -> int:
    status = 0
    try:
        for report in reports(chosen.ledger, chosen.dataset, anchor=chosen.anchor):
            if report.text:
                _say(f"{report.text}\n\n")
            if report.fault is not None:
                status = _fail(report.fault, 1)
    except LedgerCorruptError as error:
        return _fail(error, 1)
    except DPFrameError as error:
        return _fail(error, 2)
    return status


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _fail(error: DPFrameError, status: int) -> int:
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
