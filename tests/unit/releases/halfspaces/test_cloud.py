"""Synthetic rows above planes: one rule for ties, and labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpframe.releases.halfspaces.ball import TIE, Planes
from dpframe.releases.halfspaces.cloud import Cloud


def planes(normals: list[list[float]], offsets: list[float]) -> Planes:
    return Planes(normals=np.array(normals), offsets=np.array(offsets))


def test_a_plane_takes_the_rows_that_lie_on_it_or_as_good_as() -> None:
    places = np.array([[0.5, 0.0], [0.5 - TIE / 2, 0.0], [0.5 - 2 * TIE, 0.0]])
    cloud = Cloud(places=places)
    assert cloud.above(planes([[1, 0]], [0.5])).tolist() == [2 / 3]
    assert cloud.above(planes([[-1, 0]], [-0.5])).tolist() == [1.0]
    assert cloud.above(planes([[1, 0]], [0.5 + 2 * TIE])).tolist() == [0.0]


def test_many_planes_are_counted_as_each_is_alone() -> None:
    rng = np.random.default_rng(1)
    places = rng.uniform(-0.5, 0.5, size=(5000, 3))
    labels = rng.random(5000) < 0.3
    cloud = Cloud(places=places, labels=labels)
    normals = rng.normal(size=(1100, 3))
    normals /= np.sqrt((normals**2).sum(axis=1))[:, None]
    asked = Planes(normals=normals, offsets=rng.uniform(-0.6, 0.6, size=1100))
    assert len(asked) == 1100
    found, wrong = cloud.above(asked), cloud.wrong(asked)
    for place in range(0, 1100, 37):
        one = Planes(
            normals=normals[place : place + 1],
            offsets=asked.offsets[place : place + 1],
        )
        assert cloud.above(one)[0] == found[place]
        assert cloud.wrong(one)[0] == wrong[place]
    for place in (3, 500, 1099):
        w = [Fraction(part) for part in normals[place].tolist()]
        least = Fraction(float(asked.offsets[place])) - Fraction(TIE)
        met = [
            sum(a * Fraction(b) for a, b in zip(w, row, strict=True)) >= least
            for row in places.tolist()
        ]
        assert sum(met) == round(found[place] * 5000)
        mistaken = sum(a != bool(b) for a, b in zip(met, labels, strict=True))
        assert mistaken == round(wrong[place] * 5000)


def test_a_moved_plane_is_further_along_its_normal() -> None:
    moved = planes([[0, 1]], [0.25]).moved(0.5)
    assert moved.offsets.tolist() == [0.75]
    assert moved.normals.tolist() == [[0, 1]]


def test_no_rows_are_above_nothing_and_have_no_labels() -> None:
    asked = planes([[1, 0]], [0])
    empty = Cloud(places=np.zeros((0, 2)), labels=np.zeros(0, dtype=bool))
    assert empty.above(asked).tolist() == [0.0]
    assert empty.wrong(asked).tolist() == [0.0]
    with pytest.raises(ValueError, match="no labels"):
        Cloud(places=np.zeros((1, 2))).wrong(asked)
