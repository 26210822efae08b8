"""Peak memory of releases from a streamed Parquet file, as the file grows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

CHUNK = 2_000_000

CODE = """
import sys, polars as pl, dpframe
def peak():
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) for l in file if l.startswith("VmHWM")) / 1024
private = pl.scan_parquet(sys.argv[1]).dp.attach(dpframe.Accountant(epsilon=10))
private = private.dp.bounds(x=(0, 100))
before = peak()
private.dp.sum("x", epsilon=1)
private.dp.group_by("k", keys=range(50)).mean("x", epsilon=1)
print(peak() - before)
"""


def run(sizes: tuple[int, ...] = (5, 20)) -> list[dict[str, object]]:
    """Return the growth of peak memory for files of some million doubled rows."""
    rows: list[dict[str, object]] = []
    random = np.random.default_rng(1)
    part = pl.DataFrame(
        {"x": random.normal(50, 20, CHUNK), "k": random.integers(0, 50, CHUNK)}
    )
    with tempfile.TemporaryDirectory() as folder:
        for parts in sizes:
            path = Path(folder) / f"{parts}.parquet"
            whole = pl.concat([part.lazy()] * parts)
            whole.sink_parquet(path, row_group_size=500_000)
            found = subprocess.run(  # noqa: S603 - our own code
                [sys.executable, "-c", CODE, str(path)],
                check=True,
                capture_output=True,
                text=True,
            )
            rows.append(
                {
                    "rows": parts * CHUNK,
                    "what": "sum and group means from Parquet, MB",
                    "column data, MB": parts * CHUNK * 16 / 2**20,
                    "peak growth, MB": float(found.stdout),
                }
            )
    return rows
