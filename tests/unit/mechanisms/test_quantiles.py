from __future__ import annotations

import datetime as dt
import inspect
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.columns import COLUMNS, Column

import dpframe
from dpframe import (
    BoundsRequiredError,
    Loss,
    ParameterError,
    ParameterTypeError,
    ScalarRelease,
    TableRelease,
)
from dpframe.adaptive.session import Session
from dpframe.engines.ordered import ordered
from dpframe.mechanisms.quantiles import Quantiles
from dpframe.query import Part, Search
from dpframe.testing import Recorder, recording, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Host

BERLIN = ZoneInfo("Europe/Berlin")
QUARTILES = [0.25, 0.5, 0.75]
DECILES = [k / 10 for k in range(1, 10)]
ROWS = {
    "u": [1, 1, 1, 2, 3, 4, 5],
    "x": [0, 1, 2, 3, 4, 5, 6],
    "g": ["a", "a", "a", "b", "b", "b", None],
}


def attached(data: Any, *, epsilon: Any = 1000, **declared: Any) -> Any:
    declared = {"bounds": {"x": (0, 100)}} | declared
    frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
    return frame.dp.attach(dpframe.Accountant(epsilon=epsilon), **declared)


def plan(frame: Any, levels: list[float], **loss: Any) -> Part | Search:
    fractions = tuple(Fraction(str(level)) for level in levels)
    among = Quantiles.of(frame, "x", levels=fractions)
    return among.part((), Loss(**{k: Fraction(v) for k, v in loss.items()}))


# One charge, one order, no seed


@pytest.mark.parametrize("levels", [QUARTILES, [0.75, 0.25, 0.5]])
def test_a_list_of_levels_is_one_charge_and_rises_with_the_level(
    levels: list[float],
) -> None:
    budget = dpframe.Accountant(epsilon=10)
    frame = pl.DataFrame({"x": range(100)}).dp.attach(budget, bounds={"x": (0, 99)})
    made = frame.dp.quantile("x", levels, epsilon=1)
    charges = budget.events.to_polars().filter(pl.col("state") == "charged")
    assert charges["mechanism"].to_list() == ["quantile"]
    assert budget.spent == Loss(epsilon=Fraction(1))
    by_level = [value for _, value in sorted(zip(levels, made.value, strict=True))]
    assert by_level == sorted(by_level)
    assert made.to_dict() == {"quantile": levels, "x": made.value}


def test_the_same_test_seed_gives_the_same_quantiles_and_callers_pass_none() -> None:
    frame = attached({"x": range(100)})
    with seeded(7):
        one = frame.dp.quantile("x", QUARTILES, epsilon=0.1).value
    with seeded(7):
        other = frame.dp.quantile("x", QUARTILES, epsilon=0.1).value
    assert one == other
    for name in ("quantile", "median", "cdf"):
        parameters = inspect.signature(getattr(frame.dp, name)).parameters
        assert not {"seed", "random_state", "rng"} & set(parameters)


def test_heavy_ties_give_their_value_and_no_failure() -> None:
    values = np.concatenate([np.full(400_000, 300), np.arange(100_000) % 1000])
    frame = attached({"x": values}, bounds={"x": (0, 1000)})
    found = {frame.dp.median("x", epsilon=1).value for _ in range(50)}
    assert found == {300}
    large = attached({"x": np.tile(values, 10)}, bounds={"x": (0, 1000)})
    assert large.dp.median("x", epsilon=1).value == 300


@pytest.mark.parametrize("rows", [0, 1, 2, 10, 1000])
def test_no_number_of_rows_fails(rows: int) -> None:
    for values in (np.full(rows, 7), np.arange(rows) % 2 * 100, np.arange(rows)):
        frame = attached({"x": values.astype(np.int64)})
        for levels in ([0.0, 0.5, 1.0], DECILES):
            found = frame.dp.quantile("x", levels, epsilon=1).value
            assert found == sorted(found)
            assert all(0 <= value <= 100 for value in found)


def test_a_million_rows_do_not_fail_however_they_lie() -> None:
    rows = np.arange(10**6)
    for values in (np.full(10**6, 7), rows % 2 * 100, rows % 101):
        frame = attached({"x": values})
        assert frame.dp.median("x", epsilon=1).accuracy() < 10
    assert 48 <= frame.dp.median("x", epsilon=1).value <= 52


def test_the_order_of_the_rows_is_not_seen() -> None:
    frame = pl.DataFrame(ROWS)
    with recording() as recorder:
        for rows in (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True)):
            private = attached(rows, privacy_unit="u", max_rows=2)
            private.dp.group_by("g", keys=["a", "b"]).median("x", epsilon=1)
    one, *others = (record.searches[0].exact for record in recorder.records)
    for other in others:
        for mine, theirs in zip(one, other, strict=True):
            assert np.array_equal(mine.codes, theirs.codes)
            assert np.array_equal(mine.running, theirs.running)


# The exact answer, without noise


def test_without_noise_a_median_is_the_middle_row(host: Host) -> None:
    frame = host.attached(ROWS, bounds={"x": (0, 100)}, domain={"g": ["b", "a", "c"]})
    with recording(noiseless=True):
        assert frame.dp.median("x", epsilon=1).value == 3
        levels = frame.dp.quantile("x", [0.93, 0.07], epsilon=1)
        assert levels.value == [6, 0]
        groups = frame.dp.group_by("g")
        medians = groups.median("x", epsilon=1).to_dict()
        assert medians["g"] == ["b", "a", "c"]
        assert medians["x"][:2] == [4, 1]
        listed = groups.quantile("x", [0.5, 0.1], epsilon=1).to_dict()
    assert listed["g"] == ["b", "b", "a", "a", "c", "c"]
    assert listed["quantile"] == [0.5, 0.1] * 3
    assert listed["x"][:4] == [4, 3, 1, 0]


def test_without_noise_a_tree_gives_the_leftmost_point_that_reaches_the_share() -> None:
    frame = attached({"x": [10, 20, 20, 30, 40], "g": ["a", "b", "a", "a", "a"]})
    assert isinstance(plan(frame, DECILES, epsilon=1), Part)
    with recording(noiseless=True):
        found = frame.dp.quantile("x", DECILES, epsilon=1).value
        groups = frame.dp.group_by("g", keys=["a", "b", "c"])
        by_group = groups.quantile("x", DECILES, epsilon=1).to_dict()["x"]
        ends = frame.dp.quantile("x", [0, *DECILES, 1], epsilon=1).value
    assert [ends[0], ends[-1]] == [10, 40]
    assert found == [10, 10, 20, 20, 20, 20, 30, 30, 40]
    assert by_group[:9] == [10, 10, 20, 20, 20, 30, 30, 40, 40]
    assert by_group[9:18] == [20] * 9
    assert by_group[18:] == [10, 20, 30, 40, 50, 60, 70, 80, 90]


def test_a_level_is_read_as_its_shortest_decimal() -> None:
    frame = attached(ROWS)
    for q in (0.95, np.float32(0.95), Fraction(19, 20), Decimal("0.95")):
        preview = frame.dp.preview.quantile("x", q, epsilon=1)
        assert preview.query.parameters["q"] == "0.95"
        (part,) = preview.query.parts
        assert isinstance(part, Search)
        assert preview.noise.scale == pytest.approx(2 * 0.95)
    third = frame.dp.preview.quantile("x", Fraction(1, 3), epsilon=1)
    assert third.query.parameters["q"] == "1/3"
    assert "1/3 quantile of x" in repr(third)


def test_ones_own_decimals_dates_and_instants_come_back(host: Host) -> None:
    days = [dt.date(2024, 1, k) for k in range(1, 8)]
    night = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC).astimezone(BERLIN)
    hours = [night + dt.timedelta(hours=k) for k in range(7)]
    frame: Any = pl.DataFrame(
        {
            "x": [Decimal(k) / 4 for k in range(7)],
            "day": days,
            "at": hours,
            "span": [dt.timedelta(minutes=k) for k in range(7)],
            "flag": [True] * 5 + [False] * 2,
            "f": [k / 4 for k in range(7)],
        },
        schema_overrides={"at": pl.Datetime("us", "Europe/Berlin")},
    )
    if host.is_pandas:
        frame = frame.to_pandas(use_pyarrow_extension_array=True)
    private = host.attached(
        frame if host.name != "polars lazy" else frame.lazy(),
        bounds={
            "x": (Decimal(0), Decimal(2)),
            "day": (days[0], days[-1]),
            "at": (hours[0], hours[-1]),
            "span": (dt.timedelta(0), dt.timedelta(minutes=9)),
            "f": (0, 2),
        },
    )
    with recording(noiseless=True):
        for name, value in {
            "x": Decimal("0.75"),
            "day": days[3],
            "at": hours[3],
            "span": dt.timedelta(minutes=3),
            "flag": True,
            "f": 0.75,
        }.items():
            made = private.dp.median(name, epsilon=1)
            assert made.value == value
            assert type(made.value) is type(value)
            assert made.interval().lower <= value <= made.interval().upper
    at = private.dp.median("at", epsilon=1).value
    assert at.tzinfo == BERLIN


@pytest.mark.parametrize("column", [c for c in COLUMNS if "128" not in c.name], ids=str)
def test_a_quantile_is_within_the_bounds_and_of_a_dtype_known_before(
    column: Column,
) -> None:
    if column.name == "Decimal to its limits":
        return  # it has more points than there may be
    frame = pl.DataFrame({"x": pl.Series(column.special, dtype=column.dtype)})
    private = frame.dp.attach(
        dpframe.Accountant(epsilon=100), bounds={"x": column.bounds}
    )
    low, high = column.bounds
    for levels in ([0.1, 0.9], DECILES):
        preview = private.dp.preview.quantile("x", levels, epsilon=1)
        made = preview.release()
        assert dict(made.to_polars().schema) == preview.schema
        ordered_values = pl.Series([low, high, *made.value], dtype=column.dtype)
        places = ordered_values.to_physical().to_list()
        assert all(places[0] <= place <= places[1] for place in places)
        assert made.to_polars()["x"].to_list() == made.value
        ends = made.interval()
        assert ends.columns == ["quantile", "lower", "upper"]
        assert set(ends.to_polars()["lower"]) == {low}
        assert set(ends.to_polars()["upper"]) == {high}


@pytest.mark.parametrize("levels", [[0.5], DECILES])
def test_missing_values_count_as_absent_and_infinite_ones_are_clipped(
    levels: list[float],
) -> None:
    values = [None, math.nan, math.inf, -math.inf, 3.0, 3.0, 3.0, None]
    frame = attached({"x": values}, bounds={"x": (0, 8)})
    with recording(noiseless=True) as recorder:
        found = frame.dp.quantile("x", levels, step=1, epsilon=1).value
        empty = frame.filter(pl.col("x").is_null())
        assert len(empty.dp.quantile("x", levels, epsilon=1).value) == len(levels)
    assert found[len(levels) // 2] == 3
    for seen, rows in zip(recorder.records, (5, 0), strict=True):
        for search in seen.searches:
            assert search.exact[0].total == rows


def test_listed_points_are_a_grid_too() -> None:
    frame = attached({"x": [1, 2, 8, 9, 9]}, bounds={}, domain={"x": [9, 1, 4]})
    with recording(noiseless=True):
        assert frame.dp.median("x", epsilon=1).value == 9
    assert frame.dp.preview.median("x", epsilon=1).query.parameters["grid"] == (
        "3 points from 1 to 9"
    )


def test_nanoseconds_keep_their_place_in_a_table() -> None:
    ticks = pl.Series("x", [1, 2, 3], dtype=pl.Duration("ns"))
    bounds = {"x": (np.timedelta64(0, "ns"), np.timedelta64(4, "ns"))}
    frame = attached(pl.DataFrame({"x": ticks, "g": ["a"] * 3}), bounds=bounds)
    with recording(noiseless=True):
        table = frame.dp.group_by("g", keys=["a"]).median("x", epsilon=1)
    assert table.to_polars()["x"].to_physical().to_list() == [2]


# The loss


@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 1}])
@pytest.mark.parametrize("levels", [[0.5], [0.9], QUARTILES, [0.0, 0.3, 1.0]])
def test_choices_spend_the_loss_and_no_more(
    loss: dict[str, int], levels: list[float]
) -> None:
    """Add up what each exponential mechanism costs at the rate it was given."""
    asked: list[tuple[Fraction, Fraction]] = []

    class Watching(Recorder):
        def select(
            self, order: Any, *, size: int, level: Fraction, rate: Fraction
        ) -> int:
            asked.append((level, rate))
            return super().select(order, size=size, level=level, rate=rate)

    frame = pl.DataFrame(ROWS).dp.attach(
        dpframe.Accountant(**dict.fromkeys(loss, 10)),
        privacy_unit="u",
        max_rows=2,
        bounds={"x": (0, 10**9)},
    )
    query = frame.dp.preview.quantile("x", levels, **loss).query
    (search,) = query.parts
    assert isinstance(search, Search)
    session = Session(
        orders=ordered(frame, search.ordering),
        ordering=search.ordering,
        allowance=search.loss,
        chance=Watching(),
    )
    search.run(session)
    assert sorted(level for level, _ in asked) == sorted(
        Fraction(str(level)) for level in levels
    )
    spent = Fraction(0)
    for level, rate in asked:
        moved = max(level, 1 - level) * level.denominator * 2 * 2**16
        ways = 2 if 0 < level < 1 else 1  # a row moves the score of an end one way
        epsilon = ways * rate * moved
        spent += epsilon if "epsilon" in loss else epsilon**2 / 8
    (total,) = loss.values()
    assert spent <= total
    assert float(spent) == pytest.approx(total, rel=1e-8)


def test_a_median_beside_other_statistics_is_charged_once() -> None:
    frame = attached(ROWS, domain={"g": ["a", "b"]}, privacy_unit="u", max_rows=2)
    asked = {
        "n": "count",
        "m": ("x", "mean"),
        "mid": ("x", "median"),
        "high": ("x", "quantile", 0.9),
        "same": ("x", "quantile", 0.5),
    }
    with recording() as recorder:
        one = frame.dp.agg(asked, epsilon=1)
        many = frame.dp.group_by("g").agg(asked, epsilon=1)
    assert frame.dp.state.accountant.spent.epsilon == 2
    for seen in recorder.records:
        losses = [block.loss for block in seen.blocks]
        losses += [search.loss for search in seen.searches]
        assert losses == [Loss(epsilon=Fraction(1, 3))] * 3
        assert len(seen.searches) == 1
    assert one.to_polars().columns == list(asked)
    assert many.to_polars().columns == ["g", *asked]
    for table in (one, many):
        found = table.to_polars()
        assert (found["mid"] <= found["high"]).all()
        assert (found["mid"] == found["same"]).all()
        assert table.noise["mid"].name == "exponential mechanism"
        assert table.accuracy(joint=True).columns == [
            *(["g"] if "g" in found.columns else []),
            *asked,
        ]


# The error is one of ranks


def test_the_printed_error_is_that_of_the_paper() -> None:
    alone = attached(ROWS)
    units = attached(ROWS, privacy_unit="u", max_rows=3)
    made = alone.dp.median("x", epsilon=1)
    assert made.accuracy(0.95) == pytest.approx(math.log(101 / 0.05))
    assert made.accuracy(0.95, joint=True) == made.accuracy(0.95)
    assert made.noise.name == "exponential mechanism"
    assert made.noise.scale == 1
    assert units.dp.median("x", epsilon=1).accuracy() == pytest.approx(
        3 * made.accuracy()
    )
    tenth = units.dp.quantile("x", 0.1, epsilon=2)
    assert tenth.accuracy() == pytest.approx(3 * 0.9 * math.log(101 / 0.05))
    groups = alone.dp.group_by("g", keys=["a", "b"]).median("x", epsilon=1)
    assert groups.accuracy().tolist() == pytest.approx([math.log(101 / 0.05)] * 2)
    assert groups.accuracy(joint=True).tolist() == pytest.approx(
        [math.log(202 / 0.05)] * 2
    )
    assert repr(made) == f"Release({made.value}, rank ± 8 rows, ε=1)"
    rhos = pl.DataFrame(ROWS).dp.attach(
        dpframe.Accountant(rho=2), bounds={"x": (0, 100)}
    )
    rho = rhos.dp.median("x", rho=0.125)
    assert rho.accuracy() == pytest.approx(math.log(101 / 0.05))


def test_levels_share_a_loss_so_that_their_errors_are_equal() -> None:
    made = attached(ROWS).dp.quantile("x", QUARTILES, epsilon=1)
    scale = 2 * (0.75 + 0.5 + 0.75)
    expected = scale * math.log(3 * 101 / 0.05)
    assert made.accuracy().tolist() == pytest.approx([expected] * 3)
    assert made.accuracy(joint=True).tolist() == made.accuracy().tolist()


def test_many_levels_are_read_off_a_tree_where_that_is_more_accurate() -> None:
    wide = attached(ROWS, bounds={"x": (0, 2**63 - 1)})
    assert isinstance(plan(wide, DECILES, epsilon=1), Search)
    few = attached(ROWS, bounds={"x": (0, 1000)})
    assert isinstance(plan(few, [0.25, 0.75], epsilon=1), Search)
    narrow = attached(ROWS, bounds={"x": (0, 30)})
    assert isinstance(plan(narrow, QUARTILES, epsilon=1), Search)
    for loss in ({"epsilon": 1}, {"rho": 1}):
        assert isinstance(plan(narrow, DECILES, **loss), Part)
    tree = few.dp.quantile("x", DECILES, epsilon=1)
    assert tree.noise.name == "discrete Laplace"
    assert tree.accuracy().max() < 80
    assert tree.accuracy(joint=True).tolist() == tree.accuracy().tolist()


def test_a_quantile_has_no_interval_but_its_range_and_no_count() -> None:
    made = attached(ROWS).dp.median("x", epsilon=1)
    assert isinstance(made, ScalarRelease)
    assert tuple(made.interval(0.5)) == (0, 100)
    assert made.to_native(interval=0.95).rows() == [(made.value, 0, 100)]
    assert made.raw == made.value
    assert made.low_count is False
    assert float(made) == int(made) == made.value
    assert made.accuracy(0.6827) == made.stddev
    with pytest.raises(ParameterError, match="No population interval"):
        made.interval(population=True)
    dated = attached(
        {"x": [dt.date(2024, 1, 1)]},
        bounds={"x": (dt.date(2024, 1, 1), dt.date(2024, 1, 9))},
    )
    day = dated.dp.median("x", epsilon=1)
    assert isinstance(day.accuracy(), float)
    assert "rank ± 6 rows" in repr(day)


def test_an_error_in_ranks_can_be_asked_for() -> None:
    days = [dt.date(2024, 1, k) for k in range(1, 8)]
    frame = attached({"x": days}, bounds={"x": (days[0], days[-1])})
    found = frame.dp.preview.median("x", within=5)
    assert found.accuracy() <= 5
    assert found.cost.epsilon == pytest.approx(math.log(7 / 0.05) / 5, abs=1e-5)
    table = frame.dp.preview.quantile("x", DECILES, within=30, confidence=0.9)
    assert table.accuracy(0.9, joint=True) <= 30
    with pytest.raises(ParameterTypeError, match="within must be"):
        frame.dp.median("x", within=dt.timedelta(days=1))


def test_a_preview_says_what_error_to_expect_in_rows() -> None:
    preview = attached(ROWS, epsilon=2).dp.preview
    assert repr(preview.median("x", epsilon=1)) == (
        "Preview(median of x, rank ± 8 rows, ε=1 of 2 left, nothing spent)"
    )
    assert repr(preview.quantile("x", QUARTILES, epsilon=1)) == (
        "Preview(quantiles of x, 3 rows, rank ± 35 rows each, ε=1 of 2 left, "
        "nothing spent)"
    )
    assert preview.median("x", epsilon=1).schema == {"x": pl.Int64()}


# Saved and drawn


@pytest.mark.parametrize("q", [0.5, QUARTILES, DECILES])
def test_quantiles_are_saved_and_drawn(tmp_path: Path, q: Any, host: Host) -> None:
    frame = host.attached(ROWS, bounds={"x": (0, 1000)})
    made = frame.dp.quantile("x", q, epsilon=1)
    again = dpframe.load(made.save(tmp_path / "kept"))
    assert type(again) is type(made)
    assert repr(again) == repr(made)
    assert again.value == made.value
    assert np.array_equal(again.accuracy(), made.accuracy())
    assert again.noise == made.noise
    axes = made.plot()
    shown = axes.get_xlabel() + axes.get_ylabel()
    assert "error bars" not in shown


def test_a_list_of_quantiles_is_a_table_of_the_host(host: Host) -> None:
    made = host.attached(ROWS, bounds={"x": (0, 9)}).dp.quantile(
        "x", QUARTILES, epsilon=1
    )
    assert isinstance(made, TableRelease)
    assert isinstance(made.value, list)
    native = made.to_native()
    assert isinstance(native, pd.DataFrame if host.is_pandas else pl.DataFrame)
    assert list(native["x"]) == made.value


# Mistakes come up before a row is read


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda dp: dp.quantile("x", 1.5, epsilon=1), ParameterError, "from 0 to 1"),
        (lambda dp: dp.quantile("x", 95, epsilon=1), ParameterError, "0.95"),
        (lambda dp: dp.quantile("x", [], epsilon=1), ParameterError, "empty"),
        (
            lambda dp: dp.quantile("x", [0.5, Fraction(1, 2)], epsilon=1),
            ParameterError,
            "repeats a level",
        ),
        (
            lambda dp: dp.quantile("x", pl.Series([0.5]), epsilon=1),
            ParameterTypeError,
            "q must be",
        ),
        (
            lambda dp: dp.quantile("x", "median", epsilon=1),
            ParameterTypeError,
            "q must be a number",
        ),
        (lambda dp: dp.quantile("x", True, epsilon=1), ParameterTypeError, "q must be"),
        (
            lambda dp: dp.quantile("x", math.nan, epsilon=1),
            ParameterError,
            "q must be finite",
        ),
        (lambda dp: dp.median("g", epsilon=1), ParameterTypeError, "no order"),
        (lambda dp: dp.median("u", epsilon=1), BoundsRequiredError, "bounds"),
        (
            lambda dp: dp.median("x", bounds=(0, 2**65), epsilon=1),
            ParameterError,
            "The default step leaves .* a larger one",
        ),
        (lambda dp: dp.median("x", step=0, epsilon=1), ParameterError, "greater than"),
        (lambda dp: dp.median("x", step=0.5, epsilon=1), ParameterError, "step"),
        (
            lambda dp: dp.median("x", bounds=(5, 5), epsilon=1),
            ParameterError,
            "bounds",
        ),
        (
            lambda dp: dp.group_by("x", bins=[0, 5]).quantile(
                "x", [0.5], bounds=(0, 9), epsilon=-1
            ),
            ParameterError,
            "epsilon",
        ),
        (
            lambda dp: dp.group_by("g", keys=["a"]).quantile(
                "quantile", [0.5], bounds=(0, 9), epsilon=1
            ),
            ParameterError,
            "two columns named 'quantile'",
        ),
        (
            lambda dp: dp.group_by("quantile", keys=[1]).quantile(
                "x", [0.5], epsilon=1
            ),
            ParameterError,
            "two columns named 'quantile'",
        ),
        (
            lambda dp: dp.group_by("x", keys=[1]).median("x", epsilon=1),
            ParameterError,
            "two columns named 'x'",
        ),
        (
            lambda dp: dp.agg(a=("x", "quantile"), epsilon=1),
            ParameterTypeError,
            "level",
        ),
        (
            lambda dp: dp.agg(a=("x", "median", 0.5), epsilon=1),
            ParameterTypeError,
            "level",
        ),
        (
            lambda dp: dp.agg(a=("x", "quantile", 2), epsilon=1),
            ParameterError,
            "from 0 to 1",
        ),
        (
            lambda dp: dp.agg(a=("x", "quantiles", 0.5), epsilon=1),
            ParameterError,
            "quantile",
        ),
    ],
)
def test_a_mistake_costs_nothing(ask: Any, kind: type[Exception], words: str) -> None:
    data = ROWS | {"quantile": [1] * 7}
    frame = attached(data)
    for namespace in (frame.dp, frame.dp.preview):
        with pytest.raises(kind, match=f"(?s){words}"):
            ask(namespace)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
def test_rows_of_units_need_a_limit() -> None:
    frame = attached(ROWS, privacy_unit="u")
    with pytest.raises(BoundsRequiredError, match="max_rows"):
        frame.dp.median("x", epsilon=1)
