"""What a release of intervals answers and hands out; exact where noise is frozen."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import dpframe
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.releases.load import load
from dpframe.releases.ranges import asked_by
from dpframe.testing import recording

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Host

DAY = dt.timedelta(days=1)
JAN = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
BOXES: dict[str, Any] = {
    "columns": ["x", "y"],
    "bounds": {"x": (0, 6), "y": (0, 0.4)},
    "step": {"y": 0.1},
}
LINES = ("tree", "privtree", "binary_search")
PLANES = ("quad", "privtree")


def asked(frame: Any, columns: Any = "x", **declared: Any) -> Any:
    options = {"epsilon": 1, "allow_weak": True} | declared
    return frame.dp.synthetic_intervals(columns, **options)


def attached(data: Any, **declared: Any) -> Any:
    frame: Any = data if isinstance(data, pd.DataFrame) else pl.DataFrame(data)
    return frame.dp.attach(dpframe.Accountant(epsilon=10**12), **declared)


def frozen(frame: Any, columns: Any = "x", **declared: Any) -> Any:
    """Return a release without noise."""
    with recording(noiseless=True):
        return asked(frame, columns, **declared)


def made_of(columns: int, method: str, data: Any = None, **declared: Any) -> Any:
    rows = {"x": [0, 1, 1, 3, 6] * 40, "y": [0.0, 0.1, 0.4, 0.3, 0.2] * 40}
    frame = attached(rows if data is None else data)
    if columns == 1:
        return asked(frame, bounds=(0, 6), method=method, **declared)
    return asked(frame, method=method, **(BOXES | declared))


every_method = pytest.mark.parametrize(
    ("columns", "method"), [*((1, m) for m in LINES), *((2, m) for m in PLANES)]
)


# Answers without noise are those of the rows


NUMBERS = [0, 0, 1, 3, 3, 3, 4, 6, 6, -2, 9, None]
CODES = sorted(min(max(x, 0), 6) for x in NUMBERS if x is not None)


def test_a_tree_answers_every_interval_as_the_rounded_rows_do() -> None:
    made = frozen(attached({"x": NUMBERS}), bounds=(0, 6), method="tree")
    rows = len(CODES)
    for lo, hi in product([None, *range(-2, 9)], repeat=2):
        if lo is not None and hi is not None and lo > hi:
            continue
        if (lo is not None and lo > 6) or (hi is not None and hi < 0):
            with pytest.raises(ParameterError, match="knows 'x' from 0 to 6"):
                made.count(lo, hi)
            continue
        low, high = (-9 if lo is None else lo), (99 if hi is None else hi)
        count = sum(low <= code <= high for code in CODES)
        assert made.count(lo, hi).value == count
        assert made.fraction(lo, hi).value == pytest.approx(count / rows)
        if lo is None and hi is not None:
            assert made.cdf(hi).value == pytest.approx(count / rows)


def test_many_intervals_are_answered_as_each_is_alone() -> None:
    frame = attached({"x": NUMBERS, "y": NUMBERS}, bounds={"x": (0, 6), "y": (0, 6)})
    asked = [(lo, hi) for lo in range(7) for hi in range(lo, 7)]
    for method in ("tree", "privtree"):
        made = frame.dp.synthetic_intervals("x", method=method, epsilon=1)
        table = made.count_many(np.array(asked), confidence=0.9).to_dicts()
        for query, row in zip(asked, table, strict=True):
            answer = made.count(*query)
            assert row["count"] == answer.value
            assert (row["lower"], row["upper"]) == answer.interval(0.9)
    boxes = frame.dp.synthetic_intervals(["x", "y"], method="privtree", epsilon=1)
    questions = [{"x": pair, "y": (1, 4)} for pair in asked]
    table = boxes.count_many(questions).to_dicts()
    for query, row in zip(questions, table, strict=True):
        answer = boxes.count(query)
        assert row["count"] == answer.value
        assert (row["lower"], row["upper"]) == answer.interval()
    for wrong, fault in (
        (5, "list of pairs"),
        ([(1, 2, 3)], "3 values"),
        ([7], "pair"),
    ):
        with pytest.raises(ParameterTypeError, match=fault):
            made.count_many(wrong)
    assert len(made.count_many([])) == 0


def test_more_rows_than_fit_are_refused_when_they_are_asked_for() -> None:
    made = frozen(attached({"x": NUMBERS}), bounds=(0, 6), method="tree")
    with pytest.raises(ParameterError, match="too many"):
        made.sample(10**9)


def test_quantiles_are_the_least_points_that_reach_a_fraction() -> None:
    made = frozen(attached({"x": NUMBERS}), bounds=(0, 6), method="tree")
    rows = len(CODES)
    for place in range(1, rows + 1):
        assert made.quantile(Fraction(place, rows)).value == CODES[place - 1]
        between = Fraction(2 * place - 1, 2 * rows)
        assert made.quantile(between).value == CODES[place - 1]
    assert made.quantile(0).value == 0
    assert made.quantile(1).value == 6


def test_a_fraction_that_is_reached_exactly_is_reached_in_a_long_tree_too() -> None:
    values = list(range(1000))
    made = frozen(attached({"x": values}), bounds=(0, 999), method="tree")
    for percent in range(1, 101):
        assert made.quantile(percent / 100).value == 10 * percent - 1


@pytest.mark.parametrize("privacy_unit", [None, "u"])
def test_a_privtree_is_exact_at_the_ends_of_its_cells(privacy_unit: str | None) -> None:
    rng = Random(4)  # noqa: S311 - test data
    values = [rng.choice([5, 6, 7, rng.randrange(5000)]) for _ in range(3000)]
    limits = {} if privacy_unit is None else {"privacy_unit": "u", "max_rows": 1}
    frame = attached({"x": values, "u": range(3000)}, **limits)
    made = frozen(frame, bounds=(0, 4999), method="privtree")
    starts = [int(start) for start in made.shape.starts]
    assert len(starts) > 20
    for lo, hi in zip(starts, [*starts[1:], 5000], strict=True):
        expected = sum(lo <= x < hi for x in values)
        answer = made.count(lo, hi - 1)
        assert answer.value == expected
        assert answer.accuracy() == pytest.approx(
            float(np.ceil(answer.accuracy())), abs=1
        )
        assert made.count(None, hi - 1).value == sum(x < hi for x in values)


def test_boxes_of_a_quad_are_exact() -> None:
    rng = Random(2)  # noqa: S311 - test data
    x = [rng.randint(-1, 7) for _ in range(300)]
    y = [rng.randint(-1, 5) / 10 for _ in range(300)]
    made = frozen(attached({"x": x, "y": y}), method="quad", **BOXES)
    for _ in range(150):
        (a, b), (c, d) = (sorted(rng.choices(range(n), k=2)) for n in (7, 5))
        box = {"x": (a, b), "y": (c / 10, d / 10)}
        expected = sum(
            a <= min(max(one, 0), 6) <= b
            and c <= min(max(round(other * 10), 0), 4) <= d
            for one, other in zip(x, y, strict=True)
        )
        assert made.count(box).value == expected
        assert made.fraction(box).value == pytest.approx(expected / 300)
    assert made.count({"x": (2, 3)}).value == sum(2 <= one <= 3 for one in x)
    assert made.count().value == 300


def test_boxes_of_a_privtree_are_exact() -> None:
    rng = Random(3)  # noqa: S311 - test data
    x = [rng.choice([3, rng.randrange(300)]) for _ in range(2000)]
    y = [rng.choice([5, rng.randrange(200)]) for _ in range(2000)]
    made = frozen(
        attached({"x": x, "y": y}),
        ["x", "y"],
        bounds={"x": (0, 299), "y": (0, 199)},
        method="privtree",
    )
    corners = list(
        zip(made.shape.first.tolist(), made.shape.last.tolist(), strict=True)
    )
    assert len(corners) > 20
    for (a, c), (b, d) in corners:
        assert b < 300
        assert d < 200
        expected = sum(
            a <= one <= b and c <= other <= d for one, other in zip(x, y, strict=True)
        )
        assert made.count({"x": (a, b), "y": (c, d)}).value == expected
    assert made.count().value == 2000


@pytest.mark.parametrize(
    ("values", "declared", "lo", "hi", "count", "median"),
    [
        (
            pl.Series([0.1, 0.2, 0.3, 0.3], dtype=pl.Float64),
            {"bounds": (0, 1), "step": 0.1},
            *(0.2, 0.3, 3, 0.2),
        ),
        (
            pl.Series([0.1, 0.2, 0.3, 0.3], dtype=pl.Float32),
            {"bounds": (0, 1), "step": 0.1},
            *(np.float32(0.2), np.float32(0.3), 3, 0.2),
        ),
        (
            pl.Series([0.1, 0.4, 9.0, 9.0], dtype=pl.Float64),
            {"domain": [0, 0.1, 0.35, 2]},
            *(0.2, 1.9, 1, 0.35),
        ),
        (
            pl.Series([Decimal("1.23")] * 4, dtype=pl.Decimal(10, 2)),
            {"bounds": (0, 10)},
            *(Decimal("1.23"), 2, 4, Decimal("1.23")),
        ),
        (
            pl.Series([JAN, JAN + DAY, JAN + DAY, JAN + 9 * DAY]),
            {"bounds": (JAN, JAN + 7 * DAY)},
            *(JAN + DAY, JAN + 6 * DAY, 2, JAN + DAY),
        ),
        (
            pl.Series(
                [NOON, NOON + DAY, NOON + 2 * DAY] * 2,
                dtype=pl.Datetime("ns", "Asia/Tokyo"),
            ),
            {"bounds": (NOON, NOON + 2 * DAY), "step": DAY},
            *(NOON + DAY / 2, None, 4, NOON + DAY),
        ),
        (
            pl.Series([DAY, DAY, 2 * DAY]),
            {"bounds": (0 * DAY, 3 * DAY), "step": DAY},
            *(DAY, DAY, 2, DAY),
        ),
        (pl.Series([True, False, True]), {}, *(True, True, 2, 1)),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pl.Series) else "",
)
def test_ends_and_quantiles_are_in_the_columns_own_type(  # noqa: PLR0917
    values: pl.Series,
    declared: dict[str, Any],
    lo: Any,
    hi: Any,
    count: int,
    median: Any,
) -> None:
    frame = attached(values.alias("x").to_frame())
    made = frozen(frame, method="tree", **declared)
    assert made.count(lo, hi).value == count
    found = made.quantile(0.5).value
    assert (
        found == pytest.approx(median) if isinstance(median, float) else found == median
    )
    assert type(found) is type(median)
    if hi is not None:
        assert str(made.title) in repr(made)
        assert "x from" in made.count(lo, hi).title


# Mistakes in questions


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda s: s.count(5, 2), ParameterError, "reversed"),
        (lambda s: s.fraction(5, 2), ParameterError, "reversed"),
        (lambda s: s.count("a", 2), ParameterTypeError, "number"),
        (lambda s: s.count(JAN, None), ParameterTypeError, "number"),
        (lambda s: s.cdf(float("nan")), ParameterError, "finite"),
        (lambda s: s.count({"z": (1, 2)}), ParameterError, "'z' is no column"),
        (lambda s: s.count({"x": 5}), ParameterTypeError, "pair"),
        (lambda s: s.count({"x": (1, 2, 3)}), ParameterTypeError, "3 values"),
        (lambda s: s.count({"x": (1, 2)}, 3), ParameterTypeError, "both ends"),
        (lambda s: s.quantile(1.5), ParameterError, "from 0 to 1"),
        (lambda s: s.quantile(-0.1), ParameterError, "from 0 to 1"),
        (lambda s: s.quantile("0.5"), ParameterTypeError, "q"),
        (lambda s: s.quantile(True), ParameterTypeError, "q"),
        (lambda s: s.sample(0), ParameterError, "at least 1"),
        (lambda s: s.sample(2.5), ParameterError, "whole number"),
        (lambda s: s.sample("5"), ParameterTypeError, ""),
        (lambda s: s.sample(None), ParameterTypeError, ""),
        (lambda s: s.accuracy(2), ParameterError, "confidence"),
        (lambda s: s.interval(), ParameterError, "no error bars"),
        (lambda s: s.to_native(interval=0.95), ParameterError, "no error bars"),
        (bool, ParameterTypeError, "truth"),
        (lambda s: asked_by(s.shape.grids, 5), ParameterTypeError, "pair"),
        (lambda s: asked_by(s.shape.grids, (1, 2, 3)), ParameterTypeError, "3 values"),
    ],
)
def test_mistaken_questions_are_refused(
    question: Any, error: type[Exception], words: str
) -> None:
    made = made_of(1, "tree")
    with pytest.raises(error) as caught:
        question(made)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda s: s.count(1, 2), ParameterTypeError, "mapping"),
        (lambda s: s.cdf(1), ParameterTypeError, "mapping"),
        (lambda s: s.quantile(0.5), ParameterError, "no quantile"),
        (lambda s: s.accuracy(), ParameterError, "accuracy"),
        (lambda s: s.alpha(), ParameterError, "accuracy"),
        (lambda s: s.count({"z": (1, 2)}), ParameterError, "no column"),
        (lambda s: s.count({"x": (2, 1)}), ParameterError, "reversed"),
    ],
)
def test_boxes_refuse_what_is_for_one_column(
    question: Any, error: type[Exception], words: str
) -> None:
    made = made_of(2, "quad")
    with pytest.raises(error, match=words):
        question(made)


def test_rows_have_no_deviation_either() -> None:
    made = made_of(1, "tree")
    with pytest.raises(AttributeError, match="no error bars"):
        _ = made.stddev
    assert not hasattr(made, "stddev")


# Rows


def on_grid(made: Any, table: pl.DataFrame) -> None:
    for grid in made.shape.grids:
        name = grid.column.name
        points = set(
            dpframe.grid.series(grid, np.arange(grid.size, dtype=np.uint64)).to_list()
        )
        assert set(table[name].to_list()) <= points


@every_method
def test_rows_are_points_of_the_grid_as_many_as_were_released(
    columns: int, method: str, host: Host
) -> None:
    for seed, size in ((1, 0), (2, 1), (3, 500)):
        rng = Random(seed)  # noqa: S311 - test data
        data = {
            "x": [rng.randint(-3, 9) for _ in range(size)],
            "y": [rng.uniform(-1, 1) for _ in range(size)],
        }
        schema = {"x": pl.Int64, "y": pl.Float64}
        frame = host.attached(
            host.frame(pl.DataFrame(data, schema=schema)), epsilon=10**6
        )
        declared = {"bounds": (0, 6)} if columns == 1 else BOXES
        made = asked(frame, **({"columns": "x"} | declared), method=method)
        native = made.to_native()
        assert type(native) is (pd.DataFrame if host.is_pandas else pl.DataFrame)
        table = made.to_polars()
        assert table.columns == ["x", "y"][:columns]
        assert table.schema == {k: schema[k] for k in table.columns}
        assert table.height == made.count().value == len(native)
        assert table.null_count().row(0) == (0,) * columns
        on_grid(made, table)
        assert_frame_equal(table, made.to_polars())
        sample = made.sample(17)
        assert len(sample) == 17
        assert list(sample.columns) == table.columns
        twice = pl.DataFrame(made.sample(17))
        assert_frame_equal(pl.DataFrame(sample), twice)
        on_grid(made, twice)
        assert made.to_numpy().shape == ((len(table),) if columns == 1 else table.shape)
        assert made.to_dict() == table.to_dict(as_series=False)
        assert pa.table(made).num_rows == table.height


@every_method
def test_no_rows_and_all_values_missing_are_legal(columns: int, method: str) -> None:
    for data in (
        pl.DataFrame(schema={"x": pl.Int64, "y": pl.Float64}),
        pl.DataFrame(
            {"x": pl.Series([None] * 5, dtype=pl.Int64), "y": [float("nan")] * 5}
        ),
    ):
        made = made_of(columns, method, data, epsilon=10**6)
        assert made.count().value == 0
        assert made.to_polars().height == len(made.to_native()) == 0
        assert made.to_numpy().shape == ((0,) if columns == 1 else (0, 2))
        assert made.low_count
        assert "low count" in repr(made)
        assert len(made.sample(3)) == 3
        assert made.fraction().interval()[:2] == (0, 1)
        if columns == 1:
            assert made.cdf(3).interval()[:2] == (0, 1)
            assert made.alpha() == math.inf
            quantile = made.quantile(0.5)
            assert 0 <= quantile.value <= 6
            assert quantile.interval()[:2] == (0, 6)


@every_method
def test_much_loss_gives_the_rows_back(columns: int, method: str) -> None:
    data = {"x": [0, 1, 1, 3, 6] * 4000, "y": [0.0, 0.1, 0.4, 0.3, 0.2] * 4000}
    made = made_of(columns, method, data, epsilon=10**9)
    found = made.to_polars().to_dicts()
    expected = pl.DataFrame(data)[made.to_polars().columns].to_dicts()
    if method == "binary_search":  # its cells hold more than a point
        assert len(found) == len(expected)
        return
    key = lambda row: tuple(row.values())  # noqa: E731
    assert sorted(found, key=key) == sorted(expected, key=key)


def test_one_row_and_equal_rows_are_legal() -> None:
    for values in ([4], [4] * 100):
        for method in LINES:
            made = made_of(1, method, {"x": values}, epsilon=10**6)
            assert made.count().value == len(values)
            if method != "binary_search":
                assert made.quantile(0.5).value == 4
                assert set(made.to_polars()["x"]) == {4}


PANDAS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Int64": (pd.array([1, None, 3], dtype="Int64"), {"bounds": (0, 6)}),
    "int8": (np.array([1, 2, 3], dtype=np.int8), {"bounds": (0, 6)}),
    "uint64": (np.array([1, 2**64 - 1], dtype=np.uint64), {"bounds": (0, 2**64 - 1)}),
    "float32": (
        np.array([0.1, 0.5], dtype=np.float32),
        {"bounds": (0, 1), "step": 0.1},
    ),
    "Float64": (
        pd.array([0.1, None], dtype="Float64"),
        {"bounds": (0, 1), "step": 0.1},
    ),
    "bool": (np.array([True, False]), {}),
    "boolean": (pd.array([True, None], dtype="boolean"), {}),
    "datetime64[ns, Europe/Berlin]": (
        pd.DatetimeIndex([NOON, NOON + DAY]).tz_convert("Europe/Berlin").as_unit("ns"),
        {"bounds": (NOON, NOON + DAY), "step": DAY / 24},
    ),
    "datetime64[ms]": (
        np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ms]"),
        {"bounds": (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 5)), "step": DAY},  # noqa: DTZ001
    ),
    "timedelta64[us]": (
        np.array([1, 2], dtype="timedelta64[us]"),
        {"bounds": (0 * DAY, DAY), "step": DAY / 24},
    ),
    "int64[pyarrow]": (pd.array([1, None], dtype="int64[pyarrow]"), {"bounds": (0, 6)}),
}


@pytest.mark.parametrize("dtype", PANDAS)
@pytest.mark.parametrize("saved", [False, True])
def test_pandas_rows_have_the_dtype_of_the_column(
    dtype: str, tmp_path: Path, *, saved: bool
) -> None:
    values, declared = PANDAS[dtype]
    frame = pd.DataFrame({"x": values})
    assert str(frame["x"].dtype) == dtype
    made = asked(attached(frame), method="auto", epsilon=0.01, **declared)
    if saved:
        made = load(made.save(tmp_path / "rows"))
    for native in (made.to_native(), made.sample(5), made.value):
        assert str(native["x"].dtype) == dtype
        assert not native["x"].isna().any()
        assert native.index.equals(pd.RangeIndex(len(native)))


def test_object_columns_come_back_as_they_were_declared() -> None:
    frame = pd.DataFrame(
        {
            "m": pd.Series([Decimal("0.1"), None, "junk"], dtype=object),
            "d": pd.Series([JAN, JAN + DAY, 5], dtype=object),
        }
    )
    decimals = asked(attached(frame), "m", domain=[Decimal("0.1"), Decimal("0.3")])
    assert {type(value) for value in decimals.sample(4)["m"]} == {Decimal}
    days = asked(attached(frame), "d", bounds=(JAN, JAN + 9 * DAY))
    assert {type(value) for value in days.sample(4)["d"]} == {dt.date}


# Nothing that is public follows from a row


@every_method
def test_an_undeclared_value_changes_nothing_that_is_public(
    columns: int, method: str
) -> None:
    rows = {"x": [0, 1, 1, 3, 6] * 40, "y": [0.0, 0.1, 0.4, 0.3, 0.2] * 40}
    extreme = {"x": [*rows["x"], 10**15], "y": [*rows["y"], float("inf")]}
    seen: list[Any] = []
    for data in (rows, extreme):
        made = frozen(
            attached(data),
            method=method,
            **(BOXES if columns == 2 else {"bounds": (0, 6)}),
        )
        seen.append(
            (
                made.to_polars().schema,
                made.shape.grids,
                made.method,
                made.provenance,
                made.cost,
                made.guarantee,
                made.sample(100).schema,
            )
        )
        on_grid(made, made.to_polars())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("start", [5, JAN])
def test_a_quantile_that_is_sure_has_no_error(start: Any) -> None:
    step: Any = 1 if start == 5 else DAY
    rows = [start] * 999 + [start + 2 * step]
    frame = attached({"x": rows}, bounds={"x": (start, start + 6 * step)})
    median = asked(frame, method="tree", epsilon=50).quantile(0.5)
    assert median.value == start
    assert median.interval() == (start, start)
    assert median.accuracy() == 0 * step
    assert " ± 0" in repr(median)


def test_the_error_of_few_rows_may_be_more_than_all_that_were_released() -> None:
    frame = attached({"x": [3] * 10}, bounds={"x": (0, 1023)})
    for _ in range(100):
        made = asked(frame, method="tree", epsilon=1)
        below = made.shape.below - np.where(np.arange(1025) > 3, 10, 0)
        off = below.max() - below.min()
        assert off <= made.alpha(0.999999) * made.shape.rows or not made.shape.rows


def test_an_error_that_is_a_bound_is_not_called_a_standard_deviation() -> None:
    made = made_of(1, "tree")
    count = made.count(0, 2)
    assert count.noise.bounded
    assert str(count.noise).startswith("discrete Laplace in each sum, error within ")
    assert str(count.noise).endswith(" in 68% of releases")
    box = made_of(2, "quad").count({"x": (0, 2)})
    assert not box.noise.bounded
    assert "standard deviation" in str(box.noise)


# Raw figures


@every_method
def test_raw_answers_are_counts_before_clean_up(columns: int, method: str) -> None:
    data = {"x": [3, 3], "y": [0.2, 0.2]}
    for _ in range(20):
        made = made_of(columns, method, data, epsilon=0.5)
        total = made.count().raw
        assert total == pytest.approx(made.raw.sum())
        assert made.fraction().raw == {"count": total, "rows": total}
        ends = (0, 2) if columns == 1 else ({"x": (0, 2)},)
        rest = (3, 6) if columns == 1 else ({"x": (3, 6)},)
        parts = [made.count(*ends).raw, made.count(*rest).raw]
        assert sum(parts) == pytest.approx(total)
        if method in {"tree", "quad"}:
            assert parts[0] == pytest.approx(made.raw.reshape(7, -1)[:3].sum())


def test_raw_answers_may_be_negative_as_counts_without_bias_are() -> None:
    frame = attached({"x": []}, bounds={"x": (0, 6)})
    raw = [asked(frame, method="tree").count(2, 4).raw for _ in range(100)]
    assert min(raw) < 0 < max(raw)


# Print, pickle, save, draw


@every_method
def test_a_release_prints_its_columns_points_and_error(
    columns: int, method: str
) -> None:
    made = made_of(columns, method, epsilon=Fraction(1, 2))
    text = repr(made)
    points, names = ("7", "x") if columns == 1 else ("7 × 5", "x and y")
    assert text.startswith(f"SyntheticIntervals({names}, {points} points, {method}")
    assert text.endswith("ε=0.5)")
    assert "\n" not in text
    assert text.partition("(")[0] in made._repr_html_()
    assert "any one row" in made.guarantee
    if columns == 1 and method != "binary_search":
        width = np.ceil(made.accuracy() + 0.5)  # counts are rounded to whole rows
        assert f"any interval ± {width:.0f} rows" in text


def test_completion_offers_the_answers() -> None:
    offered = dir(made_of(1, "tree"))
    wanted = "count fraction cdf quantile sample evaluate accuracy alpha to_native save"
    assert {*wanted.split(), "plot", "cost", "value", "low_count"} <= {*offered}
    assert not [name for name in offered if name.startswith("saved_")]


def answers(made: Any) -> list[Any]:
    if len(made.shape.grids) == 1:
        asked = [made.count(1, 3), made.fraction(2, None), made.cdf(3)]
        return [*asked, made.quantile(0.3)]
    return [made.count({"x": (1, 3)}), made.fraction({"y": (0.1, 0.2)})]


def assert_alike(one: Any, two: Any) -> None:
    assert type(one) is type(two)
    assert repr(one) == repr(two)
    assert one._repr_html_() == two._repr_html_()
    assert (one.cost, one.provenance) == (two.cost, two.provenance)
    assert one.guarantee == two.guarantee
    assert one.noise == two.noise
    assert one.low_count == two.low_count
    assert_frame_equal(one.to_polars(), two.to_polars())


@every_method
@pytest.mark.parametrize("unit", [False, True])
def test_a_release_and_its_answers_come_back_as_they_were_saved(
    columns: int, method: str, tmp_path: Path, *, unit: bool
) -> None:
    data = {"x": [0, 1, 1, 3, 6] * 40, "y": [0.1] * 200, "u": list(range(200))}
    limits = {"privacy_unit": "u", "max_rows": 2} if unit else {}
    declared = BOXES if columns == 2 else {"bounds": (0, 6)}
    made = asked(attached(data, **limits), method=method, **declared)
    again = [load(made.save(tmp_path / "rows")), pickle.loads(pickle.dumps(made))]  # noqa: S301
    for two in again:
        assert_alike(made, two)
        assert_frame_equal(made.sample(9), two.sample(9))
        for here, there in zip(answers(made), answers(two), strict=True):
            assert_alike(here, there)
            assert here.interval(0.9) == there.interval(0.9)
    for place, answer in enumerate(answers(made)):
        kept = [
            load(answer.save(tmp_path / f"answer{place}")),
            pickle.loads(pickle.dumps(answer)),  # noqa: S301
        ]
        for two in kept:
            assert_alike(answer, two)
            assert answer.value == two.value
            assert answer.interval(0.9) == two.interval(0.9)
            assert answer.accuracy(0.5) == two.accuracy(0.5)
            assert answer.stddev == two.stddev


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (pl.Series([0.1, 0.2]), {"domain": [0, 0.1, 0.35]}),
        (pl.Series([JAN, JAN]), {"bounds": (JAN, JAN + 9 * DAY)}),
        (
            pl.Series([NOON] * 2, dtype=pl.Datetime("ms", "Asia/Tokyo")),
            {"bounds": (NOON, NOON + DAY), "step": DAY / 24},
        ),
        (pl.Series([Decimal("0.1")]), {"bounds": (0, 2)}),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), {"bounds": (0, 2**64 - 1)}),
        (pl.Series([2**100], dtype=pl.Int128), {"bounds": (0, 2**100), "step": 2**90}),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pl.Series) else "",
)
def test_grids_of_all_kinds_are_saved_and_drawn(
    values: pl.Series, declared: dict[str, Any], tmp_path: Path
) -> None:
    made = asked(attached(values.alias("x").to_frame()), **declared)
    again = load(made.save(tmp_path / "rows"))
    assert_alike(made, again)
    quantile = made.quantile(0.5)
    assert_alike(quantile, load(quantile.save(tmp_path / "quantile")))
    axes = again.plot()
    axes.figure.canvas.draw()
    assert axes.get_xlabel() == "x"


@every_method
def test_every_method_is_drawn(columns: int, method: str) -> None:
    for epsilon in (1, Fraction(1, 10**9)):
        made = made_of(columns, method, epsilon=epsilon)
        axes = made.plot()
        axes.figure.canvas.draw()
        if columns == 1:
            (line,) = axes.get_lines()
            if made.count().value:
                assert line.get_ydata()[-1] == pytest.approx(1.0)


def test_a_test_release_is_not_saved(tmp_path: Path) -> None:
    made = frozen(attached({"x": [1]}), bounds=(0, 6))
    assert "TEST" in repr(made)
    with pytest.raises(ParameterError):
        made.save(tmp_path / "rows")
    with pytest.raises(ParameterError):
        made.count().save(tmp_path / "count")


# Losses at their limits


@every_method
@pytest.mark.parametrize("exponent", [6, 9])
def test_a_tiny_loss_releases_and_prints_without_making_its_rows(
    columns: int, method: str, exponent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_of(columns, method, epsilon=Fraction(1, 10**exponent))
    asked_for: list[int] = []
    kind = type(made)

    def watched(self: Any, number: int) -> Any:
        asked_for.append(number)
        return made_rows(self, number)

    made_rows = kind._made  # noqa: SLF001 - watched
    monkeypatch.setattr(kind, "_made", watched)
    assert repr(made)
    assert made._repr_html_()
    for answer in answers(made):
        assert repr(answer)
        answer.interval()
    assert made.low_count in (True, False)
    assert made.count().accuracy() > 10 ** (exponent - 1)
    pickle.dumps(made)
    assert asked_for == []
    made.sample(4)
    assert asked_for == [4]


@every_method
def test_losses_of_every_kind_release(columns: int, method: str) -> None:
    for budget, loss in (
        ({"rho": 1}, {"rho": 0.1}),
        ({"rho": 1}, {"epsilon": 0.1}),
        ({"epsilon": 1, "delta": 1e-6}, {"rho": 0.01}),
        ({"epsilon": 1, "delta": 1e-6}, {"epsilon": 0.1}),
        ({"epsilon": 1}, {"epsilon": Decimal("0.1")}),
    ):
        frame: Any = pl.DataFrame({"x": [1, 2, 3], "y": [0.1, 0.2, 0.3]})
        private = frame.dp.attach(dpframe.Accountant(**budget))
        declared = BOXES if columns == 2 else {"columns": "x", "bounds": (0, 6)}
        preview = private.dp.preview.synthetic_intervals(
            method=method, **declared, **loss
        )
        made = private.dp.synthetic_intervals(method=method, **declared, **loss)
        assert preview.cost == made.cost
        assert repr(preview)
        for answer in (made, *answers(made)):
            assert repr(answer)


def test_low_count_is_whether_the_rows_are_within_their_own_error() -> None:
    few, many = (
        frozen(attached({"x": [1] * rows}), bounds=(0, 6), method="tree")
        for rows in (3, 10_000)
    )
    assert (few.low_count, many.low_count) == (True, False)
    assert few.fraction(0, 3).low_count
    assert not many.fraction(0, 3).low_count
    assert few.fraction(0, 3).interval()[:2] == (0, 1)
    assert many.alpha() == pytest.approx(many.accuracy() / 10_000, rel=0.05)
