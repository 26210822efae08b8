"""A release that answers any halfspace query, and hands out synthetic rows."""

from __future__ import annotations

import math
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    TypeVar,
)

import numpy as np
import polars as pl

from dpframe.declare import public_value
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.goal import checked_confidence
from dpframe.releases.figures import COUNT, PRINTED, GridError
from dpframe.releases.halfspaces.answer import HalfspaceAnswer
from dpframe.releases.halfspaces.answers import Answered, Answers, Shape, question
from dpframe.releases.halfspaces.classifier import Halfspace, best_weights
from dpframe.releases.halfspaces.leaves import Leaves
from dpframe.releases.halfspaces.projections import Projections
from dpframe.releases.halfspaces.sketches import Sketches
from dpframe.releases.halfspaces.weights import read_weights
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.plot import plot_halfspaces
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.synthetic_rows import NoRowErrorError, SyntheticRows
from dpframe.table import Table, cell_text, enumeration
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from dpframe.query import Measured
    from dpframe.releases.halfspaces.ball import Planes
    from dpframe.releases.hosts import Host
    from dpframe.values import ColumnType

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_SHAPES: Final[Mapping[str, type[Shape]]] = {
    "net": Projections,
    "sliced": Projections,
    "kd": Leaves,
    "jl_net": Sketches,
}

_MEGABYTE: Final = 1e6

_NEEDED: Final = 0.1
"""The error, as a fraction of the rows, that `rows_needed` is about."""


class HalfspaceOracle(SyntheticRows[N]):
    """One release that answers every halfspace query, and rows to match.

    Answers cost nothing more, however many are asked. Synthetic rows are made from what
    was released when the first answer is asked for; an answer's interval is what the
    released counts prove of the fraction itself.

    Parameters
    ----------
    shape : Projections, Leaves or Sketches
        What was released.
    method : str
        How: ``"net"``, ``"sliced"``, ``"kd"`` or ``"jl_net"``.
    margin : float
        In the unit ball.
    label : ColumnType or None
        The column that rows are told apart by.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes rows a native frame; not kept.
    """

    __slots__ = ("_best", "_label", "_margin", "_method", "_shape")

    def __init__(
        self,
        *,
        shape: Shape,
        method: str,
        margin: float,
        label: ColumnType | None,
        measured: Measured,
        host: Host[N],
    ) -> None:
        columns = [grid.column for grid in shape.ball.grids]
        labelled = label is not None and label.kind is Kind.BOOLEAN
        fits = type(shape) is _SHAPES[method] and shape.is_labelled == labelled
        if not (fits and 0 < margin < 1):  # a file may have been edited
            msg = "figures, a label and a margin are those of the method"
            raise ValueError(msg)
        names = enumeration([column.name for column in columns])
        super().__init__(
            columns=columns if label is None else [*columns, label],
            measured=measured,
            host=host,
            title=names if label is None else f"{names} by {label.name}",
        )
        self._shape = shape
        self._method = method
        self._margin = margin
        self._label = label
        self._best: Halfspace | None = None

    # Answers, for nothing

    def query(
        self, w: object, offset: object = 0, *, scaled: bool = False
    ) -> HalfspaceAnswer[N]:
        """Return which fraction of the rows has a weighted sum of at least an offset.

        Parameters
        ----------
        w : sequence or mapping
            A weight for each column, in their order, or a mapping of columns to
            weights; columns that it leaves out weigh 0. In one over each column's unit.
        offset : float, default 0
            In the unit of the weighted sum.
        scaled : bool, default False
            Whether both are meant in the unit ball, where `margin` lives: each column
            there runs from ``-1 / sqrt(d)`` at its lower bound to ``1 / sqrt(d)``.

        Returns
        -------
        HalfspaceAnswer
            The fraction, in ``[0, 1]``, at a cost of 0; its `count` is in rows, and its
            `margin_band` the fraction of rows believed to lie within the margin.

        Accuracy
        --------
        The interval holds for the fraction itself: it is what the counts along the
        nearest released direction, or in boxes, prove. It covers the noise, and rows
        that may lie on either side; the fraction is usually much closer than its ends.
        Clipping to bounds is left out.

        Whole numbers belong in columns of integers: if those of a float column are
        asked about, as by ``{"years": 1}, 12``, a box around 12 is cut in half. Cast
        the column before, or ask at 11.5.

        Raises
        ------
        ParameterError
            If the direction is zero, not finite, or of the wrong length.
        ColumnNotFoundError, ParameterTypeError
            If it names another column, or is not made of numbers.
        """
        planes = self.plane(w, offset, scaled=scaled)
        return self._answer(
            self._answers.answered(planes), self._words(w, offset, scaled=scaled)
        )

    def query_many(
        self,
        W: object,  # noqa: N803 - a matrix
        offsets: object = 0,
        *,
        scaled: bool = False,
        confidence: float | None = None,
    ) -> Table:
        """Return the answers to many questions at once.

        Parameters
        ----------
        W : array of shape ``(n, d)``, data frame, or list
            A direction in each row, as `query` takes them; a frame by column names.
        offsets : float or sequence of float, default 0
            One for all, or one each.
        scaled : bool, default False
            As for `query`.
        confidence : float, optional
            In ``(0, 1)``: adds the ends of each fraction's interval, `lower` and
            `upper`.

        Returns
        -------
        Table
            One row for each: `query` (its number, from 0), `fraction`, `count`,
            `margin_band`; at no cost.
        """
        level = None if confidence is None else checked_confidence(confidence)
        planes = self._shape.ball.planes(W, offsets, scaled=scaled)
        return Table(self._answers.table(planes, level))

    def margin_band(
        self, w: object, offset: object = 0, *, scaled: bool = False
    ) -> ScalarRelease[N]:
        """Return which fraction of the rows lies within the margin of a plane.

        Parameters are those of `query`. A large one says that the answer there may be
        off by as much, for want of margin.

        Returns
        -------
        ScalarRelease
            In ``[0, 1]``, at a cost of 0.
        """
        planes = self.plane(w, offset, scaled=scaled)
        figures = self._answers.band_figures(planes)
        words = self._words(w, offset, scaled=scaled)
        title = f"fraction within {self._margin:g} of {words}"
        return ScalarRelease(
            figures=figures, measured=self.free(), host=self._host, title=title
        )

    def classify_error(
        self, w: object, offset: object = 0, *, scaled: bool = False
    ) -> HalfspaceAnswer[N]:
        """Return which fraction of the rows a halfspace classifies wrongly.

        A row is taken for True where its weighted sum is at least the offset.
        Parameters are those of `query`.

        Returns
        -------
        HalfspaceAnswer
            In ``[0, 1]``, at a cost of 0.

        Raises
        ------
        ParameterError
            If the release has no label.
        """
        self._labelled()
        planes = self.plane(w, offset, scaled=scaled)
        return self._mistaken(
            planes, self._words(w, offset, scaled=scaled), choices=0.0
        )

    def best_halfspace(self) -> Halfspace:
        """Return a halfspace that classifies as few rows wrongly as can be found.

        It is chosen among all by its error on the synthetic rows, by a search that may
        miss the best one.

        Returns
        -------
        Halfspace
            Weights and offset in the columns' own units, and its error at a cost of 0.

        Raises
        ------
        ParameterError
            If the release has no label.
        """
        shape = self._labelled()
        if self._best is None:
            weights, offset = best_weights(shape)
            error = self._mistaken(
                self.plane(weights, offset),  # as rounded as what is handed out
                self._words(weights, offset, scaled=False),
                choices=shape.choices,
            )
            self._best = Halfspace(w=weights, offset=offset, error=error)
        return self._best

    def evaluate(
        self,
        frame: Any,
        queries: object,
        *,
        epsilon: object = None,
        rho: object = None,
        allow_weak: bool = False,
    ) -> ScalarRelease[Any]:
        """Measure the largest error on a private frame: a release that is paid for.

        The same as ``frame.dp.largest_error(self, queries, ...)``, which says what it
        means.

        Parameters
        ----------
        frame : PrivateFrame
            Whose rows the answers are compared with, and whose budget pays.
        queries : list
            Pairs ``(w, offset)`` as `query` takes them, in the columns' own units.
        epsilon, rho : float, optional
            Privacy loss of this release, exactly one of them.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        ScalarRelease
            In rows, at least 0.
        """
        return self.measured_on(
            frame, queries, epsilon=epsilon, rho=rho, allow_weak=allow_weak
        )

    # What its answers are compared by

    def plane(self, w: object, offset: object, *, scaled: bool = False) -> Planes:
        """Return the plane that one question asks for, as `query` takes it.

        Raises
        ------
        ParameterTypeError
            If there are several directions.
        """
        planes = self._shape.ball.planes(w, offset, scaled=scaled)
        if len(planes) != 1:
            msg = f"One direction is asked for, and there are {len(planes)}."
            raise ParameterTypeError(msg, hint="use .query_many(W, offsets).")
        return planes

    def counted(self, planes: Planes) -> Array:
        """Return the rows above planes, whole ones: the `count` of each answer."""
        return self._answers.counts(self._shape.above(planes, self._margin))

    # What it is worth

    @property
    def margin(self) -> float:
        """The margin, in the unit ball: rows within it may be counted or not."""
        return self._margin

    @property
    def margins(self) -> dict[str, float]:
        """The margin by column, in its own unit.

        How far rows are apart that differ in that column alone, if one is on a plane
        across the column and the other as far from it as the margin.
        """
        return self._shape.ball.lengths(self._margin)

    @property
    def method(self) -> str:
        """What was released: ``"net"``, ``"sliced"``, ``"kd"`` or ``"jl_net"``."""
        return self._method

    @property
    def is_labelled(self) -> bool:
        """Whether rows are told apart by a label: the last column of `to_native`."""
        return self._label is not None

    @property
    def shape(self) -> Shape:
        """What was released, as the mechanism made it."""
        return self._shape

    def alpha(self, confidence: float = 0.95) -> float:
        """Return the largest error of all answers at once, apart from the margin.

        With so high a probability every answer A, to whatever plane, lies between the
        fraction of rows above the plane moved up by `margin`, less alpha, and that
        above the plane moved down by it, plus alpha.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``.

        Returns
        -------
        float
            As a fraction of the rows, at most 1. With ``method="net"`` it is that of
            noise alone. With boxes it also counts rows of boxes that are wider than the
            margin, so it falls where rows are many and columns few. It is 1, which
            says nothing, with ``method="sliced"``, as some planes are far from all
            directions: there the interval of each answer says what is proved of it.
        """
        return self._shape.alpha(checked_confidence(confidence), self._margin)

    @property
    def rows_needed(self) -> float:
        """From how many rows on noise is within a tenth of the rows, in 95% of cases.

        In all directions that were released at once. With ``method="net"`` that makes
        `alpha` a tenth. Infinite where no number that a float holds is enough, as with
        ``method="jl_net"``.
        """
        needed = self._shape.worst(PRINTED) / _NEEDED
        return math.ceil(needed) if math.isfinite(needed) else needed

    @property
    def nbytes(self) -> int:
        """How many bytes the released figures and the synthetic rows take."""
        return self._shape.nbytes

    # What every release says

    @property
    def raw(self) -> Array:
        """The unbiased noisy counts, in rows: of bins by direction, or of boxes."""
        return self._shape.raw.copy()

    @property
    def noise(self) -> NoiseLaw:
        """The family and scale of the noise in each count, in rows."""
        shape = self._shape
        return NoiseLaw.of(GridError(noise=shape.noise, unit=shape.unit), COUNT)

    @property
    def low_count(self) -> bool:
        """Whether the released number of rows is within its own error of 0."""
        return self._answers.low_count

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> float:
        """Return `alpha`, in rows.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``.
        joint : bool
            No difference: it holds for all answers at once.
        """
        del joint
        return self.alpha(confidence) * max(self._shape.total.rows, 0.0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the synthetic rows on the first two columns, coloured by label.

        With a label and two columns also the best halfspace.
        """
        return plot_halfspaces(self, ax)

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {
            "shape": self._shape,
            "method": self._method,
            "margin": self._margin,
            "label": self._label,
        }

    @classmethod
    def display_name(cls) -> str:
        """Return the word that a printed release starts with."""
        return "HalfspaceOracle"

    def headline(self) -> str:
        """Return the columns, the margin, the method and the size."""
        parts = [
            cell_text(self._title),
            f"margin {self._margin:g}",
            self._method,
            f"{self.row_count} synthetic rows",
            _size_text(self.nbytes),
        ]
        if self.low_count:
            parts.append("low count")
        return ", ".join(parts)

    # Rows, made when they are first asked for

    @property
    def row_count(self) -> int:
        """How many synthetic rows there are."""
        return self._shape.points

    def columns_of(self, number: int) -> list[pl.Series]:
        """Return so many of the synthetic rows, taken evenly."""
        codes, labels = self._shape.rows(number)
        found = self._shape.ball.columns(codes)
        if self._label is not None:
            found.append(pl.Series(self._label.name, labels))
        return found

    def no_error(self) -> NoRowErrorError:
        """Return what says that rows have no error bars, and which answers have."""
        msg = "Synthetic rows have no error bars."
        hint = "ask .query(w, offset) for one answer, or .alpha() for all of them."
        return NoRowErrorError(msg, hint=hint)

    # Inside

    @property
    def _answers(self) -> Answers:
        return Answers(shape=self._shape, margin=self._margin)

    def _words(self, w: object, offset: object, *, scaled: bool) -> str:
        names = self._shape.ball.names
        (weights,) = read_weights(w, names).tolist()
        words = question(names, weights, public_value(offset))
        return f"{words} in the unit ball" if scaled else words

    def _labelled(self) -> Projections | Leaves:
        """Return what was released, if rows are told apart by a label."""
        if self._label is None or isinstance(self._shape, Sketches):
            msg = "This release has no label, so no row can be classified wrongly."
            raise ParameterError(msg, hint="release it with label=, a Boolean column.")
        return self._shape

    def _mistaken(
        self, planes: Planes, words: str, *, choices: float
    ) -> HalfspaceAnswer[N]:
        found = self._answers.mistaken(planes, choices=choices)
        return self._answer(found, f"misclassified by {words}")

    def _answer(self, found: Answered, title: str) -> HalfspaceAnswer[N]:
        return HalfspaceAnswer(
            figures=found.fraction,
            counted=found.count,
            band=found.band,
            measured=self.free(),
            host=self._host,
            title=title,
        )


def _size_text(size: int) -> str:
    """Return a number of bytes in words."""
    if size < _MEGABYTE:
        return f"{max(round(size / 1e3), 1)} kB"
    return f"{size / _MEGABYTE:.1f} MB"
