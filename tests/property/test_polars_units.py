"""A differential oracle for steps that bring rows of a unit together or multiply them.

A step is run on worlds that share a few units and differ in all others. A shared unit
must come out with the same rows everywhere, and no row may belong to no unit.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dpframe
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.errors import DPFrameError
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Sequence

Frame = PrivatePolars[Any]
World = tuple[pl.DataFrame, pl.DataFrame]
Raw = Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame]

SHARED = (0.0, 1.0, 2.0, 3.0)
SCHEMA: dict[str, Any] = {
    "u": pl.Float64,
    "k": pl.String,
    "x": pl.Int64,
    "f": pl.Float64,
    "l": pl.List(pl.Int64),
    "a": pl.Array(pl.Int8, 2),
    "s": pl.Struct({"p": pl.Int64, "q": pl.String}),
    "e": pl.Enum(["a", "b", "c"]),
}
TABLE = pl.DataFrame({"k": ["a", "b", "b", None], "z": [1, 2, 3, 4]})
FLOATS = pl.DataFrame({"f": [0.0, float("nan"), 1.5], "x": [1, 2, 3]})
BUDGET = Accountant(epsilon=1)


def row(rng: random.Random, unit: float) -> dict[str, Any]:
    """Draw a row of a unit, zeros of both signs and missing cells among its cells."""
    found = {
        "k": rng.choice("abc"),
        "x": rng.choice([0, 1, 2, -7, 2**62]),
        "f": rng.choice([0.0, -0.0, float("nan"), 1.5, -1e300]),
        "l": [rng.choice([1, 2, None]) for _ in range(rng.randrange(4))],
        "a": [rng.randrange(9), rng.randrange(9)],
        "s": {"p": rng.randrange(9), "q": rng.choice("xy")},
        "e": rng.choice("abc"),
    }
    kept = {name: cell for name, cell in found.items() if rng.random() > 0.15}
    return {"u": -unit if unit == 0 and rng.random() < 0.5 else unit, **kept}


def side(rng: random.Random, kept: Sequence[dict[str, Any]], others: int) -> Any:
    """Return the kept rows among those of other units, in some order."""
    rows = [*kept, *(row(rng, rng.randrange(10, 16)) for _ in range(others))]
    rng.shuffle(rows)
    return pl.DataFrame(rows, schema=SCHEMA)


@cache
def worlds() -> tuple[World, ...]:
    """Return pairs of frames: unit 2 is in the first alone, unit 3 in the second."""
    rng = random.Random(1)  # noqa: S311 - no secret
    one = [row(rng, unit) for unit in (0, 0, 0, 1, 2, 2)]
    two = [row(rng, unit) for unit in (0, 0, 1, 1, 3)]
    return tuple(
        (side(rng, one, many), side(rng, two, more))
        for many, more in [(20, 20), (25, 5), (5, 25), (0, 20), (20, 0), (0, 0), (1, 1)]
    )


def cells(column: pl.Series) -> list[str]:
    """Return cells as text; zero has no sign."""
    if column.dtype.is_float():
        column = column.replace(0.0, 0.0)
    return list(map(repr, column.to_list()))


def by_unit(rows: pl.DataFrame) -> dict[str, Counter[tuple[str, ...]]]:
    """Return the rows of each unit, as often as they occur."""
    names = [name for name in rows.columns if name != UNIT]
    found: dict[str, Counter[tuple[str, ...]]] = {}
    listed = zip(*[cells(rows[name]) for name in names], strict=True)
    for unit, one in zip(cells(rows[UNIT]), listed, strict=True):
        found.setdefault(unit, Counter())[one] += 1
    return found


def refuted(run: Callable[[World], pl.LazyFrame]) -> str | None:
    """Return how a step is refuted; None where all worlds agree."""
    seen: dict[str, Counter[tuple[str, ...]]] = {}
    for world in worlds():
        units = {unit for frame in world for unit in cells(frame["u"])}
        for engine in ("in-memory", "streaming"):
            found = by_unit(run(world).collect(engine=engine))
            if found.keys() - units:
                return "a row belongs to no unit"
            for unit in map(repr, SHARED):
                rows = found.get(unit, Counter())
                if seen.setdefault(unit, rows) != rows:
                    return f"unit {unit} has other rows beside other units"
    return None


def attached(world: World, budget: Accountant = BUDGET) -> tuple[Frame, Frame]:
    one, two = (
        dpframe.attach(rows.lazy(), budget, privacy_unit="u", max_rows=1)
        for rows in world
    )
    return one, two


def proved(step: Callable[[Frame, Frame], Any]) -> Callable[[World], pl.LazyFrame]:
    """Return a step of private frames as it is run."""

    def run(world: World) -> pl.LazyFrame:
        made = step(*attached(world))
        return made.scan(made.types())

    return run


STEPS: dict[str, Callable[[Frame, Frame], Any]] = {
    **{
        f"public {how}": lambda v, _, how=how: v.join(
            dpframe.public(TABLE), on="k", how=how, nulls_equal=how != "inner"
        )
        for how in ("inner", "left", "semi", "anti")
    },
    "public floats": lambda v, _: v.join(
        dpframe.public(FLOATS), on="f", how="left", suffix="_t"
    ),
    "public derived": lambda v, _: v.join(
        dpframe.public(FLOATS), left_on=pl.col("f").abs() / 3, right_on="f", how="left"
    ),
    **{
        f"private {how}": lambda v, w, how=how: v.join(w, on="u", how=how)
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    **{
        f"private {how} on more": lambda v, w, how=how: v.join(
            w, on=["k", "u"], how=how, nulls_equal=True, coalesce=True, suffix="_w"
        )
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    "itself": lambda v, _: v.join(v, on="u", suffix="_again"),
    "concat": lambda v, w: dpframe.concat([v, w, v]),
    "concat parts": lambda v, w: dpframe.concat(
        [v.filter(pl.col("x") > 0), w.filter(pl.col("k") == "a")]
    ),
    "explode": lambda v, _: v.explode("l"),
    "explode empty": lambda v, _: v.explode("l", empty_as_null=True, keep_nulls=False),
    "explode array": lambda v, _: v.explode("a"),
    "unnest": lambda v, _: v.unnest("s"),
    "unnest named": lambda v, _: v.unnest("s", separator="."),
    "unpivot": lambda v, _: v.unpivot(["x", "f"], index=["k"]),
    "unpivot one": lambda v, _: v.unpivot("k", variable_name="n", value_name="v"),
    "derive": lambda v, _: v.with_columns(y=pl.col("x") % 3),
    "keep": lambda v, _: v.filter(pl.col("f") > 0),
}


@pytest.mark.parametrize("name", STEPS)
def test_no_step_of_units_is_refuted(name: str) -> None:
    assert refuted(proved(STEPS[name])) is None


def test_no_chain_of_steps_is_refuted() -> None:
    rng, passed = random.Random(7), 0  # noqa: S311 - no secret
    for _ in range(30):
        names = rng.choices(list(STEPS), k=3)

        def chained(v: Frame, w: Frame, names: Sequence[str] = names) -> Frame:
            for name in names:
                v = STEPS[name](v, w)
            return v

        try:
            chained(*attached(worlds()[0]))
        except DPFrameError:
            continue  # a column is gone, or its name there twice
        assert refuted(proved(chained)) is None, names
        passed += 1
    assert passed > 10


def without(world: World, unit: float) -> World:
    one, two = (frame.filter(pl.col("u") != unit) for frame in world)
    return one, two


def gaps(
    step: Callable[[Frame, Frame], Any], world: World, neighbor: World
) -> list[tuple[int, int]]:
    """Return how far counts of two worlds lie apart, and what is claimed."""
    budget = Accountant(epsilon=2)
    with recording(noiseless=True) as seen:
        for each in (world, neighbor):
            step(*attached(each, budget)).dp.count(epsilon=1)
    return seen.records[0].distance(seen.records[1])


@pytest.mark.parametrize("name", STEPS)
def test_leaving_a_unit_out_changes_no_more_than_is_claimed(name: str) -> None:
    world, reached = worlds()[0], 0
    for unit in (*SHARED, 12.0):
        (found,) = gaps(STEPS[name], world, without(world, unit))
        assert found[0] <= found[1] == 2**16
        reached += found[0] > 2**15
    assert reached > 0 or name.endswith("on more")


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_without_a_unit_leaving_a_row_out_changes_a_count_by_one(how: str) -> None:
    rows, table = worlds()[0][0], dpframe.public(TABLE.unique("k"))
    budget, changed = Accountant(epsilon=40), 0
    with recording(noiseless=True) as seen:
        for some in (rows, *(rows[:i].vstack(rows[i + 1 :]) for i in range(20))):
            private = dpframe.attach(some, budget)
            private.join(table, on="k", how=how).dp.count(epsilon=1)
    whole, *others = seen.records
    for other in others:
        ((gap, claimed),) = whole.distance(other)
        assert gap <= claimed == 1
        changed += gap
    assert changed > 0


def test_rows_that_share_no_weight_would_change_more() -> None:
    def unweighted(v: Frame, _: Frame) -> Frame:
        made = v.join(v, on="u")
        return made.with_state(replace(made.private_state, one_row=True))

    world = worlds()[0]
    (found,) = gaps(unweighted, world, without(world, 0.0))
    assert found[0] > found[1]


def with_unit(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.with_columns(pl.col("u").alias(UNIT))


CONTROLS: dict[str, Raw] = {
    "a public row appears alone": lambda v, _: with_unit(v).join(
        TABLE.lazy(), on="k", how="full"
    ),
    "and in a right join": lambda v, _: with_unit(v).join(
        TABLE.lazy(), on="k", how="right"
    ),
    "rows of two units meet": lambda v, w: with_unit(v).join(w, on="k"),
    "rows of all units meet": lambda v, w: with_unit(v).join(w, how="cross"),
    "a unit is left out for others": lambda v, w: with_unit(v).join(
        w.filter(pl.col("u") > 9), on="x", how="anti"
    ),
    "rows go by place": lambda v, _: with_unit(v).with_row_index(),
    "rows are compared": lambda v, w: with_unit(
        pl.concat([v, w]).unique("k", keep="first")
    ),
    "all rows are counted": lambda v, _: with_unit(v).with_columns(
        pl.len().alias("rows")
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_oracle_refutes_steps_that_look_at_other_units(name: str) -> None:
    assert refuted(lambda world: CONTROLS[name](*(r.lazy() for r in world))) is not None
