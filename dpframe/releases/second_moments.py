"""Noisy sums of products in scaled units, and what they say of mean and covariance.

Scaled units put each column's bounds, or the radius of a ball, at -1 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from dpframe.noise import DiscreteGaussian, MaxNorm
from dpframe.releases.figures import COUNT, Figures, GridError, WeightedError
from dpframe.releases.noise_sums import independent
from dpframe.repeatable import Repeatable
from dpframe.tally import COARSE

if TYPE_CHECKING:
    from dpframe.noise import Noise
    from dpframe.outlook import ErrorLaw
    from dpframe.values import ColumnType

Array = np.ndarray[Any, np.dtype[Any]]
Scaled = tuple[Array, Array, Array]

_DRAWS: Final = 2_000
_ROOM: Final = 1 << 24  # simulated numbers held at once
_SQUARE: Final = COARSE * COARSE


class Moments(NamedTuple):
    """Count, mean vector and covariance matrix."""

    n: int
    mean: Array
    cov: Array


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How scaled figures become those of the columns: ``x = middle + half * y``."""

    columns: tuple[ColumnType, ...]
    middle: tuple[float, ...]
    half: tuple[float, ...]

    @property
    def scales(self) -> tuple[Array, Array]:
        """Middle and half-width of each column's range, as arrays."""
        return np.array(self.middle), np.array(self.half)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class NoisySums:
    """The released whole numbers and their noise.

    Attributes
    ----------
    method : str
        ``"linf"``, ``"sym"``, ``"dwork"``, ``"bernstein"`` or ``"gauss"``: which sums
        they are.
    size : int
        Number of columns.
    resolution : int
        Grid units that one full row counts.
    noisy : array
        Whole numbers, shape ``(sums,)``: the count first.
    laws : tuple of Noise
        The noise of each block of them: one for all where they are in one unit, else
        those of count, sums and products.
    """

    method: str
    size: int
    resolution: int
    noisy: Array
    laws: tuple[Noise, ...]

    def count(self) -> Figures:
        """Return the number of rows."""
        law = self.laws[0]
        per_row = self._units[0] * self.resolution
        counted = self.noisy if self.method == "bernstein" else self.noisy[:1]
        noisy = Fraction(int(counted.sum()), per_row)
        error: ErrorLaw = GridError(noise=law, unit=Fraction(1, per_row))
        if len(counted) > 1:
            weights = np.ones((1, len(counted))) / per_row
            error = WeightedError(noise=independent(law), weights=weights)
        return Figures(
            name="n",
            column=COUNT,
            values=np.array([max(round(noisy), 0)]),
            centre=np.array([float(noisy)]),
            raw={"n": np.array([float(noisy)])},
            error=error,
            low=Fraction(0),
        )

    def scaled(self) -> Scaled:
        """Return count, sums and products in scaled units, with a first axis of 1."""
        return self._scaled(self.noisy.astype(np.float64)[None])

    def redrawn(self) -> Scaled:
        """Return the same, followed by what redrawn noise would make of them.

        Shapes ``(1 + draws,)``, ``(1 + draws, d)`` and ``(1 + draws, d, d)``.
        """
        noisy = self.noisy.astype(np.float64)
        widest = max(self.size**2, len(noisy))
        draws = max(min(_DRAWS, _ROOM // widest), 100)
        noise = self._noise(draws)
        return self._scaled(np.concatenate([noisy[None], noisy + noise]))

    def _noise(self, draws: int) -> Array:
        """Return noise of the same law, shape ``(draws, sums)``.

        It serves error bars alone and comes from a stream that starts at the
        released figures: the same release always has the same error bars.
        """
        stream = _Stream(repr([int(figure) for figure in self.noisy]).encode())
        count = len(self.noisy)
        first = self.laws[0]
        if isinstance(first, MaxNorm):
            return float(first.scale) * stream.max_norm(draws, count)
        stops = (1, 1 + self.size, count) if len(self.laws) > 1 else (count,)
        blocks = [
            float(law.scale) * stream.of(law, draws, stop - start)
            for law, start, stop in zip(self.laws, (0, *stops[:-1]), stops, strict=True)
        ]
        return np.concatenate(blocks, axis=1)

    def _scaled(self, noisy: Array) -> Scaled:
        """Return counts, sums and products from vectors of noisy sums."""
        size = self.size
        of_count, of_sums, of_products = (
            float(unit) * self.resolution for unit in self._units
        )
        if self.method == "bernstein":
            return _from_cells(noisy / of_products)
        counts = noisy[:, 0] / of_count
        sums = noisy[:, 1 : size + 1] / of_sums
        second = noisy[:, size + 1 :] / of_products
        if self.method in {"dwork", "gauss"}:
            square = second.reshape(-1, size, size)
            return counts, sums, (square + square.transpose(0, 2, 1)) / 2
        if self.method == "linf":
            squares = (second[:, :size] + counts[:, None]) / 2
            return counts, sums, _symmetric(squares, second[:, size:])
        return counts, sums, _symmetric(second[:, :size], second[:, size:] / 2)

    @property
    def _units(self) -> tuple[int, int, int]:
        """Grid units of one scaled unit of count, sums and products."""
        if len(self.laws) == 1:
            return _SQUARE, _SQUARE, _SQUARE
        return 1, COARSE, _SQUARE


def _from_cells(cells: Array) -> Scaled:
    """Return count, sums and products of a pair from its nine Bernstein cells.

    With ``y = 2t - 1`` the parts of t are at heights -1, 0 and 1 for y, and 1, -1
    and 1 for its square.
    """
    square = cells.reshape(-1, 3, 3)
    heights, squares = np.array([-1.0, 0.0, 1.0]), np.array([1.0, -1.0, 1.0])
    rows, columns = square.sum(axis=2), square.sum(axis=1)
    sums = np.stack([rows @ heights, columns @ heights], axis=1)
    diagonal = np.stack([rows @ squares, columns @ squares], axis=1)
    crossed = np.einsum("kab,a,b->k", square, heights, heights)[:, None]
    return square.sum(axis=(1, 2)), sums, _symmetric(diagonal, crossed)


def _symmetric(squares: Array, crossed: Array) -> Array:
    """Return symmetric matrices from their diagonals and upper triangles."""
    size = squares.shape[1]
    matrices = np.empty((len(squares), size, size))
    rows, columns = np.triu_indices(size, 1)
    place = cast("Array", np.arange(size))
    matrices[:, place, place] = squares
    matrices[:, rows, columns] = crossed
    matrices[:, columns, rows] = crossed
    return matrices


def projected(n: float, sums: Array, products: Array) -> tuple[Array, Array]:
    """Return mean and covariance in scaled units, inside their public ranges.

    The augmented second-moment matrix is projected on the positive semi-definite
    cone; the covariance is its Schur complement over a count of at least 1.
    """
    size = len(sums)
    whole = np.empty((size + 1, size + 1))
    whole[0, 0] = max(n, 1.0)
    whole[0, 1:] = whole[1:, 0] = sums
    whole[1:, 1:] = products
    whole = _positive(whole)
    mean = whole[0, 1:] / whole[0, 0]
    cov = _positive(whole[1:, 1:] / whole[0, 0] - np.outer(mean, mean))
    shrink = 1 / np.sqrt(np.maximum(np.diag(cov), 1.0))
    return np.clip(mean, -1.0, 1.0), cov * np.outer(shrink, shrink)


def _positive(matrix: Array) -> Array:
    """Return the nearest positive semi-definite matrix, symmetric to the bit."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (nearest + nearest.T) / 2


def correlation(cov: Array) -> Array:
    """Return correlations from covariances, along the last two axes."""
    spread = np.sqrt(np.maximum(np.diagonal(cov, axis1=-2, axis2=-1), 1e-300))
    corr = cov / (spread[..., :, None] * spread[..., None, :])
    corr = np.clip(corr, -1.0, 1.0)
    place = cast("Array", np.arange(cov.shape[-1]))
    corr[..., place, place] = 1.0
    return corr


class _Stream(Repeatable):
    """Noise of scale 1 by its fine-grid limit."""

    def of(self, law: Noise, draws: int, count: int) -> Array:
        """Return independent Laplace or normal noise, shape ``(draws, count)``."""
        if isinstance(independent(law), DiscreteGaussian):
            return self.normals(draws, count)
        first, second = self.uniforms(2, draws, count)
        return np.log(first) - np.log(second)

    def max_norm(self, draws: int, count: int) -> Array:
        """Return max-norm noise, shape ``(draws, count)``: a Gamma radius in a cube."""
        radius = np.zeros((draws, 1))
        for _ in range(count + 1):
            radius -= np.log(self.uniforms(draws, 1))
        return radius * (2 * self.uniforms(draws, count) - 1)
