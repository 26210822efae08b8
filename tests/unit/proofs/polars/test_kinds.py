from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.exceptions import PanicException, PolarsError

from dpframe.errors import DPFrameError
from dpframe.proofs.polars.kinds import gives_no_floats
from dpframe.proofs.polars.prove import prove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpframe.proofs.polars.proved import Proved

NUMBERS = [
    *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.UInt8(), pl.UInt16()),
    *(pl.UInt32(), pl.UInt64(), pl.Float32(), pl.Float64()),
]
OTHERS = [
    *(pl.Boolean(), pl.String(), pl.Date(), pl.Datetime("us"), pl.Datetime("ms")),
    *(pl.Datetime("ns"), pl.Datetime("us", "UTC"), pl.Duration("us"), pl.Time()),
    *(pl.Int128(), pl.Decimal(9, 2), pl.Enum(["a"]), pl.Categorical(), pl.Binary()),
    *(pl.List(pl.Int64()), pl.Struct({"v": pl.Int64()}), pl.Null()),
]
DTYPES = [*NUMBERS, *OTHERS]
SCHEMA: dict[str, pl.DataType] = {str(i): dtype for i, dtype in enumerate(DTYPES)}
COLUMNS = [pl.col(name) for name in SCHEMA]
LITERALS = [
    *map(pl.lit, [0, -1, 300, 2**31 - 1, -(2**31) + 1, 2**40, 0.5, -1e300, True, "a"]),
    *map(pl.lit, [dt.date(2020, 1, 1), dt.date(1, 1, 1), Decimal("0.1"), None]),
    pl.lit(dt.datetime(2020, 1, 1)),  # noqa: DTZ001 - a naive instant
    pl.lit(dt.timedelta(days=1)),
    pl.lit(5, dtype=pl.Int32),
]


def _values(dtype: pl.DataType) -> list[object]:
    """Return the extremes of a dtype, and what lies between."""
    if dtype.is_integer() and not isinstance(dtype, pl.Int128):
        low, high = (pl.select(end).item() for end in (dtype.min(), dtype.max()))
        return [low, high, 0, 1, None]
    if dtype.is_float():
        return [float("nan"), float("inf"), -0.0, 1e300, None]
    if isinstance(dtype, pl.Boolean):
        return [True, False, True, None, None]
    if isinstance(dtype, pl.String):
        return ["", "aXa", "é\0ß", "12", None]
    if isinstance(dtype, pl.Date):
        return [dt.date.min, dt.date.max, dt.date(2020, 2, 29), None, None]
    if isinstance(dtype, pl.Datetime) and dtype.time_unit != "ns":
        return [dt.date.min, dt.date.max, dt.date(2020, 2, 29), None, None]
    return [None] * 5


ROWS = pl.DataFrame(
    [pl.Series(name, _values(SCHEMA[name]), SCHEMA[name]) for name in SCHEMA]
)


DAYS = [dt.date(2000, 1, 2), None]
INSTANTS = [dt.datetime(2000, 1, 2)]  # noqa: DTZ001 - naive as the column


def _pairs() -> Iterator[pl.Expr]:
    known = _known([*COLUMNS, *LITERALS])
    sides = [side for side, proved in known if proved.kind not in {"other", "null"}]
    sides.append(pl.lit(None))
    for one, two in itertools.product(sides, sides):
        yield from (one == two, one < two, one.eq_missing(two), one & two, one ^ two)
        yield from (one + two, one - two, one * two, one / two, one // two, one % two)
        yield from (one.fill_null(two), pl.any_horizontal(one, two))
        yield pl.when(one).then(1).otherwise(two)
        yield pl.when(pl.col("10")).then(one).otherwise(two)
        yield pl.when(one == two).then(one).otherwise(None)


def _singles() -> Iterator[pl.Expr]:
    for one in COLUMNS:
        yield from (one.is_null(), one.is_not_null(), one.is_nan(), one.is_finite())
        yield from (~one, one.abs(), one.floor(), one.ceil(), one.is_infinite())
        yield from (one.str.to_uppercase(), one.str.len_chars(), one.str.len_bytes())
        yield from (one.str.slice(-1, 2), one.str.slice(9), one.str.head(-2))
        yield from (one.dt.year(), one.dt.week(), one.dt.weekday(), one.dt.quarter())
        yield from (one.dt.day(), one.dt.ordinal_day(), one.dt.month(), one.dt.hour())
        yield from (one.dt.minute(), one.dt.second())
        yield from (one.str.contains("a.1|^b+"), one.str.contains("(", literal=True))
        yield from (one.str.starts_with("a"), one.str.ends_with("b"))
        for listed in (["a", None], [1], [1.5, math.nan], [True], DAYS, INSTANTS):
            yield from (one.is_in(listed), one.is_in(listed, nulls_equal=True))
        for target in (pl.Int32, pl.Int64, pl.Float64):
            yield from (one.cast(target), one.cast(target, strict=False))
            yield one.cast(target, wrap_numerical=True)


def _known(exprs: Iterable[pl.Expr]) -> list[tuple[pl.Expr, Proved]]:
    """Return the expressions that are accepted without a trial."""
    found: list[tuple[pl.Expr, Proved]] = []
    for expr in exprs:
        try:
            proved = prove(expr, schema=SCHEMA)
            if proved.kind is not None and proved.parts.outputs:
                found.append((expr, proved))
        except (DPFrameError, PolarsError):
            continue
    return found


@pytest.mark.parametrize(
    ("exprs", "least"), [(_pairs, 3_500), (_singles, 100)], ids=["pairs", "singles"]
)
def test_what_is_not_tried_runs_on_all_values(
    exprs: Callable[[], Iterator[pl.Expr]], least: int
) -> None:
    known = _known(exprs())
    assert len(known) > least
    for expr, proved in known:
        for found in (expr, proved.runnable()):
            try:
                schema = ROWS.select(found).schema
            except (PolarsError, PanicException) as error:
                pytest.fail(f"{found} fails: {error}")
        assert schema == proved.parts.outputs, str(expr)


def test_what_is_told_to_hold_no_floats_gives_none() -> None:
    whole = 0
    for expr, proved in _known(itertools.chain(_pairs(), _singles())):
        if gives_no_floats(proved.parts.text, proved.parts.read_dtypes):
            whole += 1
            assert not any(dtype.is_float() for dtype in ROWS.select(expr).dtypes)
    assert whole > 1_000


def test_kinds_are_those_of_what_comes_out() -> None:
    told = {
        "number": lambda dtype: dtype.is_numeric(),
        "truth": lambda dtype: dtype == pl.Boolean,
        "text": lambda dtype: dtype == pl.String,
        "day": lambda dtype: dtype == pl.Date,
        "instant": lambda dtype: isinstance(dtype, pl.Datetime),
    }
    for expr, proved in _known(itertools.chain(_pairs(), _singles())):
        assert proved.kind is not None
        for dtype in ROWS.select(expr).dtypes:
            assert told[proved.kind](dtype), str(expr)


@pytest.mark.parametrize(
    "expr",
    [
        pl.col("11").str.contains("("),
        pl.col("11").str.contains("a++b"),
        pl.col("11").str.contains(r"\p{Zzz}"),
        pl.col("11").str.contains(pl.col("11")),
        pl.col("11").cast(pl.Int64, strict=False),
        pl.col("0").clip(0, 300),
        pl.col("0") > pl.lit(2**40),
        pl.col("0") + pl.lit(float("inf")),
        pl.col("13") == pl.col("16"),
        pl.col("11").is_in([1]),
        pl.col("0").is_in([1]),
        pl.col("0") & pl.col("1"),
        pl.col("10") + pl.col("10"),
        -1 * pl.col("4"),
        300 // pl.col("0"),
        pl.col("4") + pl.lit(300) // 2,
        pl.col("4").fill_null(pl.lit(300) // 2),
    ],
    ids=str,
)
def test_what_can_be_wrong_is_tried(expr: pl.Expr) -> None:
    with contextlib.suppress(DPFrameError):  # which says that it was tried
        assert prove(expr, schema=SCHEMA).kind is None


@pytest.mark.parametrize("listed", [["a"], [1], [1.5], [True], DAYS, INSTANTS], ids=str)
def test_lists_of_the_column_s_dtype_need_no_trial(listed: list[object]) -> None:
    schema = {"x": pl.Series(listed).dtype}
    assert prove(pl.col("x").is_in(listed), schema=schema).kind == "truth"
    assert prove(pl.col("x").is_in([*listed, None]), schema=schema).kind == "truth"


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("us"), pl.Datetime("ms")])
def test_parts_beyond_the_calendar_are_missing_and_fail_for_none(
    dtype: pl.DataType,
) -> None:
    bits = 31 if dtype == pl.Date else 63
    ends = pl.Series([2**bits - 1, -(2**bits), 0]).cast(
        pl.Int32 if bits == 31 else pl.Int64
    )
    rows = pl.DataFrame({"x": ends.cast(dtype)})
    x = pl.col("x").dt
    named = [x.year(), x.quarter(), x.month(), x.week(), x.day(), x.ordinal_day()]
    if dtype != pl.Date:
        named += [x.hour(), x.minute(), x.second()]
    for expr in named:
        run = prove(expr, schema=rows.schema).runnable()
        assert rows.select(run).to_series().is_null().to_list() == [True, True, False]
        assert rows[:1].select(run).item() is None
    weekday = rows.select(prove(x.weekday(), schema=rows.schema).runnable())
    assert weekday.to_series().is_between(1, 7).all()


def test_what_is_remembered_is_told_from_what_differs() -> None:
    schema = {"x": pl.Float64()}
    for number in (math.inf, -math.inf):
        run = prove(pl.col("x") + number, schema=schema).runnable()
        assert pl.DataFrame({"x": [0.0]}).select(run).item() == number
    one = prove(pl.col("x") + 1, schema=schema)
    assert prove(pl.col("x") + 1, schema={"y": pl.Int8(), **schema}) is one
    assert prove(pl.col("x") + 1, schema={"x": pl.Int8()}).parts.outputs.dtypes() == [
        pl.Int8()
    ]
    everything = prove(pl.all(), schema={"x": pl.Int8()})
    assert everything.runnable() is not None
    assert prove(pl.all(), schema={"x": pl.Int8(), "y": pl.Int8()}).sources == {
        "x": "x",
        "y": "y",
    }
