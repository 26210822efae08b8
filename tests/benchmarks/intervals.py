"""Interval releases: the largest error of any interval, by method, and their time.

Errors are in units of 1/epsilon rows: the largest error as a share of the rows, times
rows times epsilon. A figure on a data set is the median of its runs; "worst" is the
largest of the five simulated ones. Other ways, as ratios to "auto": a flat noisy
histogram, and 15 quantiles of diffprivlib at the same epsilon, joined by lines and
given the row count for nothing (up to 100,000 rows, where it is installed; see
`peers`).
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import dpframe
from tests.benchmarks import peers, speed
from tests.benchmarks.interval_data import (
    SIMULATED,
    WHOLE,
    largest_error,
    real,
    simulated,
)

if TYPE_CHECKING:
    from tests.benchmarks.interval_data import Prefix

    Curve = tuple[Prefix, np.ndarray]

METHODS = ("auto", "tree", "privtree", "binary_search")
# What a prototype of the tree reached, worst of five distributions.
TREE = {
    (10_000, 2**10, 1.0): 57,
    (1_000_000, 2**16, 1.0): 140,
    (1_000_000, 2**20, 1.0): 213,
}
SETTINGS = (
    (1_000, 2**10, 0.1),
    (1_000, 2**20, 0.1),
    (1_000, 2**63, 1.0),
    *TREE,
    (10_000, 2**20, 1.0),
    (100_000, 2**20, 1.0),
    (100_000, 2**63, 1.0),
    (10_000_000, 2**10, 1.0),
    (10_000_000, 2**20, 1.0),
    (10_000_000, 2**63, 1.0),
)
MANY = 10_000_000  # so many rows have three runs
PEER_ROWS = 100_000  # above, diffprivlib takes minutes
LEVELS = [level / 16 for level in range(1, 16)]
EMPTY = np.array([], dtype=np.uint64)

Errors = dict[str, float | None]


def run(runs: int = 9) -> list[dict[str, object]]:
    """Return a row per setting and data set, and those for the worst of a setting."""
    rows: list[dict[str, object]] = []
    for count, size, epsilon in SETTINGS:
        setting = {"rows": count, "domain": domain(size), "epsilon": epsilon}
        found: dict[str, Errors] = {}
        for seed, name in enumerate(SIMULATED):
            codes = simulated(name, count, size, seed)
            found[name] = errors(codes, size, epsilon, runs if count < MANY else 3)
            rows.append({**setting, "data": name, **shown(found[name])})
        top: Errors = {
            way: max(
                (e[way] for e in found.values() if e[way] is not None), default=None
            )
            for way in found[name]
        }
        best = min(top[way] for way in (*METHODS[1:], "flat") if top[way] is not None)
        bars = [("auto / best other", top["auto"] / best, 1.3)]
        if published := TREE.get((count, size, epsilon)):
            bars.append((f"tree / {published}", top["tree"] / published, 1.15))
        if top["theorem"] is not None:
            bars.append(("paper's error / its theorem's", top["theorem"], 1.0))
        rows += [
            {**setting, "data": f"worst: {what}", **shown(top), "ratio": r, "bar": bar}
            for what, r, bar in bars
        ]
    for name, size, codes in real():
        setting = {"rows": len(codes), "domain": domain(size), "epsilon": 1.0}
        found = errors(codes, size, 1.0, runs)
        rows.append({**setting, "data": name, **shown(found)})
    return rows


def domain(size: int) -> str:
    bits = size.bit_length() - 1
    return f"2^{bits}" if size == 1 << bits else f"{size:,}"


def shown(found: Errors) -> dict[str, object]:
    """Return our methods' errors, and other ways' as ratios to "auto"."""
    ours = {way: found[way] for way in (*METHODS, "theorem")}
    others = {
        f"{way} / auto": found[way] and found[way] / found["auto"]
        for way in ("flat", "quantiles")
    }
    return {**ours, **others, "ratio": None, "bar": None}


def errors(codes: np.ndarray, size: int, epsilon: float, runs: int) -> Errors:
    """Return the largest interval error of each way; None where it does not apply.

    "theorem" is the largest error of the paper's method as a share of what its theorem
    states, where there are rows enough for it to state anything.
    """
    table = pl.DataFrame({"x": codes.astype(np.int64)})
    private = table.dp.attach(dpframe.Accountant(epsilon=1_000_000))
    private = private.dp.bounds(x=(0, size - 1))

    def gaps(curves: list[Curve]) -> list[float]:
        return [largest_error(codes, size, *curve) for curve in curves]

    found: dict[str, list[float]] = {}
    stated: list[float] = []
    for method in METHODS:
        releases = [
            private.dp.synthetic_intervals("x", step=1, method=method, epsilon=epsilon)
            for _ in range(runs if method != "tree" or size <= WHOLE else 0)
        ]
        found[method] = gaps([(above(r.shape), r.shape.starts) for r in releases])
        if method == "binary_search":
            widths = [release.accuracy(0.95) for release in releases]
            pairs = zip(found[method], widths, strict=True)
            stated = [gap / width for gap, width in pairs if np.isfinite(width)]
    if size <= WHOLE:
        found["flat"] = gaps([flat(codes, size, epsilon) for _ in range(runs)])
    found["quantiles"] = gaps(joined_quantiles(codes, size, epsilon, min(runs, 3)))
    middle = {
        way: epsilon * statistics.median(figures) if figures else None
        for way, figures in found.items()
    }
    return {"flat": None, **middle, "theorem": max(stated, default=None)}


def above(shape: Any) -> Prefix:
    """Return the released rows at or below codes."""
    return lambda codes: shape.prefixes(codes + np.uint64(1))


def flat(codes: np.ndarray, size: int, epsilon: float) -> Curve:
    """Return cumulative sums of a histogram with Laplace noise in each cell."""
    counts = np.bincount(codes.astype(np.int64), minlength=size)
    noisy = counts + np.random.default_rng().laplace(0, 1 / epsilon, size)
    return np.cumsum(noisy).__getitem__, EMPTY


def joined_quantiles(
    codes: np.ndarray, size: int, epsilon: float, runs: int
) -> list[Curve]:
    """Return lines through released quantiles, from none of the rows to all."""
    rows = len(codes)
    if rows > PEER_ROWS:
        return []
    asked = peers.quantiles(
        "diffprivlib",
        codes,
        LEVELS,
        bounds=(0, size - 1),
        epsilon=epsilon,
        repetitions=runs,
    )
    if asked is None:
        return []
    heights = rows * np.array([0, *LEVELS, 1])
    curves: list[Curve] = []
    for answers in np.sort(asked[0], axis=1):
        places = np.array([-1.0, *answers, size - 1.0])

        def prefix(at: np.ndarray, places: np.ndarray = places) -> np.ndarray:
            return np.interp(at.astype(float), places, heights)

        near = np.clip(answers, 0, size - 1.0).astype(np.uint64)
        curves.append((prefix, np.concatenate([near, near + np.uint64(1)])))
    return curves


def time(rows: int = 10_000_000, repeat: int = 3) -> list[dict[str, object]]:
    """Return the time of a release on a domain of a million codes."""
    random = np.random.default_rng(1)
    table = pl.DataFrame({"x": random.integers(0, 2**20, rows)})
    private = table.dp.attach(dpframe.Accountant(epsilon=1_000_000))
    private = private.dp.bounds(x=(0, 2**20 - 1))
    case = (
        "synthetic_intervals, domain 2^20 / group_by().len()",
        3.0,
        lambda: private.dp.synthetic_intervals("x", step=1, epsilon=1),
        lambda: table.group_by("x").len(),
    )
    return [speed.row(rows, case, repeat)]
