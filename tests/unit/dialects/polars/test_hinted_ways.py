"""What asks for other rows of a unit is refused with a way that works as written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[Any], Any]

ROWS = pl.DataFrame(
    {
        "who": ["p", "p", "p", "q"],
        "year": [2000, 2001, 2002, 2000],
        "x": [1.0, None, 3.0, 3.0],
        "y": [1.0, 2.0, 3.0, 4.0],
        "s": ["2020-01-02 03:04", "no", None, "03:04"],
        "level": pl.Series(["a", None, "b", "a"], dtype=pl.Enum(["a", "b"])),
    }
)
X = pl.col("x")

LAG = (
    'f.join(f.select("who", pl.col("year") + 1, previous="x"), '
    'on=["who", "year"], how="left")'
)
RUNNING = (
    'f.join(f.select("who", before="year", earlier="x"), on="who")'
    '.filter(pl.col("before") <= pl.col("year"))'
    '.group_by("who", "year").agg(pl.col("earlier").sum())'
)
ROLLING = (
    'f.join(f.select("who", before="year", earlier="x"), on="who")'
    '.filter(pl.col("before").is_between(pl.col("year") - 2, pl.col("year")))'
    '.group_by("who", "year").agg(pl.col("earlier").mean())'
)
FILL = '.fill_null(pl.col("x").mean().over("who"))'
LAST = '.filter(pl.col("year") == pl.col("year").max().over("who"))'
COUNTED = 'pl.col("year").rank("min").over("who")'
REPEATED = 'pl.len().over("who", "x") > 1'

BEFORE = ROWS.select("who", "year", previous=X.shift().over("who"))
SUMS = ROWS.select("who", "year", earlier=X.fill_null(0).cum_sum().over("who"))
LASTS = ROWS.filter(pl.col("year") == pl.col("year").max().over("who"))

WAYS: list[tuple[str, str, pl.DataFrame | None, list[pl.Expr]]] = [
    (LAG, LAG, BEFORE, [X.shift(1), X.diff(), X.pct_change(), X.shift(-1)]),
    (RUNNING, RUNNING, SUMS, [X.cum_sum(), X.cum_max(), X.cum_prod(), X.cum_min()]),
    (ROLLING, ROLLING, None, [X.rolling_mean(3), X.rolling_sum(2)]),
    (
        FILL,
        f"f.with_columns(X{FILL})",
        ROWS.with_columns(x=pl.Series([1.0, 2.0, 3.0, 3.0])),
        [X.forward_fill(), X.backward_fill(), X.interpolate()],
    ),
    (LAST, f"f{LAST}", LASTS, [X.first(), X.last(), X.get(0), X.head(1), X.tail(1)]),
    (LAST, f"f{LAST}", LASTS, [X.sort_by("year").last()]),
    (
        COUNTED,
        f"f.select('who', 'year', n={COUNTED})",
        ROWS.select("who", "year", n=pl.col("year").rank("min").over("who")),
        [X.cum_count()],
    ),
    (
        REPEATED,
        f"f.with_columns(n={REPEATED})",
        ROWS.with_columns(n=pl.lit(value=False)),
        [X.is_duplicated(), X.is_unique(), X.is_first_distinct()],
    ),
]
ASKED = [
    (code, written, expected, asked)
    for code, written, expected, exprs in WAYS
    for expr in exprs
    for asked in (expr, expr.over("who"), expr.over("who", order_by="year"))
]


def private() -> Any:
    return ROWS.dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="who", max_rows=3)


def shown(frame: Any) -> pl.DataFrame:
    return frame.dp.detach()


def hint_of(step: Step) -> str:
    with pytest.raises(dpframe.NotProvedError) as refused:
        step(private())
    assert "__dpframe_" not in str(refused.value)
    return str(refused.value.hint)


@pytest.mark.parametrize(
    ("code", "written", "expected", "asked"), ASKED, ids=[str(a[3]) for a in ASKED]
)
def test_other_rows_of_a_unit_have_a_way_that_is_hinted(
    code: str, written: str, expected: pl.DataFrame | None, asked: pl.Expr
) -> None:
    assert code in hint_of(lambda f: f.with_columns(z=asked))
    assert code in hint_of(lambda f: f.select("who", z=asked))
    found = shown(eval(written, {"f": private(), "pl": pl, "X": X}))  # noqa: S307 - the hint
    if expected is not None:
        assert_frame_equal(
            found.select(expected.columns), expected, check_row_order=False
        )


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (lambda f: f.shift(1), LAG),
        (lambda f: f.interpolate(), FILL),
        (lambda f: f.fill_null(strategy="forward"), FILL),
        (lambda f: f.group_by("who").first(), LAST),
        (lambda f: f.group_by("who").tail(1), LAST),
        (lambda f: f.group_by("who").agg(X.first()), LAST),
        (lambda f: f.group_by("who").agg(X.sort_by("year").last()), LAST),
        (lambda f: f.filter(X.shift().over("who") > 1), LAG),
        (lambda f: f.unique("who", keep="first"), '.group_by("who").agg(...)'),
        (lambda f: f.with_columns(X.mode()), '.median().over("who")'),
        (lambda f: f.with_columns(X.mode().over("who")), ".median()"),
        (lambda f: f.group_by("who").agg(X.std()), "(x * x).mean() and x.mean()"),
        (lambda f: f.with_columns(X.var().over("who")), "(x * x).mean() and x.mean()"),
        (lambda f: f.group_by("who").agg(X.quantile(0.9)), ".median(), .min()"),
    ],
)
def test_verbs_and_figures_name_what_a_unit_has(step: Step, code: str) -> None:
    hint = hint_of(step)
    assert code in hint
    assert ".dp.mean" not in hint


def test_the_spread_of_a_unit_is_computed_as_hinted() -> None:
    spread = (X * X).mean() - X.mean() * X.mean()
    found = shown(private().group_by("who").agg(spread.alias("v"))).sort("who")
    assert found["v"].to_list() == [1.0, 0.0]


MEAN = 'pl.sum_horizontal("x", "y") / pl.sum_horizontal(pl.col("x", "y").is_not_null())'


@pytest.mark.parametrize(
    ("asked", "code", "expected"),
    [
        (pl.mean_horizontal("x", "y"), MEAN, [1.0, 2.0, 3.0, 3.5]),
        (
            pl.col("s").str.to_datetime(),
            '.str.to_datetime("%Y-%m-%d %H:%M", strict=False)',
            None,
        ),
        (
            pl.col("s").str.to_datetime("%Y-%m-%d"),
            '.str.to_datetime("%Y-%m-%d %H:%M", strict=False)',
            None,
        ),
        (pl.col("s").str.to_time("%H:%M"), '.str.to_time("%H:%M", strict=False)', None),
        (
            pl.col("level").fill_null("a"),
            'pl.lit("a", dtype=pl.Enum(["a", "b"]))',
            None,
        ),
    ],
    ids=str,
)
def test_expressions_of_one_row_are_hinted_as_they_work(
    asked: pl.Expr, code: str, expected: list[float] | None
) -> None:
    assert code in hint_of(lambda f: f.with_columns(z=asked))
    written = f'pl.col("s"){code}' if code.startswith(".") else code
    made = eval(written, {"pl": pl})  # noqa: S307 - the hint
    if code.startswith("pl.lit"):
        made = pl.col("level").fill_null(made)
    found = shown(private().select(z=made))["z"]
    assert found.null_count() < found.len()
    if expected is not None:
        assert found.to_list() == expected


def test_a_frame_without_a_unit_is_hinted_at_one() -> None:
    frame = ROWS.dp.attach(dpframe.Accountant(epsilon=1))
    with pytest.raises(dpframe.NotProvedError) as refused:
        frame.with_columns(X.shift())
    assert "within a unit" in str(refused.value.hint)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_trusted_step_that_raises_raises_at_once(*, lazy: bool) -> None:
    rows = ROWS.lazy() if lazy else ROWS
    frame = rows.dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="who")
    with pytest.raises(ZeroDivisionError):
        frame.dp.trust(lambda _: 1 / 0, reason="a test")


def test_a_trusted_step_that_fails_on_rows_fails_at_once_on_an_eager_frame() -> None:
    failing = pl.col("s").cast(pl.Int64)
    with pytest.raises(pl.exceptions.InvalidOperationError):
        private().dp.trust(lambda rows: rows.with_columns(failing), reason="a test")
