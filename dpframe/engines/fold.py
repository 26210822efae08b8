"""Batches of whole numbers folded into exact sums, at the speed of numpy and BLAS.

Floats hold whole numbers exactly up to 2^53; every partial sum below stays under
that (or under 2^63 in integers), and larger terms are split into limbs first. Sums
therefore depend neither on order nor on batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.tally import COARSE, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]

BATCH: Final = 1 << 17
"""Rows in a batch; the limits below count on it."""

_EXACT: Final = 1 << 53
_INT64: Final = 1 << 63
_BLOCK: Final = 1 << 13  # 2^20 * 2^20 * 2^13 = 2^53
_FLUSH: Final = 1 << 9  # batches of limb sums under 2^53 that int64 can hold
_FLUSH_GRAM: Final = 1 << 5  # batches of products' sums under 2^57 that it can


class Sums:
    """Exact running sums by cell of several monomials.

    Parameters
    ----------
    cells : int
        Number of cells.
    monomials : sequence of tuple of int
        Products of quantities, by index.
    reaches : sequence of int
        Largest magnitude of each quantity.
    """

    def __init__(
        self,
        *,
        cells: int,
        monomials: Sequence[tuple[int, ...]],
        reaches: Sequence[int],
    ) -> None:
        self._cells = cells
        self._monomials = monomials
        self._reaches = reaches
        self._small: dict[tuple[int, int], Array] = {}
        self._large: dict[tuple[int, int], Array] = {}
        self._batches = 0
        self._only_counts = list(monomials) == [()]
        self._gram = (
            cells == 1
            and len(reaches) > 1
            and max(reaches) <= COARSE
            and any(len(monomial) > 1 for monomial in monomials)
        )

    def add(
        self,
        rows: int,
        codes: Array | None,
        values: Sequence[Array],
        weights: Array | None,
    ) -> None:
        """Add one batch of at most `BATCH` rows.

        `values` are whole-number arrays (floats below 2^53 or 64-bit integers),
        `codes` the cells (None: all in cell 0), `weights` whole numbers up to 2^16.
        """
        if self._gram:
            self._add_gram(rows, values, weights)
        else:
            for index, monomial in enumerate(self._monomials):
                if monomial:
                    self._add_product(index, monomial, codes, values, weights)
                else:
                    self._add_count(index, rows, codes, weights)
        self._batches += 1
        if self._only_counts:
            return
        if self._batches % (_FLUSH_GRAM if self._gram else _FLUSH) == 0:
            self._flush()

    def total(self) -> Array:
        """Return the sums, shape ``(cells, monomials)``: Python integers.

        A lone count comes as 64-bit integers, which always hold it.
        """
        if self._only_counts:
            counted = self._small.get((0, 0), np.zeros(self._cells, np.int64))
            return counted.reshape(-1, 1)
        self._flush()
        sums = np.zeros((self._cells, len(self._monomials)), dtype=object)
        for (index, bits), limb in self._large.items():
            sums[:, index] += limb * (1 << bits)
        return sums

    def _add_product(
        self,
        index: int,
        monomial: tuple[int, ...],
        codes: Array | None,
        values: Sequence[Array],
        weights: Array | None,
    ) -> None:
        term, bound = values[monomial[0]], self._reaches[monomial[0]]
        for factor in monomial[1:]:
            bound *= self._reaches[factor]
            other = values[factor]
            if bound > _EXACT:
                term, other = term.astype(np.int64), other.astype(np.int64)
            term = term * other
        if codes is None:
            self._store(index, 0, _whole_sum(term, bound, weights))
            return
        room = _EXACT // BATCH // (1 if weights is None else WEIGHT)
        for bits, limb in _limbs(term, bound, room):
            weighted = limb if weights is None else limb * weights
            self._store(index, bits, _cell_sums(weighted, codes, self._cells))

    def _add_count(
        self, index: int, rows: int, codes: Array | None, weights: Array | None
    ) -> None:
        if codes is None:
            total = rows if weights is None else int(weights.sum())
            counted = np.array([total], dtype=np.int64)
        elif weights is None:
            counted = np.bincount(codes, minlength=self._cells)
        else:
            counted = _cell_sums(weights, codes, self._cells)
        self._store(index, 0, counted)

    def _add_gram(
        self, rows: int, values: Sequence[Array], weights: Array | None
    ) -> None:
        table = np.empty((len(values) + 1, rows))
        table[0] = 1.0
        for place, value in enumerate(values, start=1):
            table[place] = value
        if weights is None:
            self._store_gram(_gram(table, table), 0)
            return
        full = weights == WEIGHT
        even, shared = table[:, full], table[:, ~full]
        self._store_gram(_gram(even, even), WEIGHT.bit_length() - 1)
        weighted = shared * weights[~full]  # up to 2^36
        high = np.floor(weighted / COARSE)
        self._store_gram(_gram(high, shared), COARSE.bit_length() - 1)
        self._store_gram(_gram(weighted - high * COARSE, shared), 0)

    def _store_gram(self, gram: Array, bits: int) -> None:
        for index, monomial in enumerate(self._monomials):
            row, column = (*(factor + 1 for factor in monomial), 0, 0)[:2]
            self._store(index, bits, gram[row, column].reshape(1))

    def _store(self, index: int, bits: int, limb: Array) -> None:
        held = self._small.get((index, bits))
        self._small[index, bits] = limb if held is None else held + limb

    def _flush(self) -> None:
        for key, limb in self._small.items():
            held = self._large.get(key, 0)
            self._large[key] = held + limb.astype(object)
        self._small.clear()


def _whole_sum(term: Array, bound: int, weights: Array | None) -> Array:
    """Return the sum of a batch in one cell, as a Python integer."""
    size = bound * BATCH * (1 if weights is None else WEIGHT)
    if weights is None and size <= _EXACT:
        total = int(term.sum())
    elif size < _INT64:
        whole = term.astype(np.int64)
        total = int(whole.sum() if weights is None else np.dot(whole, weights))
    else:
        room = _INT64 // BATCH // WEIGHT // 2
        total = sum(
            int(limb.sum() if weights is None else np.dot(limb, weights)) << bits
            for bits, limb in _limbs(term, bound, room)
        )
    return np.array([total], dtype=object)


def _limbs(term: Array, bound: int, room: int) -> list[tuple[int, Array]]:
    """Split terms into limbs of at most `room`, each with its place in bits."""
    if bound <= room:
        return [(0, term)]
    bits = room.bit_length() - 1
    whole = term.astype(np.int64)
    limbs: list[tuple[int, Array]] = []
    shift = 0
    while bound > room:
        limbs.append((shift, whole & ((1 << bits) - 1)))
        whole = whole >> bits
        bound = (bound >> bits) + 1
        shift += bits
    limbs.append((shift, whole))
    return limbs


def _cell_sums(term: Array, codes: Array, cells: int) -> Array:
    return np.bincount(codes, weights=term, minlength=cells).astype(np.int64)


def _gram(left: Array, right: Array) -> Array:
    """Return ``left @ right.T`` exactly: blocks whose partial sums stay below 2^53."""
    total = np.zeros((len(left), len(right)), dtype=np.int64)
    for start in range(0, left.shape[1], _BLOCK):
        stop = start + _BLOCK
        product = left[:, start:stop] @ right[:, start:stop].T
        total += product.astype(np.int64)
    return total
