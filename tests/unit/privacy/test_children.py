"""Budgets set aside in a budget: their sums, their ends, and what comes back."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from checks.losses import EVENT, gaussian, granted, pure

from dpframe.errors import (
    BudgetExceededError,
    LedgerError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition


def test_child_is_set_aside_at_once_and_spends_for_itself() -> None:
    budget = Accountant(epsilon=3)
    daily = budget.child("daily", epsilon=1)
    assert daily.total == pure(1)
    assert budget.spent == pure(1)
    assert granted(daily, pure("0.4"))
    assert daily.remaining == pure("0.6")
    assert budget.remaining == pure(2)
    assert not granted(daily, pure("0.7"))
    assert not granted(budget, pure("2.1"))
    assert granted(budget, pure(2))


def test_child_beyond_what_remains_is_refused_and_changes_nothing() -> None:
    budget = Accountant(epsilon=1)
    assert granted(budget, pure("0.5"))
    with pytest.raises(
        BudgetExceededError, match=r"'default/daily' costs epsilon=0\.6"
    ):
        budget.child("daily", epsilon=0.6)
    assert budget.remaining == pure("0.5")
    assert budget.child("daily", epsilon=0.5).remaining == pure("0.5")


def test_child_of_the_same_name_and_total_is_the_same_child() -> None:
    budget = Accountant(epsilon=3)
    daily = budget.child("daily", epsilon=1)
    assert granted(daily, pure("0.4"))
    again = budget.child("daily", epsilon=1)
    assert again == daily
    assert hash(again) == hash(daily)
    assert again.remaining == pure("0.6")
    assert budget.remaining == pure(2)
    with pytest.raises(LedgerError, match="another total: epsilon=1, not epsilon=2"):
        budget.child("daily", epsilon=2)
    assert daily != budget
    assert daily != Accountant(epsilon=3).child("daily", epsilon=1)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"rho": 0.001}, {"rho": 0.002}, "rho=0.001, not rho=0.002"),
        ({"rho": 0.001}, {"epsilon": 0.1}, "rho=0.001, not epsilon=0.1"),
        (
            {"epsilon": 0.1},
            {"epsilon": 0.1, "keys_delta": 1e-8},
            "epsilon=0.1, not epsilon=0.1, keys_delta=1e-8",
        ),
    ],
)
def test_another_total_of_a_child_is_told_as_it_was_stated(
    first: dict[str, float], second: dict[str, float], told: str
) -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-7)
    budget.child("daily", **first)
    with pytest.raises(LedgerError, match=f"another total: {told}\\."):
        budget.child("daily", **second)


def test_refusal_names_the_child_that_was_to_pay() -> None:
    daily = Accountant(epsilon=3).child("daily", epsilon=1)
    with pytest.raises(
        BudgetExceededError,
        match=r"only epsilon=1 remains of child 'default/daily'\.",
    ) as error:
        daily.charge(pure(2), EVENT)
    assert "set aside a new child, or open" in str(error.value)
    assert granted(daily, pure(1))
    with pytest.raises(BudgetExceededError, match="nothing remains of child"):
        daily.charge(pure(1), EVENT)


def test_closing_gives_back_what_was_not_spent_once() -> None:
    budget = Accountant(epsilon=3)
    daily = budget.child("daily", epsilon=2)
    assert granted(daily, pure("0.5"))
    daily.close()
    assert budget.spent == pure("0.5")
    assert budget.remaining == pure("2.5")
    with pytest.raises(LedgerError, match="was closed"):
        daily.close()
    assert budget.remaining == pure("2.5")
    with pytest.raises(LedgerError, match="was closed"):
        daily.charge(pure("0.1"), EVENT)
    with pytest.raises(LedgerError, match="was closed"):
        budget.child("daily", epsilon=2)
    with pytest.raises(LedgerError, match="was closed"):
        daily.child("deeper", epsilon=0.1)
    with pytest.raises(LedgerError, match="was closed"):
        daily.split(2)
    assert daily.remaining == pure("0")
    assert not daily.allows(epsilon=0.1)
    assert granted(budget, pure("2.5"))
    assert not granted(budget, pure("1e-9"))


def test_charge_in_flight_when_a_child_is_closed_stays_spent() -> None:
    budget = Accountant(epsilon=1)
    child = budget.child("a", epsilon=1)
    receipt = child.charge(pure("0.25"), EVENT)
    child.close()
    receipt.released()
    assert budget.spent == pure("0.25")


def test_closing_ends_what_was_set_aside_below() -> None:
    budget = Accountant(epsilon=3)
    team = budget.child("team", epsilon=2)
    person = team.child("person", epsilon=1)
    assert granted(person, pure("0.25"))
    assert granted(team, pure("0.5"))
    team.close()
    assert budget.spent == pure("0.75")
    with pytest.raises(LedgerError, match="was closed"):
        person.charge(pure("0.1"), EVENT)
    assert person.remaining == pure("0")
    assert not person.allows(epsilon=0.1)


def test_whole_budget_is_not_closed() -> None:
    with pytest.raises(LedgerError, match="only a child is closed"):
        Accountant(epsilon=3).close()


@pytest.mark.parametrize("count", range(1, 101))
def test_equal_parts_add_up_exactly_and_are_spent_whole(count: int) -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    children = budget.split(count)
    parts = [child.total for child in children]
    assert sum(part.epsilon or 0 for part in parts) == 1
    assert sum(part.rho or 0 for part in parts) == budget.total.rho
    for child in children:
        assert granted(child, Loss(epsilon=child.total.epsilon))
    assert not granted(budget, pure("1e-9"))
    assert not granted(budget, gaussian("1e-12"))
    with pytest.raises(BudgetExceededError):
        budget.child("more", epsilon=1e-9)
    with pytest.raises(BudgetExceededError):
        budget.split(2)


def test_parts_spend_their_rhos_whole_too() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-7)
    children = budget.split(7)
    assert sum(child.keys_delta for child in children) == Fraction(1, 10**7)
    for child in children:
        assert granted(child, Loss(rho=child.total.rho))
    assert not granted(budget, gaussian("1e-15"))


def test_weights_divide_what_remains_by_name() -> None:
    budget = Accountant(epsilon=1)
    assert granted(budget, pure("0.1"))
    stages = budget.split({"daily": 2, "ad hoc": 1, "weekly": 0.5})
    assert list(stages) == ["daily", "ad hoc", "weekly"]
    assert stages["daily"].total == Loss(epsilon=Fraction(9, 10) * Fraction(4, 7))
    assert sum(stage.total.epsilon or 0 for stage in stages.values()) == Fraction(9, 10)
    assert budget.remaining == pure(0)
    assert budget.child("ad hoc", epsilon=Fraction(9, 35)) == stages["ad hoc"]


def test_numbered_parts_never_meet_a_name_that_is_taken() -> None:
    budget = Accountant(epsilon=4)
    first = budget.child("1", epsilon=1)
    pair = budget.split(2)
    assert len({first, *pair}) == 3
    assert [part.total for part in pair] == [pure("1.5")] * 2


def test_refused_split_makes_no_child() -> None:
    budget = Accountant(epsilon=4)
    taken = budget.child("b", epsilon=1)
    with pytest.raises(LedgerError, match="on record"):
        budget.split({"a": 1, "b": 1})
    assert budget.remaining == pure(3)
    taken.close()
    assert budget.split({"a": 1})["a"].total == pure(4)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (0, ParameterError),
        (-1, ParameterError),
        ({}, ParameterError),
        ({"a": 0}, ParameterError),
        ({"a": -1}, ParameterError),
        ({"a": math.nan}, ParameterError),
        ({"a/b": 1}, ParameterError),
        ({"": 1}, ParameterError),
        (10**9, ParameterError),
        (True, ParameterTypeError),
        (2.0, ParameterTypeError),
        ("ab", ParameterTypeError),
        ({1: 1}, ParameterTypeError),
        ({"a": "1"}, ParameterTypeError),
        (["a"], ParameterTypeError),
    ],
    ids=repr,
)
def test_split_takes_a_number_of_parts_or_weights(
    parts: Any, error: type[Exception]
) -> None:
    budget = Accountant(epsilon=1)
    with pytest.raises(error):
        budget.split(parts)
    assert budget.remaining == pure(1)


@pytest.mark.parametrize("name", ["", "a/b", "a\n", "x" * 201, 1, None])
def test_name_of_a_child_is_short_printable_text(name: Any) -> None:
    budget = Accountant(epsilon=1)
    with pytest.raises((ParameterError, ParameterTypeError)):
        budget.child(name, epsilon=0.1)
    with pytest.raises((ParameterError, ParameterTypeError)):
        Accountant(epsilon=1, dataset=name)
    assert budget.remaining == pure(1)


def test_child_holds_one_measure_of_its_parent() -> None:
    with pytest.raises(TypeError):
        Accountant(epsilon=1).child("a")
    with pytest.raises(TypeError):
        Accountant(rho=1).child("a", epsilon=1, rho=1)
    with pytest.raises(ParameterError, match="this one is pure"):
        Accountant(epsilon=1).child("a", rho=0.1)
    child = Accountant(rho=1).child("a", epsilon=1)
    assert child.total == gaussian("0.5")
    both = Accountant(epsilon=1, delta=1e-6)
    assert both.child("a", rho=0.01).total == Loss(
        epsilon=Fraction(0), rho=Fraction(1, 100)
    )
    other = both.child("b", epsilon=0.1).total
    assert other == Loss(epsilon=Fraction(1, 10), rho=Fraction(1, 200))


def test_child_has_the_delta_for_keys_that_it_was_given() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-7)
    child = budget.child("a", epsilon=0.5, keys_delta=4e-8)
    found = Loss(epsilon=Fraction(1, 10), delta=Fraction(4, 10**8))
    assert granted(child, found)
    assert not granted(child, found)
    with pytest.raises(BudgetExceededError):
        budget.child("b", epsilon=0.1, keys_delta=7e-8)
    with pytest.raises(ParameterError, match="set aside for a loss"):
        budget.child("c", epsilon=0.1).charge(found, EVENT)


def refusal(budget: Accountant, cost: Loss) -> str:
    with pytest.raises(BudgetExceededError) as error:
        budget.charge(cost, EVENT)
    return str(error.value).replace(
        "\nNothing was released and nothing was spent.\n", " "
    )


def test_refusal_tells_of_children_that_hold_the_rest() -> None:
    budget = Accountant(epsilon=1)
    one, other = budget.split({"one": 3, "other": 1}).values()
    assert refusal(budget, pure("0.1")) == (
        "this release costs epsilon=0.1, but nothing remains of this budget outside "
        "its children. Hint: close a child that has some left, or open a new budget."
    )
    assert "children" not in refusal(other, pure("0.3"))
    other.close()
    assert refusal(budget, pure("0.3")) == (
        "this release costs epsilon=0.3, but only epsilon=0.25 remains outside its "
        "children. Hint: pass epsilon=0.25 or less, or close a child that has some "
        "left, or open a new budget."
    )
    one.close()
    assert "children" not in refusal(budget, pure(2))


def test_refusal_names_no_delta_of_zero() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-7)
    found = Loss(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    more = Loss(epsilon=Fraction(1, 10), delta=Fraction(2, 10**7))
    assert "epsilon=1 or rho=" in refusal(budget, more)
    assert "with delta=1e-7 or less, or open" in refusal(budget, more)
    assert granted(budget, found)
    assert refusal(budget, found) == (
        "this release costs epsilon=0.1 and delta=1e-7, but nothing remains of "
        "keys_delta. Hint: use keys that are public or were found, or open a new "
        "budget."
    )


def test_first_gaussian_release_ends_the_pure_lane_of_all_children() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    one, other = budget.split(2)
    assert granted(one, gaussian("0.001"))
    assert other.remaining.epsilon is None
    assert not granted(other, Loss(epsilon=other.total.epsilon))
    assert granted(other, Loss(rho=other.total.rho))


def test_child_that_holds_more_rho_than_there_is_keeps_all_to_pure_releases() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    child = budget.child("a", epsilon=0.5)  # 1/8 of rho, and the lane has 0.024
    assert budget.remaining.rho is None
    for each in (budget, child):
        assert not granted(each, gaussian("1e-9"))
        assert granted(each, pure("0.5"))


def test_child_of_more_rho_than_there_is_is_refused_and_ends_no_lane() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceededError, match=r"'default/a' costs rho=0\.1, but"):
        budget.child("a", rho=0.1)  # the lane has 0.024, and a rho is paid there alone
    assert budget.remaining.rho == budget.total.rho
    assert granted(budget.child("a", rho=0.02), gaussian("0.02"))
    assert granted(budget, gaussian("0.004"))


def test_records_of_children_are_part_of_their_parents() -> None:
    budget = Accountant(epsilon=1, dataset="visits")
    daily = budget.child("daily", epsilon=0.5)
    daily.charge(pure("0.1"), EVENT).released()
    budget.charge(pure("0.2"), EVENT)
    table = budget.events.to_polars()
    assert table["dataset"].to_list() == ["visits/daily"] * 2 + ["visits"]
    assert table["sequence"].is_sorted()
    assert daily.events.to_polars()["cost"].to_list() == ["epsilon=1/10"] * 2
    sibling = budget.child("daily2", epsilon=0.1)
    assert len(sibling.events) == 0


# Random trees, against the rule written out from the list of what was done


class Reference:
    """The rule for children, evaluated afresh from everything that happened."""

    def __init__(self, total: dict[str, Fraction]) -> None:
        self.totals = {"": total}
        self.parents: dict[str, str] = {}
        self.closed: set[str] = set()
        self.charges: list[tuple[str, Loss]] = []

    def ended(self, name: str) -> bool:
        while name:
            if name in self.closed:
                return True
            name = self.parents[name]
        return False

    def used(self, name: str, lane: str) -> Fraction:
        own = [
            cost.as_rho if lane == "rho" else cost.epsilon or Fraction(0)
            for where, cost in self.charges
            if where == name
        ]
        below = [child for child, parent in self.parents.items() if parent == name]
        return sum(own, Fraction(0)) + sum(
            (self.taken(child, lane) for child in below), Fraction(0)
        )

    def taken(self, name: str, lane: str) -> Fraction:
        used = self.used(name, lane)
        return used if self.ended(name) else max(used, self.totals[name][lane])

    def holds(self, lane: str) -> bool:
        if lane == "epsilon" and any(c.epsilon is None for _, c in self.charges):
            return False
        return all(
            self.ended(name) or self.used(name, lane) <= total[lane]
            for name, total in self.totals.items()
        )

    def fine(self) -> bool:
        return any(self.holds(lane) for lane in self.totals[""])

    def charge(self, name: str, cost: Loss) -> bool:
        if self.ended(name):
            return False
        self.charges.append((name, cost))
        if not self.fine():
            self.charges.pop()
            return False
        return True

    def child(self, parent: str, name: str, total: dict[str, Fraction]) -> bool:
        if self.ended(parent):
            return False
        self.totals[name], self.parents[name] = total, parent
        if not self.fine():
            del self.totals[name], self.parents[name]
            return False
        return True


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_follow_the_rule(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    budget = [
        Accountant(epsilon=1),
        Accountant(epsilon=1, delta=1e-3),
        Accountant(epsilon=2, delta=1e-6),
        Accountant(rho=0.1),
    ][seed % 4]
    whole = {lane: getattr(budget.total, lane) for lane in budget.lanes}
    reference, accounts = Reference(whole), {"": budget}
    outcomes = set()
    for step in range(120):
        name = rng.choice(list(accounts))
        share = Fraction(rng.randrange(1, 12), 40)
        kind = rng.choice(["charge"] * 6 + ["gaussian", "child", "child", "close"])
        epsilon = share * (whole.get("epsilon") or Fraction(2, 5))
        if kind == "close":
            expected = bool(name) and not reference.ended(name)
            if expected:
                reference.closed.add(name)
            assert _works(accounts[name].close) is expected
        elif kind == "child":
            path = f"{name}/{step}"
            part = {"epsilon": epsilon, "rho": epsilon**2 / 2}
            expected = reference.child(name, path, {lane: part[lane] for lane in whole})
            try:
                made = accounts[name].child(str(step), epsilon=epsilon)
            except (BudgetExceededError, LedgerError):
                assert not expected
            else:
                assert expected
                accounts[path] = made
        else:
            cost = Loss(epsilon=epsilon)
            if kind == "gaussian" and "rho" in whole and step > 20:
                cost = Loss(rho=share * whole["rho"])
            expected = reference.charge(name, cost)
            assert _works(lambda: accounts[name].charge(cost, EVENT)) is expected  # noqa: B023 - called at once
        outcomes.add((kind, expected))
        for lane in whole:
            spent = getattr(budget.spent, lane)
            assert spent is None or spent == reference.used("", lane)
        left = budget.remaining
        for lane, total in whole.items():
            room = total - reference.used("", lane)
            assert getattr(left, lane) == (room if reference.holds(lane) else None)
    assert {("charge", True), ("charge", False)} <= outcomes


def _works(act: Any) -> bool:
    try:
        act()
    except (BudgetExceededError, LedgerError):
        return False
    return True


def test_parts_of_a_partition_cost_their_child_the_largest() -> None:
    budget = Accountant(epsilon=1)
    child = budget.child("a", epsilon=0.5)
    partition = Partition(scope=ROOT)
    for key in range(3):
        scope = partition.part(f"g={key}")
        event = Event(mechanism="count", columns=(), parameters="", scope=scope)
        child.charge(pure("0.5"), event)
    assert child.remaining == pure(0)
    assert child.room(partition.part("g=0")) == pure(0)
    child.close()
    assert budget.remaining == pure("0.5")


def test_children_are_nested_so_deep_that_the_record_can_be_read() -> None:
    budget = Accountant(epsilon=1)
    child = budget
    for _ in range(50):
        child = child.child("c", epsilon=1)
    with pytest.raises(LedgerError, match="50 deep at most"):
        child.child("c", epsilon=1)
    assert child.allows(epsilon=1)
