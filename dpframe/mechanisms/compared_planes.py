"""The answers of a halfspace oracle to listed queries, to be compared with rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpframe.declare import public_value
from dpframe.deviation import EveryPlane
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.comparison import Comparison, namesake
from dpframe.mechanisms.inputs import row_contribution
from dpframe.releases.halfspaces.ball import ROUNDED, Planes
from dpframe.slices import Slices
from dpframe.table import enumeration
from dpframe.tally import COARSE, centred
from dpframe.values import listed_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.frame import PrivateFrame
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle
    from dpframe.tally import Quantity

Array = np.ndarray[Any, np.dtype[Any]]

MOST_PLANES: Final = 10**4
"""Each takes a pass over the rows."""

_MOST_ROWS: Final = 2.0**40
"""No frame has more rows, and in grid units they fit 64 bits."""
_PAIR: Final = 2
_BITS: Final = 51
"""The unit ball ends at 2^51, so no plane is further out than 2^52."""


def compared_planes(
    frame: PrivateFrame, release: HalfspaceOracle[Any], queries: object
) -> Comparison:
    """Return the answers for some halfspaces, and how rows are counted for them.

    Raises
    ------
    ColumnNotFoundError
        If the frame lacks a column of the release, or a query names another.
    ParameterTypeError
        If that column is of another kind, or a query is no direction with an offset.
    ParameterError
        If there are no queries or too many, or a direction is zero.
    """
    ball = release.shape.ball
    quantities: list[Quantity] = []
    for grid, limits in zip(ball.grids, ball.limits, strict=True):
        new, (low, high) = namesake(frame, grid.column, limits, ends=limits)
        quantities.append(centred(new, (low, high)))
    planes = _listed(release, queries)
    directions, offsets = whole_planes(planes)
    contribution = row_contribution(frame)
    slices = Slices(
        quantities=tuple(quantities),
        directions=directions,
        offsets=offsets,
        shift=0,
        bins=2,
        contribution=contribution,
    )
    counts = np.clip(release.counted(planes), 0, _MOST_ROWS).astype(np.int64)
    answers = tuple(count * contribution.resolution for count in counts.tolist())
    number = len(planes)
    title = (
        f"largest error of {number} halfspace{'s'[: number - 1]} of "
        f"{enumeration(ball.names)}"
    )
    return Comparison(EveryPlane(slices=slices, answers=answers), str(number), title)


def whole_planes(planes: Planes) -> tuple[Array, Array]:
    """Return planes as `Slices` has them: directions and offsets, in whole numbers.

    A row y of whole numbers is in the upper bin if ``<y, u> + offset >= 1``: above the
    plane, or so close below that rounding may have moved it there. Rounding u moves no
    row by more than ``d / 2^32``, which is a small part of that.
    """
    scale = math.ldexp(1.0, _BITS) / (COARSE * math.sqrt(planes.normals.shape[1]))
    directions = np.rint(planes.normals * scale).astype(np.int64)
    least = np.ceil((planes.offsets - ROUNDED) * math.ldexp(1.0, _BITS))
    return directions, 1 - least.astype(np.int64)


def _listed(release: HalfspaceOracle[Any], queries: object) -> Planes:
    """Return the planes that pairs of a direction and an offset ask for."""
    if queries is None:
        msg = "There is no end of halfspaces: those to try are listed."
        raise ParameterError(msg, hint=_hint(release))
    given = public_value(queries)
    if isinstance(given, Mapping):
        msg = "queries is a list of pairs of a direction and an offset, not one."
        raise ParameterTypeError(msg, hint=_hint(release))
    listed = listed_values(given, what="queries")
    if len(listed) > MOST_PLANES:
        msg = f"There are {len(listed)} queries; the most is {MOST_PLANES}."
        raise ParameterError(msg)
    found = [_asked(release, query) for query in listed]
    return Planes(
        normals=np.concatenate([one.normals for one in found]),
        offsets=np.concatenate([one.offsets for one in found]),
    )


def _asked(release: HalfspaceOracle[Any], query: object) -> Planes:
    pair = isinstance(query, (tuple, list))
    parts = tuple(cast("Sequence[object]", query)) if pair else ()
    if len(parts) != _PAIR or isinstance(parts[0], (int, float)):
        msg = "A query is a pair of a direction and an offset."
        raise ParameterTypeError(msg, hint=_hint(release))
    return release.plane(*parts)


def _hint(release: HalfspaceOracle[Any]) -> str:
    name = release.shape.ball.names[0]
    return f"write largest_error(release, [({{{name!r}: 1}}, 0), ...])."
