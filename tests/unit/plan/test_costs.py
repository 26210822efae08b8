from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe
from dpframe import Accountant, Loss, ParameterError, ParameterTypeError
from dpframe.errors import BudgetExceededError, DPFrameError
from dpframe.privacy.entries import Event

if TYPE_CHECKING:
    from pathlib import Path

DATA = pl.DataFrame({"u": [1, 1, 2, 3], "x": [0.1, 0.5, 0.2, 0.9], "g": list("abab")})
KINDS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1},
    "rho": {"rho": 0.1, "keys_delta": 1e-7},
    "lanes": {"epsilon": 1, "delta": 1e-6, "keys_delta": 1e-7},
}


def attached(budget: Accountant, **options: Any) -> Any:
    return dpframe.attach(DATA, budget, **{"bounds": {"x": (0, 1)}, **options})


def released(previews: list[Any]) -> bool:
    """Release all in order; whether every one was granted."""
    for preview in previews:
        try:
            preview.release()
        except BudgetExceededError:
            return False
    return True


def test_pure_releases_add_up_exactly() -> None:
    budget = Accountant(epsilon=1)
    ask = attached(budget).dp.preview
    plan = dpframe.plan.budget([ask.count(epsilon=0.1), ask.sum("x", epsilon=0.2)])
    assert plan.epsilon == Fraction(3, 10)
    assert plan.rho == Fraction(1, 200) + Fraction(1, 50)
    assert plan.delta == 0
    assert plan.fits
    assert plan.at(delta=1e-6).epsilon == Fraction(3, 10)
    assert plan.accountant() == "Accountant(epsilon=0.3)"
    assert (budget.spent.epsilon, len(budget.events)) == (0, 0)


def test_advice_converts_the_delta_of_the_budget_that_was_planned_with() -> None:
    budget = Accountant(epsilon=1, delta=1e-6, keys_delta=4e-7)
    plan = dpframe.plan.budget([attached(budget).dp.preview.count(rho=0.01)])
    assert plan.accountant().endswith("delta=6e-7)")
    assert plan.accountant(delta=1e-8).endswith("delta=1e-8)")
    plan = dpframe.plan.budget(
        [attached(budget.child("a", rho=0.01)).dp.preview.count(rho=0.01)]
    )
    assert plan.accountant().endswith("delta=1e-6)")


def test_losses_found_for_an_error_add_up_as_they_are() -> None:
    ask = attached(Accountant(epsilon=100)).dp.preview
    previews = [ask.count(within=10), ask.sum("x", within=20)]
    plan = dpframe.plan.budget(previews)
    assert plan.epsilon == sum(p.cost.epsilon for p in previews)


def test_gaussian_noise_leaves_no_sum_of_epsilons() -> None:
    ask = attached(Accountant(epsilon=1, delta=1e-6)).dp.preview
    plan = dpframe.plan.budget([ask.count(rho=0.002), ask.sum("x", rho=0.001)])
    assert plan.epsilon is None
    assert plan.rho == Fraction(3, 1000)
    assert plan.at(delta=1e-6) == Loss(rho=plan.rho).at(delta=1e-6)
    assert repr(plan).startswith("Plan(2 releases, ρ=0.003, fits what is left)")
    assert plan.accountant(delta=1e-9).endswith(", delta=1e-9)")


def test_many_pure_releases_convert_to_less_than_their_sum() -> None:
    ask = attached(Accountant(epsilon=100)).dp.preview
    plan = dpframe.plan.budget([ask.count(epsilon=0.1) for _ in range(200)])
    converted = plan.at(delta=1e-6)
    assert plan.epsilon == 20
    assert converted == Loss(rho=Fraction(1)).at(delta=1e-6)
    assert float(converted) < 9


def test_parts_of_a_partition_cost_as_much_as_the_largest() -> None:
    budget = Accountant(epsilon=0.5)
    frame = attached(budget)
    parts = frame.dp.partition("g", keys=["a", "b"])
    previews = [
        parts["a"].dp.preview.count(epsilon=0.3),
        parts["b"].dp.preview.count(epsilon=0.4),
        frame.dp.preview.count(epsilon=0.1),
    ]
    plan = dpframe.plan.budget(previews)
    assert plan.epsilon == Fraction(1, 2)
    assert plan.fits
    places = plan.table.to_polars()["charged_to"].to_list()
    assert places == ["default, g=a", "default, g=b", "default"]
    assert "g=a" in repr(plan)
    more = dpframe.plan.budget([*previews, frame.dp.preview.count(epsilon=0.01)])
    assert not more.fits
    assert released(previews)
    assert budget.spent.epsilon == Fraction(1, 2)


def test_units_in_several_parts_cost_the_sum_of_the_largest() -> None:
    frame = attached(Accountant(epsilon=1), privacy_unit="u", max_rows=2, max_groups=2)
    parts = frame.dp.partition("g", keys=["a", "b"])
    asked = [part.dp.preview.count(epsilon=0.3) for part in parts.values()]
    assert dpframe.plan.budget(asked).epsilon == Fraction(3, 5)


def test_children_pay_from_what_was_set_aside_for_them() -> None:
    budget = Accountant(epsilon=1)
    daily = budget.child("daily", epsilon=0.3)
    ask, ask_daily = (attached(b).dp.preview for b in (budget, daily))
    fits = dpframe.plan.budget([ask.count(epsilon=0.7), ask_daily.count(epsilon=0.3)])
    assert fits.fits
    assert fits.table.to_polars()["charged_to"].to_list() == [
        "default",
        "default/daily",
    ]
    for refused in (ask.count(epsilon=0.8), ask_daily.count(epsilon=0.4)):
        assert not dpframe.plan.budget([refused]).fits
    daily.close()
    assert dpframe.plan.budget([ask.count(epsilon=1)]).fits
    assert not dpframe.plan.budget([ask_daily.count(epsilon=0.1)]).fits


def test_handles_of_one_ledger_are_one_budget(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    budget = Accountant(epsilon=1, ledger=place, create=True)
    budget.child("daily", epsilon=0.3)
    again, daily = Accountant.open(place), Accountant.open(place, "default/daily")
    ask, more, sub = (attached(b).dp.preview.count for b in (budget, again, daily))
    fits = [ask(epsilon=0.4), more(epsilon=0.3), sub(epsilon=0.3)]
    assert dpframe.plan.budget(fits).fits
    assert not dpframe.plan.budget([*fits, more(epsilon=0.01)]).fits
    assert len(budget.events) == 0


def test_each_of_several_budgets_pays_for_its_own() -> None:
    one, other = (attached(Accountant(epsilon=0.5)).dp.preview for _ in range(2))
    asked = [one.count(epsilon=0.5), other.count(epsilon=0.5)]
    plan = dpframe.plan.budget(asked)
    assert plan.fits
    assert plan.epsilon == 1
    assert not dpframe.plan.budget([*asked, one.count(epsilon=0.1)]).fits


def test_what_was_spent_before_counts_for_fits_and_not_for_the_sum() -> None:
    frame = attached(Accountant(epsilon=1))
    ask = frame.dp.preview.count(epsilon=0.6)
    plan = dpframe.plan.budget([ask])
    assert plan.fits
    ask.release()
    assert not plan.fits
    assert plan.epsilon == Fraction(3, 5)
    assert "too much for what is left" in repr(plan)


def test_a_gaussian_release_in_the_plan_ends_the_lane_of_pure_ones() -> None:
    ask = attached(Accountant(epsilon=1, delta=1e-6)).dp.preview
    pure = [ask.count(epsilon=0.9)]
    assert pure[0].cost.epsilon == Fraction(9, 10)
    assert dpframe.plan.budget(pure).fits
    assert not dpframe.plan.budget([ask.count(rho=0.001), *pure]).fits
    assert not dpframe.plan.budget([*pure, ask.count(rho=0.001)]).fits


@pytest.mark.parametrize("kind", ["rho", "lanes"])
def test_a_search_for_keys_adds_its_own_delta(kind: str) -> None:
    frame = attached(Accountant(**KINDS[kind]), privacy_unit="u", max_groups=1)
    ask = frame.dp.preview.discover_keys("g", epsilon=0.1, delta=6e-8)
    plan = dpframe.plan.budget([ask])
    assert plan.delta == Fraction(6, 10**8)
    assert plan.fits
    assert not dpframe.plan.budget([ask, ask]).fits  # the deltas are too much
    with pytest.raises(ParameterError, match="this small"):
        plan.at(delta=1e-8)
    assert plan.at(delta=1e-7).delta == Fraction(1, 10**7)
    assert "δ=6e-8" in repr(plan)
    assert "held by about" in repr(plan)
    assert plan.accountant() == "Accountant(epsilon=0.1, delta=6e-8, keys_delta=6e-8)"


AMOUNTS = st.fractions(Fraction(1, 100), Fraction(1, 3), max_denominator=1000)


@given(
    kind=st.sampled_from(list(KINDS)),
    asked=st.lists(
        st.tuples(
            st.sampled_from(["whole", "child", "a", "b"]), st.booleans(), AMOUNTS
        ),
        min_size=1,
        max_size=7,
    ),
)
@settings(deadline=None, max_examples=40)
def test_a_plan_fits_exactly_where_charging_it_is_granted(
    kind: str, asked: list[tuple[str, bool, Fraction]]
) -> None:
    budget = Accountant(**KINDS[kind])
    whole = attached(budget)
    parts = whole.dp.partition("g", keys=["a", "b"])
    half = {"rho": 0.03} if kind == "rho" else {"epsilon": 0.2}
    child = attached(budget.child("half", **half))
    frames = {"whole": whole, "child": child, **parts}
    previews = []
    for name, gaussian, amount in asked:
        ask = frames[name].dp.preview.count
        rho = gaussian and kind != "pure"
        previews.append(ask(rho=amount**2 / 8) if rho else ask(epsilon=amount))
    plan = dpframe.plan.budget(previews)
    before = budget.events.to_dicts()
    fits = plan.fits
    assert budget.events.to_dicts() == before
    pays = _opened(plan.accountant())
    for preview in previews:
        state = preview.frame.private_state
        event = Event(mechanism="", columns=(), parameters="", scope=state.scope)
        pays.charge(preview.cost, event)
    if plan.epsilon is not None:
        left = pays.remaining.epsilon
        assert left is not None
        assert left <= plan.epsilon / 10**5  # it holds no more than is needed
    assert released(previews) is fits


def _opened(line: str) -> Accountant:
    name, _, rest = line.partition("(")
    assert name == "Accountant"
    pairs = [pair.split("=") for pair in rest.removesuffix(")").split(", ")]
    return Accountant(**{key: float(amount) for key, amount in pairs})


def test_a_plan_prints_its_releases_and_the_first_of_many() -> None:
    ask = attached(Accountant(epsilon=9)).dp.preview
    plan = dpframe.plan.budget([ask.count(epsilon=0.1)])
    assert repr(plan) == (
        "Plan(1 release, ε=0.1, fits what is left)\n"
        "  count of rows  ε=0.1  ± 30\n"
        "A budget for them alone: Accountant(epsilon=0.1)"
    )
    assert plan.table.to_dicts() == [
        {
            "release": "count of rows",
            "cost": "ε=0.1",
            "accuracy": "± 30",
            "charged_to": "default",
        }
    ]
    several = [ask.count(epsilon=n / 10_000) for n in range(101, 126)]
    many = dpframe.plan.budget([each for each in several for _ in range(2)])
    assert len(repr(many).splitlines()) == 1 + 20 + 1 + 1
    assert "  2 × count of rows  ε=0.0101  ± 297\n" in repr(many)
    assert "… 10 more" in repr(many)
    assert len(many.table) == 50


def test_html_of_a_plan_is_escaped() -> None:
    budget = Accountant(epsilon=1)
    native = pl.DataFrame({"<b>": [1.0]})
    ask = dpframe.attach(native, budget, bounds={"<b>": (0, 1)}).dp.preview
    page = dpframe.plan.budget([ask.sum("<b>", epsilon=0.1)])._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "fits what is left" in page


@pytest.mark.parametrize("wrong", [None, 3, [3], ["count"], [None]])
def test_only_previews_are_planned(wrong: Any) -> None:
    with pytest.raises(ParameterTypeError, match="preview"):
        dpframe.plan.budget(wrong)


def test_a_single_preview_and_an_empty_list_say_what_to_write() -> None:
    ask = attached(Accountant(epsilon=1)).dp.preview
    one: Any = ask.count(epsilon=0.1)
    with pytest.raises(ParameterTypeError, match=r"(?s)a list.*budget\(\["):
        dpframe.plan.budget(one)
    with pytest.raises(ParameterError, match="at least one"):
        dpframe.plan.budget([])


def test_a_plan_is_frozen_and_lists_what_it_was_given() -> None:
    ask = attached(Accountant(epsilon=1)).dp.preview
    one = ask.count(epsilon=0.1)
    plan: Any = dpframe.plan.budget(iter([one, one]))
    assert plan.previews == (one, one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.previews = ()


def test_deltas_that_add_up_to_one_are_no_budget() -> None:
    ask = attached(Accountant(epsilon=1, delta=1e-6)).dp.preview
    plan = dpframe.plan.budget([ask.count(rho=0.001)])
    for delta in (1, 2, 0, -1):
        with pytest.raises(DPFrameError):
            plan.accountant(delta=delta)
