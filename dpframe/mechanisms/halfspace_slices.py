"""Rows counted in bins along public directions, for halfspaces.

How many directions there are follows from public parameters, and without a cover from a
noisy number of rows that is a part of the release.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.block import Block
from dpframe.mechanisms.directions import (
    circle,
    frames,
    random_projections,
    sphere,
    whole_directions,
)
from dpframe.mechanisms.halfspace_call import row_grid
from dpframe.query import Following, Part
from dpframe.releases.halfspaces.projections import Projections
from dpframe.releases.halfspaces.sketches import Sketches
from dpframe.slices import Slices
from dpframe.tally import COARSE, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.mechanisms.halfspace_call import HalfspaceCall
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured, Query
    from dpframe.releases.halfspaces.ball import UnitBall
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle

Array = np.ndarray[Any, np.dtype[Any]]

FLAT: Final = 2
SPACE: Final = 3
"""Columns up to which a net may be asked for."""

_BINS: Final = 40
"""Bins along a direction. Finer ones tell no more: rows are placed smoothly in them."""
_COUNT_SHARE: Final = Fraction(1, 50)
_MOST_FRAMED: Final = 512  # directions
_MOST_FRAMES: Final = 64
_PROJECTIONS: Final = 5
_PROJECTED: Final = 3
_CANONICAL: Final = 0.125  # about 200 directions


def covering(columns: int, margin: float) -> float:
    """Return about how many directions are within half the margin of all others."""
    if columns == FLAT:
        return len(circle(margin / 2))
    if columns == SPACE:
        return len(sphere(margin / 2))
    return (4 / margin) ** (columns - 1)


def net_bins(margin: Fraction) -> int:
    """Return an even number of bins, each at most half a margin long."""
    return 2 * math.ceil(2 / margin)


def covered(asked: HalfspaceCall) -> Query[HalfspaceOracle[Any]]:
    """Plan histograms along directions near to all others: proved for every plane."""
    radius = float(asked.margin) / 2
    units = circle(radius) if asked.dimension == FLAT else sphere(radius)
    bins = max(net_bins(asked.margin), _BINS)
    part = _part(_slices(asked, units, bins), asked.loss)
    ball = asked.ball(row_grid)

    def shape(measured: Measured) -> Projections:
        return _projections(ball, part, measured.figures[0], radius)

    return asked.query("net", (part,), shape)


def framed(asked: HalfspaceCall) -> Query[HalfspaceOracle[Any]]:
    """Plan histograms along frames: as many as a noisy number of rows is enough for."""
    present = tuple(asked.columns.values())
    rows = Part(
        statistic=Tally(present=present, contribution=asked.contribution),
        blocks=(Block.independent(asked.loss.share(_COUNT_SHARE)),),
    )
    rest = asked.loss.share(1 - _COUNT_SHARE)
    ball = asked.ball(row_grid)

    def follow(figures: Sequence[Any]) -> Part:
        counted = float(int(figures[0][0, 0]) * asked.unit) / asked.contribution.limit
        number = frame_number(asked.dimension, counted, rest)
        return _part(_slices(asked, frames(asked.dimension, number), _BINS), rest)

    def shape(measured: Measured) -> Projections:
        part = follow(measured.figures[:1])
        return _projections(ball, part, measured.figures[1], math.sqrt(2))

    following = Following(columns=asked.columns, loss=rest, plan=follow)
    return asked.query("sliced", (rows, following), shape)


def frame_number(dimension: int, rows: float, loss: Loss) -> int:
    """Return how many frames of directions are measured.

    `rows` are as many as there are, over how many a privacy unit may have. More
    directions tell more of them, each with more noise. These did best, or nearly,
    on four shapes of data of 2 to 20 columns and 10^3 to 10^6 rows at ε = 1.
    """
    known = max(rows, 0.0)
    if loss.epsilon is not None:
        scaled = 0.11 * math.sqrt(known * float(loss.epsilon))
    else:
        scaled = 0.026 * known * math.sqrt(loss.as_rho)
    most = min(_MOST_FRAMED // dimension, _MOST_FRAMES)
    return int(min(max(scaled * dimension**0.8 / dimension, 1), most))


def _part(slices: Slices, loss: Loss) -> Part:
    block = Block.independent(loss, row=slices.row, row_squared=slices.row)
    return Part(statistic=slices, blocks=(block,))


def _projections(
    ball: UnitBall, part: Part, figures: Array, radius: float
) -> Projections:
    """Return what noisy counts of bins say."""
    slices: Any = part.statistic
    unit = Fraction(1, slices.contribution.resolution)
    return Projections(
        ball=ball,
        directions=slices.directions,
        shift=slices.shift,
        counts=figures.reshape(slices.shape).astype(np.float64) * float(unit),
        noise=part.noise(part.blocks[0]),
        unit=unit,
        radius=radius,
    )


def _slices(asked: HalfspaceCall, units: Array, bins: int) -> Slices:
    """Return the histograms along some directions."""
    directions, shift = whole_directions(units, bins)
    return Slices(
        quantities=asked.quantities,
        directions=directions,
        offsets=np.full(len(units), bins // 2 << shift, dtype=np.int64),
        shift=shift,
        bins=bins,
        label=asked.label,
        contribution=asked.contribution,
    )


def sketched(asked: HalfspaceCall) -> Query[HalfspaceOracle[Any]]:
    """Plan the published scheme: canonical planes after random projections.

    A row x of the ball becomes ``(x, sqrt(1 - |x|^2), 1) / sqrt(2)`` on the sphere.
    """
    projections = random_projections(
        asked.dimension + 2, number=_PROJECTIONS, projected=_PROJECTED
    )
    canonical = sphere(_CANONICAL)
    slices = _canonical_slices(asked, projections, canonical)
    part = _part(slices, asked.loss)
    ball = asked.ball(row_grid)

    def shape(measured: Measured) -> Sketches:
        counts = measured.figures[0].reshape(_PROJECTIONS, len(canonical), 2)
        return Sketches(
            ball=ball,
            projections=projections,
            canonical=canonical,
            counts=counts.astype(np.float64) * float(asked.unit),
            noise=part.noise(part.blocks[0]),
            unit=asked.unit,
        )

    return asked.query("jl_net", (part,), shape)


def _canonical_slices(
    asked: HalfspaceCall, projections: Array, canonical: Array
) -> Slices:
    """Return two bins along each canonical direction, which meet at its plane."""
    shift = 51
    normals = (canonical @ projections).reshape(-1, projections.shape[2])
    sphere_radius = COARSE * math.sqrt(asked.dimension)
    longest = np.abs(normals).sum(axis=1).max() * sphere_radius
    normals = normals * 2.0 ** (shift - 1 - math.ceil(math.log2(longest)))
    constant = np.rint(normals[:, -1] * sphere_radius).astype(np.int64)
    return Slices(
        quantities=asked.quantities,
        directions=np.rint(normals[:, :-1]).astype(np.int64),
        offsets=constant + (1 << shift),
        shift=shift,
        bins=2,
        lifted=True,
        contribution=asked.contribution,
    )
