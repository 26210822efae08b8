"""Points fitted to distributions along directions, against rows that are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpframe.releases.halfspaces.fit import fitted_points

Array = np.ndarray[Any, np.dtype[Any]]

BINS = 64
EDGES = np.linspace(-1, 1, BINS + 1)
WIDTH = 2 / BINS


def frames(dimension: int, count: int, seed: int = 0) -> Array:
    """Return `count` unit vectors: the axes, then orthonormal frames."""
    rng = np.random.default_rng(seed)
    found = [np.eye(dimension)]
    while sum(map(len, found)) < count:
        found.append(np.linalg.qr(rng.normal(size=(dimension, dimension)))[0].T)
    return np.concatenate(found)[:count]


def fractions(rows: Array, directions: Array) -> Array:
    """Return which fraction of rows is below each edge along each direction."""
    places = rows @ directions.T
    found = np.stack([(places < edge).mean(axis=0) for edge in EDGES], axis=1)
    found[:, 0], found[:, -1] = 0, 1
    return found


def gaussian(dimension: int, size: int = 20_000) -> Array:
    """Return rows that vary together, in the cube."""
    rng = np.random.default_rng(7)
    mix = 0.3 * np.eye(dimension) + 0.15
    rows = np.clip(rng.normal(size=(size, dimension)) @ mix + 0.1, -1, 1)
    return rows / math.sqrt(dimension)


def share_errors(rows: Array, points: Array, planes: int = 200) -> Array:
    """Return by how much the share of random halfspaces differs."""
    rng = np.random.default_rng(3)
    normals = rng.normal(size=(planes, rows.shape[1]))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    places = rows @ normals.T
    levels = rng.uniform(0.05, 0.95, size=planes)
    offsets = np.array(
        [np.quantile(p, q) for p, q in zip(places.T, levels, strict=True)]
    )
    there = (points @ normals.T >= offsets).mean(axis=0)
    return np.abs(there - (places >= offsets).mean(axis=0))


def test_points_along_the_axes_have_the_quantiles_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    skewed = -1 + 0.4 * rng.exponential(size=5000)
    halves = np.where(rng.random(5000) < 0.3, -0.6, 0.5) + 0.05 * rng.normal(size=5000)
    rows = np.clip(np.stack([skewed, halves], axis=1), -1, 1) / math.sqrt(2)
    points = fitted_points(np.eye(2), fractions(rows, np.eye(2)), EDGES, size=2000)
    levels = np.linspace(0.02, 0.98, 49)
    levels = levels[np.abs(levels - 0.3) > 0.01]  # between the halves lies no row
    off = np.quantile(points, levels, axis=0) - np.quantile(rows, levels, axis=0)
    assert np.abs(off).max() <= WIDTH


@pytest.mark.parametrize(("dimension", "count"), [(2, 16), (5, 40), (20, 200)])
def test_planes_have_as_many_points_as_rows_above_them(
    dimension: int, count: int
) -> None:
    rows = gaussian(dimension)
    directions = frames(dimension, count)
    points = fitted_points(directions, fractions(rows, directions), EDGES, size=2000)
    off = share_errors(rows, points)
    assert off.mean() <= 0.01
    assert off.max() <= 0.04


def test_directions_in_another_order_than_their_fractions_are_far_off() -> None:
    rows = gaussian(5)
    directions = frames(5, 40)
    below = np.random.default_rng(0).permutation(fractions(rows, directions))
    off = share_errors(rows, fitted_points(directions, below, EDGES, size=2000))
    assert off.mean() > 0.05


def test_clusters_are_found_that_have_the_mean_and_covariance_of_a_ball() -> None:
    rng = np.random.default_rng(2)
    corners = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]) * 0.5
    rows = corners[rng.integers(4, size=20_000)] + 0.03 * rng.normal(size=(20_000, 2))
    directions = frames(2, 24)
    points = fitted_points(directions, fractions(rows, directions), EDGES, size=2000)
    assert share_errors(rows, points).mean() <= 0.01
    ball = (
        np.random.default_rng(4).normal(size=(2000, 2))
        @ np.linalg.cholesky(np.cov(rows.T)).T
    )
    assert share_errors(rows, ball).mean() > 0.03


def test_the_same_figures_give_the_same_points() -> None:
    rows, directions = gaussian(3), frames(3, 12)
    below = fractions(rows, directions)
    first = fitted_points(directions, below, EDGES, size=500)
    second = fitted_points(directions.copy(), below.copy(), EDGES.copy(), size=500)
    assert first.tobytes() == second.tobytes()


def test_what_is_passed_in_stays_as_it_is() -> None:
    directions = frames(3, 12)
    below = fractions(gaussian(3), directions)
    kept = directions.copy(), below.copy(), EDGES.copy()
    fitted_points(directions, below, EDGES, size=100)
    for given, before in zip((directions, below, EDGES), kept, strict=True):
        np.testing.assert_array_equal(given, before)


def lines(count: int) -> Array:
    """Return fractions of rows that are everywhere alike: what no row at all gives."""
    return np.broadcast_to(np.linspace(0, 1, BINS + 1), (count, BINS + 1))


def one_bin(count: int, place: int) -> Array:
    """Return fractions of rows that are all in one bin."""
    return np.broadcast_to((np.arange(BINS + 1) > place) * 1.0, (count, BINS + 1))


@pytest.mark.parametrize("dimension", [1, 2, 3, 20, 50])
@pytest.mark.parametrize("frame_count", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 2, 300])
def test_no_figures_are_too_poor(dimension: int, frame_count: int, size: int) -> None:
    count = dimension * frame_count
    directions = frames(dimension, count)
    for below in (lines(count), one_bin(count, 0), one_bin(count, BINS - 1)):
        points = fitted_points(directions, below, EDGES, size=size)
        assert points.shape == (size, dimension)
        assert points.dtype == np.float64
        assert np.isfinite(points).all()
        assert np.abs(points).max(initial=0) <= 1 / math.sqrt(dimension)


def test_rows_in_one_bin_give_points_in_that_bin() -> None:
    points = fitted_points(np.eye(4), one_bin(4, 40), EDGES, size=200)
    assert EDGES[40] - 1e-6 <= points.min()
    assert points.max() <= EDGES[41] + 1e-6


def test_rows_in_few_bins_are_placed_smoothly_in_them() -> None:
    rng = np.random.default_rng(8)
    places = 0.03 * rng.normal(size=20_000)  # a bin is as wide as their deviation
    below = fractions(places[:, None], np.eye(1))
    points = fitted_points(np.eye(1), below, EDGES, size=2000)[:, 0]
    levels = np.linspace(0.01, 0.99, 99)
    off = np.quantile(points, levels) - np.quantile(places, levels)
    even = np.interp(levels, below[0], EDGES) - np.quantile(places, levels)
    assert np.abs(off).mean() < 0.5 * np.abs(even).mean()


def test_a_constant_column_does_no_harm() -> None:
    rows = gaussian(4)
    rows[:, 2] = 0.21
    directions = frames(4, 40)
    points = fitted_points(directions, fractions(rows, directions), EDGES, size=2000)
    assert np.abs(points[:, 2] - 0.21).mean() <= WIDTH
    assert share_errors(rows, points).mean() <= 0.01


def test_a_short_fit_shows_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    fitted_points(np.eye(2), lines(2), EDGES, size=10)
    assert capfd.readouterr() == ("", "")
