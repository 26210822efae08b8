"""A program that releases in children which die at a given step."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import polars as pl

import dpframe
from dpframe import measure
from dpframe.privacy.accountant import Accountant, Receipt
from dpframe.privacy.ledger import tables

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS: dict[str, tuple[Any, str]] = {
    "before commit": (tables, "update_budget"),
    "after commit": (Accountant, "charge"),
    "after noise": (measure, "_measured"),
    "before return": (Receipt, "released"),
}


def _dying(step: Callable[..., Any]) -> Callable[..., Any]:
    def last(*args: Any, **options: Any) -> None:
        step(*args, **options)
        os._exit(9)

    return last


def main(address: str, times: str) -> None:
    budget = Accountant.open(address)
    left: dict[str, list[tuple[str, str]]] = {}
    for name, (owner, step) in STEPS.items():
        left[name] = []
        for _ in range(int(times)):
            before = budget.spent.epsilon or 0
            child = os.fork()
            if child == 0:
                setattr(owner, step, _dying(getattr(owner, step)))
                frame = pl.DataFrame({"x": [1.0, 2.0]}).dp.attach(budget)
                frame.dp.count(epsilon=0.01)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 9
            entries = budget._store.entries()  # noqa: SLF001 - the one that opens it, too
            spent = (budget.spent.epsilon or 0) - before
            left[name].append((str(spent), entries[-1].state))
    print(json.dumps(left))  # noqa: T201 - what the program is for


if __name__ == "__main__":
    assert dpframe.Accountant is Accountant
    main(*sys.argv[1:])
