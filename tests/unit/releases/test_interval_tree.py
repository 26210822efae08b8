"""Leaves, prefix sums and cells from noisy trees, against plain linear algebra."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from dpframe.nested import fanouts
from dpframe.releases.interval_tree import consistent, monotone, simplex

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.mark.parametrize("size", [*range(1, 300), 4095, 4096, 65_537, 2**20, 2**22])
def test_fanouts_are_the_smallest_that_cover_the_size(size: int) -> None:
    found = fanouts(size)
    levels, b = len(found), found[0]
    assert levels == max(1, math.floor(math.log2(size) / 4))
    assert set(found) == {b}
    assert b**levels >= size > (b - 1) ** levels


def test_fanouts_of_the_sizes_in_use() -> None:
    sizes = {2**4: (16,), 2**7: (128,), 2**8: (16, 16), 2**10: (32, 32)}
    sizes |= {2**16: (16,) * 4, 2**20: (16,) * 5, 2**22: (22,) * 5, 255: (255,)}
    assert {size: fanouts(size) for size in sizes} == sizes


TREES = {
    "one level": [(5,)],
    "two levels": [(2,), (3,)],
    "a line": [(3,), (2,), (4,)],
    "a single child": [(1,), (3,), (1,)],
    "a sheet": [(2, 3), (3, 2)],
    "an axis that stays whole": [(4, 1), (1, 3), (2, 2)],
    "a cube": [(2, 1, 3), (2, 3, 1)],
}


def shapes(fans: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    sizes = np.cumprod(np.array(fans), axis=0)
    return [tuple(map(int, size)) for size in sizes]


def design(fans: list[tuple[int, ...]]) -> Array:
    """Which leaves each node of each level has below it; a row per node."""
    found = shapes(fans)
    leaves = list(product(*map(range, found[-1])))
    rows = [
        [
            all(
                leaf[j] * level[j] // found[-1][j] == node[j] for j in range(len(level))
            )
            for leaf in leaves
        ]
        for level in found
        for node in product(*map(range, level))
    ]
    return np.array(rows, dtype=float)


def noisy(fans: list[tuple[int, ...]], seed: int) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.integers(-50, 50, shape) for shape in shapes(fans)]


@pytest.mark.parametrize("fans", TREES.values(), ids=TREES.keys())
def test_consistent_leaves_are_the_least_squares_solution(
    fans: list[tuple[int, ...]],
) -> None:
    levels = noisy(fans, 1)
    figures = np.concatenate([level.ravel() for level in levels])
    expected = np.linalg.lstsq(design(fans), figures)[0]
    found = consistent(levels, fans)
    assert found.shape == levels[-1].shape
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-10)
    if len(fans) > 1:
        assert not np.allclose(levels[-1].ravel(), expected)  # the leaves alone


def test_consistent_leaves_of_the_published_example() -> None:
    found = consistent([np.array([5, 5]), np.array([3, 1, 4, 2])], [(2,), (2,)])
    np.testing.assert_allclose(found, [10 / 3, 4 / 3, 11 / 3, 5 / 3])


def test_exact_counts_stay_as_they_are() -> None:
    fans = [(3, 2), (2, 2), (1, 3)]
    leaves = np.random.default_rng(2).integers(0, 99, shapes(fans)[-1])
    levels = [
        leaves.reshape(a, leaves.shape[0] // a, b, -1).sum(axis=(1, 3))
        for a, b in shapes(fans)
    ]
    np.testing.assert_allclose(consistent(levels, fans), leaves, atol=1e-9)


def test_figures_of_any_integer_type_are_read_and_left_alone() -> None:
    fans = TREES["a line"]
    levels = noisy(fans, 3)
    before = [level.copy() for level in levels]
    wide = [level.astype(object) * 2**70 for level in levels]
    floats = [level.astype(float) for level in levels]
    found = consistent(levels, fans)
    np.testing.assert_allclose(consistent(wide, fans), found * 2.0**70)
    np.testing.assert_array_equal(consistent(floats, fans), found)
    for old, *others in zip(before, levels, floats, strict=True):
        for now in others:
            np.testing.assert_array_equal(old, now)


LONG = 30_000


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


SEQUENCES: dict[str, Callable[[], Array]] = {
    "one value": lambda: np.array([3.0]),
    "rising": lambda: np.arange(LONG),
    "falling": lambda: -np.arange(LONG),
    "constant": lambda: np.full(LONG, 7),
    "independent": lambda: draw(1).normal(size=LONG),
    "a walk": lambda: draw(2).normal(size=LONG).cumsum(),
    "a noisy distribution": lambda: np.arange(LONG) + 40 * draw(3).normal(size=LONG),
    "whole numbers with ties": lambda: draw(4).integers(-5, 5, LONG).cumsum(),
    "a drop at the end": lambda: np.append(np.arange(LONG), -1e9),
    "a slow fall after a rise": lambda: np.abs(np.arange(LONG) - LONG / 2) * -1.0,
    "a valley": lambda: np.abs(np.arange(LONG) - LONG / 2),
    "rare drops": lambda: np.arange(LONG) - 1e5 * (np.arange(LONG) % 100 == 0),
    "ever lower rises": lambda: np.arange(LONG) % 500 - np.arange(LONG) // 500,
}


@pytest.mark.parametrize("make", SEQUENCES.values(), ids=SEQUENCES.keys())
def test_monotone_is_isotonic_regression_between_zero_and_the_last(
    make: Callable[[], Array],
) -> None:
    values = make()
    lift = 10 + abs(float(values.min()))  # leaves the regression in sight
    for each in (values, values + lift):
        best = isotonic_regression(each.astype(float)).x
        expected = np.clip(best, 0, max(float(each[-1]), 0))
        size = float(np.abs(each).max())
        np.testing.assert_allclose(monotone(each), expected, atol=1e-10 * size)
        assert (np.diff(monotone(each)) >= 0).all()


def test_monotone_of_the_published_example() -> None:
    np.testing.assert_allclose(monotone(np.array([1, 3, 2, 5])), [1, 2.5, 2.5, 5])


def test_monotone_of_a_total_below_zero_is_zero() -> None:
    np.testing.assert_array_equal(monotone(np.array([5, 3, -1])), [0, 0, 0])


def widest(errors: Array) -> float:
    """The largest error of any interval: of differences of prefixes."""
    return float(max(errors.max(), 0) - min(errors.min(), 0))


def clean_up_that_overdoes_it(cumulative: Array) -> Array:
    """Pools only upwards: each prefix is raised to the largest before it."""
    return np.clip(np.maximum.accumulate(cumulative), 0, None) + 0.5


def worst_growth(clean: Callable[[Array], Array]) -> tuple[float, float]:
    """How far the errors of intervals and prefixes grow, over many made-up cases."""
    generator = draw(6)
    growths = []
    for _ in range(3000):
        size = int(generator.integers(1, 30))
        truth = generator.poisson(generator.choice([0.05, 1, 9]), size).cumsum()
        noise = generator.laplace(size=size) * generator.choice([0.1, 1, 20])
        if generator.random() < 0.5:
            noise = noise.cumsum()
        before, after = noise, clean(truth + noise) - truth
        growths.append(
            (
                widest(after) - widest(before),
                np.abs(after).max() - np.abs(before).max(),
            )
        )
    worst = np.max(growths, axis=0)
    return float(worst[0]), float(worst[1])


def test_monotone_never_increases_the_largest_error() -> None:
    assert max(worst_growth(monotone)) < 1e-9
    assert min(worst_growth(clean_up_that_overdoes_it)) > 0.1


def test_simplex_of_the_published_example() -> None:
    found = simplex(np.array([2.6, -0.4, 1.8]), 4)
    np.testing.assert_allclose(found, [2.4, 0, 1.6])


@pytest.mark.parametrize("total", [0.5, 10, 1000])
def test_simplex_is_the_nearest_point(total: float) -> None:
    values = draw(7).normal(size=(8, 5)) * 4
    found = simplex(values, total)
    assert found.shape == values.shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    # The gradient points nowhere inside: no other point is on the near side.
    others = draw(8).dirichlet(np.full(40, 0.2), 500) * total
    gaps = (others - found.ravel()) @ (values - found).ravel()
    assert gaps.max() <= 1e-9
    beside = np.full(40, total / 40)
    assert ((others - beside) @ (values.ravel() - beside)).max() > 0


@pytest.mark.parametrize("total", [0, -3.5])
def test_simplex_without_a_total_is_zero(total: float) -> None:
    np.testing.assert_array_equal(simplex(np.array([[1, 2], [3, 4]]), total), 0)
