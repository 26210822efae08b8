"""Rows in the order of a grid: what adaptive searches ask for counts of.

The order is private. It goes to `dpframe.adaptive`, whose searches publish what noise
or an exact choice makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.engines.codes import CELL, coded, grid_names, row_weights, running
from dpframe.engines.failures import withheld

if TYPE_CHECKING:
    from dpframe.engines.once import Rows
    from dpframe.ordering import Ordering

Array = np.ndarray[Any, np.dtype[Any]]

_CODE: Final = "__code__"
_LAST: Final = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """The grid codes of rows, ascending, and what the rows weigh.

    Attributes
    ----------
    codes : array of uint64
        Shape ``(rows,)``.
    running : array of int64, or None
        Shape ``(rows + 1,)``: what the first so many rows weigh together, in grid
        units. None where every row weighs 1.
    """

    codes: Array
    running: Array | None = None

    @property
    def total(self) -> int:
        """What all rows weigh."""
        return self._weigh(len(self.codes))

    def below(self, code: int) -> int:
        """Return what the rows weigh whose code is less than this."""
        if code > _LAST:
            return self.total
        return self._weigh(int(np.searchsorted(self.codes, np.uint64(max(code, 0)))))

    def all_below(self, codes: Array) -> Array:
        """Return the same for an array of uint64."""
        places = np.searchsorted(self.codes, codes)
        return places if self.running is None else self.running[places]

    def _weigh(self, rows: int) -> int:
        return rows if self.running is None else int(self.running[rows])


def ordered(source: Rows, ordering: Ordering) -> list[Ordered]:
    """Return the order of the rows of each cell.

    Raises
    ------
    EvaluationError
        If the frame's own plan fails; the cause is withheld.
    """
    columns = {name: column.dtype for name, column in ordering.columns.items()}
    return withheld(lambda: _sorted(source.scan(columns), ordering))


def _sorted(source: pl.LazyFrame, ordering: Ordering) -> list[Ordered]:
    grids, contribution = ordering.grids, ordering.contribution
    found = coded(source, grids=grids, contribution=contribution, axes=ordering.axes)
    names = grid_names(grids)
    if len(grids) > 1:
        along = ordering.curve.codes([found[name].to_numpy() for name in names])
        found = found.drop(names).with_columns(pl.Series(_CODE, along))
    else:
        found = found.rename({names[0]: _CODE})
    found = found.sort([CELL, _CODE] if ordering.axes else _CODE)
    codes = found[_CODE].to_numpy()
    weight = row_weights(found, contribution)
    if not ordering.axes:
        return [
            Ordered(codes=codes, running=None if weight is None else running(weight))
        ]
    cells = found[CELL].to_numpy()
    stops = np.searchsorted(cells, np.arange(ordering.cells), side="right").tolist()
    parts = zip([0, *stops[:-1]], stops, strict=True)
    return [
        Ordered(
            codes=codes[start:stop],
            running=None if weight is None else running(weight[start:stop]),
        )
        for start, stop in parts
    ]
