"""Mean vector and covariance matrix in one charge.

`"dwork"` is Dwork's 2006 mechanism: count, sum and second moments, each with a third
of the loss. `"sym"` releases each distinct entry once, with the loss split 1 : 3 : 6.
`"linf"`, for columns with bounds, draws one vector of max-norm noise for all moments
at once, at the whole loss (Hardt and Talwar 2010; Awan and Slavkovic 2021).
`"bernstein"`, for two such columns, has still less: see `bernstein_part`. `"gauss"`,
for a loss in rho, has Gaussian noise on the same moments: see `moment_sums`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dpframe.declare import find_column
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.bernstein_pair import PAIR, bernstein_part
from dpframe.mechanisms.inputs import (
    Clipped,
    carried_bounds,
    check_pure,
    chosen,
    clipped,
    listed_columns,
    mapping_of,
    row_contribution,
)
from dpframe.mechanisms.moment_error import expected_error
from dpframe.mechanisms.moment_sums import moment_part
from dpframe.outlook import Outlook
from dpframe.query import Query
from dpframe.releases.mean_cov import MeanCov
from dpframe.releases.second_moments import Layout, NoisySums
from dpframe.table import enumeration
from dpframe.tally import COARSE, Ball, centred
from dpframe.values import column_type, declared_type, exact_number, numeric_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.goal import NoiseKind
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured
    from dpframe.tally import Quantity
    from dpframe.values import ColumnType

NORMS: Final = ("box", "l1", "l2")
METHODS: Final = ("auto", "dwork", "sym", "linf", "bernstein", "gauss")
NOISE: Final[Mapping[object, NoiseKind]] = {
    **dict.fromkeys(("dwork", "sym", "linf", "bernstein"), "pure"),
    "gauss": "gaussian",
}
"""The noise of each method; ``"auto"`` has what the loss buys."""


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
    how = _method(shape, chosen(method, among=METHODS, what="method"), loss)
    names = listed_columns(columns)
    given = mapping_of(bounds, what="bounds")
    for stray in given:
        if stray not in names:
            msg = f"bounds name {stray!r}, which is not among the columns."
            raise ParameterError(msg)
    if how == "auto":
        how = _automatic(shape, len(names), loss)
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
        part = moment_part(rows, how, reach, contribution=contribution, loss=loss)
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
        frame=frame,
        mechanism="mean_cov",
        columns=listed,
        parameters=text,
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=f"mean and covariance of {enumeration(listed)}",
            column=column_type("value", pl.Float64()),
            schema=MeanCov.table_schema(),
            error=lambda n: expected_error(part, len(names), n),
            unit=" half-widths of the bounds",
        ),
        finish=finish,
    )


def _method(norm: str, method: str, loss: Loss) -> str:
    if method == "gauss" and loss.epsilon is not None:
        msg = 'method="gauss" needs a budget with rho or delta; this one is pure.'
        raise ParameterError(msg, hint='use method="auto".')
    if NOISE.get(method) == "pure":
        hint = 'use method="gauss", or pass epsilon=.'
        check_pure(loss, what=f'method="{method}"', hint=hint)
    if method in {"linf", "bernstein"} and norm != "box":
        msg = f'method="{method}" is for norm="box", not for norm="{norm}".'
        raise ParameterError(msg, hint='use method="sym".')
    return method


def _automatic(norm: str, columns: int, loss: Loss) -> str:
    """Return the method with the least noise, from public facts.

    Of Gaussian noise, nine Bernstein cells would have variances of 9, 6, 9 and 4 (in
    ``1 / (2 rho)``) for count, sums, squares and product of two columns; ``"gauss"``
    has 7, 7, 7 and 3.5.
    """
    if loss.epsilon is None:
        return "gauss"
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
