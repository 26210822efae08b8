from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpframe
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.loss import (
    Loss,
    decimal_text,
    exact_amount,
    requested_loss,
    stated_loss,
)

WRONG_KIND: list[Any] = [
    True,
    np.True_,
    "0.1",
    "",
    b"1",
    None,
    pd.NA,
    1 + 0j,
    np.complex128(1),
    [],
    [0.1],
    np.array([0.1]),
    np.array(0.1),
    np.array(0.1, dtype=object),
    pd.Series([0.1]),
    np.timedelta64(1, "s"),
    object,
]
OUT_OF_RANGE: list[Any] = [
    0,
    0.0,
    -0.0,
    -1,
    -1e-9,
    1e-400,
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    np.float64("inf"),
    np.int8(-1),
    Fraction(-1, 3),
    Decimal(0),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Decimal("1e999999999"),
    Decimal("1e-999999999"),
    10**400,
    -(10**5000),
    Fraction(1, 10**400),
]


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (1e300, Fraction(10**300)),
        (5e-324, Fraction(5, 10**324)),
        (0.1 + 0.2, Fraction(30000000000000004, 10**17)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (np.int8(3), Fraction(3)),
        (np.uint64(2**63), Fraction(2**63)),
    ],
)
def test_amount_is_read_as_its_shortest_decimal(value: Any, exact: Fraction) -> None:
    assert exact_amount(value, what="epsilon") == exact
    assert type(exact_amount(value, what="epsilon")) is Fraction


def test_fraction_of_numpy_integers_is_read_without_their_overflow() -> None:
    """A product of 64-bit integers that wraps around would set too little noise."""
    given = Fraction(np.int64(10**9 + 7), np.int64(10**10))  # type: ignore[arg-type]
    assert isinstance(given.numerator, np.int64)
    read = exact_amount(given, what="epsilon")
    assert (type(read.numerator), type(read.denominator)) == (int, int)
    assert 2**40 / read == Fraction(2**40 * 10**10, 10**9 + 7)


@given(st.floats(min_value=0, exclude_min=True, max_value=1e300))
def test_every_float_reads_back_as_itself(value: float) -> None:
    assert float(exact_amount(value, what="epsilon")) == value


@pytest.mark.parametrize("value", WRONG_KIND, ids=repr)
def test_what_is_no_real_number_is_a_type_error(value: Any) -> None:
    with pytest.raises(ParameterTypeError, match=r"^epsilon must be a number") as error:
        exact_amount(value, what="epsilon")
    assert isinstance(error.value, TypeError)


@pytest.mark.parametrize("value", OUT_OF_RANGE, ids=lambda v: f"{type(v).__name__}")
def test_an_amount_out_of_range_is_a_value_error(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon ") as error:
        exact_amount(value, what="epsilon")
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(3), "3"),
        (Fraction(0), "0"),
        (Fraction(100), "100"),
        (Fraction(3, 10), "0.3"),
        (Fraction(1, 3), "0.333334"),
        (Fraction(12345678, 10**6), "12.3457"),
        (Fraction(1, 10**5), "0.00001"),
        (Fraction(1, 10**17), "1e-17"),
        (Fraction(3 * 10**20), "3e+20"),
    ],
)
def test_text_of_a_loss_is_short_and_rounded_up(amount: Fraction, text: str) -> None:
    assert decimal_text(amount) == text
    assert str(Loss(epsilon=amount)) == f"ε={text}"


@given(st.fractions(min_value=0, max_value=10**9))
def test_text_brackets_the_amount(amount: Fraction) -> None:
    low = Fraction(decimal_text(amount, ROUND_FLOOR))
    high = Fraction(decimal_text(amount))
    assert low <= amount <= high
    assert high - low <= amount / 10**5


def test_loss_is_written_exactly_and_in_short() -> None:
    loss = Loss(epsilon=Fraction(3, 10))
    assert loss.exact == "epsilon=3/10"
    assert str(loss) == "ε=0.3"
    assert float(loss) == 0.3
    both = Loss(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert both.exact == "epsilon=1, delta=1/1000000"
    assert str(both) == "ε=1, δ=1e-6"
    assert float(Loss(rho=Fraction(1, 8))) == 0.125
    assert str(Loss(rho=Fraction(1, 8))) == "ρ=0.125"


def test_losses_of_one_kind_add_up_exactly() -> None:
    tenth, fifth = Loss(epsilon=Fraction(1, 10)), Loss(epsilon=Fraction(1, 5))
    assert tenth + fifth == Loss(epsilon=Fraction(3, 10))
    assert hash(tenth + fifth) == hash(Loss(epsilon=Fraction(3, 10)))
    rho = Loss(rho=Fraction(1, 8))
    assert rho + rho == Loss(rho=Fraction(1, 4))


def test_losses_of_different_kinds_do_not_add_up() -> None:
    with pytest.raises(ParameterError, match="different kinds"):
        Loss(epsilon=Fraction(1)) + Loss(rho=Fraction(1))
    with pytest.raises(TypeError):
        Loss(epsilon=Fraction(1)) + 1  # pyright: ignore[reportUnusedExpression]


def test_loss_is_never_negative_inexact_or_empty() -> None:
    with pytest.raises(ParameterError, match="negative"):
        Loss(epsilon=Fraction(-1, 10))
    with pytest.raises(ParameterError, match="negative"):
        Loss(epsilon=Fraction(1), delta=Fraction(-1))
    inexact: Any = 0.1
    with pytest.raises(ParameterTypeError, match="Fraction"):
        Loss(epsilon=inexact)
    with pytest.raises(ParameterTypeError, match="epsilon or a rho"):
        Loss(delta=Fraction(1, 10))


def test_pure_loss_holds_at_every_delta() -> None:
    loss = Loss(epsilon=Fraction(1, 2)).at(delta=1e-6)
    assert loss == Loss(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    assert loss.at(delta=0.1).delta == Fraction(1, 10)


def test_loss_says_nothing_beyond_what_it_proves() -> None:
    with pytest.raises(ParameterError, match=r"this small\.\nHint: pass a delta above"):
        Loss(epsilon=Fraction(1), delta=Fraction(1, 10)).at(delta=0.01)
    with pytest.raises(ParameterError, match="delta this small"):
        Loss(rho=Fraction(1), delta=Fraction(1, 100)).at(delta=0.01)
    for delta in (0, 1, 1.5, -1, math.nan):
        with pytest.raises(ParameterError, match=r"^delta "):
            Loss(epsilon=Fraction(1)).at(delta=delta)


def test_request_takes_exactly_one_goal() -> None:
    def ask(**given_options: Any) -> Loss | None:
        options = {"epsilon": None, "rho": None, "within": None, "allow_weak": False}
        return requested_loss(**(options | given_options))

    assert ask(epsilon=0.1) == Loss(epsilon=Fraction(1, 10))
    assert ask(rho=0.5) == Loss(rho=Fraction(1, 2))
    assert ask(within=30) is None
    with pytest.raises(
        ParameterTypeError, match=r"epsilon=, rho= and within= .* none is given"
    ):
        ask()
    for two in ({"epsilon": 1, "rho": 1}, {"epsilon": 1, "within": 3}):
        names = " and ".join(f"{name}=" for name in two)
        with pytest.raises(ParameterTypeError, match=f"{names} are given together"):
            ask(**two)


def test_request_without_within_does_not_speak_of_it() -> None:
    with pytest.raises(ParameterTypeError, match="of epsilon= and rho=") as error:
        stated_loss(epsilon=None, rho=None, allow_weak=False)
    assert "within" not in str(error.value)
    with pytest.raises(ParameterTypeError, match="given together"):
        stated_loss(epsilon=1, rho=1, allow_weak=False)


@pytest.mark.parametrize("measure", ["epsilon", "rho"])
@pytest.mark.parametrize("value", [*WRONG_KIND, *OUT_OF_RANGE], ids=lambda _: "")
def test_request_refuses_what_is_no_amount(measure: str, value: Any) -> None:
    options: dict[str, Any] = {"epsilon": None, "rho": None, measure: value}
    with pytest.raises((ParameterTypeError, ParameterError)):
        stated_loss(**options, allow_weak=False)
    with pytest.raises((ParameterTypeError, ParameterError)):
        requested_loss(**options, within=None, allow_weak=True)


def test_weak_epsilon_needs_the_flag() -> None:
    assert stated_loss(epsilon=50, rho=None, allow_weak=False).epsilon == 50
    assert stated_loss(epsilon=50.5, rho=None, allow_weak=True).epsilon == 50.5
    with pytest.raises(ParameterError, match=r"(?s)epsilon=50\.5.*allow_weak=True"):
        stated_loss(epsilon=50.5, rho=None, allow_weak=False)
    for flag in (1, None, "yes", np.True_):
        with pytest.raises(ParameterTypeError, match="allow_weak"):
            stated_loss(epsilon=1, rho=None, allow_weak=flag)
        with pytest.raises(ParameterTypeError, match="allow_weak"):
            requested_loss(epsilon=None, rho=None, within=3, allow_weak=flag)


def test_a_loss_that_buys_noise_alone_is_refused() -> None:
    least = {"epsilon": Fraction(1, 10**100), "rho": Fraction(1, 2 * 10**200)}
    for name, amount in least.items():
        options: dict[str, Any] = {"epsilon": None, "rho": None, "allow_weak": True}
        assert float(stated_loss(**{**options, name: amount})) == float(amount)
        for less in (amount * Fraction(999, 1000), 5e-324, Fraction(1, 10**329)):
            with pytest.raises(ParameterError, match=f"{name}=.* is below"):
                stated_loss(**{**options, name: less})


@pytest.mark.parametrize(
    "loss", [{"epsilon": Fraction(1, 10**100)}, {"rho": Fraction(1, 2 * 10**200)}]
)
def test_the_least_loss_is_answered(loss: dict[str, Any]) -> None:
    account = Accountant(**{name: 5 * amount for name, amount in loss.items()})
    frame = pl.DataFrame({"x": [1, 5] * 9, "u": [1, 2, 3] * 6})
    private = dpframe.attach(
        frame, account, privacy_unit="u", max_rows=10**6, bounds={"x": (0, 63)}
    )
    for method in ("tree", "privtree", "binary_search"):
        private.dp.synthetic_intervals("x", method=method, **loss)
    assert private.dp.median("x", **loss).value in range(64)
    assert private.dp.count(**loss).value >= 0


def test_amounts_of_too_many_digits_are_refused_in_our_words() -> None:
    budget = Accountant(epsilon=10)

    def divide(part: Accountant) -> None:
        for _ in range(60):
            part = part.split({"most": 1, "rest": Fraction(1, 3**300)})["most"]

    with pytest.raises(ParameterError, match="so many digits"):
        divide(budget)
    assert budget.spent.epsilon == 10
