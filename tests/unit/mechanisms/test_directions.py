"""Public directions: frames, covers of the circle and the sphere, whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpframe.mechanisms.directions import (
    circle,
    frames,
    random_projections,
    sphere,
    whole_directions,
)
from dpframe.tally import COARSE

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, np.dtype[Any]]

RADII = (0.9, 0.5, 0.25, 0.1, 0.05)


# Frames


@pytest.mark.parametrize("dimension", [2, 3, 7, 20, 50])
def test_frames_are_orthonormal_and_the_axes_come_first(dimension: int) -> None:
    found = frames(dimension, 5).reshape(5, dimension, dimension)
    assert (found[0] == np.eye(dimension)).all()
    for frame in found:
        assert np.abs(frame @ frame.T - np.eye(dimension)).max() < 1e-13
    assert (frames(dimension, 5) == found.reshape(-1, dimension)).all()
    assert (frames(dimension, 3) == found[:3].reshape(-1, dimension)).all()
    assert len(frames(dimension, 1)) == dimension


def test_frames_lie_evenly_in_all_directions() -> None:
    found = frames(3, 4000)[3:]
    for axis in range(3):
        # A coordinate of an even unit vector in space is even from -1 to 1.
        ranked = np.sort(found[:, axis])
        even = (np.arange(len(ranked)) + 0.5) / len(ranked) * 2 - 1
        assert np.abs(ranked - even).max() < 0.05
    leaning = np.sort(np.abs(found[:, 0]))
    even = (np.arange(len(leaning)) + 0.5) / len(leaning) * 2 - 1
    assert np.abs(leaning - even).max() > 0.05


def test_random_projections_have_equal_entries_and_keep_lengths() -> None:
    found = random_projections(40, number=30, projected=6)
    assert found.shape == (30, 6, 40)
    assert (np.abs(found) == 1 / math.sqrt(6)).all()
    assert (random_projections(40, number=30, projected=6) == found).all()
    lengths = ((found @ (np.ones(40) / math.sqrt(40))) ** 2).sum(axis=1)
    assert abs(lengths.mean() - 1) < 0.3


# Covers


def farthest(units: Array, found: Array) -> float:
    """Return the longest chord of some unit vectors to the nearest, or its opposite."""
    worst = 0.0
    for start in range(0, len(units), 4096):
        near = np.abs(units[start : start + 4096] @ found.T).max(axis=1)
        worst = max(worst, float(np.sqrt(np.maximum(2 - 2 * near, 0)).max()))
    return worst


def unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def on_circle(found: Array) -> Array:
    """Return unit vectors: evenly dense ones, and those halfway between directions."""
    angles = np.linspace(0, 2 * math.pi, 20_011)
    around = unit(found + np.roll(found, 1, axis=0) + 1e-300)
    return np.concatenate([np.stack([np.cos(angles), np.sin(angles)], 1), around])


def on_sphere(found: Array) -> Array:
    """Return unit vectors: even ones, and the farthest ones of a search from these."""
    rng = np.random.default_rng(1)
    best = unit(rng.normal(size=(6000, 3)))
    seen = [best]
    for round_ in range(12):
        near = np.abs(best @ found.T).max(axis=1)
        kept = best[np.argsort(near)[:500]]
        step = 0.3 / 1.6**round_
        best = unit(np.repeat(kept, 8, axis=0) + step * rng.normal(size=(4000, 3)))
        seen.append(np.concatenate([kept, best]))
    return np.concatenate(seen)


COVERS: dict[str, tuple[Callable[[float], Array], Callable[[Array], Array]]] = {
    "circle": (circle, on_circle),
    "sphere": (sphere, on_sphere),
}


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("cover", COVERS)
def test_no_unit_vector_is_further_from_a_cover_than_it_says(
    cover: str, radius: float
) -> None:
    make, tried = COVERS[cover]
    found = make(radius)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-14
    longest = farthest(tried(found), found)
    assert longest <= radius
    # Half of that would be too little, so the search finds the gaps.
    assert longest > radius / 2
    assert (make(radius) == found).all()


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize(("cover", "dimension"), [("circle", 2), ("sphere", 3)])
def test_axes_are_among_a_cover_once(cover: str, dimension: int, radius: float) -> None:
    found = COVERS[cover][0](radius)
    for axis in np.eye(dimension):
        assert (np.abs(found - axis).max(axis=1) < 1e-15).sum() == 1
    near = np.abs(found @ found.T)
    np.fill_diagonal(near, 0)
    assert near.max() < 1 - 1e-6  # no direction is there twice, or with its opposite


def test_covers_have_about_the_fewest_directions() -> None:
    assert len(circle(0.05)) == 32  # ceil(pi / (4 asin(0.025))), which is even
    for radius in RADII[2:]:
        fewest = 2 / radius**2  # caps of a half-sphere, were they not to overlap
        assert fewest < len(sphere(radius)) < 4 * fewest


# Whole numbers


@pytest.mark.parametrize("bins", [2, 40, 62, 64, 66, 1000, 4096])
@pytest.mark.parametrize("dimension", [2, 3, 20, 50])
def test_whole_directions_are_long_and_their_products_exact(
    dimension: int, bins: int
) -> None:
    units = frames(dimension, 3)
    diagonal = np.full((1, dimension), 1 / math.sqrt(dimension))
    units = np.concatenate([units, diagonal])
    whole, shift = whole_directions(units, bins)
    assert whole.dtype == np.int64
    # Bins reach from -1 to 1 but for what rounding does to a direction's length.
    lengths = np.sqrt((whole.astype(float) ** 2).sum(axis=1))
    ends = bins // 2 * 2.0**shift / (lengths * COARSE * math.sqrt(dimension))
    assert np.abs(ends - 1).max() < 2.0**-24
    turned = whole / lengths[:, None] - units
    assert np.linalg.norm(turned, axis=1).max() < 2.0**-24
    # No part of an inner product with a row, nor that moved by half of the bins, is
    # beyond what doubles hold.
    reach = np.abs(whole.astype(object)).sum(axis=1) * COARSE + (bins // 2 << shift)
    assert max(reach) < 2**53
    assert max(reach) > 2**49  # and no length is given away
