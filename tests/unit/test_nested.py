"""Counts of all nodes of a tree of cells, against brute force."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.engines.local import evaluate
from dpframe.errors import ParameterError
from dpframe.mechanisms.grids import grid_of
from dpframe.mechanisms.intervals import box_fanouts
from dpframe.nested import Nested, fanouts, root, stacked, tree_shapes, unstacked
from dpframe.tally import Contribution, Per

WEIGHT = 2**16
SIZES = {"x": 11, "y": 7, "z": 2}
TREES = [
    (("x",), ((4,), (3,))),
    (("x",), ((11,),)),
    (("x",), ((2,), (2,), (3,))),
    (("x", "y"), ((4, 3), (3, 3))),
    (("x", "y", "z"), ((3, 2, 1), (2, 2, 2), (2, 2, 1))),
]


def rows(number: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = Random(seed)  # noqa: S311 - test data
    found: list[dict[str, Any]] = []
    for _ in range(number):
        row: dict[str, Any] = {
            name: rng.choice([None, -3, size + 5, *range(size)])
            for name, size in SIZES.items()
        }
        found.append(row | {"u": rng.choice([None, *range(max(number // 3, 1))])})
    return found


def private(data: list[dict[str, Any]], **declared: Any) -> Any:
    schema = dict.fromkeys([*SIZES, "u"], pl.Int64)
    frame: Any = pl.DataFrame(data, schema=schema)
    return dpframe.attach(frame, dpframe.Accountant(epsilon=1), **declared)


def tree(frame: Any, names: tuple[str, ...], levels: Any, **limits: Any) -> Nested:
    grids = tuple(
        grid_of(frame, name, bounds=(0, SIZES[name] - 1), release="count")
        for name in names
    )
    return Nested(axes=grids, fanouts=levels, contribution=Contribution(**limits))


def brute(
    data: list[dict[str, Any]], names: tuple[str, ...], levels: Any, limit: int | None
) -> list[int]:
    """Count the rows of each node by hand: nodes are blocks of leaves."""
    shares: dict[Any, int] = {}
    for row in data:
        shares[row["u"]] = shares.get(row["u"], 0) + 1
    found: list[int] = []
    for level in range(len(levels)):
        below = [math.prod(axis) for axis in zip(*levels[level + 1 :], strict=True)]
        widths = below or [1] * len(names)
        counts = [math.prod(axis) for axis in zip(*levels[: level + 1], strict=True)]
        for node in product(*(range(count) for count in counts)):
            weight = 0
            for row in data:
                if any(row[name] is None for name in names):
                    continue
                if limit is not None and row["u"] is None:
                    continue
                codes = [min(max(row[name], 0), SIZES[name] - 1) for name in names]
                if all(
                    c // width == at
                    for c, width, at in zip(codes, widths, node, strict=True)
                ):
                    weight += (
                        1
                        if limit is None
                        else min(WEIGHT * limit // shares[row["u"]], WEIGHT)
                    )
            found.append(weight)
    return found


@pytest.mark.parametrize(("names", "levels"), TREES, ids=str)
@pytest.mark.parametrize("limit", [None, 2])
def test_every_node_holds_the_rows_of_its_leaves(
    names: tuple[str, ...], levels: Any, limit: int | None
) -> None:
    for number in (0, 1, 40):
        data = rows(number)
        declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
        frame = private(data, **declared)
        limits = {} if limit is None else {"per": Per.ROWS, "limit": limit}
        nested = tree(frame, names, levels, **limits)
        (found,) = [evaluate(frame, nested)]
        assert found.shape == (nested.cells, 1)
        assert found[:, 0].tolist() == brute(data, names, levels, limit)


@pytest.mark.parametrize(("names", "levels"), TREES, ids=str)
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_a_unit_moves_all_nodes_by_as_much_as_is_claimed_and_by_no_more(
    names: tuple[str, ...], levels: Any, limit: int | None
) -> None:
    furthest: list[tuple[float, float]] = []
    for seed in range(8):
        data = rows(12, seed)
        if limit is None:
            data = [row | {"u": place} for place, row in enumerate(data)]
        declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
        limits = {} if limit is None else {"per": Per.ROWS, "limit": limit}
        nested = tree(private(data), names, levels, **limits)
        for gone in {row["u"] for row in data}:
            rest = [row for row in data if row["u"] != gone]
            whole, less = (
                evaluate(private(one, **declared), nested)[:, 0] for one in (data, rest)
            )
            gaps = np.abs(whole - less)
            l1, l2 = int(gaps.sum()), int((gaps**2).sum())
            assert l1 <= nested.row * nested.multiplicity
            assert l2 <= nested.row * nested.multiplicity_squared
            furthest.append(
                (
                    l1 / (nested.row * nested.multiplicity),
                    l2 / (nested.row * nested.multiplicity_squared),
                )
            )
    assert max(l1 for l1, _ in furthest) == 1
    if limit in (None, 1):  # two full rows of a unit may lie in two places
        assert max(l2 for _, l2 in furthest) == 1


def test_a_unit_whose_rows_lie_together_moves_the_squares_as_far() -> None:
    data = [{"x": 3, "y": 1, "z": 0, "u": 1}] * 2
    levels = ((4,), (3,))
    frame = private(data, privacy_unit="u", max_rows=2)
    nested = tree(frame, ("x",), levels, per=Per.ROWS, limit=2)
    (found,) = [evaluate(frame, nested)]
    assert int((found**2).sum()) == nested.row * nested.multiplicity_squared


@pytest.mark.parametrize(("names", "levels"), TREES, ids=str)
def test_levels_come_apart_as_they_were_put_together(
    names: tuple[str, ...], levels: Any
) -> None:
    shape = tuple(SIZES[name] for name in names)
    cells = np.arange(math.prod(shape)).reshape(shape)
    found = unstacked(stacked(cells, levels), levels)
    assert [one.shape for one in found] == tree_shapes(levels)
    inner = tuple(slice(size) for size in shape)
    assert (found[-1][inner] == cells).all()
    assert {int(one.sum()) for one in found} == {int(cells.sum())}


def test_a_tree_that_misses_cells_is_refused() -> None:
    frame = private([])
    with pytest.raises(ValueError, match="every cell"):
        tree(frame, ("x",), ((2,), (5,)))


def test_a_tree_that_is_too_large_is_refused() -> None:
    frame = private([])
    with pytest.raises(ParameterError, match="nodes"):
        tree(frame, ("x",), ((2**20,), (2**20,)))


@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 255, 256, 257, 2**12, 10**5, 2**20])
def test_the_branching_is_the_least_that_covers_the_cells(size: int) -> None:
    found = fanouts(size)
    branching = found[0]
    assert set(found) == {branching}
    assert len(found) == max(1, (size.bit_length() - 1) // 4)
    assert branching ** len(found) >= size
    assert branching == 1 or (branching - 1) ** len(found) < size


@pytest.mark.parametrize("levels", [1, 2, 3, 5, 8])
def test_roots_are_whole_and_exact(levels: int) -> None:
    for number in (1, 2, 3, 10, 2**20, 2**53 + 1, 3**30, 2**64):
        found = root(number, levels)
        assert found**levels >= number
        assert found == 1 or (found - 1) ** levels < number


@pytest.mark.parametrize("sizes", [(2, 2), (7, 11), (64, 64), (2, 2000), (5,) * 5])
def test_trees_of_boxes_cover_all_cells(sizes: tuple[int, ...]) -> None:
    frame = private([])
    grids = tuple(
        grid_of(frame, "x", bounds=(0, size - 1), release="count") for size in sizes
    )
    leaves = tree_shapes(box_fanouts(grids))[-1]
    assert all(n >= size for n, size in zip(leaves, sizes, strict=True))
    assert math.prod(leaves) <= 4 * math.prod(sizes)
