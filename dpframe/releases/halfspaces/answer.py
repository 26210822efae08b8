"""An answer of a halfspace oracle: a fraction of the rows, and how many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpframe.releases.figures import PRINTED
from dpframe.releases.hosts import StoredHost
from dpframe.releases.rounding import shown_range
from dpframe.releases.scalar import ScalarRelease

if TYPE_CHECKING:
    from dpframe.query import Measured
    from dpframe.releases.figures import Figures
    from dpframe.releases.hosts import Host

N = TypeVar("N")

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

    __slots__ = ("_band", "_counted", "_host", "_measured")

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
        self._measured = measured
        self._host = StoredHost.of(self._native)

    @property
    def count(self) -> ScalarRelease[N]:
        """How many rows they are, at least 0, with their error."""
        return ScalarRelease(
            figures=self._counted,
            measured=self._measured,
            host=self._host,
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
        """Return the fraction, its interval, and what lies within the margin.

        What is proved often reaches further to one side than to the other.
        """
        ends = (float(end) for end in self.interval(PRINTED))
        text = shown_range(float(self.value), *ends)
        if self.low_count:
            text = f"{text}, low count"
        if self._band < _SHOWN:
            return text
        return f"{text}, {self._band:.2g} of all rows within the margin"
