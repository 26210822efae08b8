"""What was recorded of a step: elementwise operations over columns, and nothing else.

An operation is first run on two made-up rows. That settles its dtype, and shows
whatever is wrong with it, before a real row is met. The same function then runs on
the real columns and its result is held to that dtype, so that neither an error nor
a dtype tells anything about the rows.
"""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpframe.errors import EvaluationError, NotProvedError, ParameterTypeError
from dpframe.proofs.pandas.kinds import (
    as_plain,
    column_kind,
    on_calendar,
    plain_dtype,
    probe,
)
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """One column, or one elementwise operation over recordings and public scalars.

    Attributes
    ----------
    text : str
        How it reads, in public words.
    function : callable or None
        What is done to the operands; None where this is a column of the frame.
    operands : tuple
        Recordings and public scalars; the column's name where this is one.
    probe : Series
        The outcome on made-up rows, in the dtype of the real one.
    owner : object
        The schema that its columns belong to. It runs on the frame of that schema
        alone: elsewhere the same name may stand for other rows, units or dtypes.
    hidden : bool
        Whether this is the hidden column of units, which is only grouped by.
    category : CategoricalDtype, optional
        How the outcome is kept as a column of its own, where its levels are public.
        Further operations work on its values.
    """

    text: str
    function: Callable[..., Any] | None
    operands: tuple[Any, ...]
    probe: pd.Series[Any]
    owner: object
    hidden: bool = False
    category: pd.CategoricalDtype | None = None

    @property
    def levels(self) -> tuple[Any, ...] | None:
        """The public values that the outcome can have, where they are written out."""
        return None if self.category is None else tuple(self.category.categories)

    @property
    def dtype(self) -> Any:
        """The dtype of the outcome, whatever the rows are."""
        return self.probe.dtype

    @property
    def kind(self) -> Kind:
        """The kind of the outcome's values."""
        return column_kind(self.text, self.dtype)

    @property
    def is_numpy(self) -> bool:
        """Whether the outcome is a numpy column, whose integers are never missing."""
        return isinstance(self.dtype, np.dtype)


def record_column(name: str, dtype: Any, *, owner: object) -> Recording:
    """Return the recording of a column of a schema, as it stands."""
    column_kind(name, dtype)
    sample = probe(plain_dtype(dtype))
    text = name if name.isidentifier() else f"`{name}`"
    return Recording(
        text=text, function=None, operands=(name,), probe=sample, owner=owner
    )


def record_step(text: str, function: Callable[..., Any], *operands: Any) -> Recording:
    """Return the recording of an elementwise operation, tried on made-up rows.

    Raises
    ------
    ParameterTypeError
        If pandas cannot do it on these dtypes, or with these parameters.
    NotProvedError
        If it makes Python objects, about which nothing is known, or takes columns
        of two frames.
    """
    owner, *others = [o.owner for o in operands if isinstance(o, Recording)]
    if any(other is not owner for other in others):
        raise other_frame(text)
    rows = [o.probe if isinstance(o, Recording) else o for o in operands]
    try:
        with quiet():
            sample = function(*rows)
    except Exception:  # noqa: BLE001 - pandas raises of every kind here
        found = " and ".join(
            str(o.dtype) if isinstance(o, Recording) else type(o).__name__
            for o in operands
        )
        msg = f"{text} cannot be computed from {found}."
        raise ParameterTypeError(msg) from None
    if not isinstance(sample, pd.Series) or len(sample) != len(probe(np.dtype("i8"))):
        msg = f"{text} does not give one value for each row."
        raise NotProvedError(msg, step=text)
    if column_kind(text, sample.dtype) is Kind.OBJECT:
        msg = f"{text} gives Python objects."
        raise NotProvedError(
            msg, step=text, hint="cast to numbers, text or dates first."
        )
    held = on_calendar(sample)
    return Recording(
        text=text, function=function, operands=operands, probe=held, owner=owner
    )


def other_frame(step: str) -> NotProvedError:
    """Return the error for a column that was recorded on another frame."""
    msg = f"{step} takes a column that was recorded in another step or frame."
    return NotProvedError(
        msg, step=step, hint="write columns through the callable's own argument."
    )


def replay(recording: Recording, native: pd.DataFrame) -> pd.Series[Any]:
    """Evaluate a recording on the real columns.

    Raises
    ------
    EvaluationError
        If pandas fails; its words are withheld, since they may quote a value.
    """
    if recording.function is None:
        return native[recording.operands[0]]
    failed = False
    outcome: pd.Series[Any] = recording.probe
    try:
        with quiet():
            outcome = _evaluate(recording, native, {})
            if recording.category is not None:
                outcome = outcome.astype(recording.category)
    except Exception:  # noqa: BLE001 - whatever it says may quote a value
        failed = True
    if failed:
        msg = f"{recording.text} could not be evaluated; the reason is withheld."
        raise EvaluationError(msg)
    return outcome


def _evaluate(
    recording: Recording, native: pd.DataFrame, done: dict[int, pd.Series[Any]]
) -> pd.Series[Any]:
    known = done.get(id(recording))
    if known is not None:
        return known
    if recording.function is None:
        outcome = as_plain(native[recording.operands[0]])
        if recording.hidden:  # two units beyond the calendar stay two
            return outcome
    else:
        rows = [
            _evaluate(o, native, done) if isinstance(o, Recording) else o
            for o in recording.operands
        ]
        outcome = recording.function(*rows)
    if outcome.dtype != recording.dtype:
        outcome = outcome.astype(recording.dtype)
    outcome = on_calendar(outcome)
    done[id(recording)] = outcome
    return outcome


@contextmanager
def quiet() -> Generator[None]:
    """Silence what pandas and numpy would say about values, and keep to numpy.

    numexpr takes over above some number of rows, with other last digits.
    """
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        pd.option_context("compute.use_numexpr", False),
    ):
        warnings.simplefilter("ignore")
        yield
