"""Error bounds of trees, against exact laws where there are some and against draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks.interval_table import TREES, whole
from scipy.linalg import toeplitz
from scipy.stats import binom

from dpframe.errors import ParameterError
from dpframe.nested import fanouts
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.releases.interval_error import LARGEST, interval_quantile
from dpframe.releases.interval_table import CONFIDENCES, TABLE

if TYPE_CHECKING:
    from dpframe.noise import Noise

Array = np.ndarray[Any, np.dtype[Any]]

ALPHA = 1e-6
SCALES = (Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(5))


def laplace(scale: Fraction | int) -> DiscreteLaplace:
    return DiscreteLaplace(scale=Fraction(scale))


def gaussian(sigma: Fraction | int) -> DiscreteGaussian:
    return DiscreteGaussian(sigma2=Fraction(sigma) ** 2)


LAWS = {"laplace": laplace, "normal": gaussian}


# One level: sums of independent noise, whose largest error has an exact law.


def chances(noise: Noise, reach: int) -> Array:
    """The chances of the values from -reach to reach."""
    tails = np.array([noise.tail(k) for k in range(reach + 1)])
    each = np.append(1.0, tails[:-1]) - tails
    half = each[1:] / 2
    return np.concatenate([half[::-1], each[:1], half])


def staying(noise: Noise, cells: int, width: int) -> Array:
    """Chance to stay in a window of so many places, by the place to start from."""
    if width < 1:
        return np.zeros(1)
    steps = toeplitz(chances(noise, width - 1)[width - 1 :])
    return np.linalg.matrix_power(steps, cells).sum(axis=1)


def exact_chance(noise: Noise, cells: int, bound: float) -> float:
    """P(the largest error of one level is at most the bound)."""
    limit = math.floor(bound)
    # A path that spans r places fits into windows of w in w - r + 1 ways.
    wide, less = (staying(noise, cells, limit + more).sum() for more in (1, 0))
    return float(wide - less)


@pytest.mark.parametrize("scale", [Fraction(1, 10), *SCALES])
@pytest.mark.parametrize("law", LAWS)
def test_one_level_is_within_the_bound_by_its_exact_law(
    scale: Fraction, law: str
) -> None:
    noise = LAWS[law](scale)
    for cells in (1, 2, 3, 7, 24):
        for confidence in (0.1, 0.5, 0.6, 0.9, 0.95, 0.97, 0.997, 0.9995):
            bound = interval_quantile(cells, noise, confidence=confidence)
            chance = exact_chance(noise, cells, bound)
            assert chance >= confidence, (cells, confidence)


def test_the_exact_law_refutes_bounds_without_their_margins() -> None:
    def missed(share: float, step: float) -> bool:
        return any(
            exact_chance(
                noise,
                cells,
                share * (interval_quantile(cells, noise, confidence=level) - step),
            )
            < level
            for cells in (1, 3, 20)
            for level in (0.5, 0.9, 0.99)
            for noise in (laplace(Fraction(1, 2)), gaussian(1))
        )

    assert missed(1, 0.5)
    assert missed(0.7, 0)
    assert not missed(1, 0)


@pytest.mark.parametrize("law", LAWS)
def test_one_level_is_close_to_its_exact_law(law: str) -> None:
    for cells in (2, 5, 24):
        noise, row = LAWS[law](5), TABLE[law][1, cells]
        for level, figure in zip(CONFIDENCES, row, strict=True):
            below = exact_chance(noise, cells, 5 * figure * 0.97 - 1)
            above = exact_chance(noise, cells, 5 * figure * 1.03 + 1)
            assert below < level < above, (cells, level)


def test_one_cell_has_the_quantiles_of_one_draw() -> None:
    exact = [-math.log(1 - level) for level in CONFIDENCES]
    np.testing.assert_allclose(TABLE["laplace"][1, 1], exact, rtol=0.02)


# Several levels: draws.


def misses_allowed(draws: int, miss: float) -> tuple[int, int]:
    """Fewest and most misses that are no evidence against a chance."""
    low, high = binom.ppf([ALPHA, 1 - ALPHA], draws, miss)
    return int(low), int(high)


def simulated(law: str, levels: int, branching: int, draws: int, seed: int) -> Array:
    noise = getattr(np.random.default_rng(seed), law)
    parts = [whole(noise, levels, branching, 250) for _ in range(draws // 250)]
    return np.concatenate(parts)


def fits(found: Array, row: Array) -> bool:
    """Whether draws agree with tabulated quantiles, up to the margin of 1 %."""
    for level, figure in zip(CONFIDENCES, row, strict=True):
        least, most = misses_allowed(len(found), 1 - level)
        if (found > 1.01 * figure).sum() > most or (
            found > 0.99 * figure
        ).sum() < least:
            return False
    return True


RESIMULATED = [
    ("laplace", 1, 64, 40_000),
    ("laplace", 2, 32, 20_000),
    ("laplace", 3, 16, 5_000),
    ("normal", 1, 255, 20_000),
    ("normal", 2, 16, 20_000),
    ("normal", 3, 16, 5_000),
]


@pytest.mark.parametrize(("law", "levels", "branching", "draws"), RESIMULATED)
def test_the_table_is_what_draws_give(
    law: str, levels: int, branching: int, draws: int
) -> None:
    found = simulated(law, levels, branching, draws, seed=11)
    row = np.array(TABLE[law][levels, branching])
    assert fits(found, row)
    assert not fits(found, 0.95 * row)
    assert not fits(found, 1.05 * row)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [37, 500, 2000])
def test_sizes_and_confidences_between_tabulated_ones_are_covered(
    law: str, size: int
) -> None:
    levels = fanouts(size)
    assert (len(levels), levels[0]) not in TABLE[law]
    found = simulated(law, len(levels), levels[0], 5000, seed=12)
    noise = LAWS[law](1000)  # so many steps to a unit: the half step is no help
    for confidence in (0.3, 0.6, 0.85, 0.93, 0.97, 0.9975, 0.9999):
        _, most = misses_allowed(5000, 1 - confidence)
        bound = interval_quantile(size, noise, confidence=confidence) / 1000
        assert (found > bound).sum() <= most
    bound = interval_quantile(size, noise, confidence=0.93) / 1000
    assert (found > 0.9 * bound).sum() > misses_allowed(5000, 0.07)[1]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", LAWS)
def test_exact_noise_of_any_scale_is_within_the_bound(
    law: str, scale: Fraction
) -> None:
    noise = LAWS[law](scale)

    def draw(size: tuple[int, int]) -> Array:
        return noise.sample(math.prod(size)).reshape(size)

    for size, draws in ((2**8, 2000), (2**12, 500)):
        levels = fanouts(size)
        parts = [whole(draw, len(levels), levels[0], 250) for _ in range(draws // 250)]
        found = np.concatenate(parts)
        for confidence in (0.5, 0.9, 0.99):
            _, most = misses_allowed(draws, 1 - confidence)
            bound = interval_quantile(size, noise, confidence=confidence)
            assert (found > bound).sum() <= most
            assert scale < 1 or (found > 0.6 * bound).sum() > most


# The figures themselves.


def test_figures_of_a_tree_at_epsilon_one() -> None:
    # Medians and 95 % quantiles over any interval, in rows.
    known = {2**4: (6.7, 13), 2**8: (31, 44), 2**10: (50, 65), 2**16: (143, 172)}
    known |= {2**20: (235, 269)}
    for size, figures in known.items():
        noise = laplace(len(fanouts(size)) * 2**20)
        for confidence, figure in zip((0.5, 0.95), figures, strict=True):
            found = interval_quantile(size, noise, confidence=confidence) / 2**20
            assert found == pytest.approx(figure, rel=0.04)


@pytest.mark.parametrize("law", LAWS)
def test_bounds_are_linear_in_the_scale_but_for_half_a_step(law: str) -> None:
    one, many = (interval_quantile(5000, LAWS[law](s), confidence=0.9) for s in (1, 40))
    assert many - 0.5 == pytest.approx(40 * (one - 0.5))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [1, 40, 300, 70_000, LARGEST])
def test_bounds_grow_with_confidence_without_a_jump(law: str, size: int) -> None:
    levels = 1 - np.geomspace(1, 1e-12, 600)
    noise = LAWS[law](100)
    found = [interval_quantile(size, noise, confidence=float(c)) for c in levels]
    assert (np.diff(found) >= 0).all()
    assert max(np.diff(found)) < 0.07 * found[-1]
    assert found[-1] < 25 * found[0] or size == 1


def test_the_bound_beyond_the_table_holds_for_one_cell_and_is_not_loose() -> None:
    for miss in (1e-4, 1e-6, 1e-9):
        exact = -math.log(miss)
        found = interval_quantile(1, laplace(1000), confidence=1 - miss) / 1000
        assert exact <= found <= 2.1 * exact


@pytest.mark.parametrize("law", LAWS)
def test_quantiles_rise_and_are_convex_in_the_logarithm_of_the_fan_out(
    law: str,
) -> None:
    rows = TABLE[law]
    assert list(rows) == [(h, b) for h, each in TREES.items() for b in each]
    for levels, branchings in TREES.items():
        found = np.array([rows[levels, b] for b in branchings])
        assert (np.diff(found, axis=0) > 0).all()
        assert (np.diff(found, axis=1) > 0).all()
        logs = np.log(branchings)
        for low in range(len(branchings) - 2):
            share = (logs[low + 1] - logs[low]) / (logs[low + 2] - logs[low])
            chord = (1 - share) * found[low] + share * found[low + 2]
            # Few draws of deep trees are beyond the last quantile.
            assert (chord > 0.985 * found[low + 1])[:-1].all(), branchings[low]
            assert chord[-1] > 0.95 * found[low + 1, -1], branchings[low]


def test_every_size_has_a_bound() -> None:
    sizes = [*range(1, 600), *(2**k + d for k in range(9, 22) for d in (-1, 0, 1))]
    for size in [*sizes, LARGEST]:
        assert interval_quantile(size, gaussian(1), confidence=0.95) > 0


@pytest.mark.parametrize(
    "noise",
    [DiscreteLaplace(scale=Fraction(100)), DiscreteGaussian(sigma2=Fraction(100**2))],
    ids=["laplace", "normal"],
)
def test_beyond_the_simulated_sizes_a_larger_bound_is_known(
    noise: Noise,
) -> None:
    simulated = interval_quantile(LARGEST, noise, confidence=0.95)
    for size in (LARGEST + 1, 2**30, 2**40):
        assert (
            simulated < interval_quantile(size, noise, confidence=0.95) < 10 * simulated
        )


def test_certainty_and_dependent_noise_are_refused() -> None:
    with pytest.raises(ParameterError, match="below 1"):
        interval_quantile(4, laplace(1), confidence=1.0)
    with pytest.raises(TypeError, match="not independent"):
        interval_quantile(4, MaxNorm(dimension=4, scale=Fraction(1)), confidence=0.9)
