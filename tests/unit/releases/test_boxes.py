"""Counts in boxes that were released: shares of cut ones, and their errors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpframe.grid import EvenGrid
from dpframe.nested import stacked, tree_shapes
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.outlook import sides_of
from dpframe.releases.boxes import Boxes
from dpframe.values import column_type

SHARP = DiscreteLaplace(scale=Fraction(1, 1000))


def grid(name: str, size: int) -> EvenGrid:
    column = column_type(name, pl.UInt64())
    return EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=size)


def boxes(
    sizes: tuple[int, ...],
    corners: list[tuple[tuple[int, ...], tuple[int, ...]]],
    values: list[float],
    **given: Any,
) -> Boxes:
    first, last = zip(*corners, strict=True)
    options = {"noise": SHARP, "unit": Fraction(1), "raw": np.array(values)} | given
    return Boxes(
        grids=tuple(grid(f"x{axis}", size) for axis, size in enumerate(sizes)),
        first=np.array(first, dtype=np.uint64),
        last=np.array(last, dtype=np.uint64),
        values=np.array(values),
        **options,
    )


HALVES = boxes((10, 6), [((0, 0), (9, 2)), ((0, 3), (9, 5))], [100.0, 20.0])


@pytest.mark.parametrize(
    ("ranges", "value", "least", "most"),
    [
        ([(0, 10), (0, 6)], 120, 120, 120),
        ([(0, 10), (0, 3)], 100, 100, 100),
        ([(0, 5), (0, 3)], 50, 0, 100),
        ([(0, 1), (0, 1)], 100 / 30, 0, 100),
        ([(0, 10), (0, 4)], 100 + 20 / 3, 100, 120),
        ([(5, 10), (2, 5)], 50 / 3 + 20 / 3, 0, 120),
        ([(3, 3), (0, 6)], 0, 0, 0),
    ],
)
def test_rows_of_a_cut_box_may_lie_on_either_side(
    ranges: list[tuple[int, int]], value: float, least: float, most: float
) -> None:
    found, error = HALVES.counted(ranges)
    assert found == pytest.approx(value)
    below, above = (float(side[0]) for side in sides_of(error, 0.95, cells=1))
    assert found - below == pytest.approx(least, abs=0.1)
    assert found + above == pytest.approx(most, abs=0.1)
    assert float(error.half_width(0.95, cells=1)[0]) == max(below, above)


def test_clean_up_does_not_hide_how_far_counts_were_moved() -> None:
    corners = [((0, 0), (9, 2)), ((0, 3), (9, 5))]
    moved = boxes((10, 6), corners, [50.0, 0.0], raw=np.array([90.0, -40.0]))
    _, error = moved.counted([(0, 10), (0, 3)])
    below, above = (float(side[0]) for side in sides_of(error, 0.95, cells=1))
    assert (below, above) == (pytest.approx(0, abs=0.1), pytest.approx(40, abs=0.1))


@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(scale=Fraction(5)), DiscreteGaussian(sigma2=Fraction(9))]
)
def test_errors_grow_with_the_noises_of_a_box_and_with_the_confidence(
    noise: Any,
) -> None:
    corners = [((x, y), (x, y)) for x, y in product(range(8), repeat=2)]
    cells = boxes((8, 8), corners, [10.0] * 64, noise=noise)
    tree = boxes((8, 8), corners, [10.0] * 64, noise=noise, fanouts=((2, 2), (4, 4)))

    def width(
        shape: Boxes, side: int, confidence: float = 0.95, cells: int = 1
    ) -> float:
        _, error = shape.counted([(0, side), (0, side)])
        return float(error.half_width(confidence, cells=cells)[0])

    assert width(cells, 1) < width(cells, 2) < width(cells, 8)
    assert width(cells, 2, 0.5) < width(cells, 2, 0.9) < width(cells, 2, 0.99)
    assert width(cells, 2, cells=10) > width(cells, 2)
    assert width(tree, 4) < width(cells, 1)  # one node of the upper level, and leaves
    assert width(tree, 8) < width(cells, 2)
    assert width(cells, 4) > 2 * width(tree, 4)


def design(fanouts: Any) -> Any:
    """Return which leaves are in each node: shape ``(nodes, leaves)``."""
    leaves = tree_shapes(fanouts)[-1]
    units = np.eye(int(np.prod(leaves))).reshape(-1, *leaves)
    return np.stack([stacked(unit, fanouts)[:, 0] for unit in units], axis=1)


@pytest.mark.parametrize(
    ("fanouts", "sides"),
    [(((2, 2), (4, 4)), (8, 8)), (((2, 3), (3, 2)), (5, 6)), (((2, 2),) * 3, (8, 7))],
)
def test_the_error_of_a_box_of_a_tree_is_that_of_the_least_squares_fit(
    fanouts: Any, sides: tuple[int, int]
) -> None:
    corners = [((x, y), (x, y)) for x, y in product(*map(range, sides))]
    tree = boxes(sides, corners, [10.0] * len(corners), fanouts=fanouts)
    nodes = design(fanouts)
    fit = np.linalg.pinv(nodes)  # noises to leaves
    leaves = tree_shapes(fanouts)[-1]
    for ranges in (
        [(0, 1), (0, 1)],
        [(1, 4), (0, 5)],
        [(0, 5), (2, 3)],
        [(0, 4), (0, 4)],
    ):
        box = np.zeros(leaves)
        box[tuple(slice(*ends) for ends in ranges)] = 1
        weights = box.reshape(-1) @ fit
        _, error = tree.counted(ranges)
        assert error.noises == (pytest.approx(float(weights @ weights)),) * 2
        assert np.abs(weights).max() <= 1


def test_rows_are_spread_as_the_counts_are() -> None:
    codes = HALVES.codes(120)
    assert codes.shape == (120, 2)
    assert int((codes[:, 1] < 3).sum()) == 100
    assert set(codes[:, 0].tolist()) == set(range(10))
    spread = np.unique(codes[:100], axis=0, return_counts=True)[1]
    assert len(spread) == 30  # every cell of the box gets some
    assert spread.max() <= 6


def test_no_counts_spread_rows_over_all_cells() -> None:
    none = boxes((10, 6), [((0, 0), (9, 2)), ((0, 3), (9, 5))], [0.0, 0.0])
    codes = none.codes(60)
    assert int((codes[:, 1] < 3).sum()) == 30
    assert none.rows == 0


def test_a_box_of_all_of_2_to_the_64_points_is_cut_and_filled() -> None:
    whole = boxes((2**64, 2**64), [((0, 0), (2**64 - 1, 2**64 - 1))], [64.0])
    value, _ = whole.counted([(0, 2**63), (0, 2**62)])
    assert value == pytest.approx(8)
    codes = whole.codes(64)
    assert codes.dtype == np.uint64
    for axis in range(2):
        assert (codes[:, axis] < 2**63).sum() == pytest.approx(32, abs=2)


@pytest.mark.parametrize(
    ("edited", "fault"),
    [
        ({"first": np.zeros((2, 2))}, "two corners"),
        ({"last": np.zeros((1, 2), dtype=np.uint64)}, "two corners"),
        ({"last": np.full((2, 2), 99, dtype=np.uint64)}, "within their grids"),
        ({"values": np.array([np.nan, 1.0])}, "number of rows"),
        ({"values": np.array([-1.0, 1.0])}, "number of rows"),
        ({"raw": np.zeros(3)}, "number of rows"),
    ],
)
def test_an_edited_file_makes_no_boxes(edited: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        replace(HALVES, **edited)
