"""Releases by kind, on neighbours that reach their sensitivity, and bulk noise.

A query is planned and evaluated once by the release itself; what repeats is its
noise and its `finish`, so that a hundred thousand releases take a second.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpframe.adaptive.session import Drawn
from dpframe.block import MAX_NORM
from dpframe.measure import probe
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.provenance import Provenance
from dpframe.query import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from dpframe.noise import Noise
    from dpframe.query import Part, Query

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Watcher(Drawn):
    """A probe that keeps what `measure` saw, and leaves the noise as it is."""

    seen: list[Seen] = field(default_factory=list)

    def record(
        self,
        query: Query[Any],
        parts: Sequence[Any],
        exact: Sequence[Array],
        noisy: Sequence[Array],
    ) -> None:
        """Keep the query with its parts, and their figures before and after noise."""
        self.seen.append(
            Seen(
                query=query, parts=tuple(parts), exact=tuple(exact), noisy=tuple(noisy)
            )
        )


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A query, its parts as they were measured, and figures before and after noise."""

    query: Query[Any]
    parts: tuple[Any, ...]
    exact: tuple[Array, ...]
    noisy: tuple[Array, ...]

    @property
    def blocks(self) -> list[tuple[Part, Any, Array]]:
        """Every block with its part and its exact figures, flat."""
        return [
            (part, block, exact[:, block.start : block.stop].reshape(-1))
            for part, exact in zip(self.parts, self.exact, strict=True)
            for block in part.blocks
        ]

    @property
    def noises(self) -> list[Array]:
        """The noise that was added, flat, by block."""
        return [
            (noisy - exact)[:, block.start : block.stop].reshape(-1)
            for part, exact, noisy in zip(
                self.parts, self.exact, self.noisy, strict=True
            )
            for block in part.blocks
        ]

    def finish(self, figures: tuple[Array, ...]) -> Any:
        """Return the release that these figures make."""
        provenance = Provenance(
            mechanism=self.query.mechanism,
            columns=self.query.columns,
            parameters=dict(self.query.parameters),
            privacy_unit=None,
            max_rows=None,
            max_groups=None,
            steps=(),
            cost=self.query.cost.exact,
            is_test=True,
        )
        return self.query.finish(
            Measured(figures=figures, cost=self.query.cost, provenance=provenance)
        )

    def again(self, number: int) -> Generator[Any]:
        """Yield releases of the same exact figures under fresh noise."""
        drawn = [
            bulk(part.noise(block), exact.size, number)
            for part, block, exact in self.blocks
        ]
        for index in range(number):
            noises = iter(drawn)
            figures: list[Array] = []
            for part, exact in zip(self.parts, self.exact, strict=True):
                columns = [
                    exact[:, block.start : block.stop]
                    + next(noises)[index].reshape(len(exact), -1)
                    for block in part.blocks
                ]
                figures.append(np.concatenate(columns, axis=1))
            yield self.finish(tuple(figures))


def bulk(noise: Noise, size: int, number: int) -> Array:
    """Return the noise of `number` releases of `size` figures, one row for each."""
    if isinstance(noise, MaxNorm):
        return np.stack([noise.sample(size) for _ in range(number)])
    return noise.sample(size * number).reshape(number, size)


def sharper(noise: Noise, factor: Fraction) -> Noise:
    """Return noise of the same law whose scale is smaller by a factor."""
    if isinstance(noise, DiscreteGaussian):
        return DiscreteGaussian(sigma2=noise.sigma2 / factor**2)
    scale = Fraction(noise.scale) / factor
    if isinstance(noise, MaxNorm):
        return MaxNorm(dimension=noise.dimension, scale=scale)
    return DiscreteLaplace(scale=scale)


@contextmanager
def watching() -> Generator[Watcher]:
    """Keep every query that is released inside."""
    watcher = Watcher()
    token = probe.set(watcher)
    try:
        yield watcher
    finally:
        probe.reset(token)


def seen(frame: Any, ask: Callable[[Any], Any]) -> Seen:
    """Return what one release of a frame saw."""
    with watching() as watcher:
        ask(frame.dp)
    return watcher.seen[-1]


def in_event(
    blocks: Sequence[tuple[Any, Array, Array]], noises: Sequence[Array]
) -> Array:
    """Return which releases are where the neighbours' chances differ most.

    Parameters
    ----------
    blocks : sequence
        For each block its law, the exact figures of the neighbour that the noise
        belongs to are 0; the two arrays say where the event's two neighbours lie
        from there.
    noises : sequence of array
        One row for each release.

    Notes
    -----
    With neighbours q and q', the event is ``|x - q| - |x - q'| = |q - q'|`` in
    every block's own norm: there the densities differ by the whole loss.
    """
    inside = np.ones(len(noises[0]), dtype=bool)
    for (law, first, second), noise in zip(blocks, noises, strict=True):
        gaps = [np.abs(noise - first), np.abs(noise - second), np.abs(first - second)]
        if law == MAX_NORM:
            far, near, whole = gaps[0].max(1), gaps[1].max(1), gaps[2].max()
        else:
            far, near, whole = gaps[0].sum(1), gaps[1].sum(1), gaps[2].sum()
        inside &= (far - near >= whole).astype(bool)
    return inside


def event_counts(
    here: Seen, there: Seen, number: int, *, planted: Fraction = Fraction(1)
) -> tuple[int, int]:
    """Return how often each of two neighbours is released into their event.

    The event favours `there`. `planted` makes all noise smaller by a factor.
    """
    counts: list[int] = []
    for origin in (here, there):
        blocks: list[tuple[Any, Array, Array]] = []
        noises: list[Array] = []
        for (part, block, first), (_, _, second), (_, _, own) in zip(
            here.blocks, there.blocks, origin.blocks, strict=True
        ):
            moved = np.flatnonzero(first != second)
            if block.law == MAX_NORM:
                moved = np.arange(first.size)
            noise = sharper(part.noise(block), planted)
            drawn = bulk(
                noise, first.size if block.law == MAX_NORM else moved.size, number
            )
            blocks.append((block.law, (first - own)[moved], (second - own)[moved]))
            noises.append(drawn)
        counts.append(int(in_event(blocks, noises).sum()))
    return counts[0], counts[1]
