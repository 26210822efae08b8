from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from checks.power import ALPHA, chi_square, confirmed

from dpframe.adaptive.pieces import pieces_of
from dpframe.adaptive.quantile import reach_of, select_quantile
from dpframe.engines.ordered import Ordered
from dpframe.errors import RandomnessError
from dpframe.noise import randomness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LEVELS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(19, 20), Fraction(1)]
HALF = Fraction(1, 2)
TOP = 2**64 - 1


def ordered(codes: Iterable[int], weights: Iterable[int] | None = None) -> Ordered:
    places = np.array(list(codes), dtype=np.uint64)
    if weights is None:
        return Ordered(codes=places)
    return Ordered(codes=places, running=np.cumsum([0, *weights]).astype(np.int64))


def law(order: Ordered, *, size: int, level: Fraction, rate: Fraction) -> np.ndarray:
    """Return the chance of each point, from the shares that a choice is made by."""
    pieces = pieces_of(order, size=size, level=level, reach=reach_of(size, rate))
    edges = [float(sum(bracket) / 2) for bracket in pieces.shares(rate, digits=60)]
    points = (pieces.last - pieces.first + 1).astype(np.int64)
    return np.repeat(np.diff([0, *edges, 1]) / points, points)


def expected(
    rows: list[tuple[int, int]], *, size: int, level: Fraction, rate: Fraction
) -> np.ndarray:
    """Return the chance of each point, from the mechanism's definition."""
    s, r = level.numerator, level.denominator
    n = sum(weight for _, weight in rows)
    masses: list[Decimal] = []
    with localcontext() as arithmetic:
        arithmetic.prec = 60
        for code in range(size):
            low = sum(weight for place, weight in rows if place < code)
            high = sum(weight for place, weight in rows if place > code)
            deficit = max(r * low - s * n, r * high - (r - s) * n, 0)
            exponent = -Decimal(rate.numerator * deficit) / rate.denominator
            masses.append(exponent.exp())
        return np.array([float(mass / sum(masses)) for mass in masses])


SMALL: list[list[tuple[int, int]]] = [
    [],
    [(4, 1)],
    [(2, 0), (3, 0)],
    [(code, 1) for code in (1, 2, 3, 4, 5)],
    [(code, 1) for code in (0, 0, 0, 8, 8)],
    [(3, 1)] * 30 + [(7, 1)] * 29,
    [(code % 9, 1) for code in sorted(range(900), key=lambda code: code % 9)],
    [(0, 3), (2, 0), (2, 5), (5, 1), (5, 0), (8, 4)],
    [(1, 65536), (4, 30000), (4, 35536), (6, 1)],
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 38), Fraction(1, 10**6)])
def test_the_law_is_that_of_the_exponential_mechanism(
    level: Fraction, rate: Fraction
) -> None:
    refuted = 0
    for rows in SMALL:
        order = ordered([code for code, _ in rows], [weight for _, weight in rows])
        wanted = expected(rows, size=9, level=level, rate=rate)
        found = law(order, size=9, level=level, rate=rate)
        assert np.allclose(found, wanted, rtol=0, atol=1e-14)
        wrong = law(order, size=9, level=level, rate=rate * Fraction(101, 100))
        refuted += not np.allclose(wrong, wanted, rtol=0, atol=1e-14)
    assert refuted >= 3


def test_the_example_of_five_rows_has_its_printed_chances() -> None:
    chances = law(ordered(range(1, 6)), size=7, level=HALF, rate=HALF)
    assert round(chances[3], 4) == 0.3542
    assert round(chances[2], 4) == round(chances[4], 4) == 0.2148


@pytest.mark.parametrize(
    ("codes", "size", "level", "rate"),
    [
        (range(1, 6), 7, HALF, HALF),
        ([0, 2, 2, 2, 3, 7], 9, Fraction(3, 4), Fraction(1, 10)),
    ],
)
def test_choices_follow_the_law(
    codes: Iterable[int], size: int, level: Fraction, rate: Fraction
) -> None:
    rows = [(code, 1) for code in codes]
    order = ordered(code for code, _ in rows)

    def count(number: int) -> np.ndarray:
        drawn = [
            select_quantile(order, size=size, level=level, rate=rate)
            for _ in range(number)
        ]
        return np.bincount(drawn, minlength=size)

    right = expected(rows, size=size, level=level, rate=rate)
    seen = count(12_000)
    assert not confirmed(
        lambda number: (
            chi_square(seen if number == 12_000 else count(number), right) < ALPHA
        ),
        12_000,
    )
    steeper = expected(rows, size=size, level=level, rate=rate * Fraction(3, 2))
    assert chi_square(seen, steeper) < ALPHA


def densities(
    rows: list[tuple[int, int]], *, level: Fraction, rate: Fraction
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pieces of the widest grid and the log chance of a point of each."""
    order = ordered(*zip(*sorted(rows), strict=True)) if rows else ordered([])
    pieces = pieces_of(order, size=2**64, level=level, reach=reach_of(2**64, rate))
    with localcontext() as arithmetic:
        arithmetic.prec = 80
        edges = [sum(bracket) / 2 for bracket in pieces.shares(rate, digits=60)]
        shares = [
            high - low for low, high in pairwise([Decimal(0), *edges, Decimal(1)])
        ]
        points = (pieces.last - pieces.first).tolist()
        logs = [
            float((share / (number + 1)).ln())
            for share, number in zip(shares, points, strict=True)
        ]
    return pieces.first, pieces.last, np.array(logs)


def worst_loss(
    level: Fraction, rate: Fraction, unit: int, changes: list[list[tuple[int, int]]]
) -> float:
    """Return the largest privacy loss of any point, over many neighbours.

    The frames have rows at both ends of the widest grid, up to 20 at one of them.
    """
    worst = 0.0
    for many, few, swapped in product(range(21), range(2), (False, True)):
        low, high = (few, many) if swapped else (many, few)
        rows = [(1, unit)] * low + [(TOP - 1, unit)] * high
        first, last, logs = densities(rows, level=level, rate=rate)
        for change in changes:
            start, stop, others = densities(rows + change, level=level, rate=rate)
            for points in (first, last, start, stop):
                here = logs[np.searchsorted(last, points)]
                there = others[np.searchsorted(stop, points)]
                worst = max(worst, float(np.abs(here - there).max()))
    return worst


def rate_for(level: Fraction, change: int) -> Fraction:
    """Return the rate at which a choice costs ε = 1."""
    s, r = level.numerator, level.denominator
    sides = 2 if 0 < s < r else 1
    return Fraction(1, sides * max(s, r - s) * change)


@pytest.mark.parametrize("level", LEVELS)
def test_neighbours_differ_by_epsilon_and_no_less(level: Fraction) -> None:
    changes = [[(code, 1)] for code in (0, 3, TOP - 3, TOP)]
    rate = rate_for(level, 1)
    assert 0.9 < worst_loss(level, rate, 1, changes) <= 1 + 1e-9
    assert worst_loss(level, rate * Fraction(6, 5), 1, changes) > 1.05


@pytest.mark.parametrize("level", [Fraction(1, 4), HALF, Fraction(1)])
def test_a_unit_of_several_weighed_rows_stays_within_epsilon(level: Fraction) -> None:
    changes = [[(0, 8)], [(3, 3), (TOP, 5)], [(0, 1), (TOP - 3, 7)], [(TOP, 8)]]
    rate = rate_for(level, 8)
    assert 0.9 < worst_loss(level, rate, 8, changes) <= 1 + 1e-9
    assert worst_loss(level, rate, 8, [[(0, 10)], [(TOP, 10)]]) > 1.05


@pytest.mark.parametrize("times", [1, 10])
def test_heavy_ties_leave_one_choice(times: int) -> None:
    counts = np.full(1001, 100 * times)
    counts[1000] = 0
    counts[300] += 400_000 * times
    order = Ordered(codes=np.repeat(np.arange(1001, dtype=np.uint64), counts))
    drawn = {
        select_quantile(order, size=1001, level=HALF, rate=HALF) for _ in range(50)
    }
    assert drawn == {300}


@pytest.mark.parametrize("level", [*LEVELS, Fraction(0.95), Fraction(1, 10**30)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1), Fraction(10**12)])
@pytest.mark.parametrize("size", [6, 2**20, 2**64])
def test_every_order_has_a_choice(
    level: Fraction, epsilon: Fraction, size: int
) -> None:
    last = size - 1
    rate = epsilon / (2 * max(level.numerator, level.denominator - level.numerator))
    orders = [
        ordered([]),
        ordered([], []),
        ordered([last]),
        ordered([0, last], [0, 0]),
        ordered([5] * 1000),
        ordered([0] * 500 + [last] * 500),
        ordered([1, 1, 2, 4, last], [0, 65536, 0, 1, 0]),
        ordered([0, 3, last], [65536 * 10**7, 1, 65536 * 10**7]),
        ordered(sorted(number**3 % size for number in range(1000))),
    ]
    for order in orders:
        found = select_quantile(order, size=size, level=level, rate=rate)
        assert type(found) is int
        assert 0 <= found < size


def test_a_million_rows_have_their_quantile() -> None:
    codes = np.arange(10**6, dtype=np.uint64) * np.uint64(2**44)
    weights = np.arange(10**6 + 1, dtype=np.int64) * 65536
    for level in (Fraction(0), HALF, Fraction(19, 20), Fraction(0.95)):
        unit = 2 * max(level.numerator, level.denominator - level.numerator)
        for order, rate in (
            (Ordered(codes=codes), Fraction(1, unit)),
            (Ordered(codes=codes, running=weights), Fraction(1, unit * 65536)),
        ):
            found = select_quantile(order, size=2**64, level=level, rate=rate)
            assert abs(found / 2**44 - level * 10**6) < 300


def test_without_rows_the_grid_is_uniform() -> None:
    def count(number: int) -> np.ndarray:
        empty = ordered([])
        drawn = [
            select_quantile(empty, size=2**64, level=HALF, rate=HALF) >> 61
            for _ in range(number)
        ]
        return np.bincount(drawn, minlength=8)

    assert not confirmed(lambda n: chi_square(count(n), np.ones(8)) < ALPHA, 4000)


def with_bytes(data: bytes, then: bytes, act: Callable[[], int]) -> int:
    """Act on random bytes that start with some and go on with a repeated one."""
    stream = bytearray(data)

    def source(wanted: int) -> bytes:
        taken = bytes(stream[:wanted])
        del stream[:wanted]
        return taken + then * (wanted - len(taken))

    token = randomness.override.set(source)
    try:
        return act()
    finally:
        randomness.override.reset(token)


@pytest.mark.parametrize(("first", "then"), [(b"\xff", b"\x00"), (b"\x00", b"\xff")])
@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 8])
def test_a_fraction_at_an_end_opens_what_lies_far(
    first: bytes, then: bytes, words: int
) -> None:
    order = ordered(range(301))
    drawn = with_bytes(
        first * 8 * words,
        then,
        lambda: select_quantile(order, size=301, level=HALF, rate=Fraction(1, 2)),
    )
    # Where a fraction with these bits falls, by 200 digits.
    with localcontext() as arithmetic:
        arithmetic.prec = 300
        step = Decimal("-0.5").exp()
        masses = [step ** max(2 * code - 301, 299 - 2 * code, 0) for code in range(301)]
        bits = int.from_bytes(first * 8 * words + then * 64)
        fraction = (Decimal(bits) + HALF.numerator) / 2 ** (64 * words + 512)
        total, passed = Decimal(0), 0
        for mass in masses:
            total += mass / sum(masses)
            passed += total <= fraction
    assert drawn == passed
    window = reach_of(301, Fraction(1, 2)) / 2
    assert (abs(drawn - 150) > window) == (words >= 3)


@pytest.mark.parametrize(("byte", "last"), [(b"\x00", 0), (b"\xff", 300)])
def test_a_stuck_source_gives_an_end_or_is_refused(byte: bytes, last: int) -> None:
    def draw(rate: int) -> int:
        order = ordered(range(301))
        return select_quantile(order, size=301, level=HALF, rate=Fraction(rate))

    assert with_bytes(b"", byte, lambda: draw(1)) == last
    # The ends have chances below exp(-3000), and bits for that are never drawn.
    with pytest.raises(RandomnessError, match="repeats"):
        with_bytes(b"", byte, lambda: draw(10))


def test_how_far_rows_are_looked_at_follows_public_figures() -> None:
    assert reach_of(7, HALF) == math.ceil((90 + 0.7 * 3) * 2)
    assert reach_of(2**64, Fraction(1, 38)) < 38 * 137
    for size in (1, 2, 10**6, 2**64):
        for digits in (60, 61, 84, 1385):
            left = math.log(size) - float(HALF * reach_of(size, HALF, digits))
            assert left <= -90 - (digits - 60) * 2.3026


def test_the_rank_error_holds_with_its_confidence() -> None:
    beta = Fraction(1, 20)
    for level in LEVELS:
        rate = Fraction(
            1, 2 * max(level.numerator, level.denominator - level.numerator)
        )
        codes = np.repeat(np.arange(1000, dtype=np.uint64), 2)
        chances = law(Ordered(codes=codes), size=1000, level=level, rate=rate)
        error = math.log(1000 / beta) / float(rate * level.denominator)
        below = np.arange(1000) * 2
        goal = float(level) * 2000
        missed = np.maximum(below - goal, goal - below - 2)
        assert chances[missed > error].sum() <= beta
        assert chances[missed > error / 5].sum() > beta


def test_the_order_of_the_grid_is_the_order_of_the_fraction() -> None:
    order = ordered([2, 3, 3, 9])
    drawn = [
        with_bytes(
            (index << 54).to_bytes(8),
            b"\x01",
            lambda: select_quantile(order, size=12, level=HALF, rate=HALF),
        )
        for index in range(0, 1024, 8)
    ]
    counts = Counter(drawn)
    assert drawn == sorted(drawn)
    assert len(counts) >= 5
