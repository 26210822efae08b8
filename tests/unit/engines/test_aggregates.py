from __future__ import annotations

import datetime as dt
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dpframe.engines.aggregates import aggregate
from dpframe.errors import NotProvedError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(1950, 5, 5, tzinfo=dt.UTC)]
NAMES = ["count", "null_count", "n_unique", "sum", "mean", "min", "max", "median"]
NAMES += ["any", "all"]
VALUES: list[tuple[pl.DataType, list[Any]]] = [
    (pl.Boolean(), [True, False, None, False, True]),
    (pl.Int8(), [1, -128, 127, 127, None]),
    (pl.Int32(), [2**31 - 1, 2**31 - 1, None, -5, 8]),
    (pl.Int64(), [2**63 - 1, 2**63 - 1, -7, None, 3]),
    (pl.UInt8(), [255, 255, 0, 9, None]),
    (pl.UInt64(), [2**64 - 1, 2**64 - 1, 0, None, 3]),
    (pl.Int128(), [2**127 - 1, 2**127 - 1, None, 4, -9]),
    (pl.Float32(), [0.5, -1.25, None, 3.75, 8.0]),
    (pl.Float64(), [0.5, -1.25, None, 3.75, 1e9]),
    (pl.String(), ["b", "a", "", None, "é"]),
    (pl.Enum(["z", "a", "m"]), ["a", "z", None, "m", "m"]),
    (pl.Date(), [dt.date(2020, 1, 1), None, dt.date(1950, 5, 5)] * 2),
    (
        pl.Datetime("us"),
        [T[0].replace(tzinfo=None), None, T[1].replace(tzinfo=None)] * 2,
    ),
    (pl.Datetime("ms", "UTC"), [T[0], None, T[1]] * 2),
    (pl.Duration("ms"), [dt.timedelta(1), dt.timedelta(-3), None]),
    (pl.Time(), [dt.time(1), dt.time(23, 59), None, dt.time(2)]),
]


def ways(
    name: str, frame: pl.DataFrame, *, column: str = "x"
) -> list[dict[Any, list[Any]]]:
    """Return an aggregate by unit, computed in every way that steps are run."""
    made = aggregate(name, pl.col(column), frame.schema[column])
    names = [f"part{i}" for i in range(len(made.parts))]
    parts = [part.alias(held) for part, held in zip(made.parts, names, strict=True)]
    done = made.finish(*map(pl.col, names)).alias("out")
    chunks = pl.concat([frame[i : i + 1] for i in range(len(frame))], rechunk=False)
    found = list[dict[Any, list[Any]]]()
    for rows in (frame, frame.reverse(), chunks, frame.sort("u")):
        for engine in ("in-memory", "streaming"):
            grouped = rows.lazy().group_by("u").agg(parts).with_columns(done)
            spread = rows.lazy().with_columns(p.over("u") for p in parts)
            spread = spread.with_columns(done).select("u", "out").unique()
            for lazy in (grouped.select("u", "out"), spread):
                table = lazy.collect(engine=engine)
                assert table.schema["out"] == made.dtype
                physical = table["out"].to_physical().to_list()
                assert len(table) == frame["u"].n_unique()
                found.append(
                    {
                        unit: [repr(value), value]
                        for unit, value in zip(table["u"], physical, strict=True)
                    }
                )
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", VALUES, ids=lambda case: str(case[0]))
def test_aggregates_have_polars_results_and_dtypes(
    name: str, case: tuple[pl.DataType, list[Any]]
) -> None:
    dtype, values = case
    units = [1] * len(values) + [2, 2, 3]
    column = pl.Series("x", [*values, None, None, values[0]], dtype=dtype)
    frame = pl.DataFrame({"u": units, "x": column})
    try:
        found = ways(name, frame)
    except NotProvedError:
        return
    assert all(each == found[0] for each in found)
    plain = frame.group_by("u").agg(getattr(pl.col("x"), name)())
    assert plain.schema["x"] == aggregate(name, pl.col("x"), dtype).dtype
    for unit, value in zip(plain["u"], plain["x"].to_physical(), strict=True):
        ours = found[0][unit][1]
        if isinstance(value, float) and not (name == "mean" and dtype.is_integer()):
            assert ours == pytest.approx(value, rel=1e-6)
        elif not isinstance(value, float):
            assert ours == value


def test_float_sums_and_means_are_exact_to_the_last_digit() -> None:
    rng = random.Random(3)  # noqa: S311 - no secret
    values = [rng.gauss(0, 10.0 ** rng.randrange(-30, 20)) for _ in range(400)]
    values += [math.inf, -math.inf, 1e308, math.inf, 2.0**-41, 3 * 2.0**-104, -0.0]
    units = [i % 7 if i < 400 else 7 + i % 2 for i in range(len(values))]
    frame = pl.DataFrame({"u": units, "x": [*values]})
    total, mean = ways("sum", frame), ways("mean", frame)
    assert all(each == total[0] for each in total)
    assert all(each == mean[0] for each in mean)
    for unit in set(units):
        own = [v for u, v in zip(units, values, strict=True) if u == unit]
        clamped = [Fraction(min(max(v, -(2.0**63)), 2.0**63)) for v in own]
        exact = sum(Fraction(round(v * 2**103), 2**103) for v in clamped)
        for found, truth in ((total, exact), (mean, exact / len(own))):
            gap = abs(Fraction(found[0][unit][1]) - truth)
            assert gap <= Fraction(math.ulp(float(truth))) + Fraction(1, 2**102)


def test_mean_of_equal_values_is_that_value() -> None:
    rng = random.Random(4)  # noqa: S311 - no secret
    sizes = [1, 2, 3, 7, 10, 49]
    values = [rng.uniform(-1, 1) * 10.0**place for place in range(-9, 12, 3)]
    for size in sizes:
        units = [unit for unit in range(len(values)) for _ in range(size)]
        rows = pl.DataFrame({"u": units, "x": [values[unit] for unit in units]})
        for frame in (rows, rows.with_columns(pl.col("x").round().cast(pl.Int64))):
            own = dict(frame.iter_rows())
            found = ways("mean", frame)[0]
            assert {unit: value for unit, (_, value) in found.items()} == own


def test_float_sum_of_a_unit_ignores_other_units_where_plain_sums_do_not() -> None:
    rng = np.random.default_rng(5)
    own = rng.normal(0, 1e3, 5000)
    ours, plain = set[float](), set[float]()
    for others in (0, 100_000, 150_001, 230_000, 310_000):
        x = np.concatenate([own, rng.normal(0, 1, others)])
        unit = np.concatenate([np.zeros(5000, int), 1 + np.arange(others) % 3])
        order = rng.permutation(len(x))
        frame = pl.DataFrame({"u": unit[order], "x": x[order]}).lazy()
        made = aggregate("sum", pl.col("x"), pl.Float64())
        both = frame.group_by("u").agg(
            made.finish(*made.parts).alias("ours"), pl.col("x").sum().alias("plain")
        )
        row = both.filter(pl.col("u") == 0).collect()
        ours.add(row["ours"][0])
        plain.add(row["plain"][0])
    assert len(ours) == 1
    assert len(plain) > 1


@pytest.mark.parametrize("dtype", [pl.Float32(), pl.Float64()])
def test_zeros_have_no_sign_and_nan_is_missing(dtype: pl.DataType) -> None:
    values = [0.0, -0.0, -0.0, 0.0, math.nan, math.nan, None]
    units = [1, 1, 2, 2, 3, 3, 3]
    frame = pl.DataFrame({"u": units, "x": pl.Series(values, dtype=dtype)})
    for name in NAMES[:8]:
        found = ways(name, frame)
        assert all(each == found[0] for each in found)
        assert "-0.0" not in str(found)
        assert "nan" not in str(found)
    assert ways("n_unique", frame)[0] == {1: ["1", 1], 2: ["1", 1], 3: ["1", 1]}
    assert ways("count", frame)[0][3][1] == 0
    assert ways("null_count", frame)[0][3][1] == 3
    assert ways("mean", frame)[0][3][1] is None


@pytest.mark.parametrize("name", ["first", "std", "quantile", "implode", "made_up"])
def test_aggregates_that_depend_on_order_are_refused_with_a_hint(name: str) -> None:
    with pytest.raises(NotProvedError, match=name) as refusal:
        aggregate(name, pl.col("x"), pl.Int64())
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("sum", pl.Decimal(20, 2)),
        ("min", pl.Categorical()),
        ("max", pl.List(pl.Int64)),
        ("n_unique", pl.Struct({"a": pl.Int64})),
        ("mean", pl.String()),
        ("median", pl.Boolean()),
        ("any", pl.Int64()),
    ],
)
def test_dtypes_without_an_exact_figure_are_refused(
    name: str, dtype: pl.DataType
) -> None:
    with pytest.raises(NotProvedError, match="not offered"):
        aggregate(name, pl.col("x"), dtype)


def _rows(values: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame({"u": [1] * len(values), "x": values})


def test_len_counts_rows_with_or_without_a_value() -> None:
    made = aggregate("len", None, None)
    table = _rows([1, None, 3]).group_by("u").agg(made.finish(*made.parts).alias("n"))
    assert table["n"].to_list() == [3]
    assert table.schema["n"] == made.dtype


def test_sums_of_floats_at_their_limits_never_fail() -> None:
    values = [math.inf] * 200 + [-math.inf] * 100 + [1e308, -1e308]
    found = ways("sum", _rows(values))
    assert found[0][1][1] == 100 * 2.0**63
