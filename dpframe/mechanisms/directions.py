"""Public directions that rows are projected on: frames, and covers of a sphere.

None of them depends on data; they are the same in every release. A direction and its
opposite are one: a histogram along either is one along the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.repeatable import Repeatable
from dpframe.tally import COARSE

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

_FRAMES: Final = b"frames of directions"
_SIGNS: Final = b"random projections"

_MOST_BITS: Final = 51
_HALF: Final = 0.5


def frames(dimension: int, number: int) -> Array:
    """Return so many orthonormal frames below each other: first the axes.

    Parameters
    ----------
    dimension, number : int

    Returns
    -------
    array
        Unit vectors, shape ``(dimension * number, dimension)``. The others are random
        rotations, as uniform as the signs of a QR decomposition allow [1]_.

    References
    ----------
    .. [1] Mezzadri (2007), How to Generate Random Matrices from the Classical Compact
       Groups, Notices of the AMS.
    """
    source = Repeatable(_FRAMES)
    found = [np.eye(dimension)]
    for _ in range(number - 1):
        rotation, upper = np.linalg.qr(source.normals(dimension, dimension))
        found.append((rotation * np.sign(np.diag(upper))).T)
    return np.concatenate(found)


def random_projections(dimension: int, *, number: int, projected: int) -> Array:
    """Return matrices that keep lengths about as they are, of equal entries but signs.

    Shape ``(number, projected, dimension)``.

    References
    ----------
    .. [1] Achlioptas (2003), Database-Friendly Random Projections.
    """
    drawn = Repeatable(_SIGNS).uniforms(number, projected, dimension)
    return np.where(drawn < _HALF, -1.0, 1.0) / math.sqrt(projected)


def circle(chord: float) -> Array:
    """Return directions of the plane, evenly apart, an even number of them.

    Every unit vector is within a chord of one of them, or of its opposite. The axes are
    among them.
    """
    number = 2 * math.ceil(math.pi / (8 * math.asin(min(chord, 1.0) / 2)))
    angles = np.arange(number) * (math.pi / number)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def sphere(chord: float) -> Array:
    """Return directions in space, in rings, the axes among them.

    Every unit vector is within a chord of one of them, or of its opposite. For polar
    angles t, s and a longitude p between two of them the squared chord is
    ``4 sin^2((t - s) / 2) + 4 sin t sin s sin^2(p / 2)``, at most
    ``(t - s)^2 + sin t sin s p^2``. Half of it is left for either term.
    """
    apart = math.sqrt(2) * min(chord, 1.0)
    rings = 2 * math.ceil(math.pi / (4 * apart)) + 1  # from the pole to the equator
    step = math.pi / 2 / (rings - 1)
    found = [np.array([[0.0, 0.0, 1.0]])]
    for ring in range(1, rings):
        polar = ring * step
        widest = math.sin(min(polar + step / 2, math.pi / 2))
        around = 4 * math.ceil(2 * math.pi * widest / apart / 4)
        last = ring == rings - 1  # of the equator one half is enough
        angles = np.arange(around // 2 if last else around) * (2 * math.pi / around)
        flat = math.sin(polar)
        found.append(
            np.stack(
                [
                    flat * np.cos(angles),
                    flat * np.sin(angles),
                    np.full(len(angles), 0.0 if last else math.cos(polar)),
                ],
                axis=1,
            )
        )
    return np.concatenate(found)


def whole_directions(units: Array, bins: int) -> tuple[Array, int]:
    """Return directions as whole numbers, and how long a bin along them is.

    Parameters
    ----------
    units : array
        Unit vectors, shape ``(K, d)``.
    bins : int
        An even number of bins from -1 to 1.

    Returns
    -------
    directions : array of int64
    shift : int
        A bin is ``2**shift`` long in inner products of rows in whole numbers, up to
        what rounding does to the length of a direction.
    """
    shift = _MOST_BITS - (bins - 1).bit_length()
    reach = COARSE * math.sqrt(units.shape[1])
    scale = bins / 2 * 2.0**shift / reach
    return np.rint(units * scale).astype(np.int64), shift
