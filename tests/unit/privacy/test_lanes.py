"""Two filters side by side, against exact laws of what they grant."""

from __future__ import annotations

import itertools
import math
import random
import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from checks.losses import EVENT, gaussian, granted, pure
from scipy.stats import norm

from dpframe.errors import BudgetExceededError, ParameterError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.loss import Loss

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# What a granted sequence can really lose, computed without the accountant: each pure
# release as randomized response, the worst of its kind, each rho as Gaussian noise,
# each delta as its chance to fail altogether (Kairouz, Oh and Viswanath 2015).


def exact_delta(costs: Sequence[Loss], epsilon: float) -> float:
    """Return the hockey-stick divergence of all releases together, beyond epsilon."""
    losses = {0.0: 1.0}
    for cost in costs:
        if cost.epsilon is None:
            continue
        size = float(cost.epsilon)
        up = 1 / (1 + math.exp(-size))
        spread: dict[float, float] = {}
        for loss, chance in losses.items():
            for step, share in ((size, up), (-size, 1 - up)):
                where = round(loss + step, 12)
                spread[where] = spread.get(where, 0) + chance * share
        losses = spread
    rho = float(sum((c.rho for c in costs if c.rho is not None), Fraction(0)))
    good = math.prod(1 - float(c.delta or 0) for c in costs)
    beyond = sum(
        chance * _gaussian_delta(rho, epsilon - loss) for loss, chance in losses.items()
    )
    return 1 - good + good * beyond


def _gaussian_delta(rho: float, epsilon: float) -> float:
    if rho == 0:
        return max(0.0, -math.expm1(epsilon))
    spread = math.sqrt(2 * rho)
    log_below = epsilon + norm.logcdf(-spread / 2 - epsilon / spread)
    return float(norm.cdf(spread / 2 - epsilon / spread) - math.exp(log_below))


TOTALS = [(1, 1e-6, 0), (1, 1e-2, 0), (0.5, 1e-9, 5e-10), (3, 1e-3, 9e-4), (10, 0.1, 0)]


@pytest.mark.parametrize("seed", range(20))
def test_granted_sequences_stay_within_epsilon_and_delta(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    epsilon, delta, keys = TOTALS[seed % len(TOTALS)]
    budget = Accountant(epsilon, delta, keys_delta=keys)
    rho = budget.total.rho or Fraction(0)
    costs: list[Loss] = []
    refused = 0
    kinds = ["pure", "pure", "gaussian", "keys"] if keys else ["pure"]
    while refused < 60:
        share = rng.choice([300, 100, 30, 10])
        kind = rng.choice(kinds)
        if seed % 3 == 0 or (refused > 30 and rng.random() < 0.5):
            kind = "gaussian"
        steps = rng.randrange(1, share)  # of a thousandth: the exact law stays small
        cost = Loss(epsilon=Fraction(str(epsilon)) * steps / 1000)
        if kind == "gaussian":
            cost = Loss(rho=rho * steps / 1000)
        if kind == "keys":
            tenth = Fraction(str(keys)) / rng.randrange(2, 20)
            cost = Loss(epsilon=cost.epsilon, delta=tenth)
        if granted(budget, cost):
            costs.append(cost)
        else:
            refused += 1
    assert costs
    assert exact_delta(costs, epsilon) <= delta * (1 + 1e-9)
    spent = [budget.spent.epsilon, budget.spent.rho]
    assert any(amount is not None for amount in spent)


def test_without_the_rule_a_sequence_would_lose_more() -> None:
    """Each lane filled on its own: what the rule must not grant."""
    rho = Accountant(1, 1e-2).total.rho
    both = [pure(1), Loss(rho=rho)]
    assert exact_delta(both, 1) > 2e-2
    one = Accountant(1, 1e-2)
    assert granted(one, both[0])
    assert not granted(one, both[1])
    other = Accountant(1, 1e-2)
    assert granted(other, both[1])
    assert not granted(other, both[0])


# An analyst who looks at the answers: every outcome a branch, the worst of many plans.

CHOICES = (
    Loss(epsilon=Fraction(3, 5)),
    Loss(epsilon=Fraction(1, 5)),
    Loss(rho=Fraction(1, 20)),
    Loss(rho=Fraction(1, 60)),
)
WITH_KEYS = (
    *CHOICES,
    Loss(epsilon=Fraction(1, 5), delta=Fraction(1, 50)),
    Loss(epsilon=Fraction(3, 5), delta=Fraction(1, 100)),
)


@cache
def outcomes(cost: Loss) -> tuple[tuple[float, float], ...]:
    """Return the chances of each outcome for two neighbors: some, so as to branch.

    A release with a delta says outright, with that chance, which of the two it is.
    """
    if cost.epsilon is None:
        shift = math.sqrt(2 * float(cost.as_rho))
        cuts = np.array([-np.inf, -1.5, 0, 1, 2, np.inf])
        chances = [np.diff(norm.cdf(cuts - shift)), np.diff(norm.cdf(cuts))]
        return tuple(zip(*(c.tolist() for c in chances), strict=True))
    told = float(cost.delta or 0)
    up = (1 - told) / (1 + math.exp(-float(cost.epsilon)))
    down = 1 - told - up
    certain = ((told, 0.0), (0.0, told)) if told else ()
    return ((up, down), (down, up), *certain)


def filter_of(
    epsilon: float, delta: float, keys: float = 0
) -> Callable[[tuple[Loss, ...]], bool]:
    @cache
    def allowed(costs: tuple[Loss, ...]) -> bool:
        """Tell whether the last of some charges is granted after the others."""
        budget = Accountant(epsilon, delta, keys_delta=keys)
        return [granted(budget, cost) for cost in costs][-1]

    return allowed


def worst_beyond(
    epsilon: float,
    allowed: Callable[[tuple[Loss, ...]], bool],
    depth: int,
    choices: tuple[Loss, ...] = CHOICES,
) -> float:
    """Return the largest hockey-stick over all ways to choose by earlier answers.

    By recursion from the end: at each point the analyst takes the charge that loses
    most, which is what adaptivity can do at worst.
    """

    @cache
    def beyond(path: tuple[Loss, ...], level: float) -> float:
        # With a share `level` of q per p so far, the mass of p beyond exp(epsilon) q.
        found = max(0.0, 1 - math.exp(epsilon) * level)
        if len(path) == depth or level == 0:
            return found
        for cost in choices:
            if allowed((*path, cost)):
                total = sum(
                    p * beyond((*path, cost), round(level * q / p, 9))
                    for p, q in outcomes(cost)
                    if p
                )
                found = max(found, total)
        return found

    return beyond((), 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.2, 0.05), (0.8, 0.1), (1.2, 0.01)])
def test_no_adaptive_analyst_gets_beyond_epsilon_and_delta(
    epsilon: float, delta: float
) -> None:
    worst = worst_beyond(epsilon, filter_of(epsilon, delta), depth=4)
    assert 0 < worst <= delta


def test_an_adaptive_analyst_beats_lanes_that_each_fill_up() -> None:
    """The control: a filter that grants what either lane has left is broken."""
    epsilon, delta = 1.2, 0.01
    cap = Accountant(epsilon, delta).total.rho
    assert cap is not None

    def broken(costs: tuple[Loss, ...]) -> bool:
        spent = sum(c.epsilon for c in costs if c.epsilon is not None)
        return spent <= epsilon and sum(c.rho for c in costs if c.rho) <= cap

    assert worst_beyond(epsilon, broken, depth=4) > delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"),
    [(1.2, 0.05, 0.04), (0.8, 0.1, 0.02), (1.2, 0.03, 0.02), (0.6, 0.06, 0.05)],
)
def test_no_adaptive_analyst_who_finds_keys_gets_beyond_epsilon_and_delta(
    epsilon: float, delta: float, keys: float
) -> None:
    allowed = filter_of(epsilon, delta, keys)
    worst = worst_beyond(epsilon, allowed, depth=4, choices=WITH_KEYS)
    assert keys / 2 < worst <= delta


def test_an_adaptive_analyst_beats_keys_whose_delta_is_not_taken_off() -> None:
    """The control: the same delta for keys and for the conversion of rhos."""
    epsilon, delta, keys = 1.2, 0.041, 0.04
    beside, within = filter_of(epsilon, delta), filter_of(epsilon, delta, keys)

    def broken(costs: tuple[Loss, ...]) -> bool:
        plain = tuple(Loss(epsilon=c.epsilon, rho=c.rho) for c in costs)
        return beside(plain) and sum(c.delta or 0 for c in costs) <= keys

    assert worst_beyond(epsilon, broken, depth=4, choices=WITH_KEYS) > delta
    assert worst_beyond(epsilon, within, depth=4, choices=WITH_KEYS) <= delta


# Which lane a charge is in


def test_a_gaussian_release_ends_the_pure_lane() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    rho = budget.total.rho
    assert rho is not None
    assert granted(budget, pure("0.1"))
    tenth = Loss(epsilon=Fraction(1, 10), delta=Fraction(0), rho=Fraction(1, 200))
    assert budget.spent == tenth
    assert granted(budget, gaussian("0.01"))
    assert budget.spent.epsilon is None
    assert budget.remaining.epsilon is None
    assert budget.remaining.rho == rho - Fraction(3, 200)
    assert not granted(budget, pure("0.9"))
    assert granted(budget, pure("0.1"))  # as a rho of 1/200


def test_pure_releases_fill_their_lane_whatever_their_rho() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    assert granted(budget, pure("0.5"))
    assert budget.remaining.rho is None  # 1/8 is far more than the lane holds
    assert not granted(budget, gaussian("1e-9"))
    assert granted(budget, pure("0.5"))
    assert not granted(budget, pure("1e-9"))


def test_many_small_pure_releases_go_on_in_the_lane_of_rhos() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    count = sum(granted(budget, pure("0.01")) for _ in range(600))
    assert count == int(budget.total.rho / Fraction(1, 20_000))  # type: ignore[operator]
    assert count > 100
    assert budget.remaining.epsilon is None


def test_rho_budgets_add_up_rhos_of_all_kinds() -> None:
    budget = Accountant(rho=0.5)
    assert budget.lanes == ("rho",)
    assert granted(budget, pure("0.6"))
    assert budget.spent == Loss(rho=Fraction(18, 100))
    assert granted(budget, gaussian("0.32"))
    assert not granted(budget, gaussian("1e-12"))
    converted = budget.spent.at(delta=1e-6).epsilon
    assert converted is not None
    assert converted == budget.total.at(delta=1e-6).epsilon


def test_fifty_counts_have_room_for_half_the_noise_of_pure_ones() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    rho = budget.total.rho
    assert rho is not None
    share = rho / 50
    assert math.sqrt(1 / (2 * float(share))) <= 33
    assert all(granted(budget, Loss(rho=share)) for _ in range(50))
    assert not granted(budget, Loss(rho=share))


def test_limits_of_two_lanes_are_not_converted_as_if_both_were_kept() -> None:
    """A pure release of epsilon 1 is (1, 0.01)-DP, and for no much smaller epsilon."""
    budget = Accountant(epsilon=1, delta=1e-6)
    for limits in (budget.total, budget.remaining, budget.remaining.share(Fraction(1))):
        with pytest.raises(ParameterError, match="its epsilon or its rho, not both"):
            limits.at(delta=1e-2)
    assert granted(budget, pure(1))
    spent = budget.spent.at(delta=1e-2)
    assert spent.epsilon == 1
    assert exact_delta([pure(1)], 0.9) > 1e-2
    assert granted(single := Accountant(rho=0.5), gaussian("0.1"))
    assert single.remaining.at(delta=1e-6).epsilon is not None


# Which noise an epsilon buys


def test_epsilon_buys_the_noise_of_its_budget() -> None:
    stated = pure("0.3")
    assert Accountant(1).settle(stated) == stated
    assert Accountant(rho=1).settle(stated) == gaussian("0.045")
    assert Accountant(rho=1).settle(gaussian("0.2")) == gaussian("0.2")
    with pytest.raises(ParameterError, match="this one is pure"):
        Accountant(1).settle(gaussian("0.2"))
    only_keys = Accountant(epsilon=1, delta=1e-6, keys_delta=1e-6)
    assert only_keys.lanes == ("epsilon",)
    assert only_keys.settle(stated) == stated


def test_small_epsilon_is_gaussian_and_a_large_one_pure_with_two_lanes() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    edge = 2 * budget.total.rho  # type: ignore[operator]
    assert budget.settle(Loss(epsilon=edge)) == Loss(rho=edge**2 / 2)
    above = edge + Fraction(1, 10**9)
    assert budget.settle(Loss(epsilon=above)) == Loss(epsilon=above)
    assert granted(budget, budget.settle(pure("0.02")))
    assert budget.settle(pure("0.2")) == gaussian("0.02")  # the pure lane has ended


def test_gaussian_noise_never_shortens_a_series_of_equal_releases() -> None:
    for epsilon in ("0.2", "0.05", "0.04", "0.01"):
        offered, plain = (Accountant(epsilon=1, delta=1e-6) for _ in range(2))
        counts = [
            sum(granted(offered, offered.settle(pure(epsilon))) for _ in range(300)),
            sum(granted(plain, pure(epsilon)) for _ in range(300)),
        ]
        assert counts[0] >= counts[1] > 0


def test_pure_noise_that_no_longer_fits_gives_way_to_gaussian_noise() -> None:
    budget = Accountant(epsilon=1, delta=0.01)
    assert granted(budget, pure("0.2"))
    for _ in range(2):
        assert granted(budget, pure("0.35"))
    stated = pure("0.12")
    assert budget.remaining.epsilon == Fraction(1, 10)
    fits = budget.remaining.rho is not None and budget.remaining.rho >= stated.as_rho
    assert budget.settle(stated) == (gaussian("0.0072") if fits else stated)


def test_divided_budget_keeps_an_epsilon_pure_while_it_fits() -> None:
    budget = Accountant(epsilon=1, delta=1e-6)
    small = pure("0.01")
    assert budget.settle(small).rho is not None
    one, other = budget.split(2)
    assert one.settle(small) == small
    assert granted(one, gaussian("1e-5"))  # asked for by name: it ends all pure lanes
    assert other.settle(small) == gaussian("0.00005")
    one.close()
    other.close()


# Releases that spend delta themselves


def test_keys_spend_their_own_delta_and_both_or_none() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=4e-7)
    assert budget.keys_delta == Fraction(4, 10**7)
    found = Loss(epsilon=Fraction(1, 2), delta=Fraction(3, 10**7))
    assert granted(budget, found)
    assert budget.spent.epsilon == Fraction(1, 2)
    assert budget.spent.delta == Fraction(3, 10**7)
    assert not granted(budget, found)  # its delta is gone, its epsilon is not
    assert budget.spent.epsilon == Fraction(1, 2)
    more = Loss(epsilon=Fraction(6, 10), delta=Fraction(1, 10**7))
    assert not granted(budget, more)  # the other way round
    assert budget.spent.delta == Fraction(3, 10**7)
    assert granted(budget, Loss(epsilon=Fraction(1, 2), delta=Fraction(1, 10**7)))


def test_delta_is_never_moved_between_its_two_uses() -> None:
    whole, divided = Accountant(1, 1e-6), Accountant(1, 1e-6, keys_delta=5e-7)
    assert whole.total.rho > divided.total.rho  # type: ignore[operator]
    with pytest.raises(ParameterError, match="nothing of this budget was set aside"):
        whole.charge(Loss(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9)), EVENT)
    assert not granted(divided, Loss(rho=whole.total.rho))
    assert granted(divided, Loss(rho=divided.total.rho))


def test_rho_budget_may_have_a_delta_for_keys_beside_it() -> None:
    budget = Accountant(rho=0.1, keys_delta=1e-7)
    assert budget.total == Loss(rho=Fraction(1, 10), delta=Fraction(1, 10**7))
    assert granted(budget, Loss(epsilon=Fraction(1, 5), delta=Fraction(1, 10**7)))
    assert budget.spent == Loss(rho=Fraction(1, 50), delta=Fraction(1, 10**7))
    assert not granted(budget, Loss(epsilon=Fraction(1, 5), delta=Fraction(1, 10**9)))


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1, "rho": 1},
        {},
        {"delta": 1e-6},
        {"epsilon": "1"},
        {"epsilon": 1, "delta": True},
    ],
    ids=str,
)
def test_a_budget_has_one_measure(given: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        Accountant(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": float("nan")},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1, "keys_delta": 1e-6},
        {"epsilon": 1, "delta": 1e-6, "keys_delta": 1e-5},
        {"epsilon": 1, "delta": 1e-6, "keys_delta": -1e-7},
        {"rho": -1},
        {"rho": 1, "delta": 1e-6},
    ],
    ids=str,
)
def test_totals_that_do_not_fit_together_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        Accountant(**given)


def test_lanes_are_read_in_any_order_of_charges() -> None:
    costs = [pure("0.02"), gaussian("0.002"), pure("0.1"), gaussian("0.01")]
    sums = set()
    for order in itertools.permutations(costs):
        budget = Accountant(1, 1e-6)
        assert all(granted(budget, cost) for cost in order)
        sums.add(budget.spent)
    assert len(sums) == 1


@pytest.mark.parametrize("rho", ["0.02", "0.00395956", "3e-9", "7"])
def test_refusal_in_rho_names_the_epsilon_that_still_fits(rho: str) -> None:
    budget = Accountant(rho=Fraction(rho))
    with pytest.raises(BudgetExceededError) as refusal:
        budget.charge(gaussian("8"), EVENT)
    found = re.search(r"or epsilon=([\d.e-]+) or less", str(refusal.value))
    assert found is not None
    fits = Fraction(found[1])
    assert granted(budget, budget.settle(Loss(epsilon=fits)))
    root = math.sqrt(2 * float(Fraction(rho)))
    assert math.isclose(float(fits), root, rel_tol=1e-5)
