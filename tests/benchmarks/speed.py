"""Speed of releases as ratios against the same work in plain Polars, pandas and numpy.

Each pair is timed in turns in one process (ours, plain, ours, plain, ...), so that a
machine whose speed drifts slows both; what is printed are medians and their ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[str, float, Callable[[], object], Callable[[], object]]


def timed(
    ours: Callable[[], object], plain: Callable[[], object], repeat: int
) -> tuple[float, float]:
    """Return median seconds of both, after one warm-up each."""
    ours()
    plain()
    pairs: list[tuple[float, float]] = []
    for _ in range(repeat):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        plain()
        pairs.append((middle - start, time.perf_counter() - middle))
    return (
        statistics.median(first for first, _ in pairs),
        statistics.median(second for _, second in pairs),
    )


def data(rows: int) -> pl.DataFrame:
    """Return a seeded table: text and number keys, floats, units of five rows."""
    random = np.random.default_rng(1)
    names = np.array([f"key{i:03d}" for i in range(100)])
    columns = {f"x{i}": random.normal(size=rows) for i in range(5)}
    return pl.DataFrame(
        {
            "key": pl.Series(names[random.integers(0, 100, rows)]),
            "number": random.integers(0, 100, rows),
            "x": random.normal(50, 20, rows),
            "unit": random.integers(0, max(rows // 5, 1), rows),
            **columns,
        }
    )


def large(rows: int = 10_000_000, repeat: int = 3) -> list[dict[str, object]]:
    """Return the bars for large frames in memory."""
    table = data(rows)
    budget = dpframe.Accountant(epsilon=100_000)
    bounds = {"x": (0, 100), **{f"x{i}": (-4, 4) for i in range(5)}}
    rowwise = table.dp.attach(budget).dp.bounds(bounds)
    unitwise = table.dp.attach(budget, privacy_unit="unit", max_rows=5)
    unitwise = unitwise.dp.bounds(bounds)
    keys = [f"key{i:03d}" for i in range(100)]
    five = [f"x{i}" for i in range(5)]
    lazy = table.lazy()

    def stream(plan: pl.LazyFrame) -> pl.DataFrame:
        return plan.collect(engine="streaming")

    cases: list[Case] = [
        (
            "histogram, 100 text keys / group_by().len()",
            1.3,
            lambda: rowwise.dp.histogram("key", keys=keys, epsilon=1),
            lambda: table.group_by("key").len(),
        ),
        (
            "mean_cov of 5 columns / np.cov, conversion included",
            1.0,
            lambda: rowwise.dp.mean_cov(five, epsilon=1),
            lambda: np.cov(table.select(five).to_numpy().T),
        ),
        (
            "clipped sum / clip().sum()",
            3.0,
            lambda: rowwise.dp.sum("x", epsilon=1),
            lambda: lazy.select(pl.col("x").clip(0, 100).sum()).collect(),
        ),
        (
            "unit total, clipped / group_by(unit).sum().clip().sum()",
            1.3,
            lambda: unitwise.dp.sum("x", bound="total", bounds=(0, 400), epsilon=1),
            lambda: stream(
                lazy.group_by("unit")
                .agg(pl.col("x").sum())
                .select(pl.col("x").clip(0, 400).sum())
            ),
        ),
        (
            "clipped sum, shared row weights / group_by(unit).len()",
            1.3,
            lambda: unitwise.dp.sum("x", epsilon=1),
            lambda: stream(lazy.group_by("unit").len()),
        ),
    ]
    return [row(rows, case, repeat) for case in cases]


def middling(rows: int = 1_000_000, repeat: int = 7) -> list[dict[str, object]]:
    """Return the bars at a million rows, against plain pandas and numpy."""
    table = data(rows).to_pandas()
    budget = dpframe.Accountant(epsilon=100_000)
    five = [f"x{i}" for i in range(5)]
    bounds = {"x": (0, 100), **dict.fromkeys(five, (-4, 4))}
    private = table.dp.attach(budget).dp.bounds(bounds)
    edges = np.linspace(0, 100, 101)
    keys = [f"key{i:03d}" for i in range(100)]
    spare = 0.005  # seconds that a release may add
    cases: list[Case] = [
        (
            "histogram, 100 text keys / value_counts",
            2.0,
            lambda: private.dp.histogram("key", keys=keys, epsilon=1),
            table["key"].value_counts,
        ),
        (
            "histogram, 100 bins / pd.cut + value_counts",
            2.0,
            lambda: private.dp.histogram("x", bins=100, epsilon=1),
            lambda: pd.cut(table["x"], edges, right=False).value_counts(),
        ),
        (
            "histogram, 100 bins / np.histogram",
            2.0,
            lambda: private.dp.histogram("x", bins=100, epsilon=1),
            lambda: np.histogram(table["x"].to_numpy(), 100, (0, 100)),
        ),
        (
            "sum / clip().sum()",
            2.0,
            lambda: private.dp.sum("x", epsilon=1),
            lambda: table["x"].clip(0, 100).sum(),
        ),
        (
            "mean / clip().mean()",
            2.0,
            lambda: private.dp.mean("x", epsilon=1),
            lambda: table["x"].clip(0, 100).mean(),
        ),
        (
            "mean_cov of 5 columns / np.cov",
            2.0,
            lambda: private.dp.mean_cov(five, epsilon=1),
            lambda: np.cov(table[five].to_numpy().T),
        ),
    ]
    return [row(rows, case, repeat, spare=spare) for case in cases]


def small(repeat: int = 200) -> list[dict[str, object]]:
    """Return the fixed cost of a release on a tiny frame, in milliseconds."""
    table = data(100)
    budget = dpframe.Accountant(epsilon=100_000)
    private = table.dp.attach(budget).dp.bounds(x=(0, 100), x0=(-4, 4), x1=(-4, 4))
    calls: dict[str, Callable[[], object]] = {
        "count": lambda: private.dp.count(epsilon=1),
        "sum": lambda: private.dp.sum("x", epsilon=1),
        "mean": lambda: private.dp.mean("x", epsilon=1),
        "histogram, 10 bins": lambda: private.dp.histogram("x", bins=10, epsilon=1),
        "mean_cov of 2 columns": lambda: private.dp.mean_cov(["x0", "x1"], epsilon=1),
    }
    rows: list[dict[str, object]] = []
    for name, call in calls.items():
        ours, plain = timed(call, lambda: table.select(pl.col("x").sum()), repeat)
        rows.append(
            {
                "rows": 100,
                "what": f"fixed cost of {name}, ms",
                "ours": ours,
                "plain": plain,
                "ratio": ours * 1000,
                "bar": 3.0,
            }
        )
    return rows


def imports(repeat: int = 5) -> list[dict[str, object]]:
    """Return the time to import, against importing polars and pandas."""

    def run(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code

    ours, plain = timed(run("import dpframe"), run("import polars, pandas"), repeat)
    return [
        {
            "rows": 0,
            "what": "import dpframe / import polars, pandas",
            "ours": ours,
            "plain": plain,
            "ratio": ours / plain,
            "bar": 1.3,
        }
    ]


def row(rows: int, case: Case, repeat: int, *, spare: float = 0.0) -> dict[str, object]:
    """Return one comparison; `spare` seconds are forgiven."""
    what, bar, ours, plain = case
    mine, theirs = timed(ours, plain, repeat)
    return {
        "rows": rows,
        "what": what,
        "ours": mine,
        "plain": theirs,
        "ratio": max(mine - spare, 0.0) / theirs,
        "bar": bar,
    }
