"""Products by tiles, against products at once."""

from __future__ import annotations

import numpy as np
import pytest

from dpframe import products
from dpframe.products import product, weighed


def whole_numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).integers(-(2**20), 2**20, shape).astype(float)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 12_345])
@pytest.mark.parametrize("rows", [1, 2, 33])
@pytest.mark.parametrize("small", [1, 100, 5_000, 1 << 17])
def test_tiles_make_the_whole_product(
    size: int, rows: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers this small have the same products in any order."""
    monkeypatch.setattr(products, "_SMALL", small)
    left, right = whole_numbers(rows, 21), whole_numbers(21, size)
    found = product(left, right)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert np.array_equal(found, left @ right)


def test_neither_order_in_memory_nor_gaps_matter() -> None:
    left, right = whole_numbers(40, 9), whole_numbers(9, 5_000)
    spread = np.zeros((9, 10_000))
    spread[:, ::2] = right
    for mine in (left, np.asfortranarray(left)):
        for other in (np.asfortranarray(right), spread[:, ::2]):
            assert np.array_equal(product(mine, other), left @ right)


def test_single_precision_stays_single() -> None:
    left, right = np.eye(3, dtype=np.float32), np.ones((3, 70_000), dtype=np.float32)
    assert product(left, right).dtype == np.float32
    assert (product(left, right) == 1).all()


@pytest.mark.parametrize("size", [0, 1, 7, 1000, 12_345])
@pytest.mark.parametrize("rows", [0, 1, 6, 33])
@pytest.mark.parametrize("small", [1, 100, 1 << 13])
def test_cells_that_are_met_weigh_what_they_do_at_once(
    size: int, rows: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_SMALL_SUM", small)
    met, weights = whole_numbers(rows, size) > 0, whole_numbers(size)
    found = weighed(met, weights)
    assert found.dtype == np.float64
    assert np.array_equal(found, met @ weights)
