"""The pandas verbs that bring rows of one privacy unit together, or multiply them."""

from __future__ import annotations

from dpframe.dialects.pandas_frame import PandasFrame


class UnitVerbs(PandasFrame):
    """Verbs whose output rows depend on the rows of one privacy unit each."""

    __slots__ = ()
