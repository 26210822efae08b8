"""What a budget with partitions has spent, against a plain recomputation."""

from __future__ import annotations

import copy
import pickle
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from dpframe.errors import BudgetExceededError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT, Partition, Scope, common_ancestor, scope_at

if TYPE_CHECKING:
    from collections.abc import Sequence


def cost_from_events(charges: Sequence[tuple[Scope, Fraction]]) -> Fraction:
    """Return the cost of the whole by its definition, from all charges at once."""
    own: dict[Scope, Fraction] = defaultdict(Fraction)
    made: dict[Scope, set[Partition]] = defaultdict(set)
    parts: dict[Partition, set[Scope]] = defaultdict(set)
    for scope, amount in charges:
        own[scope] += amount
        below = scope
        while below.partition is not None:
            parts[below.partition].add(below)
            below = below.partition.scope
            made[below] |= {p for p in parts if p.scope is below}

    def cost(scope: Scope) -> Fraction:
        total = own[scope]
        for partition in made[scope]:
            each = sorted(map(cost, parts[partition]), reverse=True)
            total += sum(each[: partition.most], Fraction(0))
        return total

    return cost(ROOT)


def random_scopes(rng: random.Random) -> list[Scope]:
    scopes = [ROOT]
    for _ in range(rng.randrange(1, 5)):
        partition = Partition(scope=rng.choice(scopes), most=rng.randrange(1, 4))
        scopes += [partition.part(f"p={n}") for n in range(rng.randrange(1, 5))]
    return scopes


def charge(budget: Accountant, scope: Scope, amount: Fraction) -> None:
    event = Event(mechanism="count", columns=(), parameters="", scope=scope)
    budget.charge(Loss(epsilon=amount), event)


@pytest.mark.parametrize("seed", range(60))
def test_spent_is_what_the_definition_says_after_every_charge(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    scopes, budget = random_scopes(rng), Accountant(epsilon=3)
    granted: list[tuple[Scope, Fraction]] = []
    refused = 0
    for _ in range(60):
        scope, amount = rng.choice(scopes), Fraction(rng.randrange(1, 9), 10)
        room = budget.room(scope).epsilon or Fraction(0)
        if amount <= room:
            charge(budget, scope, amount)
            granted.append((scope, amount))
        else:
            refused += 1
            with pytest.raises(BudgetExceededError) as found:
                charge(budget, scope, amount)
            assert found.value.remaining.epsilon == room
            assert cost_from_events([*granted, (scope, amount)]) > 3
        assert budget.spent.epsilon == cost_from_events(granted) <= 3
        raised = budget.events.to_polars()["charged"]
        added = sum(Fraction(text.removeprefix("epsilon=")) for text in raised)
        assert added == budget.spent.epsilon
    assert refused


@pytest.mark.parametrize("seed", range(20))
def test_room_is_the_most_that_a_part_can_charge(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    scopes, budget = random_scopes(rng), Accountant(epsilon=3)
    for _ in range(25):
        scope, amount = rng.choice(scopes), Fraction(rng.randrange(1, 4), 10)
        if amount <= (budget.room(scope).epsilon or 0):
            charge(budget, scope, amount)
    scope = rng.choice(scopes)
    room = budget.room(scope).epsilon or Fraction(0)
    with pytest.raises(BudgetExceededError):
        charge(budget, scope, room + Fraction(1, 10**9))
    if room:
        charge(budget, scope, room)
        assert budget.spent.epsilon == 3
        assert budget.room(scope).epsilon == 0


def test_parts_cost_their_largest_or_the_sum_of_the_largest_few() -> None:
    for most, spent in ((1, "3/10"), (2, "1/2"), (3, "6/10"), (9, "6/10")):
        budget, partition = Accountant(epsilon=9), Partition(scope=ROOT, most=most)
        for tenths in (1, 3, 2):
            charge(budget, partition.part(f"p={tenths}"), Fraction(tenths, 10))
        assert budget.spent.epsilon == Fraction(spent)


def test_two_partitions_of_one_frame_add() -> None:
    budget = Accountant(epsilon=9)
    for name in ("state", "year"):
        partition = Partition(scope=ROOT)
        for key in range(4):
            charge(budget, partition.part(f"{name}={key}"), Fraction(1, 2))
    assert budget.spent.epsilon == 1


def test_threads_that_charge_parts_never_overspend() -> None:
    budget, partition = Accountant(epsilon=5), Partition(scope=ROOT, most=2)
    parts = [partition.part(f"p={n}") for n in range(3)]
    parts += [Partition(scope=parts[0]).part(f"q={n}") for n in range(2)]
    granted: list[tuple[Scope, Fraction]] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311 - no secret
        for _ in range(100):
            scope, amount = rng.choice(parts), Fraction(rng.randrange(1, 9), 100)
            try:
                charge(budget, scope, amount)
            except BudgetExceededError:
                continue
            granted.append((scope, amount))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert budget.spent.epsilon == cost_from_events(granted) <= 5
    assert len(granted) < 800


def test_what_is_made_of_two_parts_belongs_to_their_nearest_common_scope() -> None:
    first = Partition(scope=ROOT)
    a, b = first.part("g=a"), first.part("g=b")
    inner = Partition(scope=a)
    c, d = inner.part("h=c"), inner.part("h=d")
    assert common_ancestor(a, b) is ROOT
    assert common_ancestor(c, d) is a
    assert common_ancestor(c, a) is common_ancestor(a, c) is a
    assert common_ancestor(c, b) is ROOT
    assert c.name == "g=a/h=c"


def test_scopes_are_the_same_after_pickling_and_as_text() -> None:
    part = Partition(scope=ROOT, most=3).part('g=a,"ü"/b')
    inner = Partition(scope=part).part("h=c")
    for scope in (ROOT, part, inner):
        again = pickle.loads(pickle.dumps(scope))  # noqa: S301 - our own
        for same in (again, scope_at(scope.path)):
            assert same == scope
            assert hash(same) == hash(scope)
            assert same.name == scope.name
    assert scope_at(inner.path).partition.scope.partition.most == 3  # type: ignore[union-attr]


def test_two_partitions_of_one_frame_are_not_the_same() -> None:
    one, two = (Partition(scope=ROOT).part("g=a") for _ in range(2))
    assert one != two
    assert one.name == two.name


def test_a_copy_of_a_part_is_the_same_part() -> None:
    part = Partition(scope=ROOT).part("k=1")
    for again in (copy.copy(part), copy.deepcopy(part), copy.deepcopy([part])[0]):
        assert again is part
