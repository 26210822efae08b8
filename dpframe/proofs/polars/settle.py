"""Float arithmetic that gives a row the same bits whatever rows are beside it.

Polars takes shortcuts that depend on how many rows a chunk has, and on whether a
column is constant in it: a division by a constant multiplies by its reciprocal,
except in a chunk of one row, and adding 0 keeps the sign of a zero or does not.
`x // 49` then says 0 or 1 of the same row. Here every float division becomes a
multiplication by the reciprocal, which is what Polars does with a constant, and a
zero loses its sign wherever the sign could be told: in a denominator, a power, an
angle and a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from dpframe.proofs.polars.tree import (
    Node,
    head,
    items,
    operation,
    pairs,
    reads,
    rewritten,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_DIVISIONS: Final = frozenset({"TrueDivide", "FloorDivide", "Modulus"})
_TELLING: Final = frozenset(
    {
        "Atan2",
        "Pow.Generic",
        "Trigonometry.Cot",
        "StringExpr.ConcatHorizontal",
        "StringExpr.Format",
    }
)
"""Functions that tell the sign of a zero."""
_WORDS: Final = frozenset(
    {*_DIVISIONS, *(name.rpartition(".")[2] for name in _TELLING)}
)
_TO_TEXT: Final = re.compile(r'"Literal":\s*"String"')


class MixedFloatsError(Exception):
    """A division gives several float dtypes at once."""


def settle(node: Node, dtypes: Callable[[Node], list[pl.DataType]]) -> Node:
    """Return a proved tree with its float arithmetic settled.

    Parameters
    ----------
    node : tree
        What the proof accepted.
    dtypes : callable
        The dtypes of a part of it.

    Raises
    ------
    MixedFloatsError
        If columns of several float dtypes are divided in one expression.
    """

    def change(inner: Node, before: Node) -> Node:
        name, body = head(before)
        if name == "BinaryExpr" and body["op"] in _DIVISIONS and reads(before):
            return _division(inner, before, dtypes)
        if name == "Cast" and _is_text(body):
            cast = pairs(inner["Cast"])
            unsigned = _unsigned(cast["expr"], body["expr"], dtypes)
            return {"Cast": {**cast, "expr": unsigned}}
        if name == "Function" and _function_name(body) in _TELLING:
            return _telling(inner, body, dtypes)
        return inner

    return rewritten(node, change)


def divides(text: str) -> bool:
    """Return whether the text of a tree may hold anything to settle."""
    return any(word in text for word in _WORDS) or bool(_TO_TEXT.search(text))


def _division(
    node: Node, before: Node, dtypes: Callable[[Node], list[pl.DataType]]
) -> Node:
    """Return a division by floats as a product, on every path the same."""
    found = dtypes(before)
    kinds = set(found)
    if not any(dtype.is_float() for dtype in kinds):
        return node
    if len(kinds) > 1:
        raise MixedFloatsError
    given = pairs(node["BinaryExpr"])
    width = "Float32" if isinstance(found[0], pl.Float32) else "Float64"
    above, below = (_as_float(given[side], width) for side in ("left", "right"))
    one = {"Literal": {"Scalar": {width: 1.0}}}
    right = pairs(before["BinaryExpr"])["right"]  # whole numbers have no signed zero
    safe = _unsigned(below, right, dtypes)
    inverse = operation(one, "TrueDivide", safe)
    quotient = operation(above, "Multiply", inverse)
    if given["op"] == "TrueDivide":
        return quotient
    whole = {"Function": {"input": [quotient], "function": "Floor"}}
    if given["op"] == "FloorDivide":
        return whole
    return operation(above, "Minus", operation(whole, "Multiply", below))


def _telling(
    node: Node, before: Node, dtypes: Callable[[Node], list[pl.DataType]]
) -> Node:
    function = pairs(node["Function"])
    given = zip(items(function["input"]), items(before["input"]), strict=True)
    arguments = [_unsigned(part, old, dtypes) for part, old in given]
    return {"Function": {**function, "input": arguments}}


def _unsigned(
    node: Node, before: Node, dtypes: Callable[[Node], list[pl.DataType]]
) -> Node:
    """Return floats that a column is read for, with zeros of one sign."""
    floats = reads(before) and any(dtype.is_float() for dtype in dtypes(before))
    return _without_sign(node) if floats else node


def _without_sign(node: Node) -> Node:
    zero = {"Literal": {"Dyn": {"Float": 0.0}}}
    return {"Function": {"input": [node, zero, zero], "function": "Replace"}}


def _as_float(node: Node, width: str) -> Node:
    return {"Cast": {"expr": node, "dtype": {"Literal": width}, "options": "NonStrict"}}


def _is_text(cast: Node) -> bool:
    return head(pairs(cast).get("dtype"))[1] == "String"


def _function_name(body: Node) -> str:
    name, options = head(pairs(body).get("function"))
    own = head(options)[0]
    joined = f"{name}.{own}"
    return joined if joined in _TELLING else name
