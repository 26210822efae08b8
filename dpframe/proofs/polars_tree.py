"""A Polars expression as the tree of plain data that it is serialised to.

Polars gives that tree no types; everything untyped about it stays in this file.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import polars as pl
from polars.exceptions import ComputeError

if TYPE_CHECKING:
    from collections.abc import Iterator

Node: TypeAlias = Any
"""Part of a tree: a mapping with one key, a list, text, a number, a truth, None."""


def read_tree(expr: pl.Expr) -> Node | None:
    """Return the tree of an expression; None where it holds a Python function.

    One too deep to be read is the single node ``Deep``.
    """
    try:
        return json.loads(expr.meta.serialize(format="json"))
    except (ComputeError, ValueError):
        return None
    except RecursionError:
        return "Deep"


def build(tree: Node) -> pl.Expr:
    """Return the expression of a tree.

    Infinite and NaN literals are lost in a tree: they become 0, which has their
    dtype. Compare `read_tree` of the result where the values matter.
    """
    return pl.Expr.deserialize(io.StringIO(json.dumps(_finite(tree))), format="json")


def pairs(node: Node) -> dict[str, Node]:
    """Return a mapping of the tree; anything else is empty."""
    return cast("dict[str, Node]", node) if isinstance(node, dict) else {}


def items(node: Node) -> list[Node]:
    """Return a list of the tree; anything else is empty."""
    return cast("list[Node]", node) if isinstance(node, list) else []


def head(node: Node) -> tuple[str, Node]:
    """Return the name of a node and what it holds.

    A node is a mapping with one key, or its bare name; anything else has no name.
    """
    if isinstance(node, str):
        return node, None
    found = pairs(node)
    return next(iter(found.items())) if len(found) == 1 else ("", None)


def strip_names(node: Node) -> Node:
    """Return what is below the new names an expression was given."""
    name, body = head(node)
    if name == "Alias" and len(items(body)) == 2:  # noqa: PLR2004 - expression, name
        return strip_names(items(body)[0])
    return node


def replace_selectors(node: Node, names: dict[str, list[str]]) -> Node:
    """Return the tree with selectors, given as JSON text, written out as names."""
    if _is_selector(node):
        listed = names[json.dumps(node)]
        return {"Selector": {"ByName": {"names": listed, "strict": True}}}
    if isinstance(node, dict):
        return {
            key: replace_selectors(value, names) for key, value in pairs(node).items()
        }
    return (
        [replace_selectors(part, names) for part in items(node)]
        if isinstance(node, list)
        else node
    )


def column_names(node: Node) -> set[str]:
    """Return the columns that a tree reads by name."""
    name, body = head(node)
    if name == "Column":
        return {str(body)}
    parts = (*pairs(node).values(), *items(node))
    return {found for part in parts for found in column_names(part)}


def selectors(node: Node) -> Iterator[str]:
    """Yield the selectors of a tree as JSON text, except lists of names."""
    if _is_selector(node):
        yield json.dumps(node)
        return
    for part in (*pairs(node).values(), *items(node)):
        yield from selectors(part)


def _is_selector(node: Node) -> bool:
    name, body = head(node)
    listed = pairs(head(body)[1])
    by_name = head(body)[0] == "ByName" and listed.get("strict") is True
    return name == "Selector" and isinstance(node, dict) and not by_name


def _finite(node: Node) -> Node:
    if isinstance(node, dict):
        return {
            key: 0.0
            if value is None and key in {"Float", "Float32", "Float64"}
            else _finite(value)
            for key, value in pairs(node).items()
        }
    return [_finite(part) for part in items(node)] if isinstance(node, list) else node
