"""The engine gives the integers that plain loops over fractions give.

Every kind of release, on every dtype, with and without a privacy unit; then the same
rows in another order, in other chunks, from a file, through pandas.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from checks.calls import (
    CALLS,
    LIMITS,
    Y_VALUES,
    Call,
    attached,
    integers,
    limits,
    native,
    random_rows,
    record,
)
from checks.columns import BOOLEAN, COLUMNS, FLOAT64, INT64, WORDS, Column, seeded
from checks.reference import exact
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from dpframe.testing import Record

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
EXAMPLES = settings(
    max_examples=12 * AUDIT,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

every_column = pytest.mark.parametrize("column", COLUMNS, ids=str)


def expected(frame: pl.DataFrame, seen: Record, unit: str | None) -> Any:
    """Return the reference's integers for each part of a release."""
    rows = frame.to_dicts()
    return [exact(rows, part.statistic, unit=unit) for part in seen.parts]


def private(frame: Any, call: Call, column: Column, unit: str | None) -> Any:
    return attached(frame, **({} if unit is None else limits(call, column)))


def rows_of(column: Column) -> st.SearchStrategy[list[dict[str, Any]]]:
    inside = st.integers(0, 2**32).map(lambda seed: column.value(seeded(seed)))
    row = st.fixed_dictionaries(
        {
            "x": st.none() | st.sampled_from(column.special) | inside,
            "y": st.sampled_from(Y_VALUES) | st.floats(-2, 3),
            "g": st.none() | st.sampled_from(WORDS),
            "b": st.sampled_from((None, True, False)),
            "u": st.none() | st.integers(0, 4),
        }
    )
    return st.lists(row, max_size=40)


@every_column
@pytest.mark.parametrize("unit", [None, "u"])
@EXAMPLES
@given(data=st.data())
def test_engine_gives_the_reference_on_any_rows(
    column: Column, unit: str | None, data: st.DataObject
) -> None:
    call = data.draw(st.sampled_from([c for c in CALLS if c.suits(column)]))
    frame = native(data.draw(rows_of(column)), column)
    seen = record(private(frame, call, column, unit), call, column)
    assert integers(seen) == expected(frame, seen, unit)


@every_column
@pytest.mark.parametrize("unit", [None, "u"])
def test_every_release_gives_the_reference(column: Column, unit: str | None) -> None:
    rng = seeded(f"{column} {unit}")
    for call in CALLS:
        if call.suits(column):
            for _ in range(AUDIT):
                frame = native(random_rows(rng, column, most=9, units=6), column)
                seen = record(private(frame, call, column, unit), call, column)
                assert integers(seen) == expected(frame, seen, unit), call


@every_column
@pytest.mark.parametrize("unit", [None, "u"])
def test_an_empty_frame_gives_zeros(column: Column, unit: str | None) -> None:
    frame = native([], column)
    for call in CALLS:
        if call.suits(column):
            seen = record(private(frame, call, column, unit), call, column)
            figures = [f for part in integers(seen) for row in part for f in row]
            assert not any(figures)


def test_the_reference_itself_knows_a_sum_and_a_mean() -> None:
    rows = [
        {"x": value, "y": None, "g": None, "b": None, "u": 1} for value in (2, 4, 9)
    ]
    column = Column(
        name="Int64", dtype=pl.Int64(), bounds=(0, 8), keys=[], edges=[], special=()
    )
    by_name = {call.name: call for call in CALLS}
    frame = native(rows, column)
    for name, wanted in (
        ("sum of rows", [[14]]),
        ("mean of rows", [[10, 14]]),
        ("var of rows", [[(6**2 + 4**2), 2 * (2 * 6 + 4 * 4), 2**2 + 4**2 + 8**2]]),
        ("count of rows", [[3]]),
        ("n_unique", [[3]]),
    ):
        seen = record(attached(frame), by_name[name], column)
        assert expected(frame, seen, None) == [wanted]
        assert integers(seen) == [wanted]
    seen = record(attached(frame, **LIMITS), by_name["sum of rows"], column)
    assert expected(frame, seen, "u") == [[[14 * (2 * 2**16 // 3)]]]


# The same rows, laid out otherwise


def layouts(frame: pl.DataFrame, rng: Random, folder: Path) -> dict[str, Any]:
    """Return frames of the same rows: permuted, cut into chunks, lazy, in a file."""
    found: dict[str, Any] = {"lazy": frame.lazy()}
    for number in range(4):
        order = list(range(frame.height))
        rng.shuffle(order)
        moved = frame[order]
        cuts = sorted(rng.choices(range(frame.height + 1), k=number * 5))
        pieces = [moved[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        chunked = pl.concat(pieces, rechunk=False)
        found[f"permuted in {len(pieces)} chunks"] = chunked
        found[f"lazy in {len(pieces)} chunks"] = chunked.lazy()
    path = folder / "rows.parquet"
    frame.write_parquet(path, row_group_size=7)
    found["scanned"] = pl.scan_parquet(path)
    return found


@pytest.mark.parametrize("unit", [None, "u"])
@pytest.mark.parametrize("column", [FLOAT64, INT64], ids=str)
def test_order_chunks_and_files_change_no_integer(
    column: Column, unit: str | None, tmp_path: Path
) -> None:
    rng = seeded(f"layout {column} {unit}")
    frame = native(random_rows(rng, column, most=20, units=12), column)
    laid_out = layouts(frame, rng, tmp_path)
    for call in CALLS:
        if not call.suits(column):
            continue
        wanted = integers(record(private(frame, call, column, unit), call, column))
        for name, laid in laid_out.items():
            seen = record(private(laid, call, column, unit), call, column)
            assert integers(seen) == wanted, (call, name)


def test_sums_of_wide_spread_values_do_not_depend_on_order() -> None:
    rng = seeded(7)
    values = [2.0 ** rng.uniform(-30, 53) * rng.choice((-1, 1)) for _ in range(2_000)]
    column = Column(
        name="Float64",
        dtype=pl.Float64(),
        bounds=(-(2.0**53), 2.0**53),
        keys=[0],
        edges=[0, 1],
        special=(0.0,),
    )
    calls = [c for c in CALLS if c.name in {"sum of rows", "var of rows"}]
    sums: set[float] = set()
    seen: set[str] = set()
    for _ in range(20 * AUDIT):
        rng.shuffle(values)
        sums.add(_added_up(values))
        frame = attached(pl.DataFrame({"x": values}))
        seen.add(str([integers(record(frame, call, column)) for call in calls]))
    assert len(seen) == 1
    assert len(sums) > 1  # as floats, their sum does


def _added_up(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


# Missing rows


@every_column
def test_missing_rows_add_nothing(column: Column) -> None:
    rng = seeded(f"missing {column}")
    rows = random_rows(rng, column, most=9, units=6)
    hole: dict[str, Any] = {"x": None, "y": None, "g": None, "b": None, "u": 1}
    holes = [hole, hole | {"y": math.nan}]
    if column.dtype.is_float():
        holes.append(hole | {"x": math.nan})
    longer = rows + [rng.choice(holes) for _ in range(rng.randint(1, 50))]
    rng.shuffle(longer)
    for call in CALLS:
        if not call.suits(column):
            continue
        before = record(attached(native(rows, column)), call, column)
        after = record(attached(native(longer, column)), call, column)
        for part, one, two in zip(
            before.parts, integers(before), integers(after), strict=True
        ):
            statistic = part.statistic
            if getattr(statistic, "other", False):
                assert one[:-1] == two[:-1], call
            elif not statistic.columns:  # it counts rows, missing or not
                assert one != two, call
            else:
                assert one == two, call


@pytest.mark.parametrize("column", [FLOAT64, BOOLEAN], ids=str)
def test_a_missing_row_of_a_unit_takes_its_share_of_the_weight(column: Column) -> None:
    rng = seeded(f"share {column}")
    rows = random_rows(rng, column, most=9, units=6)
    hole: dict[str, Any] = {"x": None, "y": None, "g": None, "b": None}
    longer = native(rows + [hole | {"u": unit} for unit in range(6)] * 2, column)
    for call in CALLS:
        seen = record(private(longer, call, column, "u"), call, column)
        assert integers(seen) == expected(longer, seen, "u"), call


# pandas


def pandas_frames(frame: pl.DataFrame) -> list[Any]:
    plain = frame.with_columns(pl.col("g").cast(pl.String))
    return [plain.to_pandas(), plain.to_pandas(use_pyarrow_extension_array=True)]


PANDAS = [column for column in COLUMNS if "128" not in column.name]


@pytest.mark.parametrize("column", PANDAS, ids=str)
@pytest.mark.parametrize("unit", [None, "u"])
def test_pandas_gives_the_same_integers(column: Column, unit: str | None) -> None:
    rng = seeded(f"pandas {column} {unit}")
    rows = random_rows(rng, column, most=9, units=6)
    frame = native(rows, column)
    arrow = pandas_frames(frame)[1]
    for call in CALLS:
        if call.suits(column):
            wanted = record(private(frame, call, column, unit), call, column)
            found = record(private(arrow, call, column, unit), call, column)
            assert integers(found) == integers(wanted), call


@pytest.mark.parametrize("unit", [None, "u"])
def test_numpy_backed_pandas_gives_the_same_integers(unit: str | None) -> None:
    rng = seeded(f"numpy {unit}")
    frame = native(random_rows(rng, FLOAT64, most=9, units=6), FLOAT64)
    plain = pandas_frames(frame)[0]
    for call in CALLS:
        wanted = record(private(frame, call, FLOAT64, unit), call, FLOAT64)
        found = record(private(plain, call, FLOAT64, unit), call, FLOAT64)
        assert integers(found) == integers(wanted), call
