"""Errors of figures around the values that are handed out."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.noise import DiscreteLaplace
from dpframe.releases.figures import COUNT, Figures, GridError, column_length
from dpframe.testing import recording, seeded
from dpframe.values import column_type


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


@pytest.mark.parametrize(
    "dtype", [pl.Date(), pl.Datetime("ns"), pl.Datetime("ms"), pl.Duration("us")]
)
@pytest.mark.parametrize("length", [1e300, float("inf")])
def test_a_length_that_no_timedelta_has_is_told_as_the_longest(
    dtype: pl.DataType, length: float
) -> None:
    column = column_type("x", dtype)
    assert dt.timedelta.max - column_length(column, length) < dt.timedelta(seconds=1)


def test_the_spread_of_a_mean_of_dates_can_be_read_however_large_the_noise() -> None:
    rows = pl.DataFrame({"day": [dt.date(2020, 1, 1)] * 14})
    account = dpframe.Accountant(epsilon=1)
    frame = rows.dp.attach(account).dp.bounds(day=(dt.date.min, dt.date.max))
    with recording(noiseless=True):  # noise itself may make the rows seem many
        mean = frame.dp.mean("day", epsilon=1e-15)
    assert dt.timedelta.max - mean.stddev < dt.timedelta(seconds=1)


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
