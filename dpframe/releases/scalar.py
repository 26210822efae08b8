"""A release of one figure."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
import polars as pl

from dpframe.errors import ParameterTypeError
from dpframe.goal import checked_confidence
from dpframe.releases.answer import Interval, Release
from dpframe.releases.figures import PRINTED, Figures, low_counts, whole_booleans
from dpframe.releases.intervals import Sampling, ends, point_columns
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.plot import plot_scalar
from dpframe.releases.rounding import error_phrase, shown_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpframe.query import Measured
    from dpframe.releases.hosts import Host
    from dpframe.values import ColumnType

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]


class ScalarRelease(Release[N]):
    """One released figure.

    Usable as a number where one is asked for (`float`, `int`, `round`, formats),
    and in no sum or comparison: those use `.value`.

    Parameters
    ----------
    figures : Figures
        Of one cell.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes the one-row table a native frame; not kept.
    title : str
        What was released, in words.
    sampling : Sampling, optional
        The error of the sample itself, where a population interval is offered.
    """

    __slots__ = ("_figures", "_sampling")

    suffix: ClassVar[str] = ".json"
    """The ending of a saved file: one figure is JSON."""

    __array_ufunc__ = None  # numpy leaves sums with a release to it, which refuses

    def __init__(
        self,
        *,
        figures: Figures,
        measured: Measured,
        host: Host[N],
        title: str,
        sampling: Sampling | None = None,
    ) -> None:
        self._figures = whole_booleans(figures)
        self._sampling = sampling
        super().__init__(
            table=pl.DataFrame({figures.name: self._figures.series()}),
            like={},
            measured=measured,
            host=host,
            title=title,
        )

    @property
    def value(self) -> Any:
        """The figure: an int, float, Decimal, date, datetime or timedelta."""
        return self._figures.value()

    @property
    def raw(self) -> Any:
        """The unbiased noisy figure, or several of them by name.

        Of a quantile, which has none, the value.
        """
        if not self._figures.raw:
            return self.value
        numbers = {k: _number(v.item(0)) for k, v in self._figures.raw.items()}
        return next(iter(numbers.values())) if len(numbers) == 1 else numbers

    @property
    def noise(self) -> NoiseLaw:
        """The family and scale of the noise, in the answer's unit."""
        return NoiseLaw.of_figures(self._figures)

    @property
    def low_count(self) -> bool:
        """Whether the noisy count is within its own error of 0."""
        return bool(low_counts(self._figures)[0])

    @property
    def stddev(self) -> Any:
        """Standard deviation of the noise: a float, or a timedelta for times.

        Where only bounds of the error are known, what it is within in 68% of releases:
        of a quantile, and of an answer that holds with all others at once.
        """
        return self._figures.distance(float(self._figures.stddev()[0]))

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> Any:
        """Return the half-width of the noise: a float, or a timedelta for times.

        That of a quantile is its rank error, in rows.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``.
        joint : bool
            No difference for one figure.
        """
        widths = self._figures.accuracy(checked_confidence(confidence), joint=joint)
        return self._figures.distance(float(widths[0]))

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> Interval:
        """Return a confidence interval, in the answer's own type.

        How far a quantile is off in values is not known: its interval is the whole
        public range. Quantiles at levels on either side show more.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``.
        joint : bool
            No difference for one figure.
        population : bool, default False
            Whether to cover the sampling of the rows as well as the noise.

        Raises
        ------
        ParameterError
            If `population` is asked of a figure that does not offer it.
        """
        lower, upper = ends(
            self._figures,
            checked_confidence(confidence),
            joint=joint,
            sampling=self._sampling,
            population=population,
        )
        column = self._figures.column
        points = (_end(column, lower.item(0)), _end(column, upper.item(0)))
        return Interval(*points)

    def interval_columns(self, confidence: float) -> list[pl.Series]:
        """Return the ends of the interval as columns of one cell."""
        lower, upper = ends(self._figures, confidence)
        return point_columns(self._figures, lower, upper, prefix="")

    def to_numpy(self) -> Array:
        """Return the figure as an array without dimensions."""
        return np.array(self.value)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figure with its 95% error bar; needs matplotlib."""
        return plot_scalar(self, ax)

    @property
    def figures(self) -> Figures:
        """The figure with its error, as the mechanism made it."""
        return self._figures

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {
            "figures": self._figures,
            "title": self._title,
            "sampling": self._sampling,
        }

    def headline(self) -> str:
        """Return the figure and its error."""
        error = float(self._figures.accuracy(PRINTED, joint=False)[0])
        told = self._figures.low_count is not None and self.low_count
        low = ", low count" if told else ""
        if self._figures.error_line is not None:
            phrase = error_phrase(self._figures.error_line, error)
            return f"{shown_cell(self._figures, 0, error).value}, {phrase}"
        return f"{shown_cell(self._figures, 0, error)}{low}"

    # A number where one is asked for

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.value, ndigits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def _refuse(self, *_: object) -> NoReturn:
        msg = "A release takes no part in sums and comparisons."
        raise ParameterTypeError(
            msg, hint="use .value, and .interval() for how far off it may be."
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _refuse
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _refuse
    __neg__ = __pos__ = __abs__ = _refuse


def _number(value: Any) -> int | float:
    """Return a noisy figure: an int where its array holds whole numbers."""
    return value if isinstance(value, int) else float(value)


def _end(column: ColumnType, point: float) -> Any:
    """Return an end of an interval in the column's type; a float where infinite."""
    return column.value(Fraction(point)) if math.isfinite(point) else point
