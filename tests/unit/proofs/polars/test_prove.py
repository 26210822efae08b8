from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
from decimal import Decimal

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.exceptions import PanicException, PolarsError

from dpframe.errors import ColumnNotFoundError, NotProvedError, ParameterTypeError
from dpframe.proofs.polars import prove as proofs
from dpframe.proofs.polars.parts import step_text
from dpframe.proofs.polars.prove import prove
from dpframe.proofs.polars.tree import write

SCHEMA: dict[str, pl.DataType] = {
    "id": pl.Int64(),
    "n": pl.Int32(),
    "x": pl.Float64(),
    "y": pl.Float64(),
    "b": pl.Boolean(),
    "s": pl.String(),
    "d": pl.Date(),
    "t": pl.Datetime("us"),
    "fine": pl.Datetime("ns"),
    "zoned": pl.Datetime("us", "Europe/Paris"),
    "span": pl.Duration("us"),
    "level": pl.Enum(["a", "b"]),
    "code": pl.Categorical(),
    "money": pl.Decimal(12, 2),
    "price": pl.Decimal(12, 3),
    "items": pl.List(pl.Int64()),
    "pair": pl.Struct({"v": pl.Int64()}),
    "raw": pl.Binary(),
}
n, x, y, b, s, d, t = (pl.col(name) for name in "nxybsdt")
items = pl.col("items")

SOUND = [
    x,
    pl.lit(1),
    pl.lit(None),
    pl.lit([1, 2]),
    pl.lit(dt.date(2020, 1, 1)),
    x.alias("z"),
    x.name.suffix("_2"),
    x.name.to_uppercase(),
    x + y * 2 - 1 / x,
    x // 10 * 10,
    n % 3,
    n.truncdiv(2),
    (x > 1) & (y <= 2) | ~b,
    x.eq_missing(y),
    b ^ b,
    pl.when(x > 1).then(x).when(y > 1).then(y).otherwise(0),
    pl.when(b).then(pl.lit("yes")),
    s.is_in(["a", "b"]),
    n.is_in({1, 2}),
    n.is_in(np.array([1, 2])),
    x.is_between(0, y),
    x.is_close(y),
    x.is_null() | x.is_nan() | x.is_finite() | x.is_infinite(),
    x.is_not_null() & x.is_not_nan(),
    x.fill_null(0),
    x.fill_null(y),
    x.fill_nan(None),
    x.clip(0, 1),
    x.clip(y, y + 1),
    x.round(1).floor().ceil().abs().sign(),
    x.round_sig_figs(2),
    x.sqrt() + x.exp() + x.log() + x.log10() + x.log1p() + x.sin() + x.arctan(),
    pl.arctan2("x", "y"),
    x**2 + x**0.5 + x**-1,
    n**2,
    n**0.5,
    x * float("inf"),
    x.bin_intervals([0, 1], labels=["low", "mid", "high"]),
    n.cast(pl.Float64),
    n.cast(pl.Int64),
    b.cast(pl.Int8),
    x.cast(pl.Float32),
    n.cast(pl.String),
    d.cast(pl.Datetime("us")),
    t.cast(pl.Date),
    x.cast(pl.Int64, strict=False),
    s.cast(pl.Int64, strict=False),
    s.cast(pl.Enum(["a"]), strict=False),
    pl.col("code").cast(pl.String),
    pl.col("code").cast(pl.Enum(["a"]), strict=False),
    pl.col("money").cast(pl.Float64),
    n.cast(pl.Int8, wrap_numerical=True),
    s.str.len_chars() + s.str.len_bytes(),
    s.str.to_lowercase().str.strip_chars().str.slice(0, 3),
    s.str.contains("a+"),
    s.str.contains("a", literal=True),
    s.str.starts_with("a") | s.str.ends_with(s),
    s.str.replace("a", "b").str.replace_all("c", "d", literal=True),
    s.str.split(","),
    s.str.extract(r"(\d+)"),
    s.str.zfill(5).str.pad_start(6),
    s.str.to_integer(strict=False),
    s.str.to_date("%Y-%m-%d", strict=False),
    s.str.to_datetime("%Y-%m-%d %H", strict=False),
    s.str.to_datetime("%Y-%m-%d", time_zone="UTC", strict=False),
    s.str.to_decimal(scale=2),
    pl.concat_str("s", n.cast(pl.String), separator="-"),
    pl.format("{}-{}", "s", "n"),
    d.dt.year() + d.dt.month() + d.dt.weekday() + d.dt.week(),
    t.dt.hour() + t.dt.second(),
    t.dt.truncate("1d"),
    t.dt.offset_by("1mo"),
    t.dt.month_start(),
    t.dt.date(),
    t.dt.to_string("%Y"),
    t.dt.convert_time_zone("Asia/Tokyo"),
    t.dt.replace_time_zone("UTC"),
    t.dt.replace_time_zone("Europe/Paris", ambiguous="null", non_existent="null"),
    t.dt.cast_time_unit("ms"),
    pl.col("zoned").dt.hour(),
    pl.col("zoned").dt.truncate("1h"),
    pl.col("span").dt.total_days(),
    t - t + dt.timedelta(days=1),
    t > dt.datetime(2020, 1, 1),  # noqa: DTZ001 - a naive column
    pl.duration(days=n),
    n.cast(pl.UInt64, strict=False).fill_null(0),
    n.cast(pl.UInt64, strict=False).fill_null(n),
    n.cast(pl.UInt64, strict=False) > -1,
    cs.integer().cast(pl.UInt64, strict=False).fill_null(0),
    pl.coalesce("x", "y", pl.lit(0)),
    pl.min_horizontal("x", "y") + pl.max_horizontal("x", "y"),
    pl.sum_horizontal("x", "y") / 2,
    pl.any_horizontal("b", x > 1) & pl.all_horizontal("b", "b"),
    s.replace({"a": "b"}),
    s.replace_strict({"a": 1}, default=None),
    n.replace_strict({1: 2}, default=n),
    pl.struct("x", "y"),
    pl.col("pair").struct.field("v"),
    items.list.len(),
    items.list.get(0, null_on_oob=True),
    items.list.contains(1),
    pl.col("money") > Decimal("1.5"),
    pl.col("money").fill_null(0),
    pl.all(),
    pl.nth(0),
    cs.float() * 2,
    pl.exclude("x"),
    pl.col("^x|y$"),
    pl.col("x", "y").fill_null(0),
    sum([x] * 100),
]

UNSOUND = [
    x - x.mean(),
    (x + 1).sum(),
    x / pl.len(),
    x.min(),
    x.max(),
    x.median(),
    x.std(),
    x.var(),
    x.first(),
    x.last(),
    x.count(),
    x.n_unique(),
    x.quantile(0.5),
    x.arg_max(),
    x.product(),
    x.skew(),
    x.entropy(),
    b.any(),
    b.all(),
    x.null_count(),
    x.has_nulls(),
    x.sum().over("s"),
    x.rank().over("s"),
    x.shift(1),
    x.diff(),
    x.pct_change(),
    x.cum_sum(),
    x.cum_count(),
    x.rank(),
    x.sort(),
    x.sort_by("y"),
    x.arg_sort(),
    x.reverse(),
    x.shuffle(),
    x.sample(1),
    x.head(1),
    x.tail(1),
    x.slice(1, 2),
    x.gather([0]),
    x.get(0),
    x.item(),
    x.filter(x > 1),
    x.drop_nulls(),
    x.drop_nans(),
    x.unique(),
    x.mode(),
    x.value_counts(),
    x.top_k(2),
    x.is_duplicated(),
    x.is_unique(),
    x.is_first_distinct(),
    x.is_last_distinct(),
    x.rle_id(),
    x.interpolate(),
    x.forward_fill(),
    x.backward_fill(),
    x.fill_null(strategy="mean"),
    x.fill_null(strategy="zero"),
    x.fill_null(x.mean()),
    x.rolling_mean(2),
    x.rolling_mean_by("t", "2d"),
    x.ewm_mean(alpha=0.5),
    x.bin_quantiles([0.5], labels=["a", "b"]),
    x.bin_intervals(3, labels=False),
    x.bin_ranks([1.0], labels=False),
    x.hist(bin_count=3),
    x.peak_max(),
    x.search_sorted(1),
    x.index_of(1),
    x.append(y),
    x.extend_constant(1, 2),
    x.repeat_by(2),
    x.implode(),
    x.set_sorted(),
    x.hash(),
    x.explode(),
    items.explode(),
    items.list.explode(),
    items.list.get(0),
    items.list.gather([0]),
    items.list.sample(1),
    items.list.eval(pl.element().rank()),
    items + items,
    items + 1,
    pl.element() + 1,
    pl.int_range(0, pl.len()),
    pl.row_index(),
    pl.repeat(1, pl.len()),
    pl.lit(pl.Series([1, 2, 3])),
    pl.lit(pl.Series([1])),
    x.is_in(pl.Series([1.0])),
    x.is_in(y.implode()),
    n.is_in(items),
    x.map_elements(lambda v: v, return_dtype=pl.Float64),
    x.map_batches(lambda v: v),
    pl.map_batches(["x"], lambda v: v[0]),
    x.name.map(str.upper),
    pl.fold(0, lambda a, c: a + c, ["x", "y"]),
    s.cast(pl.Int64),
    x.cast(pl.Int64),
    n.cast(pl.Int8),
    t.cast(pl.Datetime("ns")),
    d.cast(pl.Datetime("ns")),
    s.cast(pl.Enum(["a"])),
    s.cast(pl.Categorical),
    s.cast(pl.Categorical, strict=False),
    pl.col("code").to_physical(),
    pl.col("raw").cast(pl.String, strict=False),
    x.cast(pl.dtype_of("y")),
    s.str.to_date(),
    s.str.to_date(strict=False),
    s.str.to_date("%Y"),
    s.str.to_datetime("%Y", time_zone="Europe/Paris", strict=False),
    s.str.to_integer(),
    s.str.to_integer(base=n, strict=False),
    s.str.json_decode(pl.Int64),
    s.str.decode("hex"),
    s.str.contains(s),
    s.str.slice(0, n),
    s.str.pad_start(n),
    s.str.join(","),
    s.replace_strict({"a": 1}),
    n.replace_strict({1: 2}, default=n, return_dtype=pl.Int8),
    s.replace("a", s),
    x.fill_null("none"),
    pl.when(b).then(x).otherwise(s),
    pl.coalesce(s, x),
    n.clip(0, x),
    n**n,
    x**y,
    2.0**x,
    x.truncdiv(2),
    x.reinterpret(signed=True),
    pl.mean_horizontal("x", "y"),
    n**-1,
    2**n,
    pl.col("money") * 2,
    pl.col("money") / pl.col("money"),
    pl.col("money") + pl.col("price"),
    pl.sum_horizontal("money", "money"),
    pl.coalesce("money", "n"),
    pl.coalesce("d", "fine"),
    d.dt.truncate(s),
    d.dt.offset_by(s),
    d.dt.replace(day=31),
    pl.date(pl.col("x"), 1, 1),
    pl.datetime(2020, n, 1, time_unit="ns"),
    pl.datetime(2020, n, 1, time_zone="UTC"),
    pl.time(n, 0),
    t.dt.replace_time_zone("Europe/Paris"),
    t.dt.replace_time_zone("Europe/Paris", ambiguous="null"),
    t.dt.cast_time_unit("ns"),
    pl.col("zoned").dt.month_start(),
    pl.col("zoned").dt.combine(dt.time(2, 30)),
    d.dt.add_business_days(1),
    pl.corr("x", "y"),
    pl.col("x", "y").sum(),
    pl.all() - pl.all().mean(),
    pl.when(x > x.mean()).then(1).otherwise(0),
    pl.struct("x", y.shift()),
    pl.concat_str("s", s.first()),
    x.clip(x.min(), x.max()),
    x.round(1).alias("z").sum(),
    sum([x] * 3000),
]


@pytest.mark.parametrize("expr", SOUND, ids=lambda expr: str(expr)[:60])
def test_row_local_expression_is_accepted(expr: pl.Expr) -> None:
    prove(expr, schema=SCHEMA)


@pytest.mark.parametrize("expr", UNSOUND, ids=lambda expr: str(expr)[:60])
def test_expression_that_looks_further_or_can_fail_is_refused(expr: pl.Expr) -> None:
    with pytest.raises(NotProvedError) as caught:
        prove(expr, schema=SCHEMA)
    assert caught.value.step == step_text(expr)
    assert caught.value.hint


def test_tables_are_as_large_as_promised() -> None:
    assert len(SOUND) >= 60
    assert len(UNSOUND) >= 60


@pytest.mark.parametrize("expr", [x.mean(), x.shift(1), x.sum().over("s"), x.sort()])
def test_what_is_refused_is_refused_at_any_depth(expr: pl.Expr) -> None:
    for wrapped in (
        expr + 1,
        -expr,
        expr.alias("z"),
        expr.cast(pl.Float64),
        expr.fill_null(0),
        expr.name.suffix("_2"),
        pl.when(b).then(expr).otherwise(x),
        pl.when(expr > 0).then(x),
        pl.coalesce(x, expr),
        pl.struct(x, expr).struct.field("x"),
        x.clip(0, expr),
        x.is_between(0, expr),
        ((expr * 2).exp() + 1).round(2).is_null(),
    ):
        with pytest.raises(NotProvedError):
            prove(wrapped, schema=SCHEMA)


def test_deep_expression_is_accepted_or_refused_but_never_breaks() -> None:
    prove(sum([x] * 200), schema=SCHEMA)
    for terms in (330, 400, 500, 700, 1000):
        with contextlib.suppress(NotProvedError):
            prove(sum([x] * terms), schema=SCHEMA)
    with pytest.raises(NotProvedError, match="too deep"):
        prove(sum([x] * 5000), schema=SCHEMA)


def test_missing_column_is_named_with_its_neighbours() -> None:
    with pytest.raises(ColumnNotFoundError) as caught:
        prove(pl.col("mony") + 1, schema=SCHEMA)
    assert caught.value.column == "mony"
    assert caught.value.close_matches == ("money",)


def test_expression_without_a_dtype_is_a_wrong_parameter() -> None:
    with pytest.raises(ParameterTypeError):
        prove((s + 1).cast(pl.Int64), schema=SCHEMA)


NODES = [
    {"Column": "x"},
    {"Literal": {"Dyn": {"Int": 1}}},
    {"Literal": {"Scalar": {"String": "a"}}},
    {"Alias": [{"Column": "x"}, "z"]},
    {"KeepName": {"Column": "x"}},
    {"RenameAlias": {"function": {"Suffix": "a"}, "expr": {"Column": "x"}}},
    {"BinaryExpr": {"left": {"Column": "x"}, "op": "Plus", "right": {"Column": "y"}}},
    json.loads(pl.when(b).then(x).meta.serialize(format="json")),
    json.loads(x.cast(pl.Int8, strict=False).meta.serialize(format="json")),
    json.loads(x.round(1).meta.serialize(format="json")),
    json.loads(x.abs().meta.serialize(format="json")),
    json.loads(x.clip(0, 1).meta.serialize(format="json")),
    json.loads(s.str.to_date("%Y", strict=False).meta.serialize(format="json")),
    json.loads(s.replace_strict({"a": 1}, default=None).meta.serialize(format="json")),
    json.loads(x.bin_intervals([0], labels=False).meta.serialize(format="json")),
    json.loads(t.dt.replace_time_zone("UTC").meta.serialize(format="json")),
]


def _prove_tree(tree: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "write", lambda _: json.dumps(tree))
    prove(x, schema=SCHEMA)


@pytest.mark.parametrize("tree", NODES, ids=lambda tree: json.dumps(tree)[:50])
def test_known_node_is_accepted_and_with_anything_more_refused(
    tree: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    _prove_tree(tree, monkeypatch)
    for changed in _with_more(tree):
        with pytest.raises((NotProvedError, ColumnNotFoundError)):
            _prove_tree(changed, monkeypatch)


def _with_more(tree: object) -> list[object]:
    """Return the tree with one unknown key put into each of its mappings."""
    if isinstance(tree, list):
        return [
            [*tree[:place], changed, *tree[place + 1 :]]
            for place, part in enumerate(tree)
            for changed in _with_more(part)
        ]
    if not isinstance(tree, dict):
        return []
    deeper: list[object] = [
        {**tree, key: changed}
        for key, part in tree.items()
        if key not in {"dtype", "Date", "inner"}
        for changed in _with_more(part)
    ]
    return [{**tree, "unknown": 1}, *deeper]


@pytest.mark.parametrize(
    "tree", [{"Brand new": {}}, "Brand new", {}, [], None, 3, True, {"Column": 3}]
)
def test_unknown_tree_is_refused(tree: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((NotProvedError, ColumnNotFoundError)):
        _prove_tree(tree, monkeypatch)


def test_selectors_are_bound_to_the_visible_columns() -> None:
    schema = {"x": pl.Float64(), "y": pl.Float64(), "s": pl.String()}
    rows = pl.DataFrame(
        {"hidden": [1.0], "x": [2.0], "more": ["m"], "y": [3.0], "s": ["t"]}
    )
    for expr, names in [
        (pl.all(), ["x", "y", "s"]),
        (pl.nth(0), ["x"]),
        (pl.nth(-1), ["s"]),
        (cs.float() * 2, ["x", "y"]),
        (pl.exclude("x"), ["y", "s"]),
        (pl.col("^.*$"), ["x", "y", "s"]),
        (cs.string() - cs.by_name("s"), []),
        (cs.by_name("x", "hidden", require_all=False), ["x"]),
        (pl.col("x", "y").fill_null(0), ["x", "y"]),
    ]:
        assert rows.select(prove(expr, schema=schema).runnable()).columns == names
    summed = rows.select(prove(pl.sum_horizontal(cs.float()), schema=schema).runnable())
    assert summed.item() == 5.0


def test_selection_that_cannot_be_rebuilt_exactly_is_refused() -> None:
    with pytest.raises(NotProvedError, match="name the columns"):
        prove(cs.float() * float("inf"), schema=SCHEMA).runnable()


def test_float_division_gives_a_row_the_same_bits_in_any_company() -> None:
    schema = {"x": pl.Float64(), "y": pl.Float64(), "h": pl.Float32(), "n": pl.Int64()}
    values = [*range(-60, 60), 0.1, -0.0, 1e308, float("inf")]
    rows = pl.DataFrame({"x": values, "y": values[::-1]}, strict=False)
    rows = rows.with_columns(
        h=pl.col("x").cast(pl.Float32), n=pl.Series([*range(1, 125)])
    )
    flat = pl.lit(49.0)
    for expr, native_differs in [
        (x / 49, True),
        (x // 49, True),
        (x % 49, True),
        (x / flat, True),
        (pl.col("h") / 3, True),
        (n / 49, True),
        (49 / x, False),
        (x / y, False),
        (x // y, False),
        (x % y, False),
        (1 / (y * -1 + 0), True),
        ((x * -1 + 0).cast(pl.String), True),
        (pl.arctan2(x * -1 + 0, x * 0 - 1), True),
        (pl.format("{}", x * -1 + 0), True),
        ((x * -1 + 0) ** -1, True),
    ]:
        prove(expr, schema=schema)
        for found, differs in [
            (expr, native_differs),
            (prove(expr, schema=schema).runnable(), False),
        ]:
            whole = [repr(cell) for cell in rows.select(found.alias("o"))["o"]]
            alone = [
                repr(rows[place : place + 1].select(found.alias("o"))["o"][0])
                for place in range(rows.height)
            ]
            assert (whole != alone) == differs, str(expr)
        assert (
            rows.select(found.alias("o")).schema == rows.select(expr.alias("o")).schema
        )


@pytest.mark.parametrize(
    "expr",
    [
        1 / x,
        y // x,
        y % x,
        x**-1,
        x.cot(),
        x.cast(pl.String),
        x.cast(pl.Float32).cast(pl.String),
        pl.format("{}", x),
        pl.concat_str(x, y),
        pl.arctan2(x, y),
        pl.arctan2(y, x),
        x.sqrt(),
        x.log(),
        x.sign(),
        x.replace({0.0: 1.0}),
        x.is_in([0.0]),
        x.eq_missing(0.0),
        x.bin_intervals([0.0], labels=["below", "above"]),
    ],
    ids=str,
)
def test_zeros_of_both_signs_come_out_alike(expr: pl.Expr) -> None:
    prove(expr, schema=SCHEMA)
    rows = pl.DataFrame({"x": [0.0, -0.0], "y": [-2.0, -2.0]})
    plus, minus = rows.select(
        out=prove(expr, schema={k: SCHEMA[k] for k in "xy"}).runnable()
    )["out"]
    assert plus == minus or (plus != plus and minus != minus)  # noqa: PLR0124 - NaN


def test_settled_division_is_the_one_of_polars_by_a_constant() -> None:
    schema = {"x": pl.Float64()}
    rows = pl.DataFrame({"x": [*map(float, range(-999, 999)), 0.3, 1e300]})
    for expr in (x / 49, x // 49, x // 0.1, x / -7.5, x // 10 * 10):
        assert rows.select(prove(expr, schema=schema).runnable()).equals(
            rows.select(expr)
        )


@pytest.mark.parametrize("number", [0.1, 1 / 3, 2 / 3 * 1e-7, 123456.789012345678])
def test_settled_numbers_keep_every_bit(number: float) -> None:
    found = prove(x / 2 + number, schema={"x": pl.Float64()}).runnable()
    assert pl.DataFrame({"x": [0.0]}).select(found).item() == number


def test_division_beside_an_infinite_number_is_refused() -> None:
    with pytest.raises(NotProvedError, match="with_columns"):
        prove(x / 2 > float("inf"), schema=SCHEMA).runnable()


def test_plain_columns_are_told_from_derived_ones() -> None:
    for expr, sources in [
        (x, {"x": "x"}),
        (x.alias("z").alias("w"), {"w": "x"}),
        (cs.by_name("x", "y"), {"x": "x", "y": "y"}),
        (pl.all(), {name: name for name in SCHEMA}),
        (x * 1, None),
        (x.name.suffix("_2"), None),
        (pl.lit(1).alias("x"), None),
    ]:
        assert prove(expr, schema=SCHEMA).sources == sources


FAR = pl.duration(days=95_000_000)
NAIVE = pl.lit(dt.date(2000, 1, 1)).cast(pl.Datetime("us"))
OFF_THE_CALENDAR = [
    (d + FAR).dt.to_string("%Y"),
    (d + FAR).cast(pl.String),
    (d + FAR).dt.month_end(),
    (d + FAR).dt.truncate("1mo"),
    (d + FAR).dt.round("1q"),
    (d + FAR).dt.offset_by("90000y"),
    (d + FAR).is_between(t, NAIVE),
    (d + FAR).fill_null(NAIVE),
    pl.format("{}", d + FAR),
    pl.concat_str(d + FAR, s),
    pl.when(b).then(d + FAR).otherwise(t),
    (d + FAR).cast(pl.Datetime("us")),
    n.cast(pl.Int64).cast(pl.Datetime("ms"), strict=False).dt.date(),
    (t + pl.duration(days=90_000_000)).dt.to_string("%Y"),
    pl.col("zoned").dt.replace_time_zone(None).cast(pl.String),
    (pl.col("zoned") + pl.duration(days=90_000_000)).dt.ordinal_day(),
]


@pytest.mark.parametrize("expr", OFF_THE_CALENDAR, ids=lambda expr: str(expr)[:60])
def test_no_time_is_so_far_that_an_expression_fails(expr: pl.Expr) -> None:
    schema = {name: SCHEMA[name] for name in ["n", "b", "s", "d", "t", "zoned"]}
    prove(expr, schema=schema)
    numbers = [0, 1, 10_000, 16_000_000, 2**31 - 1, -(2**31), None]
    instants = [0, 1, 2**62, 2**63 - 1, -(2**62), -(2**63), None]
    rows = pl.DataFrame(
        {
            "n": pl.Series(numbers, dtype=pl.Int32),
            "b": [True, False] * 3 + [None],
            "s": ["a"] * 7,
            "d": pl.Series(numbers, dtype=pl.Int32).cast(pl.Date),
            "t": pl.Series(instants, dtype=pl.Int64).cast(pl.Datetime("us")),
            "zoned": pl.Series(instants, dtype=pl.Int64).cast(SCHEMA["zoned"]),
        },
        schema=schema,
    )
    assert rows.select(prove(expr, schema=schema).runnable()).height == len(numbers)


def test_times_off_the_calendar_are_kept_on_it_where_text_is_added_to_them() -> None:
    ticks = pl.Series([0, 2**62], dtype=pl.Int64).cast(pl.Datetime("ms"))
    rows = pl.DataFrame({"s": ["a", "b"], "t": ticks})
    added = pl.sum_horizontal("s", "t")
    with pytest.raises(PanicException):
        rows.select(added)
    proved = prove(added, schema=rows.schema).runnable()
    assert rows.select(proved).height == 2


def test_times_on_the_calendar_are_kept_as_they_are() -> None:
    days = [dt.date.min, dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date.max, None]
    rows = pl.DataFrame({"d": days})
    for expr in (d.dt.month_end(), d.dt.offset_by("-1y"), d.cast(pl.String)):
        assert rows.select(prove(expr, schema=SCHEMA).runnable()).equals(
            rows.select(expr)
        )


@pytest.mark.parametrize("length", ["260137y", "-100001y", "99999y9999999mo", s])
def test_shift_that_may_leave_the_calendar_is_refused(length: str | pl.Expr) -> None:
    for expr in (d.dt.offset_by(length), d.dt.truncate(length), d.dt.round(length)):
        with pytest.raises(NotProvedError):
            prove(expr, schema=SCHEMA)


LATE = pl.when(d > dt.date(2005, 1, 1))
GATED = [
    LATE.then(d).dt.to_string("%s"),
    LATE.then(d).cast(pl.Time, strict=False),
    LATE.then(d).cast(pl.Duration("us"), strict=False),
    LATE.then(pl.lit("a")).str.to_integer(base=99, strict=False),
    LATE.then(t).dt.round("0d"),
    LATE.then(n.dt.month()),
    LATE.then((n > 1) - (x > 1)).otherwise(n),
    LATE.then(pl.lit(5).dt.month()).otherwise(x),
    LATE.then(n).otherwise(pl.lit(None).str.len_chars()),
    (LATE.then(d).cast(pl.Int32) // (n - 1)).cast(pl.Date).dt.to_string("%s"),
]


@pytest.mark.parametrize("expr", GATED, ids=lambda expr: str(expr)[:60])
def test_what_fails_is_refused_where_a_condition_hides_it(expr: pl.Expr) -> None:
    with pytest.raises(NotProvedError):
        prove(expr, schema=SCHEMA)


WIDE = n.cast(pl.UInt64, strict=False)
HEX = s.str.decode("hex", strict=False)
FAILING = [
    pl.duration(days=n.cast(pl.UInt64, strict=False)),
    pl.duration(hours=n.cast(pl.Int128)),
    n.cast(pl.Int128) == Decimal("0.1"),
    n.cast(pl.Int128).clip(Decimal("0.1"), Decimal("0.2")),
    pl.col("money").round_sig_figs(1),
    pl.format("{}", HEX),
    pl.concat_str(HEX, s),
    pl.format("{}", pl.col("raw")),
    pl.when(b).then(pl.col("raw")).otherwise(s),
    pl.col("pair").fill_null("a"),
    pl.concat_str(pl.col("pair"), s),
    WIDE.fill_null(-1),
    pl.lit(-1).fill_null(WIDE),
    pl.when(b).then(WIDE).otherwise(-1),
    WIDE.fill_null(pl.when(b).then(-1).otherwise(-2)),
    pl.max_horizontal(WIDE, -1),
    pl.sum_horizontal(n, -1, WIDE),
    WIDE.is_close(-1),
    n.cast(pl.UInt128, strict=False).is_between(n, 5),
    pl.when(n > 1).then(s).otherwise(pl.col("span")),
    pl.when(n > 1).then(d).otherwise(pl.col("span")),
    pl.when(pl.when(b).then(n > 1).otherwise(b)).then(s).otherwise(pl.col("span")),
    s < pl.col("level"),
    pl.col("level") >= s.str.to_lowercase(),
    pl.col("level").is_between(s, pl.lit("b")),
    s > pl.lit("a", dtype=pl.Enum(["a", "b"])),
    n.cast(pl.Int128).is_close(pl.col("money")),
]


SMALL = n.cast(pl.UInt8, strict=False)
PLANNED_OTHERWISE = [
    -1 * SMALL,
    (300 * SMALL).cast(pl.UInt8, strict=False),
    pl.lit(-1).alias("less") // SMALL,
    70_000 % d.dt.month(),
    SMALL + pl.lit(300) // 2,
    SMALL.fill_null(pl.lit(300) // 2),
    b + pl.lit(None),
    pl.lit(None) / n,
    pl.col("level").fill_null("a"),
    pl.coalesce("level", pl.lit("a")),
    pl.coalesce("code", "s"),
    pl.when(b).then(d).otherwise(5),
    pl.when(n > 1).then(2**31).otherwise(1),
    pl.when(b).then(2**31).otherwise(pl.when(n > 1).then(1).otherwise(2)),
    pl.sum_horizontal(pl.lit(None), pl.lit(None).alias("none").replace(1, None)),
]


@pytest.mark.parametrize("expr", PLANNED_OTHERWISE, ids=lambda expr: str(expr)[:60])
def test_what_comes_out_in_another_dtype_than_planned_is_refused(expr: pl.Expr) -> None:
    with pytest.raises((NotProvedError, ParameterTypeError)):
        prove(expr, schema=SCHEMA)


def test_numbers_come_out_in_the_planned_dtype_beside_any_literal() -> None:
    dtypes = [
        *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16),
        *(pl.UInt32, pl.UInt64, pl.UInt128, pl.Float32, pl.Float64, pl.Boolean),
    ]
    rows = pl.DataFrame(
        {str(dtype): pl.Series([1, 0, None]).cast(dtype) for dtype in dtypes}
    )
    accepted = refused = 0
    literals = map(pl.lit, [-1, 0, 1, 127, 128, -200, 300, 2**31, 2**40, 2**63, 0.5])
    for name, literal in itertools.product(rows.columns, literals):
        for one, two in itertools.permutations([pl.col(name), literal]):
            for expr in (
                one + two,
                one - two,
                one * two,
                one / two,
                one // two,
                one % two,
                one & two,
                one.fill_null(two),
            ):
                try:
                    proved = prove(expr, schema=rows.schema)
                except (NotProvedError, ParameterTypeError):
                    refused += 1
                    continue
                try:
                    assert rows.select(proved.runnable()).schema == proved.parts.outputs
                except (PolarsError, PanicException):
                    continue  # the step says so when it is tried
                accepted += 1
    assert accepted > 1_000
    assert refused > 100


@pytest.mark.parametrize("expr", FAILING, ids=lambda expr: str(expr)[:60])
def test_expression_that_fails_on_some_values_is_refused(expr: pl.Expr) -> None:
    with pytest.raises((NotProvedError, ParameterTypeError)):
        prove(expr, schema=SCHEMA)


@pytest.mark.parametrize(
    "expr",
    [
        pl.col("x").map_elements(lambda value: value, return_dtype=pl.Int64),
        pl.col("x").map_batches(lambda values: values),
        pl.struct("x", pl.col("y").map_batches(abs)),
    ],
    ids=str,
)
def test_python_function_is_no_tree_whatever_else_is_installed(expr: pl.Expr) -> None:
    """Polars writes functions out where cloudpickle is installed, as here or not."""
    assert write(expr) is None


def test_text_that_looks_like_a_function_is_text() -> None:
    assert write(pl.col("x") == '"AnonymousFunction":{}') is not None
