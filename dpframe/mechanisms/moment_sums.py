"""Which sums of products each method for means and covariances releases.

In grid units a row is a vector Y of whole numbers, with G = `COARSE` for the bound of
a column or the radius of a ball.

`"gauss"` releases all d^2 products of a row: the mean of the two noises of an entry
off the diagonal has half the variance, which is the least for symmetric noise of this
loss. A box takes one block, ``(G^2, G Y_i, Y_i Y_j)``, whose squared L2 norm is at most
``G^4 (1 + d + d^2)``; a ball takes three, with the loss split 1 : 3 : 6.

References
----------
.. [1] Dwork, Talwar, Thakurta and Zhang (2014), Analyze Gauss.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.block import MAX_NORM, Block
from dpframe.errors import ParameterError
from dpframe.query import Part
from dpframe.tally import COARSE, Ball, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpframe.privacy.loss import Loss
    from dpframe.tally import Contribution, Monomial, Output, Quantity

SPLIT: Final = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))
THIRDS: Final = (Fraction(1, 3),) * 3
MOST_FIGURES: Final = 20_000
_SQUARE: Final = COARSE * COARSE


def moment_part(
    rows: tuple[Quantity, ...] | Ball,
    method: str,
    reach: int,
    *,
    contribution: Contribution,
    loss: Loss,
) -> Part:
    """Return the moments and their noise.

    Parameters
    ----------
    rows : tuple of Quantity, or Ball
        The columns, within their bounds or in a ball.
    method : str
        ``"linf"``, ``"sym"``, ``"dwork"`` or ``"gauss"``.
    reach : int
        The largest L1 norm of a row, for ``"sym"`` and ``"dwork"``.

    Raises
    ------
    ParameterError
        If there are more moments than a release holds.
    """
    size = len(rows.columns) if isinstance(rows, Ball) else len(rows)
    every = method in {"dwork", "gauss"}
    figures = 1 + size + (size**2 if every else size * (size + 1) // 2)
    if figures > MOST_FIGURES:
        msg = f"{size} columns have {figures} moments; at most {MOST_FIGURES}."
        raise ParameterError(msg, hint="release fewer columns together.")
    outputs: Sequence[Output]
    if method == "linf":
        outputs = _bounded(size)
        block = Block(stop=figures, law=MAX_NORM, row_sensitivity=_SQUARE, loss=loss)
        blocks = (block,)
    elif method == "gauss" and not isinstance(rows, Ball):
        outputs = (*_scaled(size), *_every(size))
        block = Block.independent(
            loss, stop=figures, row_squared=_SQUARE**2 * (1 + size + size**2)
        )
        blocks = (block,)
    else:
        second = _every(size) if every else _once(size)
        outputs = (((1, ()),), *(((1, (i,)),) for i in range(size)), *second)
        ends = (0, 1, 1 + size, figures)
        blocks = tuple(
            Block.independent(
                loss.share(share),
                start=ends[power],
                stop=ends[power + 1],
                row=reach**power,
                row_squared=COARSE ** (2 * power),
            )
            for power, share in enumerate(THIRDS if method == "dwork" else SPLIT)
        )
    monomials = ((), *((i,) for i in range(size)), *_pairs(size))
    tally = Tally(
        quantities=rows,
        monomials=monomials,
        outputs=tuple(outputs),
        contribution=contribution,
    )
    return Part(statistic=tally, blocks=blocks)


def scale_of(part: Part, block: Block) -> int:
    """Return how many grid units one scaled unit of a block's figures has."""
    if len(part.blocks) == 1:
        return _SQUARE
    return COARSE ** part.blocks.index(block)


def _pairs(size: int) -> list[Monomial]:
    return [(i, j) for i in range(size) for j in range(i, size)]


def _scaled(size: int) -> Iterator[Output]:
    """Return count and sums in the grid units of products."""
    yield ((_SQUARE, ()),)
    for i in range(size):
        yield ((COARSE, (i,)),)


def _bounded(size: int) -> list[Output]:
    """Return each moment once, squares as ``2 Y_i^2 - G^2``: none is beyond G^2."""
    squares: list[Output] = [((2, (i, i)), (-_SQUARE, ())) for i in range(size)]
    return [*_scaled(size), *squares, *_crossed(size, 1)]


def _once(size: int) -> list[Output]:
    """Return each product once, those of two columns doubled."""
    return [*(((1, (i, i)),) for i in range(size)), *_crossed(size, 2)]


def _crossed(size: int, factor: int) -> list[Output]:
    return [((factor, (i, j)),) for i, j in _pairs(size) if i < j]


def _every(size: int) -> list[Output]:
    """Return all products, both ways round."""
    columns = range(size)
    return [((1, (min(i, j), max(i, j))),) for i in columns for j in columns]
