"""Parts of a release that follow from the noisy figures of the parts before them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.slices import counted, quantity, slices

import dpframe
from dpframe.block import GAUSSIAN, LAPLACE, Block
from dpframe.errors import BudgetExceededError
from dpframe.measure import release
from dpframe.ordering import Ordering
from dpframe.privacy.loss import Loss
from dpframe.query import Following, Part, Query, Search
from dpframe.tally import Contribution, Tally
from dpframe.testing import recording, seeded
from dpframe.values import column_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.slices import Slices

ROWS: dict[str, list[Any]] = {
    "x": [0.25, -0.5, 1.0, None, 0.75] * 8,
    "y": [1.0, 0.5, -0.25, 0.0, -1.0] * 8,
    "secret": [3] * 40,
}
COST = Loss(epsilon=Fraction(1, 2))
HALF = COST.share(Fraction(1, 2))
NOISY = Loss(epsilon=Fraction(1, 10**8))
"""So little that figures without noise come up once in 10^8 releases."""


@dataclass
class Plan:
    """Plans as many directions as noisy rows are worth, and notes what it was shown."""

    frame: Any
    loss: Loss
    columns: tuple[str, ...] = ("x", "y")
    shown: list[list[Any]] = field(default_factory=list[list[Any]])
    spent: list[Loss] = field(default_factory=list[Loss])
    made: list[Slices] = field(default_factory=list[Any])

    def __call__(self, figures: Sequence[Any]) -> Part:
        self.shown.append([np.array(figure) for figure in figures])
        self.spent.append(self.frame.private_state.accountant.spent)
        rows = int(figures[0][0, 0])
        self.made.append(self.sliced(2 + rows % 5))
        block = Block.independent(self.loss, row=self.made[-1].row)
        return Part(statistic=self.made[-1], blocks=(block,))

    def sliced(self, directions: int) -> Slices:
        quantities = [quantity(self.frame, n, (-1.0, 1.0)) for n in self.columns]
        along = [[k, *[1] * (len(quantities) - 1)] for k in range(directions)]
        return slices(quantities, along, offsets=1 << 19, shift=20, bins=3)


def private(data: Any = None, *, epsilon: float = 1, **declared: Any) -> Any:
    frame = pl.DataFrame(ROWS) if data is None else data
    return dpframe.attach(frame, dpframe.Accountant(epsilon=epsilon), **declared)


def counting(loss: Loss = HALF) -> Part:
    return Part(statistic=Tally(), blocks=(Block.independent(loss),))


def declared(frame: Any, *names: str) -> dict[str, Any]:
    types = frame.types()
    return {name: column_type(name, types[name]) for name in names or ("x", "y")}


def query(frame: Any, *parts: Any, cost: Loss = COST) -> Query[Any]:
    outlook: Any = None
    return Query(
        frame=frame,
        mechanism="m",
        columns=("x", "y"),
        cost=cost,
        parts=parts,
        outlook=outlook,
        finish=lambda measured: measured,
    )


def following(frame: Any, plan: Any, loss: Loss = HALF, **columns: Any) -> Following:
    return Following(columns=columns or declared(frame), loss=loss, plan=plan)


def test_what_follows_is_measured_as_the_noisy_figures_say() -> None:
    frame = private()
    plan = Plan(frame, HALF)
    with recording(noiseless=True):
        measured = release(query(frame, counting(), following(frame, plan)))
    assert measured.figures[0].tolist() == [[40]]
    (sliced,) = plan.made
    assert sliced.row == 2
    grid = 1 << 20
    rows = [
        ([int(x * grid), int(y * grid)], 0, 1)
        for x, y in zip(ROWS["x"], ROWS["y"], strict=True)
        if x is not None
    ]
    assert measured.figures[1][:, 0].tolist() == counted(sliced, rows)


def test_a_plan_sees_noisy_figures_and_no_others() -> None:
    frame = private()
    plan = Plan(frame, HALF)
    cost = NOISY + HALF
    asked = query(frame, counting(NOISY), following(frame, plan), cost=cost)
    with recording() as recorder:
        measured = release(asked)
    (record,) = recorder.records
    ((shown,),) = plan.shown
    (first,) = record.parts[0].blocks
    assert shown.tolist() == [list(row) for row in first.noisy]
    assert shown.tolist() != [list(row) for row in first.exact]
    assert first.exact == ((40,),)
    assert measured.figures[0].tolist() == shown.tolist()


def test_the_part_that_was_planned_is_what_is_recorded() -> None:
    counts: set[int] = set()
    for seed in range(8):
        frame = private()
        plan = Plan(frame, HALF)
        cost = NOISY + HALF
        asked = query(frame, counting(NOISY), following(frame, plan), cost=cost)
        with recording() as recorder, seeded(seed):
            release(asked)
        (record,) = recorder.records
        (sliced,) = plan.made
        assert record.parts[1].statistic is sliced
        (block,) = record.parts[1].blocks
        assert len(block.exact) == sliced.cells
        assert block.sensitivity == sliced.row
        assert block.scale == 4 * sliced.row
        assert block.loss == HALF
        assert record.cost == cost.exact
        assert sliced.row == 2 + record.parts[0].blocks[0].noisy[0][0] % 5
        counts.add(sliced.row)
    assert len(counts) > 1  # the noise decides


def test_gaussian_noise_follows_too() -> None:
    frame = dpframe.attach(pl.DataFrame(ROWS), dpframe.Accountant(rho=1))
    half = Loss(rho=Fraction(1, 4))

    def plan(figures: Sequence[Any]) -> Part:
        assert len(figures) == 1
        sliced = Plan(frame, half).sliced(3)
        block = Block.independent(half, row=sliced.row, row_squared=sliced.row)
        return Part(statistic=sliced, blocks=(block,))

    asked = query(frame, counting(half), following(frame, plan, half), cost=half + half)
    with recording() as recorder:
        release(asked)
    (first,), (second,) = (part.blocks for part in recorder.records[0].parts)
    assert (first.law, second.law) == (GAUSSIAN, GAUSSIAN)
    assert second.sigma2 == Fraction(3 * 4, 2)


def test_later_parts_see_all_figures_before_them() -> None:
    frame = private()
    third = COST.share(Fraction(1, 3))
    one, other = Plan(frame, third), Plan(frame, third)
    parts = (counting(third), *(following(frame, p, third) for p in (one, other)))
    with recording() as recorder:
        release(query(frame, *parts))
    (record,) = recorder.records
    noisy = [[list(row) for row in part.blocks[0].noisy] for part in record.parts]
    assert [figure.tolist() for figure in one.shown[0]] == noisy[:1]
    assert [figure.tolist() for figure in other.shown[0]] == noisy[:2]


def test_what_a_search_learnt_is_among_the_figures() -> None:
    frame = private()
    third = COST.share(Fraction(1, 3))
    ordering = Ordering(grids=(_grid(frame),), contribution=Contribution())
    search = Search(ordering=ordering, loss=third, run=lambda _: "learnt")
    shown: list[Any] = []

    def plan(figures: Sequence[Any]) -> Part:
        shown.extend(figures)
        return counting(third)

    planned = following(frame, plan, third)
    measured = release(query(frame, counting(third), search, planned))
    assert shown[1] == "learnt"
    assert measured.figures[0].tolist() == shown[0].tolist()


def _grid(frame: Any) -> Any:
    from dpframe.mechanisms.grids import grid_of  # noqa: PLC0415

    return grid_of(frame, "x", bounds=(-1, 1), step=0.5, release="count")


# What it costs


def test_it_is_charged_once_and_before_a_row_is_read() -> None:
    reads: list[Loss] = []
    budget = dpframe.Accountant(epsilon=1)

    def watched(rows: pl.DataFrame) -> pl.DataFrame:
        reads.append(budget.spent)
        return rows

    frame = dpframe.attach(pl.LazyFrame(ROWS).map_batches(watched), budget)
    plan = Plan(frame, HALF)
    release(query(frame, counting(), following(frame, plan)))
    assert [spent.exact for spent in reads] == [COST.exact]  # one file, read once
    assert [spent.exact for spent in plan.spent] == [COST.exact]
    assert budget.spent.exact == COST.exact
    events = budget.events.to_dicts()
    assert [event["state"] for event in events] == ["charged", "released"]


def test_what_cannot_be_paid_for_is_neither_read_nor_planned() -> None:
    def watched(_: pl.DataFrame) -> pl.DataFrame:
        msg = "a row was read"
        raise AssertionError(msg)

    lazy = pl.LazyFrame(ROWS).map_batches(watched, schema=pl.DataFrame(ROWS).schema)
    frame = private(lazy, epsilon=0.4)  # the first part alone could be paid for
    plan = Plan(frame, HALF)
    with pytest.raises(BudgetExceededError):
        release(query(frame, counting(), following(frame, plan)))
    assert plan.shown == []
    assert frame.private_state.accountant.spent.epsilon == 0


def test_what_follows_is_part_of_the_cost() -> None:
    frame = private()
    planned = following(frame, Plan(frame, HALF))
    assert planned.losses == [HALF]
    assert query(frame, counting(), planned).cost == COST
    for cost in (HALF, COST + HALF):
        with pytest.raises(ValueError, match="do not add up"):
            query(frame, counting(), planned, cost=cost)
    with pytest.raises(ValueError, match="do not add up"):
        query(frame, counting(), replace(planned, loss=COST))


def assert_refused(frame: Any, plan: Any, **columns: Any) -> None:
    """Check that a plan is refused after it was charged, and gives nothing away."""
    finished: list[Any] = []
    asked = query(frame, counting(), following(frame, plan, **columns))
    budget = frame.private_state.accountant
    before = budget.spent.epsilon
    with pytest.raises(ValueError, match="spends and reads what was planned"):
        release(replace(asked, finish=finished.append))
    assert finished == []
    assert budget.spent.epsilon - before == COST.epsilon
    assert budget.events.to_dicts()[-1]["state"] == "charged"


@pytest.mark.parametrize(
    "loss",
    [
        COST,
        HALF.share(Fraction(1, 2)),
        HALF.share(1 + Fraction(1, 10**30)),
        Loss(rho=Fraction(1, 4)),
        Loss(epsilon=HALF.epsilon, delta=Fraction(1, 10**9)),
    ],
    ids=str,
)
def test_a_part_that_spends_other_than_planned_is_refused(loss: Loss) -> None:
    frame = private(epsilon=9)

    def plan(figures: Sequence[Any]) -> Part:
        assert figures
        return counting(loss)

    assert_refused(frame, plan)


def test_blocks_are_added_up_to_what_was_planned() -> None:
    frame = private(epsilon=9)
    taken = quantity(frame, "x", (-1.0, 1.0))
    outputs = (((1, ()),), ((1, (0,)),))
    tally = Tally(quantities=(taken,), monomials=((), (0,)), outputs=outputs)

    def planned(*losses: Loss) -> Any:
        blocks = tuple(
            Block(start=i, stop=i + 1, law=LAPLACE, row_sensitivity=1 << 20, loss=loss)
            for i, loss in enumerate(losses)
        )
        return lambda _: Part(statistic=tally, blocks=blocks)

    quarter = HALF.share(Fraction(1, 2))
    release(query(frame, counting(), following(frame, planned(quarter, quarter))))
    assert_refused(frame, planned(HALF, HALF))
    assert_refused(frame, planned(HALF, quarter))


# What it reads


def test_a_column_that_was_not_declared_is_not_read() -> None:
    reads: list[int] = []

    def watched(values: pl.Series) -> pl.Series:
        reads.append(len(values))
        return values

    secret = pl.col("secret").map_batches(watched, return_dtype=pl.Int64)
    frame = private(pl.LazyFrame(ROWS).with_columns(secret), epsilon=9)
    types = declared(frame, "x", "y", "secret")
    for columns in (("x", "secret"), ("secret",)):
        for plan in (
            lambda _, columns=columns: replace(
                counting(),
                statistic=Tally(present=tuple(types[name] for name in columns)),
            ),
            Plan(frame, HALF, columns=columns),
        ):
            assert_refused(frame, plan)
    assert reads == []
    plan = Plan(frame, HALF, columns=("x", "secret"))
    release(query(frame, counting(), following(frame, plan, **types)))
    assert reads == [40]  # declared, it is


def test_a_column_of_another_dtype_than_declared_is_refused() -> None:
    frame = private(epsilon=9)
    other = column_type("x", pl.Int64())
    assert_refused(
        frame, lambda _: replace(counting(), statistic=Tally(present=(other,)))
    )


def test_fewer_columns_may_be_read_than_were_declared() -> None:
    frame = private()
    plan = Plan(frame, HALF, columns=("y",))
    measured = release(query(frame, counting(), following(frame, plan)))
    assert measured.figures[1].shape == (plan.made[0].cells, 1)


def test_columns_of_two_types_are_refused_when_they_are_planned() -> None:
    frame = private()
    other = {"x": column_type("x", pl.Int64())}
    part = replace(counting(), statistic=Tally(present=(declared(frame, "x")["x"],)))
    with pytest.raises(TypeError, match="declared to hold"):
        query(frame, part, following(frame, Plan(frame, HALF), **other))


def test_a_plan_that_fails_keeps_the_charge() -> None:
    frame = private()

    def plan(_: Sequence[Any]) -> Part:
        msg = "a mistake"
        raise ZeroDivisionError(msg)

    with pytest.raises(ZeroDivisionError, match="a mistake"):
        release(query(frame, counting(), following(frame, plan)))
    assert frame.private_state.accountant.spent.exact == COST.exact
