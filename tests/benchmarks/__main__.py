"""Print speed and utility as ratios: ``python -m tests.benchmarks [NAME ...]``.

Names: small, steps, chain, imports, noise, middling, large (10 million rows), memory,
ledger, utility, quantiles, intervals, interval_time, halfspaces, halfspace_time.
Without one, all are run. A ratio above its bar is marked.
"""

from __future__ import annotations

import sys

import polars as pl

from tests.benchmarks import (
    chain,
    halfspaces,
    intervals,
    ledger,
    memory,
    noise,
    quantiles,
    speed,
    steps,
    utility,
)

SUITES = {
    "small": speed.small,
    "steps": steps.run,
    "chain": chain.run,
    "imports": speed.imports,
    "noise": noise.run,
    "middling": speed.middling,
    "large": speed.large,
    "memory": memory.run,
    "ledger": ledger.run,
    "utility": utility.run,
    "quantiles": quantiles.run,
    "intervals": intervals.run,
    "interval_time": intervals.time,
    "halfspaces": halfspaces.run,
    "halfspace_time": halfspaces.time,
}


def main(names: list[str]) -> None:
    """Run the named suites and print a table for each."""
    for name in names or list(SUITES):
        table = pl.DataFrame(SUITES[name]())
        if {"bar", "ratio"} <= {*table.columns}:
            over = pl.when(pl.col("ratio") > pl.col("bar")).then(pl.lit("over the bar"))
            table = table.with_columns(over.fill_null("").alias("verdict"))
        with pl.Config(
            tbl_rows=-1,
            tbl_cols=-1,
            tbl_width_chars=240,
            fmt_str_lengths=70,
            float_precision=4,
        ):
            print(f"{name}\n{table}")  # noqa: T201 - a report


if __name__ == "__main__":
    main(sys.argv[1:])
