"""Sums of whole numbers stay exact at the limits of every path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpframe.engines.fold import BATCH, Sums
from dpframe.tally import COARSE, FINE, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCHES = 600  # more than any path adds up before it moves to Python integers


def folded(
    *,
    monomials: Sequence[tuple[int, ...]],
    values: Sequence[Any] = (),
    reaches: Sequence[int] = (),
    weight: int | None = None,
    cells: int = 1,
    rows: int = BATCH,
    batches: int = BATCHES,
) -> np.ndarray[Any, Any]:
    """Add up batches whose rows all hold the same values in the last cell."""
    sums = Sums(cells=cells, monomials=monomials, reaches=reaches)
    columns = [np.full(rows, value) for value in values]
    codes = None if cells == 1 else np.full(rows, cells - 1)
    weights = None if weight is None else np.full(rows, weight)
    for _ in range(batches):
        sums.add(rows, codes, columns, weights)
    return sums.total()


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("weight", [None, 1, WEIGHT - 1, WEIGHT])
def test_counts_alone_survive_any_number_of_batches(
    cells: int, weight: int | None
) -> None:
    total = folded(monomials=[()], weight=weight, cells=cells, rows=100)
    wanted = [0] * (cells - 1) + [100 * BATCHES * (weight or 1)]
    assert total[:, 0].tolist() == wanted


REACHES = (1, (1 << 36) + 1, 1 << 53, (1 << 53) + 1, 1 << 62)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("weight", [None, WEIGHT - 1, WEIGHT])
def test_one_column_sums_exactly_up_to_its_widest_reach(
    sign: int, cells: int, weight: int | None
) -> None:
    for reach in (*REACHES, *(odd - 1 for odd in REACHES if odd > 1)):
        value = sign * (reach if reach > 1 << 53 else float(reach))
        total = folded(
            monomials=[(), (0,)],
            values=[value],
            reaches=[reach],
            weight=weight,
            cells=cells,
            batches=2,
        )
        rows = 2 * BATCH * (weight or 1)
        assert total[-1].tolist() == [rows, sign * reach * rows]


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize(("reach", "weight"), [(1 << 36, None), (1 << 20, WEIGHT)])
def test_one_column_sums_exactly_over_more_batches_than_are_held(
    reach: int, weight: int | None, cells: int
) -> None:
    batches = 1100  # a batch's sum may be 2^53
    total = folded(
        monomials=[(0,)],
        values=[float(reach)],
        reaches=[reach],
        weight=weight,
        batches=batches,
        cells=cells,
    )
    assert total[-1].tolist() == [reach * BATCH * batches * (weight or 1)]


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("weight", [None, WEIGHT - 1, WEIGHT])
@pytest.mark.parametrize("reach", [COARSE, FINE - 1, FINE])
def test_squares_sum_exactly_at_the_finest_grid(
    cells: int, weight: int | None, reach: int
) -> None:
    total = folded(
        monomials=[(), (0,), (0, 0)],
        values=[float(reach)],
        reaches=[reach],
        weight=weight,
        cells=cells,
        batches=2,
    )
    rows = 2 * BATCH * (weight or 1)
    assert total[-1].tolist() == [rows, reach * rows, reach**2 * rows]


@pytest.mark.parametrize(
    ("weight", "signs"), [(None, (-1, 1)), (WEIGHT - 1, (1, 1)), (WEIGHT, (-1, -1))]
)
def test_gram_sums_exactly_over_more_batches_than_are_held(
    weight: int | None, signs: tuple[int, int]
) -> None:
    a, b = signs
    batches = 70  # its products are moved every 32
    total = folded(
        monomials=[(), (0,), (1,), (0, 0), (0, 1), (1, 1)],
        values=[float(a * COARSE), float(b * COARSE)],
        reaches=[COARSE, COARSE],
        weight=weight,
        batches=batches,
    )
    rows = batches * BATCH * (weight or 1)
    square = COARSE**2 * rows
    first = [rows, a * COARSE * rows, b * COARSE * rows]
    assert total.tolist() == [[*first, square, a * b * square, square]]


@pytest.mark.parametrize("weight", [None, WEIGHT - 1, WEIGHT])
def test_gram_loses_no_unit_of_an_odd_product(weight: int | None) -> None:
    odd = COARSE - 1
    total = folded(
        monomials=[(0,), (0, 0), (0, 1)],
        values=[float(odd), float(-odd)],
        reaches=[COARSE, COARSE],
        weight=weight,
        batches=1,
    )
    rows = BATCH * (weight or 1)
    assert total.tolist() == [[odd * rows, odd**2 * rows, -(odd**2) * rows]]


def test_gram_takes_full_and_shared_rows_of_one_batch_together() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(-COARSE, COARSE + 1, (2, 20_000))
    weights = np.where(
        rng.random(20_000) < 0.5, WEIGHT, rng.integers(0, WEIGHT, 20_000)
    )
    sums = Sums(
        cells=1,
        monomials=[(), (0,), (1,), (0, 1), (1, 1)],
        reaches=[COARSE, COARSE],
    )
    sums.add(20_000, None, [x.astype(float), y.astype(float)], weights)
    rows = list(zip(x.tolist(), y.tolist(), weights.tolist(), strict=True))
    wanted = [
        sum(w for _, _, w in rows),
        sum(w * a for a, _, w in rows),
        sum(w * b for _, b, w in rows),
        sum(w * a * b for a, b, w in rows),
        sum(w * b * b for _, b, w in rows),
    ]
    assert sums.total().tolist() == [wanted]


@pytest.mark.parametrize("bits", [30, 42, 52, 62])
@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_uneven_terms_of_both_signs_add_up(
    weight: int | None, cells: int, bits: int
) -> None:
    rng = np.random.default_rng(7)
    terms = rng.integers(-(1 << bits) // 8, 1 << bits, 50_000)
    codes = rng.integers(0, cells, 50_000)
    sums = Sums(cells=cells, monomials=[(0,)], reaches=[1 << bits])
    weights = None if weight is None else rng.integers(0, WEIGHT + 1, 50_000)
    values = terms if bits > 53 else terms.astype(np.float64)
    sums.add(50_000, None if cells == 1 else codes, [values], weights)
    wanted = [0] * cells
    for place, (cell, term) in enumerate(
        zip(codes.tolist(), terms.tolist(), strict=True)
    ):
        wanted[cell] += term * (1 if weights is None else int(weights[place]))
    assert sums.total()[:, 0].tolist() == wanted
