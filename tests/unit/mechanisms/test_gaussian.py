"""The Gaussian noise of each release, against variances written down by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.kinds import GAUSSIAN_KINDS, KINDS
from checks.promises import distances
from checks.releases import seen

import dpframe
from dpframe.noise import DiscreteGaussian
from dpframe.testing import seeded

if TYPE_CHECKING:
    from checks.kinds import Kind

RHO = 0.5


@pytest.mark.parametrize("kind", GAUSSIAN_KINDS, ids=lambda kind: kind.name)
def test_sigma_squared_is_the_squared_sensitivity_over_twice_rho(kind: Kind) -> None:
    shown = seen(kind.frames(gaussian=True)[1], kind.ask)
    found = [part.noise(block) for part, block, _ in shown.blocks]
    assert found == [DiscreteGaussian(sigma2=sigma2) for sigma2 in kind.sigma2s]


@pytest.mark.parametrize("kind", GAUSSIAN_KINDS, ids=lambda kind: kind.name)
def test_neighbours_are_within_the_squared_sensitivity(kind: Kind) -> None:
    for distance, claim in distances(kind, gaussian=True):
        assert 0 < distance <= claim


def test_only_the_published_mechanism_of_2006_has_no_gaussian_noise() -> None:
    left = [kind.name for kind in KINDS if kind not in GAUSSIAN_KINDS]
    assert left == ["mean_cov of 2006"]


def moments(columns: int, **asked: Any) -> Any:
    values = np.random.default_rng(3).uniform(-1, 1, (columns, 400))
    names = [f"x{i}" for i in range(columns)]
    frame = pl.DataFrame(dict(zip(names, values, strict=True)))
    bounds = dict.fromkeys(names, (-1, 1)) if "radius" not in asked else {}
    private = frame.dp.attach(dpframe.Accountant(rho=10), bounds=bounds)
    with seeded(5):
        return private.dp.mean_cov(names, rho=RHO, **asked)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_the_moments_of_a_box_share_one_noise(columns: int) -> None:
    release = moments(columns)
    assert release.provenance.parameters["method"] == "gauss"
    variance = (1 + columns + columns**2) / (2 * RHO)
    assert release.n.stddev**2 == pytest.approx(variance)
    counts, sums, products = release.saved_parts()["sums"].redrawn()
    spread = products[1:].var(axis=0)
    close = pytest.approx(variance, rel=0.15)  # of 2000 draws
    assert counts[1:].var() == close
    assert sums[1:].var(axis=0) == pytest.approx(np.full(columns, variance), rel=0.15)
    halved = np.where(np.eye(columns) > 0, 1, 1 / 2)
    assert spread == pytest.approx(variance * halved, rel=0.15)
    assert (products == products.transpose(0, 2, 1)).all()


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_moments_of_a_ball_share_the_loss(norm: str) -> None:
    release = moments(3, norm=norm, radius=2)
    assert release.provenance.parameters["method"] == "gauss"
    each = [1 / (2 * RHO * share) for share in (0.1, 0.3, 0.6)]
    assert release.n.stddev**2 == pytest.approx(each[0], rel=1e-6)
    counts, sums, products = release.saved_parts()["sums"].redrawn()
    assert counts[1:].var() == pytest.approx(each[0], rel=0.15)
    assert sums[1:].var(axis=0) == pytest.approx(np.full(3, each[1]), rel=0.15)
    halved = np.where(np.eye(3) > 0, 1, 1 / 2)
    assert products[1:].var(axis=0) == pytest.approx(each[2] * halved, rel=0.15)


def test_gaussian_moments_of_many_columns_have_less_noise_than_pure_ones() -> None:
    names = [f"x{i}" for i in range(10)]
    frame = pl.DataFrame({name: [0.0] for name in names})
    widths: dict[str, float] = {}
    for method in ("gauss", "linf", "sym", "dwork"):
        budget = dpframe.Accountant(rho=10)
        private = frame.dp.attach(budget, bounds=dict.fromkeys(names, (-1, 1)))
        planned = private.dp.preview.mean_cov(names, method=method, epsilon=1)
        widths[method] = planned.accuracy(rows=1000)
    assert widths["gauss"] < min(widths["linf"], widths["sym"], widths["dwork"]) / 2


def test_a_preview_of_moments_covers_the_error_of_every_entry() -> None:
    planned = moments(3)
    worst = float(np.max(planned.cov.accuracy(0.95, joint=True)))
    frame = pl.DataFrame({f"x{i}": [0.0] for i in range(3)})
    private = frame.dp.attach(
        dpframe.Accountant(rho=10), bounds={f"x{i}": (-1, 1) for i in range(3)}
    )
    promised = private.dp.preview.mean_cov([*frame.columns], rho=RHO, rows=400)
    assert worst <= promised.accuracy() <= 4 * worst
    spread = math.sqrt(13 / (2 * RHO)) / 400
    assert promised.noise.name == "discrete Gaussian"
    assert promised.accuracy() > 1.96 * spread


def test_more_columns_than_a_release_holds_are_refused() -> None:
    names = [f"x{i}" for i in range(141)]
    frame = pl.DataFrame({name: [0.0] for name in names})
    private = frame.dp.attach(
        dpframe.Accountant(rho=10), bounds=dict.fromkeys(names, (-1, 1))
    )
    with pytest.raises(dpframe.ParameterError, match="141 columns have 20023 moments"):
        private.dp.mean_cov(names, rho=1)
