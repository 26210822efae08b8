"""A differential oracle for the proof that Polars steps are unit-local.

What is accepted is run on frames that share a few units with all their rows and
differ in all others: redrawn, dropped, permuted, in chunks of one row and of many. The
rows of a shared unit must come out the same, bit for bit, in any order.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.unit_worlds import ID, SCHEMA, attached, refuted, shown, worlds

from dpframe.errors import DPFrameError
from dpframe.frame import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def accepted(step: Callable[[Any], Any]) -> bool:
    try:
        step(attached(worlds()[0]))
    except DPFrameError:
        return False
    return True


def _grouped(exprs: Sequence[pl.Expr], *keys: Any) -> Callable[[Any], Any]:
    return lambda frame: frame.group_by(ID, *keys).agg(
        expr.alias(f"out {place}") for place, expr in enumerate(exprs)
    )


def _spread(exprs: Sequence[pl.Expr], *keys: Any) -> Callable[[Any], Any]:
    return lambda frame: frame.select(
        expr.over(ID, *keys).alias(f"out {place}") for place, expr in enumerate(exprs)
    )


FIGURES = ["len", "count", "null_count", "n_unique", "sum", "mean", "min", "max"]
FIGURES += ["median", "any", "all", "first", "last", "std", "product", "mode"]
FIGURES += ["arg_max", "implode", "nan_max", "entropy", "approx_n_unique"]
KEYS: list[tuple[Any, ...]] = [
    (),
    ("c", "e"),
    (pl.col("i") // 2, "h", "b"),
    (pl.col("f").round(1), "x", "d", "s", "z", "q"),
]


def figures() -> list[pl.Expr]:
    columns = [pl.col(name) for name in SCHEMA if name != ID]
    columns += [pl.col("f") * pl.col("f"), pl.col("i") > pl.col("n"), pl.col("f") / 49]
    columns += [pl.col("t").dt.year(), pl.col("s").str.len_chars(), -pl.col("h")]
    found = [getattr(column, name)() for column in columns for name in FIGURES]
    kept = [column.filter(pl.col("b")) for column in columns]
    found += [
        getattr(one, name)() for one in kept for name in ("len", "sum", "n_unique")
    ]
    return [*found, *[column.drop_nulls().max() for column in columns], pl.len()]


def ranks() -> list[pl.Expr]:
    methods: list[Any] = ["min", "max", "dense", "average", "ordinal", "random"]
    return [
        pl.col(name).rank(method, descending=place % 2 == 0)
        for place, name in enumerate(SCHEMA)
        for method in methods
    ]


@cache
def passed(way: Callable[[Sequence[pl.Expr]], Any]) -> tuple[int, list[pl.Expr]]:
    """Return how many figures were tried, and those that are accepted."""
    tried = figures() + (ranks() if way is _spread else [])
    return len(tried), [expr for expr in tried if accepted(way([expr]))]


@pytest.mark.parametrize(
    ("way", "keys", "engine"),
    [
        *((_grouped, keys, "in-memory") for keys in KEYS),
        *((_spread, keys, "in-memory") for keys in KEYS[1::2]),
        (_grouped, (), "streaming"),
        (_grouped, KEYS[1], "streaming"),
        (_spread, (), "streaming"),
    ],
)
def test_no_figure_that_is_accepted_is_refuted(
    way: Any, keys: Any, engine: str
) -> None:
    tried, exprs = passed(way)
    assert len(exprs) > 150
    assert tried - len(exprs) > 150
    step = way(exprs, *keys)
    assert refuted(lambda world: shown(step(attached(world)), engine=engine)) is None


def test_oracle_refutes_figures_of_other_units_and_of_order() -> None:
    f = pl.col("f")
    for unsound in (
        f.first().over(UNIT),
        f.cum_sum().over(UNIT),
        f.fill_nan(None).max().over(UNIT),  # of zeros of both signs
        pl.struct(f.rank("ordinal").over(UNIT), "n"),
        f.shift().over(UNIT),
        f - f.mean(),
        pl.col("i").max(),
        f.max().over("b"),
        pl.len(),
    ):

        def run(world: pl.DataFrame, expr: pl.Expr = unsound) -> pl.DataFrame:
            rows = world.with_columns(pl.col(ID).alias(UNIT))
            return rows.select(UNIT, expr.alias("out"))

        assert refuted(run) is not None, str(unsound)


def test_float_sums_ignore_many_other_rows_where_plain_sums_do_not() -> None:
    rng = np.random.default_rng(5)
    own = rng.normal(0, 1e3, 4_000)
    ours, plain = set[tuple[float, ...]](), set[float]()
    for others in (0, 100_000, 150_001, 230_000):
        values = np.concatenate([own, rng.normal(0, 1, others)])
        units = np.concatenate([np.zeros(len(own), int), 1 + np.arange(others) % 3])
        order = rng.permutation(len(values))
        rows = pl.DataFrame({ID: units[order], "f": values[order]})
        grouped = attached(rows).group_by(ID).agg(s=pl.col("f").sum())
        wide = attached(rows).select(m=pl.col("f").mean().over(ID))
        first = [shown(one).filter(pl.col(UNIT) == 0) for one in (grouped, wide)]
        assert first[1]["m"].n_unique() == 1
        ours.add((first[0]["s"][0], first[1]["m"][0]))
        sums = rows.lazy().group_by(ID).agg(pl.col("f").sum()).collect()
        plain.add(sums.filter(pl.col(ID) == 0)["f"][0])
    assert len(ours) == 1
    assert len(plain) > 1


def _grown(rng: random.Random, depth: int) -> pl.Expr:
    """Return a random expression over figures within a unit, sound or not."""
    if depth == 0:
        leaf = pl.col(rng.choice(["i", "n", "f", "h", "b"]))
        return leaf if rng.random() < 0.7 else pl.lit(rng.choice([0, 1, 2.5]))
    one, two = _grown(rng, depth - 1), _grown(rng, depth - 1)
    choices: list[Callable[[], pl.Expr]] = [
        lambda: one + two,
        lambda: one - two,
        lambda: one / two,
        lambda: one // two,
        lambda: pl.when(one > two).then(one).otherwise(two),
        lambda: pl.max_horizontal(one, two),
        lambda: one.cast(pl.Float64, strict=False).round(1),
        lambda: one.is_between(two, 5),
        lambda: one.fill_null(two),
    ]
    spanning: list[Callable[[], pl.Expr]] = [
        lambda: one - one.mean().over(ID),
        lambda: (one - one.sum()).over(ID),
        lambda: one.max().over(ID, "b"),
        lambda: pl.len().over(ID) * two,
        lambda: one.rank("dense").over(ID),
        lambda: (one * two).median().over(ID, pl.col("n") % 3),
        lambda: one.filter(pl.col("b")).sum().over(ID) + two,
    ]
    unsound: list[Callable[[], pl.Expr]] = [
        lambda: one - one.mean(),
        lambda: one.sum().over("b"),
        lambda: one.first().over(ID),
        lambda: one.shift(1).over(ID),
        lambda: one.max().over(ID, order_by="i"),
        lambda: one.cum_sum().over(ID),
    ]
    luck = rng.random()
    return rng.choice(unsound if luck < 0.06 else spanning if luck < 0.5 else choices)()


def test_no_grown_expression_that_is_accepted_is_refuted() -> None:
    rng = random.Random(7)  # noqa: S311 - no secret
    exprs = [_grown(rng, rng.choice([1, 1, 2, 2, 3])) for _ in range(240)]
    sound = [e for e in exprs if accepted(lambda frame, e=e: frame.select(out=e))]
    assert len(sound) > 60
    assert len(exprs) - len(sound) > 40
    named = [expr.alias(f"out {place}") for place, expr in enumerate(sound)]
    for some in (named[start : start + 30] for start in range(0, len(named), 30)):

        def run(world: pl.DataFrame, some: Any = some) -> pl.DataFrame:
            return shown(
                attached(world).with_columns(some).drop(*(n for n in SCHEMA if n != ID))
            )

        assert refuted(run, signs=False) is None


CHAINS: list[Callable[[Any], Any]] = [
    lambda v: v.filter(pl.len().over(ID) > 2).group_by(ID).agg(pl.col("f").mean()),
    lambda v: v.filter(pl.col("i") == pl.col("i").max().over(ID)).select("s", "f"),
    lambda v: v.filter(pl.col("f").rank("min").over(ID) <= 2).group_by(ID).len(),
    lambda v: v.with_columns(pl.col("f", "h").sum().over(ID).name.suffix(" sum")),
    lambda v: v.with_columns(
        pl.selectors.float() - pl.selectors.float().max().over(ID)
    ),
    lambda v: v.group_by(ID, "b").agg(pl.selectors.numeric().max()).group_by(ID).max(),
    lambda v: v.group_by(ID, pl.col("h")).agg(pl.col("f").max(), n=pl.len()),
    lambda v: v.group_by(ID, k=pl.col("f").fill_nan(0.0)).agg(pl.col("i").n_unique()),
    lambda v: v.group_by(ID).agg(
        a=pl.col("f").sum() / pl.len(), b=pl.col("d").max() - pl.col("d").min()
    ),
    lambda v: v.rename({ID: "new"}).group_by("new").agg(pl.col("c").n_unique()),
]


@pytest.mark.parametrize("place", range(len(CHAINS)))
def test_no_chain_is_refuted(place: int) -> None:
    def run(world: pl.DataFrame) -> pl.DataFrame:
        frame = CHAINS[place](attached(world))
        unit = frame.private_state.privacy_unit
        out = frame.scan(frame.types()).collect()
        assert out[unit].to_list() == out[UNIT].to_list()
        if frame.private_state.one_row:
            assert out[UNIT].is_unique().all()
        return out

    assert refuted(run) is None
