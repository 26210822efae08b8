"""The noise of a release, in the unit of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpframe.releases.error_bounds import Bounded
from dpframe.releases.figures import GridError, column_length
from dpframe.releases.rank_error import RankError

if TYPE_CHECKING:
    from dpframe.outlook import ErrorLaw
    from dpframe.releases.figures import Figures
    from dpframe.values import ColumnType


@dataclass(frozen=True, kw_only=True)
class NoiseLaw:
    """Family and scale of the noise in an answer.

    Attributes
    ----------
    name : str
        The law, as in ``"discrete Laplace"``.
    scale : float, timedelta or None
        Its scale, in the answer's unit (for quantiles, in rows); None where several
        noises enter one figure (a ratio of sums).
    stddev : float or timedelta
        Its standard deviation, in the same unit: the largest of all cells, to first
        order for ratios. Where `bounded`, what the error is within in 68% of releases.
    bounded : bool
        Whether only bounds of the error are known.
    """

    name: str
    scale: Any
    stddev: Any
    bounded: bool = False

    @classmethod
    def of(cls, error: ErrorLaw, column: ColumnType) -> NoiseLaw:
        """Return the noise behind an error on the number line of a column."""
        scale: Any = None
        if isinstance(error, GridError):
            scale = column_length(column, float(error.noise.scale * error.unit))
        if isinstance(error, RankError):
            scale = column_length(column, float(error.noise.scale))
        stddev = column_length(column, float(error.stddev().max()))
        bounded = isinstance(error, Bounded)
        return cls(name=error.noise.name, scale=scale, stddev=stddev, bounded=bounded)

    @classmethod
    def of_figures(cls, figures: Figures) -> NoiseLaw:
        """Return the noise in some figures."""
        if figures.rooted:
            stddev = figures.distance(float(figures.stddev().max()))
            return cls(name=figures.error.noise.name, scale=None, stddev=stddev)
        return cls.of(figures.error, figures.line_of_error)

    def __str__(self) -> str:
        if self.scale is None and self.bounded:
            error = f"error within {_text(self.stddev)} in 68% of releases"
            return f"{self.name} in each sum, {error}"
        if self.scale is None:
            return f"{self.name} in each sum, standard deviation {_text(self.stddev)}"
        return f"{self.name}, scale {_text(self.scale)}"


def _text(amount: Any) -> str:
    return f"{amount:.3g}" if isinstance(amount, float) else str(amount)
