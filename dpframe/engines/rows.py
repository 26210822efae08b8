"""Row functions as Polars expressions: cell codes and quantised columns.

Every expression is elementwise with a fixed order of operations, so a row's
integers never depend on the rows around it. What is missing comes out as null.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import polars as pl

from dpframe.engines.steps import scaled
from dpframe.grid import EvenGrid, ListedGrid
from dpframe.tally import WIDEST_TOTAL, Ball, BinAxis
from dpframe.values import WIDEST, Kind, key_identity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.grid import Grid
    from dpframe.tally import Axis, KeyAxis, Quantity, Tally
    from dpframe.values import ColumnType

FLOAT_EXACT: Final = 1 << 53
INT64_SAFE: Final = 1 << 62
LIMB: Final = 1 << 60
_INT128: Final = (1 << 127) - 1
_ROW_REACH: Final = 10  # a row of a unit's total reaches 2^10 times its bound
_LONG_SUM: Final = 1 << 40  # steps whose sums stay within 64 bits
_FEW_STEPS: Final = 1 << 126
_SPAN: Final = 1 << 16  # whole-number keys this close are found by position

_WIDE: Final = (pl.UInt64, pl.Int128, pl.UInt128)


def number(column: ColumnType) -> pl.Expr:
    """Return a column on its number line, as 64-bit floats, 64- or 128-bit integers."""
    read = pl.col(column.name)
    if column.kind is Kind.FLOAT:
        return read.cast(pl.Float64).fill_nan(None)
    if column.dtype == pl.UInt128:
        read = read.clip(upper_bound=pl.lit(_INT128, pl.UInt128))
    return read.to_physical().cast(pl.Int128 if is_wide(column) else pl.Int64)


def is_wide(column: ColumnType) -> bool:
    """Whether a whole-number column may pass 64 signed bits."""
    return column.kind is Kind.DECIMAL or column.dtype.base_type() in _WIDE


def unscaled(quantity: Quantity) -> pl.Expr:
    """Return a quantity up to its scaling: its integers where it has none.

    One with a multiplier comes as floats, for `steps.scaled` to finish: a float
    column as it is (missing values null or NaN), any other clipped, from its base.
    The integers of all others are floats where these hold them exactly.
    """
    column = quantity.column
    value = number(column)
    if not column.is_whole:
        return pl.col(column.name).cast(pl.Float64)
    if quantity.multiplier is not None:
        return _whole_steps(value, quantity).cast(pl.Float64)
    if quantity.shift:
        steps = _shifted_steps(value, quantity)
    else:
        steps = _whole_steps(value, quantity)
    if quantity.reach <= FLOAT_EXACT:
        return steps.cast(pl.Float64)
    return steps.cast(pl.Int64) if quantity.reach <= INT64_SAFE else steps


def _whole_steps(value: pl.Expr, quantity: Quantity) -> pl.Expr:
    """Return ``clip(x) - base`` exactly, in the narrowest dtype that is safe.

    A distance that might not fit 128 bits is the nearest double.
    """
    low, high = _whole_clip(quantity)
    base = int(quantity.base)
    narrow = max(abs(low), abs(high), abs(low - base), abs(high - base)) < INT64_SAFE
    if is_wide(quantity.column) or not narrow:
        clipped = _clipped128(value, low, high)
        if max(abs(low - base), abs(high - base)) > _INT128:
            return clipped.cast(pl.Float64) - float(base)
        steps = clipped - pl.lit(base, pl.Int128)
        return steps.cast(pl.Int64) if narrow else steps
    clipped = value.clip(pl.lit(low, pl.Int64), pl.lit(high, pl.Int64))
    return clipped - base if base else clipped


def _shifted_steps(value: pl.Expr, quantity: Quantity) -> pl.Expr:
    """Return ``clip(x) - base`` in steps of ``2^shift``, rounded half up.

    Both are split into whole steps and a rest first, so that no difference passes
    128 bits.
    """
    low, high = _whole_clip(quantity)
    clipped = _clipped128(value, low, high)
    step = 1 << quantity.shift
    unit = pl.lit(step, pl.Int128)
    whole, rest = divmod(int(quantity.base), step)
    steps = clipped // unit
    remainder = clipped - steps * unit + pl.lit(step // 2 - rest, pl.Int128)
    steps = steps - pl.lit(whole, pl.Int128) + remainder // unit
    return steps.cast(pl.Int64).clip(quantity.low, quantity.high)


def _whole_clip(quantity: Quantity) -> tuple[int, int]:
    low, high = quantity.clip
    return int(low), int(high)


def _clipped128(value: pl.Expr, low: int, high: int) -> pl.Expr:
    wide = value.cast(pl.Int128)
    return wide.clip(pl.lit(low, pl.Int128), pl.lit(high, pl.Int128))


def ball(vector: Ball) -> list[pl.Expr]:
    """Return the coordinates of a vector scaled into its ball, as whole floats."""
    parts: list[pl.Expr] = []
    for column, clip in zip(vector.columns, vector.clips, strict=True):
        value = number(column).cast(pl.Float64)
        scale = 10.0**-column.scale if column.kind is Kind.DECIMAL else 1.0
        low, high = clip or (-WIDEST, WIDEST)
        parts.append((value * scale).clip(float(low), float(high)))
    one = vector.norm == "l1"
    norm = _total([part.abs() if one else part * part for part in parts])
    norm = norm if one else norm.sqrt()
    radius = float(vector.radius)
    shrink = pl.lit(radius) / pl.max_horizontal(norm, pl.lit(radius))
    steps = [((part * shrink) * (vector.reach / radius)).truncate() for part in parts]
    length = _total([step.abs() if one else step * step for step in steps])
    inside = length <= float(vector.reach if one else vector.reach**2)
    outside = inside.not_()  # neither of the two where a column is missing
    return [pl.when(inside).then(step).when(outside).then(0.0) for step in steps]


def _total(parts: Sequence[pl.Expr]) -> pl.Expr:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def quantities(tally: Tally) -> list[pl.Expr]:
    """Return all quantities of a tally up to their scaling; null where missing."""
    if isinstance(tally.quantities, Ball):
        return ball(tally.quantities)
    return [unscaled(quantity) for quantity in tally.quantities]


def code(axes: Sequence[Axis | Grid]) -> pl.Expr:
    """Return the number of a row's cell, null where it is in none."""
    first, *others = axes
    combined = _axis_code(first)
    for axis in others:
        combined = combined.cast(pl.Int64) * axis.size + _axis_code(axis)
    return combined


def _axis_code(axis: Axis | Grid) -> pl.Expr:
    if isinstance(axis, BinAxis):
        return _bin_code(axis)
    if isinstance(axis, (EvenGrid, ListedGrid)):
        return grid_code(axis).cast(pl.Int64)
    column, *others = axis.columns
    return _tuple_code(axis) if others else _key_code(column, axis.keys)


def _key_code(column: ColumnType, keys: Sequence[object]) -> pl.Expr:
    if column.kind is Kind.TEXT:
        text = pl.col(column.name).cast(pl.String)
        known = pl.Enum([str(key) for key in keys])
        return text.cast(known, strict=False).to_physical()
    points = [column.number(key, what="keys") for key in keys]
    value = number(column)
    if not column.is_whole:
        old = pl.Series([float(point) for point in points], dtype=pl.Float64)
        return _replace(value + 0.0, old)  # -0.0 is 0.0
    wanted = [int(point) for point in points]
    least, span = min(wanted), max(wanted) - min(wanted) + 1
    if is_wide(column) or max(abs(least), abs(least + span)) >= INT64_SAFE:
        # Beyond 64 bits: compared as text, which is as exact.
        text = pl.col(column.name).to_physical().cast(pl.String)
        return _replace(text, pl.Series([str(key) for key in wanted]))
    if span > _SPAN:
        return _replace(value, pl.Series(wanted, dtype=pl.Int64))
    positions: list[int | None] = [None] * (span + 1)
    for position, key in enumerate(wanted):
        positions[key - least] = position
    lookup = pl.lit(pl.Series(positions, dtype=pl.Int32))
    within = (value >= least) & (value < least + span)
    return lookup.gather(pl.when(within).then(value - least).otherwise(span))


def _replace(value: pl.Expr, old: pl.Series) -> pl.Expr:
    new = pl.Series(range(len(old)), dtype=pl.Int32)
    return value.replace_strict(old, new, default=None, return_dtype=pl.Int32)


def grid_code(grid: Grid) -> pl.Expr:
    """Return the code of a value's point of a grid, null where the value is missing.

    As unsigned integers: a grid may have 2^64 points.
    """
    if isinstance(grid, ListedGrid):
        return _listed_code(grid)
    column, value = grid.column, number(grid.column)
    if not column.is_whole:
        low, high = float(grid.low), float(grid.high)
        steps = (value.clip(low, high) - low) * float(1 / grid.step) + 0.5
        last = math.nextafter(float(grid.size), 0.0)
        return steps.floor().clip(0.0, min(float(grid.size - 1), last)).cast(pl.UInt64)
    low, high, step = int(grid.low), int(grid.high), int(grid.step)
    shift = int(grid.shift)
    if step >= _FEW_STEPS:  # a handful of points, further apart than sums can be
        points = tuple(grid.point(place) for place in range(grid.size))
        return _listed_code(ListedGrid(column=column, points=points))
    wide = is_wide(column) or max(-low, high, high - low + step) >= INT64_SAFE
    dtype = pl.Int128() if wide else pl.Int64()
    clipped = value.cast(dtype).clip(pl.lit(low, dtype), pl.lit(high, dtype))
    if step == 1:
        return (clipped - pl.lit(low, dtype)).cast(pl.UInt64)
    unit = pl.lit(step, dtype)
    if not wide:
        steps = (clipped - pl.lit(low - shift, dtype)) // unit
        return steps.cast(pl.UInt64)
    whole, rest = divmod(low, step)  # apart, so that no difference passes 128 bits
    steps = clipped // unit
    remainder = clipped - steps * unit + pl.lit(shift - rest, dtype)
    return (steps - pl.lit(whole, dtype) + remainder // unit).cast(pl.UInt64)


def _listed_code(grid: ListedGrid) -> pl.Expr:
    value = number(grid.column)
    dtype = pl.Int128() if grid.column.is_whole else pl.Float64()
    thresholds = pl.lit(pl.Series(grid.thresholds, dtype=dtype))
    found = thresholds.search_sorted(value.cast(dtype), side="right")
    return pl.when(value.is_not_null()).then(found.cast(pl.UInt64))


def _tuple_code(axis: KeyAxis) -> pl.Expr:
    """Return the position of a row's tuple among the declared ones."""
    keys = cast("Sequence[tuple[object, ...]]", axis.keys)
    combined, wanted = pl.lit(0, pl.Int64), [0] * len(keys)
    for place, column in enumerate(axis.columns):
        same = [key_identity(column, key[place]) for key in keys]
        distinct = {one: key[place] for one, key in zip(same, keys, strict=True)}
        index = {one: position for position, one in enumerate(distinct)}
        single = _key_code(column, list(distinct.values())).cast(pl.Int64)
        combined = combined * len(distinct) + single
        wanted = [
            so_far * len(distinct) + index[one]
            for so_far, one in zip(wanted, same, strict=True)
        ]
    return _replace(combined, pl.Series(wanted, dtype=pl.Int64))


def _bin_code(axis: BinAxis) -> pl.Expr:
    column, value = axis.column, number(axis.column)
    if column.is_whole:
        wide = is_wide(column) or any(
            abs(point) >= INT64_SAFE for point in (*axis.points, *(axis.clip or ()))
        )
        dtype = pl.Int128() if wide else pl.Int64()
        value = value.cast(dtype)
        points = pl.Series([int(point) for point in axis.points], dtype=dtype)
        if axis.clip is not None:
            low, high = axis.clip
            value = value.clip(pl.lit(int(low), dtype), pl.lit(int(high), dtype))
    else:
        points = pl.Series([float(point) for point in axis.points], dtype=pl.Float64)
        if axis.clip is not None:
            value = value.clip(*(float(bound) for bound in axis.clip))
    found = _even_bin(value, points) if _is_even(points) else _any_bin(value, points)
    inside = (value >= points[0]) & (value <= points[-1])
    return pl.when(inside).then(found)


def _is_even(points: pl.Series) -> bool:
    """Whether bins are so nearly even that arithmetic lands within one of them."""
    if not (points.dtype.is_float() or points.dtype == pl.Int64):
        return False
    values = [float(point) for point in points]
    width = (values[-1] - values[0]) / (len(values) - 1)
    if not (math.isfinite(width) and width > 0):
        return False
    return all(
        abs((value - values[0]) / width - place) < 0.25  # noqa: PLR2004 - of a bin
        for place, value in enumerate(values)
    )


def _even_bin(value: pl.Expr, points: pl.Series) -> pl.Expr:
    """Guess the bin by arithmetic, then compare exactly with both of its ends."""
    bins = len(points) - 1
    first = points[0]
    scale = bins / (float(points[-1]) - float(first))
    guess = ((value - first).cast(pl.Float64) * scale).floor()
    guess = guess.clip(0, bins - 1).cast(pl.Int32)
    edges = pl.lit(points)
    below = (value < edges.gather(guess)).cast(pl.Int32)
    above = (value >= edges.gather(guess + 1)).cast(pl.Int32)
    return (guess - below + above).clip(0, bins - 1)


def _any_bin(value: pl.Expr, points: pl.Series) -> pl.Expr:
    found = pl.lit(points).search_sorted(value, side="right").cast(pl.Int32) - 1
    return found.clip(0, len(points) - 2)


def quantised(quantity: Quantity) -> pl.Expr:
    """Return a quantity's integers as 64- or 128-bit integers, null where missing."""
    value = unscaled(quantity)
    if quantity.multiplier is not None:
        value = value.map_batches(
            partial(_scaled_series, quantity),
            return_dtype=pl.Float64,
            is_elementwise=True,
        )
    return value.cast(pl.Int64 if quantity.reach <= INT64_SAFE else pl.Int128)


def _scaled_series(quantity: Quantity, values: pl.Series) -> pl.Series:
    return pl.Series(scaled(quantity, values.to_numpy()), nan_to_null=True)


def unclipped(quantity: Quantity) -> pl.Expr:
    """Return a row's part in a unit's total: it stops far outside the total's bounds.

    Steps of up to 2^40 add up as 64-bit integers (a unit would need 2^23 rows, each
    a thousand times its bound, to pass them), others as 128-bit ones.
    """
    limit = min(quantity.reach << _ROW_REACH, WIDEST_TOTAL)
    far = limit * quantity.unit
    wide = replace(quantity, clip=(-far, far), low=-limit, high=limit)
    return quantised(wide).cast(pl.Int64 if limit <= _LONG_SUM else pl.Int128)


def presence(column: ColumnType) -> pl.Expr:
    """Return true where a value is there, null where it is missing."""
    value = pl.col(column.name)
    if column.kind is Kind.FLOAT:
        value = value.fill_nan(None)
    return pl.when(value.is_not_null()).then(pl.lit(value=True))


def key(column: ColumnType) -> pl.Expr:
    """Return a value as it may be published as a key, null where it is none.

    None are what `keys=` refuses: infinite numbers, and times that Python's calendar
    does not have. Equal values are the same key.
    """
    value = pl.col(column.name)
    if column.kind is Kind.FLOAT:
        zero = pl.lit(0.0, column.dtype)  # Polars leaves -0.0 + 0.0 as it is
        held = pl.when(value == 0).then(zero).otherwise(value)
        return pl.when(value.is_finite()).then(held)
    if column.kind.is_temporal:
        return pl.when(value.to_physical().is_between(*column.ends)).then(value)
    return value


def identity(column: ColumnType) -> pl.Expr:
    """Return a value that is equal for equal values, whatever their dtype."""
    if column.kind is Kind.TEXT:
        return pl.col(column.name).cast(pl.String)
    if column.kind is Kind.FLOAT:
        return number(column) + 0.0  # -0.0 is 0.0
    whole = pl.col(column.name).to_physical()
    return whole if is_wide(column) else whole.cast(pl.Int64)


def spelled(values: Mapping[str, ColumnType]) -> pl.Expr:
    """Return the `identity` of some columns as one text that no other values share.

    A whole number is spelled alike whether it is held as an integer or a float:
    pandas holds integers with a missing one among them as floats.
    """
    parts: list[pl.Expr] = []
    for name, column in values.items():
        value = pl.col(name)
        text = value.cast(pl.String)
        if column.kind is Kind.FLOAT:
            whole = (value == value.round()) & (value.abs() < float(INT64_SAFE))
            digits = value.cast(pl.Int64, strict=False).cast(pl.String)
            text = pl.when(whole).then(digits).otherwise(text)
        parts.append(text)
    lengths = [part.str.len_bytes().cast(pl.String) for part in parts]
    pieces = [piece for pair in zip(lengths, parts, strict=True) for piece in pair]
    return pl.concat_str(pieces, separator=":")


def limb_reaches(reach: int) -> list[int]:
    """Return the reaches of the 60-bit limbs of a whole number, the lowest first."""
    if reach <= INT64_SAFE:
        return [reach]
    return [LIMB, *limb_reaches(reach // LIMB + 1)]


def limbs(value: pl.Expr, reach: int) -> list[pl.Expr]:
    """Split whole numbers into limbs: all but the highest in ``0..2^60 - 1``."""
    found: list[pl.Expr] = []
    for _ in limb_reaches(reach)[:-1]:
        rest = value // pl.lit(LIMB, pl.Int128)
        found.append((value - rest * pl.lit(LIMB, pl.Int128)).cast(pl.Int64))
        value = rest
    return [*found, value.cast(pl.Int64) if found else value]
