"""A planned release: what is counted, which share of the loss each figure gets.

A mechanism plans a `Query` from public facts: what to count, and which `Block` of noise
its figures get. `measure.release` carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dpframe.block import MAX_NORM
from dpframe.noise import DiscreteLaplace
from dpframe.tally import Tally, by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    import polars as pl

    from dpframe.adaptive.session import Session
    from dpframe.block import Block
    from dpframe.deviation import Deviation
    from dpframe.frame import PrivateFrame
    from dpframe.nested import Nested
    from dpframe.noise import Noise
    from dpframe.ordering import Ordering
    from dpframe.outlook import Outlook
    from dpframe.privacy.loss import Loss
    from dpframe.provenance import Provenance
    from dpframe.slices import Slices
    from dpframe.tally import Distinct, Occupied
    from dpframe.values import ColumnType

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A statistic and the blocks its outputs fall into, in order."""

    statistic: Tally | Distinct | Nested | Slices | Deviation
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

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return self.statistic.columns

    @property
    def losses(self) -> list[Loss]:
        """The blocks' shares of what the query costs."""
        return [block.loss for block in self.blocks]

    def sensitivity(self, block: Block) -> int:
        """Return by how much one privacy unit can change a block, in grid units."""
        return block.sensitivity(self.statistic)

    def noise(self, block: Block) -> Noise:
        """Return the noise that makes a block private at its share of the loss."""
        return block.noise(self.statistic)


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
class Search:
    """Questions about the order of the rows, each of which may follow from the last.

    Attributes
    ----------
    ordering : Ordering
        What is sorted.
    loss : Loss
        What all its questions spend together at most.
    run : callable
        Asks them of a `Session`, and returns what it learnt: all of it is public.
    """

    ordering: Ordering
    loss: Loss
    run: Callable[[Session], Any]
    blocks: tuple[Block, ...] = field(default=(), init=False)
    """There are no figures that noise is added to afterwards."""

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Every column that is read."""
        return self.ordering.columns

    @property
    def losses(self) -> list[Loss]:
        """Its share of what the query costs."""
        return [self.loss]


@dataclass(frozen=True, kw_only=True)
class Following:
    """A part whose statistic follows from what the parts before it gave.

    What it spends is settled beforehand, so it is no matter which statistic that is.

    Attributes
    ----------
    columns : mapping of str to ColumnType
        Every column that it may read.
    loss : Loss
        What it spends.
    plan : callable
        From the noisy figures of the parts before to a `Part` of that loss.
    """

    columns: Mapping[str, ColumnType]
    loss: Loss
    plan: Callable[[Sequence[Any]], Part]

    @property
    def losses(self) -> list[Loss]:
        """Its share of what the query costs."""
        return [self.loss]

    def part(self, figures: Sequence[Any]) -> Part:
        """Return the part that follows from noisy figures."""
        part = self.plan(figures)
        read = all(self.columns.get(n) == c for n, c in part.columns.items())
        if reduce(add, part.losses) != self.loss or not read:
            msg = "a part that follows spends and reads what was planned"
            raise ValueError(msg)
        return part


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
        What the whole call costs; the parts' shares add up to it.
    parts : tuple of Part, Following or Search
        What is measured in public cells, at once or after that, and what is asked one
        after the other.
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
    parts: tuple[Part | Following | Search, ...] = ()
    selection: Selection | None = None
    outlook: Outlook
    finish: Callable[[Measured], R]

    def __post_init__(self) -> None:
        """Refuse columns of two types, and parts that spend more than the cost."""
        by_name(c for p in self.parts for c in p.columns.values())
        losses = [loss for part in self.parts for loss in part.losses]
        if self.selection is not None:
            losses.append(self.selection.loss)
        if reduce(add, losses) != self.cost:
            msg = f"the parts of {self.mechanism} do not add up to its cost"
            raise ValueError(msg)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The noisy figures of a query, and what every release says of itself.

    Attributes
    ----------
    figures : tuple
        For each part whole numbers of shape ``(cells, outputs)``, for each search what
        it learnt.
    keys : polars.DataFrame or None
        The keys that passed a selection, sorted.
    cost : Loss
    provenance : Provenance
    """

    figures: tuple[Any, ...]
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
