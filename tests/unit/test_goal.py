"""What a stated loss buys, and which loss an error needs, under each budget."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from checks.asked import CHOSEN, DATA, DECLARED, GOALS, LOSSES

import dpframe
from dpframe import Accountant, Loss, ParameterError

STEP = Fraction(1, 10**6)
BOTH = {"epsilon": 1000, "delta": 1e-6}
PURE_METHODS = ("linf", "bernstein", "sym", "dwork")


def private(**budget: Any) -> Any:
    return pl.DataFrame(DATA).dp.attach(Accountant(**budget), **DECLARED)


def half_square(epsilon: Fraction) -> Fraction:
    return epsilon**2 / 2


@pytest.mark.parametrize("name", LOSSES)
def test_an_epsilon_buys_pure_noise_where_epsilons_add_up(name: str) -> None:
    frame = private(epsilon=1000)
    assert LOSSES[name](frame.dp, epsilon=0.5).cost == Loss(epsilon=Fraction(1, 2))
    with pytest.raises(ParameterError, match="rho= needs a budget in rho"):
        LOSSES[name](frame.dp, rho=0.5)
    assert frame.dp.state.accountant.spent.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("name", LOSSES)
def test_an_epsilon_buys_gaussian_noise_where_rhos_add_up(name: str) -> None:
    frame = private(rho=1000)
    made = LOSSES[name](frame.dp, epsilon=0.5)
    same = LOSSES[name](frame.dp, rho=0.125)
    assert made.cost == same.cost == Loss(rho=Fraction(1, 8))
    assert frame.dp.state.accountant.spent.rho == Fraction(1, 4)
    assert "rho=1/8" in made.provenance.cost


@pytest.mark.parametrize("name", LOSSES)
def test_a_rho_buys_gaussian_noise_under_an_epsilon_and_a_delta(name: str) -> None:
    frame = private(**BOTH)
    made = LOSSES[name](frame.dp, rho=0.125)
    laws = made.noise if isinstance(made.noise, dict) else {"": made.noise}
    found = {law.name for law in laws.values()}
    assert found - {"exponential mechanism"} <= {"discrete Gaussian"}
    assert ("exponential mechanism" in found) == (name in CHOSEN)
    assert made.cost == Loss(rho=Fraction(1, 8))
    assert frame.dp.state.accountant.spent.epsilon is None


def widest(preview: Any, **guess: Any) -> float:
    return float(preview.accuracy(0.9, joint=True, **guess))


@pytest.mark.parametrize("name", GOALS)
def test_within_finds_the_least_gaussian_noise_where_rhos_add_up(name: str) -> None:
    ask, dp = GOALS[name], private(rho=10**6).dp.preview
    within = widest(ask(dp, rho=0.02, rows=10**5))
    found = ask(dp, within=within, confidence=0.9, rows=10**5)
    epsilon = Fraction(math.isqrt(int(2 * found.cost.rho / STEP**2))) * STEP
    assert half_square(epsilon) == found.cost.rho <= Fraction(2, 100) + STEP
    assert widest(found) <= within
    less = ask(dp, rho=half_square(epsilon - STEP), rows=10**5)
    assert widest(less) >= within


@pytest.mark.parametrize("name", GOALS)
def test_within_takes_the_noise_that_the_budget_gives_for_its_epsilon(
    name: str,
) -> None:
    ask = GOALS[name]
    dp = private(**BOTH).dp.preview  # an epsilon of 1000: pure is the smaller share
    within = widest(ask(dp, epsilon=5, rows=10**5)) + 1e-9
    found = ask(dp, within=within, confidence=0.9, rows=10**5)
    gaussian = private(rho=10**6).dp.preview
    least = ask(gaussian, within=within, confidence=0.9, rows=10**5).cost.rho
    budget = private(**BOTH).dp.state.accountant
    epsilon = Fraction(math.isqrt(int(2 * least / STEP**2))) * STEP
    if budget.settle(Loss(epsilon=epsilon)).epsilon is None:
        assert found.cost == Loss(rho=least)
    else:
        assert found.cost.epsilon is not None
    assert widest(found) <= within


def test_both_kinds_of_noise_are_found_by_within() -> None:
    many = private(epsilon=1, delta=1e-6).dp.preview
    assert many.count(within=1000).cost.epsilon is None  # a small share of rho
    assert many.count(within=20).cost.rho is None
    spent = private(epsilon=1, delta=1e-6)
    spent.dp.count(rho=0.001)
    assert spent.dp.preview.count(within=20).cost.epsilon is None  # epsilons ended


def test_an_error_that_no_loss_keeps_is_refused_in_each_budget() -> None:
    for budget in ({"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": 1e-6}):
        dp = private(**budget).dp.preview
        with pytest.raises(ParameterError, match="No epsilon up to 50"):
            dp.sum("age", within=1e-6)


@pytest.mark.parametrize("method", PURE_METHODS)
@pytest.mark.parametrize("budget", [{"rho": 1000}, BOTH], ids=["rho", "both"])
def test_a_method_of_pure_noise_spends_an_epsilon_in_any_budget(
    method: str, budget: dict[str, Any]
) -> None:
    frame = private(**budget)
    asked = {"columns": ["age", "days"], "method": method}
    made = frame.dp.mean_cov(**asked, epsilon=0.5)
    assert made.cost == Loss(epsilon=Fraction(1, 2))
    assert frame.dp.state.accountant.spent.rho == Fraction(1, 8)
    planned = frame.dp.preview.mean_cov(**asked, within=1, rows=10**4)
    assert planned.cost.epsilon is not None
    with pytest.raises(ParameterError, match="pure noise") as caught:
        frame.dp.mean_cov(**asked, rho=0.5)
    assert 'method="gauss"' in str(caught.value)
    assert frame.dp.state.accountant.spent.rho == Fraction(1, 8)


def test_a_method_of_gaussian_noise_needs_a_budget_for_it() -> None:
    asked = {"columns": ["age", "days"], "method": "gauss"}
    pure = private(epsilon=1000)
    for goal in ({"epsilon": 1}, {"within": 1, "rows": 10}):
        with pytest.raises(ParameterError, match="needs a budget with rho or delta"):
            pure.dp.mean_cov(**asked, **goal)
    for budget in ({"rho": 1000}, BOTH):
        frame = private(**budget)
        made = frame.dp.mean_cov(**asked, epsilon=1)
        assert made.cost == Loss(rho=Fraction(1, 2))
        planned = frame.dp.preview.mean_cov(**asked, within=1, rows=10**4)
        assert planned.cost.epsilon is None


def test_fifty_counts_of_a_usual_budget_are_each_within_33_rows() -> None:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(epsilon=1, delta=1e-6))
    each = frame.dp.state.accountant.total.rho / 50
    assert float(each * 50) == pytest.approx(0.0243559703595383, rel=1e-9)
    counts = [frame.dp.count(rho=each) for _ in range(50)]
    assert all(count.stddev <= 33 for count in counts)
    assert counts[0].stddev == pytest.approx(math.sqrt(25 / 0.0243559703595383))
    with pytest.raises(dpframe.BudgetExceededError):
        frame.dp.count(rho=each)
