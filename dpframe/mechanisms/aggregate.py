"""Several statistics under one charge, in pandas' named aggregation.

Statistics of one column that need the same sums share them; what is left shares
the loss equally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import polars as pl

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.cells import Cells
from dpframe.mechanisms.counts import Count
from dpframe.mechanisms.inputs import chosen, mapping_of
from dpframe.mechanisms.moments import Bernstein, Moment
from dpframe.mechanisms.sums import Sum
from dpframe.mechanisms.tables import axis_names, table_query
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.statistic import Statistic
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query
    from dpframe.releases.tabular import TableRelease

KINDS: Final = ("count", "sum", "mean", "var", "std")

ONE_CELL: Final = Cells(axes=(), keys=pl.DataFrame(), like={})


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
        If a statistic is neither ``"count"`` nor a tuple ``(column, statistic)``.
    ParameterError
        If there is none, one is unknown, or a name is given twice.
    """
    asked = _asked(frame, statistics, named)
    by_column: dict[str | None, dict[str, str]] = {}
    for name, (column, kind) in asked.items():
        by_column.setdefault(column, {})[name] = kind
    measures: dict[str, Statistic] = {}
    for column, kinds in by_column.items():
        measures.update(_shared(frame, column, kinds, cells=cells.size))
    names = axis_names(cells.axes)
    by = f" by {enumeration(names)}" if names else ""
    listed = [f"{kind}({column or ''})" for column, kind in asked.values()]
    return table_query(
        frame,
        loss,
        cells,
        {name: measures[name] for name in asked},
        [list(kinds) for kinds in by_column.values()],
        mechanism="group_by.agg" if names else "agg",
        title=f"{', '.join(asked)}{by}",
        columns=(*names, *(column for column in by_column if column is not None)),
        parameters={"statistics": ", ".join(listed)},
    )


def _asked(
    frame: PrivateFrame, statistics: object, named: Mapping[str, object]
) -> dict[str, tuple[str | None, str]]:
    """Return column and kind of each statistic, by name."""
    given = mapping_of(statistics, what="statistics")
    asked: dict[str, tuple[str | None, str]] = {}
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


def _grammar(frame: PrivateFrame, name: str, wanted: object) -> tuple[str | None, str]:
    if wanted == "count":
        return None, "count"
    pair = cast("tuple[object, ...]", wanted) if isinstance(wanted, tuple) else ()
    if len(pair) != 2 or not isinstance(pair[0], str):  # noqa: PLR2004 - a pair
        msg = f'Statistic {name!r} must be "count" or a tuple (column, statistic).'
        column = name if name in frame.types() else "column"
        kind = wanted if wanted in KINDS else "mean"
        label = f"{name}=" if name.isidentifier() else f'"{name}": '
        raise ParameterTypeError(msg, hint=f'write {label}("{column}", "{kind}").')
    return pair[0], chosen(pair[1], among=KINDS, what=f"statistic {name!r}")


def _shared(
    frame: PrivateFrame, column: str | None, kinds: Mapping[str, str], *, cells: int
) -> dict[str, Statistic]:
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
