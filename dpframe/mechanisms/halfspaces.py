"""One release for all halfspaces: rows counted along directions, or in boxes."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpframe.declare import find_column, public_value
from dpframe.errors import FewRowsWarning, ParameterError, ParameterTypeError
from dpframe.goal import checked_rows
from dpframe.grid import EvenGrid
from dpframe.mechanisms.halfspace_boxes import MOST_BOXED, boxed
from dpframe.mechanisms.halfspace_call import HalfspaceCall, check_floats
from dpframe.mechanisms.halfspace_slices import (
    SPACE,
    covered,
    covering,
    framed,
    net_bins,
    sketched,
)
from dpframe.mechanisms.inputs import (
    chosen,
    clipped,
    listed_columns,
    mapping_of,
    row_contribution,
)
from dpframe.table import enumeration
from dpframe.values import Kind, exact_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.inputs import Clipped
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle
    from dpframe.values import ColumnType

METHODS: Final = ("auto", "kd", "sliced", "net", "jl_net")
FEWEST_COLUMNS: Final = 2
MOST_COLUMNS: Final = 50
MOST_DIRECTIONS: Final = 4096
"""A cover of more directions has too much noise in each, and takes too long."""

MOST_NET_BINS: Final = 512
"""Bins along each direction of a cover, at most."""

_MOST_AUTO_BOXED: Final = 3
"""Columns up to which boxes are the default.

On three shapes of 10^4 to 10^6 rows their fractions were as close as those of
directions in two columns, up to twice as far off in three, and more beyond. What they
prove of a fraction is a third as wide in two and three columns, or less.
"""
_NAMED: Final = 3  # columns in a message
_FEW_ROWS: Final = 5000
_FEW_ROWS_EACH: Final = 500


def halfspace_oracle(
    frame: PrivateFrame,
    loss: Loss,
    columns: object,
    *,
    margin: object,
    label: object = None,
    bounds: object = None,
    method: object = "auto",
    rows: object = None,
) -> Query[HalfspaceOracle[Any]]:
    """Plan counts that answer all halfspace queries of some columns.

    Raises
    ------
    ParameterError
        If there are too few columns or too many, the margin is out of range, or the
        method does not suit them.
    ParameterTypeError
        If a column holds no numbers, or the label no Booleans.
    """
    names = listed_columns(columns)
    _check_number(len(names))
    width = exact_number(margin, what="margin")
    box = _box(frame, names, bounds)
    _check_margin(width, box)
    word = _method(chosen(method, among=METHODS, what="method"), len(box), width)
    contribution = row_contribution(frame)
    _warn(len(box), checked_rows(rows), contribution.limit, loss)
    asked = HalfspaceCall(
        frame=frame,
        loss=loss,
        box=box,
        label=_label(frame, names, label, word),
        margin=width,
        contribution=contribution,
    )
    return _PLANS[word](asked)


def _check_margin(margin: Fraction, box: tuple[Clipped, ...]) -> None:
    if 0 < float(margin) < 1:
        return
    msg = f"margin must be greater than 0 and less than 1, not {float(margin):g}."
    lengths = [
        f"{_half(one) * math.sqrt(len(box)) / 10:.3g} of {one.column.name!r}"
        for one in box[:_NAMED]
    ]
    hint = (
        "it is a length in the unit ball, into which bounds scale the columns: "
        f"0.1 there is {enumeration(lengths, 'or')}."
    )
    raise ParameterError(msg, hint=hint)


def _half(one: Clipped) -> float:
    """Return half the width of a column's bounds, in its own unit."""
    low, high = one.limits
    return float((high - low) / 2 / 10**one.column.scale)


def _check_number(columns: int) -> None:
    if columns < FEWEST_COLUMNS:
        msg = "A halfspace of one column is an interval."
        raise ParameterError(msg, hint="use .dp.synthetic_intervals(...).")
    if columns > MOST_COLUMNS:
        msg = f"Halfspaces have at most {MOST_COLUMNS} columns, not {columns}."
        hint = "use .dp.mean_cov(...) for all, or release some of the columns together."
        raise ParameterError(msg, hint=hint)


def _warn(columns: int, rows: int | None, limit: int, loss: Loss) -> None:
    """Warn where a public guess of the number of rows is too small."""
    if rows is None:
        return
    needed = few_rows(columns, loss) * limit
    if rows < needed:
        warnings.warn(
            f"{rows} rows are few for halfspaces of {columns} columns at {loss}: "
            f"answers are worth their cost from about {needed} on.",
            FewRowsWarning,
            stacklevel=6,  # the caller of .dp.halfspace_oracle
        )


def few_rows(columns: int, loss: Loss) -> int:
    """Return from about how many rows on answers are worth their cost: a rule of thumb.

    With a privacy unit as many times as it has rows.
    """
    return math.ceil(max(_FEW_ROWS, _FEW_ROWS_EACH * columns) / loss.pure)


def _box(
    frame: PrivateFrame, names: tuple[Any, ...], bounds: object
) -> tuple[Clipped, ...]:
    given = mapping_of(bounds, what="bounds")
    for stray in given:
        if stray not in names:
            msg = f"bounds name {stray!r}, which is not among the columns."
            raise ParameterError(msg)
    for name in names:
        column = find_column(frame, name)
        if column.kind is not Kind.OBJECT:
            _check_number_kind(column)
        elif name not in given and column.name not in frame.private_state.bounds:
            msg = f"Column {column.name!r} holds {column.kind.value}: no weighted sum."
            hint = 'cast it to a number before attaching, as by .astype("float64").'
            raise ParameterTypeError(msg, hint=hint)
    found = tuple(clipped(frame, name, given.get(name)) for name in names)
    for one in found:
        _check_number_kind(one.column)
        low, high = one.limits
        check_floats(one, low, (low + high) / 2, high)
    return found


def _check_number_kind(column: ColumnType) -> None:
    if not column.kind.is_number:
        msg = f"Column {column.name!r} holds {column.kind.value}: no weighted sum."
        raise ParameterTypeError(msg, hint="make it a number in a step first.")


def _label(
    frame: PrivateFrame, names: tuple[Any, ...], label: object, method: str
) -> EvenGrid | None:
    given = public_value(label)
    if given is None:
        return None
    column = find_column(frame, given)
    if column.kind is not Kind.BOOLEAN:
        msg = f"Label {column.name!r} holds {column.kind.value}, not Booleans."
        hint = "make it one in a step first, such as a comparison."
        if column.kind is Kind.OBJECT:
            hint = 'cast it before attaching, as by .astype("bool").'
        raise ParameterTypeError(msg, hint=hint)
    if column.name in names:
        msg = f"Label {column.name!r} is among the columns, too."
        raise ParameterError(msg, hint="leave it out of the columns.")
    if method == "jl_net":
        msg = 'method="jl_net" has no labels.'
        raise ParameterError(msg, hint='use method="auto".')
    return EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=2)


def _method(word: str, columns: int, margin: Fraction) -> str:
    """Return the method that a word means: public facts alone."""
    if word == "auto":
        return "kd" if columns <= _MOST_AUTO_BOXED else "sliced"
    if word == "net":
        _check_net(columns, margin)
    if word == "kd" and columns > MOST_BOXED:
        msg = f'method="kd" has at most {MOST_BOXED} columns, not {columns}.'
        raise ParameterError(msg, hint='use method="sliced".')
    return word


def _check_net(columns: int, margin: Fraction) -> None:
    """Refuse nets of too many directions or bins: their counts are noise."""
    width = float(margin)
    hint = 'use a larger margin, or method="sliced".'
    if net_bins(margin) > MOST_NET_BINS:
        least = 4 / MOST_NET_BINS
        msg = f'method="net" is for margins of at least {least:.3g}, not {width:g}.'
        raise ParameterError(msg, hint=hint)
    number = covering(columns, width)
    needed = (
        f'method="net" needs about {number:.2g} directions for {columns} columns '
        f"at a margin of {width:g}"
    )
    if columns > SPACE:
        msg = f"{needed}, and is there for two and three columns."
        raise ParameterError(msg, hint='use method="sliced".')
    if number > MOST_DIRECTIONS:
        msg = f"{needed}, and the most is {MOST_DIRECTIONS}."
        raise ParameterError(msg, hint=hint)


_PLANS: Final[Mapping[str, Callable[[HalfspaceCall], Query[HalfspaceOracle[Any]]]]] = {
    "net": covered,
    "sliced": framed,
    "kd": boxed,
    "jl_net": sketched,
}
