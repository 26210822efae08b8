"""Numbers that look random and are the same each time: no privacy rests on them.

Public directions, errors that are found by drawing noise again, and searches among
released figures need some. Noise comes from `dpframe.noise` alone.
"""

from __future__ import annotations

import math
from hashlib import shake_256
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


class Repeatable:
    """A stream of floats that follows from where it starts.

    Parameters
    ----------
    start : bytes
        What is drawn, so that no two uses share their numbers.
    """

    def __init__(self, start: bytes) -> None:
        self._start = start
        self._calls = 0

    def uniforms(self, *shape: int) -> Array:
        """Return floats in (0, 1)."""
        self._calls += 1
        start = self._start + self._calls.to_bytes(8)
        spread = shake_256(start).digest(8 * math.prod(shape))
        bits = np.frombuffer(spread, "<u8") >> np.uint64(12)
        return ((bits.astype(np.float64) + 0.5) / 2.0**52).reshape(shape)

    def normals(self, *shape: int) -> Array:
        """Return independent normal floats."""
        first, second = self.uniforms(2, *shape)
        return np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
