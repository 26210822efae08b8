from __future__ import annotations

import math
from decimal import Context, Decimal, Inexact, getcontext, localcontext
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import norm

from dpframe.errors import ParameterError
from dpframe.noise import DiscreteGaussian
from dpframe.privacy import conversion
from dpframe.privacy.conversion import epsilon_of, rho_within
from dpframe.privacy.loss import Loss

RHOS = [Fraction(1, 10**k) for k in (0, 1, 3, 6, 12)] + [Fraction(7, 3), Fraction(50)]
DELTAS = [Fraction(1, 10**k) for k in (1, 3, 6, 18, 300)]


def implied(rho: Fraction, delta: Fraction, order: Fraction) -> Decimal:
    """Return the epsilon of one order, with 50 digits, from the formula as printed."""
    with localcontext() as context:
        context.prec = 80
        a, r, d = (
            Decimal(x.numerator) / Decimal(x.denominator) for x in (order, rho, delta)
        )
        # delta = exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a-1), solved for eps
        inside = (1 - 1 / a).ln() * a - (a - 1).ln() - d.ln()
        return a * r + inside / (a - 1)


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize("delta", DELTAS, ids=lambda d: f"{float(d):.0e}")
def test_epsilon_is_the_least_over_all_orders(rho: Fraction, delta: Fraction) -> None:
    found = epsilon_of(rho, delta)
    centre = math.sqrt(max(float(-Decimal(float(delta)).ln()), 1) / float(rho))
    orders = [1 + Fraction(centre * 1.01**k) for k in range(-700, 701, 7)]
    best = max(min(implied(rho, delta, order) for order in orders), Decimal(0))
    assert getcontext().prec >= 28
    assert found <= Fraction(best) * Fraction(1001, 1000)
    assert found >= Fraction(best) * Fraction(99, 100)


def test_epsilon_is_never_below_what_its_order_gives() -> None:
    """Rounded up: checked at 80 digits at the best of many near orders."""
    for rho in RHOS:
        for delta in DELTAS:
            found = epsilon_of(rho, delta)
            centre = Fraction(math.sqrt(-math.log(float(delta)) / float(rho)))
            low, high = centre / 50, centre * 50
            for _ in range(300):  # a ternary search: the function has one minimum
                left, right = (2 * low + high) / 3, (low + 2 * high) / 3
                if implied(rho, delta, 1 + left) < implied(rho, delta, 1 + right):
                    high = right.limit_denominator(10**40)
                else:
                    low = left.limit_denominator(10**40)
            best = max(implied(rho, delta, 1 + low), Decimal(0))
            assert found >= Fraction(best) * (1 - Fraction(1, 10**25))


@pytest.mark.parametrize("away", [10, 45, 58, 70, 300])
@pytest.mark.parametrize("rho", [Fraction(1, 10**200), Fraction(200), Fraction(10**6)])
def test_delta_that_is_almost_one_is_converted_with_all_its_digits(
    rho: Fraction, away: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked with 800 digits at the order that was taken."""
    taken: list[Decimal] = []
    search = conversion._minimum  # noqa: SLF001 - which order it takes shows nowhere

    def noted(*functions: Any) -> Decimal:
        taken.append(search(*functions))
        return taken[-1]

    monkeypatch.setattr(conversion, "_minimum", noted)
    delta = 1 - Fraction(1, 10**away)
    for found, cap in (
        (epsilon_of.__wrapped__(rho, delta), rho),
        (rho, rho_within.__wrapped__(rho, delta)),
    ):
        order = 1 + Fraction(taken.pop())
        with localcontext() as context:
            context.prec = 800
            rest, share, a = (
                Decimal(x.numerator) / Decimal(x.denominator)
                for x in (delta, cap, order)
            )
            inside = ((a - 1) / a).ln() * a - (a - 1).ln() - rest.ln()
            assert found >= Fraction(a * share + inside / (a - 1))


def test_conversions_do_not_hear_of_the_decimal_context_of_the_process() -> None:
    expected = Fraction("3.53656184616896"), Fraction("0.0243559703595383")
    odd = Context(prec=1, Emax=1, Emin=-1)
    odd.traps = dict.fromkeys(odd.traps, True)
    assert odd.traps[Inexact]
    with localcontext(odd):
        found = (
            epsilon_of.__wrapped__(Fraction(1, 2), Fraction(1, 1000)),
            rho_within.__wrapped__(Fraction(1), Fraction(1, 10**6)),
        )
    assert found == expected


def test_gaussian_noise_is_planned_and_told_whatever_decimals_are_trapped() -> None:
    """A trap that springs in a release would cost its charge and give no answer."""
    odd = Context(prec=1, Emax=1, Emin=-1)
    odd.traps = dict.fromkeys(odd.traps, True)
    plain = DiscreteGaussian(sigma2=Fraction(22, 7)).scale
    with localcontext(odd):
        assert DiscreteGaussian(sigma2=Fraction(22, 7)).scale == plain
        assert str(Loss(rho=Fraction(1, 3))) == "ρ=0.333334"


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta of continuous Gaussian noise (Balle and Wang 2018)."""
    spread = math.sqrt(2 * rho)
    above = norm.cdf(spread / 2 - epsilon / spread)
    return above - math.exp(epsilon) * norm.cdf(-spread / 2 - epsilon / spread)


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5, 3.125])
def test_converted_loss_covers_that_of_gaussian_noise(rho: float) -> None:
    for delta in (1e-2, 1e-6, 1e-9):
        epsilon = float(epsilon_of(Fraction(str(rho)), Fraction(str(delta))))
        assert gaussian_delta(rho, epsilon) <= delta
        assert gaussian_delta(rho, epsilon / 2) > delta  # the check can fail


def test_known_values() -> None:
    gaussian = Loss(rho=Fraction(1, 2)).at(delta=1e-3).epsilon
    assert gaussian is not None
    assert 3.1386705 < gaussian < 1.15 * 3.1386705
    assert float(gaussian) == pytest.approx(3.5366, abs=1e-4)
    many = Loss(rho=100 * Fraction(1, 32)).at(delta=1e-18).epsilon
    assert many is not None
    assert 24.589239 < many < 1.15 * 24.589239
    assert float(many) == pytest.approx(25.2183, abs=1e-4)
    pure = Loss(epsilon=Fraction(3), rho=30 * Fraction(1, 200)).at(delta=1e-6).epsilon
    assert pure is not None
    assert 2.345888 < pure <= 3


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(10**6)])
@pytest.mark.parametrize("delta", DELTAS, ids=lambda d: f"{float(d):.0e}")
def test_largest_rho_fits_and_a_larger_one_does_not(
    epsilon: Fraction, delta: Fraction
) -> None:
    rho = rho_within(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + Fraction(1, 10**6)), delta) > epsilon


def test_tight_rho_is_larger_than_that_of_the_closed_form() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    assert float(rho_within(epsilon, delta)) == pytest.approx(0.02436, rel=0.01)
    closed = 0.01747
    assert closed + 2 * math.sqrt(closed * math.log(1e6)) == pytest.approx(1, rel=0.01)


def test_report_is_never_negative_or_too_small() -> None:
    assert epsilon_of(Fraction(0), Fraction(1, 10)) == 0
    assert epsilon_of(Fraction(1, 10**12), Fraction(1, 2)) == 0
    assert epsilon_of(Fraction(10) ** 200, Fraction(1, 10**9)) > 10**200
    tiny = Loss(rho=Fraction(1, 2))
    before = Fraction(0)
    for power in (1, 3, 10, 30, 100, 300):
        found = tiny.at(delta=Fraction(1, 10**power)).epsilon
        assert found is not None
        assert found > before
        before = found


def test_own_delta_is_taken_off_before_a_rho_is_converted() -> None:
    own, given = Fraction(1, 10**7), Fraction(1, 10**6)
    loss = Loss(rho=Fraction(1, 50), delta=own)
    assert loss.at(delta=given).epsilon == epsilon_of(Fraction(1, 50), given - own)
    for small in (own, own / 2):
        with pytest.raises(ParameterError, match="this small"):
            loss.at(delta=small)
    both = Loss(epsilon=Fraction(1, 5), rho=Fraction(1, 50), delta=own)
    assert both.at(delta=own).epsilon == Fraction(1, 5)
    assert both.at(delta=given).epsilon == Fraction(1, 5)
    odd: Any = "0.1"
    with pytest.raises(TypeError):
        loss.at(delta=odd)
