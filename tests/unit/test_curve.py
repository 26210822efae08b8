"""The order of cells of several grids: ranges of codes are boxes."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from dpframe.curve import MOST_BITS, Curve

SMALL = [(2,), (5,), (4, 4), (2, 9), (7, 3), (3, 5, 2), (2, 2, 2, 3), (1, 6)]


def cells(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*(range(size) for size in sizes)))


def codes(curve: Curve, where: list[tuple[int, ...]]) -> list[int]:
    axes = [np.array(axis, dtype=np.uint64) for axis in zip(*where, strict=True)]
    return curve.codes(axes).tolist()


def inside(
    cell: tuple[int, ...], first: tuple[int, ...], last: tuple[int, ...]
) -> bool:
    return all(a <= x <= b for x, a, b in zip(cell, first, last, strict=True))


@pytest.mark.parametrize("sizes", SMALL, ids=str)
def test_each_cell_has_a_code_of_its_own(sizes: tuple[int, ...]) -> None:
    curve = Curve(sizes=sizes)
    found = codes(curve, cells(sizes))
    assert len(set(found)) == len(found)
    assert max(found) < 2**curve.depth
    assert curve.depth == sum((size - 1).bit_length() for size in sizes)


def test_one_grid_keeps_its_codes() -> None:
    found = codes(Curve(sizes=(2**64,)), [(0,), (5,), (2**64 - 1,)])
    assert found == [0, 5, 2**64 - 1]


@pytest.mark.parametrize("sizes", SMALL, ids=str)
def test_a_dyadic_range_holds_the_cells_of_its_box_and_no_other(
    sizes: tuple[int, ...],
) -> None:
    curve = Curve(sizes=sizes)
    everything = cells(sizes)
    found = codes(curve, everything)
    for free in range(curve.depth + 1):
        starts = np.arange(0, 2**curve.depth, 2**free, dtype=np.uint64)
        first, last = curve.boxes(starts, np.full(len(starts), free))
        for start, low, high in zip(
            starts.tolist(), first.tolist(), last.tolist(), strict=True
        ):
            by_code = {
                cell
                for cell, code in zip(everything, found, strict=True)
                if start <= code < start + 2**free
            }
            assert by_code == {cell for cell in everything if inside(cell, low, high)}


@pytest.mark.parametrize("sizes", SMALL, ids=str)
def test_boxes_of_any_dyadic_partition_fill_the_grids_once(
    sizes: tuple[int, ...],
) -> None:
    rng = Random(str(sizes))  # noqa: S311 - test data
    curve = Curve(sizes=sizes)
    for _ in range(20):
        ranges = [(0, curve.depth)]
        for _ in range(rng.randint(0, 12)):
            start, free = ranges.pop(rng.randrange(len(ranges)))
            if free:
                ranges += [(start, free - 1), (start + 2 ** (free - 1), free - 1)]
            else:
                ranges.append((start, free))
        starts = np.array([start for start, _ in ranges], dtype=np.uint64)
        first, last = curve.boxes(starts, np.array([free for _, free in ranges]))
        for cell in cells(sizes):
            pairs = zip(first.tolist(), last.tolist(), strict=True)
            assert sum(inside(cell, low, high) for low, high in pairs) == 1


LONG = [(2**64, 2**64), (2**40, 2**30, 17), (2**33, 2**33), (2**64, 2), (2**20,) * 6]


@pytest.mark.parametrize("sizes", LONG, ids=str)
def test_beyond_64_bits_neighbouring_cells_share_a_code_and_its_box(
    sizes: tuple[int, ...],
) -> None:
    rng = Random(str(sizes))  # noqa: S311 - test data
    curve = Curve(sizes=sizes)
    assert curve.depth == MOST_BITS
    where = [tuple(rng.randrange(size) for size in sizes) for _ in range(50)]
    where += [(0,) * len(sizes), tuple(size - 1 for size in sizes)]
    found = codes(curve, where)
    for free in (0, 1, 5, 31, 63):
        starts = np.array([code >> free << free for code in found], dtype=np.uint64)
        first, last = curve.boxes(starts, np.full(len(starts), free))
        for cell, low, high in zip(where, first.tolist(), last.tolist(), strict=True):
            assert inside(cell, low, high)
            ends = codes(curve, [tuple(low), tuple(high)])
            assert ends[0] >> free == ends[1] >> free
    (low,), (high,) = curve.boxes(np.zeros(1, np.uint64), np.array([64]))
    assert low.tolist() == [0] * len(sizes)
    assert all(top >= size - 1 for top, size in zip(high.tolist(), sizes, strict=True))


def test_every_axis_is_halved_in_turn_from_the_coarsest() -> None:
    curve = Curve(sizes=(4, 4))
    assert codes(curve, cells((4, 4))) == [
        *(0, 1, 4, 5),
        *(2, 3, 6, 7),
        *(8, 9, 12, 13),
        *(10, 11, 14, 15),
    ]
