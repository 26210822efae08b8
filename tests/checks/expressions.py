"""Every expression that Polars' API can make of a column, for sweeps.

Methods and functions are found by `dir`, so that those which a newer Polars adds are
swept as well.
"""

from __future__ import annotations

import datetime as dt
import inspect
import itertools
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARGUMENTS: dict[str, list[Any]] = {
    "other": [pl.col("n"), pl.col("f"), 0, 1, 49, 0.1, "a"],
    "value": [pl.col("n"), 1, "a"],
    "lower_bound": [0, pl.col("n")],
    "upper_bound": [5, pl.col("n")],
    "dtype": [pl.Float64, pl.String, pl.Int64, pl.Datetime("ns"), pl.Categorical],
    "every": ["1d", "1h", "1mo"],
    "by": ["1mo", pl.col("i")],
    "offset": [1, -1, pl.col("n")],
    "format": ["%Y-%m-%d"],
    "mapping": [{1: 2}],
    "exponent": [2, -1, 0.5, pl.col("n")],
    "pattern": ["a", pl.col("s")],
    "literal": [True],
    "strict": [False, True],
    "prefix": ["a", pl.col("k")],
    "suffix": ["a", pl.col("k")],
    "length": [3, pl.col("n")],
    "index": [0, -1, pl.col("n")],
    "indices": [[0]],
    "intervals": [[0, 1], 3],
    "labels": [False],
    "predicate": [pl.col("i") > 1],
    "window_size": [2, "1d"],
    "period": ["2d"],
    "index_column": ["t"],
    "time_zone": ["UTC", "Asia/Tokyo", None],
    "time_unit": ["ms", "ns"],
    "expr": [pl.element().rank(), pl.element() + 1],
    "fields": [["v"]],
    "names": [["v"]],
    "patterns": [["a"]],
    "replace_with": [["b"]],
    "encoding": ["hex", "base64"],
    "json_path": ["$.a"],
    "base": [10, 16],
    "old": [1, "a"],
    "new": [2, "b"],
    "default": [None, pl.col("n")],
    "null_on_oob": [True, False],
    "ambiguous": ["null", "raise"],
    "non_existent": ["null", "raise"],
    "n": [1, 2, pl.col("n")],
    "item": [1, "a"],
    "strategy": [None, "forward"],
    "time": [dt.time(2, 30), pl.col("q")],
    "signed": [True],
    "fractional": [True],
    "day": [31, 1],
}
OPTIONAL = {
    *("strict", "default", "null_on_oob", "ambiguous", "non_existent", "format", "day"),
    *(
        "fractional",
        "signed",
        "time_unit",
        "strategy",
        "value",
        "lower_bound",
        "upper_bound",
        "new",
    ),
}
SKIPPED = {"meta", "deserialize", "pipe", "inspect", "map_batches", "map_elements"}


def calls(column: pl.Expr) -> Iterator[pl.Expr]:
    """Yield what the methods of an expression give for plausible arguments."""
    for family in ("", "str", "dt", "list", "struct", "arr", "cat", "bin"):
        owner = getattr(column, family) if family else column
        for method in sorted({*dir(owner)} - SKIPPED):
            if not method.startswith("_") and callable(getattr(owner, method)):
                yield from _called(getattr(owner, method))


def _called(method: Callable[..., Any]) -> Iterator[pl.Expr]:
    parameters = [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
        and (parameter.default is parameter.empty or parameter.name in OPTIONAL)
    ]
    choices = [ARGUMENTS.get(parameter.name, [1, "a"]) for parameter in parameters]
    for chosen in itertools.islice(itertools.product(*choices), 5):
        given = list(zip(parameters, chosen, strict=True))
        args = [
            v for p, v in given if p.default is p.empty and p.kind != p.KEYWORD_ONLY
        ]
        named = {p.name: v for p, v in given if p.default is not p.empty}
        named |= {
            p.name: v
            for p, v in given
            if p.default is p.empty and p.kind == p.KEYWORD_ONLY
        }
        try:
            found = method(*args, **named)
        except (TypeError, ValueError, AttributeError, PolarsError):
            continue
        if isinstance(found, pl.Expr):
            yield found


def functions(columns: list[str]) -> Iterator[pl.Expr]:
    """Yield what Polars' free functions give for names, columns and literals."""
    named = [pl.col(name) for name in columns]
    given: list[tuple[Any, ...]] = [
        (),
        *((column,) for column in named),
        *((name,) for name in columns[:3]),
        *itertools.product(named[:6], [*named[:6], 1, "a", 0.5]),
        (1,),
        (0, 3),
        (named[:2],),
        ("{}-{}", *named[:2]),
        (lambda first, _: first, named[:2]),
        (0, lambda first, _: first, named[:2]),
    ]
    for name in sorted(dir(pl)):
        function = getattr(pl, name)
        if name.startswith(("_", "read_", "scan_")) or not inspect.isfunction(function):
            continue
        for args in given:
            yield from _outcome(function, args)


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[pl.Expr]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of functions on their way out
            found = function(*args)
    except Exception:  # noqa: BLE001 - not meant for these arguments
        return
    if isinstance(found, pl.Expr):
        yield found
