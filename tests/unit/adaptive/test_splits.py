from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chi2

from dpframe.adaptive import splits
from dpframe.adaptive.splits import SplitRule, level_bias, split
from dpframe.engines.ordered import Ordered
from dpframe.testing import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

ROW = 1 << 16
EPSILONS = ["1", "0.1", "5"]


def rule(epsilon: str = "1", rows: int = 1, weight: int = 1) -> SplitRule:
    return SplitRule(
        epsilon=Fraction(epsilon), multiplicity=rows * weight, weight=weight
    )


def ordered(codes: list[int], weights: list[int] | None = None) -> Ordered:
    order = Ordered(codes=np.array(sorted(codes), dtype=np.uint64))
    if weights is None:
        return order
    running = np.concatenate([[0], np.cumsum(np.array(weights, dtype=np.int64))])
    return Ordered(codes=order.codes, running=running)


def fresh(noise: Noise, size: int) -> Array:
    return noise.sample(size)


def shape(order: Ordered, depth: int, draw: Any = fresh, **options: Any) -> list[int]:
    given = {"epsilon": Fraction(1), "multiplicity": 1, "weight": 1} | options
    return split(order, depth=depth, draw=draw, **given).tolist()


# The law: a range of score s is split if s + Z > 0.


def log_split(scores: Array, scale: float) -> Array:
    """Logarithm of P(Z > -s) for discrete Laplace noise."""
    rate, norm = 1 / scale, 1 + math.exp(-1 / scale)
    low = np.minimum(scores, 1)
    high = np.maximum(scores, 1)
    return np.where(
        scores <= 1,
        -(1 - low) * rate - math.log(norm),
        np.log1p(-np.exp(-high * rate) / norm),
    )


def log_leaf(scores: Array, scale: float) -> Array:
    """Logarithm of P(Z <= -s), by symmetry."""
    return log_split(1 - scores, scale)


def test_the_chances_of_a_split_are_those_of_the_noise() -> None:
    noise = rule("300").noise
    scale = float(noise.scale)
    for score in (0, -1, -5, -9000, -40000):
        above = noise.tail(-score) / 2  # P(Z > -s)
        assert log_split(np.array([score]), scale)[0] == pytest.approx(math.log(above))
    for score in (1, 7, 10000):
        above = 1 - noise.tail(score - 1) / 2
        assert log_split(np.array([score]), scale)[0] == pytest.approx(math.log(above))
    both = np.exp(log_split(np.arange(-9, 9), 3.0)) + np.exp(
        log_leaf(np.arange(-9, 9), 3.0)
    )
    assert both == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("scale", ["1/7", "1", "17/3", "3145728", "1e30"])
def test_scores_fall_by_enough_to_halve_what_a_split_costs(scale: str) -> None:
    bias = level_bias(Fraction(scale))
    with localcontext(prec=60):
        limit = Decimal(Fraction(scale).numerator) / Fraction(scale).denominator
        exact = limit * Decimal(2).ln()
        assert exact <= bias <= exact * (1 + Decimal(10) ** -20) + 1


def test_noise_and_scores_are_in_steps_of_a_millionth_of_a_row() -> None:
    plain, weighted = rule("1/2", rows=1), rule("1/2", rows=3, weight=ROW)
    assert plain.noise.scale == 6 << 20
    assert weighted.noise.scale == 18 << 20
    assert weighted.refinement * ROW == plain.refinement == 1 << 20
    assert plain.scores(np.array([0, 2]), 0).tolist() == [0, 2 << 20]
    assert plain.scores(np.array([9]), 2).tolist() == [(9 << 20) - 2 * plain.bias]
    assert plain.scores(np.array([0, 1]), 9).tolist() == [-plain.bias] * 2


def test_scores_of_a_tiny_epsilon_do_not_run_over() -> None:
    tiny = rule("1e-15")
    scores = tiny.scores(np.array([0, 1 << 40]), 63)
    assert scores.tolist() == [-tiny.bias] * 2
    assert tiny.bias > 1 << 63
    assert shape(ordered([1, 5]), 64, epsilon=Fraction(1, 10**15))[0] == 0


# One step of weight costs 3 / t along any path, so that a unit costs epsilon.


def closest_path(gain: Callable[[Array], Array], bias: int, starts: Array) -> float:
    """Return the largest sum of gains along biased counts as close as can be."""
    depths = np.arange(64)
    scores = starts[:, None] + depths[None, :] * bias
    return float(gain(scores).sum(axis=1).max())


def gains(step: int, scale: float, floor: int) -> Callable[[Array], Array]:
    """Return what splits cost if a weight rises by a step, by biased count."""

    def gain(scores: Array) -> Array:
        after = log_split(np.maximum(scores + step, -floor), scale)
        return after - log_split(np.maximum(scores, -floor), scale)

    return gain


def path_loss(found: SplitRule, step: int, bias: int | None = None) -> float:
    """Return what a step of weight in steps costs at worst, on a path of 64 splits."""
    fall = found.bias if bias is None else bias
    reach = fall + step
    starts = np.unique(np.linspace(-reach, fall + 1, 4001).astype(np.int64))
    starts = np.concatenate([starts, np.arange(-fall - 3, -fall + 4), np.arange(-3, 4)])
    gain = gains(step, float(found.noise.scale), fall)
    return closest_path(gain, fall, starts)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows", [1, 3, 20])
@pytest.mark.parametrize("weight", [1, ROW])
def test_a_unit_on_one_path_of_64_splits_costs_at_most_epsilon(
    epsilon: str, rows: int, weight: int
) -> None:
    found = rule(epsilon, rows, weight)
    whole = found.multiplicity * found.refinement
    # A part of a unit costs at most its part of epsilon: so units may be spread.
    for part in (whole, whole // 2, whole // 10, whole // 1000, 1):
        allowed = float(Fraction(epsilon)) * part / whole
        assert path_loss(found, part) <= allowed * (1 + 1e-9)


def test_a_full_row_costs_three_quarters_of_epsilon_one() -> None:
    assert path_loss(rule("1"), 1 << 20) == pytest.approx(0.75, abs=0.001)


def test_the_smallest_step_costs_what_its_series_adds_up_to() -> None:
    # 1 at the floor, and 1 / (2**j - 1) for the splits above it, of 3 allowed.
    series = 1 + sum(1 / (2**j - 1) for j in range(1, 64))
    loss = path_loss(rule("1"), 1) * (1 << 20)
    assert loss == pytest.approx(series / 3, abs=1e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_path_without_bias_or_with_a_quarter_of_the_noise_is_refuted(
    epsilon: str,
) -> None:
    found = rule(epsilon)
    allowed = float(Fraction(epsilon))
    assert path_loss(found, 1 << 20, bias=0) > allowed
    low = SplitRule(epsilon=4 * Fraction(epsilon), multiplicity=1, weight=1)
    assert path_loss(low, 1 << 20) > allowed


@pytest.mark.parametrize("scale", ["1/5", "1", "3", "10", "47/3", "60"])
@pytest.mark.parametrize("step", [1, 2, 7, 40])
def test_no_path_of_falling_weights_costs_more_on_a_coarse_grid(
    scale: str, step: int
) -> None:
    bias = level_bias(Fraction(scale))
    found = worst_path(float(Fraction(scale)), bias, step)
    assert found <= step * 3 / float(Fraction(scale)) * (1 + 1e-12)


def test_a_path_of_a_smaller_bias_is_refuted_on_a_coarse_grid() -> None:
    assert worst_path(10.0, level_bias(Fraction(10)) // 3, 1) > 3 / 10


def worst_path(scale: float, bias: int, step: int) -> float:
    """Search all paths of 64 biased counts that fall by the bias at least."""
    counts = np.arange(-bias - step, math.ceil(64 * bias + 50 * scale))
    gain = gains(step, scale, bias)(counts)
    best = np.zeros(len(counts))
    for _ in range(64):
        # A count of this depth, and the best of those that are lower by the bias.
        below = np.concatenate([np.zeros(bias), best])[: len(counts)]
        best = np.maximum.accumulate(gain + below)
    return float(best[-1])


# All shapes of a small tree, exactly.


def shapes(depth: int) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Return for every tree of a depth its split ranges and its leaves that draw."""
    found: list[tuple[frozenset[int], frozenset[int]]] = []

    def grow(open_: list[int], inner: frozenset[int], leaves: frozenset[int]) -> None:
        if not open_:
            found.append((inner, leaves))
            return
        node, *rest = open_
        if node >= 1 << depth:  # a single code
            grow(rest, inner, leaves)
            return
        grow(rest, inner, leaves | {node})
        grow([2 * node, 2 * node + 1, *rest], inner | {node}, leaves)

    grow([1], frozenset(), frozenset())
    return found


def logs_of_shapes(
    weights: Array, depth: int, found: SplitRule, bias: int | None = None
) -> Array:
    """Return the logarithm of each shape's chance, by weights of cells in steps."""
    fall = found.bias if bias is None else bias
    scale = float(found.noise.scale)
    scores: list[Array] = [np.zeros(len(weights))]  # no node has number 0
    for level in range(depth):
        parts = weights.reshape(len(weights), 1 << level, -1).sum(axis=2)
        scores += list(np.maximum(parts - level * fall, -fall).T)
    table = np.stack(scores, axis=1)
    trees = shapes(depth)
    inner = np.zeros((len(trees), table.shape[1]))
    leaves = np.zeros((len(trees), table.shape[1]))
    for index, (split_, kept) in enumerate(trees):
        inner[index, list(split_)] = 1
        leaves[index, list(kept)] = 1
    return log_split(table, scale) @ inner.T + log_leaf(table, scale) @ leaves.T


def some_data(cells: int, rows: int) -> Array:
    """Return all data sets of a few rows over a few cells, as counts."""
    found = [
        np.bincount(np.array(places, dtype=np.int64), minlength=cells)
        for size in range(rows + 1)
        for places in itertools.combinations_with_replacement(range(cells), size)
    ]
    return np.array(found)


def units(cells: int, weight: int) -> list[Array]:
    """Return what units may add: eighths of their full weight, anywhere."""
    parts = [(8,), (4,), (4, 4), (2, 6), (3, 2, 3)] if cells < 16 else [(8,), (2, 6)]
    return [
        np.bincount(places, weights=given, minlength=cells).astype(np.int64)
        * (weight // 8)
        for given in parts
        for places in itertools.combinations_with_replacement(range(cells), len(given))
    ]


def largest_loss(
    depth: int, found: SplitRule, rows: int, bias: int | None = None
) -> float:
    """Return how far the logarithms of chances of neighbours lie apart, at most."""
    full = 1 << 20
    cells = 1 << depth
    counts = some_data(cells, {2: 4, 3: 2, 4: 1}[depth])
    many = max(1, math.ceil(float(found.noise.scale) / full))
    data = np.concatenate([counts, counts * many]) * full
    before = logs_of_shapes(data, depth, found, bias)
    return max(
        float(np.abs(logs_of_shapes(data + unit, depth, found, bias) - before).max())
        for unit in units(cells, rows * full)
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_shape_tells_a_unit_by_more_than_epsilon(
    epsilon: str, depth: int, rows: int
) -> None:
    loss = largest_loss(depth, rule(epsilon, rows, ROW), rows)
    assert loss <= float(Fraction(epsilon))
    assert loss > float(Fraction(epsilon)) / 3


def test_shapes_of_too_little_noise_are_refuted() -> None:
    loud = SplitRule(epsilon=Fraction(4), multiplicity=1, weight=1)
    assert largest_loss(3, loud, 1) > 1


def test_shapes_without_a_bias_are_refuted() -> None:
    # Three splits cost no more than a bias allows anyway; four do.
    found = rule("0.1")
    assert largest_loss(4, found, 1) <= 0.1
    assert largest_loss(4, found, 1, bias=0) > 0.1


def test_the_chances_of_all_shapes_add_up() -> None:
    assert [len(shapes(depth)) for depth in range(4)] == [1, 2, 5, 26]
    chances = np.exp(logs_of_shapes(some_data(8, 2) << 20, 3, rule()))
    assert chances.sum(axis=1) == pytest.approx(1, rel=1e-13)


# What `split` draws is that law.


def starts_of(depth: int, inner: frozenset[int]) -> tuple[int, ...]:
    found: list[int] = []

    def walk(node: int, level: int) -> None:
        if node in inner:
            walk(2 * node, level + 1)
            walk(2 * node + 1, level + 1)
        else:
            found.append((node - (1 << level)) << (depth - level))

    walk(1, 0)
    return tuple(found)


def test_shapes_are_drawn_as_often_as_they_should_be() -> None:
    runs, depth = 6000, 3
    order = ordered([0, 0, 0, 1, 1, 5], [ROW] * 4 + [ROW // 2] * 2)
    given = rule("3", 2, ROW)
    weights = np.array([[3 * ROW, ROW + ROW // 2, 0, 0, 0, ROW // 2, 0, 0]])
    logs = logs_of_shapes(weights * given.refinement, depth, given)
    expected = {
        starts_of(depth, inner): math.exp(log)
        for (inner, _), log in zip(shapes(depth), logs[0], strict=True)
    }
    with seeded(7):
        seen = Counter(
            tuple(
                shape(order, 3, epsilon=Fraction(3), multiplicity=2 * ROW, weight=ROW)
            )
            for _ in range(runs)
        )
    assert seen.keys() <= expected.keys()
    gaps = [
        (seen[key] - runs * chance) ** 2 / (runs * chance)
        for key, chance in expected.items()
    ]
    assert sum(gaps) < chi2.isf(1e-6, len(expected) - 1)


def test_a_range_is_split_only_if_its_score_and_noise_are_above_zero() -> None:
    found = rule()
    row = found.refinement

    def levels(values: list[int]) -> Callable[[Noise, int], Array]:
        given = iter(values)
        return lambda _, size: np.full(size, next(given))

    order = ordered([0, 0, 0])
    first = -3 * row  # the score of the root is three rows
    assert shape(order, 1, levels([first])) == [0]
    assert shape(order, 1, levels([first + 1])) == [0, 1]
    second = found.bias - 3 * row
    # The half without rows is at the floor.
    assert shape(order, 2, levels([0, second])) == [0, 2]
    assert shape(order, 2, levels([0, second + 1])) == [0, 1, 2]
    assert shape(order, 2, levels([0, found.bias])) == [0, 1, 2]
    assert shape(order, 2, levels([0, found.bias + 1])) == [0, 1, 2, 3]


def test_noise_is_drawn_for_a_whole_level_at_once_and_not_for_single_codes() -> None:
    sizes: list[int] = []

    def always(noise: Noise, size: int) -> Array:
        assert noise == rule().noise
        sizes.append(size)
        return np.full(size, 1 << 40)

    assert shape(ordered([3]), 4, always) == list(range(16))
    assert sizes == [1, 2, 4, 8]


def test_a_domain_of_one_code_is_one_leaf() -> None:
    assert shape(ordered([0, 0]), 0) == [0]


@pytest.mark.parametrize("depth", [1, 20, 63, 64])
def test_without_noise_leaves_close_in_on_an_atom(depth: int) -> None:
    place = (1 << depth) - 1
    order = ordered([place] * 200)
    found = split(
        order,
        depth=depth,
        epsilon=Fraction(10**9),
        multiplicity=1,
        weight=1,
        draw=fresh,
    )
    assert found.dtype == np.uint64
    leaves = [int(start) for start in found]
    assert leaves == [(1 << depth) - (1 << k) for k in range(depth, -1, -1)]


def test_leaves_ascend_from_zero_for_any_data() -> None:
    random = np.random.default_rng(3)
    for rows in (0, 1, 100, 20000):
        codes = random.integers(0, 1 << 40, rows, dtype=np.uint64)
        found = split(
            Ordered(codes=np.sort(codes)),
            depth=40,
            epsilon=Fraction(1),
            multiplicity=1,
            weight=1,
            draw=fresh,
        )
        assert found[0] == 0
        assert (np.diff(found.astype(np.int64)) > 0).all()
        assert found[-1] < 1 << 40


def test_the_tree_of_no_rows_has_three_ranges_on_average_at_most() -> None:
    runs = 2000
    with seeded(5):
        sizes = [2 * len(shape(ordered([]), 64)) - 1 for _ in range(runs)]
    # A range is split with a chance of at most 1/4 below the root: sizes have short
    # tails, and their mean is within six standard errors of 3.
    assert 2 < np.mean(sizes) < 3 + 6 * np.std(sizes) / math.sqrt(runs)


def test_a_tree_is_not_much_larger_than_what_rows_ask_for() -> None:
    order = Ordered(codes=np.arange(100_000, dtype=np.uint64) << np.uint64(40))
    found = rule("0.4")
    asked = sum(
        int((found.scores(weights, depth) > -found.bias).sum())
        for depth in range(64)
        for weights in [
            np.unique(order.codes >> np.uint64(64 - depth), return_counts=True)[1]
            if depth
            else np.array([100_000])
        ]
    )
    leaves = len(shape(order, 64, epsilon=Fraction("0.4")))
    assert 2 * leaves - 1 <= 5 * asked


def test_a_partition_of_very_many_ranges_is_not_refined_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splits, "MOST_RANGES", 20)
    asked: list[int] = []

    def always(noise: Noise, size: int) -> Array:
        del noise
        asked.append(size)
        return np.full(size, 1 << 60)

    found = shape(ordered([]), 10, always)
    assert asked == [1, 2, 4, 8, 16]
    assert found == [32 * place for place in range(32)]
    asked.clear()

    def left(noise: Noise, size: int) -> Array:
        return always(noise, size) * np.where(np.arange(size) == 0, 1, -1)

    found = shape(ordered([]), 30, left)
    assert len(asked) == 20  # 21 ranges, those that were closed before among them
    assert len(found) == 21
