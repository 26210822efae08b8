"""Means and covariances against exact moments, on data far from zero."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.columns import seeded

import dpframe
from dpframe.testing import recording
from dpframe.testing import seeded as same_noise

if TYPE_CHECKING:
    from random import Random

NAMES = ("x", "y", "z")
OFFSETS = (0.0, 1e9, 2.0**50)
TABLES = 20  # at each of three offsets, by each method


def table(rng: Random, offset: float) -> dict[str, list[float]]:
    """Return up to 60 rows of three related columns near an offset."""
    rows = rng.choice((1, 2, 3, 10, 60))
    width = rng.choice((1.0, 8.0, 1000.0))
    shared = [rng.uniform(-1, 1) for _ in range(rows)]
    return {
        name: [
            min(
                max(
                    offset + width * (mix * s + (1 - mix) * rng.uniform(-1, 1)),
                    offset - width,
                ),
                offset + width,
            )
            for s in shared
        ]
        for name, mix in zip(NAMES, (0.0, 0.9, 1.0), strict=True)
    } | {"width": [width] * rows}


def moments(
    data: dict[str, list[float]], names: tuple[str, ...]
) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Return the exact mean and covariance."""
    columns = [[Fraction(value) for value in data[name]] for name in names]
    rows = len(columns[0])
    means = [sum(column, Fraction(0)) / rows for column in columns]
    return means, [
        [
            sum(
                ((a - p) * (b - q) for a, b in zip(left, right, strict=True)),
                Fraction(0),
            )
            / rows
            for right, q in zip(columns, means, strict=True)
        ]
        for left, p in zip(columns, means, strict=True)
    ]


def asked_of(method: str) -> tuple[str, ...]:
    """Return the columns that a method is for."""
    return NAMES[1:] if method == "bernstein" else NAMES


def private(data: dict[str, list[float]], offset: float, method: str) -> Any:
    width = data["width"][0]
    bounds = dict.fromkeys(NAMES, (offset - width, offset + width))
    frame = pl.DataFrame({name: data[name] for name in NAMES})
    measure = "rho" if method == "gauss" else "epsilon"
    budget = dpframe.Accountant(**{measure: 10**6})
    return dpframe.attach(frame, budget, bounds=bounds)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("method", ["linf", "sym", "dwork", "bernstein", "gauss"])
def test_moments_without_noise_are_exact_but_for_the_grid(
    method: str, offset: float
) -> None:
    rng = seeded(f"{method} {offset}")
    names = asked_of(method)
    for _ in range(TABLES):
        data = table(rng, offset)
        width = data["width"][0]
        with recording(noiseless=True):
            seen = private(data, offset, method).dp.mean_cov(
                asked_of(method), method=method, epsilon=1
            )
        means, covs = moments(data, names)
        # The mean is a double near the offset, and comes from whole steps; where a
        # rounded square is too small for its mean, the projection adds as much.
        step = width * 2.0**-20
        near = 2 * math.ulp(offset + width) + 2 * step
        found = seen.value
        assert found.n == len(data["x"])
        for i in range(len(names)):
            assert abs(Fraction(found.mean[i]) - means[i]) <= near
            for j in range(len(names)):
                assert abs(Fraction(found.cov[i, j]) - covs[i][j]) <= 8 * width * step


@pytest.mark.parametrize("epsilon", ["1/20", "5"])
@pytest.mark.parametrize(
    ("norm", "method"),
    [
        *(("box", m) for m in ("linf", "sym", "dwork", "bernstein", "gauss")),
        *((norm, m) for norm in ("l1", "l2") for m in ("sym", "dwork", "gauss")),
    ],
)
def test_released_covariance_is_finite_symmetric_and_positive(
    norm: str, method: str, epsilon: str
) -> None:
    rng = seeded(f"{norm} {method} {epsilon}")
    for offset in OFFSETS:
        for seed in range(6):
            data = table(rng, offset)
            asked = {} if norm == "box" else {"radius": 2 * max(offset, 1.0)}
            with same_noise(seed):
                seen = private(data, offset, method).dp.mean_cov(
                    asked_of(method),
                    norm=norm,
                    method=method,
                    epsilon=Fraction(epsilon),
                    **asked,
                )
            cov = np.asarray(seen.cov)
            scale = float(np.abs(cov).max())
            assert np.isfinite(cov).all()
            assert np.isfinite(np.asarray(seen.mean)).all()
            assert (cov == cov.T).all()
            assert np.linalg.eigvalsh(cov).min() >= -1e-9 * scale
            corr = np.asarray(seen.corr())
            assert np.isfinite(corr).all()
            assert (np.abs(corr) <= 1).all()
