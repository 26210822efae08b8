"""A program of its own that releases from a ledger until that is spent."""

from __future__ import annotations

import json
import sys

import polars as pl

import dpframe


def main(address: str, epsilon: str, most: str) -> None:
    budget = dpframe.Accountant.open(address)
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 50}).dp.attach(budget)
    answers = 0
    for _ in range(int(most)):
        try:
            frame.dp.count(epsilon=float(epsilon))
        except dpframe.BudgetExceededError:
            break
        answers += 1
    print(json.dumps(answers))  # noqa: T201 - what the program is for


if __name__ == "__main__":
    main(*sys.argv[1:])
