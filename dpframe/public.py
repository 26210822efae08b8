"""What an analyst states to be public: lookup tables and lists of keys.

Nothing tells a public frame from a private one but this statement; what is neither
public nor attached is refused.
"""

from __future__ import annotations

from typing import Any, Final, cast, final

import numpy as np
import pandas as pd
import polars as pl

from dpframe.errors import ParameterTypeError

_FRAMES: Final = (pl.DataFrame, pl.LazyFrame, pd.DataFrame)
_COLUMNS: Final = (pl.Series, pd.Series, pd.Index, np.ndarray)


@final
class Public:
    """A frame or column that is stated to be public; see `dpframe.public`."""

    __slots__ = ("native", "reason")

    native: Any
    """The frame or column, as it was when this was stated."""

    reason: str | None
    """Why it is public, for the record."""

    def __init__(self, native: Any, reason: str | None) -> None:
        self.native = native
        self.reason = reason

    def __public_value__(self) -> Any:
        """Return the values, where public keys or bounds are taken."""
        native: Any = self.native
        is_column = isinstance(native, _COLUMNS)
        return list(cast("Any", native)) if is_column else native

    def __repr__(self) -> str:
        """Return what it is, and why: it goes on record with each step that uses it."""
        why = "" if self.reason is None else f", reason={self.reason!r}"
        return f"public({_described(self.native)}{why})"


def public(frame_or_series: Any, *, reason: str | None = None) -> Public:
    """State that a frame or a column is public, so that steps and keys may use it.

    Parameters
    ----------
    frame_or_series : DataFrame, LazyFrame, Series, Index or numpy array
        Of pandas or Polars. It must not come from the private rows: whatever a step
        or a release takes from it is not protected. A snapshot is taken.
    reason : str, optional
        Why it is public. It goes on record with every release that depends on it.

    Returns
    -------
    Public
        To be joined with, looked up in, or passed as keys.

    Raises
    ------
    ParameterTypeError
        If it is no frame or column of pandas or Polars, or is private.

    Privacy
    -------
    Nothing is protected here: this is a statement of the analyst, and it is recorded.

    Examples
    --------
    >>> wards = pl.DataFrame({"ward": ["A", "B"], "floor": [1, 2]})
    >>> dpframe.public(wards, reason="floor plan")
    public(frame of ward, floor, reason='floor plan')
    """
    if reason is not None and not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        msg = f"reason must be text, not {type(reason).__name__}."
        raise ParameterTypeError(msg)
    if isinstance(frame_or_series, Public):
        return Public(frame_or_series.native, reason or frame_or_series.reason)
    if not isinstance(frame_or_series, (*_FRAMES, *_COLUMNS)):
        msg = f"A {type(frame_or_series).__name__} cannot be stated to be public."
        raise ParameterTypeError(
            msg, hint="pass a frame or a Series of pandas or Polars; lists are public."
        )
    return Public(_snapshot(cast("object", frame_or_series)), reason)


def _snapshot(native: object) -> Any:
    if isinstance(native, (pl.DataFrame, pl.LazyFrame, pl.Series)):
        return native.clone()
    own = cast("Any", native)  # pandas' and numpy's
    return own.copy() if isinstance(native, np.ndarray) else own.copy(deep=False)


def _described(native: Any) -> str:
    if isinstance(native, pl.LazyFrame):
        return f"frame of {', '.join(native.collect_schema().names())}"
    if isinstance(native, _FRAMES):
        return f"frame of {', '.join(map(str, native.columns))}"
    name = getattr(native, "name", None)
    return "values" if not name else f"values of {name}"
