from __future__ import annotations

import copy
import datetime as dt
import pickle
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pytest

import dpframe
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant
from dpframe.testing import recording
from dpframe.values import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

Frame = PrivatePolars[Any]


def rows() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "zper": [1, 2, None, 2],
            "age": [1.5, float("nan"), 3.0, None],
            "spending": [1.0, 2.0, 3.0, 4.0],
            "female": [1, 0, 1, 1],
            "state": ["CA", "NY", None, "CA"],
        }
    )


@pytest.fixture
def people() -> Frame:
    return dpframe.attach(
        rows().lazy(),
        Accountant(3),
        privacy_unit="zper",
        max_rows=5,
        bounds={"age": (0, 65), "spending": (0, 5000)},
        domain={"state": ["CA", "NY"], "female": [0, 1]},
    )


def hidden(frame: Frame) -> list[Any]:
    return frame.scan({}).collect()[UNIT].to_list()


# attach


def test_rows_without_a_unit_are_dropped(people: Frame) -> None:
    assert people.detach().collect()["zper"].to_list() == [1, 2, 2]
    assert hidden(people) == [1, 2, 2]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_float_units_join_zeros_and_drop_nan(dtype: pl.DataType) -> None:
    ids = [0.0, -0.0, float("nan"), None, 2.0]
    raw = pl.DataFrame({"id": pl.Series(ids, dtype=dtype)})
    frame = dpframe.attach(raw, Accountant(1), privacy_unit="id")
    assert list(map(str, hidden(frame))) == ["0.0", "0.0", "2.0"]
    assert frame.scan({}).collect_schema()[UNIT] == dtype


def test_frame_without_a_unit_keeps_every_row() -> None:
    frame = dpframe.attach(rows(), Accountant(1))
    assert frame.detach().equals(rows())
    assert frame.select(pl.lit(1).alias("one")).detach().height == 4


@pytest.mark.parametrize("lazy", [False, True])
def test_detached_frame_is_of_the_kind_that_was_attached(lazy: bool) -> None:  # noqa: FBT001
    raw = rows().lazy() if lazy else rows()
    frame = dpframe.attach(raw, Accountant(1))
    assert isinstance(frame.filter(pl.col("age") > 1).detach(), type(raw))


def test_later_edits_of_the_raw_frame_are_not_seen() -> None:
    raw = rows()
    column = raw["spending"]
    frame = dpframe.attach(raw, Accountant(1))
    raw[0, "spending"] = 99.0
    column[1] = 98.0
    raw.insert_column(0, pl.Series("new", [1, 2, 3, 4]))
    raw.extend(raw.clone())
    raw.drop_in_place("female")
    assert frame.detach().equals(rows())


def test_raw_frame_is_left_as_it_was() -> None:
    raw = rows()
    dpframe.attach(raw, Accountant(1), privacy_unit="zper").with_columns(age=0)
    assert raw.equals(rows())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"accountant": 1.0}, ParameterTypeError),
        ({"privacy_unit": "zpr"}, ColumnNotFoundError),
        ({"privacy_unit": ["zper"]}, ParameterTypeError),
        ({"privacy_unit": pl.col("zper")}, ParameterTypeError),
        ({"max_rows": 0}, ParameterError),
        ({"max_rows": True}, ParameterTypeError),
        ({"max_groups": 1.5}, ParameterTypeError),
        ({"max_groups": -1}, ParameterError),
        ({"bounds": {"age": 65}}, ParameterTypeError),
        ({"bounds": {"age": (65, 0)}}, ParameterError),
        ({"bounds": {"agee": (0, 65)}}, ColumnNotFoundError),
        ({"bounds": [("age", (0, 65))]}, ParameterTypeError),
        ({"domain": {"state": []}}, ParameterError),
        ({"domain": {"state": rows()["state"]}}, ParameterTypeError),
        ({"domain": {"state": [1]}}, ParameterTypeError),
    ],
)
def test_wrong_attach_is_refused(
    wrong: dict[str, Any], error: type[DPFrameError]
) -> None:
    with pytest.raises(error):
        dpframe.attach(rows(), **{"accountant": Accountant(1), **wrong})


def test_missing_unit_is_named_with_its_neighbours() -> None:
    with pytest.raises(ColumnNotFoundError) as caught:
        dpframe.attach(rows(), Accountant(1), privacy_unit="zpr")
    assert caught.value.close_matches == ("zper",)


def test_reserved_and_opaque_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="reserved"):
        dpframe.attach(rows().rename({"age": UNIT}), Accountant(1))
    opaque = pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(ParameterTypeError, match="Python objects"):
        dpframe.attach(opaque, Accountant(1))


def test_categorical_unit_is_held_by_its_text() -> None:
    raw = pl.DataFrame({"id": pl.Series(["a", "b"], dtype=pl.Categorical)})
    frame = dpframe.attach(raw, Accountant(1), privacy_unit="id")
    assert frame.scan({}).collect_schema()[UNIT] == pl.String


# schema and print


def test_schema_is_as_polars_gives_it(people: Frame) -> None:
    assert people.schema == rows().schema
    assert people.columns == rows().columns
    assert people.dtypes == rows().dtypes
    assert people.width == 5
    assert dict(people.types()) == dict(rows().schema)
    assert people.duplicate_names() == frozenset()


def test_print_shows_schema_and_state(people: Frame) -> None:
    shown = people.filter(pl.col("female") == 1).with_columns(
        decade=pl.col("age") // 10 * 10
    )
    assert repr(shown).splitlines() == [
        (
            "PrivateFrame · polars LazyFrame · unit zper, at most 5 rows' weight each"
            " · 3 of ε 3 left"
        ),
        "  zper      Int64    privacy unit",
        "  age       Float64  bounds 0 to 65",
        "  spending  Float64  bounds 0 to 5000",
        "  female    Int64    2 keys: 0, 1",
        "  state     String   2 keys: CA, NY",
        "  decade    Float64",
        'steps: filter([(col("female")) == (1)]), with_columns(decade)',
    ]


def test_html_is_escaped() -> None:
    raw = pl.DataFrame({"<b>": [1]})
    shown = dpframe.attach(raw, Accountant(1))._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


# verbs, against Polars itself


VERBS: list[Callable[[Any], Any]] = [
    lambda f: f.filter(pl.col("age") > 1),
    lambda f: f.filter(pl.col("age") > 1, pl.col("female") == 1),
    lambda f: f.filter([pl.col("age") > 1, pl.col("female") == 1]),
    lambda f: f.filter(state="CA", female=1),
    lambda f: f.filter(pl.lit(value=True)),
    lambda f: f.filter(pl.lit(value=False)),
    lambda f: f.with_columns(pl.col("age") * 2),
    lambda f: f.with_columns(double=pl.col("age") * 2, copy="age", one=1, no=None),
    lambda f: f.with_columns([pl.col("age").alias("a"), pl.lit("x").alias("b")]),
    lambda f: f.with_columns(cs.float().round(0)),
    lambda f: f.with_columns(decade=pl.col("age") // 10 * 10, third=pl.col("age") / 3),
    lambda f: f.with_columns(pl.all().is_null().name.suffix("_gone")),
    lambda f: f.with_columns(pl.when(pl.col("age") > 1).then(1).otherwise(0)),
    lambda f: f.select("zper", "age"),
    lambda f: f.select(["zper", "age"]),
    lambda f: f.select(pl.all()),
    lambda f: f.select(pl.exclude("age")),
    lambda f: f.select(pl.nth(0, -1)),
    lambda f: f.select("zper", pl.sum_horizontal(cs.numeric()).alias("s")),
    lambda f: f.select("zper", one=1),
    lambda f: f.rename({"age": "years", "female": "age"}),
    lambda f: f.rename({"age": "years", "nope": "x"}, strict=False),
    lambda f: f.drop("age"),
    lambda f: f.drop("age", "state"),
    lambda f: f.drop(["age", "nope"], strict=False),
    lambda f: f.drop(cs.float()),
    lambda f: f.cast({"female": pl.Float64}),
    lambda f: f.cast({"state": pl.Int64, "age": pl.Int8}, strict=False),
    lambda f: f.cast({cs.float(): pl.Float32}),
    lambda f: f.cast({pl.Int64: pl.Float64}),
    lambda f: f.cast(pl.String),
    lambda f: f.fill_null(0),
    lambda f: f.fill_null(0.5),
    lambda f: f.fill_null(1, matches_supertype=False),
    lambda f: f.fill_null("x"),
    lambda f: f.fill_nan(0),
    lambda f: f.fill_nan(None),
    lambda f: f.drop_nulls(),
    lambda f: f.drop_nulls("state"),
    lambda f: f.drop_nulls(["state", "age"]),
    lambda f: f.drop_nulls(cs.string()),
    lambda f: f.drop_nans(),
    lambda f: f.drop_nans(["age"]),
    lambda f: f.pipe(lambda g, k, *, m: g.filter(pl.col("age") > k + m), 1, m=0),
]


@pytest.mark.parametrize("verb", VERBS)
def test_verb_gives_what_polars_gives(verb: Callable[[Any], Any]) -> None:
    raw = rows().filter(pl.col("zper").is_not_null())
    private = verb(dpframe.attach(raw, Accountant(1), privacy_unit="zper"))
    expected = verb(raw)
    assert private.detach().equals(expected)
    assert private.schema == expected.schema
    assert private.scan(private.types()).collect().columns == [*expected.columns, UNIT]


@pytest.mark.parametrize("verb", VERBS)
def test_verb_keeps_each_row_with_its_unit(verb: Callable[[Any], Any]) -> None:
    raw = rows().with_columns(row=pl.int_range(pl.len()))
    private = verb(dpframe.attach(raw, Accountant(1), privacy_unit="row"))
    if "row" in private.columns:
        out = private.scan({"row": private.types()["row"]}).collect()
        shown = out["row"].cast(pl.Int64)
        assert shown.to_list() == out[UNIT].to_list()


def test_verbs_never_collect() -> None:
    def explode(_: pl.DataFrame) -> pl.DataFrame:
        msg = "the rows were read"
        raise AssertionError(msg)

    lazy = rows().lazy().map_batches(explode, schema=rows().schema)
    private = dpframe.attach(lazy, Accountant(1), privacy_unit="zper")
    for verb in VERBS:
        verb(private)
        repr(private)


def test_python_function_from_before_attach_still_runs() -> None:
    lazy = (
        rows()
        .lazy()
        .with_columns(
            pl.col("spending").map_elements(
                lambda value: float(str(value)) + 1, pl.Float64
            )
        )
    )
    private = dpframe.attach(lazy, Accountant(1)).filter(pl.col("spending") > 2)
    assert private.detach().collect()["spending"].to_list() == [3.0, 4.0, 5.0]


def test_unit_column_rides_along_with_select(people: Frame) -> None:
    assert people.select("age").columns == ["age", "zper"]
    assert people.select("zper", "age").columns == ["zper", "age"]
    assert people.select(pl.lit(0).alias("zper")).columns == ["zper"]
    assert people.drop("zper").select("age").columns == ["age"]
    assert hidden(people.drop("zper").select("age")) == [1, 2, 2]
    assert hidden(people.with_columns(zper=0)) == [1, 2, 2]


def test_renamed_unit_stays_the_unit(people: Frame) -> None:
    renamed = people.rename({"zper": "person"})
    assert renamed.private_state.privacy_unit == "person"
    assert renamed.select("age").columns == ["age", "person"]


# declarations travel


def bounds(frame: Frame) -> dict[str, str]:
    return {name: str(pair) for name, pair in frame.private_state.bounds.items()}


def test_bounds_travel_with_columns_taken_as_they_are(people: Frame) -> None:
    age, both = "0 to 65", {"age": "0 to 65", "spending": "0 to 5000"}
    assert bounds(people.filter(pl.col("age") > 1)) == both
    assert bounds(people.rename({"age": "years"})) == {
        "years": age,
        "spending": "0 to 5000",
    }
    assert bounds(people.rename({"age": "spending", "spending": "age"})) == {
        "spending": age,
        "age": "0 to 5000",
    }
    assert bounds(people.drop("age")) == {"spending": "0 to 5000"}
    assert bounds(people.select("age")) == {"age": age}
    assert bounds(people.select(cs.float())) == both
    assert bounds(people.select(pl.col("age").alias("y"))) == {"y": age}
    assert bounds(people.select(y="age")) == {"y": age}
    assert bounds(people.with_columns(age=pl.col("age"))) == both
    assert bounds(people.with_columns(y="age")) == {**both, "y": age}


def test_overwritten_column_forgets_its_bounds(people: Frame) -> None:
    assert "age" not in bounds(people.with_columns(age=pl.col("age") * 100))
    assert "age" not in bounds(people.with_columns(pl.col("age") * 100))
    assert "age" not in bounds(people.select(pl.col("age") * 1))
    assert "age" not in bounds(people.with_columns(cs.float() * 2))
    swapped = people.with_columns(age="spending", spending="age")
    assert bounds(swapped) == {"age": "0 to 5000", "spending": "0 to 65"}
    keys = people.with_columns(state=pl.lit("x")).private_state.domain
    assert "state" not in keys


def test_cast_and_fill_keep_declarations_that_still_suit(people: Frame) -> None:
    filled = people.fill_null(0).fill_nan(0).cast({"age": pl.Int64}, strict=False)
    assert filled.private_state.bounds["age"] == Bounds(0, 65)
    assert people.cast({"female": pl.Float64}).private_state.domain["female"] == (0, 1)
    assert "age" not in people.cast({"age": pl.String}).private_state.bounds
    assert "female" not in people.cast({"female": pl.Boolean}).private_state.domain


def test_state_is_shared_but_for_what_a_step_adds(people: Frame) -> None:
    after = people.drop_nulls("age").private_state
    assert after.accountant is people.private_state.accountant
    assert after.salt == people.private_state.salt
    assert len(after.salt) == 16
    assert after.steps == ("drop_nulls(age)",)
    assert people.private_state.steps == ()


# refusals


@pytest.mark.parametrize(
    "step",
    [
        lambda p: p.with_columns(z=pl.col("age") - pl.col("age").mean()),
        lambda p: p.filter(pl.col("age") > pl.col("age").median()),
        lambda p: p.select(pl.len()),
        lambda p: p.select(pl.col("age").sum()),
        lambda p: p.select(pl.col("age").unique()),
        lambda p: p.filter([True, False, True]),
        lambda p: p.filter(pl.Series([True, False, True])),
        lambda p: p.filter(np.array([True, False, True])),
        lambda p: p.filter(age=pl.Series([1.0])),
        lambda p: p.with_columns(pl.Series("z", [1, 2, 3])),
        lambda p: p.with_columns(z=pd.Series([1, 2, 3])),
        lambda p: p.with_columns(z=np.arange(3)),
        lambda p: p.cast({"age": pl.Int64}),
        lambda p: p.cast({"state": pl.Categorical}, strict=False),
        lambda p: p.fill_null(strategy="forward"),
        lambda p: p.fill_null(0, limit=1),
        lambda p: p.fill_null(pl.col("age").mean()),
        lambda p: p.fill_nan(pl.col("age").mean()),
    ],
)
def test_step_across_rows_is_refused_where_it_is_written(
    people: Frame, step: Callable[[Frame], Any]
) -> None:
    with pytest.raises(NotProvedError) as caught:
        step(people)
    assert caught.value.step
    assert caught.value.hint
    assert people.private_state.accountant.spent.epsilon == 0


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda p: p.select("agee"), ColumnNotFoundError),
        (lambda p: p.filter(pl.col("agee") > 1), ColumnNotFoundError),
        (lambda p: p.select(UNIT), ColumnNotFoundError),
        (lambda p: p.filter(pl.col(UNIT) > 1), ColumnNotFoundError),
        (lambda p: p.with_columns(x=pl.col(UNIT)), ColumnNotFoundError),
        (lambda p: p.drop(UNIT), ColumnNotFoundError),
        (lambda p: p.rename({UNIT: "x"}), ColumnNotFoundError),
        (lambda p: p.rename({"agee": "x"}), ColumnNotFoundError),
        (lambda p: p.cast({"agee": pl.Int64}), ColumnNotFoundError),
        (lambda p: p.drop("agee"), ColumnNotFoundError),
        (lambda p: p.drop_nulls("agee"), ColumnNotFoundError),
        (lambda p: p.rename({"age": UNIT}), ParameterError),
        (lambda p: p.with_columns(pl.lit(1).alias(UNIT)), ParameterError),
        (lambda p: p.select(pl.col("age").name.prefix(UNIT)), ParameterError),
        (lambda p: p.rename({"age": "spending"}), ParameterError),
        (lambda p: p.select("age", "age"), ParameterError),
        (lambda p: p.with_columns("age", age=1), ParameterError),
        (lambda p: p.fill_null(), ParameterError),
        (lambda p: p.rename(str.upper), ParameterTypeError),
        (lambda p: p.rename({"age": 1}), ParameterTypeError),
        (lambda p: p.filter("age"), ParameterTypeError),
        (lambda p: p.filter(pl.col("state").str.contains("(")), ParameterTypeError),
        (lambda p: p.with_columns(pl.col("state") + 1), ParameterTypeError),
        (lambda p: p.with_columns(pl.col("age").str.len_chars()), ParameterTypeError),
        (lambda p: p.select(p), ParameterTypeError),
        (lambda p: p.select(rows()), ParameterTypeError),
        (lambda p: p.select({"age": 1}), ParameterTypeError),
        (lambda p: p.select(object()), ParameterTypeError),
        (lambda p: p.drop(pl.col("age") + 1), ParameterTypeError),
        (lambda p: p.cast("number"), ParameterTypeError),
    ],
)
def test_wrong_step_is_refused_where_it_is_written(
    people: Frame, step: Callable[[Frame], Any], error: type[DPFrameError]
) -> None:
    with pytest.raises(error):
        step(people)


def test_every_method_of_polars_is_a_step_or_a_refusal(people: Frame) -> None:
    offered = {
        *("attach", "cast", "columns", "dp", "drop", "drop_nans", "drop_nulls"),
        *("dtypes", "fill_nan", "fill_null", "filter", "pipe", "rename", "schema"),
        *("explode", "group_by", "join", "select", "unnest", "unpivot", "width"),
        "with_columns",
    }
    for name in {*dir(pl.DataFrame), *dir(pl.LazyFrame)}:
        if name.startswith("_") or name in offered:
            continue
        with pytest.raises(NotProvedAttributeError) as caught:
            getattr(people, name)
        assert caught.value.step == name
        assert caught.value.hint


def test_hint_is_the_private_way(people: Frame) -> None:
    for name, way in {
        "mean": ".dp.mean(",
        "head": ".dp.agg(",
        "height": ".dp.count(",
        "groupby": ".dp.group_by(",
        "vstack": "dpframe.concat(",
        "melt": ".unpivot(",
        "write_csv": "hand out its table",
        "value_counts": ".dp.value_counts(",
        "anything": ".dp",
    }.items():
        with pytest.raises(AttributeError, match=r"Hint: .*") as caught:
            getattr(people, name)
        assert way in str(caught.value)


@pytest.mark.parametrize(
    "protocol",
    [
        len,
        list,
        bool,
        np.asarray,
        lambda p: 1 in p,
        lambda p: p["age"],
        lambda p: p[0],
        lambda p: p.__setitem__("age", 1),
        lambda p: p.__delitem__("age"),
        lambda p: p.__dataframe__(),
        lambda p: p.__arrow_c_stream__(),
        pl.DataFrame,
    ],
)
def test_protocols_are_refused(
    people: Frame, protocol: Callable[[Frame], object]
) -> None:
    with pytest.raises(NotProvedTypeError) as caught:
        protocol(people)
    assert caught.value.hint


def test_hosts_do_not_take_a_private_frame(people: Frame) -> None:
    for take in (
        lambda: pl.concat([people, people]),
        lambda: pd.concat([people, people]),
        lambda: rows().hstack(people),
        lambda: rows().lazy().join(people, on="zper"),
        lambda: rows().with_columns(people),
    ):
        with pytest.raises((TypeError, DPFrameError)):
            take()


def test_frame_is_never_copied_and_pickles_with_its_budget_alone(
    people: Frame,
) -> None:
    assert copy.copy(people) is people
    assert copy.deepcopy(people) is people
    with pytest.raises(ParameterTypeError):
        pickle.dumps(people)


def test_pickled_frame_comes_back_whole(
    people: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A durable budget pickles as a reference; one in memory stands in for it.
    monkeypatch.setattr(Accountant, "__reduce_ex__", lambda *_: (Accountant, (3,)))
    back = pickle.loads(pickle.dumps(people.filter(pl.col("age") > 1)))  # noqa: S301
    assert repr(back) == repr(people.filter(pl.col("age") > 1))
    assert hidden(back) == [1, 2]


# engines


def test_scan_reads_what_is_asked_for_alone(people: Frame) -> None:
    plan = people.with_columns(z=pl.col("spending") * 2).scan({"age": pl.Float64()})
    assert plan.collect_schema().names() == ["age", UNIT]
    assert 'col("spending")' not in plan.explain()
    assert 'PROJECT["zper", "age"] 2/5' in plan.explain()


def test_column_of_nulls_takes_the_dtype_that_is_asked_for() -> None:
    frame = dpframe.attach(pl.DataFrame({"x": [None, None]}), Accountant(1))
    out = frame.scan({"x": pl.Float64()}).collect()
    assert out["x"].dtype == pl.Float64


def test_table_takes_the_dtypes_of_the_frame(people: Frame) -> None:
    small = people.cast({"female": pl.Int8}, strict=False)
    table = pl.DataFrame({"key": [0, 1], "count": [5, 6]})
    out = small.to_host(table, {"key": "female"})
    assert out.schema == {"key": pl.Int8, "count": pl.Int64}


# nothing of the rows in any text


def test_no_text_holds_a_cell() -> None:
    secret, number = "canaryword", 7319.25
    raw = pl.DataFrame(
        {
            "id": [secret, secret],
            "x": [number, number],
            "s": [secret, secret],
            "d": [dt.date(1987, 6, 5)] * 2,
        }
    )
    private = dpframe.attach(raw, Accountant(1), privacy_unit="id", max_rows=2)
    texts = [repr(private), private._repr_html_(), str(private.private_state)]
    for step in (
        lambda p: p.cast(pl.Int64),
        lambda p: p.with_columns(pl.col("s").cast(pl.Int64)),
        lambda p: p.with_columns(pl.col("x") - pl.col("x").mean()),
        lambda p: p.with_columns(pl.col("s").str.to_date("%Y")),
        lambda p: p.with_columns(pl.col("s").str.contains("(")),
        lambda p: p.filter(pl.col("s") > 1),
        lambda p: p.select("sss"),
        lambda p: p.head(),
        lambda p: p["x"],
        len,
        lambda p: p.with_columns(pl.col("d").dt.replace(day=31)),
        lambda p: p.fill_null(strategy="mean"),
    ):
        with pytest.raises((DPFrameError, TypeError)) as caught:
            step(private)
        texts.append("".join(traceback.format_exception(caught.value)))
    made = private.filter(pl.col("x") > 0).with_columns(y=pl.col("x") * 2)
    texts += [repr(made), repr(made.private_state.steps)]
    for text in texts:
        for canary in (secret, "7319", "1987"):
            assert canary not in text


def test_cast_of_all_columns_takes_times_of_several_dtypes() -> None:
    raw = pl.DataFrame(
        {"day": [dt.date(2020, 1, 1)], "at": [None]},
        schema={"day": pl.Date, "at": pl.Datetime("ms")},
    )
    frame = dpframe.attach(raw, Accountant(epsilon=1)).cast(pl.String)
    assert frame.dp.detach().equals(raw.cast(pl.String))


@pytest.mark.parametrize("name", ["^__dp.*$", "*", "^.*$"])
def test_dropping_by_a_pattern_keeps_the_unit_of_every_row(name: str) -> None:
    frame = pl.DataFrame({"u": [1, 1, 2], "x": [1, 2, 3]})
    private = dpframe.attach(
        frame, dpframe.Accountant(epsilon=10), privacy_unit="u", max_rows=2
    )
    left = private.rename({"x": name}).drop(name)
    by_selector = private.rename({"x": name}).drop(cs.by_name(name))
    assert by_selector.columns == ["u"]
    with recording(noiseless=True):
        assert left.dp.count(epsilon=1).value == 3
        assert by_selector.dp.count(epsilon=1).value == 3
