"""The published scheme: what it counts, and that it proves nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checks.planes import World, made, proved, world

from dpframe.errors import ParameterError
from dpframe.releases.halfspaces.sketches import Sketches

Array = np.ndarray[Any, np.dtype[Any]]


def sketches(here: World) -> Sketches:
    shape = here.oracle("jl_net", 0.3).shape
    assert isinstance(shape, Sketches)
    return shape


def lifted(here: World) -> Array:
    """Return rows on the sphere, with a constant beside."""
    x = here.places
    room = np.sqrt(np.maximum(1 - (x * x).sum(axis=1, keepdims=True), 0))
    return np.hstack([x, room, np.ones((len(x), 1))])


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_counts_are_those_above_canonical_planes_after_projections(
    dimension: int,
) -> None:
    here = world(20 + dimension, dimension, 300, "even")
    shape = sketches(here)
    rows = lifted(here)
    for projection, counts in zip(shape.projections, shape.counts, strict=True):
        along = rows @ projection.T @ shape.canonical.T
        assert (counts[:, 1] <= (along >= -1e-4).sum(axis=0)).all()
        assert (counts[:, 1] >= (along >= 1e-4).sum(axis=0)).all()
        assert (counts.sum(axis=1) == 300).all()
        assert not (counts[:, 1] <= (along >= 0.05).sum(axis=0)).all()
    assert shape.total.rows == 300
    sizes = shape.counts.shape
    assert shape.total.noises / shape.total.sums**2 == pytest.approx(
        sum(
            replace(shape, counts=one.reshape(sizes)).total.rows ** 2
            for one in np.eye(shape.counts.size)
        )
    )


def test_answers_are_the_median_over_projections_of_the_nearest_plane() -> None:
    here = world(31, 2, 500, "even")
    shape = sketches(here)
    planes = here.planes(np.random.default_rng(1), 50, np.eye(2))
    found = shape.above(planes, 0.3)
    for place in range(50):
        normal, b = planes.normals[place], planes.offsets[place]
        question = np.array([*normal, 0.0, -b])
        answers: list[float] = []
        for projection, counts in zip(shape.projections, shape.counts, strict=True):
            near = shape.canonical @ (projection @ question)
            nearest = int(np.argmax(np.abs(near)))
            answers.append(counts[nearest, int(near[nearest] >= 0)] / 500)
        assert found[place] == pytest.approx(float(np.median(answers)))
    assert found.max() > 0.9
    assert found.min() < 0.1


def test_nothing_is_proved_of_any_plane() -> None:
    here = world(32, 2, 50, "even")
    shape = sketches(here)
    planes = here.planes(np.random.default_rng(2), 50, np.eye(2))
    assert proved(here, shape, planes)
    assert shape.alpha(0.95, 0.3) == 1
    assert shape.worst(0.95) == math.inf
    oracle = here.oracle("jl_net", 0.3)
    assert oracle.query([1.0, 0.0], 0.1, scaled=True).interval()[:2] == (0, 1)
    flat = made(np.eye(2), np.zeros(2))
    with pytest.raises(ParameterError, match="no synthetic rows"):
        shape.wrong(flat, 0.3)


def test_shapes_that_are_none_are_refused() -> None:
    shape = sketches(world(33, 2, 20, "even"))
    for broken in (
        {"counts": shape.counts[:, :-1]},
        {"counts": shape.counts * np.nan},
        {"canonical": shape.canonical[:, :2]},
        {"projections": shape.projections[:, :, :-1]},
    ):
        with pytest.raises(ValueError, match=r"projection|counts"):
            replace(shape, **broken)
