"""The one place where a charge, a sensitivity and a noise scale meet.

A mechanism plans a `Query` from public facts: what to count, by how much one row
can change it, and which share of the loss each block of figures gets. `release`
charges the whole query first, then reads rows, adds noise of the scale that
follows, and hands nothing but the noisy whole numbers on.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np
import polars as pl

from dpframe.engines.forks import FORKS
from dpframe.engines.local import evaluate
from dpframe.engines.occupied import occurrences
from dpframe.errors import LedgerError
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.noise.randomness import is_private
from dpframe.privacy.entries import Event
from dpframe.provenance import Provenance
from dpframe.tally import Tally, by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from dpframe.engines.occupied import Occurrences
    from dpframe.frame import PrivateFrame
    from dpframe.noise import Noise
    from dpframe.outlook import Outlook
    from dpframe.privacy.loss import Loss
    from dpframe.tally import Distinct, Occupied

Array = np.ndarray[Any, np.dtype[Any]]
R = TypeVar("R")

LAPLACE: Final = "discrete Laplace"
MAX_NORM: Final = "max-norm"
GAUSSIAN: Final = "discrete Gaussian"


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring outputs of one statistic that share one noise law.

    Attributes
    ----------
    start, stop : int
        Which outputs of the statistic.
    law : str
        `LAPLACE`: independent noise for each figure, calibrated to an L1
        sensitivity. `MAX_NORM`: one joint draw for the outputs of a single cell,
        calibrated to a max-norm sensitivity. `GAUSSIAN`: independent noise for each
        figure, calibrated to a squared L2 sensitivity.
    row_sensitivity : int
        The largest such norm (or its square) of what one full row adds, in grid units.
    loss : Loss
        This block's share of what the query costs: an epsilon for the first two laws,
        a rho for Gaussian noise.
    """

    start: int = 0
    stop: int = 1
    law: str = LAPLACE
    row_sensitivity: int = 1
    loss: Loss

    def __post_init__(self) -> None:
        """Refuse a law that cannot spend the loss."""
        if (self.law == GAUSSIAN) != (self.loss.epsilon is None):
            msg = f"{self.law} noise cannot be planned at a loss of {self.loss}"
            raise ValueError(msg)

    @classmethod
    def independent(
        cls,
        loss: Loss,
        *,
        start: int = 0,
        stop: int = 1,
        row: int = 1,
        row_squared: int | None = None,
    ) -> Block:
        """Return a block of the independent noise that a loss buys.

        Parameters
        ----------
        loss : Loss
            An epsilon buys Laplace noise, a rho Gaussian noise.
        start, stop : int
            Which outputs of the statistic.
        row : int, default 1
            The largest L1 norm of what one full row adds.
        row_squared : int, optional
            Its largest squared L2 norm. Default: that of a row that adds to one output
            alone, or the most that outputs of this L1 norm can have.
        """
        if loss.epsilon is not None:
            return cls(start=start, stop=stop, row_sensitivity=row, loss=loss)
        squared = row**2 if row_squared is None else row_squared
        return cls(
            start=start, stop=stop, law=GAUSSIAN, row_sensitivity=squared, loss=loss
        )


@dataclass(frozen=True, kw_only=True)
class Part:
    """A statistic and the blocks its outputs fall into, in order."""

    statistic: Tally | Distinct
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        """Refuse blocks that leave an output bare."""
        outputs = 1
        if isinstance(self.statistic, Tally):
            outputs = len(self.statistic.outputs)
        stops = [0, *(block.stop for block in self.blocks)]
        if [block.start for block in self.blocks] != stops[:-1] or stops[-1] != outputs:
            msg = "blocks must cover every output of a statistic once"
            raise ValueError(msg)
        joint = any(block.law == MAX_NORM for block in self.blocks)
        if joint and self.statistic.cells != 1:
            msg = "max-norm noise is for the outputs of a single cell"
            raise ValueError(msg)

    def sensitivity(self, block: Block) -> int:
        """Return by how much one privacy unit can change a block, in grid units.

        In the norm of the block's law; for Gaussian noise the square of the L2 norm.
        """
        if block.law == GAUSSIAN:
            return block.row_sensitivity * self.statistic.multiplicity_squared
        return block.row_sensitivity * self.statistic.multiplicity

    def noise(self, block: Block) -> Noise:
        """Return the noise that makes a block private at its share of the loss.

        Laplace and max-norm noise of scale ``sensitivity / epsilon`` is epsilon-DP,
        Gaussian noise of ``sigma^2 = squared sensitivity / (2 rho)`` is rho-zCDP (Bun
        and Steinke 2016, Prop. 1.6; Canonne, Kamath and Steinke 2020, Thm 4).
        """
        if block.loss.epsilon is None:
            return DiscreteGaussian(
                sigma2=self.sensitivity(block) / (2 * block.loss.as_rho)
            )
        scale = self.sensitivity(block) / block.loss.epsilon
        if block.law == MAX_NORM:
            return MaxNorm(dimension=block.stop - block.start, scale=scale)
        return DiscreteLaplace(scale=scale)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of the keys that occur are published: those that enough units hold.

    Noise is added to the count of every key that occurs, and one whose noisy count is
    below the threshold is not published. A key that a single unit brings along passes
    with a chance of at most delta in all [1]_.

    Attributes
    ----------
    statistic : Occupied
    loss : Loss
        An epsilon for the noise, and a delta for the threshold.

    References
    ----------
    .. [1] Korolova, Kenthapadi, Mishra and Ntoulas (2009), Releasing search queries
       and clicks privately, WWW.
    """

    statistic: Occupied
    loss: Loss

    @property
    def sensitivity(self) -> int:
        """By how much one privacy unit can change the counts, all together."""
        return self.statistic.contribution.multiplicity

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of each count."""
        return DiscreteLaplace(scale=self.sensitivity / self._amounts[0])

    @cached_property
    def threshold(self) -> int:
        """The least noisy count with which a key is published.

        A unit adds 1 to the count of at most so many keys as is its limit; each of
        them that it holds alone passes with a chance of at most delta over the limit.
        """
        limit = self.statistic.contribution.limit
        return 1 + self.noise.upper_quantile(self._amounts[1] / limit)

    @property
    def _amounts(self) -> tuple[Fraction, Fraction]:
        if self.loss.epsilon is None or self.loss.delta is None:
            msg = f"keys are selected at a loss in epsilon and delta, not {self.loss}"
            raise ValueError(msg)
        return self.loss.epsilon, self.loss.delta


@dataclass(frozen=True, kw_only=True)
class Query(Generic[R]):
    """A planned release: everything about it that is public.

    Attributes
    ----------
    frame : PrivateFrame
        What it was planned for: its limits set the sensitivities.
    mechanism : str
        The method that was called.
    columns : tuple of str
        The columns it names.
    parameters : mapping
        Public parameters, as text.
    cost : Loss
        What the whole call costs; the blocks' shares add up to it.
    parts : tuple of Part
        What is measured in public cells.
    selection : Selection or None
        Keys to find, instead.
    outlook : Outlook
        What the release will look like, for previews and `within=`.
    finish : callable
        Makes the release from the noisy figures; sees nothing else of the data.
    """

    frame: PrivateFrame
    mechanism: str
    columns: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    cost: Loss
    parts: tuple[Part, ...] = ()
    selection: Selection | None = None
    outlook: Outlook
    finish: Callable[[Measured], R]

    def __post_init__(self) -> None:
        """Refuse columns of two types, and blocks that spend more than the cost."""
        by_name(c for p in self.parts for c in p.statistic.columns.values())
        losses = [block.loss for part in self.parts for block in part.blocks]
        if self.selection is not None:
            losses.append(self.selection.loss)
        if reduce(add, losses) != self.cost:
            msg = f"the blocks of {self.mechanism} do not add up to its cost"
            raise ValueError(msg)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The noisy figures of a query, and what every release says of itself.

    Attributes
    ----------
    figures : tuple of arrays
        For each part, whole numbers of shape ``(cells, outputs)``.
    keys : polars.DataFrame or None
        The keys that passed a selection, sorted.
    cost : Loss
    provenance : Provenance
    """

    figures: tuple[Array, ...]
    keys: pl.DataFrame | None = None
    cost: Loss
    provenance: Provenance

    @property
    def selected(self) -> pl.DataFrame:
        """The keys of a query that has a selection."""
        if self.keys is None:
            msg = "this query selects no keys"
            raise ValueError(msg)
        return self.keys


class Probe(Protocol):
    """What a test sees of a release, and may put in place of its noise."""

    def draw(self, noise: Noise, size: int) -> Array:
        """Return the noise to add."""
        ...

    def record(
        self, query: Query[Any], exact: Sequence[Array], noisy: Sequence[Array]
    ) -> None:
        """Take note of one release."""
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
    figures: tuple[Array, ...] = ()
    keys: pl.DataFrame | None = None
    if query.selection is None:
        figures = _measured(frame, query, watcher)
    else:
        keys = _selected(frame, query, query.selection, watcher)
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
) -> tuple[Array, ...]:
    """Return the noisy figures of each part."""
    exact = evaluate(frame, [part.statistic for part in query.parts])
    noisy = tuple(
        _with_noise(part, sums, watcher)
        for part, sums in zip(query.parts, exact, strict=True)
    )
    if watcher is not None:
        watcher.record(query, exact, noisy)
    return noisy


def _selected(
    frame: PrivateFrame,
    query: Query[Any],
    selection: Selection,
    watcher: Probe | None,
) -> pl.DataFrame:
    """Return the keys whose noisy count reaches the threshold: all that leaves here."""
    exact = occurrences(frame, selection.statistic)
    noisy = exact.counts + _drawn(selection.noise, exact.counts.size, watcher)
    if watcher is not None:
        watcher.record_selection(query, exact, noisy)
    passed = np.asarray(noisy >= selection.threshold, dtype=np.bool_)
    return _apart(exact.keys.filter(passed))


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


def _with_noise(part: Part, sums: Array, watcher: Probe | None) -> Array:
    columns: list[Array] = []
    for block in part.blocks:
        exact = sums[:, block.start : block.stop]
        drawn = _drawn(part.noise(block), exact.size, watcher)
        columns.append(exact + drawn.reshape(exact.shape))
    return np.concatenate(columns, axis=1)


def _drawn(noise: Noise, size: int, watcher: Probe | None) -> Array:
    return noise.sample(size) if watcher is None else watcher.draw(noise, size)
