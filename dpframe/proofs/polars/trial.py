"""Expressions tried on made-up rows, so that mistakes come up where they are written.

What an expression is given besides columns (a pattern, a format, a duration) is
checked by Polars only when it runs. What a condition keeps from all made-up rows
would not be tried at all; so its parts are tried by themselves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.proofs.polars.sample import sample_rows
from dpframe.proofs.polars.tree import (
    Node,
    build_text,
    finite_text,
    head,
    is_loose,
    items,
    pairs,
    reads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.proofs.polars.parts import Parts

_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "BinaryExpr": ("left", "right"),
    "Ternary": ("predicate", "truthy", "falsy"),
    "Cast": ("expr",),
    "Function": ("input",),
}
_OTHER_WORDS: Final = (
    *('"String', '"Date', '"Duration', '"Time', '"Cut"', '"Bin"', "Struct"),
)
_BRANCHES: Final = ("truthy", "falsy")
_PLAIN: Final = frozenset({"Column", "Selector", "Literal"})


def try_parts(nodes: Sequence[Node], parts: Parts) -> bool:
    """Refuse an expression of which a part fails on whatever values it is given.

    Returns whether every part runs, so that the whole needs no trial; else Polars
    says more of what is wrong there.

    What the arguments of a part are does not matter for that, only their dtypes do.
    A part is refused, too, that comes out in another dtype than Polars plans with:
    what is made of it was checked for the planned one. Beside a choice all parts are
    tried, since Polars runs a branch only where some row takes it.
    """
    choosing = '"Ternary"' in parts.text
    runs = True
    for node in nodes:
        name, body = head(node)
        given = [
            part for key in _ARGUMENTS.get(name, ()) for part in _listed(body[key])
        ]
        known = name == "BinaryExpr" and not choosing and _is_of_numbers(parts)
        if known and not any(map(is_loose, given)):
            runs = False
            continue
        if not given:
            continue
        found = _try_part(node, parts)
        plain = all(head(part)[0] in _PLAIN for part in given)
        if found is None and (choosing or not plain):
            parts.refuse("Values")
        if found is False:
            parts.refuse("Dtype")
        runs = runs and found is True
    return runs


def _is_of_numbers(parts: Parts) -> bool:
    """Return whether an expression only computes with numbers."""
    return not any(word in parts.text for word in _OTHER_WORDS) and all(
        dtype.is_numeric() or isinstance(dtype, pl.Boolean)
        for dtype in parts.read_dtypes
    )


def _try_part(node: Node, parts: Parts) -> bool | None:
    """Return whether a part gives the planned dtypes; None if it fails."""
    name, whole = head(node)
    body = pairs(whole)
    made_up: dict[str, pl.DataType] = {}

    def replaced(argument: Node, place: str) -> Node:
        found = set(parts.dtypes(argument) if reads(argument) else [])
        chosen = place in _BRANCHES and '"Ternary"' in finite_text(argument)
        if len(found) != 1 or chosen:  # a choice of constants is one itself
            made_up.update(parts.read if found else {})
            return argument
        column = f"__{len(made_up)}__"
        made_up[column] = found.pop()
        return {"Column": column}

    given = {
        key: [replaced(part, key) for part in items(body[key])]
        if isinstance(body[key], list)
        else replaced(body[key], key)
        for key in _ARGUMENTS[name]
    }
    return _as_planned(finite_text({name: {**body, **given}}), tuple(made_up.items()))


@lru_cache(maxsize=2048)
def _as_planned(text: str, schema: tuple[tuple[str, pl.DataType], ...]) -> bool | None:
    rows = sample_rows(dict(schema))
    try:
        expr = build_text(text)
        planned = rows.lazy().select(expr).collect_schema()
        tried = [rows, *_alike(schema)] if '"Ternary"' in text else [rows]
        return all(some.select(expr).schema == planned for some in tried)
    except (PolarsError, PanicException):
        return None


@lru_cache(maxsize=512)
def _alike(schema: tuple[tuple[str, pl.DataType], ...]) -> tuple[pl.DataFrame, ...]:
    """Return made-up rows that are all alike, for which a choice takes one branch."""
    rows = sample_rows(dict(schema))
    return tuple(rows[[place] * 2] for place in range(rows.height))


def _listed(part: Node) -> list[Node]:
    return items(part) if isinstance(part, list) else [part]
