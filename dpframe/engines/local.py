"""The local engine: the rows stream through Polars once and become exact integers.

The plan turns each row into a cell code and whole numbers; its batches are folded
with numpy. Neither order, batches nor threads can change a sum of whole numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from dpframe.deviation import Compared, EveryPlane
from dpframe.engines import rows
from dpframe.engines.contribution import kept_cells
from dpframe.engines.deviation import largest_deviation, plane_deviation
from dpframe.engines.failures import withheld
from dpframe.engines.fold import BATCH, Sums
from dpframe.engines.slices import Binned
from dpframe.engines.steps import scaled, weights
from dpframe.frame import UNIT
from dpframe.nested import Nested
from dpframe.slices import Slices
from dpframe.tally import Ball, Distinct, KeyAxis, Per, Tally
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpframe.deviation import Deviation
    from dpframe.engines.once import Rows

Statistic: TypeAlias = "Tally | Distinct | Nested | Slices | Deviation"
Array = np.ndarray[Any, np.dtype[Any]]

_CELL: Final = "__cell__"
_VALUE: Final = "__value__"
_ROWS: Final = "__rows__"


def evaluate(source: Rows, statistic: Statistic) -> Array:
    """Return the exact whole-number outputs of a statistic: ``(cells, outputs)``.

    Only the columns that it names are read.

    Raises
    ------
    EvaluationError
        If the frame's own plan fails. The engine's words may quote cells, so they
        are withheld.
    """
    columns = {name: column.dtype for name, column in statistic.columns.items()}
    return withheld(lambda: _evaluate(source.scan(columns), statistic))


def _evaluate(source: pl.LazyFrame, statistic: Statistic) -> Array:
    if isinstance(statistic, Distinct):
        return _distinct(source, statistic)
    if isinstance(statistic, Nested):
        return statistic.stack(_evaluate(source, statistic.leaves))
    if isinstance(statistic, Slices):
        return _sliced(source, statistic)
    if isinstance(statistic, EveryPlane):
        return plane_deviation(_sliced(source, statistic.slices), statistic)
    if isinstance(statistic, Compared):
        return largest_deviation(source, statistic)
    if _counts_texts(statistic):
        return _counted_texts(source, statistic)
    match statistic.contribution.per:
        case Per.ROW | Per.ROWS:
            plan = _rows_plan(source, statistic)
        case Per.UNITS:
            plan = _units_plan(source, statistic)
        case Per.TOTALS | Per.MEANS:
            plan = _aggregates_plan(source, statistic)
    return statistic.combine(_fold(plan, statistic))


def _counts_texts(tally: Tally) -> bool:
    """Whether rows are counted by keys some of which are text."""
    return (
        tally.is_count
        and tally.contribution.per is Per.ROW
        and not tally.present
        and all(isinstance(axis, KeyAxis) for axis in tally.axes)
        and any(column.kind is Kind.TEXT for column in tally.columns.values())
    )


def _counted_texts(source: pl.LazyFrame, tally: Tally) -> Array:
    """Return counts by cell: rows are grouped by value first, the groups then coded.

    A text is looked up once per group then, and not once per row.
    """
    grouped = source.group_by(list(tally.columns)).agg(pl.len().alias(_ROWS))
    found = grouped.select(pl.col(_ROWS).cast(pl.Int64), **_cell(tally)).drop_nulls()
    groups = found.collect(engine="streaming")
    counts = np.zeros(tally.cells, dtype=np.int64)
    np.add.at(counts, groups[_CELL].to_numpy(), groups[_ROWS].to_numpy())
    return counts.reshape(-1, 1)


def _cell(tally: Tally) -> dict[str, pl.Expr]:
    """Return the cell code to select; null where the row is in no cell."""
    if not tally.axes:
        return {}
    found = rows.code(tally.axes)
    if tally.other:
        found = found.cast(pl.Int64).fill_null(tally.cells - 1)
    return {_CELL: found}


def _values(tally: Tally) -> dict[str, pl.Expr]:
    """Return the quantities to select, and what must be present beside them.

    One too wide for 64 bits comes in limbs.
    """
    named: dict[str, pl.Expr] = {}
    for i, (expr, reach) in enumerate(
        zip(rows.quantities(tally), _reaches(tally), strict=True)
    ):
        named.update(_limbs(i, expr, reach))
    for i, column in enumerate(tally.present):
        named[f"__present{i}__"] = rows.presence(column)
    return named


def _limbs(index: int, value: pl.Expr, reach: int) -> dict[str, pl.Expr]:
    return {
        _limb(index, place): limb for place, limb in enumerate(rows.limbs(value, reach))
    }


def _limb(index: int, place: int) -> str:
    return f"__{index}limb{place}__"


def _rows_plan(source: pl.LazyFrame, tally: Tally) -> pl.LazyFrame:
    chosen = {**_cell(tally), **_values(tally)}
    if tally.contribution.per is Per.ROWS:
        chosen[_ROWS] = pl.len().over(UNIT)
    if not chosen:
        return source.select(UNIT)
    return source.select(**chosen).drop_nulls()


def _units_plan(source: pl.LazyFrame, tally: Tally) -> pl.LazyFrame:
    plan = source.select(UNIT, **_cell(tally), **_values(tally)).drop_nulls()
    if not tally.axes:
        return plan.select(UNIT).unique()
    cells = plan.select(UNIT, _CELL).unique().collect(engine="streaming")
    return kept_cells(cells, _CELL, tally.contribution).lazy().select(_CELL)


def _aggregates_plan(source: pl.LazyFrame, tally: Tally) -> pl.LazyFrame:
    """Return one whole number per unit and cell: its clipped total, or its mean."""
    if isinstance(tally.quantities, Ball) or len(tally.quantities) != 1:
        msg = "a unit's aggregate has one quantity"
        raise ValueError(msg)
    quantity = tally.quantities[0]
    steps = pl.col(_VALUE)
    if tally.contribution.per is Per.TOTALS:
        value = rows.unclipped(quantity)
        ends = (pl.lit(end, pl.Int128) for end in (quantity.low, quantity.high))
        if quantity.reach <= rows.INT64_SAFE:
            ends = (pl.lit(end, pl.Int64) for end in (quantity.low, quantity.high))
        aggregate = steps.sum().clip(*ends)
    else:
        value = rows.quantised(quantity)
        total, count = steps.sum(), pl.len().cast(pl.Int64)
        aggregate = (total + count // 2) // count
    chosen = {**_cell(tally), _VALUE: value}
    plan = source.select(UNIT, **chosen).drop_nulls()
    keys = [UNIT, _CELL] if tally.axes else [UNIT]
    grouped = plan.group_by(keys).agg(aggregate.alias(_VALUE))
    if tally.axes:
        cells = grouped.collect(engine="streaming")
        grouped = kept_cells(cells, _CELL, tally.contribution).lazy()
    whole = steps if quantity.reach > rows.INT64_SAFE else steps.cast(pl.Int64)
    return grouped.select(*keys[1:], **_limbs(0, whole, quantity.reach))


def _distinct(source: pl.LazyFrame, statistic: Distinct) -> Array:
    values = {
        f"__{i}__": rows.identity(column) for i, column in enumerate(statistic.keys)
    }
    plan = source.select(UNIT, **values).drop_nulls()
    if statistic.contribution.per is Per.UNITS:
        pairs = plan.unique().collect(engine="streaming")
        typed = dict(zip(values, statistic.keys, strict=True))
        named = pairs.with_columns(rows.spelled(typed).alias(_CELL))
        plan = kept_cells(named, _CELL, statistic.contribution).lazy()
    found = (
        plan.select(*values)
        .unique()
        .select(pl.len())
        .collect(engine="streaming")
        .item()
    )
    return np.array([[found]], dtype=np.int64)


def _sliced(source: pl.LazyFrame, slices: Slices) -> Array:
    """Return the counts of all bins of all directions."""
    binned, tally = Binned(slices), slices.rows
    names = [_limb(i, 0) for i in range(len(slices.quantities))]
    _stream(_rows_plan(source, tally), tally, names, binned.add)
    return binned.total()


def _fold(plan: pl.LazyFrame, tally: Tally) -> Array:
    """Return the monomials' sums, shape ``(cells, monomials)``."""
    split = [rows.limb_reaches(reach) for reach in _reaches(tally)]
    names = [_limb(i, 0) for i in range(len(split))]
    reaches = [limbs[0] for limbs in split]
    monomials = list(tally.monomials)
    raised: list[tuple[int, int]] = []  # which monomial each higher limb belongs to
    for i, limbs in enumerate(split):
        for place, reach in enumerate(limbs[1:], start=1):
            raised.append((tally.monomials.index((i,)), rows.LIMB**place))
            names.append(_limb(i, place))
            monomials.append((len(reaches),))
            reaches.append(reach)
    sums = Sums(cells=tally.cells, monomials=monomials, reaches=reaches)
    _stream(plan, tally, names, sums.add)
    total = sums.total()
    for column, (monomial, worth) in enumerate(raised, start=len(tally.monomials)):
        total[:, monomial] += total[:, column] * worth
    return total[:, : len(tally.monomials)]


def _stream(
    plan: pl.LazyFrame, tally: Tally, names: Sequence[str], add: Callable[..., None]
) -> None:
    """Hand on the rows of a plan batch by batch: finished values, cells and weights."""
    scaled_here = tally.contribution.per in {Per.ROW, Per.ROWS}

    def take(batch: pl.DataFrame) -> None:
        for part in batch.iter_slices(BATCH):
            read = [name for name in part.columns if name != UNIT]  # it only counts
            arrays = {name: part[name].to_numpy() for name in read}
            values = [arrays[name] for name in names]
            if scaled_here:
                values = _scaled(tally, values)
            rows_of_unit = arrays.get(_ROWS)
            weight = None
            if rows_of_unit is not None:
                weight = weights(rows_of_unit, tally.contribution.limit)
            add(*_complete(part.height, arrays.get(_CELL), values, weight))

    # Not `collect_batches`: where an operation panics, that ends without an error,
    # and with any number of rows.
    plan.sink_batches(take, chunk_size=BATCH, maintain_order=False, engine="streaming")


def _scaled(tally: Tally, values: Sequence[Array]) -> list[Array]:
    """Finish the quantities that came unscaled; further limbs stay as they are."""
    if isinstance(tally.quantities, Ball):
        return list(values)
    count = len(tally.quantities)
    finished = [
        scaled(quantity, value)
        for quantity, value in zip(tally.quantities, values[:count], strict=True)
    ]
    return [*finished, *values[count:]]


def _complete(
    rows: int, codes: Array | None, values: Sequence[Array], weight: Array | None
) -> tuple[int, Array | None, Sequence[Array], Array | None]:
    """Leave out the rows in which a value is NaN."""
    doubtful = [v for v in values if v.dtype == np.float64 and np.isnan(v.sum())]
    if not doubtful:
        return rows, codes, values, weight
    kept = ~np.isnan(doubtful).any(axis=0)
    return (
        int(kept.sum()),
        None if codes is None else codes[kept],
        [value[kept] for value in values],
        None if weight is None else weight[kept],
    )


def _reaches(tally: Tally) -> list[int]:
    if isinstance(tally.quantities, Ball):
        return [tally.quantities.reach] * len(tally.quantities.columns)
    return [quantity.reach for quantity in tally.quantities]
