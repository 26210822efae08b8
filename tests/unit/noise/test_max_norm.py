from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import special

from dpframe.errors import ParameterError, RandomnessError
from dpframe.noise import DiscreteLaplace, MaxNorm, Noise, randomness
from dpframe.noise.choice import cumulative

if TYPE_CHECKING:
    from dpframe.noise.brackets import Cuts

DIMENSIONS = [1, 2, 3, 6]
SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(10)]


def law(dimension: int, scale: Fraction | int) -> MaxNorm:
    return MaxNorm(dimension=dimension, scale=Fraction(scale))


def radii(dimension: int, scale: Fraction) -> np.ndarray:
    """Chances of the radii, by summing the definition."""
    reach = np.arange(int(scale * (60 + 10 * dimension)) + 60)
    logs = dimension * np.log(2 * reach + 1) - reach / float(scale)
    chances = np.exp(logs - logs.max())
    return chances / chances.sum()


def test_it_is_a_noise() -> None:
    noise: Noise = law(2, 1)
    assert noise.name == "max-norm"


@pytest.mark.parametrize(
    ("dimension", "variance"), [(1, 1.8413), (2, 3.9028), (3, 6.5896), (6, 18.583)]
)
def test_variance_at_epsilon_one(dimension: int, variance: float) -> None:
    assert law(dimension, 1).variance == pytest.approx(variance, rel=4e-5)


@pytest.mark.parametrize("scale", [100, 10**6, 2**50])
@pytest.mark.parametrize(
    ("dimension", "variance"), [(1, 2.0), (2, 4.0), (3, 20 / 3), (6, 56 / 3)]
)
def test_variance_of_a_fine_grid(dimension: int, variance: float, scale: int) -> None:
    assert law(dimension, scale).variance / scale**2 == pytest.approx(
        variance, rel=1e-4
    )


def test_variance_does_not_jump_where_the_exact_law_ends() -> None:
    ends, begins = law(512, 2**40).variance, law(513, 2**40).variance
    assert begins / ends == pytest.approx(514 * 515 / (513 * 514), rel=1e-12)


@pytest.mark.parametrize("dimension", [*DIMENSIONS, 40])
@pytest.mark.parametrize("scale", SCALES)
def test_figures_follow_from_the_mixture(dimension: int, scale: Fraction) -> None:
    noise = law(dimension, scale)
    chances = radii(dimension, scale)
    m = np.arange(len(chances))
    assert (m * (m + 1) * chances).sum() / 3 == pytest.approx(noise.variance, rel=1e-9)
    for limit in (0, 1, 3, int(scale), int(dimension * scale), int(20 * scale)):
        cube = np.minimum(1, (2 * limit + 1) / (2 * m + 1))
        outside = ((1 - cube) * chances).sum()
        assert noise.tail(limit) == pytest.approx(outside, rel=1e-9)
        somewhere = ((1 - cube**dimension) * chances).sum()
        assert noise.joint_tail(limit) == pytest.approx(somewhere, rel=1e-9)
    assert noise.tail(-1) == noise.joint_tail(-1) == 1


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_mixture_gives_each_vector_the_mass_of_its_norm(dimension: int) -> None:
    # P(z) is the sum over radii m of at least |z| of P(m) / (2m + 1)**k.
    chances = radii(dimension, Fraction(2))
    per_vector = chances / (2.0 * np.arange(len(chances)) + 1) ** dimension
    mass = np.cumsum(per_vector[::-1])[::-1]
    ratios = mass[1:40] / mass[:39]
    assert ratios == pytest.approx(np.full(39, np.exp(-0.5)), rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_one_coordinate_is_discrete_laplace(scale: Fraction) -> None:
    vector, scalar = law(1, scale), DiscreteLaplace(scale=scale)
    assert vector.variance == pytest.approx(scalar.variance, rel=1e-13)
    for limit in range(30):
        assert vector.tail(limit) == pytest.approx(scalar.tail(limit), rel=1e-14)
        assert vector.joint_tail(limit) == pytest.approx(scalar.tail(limit), rel=1e-14)
    assert vector.accuracy(0.95) == vector.accuracy(0.95, 5) == scalar.accuracy(0.95)


@pytest.mark.parametrize("dimension", [2, 20, 513, 2000])
def test_tails_of_a_fine_grid_are_those_of_the_gamma_law(dimension: int) -> None:
    scale = 2**50
    noise = law(dimension, scale)
    for times in (0.1, dimension / 2, dimension, dimension * 1.1 + 10):
        limit = int(times * scale)
        upper = special.gammaincc(dimension + 1, times)
        expected = upper - times / dimension * special.gammaincc(dimension, times)
        assert noise.tail(limit) == pytest.approx(expected, rel=1e-6, abs=1e-13)
        joint = special.gammaincc(dimension, times)
        assert noise.joint_tail(limit) == pytest.approx(joint, rel=1e-6)


@pytest.mark.parametrize("scale", [*SCALES, Fraction(2**45, 3)])
@pytest.mark.parametrize("dimension", [*DIMENSIONS, 30])
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.95, 0.9999])
def test_accuracy_is_the_smallest_bound_that_holds(
    dimension: int, scale: Fraction, confidence: float
) -> None:
    noise = law(dimension, scale)
    miss = 1 - confidence
    alone, together = noise.accuracy(confidence), noise.accuracy(confidence, 2)
    assert noise.tail(alone) <= miss * (1 + 1e-12)
    assert noise.joint_tail(together) <= miss * (1 + 1e-12)
    assert alone <= together
    assert alone == 0 or noise.tail(alone - 1) > miss * (1 - 1e-12)
    assert together == 0 or noise.joint_tail(together - 1) > miss * (1 - 1e-12)


def test_accuracy_beyond_the_exact_law() -> None:
    noise = law(600, 2**45)
    bound = noise.accuracy(0.95, 600)
    assert special.gammaincc(600, bound / 2**45) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 9])
def test_offset_and_geometrics_make_the_law_of_the_radius(dimension: int) -> None:
    # The offsets' shares, convolved with dimension + 1 geometric laws, exactly.
    scale = Fraction(3, 2)
    ratio = np.exp(-1 / float(scale))
    numbers = eulerian(dimension)
    shares = [
        float(sum(bracket) / 2)
        for bracket in cumulative(
            [(n, Fraction(j) / scale) for j, n in enumerate(numbers)]
        )(60)
    ]
    offsets = np.diff([0, *shares, 1])
    chances = radii(dimension, scale)
    m = np.arange(len(chances))
    sums = (
        special.comb(m + dimension, dimension)
        * ratio**m
        * (1 - ratio) ** (dimension + 1)
    )
    mixed = np.convolve(offsets, sums)[: len(m)]
    assert mixed == pytest.approx(chances, rel=1e-10, abs=1e-17)


def eulerian(dimension: int) -> list[int]:
    """Type-B Eulerian numbers, from their alternating sum."""
    return [
        sum(
            (-1) ** (j - i) * math.comb(dimension + 1, j - i) * (2 * i + 1) ** dimension
            for i in range(j + 1)
        )
        for j in range(dimension + 1)
    ]


def test_many_coordinates_keep_a_radius_with_its_exact_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dimension, proposals, kept = 513, [10**6, 2 * 10**7], []

    def locate(cuts: Cuts) -> int:
        ((low, high),) = cuts(60)
        m = proposals[len(kept)]
        share = math.prod(
            Fraction(2 * m + 1, 2 * m + 2 * i) for i in range(1, dimension + 1)
        )
        kept.append(Fraction(low) < share < Fraction(high))
        assert high - low < Decimal("1e-55")
        return 1 if len(kept) == 1 else 0

    drawn = iter(proposals)
    monkeypatch.setattr("dpframe.noise.max_norm.locate", locate)
    monkeypatch.setattr(
        "dpframe.noise.max_norm._sum_of_geometrics", lambda *_: next(drawn)
    )
    vector = law(dimension, 64 * dimension).sample(dimension)
    assert kept == [True, True]
    assert 10**6 < max(map(abs, vector.tolist())) <= 2 * 10**7


def test_small_vectors_cover_the_cube() -> None:
    drawn = {tuple(law(2, Fraction(1, 2)).sample(2).tolist()) for _ in range(2000)}
    assert set(itertools.product((-1, 0, 1), repeat=2)) <= drawn


@pytest.mark.parametrize("dimension", [1, 2, 20, 512, 513])
@pytest.mark.parametrize("scale", [Fraction(10**5), Fraction(2**60, 3)])
def test_draws_are_vectors_of_exact_integers(dimension: int, scale: Fraction) -> None:
    drawn = law(dimension, scale).sample(dimension)
    assert drawn.shape == (dimension,)
    assert drawn.dtype == (np.int64 if scale < 2**40 else object)
    values = drawn.tolist()
    assert all(type(value) is int for value in values)
    assert max(map(abs, values)) < 2000 * scale
    assert dimension == 1 or len(set(values)) > 1


def test_another_size_than_the_dimension_is_refused() -> None:
    with pytest.raises(ParameterError, match="3 coordinates; 2"):
        law(3, 1).sample(2)


def test_many_coordinates_need_a_fine_grid() -> None:
    with pytest.raises(ParameterError, match="finer grid"):
        law(513, 64 * 513 - 1)
    assert law(513, 64 * 513).sample(513).shape == (513,)
    assert law(512, 1).sample(512).shape == (512,)


@pytest.mark.parametrize(("dimension", "scale"), [(0, 1), (-1, 1), (1, 0), (2, -1)])
def test_parameters_without_a_law_are_refused(dimension: int, scale: int) -> None:
    with pytest.raises(ParameterError):
        law(dimension, scale)


@pytest.mark.parametrize("confidence", [1.0, -0.1, float("nan")])
def test_a_confidence_that_is_no_level_is_refused(confidence: float) -> None:
    with pytest.raises(ParameterError, match="confidence"):
        law(2, 1).accuracy(confidence)


def test_no_cells_are_refused() -> None:
    with pytest.raises(ParameterError, match="cells"):
        law(2, 1).accuracy(0.95, 0)


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
@pytest.mark.parametrize("dimension", [2, 600])
def test_a_stuck_system_source_gives_no_noise(
    monkeypatch: pytest.MonkeyPatch, byte: bytes, dimension: int
) -> None:
    monkeypatch.setattr("os.urandom", lambda wanted: byte * wanted)
    with pytest.raises(RandomnessError):
        law(dimension, 10**6).sample(dimension)


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"\x55"])
@pytest.mark.parametrize("dimension", [2, 600])
def test_a_stuck_override_ends_or_is_refused(byte: bytes, dimension: int) -> None:
    token = randomness.override.set(lambda size: byte * size)
    try:
        assert law(dimension, 10**6).sample(dimension).shape == (dimension,)
    except RandomnessError as error:
        assert "repeats" in str(error)  # noqa: PT017 - either end is right
    finally:
        randomness.override.reset(token)
