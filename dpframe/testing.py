"""The test seam: what a release saw, and noise that repeats. Never private.

Releases made under it say TEST wherever they print, guarantee nothing and cannot be
saved. It is no part of the public namespace: tests import it by name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from dpframe.adaptive.session import CHANCE
from dpframe.block import GAUSSIAN, MAX_NORM
from dpframe.measure import probe
from dpframe.noise import DiscreteGaussian
from dpframe.noise.randomness import override
from dpframe.query import Part

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from fractions import Fraction

    from dpframe.engines.occupied import Occurrences
    from dpframe.engines.ordered import Ordered
    from dpframe.noise import Noise
    from dpframe.ordering import Ordering
    from dpframe.privacy.loss import Loss
    from dpframe.query import Query, Search

Array = np.ndarray[Any, np.dtype[Any]]

_FROZEN: Final = 10**12  # times as sharp a choice as the loss pays for


@dataclass(frozen=True, kw_only=True)
class RecordedBlock:
    """Neighbouring figures that share one noise law.

    Attributes
    ----------
    law : str
        ``"discrete Laplace"`` (L1 sensitivity), ``"max-norm"`` (max-norm) or
        ``"discrete Gaussian"`` (squared L2 sensitivity).
    exact, noisy : tuple of tuple of int
        Figures by cell before and after noise, in grid units.
    sensitivity : int
        By how much one privacy unit can change them, in the law's norm; for Gaussian
        noise the square of that.
    loss : Loss
        The block's share of what the release costs.
    scale : Fraction or float
        The noise scale in grid units: for Gaussian noise sigma, rounded.
    sigma2 : Fraction or None
        Sigma squared, exactly; None for other laws.
    """

    law: str
    exact: tuple[tuple[int, ...], ...]
    noisy: tuple[tuple[int, ...], ...]
    sensitivity: int
    loss: Loss
    scale: Fraction | float
    sigma2: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedPart:
    """One statistic of a release and its blocks.

    `statistic` is the `Tally` or `Distinct` that was evaluated: its quantities know
    the length of a grid step, its contribution what a full row weighs.
    """

    statistic: Any
    blocks: tuple[RecordedBlock, ...]


@dataclass(frozen=True, kw_only=True)
class RecordedSelection:
    """The keys that occurred in a search for keys, published or not.

    Attributes
    ----------
    statistic : Occupied
        What was counted.
    keys : tuple of tuple
        A value for each column; sorted.
    exact, noisy : tuple of int
        How many units hold each key, before and after noise.
    sensitivity : int
        By how much one privacy unit can change the counts, all together.
    loss : Loss
        What the release costs.
    scale : Fraction
        The noise scale.
    threshold : int
        The least noisy count of a key that is published.
    """

    statistic: Any
    keys: tuple[tuple[Any, ...], ...]
    exact: tuple[int, ...]
    noisy: tuple[int, ...]
    sensitivity: int
    loss: Loss
    scale: Fraction
    threshold: int


@dataclass(frozen=True, kw_only=True)
class RecordedSearch:
    """The order of the rows that a search asked about, and what it learnt.

    Attributes
    ----------
    ordering : Ordering
        What was sorted; its `multiplicity` is what a unit changes a count by at most.
    exact : tuple of Ordered
        The order of the rows of each cell.
    learnt : object
        What the search returned: public.
    loss : Loss
        The search's share of what the release costs.
    """

    ordering: Ordering
    exact: tuple[Ordered, ...]
    learnt: Any
    loss: Loss


@dataclass(frozen=True, kw_only=True)
class Record:
    """One release as `measure` saw it."""

    mechanism: str
    columns: tuple[str, ...]
    parameters: dict[str, str]
    cost: str
    parts: tuple[RecordedPart, ...] = ()
    selection: RecordedSelection | None = None
    searches: tuple[RecordedSearch, ...] = ()

    def distance(self, other: Record) -> list[tuple[int, int]]:
        """Return for each block how far two records lie apart, and what is claimed.

        The first number is in the norm of the block's law (squared, for Gaussian
        noise); both are in grid units.
        """
        pairs: list[tuple[int, int]] = []
        for mine, theirs in zip(self.blocks, other.blocks, strict=True):
            gaps = [
                abs(a - b)
                for left, right in zip(mine.exact, theirs.exact, strict=True)
                for a, b in zip(left, right, strict=True)
            ]
            pairs.append((norm(mine.law, gaps), mine.sensitivity))
        return pairs

    @property
    def blocks(self) -> tuple[RecordedBlock, ...]:
        """All blocks of all parts, in order."""
        return tuple(block for part in self.parts for block in part.blocks)


@dataclass
class Recorder:
    """Takes note of every release, and of the random bytes its noise used.

    Attributes
    ----------
    records : list of Record
    bytes_used : int
    """

    noiseless: bool = False
    records: list[Record] = field(default_factory=list[Record])
    bytes_used: int = 0

    def draw(self, noise: Noise, size: int) -> Array:
        """Return the noise to add: none where it is frozen."""
        if self.noiseless:
            return np.zeros(size, dtype=np.int64)
        return noise.sample(size)

    def record(
        self,
        query: Query[Any],
        parts: Sequence[Part | Search],
        exact: Sequence[Any],
        noisy: Sequence[Any],
    ) -> None:
        """Take note of one release."""
        recorded: list[RecordedPart] = []
        searches: list[RecordedSearch] = []
        for part, before, after in zip(parts, exact, noisy, strict=True):
            if isinstance(part, Part):
                recorded.append(_recorded(part, before, after))
            else:
                searches.append(
                    RecordedSearch(
                        ordering=part.ordering,
                        exact=tuple(before),
                        learnt=after,
                        loss=part.loss,
                    )
                )
        self.records.append(
            Record(
                mechanism=query.mechanism,
                columns=query.columns,
                parameters=dict(query.parameters),
                cost=query.cost.exact,
                parts=tuple(recorded),
                searches=tuple(searches),
            )
        )

    def record_selection(
        self, query: Query[Any], exact: Occurrences, noisy: Array
    ) -> None:
        """Take note of one release of keys."""
        selection = query.selection
        if selection is None:
            return
        found = RecordedSelection(
            statistic=selection.statistic,
            keys=tuple(exact.keys.rows()),
            exact=tuple(int(count) for count in exact.counts),
            noisy=tuple(int(count) for count in noisy),
            sensitivity=selection.sensitivity,
            loss=selection.loss,
            scale=selection.noise.scale,
            threshold=selection.threshold,
        )
        self.records.append(
            Record(
                mechanism=query.mechanism,
                columns=query.columns,
                parameters=dict(query.parameters),
                cost=query.cost.exact,
                selection=found,
            )
        )

    def select(
        self, order: Ordered, *, size: int, level: Fraction, rate: Fraction
    ) -> int:
        """Return a point as the release does: a best one where noise is frozen."""
        sharp = rate * _FROZEN if self.noiseless else rate
        return CHANCE.select(order, size=size, level=level, rate=sharp)

    def random_bytes(self, size: int) -> bytes:
        """Return bytes of the operating system, and count them."""
        self.bytes_used += size
        return os.urandom(size)


def norm(law: str, gaps: Sequence[int]) -> int:
    """Return the norm that a law's sensitivity is in; the squared L2 for Gaussian."""
    if law == MAX_NORM:
        return max(gaps)
    return sum(gap**2 for gap in gaps) if law == GAUSSIAN else sum(gaps)


def _recorded(part: Part, exact: Array, noisy: Array) -> RecordedPart:
    blocks: list[RecordedBlock] = []
    for block in part.blocks:
        law = part.noise(block)
        blocks.append(
            RecordedBlock(
                law=block.law,
                exact=_whole(exact[:, block.start : block.stop]),
                noisy=_whole(noisy[:, block.start : block.stop]),
                sensitivity=part.sensitivity(block),
                loss=block.loss,
                scale=law.scale,
                sigma2=law.sigma2 if isinstance(law, DiscreteGaussian) else None,
            )
        )
    return RecordedPart(statistic=part.statistic, blocks=tuple(blocks))


def _whole(figures: Array) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(figure) for figure in row) for row in figures)


@contextmanager
def recording(*, noiseless: bool = False) -> Generator[Recorder]:
    """Record every release made inside; `noiseless` freezes its noise at zero."""
    recorder = Recorder(noiseless=noiseless)
    watching = probe.set(recorder)
    counting = override.set(recorder.random_bytes)
    try:
        yield recorder
    finally:
        override.reset(counting)
        probe.reset(watching)


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Make noise repeat inside: the same calls give the same releases.

    Parameters
    ----------
    seed : int
        At least 0.
    """
    key = seed.to_bytes(32, "little")
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    repeating = override.set(lambda size: stream.update(bytes(size)))
    try:
        yield
    finally:
        override.reset(repeating)
