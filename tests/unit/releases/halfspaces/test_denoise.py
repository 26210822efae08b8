"""Histograms freed from noise, against those of the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpframe.releases.halfspaces.denoise import denoised

Array = np.ndarray[Any, np.dtype[Any]]

BINS = 64


def histograms(dimension: int, count: int, size: int = 20_000) -> Array:
    """Return the rows of two clusters in the bins of random directions."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(size, dimension)) * 0.2
    rows[: size // 3] += 0.5
    rows = np.clip(rows, -1, 1) / math.sqrt(dimension)
    units = rng.normal(size=(count, dimension))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    bins = np.floor((rows @ units.T + 1) * (BINS / 2)).astype(int)
    return np.stack([np.bincount(b, minlength=BINS) for b in bins.T]).astype(float)


def laplace(shape: tuple[int, ...], stddev: float) -> Array:
    return np.random.default_rng(6).laplace(scale=stddev / math.sqrt(2), size=shape)


@pytest.mark.parametrize(
    ("dimension", "count", "left"), [(3, 30, 0.9), (5, 40, 0.75), (20, 120, 0.55)]
)
def test_running_counts_are_nearer_to_those_of_the_rows(
    dimension: int, count: int, left: float
) -> None:
    true = histograms(dimension, count)
    noisy = true + laplace(true.shape, 100.0)
    found = denoised(noisy, stddev=100.0)
    plain = denoised(noisy, stddev=0.0)  # only made to be counts

    def off(counts: Array) -> float:
        return float(np.abs(np.cumsum(counts - true, axis=1)).mean())

    assert off(found) < left * off(plain) < left * off(noisy)


def test_noise_alone_leaves_what_directions_have_in_common() -> None:
    true = np.full((100, BINS), 300.0)
    found = denoised(true + laplace(true.shape, 100.0), stddev=100.0)
    assert np.abs(found - true).mean() < 0.2 * 100.0


def test_a_stddev_far_too_small_leaves_the_noise() -> None:
    true = np.full((100, BINS), 300.0)
    found = denoised(true + laplace(true.shape, 100.0), stddev=1.0)
    assert np.abs(found - true).mean() > 0.5 * 100.0


def test_histograms_without_noise_stay_as_they_are() -> None:
    true = histograms(5, 20)
    np.testing.assert_allclose(denoised(true, stddev=0.0), true, atol=1e-7)
    np.testing.assert_allclose(denoised(true, stddev=1e-9), true, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 64), (64, 64), (500, 64), (2, 1), (3, 2)])
def test_all_directions_hold_the_same_rows_and_none_below_zero(
    shape: tuple[int, int],
) -> None:
    noisy = laplace(shape, 50.0) + 20
    noisy += max(0.0, 1 - noisy.sum() / shape[0])
    found = denoised(noisy, stddev=50.0)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), noisy.sum() / shape[0])


@pytest.mark.parametrize("level", [0.0, -7.0])
def test_no_rows_are_zeros(level: float) -> None:
    found = denoised(np.full((4, 8), level), stddev=3.0)
    np.testing.assert_array_equal(found, np.zeros((4, 8)))


def test_a_mean_buried_in_noise_is_spread_evenly() -> None:
    noisy = laplace((40, BINS), 1000.0)
    noisy += 1 - noisy.mean()
    found = denoised(noisy, stddev=1e6)
    np.testing.assert_allclose(found, np.ones_like(found))


def test_what_is_passed_in_stays_as_it_is() -> None:
    counts = laplace((10, 8), 5.0) + 9
    kept = counts.copy()
    denoised(counts, stddev=5.0)
    np.testing.assert_array_equal(counts, kept)
