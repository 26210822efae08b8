from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe
from dpframe.errors import (
    ColumnNotFoundError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.testing import recording

if TYPE_CHECKING:
    from dpframe.dialects.pandas.private import PrivatePandas


def rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [1, 1, 2, 3, 3, 3],
            "k": ["a", "b", "a", None, "c", "c"],
            "x": [1, 2, 3, 4, 5, -5],
            "u": np.array([255, 255, 1, 2, 3, 4], dtype="uint8"),
            "f": [1.5, None, None, -0.0, 0.0, 2.25],
            "y": [True, False, True, True, True, False],
            "n": pd.array([1, None, None, 3, 4, 4], dtype="Int64"),
            "a": pd.array([1, None, None, 3, 4, 4], dtype="int32[pyarrow]"),
            "s": ["p", None, None, "q", "r", "q"],
            "c": pd.Categorical(["p", "q", None, "p", "p", "q"]),
            "t": pd.to_datetime(
                ["2024-01-01", "2024-02-01", None, "2024-01-01", "2025-01-01", None]
            ),
            "w": pd.to_datetime(["2024-01-01"] * 6, utc=True).tz_convert("Asia/Tokyo"),
            "d": pd.to_timedelta([1, 2, 3, None, 5, 7], unit="s"),
        }
    )


def people(frame: pd.DataFrame | None = None, **options: Any) -> PrivatePandas:
    native = rows() if frame is None else frame
    budget = dpframe.Accountant(epsilon=100)
    return dpframe.attach(native, budget, privacy_unit="id", **options)


def values(column: pd.Series) -> list[object]:
    """Plain cells, floats to ten digits: sums and quotients round in other ways."""
    cells = [None if pd.isna(cell) else cell for cell in column.astype(object)]
    return [round(c, 10) if isinstance(c, float) else c for c in cells]


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    assert list(found.columns) == list(wanted.columns)
    for name in wanted.columns:
        assert values(found[name]) == values(wanted[name]), name


FIGURES = {
    "count": "kxufynasctwd",
    "nunique": "kxufynasctwd",
    "size": "x",
    "sum": "xufynad",
    "mean": "xufyna",
    "median": "xufyna",
    "min": "xufynatwd",
    "max": "xufynatwd",
    "any": "y",
    "all": "y",
}


@pytest.mark.parametrize("keys", [["id"], ["id", "k"], ["k", "id"], ["id", "c"]])
@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_of_units_are_those_of_pandas(
    keys: list[str], name: str, *, dropna: bool
) -> None:
    figures = {f"{c}_": (c, name) for c in FIGURES[name] if c not in keys}
    options: Any = {"dropna": dropna, "as_index": False}
    found = people().groupby(keys, **options).agg(**figures).detach()
    wanted = rows().groupby(keys, **options).agg(**figures)
    same(found.sort_values(keys), wanted.sort_values(keys))


def test_all_spellings_of_a_figure_give_the_same() -> None:
    groups = people().groupby("id")
    wanted = groups.agg(x=("x", "sum")).detach()
    for found in (
        groups["x"].sum(),
        groups[["x"]].sum(),
        groups.x.sum(),
        groups["x"].agg("sum"),
        groups["x"].agg(x="sum"),
        groups["x"].agg(["sum"]).rename(columns={"sum": "x"}),
        groups[["x"]].agg({"x": np.sum}),
        groups.agg({"x": sum}),
        groups.agg(x=pd.NamedAgg("x", pd.Series.sum)),
        groups[["x", "k"]].sum(numeric_only=True),
    ):
        pd.testing.assert_frame_equal(found.detach(), wanted)
    sizes = groups.size().detach()
    for found in (groups.agg("size"), groups["x"].agg(size=len)):
        pd.testing.assert_frame_equal(found.detach(), sizes)


def test_dtypes_of_figures_do_not_depend_on_what_is_missing() -> None:
    whole, none = rows(), rows().iloc[:0]
    full = whole.dropna().head(1)
    for name, columns in FIGURES.items():
        figures = {f"{c}_": (c, name) for c in columns}
        dtypes = [
            people(frame).groupby("id").agg(**figures).detach().dtypes.astype(str)
            for frame in (whole, full, none, whole.tail(1), whole.iloc[[2]])
        ]
        assert all(dtypes[0].equals(other) for other in dtypes), name
    found = people().groupby("id").agg(
        sizes=("x", "size"), total=("n", "sum"), least=("n", "min"), first=("s", "max"),
        mean=("x", "mean"), wide=("u", "sum"), ever=("y", "any"), when=("t", "min"),
    )  # fmt: skip
    assert [str(dtype) for dtype in found.detach().dtypes] == [
        *("int64", "int64", "int64", "Int64", "str", "float64", "uint64", "bool"),
        str(rows()["t"].dtype),
    ]


def test_sums_are_exact_whatever_the_order_and_the_neighbors() -> None:
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=999) * 2.0 ** rng.integers(0, 30, 999) * 2**20)
    frame = pd.DataFrame({"id": 7, "f": cells / 2.0**20, "i": cells.astype("int64")})
    others = frame.assign(id=rng.integers(100, 200, 999), f=rng.normal(size=999))
    exact = sum(map(Fraction, frame["f"]), start=Fraction(0))
    for seed in range(4):
        table = pd.concat([frame, others]).sample(frac=1, random_state=seed)
        found = people(table).groupby("id")[["f", "i"]].sum().detach()
        mine = found[found["id"] == 7]
        assert Fraction(mine["f"].iloc[0]) == Fraction(float(exact))
        assert mine["i"].iloc[0] == int(frame["i"].sum())


def test_grouping_by_the_unit_alone_leaves_one_row_each() -> None:
    frame = people(max_rows=5, bounds={"x": (0, 9)}, domain={"k": ["a", "b"]})
    alone = frame.groupby("id").agg(x=("x", "sum")).private_state
    assert (alone.one_row, alone.max_rows, alone.unit_visible) == (True, 1, True)
    assert not alone.bounds
    both = frame.groupby(["id", "k"])["x"].max().private_state
    assert (both.one_row, both.max_rows, both.unit_visible) == (False, 5, True)
    assert set(both.domain) == {"k"}
    again = people().groupby("id").agg({"x": "max"}).groupby(["id", "x"]).size()
    assert again.private_state.one_row


def test_a_neighbor_changes_a_grouped_sum_by_what_is_claimed() -> None:
    table = rows()
    for gone in (1, 2, 3):
        records = []
        for frame in (table, table[table["id"] != gone]):
            grouped = people(frame).groupby("id").agg(x=("x", "sum"))
            with recording(noiseless=True) as seen:
                grouped.dp.bounds(x=(0, 9)).dp.mean("x", epsilon=1)
            records += seen.records
        distances = records[0].distance(records[1])
        assert all(gap <= claimed for gap, claimed in distances)
        assert any(gap for gap, _ in distances)


@pytest.mark.parametrize(
    ("name", "column", "polars"),
    [
        ("size", "x", pl.len()),
        ("count", "f", pl.col("f").count()),
        ("sum", "f", pl.col("f").sum()),
        ("sum", "x", pl.col("x").sum()),
        ("mean", "f", pl.col("f").mean()),
        ("median", "f", pl.col("f").median()),
        ("max", "n", pl.col("n").max()),
        ("any", "y", pl.col("y").any()),
    ],
)
def test_the_same_figure_in_polars_gives_the_same_exact_integers(
    name: str, column: str, polars: pl.Expr
) -> None:
    native = rows()[["id", "x", "f", "n", "y"]]
    one = people(native).groupby("id").agg(out=(column, name))
    two = (
        pl.from_pandas(native)
        .dp.attach(dpframe.Accountant(epsilon=10), privacy_unit="id")
        .group_by("id")
        .agg(out=polars)
    )
    with recording(noiseless=True) as seen:
        for frame in (one, two):
            frame.dp.sum("out", bounds=(-10, 10), epsilon=1)
    first, second = seen.records
    assert first.blocks[0].exact == second.blocks[0].exact
    assert any(map(any, first.blocks[0].exact))


def test_a_unit_of_python_objects_or_categories_is_grouped_by_what_it_is() -> None:
    for unit in (
        pd.Series([1, "1", 1, None], dtype=object),
        pd.Series(["u", "v", "u", None], dtype="category"),
        pd.Series([0.0, 1.0, -0.0, None]),
        pd.Series(["u", "v", "u", None], dtype="string[pyarrow]"),
    ):
        frame = pd.DataFrame({"id": unit, "x": [1, 2, 4, 8]})
        found = people(frame).groupby("id")["x"].sum().detach()
        assert sorted(found["x"]) == [2, 5]
        assert found["id"].dtype == unit.dtype


def test_a_step_is_on_record_with_what_was_computed() -> None:
    step = people().groupby("id").agg(n=("x", "size"), m=("x", "max"))
    last = step.private_state.steps[-1]
    assert last == "groupby(['id']).agg(n=size(), m=max(x))"
    assert last.short == "groupby(['id']).agg(n, m)"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda f: f.groupby("k"), NotProvedError),
        (lambda f: f.assign(id=1).groupby("id"), NotProvedError),
        (lambda f: f.astype({"id": "float64"}).groupby("id"), NotProvedError),
        (lambda f: f.groupby(lambda i: i), ParameterTypeError),
        (lambda f: f.groupby(rows()["id"]), ParameterTypeError),
        (lambda f: f.groupby(["id", "nobody"]), ColumnNotFoundError),
        (lambda f: f.groupby("id", level=0), NotProvedError),
        (lambda f: f.groupby(["id", "c"], observed=False), NotProvedError),
        (lambda f: f.groupby("id").agg(), ParameterError),
        (lambda f: f.groupby("id").agg("sum", n=("x", "size")), ParameterError),
        (lambda f: f.groupby("id").agg(n="size"), ParameterTypeError),
        (lambda f: f.groupby("id").agg(n=("nobody", "size")), ColumnNotFoundError),
        (lambda f: f.groupby("id").agg({"nobody": "sum"}), ColumnNotFoundError),
        (lambda f: f.groupby("id").agg({"x": ["min", "max"]}), NotProvedError),
        (lambda f: f.groupby("id").agg(["min", "max"]), NotProvedError),
        (lambda f: f.groupby("id").agg(id=("x", "sum")), ParameterError),
        (lambda f: f.groupby("id").agg(m=("x", lambda v: v.sum())), NotProvedError),
        (lambda f: f.groupby("id").agg(m=("x", np.std)), NotProvedError),
        (lambda f: f.groupby("id").agg(m=("x", 3)), ParameterTypeError),
        (lambda f: f.groupby("id").sum(), NotProvedError),
        (lambda f: f.groupby("id")["c"].max(), NotProvedError),
        (lambda f: f.groupby("id")["s"].sum(), NotProvedError),
        (lambda f: f.groupby("id")["x"].any(), NotProvedError),
        (lambda f: f.groupby("id")["nobody"], ColumnNotFoundError),
        (lambda f: f.groupby("id")[["x", "x"]], ParameterError),
        (lambda f: list(f.groupby("id")), NotProvedError),
        (lambda f: len(f.groupby("id")), NotProvedError),
        *(
            (lambda f, name=name: f.groupby("id")["x"].agg(name), NotProvedError)
            for name in ("first", "last", "std", "var", "quantile", "cumsum", "mode")
        ),
        *(
            (lambda f, name=name: getattr(f.groupby("id"), name), NotProvedError)
            for name in ("apply", "transform", "head", "first", "filter", "groups")
        ),
    ],
)
def test_what_is_not_a_figure_of_one_units_rows_is_refused(
    step: Any, error: Any
) -> None:
    with pytest.raises(error):
        step(people())


def test_without_a_unit_groups_are_released() -> None:
    frame = dpframe.attach(rows(), dpframe.Accountant(epsilon=1))
    with pytest.raises(NotProvedError, match=r"\.dp\.group_by\(\"k\""):
        frame.groupby("k")


def test_keys_keep_their_dtype_and_their_zeros_have_one_sign() -> None:
    arrow = (pa.float16(), pa.float32(), pa.dictionary(pa.int8(), pa.float64()))
    for dtype in ("float64", "float16", "Float32", *map(pd.ArrowDtype, arrow)):
        frame = pd.DataFrame({"id": 1, "k": pd.Series([-0.0, 0.0, 1.0], dtype=dtype)})
        found = people(frame).groupby(["id", "k"]).size().detach()
        assert found["k"].dtype == frame["k"].dtype
        assert sorted(found["size"]) == [1, 2]
        if "dictionary" not in str(dtype):
            assert sorted(map(repr, found["k"].astype("float64"))) == ["0.0", "1.0"]


def test_columns_of_objects_are_counted_by_size_alone() -> None:
    frame = rows().assign(o=[object()] * 6)
    assert list(people(frame).groupby("id").size().columns) == ["id", "size"]
    for step in (
        lambda f: f.groupby("id")["o"].count(),
        lambda f: f.groupby(["id", "o"]),
    ):
        with pytest.raises(ParameterTypeError, match="Python objects"):
            step(people(frame))


# Figures in each row


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_figure_in_each_row_is_that_of_pandas(name: str) -> None:
    shuffled = rows().sample(frac=1, random_state=3).reset_index(drop=True)
    for column in FIGURES[name]:
        found = people(shuffled).assign(
            out=lambda d: d.groupby("id")[column].transform(name)  # noqa: B023
        )
        wanted = shuffled.groupby("id")[column].transform(name)
        assert values(found.detach()["out"]) == values(wanted), column


def test_a_figure_in_each_row_is_a_column_like_any_other() -> None:
    frame = people().assign(
        share=lambda d: d["x"] / d.groupby("id")["x"].transform("max"),
        often=lambda d: d.groupby(["id", "k"]).x.transform(len) > 1,
    )
    native = rows()
    expected = native["x"] / native.groupby("id")["x"].transform("max")
    assert values(frame.detach()["share"]) == values(expected)
    assert values(frame.detach()["often"]) == [False] * 3 + [None] + [True] * 2
    kept = people()[lambda d: d.groupby("id")["x"].transform("size") > 2].detach()
    assert set(kept["id"]) == {3}
    last = people().assign(t=lambda d: d.groupby("id")["x"].transform(np.sum))
    step = last.private_state.steps[-1]
    assert step == "assign(t=groupby(id)[x].transform(sum))"


def test_where_another_key_is_missing_so_is_the_figure_in_a_dtype_that_holds_it() -> (
    None
):
    for frame in (rows(), rows().dropna(subset="k"), rows().iloc[:0]):
        found = people(frame).assign(
            n=lambda d: d.groupby(["id", "k"])["x"].transform("sum"),
            b=lambda d: d.groupby(["id", "k"])["y"].transform("any"),
        )
        dtypes = found.detach().dtypes.astype(str)
        assert (dtypes["n"], dtypes["b"]) == ("Int64", "boolean")


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.groupby("k")["x"].transform("sum"),
        lambda d: d.groupby(["k"])["x"].transform("sum"),
        lambda d: d.groupby("id").transform("sum"),
        lambda d: d.groupby("id")["x"].transform(lambda v: v - v.mean()),
        lambda d: d.groupby("id")["x"].transform("cumsum"),
        lambda d: d.groupby("id")["x"].transform("sum", engine="numba"),
        lambda d: d.groupby("id")["c"].transform("max"),
        lambda d: d.groupby("id")["x"].sum(),
        lambda d: d.groupby("id")["x"]["x"],
        lambda d: d.groupby("id", dropna=False)["x"].transform("sum"),
        lambda d: d.groupby("id")["x"],
        lambda d: list(d.groupby("id")),
    ],
)
def test_what_is_no_figure_in_each_row_is_refused(step: Any) -> None:
    with pytest.raises(NotProvedError):
        people().assign(out=step)


def test_a_figure_in_each_row_needs_the_units_own_column() -> None:
    def total(d: Any) -> Any:
        return d.groupby("id")["x"].transform("sum")

    alone = dpframe.attach(rows(), dpframe.Accountant(epsilon=1))
    recast = people().astype({"id": "float64"})
    for frame in (alone, people().assign(id=1), recast):
        with pytest.raises(NotProvedError, match="several privacy units"):
            frame.assign(out=total)
    with pytest.raises(NotProvedError, match="several privacy units"):
        people().assign(id=1, out=total)
    renamed = people().rename(columns={"id": "who"})
    found = renamed.assign(out=lambda d: d.groupby("who")["x"].transform("size"))
    assert list(found.detach()["out"]) == [2, 2, 1, 3, 3, 3]


@pytest.mark.parametrize(
    ("unit", "cast", "kept"),
    [
        ("int64", "Int64", True),
        ("int64", "int64", True),
        ("int64", "float64", False),
        ("str", "string", True),
        ("float64", "float64", True),
        ("float64", "float32", False),
        ("float64", "Int64", False),
        ("float64", "str", False),
        ("int64", "bool", False),
        ("float32", "float16", False),
        ("datetime64[ms]", "datetime64[s]", False),
        ("str", pd.CategoricalDtype(["1"]), False),
        (pd.CategoricalDtype([1, 2]), pd.CategoricalDtype([1, 2]), False),
    ],
)
def test_a_cast_that_may_make_one_of_two_units_ends_grouping_by_them(
    unit: Any, cast: Any, kept: Any
) -> None:
    frame = pd.DataFrame({"id": pd.Series([1, 2]).astype(unit), "x": [1, 2]})
    recast = people(frame).astype({"id": cast})
    assert recast.private_state.unit_visible is kept
    assert people(frame[["id", "x"]]).fillna({"x": 0}).private_state.unit_visible


def test_a_column_kept_from_another_step_is_refused_whatever_it_would_meet() -> None:
    kept: dict[str, Any] = {}

    def keep(frame: Any) -> Any:
        kept["sum"] = frame.groupby("id")["x"].transform("sum")
        kept["groups"] = frame.groupby("id")["x"]
        kept["frame"] = frame
        return frame["x"]

    people().assign(out=keep)
    unitless = dpframe.attach(rows(), dpframe.Accountant(epsilon=1))
    text = people(rows().astype({"x": "str"}))
    for step in (
        lambda _: kept["sum"],  # over all rows, where there is no unit
        lambda _: kept["groups"].transform("sum"),
        lambda _: kept["frame"]["x"] + 1,  # fails on some texts and not on others
        lambda d: d["n"] + kept["sum"],
        lambda d: dpframe.where(d["y"], d["n"], kept["frame"].n),
    ):
        for frame in (unitless, text, people()):
            with pytest.raises(NotProvedError, match="another step or frame"):
                frame.assign(out=step)
            with pytest.raises(NotProvedError, match="another step or frame"):
                frame.loc[lambda d, step=step: step(d) == 1]


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (["1677-09-21T12:00:00", "1677-09-22T00:00:00"], "datetime64[ns]"),
        ([2**40, 2**41], "datetime64[s]"),
    ],
)
def test_two_units_beyond_the_calendar_are_two_in_every_row(
    ids: list[Any], dtype: str
) -> None:
    frame = pd.DataFrame({"id": np.array(ids, dtype=dtype), "x": [1, 10]})
    found = people(frame).assign(out=lambda d: d.groupby("id")["x"].transform("sum"))
    assert list(found.detach()["out"]) == [1, 10]


def test_units_of_seconds_that_no_engine_tells_apart_are_missing() -> None:
    ids = np.array([2**62, 2**61, -(2**62), 0, 2**40], dtype="datetime64[s]")
    found = people(pd.DataFrame({"id": ids, "x": range(5)})).detach()
    assert list(found["x"]) == [3, 4]


@pytest.mark.parametrize("kind", [pa.duration("us"), pa.timestamp("ns")])
def test_whether_a_unit_is_missing_depends_on_no_other_row(kind: Any) -> None:
    for ids in ([-(2**63), 5], [-(2**63), None, 5]):
        frame = pd.DataFrame({"id": pd.Series(ids, dtype=pd.ArrowDtype(pa.int64()))})
        frame["id"] = pd.array(pa.array(ids, type=kind), dtype=pd.ArrowDtype(kind))
        assert len(people(frame).detach()) == 1


def test_an_overwritten_unit_is_said_to_be_gone() -> None:
    gone = people().assign(id=1)
    with pytest.raises(NotProvedError, match="no longer holds the privacy unit"):
        gone.groupby("id")
    with pytest.raises(NotProvedError, match="no longer holds the privacy unit"):
        gone.merge(gone, on="id")
