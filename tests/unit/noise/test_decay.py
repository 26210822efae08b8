from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpframe.noise import randomness
from dpframe.noise.decay import coins_of, pairs, survives

SCALES = [
    Fraction(1, 50),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 3),
    Fraction(4096**2),
    Fraction(2**90, 3),
    Fraction(10**40 + 1, 7),
]
NO = 0xFFFF  # a word above every threshold of a chance below 1 - 2**-16


def octets_of(*numbers: int) -> np.ndarray:
    data = b"".join(number.to_bytes(32, "little") for number in numbers)
    return np.frombuffer(data, np.uint8).reshape(-1, 32)


def judge(script: bytes, scale: Fraction, *numbers: int) -> list[bool]:
    """Events for given numbers from given bytes, all of which must be used."""
    stream = bytearray(script)

    def source(wanted: int) -> bytes:
        taken = bytes(stream[:wanted])
        del stream[:wanted]
        return taken

    token = randomness.override.set(source)
    try:
        kept = survives(coins_of(scale), scale, octets_of(*numbers)).tolist()
    finally:
        randomness.override.reset(token)
    assert not stream
    return kept


def first_words(*words: int) -> bytes:
    return np.array(words, dtype=np.uint16).tobytes()


@pytest.mark.parametrize("scale", SCALES)
def test_each_place_has_the_chance_of_its_digit(scale: Fraction) -> None:
    coins = coins_of(scale)
    with localcontext() as arithmetic:
        arithmetic.prec = 200
        for place in range(coins.count + 1):
            rate = Decimal(2**place * scale.denominator) / Decimal(scale.numerator)
            exact = (-rate).exp()
            first = int(coins.first[place, 0])
            assert first == int(exact * 2**16)
            rest = (exact * 2**16 - first) * 2**64
            assert int(coins.sure[place]) <= rest <= int(coins.open[place]) + 1
            assert int(coins.open[place]) - int(coins.sure[place]) <= 1
            ((low, high),) = coins.cuts[place](60)
            assert low < exact < high


@pytest.mark.parametrize("scale", SCALES)
def test_what_lies_above_the_places_is_rarer_than_2_to_the_minus_64(
    scale: Fraction,
) -> None:
    coins = coins_of(scale)
    assert coins.cuts[-1](60)[0][1] < Decimal(2) ** -64
    assert coins.count == 0 or 2 ** (coins.count - 1) < 45 * scale


def test_zero_always_survives_and_every_digit_is_asked_alone() -> None:
    scale = Fraction(1)
    count = coins_of(scale).count
    assert judge(first_words(*[NO] * (count + 1)), scale, 0) == [True]
    for place in range(count):
        words = [NO] * (count + 1)
        words[place] = 0
        ties = int(coins_of(scale).first[place, 0] == 0)
        # The least bytes decide a tie for it where a chance is below 2**-16.
        script = first_words(*words) + bytes(8 * ties)
        assert judge(script, scale, 1 << place) == [True]
        words[place] = NO
        assert judge(first_words(*words), scale, 1 << place) == [False]


def test_a_number_needs_all_of_its_digits_and_no_other() -> None:
    scale = Fraction(4096)
    count = coins_of(scale).count
    number = 0b101101
    asked = [place for place in range(count) if number >> place & 1]
    words = [0 if place in asked else NO for place in range(count)]
    assert judge(first_words(*words, NO), scale, number) == [True]
    for place in asked:
        broken = list(words)
        broken[place] = NO
        assert judge(first_words(*broken, NO), scale, number) == [False]


def test_numbers_in_one_block_do_not_mix() -> None:
    # One row of words per place, one column per number.
    words = [0, NO, NO, *[NO, 0, NO], *[NO] * 15]
    kept = judge(first_words(*words), Fraction(1), 1, 2, 4)
    assert kept == [True, True, False]
    assert judge(first_words(*words), Fraction(1), 2, 1, 0) == [False, False, True]


@pytest.mark.parametrize("place", [0, 2])
def test_a_tie_is_settled_by_64_more_bits(place: int) -> None:
    coins = coins_of(Fraction(1))
    words = [NO] * (coins.count + 1)
    words[place] = int(coins.first[place, 0])
    for rest, kept in [
        (int(coins.sure[place]) - 1, True),
        (int(coins.open[place]) + 1, False),
    ]:
        script = first_words(*words) + np.array([rest], dtype=np.uint64).tobytes()
        assert judge(script, Fraction(1), 1 << place) == [kept]


@pytest.mark.parametrize(("more", "kept"), [(b"\0", True), (b"\xff", False)])
def test_a_second_tie_is_settled_against_the_decimals(more: bytes, kept: bool) -> None:  # noqa: FBT001 - an outcome
    coins = coins_of(Fraction(1))
    words = [NO] * (coins.count + 1)
    words[1] = int(coins.first[1, 0])
    tie = first_words(*words) + int(coins.sure[1]).to_bytes(8, "little")
    assert judge(tie + more * 8, Fraction(1), 2) == [kept]


@pytest.mark.parametrize("bits", [6, 7, 20, 100])
def test_a_number_above_the_places_mostly_fails(bits: int) -> None:
    count = coins_of(Fraction(1)).count
    assert count == 6
    words = [0, *[NO] * count]
    assert judge(first_words(*words), Fraction(1), 1 + (1 << bits)) == [False]


def test_a_number_just_above_the_places_may_survive() -> None:
    count = coins_of(Fraction(1)).count
    # Chance exp(-64): 16 zero bits tie, 64 more tie, 64 more decide for it. What
    # is left of the number has the exponent 0, which always happens.
    script = first_words(*[NO] * count, 0) + bytes(16)
    assert judge(script + bytes(8), Fraction(1), 1 << count) == [True]


@pytest.mark.parametrize(("more", "kept"), [(b"\0", True), (b"\xff", False)])
def test_a_number_far_above_the_places_is_decided_in_full(
    more: bytes,
    kept: bool,  # noqa: FBT001 - an outcome
) -> None:
    count = coins_of(Fraction(1)).count
    script = first_words(*[NO] * count, 0) + bytes(16)
    # exp(-192) for what is left: zero bits until they are finer than it.
    rest = more * 8 if more == b"\xff" else more * 40
    assert judge(script + rest, Fraction(1), 4 << count)[0] is kept


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_pairs_are_counted_exactly(dtype: type) -> None:
    numbers = [1, 2, 3, 4, 5, 1000, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33 + 7]
    numbers += [3**39, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1]
    octets = pairs(np.array(numbers, dtype=dtype), 3)
    told = [int.from_bytes(row.tobytes(), "little") for row in octets]
    assert told == [n * (n - 1) // 2 for n in numbers]


def test_pairs_of_python_integers_have_the_length_asked_for() -> None:
    assert pairs(np.array([1], dtype=object), 5).tolist() == [[0] * 5]
    assert pairs(np.array([1, 2**200], dtype=object), 5).shape == (2, 50)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("byte", "kept"), [(b"\0", True), (b"\xff", False)])
def test_a_stuck_source_ends(scale: Fraction, byte: bytes, kept: bool) -> None:  # noqa: FBT001 - an outcome
    token = randomness.override.set(lambda size: byte * size)
    try:
        judged = survives(coins_of(scale), scale, octets_of(1))
    finally:
        randomness.override.reset(token)
    assert judged.tolist() == [kept]
