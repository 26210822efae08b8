from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.releases.noise_sums import (
    equal_quantile,
    gaussian_bound,
    independent,
    sum_bound,
)

SIGMA2S = [Fraction(1, 20), Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(40)]
WEIGHTS = [(1.0, 1.0), (1.0, 1.0, 1.0), (0.3, -0.7), (1.0, 0.5, 0.25), (1.0, 0.01)]


def pmf(sigma2: Fraction) -> tuple[np.ndarray, np.ndarray]:
    reach = int(9 * float(sigma2) ** 0.5) + 2
    values = np.arange(-reach, reach + 1)
    chances = np.exp(-(values**2) / (2 * float(sigma2)))
    return values, chances / chances.sum()


def exceeds(sigma2: Fraction, weights: tuple[float, ...], bound: float) -> float:
    """Return the exact chance that a weighted sum is larger than a bound."""
    values, chances = pmf(sigma2)
    sums, of_sums = np.zeros(1), np.ones(1)
    for weight in weights:
        sums = (sums[:, None] + weight * values).ravel()
        of_sums = (of_sums[:, None] * chances).ravel()
    return float(of_sums[np.abs(sums) > bound + 1e-12].sum())


@pytest.mark.parametrize("share", [0.3, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("sigma2", SIGMA2S)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_sum_of_gaussians_exceeds_its_bound_more_often(
    weights: tuple[float, ...], sigma2: Fraction, share: float
) -> None:
    noise = DiscreteGaussian(sigma2=sigma2)
    (bound,) = sum_bound(noise, np.array([weights]), share)
    assert exceeds(sigma2, weights, bound) <= share


def test_the_normal_quantile_alone_is_exceeded_on_a_coarse_grid() -> None:
    found = []
    for sigma2, weights in itertools.product(SIGMA2S, WEIGHTS):
        spread = (float(sigma2) * sum(weight**2 for weight in weights)) ** 0.5
        bound = stats.norm.isf(0.05 / 2) * spread
        found.append(exceeds(sigma2, weights, bound) > 0.05)
    assert any(found)


@pytest.mark.parametrize("sigma2", [Fraction(1, 50), *SIGMA2S, Fraction(900)])
def test_a_gaussian_spread_over_its_step_is_more_peaked_than_a_wider_normal(
    sigma2: Fraction,
) -> None:
    values, chances = pmf(sigma2)
    limits = np.arange(0, values[-1], 0.05)
    # The chance of |z + u| > limit, with u uniform within half a step.
    inside = np.clip(limits - np.abs(values[:, None]) + 0.5, 0, 1)
    below = np.clip(-limits - np.abs(values[:, None]) + 0.5, 0, 1)
    centre = np.clip(limits + 0.5, 0, 1) - np.clip(-limits + 0.5, 0, 1)
    share = np.where(values[:, None] == 0, centre, inside - below)
    tails = 1 - chances @ share
    normal = 2 * stats.norm.sf(limits / (float(sigma2) + 0.25) ** 0.5)
    assert (tails <= normal + 1e-12).all()


def test_on_a_fine_grid_the_bound_is_the_normal_quantile() -> None:
    noise = DiscreteGaussian(sigma2=Fraction(2**80))
    weights = np.array([[3.0, 4.0], [0.0, 1.0]]) / 2**40
    expected = stats.norm.isf(0.025) * np.array([5.0, 1.0])
    np.testing.assert_allclose(sum_bound(noise, weights, 0.05), expected, rtol=1e-9)


def test_gaussians_of_several_scales_add_their_variances() -> None:
    weights, sigmas = np.array([[1.0, 2.0]]), np.array([3e6, 2e6])
    (bound,) = gaussian_bound(weights, sigmas, 0.05)
    assert bound == pytest.approx(stats.norm.isf(0.025) * 5e6, rel=1e-6)


def test_the_bound_of_laplace_noise_is_that_of_scale_one_times_its_scale() -> None:
    noise = DiscreteLaplace(scale=Fraction(7, 2))
    (bound,) = sum_bound(noise, np.ones((1, 3)), 0.05)
    assert bound == pytest.approx(3.5 * equal_quantile(3, 0.05))


def test_joint_noise_is_not_taken_for_independent_noise() -> None:
    with pytest.raises(TypeError, match="max-norm"):
        independent(MaxNorm(dimension=2, scale=Fraction(3)))
