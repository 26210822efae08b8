"""What a tally's exact integers must be, from its public description alone.

Plain loops over Python integers, fractions and floats: nothing here is shared with
the engine. A real value is rounded to the nearest whole step and a tie to the even
one; a whole value that is coarsened rounds a tie upwards.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dpframe.tally import Ball, BinAxis, Distinct, Per, Tally
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.tally import Axis, Contribution, Quantity
    from dpframe.values import ColumnType

    Row = Mapping[str, Any]

FULL = 2**16
FAR = 2.0**500
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def exact(
    rows: Sequence[Row], statistic: Tally | Distinct, *, unit: str | None = None
) -> list[list[int]]:
    """Return the outputs of a statistic, by cell."""
    if unit is not None:
        rows = [row for row in rows if not is_missing(row[unit])]
    units = range(len(rows)) if unit is None else [same(row[unit]) for row in rows]
    if isinstance(statistic, Distinct):
        return [[_distinct(rows, list(units), statistic)]]
    places = {monomial: i for i, monomial in enumerate(statistic.monomials)}
    sums = [[0] * len(statistic.monomials) for _ in range(statistic.cells)]
    for cell, values, weight in _contributions(rows, list(units), statistic):
        for place, monomial in enumerate(statistic.monomials):
            sums[cell][place] += weight * math.prod(values[i] for i in monomial)
    return [
        [
            sum(factor * row[places[monomial]] for factor, monomial in output)
            for output in statistic.outputs
        ]
        for row in sums
    ]


def _contributions(
    rows: Sequence[Row], units: list[Any], tally: Tally
) -> list[tuple[int, list[int], int]]:
    """Return what is added up: a cell, the quantities' integers, and a weight."""
    found = [
        (unit, cell, values)
        for unit, row in zip(units, rows, strict=True)
        if (cell := _cell(row, tally)) is not None
        and all(not is_missing(row[column.name]) for column in tally.present)
        and (values := _integers(row, tally)) is not None
    ]
    limit = tally.contribution.limit
    match tally.contribution.per:
        case Per.ROW:
            return [(cell, values, 1) for _, cell, values in found]
        case Per.ROWS:
            size = Counter(units)
            return [
                (cell, values, min(FULL, FULL * limit // size[unit]))
                for unit, cell, values in found
            ]
        case Per.UNITS:
            pairs = {(unit, cell): [] for unit, cell, _ in found}
        case Per.TOTALS:
            (quantity,) = _quantities(tally)
            groups = _grouped(found)
            pairs = {
                key: [min(max(sum(group), quantity.low), quantity.high)]
                for key, group in groups.items()
            }
        case Per.MEANS:
            pairs = {
                key: [(2 * sum(group) + len(group)) // (2 * len(group))]
                for key, group in _grouped(found).items()
            }
    kept = pairs if not tally.axes else _kept(list(pairs), tally.contribution)
    return [(cell, pairs[unit, cell], 1) for unit, cell in kept]


def _grouped(found: list[tuple[Any, int, list[int]]]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for unit, cell, (value,) in found:
        groups[unit, cell].append(value)
    return groups


def _quantities(tally: Tally) -> tuple[Quantity, ...]:
    assert not isinstance(tally.quantities, Ball)
    return tally.quantities


def _integers(row: Row, tally: Tally) -> list[int] | None:
    if isinstance(tally.quantities, Ball):
        return in_ball(row, tally.quantities)
    values: list[int] = []
    for quantity in tally.quantities:
        value = point(quantity.column, row[quantity.column.name])
        if value is None:
            return None
        if tally.contribution.per is Per.TOTALS:
            values.append(_far_quantised(quantity, value))
        else:
            values.append(quantised(quantity, value))
    return values


# Values


def is_missing(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124 - NaN and NaT


def point(column: ColumnType, value: Any) -> Any:
    """Return where a value lies on its column's number line; None where missing."""
    if is_missing(value):
        return None
    if column.kind is Kind.FLOAT:
        return float(value)
    if column.kind is Kind.DECIMAL:
        scaled = Fraction(value) * 10**column.scale
        assert scaled.denominator == 1
        return int(scaled)
    if column.kind is Kind.DATE:
        return (value - EPOCH.date()).days
    if column.kind is Kind.DATETIME:
        since = (value if column.zone else value.replace(tzinfo=dt.UTC)) - EPOCH
        return since // dt.timedelta(microseconds=1) * TICKS[column.time_unit] // 10**6
    if column.kind is Kind.DURATION:
        return value // dt.timedelta(microseconds=1) * TICKS[column.time_unit] // 10**6
    return value if column.kind is Kind.TEXT else int(value)


def same(value: Any) -> Any:
    """Return what equal values share."""
    return value + 0.0 if isinstance(value, float) else value


def clipped(value: Any, clip: tuple[Fraction, Fraction] | None) -> Any:
    low, high = clip or (-FAR, FAR)
    kind = type(value)
    return min(max(value, kind(low)), kind(high))


def quantised(quantity: Quantity, value: Any) -> int:
    """Return a value's integer."""
    value = clipped(value, quantity.clip)
    if quantity.multiplier is None:
        steps = value - int(quantity.base)
        if quantity.shift:
            steps = (steps + 2 ** (quantity.shift - 1)) // 2**quantity.shift
    else:
        base = int(quantity.base) if isinstance(value, int) else float(quantity.base)
        steps = round(float(value - base) * quantity.multiplier) + quantity.offset
    steps = min(max(steps, quantity.low), quantity.high)
    if quantity.squared:
        return round(Fraction(steps**2, quantity.high))
    return steps


def _far_quantised(quantity: Quantity, value: Any) -> int:
    """Return a row's part in a total: it stops at 1024 times the widest bound."""
    limit = min(1024 * max(-quantity.low, quantity.high), 2**94)
    if quantity.multiplier is None:
        return min(max(value, -limit), limit)
    far = float(limit * quantity.unit)
    return round(min(max(value, -far), far) * quantity.multiplier)


def in_ball(row: Row, ball: Ball) -> list[int] | None:
    """Return a vector's integers, scaled into its ball and rounded towards zero."""
    parts: list[float] = []
    for column, clip in zip(ball.columns, ball.clips, strict=True):
        value = point(column, row[column.name])
        if value is None:
            return None
        factor = 10.0**-column.scale if column.kind is Kind.DECIMAL else 1.0
        parts.append(clipped(float(value) * factor, clip))
    if ball.norm == "l1":
        norm = _in_order([abs(part) for part in parts])
    else:
        norm = math.sqrt(_in_order([part * part for part in parts]))
    radius = float(ball.radius)
    shrink = radius / max(norm, radius)
    steps = [math.trunc((part * shrink) * (ball.reach / radius)) for part in parts]
    if ball.norm == "l1":
        inside = sum(map(abs, steps)) <= ball.reach
    else:
        inside = sum(step * step for step in steps) <= ball.reach**2
    return steps if inside else [0] * len(steps)


def _in_order(parts: list[float]) -> float:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


# Cells


def _cell(row: Row, tally: Tally) -> int | None:
    """Return the number of a row's cell; None where it is in none."""
    number = 0
    for axis in tally.axes:
        place = _place(row, axis)
        if place is None:
            return tally.cells - 1 if tally.other else None
        number = number * axis.size + place
    return number


def _place(row: Row, axis: Axis) -> int | None:
    if isinstance(axis, BinAxis):
        return _bin(row, axis)
    held = [point(column, row[column.name]) for column in axis.columns]
    if any(value is None for value in held):
        return None
    for place, key in enumerate(axis.keys):
        parts = key if len(axis.columns) > 1 else (key,)
        wanted = [
            _key(column, part) for column, part in zip(axis.columns, parts, strict=True)
        ]
        if wanted == held:
            return place
    return None


def _key(column: ColumnType, key: Any) -> Any:
    if column.kind is Kind.INTEGER:
        return Fraction(key)
    return point(column, key)


def _bin(row: Row, axis: BinAxis) -> int | None:
    value = point(axis.column, row[axis.column.name])
    if value is None:
        return None
    if axis.clip is not None:
        value = clipped(value, axis.clip)
    last = axis.size - 1
    for place in range(axis.size):
        left, right = axis.points[place], axis.points[place + 1]
        if left <= value < right or (place == last and left <= value == right):
            return place
    return None


# Cells of a unit that is in too many


def _kept(pairs: list[tuple[Any, Any]], contribution: Contribution) -> list[Any]:
    """Return the pairs of unit and cell that count."""
    cells: dict[Any, list[Any]] = defaultdict(list)
    for unit, cell in pairs:
        cells[unit].append(cell)
    kept: list[tuple[Any, Any]] = []
    for unit, held in cells.items():
        ranked = held
        if len(held) > contribution.limit:
            key = contribution.salt
            ranked = sorted(held, key=lambda c, u=unit: (_rank(u, c, key), c))
        kept += [(unit, cell) for cell in ranked[: contribution.limit]]
    return kept


def _rank(unit: Any, cell: Any, salt: bytes) -> int:
    """Return the hash of a unit and a cell: 64 bits, mixed by SplitMix64."""
    return _mixed(_digest(unit, salt + b"unit") ^ _digest(cell, salt + b"cell"))


def _mixed(bits: int) -> int:
    bits = (bits + 0x9E3779B97F4A7C15) % 2**64
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
    return bits ^ (bits >> 31)


def _digest(value: Any, key: bytes) -> int:
    """Return the hash of a value: of whole numbers by SplitMix64, else by BLAKE2b."""
    if isinstance(value, (float, Decimal)) and math.isfinite(value):
        value = int(value) if value == int(value) else value
    if isinstance(value, int):
        start = int.from_bytes(blake2b(b"", digest_size=8, key=key).digest(), "big")
        return _mixed((value + start) % 2**64)
    text = f"{type(value).__name__}:{value}".encode()
    return int.from_bytes(blake2b(text, digest_size=8, key=key).digest(), "big")


# Distinct values


def _distinct(rows: Sequence[Row], units: list[Any], statistic: Distinct) -> int:
    held: dict[tuple[Any, str], tuple[Any, ...]] = {}
    for unit, row in zip(units, rows, strict=True):
        values = [point(column, row[column.name]) for column in statistic.keys]
        if all(value is not None for value in values):
            values = [same(value) for value in values]
            held[unit, ":".join(map(_spelled, values))] = tuple(values)
    pairs = list(held)
    if statistic.contribution.per is Per.UNITS:
        pairs = _kept(pairs, statistic.contribution)
    return len({held[pair] for pair in pairs})


def _spelled(value: Any) -> str:
    return f"{len(str(value).encode())}:{value}"
