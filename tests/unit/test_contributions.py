"""What one privacy unit can add: shared weights, kept cells, clipped totals."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.engines.contribution import kept_cells
from dpframe.errors import BoundsRequiredError
from dpframe.frame import UNIT
from dpframe.tally import WEIGHT, Contribution, Per
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpframe.testing import Record

HOSTS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda rows: rows.to_pandas().astype(
        {name: "Int64" for name in rows.columns if rows[name].dtype.is_integer()}
    ),
    "polars": lambda rows: rows,
    "lazy": lambda rows: rows.lazy(),
}
BINS = list(range(7))
SALT = bytes(range(16))

hosts = pytest.mark.parametrize("host", list(HOSTS.values()), ids=list(HOSTS))


def attach(native: Any, *, epsilon: int = 100_000, **limits: Any) -> Any:
    private = native.dp.attach(
        dpframe.Accountant(epsilon=epsilon), privacy_unit="u", **limits
    )
    # One salt for all, so that choices can be compared across frames.
    return private.with_state(replace(private.private_state, salt=SALT))


def record_of(release: Callable[[], Any]) -> Record:
    with recording(noiseless=True) as seen:
        release()
    return seen.records[0]


def exact(release: Callable[[], Any]) -> list[int]:
    (block,) = record_of(release).blocks
    return [figure for (figure,) in block.exact]


def drawn(seed: int, rows: int = 60, units: int = 9) -> pl.DataFrame:
    """Return rows of a few units: some with one row, some with many."""
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, units, rows) * rng.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "u": unit,
            "g": rng.integers(0, 7, rows),  # 6 is no key
            "x": rng.integers(-20, 20, rows),
        }
    ).with_columns(x=pl.when(pl.col("x") % 5 != 0).then(pl.col("x")))


def weights(units: Sequence[Any], limit: int) -> list[int]:
    rows = Counter(units)
    return [WEIGHT if rows[u] <= limit else WEIGHT * limit // rows[u] for u in units]


# Rows share a weight


@pytest.mark.parametrize(
    ("rows", "limit", "weight"),
    [
        (1, 1, 65_536),
        (2, 1, 32_768),
        (3, 1, 21_845),
        (3, 2, 43_690),
        (3, 3, 65_536),
        (10, 3, 19_660),
        (5, 10**9, 65_536),
        (65_536, 1, 1),
        (65_537, 1, 0),
        (131_072, 2, 1),
        (131_073, 2, 0),
    ],
)
def test_rows_of_a_unit_over_its_limit_weigh_an_equal_share(
    rows: int, limit: int, weight: int
) -> None:
    units = pl.Series("u", [0, 0], dtype=pl.Int64).new_from_index(0, rows)
    private = attach(pl.DataFrame({"u": units, "x": units}), max_rows=limit)
    record = record_of(lambda: private.dp.count(epsilon=1))
    assert record.blocks[0].exact == ((rows * weight,),)
    assert record.blocks[0].sensitivity == limit * WEIGHT
    assert rows * weight <= limit * WEIGHT


@hosts
@pytest.mark.parametrize("limit", [1, 3, 8])
def test_every_release_of_rows_counts_them_by_their_weight(
    host: Any, limit: int
) -> None:
    for seed in range(6):
        rows = drawn(seed)
        private = attach(host(rows), max_rows=limit).dp.bounds(x=(-9, 12))
        weight = weights(rows["u"].to_list(), limit)
        count, present = sum(weight), 0
        sums, cells, grouped = 0, [0] * 6, [0] * 6
        for g, x, w in zip(rows["g"], rows["x"], weight, strict=True):
            clipped = None if x is None else min(max(x, -9), 12)
            present += 0 if x is None else w
            sums += 0 if clipped is None else clipped * w
            if g < 6:
                cells[g] += w
                grouped[g] += 0 if clipped is None else clipped * w
        dp, by = private.dp, private.dp.group_by("g", keys=range(6))
        assert exact(lambda d=dp: d.count(epsilon=1)) == [count]
        assert exact(lambda d=dp: d.count("x", epsilon=1)) == [present]
        assert exact(lambda d=dp: d.sum("x", epsilon=1)) == [sums]
        assert exact(lambda b=by: b.count(epsilon=1)) == cells
        assert exact(lambda b=by: b.sum("x", epsilon=1)) == grouped
        found = exact(lambda d=dp: d.histogram("g", bins=BINS, other=True, epsilon=1))
        last = sum(w for g, w in zip(rows["g"], weight, strict=True) if g == 6)
        assert found == [*cells[:5], cells[5] + last, 0]


@hosts
def test_a_row_in_no_cell_still_takes_its_share(host: Any) -> None:
    rows = pl.DataFrame({"u": [1, 1, 1, 1], "g": ["a", None, "z", "a"]})
    private = attach(host(rows), max_rows=1)
    found = exact(lambda: private.dp.histogram("g", keys=["a", "b"], epsilon=1))
    assert found == [WEIGHT // 2, 0]


@hosts
def test_weights_are_taken_after_the_steps(host: Any) -> None:
    rows = pl.DataFrame({"u": [1, 1, 1, 2], "x": [1, 2, 3, 4]})
    private = attach(host(rows), max_rows=1)
    if hasattr(private, "query"):
        fewer, renamed = private.query("x > 2"), private.rename(columns={"u": "v"})
    else:
        fewer, renamed = private.filter(pl.col("x") > 2), private.rename({"u": "v"})
    assert exact(lambda: fewer.dp.count(epsilon=1)) == [2 * WEIGHT]
    assert exact(lambda: renamed.dp.count(epsilon=1)) == [3 * (WEIGHT // 3) + WEIGHT]


@hosts
def test_rows_of_no_unit_are_dropped(host: Any) -> None:
    rows = pl.DataFrame({"u": ["a", None, "a", None], "x": [1, 1, 1, 1]})
    private = attach(host(rows), max_rows=9)
    assert exact(lambda: private.dp.count(epsilon=1)) == [2 * WEIGHT]
    assert exact(lambda: private.dp.count(of="units", epsilon=1)) == [1]


def test_equal_units_are_one_whatever_their_dtype() -> None:
    columns = [
        pd.Series([1, 1, 2]),
        pd.Series([1.0, 1.0, 2.0]),
        pd.Series([1, 1, 2], dtype="Int8"),
        pd.Series(pd.Categorical([1, 1, 2])),
        pd.Series(["1", "1", "2"]),
        pd.Series([0.0, -0.0, 1.0]),
    ]
    for column in columns:
        private = attach(pd.DataFrame({"u": column, "x": 1}), max_rows=1)
        assert exact(lambda p=private: p.dp.count(epsilon=1)) == [2 * WEIGHT]
        assert exact(lambda p=private: p.dp.count(of="units", epsilon=1)) == [2]


# Cells are kept or dropped


def kept(cells: pl.DataFrame, limit: int) -> dict[int, list[int]]:
    contribution = Contribution(per=Per.UNITS, limit=limit, salt=SALT)
    chosen: dict[int, list[int]] = defaultdict(list)
    for unit, cell in kept_cells(cells, "cell", contribution).rows():
        chosen[unit].append(cell)
    return {unit: sorted(cells) for unit, cells in chosen.items()}


def test_a_unit_keeps_the_same_cells_whoever_else_is_there() -> None:
    rng = np.random.default_rng(0)
    held = {
        unit: sorted(set(rng.integers(0, 8, rng.integers(1, 9)).tolist()))
        for unit in range(6_000)
    }

    def cells(units: Sequence[int]) -> pl.DataFrame:
        pairs = [(unit, cell) for unit in units for cell in held[unit]]
        return pl.DataFrame(pairs, schema=[UNIT, "cell"], orient="row")

    everyone = {limit: kept(cells(range(6_000)), limit) for limit in (1, 2, 5)}
    for limit, chosen in everyone.items():
        for unit, there in held.items():
            assert len(chosen[unit]) == min(limit, len(there))
            assert set(chosen[unit]) <= set(there)
    for _ in range(500):
        limit = int(rng.choice([1, 2, 5]))
        some = rng.integers(0, 6_000, rng.integers(1, 6)).tolist()
        for unit, chosen in kept(cells(sorted(set(some))[::-1]), limit).items():
            assert chosen == everyone[limit][unit]


def test_which_cells_are_kept_is_fair_and_differs_between_units_and_salts() -> None:
    units = 3_000
    grid = pl.DataFrame({UNIT: range(units)}).join(
        pl.DataFrame({"cell": [0, 1, 2]}), how="cross"
    )
    first = kept(grid, 1)
    counts = Counter(chosen[0] for chosen in first.values())
    assert sum(counts.values()) == units
    # A cell's count has a standard deviation of 26: 5.2 of them are 1 in 5 million.
    assert all(abs(counts[cell] - units / 3) < 135 for cell in (0, 1, 2))
    other = kept_cells(
        grid, "cell", Contribution(per=Per.UNITS, limit=1, salt=b"another salt")
    )
    same = sum(first[unit] == [cell] for unit, cell in other.rows())
    assert abs(same - units / 3) < 135


@hosts
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_unit_moves_counts_by_its_own_kept_cells_alone(host: Any, limit: int) -> None:
    for seed in range(5):
        rows = drawn(seed, rows=40, units=4)
        unit = rows["u"][0]

        def counts(part: pl.DataFrame) -> np.ndarray[Any, Any]:
            private = attach(host(part), max_groups=limit)
            return np.array(
                exact(
                    lambda: private.dp.histogram(
                        "g", keys=range(6), other=True, of="units", epsilon=1
                    )
                )
            )

        alone = counts(rows.filter(pl.col("u") == unit))
        others = counts(rows.filter(pl.col("u") != unit))
        assert (counts(rows) - others == alone).all()
        assert (
            counts(rows.sample(fraction=1, shuffle=True, seed=7)) == alone + others
        ).all()
        assert alone.max() == 1
        assert alone.sum() <= limit


def choices(private: Any) -> list[list[int]]:
    """Return the integers of every release that keeps and drops cells."""
    by = private.dp.group_by("g", keys=range(6))
    return [
        exact(release)
        for release in (
            lambda: private.dp.histogram("g", keys=range(6), of="units", epsilon=1),
            lambda: private.dp.n_unique("x", epsilon=1),
            lambda: private.dp.n_unique(["g", "x"], epsilon=1),
            lambda: by.count(of="units", epsilon=1),
            lambda: by.sum("x", bound="total", bounds=(-9, 30), epsilon=1),
        )
    ]


def test_kept_cells_are_the_same_on_every_host_and_in_every_order() -> None:
    for seed in range(3):
        rows = drawn(seed)
        names = rows.with_columns(u=pl.format("unit {}", "u"))
        for frame in (rows, names):
            first = choices(attach(frame, max_groups=2))
            shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
            pieces = pl.concat([frame[:7], frame[7:8], frame[8:]], rechunk=False)
            natives = [frame.lazy(), shuffled, pieces, HOSTS["pandas"](frame)]
            natives += [
                HOSTS["pandas"](shuffled),
                frame.to_pandas(use_pyarrow_extension_array=True),
                frame.cast({"g": pl.Int8, "x": pl.Int16}),
            ]
            for native in natives:
                assert choices(attach(native, max_groups=2)) == first


def test_whole_floats_are_kept_like_integers() -> None:
    rows = drawn(2)
    first = attach(rows, max_groups=2)
    floats = attach(rows.to_pandas(), max_groups=2)  # x has missing values: doubles
    for columns in ("x", ["g", "x"]):
        assert exact(lambda c=columns: first.dp.n_unique(c, epsilon=1)) == exact(
            lambda c=columns: floats.dp.n_unique(c, epsilon=1)
        )


def test_a_unit_adds_at_most_max_groups_distinct_values() -> None:
    rows = pl.DataFrame({"u": [1] * 50 + [2] * 3, "x": [*range(50), 90, 91, 92]})
    private = attach(rows, max_groups=4)
    record = record_of(lambda: private.dp.n_unique("x", epsilon=1))
    assert record.blocks[0].exact == ((7,),)
    assert record.blocks[0].sensitivity == 4


# Totals and means of units


@hosts
@pytest.mark.parametrize("bounds", [(0, 30), (-9, 12), (-50, -10)])
def test_totals_are_clipped_by_unit(host: Any, bounds: tuple[int, int]) -> None:
    low, high = bounds
    for seed in range(5):
        rows = drawn(seed)
        private = attach(host(rows))
        totals: dict[int, int] = {}
        for unit, x in rows.select("u", "x").drop_nulls().rows():
            totals[unit] = totals.get(unit, 0) + x
        record = record_of(
            lambda p=private: p.dp.sum("x", bound="total", bounds=bounds, epsilon=1)
        )
        expected = sum(min(max(total, low), high) for total in totals.values())
        assert record.blocks[0].exact == ((expected,),)
        assert record.blocks[0].sensitivity == max(-low, high)


@hosts
def test_totals_by_group_are_clipped_in_each_cell(host: Any) -> None:
    rows = drawn(3)
    private = attach(host(rows), max_groups=6)
    totals: dict[tuple[int, int], int] = {}
    for unit, g, x in rows.select("u", "g", "x").drop_nulls().rows():
        totals[unit, g] = totals.get((unit, g), 0) + x
    expected = [0] * 6
    for (_, g), total in totals.items():
        if g < 6:
            expected[g] += min(max(total, -4), 11)
    by = private.dp.group_by("g", keys=range(6))
    record = record_of(lambda: by.sum("x", bound="total", bounds=(-4, 11), epsilon=1))
    assert [figure for (figure,) in record.blocks[0].exact] == expected
    assert record.blocks[0].sensitivity == 6 * 11


@hosts
def test_wide_totals_do_not_wrap(host: Any) -> None:
    far = 2**62
    rows = pl.DataFrame({"u": [1] * 9 + [2], "x": [far] * 9 + [-far]})
    private = attach(host(rows))
    for bound in (2**40, 2**50, 2**60, 2**62, 2**63, 2**70):
        found = exact(
            lambda b=bound: private.dp.sum(
                "x", bound="total", bounds=(-b, b), epsilon=1
            )
        )
        assert found == [min(9 * far, bound) - min(far, bound)]


@hosts
def test_a_mean_of_units_counts_each_unit_once(host: Any) -> None:
    rows = pl.DataFrame({"u": [1] * 9 + [2], "x": [4.0] * 9 + [0.0]})
    private = attach(host(rows))
    record = record_of(
        lambda: private.dp.mean("x", of="units", bounds=(0, 8), epsilon=1)
    )
    (block,) = record.blocks
    ((rest, steps),) = block.exact
    top = record.parts[0].statistic.quantities[0].high
    assert rest + steps == 2 * top
    assert steps * 2 == top
    assert block.sensitivity == top


# What must be declared


def release_rows() -> dict[str, Callable[[Any], Any]]:
    return {
        "count": lambda dp: dp.count(epsilon=1),
        "count of a column": lambda dp: dp.count("x", epsilon=1),
        "sum": lambda dp: dp.sum("x", epsilon=1),
        "mean": lambda dp: dp.mean("x", epsilon=1),
        "var": lambda dp: dp.var("x", epsilon=1),
        "std": lambda dp: dp.std("x", epsilon=1),
        "agg": lambda dp: dp.agg(n="count", epsilon=1),
        "histogram": lambda dp: dp.histogram("g", bins=BINS, epsilon=1),
        "value_counts": lambda dp: dp.value_counts("g", keys=[1], epsilon=1),
        "contingency": lambda dp: dp.contingency(
            ["g", "x"], bins={"g": BINS, "x": BINS}, epsilon=1
        ),
        "group_by count": lambda dp: dp.group_by("g", keys=[1]).count(epsilon=1),
        "group_by sum": lambda dp: dp.group_by("g", keys=[1]).sum("x", epsilon=1),
        "group_by mean": lambda dp: dp.group_by("g", keys=[1]).mean("x", epsilon=1),
        "group_by var": lambda dp: dp.group_by("g", keys=[1]).var("x", epsilon=1),
        "mean_cov": lambda dp: dp.mean_cov(["x"], epsilon=1),
    }


def release_cells() -> dict[str, Callable[[Any], Any]]:
    def by(dp: Any) -> Any:
        return dp.group_by("g", keys=[1, 2])

    return {
        "n_unique": lambda dp: dp.n_unique("x", epsilon=1),
        "histogram": lambda dp: dp.histogram("g", bins=BINS, of="units", epsilon=1),
        "contingency": lambda dp: dp.contingency(
            ["g", "x"], bins={"g": BINS, "x": BINS}, of="units", epsilon=1
        ),
        "count": lambda dp: by(dp).count(of="units", epsilon=1),
        "mean": lambda dp: by(dp).mean("x", of="units", epsilon=1),
        "total": lambda dp: by(dp).sum("x", bound="total", bounds=(0, 9), epsilon=1),
    }


@pytest.mark.parametrize(
    ("limit", "release"),
    [
        *(
            pytest.param("max_rows", call, id=f"max_rows for {name}")
            for name, call in release_rows().items()
        ),
        *(
            pytest.param("max_groups", call, id=f"max_groups for {name}")
            for name, call in release_cells().items()
        ),
    ],
)
@hosts
def test_a_missing_limit_is_named_and_nothing_is_spent(
    host: Any, limit: str, release: Callable[[Any], Any]
) -> None:
    wrong = {"max_rows": "max_groups", "max_groups": "max_rows"}[limit]
    for given in ({}, {wrong: 3}):
        private = attach(host(drawn(0)), **given).dp.bounds(x=(0, 9))
        for dp in (private.dp, private.dp.preview):
            with pytest.raises(BoundsRequiredError, match=limit):
                release(dp)
        assert private.private_state.accountant.spent.epsilon == 0
        assert len(private.private_state.accountant.events) == 0
    right = attach(host(drawn(0)), **{limit: 3}).dp.bounds(x=(0, 9))
    release(right.dp)
    release(private.dp.contributions(**{limit: 3}).dp)


@hosts
@pytest.mark.parametrize(
    "release",
    [
        lambda dp: dp.count(of="units", epsilon=1),
        lambda dp: dp.sum("x", bound="total", bounds=(0, 9), epsilon=1),
        lambda dp: dp.mean("x", of="units", bounds=(0, 9), epsilon=1),
        lambda dp: dp.histogram("g", keys=[1], of="units", epsilon=1),
    ],
    ids=["count", "total", "mean", "one cell"],
)
def test_a_unit_that_counts_once_needs_no_limit(host: Any, release: Any) -> None:
    private = attach(host(drawn(0)))
    release(private.dp)
    assert private.private_state.accountant.spent.epsilon == 1


@hosts
def test_a_total_needs_bounds_of_its_own(host: Any) -> None:
    private = attach(host(drawn(0)), max_rows=3).dp.bounds(x=(0, 9))
    with pytest.raises(BoundsRequiredError, match="total"):
        private.dp.sum("x", bound="total", epsilon=1)
    assert private.private_state.accountant.spent.epsilon == 0


@hosts
def test_without_a_unit_each_row_is_one_and_has_no_weight(host: Any) -> None:
    private = host(drawn(0)).dp.attach(dpframe.Accountant(epsilon=100))
    record = record_of(lambda: private.dp.count(epsilon=1))
    assert record.blocks[0].exact == ((60,),)
    assert record.blocks[0].sensitivity == 1
    assert exact(lambda: private.dp.count(of="units", epsilon=1)) == [60]


def test_a_renamed_unit_is_the_unit_under_its_new_name(host: Any) -> None:
    frame = host.attached({"id": [1, 1, 2], "x": [1, 2, 3]}, privacy_unit="id")
    names = {"id": "person"}
    renamed = frame.rename(columns=names) if host.is_pandas else frame.rename(names)
    assert renamed.dp.state.privacy_unit == "person"
    assert frame.dp.state.privacy_unit == "id"
    assert "unit person" in repr(renamed)
    taken = renamed[["x"]] if host.is_pandas else renamed.select("x")
    assert set(taken.columns) == {"x", "person"}


def test_a_dropped_unit_is_still_whom_rows_belong_to(host: Any) -> None:
    frame = host.attached({"id": [1, 1, 2], "x": [1, 2, 3]}, privacy_unit="id")
    dropped = frame.drop(columns="id") if host.is_pandas else frame.drop("id")
    assert list(dropped.columns) == ["x"]
    with recording(noiseless=True):
        units = dropped.dp.count(of="units", epsilon=1)
    assert units.value == 2


@hosts
def test_units_are_counted_as_distinct_values_without_a_limit(host: Any) -> None:
    rows = drawn(3)
    private = attach(host(rows))
    record = record_of(lambda: private.dp.n_unique("u", epsilon=1))
    assert record.blocks[0].sensitivity == 1
    assert record.blocks[0].exact == ((rows["u"].drop_nulls().n_unique(),),)
    for columns in ("g", ["u", "g"]):
        with pytest.raises(BoundsRequiredError, match="max_groups"):
            private.dp.n_unique(columns, epsilon=1)
