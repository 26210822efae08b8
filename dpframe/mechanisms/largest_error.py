"""How far off the answers of a release are on a private frame: itself a release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpframe.block import Block
from dpframe.errors import ParameterTypeError
from dpframe.mechanisms.compared_intervals import compared_intervals
from dpframe.mechanisms.compared_planes import compared_planes
from dpframe.mechanisms.counts import count_figures
from dpframe.outlook import Outlook
from dpframe.query import Part, Query
from dpframe.releases.figures import COUNT, GridError
from dpframe.releases.halfspaces.oracle import HalfspaceOracle
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.synthetic_intervals import SyntheticIntervals

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.comparison import Comparison
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured

_NAME: Final = "largest_error"


def largest_error(
    frame: PrivateFrame, loss: Loss, release: object, queries: object = None
) -> Query[ScalarRelease[Any]]:
    """Plan the largest error that the answers of a release make on a frame.

    Raises
    ------
    ColumnNotFoundError
        If the frame lacks a column of the release.
    ParameterTypeError
        If the release is of another kind, or that column is, or a query.
    ParameterError
        If there are no queries or too many, or none are given where all are too many.
    """
    method, (statistic, asked, title) = _compared(frame, release, queries)
    part = Part(statistic=statistic, blocks=(Block.independent(loss),))
    unit = Fraction(1, statistic.contribution.resolution)

    def finish(measured: Measured) -> ScalarRelease[Any]:
        figures = count_figures(measured.figures[0][:, 0], part, name=_NAME)
        figures = replace(figures, low_count=np.array([False]))  # it is no count
        return ScalarRelease(
            figures=figures, measured=measured, host=frame.to_host, title=title
        )

    return Query(
        frame=frame,
        mechanism=_NAME,
        columns=tuple(statistic.columns),
        parameters={"release": method, "queries": asked},
        cost=loss,
        parts=(part,),
        outlook=Outlook(
            title=title,
            column=COUNT,
            schema={_NAME: COUNT.dtype},
            error=lambda _: GridError(noise=part.noise(part.blocks[0]), unit=unit),
        ),
        finish=finish,
    )


def _compared(
    frame: PrivateFrame, release: object, queries: object
) -> tuple[str, Comparison]:
    """Return how a release was made, and its answers beside the frame's rows."""
    if isinstance(release, SyntheticIntervals):
        intervals = cast("SyntheticIntervals[Any]", release)
        return intervals.method, compared_intervals(frame, intervals, queries)
    if isinstance(release, HalfspaceOracle):
        oracle = cast("HalfspaceOracle[Any]", release)
        return oracle.method, compared_planes(frame, oracle, queries)
    kind = type(release).__name__
    msg = "largest_error measures a SyntheticIntervals or HalfspaceOracle release, "
    msg += f"not a {kind}."
    hint = "pass what .dp.synthetic_intervals or .dp.halfspace_oracle returned."
    raise ParameterTypeError(msg, hint=hint)
