"""How long exact noise takes, next to numpy's inexact draws of the same kind."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 1_000_000
ROUNDS = 9
SCALES = [Fraction(1), Fraction(10), Fraction(1000), Fraction(2**30)]
SIGMAS = [1, 10, 4096, 2**30]
VECTORS = [(6, Fraction(2**40)), (20, Fraction(2**40)), (500, Fraction(2**40))]


def run() -> list[dict[str, str | float]]:
    """Time all laws; `ratio` is to as many draws of numpy's ``rng``.

    Its ``normal`` for Gaussian noise, its ``laplace`` for the others.
    """
    generator = np.random.default_rng()
    rows: list[dict[str, str | float]] = []

    def add(
        name: str,
        draws: int,
        act: Callable[[], object],
        theirs: Callable[..., object] = generator.laplace,
    ) -> None:
        seconds, base = _alternate(act, lambda: theirs(size=draws))
        rows.append({"name": name, "seconds": seconds, "ratio": seconds / base})

    for scale in SCALES:
        law = DiscreteLaplace(scale=scale)
        for draws in (1, 100, DRAWS):
            name = f"discrete Laplace, scale {scale}, {draws:,} draws"
            add(name, draws, lambda law=law, draws=draws: law.sample(draws))
    for sigma in SIGMAS:
        bell = DiscreteGaussian(sigma2=Fraction(sigma) ** 2)
        for draws in (1, 100, DRAWS):
            name = f"discrete Gaussian, sigma {sigma}, {draws:,} draws"
            act = partial(bell.sample, draws)
            add(name, draws, act, generator.normal)
    for dimension, scale in VECTORS:
        vector = MaxNorm(dimension=dimension, scale=scale)
        name = f"max-norm, {dimension} coordinates, scale {scale}"
        add(name, dimension, lambda law=vector, size=dimension: law.sample(size))
    return rows


def _alternate(
    ours: Callable[[], object], theirs: Callable[[], object]
) -> tuple[float, float]:
    """Medians of two acts, timed in turns after a first call that is not."""
    ours()
    theirs()
    times = [(_seconds(ours), _seconds(theirs)) for _ in range(ROUNDS)]
    first, second = zip(*times, strict=True)
    return median(first), median(second)


def _seconds(act: Callable[[], object]) -> float:
    start = perf_counter()
    act()
    return perf_counter() - start
