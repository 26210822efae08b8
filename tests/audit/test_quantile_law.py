"""The law of an exact choice of a quantile, from many draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks.power import ALPHA, chi_square, confirmed, draws

from dpframe.adaptive.quantile import select_quantile
from dpframe.engines.ordered import Ordered

pytestmark = pytest.mark.audit


def chances(codes: list[int], size: int, level: float, rate: float) -> np.ndarray:
    """Return what each point weighs, from the mechanism's definition."""
    places, points = np.array(codes), np.arange(size)
    below = (places < points[:, np.newaxis]).sum(axis=1)
    above = (places > points[:, np.newaxis]).sum(axis=1)
    missed = np.maximum(below - level * len(codes), above - (1 - level) * len(codes))
    return np.exp(-rate * np.maximum(missed, 0))


@pytest.mark.parametrize(
    ("codes", "size", "level"),
    [
        ([1, 2, 3, 4, 5], 7, Fraction(1, 2)),
        ([0, 2, 2, 2, 3, 7], 9, Fraction(3, 4)),
    ],
)
def test_choices_follow_the_law_and_no_close_one(
    codes: list[int], size: int, level: Fraction
) -> None:
    order = Ordered(codes=np.array(codes, dtype=np.uint64))
    rate = Fraction(1, 2 * max(level.numerator, level.denominator - level.numerator))

    def count(number: int) -> np.ndarray:
        found = [
            select_quantile(order, size=size, level=level, rate=rate)
            for _ in range(number)
        ]
        return np.bincount(found, minlength=size)

    # By rank, not by deficit, a miss costs the level's denominator times the rate.
    slope = float(rate * level.denominator)
    right = chances(codes, size, float(level), slope)
    number = draws(100_000)
    seen = count(number)
    assert not confirmed(
        lambda many: chi_square(seen if many == number else count(many), right) < ALPHA,
        number,
    )
    close = chances(codes, size, float(level), slope * 1.2)
    assert chi_square(seen, close) < ALPHA
