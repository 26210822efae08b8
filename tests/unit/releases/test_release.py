from __future__ import annotations

import copy
import datetime as dt
import gc
import pickle
import weakref
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpframe.errors import DPFrameError, ParameterError, ParameterTypeError
from dpframe.noise import DiscreteLaplace
from dpframe.releases.figures import GridError, WeightedError
from dpframe.releases.intervals import Sampling
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.tabular import TableRelease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import SimpleNamespace

DECADES = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
COUNTS = [2041, 2229, 1980, 1510, 1302, 801, 0]


@pytest.fixture
def decades(made: SimpleNamespace) -> TableRelease[Any]:
    counts = made.figures(COUNTS, scale="50/3", low=Fraction(0))
    return made.table({"decade": DECADES}, counts)


# ---------------------------------------------------------------- one figure


def test_one_figure_prints_with_its_error_and_its_cost(made: SimpleNamespace) -> None:
    assert repr(made.scalar(9419)) == "Release(9419 ± 180, ε=0.5)"


def test_a_test_release_says_so_in_print_and_in_html(made: SimpleNamespace) -> None:
    release = ScalarRelease(
        figures=made.figures([9419]),
        measured=made.measured(is_test=True),
        host=made.polars_host,
        title="count",
    )
    assert repr(release) == "Release(9419 ± 180, ε=0.5, TEST)"
    assert "TEST" in release._repr_html_()
    assert release.guarantee.startswith("TEST")


def test_a_number_keeps_the_digits_that_its_error_leaves_standing(
    made: SimpleNamespace,
) -> None:
    age = made.column("age", pl.Float64())
    cases = {
        (26.5734, "1/17"): "Release(26.57 ± 0.18, ε=0.5)",
        (231234.5, "30000"): "Release(231000 ± 90000, ε=0.5)",
        (-0.01, "1"): "Release(0.0 ± 3.0, ε=0.5)",
        (1.25e-9, "1/10000000000"): "Release(1.25e-9 ± 3.0e-10, ε=0.5)",
    }
    for (value, scale), text in cases.items():
        noise = DiscreteLaplace(scale=Fraction(1000))
        error = GridError(noise=noise, unit=Fraction(scale) / 1000)
        assert repr(made.scalar(value, column=age, error=error)) == text


@pytest.mark.parametrize(
    ("dtype", "figure", "text", "type_"),
    [
        (pl.Date(), (8000, 4), "1991-11-27 ± 12 days", dt.date),
        (pl.Decimal(10, 2), (1234, 10), "12.34 ± 0.30", Decimal),
        (pl.Duration("ms"), (7_200_000, 600_000), "120 ± 30 minutes", dt.timedelta),
        (
            pl.Datetime("us", "Europe/Paris"),
            (8 * 10**14, 3_600_000_000),
            "1995-05-09 08:13:20+02:00 ± 3.0 hours",
            dt.datetime,
        ),
        (pl.Boolean(), (7, 1), "7 ± 3", int),
        (pl.Int64(), (2**70, 1), f"{2**70} ± 3", int),
    ],
)
def test_each_kind_prints_and_answers_in_its_own_type(
    made: SimpleNamespace, dtype: Any, figure: Any, text: str, type_: Any
) -> None:
    value, scale = figure
    column = made.column("x", dtype)
    release = made.scalar(value, column=column, scale=scale)
    assert repr(release) == f"Release({text}, ε=0.5)"
    assert type(release.value) is type_
    lower, upper = release.interval()
    assert type(lower) is type_
    assert lower <= release.value <= upper
    temporal = dtype.is_temporal()
    assert isinstance(release.accuracy(), dt.timedelta if temporal else float)
    assert isinstance(release.stddev, dt.timedelta if temporal else float)
    assert release.to_native().height == 1


def test_one_figure_stands_in_for_a_number_where_one_is_asked_for(
    made: SimpleNamespace,
) -> None:
    release = made.scalar(9419)
    assert float(release) == 9419.0
    assert int(release) == 9419
    assert round(release, -2) == 9400
    assert f"{release:,.0f}" == "9,419"
    assert f"{release}" == repr(release)


@pytest.mark.parametrize(
    "use",
    [
        bool,
        abs,
        lambda r: -r,
        lambda r: r + 1,
        lambda r: 1 + r,
        lambda r: np.float64(3) * r,
        lambda r: np.arange(3) - r,
        lambda r: r < 5,
        lambda r: r >= 5,
        lambda r: r / 2,
        lambda r: r**2,
    ],
)
def test_sums_comparisons_and_truth_are_refused_with_the_way_to_them(
    made: SimpleNamespace, use: Any
) -> None:
    with pytest.raises(ParameterTypeError, match=r"\.value"):
        use(made.scalar(9419))


def test_a_figure_knows_its_interval_noise_and_raw_figure(
    made: SimpleNamespace,
) -> None:
    raw = np.array([-7])
    release = made.scalar(0, centre=raw, raw={"count": raw}, low=Fraction(0))
    assert release.raw == -7
    assert type(release.raw) is int
    assert release.interval() == (0, 180)
    assert release.interval(0.5).upper < 173
    assert release.accuracy(0.99) > release.accuracy() == 180.0
    assert str(release.noise) == "discrete Laplace, scale 60"
    assert (release.noise.name, release.noise.scale) == ("discrete Laplace", 60.0)
    assert release.stddev == pytest.approx(60 * 2**0.5, rel=1e-3)
    assert release.low_count is True
    assert made.scalar(9419).low_count is False
    assert release.to_dict() == {"count": [0]}
    assert release.to_numpy() == 0


def test_several_raw_figures_come_by_name(made: SimpleNamespace) -> None:
    raw = {"n": np.array([12]), "sum": np.array([1.5])}
    assert made.scalar(3, raw=raw).raw == {"n": 12, "sum": 1.5}


def test_a_population_interval_is_wider_and_stays_in_the_public_range(
    made: SimpleNamespace,
) -> None:
    age = made.column("age", pl.Float64())
    figures = made.figures(
        [60.0], column=age, scale=1, low=Fraction(0), high=Fraction(65)
    )
    release = ScalarRelease(
        figures=figures,
        measured=made.measured(),
        host=made.polars_host,
        title="mean of age",
        sampling=Sampling(stderr=np.array([2.0])),
    )
    noise = release.interval()
    both = release.interval(population=True)
    # 0.8 of the miss to sampling at z(0.98), the rest to noise
    assert both.lower == pytest.approx(60 - 2.0537 * 2 - release.accuracy(0.99), 1e-3)
    assert both.lower < noise.lower
    assert both.upper == 65
    with pytest.raises(ParameterError, match="No population interval"):
        made.scalar(3).interval(population=True)


@pytest.mark.parametrize("rooted", [False, True])
def test_an_answer_clamped_to_its_range_keeps_its_error(
    made: SimpleNamespace, *, rooted: bool
) -> None:
    figures = made.figures(
        [0.0],
        column=made.column("cost", pl.Float64()),
        scale=400,
        centre=np.array([-3000.0]),
        low=Fraction(0),
        high=Fraction(5000),
        low_count=np.array([False]),
        rooted=rooted,
    )
    width = figures.error.half_width(0.95, cells=1).item()
    kept = figures.accuracy(0.95, joint=False).tolist()
    assert 0 < width < 3000
    assert kept == [pytest.approx(width**0.5 if rooted else width)]
    range_ = 5000**0.5 if rooted else 5000
    assert figures.accuracy(1 - 1e-15, joint=False).tolist() == [pytest.approx(range_)]


def test_a_low_count_is_said_in_print_and_makes_the_range_the_interval(
    made: SimpleNamespace,
) -> None:
    release = made.scalar(
        3.0,
        column=made.column("age", pl.Float64()),
        scale=1,
        low=Fraction(0),
        high=Fraction(65),
        low_count=np.array([True]),
    )
    assert repr(release) == "Release(3 ± 62, low count, ε=0.5)"
    assert release.interval() == (0.0, 65.0)
    assert release.low_count is True


@pytest.mark.parametrize("confidence", [0, 1, 1.5, float("nan")])
def test_a_confidence_outside_of_0_and_1_is_refused(
    made: SimpleNamespace, decades: TableRelease[Any], confidence: Any
) -> None:
    for release in (made.scalar(9419), decades):
        with pytest.raises(ParameterError):
            release.interval(confidence)
        with pytest.raises(ParameterError):
            release.accuracy(confidence)
        with pytest.raises(ParameterError):
            release.to_native(interval=confidence)


# -------------------------------------------------------------------- tables


def test_a_table_prints_its_rows_with_their_error(decades: TableRelease[Any]) -> None:
    assert repr(decades) == (
        "Release(count by decade, 7 rows, ± 50 each, ε=0.3)\n"
        "  decade  count   ±\n"
        "       0   2041  50\n"
        "      10   2229  50\n"
        "      20   1980  50\n"
        "      30   1510  50\n"
        "      40   1302  50\n"
        "      50    801  50\n"
        "      60      0  50"
    )


def test_a_long_table_prints_its_first_twenty_rows(made: SimpleNamespace) -> None:
    keys = {"k": list(range(25))}
    lines = repr(made.table(keys, made.figures([7] * 25), title="count by k"))
    lines = lines.splitlines()
    assert lines[0] == "Release(count by k, 25 rows, ± 180 each, ε=0.3)"
    assert len(lines) == 23
    assert lines[-2:] == ["  19      7  180", "   …"]


def test_errors_that_differ_stand_in_the_rows_alone(made: SimpleNamespace) -> None:
    weights = np.array([[0.05, 0.0], [0.5, 0.1], [2.0, 0.0]])
    error = WeightedError(noise=DiscreteLaplace(scale=Fraction(1)), weights=weights)
    age = made.figures(
        [26.5, 30.25, 51.0], column=made.column("age", pl.Float64()), error=error
    )
    release = made.table({"g": ["a", "b", "c"]}, age, title="mean of age by g")
    title, *rows = repr(release).splitlines()
    assert title == "Release(mean of age by g, 3 rows, ε=0.3)"
    assert rows[1].split() == ["a", "26.50", "0.15"]
    assert rows[3].split() == ["c", "51.0", "6.0"]
    assert release.noise.scale is None
    assert "in each sum" in str(release.noise)


def test_one_row_without_keys_holds_several_measures(made: SimpleNamespace) -> None:
    age = made.column("age", pl.Float64())
    release = made.table(
        {},
        made.figures([12], scale=1, name="n"),
        made.figures([26.5], scale=1, column=age),
        title="n and age",
        shape=(),
    )
    assert repr(release) == (
        "Release(n and age, ε=0.3)\n   n  ±   age    ±\n  12  3  26.5  3.0"
    )
    ends = ["n_lower", "n_upper", "age_lower", "age_upper"]
    assert release.interval().columns == ends
    assert release.accuracy().to_dicts() == [{"n": 3.0, "age": 3.0}]
    assert release.stddev.columns == ["n", "age"]
    assert set(release.noise) == {"n", "age"}
    assert release.to_numpy().tolist() == [12.0, 26.5]
    assert release.value.to_dicts() == [{"n": 12, "age": 26.5}]
    assert release.raw.columns == ["n", "age"]
    assert release.to_polars(interval=0.9).width == 6


def test_intervals_and_accuracies_come_for_each_cell(
    decades: TableRelease[Any],
) -> None:
    table = decades.interval()
    assert table.columns == ["decade", "lower", "upper"]
    assert table.to_polars().schema["lower"] == pl.Int64
    assert table.to_dicts()[-1] == {"decade": 60.0, "lower": 0, "upper": 50}
    assert decades.accuracy().tolist() == [50.0] * 7
    assert decades.accuracy(joint=True).min() > 50
    assert decades.stddev.shape == (7,)
    assert decades.low_count.tolist() == [False] * 6 + [True]


def test_temporal_measures_have_temporal_errors(made: SimpleNamespace) -> None:
    days = made.figures([9000, 9100], scale=4, column=made.column("day", pl.Date()))
    release = made.table({"g": [1, 2]}, days, title="mean of day by g")
    assert release.accuracy().tolist() == [dt.timedelta(days=12)] * 2
    assert release.interval().to_polars().schema["upper"] == pl.Date
    assert "± 12 days each" in repr(release)
    assert release.to_numpy().dtype.kind == "M"


@pytest.mark.parametrize("host", ["pandas_host", "polars_host"])
def test_the_value_is_the_hosts_frame_and_cannot_change_the_release(
    made: SimpleNamespace, host: str
) -> None:
    keys = {"g": ["a", "b"]}
    release = made.table(keys, made.figures([5, 6]), host=getattr(made, host))
    frame = release.value
    library = pd.DataFrame if host == "pandas_host" else pl.DataFrame
    assert isinstance(frame, library)
    assert isinstance(release.raw, library)
    assert isinstance(release.to_pandas(), pd.DataFrame)
    assert isinstance(release.to_pandas().index, pd.RangeIndex)
    wide = release.to_native(interval=0.95)
    assert isinstance(wide, library)
    assert list(wide.columns) == ["g", "count", "lower", "upper"]
    assert str(wide["lower"].dtype).lower() == "int64"
    if library is pd.DataFrame:
        frame["count"] = 0
        frame.loc[0, "g"] = "z"
    else:
        frame[0, "count"] = 0
    release.to_numpy()[0] = 99
    assert release.to_dict() == {"g": ["a", "b"], "count": [5, 6]}
    assert list(release.value["count"]) == [5, 6]


def test_counts_as_an_array_are_shaped_by_the_keys(made: SimpleNamespace) -> None:
    keys = {"a": ["x", "x", "y", "y", None], "b": [1, 2, 1, 2, None]}
    counts = made.figures([1, 2, 3, 4, 9], scale=1)
    release = made.table(keys, counts, shape=(2, 2), other=True)
    assert release.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert release.other.value == 9
    assert release.other.cost == release.cost
    assert release.value.height == 5


def test_a_table_without_an_other_cell_says_how_to_get_one(
    decades: TableRelease[Any],
) -> None:
    with pytest.raises(DPFrameError, match="other=True"):
        _ = decades.other
    assert not hasattr(decades, "other")


def test_raw_figures_keep_the_keys_and_what_is_below_zero(
    made: SimpleNamespace,
) -> None:
    raw = {"count": np.array([-3, 8])}
    release = made.table({"g": ["a", "b"]}, made.figures([0, 8], raw=raw))
    assert release.raw.to_dict(as_series=False) == {"g": ["a", "b"], "count": [-3, 8]}
    halves = {"n": np.array([1, 2]), "sum": np.array([0.5, 1.0])}
    release = made.table({"g": ["a", "b"]}, made.figures([0, 8], raw=halves))
    assert dict(release.raw.schema) == {
        "g": pl.String,
        "count_n": pl.Int64,
        "count_sum": pl.Float64,
    }


def test_arrow_readers_take_a_release_as_it_is(
    made: SimpleNamespace, decades: TableRelease[Any]
) -> None:
    assert pl.DataFrame(decades).equals(decades.to_polars())
    assert pa.table(decades).column_names == ["decade", "count"]
    assert pa.table(made.scalar(3)).to_pydict() == {"count": [3]}


def test_html_escapes_names_and_shows_cost_and_guarantee(made: SimpleNamespace) -> None:
    counts = made.figures([5], name="<b>n</b>")
    release = made.table({"k&": ["<script>"]}, counts, title="count by <i>")
    page = release._repr_html_()
    for raw in ("<script>", "<b>n</b>", "<i>"):
        assert raw not in page
    assert "&lt;script&gt;" in page
    assert "ε=0.3" in page
    assert "differential privacy" in page


def test_a_missing_cell_is_refused_when_a_table_is_made(made: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="every cell"):
        made.table({"g": ["a", "b"]}, made.figures([5, 6]), shape=(3,))


# ------------------------------------------------------------------- privacy


class Frame:
    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> Any:
        del like
        return table


def test_a_release_keeps_no_reference_to_its_frame(made: SimpleNamespace) -> None:
    frame = Frame()
    scalar = made.scalar(9419, host=frame.to_host)
    table = made.table(
        {"g": ["a", None]}, made.figures([5, 6]), host=frame.to_host, other=True
    )
    gone = weakref.ref(frame)
    del frame
    gc.collect()
    assert gone() is None
    assert scalar.value == 9419
    assert table.other.value == 6


def test_a_release_says_what_it_cost_and_how_it_came_about(
    made: SimpleNamespace, decades: TableRelease[Any]
) -> None:
    assert decades.cost.epsilon == Fraction(3, 10)
    assert "factor e^(3/10) (" in decades.guarantee
    assert "'id'" in decades.guarantee
    assert decades.provenance.steps == ("filter((days) > (1))",)
    assert made.scalar(1).provenance.parameters == {"of": "rows"}


def test_copies_and_pickles_are_the_same_release(
    made: SimpleNamespace, decades: TableRelease[Any]
) -> None:
    for release in (made.scalar(9419), decades):
        for again in (copy.deepcopy(release), pickle.loads(pickle.dumps(release))):  # noqa: S301 - made here
            assert repr(again) == repr(release)
            assert type(again) is type(release)
            assert isinstance(again, (ScalarRelease, TableRelease))
