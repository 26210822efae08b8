"""The proof that a Polars expression is row-local: an allow-list, and no exception.

Row-local means that the value in a row depends on that row alone, whatever other
rows there are, and that there is a value for every row. The whole tree is walked;
a node, a function, an option or a literal that is not listed is refused, and so
is whatever can fail on a value, since failing would say what the data are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dpframe.declare import no_such_column
from dpframe.errors import DPFrameError
from dpframe.proofs.polars.checks import Checks, is_fragile
from dpframe.proofs.polars.functions import (
    ARITHMETIC,
    FUNCTIONS,
    NAMESPACES,
    OPERATORS,
    ORDERINGS,
)
from dpframe.proofs.polars.parts import Parts, columns_named, refusal
from dpframe.proofs.polars.proved import Proved
from dpframe.proofs.polars.tree import Node, head, is_exact, items, pairs, write
from dpframe.proofs.polars.trial import try_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

_SCALARS: Final = frozenset(
    """
    Null Boolean String Binary Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64
    UInt128 Float16 Float32 Float64 Decimal Date Datetime Duration Time List Enum
    """.split()  # noqa: SIM905 - a table of words
)
_LITERALS: Final[Mapping[str, frozenset[str]]] = {
    "Dyn": frozenset({"Int", "Float", "Str"}),
    "Scalar": _SCALARS,
}
_RENAMERS: Final = frozenset(
    {"Prefix", "Suffix", "Replace", "ToLowercase", "ToUppercase"}
)
_UTC: Final = {"inner": "UTC"}
_LONGEST: Final = 8192
"""Longer texts, which may hold long lists of values, are not kept in memory."""


def prove(
    expr: pl.Expr, *, schema: Mapping[str, pl.DataType], text: str | None = None
) -> Proved:
    """Prove that an expression is row-local over columns of these dtypes.

    Parameters
    ----------
    expr : pl.Expr
        As the caller wrote it; selectors are among the columns of `schema`.
    schema : mapping of str to pl.DataType
        The visible columns.
    text : str, optional
        What it is serialised to, where that is known.

    Returns
    -------
    Proved
        What it may be run as.

    Raises
    ------
    NotProvedError
        If it is not shown to be row-local, or can fail on a value.
    ColumnNotFoundError
        If it reads a column that is not there.
    ParameterTypeError
        If Polars finds no dtype for a part of it.
    """
    text = write(expr) if text is None else text
    if text is None:
        raise refusal("AnonymousFunction", expr)
    asked = _Asked(text=text, columns=_columns(text, schema), expr=expr, schema=schema)
    if len(text) > _LONGEST or not is_exact(text):
        return _prove(asked)
    return _remembered(asked)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """An expression over columns; what is compared is all that the proof goes by."""

    text: str
    columns: tuple[tuple[str, pl.DataType | None], ...]
    expr: pl.Expr = field(compare=False)
    schema: Mapping[str, pl.DataType] = field(compare=False)


def _columns(
    text: str, schema: Mapping[str, pl.DataType]
) -> tuple[tuple[str, pl.DataType | None], ...]:
    """Return the columns that an expression may read; None for one not there."""
    names = columns_named(text)
    if names is None:
        return tuple(schema.items())  # in their order, which selectors may go by
    return tuple((name, schema.get(name)) for name in names)


def _prove(asked: _Asked) -> Proved:
    try:
        parts = Parts(asked.expr, asked.text, schema=asked.schema)
        walk = _Walk(parts=parts, checks=Checks(parts=parts, fragile=is_fragile(parts)))
        try:
            walk.walk(parts.tree)
        except DPFrameError:
            try_parts(walk.seen, parts)  # what comes first is told first
            raise
        proved = Proved(parts)
        if parts.selecting or proved.kind is None:
            proved.was_tried = try_parts(walk.seen, parts)
    except RecursionError:
        raise refusal("Deep", asked.expr) from None
    return proved


_remembered: Final = lru_cache(maxsize=128)(_prove)


@dataclass(frozen=True, kw_only=True)
class _Walk:
    """One walk over the tree of one expression."""

    parts: Parts
    checks: Checks
    seen: list[Node] = field(default_factory=list[Node])

    def walk(self, node: Node) -> bool:
        """Prove a part of the tree; return whether it reads a column."""
        name, body = head(node)
        step = _STEPS.get(name)
        if step is None:
            self.parts.refuse(name)
        reads = step(self, node, body)
        self.seen.append(node)
        return reads

    def column(self, _: Node, name: Node) -> bool:
        """Accept a visible column."""
        if not isinstance(name, str) or name not in self.parts.schema:
            raise no_such_column(str(name), self.parts.schema)
        return True

    def selector(self, _: Node, __: Node) -> bool:
        """Accept a selector, which finds visible columns only."""
        return True

    def literal(self, _: Node, body: Node) -> bool:
        """Accept a single value."""
        name, value = head(body)
        if head(value)[0] not in _LITERALS.get(name, ()):
            self.parts.refuse("Literal.Series" if name == "Series" else "Literal")
        return False

    def alias(self, _: Node, body: Node) -> bool:
        """Accept a name."""
        given = items(body)
        if len(given) != 2 or not isinstance(given[1], str):  # noqa: PLR2004 - and name
            self.parts.refuse("Alias")
        return self.walk(given[0])

    def kept_name(self, _: Node, body: Node) -> bool:
        """Accept the name of the column that is read."""
        return self.walk(body)

    def renamed(self, _: Node, body: Node) -> bool:
        """Accept a name that is made of the old one by no Python function."""
        given = self._given("RenameAlias", body, "function", "expr")
        if head(given["function"])[0] not in _RENAMERS:
            self.parts.refuse("AnonymousFunction")
        return self.walk(given["expr"])

    def choice(self, _: Node, body: Node) -> bool:
        """Accept a choice between two parts."""
        given = self._given("Ternary", body, "predicate", "truthy", "falsy")
        reads = [self.walk(part) for part in given.values()]
        self.checks.mixing([given["truthy"], given["falsy"]])
        return any(reads)

    def operator(self, _: Node, body: Node) -> bool:
        """Accept a listed operator."""
        given = self._given("BinaryExpr", body, "left", "op", "right")
        name, sides = given["op"], [given["left"], given["right"]]
        reads = [self.walk(side) for side in sides]
        if name not in OPERATORS:
            self.parts.refuse(str(name))
        if name in ARITHMETIC:
            self.checks.arithmetic(sides)
        else:
            self.checks.mixing(sides, compared=True)
        if name in ORDERINGS:
            self.checks.ordered(sides)
        if name == "TruncDivide":
            self.checks.whole(name, sides)
        return any(reads)

    def cast(self, node: Node, body: Node) -> bool:
        """Accept a cast that looks at one row and fails for none."""
        given = self._given("Cast", body, "expr", "dtype", "options")
        reads = self.walk(given["expr"])
        if given["options"] not in ("Strict", "NonStrict", "Overflowing"):
            self.parts.refuse("Cast")
        if head(given["dtype"])[0] != "Literal":
            self.parts.refuse("Cast")
        if reads:
            self.checks.cast(node)
        return reads

    def function(self, node: Node, body: Node) -> bool:
        """Accept a listed function with the arguments it may take."""
        given = self._given("Function", body, "input", "function")
        name, options = head(given["function"])
        if name in NAMESPACES:
            own, options = head(options)
            name = f"{name}.{own}"
        arguments = items(given["input"])
        if name == "ReplaceStrict":
            return self._replace_strict(arguments, options)
        if name == "StringExpr.Strptime":
            return self._strptime(arguments, options)
        rule = FUNCTIONS.get(name)
        if rule is None:
            self.parts.refuse(name)
        fits = options is None if rule.options is None else rule.options(options)
        if not fits or len(arguments) < rule.at_least:
            self.parts.refuse(name)
        reads = [self.walk(argument) for argument in arguments]
        if any(reads[rule.reading :]):
            self.parts.refuse("argument")
        if any(reads):
            self.checks.function(name, rule, arguments, node)
        return any(reads)

    def _strptime(self, arguments: Sequence[Node], options: Node) -> bool:
        name = "StringExpr.Strptime"
        parts = items(options)
        if len(parts) != 2 or len(arguments) != 2:  # noqa: PLR2004 - text, ambiguous
            self.parts.refuse(name)
        given = pairs(parts[1])
        if given.keys() != {"format", "strict", "exact", "cache"}:
            self.parts.refuse(name)
        literal, dtype = head(parts[0])
        sort, unit_and_zone = head(dtype)
        if given["strict"] is not False or not isinstance(given["format"], str):
            self.parts.refuse(name if sort == "Date" else f"{name}.{sort}")
        if literal != "Literal" or sort not in {"Date", "Datetime", "Time"}:
            self.parts.refuse(name)
        if sort == "Datetime" and items(unit_and_zone)[1:] not in ([None], [_UTC]):
            self.parts.refuse("Zone")
        if self.walk(arguments[1]):
            self.parts.refuse("argument")
        return self.walk(arguments[0])

    def _replace_strict(self, arguments: Sequence[Node], options: Node) -> bool:
        if len(arguments) != 4:  # noqa: PLR2004 - column, old, new, default
            self.parts.refuse("ReplaceStrict")
        reads = [self.walk(argument) for argument in arguments]
        given = pairs(options)
        if given.keys() != {"return_dtype"} or any(reads[1:3]):
            self.parts.refuse("argument")
        if given["return_dtype"] is not None and reads[3]:
            self.parts.refuse("ReplaceStrict")
        self.checks.mixing(arguments[2:])
        return any(reads)

    def _given(self, name: str, body: Node, *expected: str) -> dict[str, Node]:
        found = pairs(body)
        if found.keys() != {*expected}:
            self.parts.refuse(name)
        return {key: found[key] for key in expected}


_STEPS: Final[Mapping[str, Callable[[_Walk, Node, Node], bool]]] = {
    "Column": _Walk.column,
    "Selector": _Walk.selector,
    "Literal": _Walk.literal,
    "Alias": _Walk.alias,
    "KeepName": _Walk.kept_name,
    "RenameAlias": _Walk.renamed,
    "BinaryExpr": _Walk.operator,
    "Ternary": _Walk.choice,
    "Cast": _Walk.cast,
    "Function": _Walk.function,
}
