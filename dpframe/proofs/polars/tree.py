"""A Polars expression as the tree of plain data that it is serialised to.

Polars gives that tree no types; everything untyped about it stays in this file.
"""

from __future__ import annotations

import io
import json
import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from uuid import uuid4

import polars as pl
from polars.exceptions import ComputeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_IN_ALL: Final = 127
_LOST: Final = re.compile(r'"(Float|Float32|Float64)":null')

LEAVES: Final = frozenset({"Column", "Literal", "Selector"})
"""Nodes that hold no further expressions."""

Node: TypeAlias = Any
"""Part of a tree: a mapping with one key, a list, text, a number, a truth, None."""


_FUNCTION: Final = '"AnonymousFunction":'
"""Cannot be part of a text literal, whose quotes are escaped."""


def write(expr: pl.Expr) -> str | None:
    """Return an expression as JSON text; None where it holds a Python function.

    Where cloudpickle is installed, Polars writes the function out, as a node.
    """
    try:
        text = expr.meta.serialize(format="json")
    except (ComputeError, ValueError):
        return None
    return None if _FUNCTION in text else text


def read_tree(text: str) -> Node:
    """Return the tree of an expression from its text.

    One too deep to be read is the single node ``Deep``.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return "Deep"


def build(tree: Node) -> pl.Expr:
    """Return the expression of a tree; compare its tree where the values matter.

    Infinite and NaN literals are lost in a tree: they become 0, which has their
    dtype.
    """
    return build_text(finite_text(tree))


def is_exact(text: str) -> bool:
    """Return whether the text of an expression holds all its numbers."""
    return _LOST.search(text) is None


def finite_text(tree: Node) -> str:
    """Return the text of a tree that an expression can be built of."""
    return _LOST.sub(r'"\1":0.0', _COMPACT.encode(tree))


def build_text(text: str) -> pl.Expr:
    """Return the expression of a text."""
    return pl.Expr.deserialize(io.StringIO(text), format="json")


def build_exactly(tree: Node) -> pl.Expr | None:
    """Return the expression of a tree with all its numbers; None if Polars cannot.

    Polars reads some decimal texts one bit off, and no infinite ones.
    """
    exact = _built(_COMPACT.encode(tree), tree)
    if exact is not None:
        return exact
    marks: dict[str, str] = {}
    text = json.dumps(_marked(tree, uuid4().hex, marks))
    for mark, number in marks.items():
        text = text.replace(f'"{mark}"', number)
    return _built(text, tree)


def _built(text: str, tree: Node) -> pl.Expr | None:
    """Return the expression of a text if its tree is this one."""
    try:
        expr = build_text(text)
    except ComputeError:
        return None
    found = expr.meta.serialize(format="json")
    return expr if found == text or read_tree(found) == tree else None


def _tree_of(expr: pl.Expr) -> Node:
    return read_tree(expr.meta.serialize(format="json"))


def _marked(node: Node, token: str, marks: dict[str, str]) -> Node:
    """Return a tree with its floats replaced by marks, noting their exact texts."""
    if isinstance(node, float):
        mark = f"{token}{len(marks)}"
        marks[mark] = _exact_text(node) if node else repr(node)  # -0.0 == 0.0
        return mark
    if isinstance(node, dict):
        return {key: _marked(part, token, marks) for key, part in pairs(node).items()}
    if isinstance(node, list):
        return [_marked(part, token, marks) for part in items(node)]
    return node


@lru_cache(maxsize=4096)
def _exact_text(number: float) -> str:
    """Return a decimal text that Polars reads as this very number."""
    exact = Decimal(number)
    ulp = Decimal(math.ulp(number))
    tries = [exact + ulp * Decimal(step) / 16 for step in range(-24, 25)]
    for text in (repr(number), *(f"{found:.18e}" for found in tries)):
        read = _tree_of(build_text(f'{{"Literal":{{"Dyn":{{"Float":{text}}}}}}}'))
        if head(head(head(read)[1])[1])[1] == number:
            return text
    return repr(number)


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
    if isinstance(node, dict):
        found = cast("dict[str, Node]", node)
        return next(iter(found.items())) if len(found) == 1 else ("", None)
    return (node, None) if isinstance(node, str) else ("", None)


def operation(left: Node, op: str, right: Node) -> Node:
    """Return the node of an operator between two parts."""
    return {"BinaryExpr": {"left": left, "op": op, "right": right}}


def strip_names(node: Node) -> Node:
    """Return what is below the new names an expression was given."""
    name, body = head(node)
    if name == "Alias" and len(items(body)) == 2:  # noqa: PLR2004 - expression, name
        return strip_names(items(body)[0])
    return node


def replace_selectors(node: Node, names: Mapping[str, Sequence[str]]) -> Node:
    """Return the tree with selectors, given as JSON text, written out as names."""
    if _is_selector(node):
        listed = [*names[json.dumps(node)]]
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


def rewritten(node: Node, change: Callable[[Node, Node], Node]) -> Node:
    """Return a tree that was changed from its leaves up.

    `change` takes each node that holds others: with its parts changed, and as it was.
    """
    if isinstance(node, list):
        return [rewritten(part, change) for part in items(node)]
    if head(node)[0] in LEAVES or not pairs(node):
        return node
    inner = {key: rewritten(part, change) for key, part in pairs(node).items()}
    return change(inner, node)


def parts(node: Node) -> Iterable[Node]:
    """Return what a node of an expression holds; a literal holds nothing more."""
    if isinstance(node, dict):
        return () if "Literal" in node else pairs(node).values()
    return items(node)


def reads(node: Node) -> bool:
    """Return whether a tree reads a column."""
    if isinstance(node, dict) and ("Column" in node or "Selector" in node):
        return True
    return any(map(reads, parts(node)))


def is_loose(node: Node) -> bool:
    """Return whether a part is a constant for which Polars may find another dtype.

    Whole numbers that are in every whole dtype keep that of what is beside them.
    """
    name, body = head(node)
    if name in {"Column", "Selector"}:
        return False
    if name != "Literal":
        return not reads(node)
    sort, value = head(head(body)[1])
    if sort == "Null":
        return True
    return head(body)[0] == "Dyn" and sort == "Int" and not 0 <= value <= _IN_ALL


def selectors(node: Node) -> Iterator[str]:
    """Yield the selectors of a tree as JSON text, except lists of names."""
    if _is_selector(node):
        yield json.dumps(node)
        return
    for part in parts(node):
        yield from selectors(part)


def named_columns(node: Node) -> list[str] | None:
    """Return the columns that a list of names stands for; None of another node."""
    name, body = head(node)
    found = pairs(head(body)[1])
    if name != "Selector" or _is_selector(node) or found.keys() != {"names", "strict"}:
        return None
    return [str(listed) for listed in items(found["names"])]


def _is_selector(node: Node) -> bool:
    if "Selector" not in pairs(node) or len(node) != 1:
        return False
    name, body = head(node["Selector"])
    return name != "ByName" or pairs(body).get("strict") is not True
