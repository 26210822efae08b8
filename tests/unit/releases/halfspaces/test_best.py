from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dpframe.releases.halfspaces.best import best_plane

Array = np.ndarray[Any, np.dtype[Any]]


def ball(rng: np.random.Generator, rows: int, width: int) -> Array:
    points = rng.normal(size=(rows, width))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * rng.random((rows, 1)) ** (1 / width)


def wrong(points: Array, labels: Array, normal: Array, offset: float) -> int:
    return int(((points @ normal >= offset) != labels).sum())


def errors(points: Array, labels: Array) -> int:
    normal, offset = best_plane(points, labels)
    assert normal.shape == (points.shape[1],)
    assert abs(normal @ normal - 1) < 1e-12
    assert abs(offset) < 1.2
    return wrong(points, labels, normal, offset)


def split(points: Array, labels: Array) -> int:
    """Return the fewest errors of points on a line: at its start, or at its end."""
    return min(
        int((labels[:place] != start).sum() + (labels[place:] == start).sum())
        for place in range(len(points) + 1)
        for start in (True, False)
        if not 0 < place < len(points)
        or np.linalg.norm(points[place] - points[place - 1]) > 1e-12
    )


def fewest(points: Array, labels: Array) -> int:
    """Return the exact fewest errors in the plane, by every line through two points.

    Any split of points by a line is that of a line through two of them that is turned
    a little: the points on it are split into a start and an end.
    """
    best = min(int(labels.sum()), int((~labels).sum()))
    for one, two in itertools.combinations(points, 2):
        along = two - one
        if not along.any():
            continue
        heights = (points - one) @ np.array([-along[1], along[0]])
        on = np.flatnonzero(np.abs(heights) < 1e-12)
        on = on[np.argsort(points[on] @ along)]
        off = np.abs(heights) >= 1e-12
        apart = int(((heights[off] > 0) != labels[off]).sum())
        best = min(
            best,
            min(apart, int(off.sum()) - apart) + split(points[on], labels[on]),
        )
    return best


def noisy(seed: int, rows: int, width: int) -> tuple[Array, Array, int]:
    """Return points, labels of a plane with one in ten swapped, and its errors."""
    rng = np.random.default_rng(seed)
    points = ball(rng, rows, width)
    normal = rng.normal(size=width)
    normal /= np.linalg.norm(normal)
    swapped = rng.random(rows) < 0.1
    labels = (points @ normal >= 0.1 / np.sqrt(width)) ^ swapped
    return points, labels, int(swapped.sum())


@pytest.mark.parametrize("width", [2, 3, 10, 50])
@pytest.mark.parametrize("offset", [0.0, 0.15])
def test_points_that_a_plane_tells_apart_have_no_errors(
    width: int, offset: float
) -> None:
    rng = np.random.default_rng(width)
    points = ball(rng, 1500, width)
    normal = rng.normal(size=width)
    normal /= np.linalg.norm(normal)
    heights = points @ normal
    points = points[np.abs(heights - offset) > 0.005]
    labels = points @ normal >= offset
    assert 0 < labels.sum() < len(labels)
    assert errors(points, labels) == 0
    assert errors(points, ~labels) == 0


def lowest(points: Array, labels: Array, normal: Array) -> int:
    """Return the fewest errors of many offsets of a normal, with either sign."""
    heights = points @ normal
    found = [
        wrong(points, labels, normal, offset)
        for offset in np.quantile(heights, np.linspace(0, 1, 500))
    ]
    return min(*found, len(points) - max(found))


def means(points: Array, labels: Array) -> Array:
    return points[labels].mean(axis=0) - points[~labels].mean(axis=0)


def test_points_that_no_means_tell_apart_are_told_apart() -> None:
    # A few far points pull the means and the axes, but not a count of errors.
    rng = np.random.default_rng(3)
    points = np.concatenate([ball(rng, 500, 2) * 0.05, ball(rng, 60, 2) * 0.05])
    points[500:] += [0.1, 0.9]
    labels = points[:, 0] >= 0
    points = points @ np.array([[0.8, -0.6], [0.6, 0.8]])
    for normal in (*np.eye(2), means(points, labels)):
        assert lowest(points, labels, normal) > 50
    assert errors(points, labels) == 0


@pytest.mark.parametrize("shape", ["xor", "coins", "grid"])
def test_few_points_have_the_fewest_errors_of_all_lines(shape: str) -> None:
    gaps = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = ball(rng, int(rng.integers(1, 20)), 2)
        labels = points[:, 0] * points[:, 1] > 0
        if shape == "coins":
            labels = rng.random(len(points)) < 0.5
        if shape == "grid":
            points = np.round(3 * points) / 4.5
        gaps.append(errors(points, labels) - fewest(points, labels))
    assert min(gaps) >= 0
    assert max(gaps) <= 1
    assert sum(gaps) <= 1


def test_the_oracle_of_all_lines_knows_small_cases() -> None:
    corners = np.array([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5]])
    assert fewest(corners, np.array([True, True, False, False])) == 1
    assert fewest(corners, np.array([True, False, True, False])) == 0
    row = np.array([[-0.4, 0.0], [0.0, 0.0], [0.4, 0.0]])
    assert fewest(row, np.array([True, False, True])) == 1
    assert fewest(row[[0, 0, 2]], np.array([True, False, True])) == 1


@pytest.mark.parametrize(("width", "slack"), [(2, 0), (5, 0), (20, 10)])
def test_noisy_labels_have_no_more_errors_than_the_plane_behind_them(
    width: int, slack: int
) -> None:
    points, labels, behind = noisy(5, 4000, width)
    assert errors(points, labels) <= behind + slack


def test_the_search_beats_axes_means_and_least_squares() -> None:
    # No moment tells quarters apart: a plane that cuts off one of them is better.
    rng = np.random.default_rng(5)
    points = ball(rng, 2000, 5)
    labels = points[:, 0] * points[:, 1] > 0
    table = np.column_stack([points, np.ones(2000)])
    squares = np.linalg.lstsq(table, labels.astype(float))[0][:5]
    for normal in (*np.eye(5), means(points, labels), squares):
        assert lowest(points, labels, normal) > 850
    assert errors(points, labels) < 730


def test_the_same_points_give_the_same_plane() -> None:
    points, labels, _ = noisy(1, 300, 4)
    first, again = best_plane(points, labels), best_plane(points, labels)
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1] == again[1]


def test_the_points_and_labels_are_left_as_they_were() -> None:
    points, labels, _ = noisy(1, 100, 3)
    before = points.copy(), labels.copy()
    points.flags.writeable = labels.flags.writeable = False
    best_plane(points, labels)
    np.testing.assert_array_equal(points, before[0])
    np.testing.assert_array_equal(labels, before[1])


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 50])
def test_labels_that_are_alike_are_all_on_one_side(rows: int, *, label: bool) -> None:
    points = ball(np.random.default_rng(2), rows, 3)
    assert errors(points, np.full(rows, label)) == 0


@pytest.mark.parametrize("label", [True, False])
def test_points_at_the_ends_of_the_ball_are_within_the_plane(*, label: bool) -> None:
    points = np.concatenate([np.eye(3), -np.eye(3)])
    assert errors(points, np.full(6, label)) == 0


def test_no_points_have_a_plane() -> None:
    normal, offset = best_plane(np.empty((0, 3)), np.empty(0, bool))
    np.testing.assert_array_equal(normal, [1, 0, 0])
    assert offset == 0


@pytest.mark.parametrize("place", [0.0, 1 / 3, -0.1])
def test_points_that_are_equal_are_on_one_side_together(place: float) -> None:
    points = np.full((9, 3), place)
    labels = np.arange(9) < 4
    assert errors(points, labels) == 4
    assert errors(points, ~labels) == 4


def test_points_in_few_places_are_not_split_by_rounding() -> None:
    rng = np.random.default_rng(4)
    places = ball(rng, 6, 4)
    points = places[rng.integers(6, size=600)]
    labels = rng.random(600) < 0.5
    normal, offset = best_plane(points, labels)
    heights = points @ normal - offset
    assert np.abs(heights).min() > 1e-13
    shown = {bytes(point): set() for point in points}
    for point, height in zip(points, heights, strict=True):
        shown[bytes(point)].add(bool(height >= 0))
    assert all(len(sides) == 1 for sides in shown.values())


def test_points_on_a_line_or_a_flat_are_searched() -> None:
    rng = np.random.default_rng(6)
    points = np.zeros((200, 4))
    points[:, 1] = rng.uniform(-1, 1, size=200)
    assert errors(points, points[:, 1] >= 0.3) == 0
    swapped = rng.random(200) < 0.1
    assert errors(points, (points[:, 1] >= 0.3) ^ swapped) <= swapped.sum()
    points[:, 2] = rng.uniform(-0.1, 0.1, size=200)
    assert errors(points, points[:, 1] + points[:, 2] >= 0.3) == 0


def test_the_offset_is_halfway_between_neighbors() -> None:
    points = np.array([[-0.6], [-0.2], [0.4], [0.8]])
    normal, offset = best_plane(points, np.array([False, False, True, True]))
    assert normal[0] == 1
    assert offset == pytest.approx(0.1)
