"""Moments of two columns from products of their Bernstein parts.

A row with t and u in [0, 1] spreads a weight of 1 over nine cells: the products of
``((1-t)^2, 2t(1-t), t^2)`` and the same of u. The cells are never negative and add
up to 1, so an L1 sensitivity of 1 buys count, means and second moments at once:
variances (in 1/epsilon^2) of 18 for the count and each sum of squares, 12 for each
sum and 8 for the sum of products, about ``2t - 1`` and ``2u - 1``. Max-norm noise on
the six moments has 18.7, 18.7, 9.3 and 18.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpframe.block import Block
from dpframe.errors import ParameterError
from dpframe.query import Part
from dpframe.tally import COARSE, Tally, shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.mechanisms.inputs import Clipped
    from dpframe.privacy.loss import Loss
    from dpframe.tally import Contribution, Output

PAIR: Final = 2
"""How many columns the cells are for."""

_MONOMIALS: Final = ((), (0,), (1,), (2,), (3,), (0, 2), (0, 3), (1, 2), (1, 3))


def bernstein_part(
    columns: Sequence[Clipped], *, contribution: Contribution, loss: Loss
) -> Part:
    """Return the nine cells of two columns, one after the other, and their noise.

    Raises
    ------
    ParameterError
        If there are not exactly two columns.
    """
    if len(columns) != PAIR:
        msg = f'method="bernstein" is for 2 columns, not for {len(columns)}.'
        raise ParameterError(msg, hint='use method="linf".')
    first, second = (shares(one.column, one.limits) for one in columns)
    # Each part as ``constant + on_t * T + on_p * P``.
    parts = ((COARSE, -2, 1), (0, 2, -2), (0, 0, 1))
    outputs = tuple(_product(left, right) for left in parts for right in parts)
    tally = Tally(
        quantities=(*first, *second),
        monomials=_MONOMIALS,
        outputs=outputs,
        contribution=contribution,
    )
    block = Block(stop=len(outputs), row_sensitivity=COARSE**2, loss=loss)
    return Part(statistic=tally, blocks=(block,))


def _product(left: tuple[int, int, int], right: tuple[int, int, int]) -> Output:
    """Return a product of two parts as multiples of the monomials."""
    (a, t, p), (b, u, q) = left, right
    factors = (a * b, t * b, p * b, a * u, a * q, t * u, t * q, p * u, p * q)
    return tuple((f, m) for f, m in zip(factors, _MONOMIALS, strict=True) if f)
