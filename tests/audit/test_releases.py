"""The released law of every kind of release, on neighbours as far apart as can be.

Black-box audits see no event rarer than some 20 in the number of releases, and
passing one proves nothing; the sensitivities themselves are tested exactly elsewhere.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from checks.kinds import COARSE, FINE, FULL, GAUSSIAN_KINDS, KINDS, SUM_UNIT, Kind
from checks.power import (
    ALPHA,
    clopper_pearson,
    confirmed,
    draws,
    law_p_value,
    least_loss,
)
from checks.promises import claimed_law, distances, drawn, noise_follows_the_claim
from checks.releases import bulk, event_counts, seen, sharper
from scipy import stats

from dpframe.block import MAX_NORM
from dpframe.noise import DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from checks.releases import Seen

pytestmark = pytest.mark.audit

CLOSE = Fraction(105, 100)
PLANTED = Fraction(12, 10)
BY_NAME = {kind.name: kind for kind in KINDS}


def every_kind(function: Callable[..., None]) -> Callable[..., None]:
    marks = [pytest.param(kind, id=kind.name) for kind in KINDS]
    return pytest.mark.parametrize("kind", marks)(function)


def is_joint(shown: Seen) -> bool:
    return any(block.law == MAX_NORM for _, block, _ in shown.blocks)


def releases(here: Seen) -> int:
    """Return how many releases find noise that is 1.2 times too small."""
    if here.query.mechanism == "halfspace_oracle":
        return draws(200_000)  # all of four figures that differ are seldom in the event
    return draws(15_000 if is_joint(here) else 60_000)


@every_kind
def test_one_unit_more_or_less_costs_no_more_than_epsilon(kind: Kind) -> None:
    here, there = (seen(frame, kind.ask) for frame in kind.frames())
    pairs = [(here, there)] if is_joint(here) else [(here, there), (there, here)]
    for less, more in pairs:

        def refutes(number: int, pair: tuple[Seen, Seen] = (less, more)) -> bool:
            rarely, often = event_counts(*pair, number)
            return least_loss(often, rarely, number) > 1

        assert not confirmed(refutes, releases(here))


@every_kind
def test_noise_that_is_too_small_by_a_fifth_is_found(kind: Kind) -> None:
    here, there = (seen(frame, kind.ask) for frame in kind.frames())
    number = releases(here)
    rarely, often = event_counts(here, there, number, planted=PLANTED)
    assert least_loss(often, rarely, number) > 1


BOTH = [
    *(pytest.param(kind, False, id=kind.name) for kind in KINDS),
    *(pytest.param(kind, True, id=f"{kind.name}, rho") for kind in GAUSSIAN_KINDS),
]


@pytest.mark.parametrize(("kind", "gaussian"), BOTH)
def test_noise_follows_the_law_of_the_claim_and_no_close_one(
    kind: Kind,
    gaussian: bool,  # noqa: FBT001 - a case
) -> None:
    shown = seen(kind.frames(gaussian=gaussian)[1], kind.ask)
    number = draws(20_000 if is_joint(shown) else 100_000)
    noise_follows_the_claim(kind, number, gaussian=gaussian)
    for place, (part, block, _) in enumerate(shown.blocks):
        law, values = claimed_law(kind, shown, place), drawn(part.noise(block), number)
        # One coordinate of max-norm noise has a tail of its own; 10% is found.
        close = CLOSE**2 if block.law == MAX_NORM else CLOSE
        assert law_p_value(values, sharper(law, close)) < ALPHA
        assert law_p_value(values, sharper(law, 1 / close)) < ALPHA


# Gaussian noise: the event is a half-space across the line between the neighbours


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the delta of Gaussian noise of this rho at an epsilon (Balle-Wang)."""
    gap = math.sqrt(2 * rho)
    tails = stats.norm.cdf([gap / 2 - epsilon / gap, -gap / 2 - epsilon / gap])
    return float(tails[0] - math.exp(epsilon) * tails[1])


def half_space_counts(
    kind: Kind, number: int, epsilon: float, planted: Fraction = Fraction(1)
) -> tuple[int, int]:
    """Return how often each neighbour's loss is above an epsilon, of so many."""
    here, there = (seen(frame, kind.ask) for frame in kind.frames(gaussian=True))
    losses = [np.zeros(number), np.zeros(number)]
    for (part, block, first), (_, _, second) in zip(
        here.blocks, there.blocks, strict=True
    ):
        moved = np.flatnonzero(first != second)
        law = part.noise(block)
        sigma2 = float(law.sigma2)
        apart = (second - first)[moved].astype(float)
        for place, side in enumerate((-0.5, 0.5)):
            drawn = bulk(sharper(law, planted), moved.size, number).astype(float)
            losses[place] += (drawn + side * apart) @ apart / sigma2
    rarely, often = (int((loss > epsilon).sum()) for loss in losses)
    return rarely, often


def least_delta(rarely: int, often: int, number: int, epsilon: float) -> float:
    """Return a lower bound of delta, wrong with a chance of 1e-6."""
    low, _ = clopper_pearson(often, number, ALPHA / 2)
    _, high = clopper_pearson(rarely, number, ALPHA / 2)
    return low - math.exp(epsilon) * high


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.name) for kind in GAUSSIAN_KINDS]
)
def test_one_unit_costs_no_more_than_a_rho_and_smaller_noise_is_found(
    kind: Kind,
) -> None:
    number, epsilon = draws(60_000), 0.5
    delta = gaussian_delta(0.5, epsilon)

    def refutes(count: int, planted: Fraction = Fraction(1)) -> bool:
        counts = half_space_counts(kind, count, epsilon, planted)
        return least_delta(*counts, count, epsilon) > delta

    assert not confirmed(refutes, number)
    furthest = all(found == claim for found, claim in distances(kind, gaussian=True))
    if furthest and min(kind.sigma2s) > 100:  # on a coarse grid the event is not best
        assert refutes(number, PLANTED)


# The whole way, from the method to what `.raw` says


def raw_count(resolution: int) -> Callable[[Any], list[Any]]:
    return lambda release: [release.raw * resolution]


def raw_sum(resolution: int) -> Callable[[Any], list[Any]]:
    return lambda release: [Fraction(release.raw) / SUM_UNIT * resolution]


def raw_cells(name: str, per_row: Fraction) -> Callable[[Any], list[Any]]:
    return lambda release: [
        Fraction(figure) * per_row for figure in release.raw[name].to_list()
    ]


def raw_parts(resolution: int) -> Callable[[Any], list[Any]]:
    """Return the two parts of a mean within (-1, 3), from its count and sum."""

    def parts(release: Any) -> list[Any]:
        count, total = release.raw["count"], release.raw["sum"]
        upper = (total + count) / 4
        return [round(part * FINE * resolution) for part in (count - upper, upper)]

    return parts


def raw_squares(resolution: int) -> Callable[[Any], list[Any]]:
    """Return the three parts of a variance within (-1, 3)."""

    def parts(release: Any) -> list[Any]:
        count, total = release.raw["count"], release.raw["sum"]
        first = (total + count) / 4
        second = (release.raw["squares"] + 2 * total + count) / 16
        found = (count - 2 * first + second, 2 * (first - second), second)
        return [round(part * FINE**2 * resolution) for part in found]

    return parts


def raw_ball(release: Any) -> list[Any]:
    return [round(figure * COARSE) for figure in release.raw["sum"]]


RAW: dict[str, Callable[[Any], list[Any]]] = {
    "count": raw_count(FULL),
    "count without unit": raw_count(1),
    "count of units": raw_count(1),
    "n_unique": raw_count(1),
    "sum": raw_sum(FULL),
    "sum without unit": raw_sum(1),
    "sum of totals": raw_sum(1),
    "mean": raw_parts(FULL),
    "mean of units": raw_parts(1),
    "std without unit": raw_squares(1),
    "histogram": raw_cells("count", Fraction(FULL)),
    "histogram of units": raw_cells("count", Fraction(1)),
    "contingency": raw_cells("count", Fraction(FULL)),
    "mean_cov of 2006": raw_ball,
}
BLOCK = {"mean_cov of 2006": 1}


def exact_figures(shown: Seen, place: int) -> list[int]:
    _, _, exact = shown.blocks[place]
    return [int(figure) for figure in exact]


@pytest.mark.parametrize("name", RAW)
def test_what_raw_says_has_the_same_law(name: str) -> None:
    kind, read = BY_NAME[name], RAW[name]
    frame = kind.frames()[1]
    place = BLOCK.get(name, 0)
    shown = seen(frame, kind.ask)
    exact = exact_figures(shown, place)
    law = claimed_law(kind, shown, place)

    def noises(number: int) -> Any:
        figures = [read(kind.ask(frame.dp)) for _ in range(number)]
        moved = np.array(figures, dtype=object) - np.array(exact, dtype=object)
        return moved.reshape(-1)

    number = draws(500 if name == "mean_cov of 2006" else 1_000)
    assert not confirmed(lambda n: law_p_value(noises(n), law) < ALPHA, number)


def test_a_table_of_many_cells_has_the_same_law_in_all_of_them() -> None:
    frame = BY_NAME["histogram of bins"].frames()[1]
    bins = draws(100_000)

    def ask(dp: Any) -> Any:
        return dp.histogram("x", bins=bins, epsilon=1)

    (exact,) = seen(frame, ask).exact
    law = DiscreteLaplace(scale=Fraction(1))

    def noises(number: int) -> Any:
        tables = [ask(frame.dp) for _ in range(-(-number // bins))]
        figures = [table.raw["count"].to_numpy() - exact[:, 0] for table in tables]
        return np.concatenate(figures)

    assert not confirmed(lambda n: law_p_value(noises(n), law) < ALPHA, bins)
    values = noises(bins)
    assert law_p_value(values, sharper(law, CLOSE)) < ALPHA
    assert law_p_value(values, sharper(law, 1 / CLOSE)) < ALPHA
