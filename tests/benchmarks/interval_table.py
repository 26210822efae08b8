"""Make `dpframe/releases/interval_table.py` again, by simulating noise alone.

``python -m tests.benchmarks.interval_table [WORK]`` prints the module; WORK (default
1) multiplies the number of draws, and 1 takes some ten minutes on one core.

A draw is a whole tree of unit noise. Trees of one and two levels are drawn as they
are. In deeper ones nearly all noises are in the last three levels, and most of them
nowhere near a largest or smallest prefix. So a pool of subtrees of those levels is
drawn, and each tree takes half of them at most, without repeats and each with a random
sign, under upper levels of its own. Every single draw has the exact law: the subtrees
of a tree are independent, and the noise is symmetric. Draws of one pool have subtrees
in common, so the pool is drawn afresh every `TURN` trees.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpframe.releases.interval_tree import consistent

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, np.dtype[Any]]

TREES: Final = {
    1: (1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 32, 48, 64, 96, 128, 192, 255),
    2: (16, 20, 26, 32, 40, 50, 64),
    3: (16, 20, 25, 32, 41),
    4: (16, 19, 23, 27, 32),
    5: (16, 18, 20, 22),
}
"""Branchings by number of levels: from the least to the largest that sizes ask for."""

CONFIDENCES: Final = (0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
LAWS: Final = ("laplace", "normal")
DRAWS: Final = {1: 400_000, 2: 60_000, 3: 20_000, 4: 10_000, 5: 6_000}
TURN: Final = 50
_LEAVES: Final = 2_000_000  # held at a time


def draws(
    generator: np.random.Generator, law: str, levels: int, branching: int, count: int
) -> Array:
    """Return the largest interval errors of trees, shape ``(count,)``."""
    noise = getattr(generator, law)
    if levels > 2:
        parts = _pooled(generator, noise, levels, branching, count)
    else:
        parts = _whole(noise, levels, branching, count)
    return np.concatenate(list(parts))


def whole(noise: Any, levels: int, branching: int, count: int) -> Array:
    """Draw trees as they are; `noise` takes the keyword ``size``."""
    shapes = [(count, branching**level) for level in range(1, levels + 1)]
    fans = [(count, branching), *[(1, branching)] * (levels - 1)]
    leaves = consistent([noise(size=shape) for shape in shapes], fans)
    prefixes = leaves.cumsum(axis=1)
    high, low = prefixes.max(axis=1), prefixes.min(axis=1)
    return np.maximum(high, 0) - np.minimum(low, 0)


def _whole(noise: Any, levels: int, branching: int, count: int) -> Iterator[Array]:
    block = max(1, _LEAVES // branching**levels)
    for start in range(0, count, block):
        yield whole(noise, levels, branching, min(block, count - start))


def _pooled(
    generator: np.random.Generator, noise: Any, levels: int, b: int, count: int
) -> Iterator[Array]:
    nodes = b ** (levels - 2)
    pool = max(2 * nodes, 400)
    strides = np.flatnonzero(np.gcd(np.arange(pool), pool) == 1)
    for _ in range(0, count, TURN):
        # Subtrees: a node's count, its children, their children.
        shapes = [(pool, b**level) for level in range(3)]
        fans = [(pool, 1), (1, b), (1, b)]
        leaves = consistent([noise(size=shape) for shape in shapes], fans)
        profiles = leaves.cumsum(axis=1).reshape(pool, b, b)
        first = generator.integers(pool, size=(TURN, 1))
        stride = generator.choice(strides, size=(TURN, 1))
        picks = (first + stride * np.arange(nodes)) % pool
        signs = generator.choice([-1.0, 1.0], size=picks.shape)
        own = signs * profiles[picks, -1, -1]
        above = [noise(size=(TURN, b**level)) for level in range(1, levels - 2)]
        final = _settled(own, above, b)
        steps = np.cumsum(final, axis=1)
        starts = np.concatenate([np.zeros((TURN, 1)), steps], axis=1)
        lacking = final - own
        high = _highest(profiles, picks, signs, starts, lacking)
        low = -_highest(profiles, picks, -signs, -starts, -lacking)
        yield high - low


def _settled(own: Array, above: list[Array], b: int) -> Array:
    """Combine the subtrees' totals with the levels above; as `consistent` does."""
    variance = 1.0
    for _ in range(2):
        variance = b * variance / (b * variance + 1)
    settled, sums = [own], []
    for level in reversed(above):
        sums.append(settled[-1].reshape(len(own), -1, b).sum(axis=2))
        variance = b * variance / (b * variance + 1)
        settled.append(variance * level + (1 - variance) * sums[-1])
    final = settled.pop()
    while sums:
        missing = (final - sums.pop()) / b
        final = settled.pop() + np.repeat(missing, b, axis=1)
    return final


def _highest(
    profiles: Array, picks: Array, signs: Array, starts: Array, lacking: Array
) -> Array:
    """Return each tree's largest prefix.

    Looks only into those subtrees, and in them only below those children, where a
    prefix may be larger than the largest at the end of a subtree, or of a child.
    """
    _, b, _ = profiles.shape
    best = starts.max(axis=1)
    peak, dip = profiles.max(axis=2), profiles.min(axis=2)

    def reach(up: Array, down: Array, pick: Array, sign: Array) -> Array:
        return np.where(sign > 0, up[pick], -down[pick])

    bound = reach(peak.max(axis=1), dip.min(axis=1), picks, signs)
    bound += starts[:, :-1] + np.maximum(lacking, 0)
    trees, nodes = np.nonzero(bound > best[:, None])
    pick, sign = picks[trees, nodes], signs[trees, nodes][:, None]
    start, missing = starts[trees, nodes][:, None], lacking[trees, nodes][:, None]
    share = np.arange(b + 1) / b
    ends = start + sign * profiles[pick, :, -1] + missing * share[1:]
    np.maximum.at(best, trees, ends.max(axis=1))
    bound = reach(peak, dip, pick, sign) + start
    bound += np.maximum(missing * share[1:], missing * share[:-1])
    row, child = np.nonzero(bound > best[trees][:, None])
    inside = sign[row] * profiles[pick[row], child]
    inside += start[row] + missing[row] * (child[:, None] + share[1:]) / b
    np.maximum.at(best, trees[row], inside.max(axis=1))
    return best


HEADER = '''"""Quantiles of the largest interval error of a tree, for noise of scale 1.

Simulated by ``tests/benchmarks/interval_table.py``, which makes this file.
"""

from __future__ import annotations

from typing import Final

CONFIDENCES: Final = {confidences}

TABLE: Final[dict[str, dict[tuple[int, int], tuple[float, ...]]]] = {{'''


def main(work: float) -> None:
    """Print the module."""
    generator = np.random.default_rng(2010)
    lines = [HEADER.format(confidences=CONFIDENCES)]
    for law in LAWS:
        lines.append(f'    "{law}": {{')
        for levels, branchings in TREES.items():
            for b in branchings:
                count = max(TURN, int(DRAWS[levels] * work) // TURN * TURN)
                found = draws(generator, law, levels, b, count)
                row = np.quantile(found, CONFIDENCES)
                figures = ", ".join(f"{figure:.4g}" for figure in row)
                lines.append(f"        ({levels}, {b}): ({figures}),")
        lines.append("    },")
    print("\n".join([*lines, "}"]))  # noqa: T201 - a module to keep


if __name__ == "__main__":
    main(float(*sys.argv[1:] or ["1"]))
