"""Expressions that run on every row of their dtypes, told without running them.

A condition or an arithmetic expression between numbers, truths and text takes no
pattern, format or option that could be wrong, so nothing is learned from trying it.
Everything that is not listed here is tried.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.proofs.polars.tree import (
    Node,
    head,
    is_loose,
    items,
    named_columns,
    pairs,
    reads,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LARGEST: Final = 2**31 - 1
_DTYPES: Final[dict[type[pl.DataType], str]] = {
    **dict.fromkeys(
        (
            *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32),
            *(pl.UInt64, pl.Float32, pl.Float64),
        ),
        "number",
    ),
    pl.Boolean: "truth",
    pl.String: "text",
    pl.Date: "day",
}
_INSTANTS: Final = frozenset({pl.Datetime("us"), pl.Datetime("ms")})
_COMPARISONS: Final = frozenset(
    {"Eq", "EqValidity", "Gt", "GtEq", "Lt", "LtEq", "NotEq", "NotEqValidity"}
)
_LOGIC: Final = frozenset({"And", "Or", "Xor", "LogicalAnd", "LogicalOr"})
_ARITHMETIC: Final = frozenset(
    {"Plus", "Minus", "Multiply", "TrueDivide", "FloorDivide", "Modulus"}
)
_TARGETS: Final = [{"Literal": name} for name in ("Int32", "Int64", "Float64")]
_LISTED: Final = frozenset(
    {pl.Int64(), pl.Float64(), pl.Boolean(), pl.String(), pl.Date(), *_INSTANTS}
)
_END_OF_STREAM: Final = b"\xff\xff\xff\xff" + bytes(4)
_PATTERN: Final = re.compile(
    r"\^?(?:(?:[\w ,:;@%=<>'\"/!-]|\.|\\[.dwsDWS])[*+?]?|\|){0,50}\$?"
)
"""Patterns of plain characters, any character, and classes, repeated or not."""
_FUNCTIONS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("Abs", "Floor", "Ceil"), ("number", "number")),
    **dict.fromkeys(
        ("Boolean.IsNan", "Boolean.IsNotNan", "Boolean.IsFinite", "Boolean.IsInfinite"),
        ("number", "truth"),
    ),
    "Boolean.Not": ("truth", "truth"),
    **dict.fromkeys(("StringExpr.Uppercase", "StringExpr.Lowercase"), ("text", "text")),
    **dict.fromkeys(("StringExpr.LenChars", "StringExpr.LenBytes"), ("text", "number")),
    **dict.fromkeys(
        (
            *("TemporalExpr.Year", "TemporalExpr.Quarter", "TemporalExpr.Month"),
            *("TemporalExpr.Week", "TemporalExpr.WeekDay", "TemporalExpr.Day"),
            "TemporalExpr.OrdinalDay",
        ),
        ("day", "number"),
    ),
    **dict.fromkeys(
        ("TemporalExpr.Hour", "TemporalExpr.Minute", "TemporalExpr.Second"),
        ("instant", "number"),
    ),
}
"""Functions of one argument: the kind that it takes, and the kind that it gives."""


def kind(node: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    """Return the kind of values of a proved tree; None where it has to be tried.

    Parameters
    ----------
    node : tree
        What the proof accepted.
    schema : mapping of str to pl.DataType
        The columns that it reads.

    Returns
    -------
    str or None
        ``"number"``, ``"truth"``, ``"text"``, ``"day"``, ``"instant"``, ``"null"``,
        or ``"other"`` for a column of another dtype.
    """
    name, body = head(node)
    told = _NODES.get(name)
    return None if told is None else told(body, schema)


def gives_no_floats(text: str, dtypes: Iterable[pl.DataType]) -> bool:
    """Return whether a tree of a known kind holds no float in any part.

    `text` is that of the tree, and `dtypes` are those of the columns that it reads.
    """
    made = "Float" in text or '"TrueDivide"' in text
    return not made and not any(dtype.is_float() for dtype in dtypes)


def _column(name: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    return _of_dtype(schema[name])


def _of_dtype(dtype: pl.DataType) -> str:
    return "instant" if dtype in _INSTANTS else _DTYPES.get(type(dtype), "other")


def _selector(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    names = named_columns({"Selector": body}) or []
    dtypes = {schema[name] for name in names if name in schema}
    found = {_of_dtype(dtype) for dtype in dtypes}
    return found.pop() if len(found) == 1 and schema.keys() >= set(names) else None


def _literal(body: Node, _: Mapping[str, pl.DataType]) -> str | None:
    name, value = head(head(body)[1])
    match name:
        case "Int" | "Int32" | "Int64":
            small = isinstance(value, int) and abs(value) <= _LARGEST
            return "number" if small else None
        case "Float" | "Float64":
            finite = isinstance(value, float) and math.isfinite(value)
            return "number" if finite else None
        case "Boolean":
            return "truth"
        case "Str" | "String":
            return "text"
        case "Date":
            return "day"
        case "Datetime":
            return "instant" if items(value)[2:] == [None] else None
        case "Null":
            return "null"
        case _:
            return None


def _alias(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    return kind(items(body)[0], schema)


def _renamed(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    return kind(body["expr"], schema)


def _operator(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    one, two = kind(body["left"], schema), kind(body["right"], schema)
    if one is None or one != two or one in {"other", "null"}:
        return None
    operator = body["op"]
    if operator in _COMPARISONS:
        return "truth"
    if operator in _LOGIC and one == "truth":
        return "truth"
    if operator not in _ARITHMETIC or one != "number" or _is_open(body):
        return None
    return "number"


def _is_open(body: Node) -> bool:
    """Return whether constants are computed first, or the left one sets the dtype."""
    left, right = body["left"], body["right"]
    return is_loose(left) or (head(right)[0] != "Literal" and not reads(right))


def _choice(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    if kind(body["predicate"], schema) != "truth":
        return None
    return _same(kind(body["truthy"], schema), kind(body["falsy"], schema))


def _is_whole(node: Node) -> bool:
    """Return whether a node is a whole number, or none, written out."""
    return head(head(head(node)[1])[1])[0] in {"Int", "Null"}


def _same(one: str | None, two: str | None) -> str | None:
    """Return the kind of values of two columns, one of which may be missing."""
    found = {one, two} - {"null"}
    return found.pop() if len(found) == 1 and "other" not in found else None


def _cast(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    suits = kind(body["expr"], schema) in {"number", "truth"}
    return "number" if suits and body["dtype"] in _TARGETS else None


def _function(body: Node, schema: Mapping[str, pl.DataType]) -> str | None:
    name, options = head(body["function"])
    if isinstance(options, str):
        name = f"{name}.{options}"
    elif options is not None:
        return _with_options(name, *head(options), items(body["input"]), schema)
    given = [kind(part, schema) for part in items(body["input"])]
    if not all(
        head(part)[0] == "Literal" or reads(part) for part in items(body["input"])
    ):
        return None
    match name:
        case "FillNull":
            return _same(*given) if len(given) == 2 else None  # noqa: PLR2004 - both
        case "StringExpr.Slice" | "StringExpr.Head" | "StringExpr.Tail":
            whole = all(_is_whole(part) for part in items(body["input"])[1:])
            return "text" if given[0] == "text" and whole else None
        case "StringExpr.StartsWith" | "StringExpr.EndsWith":
            return "truth" if given == ["text", "text"] else None
        case "Boolean.IsNull" | "Boolean.IsNotNull":
            return "truth" if given[0] not in {None, "null"} else None
        case "Boolean.AnyHorizontal" | "Boolean.AllHorizontal":
            return "truth" if {*given} == {"truth"} else None
        case _:
            takes, gives = _FUNCTIONS.get(name, ("", None))
            return gives if given == [takes] else None


def _with_options(
    family: str,
    name: str,
    options: Node,
    given: Sequence[Node],
    schema: Mapping[str, pl.DataType],
) -> str | None:
    """Return the kind of a function of two arguments, the second written out."""
    if len(given) != 2:  # noqa: PLR2004 - both
        return None
    first, value = given[0], head(head(given[1])[1])[1]
    match f"{family}.{name}":
        case "Boolean.IsIn":
            listed = _dtype_of_list(value)
            same = head(first)[0] == "Column" and schema[head(first)[1]] == listed
            text = listed == pl.String() and kind(first, schema) == "text"
            return "truth" if same or text else None
        case "StringExpr.Contains" if kind(first, schema) == "text":
            pattern = head(value)[1]
            plain = isinstance(pattern, str) and (
                pairs(options).get("literal") is True or _PATTERN.fullmatch(pattern)
            )
            return "truth" if plain else None
        case _:
            return None


def _dtype_of_list(value: Node) -> pl.DataType | None:
    """Return the dtype of the values of a list, if it is one that is plain."""
    name, listed = head(value)
    if name != "List":
        return None
    length = int.from_bytes(listed[4:8], "little")
    dtype = _dtype_of_stream(bytes(listed[: 8 + length]))
    return dtype if dtype in _LISTED else None


@lru_cache(maxsize=128)
def _dtype_of_stream(message: bytes) -> pl.DataType | None:
    """Return the dtype that the first message of an Arrow stream is about."""
    try:
        found = pl.read_ipc_stream(BytesIO(message + _END_OF_STREAM)).dtypes
    except (PolarsError, PanicException):
        return None
    return found[0] if len(found) == 1 else None


_NODES: Final[dict[str, Callable[[Node, Mapping[str, pl.DataType]], str | None]]] = {
    "Column": _column,
    "Selector": _selector,
    "Literal": _literal,
    "Alias": _alias,
    "KeepName": kind,
    "RenameAlias": _renamed,
    "BinaryExpr": _operator,
    "Ternary": _choice,
    "Cast": _cast,
    "Function": _function,
}
