from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from dpframe.adaptive.session import CHANCE, Session
from dpframe.adaptive.spread import Spread
from dpframe.engines.ordered import Ordered
from dpframe.grid import EvenGrid
from dpframe.mechanisms.interval_search import (
    FINEST,
    IntervalSearch,
    Pieces,
    find_ends,
    finest_search,
    most_intervals,
    rows_needed,
    search_intervals,
    without_low_bits,
)
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.ordering import Ordering
from dpframe.privacy.loss import Loss
from dpframe.tally import Contribution, Per
from dpframe.testing import seeded
from dpframe.values import column_type

ROW = 1 << 16
ONE = Loss(epsilon=Fraction(1))


@dataclass
class Rows:
    """Rows that are counted with noise, or without, and what that cost."""

    order: Ordered
    multiplicity: int = 1
    noisy: bool = True
    losses: list[Loss] = field(default_factory=list[Loss])
    asked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    counted: Spread | None = None

    def spread(self, bits: int) -> Rows:
        self.counted = Spread(self.order, bits)
        return self

    def count(self, start: int, stop: int, loss: Loss) -> int:
        assert self.counted is not None
        self.losses.append(loss)
        self.asked.append((start, stop))
        exact = self.counted.below(stop) - self.counted.below(start)
        if not self.noisy:
            return exact
        if loss.epsilon is None:
            noise = DiscreteGaussian(sigma2=self.multiplicity**2 / (2 * loss.as_rho))
            return exact + int(noise.sample(1)[0])
        noise = DiscreteLaplace(scale=self.multiplicity / loss.epsilon)
        return exact + int(noise.sample(1)[0])

    @property
    def spent(self) -> Loss:
        total = self.losses[0]
        for loss in self.losses[1:]:
            total += loss
        return total


def rows_of(codes: np.ndarray, **options: bool) -> Rows:
    return Rows(Ordered(codes=np.sort(codes.astype(np.uint64))), **options)


def worst_error(pieces: Pieces, codes: np.ndarray, size: int) -> float:
    """Return the largest error of an interval of a small domain, as a share."""
    below = np.concatenate([[0], np.cumsum(pieces.masses)])
    assumed = np.interp(np.arange(size + 1), pieces.bounds, below)
    true = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=size))])
    gap = assumed - true
    return float(gap.max() - gap.min()) / len(codes)


def distributions(size: int, rows: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    return {
        "even": random.integers(0, size, rows),
        "atom": np.full(rows, size // 3),
        "first": np.zeros(rows, dtype=np.int64),
        "last": np.full(rows, size - 1),
        "two": random.choice([1, size - 2], rows),
        "falling": np.minimum(random.geometric(0.4, rows) - 1, size - 1),
    }


@pytest.mark.parametrize(
    ("bits", "alpha", "rows"),
    [
        (12, 0.5, 152219),
        (10, 0.5, 1.24e5),
        (10, 0.1, 1.86e7),
        (10, 0.05, 1.59e8),
        (10, 0.01, 2.3e10),
        (20, 0.01, 4.9e10),
    ],
)
def test_rows_needed_are_those_of_the_theorem(
    bits: int, alpha: float, rows: float
) -> None:
    needed = rows_needed(alpha=alpha, bits=bits, loss=ONE, cap=Fraction(1))
    assert needed == pytest.approx(rows, rel=0.01 if rows > 1e6 else 0.001)


def test_rows_needed_grow_with_a_units_rows_and_less_under_gaussian_noise() -> None:
    pure = rows_needed(alpha=0.1, bits=40, loss=ONE, cap=Fraction(1))
    five = rows_needed(alpha=0.1, bits=40, loss=ONE, cap=Fraction(5))
    assert five == pytest.approx(5 * pure, rel=1e-3)
    gaussian = Loss(rho=Fraction(1, 2))
    wide = rows_needed(alpha=0.1, bits=40, loss=gaussian, cap=Fraction(1))
    probes = 40 * 80
    noise = DiscreteGaussian(sigma2=Fraction(probes))
    within = wide * 0.1**2 / 24
    assert noise.tail(math.floor(within)) * probes <= 0.05
    assert within < noise.accuracy(0.95, cells=probes) + 2
    assert wide < pure / 10


@pytest.mark.parametrize("loss", [ONE, Loss(rho=Fraction(1, 50))])
@pytest.mark.parametrize("size", [2, 1000, 1 << 64])
def test_the_finest_search_is_the_least_that_the_rows_are_enough_for(
    loss: Loss, size: int
) -> None:
    cap = Fraction(3)
    before = 1.0
    for rows in (10**8, 10**10, 10**12, 10**15):
        search, guaranteed = finest_search(
            size=size, rows=Fraction(rows), loss=loss, cap=cap
        )

        def needed(alpha: float) -> float:
            bits = IntervalSearch(size=size, alpha=alpha).bits
            return rows_needed(alpha=alpha, bits=bits, loss=loss, cap=cap)

        assert guaranteed
        assert needed(search.alpha) <= rows
        if search.alpha > FINEST:
            assert needed(search.alpha * (1 - 1e-9)) > rows
        assert search.alpha <= before
        assert search.low_bits <= 32
        before = search.alpha


@pytest.mark.parametrize("rows", [-(10**6), 0, 5, 10**5])
def test_too_few_rows_are_searched_at_a_half_without_a_guarantee(rows: int) -> None:
    search, guaranteed = finest_search(
        size=16, rows=Fraction(rows), loss=ONE, cap=Fraction(1)
    )
    assert search.alpha == 0.5
    assert not guaranteed
    assert (search.low_bits, search.bits, search.intervals) == (10, 14, 16)
    assert search.threshold(rows) == max(rows, 0) // 12


def test_the_finest_error_asks_for_all_the_random_bits_there_are() -> None:
    search, _ = finest_search(
        size=1 << 64, rows=Fraction(10**30), loss=ONE, cap=Fraction(1)
    )
    assert search.alpha == FINEST
    assert (search.low_bits, search.bits) == (32, 96)


def test_the_chance_of_a_crowded_code_is_bounded() -> None:
    random = np.random.default_rng(8)
    search = IntervalSearch(size=2, alpha=0.5)
    cells, runs = 1 << search.low_bits, 2000
    seen: list[float] = []
    for rows in (3200, 6000):
        limit = 0.35 * rows * 0.25 / 24
        heaviest = random.multinomial(rows, [1 / cells] * cells, size=runs).max(axis=1)
        seen.append(float((heaviest >= limit).mean()))
        spread = 5 * math.sqrt(1 / runs)
        assert seen[-1] <= search.crowding(rows) + spread
    assert seen[0] > 0.05  # which is more than may be neglected
    assert search.crowding(10**5) < 1e-30
    assert search.crowding(10) == 1


def test_a_huge_epsilon_does_not_make_up_for_crowded_codes() -> None:
    loss, cap = Loss(epsilon=Fraction(50)), Fraction(1)
    bits = IntervalSearch(size=2, alpha=0.5).bits
    enough = rows_needed(alpha=0.5, bits=bits, loss=loss, cap=cap)
    rows = Fraction(math.ceil(enough))
    assert not finest_search(size=2, rows=rows, loss=loss, cap=cap)[1]
    assert finest_search(size=2, rows=5 * rows, loss=loss, cap=cap)[1]


def test_twelve_bits_err_by_less_than_the_theorem_says() -> None:
    # 4 bits of codes, 8 random ones.
    size, low_bits, rows, alpha = 16, 8, 170_000, 0.5
    intervals = most_intervals(alpha)
    probes = 12 * intervals
    assert rows > rows_needed(alpha=alpha, bits=12, loss=ONE, cap=Fraction(1))
    threshold = math.floor(rows * alpha / 6)
    errors: list[float] = []
    for codes in distributions(size, rows).values():
        for _ in range(3):
            found = rows_of(codes)
            ends = find_ends(
                found.spread(low_bits),
                top=size << low_bits,
                intervals=intervals,
                threshold=threshold,
                loss=ONE.share(Fraction(1, probes)),
            )
            assert len(found.losses) <= probes
            before = [min(threshold * k, rows) for k in range(len(ends))] + [rows]
            bounds, masses = without_low_bits(ends, before, low_bits)
            pieces = Pieces(
                bounds=bounds, masses=masses, total=rows, alpha=alpha, guaranteed=True
            )
            errors.append(worst_error(pieces, codes, size))
    assert max(errors) < 0.2


@pytest.mark.parametrize("loss", [ONE, Loss(rho=Fraction(1, 50))])
def test_a_guaranteed_search_errs_by_less_than_alpha(loss: Loss) -> None:
    size, rows = 11, 400_000
    for name, codes in distributions(size, rows).items():
        found = rows_of(codes)
        pieces = search_intervals(found, size=size, loss=loss, multiplicity=1, weight=1)
        assert pieces.guaranteed
        assert pieces.alpha < 0.5
        assert worst_error(pieces, codes, size) < pieces.alpha, name
        check(pieces, size)


def check(pieces: Pieces, size: int) -> None:
    assert pieces.bounds[0] == 0
    assert pieces.bounds[-1] == size
    assert all(low < high for low, high in pairwise(pieces.bounds))
    assert len(pieces.masses) == len(pieces.bounds) - 1
    assert min(pieces.masses) >= 0
    assert sum(pieces.masses) == max(pieces.total, 0)


@pytest.mark.parametrize("loss", [Loss(epsilon=Fraction(3)), Loss(rho=Fraction(1))])
@pytest.mark.parametrize("size", [1, 2, 3, 1000, (1 << 64) - 1, 1 << 64])
@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_no_more_is_asked_than_was_planned(loss: Loss, size: int, rows: int) -> None:
    codes = np.random.default_rng(4).integers(0, size, rows, dtype=np.uint64)
    found = rows_of(codes)
    with seeded(rows):
        pieces = search_intervals(found, size=size, loss=loss, multiplicity=1, weight=1)
    plan = IntervalSearch(size=size, alpha=pieces.alpha)
    assert len(found.losses) <= 1 + plan.probes
    assert found.losses[0] == loss.share(Fraction(1, 10))
    assert set(found.losses[1:]) == {loss.share(Fraction(9, 10) / plan.probes)}
    assert float(found.spent) <= float(loss)
    assert not pieces.guaranteed
    check(pieces, size)


def test_a_search_that_finds_no_end_asks_for_the_most_counts() -> None:
    class Heavy:
        asked = 0

        def count(self, start: int, stop: int, loss: Loss) -> int:
            assert 0 <= start < stop < top
            assert loss == ONE
            self.asked += 1
            return 1

    for top in (1, 2, 3, 1000, 1 << 96):
        counter = Heavy()
        ends = find_ends(counter, top=top, intervals=5, threshold=0, loss=ONE)
        expected = list(range(1, min(top, 5) + 1))
        assert ends == (expected if top <= 5 else [*expected, top])
        assert counter.asked <= 5 * max(1, (top - 1).bit_length())
        # Counts that are never enough end at once, at the top.
        light = Heavy()
        assert find_ends(light, top=top, intervals=5, threshold=1, loss=ONE) == [top]
        assert light.asked <= (top - 1).bit_length()


def test_without_noise_each_interval_is_the_shortest_that_is_heavy_enough() -> None:
    codes = np.repeat(np.arange(20), 10)
    found = rows_of(codes, noisy=False).spread(0)
    ends = find_ends(found, top=20, intervals=16, threshold=35, loss=ONE)
    assert ends == [4, 8, 12, 16, 20]
    few = find_ends(found, top=20, intervals=2, threshold=35, loss=ONE)
    assert few == [4, 8, 20]


def test_a_code_in_which_pieces_end_becomes_a_piece_of_its_own() -> None:
    # Ends at 2.5, 2.75 and 6 in a domain of 8 codes, with two low bits.
    bounds, masses = without_low_bits([10, 11, 24, 32], [0, 100, 200, 330, 350], 2)
    assert bounds == (0, 2, 3, 6, 8)
    assert masses == (80, 20 + 100 + 10, 120, 20)


def test_bounds_without_low_bits_are_kept() -> None:
    bounds, masses = without_low_bits([3, 4, 9], [0, 5, 11, 12], 0)
    assert bounds == (0, 3, 4, 9)
    assert masses == (5, 6, 1)


def test_masses_below_a_bound_are_rounded_down_to_grid_units() -> None:
    bounds, masses = without_low_bits([5, 8], [0, 7, 7], 2)
    assert bounds == (0, 1, 2)
    assert masses == (5, 2)  # 28 / 5 of 7


def test_rows_that_share_a_code_are_not_lost() -> None:
    codes = np.full(300_000, 7)
    found = rows_of(codes)
    pieces = search_intervals(found, size=1 << 20, loss=ONE, multiplicity=1, weight=1)
    masses = dict(zip(pieces.bounds, pieces.masses, strict=False))
    # All but two pieces of a twelfth end in the code.
    assert masses[7] > 300_000 * 9 / 12


def test_weights_of_rows_are_grid_units() -> None:
    rows, cap = 400_000, 2
    codes = np.sort(np.random.default_rng(6).integers(0, 16, rows))
    running = np.arange(rows + 1, dtype=np.int64) * ROW
    order = Ordered(codes=codes.astype(np.uint64), running=running)
    found = Rows(order, multiplicity=cap * ROW)
    pieces = search_intervals(
        found, size=16, loss=ONE, multiplicity=cap * ROW, weight=ROW
    )
    assert not pieces.guaranteed
    assert pieces.total == pytest.approx(rows * ROW, rel=1e-3)
    below = np.cumsum([0, *pieces.masses]) / ROW
    assumed = np.interp(np.arange(17), pieces.bounds, below)
    true = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=16))])
    assert np.abs(assumed - true).max() < rows / 4


def test_thresholds_follow_from_the_noisy_number_of_rows_alone() -> None:
    class Told:
        """Gives one number for all rows, and nothing else but zeros."""

        bits: list[int]

        def __init__(self, total: int) -> None:
            self.total = total
            self.bits = []

        def spread(self, bits: int) -> Told:
            self.bits.append(bits)
            return self

        def count(self, start: int, stop: int, loss: Loss) -> int:
            del loss
            return self.total if (start, stop) == (0, 1 << 30) else 0

    for total in (-5, 0, 10**7, 10**12):
        told = Told(total)
        pieces = search_intervals(
            told, size=1 << 30, loss=ONE, multiplicity=1, weight=1
        )
        plan, guaranteed = finest_search(
            size=1 << 30,
            rows=Fraction(total),
            loss=ONE.share(Fraction(9, 10)),
            cap=Fraction(1),
        )
        assert told.bits == [0, plan.low_bits]
        assert (pieces.alpha, pieces.guaranteed) == (plan.alpha, guaranteed)
        check(pieces, 1 << 30)


@pytest.mark.parametrize("loss", [ONE, Loss(rho=Fraction(1, 50))])
def test_a_session_answers_the_whole_search_at_its_allowance(loss: Loss) -> None:
    rows, size = 600_000, 1000
    codes = np.sort(np.random.default_rng(9).binomial(size - 1, 0.3, rows))
    running = np.arange(rows + 1, dtype=np.int64) * ROW
    order = Ordered(codes=codes.astype(np.uint64), running=running)
    grid = EvenGrid(
        column=column_type("x", pl.Int64()),
        low=Fraction(0),
        step=Fraction(1),
        size=size,
    )
    ordering = Ordering(grids=(grid,), contribution=Contribution(per=Per.ROWS))
    session = Session(orders=[order], ordering=ordering, allowance=loss, chance=CHANCE)
    pieces = search_intervals(
        session, size=size, loss=loss, multiplicity=ROW, weight=ROW
    )
    assert pieces.guaranteed
    below = np.cumsum([0, *pieces.masses]) / ROW
    assumed = np.interp(np.arange(size + 1), pieces.bounds, below)
    true = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=size))])
    gap = assumed - true
    assert (gap.max() - gap.min()) / rows < pieces.alpha
    counter = session.spread(0)
    with pytest.raises(ValueError, match="more than it was planned for"):
        counter.count(0, size, loss)
