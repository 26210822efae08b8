"""The Polars verbs that bring rows of one privacy unit together, or multiply them."""

from __future__ import annotations

from dpframe.dialects.polars_frame import PolarsFrame


class UnitVerbs(PolarsFrame):
    """Verbs whose output rows depend on the rows of one privacy unit each."""

    __slots__ = ()
