"""The largest error of a halfspace oracle on a private frame: exact, and paid for."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe import (
    BudgetExceededError,
    ColumnNotFoundError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.deviation import WIDEST, EveryPlane
from dpframe.mechanisms.compared_planes import MOST_PLANES, whole_planes
from dpframe.releases.halfspaces.ball import ROUNDED, Planes
from dpframe.slices import EXACT, Slices
from dpframe.tally import COARSE
from dpframe.testing import recording, seeded

BOUNDS = {"x": (0, 10), "y": (-2, 2)}
QUERIES: list[tuple[Any, float]] = [
    ({"x": 1}, 3),
    ({"x": 1, "y": -2.5}, 4.01),
    ({"y": -1}, 0.5),
    ([0.3, 1], 2.2),
    (np.array([1.0, 5.0]), 7),
    ({"x": -1}, -3),
]


def attached(frame: Any, *, epsilon: float = 50, **options: Any) -> Any:
    budget = dpframe.Accountant(epsilon=epsilon)
    return frame.dp.attach(budget, **{"bounds": {}, **options})


def rows(n: int = 40, seed: int = 5) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "u": draw.integers(0, 9, n),
            "x": draw.integers(0, 11, n),
            "y": draw.uniform(-2, 2, n),
            "sick": draw.integers(0, 2, n).astype(bool),
        }
    )


def released(frame: Any = None, columns: Any = ("x", "y"), **options: Any) -> Any:
    """Return an oracle whose answers are wrong by a few rows."""
    found = {"margin": 0.3, "bounds": BOUNDS, "epsilon": 2, **options}
    with seeded(3):
        source = attached(rows() if frame is None else frame)
        return source.dp.halfspace_oracle(list(columns), **found)


def exact(
    frame: Any, release: Any, queries: Any = QUERIES, **options: Any
) -> tuple[int, int, int]:
    """Return the exact largest error in grid units, its sensitivity and the value."""
    with recording(noiseless=True) as recorder:
        found = attached(frame, **options).dp.largest_error(
            release, queries, epsilon=0.1
        )
    ((block,),) = [part.blocks for part in recorder.records[-1].parts]
    return block.exact[0][0], block.sensitivity, found.value


def above(frame: pl.DataFrame, query: Any) -> np.ndarray[Any, Any]:
    """Return which rows a query asks for, from their own values."""
    w, offset = query
    weights = [w.get(name, 0) for name in ("x", "y")] if isinstance(w, dict) else w
    return frame.select("x", "y").to_numpy() @ np.array(weights, float) >= offset


def wanted(
    frame: pl.DataFrame, release: Any, queries: Any = QUERIES, weight: Any = 1
) -> int:
    """Return the largest error in grid units, one query after the other."""
    unit = 1 if np.isscalar(weight) else 2**16
    return max(
        abs(
            int((weight * above(frame, query)).sum())
            - unit * release.query(*query).count.value
        )
        for query in queries
    )


# The value


@pytest.mark.parametrize("method", ["net", "sliced", "kd", "jl_net"])
def test_halfspaces_are_compared_with_the_counts_that_are_given(method: str) -> None:
    data, release = rows(), released(method=method)
    expected = wanted(data, release)
    assert expected > 0
    assert exact(data, release) == (expected, 1, expected)
    other = rows(seed=8)
    assert exact(other, release)[0] == wanted(other, release)


@pytest.mark.parametrize("seed", range(4))
def test_many_random_halfspaces_agree_with_a_count_of_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    data, release = rows(seed=seed), released()
    queries = [(draw.normal(size=2), float(draw.normal() * 4)) for _ in range(200)]
    assert exact(data, release, queries)[0] == wanted(data, release, queries)
    alone = [exact(data, release, [query])[0] for query in queries[:10]]
    assert alone == [wanted(data, release, [query]) for query in queries[:10]]


def test_a_perfect_oracle_is_off_by_the_rows_that_moved() -> None:
    data = pl.DataFrame({"x": [1, 1, 9, 9] * 5, "y": [-1.0, 1.0] * 10})
    with recording(noiseless=True):
        release = released(data)
    queries = [({"x": 1}, 5), ({"y": 1}, 0)]  # far from all rows, so proved
    assert exact(data, release, queries)[0] == 0
    assert exact(data[:-1], release, queries)[0] == 1
    assert exact(data.clear(), release, queries)[0] == 10


def test_rows_on_a_plane_are_above_it_and_so_are_rows_rounded_onto_it() -> None:
    with recording(noiseless=True):
        empty = rows().clear().cast({"x": pl.Float64})
        release = released(empty, bounds={"x": (-1, 1), "y": (-1, 1)})
    step = ROUNDED * math.sqrt(2)  # of a column, for one that long in the unit ball
    for x, expected in ((0.5, 1), (0.5 - step / 4, 1), (0.5 - 3 * step, 0)):
        data = pl.DataFrame({"x": [x], "y": [0.0]})
        assert exact(data, release, [({"x": 1}, 0.5)])[0] == expected


def test_rows_are_clipped_to_the_bounds_of_the_oracle_and_not_the_frames() -> None:
    data, release = rows(), released()
    plain = exact(data, release)[0]
    assert exact(data, release, bounds={"x": (0, 2), "y": (0, 0.1)})[0] == plain
    beyond = data.with_columns(
        x=pl.when(pl.col("x") == 10).then(999).otherwise(pl.col("x"))
    )
    assert exact(beyond, release)[0] == plain
    assert exact(beyond, release, [({"x": 1}, 11)])[0] == (
        release.query({"x": 1}, 11).count.value
    )


def test_missing_values_count_as_absent_and_labels_do_not_matter() -> None:
    data, release = rows(), released(label="sick", method="sliced")
    plain = exact(data, release)[0]
    assert plain == wanted(data, release)
    gaps = pl.DataFrame({"x": [None, 5, 5], "y": [1.0, None, float("nan")]})
    more = pl.concat([data, gaps.with_columns(sick=True)], how="diagonal")
    assert exact(more.sample(fraction=1, shuffle=True, seed=2), release)[0] == plain
    assert exact(data.with_columns(sick=~pl.col("sick")), release)[0] == plain
    assert exact(data.with_columns(sick=pl.lit(None, pl.Boolean)), release)[0] == plain
    assert exact(data.drop("sick"), release)[0] == plain


def test_rows_of_a_unit_are_weighed_before_they_are_compared() -> None:
    data, release = rows(), released()
    sizes = np.bincount(data["u"].to_numpy())
    weight = np.minimum(2**16 * 2 // np.maximum(sizes, 1), 2**16)[data["u"].to_numpy()]
    expected = wanted(data, release, weight=weight)
    assert expected % 2**16
    assert exact(data, release, privacy_unit="u", max_rows=2)[0] == expected


# The sensitivity


@pytest.mark.parametrize("method", ["net", "kd"])
def test_a_row_changes_the_largest_error_by_one_at_most(method: str) -> None:
    data, release = rows(14), released(method=method)
    every = [({"x": 1, "y": w}, b) for w in (-3, -1, 0, 2) for b in range(-2, 12)]
    for queries in (QUERIES, every):
        whole, claimed, _ = exact(data, release, queries)
        gaps = {
            abs(whole - exact(data.filter(np.arange(14) != row), release, queries)[0])
            for row in range(14)
        }
        assert claimed == 1
        assert gaps <= {0, 1}
        assert 1 in gaps


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_unit_changes_it_by_its_weight_at_most(limit: int) -> None:
    data = rows(24)
    one = data[:1].with_columns(u=pl.lit(99, pl.Int64))
    data = pl.concat([data, *[one] * 6])  # a unit of six equal rows
    options = {"privacy_unit": "u", "max_rows": limit}
    with recording(noiseless=True):  # far off: of no rows at all
        release = released(data.clear())
    queries = [*QUERIES, ({"x": 1}, -1)]
    whole, claimed, _ = exact(data, release, queries, **options)
    assert claimed == limit * 2**16
    gaps = [
        abs(whole - exact(data.filter(u != data["u"]), release, queries, **options)[0])
        for u in data["u"].unique()
    ]
    assert max(gaps) <= claimed
    assert max(gaps) >= claimed - 6  # shares are rounded down
    unlimited = {**options, "max_rows": 6}
    more = exact(data, release, queries, **unlimited)[0]
    less = exact(data.filter(pl.col("u") != 99), release, queries, **unlimited)[0]
    assert abs(more - less) > claimed  # the control: not so without the limit


@pytest.mark.parametrize("dimension", [2, 3, 7, 50])
def test_planes_are_whole_numbers_whose_products_are_exact(dimension: int) -> None:
    draw = np.random.default_rng(dimension)
    normals = draw.normal(size=(60, dimension))
    normals[:3] = 1  # the longest sums
    normals[3] = np.eye(dimension)[0]
    normals /= np.sqrt((normals**2).sum(axis=1))[:, None]
    y = draw.integers(-COARSE, COARSE + 1, (60, dimension))
    x = y / (COARSE * math.sqrt(dimension))
    places = (x * normals).sum(axis=1)
    for moved, met in ((0.0, True), (ROUNDED * 0.9, True), (ROUNDED * 1.1, False)):
        planes = Planes(normals=normals, offsets=places + moved)
        directions, offsets = whole_planes(planes)
        found = [
            sum(a * b for a, b in zip(u, row, strict=True)) + offset >= 1
            for u, row, offset in zip(
                directions.tolist(), y.tolist(), offsets.tolist(), strict=True
            )
        ]
        assert found == [met] * 60
    farthest = Planes(normals=normals, offsets=np.full(60, -2.0))
    directions, offsets = whole_planes(farthest)
    reach = np.abs(directions.astype(object)).sum(axis=1) * COARSE + np.abs(offsets)
    assert max(reach) < EXACT


def test_bins_and_answers_that_do_not_fit_are_refused() -> None:
    with recording() as recorder:
        attached(rows()).dp.largest_error(released(), QUERIES, epsilon=1)
    statistic: Any = recorder.records[-1].parts[0].statistic
    assert isinstance(statistic, EveryPlane)
    slices: Slices = statistic.slices
    assert EveryPlane(slices=slices, answers=statistic.answers) == statistic
    for answers in (
        statistic.answers[1:],
        (-1, *statistic.answers[1:]),
        (WIDEST, *statistic.answers[1:]),
    ):
        with pytest.raises(ValueError, match="answer"):
            EveryPlane(slices=slices, answers=answers)


# Other frames


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Int128])
def test_widths_of_numbers_may_differ(dtype: Any) -> None:
    data, release = rows(), released()
    plain = exact(data, release)[0]
    assert exact(data.cast({"x": dtype}), release)[0] == plain
    narrow = data.with_columns(y=pl.col("y").round(0))
    assert exact(narrow.cast({"y": pl.Float32}), release) == exact(narrow, release)


def test_an_oracle_from_polars_is_measured_on_pandas_and_back() -> None:
    data = rows().select("x", "y")
    pandas = data.to_pandas()
    objects = pd.DataFrame({"x": pandas["x"].astype(object), "y": pandas["y"]})
    for release in (released(data), released(pandas)):
        expected = exact(data, release)
        assert exact(pandas, release) == expected
        assert exact(objects, release) == expected
        assert exact(data.lazy(), release) == expected


def test_decimal_places_may_differ_and_booleans_need_no_bounds() -> None:
    money = pl.DataFrame(
        {"x": [Decimal(n) / 4 for n in range(9)], "y": [True, False, True] * 3}
    ).cast({"x": pl.Decimal(20, 2)})
    release = released(money, bounds={"x": (Decimal(0), Decimal("2.5"))})
    queries = [({"x": 1, "y": 1}, 1.25), ({"x": 1, "y": -2}, 0.25)]
    plain = exact(money, release, queries)
    assert plain[0] == max(
        abs(
            sum(
                float(x) + w["y"] * y >= offset
                for x, y in zip(money["x"], money["y"], strict=True)
            )
            - release.query(w, offset).count.value
        )
        for w, offset in queries
    )
    assert exact(money.cast({"x": pl.Decimal(30, 5)}), release, queries) == plain
    with pytest.raises(ParameterTypeError, match="lacks points"):
        exact(money.cast({"x": pl.Decimal(20, 0)}), release, queries)


# The release


def test_one_release_is_paid_for_and_the_oracle_pays_nothing() -> None:
    release = released()
    frame = attached(rows(), epsilon=1)
    found = release.evaluate(frame, QUERIES, epsilon=Fraction(1, 4))
    accountant = frame.dp.state.accountant
    assert accountant.spent.epsilon == Fraction(1, 4)
    assert found.cost.epsilon == Fraction(1, 4)
    *_, event = accountant.events.to_dicts()
    assert event["mechanism"] == "largest_error"
    assert event["parameters"] == "release=kd, queries=6"
    assert found.value >= 0
    assert found.accuracy(0.95) == 12  # as of a count
    assert not found.low_count
    assert found.to_native().columns == ["largest_error"]
    budget = dpframe.Accountant(rho=1)
    gaussian = release.evaluate(rows().dp.attach(budget), QUERIES, rho=0.1)
    assert gaussian.noise.name == "discrete Gaussian"
    assert budget.spent.rho == Fraction(1, 10)


def test_the_noise_is_that_of_a_count_and_covers() -> None:
    release, data = released(), rows()
    truth, _, _ = exact(data, release)
    frame = attached(data, epsilon=1000)
    with seeded(11):
        found = [
            frame.dp.largest_error(release, QUERIES, epsilon=2) for _ in range(400)
        ]
    misses = sum(abs(one.raw - truth) > one.accuracy(0.95) for one in found)
    assert misses <= 45  # 20 in the mean; more than 45 with a chance below 1e-6
    assert len({one.value for one in found}) > 1


def test_a_preview_reads_and_spends_nothing() -> None:
    frame = attached(rows(), epsilon=1)
    ask = frame.dp.preview.largest_error
    preview = ask(released(), QUERIES, epsilon=0.5)
    assert repr(preview) == (
        "Preview(largest error of 6 halfspaces of x and y, ± 6, ε=0.5 of 1 left, "
        "nothing spent)"
    )
    assert "1 halfspace of" in repr(ask(released(), QUERIES[:1], epsilon=0.5))
    assert preview.schema == {"largest_error": pl.Int64()}
    assert frame.dp.state.accountant.spent.epsilon == 0


@pytest.mark.parametrize(
    ("queries", "error", "words"),
    [
        (None, ParameterError, "no end of halfspaces"),
        ([], ParameterError, "queries are empty"),
        ([({"x": 1}, 0)] * (MOST_PLANES + 1), ParameterError, "the most is 10000"),
        ([({"x": 0}, 1)], ParameterError, "direction is zero"),
        ([({}, 1)], ParameterError, "direction is zero"),
        ([([1, 2, 3], 1)], ParameterError, "3 weights"),
        ([({"z": 1}, 1)], ColumnNotFoundError, "no column 'z'"),
        ([({"x": float("nan")}, 1)], ParameterError, "NaN or infinity"),
        ([({"x": 1}, float("inf"))], ParameterError, "NaN or infinity"),
        ([({"x": 1}, "a")], ParameterTypeError, "made of numbers"),
        ([({"x": 1}, [1, 2])], ParameterTypeError, "there are 2"),
        ([([[1, 2], [3, 4]], 1)], ParameterTypeError, "there are 2"),
        ([{"x": 1}], ParameterTypeError, "A query is a pair"),
        ([({"x": 1},)], ParameterTypeError, "A query is a pair"),
        (["xy"], ParameterTypeError, "A query is a pair"),
        ({"x": 1}, ParameterTypeError, "not one"),
        ([[1, -1], [1, 0]], ParameterTypeError, "A query is a pair"),
        (pl.Series([0, 1]), ParameterTypeError, "queries"),
    ],
    ids=range(18),
)
def test_a_wrong_query_spends_nothing(queries: Any, error: Any, words: str) -> None:
    frame = attached(rows(), epsilon=1)
    with pytest.raises(error, match=words):
        released().evaluate(frame, queries, epsilon=0.5)
    assert frame.dp.state.accountant.spent.epsilon == 0


def test_a_frame_that_does_not_suit_spends_nothing() -> None:
    release = released()
    for frame, options, error in (
        (rows().rename({"x": "z"}), {}, ColumnNotFoundError),
        (rows().cast({"x": pl.Float64}), {}, ParameterTypeError),
        (rows().cast({"y": pl.String}), {}, ParameterTypeError),
        (rows(), {"privacy_unit": "u"}, ParameterError),
    ):
        private = attached(frame, epsilon=1, **options)
        with pytest.raises(error):
            release.evaluate(private, QUERIES, epsilon=0.5)
        assert private.dp.state.accountant.spent.epsilon == 0
    private = attached(rows(), epsilon=1)
    with pytest.raises(BudgetExceededError):
        release.evaluate(private, QUERIES, epsilon=2)
    assert private.dp.state.accountant.spent.epsilon == 0
