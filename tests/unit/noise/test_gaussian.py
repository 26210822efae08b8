from __future__ import annotations

import math
import os
from dataclasses import FrozenInstanceError
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpframe.errors import ParameterError, RandomnessError
from dpframe.noise import DiscreteGaussian, Noise, bell, randomness
from dpframe.noise.decay import coins_of
from dpframe.noise.geometric import digits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.noise.geometric import Digits

SQUARES = [
    Fraction(1, 50),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 2),
    Fraction(255),
    Fraction(256),
    Fraction(37**2),
    Fraction(90_000, 7),
]
LARGE = [Fraction(4096**2), Fraction(2**90, 3), Fraction(10**48 + 1, 7)]


def law(sigma2: Fraction | int) -> DiscreteGaussian:
    return DiscreteGaussian(sigma2=Fraction(sigma2))


def exact() -> Context:
    return Context(prec=90, Emin=MIN_EMIN, Emax=MAX_EMAX)


@lru_cache
def chances(sigma2: Fraction) -> list[Decimal]:
    """P(z = k) for k from 0 on, down to 1e-521: sums of exponentials, no more."""
    with localcontext(exact()):
        rate = Decimal(sigma2.denominator) / (2 * sigma2.numerator)
        reach = 2 + math.isqrt(int(2 * 1200 * sigma2))
        weights = [(-rate * k * k).exp() for k in range(reach)]
        total = weights[0] + 2 * sum(weights[1:])
        return [weight / total for weight in weights]


@lru_cache
def tails(sigma2: Fraction) -> list[Decimal]:
    """P(|z| > k) for k from 0 on."""
    with localcontext(exact()):
        sums = list(accumulate(chances(sigma2)[:0:-1]))
        return [2 * total for total in sums[::-1]]


def test_it_is_a_noise() -> None:
    noise: Noise = law(1)
    assert noise.name == "discrete Gaussian"


@pytest.mark.parametrize(
    ("sigma2", "scale"),
    [(Fraction(1, 4), 0.5), (Fraction(9), 3), (Fraction(10**24), 10**12)],
)
def test_the_scale_is_sigma(sigma2: Fraction, scale: float) -> None:
    assert law(sigma2).scale == scale


@pytest.mark.parametrize("sigma2", SQUARES)
def test_the_tail_is_that_of_the_sum_rounded_up(sigma2: Fraction) -> None:
    known = [chance for chance in tails(sigma2) if chance > Decimal("1e-300")]
    step = max(1, len(known) // 100)
    with localcontext(exact()):
        for limit in {*range(min(6, len(known))), *range(0, len(known), step)}:
            told = Decimal(law(sigma2).tail(limit))
            assert known[limit] <= told <= known[limit] * (1 + Decimal(2) ** -50)
            fine = bell.tail(sigma2, limit)
            assert known[limit] <= fine <= known[limit] * (1 + Decimal("1e-58"))
    assert law(sigma2).tail(-1) == 1


@pytest.mark.parametrize("sigma2", SQUARES)
def test_the_variance_is_that_of_the_sum_rounded_up(sigma2: Fraction) -> None:
    with localcontext(exact()):
        squares = (k * k * chance for k, chance in enumerate(chances(sigma2)))
        variance = 2 * sum(squares, start=Decimal(0))
        told = Decimal(law(sigma2).variance)
        # Where nothing but exp(-5000) of it is missing, the sum ends at 80 digits.
        least = variance * (1 - Decimal("1e-80"))
        assert least <= told <= variance * (1 + Decimal(2) ** -50)


@pytest.mark.parametrize("sigma2", [*SQUARES, *LARGE])
def test_the_variance_is_at_most_that_asked_for(sigma2: Fraction) -> None:
    assert law(sigma2).variance <= math.nextafter(float(sigma2), math.inf)


@pytest.mark.parametrize("sigma2", SQUARES)
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.9, 0.95, 0.999999])
@pytest.mark.parametrize("cells", [1, 2, 1000])
def test_accuracy_is_the_smallest_bound_that_holds(
    sigma2: Fraction, confidence: float, cells: int
) -> None:
    bound = law(sigma2).accuracy(confidence, cells)
    level, known = Decimal(str(confidence)), tails(sigma2)
    with localcontext(exact()):
        assert (1 - known[bound]) ** cells >= level
        assert bound == 0 or (1 - known[bound - 1]) ** cells < level


@pytest.mark.parametrize("sigma2", LARGE)
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("cells", [1, 1000])
def test_accuracy_on_a_fine_grid_is_the_smallest_bound(
    sigma2: Fraction, confidence: float, cells: int
) -> None:
    bound = law(sigma2).accuracy(confidence, cells)
    level = Decimal(str(confidence))
    with localcontext(exact()):
        assert (1 - bell.tail(sigma2, bound)) ** cells >= level
        assert bound == 0 or (1 - bell.tail(sigma2, bound - 1)) ** cells < level


@pytest.mark.parametrize("sigma2", LARGE)
def test_figures_of_a_fine_grid_are_those_of_the_normal_law(sigma2: Fraction) -> None:
    noise, sigma = law(sigma2), math.sqrt(sigma2)
    assert noise.variance == pytest.approx(float(sigma2), rel=1e-15)
    assert noise.accuracy(0.95) == pytest.approx(1.959963984540054 * sigma, rel=1e-3)
    for size in (0.1, 1, 5, 7.99, 8.01, 20, 37):
        limit = int(size * sigma)
        # Half a step is worth 1e-2 at 37 sigmas of 4,096.
        wanted = math.erfc((limit + 0.5) / sigma / math.sqrt(2))
        assert noise.tail(limit) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("sigma2", [*SQUARES, *LARGE])
def test_a_tail_beyond_all_floats_is_no_zero(sigma2: Fraction) -> None:
    limits = [int(size * math.sqrt(sigma2)) + 60 for size in (60, 1000, 1500, 10**9)]
    assert [law(sigma2).tail(limit) for limit in limits] == [5e-324] * 4
    assert 0 < bell.tail(sigma2, 10**60) <= bell.tail(sigma2, limits[1])


@pytest.mark.parametrize("sigma2", [Fraction(1, 10**9), Fraction(1, 10**400)])
def test_a_sigma_near_zero_has_figures(sigma2: Fraction) -> None:
    noise = law(sigma2)
    assert noise.sample(3).tolist() == [0, 0, 0]
    assert (noise.variance, noise.tail(0), noise.accuracy(0.999, 10)) == (
        5e-324,
    ) * 2 + (0,)


def test_a_sigma_beyond_floats_has_figures() -> None:
    noise = law(10**800)
    assert noise.sample(2).dtype == object
    assert (noise.scale, noise.variance) == (math.inf, math.inf)
    assert noise.tail(10**380) == 1
    assert 0 < noise.tail(2 * 10**400) - 0.0455 < 0.0001
    assert noise.accuracy(0.95) // 10**390 == 19599639845


@pytest.mark.parametrize("sigma2", [*SQUARES, *LARGE])
def test_tails_fall(sigma2: Fraction) -> None:
    sigma = max(1, math.isqrt(int(sigma2)))
    limits = [sigma * place // 4 for place in range(160)]
    if 100 < sigma2 <= 4096**2:  # from here on few terms matter
        limits += [int(sigma2 / 4) + step for step in range(-2, 3)]
    falling = [bell.tail(sigma2, limit) for limit in sorted({*limits})]
    assert all(low < high for high, low in pairwise(falling))


def scripted(digits: Digits, sizes: tuple[int, int], *values: tuple[int, int]) -> bytes:
    """Words for one block of candidates, each the difference of two numbers."""
    block = np.full((len(digits.cuts), 2 * sizes[0]), 0xFFFF, dtype=np.uint16)
    for place, pair in enumerate(values):
        for side, number in enumerate(pair):
            for row in range(digits.count):
                if number >> row & 1:
                    block[row, place + side * sizes[0]] = 0
    coins = np.full((sizes[1], sizes[0]), 0xFFFF, dtype=np.uint16)
    return block.tobytes() + coins.tobytes()


def test_kept_candidates_are_taken_in_order() -> None:
    # sigma = 10: the exponent is 0 for values of size 10 and 11 alone, and with
    # words of ones no other survives.
    sigma2 = Fraction(100)
    digits, coins = digits_of(Fraction(200, 21)), coins_of(sigma2)
    pairs = [(3, 0), (10, 0), (0, 9), (1, 12), (10, 0), (30, 20), (0, 10)]
    script = scripted(digits, (2 * 3 + 64, len(coins.cuts)), *pairs)
    token = randomness.override.set(lambda size: take(stream, size))
    stream = bytearray(script)
    try:
        assert law(sigma2).sample(3).tolist() == [10, -11, 10]
    finally:
        randomness.override.reset(token)
    assert not stream


def test_a_block_that_falls_short_is_followed_by_another() -> None:
    sigma2 = Fraction(100)
    digits, rows = digits_of(Fraction(200, 21)), len(coins_of(sigma2).cuts)
    stream = bytearray(scripted(digits, (2 * 3 + 64, rows)))  # none is kept
    stream += scripted(digits, (2 * 3 + 64, rows), (10, 0), (0, 11))
    stream += scripted(digits, (2 * 1 + 64, rows), (0, 0), (11, 0))
    token = randomness.override.set(lambda size: take(stream, size))
    try:
        assert law(sigma2).sample(3).tolist() == [10, -11, 11]
    finally:
        randomness.override.reset(token)
    assert not stream


def take(stream: bytearray, size: int) -> bytes:
    taken = bytes(stream[:size])
    del stream[:size]
    return taken


@pytest.mark.parametrize("size", [0, 1, 1_000_000])
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(10**12)])
def test_draws_are_int64_of_the_size_asked_for(size: int, scale: Fraction) -> None:
    drawn = law(scale**2).sample(size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert size == 0 or np.abs(drawn).max() < 20 * scale


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_draws_beyond_int64_are_python_integers(size: int) -> None:
    drawn = law(10**60).sample(size)
    assert drawn.shape == (size,)
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert size < 2 or 10**30 < max(abs(value) for value in drawn) < 10**32


def test_a_variance_of_many_digits_is_taken_as_it_is() -> None:
    sigma2 = Fraction(10**300 + 7, 3**620)
    assert digits_of(2 * sigma2 / (2 * math.isqrt(int(sigma2)) + 1)).count < 20
    drawn = law(sigma2).sample(1000)
    assert drawn.dtype == np.int64
    assert 0.8 < drawn.std() / math.sqrt(sigma2) < 1.25


@pytest.mark.parametrize("sigma2", [Fraction(0), Fraction(-1)])
def test_a_variance_that_is_not_positive_is_refused(sigma2: Fraction) -> None:
    with pytest.raises(ParameterError, match="positive"):
        law(sigma2)


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
        noise.sigma2 = Fraction(4)  # type: ignore[misc]


def failing(_size: int) -> bytes:
    raise OSError


def short(size: int) -> bytes:
    return bytes(range(256))[: size - 1]


@pytest.mark.parametrize("source", [bytes, lambda size: b"\xff" * size, short, failing])
@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_a_broken_system_source_gives_no_noise(
    monkeypatch: pytest.MonkeyPatch, source: Callable[[int], bytes], size: int
) -> None:
    monkeypatch.setattr("os.urandom", source)
    with pytest.raises(RandomnessError):
        law(10).sample(size)


@pytest.mark.parametrize("sigma2", [Fraction(10), Fraction(10**40)])
@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_a_stuck_source_ends(sigma2: Fraction, byte: bytes) -> None:
    # All zeros: an endless geometric number. All ones: nothing is ever kept.
    token = randomness.override.set(lambda size: byte * size)
    try:
        with pytest.raises(RandomnessError, match="repeats"):
            law(sigma2).sample(3)
    finally:
        randomness.override.reset(token)


def test_equal_bytes_give_equal_noise() -> None:
    def sample() -> list[int]:
        generator = np.random.default_rng(7)
        token = randomness.override.set(generator.bytes)
        try:
            return law(1000).sample(100).tolist()
        finally:
            randomness.override.reset(token)

    assert sample() == sample()
    assert sample() != law(1000).sample(100).tolist()


@pytest.mark.parametrize("sigma2", [Fraction(37**2), Fraction(10**40)])
def test_the_bytes_used_do_not_depend_on_the_value(sigma2: Fraction) -> None:
    middle = math.isqrt(int(sigma2))
    digits, coins = digits_of(2 * sigma2 / (2 * middle + 1)), coins_of(sigma2)
    asked: list[int] = []

    def source(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    token = randomness.override.set(source)
    try:
        drawn = [int(law(sigma2).sample(1)[0]) for _ in range(300)]
    finally:
        randomness.override.reset(token)
    assert len(set(drawn)) > 50
    candidates = 2 + 64
    assert asked.count(2 * 2 * candidates * len(digits.cuts)) == 300
    assert asked.count(2 * candidates * len(coins.cuts)) == 300
    # The others are ties, of chance 2**-16 for each of less than 500 words and 66
    # candidates: 300 of them in 300 draws happen in 1e-17 of runs.
    assert len(asked) < 900


def divergence(sigma2: Fraction, order: int) -> float:
    """Renyi divergence between the law and its neighbour one step away."""
    known = [float(chance) for chance in chances(sigma2) if chance > Decimal("1e-300")]
    logs = np.log([*known[:0:-1], *known])
    moved = order * logs[:-1] + (1 - order) * logs[1:]
    top = moved.max()
    return (top + np.log(np.exp(moved - top).sum())) / (order - 1)


@pytest.mark.parametrize("sigma2", [1, 4, 100])
@pytest.mark.parametrize("order", [2, 3, 5, 8])
def test_neighbors_diverge_by_no_more_than_zcdp_allows(sigma2: int, order: int) -> None:
    rho = 1 / (2 * sigma2)
    found = divergence(Fraction(sigma2), order)
    assert found <= order * rho * (1 + 1e-9)
    # A law 5% narrower than it says is caught.
    narrow = divergence(sigma2 / Fraction(105, 100) ** 2, order)
    assert narrow > order * rho * (1 + 1e-2)


def hockey_stick(sigma2: Fraction, epsilon: str) -> Decimal:
    """The least delta at which neighbours one step apart are (epsilon, delta)-DP."""
    with localcontext(exact()):
        known = chances(sigma2)
        line = [*known[:0:-1], *known, Decimal(0)]
        factor = Decimal(epsilon).exp()
        excess = [here - factor * there for here, there in pairwise(line)]
        return sum((gap for gap in excess if gap > 0), start=Decimal(0))


def converted(rho: float, epsilon: float) -> Decimal:
    """Delta of rho-zCDP, after Canonne, Kamath and Steinke (2020), Prop. 12."""
    orders = 1 + np.geomspace(1e-3, 1e3, 20_000)
    exponent = (orders - 1) * (orders * rho - epsilon)
    shrink = orders * np.log1p(-1 / orders) - np.log(orders - 1)
    return Decimal(float((exponent + shrink).min())).exp()


@pytest.mark.parametrize("sigma2", [1, 4, 100])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4"])
def test_the_converted_delta_covers_the_law(sigma2: int, epsilon: str) -> None:
    told = converted(1 / (2 * sigma2), float(epsilon))
    assert hockey_stick(Fraction(sigma2), epsilon) <= told
    # A law of a third of the scale is caught.
    assert hockey_stick(Fraction(sigma2, 9), epsilon) > told
