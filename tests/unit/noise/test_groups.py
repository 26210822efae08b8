"""What noise promises a group of several units: from the exact laws, not by draws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from dpframe.privacy.conversion import epsilon_of
from dpframe.privacy.loss import Loss

GROUPS = [1, 2, 4, 8]


def log_laplace(
    scale: float, reach: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    law = -np.abs(np.arange(-reach, reach + 1)) / scale
    return law - logsumexp(law)


def log_gaussian(
    sigma2: float, reach: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    law = -(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma2)
    return law - logsumexp(law)


@pytest.mark.parametrize("size", GROUPS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
def test_group_of_k_loses_k_epsilon(size: int, epsilon: float) -> None:
    law = log_laplace(1 / epsilon, reach=4000)
    loss = np.max(np.abs(law[size:] - law[:-size]))
    assert loss <= size * epsilon * (1 + 1e-9)
    assert loss >= size * epsilon * (1 - 1e-9)  # and no less: the claim is attained


@pytest.mark.parametrize("size", GROUPS)
@pytest.mark.parametrize("sigma2", [1, 16, 400])
def test_group_of_k_loses_k_squared_rho(size: int, sigma2: int) -> None:
    rho = Fraction(1, 2 * sigma2)
    law = log_gaussian(sigma2, reach=2000)
    here, there = law[size:], law[:-size]
    for order in (1.1, 2, 5, 20):
        terms = order * here + (1 - order) * there
        divergence = logsumexp(terms) / (order - 1)
        claim = order * size**2 * float(rho)
        assert divergence <= claim * (1 + 1e-9)
        assert divergence >= 0.9 * claim  # not size * rho
    grouped = Loss(rho=size**2 * rho)
    for delta in (1e-2, 1e-6):
        epsilon = grouped.at(delta=delta).epsilon
        assert epsilon is not None
        beyond = np.maximum(np.exp(here) - np.exp(there + float(epsilon)), 0).sum()
        assert beyond <= delta
        single = float(epsilon_of(rho, Fraction(str(delta))))
        if size >= 4:  # one unit's epsilon does not do for a group
            less = np.maximum(np.exp(here) - np.exp(there + single), 0).sum()
            assert less > delta
    assert math.isclose(float(np.exp(logsumexp(law))), 1)
