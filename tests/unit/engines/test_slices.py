"""Rows binned along directions, against Python's own whole numbers."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.slices import counted, place, quantity, slices

import dpframe
from dpframe.engines import local
from dpframe.engines import slices as engine
from dpframe.engines.fold import BATCH
from dpframe.engines.local import evaluate
from dpframe.errors import EvaluationError
from dpframe.mechanisms.grids import grid_of
from dpframe.slices import EXACT
from dpframe.tally import COARSE, WEIGHT, Contribution, Per

if TYPE_CHECKING:
    from dpframe.slices import Slices

    Rows = list[dict[str, Any]]

BOUNDS = (-COARSE, COARSE)
ENDS = (-COARSE, COARSE, 0, 1, -1, COARSE - 1, 1 - COARSE)


def random(seed: object) -> Random:
    return Random(str(seed))  # noqa: S311 - test data


def names(columns: int) -> list[str]:
    return [f"x{i}" for i in range(columns)]


def table(rows: Rows, columns: int) -> pl.DataFrame:
    schema = dict.fromkeys(names(columns), pl.Int64) | {
        "g": pl.Boolean(),
        "u": pl.Int64(),
    }
    return pl.DataFrame(rows, schema=schema)


def random_rows(rng: Random, number: int, columns: int) -> Rows:
    """Return rows of whole numbers, some beyond their bounds and some missing."""
    found: Rows = []
    for _ in range(number):
        row: dict[str, Any] = {
            name: rng.choice(ENDS)
            if rng.random() < 0.3
            else rng.randint(-COARSE, COARSE)
            for name in names(columns)
        }
        chance, name = rng.random(), rng.choice(names(columns))
        if chance < 0.1:
            row[name] = None
        elif chance < 0.2:
            row[name] = rng.choice([-1, 1]) * (COARSE + rng.choice([1, 2**40]))
        row["g"] = rng.choice([True, False, None])
        row["u"] = rng.choice([None, *range(number // 4 + 1)])
        found.append(row)
    return found


def private(frame: Any, **declared: Any) -> Any:
    return dpframe.attach(frame, dpframe.Accountant(epsilon=1), **declared)


def columns_of(frame: Any, columns: int) -> list[Any]:
    return [quantity(frame, name, BOUNDS) for name in names(columns)]


def random_slices(frame: Any, rng: Random, columns: int, **given: Any) -> Slices:
    """Return directions of all lengths: long ones, axes and one of small numbers."""
    most, lifted = 1 << 20, given.get("lifted", False)
    directions: list[list[int]] = [
        [rng.randint(-most, most) for _ in range(columns)] for _ in range(6)
    ]
    directions += [[most * (i == k) for i in range(columns)] for k in range(2)]
    directions.append([rng.randint(-3, 3) for _ in range(columns)])
    if lifted:
        far = most // columns
        directions = [[*u, rng.randint(-far, far)] for u in directions]
    bins, shift = 9, 37 + columns.bit_length() // 2
    middle = bins << (shift - 1)
    offsets = [middle + rng.randint(-middle // 4, middle // 4) for _ in directions]
    taken = {"offsets": offsets, "shift": shift, "bins": bins} | given
    return slices(columns_of(frame, columns), directions, **taken)


def weighed(rows: Rows, columns: int, *, limit: int | None, label: bool) -> list[Any]:
    """Return rows as whole numbers, labels and weights; without what is missing."""
    sizes: dict[Any, int] = {}
    for row in rows:
        sizes[row["u"]] = sizes.get(row["u"], 0) + 1
    found: list[Any] = []
    for row in rows:
        read = [row[name] for name in names(columns)]
        if None in read or (label and row["g"] is None):
            continue
        if limit is not None and row["u"] is None:
            continue
        y = [min(max(value, -COARSE), COARSE) for value in read]
        share = 1 if limit is None else min(WEIGHT, WEIGHT * limit // sizes[row["u"]])
        found.append((y, int(row["g"]) if label else 0, share))
    return found


@pytest.mark.parametrize("columns", [2, 3, 7, 20, 50])
@pytest.mark.parametrize("label", [False, True], ids=["all", "by label"])
@pytest.mark.parametrize("lifted", [False, True], ids=["flat", "lifted"])
@pytest.mark.parametrize("limit", [None, 1, 2], ids=["rows", "max 1", "max 2"])
def test_counts_are_those_of_python_integers(
    columns: int, limit: int | None, *, label: bool, lifted: bool
) -> None:
    rng = random((columns, limit, label, lifted))
    rows = random_rows(rng, 60, columns)
    declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
    frame = private(table(rows, columns), **declared)
    limits: dict[str, Any] = {} if limit is None else {"per": Per.ROWS, "limit": limit}
    sliced = random_slices(
        frame,
        rng,
        columns,
        lifted=lifted,
        label=grid_of(frame, "g", bounds=(False, True), release="count")
        if label
        else None,
        contribution=Contribution(**limits),
    )
    found = evaluate(frame, sliced)
    assert found.dtype == np.int64
    assert found.shape == (sliced.cells, 1)
    kept = weighed(rows, columns, limit=limit, label=label)
    assert found[:, 0].tolist() == counted(sliced, kept)
    assert np.count_nonzero(found) > sliced.cells // 3  # bins are told apart
    assert found.reshape(sliced.shape).sum(axis=(0, 2)).tolist() == [
        sum(weight for *_, weight in kept)
    ] * len(sliced.offsets)


# Batches, chunks and orders


@pytest.fixture
def many() -> Rows:
    return random_rows(random("many"), 3000, 5)


@pytest.mark.parametrize("limit", [None, 2])
def test_no_order_chunks_or_batches_move_a_count(
    many: Rows, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
    limits: dict[str, Any] = {} if limit is None else {"per": Per.ROWS, "limit": limit}
    whole = table(many, 5)
    frame = private(whole, **declared)
    sliced = random_slices(
        frame,
        random("directions"),
        5,
        label=grid_of(frame, "g", bounds=(False, True), release="count"),
        lifted=True,
        contribution=Contribution(**limits),
    )
    expected = counted(sliced, weighed(many, 5, limit=limit, label=True))
    shuffled = whole.sample(fraction=1, shuffle=True, seed=1)
    pieces = pl.concat([whole.slice(k, 7) for k in range(0, 3000, 7)], rechunk=False)
    uneven = pl.concat(
        [shuffled.slice(0, 1), shuffled.slice(1, 2047), shuffled.slice(2048)],
        rechunk=False,
    )
    hosts = [whole, whole.lazy(), whole.reverse(), shuffled, pieces, uneven]
    for batch, block in ((1 << 17, 1 << 20), (1000, 100), (64, 1), (1, 1 << 20)):
        monkeypatch.setattr(local, "BATCH", batch)
        monkeypatch.setattr(engine, "_BLOCK", block)
        for host in hosts if batch > 1 else hosts[:1]:
            found = evaluate(private(host, **declared), sliced)
            assert found[:, 0].tolist() == expected


@pytest.mark.parametrize("limit", [None, 3])
def test_more_rows_than_a_batch_holds_are_all_counted(limit: int | None) -> None:
    """Sums of weights pass 32 bits; 64-bit integers are the reference."""
    rng = np.random.default_rng(5)
    number, columns = 2 * BATCH + 12_345, 4
    y = rng.integers(-COARSE, COARSE, size=(columns, number), endpoint=True)
    units = rng.integers(0, number // 3, size=number)
    frame = pl.DataFrame(dict(zip(names(columns), y, strict=True)) | {"u": units})
    limits: dict[str, Any] = {} if limit is None else {"per": Per.ROWS, "limit": limit}
    declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
    held = private(frame, **declared)
    contribution = Contribution(**limits)
    sliced = random_slices(held, random("many"), columns, contribution=contribution)
    found = evaluate(held, sliced).reshape(sliced.shape[1:])
    share = np.ones(number, dtype=np.int64)
    if limit is not None:
        share = np.minimum(WEIGHT, WEIGHT * limit // np.bincount(units)[units])
    for k, (u, offset) in enumerate(
        zip(sliced.directions, sliced.offsets, strict=True)
    ):
        places = np.clip((u @ y + offset) >> sliced.shift, 0, sliced.bins - 1)
        expected = [int(share[places == at].sum()) for at in range(sliced.bins)]
        assert found[k].tolist() == expected


def test_pandas_rows_are_counted_alike(many: Rows) -> None:
    frame = private(table(many, 5))
    sliced = random_slices(frame, random("directions"), 5)
    expected = evaluate(frame, sliced)
    for host in (
        pd.DataFrame(many).drop(columns="g").astype("Int64"),
        pd.DataFrame(many).drop(columns="g").astype("float64"),
        table(many, 5).to_pandas(use_pyarrow_extension_array=True),
    ):
        held = private(host)
        again = random_slices(held, random("directions"), 5)
        assert evaluate(held, again).tolist() == expected.tolist()


# Edges of bins, and the largest products


@pytest.mark.parametrize("columns", [2, 3, 20, 50])
@pytest.mark.parametrize("shift", [0, 1, 17, 40])
def test_a_row_on_an_edge_is_in_the_bin_above_and_one_step_below_it_is_not(
    columns: int, shift: int
) -> None:
    """Offsets put the row itself on the lower edge of bin 3, and beside it."""
    rng = random((columns, shift))
    most = 1 << 20
    for _ in range(5):
        y = [rng.choice((*ENDS, rng.randint(-COARSE, COARSE))) for _ in range(columns)]
        frame = private(table([dict(zip(names(columns), y, strict=True))], columns))
        u = [rng.randint(-most, most) for _ in range(columns)]
        product = sum(a * b for a, b in zip(y, u, strict=True))
        edge = (3 << shift) - product
        last = (7 << shift) - product
        beside = {edge - 1: 2, edge: 3, edge + 1: 3 if shift else 4}
        beside |= {last - 1: 6, last: 7, last + (5 << shift): 7}  # the last bin
        first = -product
        beside |= {first: 0, first - 1: 0, first - (9 << shift): 0}  # the first one
        sliced = slices(
            columns_of(frame, columns),
            [u] * len(beside),
            offsets=list(beside),
            shift=shift,
            bins=8,
        )
        found = evaluate(frame, sliced).reshape(len(beside), 8)
        assert found.sum(axis=1).tolist() == [1] * len(beside)
        assert found.argmax(axis=1).tolist() == list(beside.values())
        assert list(beside.values()) == [place(sliced, y, k) for k in range(9)]


@pytest.mark.parametrize("columns", [2, 3, 20, 50])
@pytest.mark.parametrize("lifted", [False, True], ids=["flat", "lifted"])
def test_the_longest_directions_are_exact_to_the_last_bit(
    columns: int, *, lifted: bool
) -> None:
    """Bins of one step tell products apart that lie next to each other at 2^52."""
    rng = random((columns, lifted))
    sphere = math.isqrt(columns * COARSE**2)
    half = (EXACT // 2 - 9 * sphere - 8) // (columns * COARSE)
    rows = [
        [rng.choice([-1, 1]) * (COARSE - rng.randint(0, 3)) for _ in range(columns)]
        for _ in range(40)
    ]
    directions: list[list[int]] = []
    offsets: list[int] = []
    for y in rows:
        u = [(1 if part > 0 else -1) * (half - rng.randint(0, 1)) for part in y]
        at = list(y)
        if lifted:
            at.append(math.isqrt(columns * COARSE**2 - sum(part**2 for part in y)))
            u.append(rng.randint(-9, 9))
        directions.append(u)
        product = sum(a * b for a, b in zip(at, u, strict=True))
        offsets.append(rng.randint(0, 7) - product)
    held = [dict(zip(names(columns), y, strict=True)) for y in rows]
    frame = private(table(held, columns))
    sliced = slices(
        columns_of(frame, columns),
        directions,
        offsets=offsets,
        shift=0,
        bins=8,
        lifted=lifted,
    )
    assert EXACT - EXACT // 50 < sliced.reach < EXACT
    found = evaluate(frame, sliced)[:, 0].tolist()
    assert found == counted(sliced, [(y, 0, 1) for y in rows])
    inner = np.array(found).reshape(-1, 8)[:, 1:-1]
    assert np.count_nonzero(inner) > 10


def test_one_bit_more_would_be_rounded() -> None:
    """What is refused has a reason: the next product is in another bin."""
    y, u = COARSE - 1, (EXACT // COARSE) * 2 + 1
    assert y * u > EXACT
    assert int(float(y) * float(u)) != y * u


def test_an_offset_that_fills_all_the_room_is_exact() -> None:
    longest = (EXACT - 1) // COARSE
    rest = EXACT - 1 - longest * COARSE
    rows = [{"x0": COARSE, "x1": COARSE}, {"x0": COARSE, "x1": COARSE - 1}]
    rows += [{"x0": -one["x0"], "x1": -one["x1"]} for one in rows]
    frame = private(table(rows, 2))
    u = [longest - 1, 1]
    sliced = slices(
        columns_of(frame, 2), [u, u], offsets=[rest, -rest], shift=49, bins=99
    )
    assert sliced.reach == EXACT - 1
    kept = [([row["x0"], row["x1"]], 0, 1) for row in rows]
    assert evaluate(frame, sliced)[:, 0].tolist() == counted(sliced, kept)


def test_the_coordinate_that_lifts_a_row_is_the_whole_part_of_a_root() -> None:
    rng = random("lift")
    rows = [[rng.choice(ENDS) for _ in range(3)] for _ in range(50)]
    rows += [[rng.randint(-COARSE, COARSE) for _ in range(3)] for _ in range(2000)]
    rows += [[COARSE] * 3, [0, 0, 0], [COARSE, COARSE, 0]]
    y = np.array(rows, dtype=np.float64).T
    lifted = engine._lift(y)  # noqa: SLF001 - a bin would show it less sharply
    assert lifted.tolist() == [
        math.isqrt(3 * COARSE**2 - sum(part**2 for part in row)) for row in rows
    ]


# What is missing, and what fails


def test_an_empty_frame_has_empty_bins() -> None:
    for lifted in (False, True):
        for host in (table([], 3), table([], 3).lazy()):
            for limits in ({}, {"privacy_unit": "u", "max_rows": 2}):
                frame = private(host, **limits)
                sliced = random_slices(
                    frame,
                    random("empty"),
                    3,
                    lifted=lifted,
                    label=grid_of(frame, "g", bounds=(False, True), release="count"),
                    contribution=Contribution(per=Per.ROWS, limit=2)
                    if limits
                    else Contribution(),
                )
                found = evaluate(frame, sliced)
                assert found.shape == (sliced.cells, 1)
                assert not found.any()


def test_a_row_with_a_missing_value_is_in_no_bin() -> None:
    nan, inf = math.nan, math.inf
    data = {
        "x0": [0.5, None, nan, 0.5, 0.5, inf, -inf, -0.0],
        "x1": [0.5, 0.5, 0.5, nan, None, -inf, 0.5, 0.0],
        "g": [True, True, False, True, False, None, False, True],
    }
    frame = private(pl.DataFrame(data))
    quantities = [quantity(frame, name, (-1.0, 1.0)) for name in ("x0", "x1")]
    plain = slices(quantities, [[1, 0], [0, 1]], offsets=COARSE, shift=19, bins=5)
    found = evaluate(frame, plain).reshape(2, 5)
    assert found.tolist() == [[1, 0, 1, 1, 1], [1, 0, 1, 2, 0]]
    told_apart = slices(
        quantities,
        [[1, 0], [0, 1]],
        offsets=COARSE,
        shift=19,
        bins=5,
        label=grid_of(frame, "g", bounds=(False, True), release="count"),
    )
    found = evaluate(frame, told_apart).reshape(2, 2, 5)
    assert found.tolist() == [
        [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0]],
        [[0, 0, 1, 1, 0], [0, 0, 1, 1, 0]],
    ]


def test_a_missing_value_still_takes_its_share_of_the_units_weight() -> None:
    rows = [{"x0": 1, "x1": 1, "u": 7}, {"x0": None, "x1": 1, "u": 7}]
    rows.append({"x0": 1, "x1": 1, "u": None})
    frame = private(table(rows, 2), privacy_unit="u", max_rows=1)
    one = Contribution(per=Per.ROWS, limit=1)
    sliced = slices(columns_of(frame, 2), [[1, 1]], shift=0, bins=4, contribution=one)
    assert evaluate(frame, sliced)[:, 0].tolist() == [0, 0, WEIGHT // 2, 0]


def test_a_label_may_be_any_of_two_points() -> None:
    data = {"x0": [1, 2, 3, 4, 5], "w": [3.0, -7.5, 9.0, math.nan, 5.0]}
    frame = private(pl.DataFrame(data))
    grid = grid_of(frame, "w", domain=[3.0, 7.0], release="count")
    sliced = slices([quantity(frame, "x0", BOUNDS)], [[1]], shift=0, bins=7, label=grid)
    found = evaluate(frame, sliced).reshape(2, 7)
    assert found.tolist() == [[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0]]


def test_a_frame_that_fails_says_nothing_of_its_cells() -> None:
    frame = private(
        pl.LazyFrame({"x0": ["secret"]}).with_columns(pl.col("x0").cast(pl.Int64))
    )
    sliced = slices([quantity(frame, "x0", BOUNDS)], [[1]], shift=0, bins=2)
    with pytest.raises(EvaluationError) as caught:
        evaluate(frame, sliced)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
