"""Several statistics under one charge, in pandas' named aggregation.

Statistics of one column that need the same sums share them, and its quantiles share
what finds them; what is left shares the loss equally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.cells import ONE_CELL, Cells
from dpframe.mechanisms.counts import Count
from dpframe.mechanisms.inputs import chosen, mapping_of
from dpframe.mechanisms.moments import Bernstein, Moment
from dpframe.mechanisms.quantiles import (
    MEDIAN,
    Quantile,
    Quantiles,
)
from dpframe.mechanisms.sums import Sum
from dpframe.mechanisms.tables import axis_names, table_query
from dpframe.releases.quantiles import level_of, level_text
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.statistic import Statistic
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.tabular import TableRelease

KINDS: Final = ("count", "sum", "mean", "var", "std", "median")

QUANTILE: Final = "quantile"
"""Written with its level: ``("age", "quantile", 0.9)``."""


class Asked(NamedTuple):
    """One statistic: its column, its kind, and the level of a quantile."""

    column: str | None
    kind: str
    level: Fraction | None = None

    def __str__(self) -> str:
        level = ""
        if self.kind == QUANTILE and self.level is not None:
            level = f", {level_text(self.level)}"
        return f"{self.kind}({self.column or ''}{level})"


def aggregate(
    frame: PrivateFrame,
    loss: Loss,
    statistics: object,
    named: Mapping[str, object],
    *,
    cells: Cells = ONE_CELL,
) -> Query[TableRelease[Any]]:
    """Plan named statistics, in one cell or in all cells of a `group_by`.

    Raises
    ------
    ParameterTypeError
        If a statistic is neither ``"count"``, nor a tuple ``(column, statistic)`` or
        ``(column, "quantile", level)``.
    ParameterError
        If there is none, one is unknown, or a name is given twice.
    """
    asked = _asked(frame, statistics, named)
    groups: dict[tuple[str | None, bool], dict[str, Asked]] = {}
    for name, one in asked.items():
        is_quantile = one.level is not None
        groups.setdefault((one.column, is_quantile), {})[name] = one
    measures: dict[str, Statistic[Any]] = {}
    for (column, is_quantile), members in groups.items():
        if is_quantile:
            measures.update(_quantiles(frame, column, members))
        else:
            kinds = {name: one.kind for name, one in members.items()}
            measures.update(_shared(frame, column, kinds, cells=cells.size))
    names = axis_names(cells.axes)
    by = f" by {enumeration(names)}" if names else ""
    read = dict.fromkeys(column for column, _ in groups if column is not None)
    return table_query(
        frame,
        loss,
        cells,
        {name: measures[name] for name in asked},
        [list(members) for members in groups.values()],
        mechanism="group_by.agg" if names else "agg",
        title=f"{', '.join(asked)}{by}",
        columns=(*names, *read),
        parameters={"statistics": ", ".join(map(str, asked.values()))},
    )


def _asked(
    frame: PrivateFrame, statistics: object, named: Mapping[str, object]
) -> dict[str, Asked]:
    """Return what each statistic is, by name."""
    given = mapping_of(statistics, what="statistics")
    asked: dict[str, Asked] = {}
    for name, wanted in [*given.items(), *named.items()]:
        if not isinstance(name, str):
            msg = f"A statistic is named by text, not by a {type(name).__name__}."
            raise ParameterTypeError(msg)
        if name in asked:
            msg = f"Two statistics are named {name!r}."
            raise ParameterError(msg)
        asked[name] = _grammar(frame, name, wanted)
    if not asked:
        msg = "agg needs at least one statistic."
        raise ParameterError(msg, hint='write n="count", average=("age", "mean").')
    return asked


def _grammar(frame: PrivateFrame, name: str, wanted: object) -> Asked:
    if wanted == "count":
        return Asked(None, "count")
    parts = list(
        cast("tuple[object, ...]", wanted) if isinstance(wanted, tuple) else ()
    )
    column = parts[0] if len(parts) in {2, 3} else None
    if not isinstance(column, str):
        msg = f'Statistic {name!r} must be "count" or a tuple (column, statistic).'
        column = name if name in frame.types() else "column"
        kind = wanted if wanted in KINDS else "mean"
        label = f"{name}=" if name.isidentifier() else f'"{name}": '
        raise ParameterTypeError(msg, hint=f'write {label}("{column}", "{kind}").')
    kind, *levels = parts[1:]
    word = chosen(kind, among=(*KINDS, QUANTILE), what=f"statistic {name!r}")
    if (word == QUANTILE) != bool(levels):
        msg = f"Statistic {name!r} must have a level if it is a quantile, and no other."
        raise ParameterTypeError(msg, hint=f'write ("{column}", "quantile", 0.9).')
    if word == "median":
        return Asked(column, word, MEDIAN)
    return Asked(column, word, level_of(levels[0]) if levels else None)


def _quantiles(
    frame: PrivateFrame, column: str | None, asked: Mapping[str, Asked]
) -> dict[str, Quantile]:
    """Return the quantiles of one column: all its levels are found together."""
    levels = {name: one.level for name, one in asked.items() if one.level is not None}
    among = Quantiles.of(frame, column, levels=tuple({*levels.values()}))
    return {name: Quantile(among=among, level=level) for name, level in levels.items()}


def _shared(
    frame: PrivateFrame, column: str | None, kinds: Mapping[str, str], *, cells: int
) -> dict[str, Statistic[Any]]:
    """Return the statistics of one column, on the least sums that give them all."""
    wanted = set(kinds.values())
    if wanted == {"count"}:
        count = Count.of(frame, column, of="rows", cells=cells)
        return dict.fromkeys(kinds, count)
    if wanted == {"sum"}:
        total = Sum.of(frame, column, bound="rows", bounds=None, cells=cells)
        return dict.fromkeys(kinds, total)
    degree = 2 if wanted & {"var", "std"} else 1
    sums = Bernstein.of(
        frame, column, of="rows", bounds=None, degree=degree, cells=cells
    )
    moments = {kind: Moment(sums=sums, kind=kind) for kind in wanted}
    return {name: moments[kind] for name, kind in kinds.items()}
