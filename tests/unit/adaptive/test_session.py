"""Questions about an order: exact where noise is frozen, of a known law where not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.power import ALPHA, law_p_value
from checks.releases import sharper

from dpframe.adaptive.session import CHANCE, Session, quantile_rate, tree_block
from dpframe.engines.ordered import Ordered
from dpframe.grid import EvenGrid
from dpframe.nested import tree_shapes
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.ordering import Ordering
from dpframe.privacy.loss import Loss
from dpframe.tally import WEIGHT, Contribution, Per
from dpframe.testing import Recorder
from dpframe.values import column_type

if TYPE_CHECKING:
    from dpframe.noise import Noise

ONE = Loss(epsilon=Fraction(1))
HALF = Loss(epsilon=Fraction(1, 2))
RHO = Loss(rho=Fraction(1, 8))
UNITS = Contribution(per=Per.ROWS, limit=3)
CODES = [0, 0, 2, 3, 3, 3, 9, 15]
LEVELS = ((3,), (2,))
EDGES = [0, 2, 3, 8]


def ordering(contribution: Contribution | None = None, size: int = 16) -> Ordering:
    column = column_type("x", pl.Int64())
    grid = EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=size)
    return Ordering(grids=(grid,), contribution=contribution or Contribution())


def session(
    *, allowance: Loss = ONE, chance: Any = CHANCE, units: bool = False
) -> Session:
    weights = [WEIGHT // (1 + place % 2) for place in range(len(CODES))]
    running = np.concatenate([[0], np.cumsum(weights)]) if units else None
    order = Ordered(codes=np.array(CODES, dtype=np.uint64), running=running)
    return Session(
        orders=[order],
        ordering=ordering(UNITS if units else None),
        allowance=allowance,
        chance=chance,
    )


def edges() -> Any:
    return np.array(EDGES, dtype=np.uint64)


@pytest.mark.parametrize("units", [False, True])
def test_a_tree_without_noise_is_the_sums_of_the_ranges(*, units: bool) -> None:
    found = session(chance=Recorder(noiseless=True), units=units).tree(
        edges(), LEVELS, ONE
    )
    weights = [WEIGHT // (1 + place % 2) if units else 1 for place in range(len(CODES))]
    ends = [*EDGES[1:], 16]
    leaves = [
        sum(w for code, w in zip(CODES, weights, strict=True) if low <= code < high)
        for low, high in zip(EDGES, ends, strict=True)
    ]
    leaves += [0, 0]
    tops = [leaves[k] + leaves[k + 1] for k in (0, 2, 4)]
    assert found[:, 0].tolist() == [*tops, *leaves]


class Kept:
    """Chances that keep what they drew."""

    def __init__(self) -> None:
        self.drawn: list[tuple[Noise, int]] = []

    def draw(self, noise: Noise, size: int) -> Any:
        self.drawn.append((noise, size))
        return noise.sample(size)

    def select(self, *_: object, **__: object) -> int:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("loss", "units", "law"),
    [
        (ONE, False, DiscreteLaplace(scale=Fraction(2))),
        (HALF, False, DiscreteLaplace(scale=Fraction(4))),
        (HALF, True, DiscreteLaplace(scale=Fraction(4 * 3 * WEIGHT))),
        (RHO, False, DiscreteGaussian(sigma2=Fraction(8))),
        (RHO, True, DiscreteGaussian(sigma2=Fraction(8 * (3 * WEIGHT) ** 2))),
    ],
)
def test_every_node_of_a_tree_has_noise_of_its_own_for_all_levels(
    loss: Loss, law: Noise, *, units: bool
) -> None:
    kept = Kept()
    frozen = session(allowance=loss, chance=Recorder(noiseless=True), units=units)
    exact = frozen.tree(edges(), LEVELS, loss)
    noises: list[Any] = []
    for _ in range(3000):
        asked = session(allowance=loss, chance=kept, units=units)
        noises.append((asked.tree(edges(), LEVELS, loss) - exact)[:, 0])
    nodes = sum(shape[0] for shape in tree_shapes(LEVELS))
    assert set(kept.drawn) == {(law, nodes)}
    values = np.array(noises)
    together = np.corrcoef(values.astype(np.float64).T) - np.eye(nodes)
    assert np.abs(together).max() < 0.14  # over seven standard deviations, of 36 pairs
    flat = values.reshape(-1)
    assert law_p_value(flat, law) > ALPHA
    assert law_p_value(flat, sharper(law, Fraction(5, 4))) < ALPHA


@pytest.mark.parametrize(
    ("loss", "units", "law"),
    [
        (HALF, False, DiscreteLaplace(scale=Fraction(2))),
        (HALF, True, DiscreteLaplace(scale=Fraction(2 * 3 * WEIGHT))),
        (RHO, True, DiscreteGaussian(sigma2=Fraction(4 * (3 * WEIGHT) ** 2))),
    ],
)
def test_a_count_has_fresh_noise_each_time(
    loss: Loss, law: Noise, *, units: bool
) -> None:
    kept = Kept()
    total = Loss(epsilon=Fraction(10**6)) if loss.epsilon else Loss(rho=Fraction(10**6))
    counter = session(allowance=total, chance=kept, units=units).spread(0)
    exact = session(units=units, chance=Recorder(noiseless=True)).spread(0)
    inside = exact.count(2, 9, ONE)
    noises = [counter.count(2, 9, loss) - inside for _ in range(3000)]
    assert set(kept.drawn) == {(law, 1)}
    assert law_p_value(np.array(noises), law) > ALPHA
    assert law_p_value(np.array(noises), sharper(law, Fraction(5, 4))) < ALPHA


@pytest.mark.parametrize("loss", [ONE, Loss(rho=Fraction(1))])
def test_no_more_is_spent_than_was_planned(loss: Loss) -> None:
    third = loss.share(Fraction(1, 3))
    asked = session(allowance=loss)
    asked.tree(edges(), LEVELS, third)
    asked.splits(third)
    asked.spread(0).count(0, 16, third)
    tiny = loss.share(Fraction(1, 10**12))
    for question in (
        lambda: asked.tree(edges(), LEVELS, tiny),
        lambda: asked.splits(tiny),
        lambda: asked.spread(4).count(0, 16, tiny),
        lambda: asked.quantiles(Fraction(1, 2), tiny),
    ):
        with pytest.raises(ValueError, match="more than it was planned for"):
            question()


def test_leaves_of_a_partition_are_found_at_the_loss_that_is_paid() -> None:
    kept = Kept()
    session(chance=kept).splits(HALF)
    steps = {noise.scale for noise, _ in kept.drawn}
    assert steps == {Fraction(3 * 2**20) / Fraction(1, 2)}


@pytest.mark.parametrize(
    ("level", "loss", "rate"),
    [
        (Fraction(1, 2), ONE, Fraction(1, 2)),
        (Fraction(9, 10), ONE, Fraction(1, 18)),
        (Fraction(1, 10), HALF, Fraction(1, 36)),
        (Fraction(1, 2), Loss(rho=Fraction(1, 8)), Fraction(1, 2)),
    ],
)
def test_a_choice_is_as_sharp_as_its_loss_allows(
    level: Fraction, loss: Loss, rate: Fraction
) -> None:
    assert quantile_rate(ordering(), level, loss) == rate
    assert quantile_rate(ordering(UNITS), level, loss) == rate / (3 * WEIGHT)


def test_a_tree_block_is_one_row_in_each_level() -> None:
    assert tree_block(((4,),) * 3, ONE).row_sensitivity == 3
    assert tree_block(((4,),) * 3, RHO).row_sensitivity == 3
