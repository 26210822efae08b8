"""No unit moves a release further than it claims, and some unit moves it that far.

Neighbours differ by one privacy unit with all its rows (one row where there is no
unit). Everything in the records of two neighbours but the exact integers is equal.
Most pairs are released together: a column that numbers them is one more axis of the
same tally, whose claim stays that of a single pair.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.calls import (
    CALLS,
    GAUSSIAN_CALLS,
    Call,
    attached,
    limits,
    native,
    random_row,
    random_rows,
    record,
    released,
)
from checks.columns import COLUMNS, Column, seeded

import dpframe
from dpframe.block import GAUSSIAN, MAX_NORM
from dpframe.engines.local import evaluate
from dpframe.tally import KeyAxis
from dpframe.testing import recording
from dpframe.values import column_type

if TYPE_CHECKING:
    from dpframe.testing import Record, RecordedPart

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
PAIRS = 300 * AUDIT
CLOSE = 1e-6
BALLS = 4e-6  # a vector in a ball is rounded towards zero in each of two columns

TALLIES = [call for call in (*CALLS, *GAUSSIAN_CALLS) if "n_unique" not in call.name]
FEW = ("count of rows", "histogram of units", "agg by group", "n_unique")
EVERY = [
    *((call, False) for call in CALLS),
    *((call, True) for call in CALLS if call.name in FEW),
    *((call, True) for call in GAUSSIAN_CALLS),
]
every_call = pytest.mark.parametrize(
    ("call", "gaussian"),
    [pytest.param(*case, id=f"{case[0]}{', rho' * case[1]}") for case in EVERY],
)
with_and_without_unit = pytest.mark.parametrize("unit", [None, "u"])


@dataclass(frozen=True)
class Pairs:
    """Neighbours numbered by a column: all frames, and the same without one unit."""

    whole: pl.DataFrame
    less: pl.DataFrame


@cache
def many_pairs(column: Column, unit: str | None) -> Pairs:
    rng = seeded(f"pairs {column} {unit}")
    rows: list[dict[str, Any]] = []
    gone: list[bool] = []
    for pair in range(PAIRS):
        if unit is None:
            found = [random_row(rng, column, place) for place in range(4)]
        else:
            found = random_rows(rng, column, most=6, units=3)
            if pair == 0 and column.dtype.is_float():  # the corner of an l2 ball
                found = [
                    {"x": math.inf, "y": math.inf, "g": "b", "b": True, "u": 0}
                ] * 2
        rows += [row | {"u": 8 * pair + row["u"]} for row in found]
        gone += [row["u"] == 0 for row in found]
    numbered = pl.Series("pair", [row["u"] // 8 for row in rows], dtype=pl.Int64)
    whole = native(rows, column).with_columns(numbered)
    return Pairs(whole, whole.filter(~pl.Series(gone)))


def numbered(statistic: Any) -> Any:
    """Return the same tally for each pair of neighbours."""
    axis = KeyAxis(columns=(column_type("pair", pl.Int64()),), keys=tuple(range(PAIRS)))
    return replace(statistic, axes=(axis, *statistic.axes), other=False)


def moved(part: RecordedPart, pairs: Pairs, declared: dict[str, Any]) -> list[Any]:
    """Return for each block by how much its figures differ, one row for each pair."""
    statistic = numbered(part.statistic)
    whole, less = (
        evaluate(attached(frame, **declared), statistic)
        for frame in (pairs.whole, pairs.less)
    )
    gaps = np.abs((whole - less).astype(object)).reshape(PAIRS, -1, whole.shape[1])
    found: list[Any] = []
    start = 0
    for block in part.blocks:
        stop = start + len(block.exact[0])
        found.append(gaps[:, :, start:stop].reshape(PAIRS, -1))
        start = stop
    return found


def norms(law: str, gaps: Any) -> Any:
    """Return each row in the law's norm, squared for Gaussian noise."""
    if law == MAX_NORM:
        return gaps.max(axis=1)
    return (gaps ** (2 if law == GAUSSIAN else 1)).sum(axis=1)


def budgets(call: Call) -> list[bool]:
    """Return whether a call is made under a budget with Gaussian noise, or both."""
    kinds = {None: [False, True], "pure": [False], "gaussian": [True]}
    return kinds[call.noise]


def declared_for(
    call: Call, column: Column, unit: str | None, *, gaussian: bool
) -> dict[str, Any]:
    return {"gaussian": gaussian} | ({} if unit is None else limits(call, column))


@pytest.mark.parametrize("call", TALLIES, ids=str)
@with_and_without_unit
def test_no_unit_moves_a_release_further_than_claimed_and_one_moves_it_as_far(
    call: Call, unit: str | None
) -> None:
    nearest: dict[tuple[str, int, int], float] = {}
    for column in COLUMNS:
        if not call.suits(column):
            continue
        frame = many_pairs(column, unit).whole.drop("pair").head(50)
        seen: list[Record] = []
        for gaussian in budgets(call):
            declared = declared_for(call, column, unit, gaussian=gaussian)
            seen.append(record(attached(frame, **declared), call, column))
            assert (seen[-1].blocks[0].law == GAUSSIAN) == gaussian
        for place, parts in enumerate(zip(*(one.parts for one in seen), strict=True)):
            found = moved(parts[0], many_pairs(column, unit), declared)
            for part in parts:
                assert part.statistic == parts[0].statistic
                for index, block in enumerate(part.blocks):
                    furthest = max(norms(block.law, found[index]))
                    assert furthest <= block.sensitivity, column
                    key = (block.law, place, index)
                    ratio = float(furthest / block.sensitivity)
                    nearest[key] = max(nearest.get(key, 0.0), ratio)
    slack = BALLS if " l1 " in call.name or " l2 " in call.name else CLOSE
    assert all(ratio >= 1 - slack for ratio in nearest.values()), nearest


def leave_one_out(
    call: Call,
    column: Column,
    unit: str | None,
    *,
    gaussian: bool,
    frames: int,
    units: int,
) -> list[tuple[Record, Record]]:
    """Return real pairs of neighbours, having compared what is not the integers."""
    rng = seeded(f"pairs {call} {column} {unit}")
    declared = declared_for(call, column, unit, gaussian=gaussian)
    pairs: list[tuple[Record, Record]] = []
    for _ in range(frames):
        rows = random_rows(rng, column, most=6, units=units)
        if unit is None:
            rows = [row | {"u": place} for place, row in enumerate(rows)]
        whole, result = released(
            attached(native(rows, column), **declared), call, column
        )
        for gone in {row["u"] for row in rows[: units + 1]}:
            rest = [row for row in rows if row["u"] != gone]
            frame = attached(native(rest, column), **declared)
            less, other = released(frame, call, column)
            assert public(whole) == public(less)
            assert shown(result) == shown(other)
            pairs.append((whole, less))
    return pairs


def public(seen: Record) -> tuple[Any, ...]:
    """Return all of a record but its integers."""
    parts = [
        (
            part.statistic,
            [
                (
                    b.law,
                    b.sensitivity,
                    b.loss,
                    b.scale,
                    b.sigma2,
                    len(b.exact),
                    len(b.exact[0]),
                )
                for b in part.blocks
            ],
        )
        for part in seen.parts
    ]
    return seen.mechanism, seen.columns, seen.parameters, seen.cost, parts


def shown(result: Any) -> tuple[Any, ...]:
    """Return the schema, the size and the keys of a released table."""
    table = result.to_polars()
    keys = table.drop("count") if "count" in table.columns else table.select([])
    return dict(table.schema), table.height, keys.to_dict(as_series=False)


@every_call
@with_and_without_unit
def test_records_of_neighbours_differ_in_their_integers_alone(
    call: Call,
    gaussian: bool,  # noqa: FBT001 - a case
    unit: str | None,
) -> None:
    size: dict[str, int] = {"frames": AUDIT, "units": 4}
    for column in COLUMNS:
        if call.suits(column):
            for pair in leave_one_out(call, column, unit, gaussian=gaussian, **size):
                for distance, claim in pair[0].distance(pair[1]):
                    assert distance <= claim, column


WITH_OTHER = [call for call in CALLS if call.name.startswith(("n_unique", "value_c"))]


@pytest.mark.parametrize("call", WITH_OTHER, ids=str)
@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
@with_and_without_unit
def test_distinct_values_and_the_other_cell_move_as_far_as_claimed(
    call: Call,
    gaussian: bool,  # noqa: FBT001 - a case
    unit: str | None,
) -> None:
    furthest = 0.0
    for column in COLUMNS[:: 4 if gaussian else 1]:
        declared: dict[str, Any] = {"gaussian": gaussian}
        if unit is not None:
            declared |= {"privacy_unit": unit, "max_rows": 2, "max_groups": 2}
        rng = seeded(f"distinct {call} {column} {unit}")
        for _ in range(8 * AUDIT):
            rows = random_rows(rng, column, most=6, units=5)
            if unit is None:
                rows = [row | {"u": place} for place, row in enumerate(rows)]
            whole = record(attached(native(rows, column), **declared), call, column)
            for gone in {row["u"] for row in rows[:5]}:
                rest = [row for row in rows if row["u"] != gone]
                less = record(attached(native(rest, column), **declared), call, column)
                ((distance, claim),) = whole.distance(less)
                assert distance <= claim, column
                furthest = max(furthest, distance / claim)
    assert furthest == 1


# Sums that floats get wrong


@pytest.mark.parametrize("rows", [1000, 1024, 4095, 4096])
@pytest.mark.parametrize("place", [0, 500, -1])
def test_large_values_close_together_move_a_sum_by_no_more_than_claimed(
    rows: int, place: int
) -> None:
    rng = seeded(f"{rows} {place}")
    values = [2.0**52 + rng.choice((0, 1)) for _ in range(rows)]
    values[place] = 2.0**52 + 1
    rest = [value for at, value in enumerate(values) if at != place % rows]
    seen: list[list[Record]] = []
    for data in (values, rest):
        private = dpframe.attach(
            pl.DataFrame({"x": data}),
            dpframe.Accountant(epsilon=10),
            bounds={"x": (2.0**52, 2.0**52 + 1)},
        )
        with recording(noiseless=True) as recorder:
            private.dp.sum("x", epsilon=1)
            private.dp.mean("x", epsilon=1)
            private.dp.var("x", epsilon=1)
            private.dp.mean_cov(["x"], epsilon=1)
        seen.append(recorder.records)
    for whole, less in zip(*seen, strict=True):
        for distance, claim in whole.distance(less):
            assert distance <= claim
            assert distance == claim  # the row lies at the upper bound
