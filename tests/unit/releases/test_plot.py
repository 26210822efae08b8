from __future__ import annotations

import datetime as dt
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.container import BarContainer, ErrorbarContainer

from dpframe.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from matplotlib.axes import Axes

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def kinds(axes: Axes) -> set[type]:
    return {type(container) for container in axes.containers}


def ticks(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_counts_are_bars_with_the_error_of_each(made: SimpleNamespace) -> None:
    counts = made.figures([20, 4], scale=2, low=Fraction(0))
    axes = made.table({"g": ["a", "b"]}, counts, title="count by g").plot()
    assert kinds(axes) == {BarContainer, ErrorbarContainer}
    bars = next(c for c in axes.containers if isinstance(c, BarContainer))
    assert [bar.get_height() for bar in bars] == [20, 4]
    error = next(c for c in axes.containers if isinstance(c, ErrorbarContainer))
    ends = [line[:, 1].tolist() for line in error.lines[2][0].get_segments()]
    assert ends == [[14.0, 26.0], [0.0, 10.0]]
    assert ticks(axes) == ["a", "b"]
    assert axes.get_xlabel() == "g"
    assert axes.get_title(loc="left") == "count by g"
    assert "error bars: 95%" in axes.get_ylabel()


def test_bins_keep_their_place_and_width(made: SimpleNamespace) -> None:
    keys = {"bin_left": [0.0, 10.0], "bin_right": [10.0, 40.0]}
    axes = made.table(keys, made.figures([20, 4])).plot()
    bars = next(c for c in axes.containers if isinstance(c, BarContainer))
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == [5.0, 25.0]
    assert axes.get_xlim() == (0.0, 40.0)
    assert axes.get_xlabel() == "bin"


def test_bins_beside_an_other_cell_are_named(made: SimpleNamespace) -> None:
    keys = {"age_left": [0.0, 10.0, None], "age_right": [10.0, 40.0, None]}
    axes = made.table(keys, made.figures([20, 4, 1]), other=True).plot()
    assert ticks(axes) == ["0, 10", "10, 40", "other"]
    assert axes.get_xlabel() == "age"


@pytest.mark.parametrize("dtype", [pl.Float64(), pl.Date(), pl.Duration("us")])
def test_other_measures_are_points(made: SimpleNamespace, dtype: Any) -> None:
    column = made.column("x", dtype)
    means = made.figures([9000, 9001], column=column, scale=1)
    axes = made.table({"g": ["a", "b"]}, means).plot()
    assert kinds(axes) == {ErrorbarContainer}
    assert ("hours" in axes.get_ylabel()) is (dtype == pl.Duration)
    axes.figure.canvas.draw()
    offset = axes.yaxis.get_major_formatter().get_offset()
    assert ("1994" in offset) is (dtype == pl.Date)


def test_several_measures_share_an_axis_and_a_legend(made: SimpleNamespace) -> None:
    age = made.column("age", pl.Float64())
    measures = (made.figures([1, 2], name="n"), made.figures([1.0, 2.0], column=age))
    axes = made.table({"g": ["a", "b"]}, *measures).plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["n", "age"]
    day = made.figures([1, 2], column=made.column("day", pl.Date()))
    with pytest.raises(ParameterError, match="share no axis"):
        made.table({"g": ["a", "b"]}, measures[0], day).plot()


def test_many_keys_are_named_in_part_and_aslant(made: SimpleNamespace) -> None:
    keys = {"day": [dt.date(2020, 1, 1) + dt.timedelta(n) for n in range(100)]}
    axes = made.table(keys, made.figures(list(range(100)))).plot()
    assert len(ticks(axes)) == 25
    assert axes.get_xticklabels()[0].get_rotation() == 45
    axes.figure.canvas.draw()


def test_one_figure_is_a_point_with_its_error(made: SimpleNamespace) -> None:
    axes = made.scalar(9419).plot()
    assert kinds(axes) == {ErrorbarContainer}
    assert axes.get_xlabel().startswith("count of rows")
    assert not len(axes.get_yticks())


def test_a_picture_goes_into_the_axes_it_is_given(made: SimpleNamespace) -> None:
    axes = plt.figure().subplots()
    for release in (made.scalar(3), made.table({"g": [1]}, made.figures([5]))):
        assert release.plot(axes) is axes
        assert release.plot(ax=axes) is axes
    assert len(plt.get_fignums()) == 1


def test_a_picture_without_keys_has_one_place(made: SimpleNamespace) -> None:
    axes = made.table({}, made.figures([5]), shape=()).plot()
    assert np.isfinite(axes.get_xlim()).all()


def test_missing_matplotlib_names_the_extra(
    made: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"dpframe\[plot\]"):
        made.scalar(3).plot()
