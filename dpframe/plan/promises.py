"""How far off releases will be with so many rows: what they say of themselves.

Each release is planned on a frame that has its schema and no rows, so a plan and the
release that follows it have one and the same error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import polars as pl

from dpframe.attach import attach
from dpframe.block import Block
from dpframe.declare import check_contributions
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.grid import MOST_POINTS
from dpframe.mechanisms.cdf import cdf
from dpframe.mechanisms.counts import count
from dpframe.mechanisms.inputs import chosen
from dpframe.mechanisms.interval_search import TOTAL_SHARE, finest_search
from dpframe.mechanisms.intervals import LARGEST_TREE, synthetic_intervals
from dpframe.mechanisms.moments import moment
from dpframe.mechanisms.quantiles import MEDIAN, quantile
from dpframe.mechanisms.sums import sum_
from dpframe.privacy.accountant import Accountant
from dpframe.query import Query, Search
from dpframe.releases.interval_tree import MOST_LEAVES
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.frame import PrivateFrame
    from dpframe.privacy.loss import Loss

ROWS: Final = "of the rows"
_NEEDED: Final = object()
_SURE: Final = 0.999999
_STATED: Final = 0.95  # the confidence of the theorem of a binary search
_METHODS: Final = ("auto", "tree", "binary_search")
_MOST_BINS: Final = 10**6
_NOISE: Final = "the error is that of the noise: nothing is clipped or sampled"
_GRID: Final = "values lie on the grid, and no interval cuts a cell"


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a release says of its error, before it is made.

    Attributes
    ----------
    shape : mapping
        Its public parameters, by the words of a call.
    alpha : callable
        From a number of rows to the error; infinite where nothing is known.
    unit : str
        What the error is a part of.
    assumed : tuple of str
        What is left out of it.
    points : int or None
        Of a release that answers every interval: how many points it tells apart.
    """

    shape: Mapping[str, object]
    alpha: Callable[[int], float]
    unit: str = ROWS
    assumed: tuple[str, ...] = (_NOISE,)
    points: int | None = None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is common to all planned releases.

    Attributes
    ----------
    loss : Loss
    confidence : float
        With which chance the error holds, for all figures together.
    max_rows : int
        Rows that one privacy unit has at most.
    """

    loss: Loss
    confidence: float
    max_rows: int

    def frame(self, dtype: pl.DataType, high: int) -> PrivateFrame:
        """Return a frame without rows, whose column has bounds from 0."""
        single = self.max_rows == 1
        return attach(
            pl.DataFrame(schema={"unit": pl.Int64(), "x": dtype}),
            Accountant(epsilon=1),
            privacy_unit=None if single else "unit",
            max_rows=None if single else self.max_rows,
            bounds={"x": (0, high)},
        )

    def width(self, query: Query[Any], rows: int, *, cells: int | None = None) -> float:
        """Return the error that a planned release states."""
        outlook = query.outlook
        together = outlook.cells if cells is None else cells
        error = outlook.known_error(rows)
        return float(error.half_width(self.confidence, cells=together).max())


def checked_limit(max_rows: object) -> int:
    """Return a limit of rows per unit.

    Raises
    ------
    ParameterTypeError, ParameterError
        If it is no whole number of at least 1.
    """
    rows, _ = check_contributions(max_rows, None, unit="unit")
    return 1 if rows is None else rows


def promised(release: object, setting: Setting, shape: Mapping[str, object]) -> Promise:
    """Return what a release of a shape says of its error.

    Raises
    ------
    ParameterError
        If there is no such release, or it has no such word, or lacks one.
    """
    word = chosen(release, among=tuple(_RELEASES), what="release")
    found = _RELEASES[word]
    for name in shape:
        if name not in found.words:
            words = [f"{each}=" for each in found.words]
            known = enumeration(words) if words else "no word of its own"
            msg = f"A plan of {word} takes {known}, not {name}=."
            raise ParameterError(msg)
    given = {**found.words, **shape}
    for name, value in given.items():
        if value is _NEEDED:
            msg = f"A plan of {word} needs {name}=."
            raise ParameterError(msg, hint=f"pass {name}=1000, for example.")
    return found.promise(setting, **given)


def _count(setting: Setting, *, cells: object = 1) -> Promise:
    number = _whole(cells, what="cells", least=1, most=MOST_POINTS)
    query = count(setting.frame(pl.Int64(), 1), setting.loss)
    return Promise(
        shape={} if number == 1 else {"cells": number},
        alpha=lambda rows: setting.width(query, rows, cells=number) / rows,
    )


def _sum(setting: Setting) -> Promise:
    query = sum_(setting.frame(pl.Float64(), 1), setting.loss, "x")
    return Promise(
        shape={},
        alpha=lambda rows: setting.width(query, rows) / rows,
        unit="of the rows times the larger bound",
    )


def _mean(setting: Setting) -> Promise:
    query = moment(setting.frame(pl.Float64(), 1), setting.loss, "x", kind="mean")
    return Promise(
        shape={},
        alpha=lambda rows: setting.width(query, rows),
        unit="of the bounds' width",
    )


def _cdf(setting: Setting, *, bins: object) -> Promise:
    number = _whole(bins, what="bins", least=1, most=_MOST_BINS)
    frame = setting.frame(pl.Float64(), number)
    query = cdf(frame, setting.loss, "x", bins=number)
    return Promise(
        shape={"bins": number}, alpha=lambda rows: setting.width(query, rows)
    )


def _quantile(setting: Setting, *, points: object, q: object = MEDIAN) -> Promise:
    number = _points(points)
    frame = setting.frame(pl.UInt64(), number - 1)
    query = quantile(frame, setting.loss, "x", q=q)
    shape = {"points": number} if q == MEDIAN else {"points": number, "q": q}
    return Promise(
        shape=shape,
        alpha=lambda rows: setting.width(query, rows) / rows,
        assumed=(_NOISE, "values lie on the grid, and the error is one of ranks"),
    )


def _intervals(setting: Setting, *, points: object, method: object) -> Promise:
    """Return the promise of the method, or of the one whose error is known before."""
    number = _points(points)
    word = chosen(method, among=_METHODS, what="method")
    assumed = (_NOISE, _GRID)
    if word == "auto":
        word = "tree" if number <= MOST_LEAVES else "binary_search"
        if number > LARGEST_TREE:
            why = 'the default here is "privtree", whose error is known once it is made'
            assumed = (*assumed, why)
    frame = setting.frame(pl.UInt64(), number - 1)
    query = synthetic_intervals(frame, setting.loss, "x", method=word)

    def alpha(rows: int) -> float:
        if word == "binary_search":
            return _found(query, setting, number, rows)
        return setting.width(query, rows) / rows

    return Promise(
        shape={"points": number, "method": word},
        alpha=alpha,
        assumed=assumed,
        points=number,
    )


def _found(query: Query[Any], setting: Setting, points: int, rows: int) -> float:
    """Return the error of a binary search, whose number of rows is noisy, too."""
    if setting.confidence > _STATED:
        msg = f'method="binary_search" is known at a confidence up to {_STATED}.'
        raise ParameterError(msg)
    (part,) = query.parts
    if not isinstance(part, Search):
        msg = "a binary search is a search"
        raise TypeError(msg)
    weight = part.ordering.weight
    total = Block.independent(setting.loss.share(TOTAL_SHARE)).noise(part.ordering)
    search, guaranteed = finest_search(
        size=points,
        rows=max(rows - Fraction(total.accuracy(_SURE), weight), Fraction(0)),
        loss=setting.loss.share(1 - TOTAL_SHARE),
        cap=Fraction(part.ordering.multiplicity, weight),
    )
    return search.alpha if guaranteed else math.inf


def _points(points: object) -> int:
    return _whole(points, what="points", least=2, most=MOST_POINTS)


def _whole(value: object, *, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        msg = f"{what} must be a whole number, not {type(value).__name__}."
        raise ParameterTypeError(msg)
    if not least <= value <= most:
        msg = f"{what} must be from {least} to {most}, not {value}."
        raise ParameterError(msg)
    return int(cast("int", value))


@dataclass(frozen=True, kw_only=True)
class _Release:
    promise: Callable[..., Promise]
    words: Mapping[str, object] = field(default_factory=dict[str, object])


_RELEASES: Final[Mapping[str, _Release]] = {
    "cdf": _Release(promise=_cdf, words={"bins": _NEEDED}),
    "count": _Release(promise=_count),
    "histogram": _Release(promise=_count, words={"cells": _NEEDED}),
    "mean": _Release(promise=_mean),
    "median": _Release(promise=_quantile, words={"points": _NEEDED}),
    "quantile": _Release(promise=_quantile, words={"points": _NEEDED, "q": MEDIAN}),
    "sum": _Release(promise=_sum),
    "synthetic_intervals": _Release(
        promise=_intervals, words={"points": _NEEDED, "method": "auto"}
    ),
}
