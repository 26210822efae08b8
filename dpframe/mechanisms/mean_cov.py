"""Mean vector and covariance matrix in one charge.

`"dwork"` is Dwork's 2006 mechanism: count, sum and second moments, each with a third
of the loss. `"sym"` releases each distinct entry once, with the loss split 1 : 3 : 6.
`"linf"`, for columns with bounds, draws one vector of max-norm noise for all moments
at once, at the whole loss (Hardt and Talwar 2010; Awan and Slavkovic 2021).
`"bernstein"`, for two such columns, has still less: see `bernstein_part`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.declare import find_column
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.measure import LAPLACE, MAX_NORM, Block, Part, Query
from dpframe.mechanisms.bernstein_pair import PAIR, bernstein_part
from dpframe.mechanisms.inputs import (
    Clipped,
    carried_bounds,
    chosen,
    clipped,
    listed_columns,
    mapping_of,
    row_contribution,
)
from dpframe.noise import DiscreteLaplace
from dpframe.outlook import Outlook
from dpframe.releases.figures import equal_quantile
from dpframe.releases.mean_cov import MeanCov
from dpframe.releases.second_moments import Layout, NoisySums
from dpframe.table import enumeration
from dpframe.tally import COARSE, Ball, Tally, centred
from dpframe.values import column_type, declared_type, exact_number, numeric_bounds

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.measure import Measured
    from dpframe.noise import Noise
    from dpframe.outlook import ErrorLaw
    from dpframe.privacy.loss import Loss
    from dpframe.tally import Contribution, Quantity
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

NORMS: Final = ("box", "l1", "l2")
METHODS: Final = ("auto", "dwork", "sym", "linf", "bernstein", "gauss")
SPLIT: Final = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))
THIRDS: Final = (Fraction(1, 3),) * 3
MOST_FIGURES: Final = 20_000


def mean_cov(
    frame: PrivateFrame,
    loss: Loss,
    columns: object,
    *,
    norm: object = "box",
    method: object = "auto",
    radius: object = None,
    bounds: object = None,
) -> Query[MeanCov[Any]]:
    """Plan count, mean and covariance of some columns."""
    shape = chosen(norm, among=NORMS, what="norm")
    how = _method(shape, chosen(method, among=METHODS, what="method"))
    names = listed_columns(columns)
    given = mapping_of(bounds, what="bounds")
    for stray in given:
        if stray not in names:
            msg = f"bounds name {stray!r}, which is not among the columns."
            raise ParameterError(msg)
    if how == "auto":
        how = _automatic(shape, len(names))
    if shape == "box":
        if radius is not None:
            msg = 'radius= is for norm="l1" and norm="l2"; a box has bounds.'
            raise ParameterError(msg)
        box = _box(frame, names, given)
        rows, reach = (
            tuple(centred(c.column, c.limits) for c in box),
            len(names) * COARSE,
        )
    else:
        box = ()
        rows = _ball(frame, names, given, norm=shape, radius=radius)
        reach = COARSE if shape == "l1" else math.isqrt(len(names) * COARSE**2)
    layout = _layout(rows)
    contribution = row_contribution(frame)
    if how == "bernstein":
        part = bernstein_part(box, contribution=contribution, loss=loss)
    else:
        part = _part(rows, how, reach, contribution=contribution, loss=loss)
    laws = tuple(part.noise(block) for block in part.blocks)

    def finish(measured: Measured) -> MeanCov[Any]:
        return MeanCov(
            layout=layout,
            sums=NoisySums(
                method=how,
                size=len(layout.columns),
                resolution=contribution.resolution,
                noisy=measured.figures[0][0],
                laws=laws,
            ),
            measured=measured,
            host=frame.to_host,
        )

    text = {"norm": shape, "method": how}
    if radius is not None:
        text["radius"] = str(radius)
    listed = tuple(column.name for column in layout.columns)
    return Query(
        mechanism="mean_cov",
        columns=listed,
        parameters=text,
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=f"mean and covariance of {enumeration(listed)}",
            column=column_type("value", pl.Float64()),
            schema=MeanCov.table_schema(),
            error=lambda n: _expected(part, contribution, n),
            unit=" half-widths of the bounds",
        ),
        finish=finish,
    )


def _method(norm: str, method: str) -> str:
    if method == "gauss":
        msg = 'method="gauss" needs a budget with rho or delta; this one is pure.'
        raise ParameterError(msg, hint='use method="auto".')
    if method in {"linf", "bernstein"} and norm != "box":
        msg = f'method="{method}" is for norm="box", not for norm="{norm}".'
        raise ParameterError(msg, hint='use method="sym".')
    return method


def _automatic(norm: str, columns: int) -> str:
    """Return the method with the least noise, from public facts."""
    if norm != "box":
        return "sym"
    return "bernstein" if columns == PAIR else "linf"


def _checked(column: ColumnType) -> ColumnType:
    if not column.kind.is_number:
        msg = f"Column {column.name!r} holds {column.kind.value}: no covariance."
        raise ParameterTypeError(msg, hint="make it a number in a step first.")
    return column


def _box(
    frame: PrivateFrame, names: tuple[Any, ...], bounds: Any
) -> tuple[Clipped, ...]:
    found = tuple(clipped(frame, name, bounds.get(name)) for name in names)
    for one in found:
        _checked(one.column)
    return found


def _ball(
    frame: PrivateFrame,
    names: tuple[Any, ...],
    bounds: Any,
    *,
    norm: str,
    radius: object,
) -> Ball:
    if radius is None:
        msg = f'norm="{norm}" needs radius=, the largest {norm} norm of a row.'
        raise ParameterError(msg)
    length = exact_number(radius, what="radius")
    if not 0 < length <= 1 << 60:
        msg = f"radius must lie between 0 and 2^60, not {radius}."
        raise ParameterError(msg)
    columns: list[ColumnType] = []
    clips: list[tuple[Fraction, Fraction] | None] = []
    for name in names:
        column = find_column(frame, name)
        carried = carried_bounds(frame, column, bounds.get(name))
        if carried is not None:
            column = declared_type(column, (carried.low, carried.high))
            natural = Fraction(10) ** -column.scale
            low, high = numeric_bounds(column, carried)
            clips.append((low * natural, high * natural))
        else:
            clips.append(None)
        columns.append(_checked(column))
    return Ball(columns=tuple(columns), clips=tuple(clips), norm=norm, radius=length)


def _layout(rows: tuple[Quantity, ...] | Ball) -> Layout:
    """Return how scaled figures become those of the columns."""
    if isinstance(rows, Ball):
        size = len(rows.columns)
        return Layout(
            columns=rows.columns,
            middle=(0.0,) * size,
            half=(float(rows.radius),) * size,
        )
    natural = [10.0**-quantity.column.scale for quantity in rows]
    return Layout(
        columns=tuple(quantity.column for quantity in rows),
        middle=tuple(float(q.origin) * f for q, f in zip(rows, natural, strict=True)),
        half=tuple(
            float(q.unit * COARSE) * f for q, f in zip(rows, natural, strict=True)
        ),
    )


def _part(
    rows: tuple[Quantity, ...] | Ball,
    method: str,
    reach: int,
    *,
    contribution: Contribution,
    loss: Loss,
) -> Part:
    """Return the moments and their noise; `reach` bounds a row's L1 norm."""
    size = len(rows.columns) if isinstance(rows, Ball) else len(rows)
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    monomials: tuple[tuple[int, ...], ...] = ((), *((i,) for i in range(size)), *pairs)
    place: dict[tuple[int, ...], int] = {m: i for i, m in enumerate(monomials)}

    def combine(*terms: tuple[int, tuple[int, ...]]) -> tuple[int, ...]:
        row = [0] * len(monomials)
        for factor, monomial in terms:
            row[place[monomial]] += factor
        return tuple(row)

    first = [combine((1, (i,))) for i in range(size)]
    crossed = [(i, j) for i, j in pairs if i < j]
    if method == "linf":
        square = COARSE * COARSE
        outputs = (
            combine((square, ())),
            *(combine((COARSE, (i,))) for i in range(size)),
            *(combine((2, (i, i)), (-square, ())) for i in range(size)),
            *(combine((1, pair)) for pair in crossed),
        )
        if len(outputs) > MOST_FIGURES:
            msg = f"{size} columns have {len(outputs)} moments; at most {MOST_FIGURES}."
            raise ParameterError(msg)
        blocks = (
            Block(stop=len(outputs), law=MAX_NORM, row_sensitivity=square, loss=loss),
        )
    else:
        if method == "dwork":
            shares = THIRDS
            second = [
                combine((1, (min(i, j), max(i, j))))
                for i in range(size)
                for j in range(size)
            ]
        else:
            shares = SPLIT
            second = [combine((1, (i, i))) for i in range(size)]
            second += [combine((2, pair)) for pair in crossed]
        outputs = (combine((1, ())), *first, *second)
        ends = (1, 1 + size, len(outputs))
        blocks = tuple(
            Block(
                start=start,
                stop=stop,
                law=LAPLACE,
                row_sensitivity=reach**power,
                loss=loss.share(share),
            )
            for power, (start, stop, share) in enumerate(
                zip((0, *ends[:-1]), ends, shares, strict=True)
            )
        )
    tally = Tally(
        quantities=rows,
        monomials=monomials,
        outputs=outputs,
        contribution=contribution,
    )
    return Part(statistic=tally, blocks=blocks)


@dataclass(frozen=True, kw_only=True)
class _ScaledError:
    """The first-order error of any covariance entry, in units of the half-widths."""

    part: Part
    contribution: Contribution
    rows: int

    @property
    def noise(self) -> Noise:
        """The law of the first block's noise."""
        return self.part.noise(self.part.blocks[0])

    def half_width(self, confidence: float, *, cells: int) -> Array:
        """Return a bound for all entries together, whatever the number of cells."""
        del cells
        width = _first_order(self.part, self.contribution, confidence) / self.rows
        return np.array([width])

    def stddev(self) -> Array:
        """Return the standard deviation of the largest single noise."""
        spread = max(
            math.sqrt(self.part.noise(block).variance) / _scale(block, self.part)
            for block in self.part.blocks
        )
        return np.array([spread / self.contribution.resolution / self.rows])

    def cell(self, place: int) -> _ScaledError:
        """Return the error of one entry: that of every entry."""
        del place
        return self


def _expected(
    part: Part, contribution: Contribution, rows: int | None
) -> ErrorLaw | None:
    if rows is None:
        return None
    return _ScaledError(part=part, contribution=contribution, rows=rows)


def _scale(block: Block, part: Part) -> int:
    """Return how many grid units one scaled unit of a block's figures has."""
    if len(part.blocks) == 1:
        return COARSE * COARSE
    return COARSE ** part.blocks.index(block)


def _first_order(part: Part, contribution: Contribution, confidence: float) -> float:
    """Return n times the error of an entry: ``|dF2| + 2 |ds| + |dn|`` for |y| <= 1."""
    blocks = part.blocks
    noise = part.noise(blocks[0])
    if blocks[0].law == MAX_NORM:
        total = 4 * noise.accuracy(confidence, 2) / _scale(blocks[0], part)
    elif isinstance(noise, DiscreteLaplace) and len(blocks) == 1:
        # The pair's cells: a square and a count sum nine of them, a sum six.
        share = (1 - confidence) / 6
        steps = 2 * equal_quantile(9, share) + 2 * equal_quantile(6, share)
        total = steps * float(noise.scale) / _scale(blocks[0], part)
    else:
        total = 0.0
        for block, factor in zip(blocks, (1, 2, 1), strict=True):
            share = 1 - (1 - confidence) / len(blocks)
            steps = part.noise(block).accuracy(share, block.stop - block.start)
            total += factor * steps / _scale(block, part)
    return total / contribution.resolution
