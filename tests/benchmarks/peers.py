"""Quantiles of other libraries, run by an interpreter that has them.

They are no dependencies of the tests. Set ``DPFRAME_PEERS`` to a Python that has
diffprivlib, OpenDP or both; what is not there is left out of the tables. Tried with
``pip install diffprivlib==0.6.6 "scikit-learn<1.8" opendp==0.16.0``. The same file is
the client, and the program that the other interpreter runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np


def quantiles(
    peer: str,
    values: np.ndarray,
    levels: list[float],
    *,
    bounds: tuple[int, int],
    epsilon: float,
    repetitions: int,
) -> tuple[np.ndarray, float] | None:
    """Return answers, shape (repetitions, levels), and the median seconds of one call.

    `peer` is "diffprivlib" or "OpenDP". Each repetition costs `epsilon` for all levels
    together. None where the library is not installed.
    """
    python = os.environ.get("DPFRAME_PEERS")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.npy"
        np.save(path, values)
        job = {
            "peer": peer,
            "path": str(path),
            "levels": levels,
            "bounds": bounds,
            "epsilon": epsilon,
            "repetitions": repetitions,
        }
        done = subprocess.run(  # noqa: S603 - the interpreter is the caller's choice
            [python, __file__, json.dumps(job)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    found = json.loads(done.stdout)
    return found and (np.array(found["answers"]), found["seconds"])


def diffprivlib(job: dict[str, Any], values: np.ndarray) -> list[float]:
    from diffprivlib import tools  # noqa: PLC0415 - may be missing

    found = tools.quantile(
        values.astype(float),
        job["levels"],
        epsilon=job["epsilon"],
        bounds=tuple(map(float, job["bounds"])),
    )
    return np.atleast_1d(found).tolist()


def open_dp(job: dict[str, Any], values: np.ndarray) -> list[float]:
    """Choose among all integers within the bounds, each level at its share of the loss.

    The smallest scale that the library itself accepts for that share is searched.
    """
    import opendp.prelude as dp  # noqa: PLC0415 - may be missing

    dp.enable_features("contrib")
    low, high = job["bounds"]
    share = job["epsilon"] / len(job["levels"])
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    answers = []
    for level in job["levels"]:

        def make(scale: float, level: float = level) -> Any:
            return dp.m.make_private_quantile(
                *space,
                dp.max_divergence(),
                candidates=list(range(low, high + 1)),
                alpha=level,
                scale=scale,
            )

        unit = make(1.0).map(1)
        answers.append(float(make(unit / share * (1 + 1e-9))(values.tolist())))
    return answers


def main() -> None:
    """Print the answers to the job in the first argument, or null."""
    job = json.loads(sys.argv[1])
    values = np.load(job["path"])
    ask = {"diffprivlib": diffprivlib, "OpenDP": open_dp}[job["peer"]]
    answers, seconds = [], []
    try:
        for _ in range(job["repetitions"]):
            start = time.perf_counter()
            answers.append(ask(job, values))
            seconds.append(time.perf_counter() - start)
    except ImportError:
        print("null")  # noqa: T201 - the answer
        return
    # The first call also imports the library.
    found = {"answers": answers, "seconds": float(np.median(seconds[1:] or seconds))}
    print(json.dumps(found))  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
