"""Work on a ledger that tests hand to other processes, and how they start those."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, Any

from dpframe.errors import BudgetExceededError, LedgerError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import CHARGED, Event
from dpframe.privacy.loss import Loss, exact_amount
from dpframe.privacy.scope import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpframe.privacy.accountant import Receipt
    from dpframe.privacy.scope import Scope

SCALE = int(os.environ.get("DPFRAME_SCALE", "1"))
"""1 in every run; at 4, eight processes of 200 charges and 60 processes killed."""

STARTS = ("fork", "spawn")
EVENT = Event(mechanism="count", columns=(), parameters="")
_TESTS = Path(__file__).parents[1]


def pay(budget: Accountant, epsilon: Any, scope: Scope = ROOT) -> Receipt:
    """Charge a pure loss."""
    event = replace(EVENT, scope=scope)
    return budget.charge(Loss(epsilon=exact_amount(epsilon, what="epsilon")), event)


def granted(budget: Accountant, epsilon: Any, scope: Scope = ROOT) -> bool:
    """Charge a pure loss, and tell whether it was granted."""
    try:
        pay(budget, epsilon, scope)
    except BudgetExceededError:
        return False
    return True


def grants(budget: Accountant, epsilon: Any, times: int) -> int:
    """Return how many charges were granted."""
    return sum(granted(budget, epsilon) for _ in range(times))


def grants_at(address: str, epsilon: Any, times: int) -> int:
    """Return how many charges were granted, by a process that opens the ledger."""
    return grants(Accountant.open(address), epsilon, times)


def created(address: str, epsilon: Any) -> str:
    """Open or make a budget; return its anchor, or the error's name."""
    try:
        return Accountant(epsilon, ledger=address, create=True).anchor
    except LedgerError as error:
        return type(error).__name__


def in_processes(
    start: str, work: Callable[..., Any], arguments: Sequence[Sequence[object]]
) -> list[Any]:
    """Return what a function returns in processes of its own, all at once."""
    context = multiprocessing.get_context(start)
    with context.Pool(len(arguments)) as pool:
        return pool.starmap(work, arguments, chunksize=1)


def in_child(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a forked child, through JSON."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child failed"
    return json.loads(said)


def scripts(*commands: Sequence[str]) -> list[Any]:
    """Run modules of this folder as programs at once; return what they print."""
    path = os.pathsep.join([str(_TESTS.parent), str(_TESTS)])
    running = [
        Popen(  # noqa: S603 - our own
            [sys.executable, "-W", "ignore", "-m", *command],
            env={**os.environ, "PYTHONPATH": path},
            stdout=PIPE,
            text=True,
        )
        for command in commands
    ]
    said = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    return [json.loads(text) for text in said]


def charges(budget: Accountant) -> list[dict[str, Any]]:
    """Return the rows of charges."""
    return [row for row in budget.events.to_dicts() if row["state"] == CHARGED]


def paid(budget: Accountant) -> Fraction:
    """Return the sum of what charges raised, from the rows."""
    costs = [row["charged"].split(", ")[0] for row in charges(budget)]
    return sum((Fraction(cost.removeprefix("epsilon=")) for cost in costs), Fraction(0))


def ends_and_spends(
    address: str, names: Sequence[str], act: str, together: Any
) -> list[bool]:
    """In each of several budgets, close a child or charge it or its parent, at once.

    Returns whether it was done.
    """
    done: list[bool] = []
    for name in names:
        whole, child = (Accountant.open(address, n) for n in (name, f"{name}/child"))
        together.wait(60)
        try:
            if act == "close":
                child.close()
            else:
                pay(child if act == "child" else whole, Fraction(1, 2))
        except (BudgetExceededError, LedgerError):
            done.append(False)
        else:
            done.append(True)
    return done


def set_aside(address: str, name: str, together: Any) -> str:
    """Make a child, or find it."""
    budget = Accountant.open(address)
    together.wait(60)
    child = budget.child(name, epsilon=Fraction(1, 2))
    return str(child.total)


def splits(address: str, together: Any) -> list[str]:
    """Split what remains in two."""
    budget = Accountant.open(address)
    together.wait(60)
    try:
        parts = budget.split(2)
    except BudgetExceededError:
        return []
    return [part.total.exact for part in parts]


def adaptive(address: str, scopes: Sequence[Scope], seed: int, times: int) -> int:
    """Charge one part after the other an eighth of the room that it then has."""
    budget = Accountant.open(address)
    count = 0
    for turn in range(times):
        scope = scopes[(seed + turn) % len(scopes)]
        room = budget.room(scope).epsilon or Fraction(0)
        amount = max(room / 8, Fraction(1, 100))
        count += granted(budget, amount, scope)
    return count


def charged_with_keys(address: str, times: int) -> int:
    """Charge an epsilon and a delta together, until both or one are spent."""
    budget, count = Accountant.open(address), 0
    cost = Loss(epsilon=Fraction(1, 100), delta=Fraction(1, 10**9))
    for _ in range(times):
        try:
            budget.charge(cost, EVENT)
        except BudgetExceededError:
            continue
        count += 1
    return count


def requested(address: str, request: str, together: Any) -> bool:
    """Charge under a given name."""
    budget = Accountant.open(address)
    together.wait(60)
    try:
        budget.charge(Loss(epsilon=Fraction(1, 10)), EVENT, request=request)
    except LedgerError:
        return False
    return True


def held_together(
    start: str, work: Callable[..., Any], *arguments: Sequence[Any]
) -> Any:
    """As `in_processes`, each with a barrier that all of them pass at once."""
    context = multiprocessing.get_context(start)
    with context.Manager() as manager:
        barrier = manager.Barrier(len(arguments))
        return in_processes(start, work, [(*each, barrier) for each in arguments])
