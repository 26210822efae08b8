"""Columns of every dtype, filled with the values most likely to break a sum.

For each dtype: public bounds, keys and edges, and the values at, beside and beyond
them, with the infinities, the missing ones and the limits of the type.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

INF = math.inf
NAN = math.nan
TINY = 5e-324
BERLIN = ZoneInfo("Europe/Berlin")
DAY = dt.timedelta(days=1)
TICK = dt.timedelta(microseconds=1)
NIGHT = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC).astimezone(BERLIN)
LONG = 10**38 - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """A dtype with what is declared for it.

    Attributes
    ----------
    name : str
        Of the dtype, for test ids.
    bounds, total : pair
        Of a value, and of a unit's sum.
    keys, edges : list
    special : tuple
        The values that a random column holds most of the time.
    """

    name: str
    dtype: pl.DataType
    bounds: tuple[Any, Any]
    total: tuple[Any, Any] = (0, 1)
    keys: list[Any]
    edges: list[Any]
    special: tuple[Any, ...]
    is_number: bool = True
    has_sum: bool = True

    def value(self, rng: Random) -> Any:
        """Return a random value: a special one, a missing one, or one in bounds."""
        chance = rng.random()
        if chance < 0.1:
            return None
        if chance < 0.75:
            return rng.choice(self.special)
        low, high = self.bounds
        if isinstance(low, float):
            value = rng.uniform(low, high)
            return single(value) if self.dtype == pl.Float32() else value
        if isinstance(low, bool):
            return rng.random() < 0.5
        if isinstance(low, Decimal):
            return rng.choice(self.special)
        if isinstance(low, int):
            return rng.randint(low, high)
        return low + (high - low) * rng.randrange(101) // 100

    def __str__(self) -> str:
        return self.name


def seeded(seed: object) -> Random:
    """Return random test data's source; it repeats."""
    return Random(str(seed))  # noqa: S311 - test data


def single(value: float) -> float:
    """Return the nearest 32-bit float, as a double."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(value))


def around(*values: float, step: Callable[[float, float], float]) -> list[float]:
    """Return floats with their neighbours."""
    found: list[float] = []
    for value in values:
        found += [step(value, -INF), value, step(value, INF)]
    return found


def single_step(value: float, towards: float) -> float:
    return float(np.nextafter(np.float32(value), np.float32(towards)))


FLOATS = [INF, -INF, NAN, -0.0, 0.0, TINY, -TINY, 2.0**53, 2.0**53 - 1, 2.0**53 + 2]
LIMITS = [2**63 - 1, -(2**63), 2**53 - 1, 2**53, 2**53 + 1]

FLOAT64 = Column(
    name="Float64",
    dtype=pl.Float64(),
    bounds=(-0.1, 0.3),
    total=(-0.5, 0.7),
    keys=[0, 0.1, -0.1, 0.3],
    edges=[-0.1, 0.0, 0.1, 0.3],
    special=(
        *around(-0.1, 0.3, 0.1, step=math.nextafter),
        *FLOATS,
        1.7976931348623157e308,
    ),
)
FLOAT32 = Column(
    name="Float32",
    dtype=pl.Float32(),
    bounds=(-0.1, 2.5),
    total=(0.1, 7.0),
    keys=[0, 0.5, 2.5],
    edges=[-0.1, 0.0, 0.1, 2.5],
    special=tuple(
        single(value)
        for value in (
            *around(-0.1, 0.1, 2.5, step=single_step),
            *(INF, -INF, NAN, -0.0, 0.0, 1e-45, 3.4028234663852886e38),
        )
    ),
)
INT64 = Column(
    name="Int64",
    dtype=pl.Int64(),
    bounds=(-3, 10),
    total=(-7, 20),
    keys=[0, 10, -3, 2**53 + 1],
    edges=[-3, 0, 4.5, 10],
    special=(-4, -3, -2, 9, 10, 11, 0, 1, *LIMITS),
)
WIDE = Column(
    name="Int64 to its limits",
    dtype=pl.Int64(),
    bounds=(-(2**63), 2**63 - 1),
    total=(-(2**63), 2**63 - 1),
    keys=[0, 2**63 - 1, -(2**63)],
    edges=[-(2**63), 0, 2**53 + 1, 2**63 - 1],
    special=(0, 1, -1, -(2**63) + 1, 2**63 - 2, *LIMITS),
)
UINT64 = Column(
    name="UInt64",
    dtype=pl.UInt64(),
    bounds=(1, 2**64 - 2),
    total=(0, 2**64),
    keys=[0, 2**63, 2**64 - 1],
    edges=[0, 2**63, 2**64 - 2],
    special=(0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 3, 2**64 - 2, 2**64 - 1),
)
DECIMAL = Column(
    name="Decimal",
    dtype=pl.Decimal(38, 2),
    bounds=(Decimal("-1.25"), Decimal("3.50")),
    total=(Decimal("-2.00"), Decimal("4.01")),
    keys=[Decimal("0.00"), Decimal("3.50"), Decimal("-1.25")],
    edges=[Decimal("-1.25"), Decimal(0), Decimal("3.5")],
    special=(
        *(Decimal(text) for text in ("-1.26", "-1.25", "-1.24", "3.49", "3.50")),
        *(Decimal(text) for text in ("3.51", "0.00", "0.01")),
        Decimal(f"{LONG}E-2"),
        Decimal(f"-{LONG}E-2"),
    ),
)
LONG_DECIMAL = Column(
    name="Decimal to its limits",
    dtype=pl.Decimal(38, 0),
    bounds=(Decimal(-LONG), Decimal(LONG)),
    total=(Decimal(-(2**94)), Decimal(2**94)),
    keys=[Decimal(0), Decimal(LONG)],
    edges=[Decimal(-LONG), Decimal(0), Decimal(LONG)],
    special=(
        *(Decimal(n) for n in (0, 1, -1, LONG, -LONG, LONG - 1, 2**126, 2**126 + 1)),
        *(Decimal(n) for n in (2**62, -(2**62), 2**122 + 5, -(2**94) - 1)),
    ),
)
INT128 = Column(
    name="Int128",
    dtype=pl.Int128(),
    bounds=(1 - 2**127, 2**127 - 1),
    total=(-(2**94), 2**90),
    keys=[0, 2**127 - 1, -(2**127)],
    edges=[-(2**127), 0, 2**126 + 1, 2**127 - 1],
    special=(
        *(0, 1, -1, 2**127 - 1, 2**127 - 2, -(2**127), 1 - 2**127, 2 - 2**127),
        *(2**122, -(2**122) - 1, 2**94 + 1, 2**64, 2**62, 2**53 + 1),
    ),
)
UINT128 = Column(
    name="UInt128",
    dtype=pl.UInt128(),
    bounds=(5, 2**126),
    total=(2**63, 2**93 + 1),
    keys=[0, 2**128 - 1, 2**127],
    edges=[0, 5, 2**64, 2**126],
    special=(
        *(0, 4, 5, 6, 2**126 - 1, 2**126, 2**126 + 1, 2**127, 2**128 - 1, 2**53 + 1),
        *(2**94 + 1, 2**64, 2**62),
    ),
)
BOOLEAN = Column(
    name="Boolean",
    dtype=pl.Boolean(),
    bounds=(False, True),
    total=(0, 2),
    keys=[True, False],
    edges=[0, 1],
    special=(True, False),
)
DATE = Column(
    name="Date",
    dtype=pl.Date(),
    bounds=(dt.date(1969, 12, 31), dt.date(1970, 1, 9)),
    keys=[dt.date(1970, 1, 1), dt.date(1969, 12, 31)],
    edges=[dt.date(1969, 12, 31), dt.date(1970, 1, 4), dt.date(1970, 1, 9)],
    special=(
        *(dt.date(1969, 12, 31) + DAY * n for n in (-1, 0, 1, 2, 8, 9, 10)),
        dt.date.min,
        dt.date.max,
    ),
    is_number=False,
    has_sum=False,
)
DATETIME = Column(
    name="Datetime with a zone",
    dtype=pl.Datetime("us", "Europe/Berlin"),
    bounds=(NIGHT, NIGHT + DAY),
    keys=[NIGHT, NIGHT + TICK],
    edges=[NIGHT, NIGHT + DAY / 3, NIGHT + DAY],
    special=(
        *(NIGHT + DAY * n + TICK * m for n in (0, 1) for m in (-1, 0, 1)),
        (NIGHT.astimezone(dt.UTC) + DAY / 24).astimezone(BERLIN),
        dt.datetime(1900, 1, 1, tzinfo=dt.UTC).astimezone(BERLIN),
        dt.datetime(2200, 1, 1, tzinfo=dt.UTC).astimezone(BERLIN),
    ),
    is_number=False,
    has_sum=False,
)
DURATION = Column(
    name="Duration",
    dtype=pl.Duration("us"),
    bounds=(-TICK, 10 * TICK),
    total=(-3 * TICK, 15 * TICK),
    keys=[0 * TICK, TICK],
    edges=[-TICK, 4 * TICK, 10 * TICK],
    special=(*(TICK * n for n in (-2, -1, 0, 1, 9, 10, 11)), DAY * 90_000),
    is_number=False,
)

COLUMNS = (
    *(FLOAT64, FLOAT32, INT64, WIDE, UINT64, INT128, UINT128, DECIMAL, LONG_DECIMAL),
    *(BOOLEAN, DATE, DATETIME, DURATION),
)

WORDS = ("a", "b", "", "é", "a:1", "c")
"""What a text column holds; `LEVELS` are declared."""

LEVELS = ("b", "a", "é")
