"""Verbs that look at the names and dtypes of columns alone give what pandas gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dpframe
from dpframe.dialects.pandas.hints import GROUP_HINTS, HINTS
from dpframe.dialects.pandas.private import PrivatePandas
from dpframe.errors import NotProvedError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    Verb = Callable[[Any], Any]

RAW = pd.DataFrame(
    {
        "id": [1, 1, 2],
        "x1": [1.0, None, 3.0],
        "x2": [1, 2, 3],
        "s": ["a", "b", None],
        "k": pd.Categorical(["u", "v", "u"]),
    }
)


def private() -> Any:
    budget = dpframe.Accountant(epsilon=1)
    return RAW.dp.attach(budget, privacy_unit="id", bounds={"x1": (0, 9)})


@pytest.mark.parametrize(
    "verb",
    [
        lambda f: f.filter(["id", "x2", "nope"]),
        lambda f: f.filter(items=["id", "s"], axis=1),
        lambda f: f.filter(like="d"),
        lambda f: f.filter(regex="^(id|x[0-9])$", axis="columns"),
        lambda f: f.filter(lambda df: df["x2"] > 1).reset_index(drop=True),
        lambda f: f.filter(pd.col("x1") > 1).reset_index(drop=True),
        lambda f: f.filter(cond=lambda df: df["x1"] > 1, axis=0).reset_index(drop=True),
        lambda f: f.select_dtypes("number"),
        lambda f: f.select_dtypes(include=["int64", "category"]),
        lambda f: f.select_dtypes(exclude="str"),
        lambda f: f.add_prefix("p_"),
        lambda f: f.add_suffix("_0", axis=1),
        lambda f: f.reset_index(drop=True),
    ],
)
def test_columns_are_chosen_and_named_as_pandas_does(verb: Verb) -> None:
    pd.testing.assert_frame_equal(verb(private()).dp.detach(), verb(RAW))


def test_the_unit_stays_whatever_is_chosen() -> None:
    for chosen in (
        private().filter(like="x"),
        private().filter(["x1", "x2"]),
        private().select_dtypes("float"),
    ):
        assert chosen.columns[0] == "id"
        assert chosen.dp.state.privacy_unit == "id"
    assert dict(private().filter(["x1"]).dp.state.bounds) == dict(
        private().dp.state.bounds
    )
    named = private().add_suffix("_0")
    assert named.dp.state.privacy_unit == "id_0"
    assert list(named.dp.state.bounds) == ["x1_0"]
    named.groupby("id_0").size()


def test_resetting_an_index_changes_nothing() -> None:
    frame = private()
    assert frame.reset_index() is frame
    totals = frame.groupby("id")["x1"].sum()
    assert totals.reset_index() is totals


@pytest.mark.parametrize(
    ("verb", "hint"),
    [
        (lambda f: f.reset_index(name="n"), ".rename(columns="),
        (lambda f: f.reset_index(names="n"), ".rename(columns="),
        (lambda f: f.reset_index(level=0), "level"),
        (lambda f: f.filter([0], axis=0), "axis"),
        (lambda f: f.filter(cond=[True, False, True]), "lambda"),
        (lambda f: f.filter(lambda df: df["x1"] > 0, axis=1), "lambda"),
        (lambda f: f.filter(lambda df: df["x1"] > 0, na=True), "na"),
        (lambda f: f.add_prefix("p", axis=0), "axis"),
    ],
)
def test_what_is_about_labels_is_refused(verb: Verb, hint: str) -> None:
    with pytest.raises(NotProvedError) as refused:
        verb(private())
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    "verb",
    [
        lambda f: f.filter(),
        lambda f: f.filter(items=["x1"], like="x"),
        lambda f: f.filter(regex="["),
        lambda f: f.select_dtypes(),
        lambda f: f.select_dtypes("nonsense"),
    ],
)
def test_a_choice_that_says_nothing_is_a_mistake(verb: Verb) -> None:
    with pytest.raises(ParameterError):
        verb(private())


def test_nothing_that_chooses_columns_is_shown_a_category() -> None:
    seen: list[Any] = []

    def look(bare: Any) -> Any:
        seen.append(bare)
        return bare["x2"] > 1

    private().filter(look)
    assert not isinstance(seen[0], pd.DataFrame)


def test_every_member_of_a_frame_is_a_verb_or_has_a_hint() -> None:
    names = [name for name in dir(pd.DataFrame) if not name.startswith("_")]
    known = {*dir(PrivatePandas), *HINTS}
    assert [name for name in names if name not in known and name != "dp"] == []
    assert not HINTS.keys() & {*dir(PrivatePandas)}
    groups = [name for name in dir(RAW.groupby("s")) if not name.startswith("_")]
    offered = {*dir(private().groupby("id")), *GROUP_HINTS, *RAW.columns, "dp"}
    assert [name for name in groups if name not in offered] == []


# What hints say to write


def people() -> Any:
    rows = pd.DataFrame(
        {
            "id": [1, 1, 1, 2],
            "year": [2000, 2001, 2003, 2000],
            "x": [1.0, 2.0, None, 5.0],
            "y": [4.0, 3.0, 2.0, 1.0],
        }
    )
    budget = dpframe.Accountant(epsilon=1)
    return rows.dp.attach(budget, privacy_unit="id", max_rows=3)


def test_the_row_of_the_year_before_is_merged() -> None:
    f = people()
    before = f[["id", "year", "x"]].assign(year=lambda d: d["year"] + 1)
    before = before.rename(columns={"x": "previous"})
    found = f.merge(before, on=["id", "year"], how="left").dp.detach()
    by_year = found.sort_values(["id", "year"])["previous"].tolist()
    assert by_year[1] == 1.0
    assert pd.isna([by_year[0], *by_year[2:]]).all()


def test_a_sum_up_to_a_year_is_merged_and_grouped() -> None:
    f = people()
    then = f[["id", "year", "x"]].rename(columns={"year": "then", "x": "earlier"})
    found = f.merge(then, on="id").query("then <= year")
    running = found.groupby(["id", "year"])["earlier"].sum().dp.detach()
    assert running.sort_values(["id", "year"])["earlier"].tolist() == [1, 3, 3, 5]


def test_selections_are_stacked() -> None:
    f = people()
    found = dpframe.concat(
        [
            f[[name]].rename(columns={name: "value"}).assign(variable=name)
            for name in ["x", "y"]
        ]
    )
    assert list(found.columns) == ["id", "value", "variable"]


def test_missing_values_are_filled_by_the_units_own() -> None:
    found = people().assign(
        x=lambda d: d["x"].fillna(d.groupby("id")["x"].transform("max"))
    )
    assert found.dp.detach()["x"].tolist() == [1, 2, 2, 5]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda d: d.groupby("id")["x"].shift(), "merge"),
        (lambda d: d.groupby("id")["x"].cumsum(), "merge"),
        (lambda d: d.groupby("id")["x"].ffill(), "transform"),
        (lambda d: d.groupby("id")["x"].sum(), 'transform("sum")'),
        (lambda d: d["x"].shift(), "merge"),
        (lambda d: d[["x", "y"]].sum(axis=1), 'd["x"] + d["y"]'),
        (lambda d: d.sum(axis=1), 'd["x"] + d["y"]'),
        (lambda d: dpframe.to_datetime(d[["year", "month", "day"]]), "%Y%m%d"),
        (lambda d: d[d["x"] > 1], "frame[condition]"),
    ],
)
def test_a_step_that_looks_beyond_its_row_names_the_private_way(
    step: Verb, words: str
) -> None:
    with pytest.raises(NotProvedError) as refused:
        people().assign(z=step)
    assert words in (refused.value.hint or "")


def test_parts_of_a_date_are_put_together() -> None:
    parts = pd.DataFrame({"year": [2024], "month": [2], "day": [9]})
    found = parts.dp.attach(dpframe.Accountant(epsilon=1)).assign(
        t=lambda d: dpframe.to_datetime(
            d["year"] * 10000 + d["month"] * 100 + d["day"], format="%Y%m%d"
        )
    )
    assert found.dp.detach()["t"][0] == pd.Timestamp("2024-02-09")


@pytest.mark.parametrize("verb", ["shift", "cumsum", "rank", "ffill", "cumcount"])
def test_groups_name_the_private_way(verb: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(people().groupby("id"), verb)
    words = "transform" if verb == "ffill" else ".merge("
    assert words in str(refused.value)


def test_a_release_in_a_step_is_written_by_its_value() -> None:
    f = people().dp.bounds(x=(0, 9))
    mean = f.dp.mean("x", epsilon=0.5)
    uses: list[Verb] = [
        lambda f: f.assign(z=lambda d: d["x"] - mean),
        lambda f: f.assign(z=mean),
        lambda f: f.assign(z=lambda _: mean),
        lambda f: f.fillna(mean),
        lambda f: f.query("x > @mean", local_dict={"mean": mean}),
        lambda f: f.assign(z=lambda d: d["x"].clip(mean)),
    ]
    for use in uses:
        with pytest.raises(NotProvedError) as refused:
            use(f)
        assert ".value" in (refused.value.hint or "")
    f.assign(z=lambda d: d["x"] - mean.value)
    table = f.dp.agg(n="count", m=("x", "mean"), epsilon=0.1)
    with pytest.raises(NotProvedError) as refused:
        f.assign(z=lambda d: d["x"] - table)
    assert "release" in (refused.value.hint or "")
