from __future__ import annotations

import os
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpframe.errors import RandomnessError
from dpframe.noise import randomness
from dpframe.noise.geometric import digits_of, geometric

if TYPE_CHECKING:
    from collections.abc import Sequence

SCALES = [
    Fraction(1, 1000),
    Fraction(1, 45),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 3),
    Fraction(1000),
    Fraction(10**12),
    Fraction(10**20, 7),
    Fraction(10**70),
]
NO = 0xFFFF  # a word above every threshold


def draw(script: bytes, scale: Fraction, size: int) -> Sequence[int]:
    """Geometric variables from given bytes, all of which must be used."""
    stream = bytearray(script)

    def source(wanted: int) -> bytes:
        taken = bytes(stream[:wanted])
        del stream[:wanted]
        return taken

    token = randomness.override.set(source)
    try:
        numbers = geometric(digits_of(scale), size).tolist()
    finally:
        randomness.override.reset(token)
    assert not stream
    return numbers


def first_words(*words: int) -> bytes:
    return np.array(words, dtype=np.uint16).tobytes()


def rest_word(word: int) -> bytes:
    return np.array([word], dtype=np.uint64).tobytes()


def exact_probability(scale: Fraction, place: int, *, top: bool) -> Decimal:
    """Chance of a digit to 200 digits; call it inside a local context."""
    exponent = Decimal(2**place * scale.denominator) / Decimal(scale.numerator)
    return (-exponent).exp() if top else 1 / (1 + exponent.exp())


@pytest.mark.parametrize("scale", SCALES)
def test_thresholds_hold_the_probability_of_each_digit(scale: Fraction) -> None:
    digits = digits_of(scale)
    with localcontext() as arithmetic:
        arithmetic.prec = 200
        for place in range(digits.count + 1):
            exact = exact_probability(scale, place, top=place == digits.count)
            first = int(digits.first[place, 0])
            assert first == int(exact * 2**16)
            rest = (exact * 2**16 - first) * 2**64
            assert int(digits.sure[place]) <= rest <= int(digits.open[place]) + 1
            assert int(digits.open[place]) - int(digits.sure[place]) <= 1
            for precision in (60, 120):
                ((low, high),) = digits.cuts[place](precision)
                assert low < exact < high
                assert high - low < exact * Decimal(10) ** (6 - precision)


@pytest.mark.parametrize("scale", [s for s in SCALES if s < 10**6])
def test_independent_digits_make_the_geometric_law(scale: Fraction) -> None:
    digits = digits_of(scale)
    with localcontext() as arithmetic:
        arithmetic.prec = 60
        ratio = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        shares = [sum(cut(60)[0]) / 2 for cut in digits.cuts]
        for number in {*range(300), 12345, 2**digits.count, 3 * 2**digits.count + 5}:
            high, low = divmod(number, 2**digits.count)
            product = shares[-1] ** high * (1 - shares[-1])
            for place, share in enumerate(shares[:-1]):
                product *= share if low >> place & 1 else 1 - share
            exact = (1 - ratio) * ratio**number
            assert abs(product - exact) <= exact * Decimal("1e-14")


@pytest.mark.parametrize("scale", SCALES)
def test_the_event_above_the_digits_is_rarer_than_2_to_the_minus_64(
    scale: Fraction,
) -> None:
    digits = digits_of(scale)
    assert digits.cuts[-1](60)[0][1] < Decimal(2) ** -64
    assert digits.count == 0 or 2 ** (digits.count - 1) < 45 * scale


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10**25)])
def test_digits_are_put_together_in_order(scale: Fraction) -> None:
    count = digits_of(scale).count
    for wanted in (0, 1, 0b101101, 2**count - 1, 2 ** (count - 1)):
        # No word is below the threshold of a digit whose chance is small.
        if any(
            wanted >> place & 1 and not digits_of(scale).first[place, 0]
            for place in range(count)
        ):
            continue
        words = [0 if wanted >> place & 1 else NO for place in range(count)]
        assert draw(first_words(*words, NO), scale, 1) == [wanted]


def test_variables_in_one_block_do_not_mix() -> None:
    # One row of words per digit, one column per variable.
    words = [0, NO, NO, *[NO, 0, NO], *[NO] * 15]
    assert draw(first_words(*words), Fraction(1), 3) == [1, 2, 0]


@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_tie_is_settled_by_64_more_bits(place: int) -> None:
    digits = digits_of(Fraction(1))
    words = [NO] * 7
    words[place] = int(digits.first[place, 0])
    sure, last = int(digits.sure[place]), int(digits.open[place])
    below = first_words(*words) + rest_word(sure - 1)
    assert draw(below, Fraction(1), 1) == [2**place]
    above = first_words(*words) + rest_word(last + 1)
    assert draw(above, Fraction(1), 1) == [0]


@pytest.mark.parametrize(("more", "bit"), [(b"\0", 1), (b"\xff", 0)])
def test_a_second_tie_is_settled_against_the_decimals(more: bytes, bit: int) -> None:
    digits = digits_of(Fraction(1))
    words = [NO] * 7
    words[2] = int(digits.first[2, 0])
    tie = first_words(*words) + rest_word(int(digits.sure[2]))
    assert draw(tie + more * 8, Fraction(1), 1) == [4 * bit]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_event_above_the_digits_is_added_as_often_as_it_happens(
    times: int,
) -> None:
    digits = digits_of(Fraction(1))
    # Chance exp(-64): 16 zero bits tie, 64 more tie, 64 more decide for it.
    event = b"\0" * 8 + b"\0" * 8
    script = first_words(0, *[NO] * 5, 0) + event
    script += (first_words(0) + event) * (times - 1) + first_words(NO)
    assert draw(script, Fraction(1), 1) == [1 + times * 2**digits.count]


@pytest.mark.parametrize(("places", "dtype"), [(6, np.int64), (63, object)])
def test_an_event_above_the_digits_never_overflows(places: int, dtype: type) -> None:
    digits = digits_of(Fraction(2**places, 64))
    assert digits.count == places
    top, tie = digits.first[-1, 0], first_words(*[NO] * places, 0)
    assert top == 0
    stream = bytearray(tie + b"\0" * 16 + first_words(NO))

    def source(size: int) -> bytes:
        taken = bytes(stream[:size])
        del stream[:size]
        return taken

    token = randomness.override.set(source)
    try:
        numbers = geometric(digits, 1)
    finally:
        randomness.override.reset(token)
    assert numbers.dtype == dtype
    assert numbers.tolist() == [2**places]


def test_a_source_stuck_at_zero_is_refused() -> None:
    token = randomness.override.set(bytes)
    try:
        for scale in SCALES:
            with pytest.raises(RandomnessError, match="repeats"):
                geometric(digits_of(scale), 1)
    finally:
        randomness.override.reset(token)


def test_a_source_stuck_at_one_ends() -> None:
    token = randomness.override.set(lambda size: b"\xff" * size)
    try:
        for scale in SCALES:
            assert geometric(digits_of(scale), 2).tolist() == [0, 0]
    finally:
        randomness.override.reset(token)


def test_the_bytes_used_do_not_depend_on_the_value() -> None:
    digits = digits_of(Fraction(37))
    asked: list[int] = []

    def source(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    token = randomness.override.set(source)
    try:
        drawn = [int(geometric(digits, 1)[0]) for _ in range(2000)]
    finally:
        randomness.override.reset(token)
    whole = 2 * (digits.count + 1)
    assert len(set(drawn)) > 50
    assert asked.count(whole) == 2000
    # 24,000 words tie with chance 2**-16 each: 20 ties happen in 1e-23 of runs.
    assert len(asked) < 2000 + 20
