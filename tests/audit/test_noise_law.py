"""The laws of the noise, from many draws.

Every test has a false-alarm rate of 1e-6. A rejection is confirmed once with four
times as many fresh draws, and every test is shown to reject a broken copy.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from checks.power import ALPHA, chi_square, confirmed, draws, law_p_value
from scipy import stats

from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm, gaussian
from dpframe.noise.brackets import exponential, locate
from dpframe.noise.choice import choose
from dpframe.noise.decay import coins_of, pairs, survives
from dpframe.noise.geometric import geometric
from dpframe.noise.randomness import below

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from dpframe.noise import Noise

pytestmark = pytest.mark.audit

LAPLACE_SCALES = [
    Fraction(1, 3),
    Fraction(1),
    Fraction(5, 2),
    Fraction(10),
    Fraction(137),
    Fraction(1000),
    Fraction(10**6),
    Fraction(10**12),
]

GAUSSIAN_SQUARES = [
    Fraction(1, 5),
    Fraction(1, 3),
    Fraction(1),
    Fraction(5, 2),
    Fraction(4) - Fraction(1, 10**30),  # sigma just below a whole number
    Fraction(100),
    Fraction(37**2),
    Fraction(4096**2),
    Fraction(2**70, 3),
    Fraction(2**90 + 1, 7),
]


def holds(p_value: Callable[[int], float], number: int) -> bool:
    """Whether a law survives a test or, after a rejection, its confirmation."""
    return not confirmed(lambda count: p_value(count) < ALPHA, draws(number))


def laplace_p_value(values: np.ndarray, scale: Fraction) -> float:
    """Return the p-value of values as Laplace noise of a scale."""
    return law_p_value(values, DiscreteLaplace(scale=scale))


@pytest.mark.parametrize("scale", LAPLACE_SCALES)
def test_laplace_draws_follow_their_law_and_no_close_one(scale: Fraction) -> None:
    law = DiscreteLaplace(scale=scale)
    assert holds(lambda n: laplace_p_value(law.sample(n), scale), 100_000)
    values = law.sample(draws(100_000))
    assert laplace_p_value(values, scale * Fraction(105, 100)) < ALPHA
    assert laplace_p_value(values, scale / Fraction(105, 100)) < ALPHA


def test_a_scale_far_below_one_gives_no_noise() -> None:
    assert not DiscreteLaplace(scale=Fraction(1, 1000)).sample(draws(1_000_000)).any()


def test_python_integers_follow_the_law_of_int64() -> None:
    scale = Fraction(10**21)
    law = DiscreteLaplace(scale=scale)

    def p_value(number: int) -> float:
        values = law.sample(number) // 10**9
        return laplace_p_value(values.astype(np.int64), scale / 10**9)

    assert holds(p_value, 100_000)
    values = (law.sample(draws(100_000)) // 10**9).astype(np.int64)
    assert laplace_p_value(values, scale / 10**9 * Fraction(105, 100)) < ALPHA


def gaussian_p_value(values: np.ndarray, sigma2: Fraction) -> float:
    """Return the p-value of values as Gaussian noise of a squared scale."""
    return law_p_value(values, DiscreteGaussian(sigma2=sigma2))


@pytest.mark.parametrize("sigma2", GAUSSIAN_SQUARES)
def test_gaussian_draws_follow_their_law_and_no_close_one(sigma2: Fraction) -> None:
    law = DiscreteGaussian(sigma2=sigma2)
    assert holds(lambda n: gaussian_p_value(law.sample(n), sigma2), 100_000)
    values = law.sample(draws(100_000))
    assert gaussian_p_value(values, sigma2 * Fraction(105, 100) ** 2) < ALPHA
    assert gaussian_p_value(values, sigma2 / Fraction(105, 100) ** 2) < ALPHA


def test_a_sigma_far_below_one_gives_no_noise() -> None:
    for sigma2 in (Fraction(1, 1000), Fraction(1, 10**6)):
        law = DiscreteGaussian(sigma2=sigma2)
        assert not law.sample(draws(1_000_000)).any()


def test_a_small_variance_is_that_of_the_law_to_its_rarest_values() -> None:
    # P(z = 0), P(|z| = 1) and P(|z| = 2) by hand, at sigma2 = 1/8.
    weights = np.exp(-4.0 * np.array([0, 1, 4])) * [1, 2, 2]
    law = DiscreteGaussian(sigma2=Fraction(1, 8))

    def p_value(number: int) -> float:
        sizes = np.abs(law.sample(number))
        return chi_square(np.bincount(sizes, minlength=3)[:3], weights)

    assert holds(p_value, 1_000_000)
    sizes = np.abs(law.sample(draws(1_000_000)))
    changed = weights * [1, 1.05, 1]
    assert chi_square(np.bincount(sizes, minlength=3)[:3], changed) < ALPHA


def wide_geometric(*arguments: Any) -> np.ndarray:
    return geometric(*arguments).astype(object)


@pytest.mark.parametrize("sigma2", [Fraction(5, 2), Fraction(37**2), Fraction(2**40)])
def test_python_integers_follow_the_gaussian_law_of_int64(
    monkeypatch: pytest.MonkeyPatch, sigma2: Fraction
) -> None:
    law = DiscreteGaussian(sigma2=sigma2)
    assert law.sample(1).dtype == np.int64
    monkeypatch.setattr(gaussian, "geometric", wide_geometric)
    values = law.sample(draws(50_000))
    assert values.dtype == object

    def p_value(number: int) -> float:
        return gaussian_p_value(law.sample(number).astype(np.int64), sigma2)

    assert holds(p_value, 50_000)
    close = sigma2 * Fraction(105, 100) ** 2
    assert gaussian_p_value(values.astype(np.int64), close) < ALPHA


def test_gaussian_noise_beyond_int64_follows_its_law() -> None:
    sigma2 = Fraction(10**42)
    law = DiscreteGaussian(sigma2=sigma2)

    def p_value(number: int) -> float:
        values = law.sample(number) // 10**9
        return gaussian_p_value(values.astype(np.int64), sigma2 / 10**18)

    assert holds(p_value, 50_000)
    values = (law.sample(draws(50_000)) // 10**9).astype(np.int64)
    assert gaussian_p_value(values, Fraction(105, 100) ** 2 * 10**24) < ALPHA


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_events_of_whole_exponents_have_their_chances(dtype: type) -> None:
    scale = Fraction(7, 3)
    coins = coins_of(scale)

    def p_value(number: int, claimed: Fraction) -> float:
        items = np.arange(1, 7, dtype=np.int64).repeat(number // 6).astype(dtype)
        kept = survives(coins, scale, pairs(items, coins.count // 8 + 1))
        steps = np.arange(1, 7)
        chances = np.exp(-steps * (steps - 1) / 2 / float(claimed))
        seen = kept.reshape(6, -1).sum(axis=1)
        # Each on its own, at a sixth of the rate; the first is certain.
        tests = [
            stats.binomtest(int(hits), number // 6, chance).pvalue
            for hits, chance in zip(seen, chances, strict=True)
        ]
        return min(1.0, 6 * float(min(tests)))

    assert holds(lambda n: p_value(n, scale), 600_000)
    assert p_value(draws(600_000), scale * Fraction(105, 100)) < ALPHA


def sign_p_value(values: np.ndarray) -> float:
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    return float(stats.binomtest(positive, positive + negative).pvalue)


def odd_share_of_laplace(scale: Fraction) -> float:
    ratio = np.exp(-float(1 / scale))
    return float(2 * ratio / (1 + ratio) ** 2)


def odd_share_of_gaussian(sigma2: Fraction) -> float:
    steps = np.arange(-200, 201)
    weights = np.exp(-(steps**2) / 2 / float(sigma2))
    return float(weights[steps % 2 != 0].sum() / weights.sum())


def parity_p_value(values: np.ndarray, odd_share: float) -> float:
    odd = int((values % 2 != 0).sum())
    return float(stats.binomtest(odd, len(values), odd_share).pvalue)


def neighbor_p_value(values: np.ndarray) -> float:
    """Independence of sign and parity in neighboring cells."""
    kinds = 2 * np.sign(values) + values % 2
    labels = np.unique(kinds, return_inverse=True)[1]
    table = np.zeros((labels.max() + 1, labels.max() + 1))
    np.add.at(table, (labels[:-1:2], labels[1::2]), 1)
    return float(stats.chi2_contingency(table).pvalue)


def lag_p_value(values: np.ndarray) -> float:
    centered = (values - values.mean()) / values.std()
    correlation = (centered[:-1] * centered[1:]).mean()
    return float(2 * stats.norm.sf(abs(correlation) * np.sqrt(len(values))))


LAWS = [
    (DiscreteLaplace(scale=Fraction(2)), odd_share_of_laplace(Fraction(2))),
    (DiscreteLaplace(scale=Fraction(50)), odd_share_of_laplace(Fraction(50))),
    (DiscreteGaussian(sigma2=Fraction(1, 3)), odd_share_of_gaussian(Fraction(1, 3))),
    (DiscreteGaussian(sigma2=Fraction(3)), odd_share_of_gaussian(Fraction(3))),
    (DiscreteGaussian(sigma2=Fraction(400)), odd_share_of_gaussian(Fraction(400))),
]


@pytest.mark.parametrize(("law", "odd_share"), LAWS)
def test_signs_parities_and_neighbors_are_independent(
    law: Noise, odd_share: float
) -> None:
    assert holds(lambda n: sign_p_value(law.sample(n)), 200_000)
    assert holds(lambda n: parity_p_value(law.sample(n), odd_share), 200_000)
    assert holds(lambda n: neighbor_p_value(law.sample(n)), 200_000)
    assert holds(lambda n: lag_p_value(law.sample(n)), 200_000)


@pytest.mark.parametrize(("law", "odd_share"), [LAWS[1], LAWS[-1]])
def test_dependent_noise_is_rejected(law: Noise, odd_share: float) -> None:
    values = law.sample(draws(200_000))
    shared = values + np.roll(values, 1) // 20
    assert sign_p_value(np.where(values % 10 == 0, abs(values), values)) < ALPHA
    assert parity_p_value(values - values % 2 * (values % 8 == 1), odd_share) < ALPHA
    assert lag_p_value(shared) < ALPHA
    signs = np.where(np.roll(values, 1) % 16 == 0, abs(values), values)
    assert neighbor_p_value(signs) < ALPHA


NEIGHBORS = [
    (DiscreteLaplace(scale=Fraction(20)), 100),
    (DiscreteGaussian(sigma2=Fraction(1)), 5),
    (DiscreteGaussian(sigma2=Fraction(37**2)), 100),
]


@pytest.mark.parametrize(("law", "least"), NEIGHBORS)
def test_neighbors_have_outputs_in_common(law: Noise, least: int) -> None:
    here, there = law.sample(100_000), law.sample(100_000) + 1
    for one, other in ((here, there), (there, here)):
        outputs, times = np.unique(one, return_counts=True)
        frequent = outputs[times >= 100]
        assert len(frequent) > least
        assert np.isin(frequent, other).all()


def below_p_value(values: list[int], bound: int) -> float:
    """Chi-square of eight parts of the range, as equal as the bound allows."""
    parts = min(bound, 8)
    edges = [-(-bound * part // parts) for part in range(parts + 1)]
    chances = np.array([float(b - a) for a, b in itertools.pairwise(edges)])
    seen = [value * parts // bound for value in values]
    if parts == 1:
        return float(set(values) == {0})
    return chi_square(np.bincount(seen, minlength=parts), chances)


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 2**32 + 1, 2**63, 2**64 - 1])
def test_below_is_uniform(bound: int) -> None:
    values = below(bound, draws(100_000)).tolist()
    assert max(values) < bound
    assert holds(lambda n: below_p_value(below(bound, n).tolist(), bound), 100_000)


def test_a_remainder_of_a_random_word_is_rejected() -> None:
    words = below(2**64, draws(100_000)).tolist()
    bound = 3 * 2**62
    assert below_p_value([word % bound for word in words], bound) < ALPHA


def test_choices_follow_their_weights() -> None:
    rates = [Fraction(0), Fraction(1, 2), Fraction(3), Fraction(7, 2)]
    weights = list(zip([1, 2, 30, 9], rates, strict=True))
    chances = np.array([v * np.exp(-float(r)) for v, r in weights])

    def count(number: int) -> np.ndarray:
        return np.bincount([choose(weights) for _ in range(number)], minlength=4)

    assert holds(lambda n: chi_square(count(n), chances), 5000)
    assert chi_square(count(draws(5000)), chances * [1, 1.3, 1, 1]) < ALPHA


@pytest.mark.parametrize("x", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
def test_coins_show_the_exponential(x: Fraction) -> None:
    chance = np.exp(-float(x))

    def p_value(number: int, claimed: float) -> float:
        flips = [
            locate(lambda digits: (exponential(x, digits),)) for _ in range(number)
        ]
        seen = flips.count(0)
        return float(stats.binomtest(seen, number, claimed).pvalue)

    assert holds(lambda n: p_value(n, chance), 20_000)
    assert p_value(draws(20_000), np.exp(-1.3 * float(x))) < ALPHA


def vector_p_value(vectors: np.ndarray, scale: Fraction) -> float:
    """Chi-square over every vector of a cube, and all the others together."""
    reach = 3
    dimension = vectors.shape[1]
    shells = np.arange(2000)
    sizes = (2.0 * shells + 1) ** dimension - np.maximum(2.0 * shells - 1, 0) ** (
        dimension
    )
    total = (sizes * np.exp(-shells / float(scale))).sum()
    cells = list(itertools.product(range(-reach, reach + 1), repeat=dimension))
    chances = [
        np.exp(-max(abs(value) for value in cell) / float(scale)) / total
        for cell in cells
    ]
    index = {cell: place for place, cell in enumerate(cells)}
    places = [index.get(tuple(row), len(cells)) for row in vectors.tolist()]
    observed = np.bincount(places, minlength=len(cells) + 1)
    return chi_square(observed, np.array([*chances, 1 - sum(chances)]))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3, 2)])
def test_vectors_follow_the_max_norm_law(dimension: int, scale: Fraction) -> None:
    law = MaxNorm(dimension=dimension, scale=scale)

    def sample(number: int) -> np.ndarray:
        return np.array([law.sample(dimension) for _ in range(number)])

    assert holds(lambda n: vector_p_value(sample(n), scale), 20_000)
    vectors = sample(draws(20_000))
    assert vector_p_value(vectors, scale * Fraction(115, 100)) < ALPHA
    assert vector_p_value(vectors, scale / Fraction(115, 100)) < ALPHA


@pytest.mark.parametrize("dimension", [6, 20, 520])
def test_norms_follow_the_gamma_law_on_a_fine_grid(dimension: int) -> None:
    scale = 2**40
    law = MaxNorm(dimension=dimension, scale=Fraction(scale))

    def p_value(number: int, claimed: float) -> float:
        norms = [
            max(map(abs, law.sample(dimension).tolist())) / scale for _ in range(number)
        ]
        return float(stats.kstest(norms, stats.gamma(claimed).cdf).pvalue)

    number = 4000 if dimension < 100 else 400
    assert holds(lambda n: p_value(n, dimension), number)
    assert p_value(draws(number), dimension * 1.25) < ALPHA


def test_coordinates_of_a_vector_have_the_told_variance() -> None:
    dimension, number = 6, draws(20_000)
    law = MaxNorm(dimension=dimension, scale=Fraction(1))
    vectors = np.array([law.sample(dimension) for _ in range(number)], dtype=float)
    squares = (vectors**2).mean(axis=1)
    error = 5 * squares.std() / np.sqrt(number)
    assert squares.mean() == pytest.approx(law.variance, abs=error)
    assert squares.mean() != pytest.approx(1.2 * law.variance, abs=error)


def draw_64() -> list[int]:
    return DiscreteLaplace(scale=Fraction(10)).sample(64).tolist()


def forked() -> list[list[int]]:
    draw_64()  # whatever a first draw sets up, the children inherit
    context = multiprocessing.get_context("fork")

    def report(end: Connection) -> None:
        end.send(draw_64())

    results = []
    pairs = [context.Pipe(duplex=False) for _ in range(8)]
    workers = [context.Process(target=report, args=(end,)) for _, end in pairs]
    for worker in workers:
        worker.start()
    for (end, _), worker in zip(pairs, workers, strict=True):
        results.append(end.recv())
        worker.join()
    return results


def spawned() -> list[list[int]]:
    code = (
        "from fractions import Fraction\n"
        "from dpframe.noise import DiscreteLaplace\n"
        "print(DiscreteLaplace(scale=Fraction(10)).sample(64).tolist())\n"
    )
    command = [sys.executable, "-c", code]
    return [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603 - the command is ours
        for _ in range(8)
    ]


def threaded() -> list[list[int]]:
    barrier = threading.Barrier(8)

    def together(_index: int) -> list[int]:
        barrier.wait()
        return draw_64()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(together, range(8)))


def test_no_two_workers_draw_the_same_noise() -> None:
    vectors = {tuple(vector) for vector in forked() + spawned() + threaded()}
    assert len(vectors) == 24
    assert all(len(vector) == 64 for vector in vectors)
