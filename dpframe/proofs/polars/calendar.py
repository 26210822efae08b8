"""Dates and instants made of whole numbers, some of which make none.

Polars fails on a thirteenth month, which would say what the data are. Here all parts
of what is no date are missing before Polars reads them, and then so is the date.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from dpframe.proofs.polars.tree import (
    Node,
    head,
    items,
    operation,
    pairs,
    rewritten,
)

_YEARS: Final = 98_000
"""Within the 100,000 years around 1970 that times are kept to."""
_LONG: Final = (1, 3, 5, 7, 8, 10, 12)
_RANGES: Final = (
    (-_YEARS, _YEARS),
    (1, 12),
    (1, 31),
    (0, 23),
    (0, 59),
    (0, 59),
    (0, 999_999),
)
"""Of the year, the month, the day, the hour, the minute and so on."""
_NULL: Final[Node] = {"Literal": {"Scalar": {"Null": "Null"}}}


def guard(node: Node) -> Node:
    """Return a proved tree in which no date is made of parts that make none.

    Years are between -98,000 and 98,000; the date is missing beyond.
    """
    return rewritten(node, _guarded)


def _guarded(inner: Node, before: Node) -> Node:
    name, body = head(before)
    function = pairs(body).get("function") if name == "Function" else None
    if head(head(function)[1])[0] != "DatetimeFunction":
        return inner
    *parts, ambiguous = items(inner["Function"]["input"])
    valid = _is_date(parts)
    held = [
        {"Ternary": {"predicate": valid, "truthy": part, "falsy": _NULL}}
        for part in parts
    ]
    return {"Function": {**inner["Function"], "input": [*held, ambiguous]}}


def _is_date(parts: list[Node]) -> Node:
    numbers = [_whole(part) for part in parts]
    within = [
        test
        for number, (low, high) in zip(numbers, _RANGES, strict=True)
        for test in (
            operation(number, "GtEq", _literal(low)),
            operation(number, "LtEq", _literal(high)),
        )
    ]
    year, month, day = numbers[:3]
    leap = _or(
        _and(_divides(year, 4), operation(_rest(year, 100), "NotEq", _literal(0))),
        _divides(year, 400),
    )
    february = operation(month, "Eq", _literal(2))
    fits = _or(
        operation(day, "LtEq", _literal(28)),
        _and(operation(day, "LtEq", _literal(29)), _or(_not(february), leap)),
        _and(operation(day, "LtEq", _literal(30)), _not(february)),
        _or(*(operation(month, "Eq", _literal(number)) for number in _LONG)),
    )
    return _and(*within, fits)


def _whole(part: Node) -> Node:
    return {
        "Cast": {"expr": part, "dtype": {"Literal": "Int64"}, "options": "NonStrict"}
    }


def _literal(number: int) -> Node:
    return {"Literal": {"Scalar": {"Int64": number}}}


def _and(*tests: Node) -> Node:
    return reduce(lambda one, two: operation(one, "And", two), tests)


def _or(*tests: Node) -> Node:
    return reduce(lambda one, two: operation(one, "Or", two), tests)


def _not(test: Node) -> Node:
    return {"Function": {"input": [test], "function": {"Boolean": "Not"}}}


def _rest(number: Node, divisor: int) -> Node:
    return operation(number, "Modulus", _literal(divisor))


def _divides(number: Node, divisor: int) -> Node:
    return operation(_rest(number, divisor), "Eq", _literal(0))
