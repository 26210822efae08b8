"""The answers of a release of intervals or boxes, to be compared with rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.declare import public_value
from dpframe.deviation import WIDEST, EveryInterval, EveryQuery
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.grid import EvenGrid
from dpframe.mechanisms.comparison import Comparison, namesake
from dpframe.mechanisms.inputs import row_contribution
from dpframe.releases.line import Line
from dpframe.releases.ranges import asked_by
from dpframe.table import enumeration
from dpframe.values import listed_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.frame import PrivateFrame
    from dpframe.grid import Grid
    from dpframe.releases.synthetic_intervals import SyntheticIntervals
    from dpframe.tally import Contribution

Array = np.ndarray[Any, np.dtype[Any]]

MOST_INTERVALS: Final = 10**6
MOST_BOXES: Final = 10**4
"""Boxes are looked up one by one, and each takes a pass over rows."""

_WIDEST: Final = float(WIDEST)


def compared_intervals(
    frame: PrivateFrame, release: SyntheticIntervals[Any], queries: object
) -> Comparison:
    """Return the answers for some intervals or boxes, or for all intervals of a column.

    Raises
    ------
    ColumnNotFoundError
        If the frame lacks a column of the release.
    ParameterTypeError
        If that column is of another kind, or a query is no interval or box.
    ParameterError
        If there are no queries or too many, or the release has several columns and no
        queries are given.
    """
    grids = tuple(_on(frame, grid) for grid in release.shape.grids)
    contribution = row_contribution(frame)
    names = enumeration([grid.column.name for grid in grids])
    if queries is None:
        every = _of_all(release, grids, contribution)
        return Comparison(every, "all", f"largest error of any interval of {names}")
    statistic = _of_listed(release, queries, grids, contribution)
    number = len(statistic.answers)
    what = "interval" if len(grids) == 1 else "box"
    plural = what if number == 1 else {"box": "boxes"}.get(what, f"{what}s")
    title = f"largest error of {number} {plural} of {names}"
    return Comparison(statistic, str(number), title)


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """Released rows below each code, as whole grid units that never fall.

    Attributes
    ----------
    line : Line
    weight : int
        Grid units of a row.
    """

    line: Line
    weight: int

    @property
    def total(self) -> int:
        """The answer for the whole grid."""
        return int(self._units(np.array([self.line.rows]))[0])

    def __call__(self, codes: Array) -> Array:
        """Return the answers below some codes, an array of uint64 up to the size.

        Within a cell they do not fall, as no operation on the way to them falls. The
        ends of the cell keep them from passing those of the next one by rounding.
        """
        places = np.searchsorted(self.line.starts, codes, side="right") - 1
        ends = self._units(self.line.below)
        return np.clip(
            self._units(self.line.prefixes(codes)), ends[places], ends[places + 1]
        )

    def _units(self, rows: Array) -> Array:
        return np.rint(np.clip(rows * self.weight, 0, _WIDEST)).astype(np.int64)


def _of_all(
    release: SyntheticIntervals[Any],
    grids: tuple[Grid, ...],
    contribution: Contribution,
) -> EveryInterval:
    """Return the error of all intervals of one column."""
    if not isinstance(release.shape, Line):
        msg = "The release is of several columns, whose boxes are too many to try."
        hint = 'list some: largest_error(release, [{"age": (20, 30)}, ...]).'
        raise ParameterError(msg, hint=hint)
    below = Prefixes(line=_own(release.shape), weight=contribution.resolution)
    return EveryInterval(
        grids=grids, contribution=contribution, below=below, total=below.total
    )


def _own(line: Line) -> Line:
    """Return a line of the same answers that nobody else can change.

    Arrays of a release can be written to, and it is checked what they hold.
    """
    return Line(
        grid=line.grid,
        starts=line.starts.copy(),
        below=line.below.copy(),
        raw=line.raw,
        error=line.error,
        cut=line.cut,
    )


def _of_listed(
    release: SyntheticIntervals[Any],
    queries: object,
    grids: tuple[Grid, ...],
    contribution: Contribution,
) -> EveryQuery:
    """Return the error of the answers that `.count` gives for some queries."""
    given = public_value(queries)
    if isinstance(given, Mapping):
        msg = "queries is a list of queries, not one."
        raise ParameterTypeError(msg, hint="write [{...}].")
    listed = listed_values(given, what="queries")
    most = MOST_INTERVALS if len(grids) == 1 else MOST_BOXES
    if len(listed) > most:
        msg = f"There are {len(listed)} queries; the most is {most}."
        hint = "leave queries= out for all intervals." if len(grids) == 1 else None
        raise ParameterError(msg, hint=hint)
    ranges = [asked_by(release.shape.grids, query).ranges for query in listed]
    first, last = _ends(ranges, [grid.size for grid in grids])
    shape = release.shape
    if isinstance(shape, Line):
        counts = _counts(shape, first[:, 0], last[:, 0])
    else:
        counts = np.array([shape.counted(query)[0] for query in ranges])
    widest = int(_WIDEST) // contribution.resolution
    answers = np.clip(np.rint(counts), 0, widest).astype(np.int64)
    return EveryQuery(
        grids=grids,
        contribution=contribution,
        first=first,
        last=last,
        answers=answers * contribution.resolution,
    )


def _counts(line: Line, first: Array, last: Array) -> Array:
    """Return the released rows between codes, both included, as `Line.counted`."""
    ends = last + np.uint64(1)  # the last of 2^64 codes wraps
    upper = np.where(
        last == np.uint64(line.grid.size - 1), line.rows, line.prefixes(ends)
    )
    return upper - line.prefixes(first)


def _ends(
    ranges: Sequence[Sequence[tuple[int, int]]], sizes: Sequence[int]
) -> tuple[Array, Array]:
    """Return the first and last codes of boxes; an empty one has 1 and 0."""
    first = np.zeros((len(ranges), len(sizes)), dtype=np.uint64)
    last = np.zeros_like(first)
    for place, query in enumerate(ranges):
        empty = any(start >= stop for start, stop in query)
        pairs = [(1, 1)] * len(sizes) if empty else query
        first[place] = [start for start, _ in pairs]
        last[place] = [stop - 1 for _, stop in pairs]
    return first, last


def _on(frame: PrivateFrame, grid: Grid) -> Grid:
    """Return a release's grid on the frame's own column of that name."""
    ends = (grid.low, grid.high)
    if isinstance(grid, EvenGrid):
        numbers = (grid.low, grid.step, grid.high)
        new, (low, step, _) = namesake(frame, grid.column, numbers, ends=ends)
        return replace(grid, column=new, low=low, step=step)
    new, points = namesake(frame, grid.column, grid.points, ends=ends)
    return replace(grid, column=new, points=points)
