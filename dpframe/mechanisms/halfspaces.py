"""One release for all halfspaces: rows counted along directions, or in boxes.

Which directions, how many bins and which noise follow from public parameters, and from
a noisy number of rows that is a part of the release.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.block import Block
from dpframe.declare import find_column, public_value
from dpframe.errors import FewRowsWarning, ParameterError, ParameterTypeError
from dpframe.goal import checked_rows
from dpframe.grid import EvenGrid
from dpframe.mechanisms.directions import (
    circle,
    frames,
    random_projections,
    sphere,
    whole_directions,
)
from dpframe.mechanisms.grids import check_held
from dpframe.mechanisms.inputs import (
    chosen,
    clipped,
    listed_columns,
    mapping_of,
    row_contribution,
)
from dpframe.mechanisms.interval_shapes import leaf_boxes
from dpframe.ordering import Ordering
from dpframe.outlook import Outlook
from dpframe.query import Following, Part, Query, Search
from dpframe.releases.figures import FRACTION
from dpframe.releases.halfspaces.ball import UnitBall
from dpframe.releases.halfspaces.leaves import Leaves
from dpframe.releases.halfspaces.oracle import HalfspaceOracle
from dpframe.releases.halfspaces.projections import Projections
from dpframe.releases.halfspaces.sketches import Sketches
from dpframe.slices import Slices
from dpframe.table import enumeration
from dpframe.tally import COARSE, Tally, centred
from dpframe.values import Kind, exact_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.adaptive.session import Session
    from dpframe.frame import PrivateFrame
    from dpframe.mechanisms.inputs import Clipped
    from dpframe.privacy.loss import Loss
    from dpframe.query import Measured
    from dpframe.releases.halfspaces.oracle import Shape
    from dpframe.tally import Contribution, Quantity
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]

METHODS: Final = ("auto", "kd", "sliced", "net", "jl_net")
FEWEST_COLUMNS: Final = 2
MOST_COLUMNS: Final = 50
MOST_DIRECTIONS: Final = 4096
"""A cover of more directions has too much noise in each, and takes too long."""

MOST_NET_BINS: Final = 512
"""Bins along each direction of a cover, at most."""

_RELEASE: Final = "halfspace_oracle"
_FLAT: Final = 2
_SPACE: Final = 3
_MOST_AUTO_BOXED: Final = 3
"""Columns up to which boxes are the default.

On three shapes of 10^4 to 10^6 rows their fractions were as close as those of
directions in two columns, up to twice as far off in three, and more beyond. What they
prove of a fraction is a third as wide in two and three columns, or less.
"""
_BINS: Final = 40
"""Bins along a direction. Finer ones tell no more: rows are placed smoothly in them."""
_FEW_ROWS: Final = 5000
_FEW_ROWS_EACH: Final = 500
_COUNT_SHARE: Final = Fraction(1, 50)
_SHAPE_SHARE: Final = Fraction(1, 2)
_MOST_FRAMED: Final = 512  # directions
_MOST_FRAMES: Final = 64
_FINE: Final = 1 << 20
_LONG: Final = 1 << 40
_DEPTH: Final = 60
_MOST_BOXED: Final = 20  # columns; three bits are left for each then
_PROJECTIONS: Final = 5
_PROJECTED: Final = 3
_CANONICAL: Final = 0.125  # about 200 directions


def halfspace_oracle(
    frame: PrivateFrame,
    loss: Loss,
    columns: object,
    *,
    margin: object,
    label: object = None,
    bounds: object = None,
    method: object = "auto",
    rows: object = None,
) -> Query[HalfspaceOracle[Any]]:
    """Plan counts that answer all halfspace queries of some columns.

    Raises
    ------
    ParameterError
        If there are too few columns or too many, the margin is out of range, or the
        method does not suit them.
    ParameterTypeError
        If a column holds no numbers, or the label no Booleans.
    """
    names = listed_columns(columns)
    _check_number(len(names))
    width = exact_number(margin, what="margin")
    if not 0 < float(width) < 1:
        msg = f"margin must lie between 0 and 1, not {float(width):g}."
        hint = "rows are scaled into the unit ball, and the margin is a length there."
        raise ParameterError(msg, hint=hint)
    box = _box(frame, names, bounds)
    word = _method(chosen(method, among=METHODS, what="method"), len(box), width)
    _warn(len(box), checked_rows(rows), loss)
    asked = _Asked(
        frame=frame,
        loss=loss,
        box=box,
        label=_label(frame, names, label, word),
        margin=width,
        contribution=row_contribution(frame),
    )
    return _PLANS[word](asked)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A call whose parameters were checked."""

    frame: PrivateFrame
    loss: Loss
    box: tuple[Clipped, ...]
    label: EvenGrid | None
    margin: Fraction
    contribution: Contribution

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.box)

    @property
    def unit(self) -> Fraction:
        """Rows in a grid unit."""
        return Fraction(1, self.contribution.resolution)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The columns as whole numbers about the middle of their bounds."""
        return tuple(centred(one.column, one.limits) for one in self.box)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        labels = [] if self.label is None else [self.label.column]
        read = [*(one.column for one in self.box), *labels]
        return {column.name: column for column in read}

    def ball(self, grid: Callable[[Clipped], EvenGrid]) -> UnitBall:
        """Return how rows on a grid of each column lie in the unit ball.

        It is made before anything is spent: a column may not hold its bounds.
        """
        return UnitBall(
            grids=tuple(map(grid, self.box)),
            limits=tuple(one.limits for one in self.box),
        )

    def slices(self, units: Array, bins: int) -> Slices:
        """Return the histograms along some directions."""
        directions, shift = whole_directions(units, bins)
        return Slices(
            quantities=self.quantities,
            directions=directions,
            offsets=np.full(len(units), bins // 2 << shift, dtype=np.int64),
            shift=shift,
            bins=bins,
            label=self.label,
            contribution=self.contribution,
        )

    def query(
        self,
        method: str,
        parts: tuple[Part | Following | Search, ...],
        shape: Callable[[Measured], Shape],
    ) -> Query[HalfspaceOracle[Any]]:
        """Return the planned release."""
        label = None if self.label is None else self.label.column
        names = [one.column.name for one in self.box]

        def finish(measured: Measured) -> HalfspaceOracle[Any]:
            return HalfspaceOracle(
                shape=shape(measured),
                method=method,
                margin=float(self.margin),
                label=label,
                measured=measured,
                host=self.frame.to_host,
            )

        return Query(
            frame=self.frame,
            mechanism=_RELEASE,
            columns=tuple(self.columns),
            parameters={"margin": f"{float(self.margin):g}", "method": method},
            cost=self.loss,
            parts=parts,
            outlook=Outlook(
                title=f"halfspaces of {enumeration(names)}, {method}",
                column=FRACTION,
                schema={name: column.dtype for name, column in self.columns.items()},
                error=lambda _: None,
                law=Block.independent(self.loss).law,
            ),
            finish=finish,
        )


def _check_number(columns: int) -> None:
    if columns < FEWEST_COLUMNS:
        msg = "A halfspace of one column is an interval."
        raise ParameterError(msg, hint="use .dp.synthetic_intervals(...).")
    if columns > MOST_COLUMNS:
        msg = f"Halfspaces have at most {MOST_COLUMNS} columns, not {columns}."
        hint = "use .dp.mean_cov(...) for all, or release some of the columns together."
        raise ParameterError(msg, hint=hint)


def _warn(columns: int, rows: int | None, loss: Loss) -> None:
    """Warn where a public guess of the number of rows is too small."""
    if rows is None:
        return
    needed = few_rows(columns, loss)
    if rows < needed:
        warnings.warn(
            f"{rows} rows are few for halfspaces of {columns} columns at {loss}: "
            f"answers are worth their cost from about {needed} on.",
            FewRowsWarning,
            stacklevel=6,  # the caller of .dp.halfspace_oracle
        )


def few_rows(columns: int, loss: Loss) -> int:
    """Return from about how many rows on answers are worth their cost: a rule of thumb.

    With a privacy unit as many times as it has rows.
    """
    return math.ceil(max(_FEW_ROWS, _FEW_ROWS_EACH * columns) / loss.pure)


def _box(
    frame: PrivateFrame, names: tuple[Any, ...], bounds: object
) -> tuple[Clipped, ...]:
    given = mapping_of(bounds, what="bounds")
    for stray in given:
        if stray not in names:
            msg = f"bounds name {stray!r}, which is not among the columns."
            raise ParameterError(msg)
    for name in names:
        column = find_column(frame, name)
        if column.kind is not Kind.OBJECT:  # which are what its bounds are
            _check_number_kind(column)
    found = tuple(clipped(frame, name, given.get(name)) for name in names)
    for one in found:
        _check_number_kind(one.column)
    return found


def _check_number_kind(column: ColumnType) -> None:
    if not column.kind.is_number:
        msg = f"Column {column.name!r} holds {column.kind.value}: no weighted sum."
        raise ParameterTypeError(msg, hint="make it a number in a step first.")


def _label(
    frame: PrivateFrame, names: tuple[Any, ...], label: object, method: str
) -> EvenGrid | None:
    given = public_value(label)
    if given is None:
        return None
    column = find_column(frame, given)
    if column.kind is not Kind.BOOLEAN:
        msg = f"Label {column.name!r} holds {column.kind.value}, not Booleans."
        hint = "make it one in a step first, such as a comparison."
        raise ParameterTypeError(msg, hint=hint)
    if column.name in names:
        msg = f"Label {column.name!r} is among the columns, too."
        raise ParameterError(msg, hint="leave it out of the columns.")
    if method == "jl_net":
        msg = 'method="jl_net" has no labels.'
        raise ParameterError(msg, hint='use method="auto".')
    return EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=2)


def _method(word: str, columns: int, margin: Fraction) -> str:
    """Return the method that a word means: public facts alone."""
    if word == "auto":
        return "kd" if columns <= _MOST_AUTO_BOXED else "sliced"
    if word == "net":
        _check_net(columns, margin)
    if word == "kd" and columns > _MOST_BOXED:
        msg = f'method="kd" has at most {_MOST_BOXED} columns, not {columns}.'
        raise ParameterError(msg, hint='use method="sliced".')
    return word


def _check_net(columns: int, margin: Fraction) -> None:
    """Refuse nets of too many directions or bins: their counts are noise."""
    width = float(margin)
    hint = 'use a larger margin, or method="sliced".'
    if _bins(margin) > MOST_NET_BINS:
        least = 4 / MOST_NET_BINS
        msg = f'method="net" is for margins of at least {least:.3g}, not {width:g}.'
        raise ParameterError(msg, hint=hint)
    number = _covering(columns, width)
    needed = (
        f'method="net" needs about {number:.2g} directions for {columns} columns '
        f"at a margin of {width:g}"
    )
    if columns > _SPACE:
        msg = f"{needed}, and is there for two and three columns."
        raise ParameterError(msg, hint='use method="sliced".')
    if number > MOST_DIRECTIONS:
        msg = f"{needed}, and the most is {MOST_DIRECTIONS}."
        raise ParameterError(msg, hint=hint)


def _covering(columns: int, margin: float) -> float:
    """Return about how many directions are within half the margin of all others."""
    if columns == _FLAT:
        return len(circle(margin / 2))
    if columns == _SPACE:
        return len(sphere(margin / 2))
    return (4 / margin) ** (columns - 1)


def _bins(margin: Fraction) -> int:
    """Return an even number of bins, each at most half a margin long."""
    return 2 * math.ceil(2 / margin)


# Directions


def _covered(asked: _Asked) -> Query[HalfspaceOracle[Any]]:
    """Plan histograms along directions near to all others: proved for every plane."""
    radius = float(asked.margin) / 2
    units = circle(radius) if asked.dimension == _FLAT else sphere(radius)
    bins = max(_bins(asked.margin), _BINS)
    part = _part(asked.slices(units, bins), asked.loss)
    ball = asked.ball(_row_grid)

    def shape(measured: Measured) -> Projections:
        return _projections(ball, part, measured.figures[0], radius)

    return asked.query("net", (part,), shape)


def _framed(asked: _Asked) -> Query[HalfspaceOracle[Any]]:
    """Plan histograms along frames: as many as a noisy number of rows is enough for."""
    present = tuple(asked.columns.values())
    rows = Part(
        statistic=Tally(present=present, contribution=asked.contribution),
        blocks=(Block.independent(asked.loss.share(_COUNT_SHARE)),),
    )
    rest = asked.loss.share(1 - _COUNT_SHARE)
    ball = asked.ball(_row_grid)

    def follow(figures: Sequence[Any]) -> Part:
        counted = float(int(figures[0][0, 0]) * asked.unit)
        number = frame_number(asked.dimension, counted, rest)
        return _part(asked.slices(frames(asked.dimension, number), _BINS), rest)

    def shape(measured: Measured) -> Projections:
        part = follow(measured.figures[:1])
        return _projections(ball, part, measured.figures[1], math.sqrt(2))

    following = Following(columns=asked.columns, loss=rest, plan=follow)
    return asked.query("sliced", (rows, following), shape)


def frame_number(dimension: int, rows: float, loss: Loss) -> int:
    """Return how many frames of directions are measured.

    More of them tell more of the rows, each with more noise. These did best, or nearly,
    on four shapes of data of 2 to 20 columns and 10^3 to 10^6 rows at ε = 1.
    """
    known = max(rows, 0.0)
    if loss.epsilon is not None:
        scaled = 0.11 * math.sqrt(known * float(loss.epsilon))
    else:
        scaled = 0.026 * known * math.sqrt(loss.as_rho)
    most = max(min(_MOST_FRAMED // dimension, _MOST_FRAMES), 1)
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


def _row_grid(one: Clipped) -> EvenGrid:
    """Return the points that synthetic rows lie on: whole numbers, or fine steps."""
    low, high = one.limits
    width = high - low
    step = width / _FINE
    if one.column.is_whole:
        step = Fraction(max(math.ceil(width / _LONG), 1))
    grid = EvenGrid(column=one.column, low=low, step=step, size=int(width // step) + 1)
    check_held(grid, one.column)
    return grid


# Boxes


def _boxed(asked: _Asked) -> Query[HalfspaceOracle[Any]]:
    """Plan a PrivTree over the cube of the columns, and counts of its leaves."""
    bits = _DEPTH // asked.dimension
    ball = asked.ball(partial(_cells, bits=bits))
    labelled = () if asked.label is None else (asked.label,)
    ordering = Ordering(grids=(*labelled, *ball.grids), contribution=asked.contribution)
    first = asked.loss.share(_SHAPE_SHARE)
    rest = asked.loss.share(1 - _SHAPE_SHARE)

    def run(session: Session) -> tuple[Array, Array]:
        starts = session.splits(first)
        return starts, session.tree(starts, ((len(starts),),), rest)

    def shape(measured: Measured) -> Leaves:
        starts, nodes = measured.figures[0]
        raw = nodes[:, 0].astype(np.float64) * float(asked.unit)
        noise = Block.independent(rest).noise(ordering)
        boxes = leaf_boxes(ordering, starts, raw, noise=noise, unit=asked.unit)
        return Leaves(ball=ball, boxes=boxes)

    search = Search(ordering=ordering, loss=asked.loss, run=run)
    return asked.query("kd", (search,), shape)


def _cells(one: Clipped, bits: int) -> EvenGrid:
    """Return a column's cells, by their middles: at most ``2**bits`` of them."""
    low, high = one.limits
    width, size = high - low, 1 << bits
    if not one.column.is_whole:
        step = width / size
        start = low + step / 2
        grid = EvenGrid(column=one.column, low=start, step=step, size=size)
        check_held(grid, one.column)
        return grid
    values = int(width) + 1
    step = -(-values // size)
    cells = -(-values // step)
    spare = cells * step - values  # beyond the bounds, about as much at either end
    grid = EvenGrid(
        column=one.column,
        low=low - (spare + 1) // 2 + step // 2,
        step=Fraction(step),
        size=cells,
    )
    check_held(grid, one.column)
    return grid


# Random projections


def _sketched(asked: _Asked) -> Query[HalfspaceOracle[Any]]:
    """Plan the published scheme: canonical planes after random projections.

    A row x of the ball becomes ``(x, sqrt(1 - |x|^2), 1) / sqrt(2)`` on the sphere.
    """
    projections = random_projections(
        asked.dimension + 2, number=_PROJECTIONS, projected=_PROJECTED
    )
    canonical = sphere(_CANONICAL)
    slices = _canonical_slices(asked, projections, canonical)
    part = _part(slices, asked.loss)
    ball = asked.ball(_row_grid)

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


def _canonical_slices(asked: _Asked, projections: Array, canonical: Array) -> Slices:
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


_PLANS: Final[Mapping[str, Callable[[_Asked], Query[HalfspaceOracle[Any]]]]] = {
    "net": _covered,
    "sliced": _framed,
    "kd": _boxed,
    "jl_net": _sketched,
}
