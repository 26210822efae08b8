"""The one place where a charge, a sensitivity and a noise scale meet.

`release` charges a planned `Query` first, then reads rows, adds noise of the scale
that follows, and hands nothing but the noisy whole numbers on.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import polars as pl

from dpframe.adaptive.session import CHANCE, Chance, Session
from dpframe.engines.forks import FORKS
from dpframe.engines.local import evaluate
from dpframe.engines.occupied import occurrences
from dpframe.engines.once import Once
from dpframe.engines.ordered import ordered
from dpframe.errors import LedgerError
from dpframe.noise.randomness import is_private
from dpframe.privacy.entries import Event
from dpframe.provenance import Provenance
from dpframe.query import Following, Measured, Part
from dpframe.tally import by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.engines.occupied import Occurrences
    from dpframe.engines.once import Rows
    from dpframe.engines.ordered import Ordered
    from dpframe.frame import PrivateFrame
    from dpframe.query import Query, Search, Selection

Array = np.ndarray[Any, np.dtype[Any]]
R = TypeVar("R")


class Probe(Chance, Protocol):
    """What a test sees of a release, and may put in place of its noise."""

    def record(
        self,
        query: Query[Any],
        parts: Sequence[Part | Search],
        exact: Sequence[Any],
        noisy: Sequence[Any],
    ) -> None:
        """Take note of one release: its figures, or orders and what was learnt."""
        ...

    def record_selection(
        self, query: Query[Any], exact: Occurrences, noisy: Array
    ) -> None:
        """Take note of one release of keys, those too that are not published."""
        ...


probe: ContextVar[Probe | None] = ContextVar("dpframe_probe", default=None)
"""Set by `dpframe.testing` alone; releases made under it are marked as tests."""


def is_test() -> bool:
    """Return whether releases made now are tests: watched, or of noise that repeats."""
    return probe.get() is not None or not is_private()


def release(query: Query[R]) -> R:
    """Charge a query, evaluate it on its frame, add its noise and finish it.

    Raises
    ------
    BudgetExceededError
        If the query costs more than what remains. No row was read.
    LedgerError
        If the ledger cannot be used, or the release is a test. No row was read. If
        it is of no more use when the answer is there, that is kept back and the charge
        stays.
    EvaluationError
        If the frame cannot be evaluated. The charge stays, but in a forked process
        without Polars' threads, where nothing is charged.
    RandomnessError
        If no random bytes are to be had. The charge stays; nothing is released.
    """
    frame, state = query.frame, query.frame.private_state
    text = ", ".join(f"{name}={value}" for name, value in query.parameters.items())
    event = Event(
        mechanism=query.mechanism,
        columns=query.columns,
        parameters=text,
        steps=state.steps,
        scope=state.scope,
    )
    watcher, test = probe.get(), is_test()
    if state.accountant.durable:  # one in memory is refused in a forked process anyway
        if test:
            msg = (
                "a release that is watched, or whose noise repeats, is not private.\n"
                "Nothing was released and nothing was spent."
            )
            raise LedgerError(msg, hint="test with a budget in memory: no ledger=.")
        FORKS.check()
    receipt = state.accountant.charge(query.cost, event)
    figures: tuple[Any, ...] = ()
    keys: pl.DataFrame | None = None
    if query.selection is not None:
        keys = _selected(frame, query, query.selection, watcher)
    else:
        figures = _measured(frame, query, watcher)
    result = query.finish(
        Measured(
            figures=figures,
            keys=keys,
            cost=query.cost,
            provenance=Provenance.of(
                state,
                mechanism=query.mechanism,
                columns=query.columns,
                parameters=query.parameters,
                cost=query.cost,
                is_test=test,
            ),
        )
    )
    try:
        receipt.released()
    except LedgerError as error:  # its words are those of a charge that was refused
        fact, hint = str(error).partition("\n")[0], error.hint
        msg = f"{fact}\nNothing was released, and the charge stays."
        raise type(error)(msg, hint=hint) from None
    return result


def _measured(
    frame: PrivateFrame, query: Query[Any], watcher: Probe | None
) -> tuple[Any, ...]:
    """Return the noisy figures of each part, and what each search learnt."""
    chance = watcher or CHANCE
    source: Rows = frame
    if len(query.parts) > 1:
        read = by_name(c for part in query.parts for c in part.columns.values())
        source = Once(frame, {name: column.dtype for name, column in read.items()})
    parts: list[Part | Search] = []
    exact: list[Any] = []
    noisy: list[Any] = []
    for planned in query.parts:
        part = planned.part(tuple(noisy)) if isinstance(planned, Following) else planned
        parts.append(part)
        if isinstance(part, Part):
            exact.append(evaluate(source, part.statistic))
            noisy.append(_with_noise(part, exact[-1], chance))
        else:
            exact.append(ordered(source, part.ordering))
            noisy.append(_learnt(part, exact[-1], chance))
    if watcher is not None:
        watcher.record(query, parts, exact, noisy)
    return tuple(noisy)


def _selected(
    frame: PrivateFrame,
    query: Query[Any],
    selection: Selection,
    watcher: Probe | None,
) -> pl.DataFrame:
    """Return the keys whose noisy count reaches the threshold: all that leaves here."""
    exact = occurrences(frame, selection.statistic)
    noisy = exact.counts + (watcher or CHANCE).draw(selection.noise, exact.counts.size)
    if watcher is not None:
        watcher.record_selection(query, exact, noisy)
    passed = np.asarray(noisy >= selection.threshold, dtype=np.bool_)
    return _apart(exact.keys.filter(passed))


def _learnt(search: Search, exact: Sequence[Ordered], chance: Chance) -> object:
    """Return what a search learnt from its noisy answers and exact choices."""
    session = Session(
        orders=exact,
        ordering=search.ordering,
        allowance=search.loss,
        chance=chance,
    )
    return search.run(session)


def _apart(keys: pl.DataFrame) -> pl.DataFrame:
    """Return keys in memory of their own.

    A text that was filtered still refers to the bytes of all that it was picked from,
    and these go along where it is pickled or handed to Arrow.
    """
    return keys.with_columns(
        pl.Series(column.name, column.to_list(), dtype=column.dtype)
        for column in keys
        if column.dtype == pl.String
    )


def _with_noise(part: Part, sums: Array, chance: Chance) -> Array:
    columns: list[Array] = []
    for block in part.blocks:
        exact = sums[:, block.start : block.stop]
        drawn = chance.draw(part.noise(block), exact.size)
        columns.append(exact + drawn.reshape(exact.shape))
    return np.concatenate(columns, axis=1)
