"""How long exact noise takes, next to numpy's inexact Laplace draws."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from dpframe.noise import DiscreteLaplace, MaxNorm

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 1_000_000
ROUNDS = 9
SCALES = [Fraction(1), Fraction(10), Fraction(1000), Fraction(2**30)]
VECTORS = [(6, Fraction(2**40)), (20, Fraction(2**40)), (500, Fraction(2**40))]


def run() -> list[dict[str, str | float]]:
    """Time all laws; `ratio` is to as many draws of ``rng.laplace``."""
    generator = np.random.default_rng()
    rows: list[dict[str, str | float]] = []

    def add(name: str, draws: int, act: Callable[[], object]) -> None:
        seconds, base = _alternate(act, lambda: generator.laplace(size=draws))
        rows.append({"name": name, "seconds": seconds, "ratio": seconds / base})

    for scale in SCALES:
        law = DiscreteLaplace(scale=scale)
        for draws in (1, 100, DRAWS):
            name = f"discrete Laplace, scale {scale}, {draws:,} draws"
            add(name, draws, lambda law=law, draws=draws: law.sample(draws))
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
