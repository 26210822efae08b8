from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe.testing import recording

H = 1 << 20
HARD = [0.0, 1.0, 0.5, 0.25, 1e-9, 1 - 1e-9, 2.0**-21, 3 * 2.0**-21, -7.0, math.inf]


def attached(
    rows: dict[str, list[float | None]],
) -> dpframe.PrivatePolars[pl.DataFrame]:
    frame = pl.DataFrame(rows, schema={"x": pl.Float64, "y": pl.Float64})
    return dpframe.attach(frame, dpframe.Accountant(epsilon=1000)).dp.bounds(
        x=(0, 1), y=(0, 1)
    )


def cells(rows: dict[str, list[float | None]]) -> tuple[list[int], int]:
    with recording(noiseless=True) as seen:
        attached(rows).dp.mean_cov(["x", "y"], method="bernstein", epsilon=1)
    (block,) = seen.records[0].blocks
    return list(block.exact[0]), block.sensitivity


@pytest.mark.parametrize("x", HARD)
@pytest.mark.parametrize("y", HARD)
def test_the_cells_of_a_row_are_never_negative_and_add_up_to_its_weight(
    x: float, y: float
) -> None:
    found, sensitivity = cells({"x": [x], "y": [y]})
    assert min(found) >= 0
    assert sum(found) == sensitivity == H * H


def test_random_rows_spread_their_weight_over_the_cells_exactly() -> None:
    random = np.random.default_rng(5)
    for x, y in random.uniform(-0.2, 1.2, (200, 2)):
        found, _ = cells({"x": [x], "y": [y]})
        assert min(found) >= 0
        assert sum(found) == H * H


def test_the_cells_are_products_of_the_parts_of_each_column() -> None:
    found, _ = cells({"x": [0.25, 1.0], "y": [0.5, 0.0]})

    def parts(t: Fraction) -> list[Fraction]:
        return [(1 - t) ** 2, 2 * t * (1 - t), t**2]

    rows = [(Fraction(1, 4), Fraction(1, 2)), (Fraction(1), Fraction(0))]
    expected = [
        sum(parts(x)[a] * parts(y)[b] for x, y in rows)
        for a in range(3)
        for b in range(3)
    ]
    assert [Fraction(cell, H * H) for cell in found] == expected


def test_a_row_with_a_missing_value_counts_as_absent() -> None:
    assert cells({"x": [0.5, None], "y": [0.5, 0.5]}) == cells({"x": [0.5], "y": [0.5]})


def test_the_pair_is_chosen_for_two_columns_and_refused_for_others() -> None:
    frame = attached({"x": [0.5], "y": [0.5]})
    auto = frame.dp.mean_cov(["x", "y"], epsilon=1)
    assert auto.provenance.parameters["method"] == "bernstein"
    with pytest.raises(dpframe.ParameterError, match="2 columns"):
        frame.dp.mean_cov(["x"], method="bernstein", epsilon=1)
    assert frame.dp.state.accountant.spent.epsilon == 1


def test_without_noise_it_gives_the_moments_of_the_clipped_columns() -> None:
    random = np.random.default_rng(6)
    x, y = random.normal(0.5, 0.3, (2, 500))
    with recording(noiseless=True):
        found = attached({"x": list(x), "y": list(y)}).dp.mean_cov(
            ["x", "y"], method="bernstein", epsilon=1
        )
    clipped = np.clip(np.stack([x, y]), 0, 1)
    assert found.value.n == 500
    np.testing.assert_allclose(found.value.mean, clipped.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.value.cov, np.cov(clipped, bias=True), atol=1e-6)
