from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpframe.errors import ParameterError, RandomnessError
from dpframe.noise import choice, randomness
from dpframe.noise.brackets import exponential, locate
from dpframe.noise.choice import Shares, choose, cumulative

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Weights = Sequence[tuple[int, Fraction]]

WEIGHTS: list[Weights] = [
    [(1, Fraction(0)), (1, Fraction(0))],
    [(1, Fraction(0)), (23, Fraction(1, 3)), (23, Fraction(2, 3)), (1, Fraction(1))],
    [(10**200, Fraction(460)), (1, Fraction(0)), (3, Fraction(17, 5))],
    [(0, Fraction(0)), (2, Fraction(5)), (0, Fraction(1)), (7, Fraction(6))],
    [(5, Fraction(10**6)), (7, Fraction(10**6 + 1))],
]


def with_bytes(data: bytes, act: Callable[[], int]) -> int:
    stream = bytearray(data)

    def source(wanted: int) -> bytes:
        taken = bytes(stream[:wanted])
        del stream[:wanted]
        return taken

    token = randomness.override.set(source)
    try:
        return act()
    finally:
        randomness.override.reset(token)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("digits", [60, 150])
def test_brackets_hold_the_cumulative_shares(weights: Weights, digits: int) -> None:
    with localcontext() as arithmetic:
        arithmetic.prec = 250
        masses = [
            factor * (-Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
            for factor, rate in weights
        ]
        brackets = cumulative(weights)(digits)
        assert len(brackets) == len(weights) - 1
        for index, (low, high) in enumerate(brackets, start=1):
            share = sum(masses[:index]) / sum(masses)
            assert low <= share <= high
            assert high - low <= Decimal(10) ** (7 - digits)


def test_shares_are_the_same_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factors = np.array([number**3 % 17 for number in range(100)], dtype=object)
    steps = np.array([number**2 % 1000 for number in range(100)], dtype=np.int64)

    def shares() -> Shares:
        return Shares(factors, steps, Fraction(1, 70), digits=60)

    whole = [*shares()]
    monkeypatch.setattr(choice, "_BLOCK", 7)
    parted = shares()
    assert [*parted] == whole
    assert [parted[place] for place in (98, 0, 55, 54, -1)] == [
        whole[place] for place in (98, 0, 55, 54, -1)
    ]
    assert parted[3:90:20] == whole[3:90:20]
    with pytest.raises(IndexError):
        parted[99]


def test_shares_allow_for_weights_that_are_hidden() -> None:
    factors = np.array([0, 3, 1, 0], dtype=object)
    steps = np.array([0, 2, 0, 0], dtype=np.int64)
    shares = Shares(factors, steps, Fraction(1), digits=60, hidden=9, beyond=4)
    with localcontext() as arithmetic:
        arithmetic.prec = 80
        step = Decimal(-1).exp()
        for left, right in [(0, 0), (9, 0), (0, 9), (4, 5)]:
            masses = [left * step**4, 3 * step**2, Decimal(1), right * step**4]
            for index, (low, high) in enumerate(shares, start=1):
                assert low <= sum(masses[:index]) / sum(masses) <= high
        # With more of them, or nearer ones, some share is outside.
        for left, depth in [(30, 4), (9, 2)]:
            masses = [left * step**depth, 3 * step**2, Decimal(1)]
            assert masses[0] / sum(masses) > shares[0][1]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_weight_of_zero_is_never_chosen(weights: Weights) -> None:
    chosen = {choose(weights) for _ in range(300)}
    assert chosen <= {index for index, (factor, _) in enumerate(weights) if factor}


def test_a_single_weight_is_always_chosen() -> None:
    assert choose([(3, Fraction(2))]) == 0


def test_the_first_bits_choose_unless_an_edge_is_near() -> None:
    weights = [(1, Fraction(0))] * 4
    for index in range(4):
        word = (index << 62 | 5).to_bytes(8)
        assert with_bytes(word, lambda: choose(weights)) == index


@pytest.mark.parametrize(("more", "index"), [(b"\0", 0), (b"\xff", 1)])
def test_a_fraction_on_an_edge_takes_further_bits(more: bytes, index: int) -> None:
    weights = [(1, Fraction(0)), (2, Fraction(0))]
    assert with_bytes(b"\x55" * 8 + more * 8, lambda: choose(weights)) == index
    assert with_bytes(b"\x55" * 80 + more * 8, lambda: choose(weights)) == index


def test_a_fraction_that_stays_on_an_edge_is_given_up() -> None:
    weights = [(1, Fraction(0)), (2, Fraction(0))]
    token = randomness.override.set(lambda size: b"\x55" * size)
    try:
        with pytest.raises(RandomnessError, match="repeats"):
            choose(weights)
    finally:
        randomness.override.reset(token)


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_stuck_source_ends_or_is_refused(byte: bytes, weights: Weights) -> None:
    token = randomness.override.set(lambda size: byte * size)
    try:
        assert 0 <= choose(weights) < len(weights)
    except RandomnessError:
        pass
    finally:
        randomness.override.reset(token)


@pytest.mark.parametrize(
    "weights",
    [[], [(0, Fraction(1))], [(2, Fraction(1)), (-1, Fraction(1))]],
)
def test_weights_without_a_law_are_refused(weights: Weights) -> None:
    with pytest.raises(ParameterError, match="weights"):
        choose(weights)


def coin(x: Fraction) -> bool:
    """Flip a coin that shows True with probability exp(-x)."""
    return locate(lambda digits: (exponential(x, digits),)) == 0


def test_a_certain_coin_always_shows_true() -> None:
    assert all(coin(Fraction(0)) for _ in range(200))
    assert with_bytes(b"\xff" * 8, lambda: coin(Fraction(0)))


def test_a_hopeless_coin_never_shows_true() -> None:
    assert not any(coin(Fraction(200)) for _ in range(200))
    assert not coin(Fraction(10**30))


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1), Fraction(22, 7)])
def test_a_coin_turns_where_the_exponential_lies(x: Fraction) -> None:
    with localcontext() as arithmetic:
        arithmetic.prec = 80
        edge = int((-Decimal(x.numerator) / x.denominator).exp() * 2**64)
    assert with_bytes((edge - 1).to_bytes(8), lambda: coin(x))
    assert not with_bytes((edge + 1).to_bytes(8), lambda: coin(x))
    assert with_bytes(edge.to_bytes(8) + b"\0" * 8, lambda: coin(x))
    assert not with_bytes(edge.to_bytes(8) + b"\xff" * 8, lambda: coin(x))
