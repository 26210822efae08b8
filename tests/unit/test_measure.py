from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from dpframe import Accountant
from dpframe.block import GAUSSIAN, LAPLACE, MAX_NORM, Block
from dpframe.errors import LedgerError, ParameterError
from dpframe.measure import release
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.privacy.loss import Loss
from dpframe.query import Part, Query
from dpframe.tally import WEIGHT, Contribution, Distinct, KeyAxis, Per, Tally
from dpframe.values import column_type

if TYPE_CHECKING:
    from pathlib import Path

EPSILON = Loss(epsilon=Fraction(1, 3))
RHO = Loss(rho=Fraction(1, 7))
KEYS = KeyAxis(columns=(column_type("k", pl.String()),), keys=("a", "b", "c"))


def part(loss: Loss, contribution: Contribution, **row: int) -> Part:
    tally = Tally(axes=(KEYS,), contribution=contribution)
    return Part(statistic=tally, blocks=(Block.independent(loss, **row),))


def test_the_kind_of_a_loss_decides_the_noise() -> None:
    assert Block.independent(EPSILON).law == LAPLACE
    assert Block.independent(RHO).law == GAUSSIAN


@pytest.mark.parametrize(
    ("law", "loss"), [(GAUSSIAN, EPSILON), (LAPLACE, RHO), (MAX_NORM, RHO)]
)
def test_noise_that_a_loss_does_not_buy_is_refused(law: str, loss: Loss) -> None:
    with pytest.raises(ValueError, match="cannot be planned"):
        Block(law=law, loss=loss)


@pytest.mark.parametrize(
    ("contribution", "squared"),
    [
        (Contribution(), 1),
        (Contribution(per=Per.ROWS, limit=5), (5 * WEIGHT) ** 2),
        (Contribution(per=Per.UNITS, limit=5), 5),
        (Contribution(per=Per.TOTALS, limit=5), 5),
        (Contribution(per=Per.MEANS, limit=5), 5),
    ],
)
def test_rows_may_point_one_way_and_units_are_in_several_cells(
    contribution: Contribution, squared: int
) -> None:
    planned = part(RHO, contribution, row=9)
    (block,) = planned.blocks
    assert planned.sensitivity(block) == 81 * squared
    assert planned.noise(block) == DiscreteGaussian(
        sigma2=Fraction(81 * squared * 7, 2)
    )
    pure = part(EPSILON, contribution, row=9)
    assert pure.noise(pure.blocks[0]) == DiscreteLaplace(
        scale=Fraction(9 * 3 * contribution.multiplicity)
    )


def test_distinct_values_of_a_unit_are_all_in_one_figure() -> None:
    contribution = Contribution(per=Per.UNITS, limit=5)
    distinct = Distinct(keys=(), contribution=contribution)
    planned = Part(statistic=distinct, blocks=(Block.independent(RHO),))
    assert planned.sensitivity(planned.blocks[0]) == 25


def test_a_squared_norm_of_its_own_is_taken_where_it_is_known() -> None:
    planned = part(RHO, Contribution(per=Per.ROWS, limit=2), row=9, row_squared=50)
    assert planned.sensitivity(planned.blocks[0]) == 50 * (2 * WEIGHT) ** 2


def query(cost: Loss, *losses: Loss) -> Any:
    nothing: Any = None
    parts = tuple(part(loss, Contribution()) for loss in losses)
    return Query(
        frame=nothing,
        mechanism="m",
        columns=(),
        cost=cost,
        parts=parts,
        outlook=nothing,
        finish=nothing,
    )


@pytest.mark.parametrize("loss", [EPSILON, RHO])
def test_blocks_add_up_to_the_cost(loss: Loss) -> None:
    third = loss.share(Fraction(1, 3))
    made = query(loss, third, third, third)
    assert made.cost == loss
    with pytest.raises(ValueError, match="do not add up"):
        query(loss, third, third)
    with pytest.raises(ParameterError, match="different kinds"):
        query(loss, EPSILON, RHO)
    with pytest.raises(ValueError, match="do not add up"):
        replace(made, cost=loss.share(Fraction(2)))


def test_an_answer_is_kept_back_where_the_ledger_is_lost_before_it_is_there(
    tmp_path: Path,
) -> None:
    place, aside = tmp_path / "budget.db", tmp_path / "aside.db"
    budget = Accountant(epsilon=1, ledger=place, create=True)
    planned = pl.DataFrame({"x": [1]}).dp.attach(budget).dp.preview.count(epsilon=0.4)

    def lose(measured: Any) -> Any:
        place.rename(aside)
        return planned.query.finish(measured)

    with pytest.raises(LedgerError, match="there is no ledger") as caught:
        release(replace(planned.query, finish=lose))
    assert "Nothing was released, and the charge stays." in str(caught.value)
    assert "nothing was spent" not in str(caught.value)
    aside.rename(place)
    assert budget.spent.epsilon == Fraction(2, 5)
    assert [row["state"] for row in budget.events.to_dicts()] == ["charged"]
