"""A statistic: what to sum in each cell, and how noisy sums become its figures.

Counts, sums, moments and quantiles are statistics. A scalar release has one in a single
cell, `group_by` has one in many cells, `agg` has several that share a charge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from dpframe.outlook import ErrorLaw
    from dpframe.privacy.loss import Loss
    from dpframe.query import Part, Search
    from dpframe.releases.figures import Figures
    from dpframe.releases.intervals import Sampling
    from dpframe.tally import Axis
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]
P = TypeVar("P", bound="Part | Search")


class Statistic(Protocol[P]):
    """One measure, whatever the cells."""

    @property
    def measure(self) -> ColumnType:
        """The number line of its values."""
        ...

    @property
    def error_line(self) -> ColumnType:
        """The number line of its error: that of its values, or ranks."""
        ...

    def part(self, axes: tuple[Axis, ...], *, other: bool, loss: Loss) -> P:
        """Return what to sum, or to search, and its noise at this loss."""
        ...

    def figures(self, noisy: Array, part: P, *, name: str) -> Figures:
        """Return the figures that noisy sums, shape ``(cells, outputs)``, give."""
        ...

    def sampling(self, noisy: Array) -> Sampling | None:
        """Return the error as an estimate of a population, where it is one."""
        ...

    def expected_error(self, part: P, rows: int | None) -> ErrorLaw | None:
        """Return the error to expect; None where it needs a guess of the rows."""
        ...
