"""Frames that share a few privacy units with all their rows, and differ in all others.

Others are redrawn, dropped and permuted, in chunks of one row and of many. The rows
of a shared unit must come out of a step the same, bit for bit, in any order.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

import dpframe
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ID = "who"
SHARED = 6
SCHEMA: dict[str, pl.DataType] = {
    ID: pl.Int64(),
    "i": pl.Int64(),
    "n": pl.Int8(),
    "v": pl.Int32(),
    "u": pl.UInt64(),
    "w": pl.Int128(),
    "f": pl.Float64(),
    "h": pl.Float32(),
    "b": pl.Boolean(),
    "s": pl.String(),
    "e": pl.Enum(["c", "a", "b"]),
    "c": pl.Categorical(),
    "x": pl.Decimal(20, 2),
    "d": pl.Date(),
    "t": pl.Datetime("us"),
    "z": pl.Datetime("ms", "America/New_York"),
    "p": pl.Duration("us"),
    "q": pl.Time(),
    "l": pl.List(pl.Int64()),
}
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e-310, 1e308, -1e308, 7.25, math.nan, math.inf]
INSTANT = dt.datetime(2019, 3, 10, 2, 30, tzinfo=dt.UTC)
NAIVE = INSTANT.replace(tzinfo=None)
MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "i": lambda rng: rng.choice([0, 1, 2**63 - 1, -(2**63), rng.randrange(-9, 9)]),
    "n": lambda rng: rng.choice([0, 1, 127, -128]),
    "v": lambda rng: rng.choice([3, 2**31 - 1, -(2**31)]),
    "u": lambda rng: rng.choice([0, 5, 2**64 - 1]),
    "w": lambda rng: rng.choice([0, -3, 2**127 - 1]),
    "f": lambda rng: rng.choice([*FLOATS, -math.inf, *[rng.gauss(0, 99)] * 12]),
    "h": lambda rng: rng.choice([*FLOATS, *[rng.gauss(0, 99)] * 12]),
    "b": lambda rng: rng.random() < 0.5,
    "s": lambda rng: rng.choice(["", "a", "b", "é\0", "ab"]),
    "e": lambda rng: rng.choice("abc"),
    "c": lambda rng: rng.choice("abcdefgh"),
    "x": lambda rng: Decimal(rng.choice(["0", "1.25", "-3.10", "9" * 18])),
    "d": lambda rng: dt.date(1, 1, 1) + dt.timedelta(rng.randrange(3_000_000)),
    "t": lambda rng: NAIVE + dt.timedelta(seconds=rng.randrange(9**7)),
    "z": lambda rng: INSTANT + dt.timedelta(hours=rng.randrange(-9, 9)),
    "p": lambda rng: dt.timedelta(microseconds=rng.choice([0, 1, -1, 10**15])),
    "q": lambda rng: dt.time(rng.randrange(24), rng.randrange(60), 1, 5),
    "l": lambda rng: [rng.choice([0, 1, None]) for _ in range(rng.randrange(3))],
}


def _row(rng: random.Random, unit: int) -> dict[str, Any]:
    cells = {
        k: None if rng.random() < 0.12 else make(rng) for k, make in MAKERS.items()
    }
    return {ID: unit, **cells}


def _frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: pl.Series([row[name] for row in rows], dtype=dtype, strict=False)
            for name, dtype in SCHEMA.items()
        }
    )


@cache
def worlds() -> tuple[pl.DataFrame, ...]:
    """Return frames that share all rows of the first units."""
    rng = random.Random(1)  # noqa: S311 - no secret
    own = [_row(rng, unit) for unit in range(SHARED) for _ in range(unit * unit + 1)]
    for row in own:  # one unit of zeros, of both signs
        if row[ID] == 2:
            row |= {"f": rng.choice([0.0, -0.0]), "h": rng.choice([0.0, -0.0])}

    def among(seed: int, others: int, kept: Sequence[int] = range(SHARED)) -> Any:
        drawn = random.Random(seed)  # noqa: S311 - no secret
        rows = [row for row in own if row[ID] in kept]
        rows += [_row(drawn, drawn.randrange(10, 40)) for _ in range(others)]
        drawn.shuffle(rows)
        return _frame(rows)

    many = among(2, 150)
    small = among(3, 4)
    return (
        many,
        many.sample(fraction=1.0, shuffle=True, seed=4),
        among(5, 600),
        small,
        pl.concat([small[place : place + 1] for place in range(len(small))]),
        pl.concat([many[:40], many[40:41], many[41:]]),
        among(6, 0).sort(ID),
        among(7, 60).sort(ID, descending=True),
        *(among(8, 0, [unit]) for unit in range(SHARED)),
    )


def _cells(column: pl.Series, *, signs: bool) -> list[str]:
    """Return the cells of a column bit by bit, as text."""
    if column.dtype == pl.Categorical:
        column = column.cast(pl.String)
    if column.dtype.is_float() and not signs:
        column = column.replace(0.0, 0.0)
    return [repr(cell) for cell in column.to_physical().to_list()]


def refuted(
    run: Callable[[pl.DataFrame], pl.DataFrame], *, signs: bool = True
) -> str | None:
    """Return how a step is refuted; None where every shared unit comes out alike.

    `run` gives the output rows with their units in `UNIT`.
    """
    seen: dict[int, Counter[tuple[str, ...]]] = {}
    for world in worlds():
        out = run(world)
        names = [name for name in out.columns if name != UNIT]
        columns = [_cells(out[name], signs=signs) for name in names]
        found = {
            unit: Counter[tuple[str, ...]]() for unit in world[ID] if unit < SHARED
        }
        for unit, *cells in zip(out[UNIT], *columns, strict=True):
            if unit < SHARED:
                found[unit][tuple(cells)] += 1
        for unit, rows in found.items():
            if seen.setdefault(unit, rows) != rows:
                return f"unit {unit} of {names}: {seen[unit] - rows} or {rows}"
    return None


def attached(world: pl.DataFrame) -> Any:
    return dpframe.attach(world, Accountant(epsilon=1), privacy_unit=ID)


def shown(frame: Any, *, engine: Any = "in-memory") -> pl.DataFrame:
    """Return the rows of a private frame with their units, as engines read them."""
    kept = {k: v for k, v in frame.types().items() if k != ID}
    return frame.scan(kept).collect(engine=engine)
