"""Faults that users of other libraries met in public, each with its right value."""

from __future__ import annotations

import datetime as dt
import math
import multiprocessing
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.errors import (
    BoundsRequiredError,
    BudgetExceededError,
    EvaluationError,
    NotProvedError,
    ParameterError,
)
from dpframe.noise import DiscreteLaplace
from dpframe.tally import COARSE, WEIGHT
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection

    from dpframe.testing import Record

nan, inf = math.nan, math.inf
HOSTS = ["pandas", "polars", "lazy"]
CENTRED = pl.col("x") - pl.col("x").mean()


@pytest.fixture(params=HOSTS)
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a native frame of one host from columns; floats keep their NaN."""
    host = request.param

    def frame(columns: Mapping[str, Any]) -> Any:
        if host == "pandas":
            return pd.DataFrame(
                {
                    name: column.to_pandas()
                    if isinstance(column, pl.Series)
                    else column
                    for name, column in columns.items()
                }
            )
        made = pl.DataFrame(columns)
        return made.lazy() if host == "lazy" else made

    return frame


@pytest.fixture
def budget() -> dpframe.Accountant:
    return dpframe.Accountant(epsilon=1000)


class Unchanged:
    """Check that an accountant is afterwards what it was before."""

    def __init__(self, budget: dpframe.Accountant) -> None:
        self._budget = budget

    def __enter__(self) -> None:
        self._before = self._facts()

    def __exit__(self, *_: object) -> None:
        assert self._facts() == self._before

    def _facts(self) -> tuple[Any, ...]:
        events = pl.DataFrame(self._budget.events).rows()
        return self._budget.spent, self._budget.remaining, events


def last(release: Callable[[], Any]) -> tuple[Record, Any]:
    """Return what a release saw, and the release itself."""
    with recording(noiseless=True) as seen:
        result = release()
    (record,) = seen.records
    return record, result


def counts(release: Callable[[], Any]) -> list[int]:
    """Return the exact counts behind a table or a number, `other` last."""
    record, _ = last(release)
    (block,) = record.blocks
    return [count for (count,) in block.exact]


def total(release: Callable[[], Any]) -> tuple[Fraction, Fraction]:
    """Return the exact sum behind a release, and its claimed sensitivity."""
    record, _ = last(release)
    (block,) = record.blocks
    unit = record.parts[0].statistic.quantities[0].unit
    return block.exact[0][0] * unit, block.sensitivity * unit


def bernstein(release: Callable[[], Any]) -> tuple[Fraction, Fraction]:
    """Return count and sum (on the number line) behind a mean."""
    record, _ = last(release)
    (block,) = record.blocks
    quantity = record.parts[0].statistic.quantities[0]
    rest, steps = block.exact[0]
    rows = Fraction(rest + steps, quantity.high)
    return rows, rows * quantity.origin + steps * quantity.unit


# Missing values and casts


# https://github.com/opendp/opendp/issues/2935
def test_missing_rows_do_not_turn_a_sum_into_zero(make: Any, budget: Any) -> None:
    holed = make({"x": [nan, nan, 0.5, 0.5, 0.5, 0.5]}).dp.attach(budget)
    clean = make({"x": [0.5, 0.5, 0.5, 0.5]}).dp.attach(budget)
    asked = {"bounds": (0.25, 1), "epsilon": 1}
    assert total(lambda: holed.dp.sum("x", **asked)) == (2, 1)
    assert total(lambda: clean.dp.sum("x", **asked)) == (2, 1)
    assert counts(lambda: holed.dp.count("x", epsilon=1)) == [4]


# https://github.com/opendp/opendp/issues/2938
def test_failed_casts_are_missing_and_every_count_is_charged(
    make: Any, budget: Any
) -> None:
    text = ["7", "x", "9", None, "7"]
    frame = make({"x": text})
    if isinstance(frame, pd.DataFrame):
        whole = pd.to_numeric(frame["x"], errors="coerce").astype("Int64")
        private = frame.assign(x=whole).dp.attach(budget)
    else:
        private = frame.dp.attach(budget).cast({"x": pl.Int64}, strict=False)

    def histogram() -> Any:
        return private.dp.histogram("x", keys=[7, 8, 9], other=True, epsilon=1)

    assert counts(histogram) == [2, 0, 1, 2]
    assert counts(lambda: private.dp.count(epsilon=1)) == [5]
    assert budget.spent.epsilon == 2


# https://github.com/opendp/opendp/issues/2938
def test_text_is_not_matched_with_the_numbers_it_spells(make: Any, budget: Any) -> None:
    private = make({"x": ["7", "x", "9", None, "7"]}).dp.attach(budget)
    with Unchanged(budget), pytest.raises(TypeError, match="must be text"):
        private.dp.histogram("x", keys=[7, 8, 9], epsilon=1)


# https://github.com/opendp/opendp/issues/2939
def test_nan_is_in_no_bin(make: Any, budget: Any) -> None:
    private = make({"x": [nan, 0.2, 0.7, 1.0]}).dp.attach(budget)

    def histogram() -> Any:
        return private.dp.histogram("x", bins=[0, 0.5, 1], other=True, epsilon=1)

    assert counts(histogram) == [1, 2, 1]


# https://github.com/opendp/opendp/issues/2937
def test_sums_of_days_neither_wrap_nor_lose_the_years_before_1970(
    make: Any, budget: Any
) -> None:
    day = dt.date(2024, 6, 1)
    many = pl.Series([day], dtype=pl.Date).new_from_index(0, 120_000)
    bounds = (dt.date(1960, 1, 1), dt.date(2030, 12, 31))
    for days, line, mean in (
        (many, 2_385_000_000, day),
        (pl.Series([dt.date(1960, 2, 29)]), -3594, dt.date(1960, 2, 29)),
    ):
        native = make({"x": days})
        if isinstance(native, pd.DataFrame):
            native = pd.DataFrame({"x": days.to_arrow()}, dtype="date32[pyarrow]")
        private = native.dp.attach(budget)
        asked = {"bounds": bounds, "epsilon": 1}
        found = bernstein(lambda p=private, a=asked: p.dp.mean("x", **a))
        assert found == (len(days), line)
        _, release = last(lambda p=private, a=asked: p.dp.mean("x", **a))
        assert release.value == mean


# https://github.com/pola-rs/polars/issues/21082
def test_nan_is_not_counted_in_a_bin_up_to_infinity(make: Any, budget: Any) -> None:
    private = make({"x": [0.0, nan, 0.5, nan, 1.0]}).dp.attach(budget)

    def histogram() -> Any:
        return private.dp.histogram("x", bins=[0, 0.5, 1, inf], other=True, epsilon=1)

    assert counts(histogram) == [1, 1, 1, 2]


# https://github.com/pola-rs/polars/issues/16453
@pytest.mark.parametrize(
    "native",
    [
        lambda x: pd.DataFrame({"x": pd.Series(x, dtype="float64")}),
        lambda x: pd.DataFrame(
            {
                "x": pd.arrays.FloatingArray(
                    np.array([0 if v is None else v for v in x]),
                    np.array([v is None for v in x]),
                )
            }
        ),
        lambda x: pd.DataFrame(
            {"x": pd.array(pl.Series(x).to_arrow(), dtype="double[pyarrow]")}
        ),
        lambda x: pd.DataFrame({"x": pd.Series(x, dtype=object)}),
        lambda x: pl.DataFrame({"x": pl.Series(x, dtype=pl.Float64)}),
        lambda x: pl.LazyFrame({"x": pl.Series(x, dtype=pl.Float64)}),
    ],
    ids=["float64", "Float64", "double[pyarrow]", "object", "polars", "lazy"],
)
def test_nan_is_missing_in_every_dtype(native: Any, budget: Any) -> None:
    private = native([1.0, nan, None] * 201).dp.attach(budget)
    asked = {"bounds": (0.0, 5.0), "epsilon": 1}
    assert total(lambda: private.dp.sum("x", **asked)) == (201, 5)
    rows, line = bernstein(lambda: private.dp.mean("x", **asked))
    assert rows == 201
    assert abs(line - 201) <= 201 * Fraction(5, 2**31)


# Bounds


# https://github.com/IBM/differential-privacy-library/issues/87
def test_bounds_are_never_inferred_from_the_rows(make: Any, budget: Any) -> None:
    private = make({"x": [1.0, 2.0, nan, 4.0]}).dp.attach(budget)
    with Unchanged(budget), pytest.raises(BoundsRequiredError, match="'x'"):
        private.dp.mean("x", epsilon=1)
    asked = {"bounds": (0, 5), "epsilon": 1}
    assert total(lambda: private.dp.sum("x", **asked)) == (7, 5)
    rows, line = bernstein(lambda: private.dp.mean("x", **asked))
    assert rows == 3
    assert abs(line - 7) <= 3 * Fraction(5, 2**31)


# https://github.com/opendp/smartnoise-sdk/issues/317
def test_missing_bounds_refuse_sums_and_never_switch_noise_off(
    make: Any, budget: Any
) -> None:
    native = make({"duration": [1.0, 2.0, 3.0], "size": [1.0, 2.0, 3.0]})
    private = native.dp.attach(budget)
    for release in (private.dp.sum, private.dp.mean, private.dp.var, private.dp.std):
        with Unchanged(budget), pytest.raises(ValueError, match="'duration'"):
            release("duration", epsilon=1)
    with Unchanged(budget), pytest.raises(ValueError, match="'duration'"):
        private.dp.mean_cov(["duration", "size"], epsilon=1)
    drawn = {
        private.dp.histogram("duration", bins=[0, 2, 4], epsilon=1).raw["count"][0]
        for _ in range(40)
    }
    assert len(drawn) > 1  # all 40 equal with a chance below 1e-13


# https://github.com/pandas-dev/pandas/issues/17276
@pytest.mark.parametrize(
    "bounds",
    [(0, nan), (nan, 5), (None, 5), (0, None), (0, inf), (-inf, 0), (5, 0), (1, 1)],
)
def test_bounds_that_bound_nothing_are_refused(
    make: Any, budget: Any, bounds: Any
) -> None:
    private = make({"x": [5.0, 1e9]}).dp.attach(budget)
    with Unchanged(budget):
        with pytest.raises((ValueError, TypeError)):
            private.dp.sum("x", bounds=bounds, epsilon=1)
        with pytest.raises((ValueError, TypeError)):
            private.dp.bounds(x=bounds)


# https://github.com/google/differential-privacy/pull/405
def test_bounds_too_wide_for_exact_sums_are_refused(make: Any, budget: Any) -> None:
    native = make({"x": [0.0, 1.0], "u": [1, 2]})
    private = native.dp.attach(budget, privacy_unit="u", max_rows=10)
    with Unchanged(budget), pytest.raises(ParameterError, match="too wide"):
        private.dp.sum("x", bounds=(-1e308, 1e308), epsilon=1)


# Sensitivities and moments


# https://github.com/opendp/opendp/issues/314
@pytest.mark.parametrize(("bounds", "reach"), [((0, 5), 5), ((-3, 4), 4), ((-4, 3), 4)])
def test_the_sensitivity_of_a_whole_sum_is_not_halved(
    make: Any, budget: Any, bounds: tuple[int, int], reach: int
) -> None:
    private = make({"x": [0, 1, 7, -9]}).dp.attach(budget)
    low, high = bounds
    expected = sum(min(max(x, low), high) for x in [0, 1, 7, -9])
    assert total(lambda: private.dp.sum("x", bounds=bounds, epsilon=1)) == (
        expected,
        reach,
    )


# https://github.com/IBM/differential-privacy-library/pull/110
@pytest.mark.parametrize(("bounds", "second"), [((0, 10), 25), ((-2, 10), 36)])
@pytest.mark.parametrize("method", ["dwork", "sym", "linf"])
def test_second_moments_about_the_middle_have_a_positive_sensitivity(
    make: Any, budget: Any, method: str, bounds: tuple[int, int], second: int
) -> None:
    private = make({"x": [0.0, 10.0]}).dp.attach(budget)
    record, _ = last(
        lambda: private.dp.mean_cov(
            ["x"], bounds={"x": bounds}, method=method, epsilon=1
        )
    )
    half = Fraction(bounds[1] - bounds[0], 2)
    claimed = Fraction(record.blocks[-1].sensitivity, COARSE**2) * half**2
    assert claimed == second


def centred_moments(record: Record, half: Fraction) -> tuple[Fraction, ...]:
    """Return count, first and second moment about the middle of one column."""
    (count,), (first,), (second,) = (
        figures for block in record.blocks for figures in zip(*block.exact, strict=True)
    )
    if len(record.blocks) == 1:  # all in one block: on one scale, the square doubled
        rows = Fraction(count, COARSE**2)
        return (
            rows,
            first * half / COARSE**2,
            ((Fraction(second, COARSE**2) + rows) / 2 * half**2),
        )
    return Fraction(count), first * half / COARSE, second * half**2 / COARSE**2


# https://github.com/opendp/opendp/issues/2923
@pytest.mark.parametrize("method", ["dwork", "linf"])
def test_far_from_zero_one_row_moves_moments_by_no_more_than_claimed(
    make: Any, budget: Any, method: str
) -> None:
    far = 2.0**50
    rows = [far + 0.75, *[far + 0.25] * 511]
    half = Fraction(1, 2)

    def moments(x: list[float]) -> tuple[Record, tuple[Fraction, ...]]:
        private = make({"x": x}).dp.attach(budget)
        record, _ = last(
            lambda: private.dp.mean_cov(
                ["x"], bounds={"x": (far, far + 1)}, method=method, epsilon=1
            )
        )
        return record, centred_moments(record, half)

    record, found = moments(rows)
    neighbour, dropped = moments(rows[1:])
    assert found == (512, Fraction(-255, 2), 32)
    assert dropped == (511, Fraction(-511, 4), Fraction(511, 16))
    assert all(gap <= claimed for gap, claimed in record.distance(neighbour))


# https://github.com/opendp/smartnoise-sdk/issues/622
@pytest.mark.parametrize("method", ["dwork", "linf"])
def test_moments_are_those_of_the_clipped_values(
    make: Any, budget: Any, method: str
) -> None:
    private = make({"x": [1.0, 2.0, 3.0, 1e12]}).dp.attach(budget)
    record, _ = last(
        lambda: private.dp.mean_cov(
            ["x"], bounds={"x": (0, 5)}, method=method, epsilon=1
        )
    )
    middle = Fraction(5, 2)
    n, first, second = centred_moments(record, middle)
    step = middle / COARSE
    assert n == 4
    assert abs(first + n * middle - 11) <= n * step / 2
    squares = second + 2 * middle * first + n * middle**2
    assert abs(squares - 39) <= n * 2 * 5 * step


# Budgets and parameters


# https://github.com/IBM/differential-privacy-library/issues/99
def test_a_release_states_how_much_its_noise_can_move_it(
    make: Any, budget: Any
) -> None:
    ages = [100 + i % 7 - 3 for i in range(1000)]
    private = make({"x": ages}).dp.attach(budget).dp.bounds(x=(40, 160))
    for epsilon, spread, width in ((1, 1.356963, 3), (30, 4.3261e-7, 0)):
        release = private.dp.histogram("x", bins=10, epsilon=epsilon)
        assert release.stddev == pytest.approx(np.full(10, spread), rel=1e-4)
        assert list(release.accuracy(0.95)) == [width] * 10
    ratio = math.exp(-30)
    assert 2 * ratio / (1 + ratio) == pytest.approx(1.87e-13, rel=1e-3)
    assert release.accuracy(1 - 1.9e-13).max() == 0
    assert release.accuracy(1 - 1.8e-13).max() == 1


# https://github.com/meta-pytorch/opacus/issues/535
def test_asking_for_the_total_changes_no_history(make: Any, budget: Any) -> None:
    private = make({"x": [1, 2, 3]}).dp.attach(budget)
    for _ in range(5):
        private.dp.count(epsilon=0.1)
    before = pl.DataFrame(budget.events).rows()
    assert [budget.spent.epsilon for _ in range(3)] == [Fraction(1, 2)] * 3
    assert budget.remaining.epsilon == 1000 - Fraction(1, 2)
    assert pl.DataFrame(budget.events).rows() == before
    assert sum(row[-1] == "charged" for row in before) == 5


# https://github.com/NVIDIA-NeMo/Safe-Synthesizer/issues/367
@pytest.mark.parametrize(
    "epsilon",
    [0, 0.0, -1, nan, inf, -inf, None, "", "1", True, [], "1e-400", np.array(1.0), 1j],
    ids=repr,
)
def test_an_epsilon_that_is_no_amount_is_refused(
    make: Any, budget: Any, epsilon: Any
) -> None:
    private = make({"x": [1, 2, 3]}).dp.attach(budget)
    with Unchanged(budget):
        with pytest.raises((ValueError, TypeError)):
            private.dp.count(epsilon=epsilon)
        with pytest.raises((ValueError, TypeError)):
            private.dp.mean("x", bounds=(0, 5), epsilon=epsilon)


# https://github.com/NVIDIA-NeMo/Safe-Synthesizer/issues/367
def test_an_epsilon_too_small_to_be_a_float_is_refused(make: Any, budget: Any) -> None:
    private = make({"x": [1, 2, 3]}).dp.attach(budget)
    with Unchanged(budget), pytest.raises((ValueError, TypeError)):
        private.dp.count(epsilon=1e-400)  # reads as 0.0


# https://github.com/pandas-dev/pandas/pull/55314
def test_a_budget_in_attrs_is_spent_once_however_the_frame_is_copied() -> None:
    budget = dpframe.Accountant(epsilon=1)
    raw = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    raw.attrs["budget"] = budget
    copies = [raw.copy(), raw.head(2), pd.concat([raw, raw]), raw["x"].to_frame()]
    granted = 0
    for copy in copies:
        private = copy.dp.attach(copy.attrs["budget"])
        try:
            private.dp.count(epsilon=0.6)
        except BudgetExceededError:
            continue
        granted += 1
    assert granted == 1
    assert budget.spent.epsilon == Fraction(3, 5)


def _send_noise(channel: Connection) -> None:
    drawn = DiscreteLaplace(scale=Fraction(1)).sample(64)
    channel.send([int(value) for value in drawn])
    channel.close()


# https://github.com/numpy/numpy/issues/9650
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_noise_drawn_in_other_processes_never_repeats(start: str) -> None:
    context: Any = multiprocessing.get_context(start)
    noise = DiscreteLaplace(scale=Fraction(1))
    vectors = [[int(value) for value in noise.sample(64)]]
    ends = [context.Pipe(duplex=False) for _ in range(4 if start == "fork" else 2)]
    workers = [context.Process(target=_send_noise, args=(write,)) for _, write in ends]
    for worker, (_, write) in zip(workers, ends, strict=True):
        worker.start()
        write.close()
    vectors += [read.recv() for read, _ in ends]
    for worker in workers:
        worker.join()
    vectors.append([int(value) for value in noise.sample(64)])
    assert all(one != other for one, other in combinations(vectors, 2))


# Keys, labels and times


# https://github.com/pandas-dev/pandas/issues/39573
@pytest.mark.parametrize(
    "native",
    [
        lambda x: pd.DataFrame({"x": pd.Categorical(x, categories=list("bca"))}),
        lambda x: pd.DataFrame({"x": pd.Categorical(x)}),
        lambda x: pl.DataFrame({"x": x}, schema={"x": pl.Categorical}),
        lambda x: pl.DataFrame({"x": x}, schema={"x": pl.Enum(["c", "a", "b"])}),
        lambda x: pl.LazyFrame({"x": x}, schema={"x": pl.Enum(["a", "b", "c"])}),
    ],
    ids=["all levels", "levels met", "Categorical", "Enum", "lazy Enum"],
)
def test_a_missing_category_is_no_level(native: Any, budget: Any) -> None:
    values = ["a", None, "a", "b"]
    private = native(values).dp.attach(budget)

    def histogram() -> Any:
        return private.dp.histogram("x", keys=list("abc"), other=True, epsilon=1)

    assert counts(histogram) == [2, 1, 0, 1]
    assert last(histogram)[1].to_dict()["x"] == ["a", "b", "c", None]


# https://github.com/pandas-dev/pandas/issues/56764
def test_bins_in_another_time_unit_are_the_same_instants(
    make: Any, budget: Any
) -> None:
    days = pl.Series([dt.timedelta(d) for d in (0, 10, 100)], dtype=pl.Duration("ms"))
    native = make({"x": days})
    if isinstance(native, pd.DataFrame):
        native = native.astype("timedelta64[ms]")
    private = native.dp.attach(budget)
    edges = np.array([0, 1, 14, 400], dtype="timedelta64[D]").astype("timedelta64[ns]")
    for bins in (edges, [pd.Timedelta(edge) for edge in edges]):
        found = counts(lambda b=bins: private.dp.histogram("x", bins=b, epsilon=1))
        assert found == [1, 1, 1]


# https://github.com/pandas-dev/pandas/issues/28262
def test_a_name_of_two_columns_is_refused_and_the_others_work(budget: Any) -> None:
    native = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["x", "y", "x"])
    private = native.dp.attach(budget)
    asked = {"bounds": (0, 10), "epsilon": 1}
    with Unchanged(budget), pytest.raises(ValueError, match="'x'"):
        private.dp.sum("x", **asked)
    assert total(lambda: private.dp.sum("y", **asked)) == (7, 10)


# https://github.com/dataxid/dataxid-python/issues/104
@pytest.mark.parametrize(
    "labels", [[100, 101, 102, 103], [0, 0, 1, 1], [3, 2, 1, 0], [nan, "a", None, 1.5]]
)
def test_index_labels_are_never_aligned(budget: Any, labels: list[Any]) -> None:
    columns = {"x": [1.0, 2.0, 3.0, 4.0], "g": ["a", "a", "b", "b"], "u": [1, 2, 3, 4]}
    native = pd.DataFrame(columns, index=pd.Index(labels, dtype=object))
    for unit in ({}, {"privacy_unit": "u", "max_rows": 1}):
        private = native.dp.attach(budget, **unit)

        def table(p: Any = private) -> Any:
            return p.dp.contingency(
                ["x", "g"],
                bins={"x": [0, 2.5, 5]},
                keys={"g": ["a", "b"]},
                epsilon=1,
            )

        full = WEIGHT if unit else 1
        assert counts(table) == [2 * full, 0, 0, 2 * full]
        assert last(table)[1].to_numpy().tolist() == [[2, 0], [0, 2]]


# https://github.com/pola-rs/polars/issues/7434
def test_a_repeated_local_hour_is_two_hours(make: Any, budget: Any) -> None:
    utc = pl.Series([dt.datetime(2024, 11, 3, h, 30, tzinfo=dt.UTC) for h in (5, 6)])
    native = make({"t": utc.dt.convert_time_zone("America/New_York")})
    private = native.dp.attach(budget)
    edges = [dt.datetime(2024, 11, 3, h, tzinfo=dt.UTC) for h in (5, 6, 7)]
    zone = ZoneInfo("America/New_York")
    for bins in (edges, [edge.astimezone(zone) for edge in edges]):
        found = counts(lambda b=bins: private.dp.histogram("t", bins=b, epsilon=1))
        assert found == [1, 1]
    naive = [edge.replace(tzinfo=None) for edge in edges]
    with Unchanged(budget), pytest.raises(TypeError, match="time zone"):
        private.dp.histogram("t", bins=naive, epsilon=1)


def test_two_columns_keep_their_missing_parts_in_other(make: Any, budget: Any) -> None:
    native = make({"g": ["a", None, "b", "b"], "x": [0.5, 0.5, nan, 5.0]})
    private = native.dp.attach(budget)

    def table(*, other: bool) -> Any:
        return private.dp.contingency(
            ["g", "x"],
            keys={"g": ["a", "b"]},
            bins={"x": [0, 1, 2]},
            other=other,
            epsilon=1,
        )

    assert counts(lambda: table(other=True)) == [1, 0, 0, 0, 3]
    assert counts(lambda: table(other=False)) == [1, 0, 0, 0]


# Contributions, groups and previews


@pytest.mark.parametrize("grouping", [["g"], ["g", "h"]], ids=["one", "two"])
def test_units_over_their_row_limit_share_its_weight(
    make: Any, budget: Any, grouping: list[str]
) -> None:
    rows = [(u, r % 5, "ab"[r % 2]) for u in range(200) for r in range(10)]
    unit, g, h = (list(column) for column in zip(*rows, strict=True))
    native = make({"u": unit, "g": g, "h": h})
    private = native.dp.attach(budget, privacy_unit="u", max_rows=3)
    keys = {"g": range(5), "h": ["a", "b"]}
    grouped = private.dp.group_by(
        *grouping, keys={name: keys[name] for name in grouping}
    )
    found = counts(lambda: grouped.count(epsilon=1))
    assert sum(found) == 39_320_000
    assert all(count % 19_660 == 0 for count in found)
    record, release = last(lambda: grouped.count(epsilon=1))
    assert record.blocks[0].sensitivity == 3 * WEIGHT
    assert release.to_numpy().sum() == 600


def test_a_python_function_before_attach_leaves_the_process_alive() -> None:
    program = """
import polars as pl, dpframe
names = {1: 1.5, 2: 2.5}
for function in (names.get, lambda x: 1 / (x - 1) + names[x]):
    frame = pl.LazyFrame({"x": [1, 2]}).with_columns(
        pl.col("x").map_elements(function, return_dtype=pl.Float64)
    )
    private = frame.dp.attach(dpframe.Accountant(epsilon=1))
    try:
        private.dp.sum("x", bounds=(0, 3), epsilon=0.5)
        print("released")
    except dpframe.errors.EvaluationError:
        print("refused")
"""
    done = subprocess.run(  # noqa: S603 - this interpreter, on the lines above
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["released", "refused"]


def test_a_step_before_attach_that_fails_quotes_no_cell(budget: Any) -> None:
    native = pl.LazyFrame({"x": ["alpha", "beta", "12345"]}).with_columns(
        pl.col("x").cast(pl.Int64)
    )
    private = native.dp.attach(budget)
    with pytest.raises(EvaluationError) as caught:
        private.dp.sum("x", bounds=(0, 5), epsilon=1)
    error: BaseException | None = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    text = "\n".join([str(error), repr(error), *getattr(error, "__notes__", [])])
    assert not any(cell in text for cell in ("alpha", "beta", "12345"))


def test_an_aggregate_of_all_rows_is_refused_when_written(
    make: Any, budget: Any
) -> None:
    private = make({"x": [1.0, 2.0]}).dp.attach(budget)
    by_pandas = hasattr(private, "assign")
    step = private.assign if by_pandas else private.with_columns
    centred = (lambda d: d["x"] - d["x"].mean()) if by_pandas else CENTRED
    with Unchanged(budget), pytest.raises(NotProvedError, match="mean"):
        step(z=centred)


@pytest.mark.parametrize(
    "ask",
    [
        lambda dp: dp.mean("x", epsilon=0.5),
        lambda dp: dp.var("x", epsilon=0.5),
        lambda dp: dp.std("x", epsilon=0.5),
        lambda dp: dp.group_by("g", keys=["a", "b"]).sum("x", epsilon=0.5),
        lambda dp: dp.group_by("g", keys=["a", "b"]).mean("x", epsilon=0.5),
        lambda dp: dp.agg(n="count", m=("x", "mean"), epsilon=0.5),
        lambda dp: dp.mean_cov(["x"], epsilon=0.5),
    ],
    ids=["mean", "var", "std", "grouped sum", "grouped mean", "agg", "mean_cov"],
)
def test_what_can_be_previewed_can_be_released_at_that_cost(
    make: Any, budget: Any, ask: Callable[[Any], Any]
) -> None:
    private = make({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]}).dp.attach(budget)
    private = private.dp.bounds(x=(0, 5))
    with Unchanged(budget):
        preview = ask(private.dp.preview)
        assert repr(preview)
    release = ask(private.dp)
    assert preview.cost == release.cost == budget.spent
    assert budget.spent.epsilon == Fraction(1, 2)


def test_empty_keys_are_refused(make: Any, budget: Any) -> None:
    private = make({"x": [1.0, 2.0], "g": ["a", "b"]}).dp.attach(budget)
    private = private.dp.bounds(x=(0, 5))
    with Unchanged(budget):
        for keys in ([], (), range(0), np.array([])):
            with pytest.raises(ParameterError, match="empty"):
                private.dp.histogram("g", keys=keys, epsilon=1)
            with pytest.raises(ParameterError, match="empty"):
                private.dp.group_by("g", keys=keys).mean("x", epsilon=1)
            with pytest.raises(ParameterError, match="empty"):
                private.dp.group_by("g", keys={"g": keys}).mean("x", epsilon=1)
        with pytest.raises(ParameterError):
            private.dp.histogram("x", bins=[], epsilon=1)
        with pytest.raises(ParameterError):
            private.dp.contingency([], keys=[], epsilon=1)


@pytest.mark.parametrize("kind", ["mean", "var", "std"])
def test_moments_of_absent_groups_stay_within_the_bounds(
    make: Any, budget: Any, kind: str
) -> None:
    private = make({"x": [3.0, 9.0], "g": ["a", "b"]}).dp.attach(budget)
    absent = [f"absent {i}" for i in range(40)]  # each is a run of its own
    keys = ["a", "b", *absent]
    grouped = private.dp.bounds(x=(0, 10)).dp.group_by("g", keys=keys)
    top = {"mean": 10, "var": 25, "std": 5}[kind]
    for _ in range(50):
        values = getattr(grouped, kind)("x", epsilon=0.1).to_numpy()
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= top)).all()


def test_an_overwritten_column_forgets_its_bounds(make: Any, budget: Any) -> None:
    private = make({"x": [0.5, 0.25]}).dp.attach(budget).dp.bounds(x=(0, 1))
    by_pandas = hasattr(private, "assign")
    step = private.assign if by_pandas else private.with_columns
    private = step(x=(lambda d: d["x"] * 100) if by_pandas else pl.col("x") * 100)
    with Unchanged(budget), pytest.raises(BoundsRequiredError, match="'x'"):
        private.dp.sum("x", epsilon=1)
