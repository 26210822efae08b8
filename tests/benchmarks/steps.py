"""What proving a step of a private Polars frame costs, in milliseconds.

Each step is written anew each time, with another literal in it, on a frame of 5 and
of 100 columns; nothing but the columns and dtypes can be known from before.
"""

from __future__ import annotations

import datetime as dt
import statistics
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR = 0.2
_DAY = dt.date(2000, 1, 1)


def _frame(width: int) -> Any:
    named = {
        "age": pl.Series([30, 40, None]),
        "income": pl.Series([1.5, 2.5, None]),
        "city": pl.Series(["a", "b", None]),
        "day": pl.Series([_DAY, _DAY, None]),
        "n": pl.Series([1, 2, None]),
    }
    more = {f"x{i}": pl.Series([1.0, 2.0, None]) for i in range(width - len(named))}
    return pl.DataFrame({**named, **more}).dp.attach(dpframe.Accountant(epsilon=1))


def steps() -> dict[str, Callable[[Any, int], object]]:
    """Return steps by name: what they make of a frame and a number that is new."""
    age, income, city, day = map(pl.col, ("age", "income", "city", "day"))
    return {
        "filter": lambda p, i: p.filter(age > i, income < i + 0.5),
        "with_columns, arithmetic": lambda p, i: p.with_columns(
            z=age * i + pl.col("n")
        ),
        "with_columns, when/then": lambda p, i: p.with_columns(
            z=pl.when(age > i).then(age // 10 * 10).otherwise(i)
        ),
        "with_columns, division": lambda p, i: p.with_columns(z=income / (i + 1)),
        "filter, is_in": lambda p, i: p.filter(city.is_in(["a", f"b{i}"])),
        "with_columns, text": lambda p, i: p.with_columns(
            z=city.str.to_uppercase().str.slice(0, i)
        ),
        "filter, pattern": lambda p, i: p.filter(city.str.contains(f"a.{i}")),
        "with_columns, parts of a date": lambda p, i: p.with_columns(
            z=(day.dt.year() - i) * 12 + day.dt.month()
        ),
        "with_columns, cast": lambda p, i: p.with_columns(
            age.cast(pl.Float64).alias(f"z{i}")
        ),
        "cast": lambda p, i: p.cast(
            {("age", "n")[i % 2]: (pl.Float64, pl.Int32)[i // 2 % 2]}, strict=False
        ),
        "select, names": lambda p, i: p.select("age", pl.col("income").alias(f"z{i}")),
        "select, selector": lambda p, i: p.select(cs.numeric(), pl.lit(i).alias("z")),
        "drop": lambda p, i: p.drop(("age", "city", "n")[i % 3]),
        "rename": lambda p, i: p.rename({"age": f"z{i}"}),
        "drop_nulls": lambda p, i: p.drop_nulls(("age", "city", "n")[i % 3]),
        "with_columns, fill_null": lambda p, i: p.with_columns(income.fill_null(i)),
        "fill_null, all numbers (of two dtypes)": lambda p, i: p.fill_null(i),
    }


def run(repeat: int = 300) -> list[dict[str, object]]:
    """Return the cost of each step on a narrow and on a wide frame."""
    rows: list[dict[str, object]] = []
    for width in (5, 100):
        frame = _frame(width)
        for name, step in steps().items():
            step(frame, 0)
            times: list[float] = []
            for number in range(1, repeat + 1):
                start = time.perf_counter()
                step(frame, number)
                times.append((time.perf_counter() - start) * 1000)
            rows.append(
                {
                    "columns": width,
                    "what": name,
                    "median, ms": statistics.median(times),
                    "mean, ms": statistics.mean(times),
                    "ratio": statistics.median(times),
                    "bar": _BAR,
                }
            )
    return rows
