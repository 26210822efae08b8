"""A program that uses a ledger in every way and prints who opened its file."""

from __future__ import annotations

import json
import os
import pickle
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from checks.ledgers import pay

from dpframe.errors import LedgerError
from dpframe.privacy.accountant import Accountant


def main(address: str) -> None:
    seen: list[str] = []

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in {"open", "os.open"} and args and isinstance(args[0], (str, bytes)):
            seen.append(os.fsdecode(args[0]))

    sys.addaudithook(hook)
    budget = Accountant(1, ledger=address, create=True)
    pay(budget, 0.25).released()
    child = budget.child("c", epsilon=0.25)
    child.split(2)
    child.close()
    copy = pickle.loads(pickle.dumps(budget))  # noqa: S301 - our own
    Accountant.open(address, anchor=copy.anchor)
    said = [repr(budget), str(len(budget.events)), str(budget.spent)]
    process = os.fork()
    if process == 0:
        pay(budget, 0.25)
        os._exit(any(path.startswith(address) for path in seen))
    _, status = os.waitpid(process, 0)
    with suppress(LedgerError):
        Accountant(2, ledger=address, create=True)
    assert status == 0
    assert budget.spent.epsilon == Fraction(1, 2)
    found = [path for path in seen if Path(path).name.startswith(Path(address).name)]
    with Path(address).open("rb"):  # what the hook would have seen
        control = address in seen
    print(json.dumps([found, control, len(said)]))  # noqa: T201 - what the program is for


if __name__ == "__main__":
    main(*sys.argv[1:])
