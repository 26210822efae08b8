from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe import BoundsRequiredError, Loss, ParameterError, ParameterTypeError
from dpframe.releases.interval_error import interval_quantile
from dpframe.testing import recording

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Host

ROWS = {"u": [1, 1, 1, 2, 3], "x": [0.5, 1.5, 2.0, 7.0, 99.0], "g": list("abcde")}


def attached(data: Any = ROWS, *, epsilon: Any = 1000, **declared: Any) -> Any:
    return pl.DataFrame(data).dp.attach(dpframe.Accountant(epsilon=epsilon), **declared)


def test_without_noise_the_shares_are_those_of_the_rows(host: Host) -> None:
    frame = host.attached(ROWS)
    with recording(noiseless=True):
        made = frame.dp.cdf("x", bins=[0, 1, 2, 4, 8], epsilon=1)
        clipped = frame.dp.cdf("x", bins=4, bounds=(0, 8), epsilon=1)
    assert made.to_dict() == {
        "bin_right": [1.0, 2.0, 4.0, 8.0],
        "fraction": [0.25, 0.5, 0.75, 1.0],
    }
    assert clipped.to_dict()["bin_right"] == [2.0, 4.0, 6.0, 8.0]
    assert clipped.to_dict()["fraction"] == pytest.approx([0.4, 0.6, 0.6, 1.0])


@pytest.mark.parametrize("bins", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("rows", [0, 3, 5000])
def test_shares_never_fall_and_end_at_one(bins: int, rows: int) -> None:
    frame = attached({"x": [k % 13 for k in range(rows)]}, bounds={"x": (0, 20)})
    for loss in (0.01, 1):
        shares = frame.dp.cdf("x", bins=bins, epsilon=loss).to_numpy()
        assert shares.shape == (bins,)
        assert (np.diff(shares) >= 0).all()
        assert shares[0] >= 0
        assert shares[-1] == 1


def test_no_rows_are_spread_evenly_and_of_low_count() -> None:
    frame = attached({"x": [None, math.nan]}, bounds={"x": (0, 4)})
    with recording(noiseless=True):
        made = frame.dp.cdf("x", bins=4, epsilon=1)
    assert made.to_numpy().tolist() == [0.25, 0.5, 0.75, 1.0]
    assert made.low_count.all()
    ends = made.interval().to_polars()
    assert set(ends["lower"]) == {0}
    assert set(ends["upper"]) == {1}
    assert "of low count" in repr(made)


@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("bins", [5, 40, 1000])
def test_the_error_is_the_largest_of_all_intervals_over_the_rows(
    limit: int | None, bins: int
) -> None:
    data = {"x": np.arange(100_000) % 50, "u": np.arange(100_000)}
    declared = {} if limit is None else {"privacy_unit": "u", "max_rows": limit}
    frame = attached(data, bounds={"x": (0, 50)}, **declared)
    preview = frame.dp.preview.cdf("x", bins=bins, epsilon=1, rows=100_000)
    with recording(noiseless=True):
        made = preview.release()
    (part,) = preview.query.parts
    noise = part.noise(part.blocks[0])
    weight = 1 if limit is None else 2**16
    assert noise.scale == Fraction(len(part.statistic.fanouts) * (limit or 1) * weight)
    for confidence in (0.5, 0.95):
        rows = interval_quantile(bins, noise, confidence=confidence) / weight
        for joint in (False, True):
            found = made.accuracy(confidence, joint=joint)
            assert found == pytest.approx(np.full(bins, rows / 100_000))
    assert preview.accuracy() == pytest.approx(made.accuracy()[0])
    assert not made.low_count.any()
    assert made.noise.name == "discrete Laplace"


def test_a_fraction_to_stay_within_needs_a_guess_of_the_rows() -> None:
    preview = attached(bounds={"x": (0, 8)}).dp.preview
    with pytest.raises(ParameterError, match="rows="):
        preview.cdf("x", bins=16, within=0.01)
    found = preview.cdf("x", bins=16, within=0.01, rows=10_000)
    assert found.accuracy(joint=True) <= 0.01
    assert "/ n each" in repr(preview.cdf("x", bins=16, epsilon=1))


@pytest.mark.parametrize("within", [1, 1.5])
def test_an_error_that_every_fraction_keeps_buys_nothing(within: float) -> None:
    frame = attached(bounds={"x": (0, 8)})
    with pytest.raises(ParameterError, match=r"even one of noise alone") as refused:
        frame.dp.cdf("x", bins=16, within=within, rows=10_000)
    assert "never above 1" in str(refused.value)
    assert len(frame.dp.state.accountant.events) == 0
    assert frame.dp.preview.cdf("x", bins=16, within=0.999, rows=10_000).cost


def test_gaussian_noise_has_a_distribution_too() -> None:
    frame = pl.DataFrame(ROWS).dp.attach(
        dpframe.Accountant(rho=1), bounds={"x": (0, 8)}
    )
    made = frame.dp.cdf("x", bins=300, rho=0.5)
    assert made.noise.name == "discrete Gaussian"
    assert made.cost == Loss(rho=Fraction(1, 2))


def test_days_are_bins_too(host: Host, tmp_path: Path) -> None:
    days = [dt.datetime(2024, 1, k) for k in (1, 2, 2, 5)]  # noqa: DTZ001 - naive
    edges = [days[0], days[1], days[3]]
    frame = host.attached({"day": days})
    with recording(noiseless=True):
        made = frame.dp.cdf("day", bins=edges, epsilon=1)
    assert made.to_polars()["bin_right"].to_list() == edges[1:]
    assert made.to_polars()["fraction"].to_list() == [0.25, 1.0]
    kept = frame.dp.cdf("day", bins=edges, epsilon=1)
    again = dpframe.load(kept.save(tmp_path / "kept"))
    assert repr(again) == repr(kept)
    assert again.interval().to_polars().equals(kept.interval().to_polars())
    assert again.raw.equals(kept.raw)
    kept.plot()


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"bins": 4}, BoundsRequiredError, "4 bins need the bounds"),
        ({"bins": [3, 2, 1]}, ParameterError, "increasing"),
        ({"bins": 0, "bounds": (0, 1)}, ParameterError, "at least 1"),
        ({"bins": True}, ParameterTypeError, "not bool"),
        ({"bins": None}, ParameterTypeError, "bins"),
        ({"bins": [0, 1], "column": "g"}, ParameterTypeError, "no bins"),
        ({"bins": [0, 1], "column": "z"}, dpframe.ColumnNotFoundError, "z"),
    ],
)
def test_a_mistake_costs_nothing(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    frame = attached()
    arguments = {"column": "x", "epsilon": 1} | options
    with pytest.raises(kind, match=words):
        frame.dp.cdf(**arguments)
    assert len(frame.dp.state.accountant.events) == 0
