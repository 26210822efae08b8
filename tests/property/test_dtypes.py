# ruff: noqa: DTZ001 - naive instants are among the dtypes
"""Every supported dtype gives the integers that plain fractions give.

The reference below works on Python values alone. Each dtype is laid out in every
way that pandas and Polars have for the same values; what a release sees must be the
reference's, whatever the layout.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe
from dpframe.errors import DPFrameError
from dpframe.tally import FINE, WEIGHT
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

nan, inf = math.nan, math.inf
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
MAX_ROWS = 2

Layout = tuple[str, "Callable[[list[Any]], Any]", bool]
"""A name, how to make a column, and whether that column can hold None."""


@dataclass(frozen=True)
class Case:
    """A dtype: its values, what is declared, and its layouts."""

    name: str
    rows: list[Any]
    keys: list[Any]
    layouts: list[Layout]
    edges: list[Any] = field(default_factory=list)
    bounds: tuple[Any, Any] | None = None
    wide: tuple[Any, Any] | None = None
    ticks: int = 1  # steps of the number line in a unit, or in a second

    @property
    def is_float(self) -> bool:
        return any(isinstance(value, float) for value in self.rows)

    @property
    def is_text(self) -> bool:
        return isinstance(self.keys[0], str)

    def line(self, value: Any) -> Fraction | float | str | None:
        """Return where a value lies on the number line; None where it is missing."""
        if value is None or value != value:  # noqa: PLR0124 - NaN
            return None
        if isinstance(value, str) or (isinstance(value, float) and math.isinf(value)):
            return value
        if isinstance(value, dt.datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
            return self._elapsed(aware - EPOCH)
        if isinstance(value, dt.date):
            return Fraction((value - EPOCH.date()).days)
        if isinstance(value, dt.timedelta):
            return self._elapsed(value)
        return Fraction(value) * self.ticks

    def _elapsed(self, span: dt.timedelta) -> Fraction:
        micros = span // dt.timedelta(microseconds=1)
        return Fraction(micros * self.ticks, 10**6)

    def limits(self, bounds: tuple[Any, Any]) -> tuple[Fraction, Fraction]:
        low, high = (self.line(bound) for bound in bounds)
        return low, high  # pyright: ignore[reportReturnType] - bounds are finite


# The reference


def clip(value: Any, low: Fraction, high: Fraction) -> Fraction:
    return Fraction(min(max(value, low), high))


def count_of(case: Case, values: Sequence[Any], weights: Sequence[int]) -> int:
    return sum(
        w for v, w in zip(values, weights, strict=True) if case.line(v) is not None
    )


def sum_of(
    case: Case, values: Sequence[Any], weights: Sequence[int], bounds: Any
) -> int:
    """Return the sum in grid units: whole numbers as they are, floats on 2^k."""
    low, high = case.limits(bounds)
    unit = Fraction(1)
    if case.is_float:
        unit = Fraction(2) ** (math.frexp(float(max(-low, high)))[1] - 30)
    total = 0
    for value, weight in zip(values, weights, strict=True):
        point = case.line(value)
        if point is not None:
            total += weight * round(clip(point, low, high) / unit)
    return total


def powers_of(
    case: Case, values: Sequence[Any], weights: Sequence[int], degree: int
) -> tuple[int, list[Fraction], int]:
    """Return the range of steps, and the sums of their powers with their slack."""
    low, high = case.limits(case.bounds)
    fits = 1 << 62 if degree == 1 else FINE
    unit, top = (high - low) / FINE, FINE
    if not case.is_float:
        unit = Fraction(1)
        while (high - low) / unit >= fits:
            unit *= 2
        top = math.floor((high - low) / unit + Fraction(1, 2) * (unit > 1))
    sums = [Fraction(0)] * (degree + 1)
    for value, weight in zip(values, weights, strict=True):
        point = case.line(value)
        if point is None:
            continue
        exact = (clip(point, low, high) - low) / unit
        steps = round(exact) if case.is_float else math.floor(exact + Fraction(1, 2))
        if not case.is_float:
            steps = min(steps, top)
        for power in range(degree + 1):
            sums[power] += weight * steps**power
    slack = sum(weights) if case.is_float else 0  # doubles round once more
    return top, sums, slack


def cells_of(
    case: Case, values: Sequence[Any], *, keys: bool
) -> tuple[list[int | None], int]:
    """Return the cell of each value and the number of cells."""
    points = [case.line(value) for value in values]
    if keys:
        declared = [case.line(key) for key in case.keys]
        found = [declared.index(p) if p in declared else None for p in points]
        return found, len(declared)
    edges = [case.line(edge) for edge in case.edges]
    bins = list(pairwise(edges))
    placed: list[int | None] = []
    for point in points:
        inside = [
            i
            for i, (a, b) in enumerate(bins)
            if point is not None
            and (a <= point < b or (point == b and i == len(bins) - 1))
        ]
        placed.append(inside[0] if inside else None)
    return placed, len(bins)


def table_of(
    cells: Sequence[int | None], weights: Sequence[int], size: int
) -> list[int]:
    """Return the weight in each cell, and that of all other rows last."""
    counts = [0] * (size + 1)
    for cell, weight in zip(cells, weights, strict=True):
        counts[size if cell is None else cell] += weight
    return counts


# Layouts


def series(dtype: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(values, dtype=dtype)


def masked(dtype: str) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(pd.array(values, dtype=dtype))


def arrow(kind: pa.DataType) -> Callable[[list[Any]], pd.Series]:
    def make(values: list[Any]) -> pd.Series:
        halves = [values[:1], values[1:]]
        chunks = pa.chunked_array([pa.array(half, type=kind) for half in halves])
        return pd.Series(pd.arrays.ArrowExtensionArray(chunks))

    return make


def polars(dtype: Any) -> Callable[[list[Any]], pl.Series]:
    return lambda values: pl.Series(values, dtype=dtype)


def category(levels: list[Any]) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(pd.Categorical(values, categories=levels))


def pandas_layouts(numpy: str | None, nullable: str | None, kind: Any) -> list[Layout]:
    found: list[Layout] = []
    if numpy is not None:
        found.append((numpy, series(numpy), False))
    if nullable is not None:
        found.append((nullable, masked(nullable), True))
    found.append((f"{kind}[arrow]", arrow(kind), True))
    return found


def wholes(bits: int, *, signed: bool) -> Case:
    low = -(2 ** (bits - 1)) if signed else 0
    high = low + 2**bits - 1
    name = f"int{bits}" if signed else f"uint{bits}"
    nullable = name.replace("ui", "UI").replace("int", "Int").replace("UInt", "UInt")
    nullable = f"UInt{bits}" if not signed else f"Int{bits}"
    return Case(
        name=name,
        rows=[low, high, 0, 1, None, 1, 7, high, high - 1, 100],
        keys=[high, 1, 0, 5, low] if signed else [high, 1, 0, 5],
        edges=[1, 1.5, 7, 100, high],
        bounds=(-5 if signed else 3, 100),
        wide=(low, high),
        layouts=[
            *pandas_layouts(name, nullable, getattr(pa, name)()),
            (
                "category",
                category(list(dict.fromkeys([1, 7, high, 100, high - 1, low, 0]))),
                True,
            ),
            ("polars", polars(getattr(pl, nullable)), True),
        ],
    )


def floats(bits: int) -> Case:
    name = f"float{bits}"
    exact = [float(x) for x in np.array([0.1, -2.7, 1e3], dtype=name)]
    values = [0.5, -0.0, *exact, 0.0, nan, inf, None, -inf, 1.5, 2.0, 10.0]
    if bits == 64:
        values += [5e-324, 1e308, 2.0**53 + 2, math.nextafter(10.0, 0.0)]
    layouts: list[Layout] = [(name, series(name), True)]
    if bits > 16:
        layouts.append((f"Float{bits}", masked(f"Float{bits}"), True))
        layouts.append(("object", series(object), True))
    layouts.append((f"{name}[arrow]", arrow(getattr(pa, f"float{bits}")()), True))
    layouts.append(("polars", polars(getattr(pl, f"Float{bits}")), True))
    return Case(
        name=name,
        rows=values,
        keys=[1.5, 0.0, exact[0], 7.0],
        edges=[-inf, -1.0, 0.0, exact[0], 2.0, inf],
        bounds=(-2.5, 10.0),
        wide=(-1000.0, 3.0),
        layouts=layouts,
    )


def decimals() -> Case:
    far = Decimal("9" * 32 + "." + "9" * 6)
    deep = far.copy_negate()
    kind = pa.decimal128(38, 6)
    values = [Decimal("1.250000"), far, deep, None, Decimal("0.000000")]
    return Case(
        name="decimal",
        rows=[*values, Decimal("-0.000001"), Decimal("1.250000")],
        keys=[Decimal("1.250000"), far, Decimal("7.000000")],
        edges=[Decimal("-0.000001"), Decimal("1.250000"), Decimal("2.000000"), far],
        bounds=(Decimal("-1.500000"), Decimal("1000000.000000")),
        wide=(deep, far),
        ticks=10**6,
        layouts=[
            (f"{kind}[arrow]", arrow(kind), True),
            ("object", series(object), True),
            ("polars", polars(pl.Decimal(38, 6)), True),
        ],
    )


def dates() -> Case:
    days = [dt.date(2024, 2, 29), dt.date(1960, 2, 29), dt.date(1, 1, 1), None]
    days += [dt.date(9999, 12, 31), dt.date(2024, 2, 29), dt.date(2000, 1, 1)]
    return Case(
        name="date",
        rows=days,
        keys=[dt.date(1960, 2, 29), dt.date(2024, 2, 29), dt.date(2024, 3, 1)],
        edges=[dt.date(1960, 2, 29), dt.date(2000, 1, 1), dt.date(2024, 2, 29)],
        bounds=(dt.date(1950, 1, 1), dt.date(2020, 12, 31)),
        layouts=[
            ("date32[arrow]", arrow(pa.date32()), True),
            ("object", series(object), True),
            ("polars", polars(pl.Date), True),
        ],
    )


def instants(unit: str, zone: str | None) -> Case:
    tz = None if zone is None else ZoneInfo(zone)

    def at(year: int, *rest: int) -> dt.datetime:
        return dt.datetime(year, *rest, tzinfo=None if tz is None else dt.UTC)

    values = [
        at(2024, 11, 3, 5, 30),
        at(2024, 11, 3, 6, 30),
        None,
        at(1969, 12, 31, 23, 59, 59, 999_000),
        at(1700, 1, 1),
        at(2200, 1, 1),
        at(2024, 11, 3, 6, 30),
    ]
    numpy = f"datetime64[{unit}]" if zone is None else f"datetime64[{unit}, {zone}]"

    def pandas(made: list[Any]) -> pd.Series:
        stamps = pd.Series(made, dtype=object)
        return pd.to_datetime(stamps, utc=zone is not None).astype(numpy)

    kind = pa.timestamp(unit, tz=zone)

    def by_arrow(made: list[Any]) -> pd.Series:
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(made, type=kind)))

    def by_polars(made: list[Any]) -> pl.Series:
        held = pl.Series(made, dtype=pl.Datetime(unit, None if zone is None else "UTC"))
        return held if zone is None else held.dt.convert_time_zone(zone)

    layouts: list[Layout] = [
        (numpy, pandas, True),
        (f"{kind}[arrow]", by_arrow, True),
        ("polars", by_polars, True),
    ]
    if unit == "us" and zone in {None, "UTC"}:
        layouts.append(("object", series(object), True))
    return Case(
        name=f"datetime[{unit}, {zone}]",
        rows=values,
        keys=[values[1], values[3], at(2030, 1, 1)],
        edges=[at(1969, 1, 1), values[0], at(2024, 11, 3, 6), at(2024, 11, 3, 6, 30)],
        bounds=(at(1960, 1, 1), at(2024, 11, 3, 6)),
        ticks=TICKS[unit],
        layouts=layouts,
    )


def durations(unit: str) -> Case:
    values = [dt.timedelta(days=d) for d in (0, 10, 100, -3, 10)]
    values = [*values, None, dt.timedelta(milliseconds=1), dt.timedelta(days=90_000)]
    kind = pa.duration(unit)
    layouts: list[Layout] = [
        (f"timedelta64[{unit}]", series(f"timedelta64[{unit}]"), True),
        (f"{kind}[arrow]", arrow(kind), True),
        ("polars", polars(pl.Duration(unit)), True),
    ]
    if unit == "us":
        layouts.append(("object", series(object), True))
    return Case(
        name=f"duration[{unit}]",
        rows=values,
        keys=[dt.timedelta(days=10), dt.timedelta(0), dt.timedelta(days=7)],
        edges=[dt.timedelta(days=d) for d in (0, 1, 14, 100)],
        bounds=(dt.timedelta(days=-1), dt.timedelta(days=50)),
        wide=(dt.timedelta(days=-5), dt.timedelta(days=100_000)),
        ticks=TICKS[unit],
        layouts=layouts,
    )


def text() -> Case:
    values = ["a", "é", "", "a", None, "zz", "A", "1", "a.b", "b"]
    levels = ["zz", "b", "", "a", "A", "1", "a.b", "é"]
    dictionary = pa.dictionary(pa.int8(), pa.string())
    return Case(
        name="text",
        rows=values,
        keys=["b", "a", "", "1"],
        layouts=[
            ("str", series("str"), True),
            ("string[python]", series("string[python]"), True),
            ("string[pyarrow]", series("string[pyarrow]"), True),
            ("object", series(object), True),
            ("category", category(levels), True),
            ("unused levels", category([*levels, "unused"]), True),
            ("string[arrow]", arrow(pa.string()), True),
            ("large_string[arrow]", arrow(pa.large_string()), True),
            ("string_view[arrow]", arrow(pa.string_view()), True),
            ("dictionary[arrow]", arrow(dictionary), True),
            ("polars", polars(pl.String), True),
            ("polars Categorical", polars(pl.Categorical), True),
            ("polars Enum", polars(pl.Enum(levels)), True),
        ],
    )


def booleans() -> Case:
    return Case(
        name="bool",
        rows=[True, False, None, True, True],
        keys=[True, False],
        edges=[0, 0.5, 1],
        bounds=(0, 1),
        layouts=[
            *pandas_layouts("bool", "boolean", pa.bool_()),
            ("category", category([True, False]), True),
            ("polars", polars(pl.Boolean), True),
        ],
    )


CASES = [
    booleans(),
    *(
        wholes(bits, signed=signed)
        for signed in (True, False)
        for bits in (8, 16, 32, 64)
    ),
    *(floats(bits) for bits in (16, 32, 64)),
    decimals(),
    dates(),
    *(
        instants(unit, zone)
        for unit in TICKS
        for zone in (None, "UTC", "America/New_York")
    ),
    *(durations(unit) for unit in TICKS),
    text(),
]


def pieces(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same rows in as many chunks as there are rows."""
    if frame.height < 2:
        return frame
    return pl.concat([frame[i : i + 1] for i in range(frame.height)], rechunk=False)


def frames(layout: Layout, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield native frames of a column `x`, its unit `u` and a group `g`."""
    name, make, _ = layout
    units = [1 + i % 3 if i % 3 else 0 for i in range(len(values))]
    groups = ["ab"[i % 2] for i in range(len(values))]
    column = make(values)
    if isinstance(column, pd.Series):
        labels = list(range(len(values), 0, -1))
        yield (
            name,
            pd.DataFrame(
                {"x": column.to_numpy() if name == "object" else column.array}
                | {
                    "u": np.array(units, dtype=np.int64),
                    "g": pd.array(groups, dtype="str"),
                },
                index=labels,
            ),
        )
        return
    whole = pl.DataFrame(
        {"x": column, "u": units, "g": groups},
        schema_overrides={"u": pl.Int64, "g": pl.String},
    )
    yield name, whole
    yield f"lazy {name}", whole.lazy()
    yield f"chunked {name}", pieces(whole)


def seen(release: Callable[[], Any]) -> list[list[int]]:
    with recording(noiseless=True) as recorder:
        release()
    (record,) = recorder.records
    (block,) = record.blocks
    return [list(row) for row in block.exact]


def check(case: Case, native: Any, values: list[Any], *, unit: bool) -> None:
    """Compare every operation with the reference."""
    budget = dpframe.Accountant(epsilon=1000)
    units = [1 + i % 3 if i % 3 else 0 for i in range(len(values))]
    declared: dict[str, Any] = {}
    weights = [1] * len(values)
    if unit:
        declared = {"privacy_unit": "u", "max_rows": MAX_ROWS}
        shared = {u: WEIGHT * MAX_ROWS // max(units.count(u), MAX_ROWS) for u in units}
        weights = [shared[u] for u in units]
    private = native.dp.attach(budget, **declared)
    typed = private.dp.domain(x=case.keys)
    dp = private.dp

    found = seen(lambda: typed.dp.count("x", epsilon=1))
    assert found == [[count_of(case, values, weights)]]

    placed, size = cells_of(case, values, keys=True)
    by_keys = table_of(placed, weights, size)
    found = seen(lambda: dp.histogram("x", keys=case.keys, other=True, epsilon=1))
    assert found == [[count] for count in by_keys]
    found = seen(lambda: dp.value_counts("x", keys=case.keys, epsilon=1))
    assert found == [[count] for count in by_keys[:-1]]

    crossed = [
        None if cell is None else 2 * cell + i % 2 for i, cell in enumerate(placed)
    ]
    found = seen(
        lambda: dp.contingency(
            ["x", "g"],
            keys={"x": case.keys, "g": ["a", "b"]},
            other=True,
            epsilon=1,
        )
    )
    assert found == [[count] for count in table_of(crossed, weights, 2 * size)]

    if not unit:
        distinct = {case.line(value) for value in values} - {None}
        found = seen(lambda: typed.dp.n_unique("x", epsilon=1))
        assert found == [[len(distinct)]]

    if case.edges:
        placed, size = cells_of(case, values, keys=False)
        found = seen(lambda: dp.histogram("x", bins=case.edges, other=True, epsilon=1))
        assert found == [[count] for count in table_of(placed, weights, size)]

    if case.bounds is not None:
        check_numbers(case, private, values, weights)


def check_numbers(
    case: Case, private: Any, values: list[Any], weights: list[int]
) -> None:
    dp = private.dp
    if not isinstance(case.keys[0], dt.date):
        for bounds in (case.bounds, case.wide):
            if bounds is not None:
                found = seen(lambda b=bounds: dp.sum("x", bounds=b, epsilon=1))
                assert found == [[sum_of(case, values, weights, bounds)]]

    top, (n, s), slack = powers_of(case, values, weights, 1)
    ((rest, steps),) = seen(lambda: dp.mean("x", bounds=case.bounds, epsilon=1))
    assert rest + steps == n * top
    assert abs(steps - s) <= slack

    if not isinstance(case.keys[0], (dt.date, dt.timedelta)):
        top, (n, s, q), slack = powers_of(case, values, weights, 2)
        ((a, b, c),) = seen(lambda: dp.var("x", bounds=case.bounds, epsilon=1))
        assert a + b + c == n * top**2
        assert abs(b + 2 * c - 2 * top * s) <= 2 * top * slack
        assert abs(c - q) <= 2 * top * slack


@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize(
    ("case", "layout"),
    [
        pytest.param(case, layout, id=f"{case.name} as {layout[0]}")
        for case in CASES
        for layout in case.layouts
    ],
)
def test_every_layout_of_a_dtype_gives_the_reference(
    case: Case, layout: Layout, *, unit: bool
) -> None:
    held = layout[2]
    present = [value for value in case.rows if value is not None]
    sets = [case.rows if held else present]
    if not unit:
        sets += [[], [None] * 4] if held else [[]]
    for values in sets:
        for name, native in frames(layout, values):
            if values or name == layout[0]:  # nothing has no chunks
                check(case, native, values, unit=unit)


# Missing throughout, and objects


@pytest.mark.parametrize(
    "native",
    [
        lambda: pl.DataFrame({"x": [None] * 3}),
        lambda: pl.LazyFrame({"x": [None] * 3}),
        lambda: pd.DataFrame({"x": pd.Series([None] * 3, dtype=object)}),
        lambda: pd.DataFrame({"x": pd.Series([None] * 3, dtype="float64")}),
        lambda: pd.DataFrame({"x": pd.Series([None] * 3, dtype="null[pyarrow]")}),
    ],
    ids=["Null", "lazy Null", "object", "float64", "null[pyarrow]"],
)
def test_a_column_without_values_takes_any_declared_type(native: Any) -> None:
    private = native().dp.attach(dpframe.Accountant(epsilon=1000))
    typed = private.dp.bounds(x=(0.0, 5.0))
    assert seen(lambda: typed.dp.sum("x", epsilon=1)) == [[0]]
    assert seen(lambda: typed.dp.mean("x", epsilon=1)) == [[0, 0]]
    assert seen(lambda: typed.dp.count("x", epsilon=1)) == [[0]]
    assert seen(lambda: typed.dp.n_unique("x", epsilon=1)) == [[0]]
    found = seen(lambda: private.dp.histogram("x", keys=[1.5], other=True, epsilon=1))
    assert found == [[0], [3]]


MIXED = [1, 2.0, True, "1", None, nan, dt.date(2024, 1, 1), Decimal(1), [1], 2**70]


@pytest.mark.parametrize(
    ("keys", "counts"),
    [
        ([1, 2], [1, 0]),
        ([1.0, 2.0], [1, 1]),
        ([True, False], [1, 0]),
        (["1", "2"], [1, 0]),
        ([dt.date(2024, 1, 1)], [1]),
        ([dt.datetime(2024, 1, 1)], [0]),
        ([Decimal(1)], [1]),
    ],
    ids=["int", "float", "bool", "str", "date", "datetime", "decimal"],
)
def test_an_object_of_another_type_than_declared_is_missing(
    keys: list[Any], counts: list[int]
) -> None:
    native = pd.DataFrame({"x": pd.Series(MIXED, dtype=object)})
    private = native.dp.attach(dpframe.Accountant(epsilon=1000))
    found = seen(lambda: private.dp.histogram("x", keys=keys, other=True, epsilon=1))
    assert found == [[count] for count in [*counts, len(MIXED) - sum(counts)]]
    if not isinstance(keys[0], (str, dt.date, bool)):
        bounds = (keys[0], keys[0] + 9)
        assert seen(lambda: private.dp.sum("x", bounds=bounds, epsilon=1))


def test_declared_decimals_of_an_object_column_may_differ_in_digits() -> None:
    values = [Decimal("1.5"), Decimal("2.25"), None]
    native = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    private = native.dp.attach(dpframe.Accountant(epsilon=1000))
    bounds = (Decimal(0), Decimal("2.00"))
    assert seen(lambda: private.dp.sum("x", bounds=bounds, epsilon=1)) == [[350]]
    found = seen(
        lambda: private.dp.histogram("x", keys=[Decimal("1.5"), Decimal(3)], epsilon=1)
    )
    assert found == [[1], [0]]


# What is refused before anything is spent


def refused(native: Any, release: Callable[[Any], Any], error: type[Exception]) -> str:
    """Check that a call is refused from the schema alone; return what it says."""
    budget = dpframe.Accountant(epsilon=1000)
    private = native.dp.attach(budget)
    with pytest.raises(error) as caught:
        release(private.dp)
    assert isinstance(caught.value, DPFrameError)
    assert budget.spent.epsilon == 0
    assert len(budget.events) == 0
    return str(caught.value)


@pytest.mark.parametrize(
    "release",
    [
        lambda dp: dp.count("x", epsilon=1),
        lambda dp: dp.n_unique("x", epsilon=1),
        lambda dp: dp.n_unique(["y", "x"], epsilon=1),
        lambda dp: dp.sum("x", epsilon=1),
        lambda dp: dp.histogram("x", epsilon=1),
        lambda dp: dp.agg(n=("x", "count"), epsilon=1),
    ],
)
def test_objects_of_no_declared_type_are_refused(release: Any) -> None:
    native = pd.DataFrame({"x": pd.Series(["a", 1, [2]], dtype=object), "y": [1, 2, 3]})
    assert "'x'" in refused(native, release, ValueError)


@pytest.mark.parametrize(
    "keys", [[1], ["1"], [1.0], [True, "1"], [dt.date(2024, 1, 1)], [None], [b"1"]]
)
def test_keys_of_another_type_than_a_boolean_column_are_refused(keys: Any) -> None:
    for frame in (pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        native = frame({"x": [True, False]})
        error = ValueError if keys == [None] else TypeError
        refused(native, lambda dp: dp.histogram("x", keys=keys, epsilon=1), error)


@pytest.mark.parametrize("keys", [[True], ["1"], [1j], [dt.timedelta(1)], [b"1"]])
def test_keys_of_another_type_than_a_number_column_are_refused(keys: Any) -> None:
    for frame in (pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        for values in ([0, 1], [0.0, 1.0]):
            native = frame({"x": values})
            refused(
                native, lambda dp: dp.histogram("x", keys=keys, epsilon=1), TypeError
            )


@pytest.mark.parametrize(
    "declared", [{"keys": [300]}, {"keys": [-129]}, {"keys": [10**30]}]
)
def test_keys_beyond_a_dtype_are_refused(declared: Any) -> None:
    for native in (
        pl.DataFrame({"x": pl.Series([1], dtype=pl.Int8)}),
        pd.DataFrame({"x": pd.Series([1], dtype="int8")}),
    ):
        refused(native, lambda dp: dp.histogram("x", **declared, epsilon=1), ValueError)


def test_a_column_of_keys_is_refused() -> None:
    for native in (pd.DataFrame({"x": [0, 1]}), pl.DataFrame({"x": [0, 1]})):
        said = refused(
            native,
            lambda dp, n=native: dp.histogram("x", keys=n["x"], epsilon=1),
            TypeError,
        )
        assert "Series" in said
        with pytest.raises(TypeError, match="Series"):
            dpframe.attach(native["x"], dpframe.Accountant(epsilon=1))


def test_edges_with_and_without_a_zone_exclude_each_other() -> None:
    naive = [dt.datetime(2024, 1, day) for day in (1, 2, 3)]
    aware = [edge.replace(tzinfo=dt.UTC) for edge in naive]
    for frame in (pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        for values, edges in ((naive, aware), (aware, naive)):
            native = frame({"x": values})
            for declared in ({"bins": edges}, {"keys": edges}):
                said = refused(
                    native,
                    lambda dp, d=declared: dp.histogram("x", **d, epsilon=1),
                    TypeError,
                )
                assert "time zone" in said


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1], [2]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)),
        pl.Series([b"1", b"2"]),
        pl.Series([dt.time(1), dt.time(2)]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_dtypes_without_a_number_line_are_refused(column: pl.Series) -> None:
    whole = pl.DataFrame({"x": column, "y": [1, 2]})
    arrow_backed = pd.arrays.ArrowExtensionArray(column.to_arrow())
    natives = [whole, whole.lazy(), pd.DataFrame({"x": arrow_backed, "y": [1, 2]})]
    for native in natives:
        for release in (
            lambda dp: dp.count("x", epsilon=1),
            lambda dp: dp.n_unique("x", epsilon=1),
            lambda dp: dp.sum("x", bounds=(0, 1), epsilon=1),
            lambda dp: dp.histogram("x", keys=[1], epsilon=1),
        ):
            assert "'x'" in refused(native, release, TypeError)
        budget = dpframe.Accountant(epsilon=10)
        native.dp.attach(budget).dp.sum("y", bounds=(0, 1), epsilon=1)
        assert budget.spent.epsilon == 1


def test_complex_numbers_are_refused() -> None:
    native = pd.DataFrame({"x": [1j, 2.0]})
    refused(native, lambda dp: dp.sum("x", bounds=(0, 1), epsilon=1), TypeError)
    refused(native, lambda dp: dp.count("x", epsilon=1), TypeError)


def test_columns_of_several_levels_are_refused() -> None:
    levels = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    with pytest.raises(TypeError, match="levels"):
        dpframe.attach(
            pd.DataFrame([[1, 2]], columns=levels), dpframe.Accountant(epsilon=1)
        )


# Declared times and numbers are read exactly


def test_numpy_times_are_read_in_their_own_unit() -> None:
    far = [dt.datetime(3500, 1, 1), dt.datetime(2000, 1, 1)]
    edges = np.array(["1999", "3000", "4000"], dtype="datetime64[Y]")
    for unit in ("Y", "D", "s", "us"):
        bins = edges.astype(f"datetime64[{unit}]")
        for frame in (pl.DataFrame, pd.DataFrame):
            native = frame({"x": far})
            private = native.dp.attach(dpframe.Accountant(epsilon=10))
            assert seen(
                lambda p=private, b=bins: p.dp.histogram("x", bins=b, epsilon=1)
            ) == [[1], [1]]
    long = pl.DataFrame({"x": [dt.timedelta(days=200_000)]})
    private = long.dp.attach(dpframe.Accountant(epsilon=10))
    bounds = tuple(np.array([0, 300_000], dtype="timedelta64[D]"))
    assert seen(lambda: private.dp.sum("x", bounds=bounds, epsilon=1)) == [
        [200_000 * 86_400 * 10**6]
    ]


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ((pd.NaT, dt.datetime(2024, 1, 1)), ValueError),
        ((np.datetime64("NaT"), np.datetime64("2024")), ValueError),
        ((dt.datetime(2024, 1, 1), pd.NaT), ValueError),
        ((0, 1), TypeError),
        (("2023", "2024"), TypeError),
        ((dt.timedelta(0), dt.timedelta(1)), TypeError),
    ],
)
def test_bounds_that_are_no_instants_are_refused(bounds: Any, error: Any) -> None:
    for frame in (pl.DataFrame, pd.DataFrame):
        native = frame({"x": [dt.datetime(2024, 1, 1)]})
        refused(native, lambda dp: dp.mean("x", bounds=bounds, epsilon=1), error)


def test_durations_of_no_fixed_length_are_refused() -> None:
    native = pl.DataFrame({"x": [dt.timedelta(1)]})
    bounds = (np.timedelta64(1, "M"), np.timedelta64(2, "M"))
    refused(native, lambda dp: dp.sum("x", bounds=bounds, epsilon=1), TypeError)


@pytest.mark.parametrize("far", [10**400, Decimal("1e999999999"), Fraction(10**400, 3)])
def test_declared_numbers_beyond_doubles_are_refused(far: Any) -> None:
    for values in ([1.0], [1]):
        native = pl.DataFrame({"x": values})
        for declared in ({"keys": [far]}, {"bins": [0, far]}):
            refused(
                native,
                lambda dp, d=declared: dp.histogram("x", **d, epsilon=1),
                ValueError,
            )
        refused(native, lambda dp: dp.sum("x", bounds=(0, far), epsilon=1), ValueError)


def test_equal_keys_of_tuples_are_one_however_they_are_spelled() -> None:
    native = pl.DataFrame({"x": [0.1, 0.1, 0.2], "y": [1, 2, 2]})
    private = native.dp.attach(dpframe.Accountant(epsilon=10))
    keys = [(0.1, 1), (Fraction(1, 10), 2), (np.float64(0.2), np.int8(2))]
    found = seen(lambda: private.dp.contingency(["x", "y"], keys=keys, epsilon=1))
    assert found == [[1], [1], [1]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
@pytest.mark.parametrize(
    "name", ["dp", "index", "len", "", "a.b", "x y", "count", "__0__", "columns", "é"]
)
def test_columns_may_have_any_name(frame: Any, name: str) -> None:
    asked: dict[str, Any] = {"bounds": (0, 5), "epsilon": 1}
    native = frame({name: [1, 2, 2], "y": [1, 1, 1], "u": [7, 7, 8]})
    for unit in ({}, {"privacy_unit": "u", "max_rows": 2, "max_groups": 2}):
        private = native.dp.attach(dpframe.Accountant(epsilon=1000), **unit)
        full = WEIGHT if unit else 1
        assert seen(lambda p=private: p.dp.sum(name, **asked)) == [[5 * full]]
        assert seen(lambda p=private: p.dp.count(name, epsilon=1)) == [[3 * full]]
        assert seen(lambda p=private: p.dp.n_unique(name, epsilon=1)) == [[2]]
        found = seen(lambda p=private: p.dp.histogram(name, bins=[0, 2, 3], epsilon=1))
        assert found == [[full], [2 * full]]
        keys = {name: [1, 2], "y": [1]}
        grouped = private.dp.group_by(name, "y", keys=keys)
        assert seen(lambda g=grouped: g.sum("u", **asked)) == [[5 * full], [10 * full]]
        if name != "count":  # taken by the column of counts
            assert seen(lambda g=grouped: g.count(epsilon=1)) == [[full], [2 * full]]
        wide = {name: (0, 5), "y": (0, 5)}
        moments = private.dp.mean_cov([name, "y"], bounds=wide, epsilon=1)
        assert name in repr(moments)


@pytest.mark.parametrize("name", ["*", "^x$", "^.*$"])
def test_names_that_polars_reads_as_patterns_are_refused(name: str) -> None:
    for frame in (pd.DataFrame, pl.DataFrame):
        native = frame({name: [1], "x": [2]})
        said = refused(
            native, lambda dp: dp.sum(name, bounds=(0, 5), epsilon=1), ValueError
        )
        assert "pattern" in said


def test_columns_of_noisy_sums_leave_names_that_are_taken() -> None:
    native = pl.DataFrame({"y": [1, 2], "y_count": [1, 2]})
    private = native.dp.attach(dpframe.Accountant(epsilon=1000)).dp.bounds(y=(0, 3))
    grouped = private.dp.group_by("y_count", keys=[1, 2])
    raw = grouped.mean("y", epsilon=50).raw
    assert raw.columns == ["y_count", "y_count_", "y_sum"]
    assert raw["y_count"].to_list() == [1, 2]
    raw = private.dp.agg(y=("y", "mean"), y_count="count", epsilon=50).raw
    assert len(set(raw.columns)) == 3


def test_a_column_of_two_declared_types_in_one_release_is_refused() -> None:
    objects = pd.DataFrame({"x": pd.Series([1, 2.5, "a", None], dtype=object)})
    for native in (objects, pl.DataFrame({"x": [None]})):
        for keys, bounds in (([1, 2], (0.0, 5.0)), (["a"], (0, 5))):
            said = refused(
                native,
                lambda dp, k=keys, b=bounds: (
                    dp.bounds(x=b)
                    .dp.group_by("x", keys=k)
                    .agg(m=("x", "mean"), epsilon=1)
                ),
                TypeError,
            )
            assert "'x'" in said
        private = native.dp.attach(dpframe.Accountant(epsilon=10)).dp.bounds(x=(0, 5))
        private.dp.group_by("x", keys=[1, 2]).agg(m=("x", "mean"), epsilon=1)


@pytest.mark.parametrize(
    "declared",
    [
        {"bins": [dt.datetime(1000, 1, 1), dt.datetime(2000, 1, 1)]},
        {"bins": np.array(["2000", "30000"], dtype="datetime64[Y]")},
        {"keys": [dt.datetime(3000, 1, 1)]},
        {"bins": 3, "bounds": (dt.datetime(1000, 1, 1), dt.datetime(3000, 1, 1))},
    ],
)
def test_times_beyond_a_dtype_are_refused(declared: Any) -> None:
    instant = pl.Series([dt.datetime(2020, 1, 1)], dtype=pl.Datetime("ns"))
    for native in (
        pl.DataFrame({"x": instant}),
        pd.DataFrame({"x": pd.Series(["2020"], dtype="datetime64[ns]")}),
    ):
        said = refused(
            native, lambda dp: dp.histogram("x", **declared, epsilon=1), ValueError
        )
        assert "beyond" in said


def test_keys_of_nanoseconds_are_handed_out_as_declared() -> None:
    keys = [np.datetime64(1, "ns"), np.datetime64(2, "ns")]
    instants = pd.DataFrame({"x": np.array([2, 2, 1, 0], dtype="datetime64[ns]")})
    for native in (instants, pl.from_pandas(instants)):
        private = native.dp.attach(dpframe.Accountant(epsilon=1000))
        with recording(noiseless=True):
            table = private.dp.histogram("x", keys=keys, epsilon=1).to_pandas()
        assert table["x"].astype("int64").tolist() == [1, 2]
        assert table["count"].tolist() == [1, 2]
