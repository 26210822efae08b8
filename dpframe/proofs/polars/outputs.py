"""The outputs of a Polars expression one by one: what its selectors stand for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from dpframe.proofs.polars.aggregations import function_name, refuse
from dpframe.proofs.polars.tree import Node, head, items, pairs, parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SPREADING: Final = frozenset(
    {
        "MinHorizontal",
        "MaxHorizontal",
        "SumHorizontal",
        "MeanHorizontal",
        "Coalesce",
        "AsStruct",
        "Boolean.AnyHorizontal",
        "Boolean.AllHorizontal",
        "StringExpr.ConcatHorizontal",
        "StringExpr.Format",
        "ListExpr.Concat",
        "ArrayExpr.Concat",
    }
)
"""Functions that take the columns of a selector one beside the other."""


def singly(node: Node, names: Mapping[str, Sequence[str]]) -> Iterator[Node]:
    """Yield a tree for each of its outputs, with columns in place of selectors.

    Parameters
    ----------
    node : tree
        With selectors, or without.
    names : mapping
        The columns of each selector, by its JSON text.
    """
    yield from _each(_spread(node, names), names)


def _each(node: Node, names: Mapping[str, Sequence[str]]) -> Iterator[Node]:
    counts = {len(names[text]) for text in _selectors(node)}
    if len(counts) > 1:
        refuse(
            "It brings selections of different lengths together",
            node,
            "name the columns, in an expression for each.",
        )
    for place in range(counts.pop() if counts else 1):
        yield _nth(node, names, place)


def _spread(node: Node, names: Mapping[str, Sequence[str]]) -> Node:
    """Return a tree where selections that are lists of arguments are written out."""
    if isinstance(node, list):
        return [_spread(part, names) for part in items(node)]
    if not isinstance(node, dict):
        return node
    inner = {key: _spread(part, names) for key, part in pairs(node).items()}
    body = pairs(inner.get("Function"))
    if not body or function_name(body) not in _SPREADING:
        return inner
    flat = [part for given in items(body["input"]) for part in _each(given, names)]
    return {"Function": {**body, "input": flat}}


def _nth(node: Node, names: Mapping[str, Sequence[str]], place: int) -> Node:
    if _selects(node):
        return {"Column": names[json.dumps(node)][place]}
    if isinstance(node, list):
        return [_nth(part, names, place) for part in items(node)]
    if isinstance(node, dict):
        return {key: _nth(part, names, place) for key, part in pairs(node).items()}
    return node


def columns_read(node: Node) -> set[str]:
    """Return the columns that a tree reads by name."""
    if isinstance(node, dict) and "Column" in node:
        return {str(pairs(node)["Column"])}
    return {name for part in parts(node) for name in columns_read(part)}


def all_selectors(node: Node) -> list[str]:
    """Return the distinct selectors of a tree, lists of names too, as JSON text."""
    return list(dict.fromkeys(_selectors(node)))


def _selectors(node: Node) -> Iterator[str]:
    if _selects(node):
        yield json.dumps(node)
        return
    for part in parts(node):
        yield from _selectors(part)


def _selects(node: Node) -> bool:
    return isinstance(node, dict) and head(node)[0] == "Selector"


def names_stripped(node: Node) -> Node:
    """Return what is below all names that an expression was given."""
    name, body = head(node)
    if name == "Alias" and isinstance(body, list):
        return names_stripped(items(body)[0])
    if name == "KeepName":
        return names_stripped(body)
    if name == "RenameAlias" and "expr" in pairs(body):
        return names_stripped(pairs(body)["expr"])
    return node
