from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from dpframe.adaptive.spread import MOST_BITS, Spread
from dpframe.engines.ordered import Ordered
from dpframe.noise import randomness
from dpframe.testing import seeded

LAST = (1 << 64) - 1


def ordered(codes: list[int], weights: list[int] | None = None) -> Ordered:
    order = Ordered(codes=np.array(codes, dtype=np.uint64))
    if weights is None:
        return order
    running = np.concatenate([[0], np.cumsum(np.array(weights, dtype=np.int64))])
    return Ordered(codes=order.codes, running=running)


@pytest.mark.parametrize("bits", [0, 1, 7, 31, MOST_BITS])
def test_whole_codes_weigh_what_they_did(bits: int) -> None:
    codes = sorted([0, 0, 3, 3, 3, 4, 1 << 40, LAST, LAST])
    for weights in (None, [5, 1, 2, 9, 4, 4, 8, 1, 3]):
        order = ordered(codes, weights)
        spread = Spread(order, bits)
        assert spread.bits == bits
        for code in (0, 1, 3, 4, 5, 1 << 40, (1 << 40) + 1, LAST, LAST + 1, LAST + 9):
            assert spread.below(code << bits) == order.below(code)


def test_low_bits_are_counted_in_order_with_the_weights_of_their_rows() -> None:
    # The bytes of the k-th row are those of its low bits, in the highest of 64.
    lows = [9, 2, 15, 2, 7]
    data = b"".join((low << 60).to_bytes(8, "little") for low in lows)
    order = ordered([4, 4, 4, 4, 6], [1, 10, 100, 1000, 10000])
    token = randomness.override.set(lambda size: data[:size])
    try:
        spread = Spread(order, 4)
    finally:
        randomness.override.reset(token)
    expected = {0: 0, 2: 0, 3: 1010, 9: 1010, 10: 1011, 15: 1011, 16: 1111}
    for low, weight in expected.items():
        assert spread.below((4 << 4) + low) == weight
    assert spread.below((6 << 4) + 7) == 1111
    assert spread.below((6 << 4) + 8) == 11111


def test_extended_codes_of_96_bits_are_told_apart() -> None:
    order = ordered([LAST] * 1000)
    spread = Spread(order, 32)
    base = LAST << 32
    steps = [spread.below(base + (k << 22)) for k in range(1025)]
    assert steps[0] == 0
    assert steps[-1] == 1000
    assert (np.diff(steps) >= 0).all()
    assert max(np.diff(steps)) < 20


def test_an_atom_is_spread_evenly() -> None:
    rows, bits = 1 << 16, 6
    with seeded(11):
        spread = Spread(ordered([5] * rows), bits)
    places = np.array([spread.below((5 << bits) + k) for k in range((1 << bits) + 1)])
    counts, mean = np.diff(places), rows / 2**bits
    assert counts.sum() == rows
    assert ((counts - mean) ** 2 / mean).sum() < chi2.isf(1e-6, 2**bits - 1)


def test_bits_are_drawn_anew_for_every_spread() -> None:
    order = ordered([5] * 1000)
    first, second = Spread(order, 32), Spread(order, 32)
    places = [(5 << 32) + (k << 24) for k in range(256)]
    assert [first.below(p) for p in places] != [second.below(p) for p in places]


def test_no_rows_weigh_nothing() -> None:
    for bits in (0, 32):
        spread = Spread(ordered([]), bits)
        assert spread.below(0) == spread.below(1 << 50) == spread.below(1 << 96) == 0


def test_the_order_itself_is_left_as_it_was() -> None:
    order = ordered([1, 1, 2], [3, 4, 5])
    Spread(order, 8)
    assert order.codes.tolist() == [1, 1, 2]
    assert order.running is not None
    assert order.running.tolist() == [0, 3, 7, 12]
