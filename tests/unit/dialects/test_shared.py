from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import dpframe
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss

EVENT = Event(mechanism="count", columns=(), parameters="")


def pay(budget: dpframe.Accountant, **amounts: str) -> None:
    exact = {name: Fraction(amount) for name, amount in amounts.items()}
    budget.charge(Loss(**exact), EVENT)


def headline(budget: dpframe.Accountant) -> str:
    frame = dpframe.attach(pl.DataFrame({"x": [1]}), budget)
    return repr(frame).splitlines()[0].rpartition(" · ")[2]


@pytest.mark.parametrize(
    ("total", "paid", "left"),
    [
        ({"epsilon": 3}, {"epsilon": "0.9"}, "2.1 of ε 3 left"),
        ({"rho": 0.2}, {"epsilon": "0.2"}, "0.18 of ρ 0.2 left"),
        (
            {"epsilon": 1, "delta": 1e-6},
            {"epsilon": "0.1"},
            "0.9 of ε 1 or 0.0193559 of ρ 0.024356 left",
        ),
        ({"epsilon": 1, "delta": 1e-6}, {"epsilon": "0.9"}, "0.1 of ε 1 left"),
        (
            {"epsilon": 1, "delta": 1e-6},
            {"rho": "0.01"},
            "0.0143559 of ρ 0.024356 left",
        ),
    ],
    ids=["pure", "rho", "both lanes", "epsilon only", "rho only"],
)
def test_a_private_frame_says_what_is_left_in_each_lane_that_holds(
    total: dict[str, Any], paid: dict[str, str], left: str
) -> None:
    budget = dpframe.Accountant(**total)
    pay(budget, **paid)
    assert headline(budget) == left


def test_an_untouched_budget_has_all_of_itself_left() -> None:
    budget = dpframe.Accountant(epsilon=1, delta=1e-6)
    assert headline(budget) == "1 of ε 1 or 0.0243559 of ρ 0.0243559 left"


def test_a_child_that_holds_nothing_of_a_lane_does_not_name_it() -> None:
    child = dpframe.Accountant(epsilon=1, delta=1e-6).child("gauss", rho=0.01)
    assert headline(child) == "0.01 of ρ 0.01 left"
    pay(child, rho="0.01")
    assert headline(child) == "0 of ρ 0.01 left"
