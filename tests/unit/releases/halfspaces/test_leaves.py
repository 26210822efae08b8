"""What boxes prove of planes: against the rows themselves, counted apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from checks.planes import KINDS, World, made, proved, world

import dpframe
from dpframe.releases.boxes import Boxes
from dpframe.releases.halfspaces.leaves import Leaves
from dpframe.testing import recording

Array = np.ndarray[Any, np.dtype[Any]]

ROWS = 60
PLANES = 200


def leaves(here: World, *, label: bool = False, epsilon: float = 50) -> Leaves:
    shape = here.oracle("kd", 0.2, label=label, epsilon=epsilon).shape
    assert isinstance(shape, Leaves)
    return shape


def counted(shape: Leaves, counts: Array) -> Leaves:
    """Return the same boxes with other counts."""
    return replace(
        shape, boxes=replace(shape.boxes, raw=counts, values=np.maximum(counts, 0))
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", [False, True], ids=["rows", "labels"])
@pytest.mark.parametrize("dimension", [2, 3, 5, 10, 15, 20])
def test_boxes_prove_nothing_untrue_of_any_plane(
    dimension: int, kind: str, *, label: bool
) -> None:
    for seed in range(3 if dimension < 10 else 1):
        here = world(100 * dimension + seed, dimension, ROWS, kind)
        shape = leaves(here, label=label)
        rng = np.random.default_rng(seed)
        planes = here.planes(rng, PLANES, np.eye(dimension))
        assert shape.total.rows == ROWS
        assert proved(here, shape, planes)
        assert not proved(here, shape, planes, by=-1.5)
        assert not proved(here, shape, planes, by=1.5)
        if label:
            assert proved(here, shape, planes, wrong=True)
            flipped = made(-planes.normals, -planes.offsets)
            assert proved(here, shape, flipped, wrong=True)


@pytest.mark.parametrize("width", [*range(1, 40), 99, 100, 101, 127, 128, 1000])
def test_cells_of_whole_numbers_hold_all_that_goes_to_them(width: int) -> None:
    columns = [np.arange(width + 1) for _ in range(15)]  # four bits for each
    limits = [(0, width)] * 15
    labels = np.zeros(width + 1, dtype=bool)
    here = World(columns=columns, limits=limits, labels=labels)
    grid = leaves(here).ball.grids[0]
    reach = leaves(here).ball.reach[0] * math.sqrt(15) * width / 2
    points = np.array([float(grid.point(code)) for code in range(grid.size)])
    for value in range(width + 1):
        code = grid.code(value)  # type: ignore[arg-type]
        assert abs(points[code] - value) <= reach + 1e-9
    assert points[0] >= 0
    assert points[-1] <= width
    assert grid.size <= 16


def test_noises_are_those_of_the_counts_that_are_added_up() -> None:
    here = world(4, 2, 2000, "even")
    for label in (False, True):
        shape = leaves(here, label=label, epsilon=0.3)
        planes = here.planes(np.random.default_rng(1), 40, np.eye(2))
        size = len(shape.raw)
        assert 10 < size < 200
        for wrong in (False, True) if label else (False,):
            known = shape.evidence(planes, wrong=wrong)
            squares = np.zeros((2, len(planes)))
            for place in range(size):
                one = counted(shape, np.eye(size)[place])
                found = one.evidence(planes, wrong=wrong)
                squares += np.stack([found.sure, found.possible]) ** 2
            assert (squares[0] == known.sure_noises).all()
            assert (squares[1] == known.possible_noises).all()
            assert known.possible_noises.max() > known.sure_noises.min()


def test_planes_choose_among_no_more_sums_than_is_said() -> None:
    here = world(5, 2, 400, "even")
    for label in (False, True):
        shape = leaves(here, label=label, epsilon=1)
        size = len(shape.raw)
        names = counted(shape, 2.0 ** np.arange(size))  # a sum tells its boxes
        rng = np.random.default_rng(2)
        planes = here.planes(rng, 8000, np.eye(2))
        assert 4 <= size < 50
        for wrong in (False, True) if label else (False,):
            known = names.evidence(planes, wrong=wrong)
            for sums in (known.sure, known.possible):
                assert 10 < len(np.unique(sums)) <= math.exp(shape.choices)


def test_every_answer_keeps_the_margin_where_there_is_no_noise() -> None:
    for dimension, margin in ((2, 0.1), (2, 0.4), (3, 0.3)):
        here = world(6, dimension, 1500, "even")
        oracle = here.oracle("kd", margin)
        shape = oracle.shape
        planes = here.planes(np.random.default_rng(3), 1000, np.eye(dimension))
        found = shape.above(planes, margin)
        alpha = shape.alpha(0.95, margin)
        low = here.shares(planes.moved(margin))
        high = here.shares(planes.moved(-margin))
        assert (found >= low - alpha).all()
        assert (found <= high + alpha).all()
        shares = here.shares(planes)
        assert np.abs(found - shares).max() > 0.001  # it is not the rows that are read


def test_alpha_counts_rows_of_wide_boxes_and_the_noise_in_them() -> None:
    here = world(7, 2, 3000, "even")
    shape = leaves(here)
    size = len(shape.raw)
    exact = shape.alpha(0.95, 0.2)
    narrow = shape.alpha(0.95, 1e-4)
    assert exact < 0.2 < narrow
    none = counted(shape, np.full(size, 1e-9))
    assert none.alpha(0.95, 1e-4) == 1
    # Boxes that are too wide, with figures that say nothing but for their noise.
    ends = (shape.ball.places(shape.boxes.first), shape.ball.places(shape.boxes.last))
    widths = np.linalg.norm(ends[1] - ends[0], axis=1)
    middle = 1.01 * float(np.median(widths))
    wide = widths > middle
    counts = np.where(wide, 0.0, 10.0)
    known = counted(shape, counts)
    noise = known.total.bound(float(wide.sum()), 0.05)
    errors = known.worst(0.95) + noise
    assert 0 < errors / known.total.rows <= known.alpha(0.95, middle) < 1


def test_no_rows_make_a_release_that_says_so() -> None:
    frame: Any = pl.DataFrame(
        {"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.Int64}
    )
    private = frame.dp.attach(
        dpframe.Accountant(epsilon=10), bounds={"a": (0, 1), "b": (0, 9)}
    )
    with recording(noiseless=True):
        oracle = private.dp.halfspace_oracle(
            ["a", "b"], margin=0.1, method="kd", epsilon=1
        )
    assert oracle.low_count
    assert oracle.alpha() == 1
    answer = oracle.query({"a": 1}, 0.3)
    assert 0 <= answer.value <= 1
    assert answer.interval()[:2] == (0, 1)
    assert answer.count.value == 0
    assert len(oracle.to_native()) == oracle.row_count


def test_boxes_of_other_columns_are_refused() -> None:
    here = world(8, 2, 50, "even")
    shape = leaves(here)
    other = leaves(world(9, 3, 50, "even"))
    with pytest.raises(ValueError, match="boxes are those of the columns"):
        Leaves(ball=shape.ball, boxes=other.boxes)
    assert isinstance(shape.boxes, Boxes)
