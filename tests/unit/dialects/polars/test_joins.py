from __future__ import annotations

import itertools
import random
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import polars.selectors as cs
import pytest
from polars.exceptions import PolarsError

import dpframe
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    EvaluationError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.scope import ROOT, Partition
from dpframe.testing import recording
from dpframe.values import Bounds

if TYPE_CHECKING:
    from pathlib import Path

Frame = PrivatePolars[Any]

VISITS = pl.DataFrame(
    {
        "u": [1, 1, 2, 3, 3],
        "ward": ["A", "B", "A", None, "C"],
        "x": [1, 2, 3, 4, 5],
    }
)
STAYS = pl.DataFrame(
    {
        "u": [1, 3, 3, 4],
        "ward": ["A", "C", None, "A"],
        "x": [10, 30, 31, 40],
        "days": [2, 4, 6, 8],
    }
)
WARDS = pl.DataFrame({"ward": ["A", "B", None], "floor": [1, 2, 3]})


@pytest.fixture
def budget() -> Accountant:
    return Accountant(epsilon=10)


@pytest.fixture
def visits(budget: Accountant) -> Frame:
    return attached(VISITS, budget)


@pytest.fixture
def stays(budget: Accountant) -> Frame:
    return attached(STAYS, budget)


def attached(rows: pl.DataFrame, budget: Accountant, **options: Any) -> Frame:
    given = {"privacy_unit": "u", "max_rows": 1, "bounds": {"x": (0, 50)}, **options}
    return dpframe.attach(rows, budget, **given)


def alone(budget: Accountant) -> Frame:
    return dpframe.attach(VISITS, budget)


def rows_of(frame: pl.DataFrame) -> list[str]:
    return sorted(map(repr, frame.rows()))


def same(found: Frame, wanted: pl.DataFrame) -> None:
    shown = found.detach()
    assert shown.schema == wanted.schema
    assert dict(found.schema) == dict(wanted.schema)
    assert rows_of(shown) == rows_of(wanted)


def belong_together(frame: Frame, *names: str) -> bool:
    """Return whether each row's hidden unit is the one that it shows."""
    shown = frame.scan(frame.types()).collect()
    return shown.select(pl.coalesce(names).eq_missing(pl.col(UNIT)).all()).item()


# with a public frame


def wordings(**choices: list[Any]) -> list[dict[str, Any]]:
    """Return every combination of these arguments."""
    return [
        dict(zip(choices, chosen, strict=True))
        for chosen in itertools.product(*choices.values())
    ]


@pytest.mark.parametrize(
    "words",
    wordings(
        how=["inner", "left", "semi", "anti"],
        nulls_equal=[False, True],
        coalesce=[None, False],
    ),
)
def test_a_public_join_gives_what_polars_gives(
    visits: Frame, words: dict[str, Any]
) -> None:
    table = WARDS.with_columns(x=pl.col("floor"))
    for public in (dpframe.public(table), dpframe.public(table.lazy())):
        found = visits.join(public, on="ward", **words)
        same(found, VISITS.join(table, on="ward", **words))
        assert belong_together(found, "u")


@pytest.mark.parametrize("how", ["inner", "left"])
def test_keys_may_be_derived_row_by_row(visits: Frame, how: Any) -> None:
    table = pl.DataFrame({"twice": [2, 4, 4], "name": ["one", "two", "zwei"]})
    words: dict[str, Any] = {
        "left_on": [pl.col("x") * 2],
        "right_on": "twice",
        "how": how,
    }
    found = visits.join(dpframe.public(table), **words)
    same(found, VISITS.join(table, **words))


def test_keys_may_be_selectors(visits: Frame) -> None:
    found = visits.join(dpframe.public(WARDS), on=cs.by_name("ward"))
    same(found, VISITS.join(WARDS, on="ward"))


def test_derived_keys_that_look_across_rows_are_refused(visits: Frame) -> None:
    with pytest.raises(NotProvedError):
        visits.join(dpframe.public(WARDS), left_on=pl.col("x").rank(), right_on="floor")


def test_a_constant_is_no_key(visits: Frame) -> None:
    with pytest.raises(ParameterTypeError, match="reads a column"):
        visits.join(dpframe.public(WARDS), left_on=pl.lit(1), right_on=pl.lit(1))


@pytest.mark.parametrize("how", ["right", "full", "cross"])
def test_joins_in_which_public_rows_appear_alone_are_refused(
    visits: Frame, how: str
) -> None:
    on = None if how == "cross" else "ward"
    with pytest.raises(NotProvedError) as caught:
        visits.join(dpframe.public(WARDS), on=on, how=how)
    assert caught.value.hint is not None


@pytest.mark.parametrize("how", ["inner", "left"])
def test_without_a_unit_public_keys_must_not_repeat(
    budget: Accountant, how: str
) -> None:
    twice = pl.concat([WARDS, WARDS])
    with pytest.raises(NotProvedError, match="repeat"):
        alone(budget).join(dpframe.public(twice), on="ward", how=how)
    found = alone(budget).join(dpframe.public(WARDS), on="ward", how=how)
    assert found.private_state.rows_are_units
    for keeps in ("semi", "anti"):
        alone(budget).join(dpframe.public(twice), on="ward", how=keeps)


def test_missing_public_keys_repeat_where_they_match(budget: Accountant) -> None:
    table = dpframe.public(pl.DataFrame({"ward": ["A", None, None]}))
    alone(budget).join(table, on="ward")
    with pytest.raises(NotProvedError, match="repeat"):
        alone(budget).join(table, on="ward", nulls_equal=True)


@pytest.mark.parametrize("keys", [[0.0, -0.0], [float("nan"), float("nan")]])
def test_float_keys_repeat_as_polars_compares_them(
    budget: Accountant, keys: list[float]
) -> None:
    rows = dpframe.attach(pl.DataFrame({"k": [0.0, float("nan")]}), budget)
    with pytest.raises(NotProvedError, match="repeat"):
        rows.join(dpframe.public(pl.DataFrame({"k": keys})), on="k")


def test_derived_public_keys_are_checked_as_they_are_derived(
    budget: Accountant,
) -> None:
    table = pl.DataFrame({"k": [1, -1]})
    with pytest.raises(NotProvedError, match="repeat"):
        alone(budget).join(
            dpframe.public(table), left_on="x", right_on=pl.col("k").abs()
        )


def test_what_was_checked_is_what_is_joined(budget: Accountant, tmp_path: Path) -> None:
    path = tmp_path / "wards.parquet"
    WARDS.write_parquet(path)
    found = alone(budget).join(dpframe.public(pl.scan_parquet(path)), on="ward")
    pl.concat([WARDS, WARDS]).write_parquet(path)
    assert found.detach().height == 3


def test_validation_looks_at_the_public_frame_alone(visits: Frame) -> None:
    twice = pl.concat([WARDS, WARDS])
    visits.join(dpframe.public(WARDS), on="ward", validate="m:1")
    visits.join(dpframe.public(twice), on="ward", validate="m:m")
    with pytest.raises(ParameterError, match="repeat"):
        visits.join(dpframe.public(twice), on="ward", validate="m:1")
    for word in ("1:m", "1:1"):
        with pytest.raises(NotProvedError, match="private rows"):
            visits.join(dpframe.public(WARDS), on="ward", validate=word)


def test_one_row_each_lasts_where_public_keys_do_not_repeat(visits: Frame) -> None:
    one = visits.with_state(replace(visits.private_state, one_row=True))
    twice = dpframe.public(pl.concat([WARDS, WARDS]))
    assert one.join(dpframe.public(WARDS), on="ward").private_state.one_row
    assert one.join(twice, on="ward", how="anti").private_state.one_row
    assert not one.join(twice, on="ward").private_state.one_row


def test_the_reason_why_a_table_is_public_is_on_record(visits: Frame) -> None:
    found = visits.join(dpframe.public(WARDS, reason="floor plan"), on="ward")
    assert "reason='floor plan'" in found.private_state.steps[-1]
    assert "reason" not in found.private_state.steps[-1].short


def test_declarations_stay_with_the_left_columns(visits: Frame) -> None:
    table = WARDS.with_columns(x=pl.col("floor"))
    state = visits.join(dpframe.public(table), on="ward", how="left").private_state
    assert dict(state.bounds) == {"x": Bounds(0, 50)}
    assert state.unit_visible


# with a private frame


HOWS = ("inner", "left", "right", "full", "semi", "anti")


@pytest.mark.parametrize(
    "words",
    wordings(
        how=[*HOWS],
        on=[["u"], ["u", "ward"], ["ward", "u"]],
        coalesce=[None, True, False],
        nulls_equal=[False, True],
        suffix=["_s"],
    ),
)
def test_a_private_join_gives_what_polars_gives(
    visits: Frame, stays: Frame, words: dict[str, Any]
) -> None:
    same(visits.join(stays, **words), VISITS.join(STAYS, **words))


@pytest.mark.parametrize(
    "words",
    wordings(
        left_on=["u"],
        right_on=["person"],
        how=[*HOWS],
        coalesce=[None, True, False],
        suffix=["", "_right", "_x"],
    ),
)
def test_units_may_be_named_otherwise_on_each_side(
    visits: Frame, stays: Frame, words: dict[str, Any]
) -> None:
    names = {"u": "person", "x": "u_x", "ward": "place"}
    found = visits.join(stays.rename(names), **words)
    same(found, VISITS.join(STAYS.rename(names), **words))


@pytest.mark.parametrize("words", wordings(how=[*HOWS], coalesce=[True, False]))
def test_every_row_of_a_private_join_knows_its_unit(
    visits: Frame, stays: Frame, words: dict[str, Any]
) -> None:
    other = stays.rename({"u": "v"})
    found = visits.join(other, left_on="u", right_on="v", **words)
    assert belong_together(found, *[n for n in ("u", "v") if n in found.columns])
    state = found.private_state
    assert state.unit_visible == (words != {"how": "full", "coalesce": False})
    if state.unit_visible:
        assert state.privacy_unit == ("v" if words["how"] == "right" else "u")
        assert belong_together(found, state.privacy_unit)


def test_a_private_join_meets_on_more_keys_and_derived_ones(
    visits: Frame, stays: Frame
) -> None:
    words: dict[str, Any] = {
        "left_on": ["u", pl.col("x") * 10],
        "right_on": ["u", "x"],
        "how": "full",
    }
    same(visits.join(stays, **words), VISITS.join(STAYS, **words))


@pytest.mark.parametrize(
    "keys",
    [
        {"on": "ward"},
        {"left_on": ["u", "x"], "right_on": ["x", "u"]},
        {"left_on": pl.col("u") + 0, "right_on": "u"},
    ],
)
def test_private_rows_meet_on_the_unit_only(
    visits: Frame, stays: Frame, keys: dict[str, Any]
) -> None:
    with pytest.raises(NotProvedError, match="unit among its keys"):
        visits.join(stays, **keys)


def test_a_unit_column_that_was_written_over_is_no_key(
    visits: Frame, stays: Frame
) -> None:
    other = stays.with_columns(u=pl.lit(1, dtype=pl.Int64))
    for one, two in ((visits, other), (other, visits)):
        with pytest.raises(NotProvedError, match="no longer holds the privacy unit"):
            one.join(two, on="u")


def test_private_frames_do_not_cross_or_validate(visits: Frame, stays: Frame) -> None:
    with pytest.raises(NotProvedError, match="cross"):
        visits.join(stays, how="cross")
    for word in ("m:1", "1:m", "1:1"):
        with pytest.raises(NotProvedError, match="private rows"):
            visits.join(stays, on="u", validate=word)


def test_raw_frames_and_other_budgets_are_refused(visits: Frame) -> None:
    for raw in (STAYS, STAYS.lazy(), STAYS.to_pandas()):
        with pytest.raises(NotProvedError, match="raw frame") as caught:
            visits.join(raw, on="u")
        assert "dpframe.public(...)" in str(caught.value.hint)
        assert "same privacy unit" in str(caught.value.hint)
    with pytest.raises(NotProvedError, match="budgets"):
        visits.join(attached(STAYS, Accountant(epsilon=10)), on="u")


def test_private_frames_without_a_unit_are_not_joined(
    budget: Accountant, visits: Frame
) -> None:
    for one, two in itertools.permutations([alone(budget), visits]):
        with pytest.raises(NotProvedError, match="privacy unit"):
            one.join(two, on="u")


def test_units_of_two_dtypes_are_not_joined(budget: Accountant, visits: Frame) -> None:
    other = attached(STAYS.with_columns(pl.col("u").cast(pl.Int32)), budget)
    with pytest.raises(ParameterTypeError, match="Int32"):
        visits.join(other, on="u")


def test_frames_of_other_libraries_are_refused(
    budget: Accountant, visits: Frame
) -> None:
    host = pd.DataFrame({"u": [1]})
    for other in (
        dpframe.attach(host, budget, privacy_unit="u"),
        dpframe.public(host),
        dpframe.public(pl.Series("u", [1])),
        [1],
        None,
    ):
        with pytest.raises(ParameterTypeError):
            visits.join(other, on="u")


def test_declarations_move_with_the_right_columns(visits: Frame, stays: Frame) -> None:
    other = stays.dp.bounds(days=(0, 9)).dp.domain(ward=["A"])
    state = visits.join(other, on="u", how="full").private_state
    assert dict(state.bounds) == {
        "x": Bounds(0, 50),
        "x_right": Bounds(0, 50),
        "days": Bounds(0, 9),
    }
    assert dict(state.domain) == {"ward_right": ("A",)}
    assert visits.join(other, on="u", how="anti").private_state.domain == {}


def test_a_merged_key_keeps_what_both_frames_declare(
    visits: Frame, stays: Frame
) -> None:
    one, two = visits.dp.domain(ward=["A", "B"]), stays.dp.domain(ward=["A"])
    words: dict[str, Any] = {"on": ["u", "ward"], "how": "full", "coalesce": True}
    assert "ward" not in one.join(two, **words).private_state.domain
    assert one.join(two.dp.domain(ward=["A", "B"]), **words).private_state.domain == {
        "ward": ("A", "B")
    }


def test_limits_are_those_of_the_left_and_a_unit_may_have_many_rows(
    budget: Accountant, visits: Frame
) -> None:
    one = visits.with_state(replace(visits.private_state, one_row=True))
    state = one.join(attached(STAYS, budget, max_rows=7), on="u").private_state
    assert (state.max_rows, state.one_row) == (1, False)


def test_joins_of_any_names_are_those_of_polars(budget: Accountant) -> None:
    rng, accepted = random.Random(5), 0  # noqa: S311 - no secret
    names = ["u", "v", "a", "b", "a_r", "u_r", "b_r", "*x", "u_r_r"]
    for _ in range(400):
        sides = [rng.sample(names, rng.randrange(2, 6)) for _ in range(2)]
        size = rng.randrange(1, 3)
        keys = [rng.sample(side, size) for side in sides]
        left, right = (
            pl.DataFrame({n: [(i * 7 + 3 * j) % 4 for i in range(6)] for j, n in named})
            for named in map(list, map(enumerate, sides))
        )
        words: dict[str, Any] = {
            "left_on": keys[0],
            "right_on": keys[1],
            "how": rng.choice(HOWS),
            "coalesce": rng.choice([None, True, False]),
            "suffix": "_r",
        }
        one, two = (
            dpframe.attach(rows, budget, privacy_unit=side[0])
            for rows, side in zip((left, right), keys, strict=True)
        )
        try:
            wanted = left.join(right, **words)
            found = one.join(two, **words)
        except (PolarsError, ParameterError):
            continue  # two columns have one name
        accepted += 1
        same(found, wanted)
        state = found.private_state
        if state.unit_visible:
            assert belong_together(found, str(state.privacy_unit))
    assert accepted > 300


# schema


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"on": "wards"}, ColumnNotFoundError),
        ({"on": "x"}, ColumnNotFoundError),
        ({"left_on": "x", "right_on": "ward"}, ParameterTypeError),
        ({"on": "ward", "suffix": ""}, ParameterError),
        ({"on": "ward", "suffix": 1}, ParameterTypeError),
        ({"on": "ward", "how": "outer"}, ParameterError),
        ({"on": "ward", "validate": "m:n"}, ParameterError),
        ({"on": "ward", "maintain_order": "up"}, ParameterTypeError),
        ({"on": "ward", "left_on": "ward", "right_on": "ward"}, ParameterTypeError),
        ({"left_on": "ward"}, ParameterTypeError),
        ({}, ParameterTypeError),
        ({"left_on": ["ward", "x"], "right_on": "ward"}, ParameterError),
        ({"on": []}, ParameterError),
        ({"on": pl.all()}, ParameterTypeError),
        ({"on": ["ward", "ward"]}, ParameterError),
        (
            {"left_on": pl.col("x") + 1, "right_on": "floor", "coalesce": True},
            ParameterError,
        ),
        ({"on": "ward", "how": "semi", "validate": "m:1"}, ParameterTypeError),
    ],
)
def test_mistakes_come_up_where_they_are_written(
    visits: Frame, words: dict[str, Any], error: type[DPFrameError]
) -> None:
    table = WARDS.with_columns(u=pl.lit(0))
    with pytest.raises(error) as caught:
        visits.join(dpframe.public(table), **words)
    assert "Resolved plan" not in str(caught.value)


def test_the_reserved_name_comes_in_by_no_join(visits: Frame) -> None:
    table = pl.DataFrame({"ward": ["A"], UNIT: [1]})
    with pytest.raises(ParameterError, match="reserved"):
        visits.join(dpframe.public(table), on="ward")
    start, end = UNIT[:9], UNIT[9:]
    both = visits.with_columns(pl.col("x").alias(start))
    table = pl.DataFrame({"ward": ["A"], start: [1]})
    with pytest.raises(ParameterError, match="reserved"):
        both.join(dpframe.public(table), on="ward", suffix=end)


def test_no_column_can_stand_in_for_the_unit_while_frames_are_joined() -> None:
    name = f"{UNIT}right__"  # what the other unit is called in a full join
    raw = pl.DataFrame({"id": [1, 2], name: [7, 7]})
    with pytest.raises(ParameterError, match="reserved"):
        raw.dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="id")
    renamed = raw.rename({name: "x"}).dp.attach(
        dpframe.Accountant(epsilon=1), privacy_unit="id"
    )
    with pytest.raises(ParameterError, match="reserved"):
        renamed.rename({"x": name})
    with pytest.raises(ParameterError, match="reserved"):
        renamed.with_columns(pl.lit(7).alias(name))


def column(dtype: Any, *cells: Any) -> pl.Series:
    """Return a column with these cells and a missing one."""
    return pl.Series("k", [*cells, None], dtype=dtype)


TIMES = (-1, 0, 1, 10**6)
FLOATS = (0.0, -0.0, float("nan"), float("inf"), 0.1, 1e30)
COLUMNS: list[pl.Series] = [
    column(pl.Int8, 0, 1, -1, 127, -128),
    column(pl.Int64, 0, 1, -1, 2**63 - 1, -(2**63)),
    column(pl.UInt64, 0, 1, 2**64 - 1, 2**63),
    column(pl.Int128, 0, 1, 2**127 - 1, -(2**127)),
    column(pl.UInt128, 0, 1, 2**128 - 1),
    column(pl.Float32, *FLOATS),
    column(pl.Float64, *FLOATS),
    column(pl.Boolean, True, False),
    column(pl.String, "a", "b", "", "1"),
    column(pl.Binary, b"a", b"", b"\xff"),
    column(pl.Categorical, "a", "c"),
    column(pl.Enum(["a", "b"]), "a", "b"),
    column(pl.Enum(["b", "c"]), "b", "c"),
    column(pl.Date, *TIMES),
    column(pl.Time, 0, 1, 10**9),
    *(
        column(dtype, *TIMES)
        for dtype in (
            *(pl.Datetime("us"), pl.Datetime("ms"), pl.Datetime("ns")),
            *(pl.Datetime("us", "UTC"), pl.Datetime("us", "Asia/Tokyo")),
            *(pl.Duration("us"), pl.Duration("ms")),
        )
    ),
    column(pl.Decimal(38, 2), Decimal("1.25"), Decimal("9" * 36)),
    column(pl.Decimal(20, 3), Decimal("1.25"), Decimal("9" * 17)),
    column(pl.Null),
    column(pl.List(pl.Float64), [0.0], [-0.0], [float("nan")], [], [None]),
    column(pl.Array(pl.Int64, 2), [1, 2], [0, 0]),
    column(pl.Struct({"v": pl.Float64}), {"v": 0.0}, {"v": -0.0}, {"v": None}),
]


def test_no_value_fails_a_join_that_was_accepted(budget: Accountant) -> None:
    accepted = 0
    for one, two in itertools.product(COLUMNS, COLUMNS):
        left = pl.DataFrame([one]).with_columns(u=pl.lit(1))
        right = pl.DataFrame([two]).with_columns(z=pl.lit(1))
        private = dpframe.attach(left.lazy(), budget, privacy_unit="u")
        try:
            found = private.join(dpframe.public(right), on="k", how="left")
        except ParameterTypeError:
            continue
        accepted += 1
        wanted = left.join(right, on="k", how="left")
        for engine in ("in-memory", "streaming"):
            rows = found.detach().collect(engine=engine)
            assert rows.schema == wanted.schema == found.schema
            assert rows.height == wanted.height
    assert accepted > len(COLUMNS)


# what a release sees


def counted(frame: Frame) -> float:
    with recording(noiseless=True) as seen:
        frame.dp.count(epsilon=1)
    block = seen.records[0].blocks[0]
    weight = seen.records[0].parts[0].statistic.contribution
    assert block.sensitivity == weight.limit * 2**16
    return block.exact[0][0] / 2**16


def test_rows_that_a_public_join_multiplies_share_the_weight_of_their_unit(
    visits: Frame,
) -> None:
    many = pl.concat([WARDS.with_columns(copy=pl.lit(i)) for i in range(8)])
    joined = visits.join(dpframe.public(many), on="ward", how="left")
    assert joined.detach().height == 26
    assert counted(joined) == pytest.approx(3, abs=0.01)


def test_rows_that_a_private_join_multiplies_share_the_weight_of_their_unit(
    visits: Frame, stays: Frame
) -> None:
    twice = visits.join(visits, on="u").join(
        stays, on="u", how="full", coalesce=True, suffix="_stay"
    )
    assert twice.detach().height > 10
    assert counted(twice) == pytest.approx(4, abs=0.01)


def test_a_join_of_two_parts_is_charged_where_both_are(
    budget: Accountant, visits: Frame, stays: Frame
) -> None:
    partition = Partition(scope=ROOT, most=1)
    one, two = (
        frame.with_state(replace(frame.private_state, scope=partition.part(name)))
        for frame, name in ((visits, "a"), (stays, "b"))
    )
    one.dp.count(epsilon=1)
    two.dp.count(epsilon=1)
    assert budget.spent.epsilon == 1
    for how in HOWS:
        assert one.join(two, on="u", how=how).private_state.scope is ROOT
    one.join(two, on="u").dp.count(epsilon=1)
    assert budget.spent.epsilon == 2
    again = one.join(one, on="u").private_state.scope
    assert again is one.private_state.scope


def test_nothing_is_read_before_a_release(budget: Accountant, tmp_path: Path) -> None:
    VISITS.write_parquet(tmp_path / "visits.parquet")
    STAYS.write_csv(tmp_path / "stays.csv")
    WARDS.write_parquet(tmp_path / "wards.parquet")
    visits = attached(pl.scan_parquet(tmp_path / "visits.parquet"), budget)  # type: ignore[arg-type]
    stays = attached(pl.scan_csv(tmp_path / "stays.csv"), budget)  # type: ignore[arg-type]
    wards = dpframe.public(pl.scan_parquet(tmp_path / "wards.parquet"))
    stays.columns, wards.native.collect_schema()
    for path in tmp_path.iterdir():
        path.unlink()
    joined = visits.join(wards, on="ward").join(stays, on="u", how="full")
    assert joined.columns == [
        *("u", "ward", "x", "floor", "u_right", "ward_right", "x_right", "days")
    ]
    with pytest.raises(EvaluationError):
        joined.dp.count(epsilon=1)
