"""Tables over public cells: disjoint analyses that one loss pays for all together.

A row lies in one cell only, so every cell may have noise at the full loss
(parallel composition: Dwork 2006; McSherry 2009).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpframe.mechanisms.cells import one_axis, product_axes, table_cells
from dpframe.mechanisms.counts import Count
from dpframe.mechanisms.inputs import listed_columns
from dpframe.mechanisms.moments import Moment
from dpframe.mechanisms.sums import Sum
from dpframe.outlook import Outlook
from dpframe.privacy.loss import flag
from dpframe.query import Query
from dpframe.releases.tabular import TableRelease
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.cells import Cells
    from dpframe.mechanisms.statistic import Statistic
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured
    from dpframe.tally import Axis


def table_query(
    frame: PrivateFrame,
    loss: Loss,
    cells: Cells,
    measures: Mapping[str, Statistic[Any]],
    groups: Sequence[Sequence[str]],
    *,
    mechanism: str,
    title: str,
    columns: tuple[str, ...],
    parameters: Mapping[str, str],
) -> Query[TableRelease[Any]]:
    """Plan some measures over the same cells.

    Parameters
    ----------
    cells : Cells
    measures : mapping
        Statistics by the name of their column in the table, in order.
    groups : sequence of sequence of str
        Measures that are read off the same sums; the groups share the loss equally.
    """
    cells.check_measures(list(measures))
    each = loss.share(Fraction(1, len(groups)))
    parts = tuple(
        measures[group[0]].part(cells.axes, other=cells.other, loss=each)
        for group in groups
    )
    place = {name: i for i, group in enumerate(groups) for name in group}

    def finish(measured: Measured) -> TableRelease[Any]:
        figures = tuple(
            statistic.figures(
                measured.figures[place[name]], parts[place[name]], name=name
            )
            for name, statistic in measures.items()
        )
        sampling = {
            name: statistic.sampling(measured.figures[place[name]])
            for name, statistic in measures.items()
        }
        return TableRelease(
            keys=cells.keys,
            like=cells.like,
            figures=figures,
            shape=cells.shape,
            other=cells.other,
            measured=measured,
            host=frame.to_host,
            title=title,
            sampling={name: law for name, law in sampling.items() if law is not None},
        )

    main, first = next(iter(measures.items()))
    schema = {
        **dict(cells.keys.schema),
        **{name: statistic.measure.dtype for name, statistic in measures.items()},
    }
    return Query(
        frame=frame,
        mechanism=mechanism,
        columns=columns,
        parameters=parameters,
        cost=loss,
        parts=parts,
        outlook=Outlook(
            title=f"{title}, {cells.size} rows" if cells.axes else title,
            column=first.error_line,
            cells=cells.size,
            schema=schema,
            error=lambda rows: first.expected_error(parts[place[main]], rows),
        ),
        finish=finish,
    )


def histogram(
    frame: PrivateFrame,
    loss: Loss,
    column: object,
    *,
    bins: object = None,
    keys: object = None,
    bounds: object = None,
    other: object = False,
    of: object = "rows",
    mechanism: str = "histogram",
) -> Query[TableRelease[Any]]:
    """Plan the counts of one column by keys or bins."""
    axis = one_axis(frame, column, keys=keys, bins=bins, bounds=bounds)
    return _counts(
        frame, loss, (axis,), other=other, of=of, mechanism=mechanism, plain_bins=True
    )


def contingency(
    frame: PrivateFrame,
    loss: Loss,
    columns: object,
    *,
    keys: object = None,
    bins: object = None,
    other: object = False,
    of: object = "rows",
) -> Query[TableRelease[Any]]:
    """Plan the counts of all combinations of keys and bins of several columns."""
    axes = product_axes(frame, listed_columns(columns), keys=keys, bins=bins)
    return _counts(
        frame,
        loss,
        axes,
        other=other,
        of=of,
        mechanism="contingency",
        plain_bins=False,
    )


def _counts(
    frame: PrivateFrame,
    loss: Loss,
    axes: Sequence[Axis],
    *,
    other: object,
    of: object,
    mechanism: str,
    plain_bins: bool,
) -> Query[TableRelease[Any]]:
    wanted = flag(other, what="other")
    cells = table_cells(axes, other=wanted, plain_bins=plain_bins)
    statistic = Count.of(frame, None, of=of, cells=cells.size)
    names = axis_names(axes)
    return table_query(
        frame,
        loss,
        cells,
        {"count": statistic},
        [["count"]],
        mechanism=mechanism,
        title=f"count by {enumeration(names)}",
        columns=names,
        parameters={"cells": str(cells.size), "other": str(other), "of": str(of)},
    )


def axis_names(axes: Sequence[Axis]) -> tuple[str, ...]:
    """Return the columns of some axes, in order."""
    return tuple(column.name for axis in axes for column in axis.columns)


def grouped(
    frame: PrivateFrame,
    loss: Loss,
    cells: Cells,
    *,
    kind: str,
    column: object = None,
    of: object = "rows",
    bound: object = "rows",
    bounds: object = None,
) -> Query[TableRelease[Any]]:
    """Plan one statistic in every cell of a `group_by`."""
    statistic: Statistic[Any]
    if kind == "count":
        statistic, name = Count.of(frame, None, of=of, cells=cells.size), "count"
        parameters = {"of": str(of)}
    elif kind == "sum":
        statistic = Sum.of(frame, column, bound=bound, bounds=bounds, cells=cells.size)
        name = statistic.quantity.column.name
        parameters = {"bound": str(bound), "bounds": str(statistic.bounds)}
    else:
        statistic = Moment.of(
            frame, column, kind=kind, of=of, bounds=bounds, cells=cells.size
        )
        name = statistic.sums.quantity.column.name
        parameters = {"of": str(of), "bounds": str(statistic.sums.bounds)}
    names = axis_names(cells.axes)
    what = "count" if kind == "count" else f"{kind} of {name}"
    return table_query(
        frame,
        loss,
        cells,
        {name: statistic},
        [[name]],
        mechanism=f"group_by.{kind}",
        title=f"{what} by {enumeration(names)}",
        columns=(*names, *(() if kind == "count" else (name,))),
        parameters={"cells": str(cells.size), **parameters},
    )
