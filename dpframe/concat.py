"""Private frames on top of each other: the rows of all, charged where all are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pandas as pd
import polars as pl

from dpframe.combine import combined
from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.frame import PrivateFrame
from dpframe.public import Public

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

F = TypeVar("F", bound=PrivateFrame)
T = TypeVar("T")


def concat(frames: Iterable[F]) -> F:
    """Return the rows of several private frames of one privacy unit as one frame.

    Parameters
    ----------
    frames : sequence of PrivateFrame
        At least one, of one library, with the same accountant, the same privacy
        unit and the same columns and dtypes; the order of the columns is that of the
        first.

    Returns
    -------
    PrivateFrame
        With the limits of the first. Bounds and keys stay where all frames declare
        the same. A unit has its rows of all frames, and its limit counts them
        together.

    Raises
    ------
    NotProvedError
        If there is no privacy unit (a row given twice would count twice), if the
        frames have several budgets, or one is not private.
    ParameterTypeError
        If frames are of two libraries, or a column of two dtypes.
    ParameterError
        If there is no frame, or the columns are not the same.

    Privacy
    -------
    Costs nothing. What is made of two parts of a partition is charged to the frame
    that both are parts of.

    Examples
    --------
    >>> budget = dpframe.Accountant(epsilon=1)
    >>> old = pl.DataFrame({"patient": [1, 2], "days": [3, 7]})
    >>> new = pl.DataFrame({"patient": [2, 3], "days": [1, 4]})
    >>> stays = dpframe.concat(
    ...     [
    ...         old.dp.attach(budget, privacy_unit="patient", max_rows=2),
    ...         new.dp.attach(budget, privacy_unit="patient", max_rows=2),
    ...     ]
    ... )
    >>> stays.columns
    ['patient', 'days']
    """
    listed = _private_frames(frames)
    first, others = listed[0], listed[1:]
    for frame in listed:
        _check_same_columns(first, frame)
    states = [frame.private_state for frame in listed]
    state = combined(
        "concat",
        states,
        units=[frame.unit_dtype() for frame in listed],
        options=f"{len(listed)} frames",
        bounds=_shared([each.bounds for each in states]),
        domain=_shared([each.domain for each in states]),
    )
    names = dict.fromkeys(str(each.privacy_unit) for each in states)
    if len(names) > 1:
        raise NotProvedError(
            f"concat was given frames of several privacy units: {', '.join(names)}.",
            step="concat",
            hint="rename the column before attaching, if they are the same.",
        )
    return first.stacked(others).with_state(state)


def _private_frames(frames: object) -> list[Any]:
    if isinstance(frames, (PrivateFrame, str)) or not isinstance(frames, Iterable):
        kind = type(cast("object", frames)).__name__
        msg = f"concat takes a list of private frames, not a {kind}."
        raise ParameterTypeError(msg, hint="write dpframe.concat([one, other]).")
    listed = list(cast("Iterable[object]", frames))
    if not listed:
        msg = "concat was given no frame."
        raise ParameterError(msg, hint="write dpframe.concat([one, other]).")
    for frame in listed:
        if isinstance(frame, (pl.DataFrame, pl.LazyFrame, pd.DataFrame, Public)):
            raise NotProvedError(
                "concat was given a frame that is not private: its rows belong to no "
                "privacy unit.",
                step="concat",
                hint="attach it to the same Accountant with the same privacy unit.",
            )
        if not isinstance(frame, PrivateFrame):
            msg = f"concat takes private frames, not a {type(frame).__name__}."
            raise ParameterTypeError(msg, hint="write dpframe.concat([one, other]).")
        if type(frame) is not type(listed[0]):
            msg = "concat was given frames of several libraries."
            raise ParameterTypeError(msg, hint="convert one before attaching.")
    return listed


def _check_same_columns(first: PrivateFrame, other: PrivateFrame) -> None:
    """Check names and dtypes; those of the rows that ride along are the dialect's."""
    if first.duplicate_names() or other.duplicate_names():
        msg = "concat matches columns by name, and one occurs more than once."
        raise ParameterError(msg, hint="rename it before attaching.")
    mine, theirs = first.types(), other.types()
    odd = [name for name in (*mine, *theirs) if name not in mine or name not in theirs]
    if odd:
        msg = f"concat was given frames of several columns: not in all is {odd[0]!r}."
        raise ParameterError(msg, hint="select the same columns of each.")
    for name, dtype in mine.items():
        if theirs[name] != dtype:
            msg = f"concat was given column {name!r} as {dtype} and as {theirs[name]}."
            raise ParameterTypeError(msg, hint="cast it to one dtype in each.")


def _shared(declared: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """Return what all frames declare alike."""
    first, *others = declared
    return {
        name: value
        for name, value in first.items()
        if all(name in each and each[name] == value for each in others)
    }
