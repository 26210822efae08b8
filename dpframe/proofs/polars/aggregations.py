"""Which nodes of a Polars expression are figures of rows, and of what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from dpframe.errors import NotProvedError
from dpframe.proofs.polars.parts import step_text
from dpframe.proofs.polars.tree import Node, build, head, items, pairs, reads

if TYPE_CHECKING:
    from collections.abc import Mapping

_NULL: Final[Node] = {"Literal": {"Scalar": {"Null": "Null"}}}
_TRUE: Final[Node] = {"Literal": {"Scalar": {"Boolean": True}}}
_NAMES: Final = {"NUnique": "n_unique", "AggGroups": "agg_groups", "Len": "len"}
_FUNCTIONS: Final = {
    "NullCount": "null_count",
    "ApproxNUnique": "approx_n_unique",
    "ArgMin": "arg_min",
    "ArgMax": "arg_max",
    "MinBy": "min_by",
    "MaxBy": "max_by",
    "Correlation": "corr",
    "Boolean.HasNulls": "has_nulls",
    **{
        name: name.lower()
        for name in ("Product", "Mode", "Skew", "Kurtosis", "Entropy", "Quantile")
    },
}
_SKIPPING: Final = frozenset("count sum mean min max median any all".split())  # noqa: SIM905 - a table of words
"""Aggregates that pass over what is missing."""

RANKS: Final = {
    "Min": "min",
    "Max": "max",
    "Dense": "dense",
    "Average": "average",
}


def aggregation(node: Node) -> tuple[str, Node | None] | None:
    """Return the aggregate that a node is, and what it is taken of."""
    if node == "Len":
        return "len", None
    name, body = head(node)
    if name == "Agg":
        return _agg(node, *head(body))
    if name != "Function":
        return None
    given = items(pairs(body).get("input"))
    function = function_name(pairs(body))
    options = head(pairs(body).get("function"))[1]
    if function in ("Boolean.Any", "Boolean.All") and len(given) == 1:
        if head(options)[1] != {"ignore_nulls": True}:
            refuse(
                "A missing value decides it here",
                node,
                "leave ignore_nulls=False out, or fill what is missing first.",
            )
        return function.rpartition(".")[2].lower(), given[0]
    if function in _FUNCTIONS and given:
        return _FUNCTIONS[function], given[0]
    return None


def _agg(node: Node, variant: str, body: Node) -> tuple[str, Node]:
    options = pairs(body)
    inner = options.get("input", body)
    if variant in ("Min", "Max"):
        if options.get("propagate_nans") is not False:
            refuse(
                "NaN is a missing value here",
                node,
                f"use .{variant.lower()}(), or ask for .is_nan().any().",
            )
        return variant.lower(), inner
    if variant == "Count":
        return ("len" if options.get("include_nulls") is True else "count"), inner
    if isinstance(body, list):
        inner = items(body)[0]
    return _NAMES.get(variant, variant.lower()), inner


def without_missing(name: str, inner: Node) -> tuple[str, Node]:
    """Return an aggregate of kept values as one that passes over the others."""
    kind, body = head(inner)
    if kind == "Filter" and pairs(body).keys() == {"input", "by"}:
        value, condition = pairs(body)["input"], pairs(body)["by"]
        if name == "len" and head(value)[0] == "Column":
            kept = {"predicate": condition, "truthy": _TRUE, "falsy": _NULL}
            return "count", {"Ternary": kept}
        chosen = {"predicate": condition, "truthy": value, "falsy": _NULL}
        if name in _SKIPPING and reads(value):
            return name, {"Ternary": chosen}
    if kind == "Function" and pairs(body).get("function") in ("DropNulls", "DropNans"):
        value = items(pairs(body)["input"])[0]
        if name == "len" and pairs(body)["function"] == "DropNulls":
            return "count", value
        if name in _SKIPPING:
            return name, value
    return name, inner


def ranking(node: Node) -> tuple[Node, Mapping[str, Node]] | None:
    """Return what a node ranks, and its options."""
    name, body = head(node)
    if name != "Function":
        return None
    function, options = head(pairs(body).get("function"))
    given = items(pairs(body).get("input"))
    if function != "Rank" or len(given) != 1:
        return None
    return given[0], pairs(pairs(options).get("options"))


def function_name(body: Mapping[str, Node]) -> str:
    """Return the name of a function, after that of its family."""
    name, options = head(body.get("function"))
    own = head(options)[0]
    family = name in ("Boolean", "StringExpr", "ListExpr", "ArrayExpr")
    return f"{name}.{own}" if family else name


def refuse(fact: str, node: Node, hint: str) -> NoReturn:
    """Raise for a part of an expression: the fact, and what to write instead."""
    step = step_text(build(node))
    raise NotProvedError(f"{fact}: {step}.", step=step, hint=hint)
