"""No row or unit moves the bins of directions further than is claimed.

A row is in one bin of each direction, wherever it lies: on the edge of a bin too, and
beside any other rows. What a frame counts is what its rows count alone, so this holds
of every pair of neighbours that are made of its rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.calls import attached
from checks.columns import COLUMNS, Column
from checks.columns import seeded as random_of
from checks.slices import counted, lift, product, quantity, slices
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpframe.block import Block
from dpframe.engines.local import evaluate
from dpframe.engines.rows import code, quantised
from dpframe.mechanisms.grids import grid_of
from dpframe.privacy.loss import Loss
from dpframe.query import Part
from dpframe.tally import COARSE, WEIGHT, Contribution, Per

if TYPE_CHECKING:
    from dpframe.grid import Grid
    from dpframe.slices import Slices
    from dpframe.tally import Quantity

    Array = np.ndarray[Any, np.dtype[Any]]
    Rows = list[dict[str, Any]]

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
EXAMPLES = settings(
    max_examples=20 * AUDIT,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
DIRECTIONS = 24
BINS = 7
LOSSES = (Loss(epsilon=Fraction(1)), Loss(rho=Fraction(1)))


def small(dtype: pl.DataType, low: int, high: int) -> Column:
    return Column(
        name=str(dtype),
        dtype=dtype,
        bounds=(low + 3, high - 5),
        keys=[],
        edges=[],
        special=(
            *range(low, low + 5),
            *range(high - 6, high + 1),
            (low + high) // 2,
            (low + high) // 2 + 1,
        ),
    )


EVERY = (
    *COLUMNS,
    small(pl.UInt8(), 0, 2**8 - 1),
    small(pl.Int8(), -(2**7), 2**7 - 1),
    small(pl.UInt32(), 0, 2**32 - 1),
    small(pl.Int32(), -(2**31), 2**31 - 1),
)
every_column = pytest.mark.parametrize("column", EVERY, ids=str)
rows_or_units = pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])


@dataclass(frozen=True)
class Case:
    """Rows of some columns, counted along some directions.

    Attributes
    ----------
    columns : tuple of Column
    rows : list of dict
        Those of unit 0 are left out of the neighbour.
    limit : int or None
        The row limit of a unit; None where each row is one.
    lifted, labelled : bool
    shift : int
    seed : int
        Decides the directions.
    """

    columns: tuple[Column, ...]
    rows: Rows
    limit: int | None
    lifted: bool
    labelled: bool
    shift: int
    seed: int

    def frame(self, rows: Rows) -> Any:
        declared: dict[str, Any] = {}
        if self.limit is not None:
            declared = {"privacy_unit": "u", "max_rows": self.limit}
        return attached(self.native(rows), **declared)

    def native(self, rows: Rows) -> pl.DataFrame:
        schema = {f"x{i}": one.dtype for i, one in enumerate(self.columns)}
        schema |= {"g": pl.Boolean(), "u": pl.Int64()}
        return pl.DataFrame(
            {
                name: pl.Series(name, [r[name] for r in rows], dtype=dtype, strict=True)
                for name, dtype in schema.items()
            }
        )

    @cached_property
    def quantities(self) -> list[Quantity]:
        frame = self.frame(self.rows)
        named = enumerate(self.columns)
        return [quantity(frame, f"x{i}", one.bounds) for i, one in named]

    @cached_property
    def label(self) -> Grid | None:
        if not self.labelled:
            return None
        frame = self.frame(self.rows)
        return grid_of(frame, "g", bounds=(False, True), release="count")

    @cached_property
    def known(self) -> list[tuple[list[int], int] | None]:
        """Each row's whole numbers and label, read from a frame of its own."""
        exprs = {f"y{i}": quantised(one) for i, one in enumerate(self.quantities)}
        exprs["label"] = pl.lit(0) if self.label is None else code((self.label,))
        read = [self.native([row]).select(**exprs).row(0) for row in self.rows]
        return [
            None if None in one else ([int(y) for y in one[:-1]], int(one[-1]))
            for one in read
        ]

    @cached_property
    def slices(self) -> Slices:
        """Directions of all lengths; along half of them a row lies on an edge.

        On that below a bin, or a step short of it.
        """
        rng = random_of(self.seed)
        width = len(self.columns) + self.lifted
        here = [y for y, _ in filter(None, self.known)]
        directions: list[list[int]] = []
        offsets: list[int] = []
        for number in range(DIRECTIONS):
            most = rng.choice([1, 3, 1 << 20, (1 << 30) // width])
            u = [rng.randint(-most, most) for _ in range(width)]
            middle = BINS << self.shift >> 1
            offset = middle + rng.randint(-middle, middle)
            if here and number % 2:
                row = rng.choice(here)
                edge = rng.randint(0, BINS) << self.shift
                along = product(lift(row) if self.lifted else row, u)
                offset = edge - along - rng.choice([0, 1])
            directions.append(u)
            offsets.append(offset)
        limits: dict[str, Any] = {}
        if self.limit is not None:
            limits = {"per": Per.ROWS, "limit": self.limit}
        return slices(
            self.quantities,
            directions,
            offsets=offsets,
            shift=self.shift,
            bins=BINS,
            lifted=self.lifted,
            label=self.label,
            contribution=Contribution(**limits),
        )

    def weight(self, row: dict[str, Any]) -> int:
        if self.limit is None:
            return 1
        if row["u"] is None:
            return 0
        size = sum(one["u"] == row["u"] for one in self.rows)
        return min(WEIGHT, WEIGHT * self.limit // size)

    def counts(self, rows: Rows) -> Array:
        """Return what the engine counts, shape ``(labels, directions, bins)``."""
        found = evaluate(self.frame(rows), self.slices)
        return found.reshape(self.slices.shape)

    def by_hand(self, *, left_out: bool) -> Array:
        """Return what rows alone add up to: those of unit 0, or of all others."""
        added = [
            (*known, self.weight(row))
            for row, known in zip(self.rows, self.known, strict=True)
            if known is not None and (row["u"] == 0) == left_out
        ]
        return np.array(counted(self.slices, added)).reshape(self.slices.shape)


def value_of(column: Column) -> st.SearchStrategy[Any]:
    """Return values at, beside and beyond bounds and limits, and missing ones."""
    known = st.sampled_from([*column.bounds, *column.special, None])
    return known | st.integers(0, 10**6).map(lambda n: column.value(random_of(n)))


@st.composite
def cases(draw: st.DrawFn, column: Column, *, unit: bool) -> Case:
    columns = (column, *draw(st.lists(st.sampled_from(EVERY), max_size=3)))
    values = {f"x{i}": value_of(one) for i, one in enumerate(columns)}
    others = {
        "g": st.sampled_from([True, False, None]),
        "u": st.sampled_from([0, 0, 0, 1, 1, 2, None]),
    }
    rows = draw(st.lists(st.fixed_dictionaries(values | others), max_size=7))
    if draw(st.booleans()):  # a unit whose rows lie together moves bins furthest
        value = column.bounds[draw(st.integers(0, 1))]
        full = {f"x{i}": one.bounds[1] for i, one in enumerate(columns)}
        full |= {"x0": value, "g": True, "u": 0}
        rows += [full] * draw(st.integers(1, 4))
    if not unit:
        rows = [row | {"u": place} for place, row in enumerate(reversed(rows))]
    return Case(
        columns=columns,
        rows=rows,
        limit=draw(st.integers(1, 3)) if unit else None,
        lifted=draw(st.booleans()),
        labelled=draw(st.booleans()),
        shift=draw(st.sampled_from([0, 1, 20, 38, 39, 40])),
        seed=draw(st.integers(0, 2**32)),
    )


def claims(sliced: Slices, row: int) -> tuple[int, int]:
    """Return what is claimed of the L1 norm and the squared L2 norm."""
    blocks = (Block.independent(loss, row=row, row_squared=row) for loss in LOSSES)
    pure, rho = (
        Part(statistic=sliced, blocks=(block,)).sensitivity(block) for block in blocks
    )
    return pure, rho


def norms(gaps: Array) -> tuple[int, int]:
    return int(np.abs(gaps).sum()), int((gaps.astype(object) ** 2).sum())


@every_column
@rows_or_units
def test_no_unit_moves_the_bins_of_directions_further_than_claimed(
    column: Column, *, unit: bool
) -> None:
    nearest: list[tuple[float, float]] = []
    refuted: list[tuple[bool, bool]] = []

    @EXAMPLES
    @given(case=cases(column, unit=unit))
    def check(case: Case) -> None:
        sliced = case.slices
        rest = [row for row in case.rows if row["u"] != 0]
        whole, less = case.counts(case.rows), case.counts(rest)
        gaps = whole - less
        # Rows count what they count alone, whatever stands beside them.
        assert (less == case.by_hand(left_out=False)).all()
        assert (gaps == case.by_hand(left_out=True)).all()
        assert (np.abs(gaps).sum(axis=(0, 2)) <= sliced.multiplicity).all()
        moved, claimed = norms(gaps), claims(sliced, sliced.row)
        assert moved[0] <= claimed[0]
        assert moved[1] <= claimed[1]
        nearest.append((moved[0] / claimed[0], moved[1] / claimed[1]))
        lower = claims(sliced, sliced.row - 1)
        refuted.append((moved[0] > lower[0], moved[1] > lower[1]))
        if not unit:
            gone = [
                known
                for row, known in zip(case.rows, case.known, strict=True)
                if row["u"] == 0
            ]
            one = int(gone != [] and gone[0] is not None)
            assert sorted(gaps.sum(axis=(0, 2)).tolist()) == [one] * DIRECTIONS
            assert np.count_nonzero(gaps) == one * DIRECTIONS

    check()
    for norm in (0, 1):
        assert max(pair[norm] for pair in nearest) == 1
        # A claim of a direction less does not stand.
        assert any(pair[norm] for pair in refuted)


# What a product of fractions would do


def float_bins(y: Array, directions: Array, edges: Array) -> Array:
    """Count rows at or above a plane and below it, in one product of floats."""
    above = (directions @ y) >= edges[:, None]
    return np.stack([above.sum(axis=1), (~above).sum(axis=1)], axis=1)


def furthest(*, whole: bool) -> float:
    """Return how far one more row moves halves of planes through a row, per plane."""
    found = 0
    for trial in range(100):
        rng = np.random.default_rng(trial)
        directions = rng.uniform(-1, 1, size=(DIRECTIONS, 20))
        y = rng.uniform(-1, 1, size=(20, 2 + trial % 7))
        if whole:
            directions, y = (np.rint(part * COARSE) for part in (directions, y))
        edges = directions @ y[:, 0]
        both = [float_bins(rows, directions, edges) for rows in (y, y[:, :-1])]
        found = max(found, int(np.abs(both[0] - both[1]).sum()))
    return found / DIRECTIONS


def test_products_of_fractions_would_move_rows_that_stay() -> None:
    """The same claim, refuted where directions are not of whole numbers."""
    assert furthest(whole=True) == 1
    assert furthest(whole=False) > 1
