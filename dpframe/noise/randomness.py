"""Random bytes of the operating system, and the words made of them.

Nothing outlives a call: a state that did would repeat after a fork, in a copy
of the process and in a restored machine.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpframe.errors import RandomnessError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpframe.noise.protocol import Integers

Word = TypeVar("Word", np.uint16, np.uint64)

# More rounds of fresh bits than any working source can need (chance < 2**-4000).
ROUNDS = 64

REPEATS = "repeats itself"
_FAILED = "failed"
_NO_BYTES = "gave no bytes"
_SHORT = "gave too few random bytes"

override: ContextVar[Callable[[int], bytes] | None] = ContextVar(
    "override", default=None
)
"""Source of bytes in place of the operating system's; for tests alone."""

_DIRECT = 1 << 16  # largest read taken from the operating system itself
_PROBE = 64  # bytes that a working source never gives all equal
_BLANK = memoryview(bytes(1 << 20))
_SMALL = 1 << 32  # below it, a product with 64 random bits fits three half words


def is_private() -> bool:
    """Whether random bytes come from the operating system."""
    return override.get() is None


def failure(what: str) -> RandomnessError:
    """Make the error for a source of random bytes that did `what`."""
    fact = (
        f"The source of random bytes {what}.\n"
        "No noise was drawn, so nothing was released; what was charged stays spent."
    )
    return RandomnessError(fact)


def random_bytes(size: int) -> bytes:
    """Draw `size` random bytes.

    Up to 64 KiB they are the operating system's own. More of them are a ChaCha20
    stream under a key drawn in the call and forgotten with it.

    Parameters
    ----------
    size : int
        How many, at least 0.

    Returns
    -------
    bytes

    Raises
    ------
    RandomnessError
        If the source fails, runs short or repeats a single byte.
    """
    source = override.get()
    if source is not None:
        data = source(size)
        if len(data) != size:
            raise failure(_SHORT)
        return data
    if size <= _DIRECT:
        return _system_bytes(size)
    from cryptography.hazmat.primitives.ciphers import (  # noqa: PLC0415 - seldom
        Cipher,
        algorithms,
    )

    # The first four bytes count blocks, and a count that runs over is refused.
    key, nonce = _system_bytes(32), bytes(4) + _system_bytes(12)
    blank = _BLANK[:size] if size <= len(_BLANK) else bytes(size)
    return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(blank)


def words(count: int, dtype: type[Word]) -> NDArray[Word]:
    """Draw `count` independent uniform words of an unsigned type."""
    return np.frombuffer(random_bytes(count * np.dtype(dtype).itemsize), dtype)


def below(bound: int, size: int, *, width: int | None = None) -> Integers:
    """Draw exact uniform integers from 0 up to, not including, `bound`.

    A draw is the integer part of `bound` times a uniform fraction, of which 64
    bits more than `bound` has are taken first and further ones only while they
    could matter. There is no rejection and no remainder of a random word.

    Parameters
    ----------
    bound : int
        At least 1, of any size.
    size : int
        How many.
    width : int, optional
        Size in bits that `bound` never exceeds. Public. If given, the work hides
        where below it `bound` lies.

    Returns
    -------
    numpy.ndarray
        Shape ``(size,)``: int64 for a bound (or width) up to 32 bits, else
        Python integers.
    """
    if width is None and bound < _SMALL:
        return _below_small(bound, size)
    length = ((bound.bit_length() if width is None else width) + 127) // 64 * 8
    data = random_bytes(size * length)
    draws = np.empty(size, dtype=object)
    for index in range(size):
        fraction = int.from_bytes(data[index * length : (index + 1) * length])
        draws[index] = _scaled(bound, fraction, 8 * length)
    return draws


def _below_small(bound: int, size: int) -> NDArray[np.int64]:
    fraction = words(size, np.uint64)
    factor, half, mask = np.uint64(bound), np.uint64(32), np.uint64(_SMALL - 1)
    low = (fraction & mask) * factor
    high = (fraction >> half) * factor + (low >> half)
    draws = (high >> half).astype(np.int64)
    remainder = ((high & mask) << half) | (low & mask)
    for index in np.flatnonzero(remainder > np.uint64(2**64 - bound)).tolist():
        draws[index] = _scaled(bound, int(fraction[index]), 64)
    return draws


def _scaled(bound: int, fraction: int, bits: int) -> int:
    """Integer part of `bound` times a fraction with the given first bits."""
    for _ in range(ROUNDS):
        least = bound * fraction >> bits
        if bound * (fraction + 1) - 1 >> bits == least:
            return least
        fraction = fraction << 64 | int.from_bytes(random_bytes(8))
        bits += 64
    raise failure(REPEATS)


def _system_bytes(size: int) -> bytes:
    wanted = max(size, _PROBE)
    try:
        data = os.urandom(wanted)
    except OSError as error:
        raise failure(_FAILED) from error
    # What came is checked, not trusted: every guarantee rests on it.
    if not isinstance(data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise failure(_NO_BYTES)
    if len(data) != wanted:
        raise failure(_SHORT)
    if data[:_PROBE] == data[:1] * _PROBE:
        raise failure(REPEATS)
    return data[:size]
