from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpframe.adaptive.pieces import pieces_of
from dpframe.engines.ordered import Ordered

LEVELS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(19, 20), Fraction(1)]
FAR = 10**40
Rows = list[tuple[int, int]]  # codes, ascending, and what each row weighs


def ordered(rows: Rows, *, weighed: bool = True) -> Ordered:
    codes = np.array([code for code, _ in rows], dtype=np.uint64)
    if not weighed:
        return Ordered(codes=codes)
    sums = np.cumsum([0, *(weight for _, weight in rows)])
    return Ordered(codes=codes, running=sums.astype(np.int64))


def deficit(rows: Rows, level: Fraction, code: int) -> int:
    """Return the deficit of a code, from its definition."""
    s, r = level.numerator, level.denominator
    n = sum(weight for _, weight in rows)
    below = sum(weight for place, weight in rows if place < code)
    above = sum(weight for place, weight in rows if place > code)
    return max(r * below - s * n, r * above - (r - s) * n, 0)


MULTISETS: list[Rows] = [
    *(
        [(code, 1) for code in codes]
        for number in range(5)
        for codes in combinations_with_replacement([0, 2, 3, 5], number)
    ),
    *(
        [*zip([0, 3, 3, 4], weights, strict=True)]
        for weights in product([0, 1, 5], repeat=4)
    ),
    [(1, 1)] * 40 + [(4, 1)] * 2,
    [(0, 65536), (1, 21845), (1, 3), (2, 0), (5, 65536 * 10**7)],
]


@pytest.mark.parametrize("level", [*LEVELS, Fraction(0.95), Fraction(1, 3)])
@pytest.mark.parametrize("size", [6, 7])
def test_pieces_cover_the_grid_with_the_deficit_of_each_point(
    level: Fraction, size: int
) -> None:
    for rows in MULTISETS:
        pieces = pieces_of(ordered(rows), size=size, level=level, reach=FAR)
        assert not pieces.open_left
        assert not pieces.open_right
        covered = [
            (code, int(d))
            for first, last, d in zip(
                pieces.first, pieces.last, pieces.deficits, strict=True
            )
            for code in range(int(first), int(last) + 1)
        ]
        assert covered == [(code, deficit(rows, level, code)) for code in range(size)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("reach", [0, 1, 2, 5, 9, 40])
def test_a_window_tells_what_is_near_and_bounds_what_is_far(
    level: Fraction, reach: int
) -> None:
    opened = 0
    for rows in MULTISETS:
        pieces = pieces_of(ordered(rows), size=7, level=level, reach=reach)
        assert int(pieces.first[0]) == 0
        assert int(pieces.last[-1]) == 6
        assert np.array_equal(pieces.first[1:], pieces.last[:-1] + 1)
        for place, least in enumerate(pieces.deficits.tolist()):
            found = [
                deficit(rows, level, code)
                for code in range(int(pieces.first[place]), int(pieces.last[place]) + 1)
            ]
            far = (pieces.open_left and place == 0) or (
                pieces.open_right and place == len(pieces.first) - 1
            )
            opened += far
            assert min(found) >= least if far else found == [least] * len(found)
            assert least > reach or not far
    assert opened or reach == 40


def test_rows_that_each_weigh_one_need_no_weights() -> None:
    for rows, level, reach in product(MULTISETS[:70], LEVELS, [0, 3, FAR]):
        plain, weighed = (
            pieces_of(ordered(rows, weighed=weighed), size=6, level=level, reach=reach)
            for weighed in (False, True)
        )
        assert plain.first.tolist() == weighed.first.tolist()
        assert plain.deficits.tolist() == weighed.deficits.tolist()
        assert plain.open_left == weighed.open_left
        assert plain.open_right == weighed.open_right


@pytest.mark.parametrize("level", LEVELS)
def test_the_widest_grid_has_its_pieces_too(level: Fraction) -> None:
    top = 2**64 - 1
    for rows in ([(0, 1)], [(top, 1)], [(0, 1), (2**63, 1), (top - 1, 2), (top, 1)]):
        pieces = pieces_of(ordered(rows), size=2**64, level=level, reach=FAR)
        assert int(pieces.first[0]) == 0
        assert int(pieces.last[-1]) == top
        assert np.array_equal(pieces.first[1:], pieces.last[:-1] + 1)
        for ends in (pieces.first, pieces.last):
            assert pieces.deficits.tolist() == [
                deficit(rows, level, code) for code in ends.tolist()
            ]


def test_rows_of_far_ranks_are_left_alone() -> None:
    order = Ordered(codes=np.arange(10**6, dtype=np.uint64))
    pieces = pieces_of(order, size=10**6, level=Fraction(1, 2), reach=200)
    assert len(pieces.first) == 203
    assert pieces.open_left
    assert pieces.open_right
    heap = Ordered(codes=np.zeros(10**6, dtype=np.uint64))
    assert len(pieces_of(heap, size=9, level=Fraction(1, 2), reach=200).first) == 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 38), Fraction(7)])
@pytest.mark.parametrize("reach", [0, 3, FAR])
def test_shares_hold_the_law(level: Fraction, rate: Fraction, reach: int) -> None:
    widest = Decimal(0)
    with localcontext() as arithmetic:
        arithmetic.prec = 120
        step = (-Decimal(rate.numerator) / rate.denominator).exp()
        for rows in MULTISETS[:150]:
            masses = [step ** deficit(rows, level, code) for code in range(6)]
            pieces = pieces_of(ordered(rows), size=6, level=level, reach=reach)
            shares = pieces.shares(rate, digits=60)
            assert len(shares) == len(pieces.first) - 1
            for (low, high), last in zip(shares, pieces.last.tolist(), strict=False):
                share = sum(masses[: last + 1]) / sum(masses)
                assert low <= share <= high
                widest = max(widest, high - low)
    # What a window leaves out opens a part and the whole by its share, and no more.
    assert widest < Decimal("1e-55") or reach < FAR
    assert widest <= 10 * step ** (reach + 1) + Decimal("1e-55")


def test_rows_that_weigh_nothing_make_no_piece() -> None:
    rows = [(code, int(code in {300, 700})) for code in range(1000)]
    pieces = pieces_of(ordered(rows), size=1000, level=Fraction(1, 2), reach=FAR)
    assert list(zip(pieces.first, pieces.last, pieces.deficits, strict=True)) == [
        (0, 299, 2),
        (300, 700, 0),
        (701, 999, 2),
    ]
