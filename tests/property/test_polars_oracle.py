"""A differential oracle for the proof that Polars steps are row-local.

What the proof accepts is run on frames that share a few rows and differ in all
others. If a shared row comes out otherwise anywhere, the proof was wrong.
"""

from __future__ import annotations

import datetime as dt
import random
import warnings
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from checks.expressions import calls
from polars.exceptions import PanicException, PolarsError

import dpframe
from dpframe.errors import DPFrameError
from dpframe.privacy.accountant import Accountant
from dpframe.proofs.polars.prove import prove
from dpframe.proofs.polars.sample import sample_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.dialects.polars.private import PrivatePolars

ID = "id"
SCHEMA: dict[str, pl.DataType] = {
    "i": pl.Int64(),
    "n": pl.Int8(),
    "u": pl.UInt64(),
    "f": pl.Float64(),
    "h": pl.Float32(),
    "b": pl.Boolean(),
    "s": pl.String(),
    "k": pl.String(),
    "y": pl.Binary(),
    "d": pl.Date(),
    "t": pl.Datetime("us"),
    "m": pl.Datetime("ms"),
    "z": pl.Datetime("us", "America/New_York"),
    "w": pl.Datetime("us", "UTC"),
    "p": pl.Duration("us"),
    "q": pl.Time(),
    "e": pl.Enum(["a", "b", "c"]),
    "c": pl.Categorical(),
    "x": pl.Decimal(20, 2),
    "l": pl.List(pl.Int64()),
    "r": pl.List(pl.Float64()),
    "g": pl.List(pl.String()),
    "a": pl.Array(pl.Float64(), 2),
    "o": pl.Struct({"v": pl.Int64(), "t": pl.String()}),
}
FULL: dict[str, pl.DataType] = {ID: pl.Int64(), **SCHEMA}
_INTS = [0, 1, -1, 2, 3, 7, 100, 2**53 + 1, 2**63 - 1, -(2**63)]
_FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-310, 1e308, -1e308, 7.25, 49.0]
_FLOATS += [float("nan"), float("inf"), float("-inf")]
_TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "(",
    "12",
    "-3.5",
    "2020-02-30",
    "2021-03-14",
    "é\0ß",
    "aXa",
]
_TEXTS += ["1,2", '{"a": 1}', "0x1f", "  pad ", "YWI=", "zz9", "c"]
_DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 2, 29)]
_DAYS += [dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2019, 11, 3)]


def _instant(rng: random.Random) -> dt.datetime:
    day = rng.choice(_DAYS)
    if day.year == 2019 or rng.random() < 0.4:  # about the hours that clocks skip
        day = rng.choice([dt.date(2019, 3, 10), dt.date(2019, 11, 3)])
    time = dt.time(rng.randrange(24), rng.choice([0, 30]), rng.choice([0, 59]))
    return dt.datetime.combine(day, time)


MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "i": lambda rng: rng.choice([*_INTS, rng.randrange(-50, 50)]),
    "n": lambda rng: rng.choice([0, 1, -1, 5, 49, 127, -128]),
    "u": lambda rng: rng.choice([0, 1, 2, 9, 2**64 - 1]),
    "f": lambda rng: rng.choice([*_FLOATS, rng.gauss(0, 9), rng.gauss(0, 9)]),
    "h": lambda rng: rng.choice([*_FLOATS, rng.gauss(0, 9)]),
    "b": lambda rng: rng.random() < 0.5,
    "s": lambda rng: rng.choice(_TEXTS),
    "k": lambda rng: rng.choice(_TEXTS),
    "y": lambda rng: rng.choice([b"", b"a", b"\xff", b"ab"]),
    "d": lambda rng: rng.choice(_DAYS),
    "t": _instant,
    "m": _instant,
    "z": lambda rng: _instant(rng).replace(year=2019, day=3, tzinfo=dt.UTC),
    "w": lambda rng: _instant(rng).replace(year=2019, day=3, tzinfo=dt.UTC),
    "p": lambda rng: dt.timedelta(
        microseconds=rng.choice([0, 1, -1, 10**12, 864 * 10**8])
    ),
    "q": lambda rng: dt.time(rng.randrange(24), rng.randrange(60), 1, 5),
    "e": lambda rng: rng.choice("abc"),
    "c": lambda rng: rng.choice("abc"),
    "x": lambda rng: Decimal(rng.choice(["0", "1.25", "-3.10", "9" * 18 + ".99"])),
    "l": lambda rng: [rng.choice([0, 1, 2, None]) for _ in range(rng.randrange(4))],
    "r": lambda rng: [rng.choice([*_FLOATS, None]) for _ in range(rng.randrange(4))],
    "g": lambda rng: [rng.choice(["a", "b", None]) for _ in range(rng.randrange(3))],
    "a": lambda rng: [rng.choice(_FLOATS), rng.choice(_FLOATS)],
    "o": lambda rng: {"v": rng.randrange(9), "t": rng.choice(_TEXTS)},
}


def _cell(rng: random.Random, name: str) -> Any:
    return None if rng.random() < 0.15 else MAKERS[name](rng)


def draw_rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Draw rows, extremes and missing cells among them."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    return [{name: _cell(rng, name) for name in SCHEMA} for _ in range(count)]


def frame_of(rows: Sequence[Mapping[str, Any]], ids: Sequence[int]) -> pl.DataFrame:
    """Return rows as a frame, each with its identity."""
    columns = {
        name: pl.Series(name, [row[name] for row in rows], dtype=dtype, strict=False)
        for name, dtype in SCHEMA.items()
    }
    return pl.DataFrame({ID: pl.Series(ID, ids, dtype=pl.Int64), **columns})


def cells(column: pl.Series) -> list[str]:
    """Return the cells of a column bit by bit, as text; zero has no sign."""
    if column.dtype == pl.Categorical:
        column = column.cast(pl.String)
    if column.dtype.is_float():
        column = column.replace(0.0, 0.0)
    return [repr(cell) for cell in column.to_physical().to_list()]


@cache
def worlds() -> tuple[pl.DataFrame, ...]:
    """Return frames that share rows 0 to 5 and differ in all others.

    The first holds more rows, others hold rows redrawn, dropped, permuted, alone,
    in several chunks, and none.
    """
    kept = draw_rows(1, 6)
    ids = list(range(6))

    def among(seed: int, order: Sequence[int], others: int) -> pl.DataFrame:
        rows = [kept[i] for i in order] + draw_rows(seed, others)
        marks = [*order, *range(100, 100 + others)]
        places = list(range(len(rows)))
        random.Random(seed).shuffle(places)  # noqa: S311 - no secret
        return frame_of([rows[i] for i in places], [marks[i] for i in places])

    chunks = pl.concat([among(7, ids[:2], 3), among(8, ids[2:], 0)], rechunk=False)
    return (
        among(2, ids, 30),
        among(3, ids[::-1], 30),
        among(4, ids, 3),
        among(5, ids, 0),
        among(6, ids[3:], 1),
        *(frame_of([kept[i]], [i]) for i in ids[:3]),
        chunks,
        frame_of([], []),
    )


def refuted(run: Callable[[pl.DataFrame], pl.DataFrame], *, keeps: bool) -> str | None:
    """Return how a step is refuted; None where every shared row comes out alike.

    `run` gives the identities with the step's outputs. A step that `keeps` rows has
    one for each; another, for each row that it lets through.
    """
    seen: dict[int, list[str]] = {}
    for world in worlds():
        try:
            out = run(world)
        except (PolarsError, PanicException) as error:
            return f"it fails: {type(error).__name__}"
        if keeps and out[ID].to_list() != world[ID].to_list():
            return "it changes the rows"
        columns = [cells(out[name]) for name in out.columns if name != ID]
        found = dict(zip(out[ID].to_list(), zip(*columns, strict=True), strict=False))
        for mark in set(world[ID].to_list()) & set(range(6)):
            text = [*found[mark]] if mark in found else ["dropped"]
            if seen.setdefault(mark, text) != text:
                return f"row {mark} was {seen[mark]} and is {text}"
    return None


def judged(expr: pl.Expr) -> str | None:
    """Return how an expression is refuted as it is run."""
    return refuted(
        lambda world: world.lazy().select(ID, expr.alias("out")).collect(), keeps=True
    )


def settled(expr: pl.Expr) -> pl.Expr:
    """Return an accepted expression as it is run."""
    return prove(expr, schema=FULL).runnable()


def refuted_among(exprs: Sequence[pl.Expr]) -> list[tuple[str, str]]:
    """Return which accepted expressions are refuted, and how."""
    wrong: list[tuple[str, str]] = []
    for start in range(0, len(exprs), 40):
        some = exprs[start : start + 40]
        named = [settled(expr).alias(str(place)) for place, expr in enumerate(some)]
        found = refuted(
            lambda world, named=named: world.lazy().select(ID, *named).collect(),
            keeps=True,
        )
        if found is not None:
            each = {str(expr): judged(settled(expr)) for expr in some}
            alone = [(text, how) for text, how in each.items() if how is not None]
            wrong += alone or [("together", found)]
    return wrong


def runs(exprs: Sequence[pl.Expr]) -> bool:
    """Return whether Polars takes expressions on made-up rows."""
    try:
        sample_rows(FULL).lazy().select(*exprs).collect()
    except (PolarsError, PanicException):
        return False
    return True


def accepted(expr: pl.Expr) -> bool:
    """Return whether the proof and the trial on made-up rows let it pass."""
    try:
        settled(expr)
    except DPFrameError:
        return False
    return runs([expr])


@pytest.mark.parametrize("half", [0, 1])
def test_no_method_that_is_accepted_is_refuted(half: int) -> None:
    tried, passed = 0, list[pl.Expr]()
    for name in [name for name in SCHEMA if name not in "kmwg"][half::2]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of methods on their way out
            found = list(calls(pl.col(name)))
        tried += len(found)
        passed += [expr for expr in found if accepted(expr)]
    assert len(passed) > 350
    assert tried - len(passed) > 1_200
    assert refuted_among(passed) == []


def test_oracle_refutes_what_looks_across_rows() -> None:
    x, s = pl.col("f"), pl.col("s")
    for unsound in (
        x - x.mean(),
        x.shift(1),
        x.rank(),
        x.cum_sum(),
        x.fill_null(strategy="forward"),
        x.is_duplicated(),
        x.reverse(),
        pl.col("i").sum().over("b"),
        pl.col("i").cast(pl.Int8),
        s.str.to_date("%Y"),
        s.is_in(pl.col("k").implode()),
        x.unique(),
        pl.len(),
        pl.lit(pl.Series([1, 2, 3])),
        x / 49,
        1 / (x.abs() * -0.0 + 0),
    ):
        assert judged(unsound) is not None, str(unsound)


def _grown(rng: random.Random, depth: int) -> pl.Expr:
    """Return a random expression over numbers, sound or not."""
    if depth == 0:
        leaf = pl.col(rng.choice(["i", "n", "f", "h", "b"]))
        return leaf if rng.random() < 0.8 else pl.lit(rng.choice([0, 1, 2.5, -1]))
    one, two = _grown(rng, depth - 1), _grown(rng, depth - 1)
    sound: list[Callable[[], pl.Expr]] = [
        lambda: one + two,
        lambda: one - two,
        lambda: one * two,
        lambda: one / two,
        lambda: one // two,
        lambda: one % two,
        lambda: one > two,
        lambda: one.eq_missing(two),
        lambda: pl.when(one > two).then(one).otherwise(two),
        lambda: one.fill_null(two),
        lambda: pl.coalesce(one, two),
        lambda: pl.max_horizontal(one, two),
        lambda: pl.sum_horizontal(one, two),
        lambda: one.cast(pl.Int16, strict=False),
        lambda: one.cast(pl.Float64, strict=False).round(1),
        lambda: one.cast(pl.Float64, strict=False).sqrt().fill_nan(None),
        lambda: one.cast(pl.Float64, strict=False) ** 2,
        lambda: one.is_between(two, 5),
        lambda: one.clip(-3, 3),
        lambda: one.is_in([0, 1, 7]),
        lambda: one.replace({1: 2}),
        lambda: one.cast(pl.String).str.len_chars() + 0,
    ]
    unsound: list[Callable[[], pl.Expr]] = [
        lambda: one - one.mean(),
        lambda: one.shift(1) + 0,
        lambda: one.cast(pl.Int8),
        lambda: one.rank() + two,
        lambda: one**two,
    ]
    return rng.choice(unsound if rng.random() < 0.1 else sound)()


def test_no_grown_expression_that_is_accepted_is_refuted() -> None:
    rng = random.Random(11)  # noqa: S311 - no secret
    grown = [_grown(rng, rng.randrange(1, 4)) for _ in range(450)]
    passed = [expr for expr in grown if accepted(expr)]
    assert 100 < len(passed) < 350
    assert refuted_among(passed) == []


def _attached(world: pl.DataFrame) -> PrivatePolars[Any]:
    return dpframe.attach(world, Accountant(1), privacy_unit=ID)


CONDITIONS = [
    pl.col("f") > 0,
    pl.col("s").is_in(["a", "b"]),
    pl.col("i") % 2 == 0,
    pl.col("t") < dt.datetime(2019, 6, 1),  # noqa: DTZ001 - a naive column
    pl.col("b"),
    ~pl.col("b") | pl.col("x").is_null(),
    pl.any_horizontal(pl.col("f").is_nan(), pl.col("l").list.len() > 1),
    pl.lit(value=False),
]
DERIVED = [
    pl.col("f") // 0.7 + pl.col("f") / 49,
    pl.lit(1),
    pl.col("s").str.to_date("%Y-%m-%d", strict=False),
    pl.when(pl.col("b")).then(pl.col("i")).otherwise(pl.col("n")),
    pl.struct("i", "s"),
    pl.concat_list("i", "i", pl.lit(None)),
    pl.date(2000 + pl.col("i") % 30, pl.col("i"), 29 + pl.col("i") % 4),
    pl.col("c").cast(pl.String).fill_null("none"),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
@pytest.mark.parametrize("derived", DERIVED, ids=str)
def test_no_chain_of_verbs_is_refuted(condition: pl.Expr, derived: pl.Expr) -> None:
    def run(world: pl.DataFrame) -> pl.DataFrame:
        frame = _attached(world).with_columns(out=derived).filter(condition)
        frame = frame.select("out", "f").rename({"f": "g"}).drop_nans("g")
        shown = frame.scan(frame.types()).collect()
        assert shown[ID].to_list() == shown["__dpframe_unit__"].to_list()
        return shown

    assert refuted(run, keeps=False) is None


@pytest.mark.parametrize(
    "verb",
    [
        lambda frame: frame.drop_nulls(["i", "s"]),
        lambda frame: frame.drop_nans(["f", "h"]),
        lambda frame: frame.fill_null(0),
        lambda frame: frame.fill_nan(None),
        lambda frame: frame.cast({"i": pl.Int8, "s": pl.Float64}, strict=False),
        lambda frame: frame.drop("i", "f"),
        lambda frame: frame.select(pl.exclude("i").is_null()),
        lambda frame: frame.with_columns(pl.all().is_not_null().name.suffix("_there")),
    ],
)
def test_no_verb_is_refuted(verb: Callable[[Any], Any]) -> None:
    def run(world: pl.DataFrame) -> pl.DataFrame:
        frame = verb(_attached(world))
        shown = frame.scan({k: v for k, v in frame.types().items() if k != ID})
        return shown.rename({"__dpframe_unit__": ID}).collect()

    assert refuted(run, keeps=False) is None
