"""What halfspace oracles say of themselves before they are made: of nets alone.

A theorem about all planes at once is known of directions that are close to all others,
and of the scheme that was published. What that one asks for is written as a power of
ten: no frame has so many rows.

References
----------
.. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
   Database Privacy, Section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.mechanisms.halfspaces import (
    FEWEST_COLUMNS,
    MOST_COLUMNS,
    few_rows,
    halfspace_oracle,
)
from dpframe.mechanisms.inputs import check_pure
from dpframe.plan.setting import NOISE, Promise, whole
from dpframe.query import Part
from dpframe.releases.halfspaces.projections import worst_noise
from dpframe.slices import Slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.plan.setting import Setting
    from dpframe.query import Query

_MOST_BITS: Final = 1 << 26
"""A number of rows is not written out beyond."""

_DIGITS: Final = 52  # of its leading bits


def halfspaces(
    setting: Setting, *, columns: object, margin: object, method: object, label: object
) -> Promise:
    """Return the promise of a halfspace oracle of so many columns.

    Raises
    ------
    ParameterError
        If nothing is proved of the method.
    """
    number = whole(columns, what="columns", least=FEWEST_COLUMNS, most=MOST_COLUMNS)
    if not isinstance(label, bool):
        msg = f"label must be True or False, not {type(label).__name__}."
        raise ParameterTypeError(msg, hint="whether the rows have one.")
    names = [f"x{i}" for i in range(number)]
    query = halfspace_oracle(
        setting.frame_of(
            {**dict.fromkeys(names, pl.Float64()), "label": pl.Boolean()},
            bounds=dict.fromkeys(names, (0, 1)),
        ),
        setting.loss,
        names,
        margin=margin,
        method=method,
        label="label" if label else None,
    )
    word, width = query.parameters["method"], query.parameters["margin"]
    shape = {"columns": number, "margin": width, "method": word}
    if label:
        shape["label"] = True
    if word == "net":
        near = f"rows within {width} of a plane may be taken for its other side"
        return Promise(shape=shape, alpha=_net(query, setting), assumed=(NOISE, near))
    if word == "jl_net":
        return _published(setting, number, float(width), shape)
    few = setting.max_rows * few_rows(number, setting.loss)
    msg = f'Nothing is proved of method="{word}" for all planes at once.'
    hint = (
        'plan method="net", of two or three columns. As a rule of thumb answers are '
        f"worth their cost from about {few} rows on, and each says what is proved of it"
    )
    raise ParameterError(msg, hint=f"{hint}.")


def _net(query: Query[Any], setting: Setting) -> Callable[[int], float]:
    """Return the error of a net: what the release states in `alpha`."""
    (part,) = query.parts
    if not (isinstance(part, Part) and isinstance(part.statistic, Slices)):
        msg = "a net is rows along directions"
        raise TypeError(msg)
    slices = part.statistic
    worst = worst_noise(
        part.noise(part.blocks[0]),
        Fraction(1, slices.contribution.resolution),
        slices.shape,
        confidence=setting.confidence,
    )
    return lambda rows: worst / rows if rows > worst else math.inf


def _published(
    setting: Setting, columns: int, margin: float, shape: Mapping[str, object]
) -> Promise:
    check_pure(setting.loss, what='method="jl_net"', hint="plan it with an epsilon.")
    scheme = Published(
        columns=columns,
        margin=margin,
        chance=1 - setting.confidence,
        scale=float(setting.max_rows / setting.loss.pure),
    )
    near = f"rows within {9 * margin / 8:g} of a plane may be taken for its other side"
    return Promise(
        shape=shape,
        alpha=lambda _: math.inf,  # it needs more rows than a double holds
        assumed=(
            "rows are unit vectors, and planes go through their middle",
            near,
            "what is released is the theorem's, and not a few projections to compare",
        ),
        fewest=scheme.rows,
    )


@dataclass(frozen=True, kw_only=True)
class Published:
    """The published scheme: canonical planes after m random projections to T numbers.

    With T of them the sides of a row and a plane agree after a projection, but with a
    chance of ``alpha / 16``. The median of m projections then errs by at most half of
    alpha on each of Q rounded planes, and the noise of all ``m |U|`` counts by the
    other half.

    Attributes
    ----------
    columns : int
    margin : float
    chance : float
        Of larger errors.
    scale : float
        Rows per privacy unit, over epsilon.
    """

    columns: int
    margin: float
    chance: float
    scale: float

    def projected(self, alpha: float) -> int:
        """Return how many numbers rows are projected to: T."""
        return math.ceil(6 * math.log(128 / alpha) * 16 / self.margin**2)

    @property
    def projections(self) -> int:
        """How many projections there are: m."""
        fine = math.log(1 + 8 * math.sqrt(self.columns) / self.margin)
        planes = math.log(2) + self.columns * fine - math.log(self.chance)
        return math.ceil(32 / 9 * planes)

    def log_rows(self, alpha: float) -> float:
        """Return the natural logarithm of the number of rows for an error."""
        cover = self.projected(alpha) * math.log(1 + 4 / self.margin)
        counts = math.log(2 * self.projections) + cover
        noise = math.log(counts - math.log(self.chance))
        return counts + math.log(self.scale / alpha) + noise

    def rows(self, alpha: float) -> int:
        """Return that number, or a little more.

        Raises
        ------
        ParameterError
            If it has too many digits to be written.
        """
        bits = self.log_rows(alpha) / math.log(2) * (1 + 2.0**-40)
        if bits > _MOST_BITS:
            digits = bits * math.log10(2)
            msg = f"The published theorem asks for about 10^{digits:.4g} rows."
            hint = 'plan a larger margin, or method="net" of two or three columns.'
            raise ParameterError(msg, hint=hint)
        whole_bits = math.floor(bits)
        leading = math.ceil(2.0 ** (bits - whole_bits + _DIGITS))
        return leading << (whole_bits - _DIGITS)
