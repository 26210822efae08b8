"""Partitions: who is in which part, and what the parts cost together."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.engines.parts import PART
from dpframe.frame import UNIT
from dpframe.testing import recording

if TYPE_CHECKING:
    from tests.conftest import Host

ROWS = {
    "id": [1, 1, 1, 2, 2, 3, 3, 3, 4],
    "ward": ["A", "B", "C", "A", "A", "B", "C", None, "D"],
    "days": [1, 2, 3, 4, 5, 6, 7, 8, 9],
}
KEYS = ["A", "B", "C"]


def counts(parts: dict[Any, Any], **options: Any) -> list[int]:
    """Return the exact counts of parts, in grid units."""
    with recording(noiseless=True) as recorder:
        for part in parts.values():
            part.dp.count(epsilon=1, **options)
    return [
        record.parts[0].blocks[0].exact[0][0]  # one cell, one output
        for record in recorder.records
    ]


def rows_of(frame: Any) -> pl.DataFrame:
    rows = frame.dp.detach()
    if isinstance(rows, pd.DataFrame):
        return pl.from_pandas(rows)
    return rows.lazy().collect()


def test_every_row_is_in_the_part_of_its_key(host: Host) -> None:
    frame = host.attached(ROWS)
    parts = frame.dp.partition("ward", keys=[*KEYS, "E"])
    assert list(parts) == ["A", "B", "C", "E"]
    found = {key: rows_of(part)["days"].to_list() for key, part in parts.items()}
    assert found == {"A": [1, 4, 5], "B": [2, 6], "C": [3, 7], "E": []}


def test_parts_cost_the_largest_of_them(host: Host) -> None:
    frame = host.attached(ROWS, epsilon=1)
    parts = frame.dp.partition("ward", keys=KEYS)
    for epsilon in (0.1, 0.2, 0.3):
        for part in parts.values():
            part.dp.count(epsilon=epsilon)
    parts["A"].dp.count(epsilon=0.4)
    budget = frame.dp.state.accountant
    assert budget.spent.epsilon == 1
    assert parts["B"].dp.count(epsilon=0.4).cost.epsilon == Fraction(2, 5)
    with pytest.raises(dpframe.BudgetExceededError, match="nothing remains"):
        parts["A"].dp.count(epsilon=0.1)
    with pytest.raises(dpframe.BudgetExceededError, match=r"only epsilon=0\.4"):
        parts["C"].dp.count(epsilon=0.5)
    with pytest.raises(dpframe.BudgetExceededError):
        frame.dp.count(epsilon=0.1)
    last = budget.events.to_polars().row(-1, named=True)
    assert (last["scope"], last["charged"]) == ("ward=B", "epsilon=0")


def test_partitions_of_parts_nest_and_two_of_one_frame_add(host: Host) -> None:
    frame = host.attached(ROWS, epsilon=9).dp.domain(days=range(10))
    wards = frame.dp.partition("ward", keys=KEYS)
    for ward in wards.values():
        ward.dp.count(epsilon=0.25)
        for day in ward.dp.partition("days").values():
            day.dp.count(epsilon=0.5)
    assert frame.dp.state.accountant.spent.epsilon == Fraction(3, 4)
    for day in frame.dp.partition("days").values():
        day.dp.count(epsilon=1)
    assert frame.dp.state.accountant.spent.epsilon == Fraction(7, 4)


def test_a_part_says_where_it_is_and_what_it_could_cost(host: Host) -> None:
    frame = host.attached(ROWS, epsilon=1)
    first, second, _ = frame.dp.partition("ward", keys=KEYS).values()
    first.dp.count(epsilon=0.75)
    assert "part ward=B · 1 of ε 1 left" in repr(second)
    assert "part ward=A · 0.25 of ε 1 left" in repr(first)
    assert "of 1 left" in repr(second.dp.preview.count(epsilon=0.9))
    release = second.dp.count(epsilon=0.5)
    assert release.provenance.scope == "ward=B"
    assert "step 1: partition(ward = 'B')" in str(release.provenance)
    assert "in ward=B: adds nothing" in repr(frame.dp.state.accountant)


def test_a_unit_in_several_parts_needs_max_groups(host: Host) -> None:
    frame = host.attached(ROWS, privacy_unit="id", max_rows=9)
    with pytest.raises(dpframe.BoundsRequiredError, match="max_groups"):
        frame.dp.partition("ward", keys=KEYS)
    assert list(frame.dp.partition("ward", keys=["A"])) == ["A"]
    with pytest.raises(dpframe.DomainRequiredError):
        frame.dp.partition("ward")


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_unit_keeps_its_rows_in_few_parts(host: Host, most: int) -> None:
    rng = random.Random(most)  # noqa: S311 - no secret
    data = {
        "id": [rng.randrange(40) for _ in range(600)],
        "ward": [rng.choice([*KEYS, "D", "E", "F", None]) for _ in range(600)],
    }
    frame = host.attached(data, privacy_unit="id", max_rows=9, max_groups=most)
    parts = frame.dp.partition("ward", keys=[*KEYS, "D", "E", "F"])
    held = pl.concat(
        rows_of(part).with_columns(part=pl.lit(key)) for key, part in parts.items()
    )
    assert (held["ward"] == held["part"]).all()
    spread = held.group_by("id").agg(pl.col("part").n_unique())["part"]
    assert spread.max() == min(most, 6)
    whole = pl.DataFrame(data).filter(pl.col("ward").is_not_null())
    full = whole.group_by("id", "ward").len().rename({"ward": "part"})
    assert (
        held.group_by("id", "part")
        .len()
        .join(full, on=["id", "part"])
        .select((pl.col("len") == pl.col("len_right")).all())
        .item()
    )


def test_units_choose_alike_in_every_library_release_and_company() -> None:
    rng = random.Random(5)  # noqa: S311 - no secret
    data = pl.DataFrame(
        {
            "id": [rng.choice("abcdefgh") for _ in range(200)],
            "ward": [rng.choice("ABCDE") for _ in range(200)],
        }
    )

    def chosen(rows: pl.DataFrame, host: str) -> list[tuple[str, str]]:
        native = rows.to_pandas() if host == "pandas" else rows
        native = native.lazy() if host == "lazy" else native
        frame = dpframe.attach(
            native,
            dpframe.Accountant(epsilon=1),
            privacy_unit="id",
            max_groups=2,
        )
        frame = frame.with_state(_salted(frame.dp.state))
        parts = frame.dp.partition("ward", keys=list("ABCDE"))
        return sorted(
            (unit, key) for key, part in parts.items() for unit in rows_of(part)["id"]
        )

    everyone = chosen(data, "polars")
    assert chosen(data, "pandas") == chosen(data, "lazy") == everyone
    assert chosen(data.reverse(), "polars") == everyone
    few = data.filter(pl.col("id").is_in(["a", "e"]))
    assert chosen(few, "polars") == [pair for pair in everyone if pair[0] in "ae"]
    assert len({key for _, key in everyone}) == 5


def _salted(state: Any) -> Any:
    return type(state)(
        accountant=state.accountant,
        privacy_unit=state.privacy_unit,
        max_groups=state.max_groups,
        salt=b"sixteen bytes ok",
    )


@pytest.mark.parametrize("unit", range(1, 5))
def test_one_unit_changes_as_many_parts_as_are_charged(host: Host, unit: int) -> None:
    declared: dict[str, Any] = {"privacy_unit": "id", "max_rows": 2, "max_groups": 2}
    frame = host.attached(ROWS, **declared)
    without = {
        name: [v for v, who in zip(column, ROWS["id"], strict=True) if who != unit]
        for name, column in ROWS.items()
    }
    other = host.attached(without, **declared)
    salted = other.with_state(frame.dp.state)
    ours = counts(frame.dp.partition("ward", keys=KEYS))
    theirs = counts(salted.dp.partition("ward", keys=KEYS))
    differences = [abs(a - b) for a, b in zip(ours, theirs, strict=True)]
    assert sum(difference > 0 for difference in differences) <= 2
    assert max(differences) <= 2 * 65536
    assert any(differences) == (unit != 4)
    assert frame.dp.state.accountant.spent.epsilon == 4  # 1 + 1, for both frames


def test_rows_of_a_unit_share_their_weight_within_a_part(host: Host) -> None:
    frame = host.attached(ROWS, privacy_unit="id", max_rows=1, max_groups=3)
    assert counts(frame.dp.partition("ward", keys=KEYS)) == [2 * 65536] * 3


def test_a_missing_column_or_key_of_another_type_is_refused(host: Host) -> None:
    frame = host.attached(ROWS)
    with pytest.raises(dpframe.ColumnNotFoundError):
        frame.dp.partition("wart", keys=KEYS)
    with pytest.raises(dpframe.ParameterTypeError):
        frame.dp.partition("ward", keys=[1, 2])
    assert frame.dp.state.accountant.spent.epsilon == 0


def test_a_column_of_nothing_but_missing_values_has_empty_parts(host: Host) -> None:
    frame = host.attached({"id": [1, 2], "ward": [None, None]}, privacy_unit="id")
    parts = frame.dp.contributions(max_rows=1, max_groups=1).dp.partition(
        "ward", keys=KEYS
    )
    assert counts(parts) == [0, 0, 0]


def test_the_hour_that_a_clock_shows_twice_loses_no_part() -> None:
    paris = ZoneInfo("Europe/Paris")
    first = dt.datetime(2020, 10, 25, 2, 30, tzinfo=paris)
    keys = [first, first.replace(fold=1)]
    data = pl.DataFrame({"t": pl.Series(keys, dtype=pl.Datetime("us", "Europe/Paris"))})
    frame = data.dp.attach(dpframe.Accountant(epsilon=1))
    with pytest.raises(dpframe.ParameterError, match="takes for equal"):
        frame.dp.partition("t", keys=keys)
    in_utc = frame.with_columns(t=pl.col("t").dt.convert_time_zone("UTC"))
    keys = [key.astimezone(dt.UTC) for key in keys]
    assert counts(in_utc.dp.partition("t", keys=keys)) == [1, 1]


@pytest.mark.parametrize("name", ["*", "^w.*$", "x"])
def test_parts_keep_every_column_as_it_was(host: Host, name: str) -> None:
    frame = host.attached({"ward": ["A", "B", "A"], name: [1, 2, 3]})
    part = frame.dp.partition("ward", keys=["A"])["A"]
    assert rows_of(part).to_dict(as_series=False) == {"ward": ["A", "A"], name: [1, 3]}


def test_no_column_is_taken_for_the_number_of_a_part(host: Host) -> None:
    for name in (PART, f"{UNIT}row__"):
        with pytest.raises(dpframe.ParameterError, match="reserved"):
            host.attached({"ward": ["A", "B"], name: [1, 2]})


def test_a_column_of_nothing_but_missing_values_keeps_its_dtype() -> None:
    data = pl.DataFrame({"id": [1, 2], "none": [None, None]})
    frame = data.dp.attach(
        dpframe.Accountant(epsilon=1), privacy_unit="id", max_rows=1, max_groups=1
    )
    part = frame.dp.partition("none", keys=["A", "B"])["A"]
    assert part.dp.detach().schema == data.schema
    assert dpframe.concat([frame, part]).dp.detach().height == 2


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128, pl.Decimal(30, 2)])
def test_units_of_any_width_are_counted(dtype: Any) -> None:
    data = pl.DataFrame({"id": pl.Series([1, 1, 2], dtype=dtype), "w": [1, 2, 1]})
    frame = data.dp.attach(
        dpframe.Accountant(epsilon=9), privacy_unit="id", max_rows=1, max_groups=1
    )
    assert counts({"": frame}, of="units") == [2]
    assert counts({"": frame.group_by("id").agg(pl.len())}) == [2]
    assert sum(counts(frame.dp.partition("w", keys=[1, 2]), of="units")) == 2


def test_half_a_character_is_no_key(host: Host) -> None:
    frame = host.attached(ROWS)
    for ask in (
        lambda: frame.dp.partition("ward", keys=["A", "\ud800"]),
        lambda: frame.dp.histogram("ward", keys=["\udfff"], epsilon=1),
        lambda: frame.dp.domain(ward=["a\ud800"]),
    ):
        with pytest.raises(dpframe.ParameterError, match="half a character"):
            ask()
