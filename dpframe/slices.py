"""Histograms of rows along directions: what halfspace oracles measure.

A row of whole numbers y has a place along each of K public directions u of whole
numbers, their exact inner product, and so is in one bin of each of K histograms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.errors import ParameterError
from dpframe.tally import COARSE, MAX_CELLS, Contribution, Limited, Per, Tally

if TYPE_CHECKING:
    from dpframe.grid import Grid
    from dpframe.tally import Quantity
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

EXACT: Final = 1 << 53
"""Up to here doubles hold every whole number, so inner products are exact."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices(Limited):
    """How many rows lie in each bin along each direction; by label, if there is one.

    Bins are ``2**shift`` long: a row is in bin ``(<y, u> + offset) >> shift``, or in
    the first or the last one if it lies beyond.

    Attributes
    ----------
    quantities : tuple of Quantity
        The columns as whole numbers of at most `COARSE`: y.
    directions : array of int64
        Shape ``(K, d)``, or ``(K, d + 1)`` if `lifted`.
    offsets : array of int64
        Shape ``(K,)``.
    shift : int
    bins : int
        At least 2.
    label : Grid or None
        Two points: each row is counted apart by its label.
    lifted : bool
        Whether a row has one coordinate more, which puts it on the sphere of the
        largest rows: the whole part of ``sqrt(d * COARSE^2 - |y|^2)``.
    contribution : Contribution
    """

    quantities: tuple[Quantity, ...]
    directions: Array
    offsets: Array
    shift: int
    bins: int
    label: Grid | None = None
    lifted: bool = False
    contribution: Contribution

    def __post_init__(self) -> None:
        """Refuse products that doubles would round, and tables too large to hold."""
        if self.contribution.per not in {Per.ROW, Per.ROWS}:
            msg = "rows are counted: each alone, or sharing the weight of their unit"
            raise ValueError(msg)
        if any(quantity.reach > COARSE for quantity in self.quantities):
            msg = f"each column is a whole number of at most {COARSE}"
            raise ValueError(msg)
        if not self.quantities or not len(self.offsets) or self.bins < 2:  # noqa: PLR2004 - a bin has a neighbour
            msg = "there is a column, a direction and a bin with a neighbour at least"
            raise ValueError(msg)
        width = len(self.quantities) + self.lifted
        whole = self.directions.dtype == self.offsets.dtype == np.int64
        if not whole or self.directions.shape != (len(self.offsets), width):
            msg = "each direction has a whole number for each coordinate of a row"
            raise ValueError(msg)
        if self.reach >= EXACT:
            msg = "directions are too long: doubles would round their products"
            raise ValueError(msg)
        if self.cells > MAX_CELLS:
            msg = f"There would be {self.cells} bins; the most is {MAX_CELLS}."
            raise ParameterError(msg, hint="use a larger margin.")

    def __eq__(self, other: object) -> bool:
        """Whether the same rows are counted along the same directions."""
        if not isinstance(other, Slices):
            return NotImplemented
        return self._facts == other._facts

    def __hash__(self) -> int:
        """Return a hash that equal ones share."""
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[object, ...]:
        """All fields; arrays, which do not compare as one, by their bytes."""
        values = (getattr(self, one.name) for one in fields(self))
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    @property
    def reach(self) -> int:
        """No inner product, nor any part of it, is beyond this."""
        lengths = np.array([COARSE] * len(self.quantities), dtype=object)
        if self.lifted:
            sphere = math.isqrt(len(self.quantities) * COARSE**2)
            lengths = np.append(lengths, sphere)
        sums = np.abs(self.directions.astype(object)) @ lengths
        return int((sums + np.abs(self.offsets.astype(object))).max(initial=0))

    @property
    def labels(self) -> int:
        """How many labels rows are told apart by."""
        return 1 if self.label is None else self.label.size

    @property
    def shape(self) -> tuple[int, int, int]:
        """Labels, directions and bins: the shape of the counts."""
        return self.labels, len(self.offsets), self.bins

    @property
    def cells(self) -> int:
        """Number of bins of all directions."""
        return self.labels * len(self.offsets) * self.bins

    @property
    def row(self) -> int:
        """How many bins one row is in: its L1 norm and its squared L2 norm."""
        return len(self.offsets)

    @property
    def rows(self) -> Tally:
        """What reads the rows."""
        return Tally(
            axes=() if self.label is None else (self.label,),
            quantities=self.quantities,
            contribution=self.contribution,
        )

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return self.rows.columns
