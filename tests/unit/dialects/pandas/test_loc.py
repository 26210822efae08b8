from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dpframe
from dpframe.errors import DPFrameError, NotProvedTypeError, ParameterError
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.dialects.pandas.private import PrivatePandas


@pytest.fixture
def raw() -> pd.DataFrame:
    return pd.DataFrame(
        {"x": [1, -1, 3, 0], "y": [1.5, None, 0.5, 2.0], "s": list("abca")},
        index=[9, 7, 5, 3],
    )


@pytest.fixture
def private(raw: pd.DataFrame) -> PrivatePandas:
    return dpframe.attach(raw, Accountant(epsilon=1))


GOOD: dict[str, Callable[[Any], Any]] = {
    "callable": lambda f: f.loc[lambda d: d["x"] > 0],
    "column expression": lambda f: f.loc[pd.col("x") > 0],
    "rows and columns": lambda f: f.loc[pd.col("y").notna(), ["s", "x"]],
    "columns alone": lambda f: f.loc[:, ["y"]],
    "all": lambda f: f.loc[:],
    "all of both": lambda f: f.loc[:, :],
}


@pytest.mark.parametrize("name", GOOD)
def test_loc_selects_what_pandas_selects(
    name: str, raw: pd.DataFrame, private: PrivatePandas
) -> None:
    expected = GOOD[name](raw).reset_index(drop=True)
    pd.testing.assert_frame_equal(GOOD[name](private).detach(), expected)


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "label": (lambda f: f.loc[9], "labels of rows"),
    "labels": (lambda f: f.loc[[9, 7]], "labels of rows"),
    "slice": (lambda f: f.loc[9:5], "a slice of rows"),
    "cell": (lambda f: f.loc[9, "x"], "labels of rows"),
    "mask": (lambda f: f.loc[pd.Series([True] * 4)], "labels of rows"),
    "one column": (lambda f: f.loc[:, "x"], r"\[\[\"x\"\]\]"),
    "column slice": (lambda f: f.loc[:, "x":"s"], "list of column names"),
    "three keys": (lambda f: f.loc[:, ["x"], 1], "not 3 keys"),
}


@pytest.mark.parametrize("name", BAD)
def test_loc_refuses_labels_and_single_columns_by_name(
    name: str, private: PrivatePandas
) -> None:
    step, words = BAD[name]
    with pytest.raises(NotProvedTypeError, match=words):
        step(private)


def test_loc_does_not_write(private: PrivatePandas) -> None:
    with pytest.raises(NotProvedTypeError, match=r"dpframe\.where"):
        private.loc[lambda d: d["x"] > 0, "y"] = 0
    with pytest.raises(NotProvedTypeError, match="drop"):
        del private.loc[:, "y"]


def test_loc_is_paid_for_by_the_same_budget(private: PrivatePandas) -> None:
    kept = private.loc[pd.col("x") > 0]
    kept.dp.count(epsilon=0.25)
    assert float(private.private_state.accountant.spent) == 0.25


# Keywords of the verbs on rows

KEPT: dict[str, Callable[[Any], Any]] = {
    "query": lambda f: f.query("x > 0", inplace=False, engine="python"),
    "rename": lambda f: f.rename({"x": "z"}, axis=1, inplace=False, copy=False),
    "rename by a function": lambda f: f.rename(columns=str.upper),
    "drop": lambda f: f.drop(["x"], axis="columns", inplace=False, errors="raise"),
    "drop absent": lambda f: f.drop(columns=["x", "nope"], errors="ignore"),
    "dropna": lambda f: f.dropna(axis=0, how="any", inplace=False),
    "fillna": lambda f: f.fillna({"y": 1.0}, axis=None, inplace=False, limit=None),
    "astype": lambda f: f.astype({"x": "float64"}, errors="raise"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KEPT)
def test_keyword_at_pandas_default_changes_nothing(
    name: str, raw: pd.DataFrame, private: PrivatePandas
) -> None:
    expected = KEPT[name](raw).reset_index(drop=True)
    pd.testing.assert_frame_equal(KEPT[name](private).detach(), expected)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "query inplace": (lambda f: f.query("x > 0", inplace=True), "inplace"),  # noqa: PD002 - refused
    "query engine": (lambda f: f.query("x > 0", engine="numexpr"), "engine"),
    "query level": (lambda f: f.query("x > 0", level=3), "level"),
    "query resolvers": (lambda f: f.query("x > 0", resolvers=[{}]), "resolvers"),
    "rename inplace": (lambda f: f.rename(columns={"x": "z"}, inplace=True), "inplace"),  # noqa: PD002 - refused
    "rename index": (lambda f: f.rename(index={9: 1}), "index"),
    "rename level": (lambda f: f.rename(columns={"x": "z"}, level=0), "level"),
    "drop inplace": (lambda f: f.drop(columns=["x"], inplace=True), "inplace"),  # noqa: PD002 - refused
    "drop index": (lambda f: f.drop(index=[9]), "index"),
    "dropna axis": (lambda f: f.dropna(axis=1), "axis"),
    "dropna inplace": (lambda f: f.dropna(inplace=True), "inplace"),  # noqa: PD002 - refused
    "dropna thresh": (lambda f: f.dropna(thresh=2), "thresh"),
    "fillna method": (lambda f: f.fillna(0.0, method="ffill"), "method"),
    "fillna limit": (lambda f: f.fillna({"y": 0.0}, limit=1), "limit"),
    "fillna inplace": (lambda f: f.fillna(0.0, inplace=True), "inplace"),  # noqa: PD002 - refused
    "fillna axis": (lambda f: f.fillna(0.0, axis=1), "axis"),
    "astype errors": (lambda f: f.astype("str", errors="ignore"), "errors"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_keyword_that_breaks_the_proof_is_refused_by_name(
    name: str, private: PrivatePandas
) -> None:
    step, keyword = REFUSED[name]
    with pytest.raises(DPFrameError, match=rf"\({keyword}=\.\.\.\)|{keyword}="):
        step(private)


# Public levels

LABELS = ["low", "high"]


def test_labels_of_a_cut_are_the_keys_of_its_column(private: PrivatePandas) -> None:
    binned = private.assign(
        band=lambda d: dpframe.cut(d.x, [-2, 0, 3], labels=LABELS),
        code=dpframe.cut(pd.col("x"), [-2, 0, 3], labels=[10, 20]),
    )
    assert binned.private_state.domain["band"] == ("low", "high")
    assert binned.private_state.domain["code"] == (10, 20)
    table = binned.dp.value_counts("band", epsilon=0.25).to_pandas()
    assert table["band"].tolist() == LABELS
    native = binned.detach()["band"]
    assert native.cat.ordered
    assert native.tolist() == ["high", "low", "high", "low"]


def test_cast_to_written_categories_declares_them(private: PrivatePandas) -> None:
    kind = pd.CategoricalDtype(["b", "a"])
    cast = private.astype({"s": kind})
    assert cast.private_state.domain["s"] == ("b", "a")
    assert cast.detach()["s"].astype(object).fillna("-").tolist() == list("ab-a")
    with pytest.raises(DPFrameError, match="from the rows"):
        private.astype({"s": "category"})


def test_overwritten_labels_are_forgotten(private: PrivatePandas) -> None:
    binned = private.assign(band=dpframe.cut(pd.col("x"), [-2, 0, 3]))
    assert binned.private_state.domain["band"] == ("(-2, 0]", "(0, 3]")
    assert "band" not in binned.assign(band=1).private_state.domain


def test_number_of_bins_is_refused(private: PrivatePandas) -> None:
    with pytest.raises(DPFrameError, match="a number of bins spans them"):
        private.assign(band=lambda d: dpframe.cut(d.x, 3))
    with pytest.raises(ParameterError):
        private.assign(band=lambda d: dpframe.cut(d.x, [3, 1]))
