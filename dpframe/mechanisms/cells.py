"""The cells of a table: public keys and bins by column, and the columns they print.

Cells are declared, never found: a row that is in none is simply not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import polars as pl

from dpframe.declare import find_column, public_keys, public_value
from dpframe.errors import (
    BoundsRequiredError,
    DomainRequiredError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.mechanisms.inputs import carried_bounds, mapping_of
from dpframe.tally import BinAxis, KeyAxis
from dpframe.values import (
    Kind,
    check_present,
    declared_type,
    default_keys,
    key_identity,
    listed_values,
    numeric_bounds,
    parse_keys,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.frame import PrivateFrame
    from dpframe.tally import Axis
    from dpframe.values import Bounds, ColumnType, Keys

_FAR = (1 << 127) - 1  # no whole number that is read lies beyond


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The axes of a table and its key columns.

    Attributes
    ----------
    axes : tuple of Axis
        The cells are their product, the first one slowest.
    keys : polars.DataFrame
        One row per cell, in declared order; `other` adds a last one of nulls.
    like : mapping
        For key columns that take its dtype, the column of the private frame they
        stand for. Edges between numbers are doubles.
    other : bool
        Whether there is a last cell for all other rows.
    """

    axes: tuple[Axis, ...]
    keys: pl.DataFrame
    like: Mapping[str, str]
    other: bool = False

    @property
    def size(self) -> int:
        """Number of cells, `other` included."""
        return math.prod(axis.size for axis in self.axes) + self.other

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis, without `other`."""
        return tuple(axis.size for axis in self.axes)

    def check_measures(self, names: Sequence[str]) -> None:
        """Refuse measures that are named like a key column.

        Raises
        ------
        ParameterError
        """
        for name in names:
            if name in self.keys.columns:
                msg = f"The table would have two columns named {name!r}."
                raise ParameterError(msg, hint="rename the column first.")


ONE_CELL: Final = Cells(axes=(), keys=pl.DataFrame(), like={})
"""The one cell of all rows."""


def table_cells(axes: Sequence[Axis], *, other: bool, plain_bins: bool) -> Cells:
    """Return the cells of some axes.

    `plain_bins` names the edges ``bin_left`` and ``bin_right``; else they carry the
    column's name.
    """
    sizes = [axis.size for axis in axes]
    total = math.prod(sizes)
    columns: list[pl.Series] = []
    like: dict[str, str] = {}
    inner = total
    for axis, size in zip(axes, sizes, strict=True):
        inner //= size
        places = pl.Series(
            np.tile(np.repeat(np.arange(size), inner), total // (size * inner))
        )
        for series, source in _key_columns(axis, plain_bins=plain_bins):
            columns.append(series.gather(places))
            if not isinstance(axis, BinAxis) or axis.column.kind.is_temporal:
                like[series.name] = source
    if len({column.name for column in columns}) < len(columns):
        msg = "Two key columns of the table have the same name."
        raise ParameterError(msg, hint="rename one of the columns first.")
    keys = pl.DataFrame({column.name: column for column in columns})
    if other:
        keys = pl.concat([keys, keys.clear(n=1)])
    return Cells(axes=tuple(axes), keys=keys, like=like, other=other)


def _key_columns(axis: Axis, *, plain_bins: bool) -> list[tuple[pl.Series, str]]:
    if isinstance(axis, BinAxis):
        name = axis.column.name
        left, right = ("bin_left", "bin_right")
        if not plain_bins:
            left, right = f"{name}_left", f"{name}_right"
        edges = _edge_series(axis)
        return [
            (edges.head(axis.size).alias(left), name),
            (edges.tail(axis.size).alias(right), name),
        ]
    if len(axis.columns) == 1:
        return [(_key_series(axis.columns[0], axis.keys), axis.columns[0].name)]
    return [
        (_key_series(column, tuple(key[place] for key in axis.keys)), column.name)
        for place, column in enumerate(axis.columns)
    ]


def _edge_series(axis: BinAxis) -> pl.Series:
    """Return edges: times in the column's own dtype, numbers as doubles."""
    column = axis.column
    if not column.kind.is_temporal:
        return pl.Series([float(edge) for edge in axis.edges], dtype=pl.Float64())
    try:
        return pl.Series(axis.edges, dtype=column.dtype)
    except (OverflowError, TypeError, pl.exceptions.PolarsError) as error:
        msg = f"bins of {column.name!r} hold an edge that is beyond {column.dtype}."
        raise ParameterError(msg) from error


def _key_series(column: ColumnType, keys: Keys) -> pl.Series:
    """Return keys in the column's own dtype.

    Raises
    ------
    ParameterError
        If one is beyond it.
    """
    if column.kind is Kind.TEXT:
        return pl.Series(column.name, [str(key) for key in keys], dtype=column.dtype)
    points = [column.number(key, what="keys") for key in keys]
    try:
        values = [column.value(point) for point in points]
        held = pl.Series(column.name, values, dtype=column.dtype)
        if getattr(column.dtype, "time_unit", None) != "ns":
            return held
        whole = pl.Series(column.name, [int(point) for point in points], dtype=pl.Int64)
        return whole.cast(column.dtype)  # Python's times end at microseconds
    except (OverflowError, TypeError, pl.exceptions.PolarsError) as error:
        msg = f"keys of {column.name!r} hold one that is beyond {column.dtype}."
        raise ParameterError(msg) from error


def one_axis(
    frame: PrivateFrame,
    name: object,
    *,
    keys: object = None,
    bins: object = None,
    bounds: object = None,
) -> Axis:
    """Return the cells along one column.

    What is given wins over what the frame carries; Boolean and Enum columns have
    their keys by type.

    Raises
    ------
    ParameterError
        If both keys and bins are given, or one of them is empty or unsorted.
    DomainRequiredError
        If neither is given or carried.
    BoundsRequiredError
        If bins are a number, and there are no bounds to divide.
    """
    column = find_column(frame, name, several=".dp.contingency([...])")
    if keys is not None and bins is not None:
        msg = f"keys and bins of column {column.name!r} exclude each other."
        raise ParameterError(msg)
    if bins is not None:
        return _bin_axis(frame, column, public_value(bins), bounds)
    if keys is not None:
        return _key_axis(column, parse_keys(column, public_keys(keys, [column.name])))
    carried = frame.private_state.domain.get(column.name) or default_keys(column)
    if carried is None:
        msg = f"Keys or bins of column {column.name!r} are needed and not declared."
        hint = (
            f"pass keys=[...] or bins=[...], or write "
            f".dp.domain({{{column.name!r}: [...]}}); .dp.discover_keys finds keys."
        )
        raise DomainRequiredError(msg, hint=hint)
    return _key_axis(column, carried)


def _key_axis(column: ColumnType, keys: Keys) -> KeyAxis:
    return KeyAxis(columns=(declared_type(column, keys),), keys=keys)


def tuple_axis(frame: PrivateFrame, names: Sequence[object], keys: object) -> KeyAxis:
    """Return the cells of declared combinations over several columns.

    Raises
    ------
    ParameterTypeError
        If a key is no tuple of one value for each column.
    ParameterError
        If they are empty or repeat one.
    """
    listed = listed_values(keys, what="keys")
    for key in listed:
        if not isinstance(key, tuple) or len(cast("Keys", key)) != len(names):
            msg = f"keys over {len(names)} columns must be tuples of {len(names)}."
            raise ParameterTypeError(msg)
    columns: list[ColumnType] = []
    identities: list[list[object]] = []
    for place, name in enumerate(names):
        values = tuple(key[place] for key in listed)
        column = find_column(frame, name)
        check_present(column, values)
        column = declared_type(column, values)
        columns.append(column)
        identities.append([key_identity(column, value) for value in values])
    rows = list(zip(*identities, strict=True))
    if len(set(rows)) < len(rows):
        msg = "keys repeat a combination."
        raise ParameterError(msg)
    return KeyAxis(columns=tuple(columns), keys=listed)


def _bin_axis(
    frame: PrivateFrame, column: ColumnType, bins: object, bounds: object
) -> BinAxis:
    carried = carried_bounds(frame, column, bounds)
    if column.kind is Kind.TEXT:
        raise _no_bins(column)
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        if carried is None:
            msg = f"{bins} bins need the bounds of column {column.name!r}."
            hint = (
                f"write .dp.bounds({{{column.name!r}: (low, high)}}), or pass the "
                "edges as bins=[...]."
            )
            raise BoundsRequiredError(msg, hint=hint)
        return _even_bins(column, int(cast("int", bins)), carried)
    if isinstance(bins, bool):
        msg = "bins must be a number of bins or increasing edges, not bool."
        raise ParameterTypeError(msg)
    edges = listed_values(bins, what=f"bins of {column.name!r}")
    column = declared_type(column, edges)
    if not column.kind.is_ordered:
        raise _no_bins(column)
    points = [_edge(column, edge) for edge in edges]
    if len(points) < 2 or any(a >= b for a, b in pairwise(points)):  # noqa: PLR2004 - a bin has two ends
        msg = f"bins of {column.name!r} must be at least two increasing edges."
        raise ParameterError(msg)
    clip = None if carried is None else numeric_bounds(column, carried)
    if column.kind.is_temporal:
        edges = _times(column, points)
    return BinAxis(column=column, edges=edges, points=_met(column, points), clip=clip)


def _times(column: ColumnType, points: Sequence[Fraction | float]) -> Keys:
    """Return points of a time line as Python's dates, instants or durations."""
    try:
        return tuple(column.value(Fraction(point)) for point in points)
    except OverflowError as error:
        msg = f"bins of {column.name!r} hold an edge that is beyond the calendar."
        raise ParameterError(msg) from error


def _no_bins(column: ColumnType) -> ParameterTypeError:
    msg = f"Column {column.name!r} holds {column.kind.value}, which has no bins."
    return ParameterTypeError(msg, hint="pass keys= instead.")


def _edge(column: ColumnType, edge: object) -> Fraction | float:
    if column.kind.is_number and isinstance(edge, (float, np.floating)):
        double = float(cast("float", edge))
        if math.isinf(double):
            return double
    return column.number(cast("object", edge), what=f"bins of {column.name!r}")


def _met(column: ColumnType, points: Sequence[Fraction | float]) -> tuple[float, ...]:
    """Return edges as values meet them."""
    if not column.is_whole:
        return tuple(float(point) for point in points)
    far = [min(max(point, -_FAR), _FAR) for point in points]
    return (*(math.ceil(point) for point in far[:-1]), math.floor(far[-1]))


def _even_bins(column: ColumnType, bins: int, bounds: Bounds) -> BinAxis:
    """Divide the bounds evenly; the edges are exact, then rounded once."""
    if bins < 1:
        msg = f"bins must be at least 1, not {bins}."
        raise ParameterError(msg)
    column = declared_type(column, (bounds.low, bounds.high))
    low, high = numeric_bounds(column, bounds)
    points = [low + (high - low) * i / bins for i in range(bins + 1)]
    edges: tuple[Any, ...] = tuple(float(point) / 10**column.scale for point in points)
    if column.kind.is_temporal:
        points = [Fraction(math.ceil(point)) for point in points]
        edges = _times(column, points)
    elif column.kind is Kind.FLOAT:
        points = [Fraction(float(point)) for point in points]
    return BinAxis(
        column=column, edges=edges, points=_met(column, points), clip=(low, high)
    )


def product_axes(
    frame: PrivateFrame, names: Sequence[object], *, keys: object, bins: object
) -> tuple[Axis, ...]:
    """Return the axes of several columns, from mappings or from a list of tuples.

    For one column, its keys or its bins may stand alone.

    Raises
    ------
    ParameterError
        If keys or bins name a column that is not among them.
    """
    keys, bins = public_keys(keys, names), public_value(bins)
    alone = bins is not None and not isinstance(bins, Mapping)
    if alone and len(names) == 1 and not isinstance(keys, Mapping):
        return (one_axis(frame, names[0], keys=keys, bins=cast("object", bins)),)
    by_bins = mapping_of(cast("object", bins), what="bins")
    if keys is not None and not isinstance(keys, Mapping):
        if by_bins:
            msg = "keys as a list exclude bins."
            raise ParameterError(msg)
        if len(names) == 1:
            return (one_axis(frame, names[0], keys=keys),)
        return (tuple_axis(frame, names, keys),)
    by_keys = mapping_of(cast("object", keys), what="keys")
    for stray in [*by_keys, *by_bins]:
        if stray not in names:
            msg = f"keys or bins name {stray!r}, which is not among the columns."
            raise ParameterError(msg)
    return tuple(
        one_axis(frame, name, keys=by_keys.get(name), bins=by_bins.get(name))
        for name in names
    )
