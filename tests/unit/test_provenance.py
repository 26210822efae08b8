"""What a release says of its guarantee, by the kind of its loss."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpframe.frame import State
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.loss import Loss
from dpframe.provenance import Provenance

HALF = Fraction(1, 2)

SENTENCES = {
    "pure": (
        {"epsilon": HALF},
        (
            "the probability of any outcome by at most a factor e^(1/2) "
            "(pure differential privacy, epsilon=1/2)."
        ),
    ),
    "approximate": (
        {"epsilon": HALF, "delta": Fraction(1, 10**6)},
        (
            "the probability of any outcome by at most a factor e^(1/2) and 1/1000000 "
            "on top (approximate differential privacy, epsilon=1/2, delta=1/1000000)."
        ),
    ),
    "concentrated": (
        {"rho": HALF},
        (
            "the chances of outcomes by a Rényi divergence of at most a*(1/2), at "
            "every order a > 1 (zero-concentrated differential privacy, rho=1/2), "
            "which is (ε, δ)-differential privacy with ε=5.22154, δ=1e-6, for example."
        ),
    ),
}


def provenance(cost: Loss, **options: Any) -> Provenance:
    given: dict[str, Any] = {
        "mechanism": "count",
        "columns": ("x",),
        "parameters": {},
        "is_test": False,
        **options,
    }
    state = State(accountant=Accountant(epsilon=1), privacy_unit="id")
    return Provenance.of(state, cost=cost, **given)


@pytest.mark.parametrize(("amounts", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_a_guarantee_says_what_its_loss_means(
    amounts: dict[str, Fraction], sentence: str
) -> None:
    start = "Adding or removing any one 'id' with all its rows changes "
    assert provenance(Loss(**amounts)).guarantee == start + sentence


def test_the_epsilon_of_a_rho_is_its_tight_conversion() -> None:
    for rho in (Fraction(1, 10**12), Fraction(1, 3), Fraction(1250)):
        cost = Loss(rho=rho)
        assert f"with {cost.at(delta=1e-6)}, for" in provenance(cost).guarantee


def test_test_noise_guarantees_nothing() -> None:
    found = provenance(Loss(epsilon=HALF), is_test=True)
    assert found.guarantee.startswith("TEST")
