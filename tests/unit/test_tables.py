from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks.asked import DATA, DECLARED, LOSSES, SYNTHETIC

import dpframe
from dpframe import ParameterError
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Host

ROWS = {
    "site": ["b", "a", "b", None, "z"],
    "kind": ["x", "y", "x", "x", None],
    "age": [0.5, 1.5, 2.5, None, 99.0],
    "days": [1, 2, 2, 7, 5],
    "day": [dt.datetime(2020, 1, k) for k in range(1, 6)],  # noqa: DTZ001 - naive
    "female": [True, False, False, True, True],
}


@pytest.fixture
def noiseless() -> Iterator[None]:
    """Freeze the noise at zero, so that every figure is known."""
    with recording(noiseless=True):
        yield


def rows_of(release: Any) -> list[tuple[Any, ...]]:
    return release.to_polars().rows()


def native_columns(release: Any) -> dict[str, Any]:
    table = release.to_native()
    return dict(table.schema) if isinstance(table, pl.DataFrame) else dict(table.dtypes)


# Rows: every declared key, in declared order


@pytest.mark.usefixtures("noiseless")
class TestRows:
    def test_keys_are_rows_in_declared_order_with_absent_ones(self, host: Host) -> None:
        frame = host.attached(ROWS)
        table = frame.dp.histogram("site", keys=["b", "c", "a"], epsilon=1)
        assert table.to_dict() == {"site": ["b", "c", "a"], "count": [2, 0, 1]}
        counts = frame.dp.value_counts("site", keys=["b", "c", "a"], epsilon=1)
        assert counts.to_dict() == table.to_dict()

    def test_other_is_the_last_row_and_its_keys_are_missing(self, host: Host) -> None:
        frame = host.attached(ROWS)
        table = frame.dp.histogram("site", keys=["a", "b"], other=True, epsilon=1)
        assert rows_of(table) == [("a", 1), ("b", 2), (None, 2)]
        assert table.other.value == 2
        assert table.to_numpy().tolist() == [1, 2]
        both = frame.dp.contingency(
            ["site", "female"],
            keys={"site": ["a"], "female": [True]},
            epsilon=1,
            other=True,
        )
        assert rows_of(both) == [("a", True, 0), (None, None, 5)]

    def test_a_table_without_an_other_cell_says_how_to_get_one(
        self, host: Host
    ) -> None:
        table = host.attached(ROWS).dp.histogram("site", keys=["a"], epsilon=1)
        with pytest.raises(ParameterError, match="other=True"):
            _ = table.other

    def test_bins_are_left_closed_and_the_last_one_both(self, host: Host) -> None:
        frame = host.attached(ROWS)
        table = frame.dp.histogram("days", bins=[1, 2, 7], epsilon=1)
        assert rows_of(table) == [(1.0, 2.0, 1), (2.0, 7.0, 4)]

    def test_a_number_of_bins_divides_the_bounds_and_clips(self, host: Host) -> None:
        table = host.attached(ROWS).dp.histogram(
            "age", bins=3, bounds=(0, 3), epsilon=1
        )
        assert rows_of(table) == [(0.0, 1.0, 1), (1.0, 2.0, 1), (2.0, 3.0, 2)]

    @pytest.mark.parametrize("release", ["count", "sum", "mean", "var", "agg"])
    def test_the_first_column_varies_slowest(self, host: Host, release: str) -> None:
        frame = host.attached(ROWS).dp.bounds(age=(0, 10))
        groups = frame.dp.group_by(
            "site", "days", keys={"site": ["b", "a"], "days": [2, 1]}
        )
        table = {
            "count": lambda: groups.count(epsilon=1),
            "sum": lambda: groups.sum("age", epsilon=1),
            "mean": lambda: groups.mean("age", epsilon=1),
            "var": lambda: groups.var("age", epsilon=1),
            "agg": lambda: groups.agg(n="count", epsilon=1),
        }[release]()
        found = table.to_polars().select("site", "days").rows()
        assert found == [("b", 2), ("b", 1), ("a", 2), ("a", 1)]
        assert table.to_numpy().shape == (2, 2)

    def test_listed_combinations_are_rows_as_they_are_listed(self, host: Host) -> None:
        table = host.attached(ROWS).dp.contingency(
            ["site", "days"], keys=[("b", 2), ("q", 1), ("b", 1)], epsilon=1
        )
        assert rows_of(table) == [("b", 2, 1), ("q", 1, 0), ("b", 1, 1)]
        assert table.to_numpy().shape == (3,)

    def test_bins_of_a_group_are_two_columns_named_after_it(self, host: Host) -> None:
        table = (
            host.attached(ROWS)
            .dp.group_by(
                "female", "days", keys={"female": [True]}, bins={"days": [0, 5, 9]}
            )
            .count(epsilon=1)
        )
        assert table.to_dict() == {
            "female": [True, True],
            "days_left": [0.0, 5.0],
            "days_right": [5.0, 9.0],
            "count": [1, 2],
        }

    def test_columns_of_a_group_may_come_one_by_one_or_as_a_list(
        self, host: Host
    ) -> None:
        frame = host.attached(ROWS).dp.domain(site=["a"], days=[1])
        one = frame.dp.group_by("site", "days").count(epsilon=1)
        listed = frame.dp.group_by(["site", "days"]).count(epsilon=1)
        assert one.to_dict() == listed.to_dict()

    def test_statistics_are_columns_in_the_order_they_are_asked(
        self, host: Host
    ) -> None:
        frame = host.attached(ROWS).dp.bounds(age=(0, 10), days=(0, 10))
        asked = {"z": ("age", "mean"), "a b": "count", "s": ("days", "sum")}
        one = frame.dp.agg(asked, epsilon=1)
        assert one.to_polars().columns == ["z", "a b", "s"]
        ((average, *whole),) = rows_of(one)
        assert average == pytest.approx((0.5 + 1.5 + 2.5 + 10) / 4)
        assert whole == [5, 17]
        table = frame.dp.group_by("site", keys=["b"]).agg(asked, epsilon=1)
        assert rows_of(table) == [("b", pytest.approx(1.5), 2, 3)]
        assert table.to_numpy().shape == (1, 3)

    def test_raw_has_the_keys_and_the_figures_before_rounding(self, host: Host) -> None:
        frame = host.attached(ROWS).dp.bounds(age=(0, 10))
        table = frame.dp.group_by("site", keys=["a", "q"]).mean("age", epsilon=1)
        raw = (
            table.raw
            if isinstance(table.raw, pl.DataFrame)
            else pl.from_pandas(table.raw)
        )
        assert raw.to_dict(as_series=False) == {
            "site": ["a", "q"],
            "age_count": [1.0, 0.0],
            "age_sum": [pytest.approx(1.5), 0.0],
        }
        assert isinstance(table.raw, pd.DataFrame) == host.is_pandas

    def test_intervals_stand_beside_the_figures(self, host: Host) -> None:
        frame = host.attached(ROWS).dp.bounds(age=(0, 10))
        groups = frame.dp.group_by("site", keys=["a", "b"])
        one = groups.count(epsilon=1)
        assert one.to_polars(0.9).columns == ["site", "count", "lower", "upper"]
        assert one.interval(0.9).columns == ["site", "lower", "upper"]
        several = groups.agg(n="count", m=("age", "mean"), epsilon=1)
        ends = ["n_lower", "n_upper", "m_lower", "m_upper"]
        assert list(several.to_native(0.9).columns) == ["site", "n", "m", *ends]
        assert several.interval().columns == ["site", *ends]
        low, high = one.to_polars(0.9)["lower"], one.to_polars(0.9)["upper"]
        assert low.dtype == high.dtype == pl.Int64
        assert (low <= one.to_polars()["count"]).all()
        assert (one.to_polars()["count"] <= high).all()


# Columns: names and dtypes, known before the data is read

KEYS: dict[str, tuple[pl.Series, list[Any]]] = {
    "text": (pl.Series("k", ["b", None]), ["c", "b"]),
    "category": (pl.Series("k", ["b", None], dtype=pl.Categorical), ["c", "b"]),
    "enum": (pl.Series("k", ["b", None], dtype=pl.Enum(["a", "b"])), ["b", "a"]),
    "whole": (pl.Series("k", [1, None], dtype=pl.Int64), [3, 1]),
    "small": (pl.Series("k", [1, None], dtype=pl.UInt8), [3, 1]),
    "float": (pl.Series("k", [1.5, None], dtype=pl.Float32), [3, 1.5]),
    "Boolean": (pl.Series("k", [True, None]), [True, False]),
    "date": (pl.Series("k", [dt.date(2020, 1, 1), None]), [dt.date(2020, 1, 1)]),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", KEYS)
def test_keys_keep_the_dtype_of_their_polars_column(name: str, lazy: bool) -> None:  # noqa: FBT001 - a parameter
    series, keys = KEYS[name]
    native = pl.DataFrame([series])
    frame = dpframe.attach(
        native.lazy() if lazy else native, dpframe.Accountant(epsilon=9)
    )
    table = frame.dp.histogram("k", keys=keys, other=True, epsilon=1)
    assert isinstance(table.value, pl.DataFrame)
    assert dict(table.value.schema) == {"k": series.dtype, "count": pl.Int64}
    assert table.value["k"].to_list() == [*keys, None]


PANDAS_KEYS: dict[str, tuple[pd.Series, list[Any]]] = {
    "text": (pd.Series(["b", None], dtype="str"), ["c", "b"]),
    "string": (pd.Series(["b", None], dtype="string"), ["c", "b"]),
    "whole": (pd.Series([1, 2], dtype="int32"), [3, 1]),
    "nullable": (pd.Series([1, None], dtype="Int64"), [3, 1]),
    "float": (pd.Series([1.5, None]), [3, 1.5]),
    "Boolean": (pd.Series([True, False]), [True, False]),
    "nullable Boolean": (
        pd.Series([True, None], dtype="boolean"),
        [True, False],
    ),
    "instant": (
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        [dt.datetime(2020, 1, 1)],  # noqa: DTZ001 - naive
    ),
    "arrow": (
        pd.Series(["b", None], dtype=pd.ArrowDtype(pa.string())),
        ["c", "b"],
    ),
}


@pytest.mark.parametrize("name", PANDAS_KEYS)
def test_keys_keep_the_dtype_of_their_pandas_column(name: str) -> None:
    series, keys = PANDAS_KEYS[name]
    frame = dpframe.attach(
        pd.DataFrame({"k": series}).set_axis([7, 7]), dpframe.Accountant(epsilon=9)
    )
    table = frame.dp.histogram("k", keys=keys, epsilon=1).value
    assert isinstance(table, pd.DataFrame)
    assert isinstance(table.index, pd.RangeIndex)
    assert table["k"].dtype == series.dtype
    assert table["k"].tolist() == keys
    assert table["count"].dtype == np.int64


def test_pandas_categories_are_the_declared_keys_and_no_level_of_the_data() -> None:
    levels = ["b", "canary", "a"]
    series = pd.Series(["b", "a"], dtype=pd.CategoricalDtype(levels))
    frame = dpframe.attach(pd.DataFrame({"k": series}), dpframe.Accountant(epsilon=9))
    table = frame.dp.histogram("k", keys=["a", "b"], epsilon=1).value
    assert table["k"].dtype == pd.CategoricalDtype(["a", "b"])


def test_figures_have_the_dtypes_that_follow_from_the_schema(host: Host) -> None:
    frame = host.attached(ROWS).dp.bounds(
        age=(0, 10),
        days=(0, 10),
        day=(dt.date(2020, 1, 1), dt.date(2020, 2, 1)),
    )
    groups = frame.dp.group_by("site", keys=["a", "b"])
    asked = {
        "age": (groups.sum("age", epsilon=1), pl.Float64()),
        "days": (groups.sum("days", epsilon=1), pl.Int64()),
        "days ": (groups.mean("days", epsilon=1), pl.Float64()),
        "day": (groups.mean("day", epsilon=1), pl.Datetime("us")),
        "female": (groups.sum("female", bounds=(0, 1), epsilon=1), pl.Int64()),
    }
    for name, (table, dtype) in asked.items():
        assert table.to_polars().schema == {"site": pl.String(), name.strip(): dtype}


def test_edges_have_the_dtype_of_times_and_are_floats_else(host: Host) -> None:
    frame = host.attached(ROWS)
    january = [dt.datetime(2020, 1, k) for k in (1, 3, 9)]  # noqa: DTZ001 - naive
    times = frame.dp.histogram("day", bins=january, epsilon=1)
    stamp = pl.Datetime("us")
    assert times.to_polars().schema == {
        "bin_left": stamp,
        "bin_right": stamp,
        "count": pl.Int64(),
    }
    whole = frame.dp.histogram("days", bins=[1, 2, 3], epsilon=1)
    assert whole.to_polars().schema["bin_left"] == pl.Float64()


@pytest.mark.parametrize(
    "call",
    [
        lambda dp: dp.histogram("count", keys=[1], epsilon=1),
        lambda dp: dp.value_counts("count", keys=[1], epsilon=1),
        lambda dp: dp.group_by("count", keys=[1]).count(epsilon=1),
        lambda dp: dp.contingency(["count"], keys={"count": [1]}, epsilon=1),
        lambda dp: dp.group_by("x", keys=[1]).sum("x", bounds=(0, 1), epsilon=1),
        lambda dp: dp.group_by("x", keys=[1]).agg(x="count", epsilon=1),
        lambda dp: dp.group_by("x", bins={"x": [0, 1]}).agg(x_left="count", epsilon=1),
        lambda dp: dp.contingency(
            ["x", "x_left"], bins={"x": [0, 1]}, keys={"x_left": [1]}, epsilon=1
        ),
    ],
)
def test_a_key_column_named_like_a_measure_is_refused(host: Host, call: Any) -> None:
    frame = host.attached({"count": [1, 1], "x": [1, 2], "x_left": [1, 2]})
    with pytest.raises(ParameterError, match="name"):
        call(frame.dp)
    assert len(frame.dp.state.accountant.events) == 0


# Frames of all sizes

SIZES = {"full": slice(None), "one row": slice(1), "empty": slice(0)}


@pytest.mark.usefixtures("noiseless")
@pytest.mark.parametrize("bins", [[0, 2, 4], 2, np.array([0, 2, 4])], ids=str)
def test_one_column_is_grouped_by_bins_that_stand_alone(host: Host, bins: Any) -> None:
    frame = host.attached({"x": [0, 1, 3]}).dp.bounds(x=(0, 4))
    alone = frame.dp.group_by("x", bins=bins).count(epsilon=1)
    by_name = frame.dp.group_by("x", bins={"x": bins}).count(epsilon=1)
    assert rows_of(alone) == rows_of(by_name) == [(0.0, 2.0, 2), (2.0, 4.0, 1)]
    previewed = frame.dp.preview.group_by(["x"], bins=bins).count(epsilon=1)
    assert rows_of(previewed.release()) == rows_of(alone)
    crossed = frame.dp.contingency("x", bins=bins, epsilon=1)
    assert rows_of(crossed) == rows_of(alone)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "release",
    [pytest.param(LOSSES[name], id=name) for name in LOSSES if name not in SYNTHETIC],
)
def test_no_release_tells_the_size_of_its_frame_by_its_shape(
    host: Host, release: Any, size: str, tmp_path: Path
) -> None:
    rows = pl.DataFrame(DATA)[SIZES[size]]
    frame = host.attached(host.frame(rows), **DECLARED)
    preview = release(frame.dp.preview, epsilon=1)
    made = release(frame.dp, epsilon=1)
    table = made.to_polars()
    assert dict(table.schema) == preview.schema
    whole = host.attached(host.frame(pl.DataFrame(DATA)), **DECLARED)
    full = release(whole.dp, epsilon=1)
    assert table.shape == full.to_polars().shape
    assert native_columns(made) == native_columns(full)
    assert np.shape(made.to_numpy()) == np.shape(full.to_numpy())
    assert list(made.to_dict()) == table.columns
    assert list(made.to_native().columns) == table.columns
    assert isinstance(made.to_native(), pd.DataFrame) == host.is_pandas
    assert isinstance(made.to_pandas().index, pd.RangeIndex)
    assert pl.DataFrame(made).equals(table)
    assert pa.table(made).num_rows == table.height
    path = made.save(tmp_path / "release")
    again = dpframe.load(path)
    assert again.to_polars().equals(table)
    assert type(again) is type(made)
    if path.suffix == ".parquet":
        assert pl.read_parquet(path).equals(table)
        opened = pd.read_parquet(path)
        assert list(opened.columns) == table.columns
        assert len(opened) == table.height
    made.interval()
    made.accuracy()
    assert str(made.noise)
    assert "\n".join(made.lines()) in repr(made).replace("\n  ", "\n")


# In print


def test_printed_tables_look_as_they_are_documented() -> None:
    rows = pl.DataFrame({"decade": [0.0] * 4 + [10.0] * 12})
    frame = rows.dp.attach(dpframe.Accountant(epsilon=3))
    with recording(noiseless=True):
        table = frame.dp.histogram("decade", keys=range(0, 70, 10), epsilon=0.3)
        one = frame.dp.count(epsilon=0.5)
    assert repr(table).splitlines()[:4] == [
        "Release(count by decade, 7 rows, ± 10 each, ε=0.3, TEST)",
        "  decade  count   ±",
        "       0      4  10",
        "      10     12  10",
    ]
    assert repr(one) == "Release(16 ± 6, ε=0.5, TEST)"


def test_a_long_table_prints_its_first_rows() -> None:
    rows = pl.DataFrame({"k": [0]})
    frame = rows.dp.attach(dpframe.Accountant(epsilon=3))
    printed = repr(frame.dp.histogram("k", keys=range(100), epsilon=1)).splitlines()
    assert len(printed) == 23
    assert printed[-1].strip() == "…"


def test_a_table_by_month_prints_every_month() -> None:
    rows = pl.DataFrame({"month": [1]})
    frame = rows.dp.attach(dpframe.Accountant(epsilon=3))
    printed = repr(frame.dp.histogram("month", keys=range(1, 13), epsilon=1))
    assert printed.splitlines()[-1].split()[0] == "12"


def test_moments_print_as_they_are_documented() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0], "y": [2.0, 3.0]}).dp.attach(
        dpframe.Accountant(epsilon=3), bounds={"x": (0, 4), "y": (0, 4)}
    )
    printed = repr(frame.dp.mean_cov(["x", "y"], epsilon=1)).splitlines()
    assert printed[0].startswith("Release(mean and covariance of x and y")
    assert printed[0].endswith("ε=1)")
    assert printed[1].startswith("  n  ")
    assert printed[2].split() == ["mean", "cov", "with", "x", "cov", "with", "y"]
    assert [line.split()[0] for line in printed[3:]] == ["x", "y"]


# Faults that once were


def test_the_moments_of_one_column_are_a_matrix_of_one_entry(host: Host) -> None:
    moments = host.attached(ROWS).dp.mean_cov(
        ["days"], bounds={"days": (0, 10)}, epsilon=1
    )
    assert np.asarray(moments.cov).shape == (1, 1)
    assert np.asarray(moments.mean).shape == (1,)
    assert float(moments.cov["days", "days"]) == np.asarray(moments.cov)[0, 0]
    assert moments.cov.to_pandas().shape == (1, 1)
    assert "cov with days" in repr(moments)


def test_moments_name_their_noise(host: Host) -> None:
    frame = host.attached(ROWS).dp.bounds(age=(0, 10), days=(0, 10))
    for method, law in {"linf": "max-norm", "sym": "discrete Laplace"}.items():
        moments = frame.dp.mean_cov(["age", "days"], method=method, epsilon=1)
        assert law in str(moments.noise)


@pytest.mark.parametrize("high", [2**61, 2**62, 2**63, 2**100])
def test_whole_numbers_with_bounds_beyond_64_bits_are_released(high: int) -> None:
    frame = pl.DataFrame({"x": [1, 2, 2**62]}).dp.attach(
        dpframe.Accountant(epsilon=200)
    )
    with recording(noiseless=True) as recorder:
        total = frame.dp.sum("x", bounds=(0, high), epsilon=50)
        frame.dp.mean("x", bounds=(0, high), epsilon=50)
        frame.dp.var("x", bounds=(0, high), epsilon=50)
    assert total.value == 3 + min(high, 2**62)
    assert len(recorder.records) == 3


def test_the_error_of_a_deviation_of_0_is_finite_and_small() -> None:
    frame = pl.DataFrame({"x": [1.0] * 50}).dp.attach(dpframe.Accountant(epsilon=9))
    with recording(noiseless=True):
        spread = frame.dp.std("x", bounds=(0, 10), epsilon=1)
    assert spread.value == 0
    assert 0 < spread.stddev < 10
