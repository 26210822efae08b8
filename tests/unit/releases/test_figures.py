"""Errors of figures around the values that are handed out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.noise import DiscreteLaplace
from dpframe.releases.figures import COUNT, Figures, GridError
from dpframe.testing import recording, seeded


def rounded(unit: Fraction) -> Figures:
    centre = np.array([2.5, -8.25, 40.0])
    return Figures(
        name="count",
        column=COUNT,
        values=np.array([2, 0, 40]),
        centre=centre,
        raw={"count": centre},
        error=GridError(noise=DiscreteLaplace(scale=4 / unit), unit=unit),
        low=Fraction(0),
    )


def test_the_error_of_rounded_figures_covers_the_rounding() -> None:
    figures = rounded(Fraction(1, 2**16))
    width = float(figures.error.half_width(0.95, cells=1)[0])
    accuracy = figures.accuracy(0.95, joint=False)
    assert accuracy.tolist() == [width + 0.5] * 3


def test_figures_on_a_whole_grid_need_no_rounding() -> None:
    figures = rounded(Fraction(1))
    width = float(figures.error.half_width(0.95, cells=1)[0])
    assert figures.accuracy(0.95, joint=False).tolist() == [width] * 3


def test_correlations_of_a_column_that_hardly_varies_may_be_anything() -> None:
    rows = pl.DataFrame(
        {"x": [0.0, 1.0] * 5000, "y": [0.5] * 10000, "z": [1, 0] * 5000}
    )
    frame = rows.dp.attach(dpframe.Accountant(epsilon=1)).dp.bounds(
        x=(0, 1), y=(0, 1), z=(0, 1)
    )
    with seeded(3):
        corr = frame.dp.mean_cov(["x", "y", "z"], epsilon=1).corr()
    lower, upper = corr.interval(0.95)
    assert (lower[0, 1], upper[0, 1]) == (-1, 1)
    assert lower[0, 2] == -1
    assert upper[0, 2] < -0.9
    assert np.diag(lower).tolist() == np.diag(upper).tolist() == [1, 1, 1]


def test_population_intervals_of_several_means_count_the_rows_of_a_unit_once() -> None:
    rows = pl.DataFrame({"u": range(5000), "x": [0.0, 1.0] * 2500, "y": [0.5] * 5000})
    widths: list[float] = []
    for unit in ({}, {"privacy_unit": "u", "max_rows": 4}):
        frame = rows.dp.attach(
            dpframe.Accountant(epsilon=50), bounds={"x": (0, 1), "y": (0, 1)}, **unit
        )
        with recording(noiseless=True):
            release = frame.dp.mean_cov(["x", "y"], epsilon=50)
        _, mean, other, *_ = release.interval(population=True).to_dicts()
        assert 0 <= other["lower"] < 0.5 < other["upper"] <= 1
        inner = release.interval(1 - 0.2 * 0.05).to_dicts()[1]
        widths.append(mean["upper"] - inner["upper"])
    assert widths[1] == pytest.approx(2 * widths[0])
