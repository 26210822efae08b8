from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from dpframe.errors import NotProvedError
from dpframe.proofs.polars.outputs import all_selectors, names_stripped, singly
from dpframe.proofs.polars.tree import build
from dpframe.proofs.polars.units import Figure, Split, spans_rows

x = pl.col("x")


def tree(expr: pl.Expr) -> Any:
    return json.loads(expr.meta.serialize(format="json"))


def split(*taken: str) -> Split:
    return Split(unit="u", taken=frozenset(["u", "x", "k", *taken]))


def test_figures_are_apart_from_what_comes_before_and_after() -> None:
    found = split()
    rest = found.windowed(tree(x - (x * 2).mean().over("u", pl.col("k") + 1)))
    before, figures = found.before, found.figures
    assert {str(build(part)) for part in before.values()} == {
        str(x * 2),
        str(pl.col("k") + 1),
    }
    key, value = before
    (hidden,) = figures
    assert figures[hidden] == Figure(name="mean", value=value, keys=(key,))
    assert rest == tree(x - pl.col(hidden))


def test_equal_figures_are_taken_once() -> None:
    found = split()
    both = x.max().over("u") - (x.max() + x.min()).over("u")
    rest = found.windowed(tree(both))
    assert [one.name for one in found.figures.values()] == ["max", "min"]
    most, least = map(pl.col, found.figures)
    assert rest == tree(most - (most + least))


def test_hidden_names_are_in_no_use() -> None:
    found = split("__dpframe_0__", "__dpframe_1__0")
    found.grouped(tree(x.max()))
    assert list(found.figures) == ["__dpframe_2__"]


def test_filtered_values_are_figures_that_pass_over_the_others() -> None:
    found = split()
    found.grouped(tree(x.filter(pl.col("k") > 1).sum()))
    (inner,) = found.before.values()
    assert inner == tree(pl.when(pl.col("k") > 1).then(x))
    with pytest.raises(NotProvedError):
        split().grouped(tree(pl.lit(2).filter(pl.lit(value=True)).sum()))


@pytest.mark.parametrize(
    ("expr", "windows", "figures"),
    [
        (x + 1, False, False),
        (x.max().over("u") + 1, True, False),
        (x.max() - x.min().over("u"), True, True),
        (pl.len().alias("Over"), False, True),
        (pl.lit("Len"), False, False),
        (pl.col("Agg").alias("Len"), False, False),
        (x.str.len_chars(), False, False),
        (pl.when(x.any()).then(1).otherwise(x), False, True),
    ],
    ids=str,
)
def test_windows_and_figures_are_found_by_place_and_not_by_word(
    expr: pl.Expr, *, windows: bool, figures: bool
) -> None:
    assert spans_rows(tree(expr), windows=True) is windows
    assert spans_rows(tree(expr), windows=False) is figures


def test_selections_go_side_by_side_or_into_one_list_of_arguments() -> None:
    some = pl.col("x", "k")
    names = {text: ["x", "k"] for text in all_selectors(tree(some))}
    k = pl.col("k")
    assert list(singly(tree(some - some.max()), names)) == [
        tree(x - x.max()),
        tree(k - k.max()),
    ]
    assert list(singly(tree(pl.max_horizontal(some * 2).sum()), names)) == [
        tree(pl.max_horizontal(x * 2, k * 2).sum())
    ]
    renamed = some.sum().name.suffix("!")
    assert names_stripped(tree(renamed)) == tree(some.sum())


def test_selections_of_different_lengths_are_refused() -> None:
    both = tree(pl.col("x", "k") + pl.selectors.float())
    names = {text: ["x"] * (1 + text.count("names")) for text in all_selectors(both)}
    with pytest.raises(NotProvedError, match="different lengths"):
        list(singly(both, names))
