"""What a chain of 20 steps adds to a release, beyond what it costs in plain Polars.

The very same steps run on a private frame and on a plain lazy one. What they cost
in a release is the release after the chain, less the same release on the finished
columns; what they cost in plain Polars is a collected chain, less those columns
collected as they are.
"""

from __future__ import annotations

import datetime as dt
import statistics
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR: Final = 5.0
_ROWS: Final = 1_000_000


def _table(rows: int) -> pl.DataFrame:
    random = np.random.default_rng(3)
    cities = np.array(["Springfield", "Shelbyville", "Ogdenville", "North Haverbrook"])
    first = np.datetime64("2013-01-01", "us")
    return pl.DataFrame(
        {
            "person": random.integers(0, rows // 5, rows),
            "age": random.uniform(0, 100, rows),
            "income": random.lognormal(10, 1, rows),
            "visits": random.integers(0, 20, rows),
            "inpatient": random.integers(0, 3, rows),
            "female": random.integers(0, 2, rows),
            "city": cities[random.integers(0, 4, rows)],
            "since": first + random.integers(0, 365 * 86_400, rows) * 1_000_000,
        }
    )


def steps() -> list[Callable[[Any], Any]]:
    """Return the steps, for a private frame and a plain one alike."""
    age, income, visits = map(pl.col, ("age", "income", "visits"))
    return [
        lambda f: f.rename({"since": "seen"}),
        lambda f: f.filter(age < 90),
        lambda f: f.with_columns(decade=age // 10 * 10),
        lambda f: f.with_columns(all_visits=visits + pl.col("inpatient")),
        lambda f: f.drop("inpatient"),
        lambda f: f.with_columns(woman=pl.col("female") == 1),
        lambda f: f.filter(pl.col("all_visits") > 0),
        lambda f: f.with_columns(per_visit=income / pl.col("all_visits")),
        lambda f: f.with_columns(month=pl.col("seen").dt.month()),
        lambda f: f.with_columns(
            season=pl.when(pl.col("month").is_in([6, 7, 8]))
            .then(pl.lit("summer"))
            .otherwise(pl.lit("else"))
        ),
        lambda f: f.filter(pl.col("city").str.starts_with("S")),
        lambda f: f.with_columns(name=pl.col("city").str.to_uppercase()),
        lambda f: f.filter(pl.col("seen") >= dt.datetime(2013, 1, 3)),  # noqa: DTZ001 - naive as the column
        lambda f: f.with_columns(root=income.sqrt()),
        lambda f: f.with_columns(capped=income.clip(0, 100_000)),
        lambda f: f.fill_null(0),
        lambda f: f.with_columns(score=pl.col("root") + pl.col("decade")),
        lambda f: f.with_columns(cs.float().round(2)),
        lambda f: f.filter(pl.col("score").is_between(0, 5_000)),
        lambda f: f.select("person", "decade", "score", "season", "per_visit"),
    ]


def _after(frame: Any) -> Any:
    for step in steps():
        frame = step(frame)
    return frame


def run(rows: int = _ROWS, repeat: int = 41) -> list[dict[str, object]]:
    """Return what the chain adds to releases without and with a privacy unit."""
    table = _table(rows)
    budget = dpframe.Accountant(epsilon=1_000_000)
    read = ["decade", "score", "per_visit"]
    done = _after(table.lazy()).collect()
    found: list[dict[str, object]] = []
    for unit in (None, "person"):
        declared: dict[str, Any] = {"privacy_unit": unit}
        if unit is not None:
            declared["max_rows"] = 5
        raw = table.dp.attach(budget, **declared)
        finished = done.dp.attach(budget, **declared)
        taken = read if unit is None else [*read, unit]

        def release(frame: Any) -> object:
            bounded = frame.dp.bounds(score=(0, 5_000), per_visit=(0, 100_000))
            return bounded.dp.group_by("decade", keys=[20.0, 30.0, 40.0]).agg(
                score=("score", "mean"), cost=("per_visit", "mean"), epsilon=1
            )

        cases: dict[str, Callable[[], object]] = {
            "chain and release": lambda raw=raw: release(_after(raw)),
            "release": lambda finished=finished: release(finished),
            "plain chain": lambda taken=taken: (
                _after(table.lazy()).select(taken).collect(engine="streaming")
            ),
            "plain": lambda taken=taken: (
                done.lazy().select(taken).collect(engine="streaming")
            ),
            "chain alone": lambda raw=raw: _after(raw),
        }
        found.append(_row(unit, _medians(cases, repeat)))
    return found


def _medians(
    cases: dict[str, Callable[[], object]], repeat: int
) -> dict[str, list[float]]:
    """Return milliseconds of each case, in turns, after one warm-up."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(repeat + 1):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            if turn:
                times[name].append((time.perf_counter() - start) * 1e3)
    return times


def _row(unit: str | None, times: dict[str, list[float]]) -> dict[str, object]:
    median = {name: statistics.median(each) for name, each in times.items()}
    turns = zip(*(times[name] for name in times), strict=True)
    added = statistics.median(a - b - (c - d) for a, b, c, d, _ in turns)
    return {
        "20 steps, 1 M rows": f"unit {unit}" if unit else "rows are units",
        **{f"{name} ms": each for name, each in median.items()},
        "added ms": added,
        "bar": _BAR,
        "verdict": "over the bar" if added > _BAR else "",
    }
