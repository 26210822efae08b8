"""The largest error of a release on a private frame: exact, bounded, and paid for."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe import (
    BudgetExceededError,
    ColumnNotFoundError,
    NotAttachedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.grid import EvenGrid
from dpframe.mechanisms.compared_intervals import MOST_BOXES, Prefixes
from dpframe.releases.exact_json import to_json
from dpframe.releases.line import Line
from dpframe.releases.storage import read
from dpframe.testing import recording, seeded

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [0, 0, 1, 3, 3, 3, 6, 7, 7, 2, 5, 5, 5, 5, 4, 7, 0, 6]
BOUNDS = {"x": (0, 7), "y": (0, 3)}
BOXES = [
    {"x": (0, 3)},
    {"x": (2, 5), "y": (1, 2)},
    {"y": (3, 3)},
    {"x": (7, 7), "y": (0, 0)},
    {"x": (None, 4), "y": (None, 1)},
    {},
]
PAIRS = [(0, 0), (0, 3), (2, 5), (None, 4), (6, None), (None, None), (5, 5)]


def attached(frame: Any, *, epsilon: float = 50, **options: Any) -> Any:
    budget = dpframe.Accountant(epsilon=epsilon)
    private = frame.dp.attach(budget, **{"bounds": {}, **options})
    known = {name: BOUNDS[name] for name in BOUNDS if name in private.columns}
    return private if "bounds" in options else private.dp.bounds(known)


def rows(n: int = 40, seed: int = 5) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "u": draw.integers(0, 9, n),
            "x": draw.integers(0, 8, n),
            "y": draw.integers(0, 4, n),
        }
    )


def released(columns: Any = "x", frame: Any = None, **options: Any) -> Any:
    """Return a release whose answers are wrong by a few rows."""
    with seeded(3):
        source = attached(rows() if frame is None else frame)
        return source.dp.synthetic_intervals(columns, epsilon=0.5, **options)


def exact(
    frame: Any, release: Any, queries: Any = None, **options: Any
) -> tuple[int, int, int]:
    """Return the exact largest error in grid units, its sensitivity and the value."""
    with recording(noiseless=True) as recorder:
        found = attached(frame, **options).dp.largest_error(
            release, queries, epsilon=0.1
        )
    ((block,),) = [part.blocks for part in recorder.records[-1].parts]
    return block.exact[0][0], block.sensitivity, found.value


def inside(frame: pl.DataFrame, query: Any) -> np.ndarray[Any, Any]:
    pairs = query if isinstance(query, dict) else {"x": query}
    found = np.ones(frame.height, dtype=bool)
    for name, (lo, hi) in pairs.items():
        values = frame[name].to_numpy()
        found &= (values >= (-1 if lo is None else lo)) & (
            values <= (99 if hi is None else hi)
        )
    return found


def answer(release: Any, query: Any) -> int:
    found = release.count(query) if isinstance(query, dict) else release.count(*query)
    return found.value


# The value


def test_listed_intervals_are_compared_with_the_counts_that_are_given() -> None:
    data, release = rows(), released()
    wanted = max(
        abs(int(inside(data, pair).sum()) - answer(release, pair)) for pair in PAIRS
    )
    assert wanted > 0
    assert exact(data, release, PAIRS) == (wanted, 1, wanted)


def test_listed_boxes_are_compared_with_the_counts_that_are_given() -> None:
    data = rows()
    for method in ("quad", "privtree"):
        release = released(["x", "y"], method=method)
        wanted = max(
            abs(int(inside(data, box).sum()) - answer(release, box)) for box in BOXES
        )
        assert wanted > 0
        assert exact(data, release, BOXES) == (wanted, 1, wanted)


@pytest.mark.parametrize("method", ["tree", "privtree", "binary_search"])
def test_all_intervals_are_tried_at_once(method: str) -> None:
    data, release = rows(), released(method=method)
    below = Prefixes(line=release.shape, weight=1)
    answers = [int(below(np.array([code], np.uint64))[0]) for code in range(8)]
    answers.append(below.total)
    counts = [int((data["x"] < code).sum()) for code in range(9)]
    wanted = max(
        abs(counts[stop] - counts[start] - answers[stop] + answers[start])
        for start, stop in combinations_with_replacement(range(9), 2)
    )
    assert wanted > 0
    assert exact(data, release) == (wanted, 1, wanted)
    every = [(lo, hi) for lo, hi in combinations_with_replacement(range(8), 2)]
    listed, _, _ = exact(data, release, every)
    assert abs(listed - wanted) <= 1  # both ends rounded, or the answer


@pytest.mark.parametrize("seed", range(6))
def test_rows_far_apart_are_compared_on_both_of_their_sides(seed: int) -> None:
    draw = np.random.default_rng(seed)
    there, here = (
        pl.DataFrame({"x": draw.choice(draw.integers(0, 100, 3), n)}) for n in (30, 25)
    )
    with recording(noiseless=True):  # what is wrong with it is that rows moved
        private = attached(there, bounds={"x": (0, 99)})
        release = private.dp.synthetic_intervals("x", epsilon=1)
    moved = np.cumsum(
        np.bincount(here["x"].to_numpy(), minlength=100)
        - np.bincount(there["x"].to_numpy(), minlength=100)
    )
    wanted = max(moved.max(), 0) - min(moved.min(), 0)
    assert exact(here, release)[0] == wanted


def test_an_interval_between_two_points_holds_no_rows() -> None:
    data = pl.DataFrame({"x": DAYS})
    with recording(noiseless=True):
        release = attached(data).dp.synthetic_intervals("x", domain=[0, 5], epsilon=1)
        boxes = attached(rows()).dp.synthetic_intervals(
            ["x", "y"], domain={"x": [0, 5]}, epsilon=1
        )
    assert answer(release, (2, 3)) == 0
    assert exact(data, release, [(2, 3)])[0] == 0
    assert exact(rows(), boxes, [{"x": (2, 3), "y": (0, 3)}])[0] == 0


def test_the_ends_of_a_domain_of_2_to_the_64_are_tried() -> None:
    values = [0, 2**64 - 1, 2**64 - 1, 2**63, 17]
    data = pl.DataFrame({"x": pl.Series(values, dtype=pl.UInt64)})
    bounds = {"x": (0, 2**64 - 1)}
    with recording(noiseless=True):
        release = attached(data, bounds=bounds).dp.synthetic_intervals(
            "x", epsilon=0.01
        )
    assert release.shape.grid.size == 2**64
    empty = data.clear()
    below = Prefixes(line=release.shape, weight=1)
    ends = sorted({0, *values, *(value + 1 for value in values)} - {2**64})
    answers = [*below(np.array(ends, np.uint64)).tolist(), below.total]
    for frame in (data, empty):
        counts = [sum(x < end for x in frame["x"].to_list()) for end in ends]
        gaps = np.array([*counts, frame.height]) - answers
        assert exact(frame, release, bounds=bounds)[0] == gaps.max() - gaps.min()
        pairs = [(None, None), (2**64 - 1, None), (0, 0)]
        found = max(
            abs(
                int(
                    frame["x"]
                    .is_between(lo or 0, 2**64 - 1 if hi is None else hi)
                    .sum()
                )
                - answer(release, (lo, hi))
            )
            for lo, hi in pairs
        )
        assert exact(frame, release, pairs, bounds=bounds)[0] == found
    assert exact(empty, release, bounds=bounds)[0] == 5


def test_rows_of_a_unit_are_weighed_before_they_are_compared() -> None:
    data, release = rows(), released()
    options = {"privacy_unit": "u", "max_rows": 2}
    sizes = np.bincount(data["u"].to_numpy())
    weight = np.minimum(2**16 * 2 // np.maximum(sizes, 1), 2**16)[data["u"].to_numpy()]
    wanted = max(
        abs(int(weight[inside(data, pair)].sum()) - 2**16 * answer(release, pair))
        for pair in PAIRS
    )
    assert wanted % 2**16
    assert exact(data, release, PAIRS, **options)[0] == wanted
    below = Prefixes(line=release.shape, weight=2**16)
    codes = np.arange(9, dtype=np.uint64)
    gaps = below(codes) - [int(weight[data["x"] < code].sum()) for code in range(9)]
    assert exact(data, release, **options)[0] == gaps.max() - gaps.min()


@pytest.mark.parametrize("weight", [1, 2**16])
def test_answers_below_a_code_never_fall(weight: int) -> None:
    draw = np.random.default_rng(8)
    source = released().shape
    for _ in range(200):
        size = int(draw.integers(50, 2**40))
        cells = int(draw.integers(1, 30))
        starts = np.unique(np.append(draw.integers(0, size, cells), 0))
        line = Line(
            grid=EvenGrid(
                column=source.grid.column, low=Fraction(0), step=Fraction(1), size=size
            ),
            starts=starts.astype(np.uint64),
            below=np.append(0.0, np.cumsum(draw.exponential(9, len(starts)))),
            raw=np.zeros(len(starts)),
            error=source.error,
        )
        near = (starts[:, None] + np.arange(-2, 3)).ravel()
        codes = np.unique([*near[(near >= 0) & (near < size)], *range(40), size])
        answers = Prefixes(line=line, weight=weight)(codes.astype(np.uint64))
        assert answers[0] == 0
        assert (np.diff(answers) >= 0).all()
        assert answers[-1] == Prefixes(line=line, weight=weight).total


def test_a_perfect_release_is_off_by_nothing() -> None:
    data = rows()
    with recording(noiseless=True):
        release = attached(data).dp.synthetic_intervals("x", epsilon=1)
    assert exact(data, release)[0] == 0
    assert exact(data, release, PAIRS)[0] == 0
    assert exact(data[1:], release)[0] == 1


# The sensitivity


@pytest.mark.parametrize(
    ("columns", "queries"), [("x", None), ("x", PAIRS), (["x", "y"], BOXES)]
)
def test_a_row_changes_the_largest_error_by_one_at_most(
    columns: Any, queries: Any
) -> None:
    data, release = rows(14), released(columns)
    whole, claimed, _ = exact(data, release, queries)
    gaps = {
        abs(whole - exact(data.filter(np.arange(14) != row), release, queries)[0])
        for row in range(14)
    }
    assert claimed == 1
    assert gaps <= {0, 1}
    assert 1 in gaps


@pytest.mark.parametrize(
    ("columns", "queries"), [("x", None), ("x", PAIRS), (["x", "y"], BOXES)]
)
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_unit_changes_it_by_its_weight_at_most(
    columns: Any, queries: Any, limit: int
) -> None:
    data = rows(24)
    data = pl.concat([data, data[:1].select(u=pl.lit(99, pl.Int64), x="x", y="y")])
    data = pl.concat([data, *[data[-1:]] * 5])  # a unit of six equal rows
    options = {"privacy_unit": "u", "max_rows": limit}
    with recording(noiseless=True):  # a release that lies far off: of no rows at all
        release = attached(data.clear()).dp.synthetic_intervals(columns, epsilon=1)
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


# Other frames


def test_order_missing_values_and_values_off_the_grid_follow_the_release() -> None:
    release = released(frame=pl.DataFrame({"x": DAYS}))
    plain = exact(pl.DataFrame({"x": DAYS}), release)[0]
    shuffled = pl.DataFrame({"x": [None, *reversed(DAYS), None]})
    assert exact(shuffled, release)[0] == plain
    beyond = pl.DataFrame({"x": [{7: 99, 0: -5}.get(day, day) for day in DAYS]})
    assert exact(beyond, release)[0] == plain


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Int128])
def test_widths_of_whole_numbers_may_differ(dtype: Any) -> None:
    release = released(frame=pl.DataFrame({"x": DAYS}))
    plain = exact(pl.DataFrame({"x": DAYS}), release)[0]
    other = pl.DataFrame({"x": pl.Series(DAYS, dtype=dtype)})
    assert exact(other, release)[0] == plain


def test_a_release_from_polars_is_measured_on_pandas_and_back() -> None:
    polars, pandas = pl.DataFrame({"x": DAYS}), pd.DataFrame({"x": DAYS})
    objects = pd.DataFrame({"x": pd.Series([*DAYS, None], dtype="object")})
    for release in (released(frame=polars), released(frame=pandas)):
        wanted = exact(polars, release)
        assert exact(pandas, release) == wanted
        assert exact(objects, release) == wanted
        assert exact(polars.lazy(), release) == wanted


def test_units_of_time_and_decimal_places_may_differ() -> None:
    start = dt.datetime.fromisoformat("2024-01-01")
    times = [start + dt.timedelta(hours=day) for day in DAYS]
    bounds = {"x": (start, start + dt.timedelta(hours=7))}
    frames = [
        pl.DataFrame({"x": pl.Series(times, dtype=pl.Datetime(unit))})
        for unit in ("us", "ns", "ms")
    ]
    with seeded(3):
        release = attached(frames[0], bounds=bounds).dp.synthetic_intervals(
            "x", step=dt.timedelta(hours=1), epsilon=0.5
        )
    plain = exact(pl.DataFrame({"x": DAYS}), released(frame=pl.DataFrame({"x": DAYS})))
    for frame in frames:
        assert exact(frame, release, bounds={}) == plain
    zoned = frames[0].with_columns(pl.col("x").dt.replace_time_zone("UTC"))
    with pytest.raises(ParameterTypeError, match="the release is of Datetime"):
        exact(zoned, release, bounds={})
    money = pl.DataFrame({"x": [Decimal(day) / 10 for day in DAYS]})
    with seeded(3):
        release = attached(
            money.cast(pl.Decimal(20, 1)), bounds={"x": (Decimal(0), Decimal("0.7"))}
        ).dp.synthetic_intervals("x", step=Decimal("0.1"), epsilon=0.5)
    assert exact(money.cast(pl.Decimal(20, 4)), release, bounds={}) == plain
    with pytest.raises(ParameterTypeError, match="lacks points"):
        exact(money.cast(pl.Decimal(20, 0)), release, bounds={})


def test_a_listed_domain_and_floats_are_measured() -> None:
    data = pl.DataFrame({"x": [0.0, 0.1, 0.9, 2.4, 2.6, 7.0, float("nan"), None]})
    for options in ({"domain": [0, 1, 2.5, 7]}, {"step": 0.5}):
        with recording(noiseless=True):
            release = attached(data).dp.synthetic_intervals("x", epsilon=1, **options)
        assert exact(data, release)[0] == 0
        assert exact(data.cast(pl.Float32), release)[0] == 0
        assert exact(data[2:], release)[0] == 2


# The release


def test_one_release_is_paid_for_and_the_release_that_is_measured_pays_nothing() -> (
    None
):
    release = released()
    frame = attached(rows(), epsilon=1)
    found = release.evaluate(frame, PAIRS, epsilon=Fraction(1, 4))
    accountant = frame.dp.state.accountant
    assert accountant.spent.epsilon == Fraction(1, 4)
    assert found.cost.epsilon == Fraction(1, 4)
    *_, event = accountant.events.to_dicts()
    assert event["mechanism"] == "largest_error"
    assert event["parameters"] == "release=tree, queries=7"
    assert found.value >= 0
    assert found.accuracy(0.95) == 12  # as of a count
    assert not found.low_count
    assert found.to_native().columns == ["largest_error"]


def test_the_noise_is_that_of_a_count_and_covers() -> None:
    release, data = released(), rows()
    truth, _, _ = exact(data, release)
    frame = attached(data, epsilon=1000)
    with seeded(11):
        found = [frame.dp.largest_error(release, epsilon=2) for _ in range(400)]
    misses = sum(abs(one.raw - truth) > one.accuracy(0.95) for one in found)
    assert misses <= 45  # 20 in the mean; more than 45 with a chance below 1e-6
    assert len({one.value for one in found}) > 1


def test_with_a_rho_the_noise_is_gaussian() -> None:
    release = released()
    budget = dpframe.Accountant(rho=1)
    frame = rows().dp.attach(budget, bounds=BOUNDS)
    found = release.evaluate(frame, rho=0.1)
    assert found.noise.name == "discrete Gaussian"
    assert budget.spent.rho == Fraction(1, 10)


def test_a_preview_reads_and_spends_nothing() -> None:
    release = released()
    frame = attached(rows(), epsilon=1)
    preview = frame.dp.preview.largest_error(release, epsilon=0.5)
    assert repr(preview) == (
        "Preview(largest error of any interval of x, ± 6, ε=0.5 of 1 left, "
        "nothing spent)"
    )
    assert preview.schema == {"largest_error": pl.Int64()}
    assert frame.dp.state.accountant.spent.epsilon == 0
    assert preview.release().accuracy() == preview.accuracy()


@pytest.mark.parametrize(
    ("columns", "queries", "error", "words"),
    [
        ("x", [], ParameterError, "queries are empty"),
        ("x", [(0, 1)] * (10**6 + 1), ParameterError, "the most is 1000000"),
        (["x", "y"], [{}] * (MOST_BOXES + 1), ParameterError, "the most is 10000"),
        (["x", "y"], None, ParameterError, "too many to try"),
        (["x", "y"], [(0, 1)], ParameterTypeError, "is a mapping"),
        ("x", (0, 7), ParameterTypeError, "A query is a pair"),
        ("x", [(0, 1, 2)], ParameterTypeError, "not 3 values"),
        ("x", [("a", "b")], ParameterTypeError, "must be a number"),
        ("x", [(5, 1)], ParameterError, "reversed"),
        ("x", [{"z": (0, 1)}], ParameterError, "no column of this release"),
        ("x", {"x": (0, 1)}, ParameterTypeError, "not one"),
        ("x", pl.Series([0, 1]), ParameterTypeError, "queries"),
    ],
    ids=range(12),
)
def test_a_wrong_query_spends_nothing(
    columns: Any, queries: Any, error: Any, words: str
) -> None:
    release = released(columns)
    frame = attached(rows(), epsilon=1)
    with pytest.raises(error, match=words):
        release.evaluate(frame, queries, epsilon=0.5)
    assert frame.dp.state.accountant.spent.epsilon == 0


def test_a_frame_that_does_not_suit_spends_nothing() -> None:
    release = released()
    for frame, error in (
        (rows().rename({"x": "z"}), ColumnNotFoundError),
        (rows().cast(pl.Float64), ParameterTypeError),
        (rows().cast(pl.String), ParameterTypeError),
    ):
        private = attached(frame, epsilon=1, bounds={})
        with pytest.raises(error):
            release.evaluate(private, epsilon=0.5)
        assert private.dp.state.accountant.spent.epsilon == 0
    with pytest.raises(NotAttachedError):
        release.evaluate(rows(), epsilon=0.5)
    with pytest.raises(ParameterTypeError, match="private frame"):
        release.evaluate([1, 2], epsilon=0.5)
    private = attached(rows(), epsilon=1)
    with pytest.raises(
        ParameterTypeError, match="SyntheticIntervals or HalfspaceOracle"
    ):
        private.dp.largest_error(private.dp.count(epsilon=0.5), epsilon=0.1)
    with pytest.raises(BudgetExceededError):
        release.evaluate(private, epsilon=0.6)


@pytest.mark.parametrize(
    ("starts", "below"),
    [([0, 3, 7], [0.0, 1e6, 0.0, 0.0]), ([0, 3, 7], [0.0, 1.0])],
    ids=["falling", "short"],
)
def test_a_file_that_was_edited_cannot_make_one_row_count_for_more(
    starts: list[int], below: list[float], tmp_path: Path
) -> None:
    # Where answers fall, the largest error was that at the rows' own codes: one row
    # could move it by 10^6. With numbers missing it failed, but only if there were rows
    # that needed them.
    release = attached(rows()).dp.synthetic_intervals("x", epsilon=0.5)
    path = release.save(tmp_path / "rows")
    said, _ = read(path.read_bytes())
    shape = said["parts"]["shape"]
    shape["starts"] = to_json(np.array(starts, dtype=np.uint64))
    shape["below"] = to_json(np.array(below))
    release.to_polars().write_parquet(path, metadata={"dpframe": json.dumps(said)})
    with pytest.raises(ParameterError, match="not a release"):
        dpframe.load(path)


def test_points_beyond_128_bits_spend_nothing() -> None:
    wide = pl.DataFrame({"x": [Decimal(5)]}).cast(pl.Decimal(38, 0))
    far = {"x": (Decimal(0), Decimal(10**30))}
    release = attached(wide, bounds=far).dp.synthetic_intervals(
        "x", step=10**25, epsilon=1
    )
    fine = attached(wide.cast(pl.Decimal(38, 20)), bounds={})
    with pytest.raises(ParameterTypeError, match="too far out"):
        fine.dp.largest_error(release, epsilon=1)


def test_answers_that_were_written_over_are_not_measured() -> None:
    private = attached(rows())
    release = private.dp.synthetic_intervals("x", epsilon=0.5)
    release.shape.below[3] = 1e6
    account = private.private_state.accountant
    spent = account.spent
    with pytest.raises(ValueError, match="never fall"):
        private.dp.largest_error(release, epsilon=1)
    assert account.spent == spent
