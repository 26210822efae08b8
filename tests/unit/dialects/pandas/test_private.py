from __future__ import annotations

import copy
import datetime as dt
import logging
import pickle
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe
from dpframe.dialects.pandas.hints import HINTS
from dpframe.dialects.pandas.private import PrivatePandas
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

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - a naive instant is meant


def attach(frame: pd.DataFrame, **options: Any) -> PrivatePandas:
    return dpframe.attach(frame, Accountant(epsilon=3), **options)


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [1, 1, None, 3],
            "age": [10.0, np.nan, 30, 40],
            "state": ["CA", "NY", None, "CA"],
        },
        index=[5, 5, 4, 3],
    )


def attached() -> PrivatePandas:
    return attach(
        people(),
        privacy_unit="id",
        max_rows=5,
        bounds={"age": (0, 65)},
        domain={"state": ["CA", "NY"]},
    )


# What it shows


def test_repr_shows_schema_and_privacy_state_and_no_value() -> None:
    frame = attached()
    assert repr(frame.query("age > 3")) == (
        "PrivateFrame · pandas DataFrame · unit id, at most 5 rows' weight each"
        " · 3 of ε 3 left\n"
        "  id     float64  privacy unit\n"
        "  age    float64  bounds 0 to 65\n"
        "  state  str      2 keys: CA, NY\n"
        "steps: query('age > 3')"
    )
    assert "<td>bounds 0 to 65</td>" in frame._repr_html_()


def test_columns_and_dtypes_are_those_of_pandas_without_the_hidden_column() -> None:
    frame = attached()
    assert list(frame.columns) == ["id", "age", "state"]
    assert frame.dtypes.to_dict() == people().dtypes.to_dict() == dict(frame.schema)
    assert list(frame.types()) == ["id", "age", "state"]


def test_categories_are_not_shown_since_they_may_come_from_the_data() -> None:
    frame = attach(pd.DataFrame({"g": pd.Categorical(["secret"], ordered=True)}))
    assert frame.schema["g"] == pd.CategoricalDtype(ordered=True)
    assert "secret" not in repr(frame.schema) + repr(list(frame.dtypes))


# Attach


def test_rows_without_a_unit_are_dropped_and_labels_are_forgotten() -> None:
    native = attached().detach()
    assert native["id"].tolist() == [1, 1, 3]
    assert native.index.tolist() == [0, 1, 2]


def test_raw_frame_and_its_attrs_are_never_changed() -> None:
    raw = people()
    raw.attrs["note"] = ["kept"]
    before = raw.copy()
    frame = (
        attach(raw, privacy_unit="id", max_rows=1)
        .assign(z=1, age=0)
        .fillna({"state": "x"})
    )
    pd.testing.assert_frame_equal(raw, before)
    assert raw.attrs == {"note": ["kept"]}
    assert frame.detach().attrs == {}


def test_later_edits_of_the_raw_frame_are_not_seen() -> None:
    raw = people()
    frame = attach(raw)
    raw.loc[:, "age"] = -1.0
    raw["state"] = "ZZ"
    raw.iloc[0, 0] = 99
    raw.pop("id")
    pd.testing.assert_frame_equal(frame.detach(), people().reset_index(drop=True))


def test_edits_of_a_detached_frame_are_not_seen() -> None:
    frame = attach(people())
    native = frame.detach()
    native.loc[:, "age"] = -1.0
    assert frame.detach()["age"].tolist()[0] == 10


def test_attach_refuses_what_it_cannot_hold() -> None:
    budget = Accountant(epsilon=1)
    with pytest.raises(ParameterTypeError, match="Accountant"):
        dpframe.attach(people(), 1.0)
    with pytest.raises(ParameterTypeError, match="to_frame"):
        dpframe.attach(people()["age"], budget)
    levels = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(ParameterTypeError, match="levels"):
        dpframe.attach(levels, budget)
    with pytest.raises(ParameterError, match="reserved"):
        attach(pd.DataFrame({UNIT: [1]}))
    with pytest.raises(ColumnNotFoundError) as caught:
        attach(people(), privacy_unit="ids")
    assert caught.value.close_matches == ("id",)
    with pytest.raises(ParameterError, match="at least 1"):
        attach(people(), privacy_unit="id", max_rows=0)
    with pytest.raises(ParameterTypeError):
        attach(pd.DataFrame({"z": [1j]}), privacy_unit="z")
    assert float(budget.spent) == 0


def test_a_name_that_occurs_twice_rides_along_and_is_refused_when_used() -> None:
    raw = pd.DataFrame([[1, 2, 3]], columns=["x", "y", "x"])
    frame = attach(raw)
    assert frame.duplicate_names() == {"x"}
    assert list(frame.types()) == ["y"]
    for use in (
        lambda: frame[["x"]],
        lambda: frame.query("x > 1"),
        lambda: frame.assign(z=lambda d: d.x),
        lambda: frame.assign(x=1),
        lambda: frame.drop(columns="x"),
        lambda: attach(raw, bounds={"x": (0, 1)}),
        lambda: attach(raw, privacy_unit="x"),
    ):
        with pytest.raises(ParameterError, match="'x'"):
            use()
    assert frame.query("y == 2").detach().to_numpy().tolist() == [[1, 2, 3]]
    assert frame.scan({"y": pl.Int64()}).collect()["y"].to_list() == [2]


def test_a_name_that_is_no_text_rides_along_and_is_refused_when_used() -> None:
    frame = attach(pd.DataFrame({0: [1, 2], "y": [3, 4]}))
    assert list(frame.types()) == ["y"]
    with pytest.raises(ParameterTypeError, match="text"):
        frame[[0]]
    assert frame.query("y > 3").detach()[0].tolist() == [2]


# Verbs


def test_the_unit_survives_select_drop_rename_and_overwriting() -> None:
    frame = attached()
    for other in (
        frame[["age"]],
        frame.drop(columns="id"),
        frame.rename(columns={"id": "who"}),
        frame.assign(id=7),
    ):
        assert other.scan({}).collect()[UNIT].to_list() == [1, 1, 3]
        assert UNIT not in other.columns
        assert UNIT not in other.detach().columns
    assert list(frame[["age"]].columns) == ["id", "age"]
    with pytest.raises(ParameterError):
        frame.assign(**{UNIT: 1})
    for use in (
        lambda: frame[[UNIT]],
        lambda: frame.drop(columns=UNIT),
        lambda: frame.query(f"{UNIT} == 1"),
        lambda: frame.assign(z=lambda d: d[UNIT]),
        lambda: frame.dropna(subset=[UNIT]),
    ):
        with pytest.raises(ColumnNotFoundError):
            use()
    with pytest.raises(ParameterTypeError):
        frame.rename(columns={"age": UNIT})


def test_declarations_travel_with_their_columns() -> None:
    frame = attached()

    def declared(other: PrivatePandas) -> set[str]:
        return {*other.private_state.bounds, *other.private_state.domain}

    assert declared(frame.rename(columns={"age": "years"})) == {"years", "state"}
    assert declared(frame.drop(columns="age")) == {"state"}
    assert declared(frame[["state"]]) == {"state"}
    assert declared(frame.assign(age=lambda d: d.age * 100)) == {"state"}
    assert declared(frame.fillna({"age": 0})) == {"age", "state"}
    assert declared(frame.astype({"age": "float32"})) == {"age", "state"}
    assert declared(frame.query("age > 3").dropna()) == {"age", "state"}
    assert frame.private_state.bounds["age"] == Bounds(0, 65)


def test_steps_are_on_record_in_order() -> None:
    frame = attached().query("age > 3").assign(z=1)[["z"]]
    steps = frame.private_state.steps
    assert [step.short for step in steps] == [
        "query('age > 3')",
        "assign(z)",
        "[id, z]",
    ]
    assert steps == ("query((age > 3))", "assign(z=1)", "[id, z]")


def test_verbs_give_what_pandas_gives() -> None:
    raw = people().dropna(subset=["id"]).reset_index(drop=True)
    frame = attach(raw)

    def theirs(native: pd.DataFrame) -> pd.DataFrame:
        return native.reset_index(drop=True)

    for ours, plain in (
        (frame.query("age >= 10"), raw.query("age >= 10")),
        (frame[lambda d: d["state"] == "CA"], raw[raw["state"] == "CA"]),
        (frame[pd.col("age").isna()], raw[raw["age"].isna()]),
        (frame[["state", "id"]], raw[["state", "id"]]),
        (frame.rename(columns={"age": "a"}), raw.rename(columns={"age": "a"})),
        (frame.drop(columns=["age"]), raw.drop(columns=["age"])),
        (frame.drop("age", axis=1), raw.drop("age", axis=1)),
        (frame.dropna(), raw.dropna()),
        (frame.dropna(subset="age", how="all"), raw.dropna(subset="age", how="all")),
        (frame.fillna({"age": 1}), raw.fillna({"age": 1})),
        (frame.astype({"id": "float32"}), raw.astype({"id": "float32"})),
        (frame.assign(a=1, b=lambda d: d.a + 1), raw.assign(a=1, b=2)),
        (frame.pipe(PrivatePandas.query, "id == 3"), raw.query("id == 3")),
    ):
        pd.testing.assert_frame_equal(ours.detach(), theirs(plain))


def test_options_that_could_mix_rows_are_refused_by_name() -> None:
    frame = attached()
    for name, use in {
        "inplace": lambda: frame.query("age > 3", inplace=True),  # noqa: PD002 - refused
        "engine": lambda: frame.query("age > 3", engine="numexpr"),
        "axis": lambda: frame.dropna(axis=1),
        "thresh": lambda: frame.dropna(thresh=2),
        "method": lambda: frame.fillna(method="ffill"),
        "limit": lambda: frame.fillna(0, limit=1),
        "index": lambda: frame.rename(index={0: 1}),
        "errors": lambda: frame.astype("float64", errors="ignore"),
        "level": lambda: frame.drop(columns="age", level=0),
    }.items():
        with pytest.raises(NotProvedTypeError, match=name):
            use()


def test_values_that_are_matched_by_position_or_index_are_refused() -> None:
    raw = people()
    frame = attach(raw)
    for value in (raw["age"], [1, 2, 3, 4], np.arange(4), raw, pd.Index([1, 2, 3, 4])):
        with pytest.raises(NotProvedError, match="assign"):
            frame.assign(z=value)
        with pytest.raises(NotProvedTypeError):
            frame[value] if not isinstance(value, list) else frame[raw["age"] > 3]
    with pytest.raises(NotProvedError):
        frame.fillna(raw["age"])
    with pytest.raises(NotProvedError):
        frame.fillna({"age": raw["age"]})
    with pytest.raises(NotProvedError):
        frame[lambda _: True]
    with pytest.raises(ParameterTypeError):
        frame[lambda d: d["age"]]


def test_rename_refuses_to_make_two_columns_one() -> None:
    with pytest.raises(ParameterError, match="one name"):
        attached().rename(columns={"age": "state"})
    with pytest.raises(ParameterTypeError, match="columns"):
        attached().rename(str.upper)
    with pytest.raises(ColumnNotFoundError):
        attached().rename(columns={"agee": "a"}, errors="raise")


# What it refuses


def test_a_column_as_an_attribute_is_refused_with_how_to_name_it() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = attach(people()).age
    assert 'pd.col("age")' in str(caught.value)


@pytest.mark.parametrize("name", [*HINTS, "frobnicate", "to_sql"])
def test_what_reads_rows_is_refused_as_an_attribute_with_a_hint(name: str) -> None:
    with pytest.raises(NotProvedAttributeError) as caught:
        getattr(attached(), name)
    assert caught.value.step == name
    assert caught.value.hint
    assert not hasattr(attached(), name)


def test_protocols_that_read_rows_are_refused_as_type_errors() -> None:
    frame = attached()
    for use in (
        lambda: len(frame),
        lambda: list(frame),
        lambda: "age" in frame,
        lambda: bool(frame),
        lambda: np.asarray(frame),
        lambda: pl.DataFrame(frame),
        lambda: pa.table(frame),
        lambda: frame["age"],
        lambda: frame[0:1],
        lambda: frame.__setitem__("y", 1),
        lambda: frame.__delitem__("age"),
        frame.__dataframe__,
    ):
        with pytest.raises(NotProvedTypeError):
            use()
    with pytest.raises(TypeError):
        pd.concat([frame, frame])
    with pytest.raises(AttributeError) as caught:
        frame._private  # noqa: B018, SLF001 - the access is the test
    assert not isinstance(caught.value, DPFrameError)


def test_no_text_holds_a_cell(caplog: pytest.LogCaptureFixture) -> None:
    canary, number = "canary-7f3a", 918_273_645
    raw = pd.DataFrame(
        {
            "s": pd.Series([canary, None], dtype="str"),
            "c": pd.Categorical([canary, canary]),
            "i": [number, number],
            "o": [canary, number],
            "t": pd.to_datetime(["1987-06-05 04:03:02"] * 2),
        }
    )
    frame = attach(raw)
    said: list[str] = []
    steps = [
        lambda f: f.query("s > 3"),
        lambda f: f.query("c == 'x'"),
        lambda f: f.astype("int8"),
        lambda f: f.astype({"s": "int64"}),
        lambda f: f.astype({"s": "category"}),
        lambda f: f.fillna(0),
        lambda f: f.assign(z=lambda d: d.o + 1),
        lambda f: f.assign(z=lambda d: d.i * d.i).assign(z=lambda d: d.z.astype("m8")),
        lambda f: f.assign(z=lambda d: d.t - pd.Timestamp("1677-09-22")),
        lambda f: f.assign(z=lambda d: d.s.str.replace("(", "", regex=True)),
        lambda f: f[["s", "c", "nope"]],
        lambda f: f.dropna(subset=["q"]),
        lambda f: f.mean("i"),
        lambda f: repr(f.dtypes) + repr(f.schema) + repr(f.types()),
    ]
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for step in steps:
            try:
                said += [repr(step(frame))]
            except DPFrameError as error:
                said += [str(error), repr(error.__cause__), repr(error.__context__)]
        said += [repr(frame), frame._repr_html_(), repr(frame.private_state)]
    said += [str(each.message) for each in heard] + [caplog.text]
    assert len(said) > len(steps)
    for text in said:
        assert canary not in text
        assert str(number) not in text
        assert "1987" not in text


def test_copies_are_the_frame_and_pickles_of_an_in_memory_budget_are_refused() -> None:
    frame = attached()
    assert copy.copy(frame) is frame
    assert copy.deepcopy(frame) is frame
    with pytest.raises(ParameterTypeError, match="ledger"):
        pickle.dumps(frame)


# What engines get

MISSING = [1.5, None]
MATRIX: dict[str, tuple[pd.Series, pl.Series]] = {
    "bool": (pd.Series([True, False]), pl.Series([True, False])),
    "boolean": (pd.Series([True, None], dtype="boolean"), pl.Series([True, None])),
    "arrow bool": (
        pd.Series([True, None], dtype="bool[pyarrow]"),
        pl.Series([True, None]),
    ),
    **{
        name.lower(): (
            pd.Series([1, 100], dtype=name.lower()),
            pl.Series([1, 100], dtype=getattr(pl, name)),
        )
        for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32")
    },
    "big uint64": (
        pd.Series([2**64 - 1, 0], dtype="uint64"),
        pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
    ),
    "nullable": (
        pd.Series([2**63 - 1, None], dtype="Int64"),
        pl.Series([2**63 - 1, None]),
    ),
    "arrow int": (
        pd.Series([-(2**63), None], dtype="int64[pyarrow]"),
        pl.Series([-(2**63), None]),
    ),
    "float16": (
        pd.Series([1.5, 0.1], dtype="float16"),
        pl.Series([1.5, float(np.float16(0.1))], dtype=pl.Float32),
    ),
    "float32": (
        pd.Series([0.1, -0.0], dtype="float32"),
        pl.Series([0.1, -0.0], dtype=pl.Float32),
    ),
    "float64": (pd.Series([0.1, np.inf]), pl.Series([0.1, np.inf])),
    "Float64": (pd.Series(MISSING, dtype="Float64"), pl.Series(MISSING)),
    "arrow double": (pd.Series(MISSING, dtype="double[pyarrow]"), pl.Series(MISSING)),
    "decimal": (
        pd.Series([Decimal("1.25"), None], dtype=pd.ArrowDtype(pa.decimal128(38, 2))),
        pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(38, 2)),
    ),
    "str": (pd.Series(["ć", None], dtype="str"), pl.Series(["ć", None])),
    "string": (pd.Series(["ć", None], dtype="string"), pl.Series(["ć", None])),
    "python string": (
        pd.Series(["ć", None], dtype=pd.StringDtype("python")),
        pl.Series(["ć", None]),
    ),
    "large_string": (
        pd.Series(["ć", None], dtype=pd.ArrowDtype(pa.large_string())),
        pl.Series(["ć", None]),
    ),
    "dictionary": (
        pd.Series(
            ["ć", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
        ),
        pl.Series(["ć", None]),
    ),
    "category": (
        pd.Series(pd.Categorical(["a", None], categories=["z", "a"])),
        pl.Series(["a", None]),
    ),
    "category of ints": (
        pd.Series([7, None], dtype=pd.CategoricalDtype([9, 7])),
        pl.Series([7, None]),
    ),
    "empty category": (
        pd.Series([None, None], dtype=pd.CategoricalDtype(pd.Index([], dtype="str"))),
        pl.Series([None, None], dtype=pl.String),
    ),
    **{
        f"datetime {unit}": (
            pd.Series([NOON, None], dtype=f"datetime64[{unit}]"),
            pl.Series([NOON, None], dtype=pl.Datetime("ms" if unit == "s" else unit)),
        )
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"zone {unit}": (
            pd.Series([NOON, None], dtype=f"datetime64[{unit}]")
            .dt.tz_localize("UTC")
            .dt.tz_convert("America/New_York"),
            pl.Series([NOON, None], dtype=pl.Datetime("ms" if unit == "s" else unit))
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone("America/New_York"),
        )
        for unit in ("s", "us", "ns")
    },
    "fixed offset": (
        pd.Series([pd.Timestamp(NOON, tz=dt.timezone(dt.timedelta(hours=1)))]),
        pl.Series([NOON - dt.timedelta(hours=1)]).dt.replace_time_zone("UTC"),
    ),
    **{
        f"timedelta {unit}": (
            pd.Series([dt.timedelta(days=-3), None], dtype=f"timedelta64[{unit}]"),
            pl.Series(
                [dt.timedelta(days=-3), None],
                dtype=pl.Duration("ms" if unit == "s" else unit),
            ),
        )
        for unit in ("s", "ms", "us", "ns")
    },
    "arrow seconds": (
        pd.Series([NOON, None], dtype=pd.ArrowDtype(pa.timestamp("s"))),
        pl.Series([NOON, None], dtype=pl.Datetime("ms")),
    ),
    "arrow zone": (
        pd.Series(
            [pd.Timestamp(NOON, tz="UTC"), None],
            dtype=pd.ArrowDtype(pa.timestamp("us", "UTC")),
        ),
        pl.Series([NOON, None]).dt.replace_time_zone("UTC"),
    ),
    "arrow duration": (
        pd.Series([dt.timedelta(1), None], dtype=pd.ArrowDtype(pa.duration("s"))),
        pl.Series([dt.timedelta(1), None], dtype=pl.Duration("ms")),
    ),
    "date": (pd.Series([DAY, None], dtype="date32[pyarrow]"), pl.Series([DAY, None])),
    "date64": (
        pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date64())),
        pl.Series([DAY, None]),
    ),
}


@pytest.mark.parametrize("name", MATRIX)
def test_scan_gives_what_a_polars_frame_of_the_same_values_holds(name: str) -> None:
    column, wanted = MATRIX[name]
    for rows in (slice(None), slice(0, 0)):
        frame = attach(pd.DataFrame({"x": column.iloc[rows]}))
        types = frame.types()
        assert types["x"] == wanted.dtype
        found = frame.scan(types).collect()
        assert found.columns == ["x", UNIT]
        assert found["x"].equals(wanted[rows].alias("x"), check_dtypes=True)


@pytest.mark.parametrize("name", MATRIX)
def test_every_dtype_can_be_a_unit_and_a_table_of_keys(name: str) -> None:
    column, wanted = MATRIX[name]
    raw = pd.DataFrame({"x": column})
    frame = attach(raw, privacy_unit="x", max_rows=1)
    assert frame.scan({}).collect()[UNIT].to_list() == wanted.drop_nulls().to_list()
    table = pl.DataFrame({"x": wanted.drop_nulls()})
    back = frame.to_host(table, {"x": "x"})
    if column.dtype != "category":
        assert back["x"].dtype == column.dtype
    assert back["x"].tolist() == column.dropna().tolist()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1j]),
        pd.Series(pd.period_range("2020", periods=1, freq="D")),
        pd.Series(pd.interval_range(0, 1)),
        pd.Series(pd.arrays.SparseArray([1])),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
)
def test_dtypes_that_no_release_reads_ride_along_until_used(column: pd.Series) -> None:
    frame = attach(pd.DataFrame({"x": column, "y": [1]}))
    assert frame.query("y == 1").detach()["x"].tolist() == column.tolist()
    for use in (
        lambda: frame.query("x == 1"),
        lambda: frame.fillna({"x": 1}),
        lambda: frame.assign(z=lambda d: d.x),
    ):
        with pytest.raises(ParameterTypeError):
            use()


def test_missing_floats_are_missing_whatever_holds_them() -> None:
    values = [1.0, float("nan"), None]
    for dtype in ("float64", "Float64", "double[pyarrow]", "object"):
        frame = attach(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}))
        asked = frame.scan({"x": pl.Float64()}).collect()["x"]
        assert asked.fill_nan(None).to_list() == [1.0, None, None]


def test_object_cells_of_another_type_are_null() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    cells = [
        True, 7, np.int64(8), 2**70, 1.5, "7", None, np.nan, pd.NaT, Decimal("1.255"),
        DAY, NOON, NOON.replace(tzinfo=zone), dt.timedelta(1), np.timedelta64(5, "s"),
        pd.Timestamp(NOON), b"x", [1],
    ]  # fmt: skip
    frame = attach(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    assert frame.types()["x"] == pl.Object()

    def read(dtype: pl.DataType) -> list[object]:
        column = frame.scan({"x": dtype}).collect()["x"]
        assert column.dtype == dtype
        if dtype.is_float():
            column = column.fill_nan(None)
        return [cell for cell in column if cell is not None]

    assert read(pl.Boolean()) == [True]
    assert read(pl.Int64()) == [7, 8]
    assert read(pl.Float64()) == [7.0, 8.0, float(2**70), 1.5]
    assert read(pl.String()) == ["7"]
    assert read(pl.Decimal(38, 2)) == [Decimal("1.26")]
    assert read(pl.Date()) == [DAY]
    assert read(pl.Datetime("us")) == [NOON, NOON]
    assert read(pl.Datetime("us", "UTC")) == [NOON.replace(tzinfo=zone)]
    assert read(pl.Duration("us")) == [dt.timedelta(1), dt.timedelta(seconds=5)]


def test_object_units_are_told_apart_by_type_and_value() -> None:
    cells = ["1", 1, np.int64(1), None, "1", (1, 2)]
    raw = pd.DataFrame({"id": pd.Series(cells, dtype=object)})
    units = attach(raw, privacy_unit="id").scan({}).collect()[UNIT].to_list()
    assert [units.count(unit) for unit in units] == [2, 2, 2, 2, 1]
    assert units[0] == "1"


def test_scan_reads_only_the_columns_asked_for() -> None:
    frame = attach(pd.DataFrame({"x": [1], "o": pd.Series([object()], dtype=object)}))
    assert frame.scan({"x": pl.Int64()}).collect().columns == ["x", UNIT]


def test_later_edits_are_not_seen_by_an_engine() -> None:
    raw = pd.DataFrame({"x": [1.0, 2.0]})
    frame = attach(raw)
    lazy = frame.scan({"x": pl.Float64()})
    raw.loc[:, "x"] = 9.0
    assert lazy.collect()["x"].to_list() == [1.0, 2.0]


def test_index_labels_and_row_order_of_the_raw_frame_do_not_matter() -> None:
    for index in ([100, 101, 102, 103], [1, 1, 0, 0], [3, 2, 1, 0]):
        raw = pd.DataFrame({"x": [1, 2, 3, 4], "g": list("aabb")}, index=index)
        frame = attach(raw).assign(y=lambda d: d.x * 10)[lambda d: d.x > 1]
        found = frame.scan({"x": pl.Int64(), "y": pl.Int64(), "g": pl.String()})
        assert found.collect().drop(UNIT).rows() == [
            (2, 20, "a"), (3, 30, "b"), (4, 40, "b"),
        ]  # fmt: skip


# What comes back


def test_public_tables_take_the_dtypes_of_their_columns() -> None:
    raw = pd.DataFrame(
        {
            "c": pd.Categorical(["b"], categories=["z", "b"], ordered=True),
            "n": pd.Series([1], dtype="Int64"),
            "i": [1],
            "o": pd.Series(["x"], dtype=object),
        }
    )
    frame = attach(raw, domain={"c": ["b", "a"]})
    table = pl.DataFrame(
        {"c": ["b", "a", None], "n": [1, 2, None], "i": [1, 2, None], "o": ["x"] * 3}
    ).with_columns(count=pl.Series([3, 4, 5]), share=0.5)
    found = frame.to_host(table, {name: name for name in raw.columns})
    assert list(found["c"].cat.categories) == ["b", "a"]
    assert found["c"].cat.ordered
    assert found.dtypes.astype(str).to_dict() == {
        "c": "category",
        "n": "Int64",
        "i": "Int64",
        "o": "object",
        "count": "int64",
        "share": "float64",
    }
    assert found["c"].isna().tolist() == [False, False, True]
    assert isinstance(found.index, pd.RangeIndex)


def test_public_tables_have_the_dtypes_pandas_users_expect() -> None:
    table = pl.DataFrame(
        {
            "text": ["a", None],
            "flag": [True, False],
            "when": [NOON, None],
            "zoned": pl.Series([NOON, None]).dt.replace_time_zone("Asia/Tokyo"),
            "took": [dt.timedelta(1), None],
            "day": [DAY, None],
            "price": [Decimal("1.5"), None],
        }
    )
    found = attach(people()).to_host(table, {})
    assert found.dtypes.astype(str).to_dict() == {
        "text": "str",
        "flag": "bool",
        "when": "datetime64[us]",
        "zoned": "datetime64[us, Asia/Tokyo]",
        "took": "timedelta64[us]",
        "day": "object",
        "price": "object",
    }
    assert found["zoned"][0] == pd.Timestamp(NOON, tz="Asia/Tokyo")
    assert found["day"][0] == DAY
    assert found["when"].isna().tolist() == [False, True]


# What a value must not decide: whether a release, or a step, fails


FAR = pd.Timedelta(np.timedelta64(10_000_000, "D"))
FAR_OBJECTS: list[tuple[list[Any], Any]] = [
    ([Decimal("1e150"), Decimal("1e99999"), Decimal("sNaN")], Decimal(1)),
    ([pd.Timestamp(np.datetime64("20000-01-01", "s"))], dt.datetime(2001, 1, 1)),  # noqa: DTZ001 - a naive column
    ([np.timedelta64(3, "Y"), np.timedelta64(10**15, "D")], dt.timedelta(days=1)),
    ([dt.timedelta.max, pd.Timedelta(np.timedelta64(10**17, "s"))], dt.timedelta(1)),
]


@pytest.mark.parametrize(("far", "key"), FAR_OBJECTS)
def test_object_beyond_every_column_is_in_no_cell(far: list[Any], key: Any) -> None:
    raw = pd.DataFrame({"x": pd.Series([key, *far], dtype=object)})
    with recording(noiseless=True):
        table = attach(raw).dp.value_counts("x", keys=[key], epsilon=1)
    assert table.to_pandas()["count"].tolist() == [1]


def test_text_with_half_a_character_is_read() -> None:
    raw = pd.DataFrame({"x": pd.Series(["a", "\ud800"], dtype="string[python]")})
    with recording(noiseless=True):
        table = attach(raw).dp.value_counts("x", keys=["a"], epsilon=1)
    assert table.to_pandas()["count"].tolist() == [1]


def test_arrow_dates_beyond_the_calendar_of_python_are_computed() -> None:
    days = pa.array([0, 10**7, None], pa.int32()).cast(pa.date32())
    raw = pd.DataFrame({"day": pd.arrays.ArrowExtensionArray(days)})
    later = attach(raw)[lambda df: df["day"].dt.year > 2000]
    assert len(later.detach()) == 1


def test_instants_beyond_the_calendar_of_python_are_computed_in_any_zone() -> None:
    instants = pd.Series(np.array([0, 2**62, -(2**62)], "datetime64[us]"))
    raw = pd.DataFrame({"t": instants.dt.tz_localize("UTC")})
    raw["t"] = raw["t"].dt.tz_convert("Europe/Paris")
    for part in ("year", "hour", "day_of_year", "is_month_end", "nanosecond"):
        made = attach(raw).assign(y=lambda df, part=part: getattr(df["t"].dt, part))
        assert made.detach()["y"].iloc[0] == getattr(raw["t"].iloc[:1].dt, part).item()
    shifted = attach(raw[:1])[lambda df: (df["t"] + FAR).dt.year == 9999]
    assert len(shifted.detach()) == 1


def test_callable_is_not_shown_the_categories_of_a_column() -> None:
    raw = pd.DataFrame({"g": pd.Categorical([1, "secret"])})
    seen: list[Any] = []

    def look(df: Any) -> Any:
        seen.extend([df["g"].dtype, df["g"].recording.dtype, df["g"].recording.probe])
        return df["g"].isna()

    attach(raw).assign(missing=look)
    assert not any(hasattr(dtype, "categories") for dtype in seen)
    assert "secret" not in repr(seen)


@pytest.mark.parametrize(
    "units",
    [
        pd.Series(pd.Categorical([dt.date(2001, 1, 1), dt.date(2002, 1, 1), None])),
        pd.Series(pd.Categorical([1, "a", None])),
        pd.Series(
            pd.arrays.ArrowExtensionArray(pa.array([1.0, 2.0, float("nan")])),
        ),
    ],
    ids=["category of dates", "category of objects", "NaN in Arrow"],
)
def test_units_are_told_apart_and_the_missing_are_dropped(units: Any) -> None:
    raw = pd.DataFrame({"unit": units, "g": ["a", "b", "c"]})
    frame = attach(raw.loc[[0, 1, 1, 1, 2]], privacy_unit="unit", max_rows=1)
    with recording(noiseless=True):
        table = frame.dp.value_counts("g", keys=["a", "b", "c"], epsilon=1)
        assert frame.dp.count(of="units", epsilon=1).value == 2
    assert table.to_pandas()["count"].tolist() == [1, 1, 0]
