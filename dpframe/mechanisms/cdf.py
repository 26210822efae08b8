"""A cumulative distribution over public bins, from one tree of noisy counts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.adaptive.session import tree_block
from dpframe.errors import ParameterTypeError
from dpframe.mechanisms.cells import one_axis, table_cells
from dpframe.mechanisms.inputs import row_contribution
from dpframe.mechanisms.interval_shapes import fitted_cells
from dpframe.nested import Nested, line_fanouts
from dpframe.outlook import Outlook
from dpframe.query import Part, Query
from dpframe.releases.figures import FRACTION, PRINTED, Figures
from dpframe.releases.interval_tree import monotone
from dpframe.releases.rank_error import ShareError
from dpframe.releases.tabular import TableRelease

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured

Array = np.ndarray[Any, np.dtype[Any]]


def cdf(
    frame: PrivateFrame,
    loss: Loss,
    column: object,
    *,
    bins: object,
    bounds: object = None,
) -> Query[TableRelease[Any]]:
    """Plan the share of the rows below the right end of each bin.

    Raises
    ------
    ParameterTypeError
        If there are no bins.
    """
    if bins is None:
        msg = "bins must be a number of bins or increasing edges, not None."
        raise ParameterTypeError(msg)
    axis = one_axis(frame, column, bins=bins, bounds=bounds)
    name = axis.columns[0].name
    cells = table_cells((axis,), other=False, plain_bins=True)
    branching = line_fanouts(axis.size)
    tree = Nested(axes=(axis,), fanouts=branching, contribution=row_contribution(frame))
    part = Part(statistic=tree, blocks=(tree_block(branching, loss),))
    keys = cells.keys.select("bin_right")
    weight = tree.contribution.resolution

    def error(total: float) -> ShareError:
        noise = part.noise(part.blocks[0])
        return ShareError(noise=noise, size=axis.size, total=max(total, weight))

    def figures(noisy: Array) -> Figures:
        leaves = fitted_cells(noisy, branching)[: axis.size]
        counts = np.cumsum(leaves)
        below = monotone(counts)
        total = float(below[-1])
        law = error(total)
        shares = np.arange(1, axis.size + 1) / axis.size
        if total > 0:
            shares = below / total
        low = law.half_width(PRINTED, cells=1) >= 1
        return Figures(
            name="fraction",
            column=FRACTION,
            values=shares,
            centre=shares,
            raw={"fraction": counts / weight},
            error=law,
            low=Fraction(0),
            high=Fraction(1),
            low_count=np.broadcast_to(low, shares.shape),
        )

    def finish(measured: Measured) -> TableRelease[Any]:
        return TableRelease(
            keys=keys,
            like={k: source for k, source in cells.like.items() if k == "bin_right"},
            figures=(figures(measured.figures[0]),),
            shape=cells.shape,
            other=False,
            measured=measured,
            host=frame.to_host,
            title=f"cumulative distribution of {name}",
        )

    return Query(
        frame=frame,
        mechanism="cdf",
        columns=(name,),
        parameters={"bins": str(axis.size)},
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=f"cumulative distribution of {name}, {axis.size} rows",
            column=FRACTION,
            cells=axis.size,
            widest=1.0,
            schema={**dict(keys.schema), "fraction": FRACTION.dtype},
            error=lambda rows: None if rows is None else error(float(rows * weight)),
        ),
        finish=finish,
    )
