from __future__ import annotations

import copy
import math
import os
import pickle
import re
import sys
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.interrupts import interrupted
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.errors import (
    BudgetExceededError,
    LedgerCorruptError,
    LedgerError,
    ParameterError,
    ParameterTypeError,
    PrivacyError,
)
from dpframe.privacy import accountant, book, entries, store
from dpframe.privacy.accountant import Accountant, Receipt
from dpframe.privacy.book import Book
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss, exact_amount

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT = Event(mechanism="count", columns=(), parameters="")


def pay(budget: Accountant, epsilon: Any, event: Event = EVENT) -> Receipt:
    return budget.charge(Loss(epsilon=exact_amount(epsilon, what="epsilon")), event)


def granted(budget: Accountant, epsilon: Any) -> bool:
    try:
        pay(budget, epsilon)
    except BudgetExceededError:
        return False
    return True


def test_budget_starts_whole() -> None:
    budget = Accountant(epsilon=3)
    assert budget.total == Loss(epsilon=Fraction(3))
    assert budget.spent == Loss(epsilon=Fraction(0))
    assert budget.remaining == budget.total
    assert len(budget.events) == 0
    assert float(Accountant(0.1).total) == 0.1
    assert Accountant(1000).total.epsilon == 1000


def test_charge_is_added_exactly() -> None:
    budget = Accountant(3)
    pay(budget, 0.3)
    pay(budget, Fraction(1, 3))
    assert budget.spent.epsilon == Fraction(19, 30)
    assert budget.remaining.epsilon == Fraction(71, 30)


def test_refused_charge_changes_nothing() -> None:
    budget = Accountant(0.5)
    pay(budget, 0.3)
    before = budget.spent, budget.events.to_dicts(), repr(budget)
    with pytest.raises(BudgetExceededError) as error:
        pay(budget, 0.5)
    assert error.value.requested == Loss(epsilon=Fraction(1, 2))
    assert error.value.remaining == Loss(epsilon=Fraction(1, 5))
    assert isinstance(error.value, PrivacyError)
    assert str(error.value) == (
        "this release costs epsilon=0.5, but only epsilon=0.2 remains.\n"
        "Nothing was released and nothing was spent.\n"
        "Hint: pass epsilon=0.2 or less, or open a new budget."
    )
    assert (budget.spent, budget.events.to_dicts(), repr(budget)) == before
    assert granted(budget, 0.2)


def test_spent_budget_asks_for_a_new_one() -> None:
    budget = Accountant(1)
    pay(budget, 1)
    with pytest.raises(BudgetExceededError) as error:
        pay(budget, 1e-17)
    assert "nothing remains" in str(error.value)
    assert error.value.hint == "open a new budget."


@given(total=st.fractions(min_value=Fraction(1, 10**9), max_value=1000))
@settings(deadline=None)
def test_hint_names_an_amount_that_fits(total: Fraction) -> None:
    budget = Accountant(total)
    with pytest.raises(BudgetExceededError) as error:
        pay(budget, total + Fraction(1, 10**20))
    found = re.fullmatch(
        r"pass epsilon=(\S+) or less, or open a new budget\.", error.value.hint or ""
    )
    assert found is not None
    assert granted(budget, float(found[1]))


@pytest.mark.parametrize(
    ("total", "charges"),
    [
        (1, [0.1] * 10),
        (0.3, [0.1, 0.2]),
        (0.3, [0.1] * 3),
        (1, [Fraction(1, 3)] * 3),
        (1, [np.float32(0.1)] * 10),
        (1, [Fraction(1, 2000)] * 2000),
        (1, [1 / 2000] * 2000),
        (1, [1 / 50] * 50),
    ],
    ids=lambda v: f"{len(v)} of {v[0]}" if isinstance(v, list) else str(v),
)
def test_amounts_that_add_up_fill_the_budget(total: Any, charges: list[Any]) -> None:
    budget = Accountant(total)
    for amount in charges:
        pay(budget, amount)
    assert budget.spent == budget.total
    assert budget.remaining.epsilon == 0
    assert not granted(budget, charges[0])
    assert not granted(budget, 1e-300)
    assert len(budget.events) == len(charges)


@given(
    total=st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=100),
    requests=st.lists(
        st.one_of(
            st.tuples(st.just("amount"), st.sampled_from([0.1, 0.3, 1, 1e-9, 7.5])),
            st.tuples(st.just("share"), st.fractions(Fraction(1, 9), Fraction(10, 9))),
        ),
        max_size=30,
    ),
)
@settings(deadline=None)
def test_adaptive_charges_follow_the_exact_sum(
    total: Fraction, requests: list[tuple[str, Any]]
) -> None:
    budget, spent, count = Accountant(total), Fraction(0), 0
    for kind, given_amount in requests:
        if kind == "share":  # of what remains: 1 takes all of it
            amount = given_amount * (total - spent)
            if amount == 0:
                continue
        else:
            amount = Fraction(str(given_amount))
        fits = spent + amount <= total
        assert budget.allows(epsilon=amount) is fits
        assert granted(budget, amount) is fits
        spent, count = (spent + amount, count + 1) if fits else (spent, count)
        assert budget.spent.epsilon == spent
        assert budget.remaining.epsilon == total - spent
    costs = budget.events.to_polars()["cost"].to_list()
    assert len(costs) == count
    assert sum(Fraction(c.removeprefix("epsilon=")) for c in costs) == spent


@pytest.mark.parametrize(
    "value",
    [
        0,
        0.0,
        -1,
        math.nan,
        math.inf,
        -math.inf,
        None,
        "",
        "1",
        True,
        [],
        np.float64("1e-400"),
    ],
    ids=repr,
)
def test_epsilon_of_no_use_is_refused_and_not_charged(value: Any) -> None:
    budget = Accountant(1)
    with pytest.raises((TypeError, ValueError)):
        Accountant(value)
    with pytest.raises((TypeError, ValueError)):
        budget.allows(epsilon=value)
    with pytest.raises((TypeError, ValueError)):
        pay(budget, value)
    assert budget.spent.epsilon == 0
    assert len(budget.events) == 0


def test_charge_takes_pure_positive_losses_only() -> None:
    budget = Accountant(1)
    with pytest.raises(ParameterError, match="this budget is pure epsilon"):
        budget.charge(Loss(rho=Fraction(1, 8)), EVENT)
    with pytest.raises(ParameterError, match=r"nothing .* set aside .*ε=0.125, δ=1e-9"):
        budget.charge(Loss(epsilon=Fraction(1, 8), delta=Fraction(1, 10**9)), EVENT)
    with pytest.raises(ParameterError, match="greater than 0"):
        budget.charge(Loss(epsilon=Fraction(0)), EVENT)
    for wrong in (0.5, Fraction(1, 2), None):
        other: Any = wrong
        with pytest.raises(ParameterTypeError, match="must be a Loss"):
            budget.charge(other, EVENT)
    assert budget.spent.epsilon == 0
    assert len(budget.events) == 0


def test_allows_spends_nothing() -> None:
    budget = Accountant(0.3)
    assert budget.allows(epsilon=0.3)
    assert not budget.allows(epsilon=0.3001)
    pay(budget, 0.2)
    assert budget.allows(epsilon=0.1)
    assert not budget.allows(epsilon=0.2)
    assert budget.spent.epsilon == Fraction(1, 5)
    assert len(budget.events) == 1


def test_reading_the_totals_keeps_the_record() -> None:
    budget = Accountant(1)
    for _ in range(5):
        pay(budget, 0.1)
    before = budget.events.to_dicts()
    assert [budget.spent.epsilon for _ in range(3)] == [Fraction(1, 2)] * 3
    assert budget.remaining.epsilon == Fraction(1, 2)
    assert budget.events.to_dicts() == before
    assert len(before) == 5


def test_events_have_fixed_columns_and_exact_costs() -> None:
    budget = Accountant(1)
    event = Event(
        mechanism="histogram",
        columns=("age", "a, b"),
        parameters="bins=3",
        steps=("filter(x)", "with_columns(y)"),
    )
    pay(budget, 0.3, event).released()
    table = budget.events.to_polars()
    assert table.schema == {
        "sequence": pl.Int64,
        "time": pl.Datetime("us", "UTC"),
        **dict.fromkeys(["dataset", "mechanism", "columns", "parameters"], pl.String),
        **dict.fromkeys(["cost", "scope", "charged", "state"], pl.String),
    }
    assert Accountant(1).events.to_polars().schema == table.schema
    charged, released = table.drop("time").rows()
    assert charged == (
        1,
        "default",
        "histogram",
        "age, a, b",
        "bins=3; filter(x); with_columns(y)",
        "epsilon=3/10",
        "root",
        "epsilon=3/10",
        "charged",
    )
    assert released == (2, *charged[1:-1], "released")
    assert budget.spent.epsilon == Fraction(3, 10)


def test_receipt_is_good_for_one_release() -> None:
    budget = Accountant(1)
    first, second = pay(budget, 0.1), pay(budget, 0.2)
    second.released()
    before = budget.events.to_dicts()
    for again in (second, copy.copy(second), copy.deepcopy(second)):
        with pytest.raises(LedgerError, match="released already"):
            again.released()
    elsewhere = Receipt(
        accountant=Accountant(1), cost=first.cost, request=first.request
    )
    with pytest.raises(LedgerError, match="made elsewhere"):
        elsewhere.released()
    assert budget.events.to_dicts() == before
    first.released()
    assert budget.events.to_polars()["cost"].to_list() == [
        "epsilon=1/10",
        "epsilon=1/5",
        "epsilon=1/5",
        "epsilon=1/10",
    ]
    assert budget.spent.epsilon == Fraction(3, 10)


def test_sequence_follows_the_order_of_charges_when_the_clock_jumps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget = Accountant(1)
    pay(budget, 0.4)

    class Past(entries.dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls(1970, 1, 1, tzinfo=tz)

    monkeypatch.setattr(entries.dt, "datetime", Past)
    pay(budget, 0.4)
    monkeypatch.undo()
    assert not granted(budget, 0.4)
    assert [row["sequence"] for row in budget.events.to_dicts()] == [1, 2]
    assert budget.events.to_dicts()[1]["time"].year == 1970


def test_threads_share_one_budget() -> None:
    budget = Accountant(1)
    start = threading.Barrier(8)

    def worker(_: int) -> int:
        start.wait()
        return sum(granted(budget, Fraction(1, 1000)) for _ in range(200))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            grants = sum(pool.map(worker, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert grants == 1000
    assert budget.spent == budget.total
    table = budget.events.to_polars()
    assert table["sequence"].to_list() == list(range(1, 1001))
    assert set(table["cost"]) == {"epsilon=1/1000"}


def test_without_the_lock_threads_trip_over_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the lock is for; even then no row overspends the record."""

    class Open:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        def locked(self) -> bool:
            return False

    monkeypatch.setattr(store, "Lock", Open)
    monkeypatch.setattr(store, "RLock", Open)
    budget = Accountant(1)
    together = threading.Barrier(4, timeout=10)
    checked = Book.charge

    def pause(book: Any, *args: Any) -> Any:
        entry = checked(book, *args)
        together.wait()
        return entry

    monkeypatch.setattr(Book, "charge", pause)
    with ThreadPoolExecutor(4) as pool:
        outcomes = [pool.submit(pay, budget, 1) for _ in range(4)]
    errors = [type(outcome.exception()) for outcome in outcomes]
    assert LedgerCorruptError in errors
    assert budget.spent.epsilon == 1


def test_signal_handler_in_the_middle_of_a_charge_may_look_and_not_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It runs in the thread that it interrupts, which holds the budget."""
    budget = Accountant(1)
    seen: list[object] = []
    checked = Book.read

    def handled(book: Any, entry: Any) -> None:
        checked(book, entry)
        if entry.state == "charged" and not seen:
            seen.append(budget.remaining)
            with pytest.raises(LedgerError, match="a signal handler came"):
                pay(budget, 0.25)

    monkeypatch.setattr(Book, "read", handled)
    caller = threading.Thread(target=pay, args=(budget, 0.5), daemon=True)
    caller.start()
    caller.join(timeout=20)
    assert not caller.is_alive()
    assert seen == [Loss(epsilon=Fraction(1))]  # as it stood before the charge
    assert budget.spent.epsilon == Fraction(1, 2)
    assert [row["charged"] for row in budget.events.to_dicts()] == ["epsilon=1/2"]


@pytest.mark.parametrize("release", [False, True])
def test_interrupt_never_leaves_half_a_charge(*, release: bool) -> None:
    """Interrupt at every line of the module that a charge or a release runs.

    All but those that take and free the lock: Python delivers no signal between a
    lock and its block, while a trace function can raise there.
    """
    outcomes: set[tuple[Fraction | None, int]] = set()
    for stop in range(1, 1000):
        budget = Accountant(1)
        receipt = pay(budget, 0.25)
        act: Callable[[], object] = (
            receipt.released if release else lambda budget=budget: pay(budget, 0.5)
        )
        is_cut = interrupted(act, accountant, book, store, at=stop)
        rows = budget.events.to_dicts()
        paid = [Fraction(r["cost"][8:]) for r in rows if r["state"] == "charged"]
        assert budget.spent.epsilon == sum(paid)
        outcomes.add((budget.spent.epsilon, len(rows)))
        assert granted(budget, 0.25)  # the lock is free again
        if not is_cut:
            break
    else:
        pytest.fail("the call never ran to its end")
    quarter, full = Fraction(1, 4), Fraction(3, 4)
    assert outcomes == (
        {(quarter, 1), (quarter, 2)} if release else {(quarter, 1), (full, 2)}
    )


def test_every_copy_is_the_same_budget() -> None:
    budget = Accountant(1)
    copies = [budget, copy.copy(budget), copy.deepcopy(budget)]
    copies += [copy.deepcopy({"budget": [budget]})["budget"][0]]
    assert all(other is budget for other in copies)
    assert len({*copies}) == 1
    assert budget == copies[1]
    assert budget != Accountant(1)
    assert weakref.ref(budget)() is budget


def test_twenty_copies_grant_what_one_would() -> None:
    budget = Accountant(10)
    copies = [copy.deepcopy(budget) for _ in range(20)]
    assert sum(granted(each, 1) for each in copies for _ in range(20)) == 10


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_is_refused(protocol: int) -> None:
    budget = Accountant(1)
    receipt = pay(budget, 0.1)
    for carrier in (budget, [budget], receipt):
        with pytest.raises(ParameterTypeError, match=r"(?s)pickled.*give it a ledger"):
            pickle.dumps(carrier, protocol)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_reads_the_budget_and_cannot_spend_it() -> None:
    budget = Accountant(1)
    receipt = pay(budget, 0.25)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Later Pythons warn of threads; the child touches nothing that they hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        said = [str(budget.spent), str(budget.allows(epsilon=0.5))]
        for act in (lambda: pay(budget, 0.5), receipt.released):
            try:
                act()
            except LedgerError as error:
                said.append(type(error).__name__ + str("ledger" in str(error)))
        said.append(str(budget.spent))
        os.write(writer, "|".join(said).encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    assert status == 0
    assert said == "ε=0.25|True|LedgerErrorTrue|LedgerErrorTrue|ε=0.25"
    receipt.released()
    assert granted(budget, 0.75)


def budget_frame(budget: Accountant) -> pd.DataFrame:
    df = pd.DataFrame({"x": [3.0, 1.0, 2.0], "g": ["a", "b", "a"], "n": [1, 2, 3]})
    df.attrs["budget"] = budget
    return df


def test_budget_in_attrs_is_spent_once() -> None:
    budget = Accountant(1)
    df = budget_frame(budget)
    derived = [df.copy(), df.head(2), pd.concat([df, df]), df["x"].to_frame()]
    assert [granted(each.attrs["budget"], 0.6) for each in derived] == [
        True,
        False,
        False,
        False,
    ]
    assert budget.spent.epsilon == Fraction(3, 5)
    assert copy.deepcopy(df.attrs)["budget"] is budget


OPERATIONS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "copy": lambda df: df.copy(),
    "shallow copy": lambda df: df.copy(deep=False),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "head": lambda df: df.head(2),
    "tail": lambda df: df.tail(2),
    "column": lambda df: df["x"],
    "columns": lambda df: df[["x", "n"]],
    "to_frame": lambda df: df["x"].to_frame(),
    "concat": lambda df: pd.concat([df, df]),
    "filter": lambda df: df[df["x"] > 1],
    "query": lambda df: df.query("x > 1"),
    "loc": lambda df: df.loc[[0, 2]],
    "iloc": lambda df: df.iloc[:2],
    "assign": lambda df: df.assign(y=1),
    "rename": lambda df: df.rename(columns={"x": "y"}),
    "drop": lambda df: df.drop(columns="n"),
    "sort_values": lambda df: df.sort_values("x"),
    "reset_index": lambda df: df.reset_index(),
    "set_index": lambda df: df.set_index("g"),
    "astype": lambda df: df.astype({"n": "float64"}),
    "fillna": lambda df: df.fillna({"x": 0.0}),
    "dropna": lambda df: df.dropna(),
    "sample": lambda df: df.sample(2, random_state=0),
    "groupby": lambda df: df.groupby("g").sum(),
    "arithmetic": lambda df: df["x"] + 1,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_pandas_operations_keep_the_one_budget(name: str) -> None:
    budget = Accountant(1)
    df = budget_frame(budget)
    carried = OPERATIONS[name](df).attrs.get("budget")
    assert carried is budget
    assert granted(carried, 0.6)
    assert not granted(df.attrs["budget"], 0.6)


def test_pandas_merge_works_and_makes_no_second_budget() -> None:
    budget = Accountant(1)
    df = budget_frame(budget)
    for merged in (df.merge(df, on="g"), pd.concat([df, pd.DataFrame({"x": [1.0]})])):
        assert merged.attrs.get("budget") in (None, budget)


def test_budget_cannot_be_reset() -> None:
    budget: Any = Accountant(1)
    for name in ("total", "spent", "remaining", "events", "anything"):
        with pytest.raises(AttributeError):
            setattr(budget, name, Loss(epsilon=Fraction(100)))
    missing: Any = Accountant
    with pytest.raises(TypeError):
        missing()


def test_making_a_budget_again_does_not_refund_it() -> None:
    budget = Accountant(epsilon=1)
    budget.charge(Loss(epsilon=Fraction(1)), EVENT)
    with pytest.raises(ParameterTypeError):
        budget.__init__(epsilon=9)  # type: ignore[misc]
    assert budget.remaining == Loss(epsilon=Fraction(0))
