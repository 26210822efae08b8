"""Answers of a halfspace oracle: figures with what is proved of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from dpframe.releases.figures import COUNT, FRACTION, Figures
from dpframe.releases.halfspaces.evidence import BandError, HalfspaceError
from dpframe.releases.scalar import ScalarRelease

if TYPE_CHECKING:
    from dpframe.query import Measured
    from dpframe.releases.halfspaces.evidence import Evidence, Total
    from dpframe.releases.hosts import Host

N = TypeVar("N")
Array = np.ndarray[Any, np.dtype[Any]]

_SHOWN: Final = 0.005
"""A fraction of rows within the margin from which an answer speaks of it."""


class HalfspaceAnswer(ScalarRelease[N]):
    """Which fraction of the rows lies in a halfspace, and how many they are.

    Parameters
    ----------
    figures : Figures
        The fraction.
    counted : Figures
        The rows.
    band : float
        Which fraction of the rows is believed to lie within the margin.
    measured : Measured
        Carries the cost, which is 0, and the provenance.
    host : callable
        Makes the one-row table a native frame; not kept.
    title : str
        What was asked, in words.
    """

    __slots__ = ("_band", "_counted", "_measured")

    def __init__(
        self,
        *,
        figures: Figures,
        counted: Figures,
        band: float,
        measured: Measured,
        host: Host[N],
        title: str,
    ) -> None:
        super().__init__(figures=figures, measured=measured, host=host, title=title)
        self._counted = counted
        self._band = band
        self._measured = (measured, host)

    @property
    def count(self) -> ScalarRelease[N]:
        """How many rows they are, at least 0, with their error."""
        measured, host = self._measured
        return ScalarRelease(
            figures=self._counted,
            measured=measured,
            host=host,
            title=f"count of {self._title}",
        )

    @property
    def margin_band(self) -> float:
        """Which fraction of the rows is believed to lie within the margin."""
        return self._band

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {
            "figures": self._figures,
            "counted": self._counted,
            "band": self._band,
            "title": self._title,
        }

    def headline(self) -> str:
        """Return the fraction, its error, and what lies within the margin."""
        if self._band < _SHOWN:
            return super().headline()
        return f"{super().headline()}, {self._band:.2g} of all rows within the margin"


def fraction_figures(
    value: float, evidence: Evidence, total: Total, *, choices: float, low_count: bool
) -> Figures:
    """Return a fraction of the rows: the first question's."""
    error = _error(value, evidence, total, choices=choices, fraction=True)
    return _fraction("fraction", value, error, low_count=low_count)


def count_figures(
    value: float, evidence: Evidence, total: Total, *, choices: float
) -> Figures:
    """Return so many rows: a fraction of the released number of them."""
    centre = np.array([value * max(total.rows, 0.0)])
    error = _error(float(centre[0]), evidence, total, choices=choices, fraction=False)
    return Figures(
        name="count",
        column=COUNT,
        values=np.rint(np.minimum(centre, 2.0**62)).astype(np.int64),
        centre=centre,
        raw={},
        error=error,
        low=Fraction(0),
    )


def band_figures(
    values: tuple[float, float],
    evidence: tuple[Evidence, Evidence],
    total: Total,
    *,
    low_count: bool,
) -> Figures:
    """Return the fraction of the rows between two planes, the lower one first."""
    value = max(values[0] - values[1], 0.0)
    wide, narrow = (
        _error(each, known, total, choices=0.0, fraction=True)
        for each, known in zip(values, evidence, strict=True)
    )
    error = BandError(value=value, wide=wide, narrow=narrow)
    return _fraction("margin_band", value, error, low_count=low_count)


def _fraction(
    name: str, value: float, error: HalfspaceError | BandError, *, low_count: bool
) -> Figures:
    centre = np.array([value])
    return Figures(
        name=name,
        column=FRACTION,
        values=centre,
        centre=centre,
        raw={},
        error=error,
        low=Fraction(0),
        high=Fraction(1),
        low_count=np.array([low_count]),
    )


def _error(
    value: float, evidence: Evidence, total: Total, *, choices: float, fraction: bool
) -> HalfspaceError:
    return HalfspaceError(
        value=value,
        sure=float(evidence.sure[0]),
        possible=float(evidence.possible[0]),
        sure_noises=float(evidence.sure_noises[0]),
        possible_noises=float(evidence.possible_noises[0]),
        total=total,
        fraction=fraction,
        choices=choices,
    )
