from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpframe.errors import ParameterError, RandomnessError
from dpframe.noise import DiscreteLaplace, Noise, randomness
from dpframe.noise.geometric import digits_of

SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(137)]


def law(scale: Fraction | int) -> DiscreteLaplace:
    return DiscreteLaplace(scale=Fraction(scale))


def test_it_is_a_noise() -> None:
    noise: Noise = law(1)
    assert noise.name == "discrete Laplace"


@pytest.mark.parametrize(
    ("epsilon", "bound"), [("0.1", 30), ("0.5", 6), ("1", 3), ("2", 1)]
)
def test_accuracy_at_95_percent(epsilon: str, bound: int) -> None:
    assert law(1 / Fraction(epsilon)).accuracy(0.95) == bound


def test_variance_at_epsilon_one() -> None:
    assert law(1).variance == pytest.approx(1.84135, abs=5e-6)


def test_variance_of_a_fine_grid_is_twice_the_squared_scale() -> None:
    assert law(10**12).variance == pytest.approx(2e24, rel=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_figures_follow_from_the_probabilities(scale: Fraction) -> None:
    noise = law(scale)
    reach = int(60 * scale) + 60
    values = np.arange(-reach, reach + 1)
    rate = float(1 / scale)
    chances = np.tanh(rate / 2) * np.exp(-rate * np.abs(values))
    assert chances.sum() == pytest.approx(1, rel=1e-13)
    assert (values**2 * chances).sum() == pytest.approx(noise.variance, rel=1e-12)
    for limit in (0, 1, 2, 5, int(scale), int(5 * scale)):
        outside = chances[np.abs(values) > limit].sum()
        assert noise.tail(limit) == pytest.approx(outside, rel=1e-10)
    assert noise.tail(-1) == 1


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**9, 7), Fraction(10**24)])
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.9, 0.95, 0.999999])
@pytest.mark.parametrize("cells", [1, 2, 1000])
def test_accuracy_is_the_smallest_bound_that_holds(
    scale: Fraction, confidence: float, cells: int
) -> None:
    bound = law(scale).accuracy(confidence, cells)
    with localcontext() as arithmetic:
        arithmetic.prec = 120
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)

        def covered(limit: int) -> Decimal:
            tail = 2 * (-(limit + 1) * rate).exp() / (1 + (-rate).exp())
            return (1 - tail) ** cells

        assert covered(bound) >= Decimal(str(confidence))
        assert bound == 0 or covered(bound - 1) < Decimal(str(confidence))


def test_the_tail_is_rounded_up() -> None:
    for limit in range(50):
        with localcontext() as arithmetic:
            arithmetic.prec = 100
            rate = Decimal(3) / 7
            exact = 2 * (-(limit + 1) * rate).exp() / (1 + (-rate).exp())
            told = Decimal(law(Fraction(7, 3)).tail(limit))
            assert exact <= told <= exact * (1 + Decimal(2) ** -50)


@pytest.mark.parametrize("size", [0, 1, 1_000_000])
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(10**12)])
def test_draws_are_int64_of_the_size_asked_for(size: int, scale: Fraction) -> None:
    drawn = law(scale).sample(size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert size == 0 or np.abs(drawn).max() < 2000 * scale


@pytest.mark.parametrize("size", [0, 1, 10_000])
def test_draws_beyond_int64_are_python_integers(size: int) -> None:
    drawn = law(10**30).sample(size)
    assert drawn.shape == (size,)
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert size < 2 or max(abs(value) for value in drawn) > 10**30


def test_a_block_boundary_is_not_visible() -> None:
    drawn = law(1000).sample(50_000)
    halves = np.abs(drawn).reshape(50, 1000).mean(axis=1)
    # Means of 1,000 exponentials: a bound of 10 standard deviations.
    assert np.abs(halves / 1000 - 1).max() < 10 / np.sqrt(1000)


def test_each_draw_is_the_difference_of_two_variables_of_its_own() -> None:
    scale = Fraction(1000)
    # One row of words per digit; the four variables are 1, 2, 4 and 8.
    words = np.full((digits_of(scale).count + 1, 4), 0xFFFF, dtype=np.uint16)
    words[[0, 1, 2, 3], [0, 1, 2, 3]] = 0
    token = randomness.override.set(lambda _size: words.tobytes())
    try:
        assert law(scale).sample(2).tolist() == [1 - 4, 2 - 8]
    finally:
        randomness.override.reset(token)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_positive_is_refused(scale: Fraction) -> None:
    with pytest.raises(ParameterError, match="positive"):
        law(scale)


@pytest.mark.parametrize("confidence", [1.0, -0.1, float("nan"), 2.0])
def test_a_confidence_that_is_no_level_is_refused(confidence: float) -> None:
    with pytest.raises(ParameterError, match="confidence"):
        law(1).accuracy(confidence)


def test_no_cells_are_refused() -> None:
    with pytest.raises(ParameterError, match="cells"):
        law(1).accuracy(0.95, 0)


def test_a_law_is_a_frozen_value() -> None:
    noise = law(3)
    assert noise == law(3)
    with pytest.raises(FrozenInstanceError):
        noise.scale = Fraction(4)  # type: ignore[misc]


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_a_stuck_system_source_gives_no_noise(
    monkeypatch: pytest.MonkeyPatch, byte: bytes, size: int
) -> None:
    monkeypatch.setattr("os.urandom", lambda wanted: byte * wanted)
    with pytest.raises(RandomnessError):
        law(10).sample(size)


def test_equal_bytes_give_equal_noise() -> None:
    def sample() -> list[int]:
        generator = np.random.default_rng(7)
        token = randomness.override.set(generator.bytes)
        try:
            return law(10).sample(100).tolist()
        finally:
            randomness.override.reset(token)

    assert sample() == sample()
    assert sample() != law(10).sample(100).tolist()


@pytest.mark.parametrize(
    "scale", [*SCALES, Fraction(1, 50), Fraction(10**9, 7), Fraction(10**24)]
)
@pytest.mark.parametrize(
    "miss", [Fraction(2, 3), Fraction(1, 3), Fraction(1, 1000), Fraction(1, 7 * 10**9)]
)
def test_the_upper_quantile_is_the_smallest_value_that_is_rarely_reached(
    scale: Fraction, miss: Fraction
) -> None:
    found = law(scale).upper_quantile(miss)
    with localcontext() as arithmetic:
        arithmetic.prec = 120
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)

        def reached(value: int) -> Decimal:
            return (-value * rate).exp() / (1 + (-rate).exp())

        most = Decimal(miss.numerator) / Decimal(miss.denominator)
        assert reached(found) <= most
        assert found == 0 or reached(found - 1) > most


@pytest.mark.parametrize("scale", [Fraction(1, 10**11), Fraction(1, 10**300)])
def test_noise_that_is_hardly_there_reaches_nothing_above_zero(scale: Fraction) -> None:
    assert law(scale).upper_quantile(Fraction(1, 10**300)) == 1
