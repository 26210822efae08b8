"""Rows and planes to try halfspaces on, and which rows are above a plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import dpframe
from dpframe.releases.halfspaces.ball import Planes
from dpframe.testing import recording

if TYPE_CHECKING:
    from dpframe.releases.halfspaces.evidence import Evidence

Array = np.ndarray[Any, np.dtype[Any]]

KINDS = ("even", "corners", "edges", "beyond")
CLOSE = 1e-9
"""Rows so close to a plane are on it but for the rounding of doubles."""

_WIDE = (1, 2, 9, 22, 100, 150, 10**6)
_LONG = (1.0, 0.3, 1e4, 1e7)
_STARTS = (-1.0, 0.0, 0.1, 5.0, -1e6)


@dataclass(frozen=True, kw_only=True)
class World:
    """Rows of some columns with bounds, and labels.

    Attributes
    ----------
    columns : list of array
        Whole numbers or floats, some beyond the bounds.
    limits : list of pair of float
    labels : array of bool
    """

    columns: list[Array]
    limits: list[tuple[float, float]]
    labels: Array

    @property
    def names(self) -> list[str]:
        return [f"c{place}" for place in range(len(self.columns))]

    @property
    def half(self) -> Array:
        return np.array([(high - low) / 2 for low, high in self.limits])

    @property
    def middle(self) -> Array:
        return np.array([(high + low) / 2 for low, high in self.limits])

    @property
    def clipped(self) -> Array:
        """The rows within their bounds, in the columns' own units."""
        pairs = zip(self.columns, self.limits, strict=True)
        return np.stack([np.clip(c.astype(float), *limit) for c, limit in pairs], 1)

    @property
    def places(self) -> Array:
        """The rows in the unit ball."""
        y = (self.clipped - self.middle) / self.half
        return y / math.sqrt(len(self.columns))

    @property
    def native(self) -> pl.DataFrame:
        found = dict(zip(self.names, self.columns, strict=True))
        return pl.DataFrame({**found, "label": self.labels})

    def attached(self, frame: pl.DataFrame | None = None, **declared: Any) -> Any:
        budget = {"epsilon": 10**9}
        if declared.pop("gaussian", False):
            budget = {"rho": 10**9}
        given: Any = self.native if frame is None else frame
        return given.dp.attach(
            dpframe.Accountant(**budget),
            bounds=dict(zip(self.names, self.limits, strict=True)),
            **declared,
        )

    def oracle(
        self, method: str, margin: float, *, label: bool = False, epsilon: float = 50
    ) -> Any:
        """Return an oracle without noise."""
        with recording(noiseless=True):
            return self.attached().dp.halfspace_oracle(
                self.names,
                margin=margin,
                label="label" if label else None,
                method=method,
                epsilon=epsilon,
            )

    def planes(self, rng: np.random.Generator, number: int, units: Array) -> Planes:
        """Return planes of all sorts, in the unit ball; many have a row on them.

        Some are across an axis, some along a diagonal of the cube, and some across one
        of the unit vectors that are passed, or its opposite.
        """
        dimension = len(self.columns)
        w = rng.normal(size=(number, dimension))
        part = number // 4
        signs = rng.choice([-1.0, 1.0], size=(part, 1))
        w[:part] = np.eye(dimension)[rng.integers(0, dimension, part)] * signs
        w[part : 2 * part] = units[rng.integers(0, len(units), part)] * signs
        w[2 * part : number * 5 // 8] = rng.choice(
            [-1.0, 1.0], size=(number * 5 // 8 - 2 * part, dimension)
        )
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        b = rng.uniform(-1.1, 1.1, number) * rng.choice([1, 0.2], number)
        x = self.places
        if len(x):
            chosen = x[rng.integers(0, len(x), number)]
            b = np.where(rng.random(number) < 0.5, (w * chosen).sum(axis=1), b)
        return made(w, b)

    def counts(self, planes: Planes, *, wrong: bool = False) -> Array:
        """Return how many rows are above each plane, or on it.

        Or those whose label is not whether they are.
        """
        above = self.places @ planes.normals.T >= planes.offsets - CLOSE
        if wrong:
            above = above != self.labels[:, None]
        return above.sum(axis=0)

    def shares(self, planes: Planes) -> Array:
        """Return the same rows above each plane, as fractions of all."""
        return self.counts(planes) / len(self.labels)


def made(normals: Array, offsets: Array) -> Planes:
    return Planes(normals=normals, offsets=offsets)


def world(seed: int, dimension: int, rows: int, kind: str) -> World:
    """Return random rows: of any sort, at corners, on edges of bins, beyond bounds."""
    rng = np.random.default_rng(seed)
    columns: list[Array] = []
    limits: list[tuple[float, float]] = []
    for _ in range(dimension):
        whole = bool(rng.random() < 0.5)
        low = float(rng.integers(-50, 50)) if whole else float(rng.choice(_STARTS))
        width = float(rng.choice(_WIDE if whole else _LONG))
        high = low + width
        if kind == "corners":
            values = rng.choice([low, high], size=rows)
        elif kind == "edges":
            values = low + width * rng.integers(0, 41, size=rows) / 40
        elif kind == "beyond":
            values = rng.uniform(low - width, high + width, size=rows)
        else:
            values = rng.uniform(low, high, size=rows)
        columns.append(np.rint(values).astype(np.int64) if whole else values)
        limits.append((int(low), int(high)) if whole else (low, high))
    labels = rng.random(rows) < 0.4
    return World(columns=columns, limits=limits, labels=labels)


def proved(
    here: World, shape: Any, planes: Planes, *, wrong: bool = False, by: float = 0.0
) -> bool:
    """Whether what is proved of each plane is true.

    `by` moves the planes that are asked about: what is proved of them is of others.
    """
    known: Evidence = shape.evidence(planes.moved(by), wrong=wrong)
    counts = here.counts(planes, wrong=wrong)
    sure, possible = known.sure <= counts + CLOSE, known.possible >= counts - CLOSE
    return bool(sure.all() and possible.all())
