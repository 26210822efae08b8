"""What to count: the normal form of every exact statistic.

A tally gives, for each cell, sums of integer-valued row functions. A row function
is a small polynomial in quantised columns; what is released are whole-number
combinations of its monomials' sums. A tally states by how much one privacy unit
can change what is released, in whole numbers, and everything in it follows from
public parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from dpframe.errors import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpframe.grid import Grid
    from dpframe.values import ColumnType, Keys

WEIGHT: Final = 1 << 16
"""What a row of a unit within its row limit weighs, in grid units."""

FINE: Final = 1 << 30
"""Grid steps across the bounds of a scaled column, for one-column statistics."""

COARSE: Final = 1 << 20
"""Grid steps from the middle to a bound, where products of columns are summed."""

MAX_CELLS: Final = 1 << 26

WIDEST_TOTAL: Final = 1 << 94
"""The widest bound on a unit's total, in grid steps."""


def by_name(columns: Iterable[ColumnType]) -> dict[str, ColumnType]:
    """Return the columns that are read, each of them once.

    Raises
    ------
    ParameterTypeError
        If an object column is declared to be of one type here, and of another there.
    """
    found: dict[str, ColumnType] = {}
    for column in columns:
        other = found.setdefault(column.name, column)
        if other.dtype != column.dtype:
            msg = (
                f"Column {column.name!r} is declared to hold {other.dtype}, and "
                f"{column.dtype} in the same release."
            )
            raise ParameterTypeError(
                msg, hint="declare its keys and bounds as one type."
            )
    return found


@dataclass(frozen=True, kw_only=True)
class KeyAxis:
    """Cells by public keys: of one column, or tuples over several."""

    columns: tuple[ColumnType, ...]
    keys: Keys

    @property
    def size(self) -> int:
        """Number of cells along this axis."""
        return len(self.keys)


@dataclass(frozen=True, kw_only=True)
class BinAxis:
    """Cells by public bins on a column's number line: left-closed, the last one both.

    Attributes
    ----------
    edges : tuple
        As published.
    points : tuple of number
        The edges as a value meets them: whole numbers on a whole number line (each
        rounded up, the last one down), else doubles, which may be infinite.
    clip : pair of Fraction or None
        Bounds that values are clipped to first.
    """

    column: ColumnType
    edges: Keys
    points: tuple[float, ...]
    clip: tuple[Fraction, Fraction] | None

    @property
    def columns(self) -> tuple[ColumnType, ...]:
        """The one column, as a tuple like that of `KeyAxis`."""
        return (self.column,)

    @property
    def size(self) -> int:
        """Number of cells along this axis."""
        return len(self.points) - 1


Axis = KeyAxis | BinAxis


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A column made whole: clipped, centred, scaled, rounded, clamped.

    A value x of the number line becomes ``round((x - base) * multiplier) + offset``,
    clamped to ``low..high``. Without a multiplier it is the exact ``x - base``,
    shifted right by `shift` bits (rounding half up).

    Attributes
    ----------
    clip : pair of Fraction
        Bounds on the number line.
    squared : bool
        Whether an integer v of ``0..high`` then becomes ``round(v^2 / high)``.
    low, high : int
        The integers that can come out.
    origin, unit : Fraction
        Where 0 lies on the number line, and how far one step reaches.
    """

    column: ColumnType
    clip: tuple[Fraction, Fraction]
    base: Fraction
    multiplier: float | None
    shift: int = 0
    offset: int = 0
    squared: bool = False
    low: int
    high: int
    origin: Fraction
    unit: Fraction

    @property
    def reach(self) -> int:
        """Largest magnitude that can come out."""
        return max(-self.low, self.high)


def whole(column: ColumnType, bounds: tuple[Fraction, Fraction]) -> Quantity:
    """Return the quantity whose sum is the column's sum.

    Whole-number columns stay as they are; floats go to a power-of-two grid with
    at least 2^29 steps up to the larger bound.
    """
    low, high = bounds
    if column.is_whole:
        return Quantity(
            column=column,
            clip=bounds,
            base=Fraction(0),
            multiplier=None,
            low=int(low),
            high=int(high),
            origin=Fraction(0),
            unit=Fraction(1),
        )
    reach = max(-low, high)
    exponent = math.frexp(float(reach))[1] - 30
    unit = Fraction(2) ** exponent
    return Quantity(
        column=column,
        clip=bounds,
        base=Fraction(0),
        multiplier=float(1 / unit),
        low=round(low / unit),
        high=round(high / unit),
        origin=Fraction(0),
        unit=unit,
    )


def unit_interval(
    column: ColumnType, bounds: tuple[Fraction, Fraction], *, degree: int
) -> Quantity:
    """Return the column scaled to ``0..G``, the lower bound at 0.

    Whole-number columns keep their own steps where the bounds are close enough
    for powers of that degree to stay small; all others get about 2^30 steps.
    """
    low, high = bounds
    width = high - low
    if not column.is_whole:
        return Quantity(
            column=column,
            clip=bounds,
            base=low,
            multiplier=float(FINE / width),
            low=0,
            high=FINE,
            origin=low,
            unit=width / FINE,
        )
    fits = (1 << 62) if degree == 1 else FINE
    shift = max(0, (int(width) // fits).bit_length())
    steps = (int(width) + ((1 << shift) >> 1)) >> shift
    return Quantity(
        column=column,
        clip=bounds,
        base=low,
        multiplier=None,
        shift=shift,
        low=0,
        high=steps,
        origin=low,
        unit=Fraction(1 << shift),
    )


def shares(
    column: ColumnType, bounds: tuple[Fraction, Fraction]
) -> tuple[Quantity, Quantity]:
    """Return T, the column scaled to ``0..H`` with H = 2^20, and P = ``round(T^2/H)``.

    The Bernstein parts ``H - 2T + P``, ``2T - 2P`` and ``P`` of a row are then whole,
    never negative, and add up to H.
    """
    low, high = bounds
    scaled = Quantity(
        column=column,
        clip=bounds,
        base=low,
        multiplier=float(COARSE / (high - low)),
        low=0,
        high=COARSE,
        origin=low,
        unit=(high - low) / COARSE,
    )
    return scaled, replace(scaled, squared=True)


def centred(column: ColumnType, bounds: tuple[Fraction, Fraction]) -> Quantity:
    """Return the column scaled to ``-2^20..2^20`` about the middle of its bounds."""
    low, high = bounds
    middle, half = (low + high) / 2, (high - low) / 2
    exact = column.is_whole  # an exact distance from the bound, then one rounding
    return Quantity(
        column=column,
        clip=bounds,
        base=low if exact else middle,
        multiplier=float(COARSE / half),
        offset=-COARSE if exact else 0,
        low=-COARSE,
        high=COARSE,
        origin=middle,
        unit=half / COARSE,
    )


@dataclass(frozen=True, kw_only=True)
class Ball:
    """Columns read together as a vector that is scaled into a norm ball.

    The integer vector is rounded towards zero, and one that were still outside
    `reach` counts as zero, so its integer norm never exceeds `reach`.
    """

    columns: tuple[ColumnType, ...]
    clips: tuple[tuple[Fraction, Fraction] | None, ...]
    norm: str
    radius: Fraction
    reach: int = COARSE

    @property
    def unit(self) -> Fraction:
        """How far one step reaches, in the columns' units."""
        return self.radius / self.reach


Monomial: TypeAlias = tuple[int, ...]
"""A product of quantities, by index."""

Output: TypeAlias = tuple[tuple[int, Monomial], ...]
"""A sum of multiples of monomials."""


class Per(Enum):
    """Whose contribution is bounded, and how (see `Contribution`)."""

    ROW = "each row is a unit"
    ROWS = "rows of a unit share a weight"
    UNITS = "a unit counts once per cell"
    TOTALS = "a unit's sum per cell is clipped"
    MEANS = "a unit's mean per cell counts once"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """How one unit's part in a tally is limited.

    Attributes
    ----------
    per : Per
    limit : int
        Rows' worth of weight (`ROWS`), or cells kept (the per-unit ones).
    salt : bytes
        Decides which cells a unit over its limit keeps.
    """

    per: Per = Per.ROW
    limit: int = 1
    salt: bytes = b""

    @property
    def resolution(self) -> int:
        """Grid units that one full row counts."""
        return WEIGHT if self.per is Per.ROWS else 1

    @property
    def multiplicity(self) -> int:
        """How often one row's worth a unit can add, in grid units."""
        return self.limit * self.resolution

    @property
    def multiplicity_squared(self) -> int:
        """The square of how far, in the L2 norm, one row's worth each can add up to.

        Rows that share a weight may all lie in one direction. A unit that counts once
        per cell has a row's worth in each of `limit` cells, and cells are orthogonal.
        """
        if self.per in {Per.ROW, Per.ROWS}:
            return self.multiplicity**2
        return self.limit


class Limited:
    """A statistic of which one unit's part is limited as its contribution says."""

    contribution: Contribution

    @property
    def multiplicity(self) -> int:
        """What one unit adds at most, in any norm: so many rows' worth."""
        return self.contribution.multiplicity

    @property
    def multiplicity_squared(self) -> int:
        """The square of what it adds at most in the L2 norm."""
        return self.contribution.multiplicity_squared


@dataclass(frozen=True, kw_only=True)
class Tally(Limited):
    """Sums of whole-number row functions by cell, and what one unit can change.

    Attributes
    ----------
    axes : tuple of Axis or Grid
        The cells are their product; none makes one single cell.
    other : bool
        Whether a last cell counts the rows that are in no other.
    present : tuple of ColumnType
        Rows with a missing value in one of these, or in a quantity, count as
        absent.
    quantities : tuple of Quantity, or Ball
    monomials : tuple of tuple of int
        Products of quantities, by index: ``()`` is the count, ``(0, 0)`` a square.
    outputs : tuple of tuple of (int, monomial)
        What is released: sums of whole-number multiples of the monomials' sums.
    contribution : Contribution
    """

    axes: tuple[Axis | Grid, ...] = ()
    other: bool = False
    present: tuple[ColumnType, ...] = ()
    quantities: tuple[Quantity, ...] | Ball = ()
    monomials: tuple[Monomial, ...] = ((),)
    outputs: tuple[Output, ...] = (((1, ()),),)
    contribution: Contribution = Contribution()

    def __post_init__(self) -> None:
        """Refuse tables too large to hold, and columns of two types."""
        _ = self.columns
        if self.cells > MAX_CELLS:
            msg = f"The table would have {self.cells} cells; the most is {MAX_CELLS}."
            raise ParameterError(msg, hint="use fewer or coarser keys and bins.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def cells(self) -> int:
        """Number of cells, `other` included."""
        return math.prod(self.shape) + self.other

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        read = [c for axis in self.axes for c in axis.columns]
        read += self.present
        if isinstance(self.quantities, Ball):
            read += self.quantities.columns
        else:
            read += [quantity.column for quantity in self.quantities]
        return by_name(read)

    @property
    def is_count(self) -> bool:
        """Whether only rows or units are counted."""
        return self.monomials == ((),) and self.outputs == (((1, ()),),)

    def combine(self, sums: np.ndarray) -> np.ndarray:
        """Return the outputs, shape ``(cells, outputs)``, from the monomials' sums."""
        if self.is_count:
            return sums
        place = {monomial: i for i, monomial in enumerate(self.monomials)}
        exact = sums.astype(object)
        columns = [
            sum(factor * exact[:, place[monomial]] for factor, monomial in output)
            for output in self.outputs
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """How many distinct values, or tuples of values, the rows hold.

    Rows with a missing one count as absent. It is no sum of row functions: a unit
    changes it by as many values as it holds, so with a privacy unit each unit keeps
    `limit` of its values.
    """

    keys: tuple[ColumnType, ...]
    contribution: Contribution = Contribution()

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return {column.name: column for column in self.keys}

    @property
    def cells(self) -> int:
        """One number comes out."""
        return 1

    @property
    def multiplicity(self) -> int:
        """By how much one unit changes it at most."""
        return self.contribution.multiplicity

    @property
    def multiplicity_squared(self) -> int:
        """The square of that: all values of a unit are in one number."""
        return self.multiplicity**2


@dataclass(frozen=True, kw_only=True)
class Occupied:
    """How many units hold each value, or tuple of values, that occurs at all.

    Rows with a missing one count as absent. Which values occur is private, so the
    counts never leave `measure` but through a threshold. With a privacy unit each
    unit counts for at most `limit` of its values, once for each.
    """

    keys: tuple[ColumnType, ...]
    contribution: Contribution = Contribution()

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return {column.name: column for column in self.keys}
