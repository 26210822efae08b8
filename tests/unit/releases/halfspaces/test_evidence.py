"""Bounds from sums of noisy counts: against draws of the noise, and in their limits."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from checks.power import covers

from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.releases.halfspaces.evidence import (
    AllRows,
    BandError,
    HalfspaceError,
    bounds,
)

NOISES = {
    "Laplace": DiscreteLaplace(scale=Fraction(30)),
    "steep Laplace": DiscreteLaplace(scale=Fraction(1, 3)),
    "Gaussian": DiscreteGaussian(sigma2=Fraction(900)),
    "steep Gaussian": DiscreteGaussian(sigma2=Fraction(1, 9)),
}
every_noise = pytest.mark.parametrize("name", NOISES)


def total(name: str = "Laplace", rows: float = 1e5, noises: float = 4.0) -> AllRows:
    return AllRows(rows=rows, noise=NOISES[name], unit=Fraction(1), noises=noises)


def error(**given: Any) -> HalfspaceError:
    asked: dict[str, Any] = {
        "value": 0.5,
        "sure": 45e3,
        "possible": 55e3,
        "sure_noises": 10.0,
        "possible_noises": 12.0,
        "total": total(),
        "fraction": True,
    }
    return HalfspaceError(**(asked | given))


@every_noise
def test_a_sum_passes_its_bound_as_rarely_as_it_says(name: str) -> None:
    number, noises, here = 4000, 9, total(name)
    drawn = here.noise.sample(number * noises).reshape(number, noises)
    sums = drawn.sum(axis=1).astype(float)
    for chance in (0.5, 0.2, 0.05, 0.001):
        bound = here.bound(noises, chance)
        assert covers(int((sums <= bound).sum()), number, 1 - chance)
    if name in {"Laplace", "Gaussian"}:  # steep ones are hardly ever off at all
        held = int((sums <= here.bound(noises, 0.05) / 4).sum())
        assert not covers(held, number, 0.95)
    assert here.bound(0.0, 0.05) == 0
    half = replace(here, unit=Fraction(1, 2))
    assert half.bound(noises, 0.05) == here.bound(noises, 0.05) / 2
    assert here.error(0.1) == here.bound(4.0, 0.1)


@every_noise
def test_bounds_hold_the_truth_as_often_as_they_say(name: str) -> None:
    number, true_rows, true_share = 1500, 2e4, 0.3
    sure = possible = true_rows * true_share  # all that there are
    noise = NOISES[name]
    drawn = noise.sample(number * 30).reshape(number, 30).astype(float)
    offs = drawn[:, :5].sum(1), drawn[:, 5:12].sum(1), drawn[:, 12:16].sum(1)
    for chance in (0.5, 0.1):
        shares = counts = 0
        for low, high, whole in zip(*offs, strict=True):
            here = total(name, rows=true_rows + whole)
            rows, noises = (sure + low, possible + high), (5.0, 7.0)
            ends = bounds(here, rows, noises, chance=chance, fraction=True)
            shares += ends[0] <= true_share <= ends[1]
            ends = bounds(here, rows, noises, chance=chance, fraction=False)
            counts += ends[0] <= true_rows * true_share <= ends[1]
        assert covers(shares, number, 1 - chance)
        assert covers(counts, number, 1 - chance)


def test_bounds_widen_with_confidence_and_with_what_was_chosen_from() -> None:
    rows, noises = (45e3, 55e3), (10.0, 12.0)

    def width(chance: float, choices: float = 0.0, *, fraction: bool = True) -> float:
        low, high = bounds(
            total(), rows, noises, chance=chance, choices=choices, fraction=fraction
        )
        return high - low

    assert width(0.5) < width(0.1) < width(0.01)
    assert width(0.1) < width(0.1, 3.0) < width(0.1, 30.0)
    # One of e^3 sums, each with that part of the chance; the total keeps its own.
    here = total()
    low, high = bounds(here, rows, noises, chance=0.1, choices=3.0, fraction=False)
    each = 0.025 * math.exp(-3)
    assert low == pytest.approx(45e3 - here.bound(10.0, each))
    assert high == pytest.approx(55e3 + here.bound(12.0, each))


def test_bounds_stay_within_the_rows_that_there_may_be() -> None:
    here = total()
    most = here.rows + here.error(0.1 / 4)
    everything = bounds(here, (5e5, 9e5), (1.0, 1.0), chance=0.1, fraction=False)
    assert everything == (most, most)
    assert bounds(here, (5e5, 9e5), (1.0, 1.0), chance=0.1, fraction=True) == (
        1.0,
        1.0,
    )
    nothing = bounds(here, (-5000.0, -900.0), (1.0, 1.0), chance=0.1, fraction=True)
    assert nothing == (0.0, 0.0)
    for rows in (0.0, -10.0, -1e6):
        few = total(rows=rows)
        low, high = bounds(few, (rows, rows), (1.0, 1.0), chance=0.1, fraction=True)
        assert (low, high) == (0.0, 1.0)
    unknown = bounds(here, (0.0, math.inf), (0.0, 0.0), chance=0.1, fraction=True)
    assert unknown == (0.0, 1.0)


@pytest.mark.parametrize("fraction", [True, False], ids=["fraction", "count"])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_sides_reach_from_any_answer_to_both_bounds(
    value: float, *, fraction: bool
) -> None:
    scale = 1.0 if fraction else 1e5
    one = error(value=value * scale, fraction=fraction)
    low, high = bounds(
        total(), (45e3, 55e3), (10.0, 12.0), chance=0.1, fraction=fraction
    )
    below, above = (float(side[0]) for side in one.sides(0.9, cells=1))
    assert min(below, above) >= 0
    assert one.value - below <= low + 1e-9
    assert one.value + above >= high - 1e-9
    assert float(one.half_width(0.9, cells=1)[0]) == max(below, above)
    below_two, above_two = (float(side[0]) for side in one.sides(0.9, cells=2))
    assert below_two >= below
    assert above_two >= above


def test_a_band_is_between_two_planes_that_share_the_chance() -> None:
    wide = error(value=0.8, sure=75e3, possible=82e3)
    narrow = error(value=0.3, sure=25e3, possible=32e3)
    band = BandError(value=0.5, wide=wide, narrow=narrow)
    ends: list[float] = []
    for one in (wide, narrow):
        below, above = one.sides(0.9, cells=2)
        ends += [one.value - float(below[0]), one.value + float(above[0])]
    below, above = (float(side[0]) for side in band.sides(0.9, cells=1))
    assert 0.5 - below == pytest.approx(ends[0] - ends[3])
    assert 0.5 + above == pytest.approx(ends[1] - ends[2])
    assert float(band.half_width(0.9, cells=1)[0]) == max(below, above)
    assert band.noise == wide.noise
    # A band is of no rows at least, and no answer is further than its bounds.
    empty = BandError(value=0.0, wide=narrow, narrow=wide)
    assert float(empty.sides(0.9, cells=1)[0][0]) == 0
