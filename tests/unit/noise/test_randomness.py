from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpframe.errors import RandomnessError
from dpframe.noise import randomness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = [0, 1, 63, 64, 65536, 65537, 3_000_000]
BOUNDS = [1, 2, 3, 10, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1, 3**100]


@pytest.fixture
def scripted() -> Iterator[Callable[[bytes], None]]:
    """Make the given bytes, then nothing, the source of randomness."""
    tokens = []

    def script(data: bytes) -> None:
        stream = bytearray(data)

        def source(size: int) -> bytes:
            taken = bytes(stream[:size])
            del stream[:size]
            return taken

        tokens.append(randomness.override.set(source))

    yield script
    for token in reversed(tokens):
        randomness.override.reset(token)


@pytest.fixture
def stuck() -> Iterator[Callable[[bytes], None]]:
    """Make one byte, repeated without end, the source of randomness."""
    tokens = []

    def stick(byte: bytes) -> None:
        tokens.append(randomness.override.set(lambda size: byte * size))

    yield stick
    for token in reversed(tokens):
        randomness.override.reset(token)


@pytest.mark.parametrize("size", SIZES)
def test_random_bytes_come_in_the_size_asked_for(size: int) -> None:
    assert len(randomness.random_bytes(size)) == size


@pytest.mark.parametrize("size", [65537, 3_000_000])
def test_no_key_and_nonce_make_a_stream_run_out(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    # Had the count of blocks begun at random, four such bytes would let it run over.
    urandom = os.urandom
    monkeypatch.setattr(
        "os.urandom", lambda wanted: b"\xff" * 16 + urandom(wanted - 16)
    )
    assert len(randomness.random_bytes(size)) == size


@pytest.mark.parametrize("size", [64, 65536, 65537, 3_000_000])
def test_two_draws_of_random_bytes_differ(size: int) -> None:
    assert randomness.random_bytes(size) != randomness.random_bytes(size)


def test_a_long_draw_does_not_repeat_inside() -> None:
    data = randomness.random_bytes(1 << 20)
    blocks = {data[start : start + 16] for start in range(0, len(data), 16)}
    assert len(blocks) == (1 << 20) // 16


@pytest.mark.parametrize("size", [1, 65536, 100_000])
@pytest.mark.parametrize(
    "broken",
    [
        bytes,
        lambda size: b"\xff" * size,
        lambda size: b"x" * (size - 1),
        lambda _size: b"",
        lambda size: [7] * size,
        lambda _size: None,
    ],
    ids=["zeros", "ones", "short", "empty", "list", "none"],
)
def test_a_broken_system_source_is_refused(
    monkeypatch: pytest.MonkeyPatch, size: int, broken: Callable[[int], object]
) -> None:
    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(RandomnessError, match="nothing was released"):
        randomness.random_bytes(size)


def test_a_failing_system_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_size: int) -> bytes:
        raise OSError

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(RandomnessError, match="failed"):
        randomness.random_bytes(8)


def test_the_key_of_a_long_draw_is_fresh_in_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    real = os.urandom

    def spy(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", spy)
    randomness.random_bytes(100_000)
    once = len(asked)
    randomness.random_bytes(100_000)
    assert once >= 1
    assert len(asked) == 2 * once


def test_an_override_is_not_private_and_must_give_enough(
    scripted: Callable[[bytes], None],
) -> None:
    assert randomness.is_private()
    scripted(b"abc")
    assert not randomness.is_private()
    assert randomness.random_bytes(2) == b"ab"
    with pytest.raises(RandomnessError, match="too few"):
        randomness.random_bytes(2)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_words_have_the_type_and_number_asked_for(
    count: int, dtype: type[np.uint16 | np.uint64]
) -> None:
    drawn = randomness.words(count, dtype)
    assert drawn.dtype == dtype
    assert drawn.shape == (count,)


@pytest.mark.parametrize("bound", BOUNDS)
def test_below_stays_below_and_reaches_both_halves(bound: int) -> None:
    drawn = randomness.below(bound, 2000).tolist()
    assert all(type(number) is int for number in drawn)
    assert 0 <= min(drawn) <= max(drawn) < bound
    if bound > 1:
        assert min(drawn) < bound / 2 <= max(drawn)


@pytest.mark.parametrize("bound", [1, 10, 2**40])
def test_below_gives_no_number_when_none_is_asked_for(bound: int) -> None:
    assert randomness.below(bound, 0).shape == (0,)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 2**31 + 11, 2**32 - 1])
def test_small_bounds_scale_the_whole_word(
    bound: int, scripted: Callable[[bytes], None]
) -> None:
    extremes = [0, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2**33]
    words = [*np.frombuffer(os.urandom(8000), np.uint64).tolist(), *extremes]
    scripted(np.array(words, dtype=np.uint64).tobytes())
    expected = [bound * word >> 64 for word in words]
    assert randomness.below(bound, len(words)).tolist() == expected


@pytest.mark.parametrize(("more", "expected"), [(b"\0", 0), (b"\xff", 1)])
def test_a_word_on_an_edge_is_decided_by_further_bits(
    more: bytes, expected: int, scripted: Callable[[bytes], None]
) -> None:
    # A third, cut after 64 bits, is the first of three parts or the second.
    scripted(b"\x55" * 8 + more * 8)
    assert randomness.below(3, 1).tolist() == [expected]


@pytest.mark.parametrize(("more", "expected"), [(b"\0", 0), (b"\xff", 1)])
def test_a_wide_draw_on_an_edge_is_decided_by_further_bits(
    more: bytes, expected: int, scripted: Callable[[bytes], None]
) -> None:
    scripted(b"\x55" * 24 + more * 8)
    assert randomness.below(3, 1, width=100).tolist() == [expected]


@pytest.mark.parametrize("bound", [3, 5, 2**32 - 1, 2**32 + 1, 2**64 - 1])
def test_below_ends_on_a_source_stuck_at_an_extreme(
    bound: int, stuck: Callable[[bytes], None]
) -> None:
    stuck(b"\0")
    assert randomness.below(bound, 1).tolist() == [0]
    stuck(b"\xff")
    assert randomness.below(bound, 1).tolist() == [bound - 1]


@pytest.mark.parametrize("width", [None, 40])
def test_below_gives_up_on_a_source_stuck_on_an_edge(
    width: int | None, stuck: Callable[[bytes], None]
) -> None:
    stuck(b"\x55")
    with pytest.raises(RandomnessError, match="repeats"):
        randomness.below(3, 1, width=width)


@pytest.mark.parametrize("bound", [2**40 + 3, 2**70])
def test_width_hides_the_bound_in_the_bytes_used(bound: int) -> None:
    asked = []

    def source(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    token = randomness.override.set(source)
    try:
        randomness.below(bound, 5, width=90)
        randomness.below(1, 5, width=90)
    finally:
        randomness.override.reset(token)
    assert asked[0] == asked[1]
