"""Data for coverage, and what its releases should be without noise, in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from checks.kinds import attached

Array = np.ndarray[Any, np.dtype[Any]]

LIMIT = 2
KEYS = ("a", "b", "c")


def plain(random: np.random.Generator) -> dict[str, Array]:
    """Return 500 rows without surprises."""
    return {
        "u": random.integers(0, 300, 500),
        "k": random.choice(list(KEYS), 500),
        "x": random.normal(1, 0.8, 500),
        "y": random.uniform(0, 1, 500),
    }


def tiny(random: np.random.Generator) -> dict[str, Array]:
    """Return five rows."""
    return {
        "u": np.array([1, 1, 1, 2, 3]),
        "k": np.array(["a", "a", "b", "b", "a"]),
        "x": random.uniform(-1, 3, 5),
        "y": random.uniform(0, 1, 5),
    }


def skewed(random: np.random.Generator) -> dict[str, Array]:
    """Return 500 rows that are nearly all at a bound, in nearly one group."""
    return {
        "u": random.zipf(1.6, 500) % 200,
        "k": random.choice(list(KEYS), 500, p=[0.97, 0.028, 0.002]),
        "x": np.minimum(random.pareto(3, 500) - 1, 50),
        "y": random.beta(0.05, 5, 500),
    }


SHAPES = {"plain": plain, "tiny": tiny, "skewed": skewed}


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Rows with their weights, and moments of them."""

    rows: dict[str, Array]
    weights: Array

    def frame(self, *, unit: bool, gaussian: bool = False) -> Any:
        """Return the private frame of the rows."""
        return attached(self.rows, unit=unit, gaussian=gaussian, max_rows=LIMIT)

    def copies(self, number: int, *, unit: bool, gaussian: bool = False) -> Any:
        """Return a private frame of many groups k, each of them holding these rows.

        Every copy has units of its own.
        """
        size = len(self.rows["x"])
        rows = {name: np.tile(column, number) for name, column in self.rows.items()}
        place = np.repeat(np.arange(number), size)
        rows["u"] = rows["u"] + place * (1 + int(self.rows["u"].max()))
        rows["k"] = place.astype(str)
        return attached(rows, unit=unit, gaussian=gaussian, max_rows=LIMIT)

    def x(self) -> Array:
        """Return x within its bounds."""
        return np.clip(self.rows["x"], -1, 3)

    def y(self) -> Array:
        """Return y within its bounds."""
        return np.clip(self.rows["y"], 0, 1)

    def shares(self) -> Array:
        """Return the weight of the rows of each key."""
        return np.array([self.weights[self.rows["k"] == key].sum() for key in KEYS])

    def count(self) -> float:
        """Return the weight of all rows."""
        return float(self.weights.sum())

    def sum(self) -> float:
        """Return the weighted sum of x."""
        return float(self.weights @ self.x())

    def mean(self) -> float:
        """Return the weighted mean of x; the lower bound where there are no rows."""
        return self.sum() / self.count() if self.count() else -1.0

    def var(self) -> float:
        """Return the weighted variance of x, divided by the weight."""
        if not self.count():
            return 0.0
        return float(self.weights @ (self.x() - self.mean()) ** 2) / self.count()

    def std(self) -> float:
        """Return the root of the variance."""
        return float(np.sqrt(self.var()))

    def moments(self) -> tuple[Array, Array]:
        """Return the weighted means and covariances of x and y."""
        both = np.stack([self.x(), self.y()])
        mean = both @ self.weights / self.count()
        moved = both - mean[:, None]
        return mean, (moved * self.weights) @ moved.T / self.count()

    def units(self) -> Truth:
        """Return one row for each unit, with the mean of its x."""
        ids = np.unique(self.rows["u"])
        means = [self.x()[self.rows["u"] == one].mean() for one in ids]
        rows = {"u": ids, "x": np.array(means)}
        return Truth(rows=rows, weights=np.ones(len(ids)))


def truth(shape: str, *, unit: bool, seed: int = 7) -> Truth:
    """Return rows of a shape, weighted as a release weighs them."""
    rows = SHAPES[shape](np.random.default_rng(seed))
    weights = np.ones(len(rows["x"]))
    if unit:
        held = pl.Series(rows["u"]).value_counts(sort=False)
        sizes = cast("dict[Any, int]", dict(held.iter_rows()))
        weights = np.array(
            [min(1.0, 2**16 * LIMIT // sizes[one] / 2**16) for one in rows["u"]]
        )
    return Truth(rows=rows, weights=weights)
