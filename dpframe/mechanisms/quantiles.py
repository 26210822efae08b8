"""Quantiles: points of a public grid, each with about the right share of rows below.

A point is chosen by the exponential mechanism, more likely the smaller its rank error.
Several levels of a column share its loss. Many are read off one noisy tree of counts
instead, which answers all of them for one price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dpframe.adaptive.session import quantile_rate, tree_block
from dpframe.declare import public_value
from dpframe.errors import ParameterError
from dpframe.mechanisms.cells import ONE_CELL, Cells
from dpframe.mechanisms.grids import check_held, grid_of
from dpframe.mechanisms.inputs import row_contribution
from dpframe.mechanisms.interval_shapes import fitted_cells
from dpframe.mechanisms.scalar import scalar_query
from dpframe.mechanisms.tables import axis_names, table_query
from dpframe.nested import Nested, fanouts
from dpframe.ordering import Ordering
from dpframe.outlook import Outlook
from dpframe.privacy.loss import Loss
from dpframe.query import Part, Query, Search
from dpframe.releases.figures import INT64, PRINTED, RANK, Figures
from dpframe.releases.interval_tree import MOST_LEAVES, monotone
from dpframe.releases.quantiles import QuantilesRelease, level_of, level_text
from dpframe.releases.rank_error import Choice, RankError, TreeRankError
from dpframe.releases.tabular import TableRelease
from dpframe.table import enumeration
from dpframe.values import Kind, listed_values

if TYPE_CHECKING:
    from dpframe.adaptive.session import Session
    from dpframe.frame import PrivateFrame
    from dpframe.grid import Grid
    from dpframe.query import Measured
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.tally import Axis, Contribution
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

_FEW: Final = 3
"""So many levels are chosen one by one."""

_ANY: Final = math.ulp(0.0)

MEDIAN: Final = Fraction(1, 2)


def levels_of(q: object) -> tuple[Fraction, ...]:
    """Return a list of distinct levels.

    Raises
    ------
    ParameterError
        If it is empty or repeats one.
    """
    levels = tuple(level_of(one) for one in listed_values(public_value(q), what="q"))
    if len(set(levels)) < len(levels):
        msg = "q repeats a level."
        raise ParameterError(msg)
    return levels


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """Points of a grid at some levels, by cell.

    Attributes
    ----------
    grid : Grid
    contribution : Contribution
    levels : tuple of Fraction
        Ascending.
    """

    grid: Grid
    contribution: Contribution
    levels: tuple[Fraction, ...]

    @classmethod
    def of(
        cls,
        frame: PrivateFrame,
        column: object,
        *,
        levels: tuple[Fraction, ...],
        bounds: object = None,
        step: object = None,
    ) -> Quantiles:
        """Return the quantiles that a call asks for."""
        grid = grid_of(
            frame, column, bounds=bounds, step=step, fine=True, release="A quantile"
        )
        found = cls(
            grid=grid,
            contribution=row_contribution(frame),
            levels=tuple(sorted(levels)),
        )
        check_held(grid, found.measure)
        return found

    @property
    def name(self) -> str:
        """The column's name."""
        return self.grid.column.name

    @property
    def measure(self) -> ColumnType:
        """The column's number line, in a dtype that holds every point."""
        column = self.grid.column
        if column.kind is Kind.FLOAT:
            return replace(column, dtype=pl.Float64())
        low, high = INT64
        fits = low <= self.grid.low and self.grid.high <= high
        if column.kind is Kind.INTEGER and fits:
            return replace(column, dtype=pl.Int64())
        return column

    @property
    def parameters(self) -> dict[str, str]:
        """Public parameters, as text."""
        ends = (self.grid.column.value(Fraction(x)) for x in self._ends)
        return {
            "q": ", ".join(map(level_text, self.levels)),
            "grid": f"{self.grid.size} points from {' to '.join(map(str, ends))}",
        }

    def part(self, axes: tuple[Axis, ...], loss: Loss) -> Part | Search:
        """Return the choices, or a tree where that promises smaller rank errors.

        A few levels are always chosen.
        """
        choices = self._choices(axes, loss)
        leaves = self.grid.size * choices.ordering.cells
        if len(self.levels) <= _FEW or leaves > MOST_LEAVES:
            return choices
        tree = self._tree(axes, loss)
        return min(choices, tree, key=self._promise)

    def codes(self, found: Array, part: Part | Search) -> Array:
        """Return the points' codes from what was found, shape ``(cells, levels)``.

        Within a cell they do not fall with the level.
        """
        if isinstance(part, Search):
            return np.sort(found, axis=1)
        tree = part.statistic
        if not isinstance(tree, Nested):
            msg = "quantiles are read off a tree"
            raise TypeError(msg)
        leaves = fitted_cells(found, tree.fanouts)
        counts = leaves.reshape(-1, leaves.shape[-1])[:, : self.grid.size]
        below = [self._read(monotone(row)) for row in np.cumsum(counts, axis=1)]
        return np.array(below, dtype=np.uint64)

    def figures(
        self, codes: Array, part: Part | Search, *, name: str, listed: int = 1
    ) -> Figures:
        """Return points as figures whose error is one of ranks."""
        low, high = self._ends
        values = self.grid.numbers(codes.reshape(-1))
        return Figures(
            name=name,
            column=replace(self.measure, name=name),
            values=values,
            centre=values,
            raw={},
            error=self.error(part, listed=listed),
            low=low,
            high=high,
            error_line=RANK,
        )

    def error(
        self, part: Part | Search, *, listed: int = 1
    ) -> RankError | TreeRankError:
        """Return the rank error of a point.

        `listed` is how many points a measure lists for each cell.
        """
        if isinstance(part, Part):
            return TreeRankError(
                noise=part.noise(part.blocks[0]),
                size=self.grid.size,
                unit=Fraction(1, self.contribution.resolution),
                listed=listed,
            )
        scales = [
            1 / (quantile_rate(part.ordering, level, loss) * level.denominator)
            for level, loss in self._shared(part.ordering, part.loss)
        ]
        return RankError(
            noise=Choice(scale=max(scales) / part.ordering.weight),
            points=self.grid.size,
            levels=len(self.levels),
            listed=listed,
        )

    @property
    def _ends(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.grid.low), Fraction(self.grid.high)

    def _choices(self, axes: tuple[Axis, ...], loss: Loss) -> Search:
        ordering = Ordering(
            grids=(self.grid,), contribution=self.contribution, axes=axes
        )
        shared = self._shared(ordering, loss)

        def run(session: Session) -> Array:
            found = [session.quantiles(level, share) for level, share in shared]
            return np.array(found, dtype=np.uint64).T

        return Search(ordering=ordering, loss=loss, run=run)

    def _shared(self, ordering: Ordering, loss: Loss) -> list[tuple[Fraction, Loss]]:
        """Return each level with its share of the loss: their rank errors are equal.

        One row moves what is scored at the level q by at most ``max(q, 1 - q)``.
        """
        one = Loss(epsilon=Fraction(1))
        scales = [
            1 / (quantile_rate(ordering, level, one) * level.denominator)
            for level in self.levels
        ]
        if loss.epsilon is None:
            scales = [scale**2 for scale in scales]
        shares = (loss.share(scale / sum(scales)) for scale in scales)
        return list(zip(self.levels, shares, strict=True))

    def _tree(self, axes: tuple[Axis, ...], loss: Loss) -> Part:
        """Return one tree for each cell: its first level splits the cells, too."""
        first, *deeper = fanouts(self.grid.size)
        ones = (1,) * len(axes)
        branching = (
            (*(axis.size for axis in axes), first),
            *((*ones, branches) for branches in deeper),
        )
        nested = Nested(
            axes=(*axes, self.grid),
            fanouts=branching,
            contribution=self.contribution,
        )
        return Part(statistic=nested, blocks=(tree_block(branching, loss),))

    def _promise(self, part: Part | Search) -> float:
        """Return the rank error of all levels of one cell together."""
        error = self.error(part, listed=len(self.levels))
        return float(error.half_width(PRINTED, cells=len(self.levels))[0])

    def _read(self, cumulative: Array) -> Array:
        """Return the first point at which each level's share of the total is reached.

        At the level 0 the first that has any; evenly spread points where nothing was
        counted.
        """
        levels = np.array([float(level) for level in self.levels])
        if cumulative[-1] <= 0:
            return np.floor(levels * (self.grid.size - 1))
        wanted = np.maximum(levels * float(cumulative[-1]), _ANY)
        return np.array(cumulative.searchsorted(wanted), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """One of the quantiles of a column."""

    among: Quantiles
    level: Fraction

    @property
    def measure(self) -> ColumnType:
        """The number line of the points."""
        return self.among.measure

    @property
    def error_line(self) -> ColumnType:
        """Ranks."""
        return RANK

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> Part | Search:
        """Return what finds all the quantiles of the column."""
        if other:
            msg = "a quantile has no other cell"
            raise ValueError(msg)
        return self.among.part(axes, loss)

    def figures(self, noisy: Array, part: Part | Search, *, name: str) -> Figures:
        """Return the points of this level."""
        place = self.among.levels.index(self.level)
        codes = self.among.codes(noisy, part)
        return self.among.figures(codes[:, place], part, name=name)

    def sampling(self, noisy: Array) -> None:
        """Return None: it describes these rows, not a population."""

    def expected_error(
        self, part: Part | Search, rows: int | None
    ) -> RankError | TreeRankError:
        """Return the rank error, which does not depend on the rows."""
        del rows
        return self.among.error(part)


def quantile(
    frame: PrivateFrame,
    loss: Loss,
    column: object,
    *,
    q: object,
    bounds: object = None,
    step: object = None,
    mechanism: str = "quantile",
    cells: Cells = ONE_CELL,
) -> Query[ScalarRelease[Any]] | Query[TableRelease[Any]]:
    """Plan one quantile of a column, or several; in one cell or in many."""
    if not isinstance(public_value(q), (list, tuple, range, np.ndarray)):
        levels = (level_of(q),)
        listed = False
    else:
        levels, listed = levels_of(q), True
    among = Quantiles.of(frame, column, levels=levels, bounds=bounds, step=step)
    names = axis_names(cells.axes)
    by = f" by {enumeration(names)}" if names else ""
    prefix = "group_by." if names else ""
    if listed:
        return _list_query(
            frame,
            loss,
            among,
            levels,
            mechanism=f"{prefix}{mechanism}",
            cells=cells,
            title=f"quantiles of {among.name}{by}",
        )
    (level,) = levels
    what = "median" if level == MEDIAN else f"{level_text(level)} quantile"
    statistic = Quantile(among=among, level=level)
    title = f"{what} of {among.name}{by}"
    if not names:
        return scalar_query(
            frame,
            loss,
            statistic,
            mechanism=mechanism,
            name=among.name,
            title=title,
            columns=(among.name,),
            parameters=among.parameters,
        )
    return table_query(
        frame,
        loss,
        cells,
        {among.name: statistic},
        [[among.name]],
        mechanism=f"{prefix}{mechanism}",
        title=title,
        columns=(*names, among.name),
        parameters={"cells": str(cells.size), **among.parameters},
    )


def _list_query(
    frame: PrivateFrame,
    loss: Loss,
    among: Quantiles,
    levels: tuple[Fraction, ...],
    *,
    mechanism: str,
    cells: Cells,
    title: str,
) -> Query[TableRelease[Any]]:
    """Plan several levels: a row for each, in the caller's order, in each cell."""
    cells.check_measures(["quantile", among.name])
    if among.name == "quantile":
        msg = "The table would have two columns named 'quantile'."
        raise ParameterError(msg, hint="rename the column first.")
    part = among.part(cells.axes, loss)
    places = [among.levels.index(level) for level in levels]
    shown = np.tile([float(level) for level in levels], cells.size)
    repeated = np.repeat(np.arange(cells.keys.height), len(levels))
    keys = pl.DataFrame([*cells.keys[repeated], pl.Series("quantile", shown)])
    kind: type[TableRelease[Any]] = QuantilesRelease
    if cells.axes:
        kind = TableRelease

    def finish(measured: Measured) -> TableRelease[Any]:
        codes = among.codes(measured.figures[0], part)[:, places]
        return kind(
            keys=keys,
            like=cells.like,
            figures=(among.figures(codes, part, name=among.name, listed=len(levels)),),
            shape=(*cells.shape, len(levels)),
            other=False,
            measured=measured,
            host=frame.to_host,
            title=title,
        )

    return Query(
        frame=frame,
        mechanism=mechanism,
        columns=(*axis_names(cells.axes), among.name),
        parameters=among.parameters,
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=f"{title}, {keys.height} rows",
            column=RANK,
            cells=keys.height,
            schema={**dict(keys.schema), among.name: among.measure.dtype},
            error=lambda _rows: among.error(part, listed=len(levels)),
        ),
        finish=finish,
    )
