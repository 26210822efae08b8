"""How far off releases will be with so many rows: what they say of themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dpframe.block import Block
from dpframe.errors import ParameterError
from dpframe.grid import MOST_POINTS
from dpframe.mechanisms.cdf import cdf
from dpframe.mechanisms.counts import count
from dpframe.mechanisms.inputs import chosen
from dpframe.mechanisms.interval_search import TOTAL_SHARE, finest_search
from dpframe.mechanisms.intervals import LARGEST_TREE, synthetic_intervals
from dpframe.mechanisms.moments import moment
from dpframe.mechanisms.quantiles import MEDIAN, quantile
from dpframe.mechanisms.sums import sum_
from dpframe.plan.halfspaces import halfspaces
from dpframe.plan.setting import NOISE, Promise, whole
from dpframe.query import Query, Search
from dpframe.releases.interval_tree import MOST_LEAVES
from dpframe.table import enumeration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.plan.setting import Setting

_NEEDED: Final = object()
_EXAMPLES: Final = {"columns": 2, "margin": 0.1}
_SURE: Final = 0.999999
_STATED: Final = 0.95  # the confidence of the theorem of a binary search
_METHODS: Final = ("auto", "tree", "binary_search")
_MOST_BINS: Final = 10**6
_GRID: Final = "values lie on the grid, and no interval cuts a cell"


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
            example = _EXAMPLES.get(name, 1000)
            raise ParameterError(msg, hint=f"pass {name}={example}, for example.")
    return found.promise(setting, **given)


def _count(setting: Setting, *, cells: object = 1) -> Promise:
    number = whole(cells, what="cells", least=1, most=MOST_POINTS)
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
    number = whole(bins, what="bins", least=1, most=_MOST_BINS)
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
        assumed=(NOISE, "values lie on the grid, and the error is one of ranks"),
    )


def _intervals(setting: Setting, *, points: object, method: object) -> Promise:
    """Return the promise of the method, or of the one whose error is known before."""
    number = _points(points)
    word = chosen(method, among=_METHODS, what="method")
    assumed = (NOISE, _GRID)
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
    return whole(points, what="points", least=2, most=MOST_POINTS)


@dataclass(frozen=True, kw_only=True)
class _Release:
    promise: Callable[..., Promise]
    words: Mapping[str, object] = field(default_factory=dict[str, object])


_RELEASES: Final[Mapping[str, _Release]] = {
    "cdf": _Release(promise=_cdf, words={"bins": _NEEDED}),
    "count": _Release(promise=_count),
    "halfspace_oracle": _Release(
        promise=halfspaces,
        words={"columns": _NEEDED, "margin": _NEEDED, "method": "auto", "label": False},
    ),
    "histogram": _Release(promise=_count, words={"cells": _NEEDED}),
    "mean": _Release(promise=_mean),
    "median": _Release(promise=_quantile, words={"points": _NEEDED}),
    "quantile": _Release(promise=_quantile, words={"points": _NEEDED, "q": MEDIAN}),
    "sum": _Release(promise=_sum),
    "synthetic_intervals": _Release(
        promise=_intervals, words={"points": _NEEDED, "method": "auto"}
    ),
}
