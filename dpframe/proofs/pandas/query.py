"""Proof that a `query` string is row-local: parsed, and recorded like a callable.

pandas' own grammar, down to `&` and `|` standing for `and` and `or`; the string is
never handed to pandas or to Python to evaluate.
"""

# The stand-in for a column carries its operators dynamically.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import ast
import io
import tokenize
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpframe.errors import (
    DPFrameError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.proofs.pandas.accessor import RecordedAccessor, RecordedText, RecordedWeeks
from dpframe.proofs.pandas.column import RecordedColumn
from dpframe.proofs.pandas.kinds import literal_kind
from dpframe.proofs.pandas.rules import (
    ARITHMETIC,
    COMPARISONS,
    LOGIC,
    release_hint,
)
from dpframe.proofs.pandas.text import RecordedLists
from dpframe.public import Public
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dpframe.proofs.pandas.record import Schema
    from dpframe.proofs.pandas.recording import Recording

_LOCAL: Final = "__dpframe_local_"
_COLUMN: Final = "__dpframe_column_"
_LONGEST: Final = 10_000
"""Characters of a query; a deeper nesting would exhaust Python's own parser."""


def record_query(text: object, schema: Schema, names: Mapping[str, Any]) -> Recording:
    """Return what a query string asks of each row.

    Parameters
    ----------
    text : str
        The query, in pandas' grammar.
    schema : Schema
        The columns it may use.
    names : mapping
        What `@name` stands for: the caller's variables.

    Raises
    ------
    ParameterTypeError
        If it is no text, or gives no truth value.
    ParameterError
        If it cannot be parsed.
    NotProvedError
        If it uses anything that is not elementwise.
    """
    if not isinstance(text, str):
        msg = f"query takes text, not a {type(text).__name__}."
        raise ParameterTypeError(msg, hint="write frame[condition] for a callable.")
    parsed, columns = _parse(text)
    outcome = _Reader(schema, names, columns).read(parsed)
    if not isinstance(outcome, RecordedColumn):
        msg = f"query({text!r}) asks nothing of the rows."
        raise NotProvedError(msg, step="query", hint="compare a column with a value.")
    if outcome.recording.kind is not Kind.BOOLEAN:
        msg = f"query({text!r}) does not tell true from false."
        raise ParameterTypeError(msg)
    return outcome.recording


def _parse(text: str) -> tuple[ast.expr, dict[str, str]]:
    """Parse a query; backticked names are stood for by names that Python allows."""
    columns: dict[str, str] = {}
    if len(text) <= _LONGEST:
        try:
            quoted = "".join(_without_backticks(text.strip(), columns))
            tokens = tokenize.generate_tokens(io.StringIO(quoted).readline)
            plain = tokenize.untokenize(_as_python(tokens))
            return ast.parse(plain.strip(), mode="eval").body, columns
        except (SyntaxError, tokenize.TokenError, ValueError):
            pass
        except (RecursionError, MemoryError):
            pass
    msg = f"query({text[:80]!r}) is not an expression that can be read."
    raise ParameterError(msg)


def _without_backticks(text: str, columns: dict[str, str]) -> Iterator[str]:
    """Replace `names` outside quotes."""
    quote, name = "", None
    for letter in text:
        if name is not None:
            if letter == "`":
                key = f"{_COLUMN}{len(columns)}"
                columns[key] = "".join(name)
                name = None
                yield key
            else:
                name.append(letter)
        elif letter == "`" and not quote:
            name = list[str]()
        else:
            if letter in "'\"" and quote in ("", letter):
                quote = "" if quote else letter
            yield letter
    if name is not None:
        msg = "an unclosed backtick"
        raise ValueError(msg)


def _as_python(
    tokens: Iterator[tokenize.TokenInfo],
) -> Iterator[tuple[int, str]]:
    """Read `&` as and, `|` as or, and `@name` as a marked name."""
    local = False
    for token in tokens:
        kind, word = token.type, token.string
        if kind == tokenize.OP and word in {"&", "|"}:
            yield tokenize.NAME, "and" if word == "&" else "or"
        elif word == "@":
            local = True
        elif local:
            if kind != tokenize.NAME:
                msg = "@ without a name"
                raise ValueError(msg)
            local = False
            yield kind, f"{_LOCAL}{word}"
        elif word.startswith(_LOCAL):
            msg = "a reserved name"
            raise ValueError(msg)
        else:
            yield kind, word


_BINARY: Final[dict[type, Callable[..., Any]]] = {
    ast.Add: ARITHMETIC["+"],
    ast.Sub: ARITHMETIC["-"],
    ast.Mult: ARITHMETIC["*"],
    ast.Div: ARITHMETIC["/"],
    ast.FloorDiv: ARITHMETIC["//"],
    ast.Mod: ARITHMETIC["%"],
    ast.Pow: ARITHMETIC["**"],
}
_COMPARE: Final[dict[type, Callable[..., Any]]] = {
    ast.Eq: COMPARISONS["=="],
    ast.NotEq: COMPARISONS["!="],
    ast.Lt: COMPARISONS["<"],
    ast.LtE: COMPARISONS["<="],
    ast.Gt: COMPARISONS[">"],
    ast.GtE: COMPARISONS[">="],
}


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{
        name: getattr(np, name)
        for name in (
            *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh"),
            *("tanh", "arcsinh", "arccosh", "arctanh", "exp", "expm1", "log"),
            *("log1p", "log10", "sqrt", "floor", "ceil"),
        )
    },
    "abs": abs,
}
_OWNERS: Final = (RecordedColumn, RecordedAccessor, RecordedLists, RecordedWeeks)


class _Reader:
    """Reads a parsed query, node by node; a node that is not listed is refused."""

    def __init__(
        self, schema: Schema, names: Mapping[str, Any], columns: Mapping[str, str]
    ) -> None:
        self._schema = schema
        self._names = names
        self._columns = columns
        self._readers: dict[type, Callable[[Any], Any]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.List: self._list,
            ast.Tuple: self._list,
            ast.BoolOp: self._logic,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.Compare: self._compare,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Subscript: self._subscript,
        }

    def read(self, node: ast.expr) -> Any:
        reader = self._readers.get(type(node))
        if reader is None:
            raise _refused(type(node).__name__)
        try:
            return reader(node)
        except (DPFrameError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - between literals: 1 / 0, "a" - 1
            msg = f"query cannot compute {ast.unparse(node)}: {type(error).__name__}."
            raise ParameterError(msg) from None

    def _constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, (str, int, float, bool)):
            raise _refused(f"the constant {node.value!r}")
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if not node.id.startswith(_LOCAL):
            name = self._columns.get(node.id, node.id)
            return RecordedColumn(self._schema.column(name))
        name = node.id.removeprefix(_LOCAL)
        if name not in self._names:
            msg = f"query names @{name}, and there is no variable {name} here."
            near = get_close_matches(name, self._names, n=1)
            meant = f"did you mean @{near[0]}? Else " if near else ""
            hint = f"{meant}define {name}, or pass local_dict={{{name!r}: value}}."
            raise ParameterError(msg, hint=hint)
        value: Any = self._names[name]
        if isinstance(value, Public):
            value = value.__public_value__()
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        listed = isinstance(value, (list, tuple, set, frozenset, range))
        scalars: list[Any] = list(cast("list[Any]", value)) if listed else [value]
        if any(literal_kind(scalar) is None for scalar in scalars):
            msg = f"query takes @{name} as a public number, text, time or list of them."
            given = self._names[name]
            hint = release_hint(given) or f"it is a {type(given).__name__}."
            raise NotProvedError(msg, step="query", hint=hint)
        return scalars if listed else value

    def _list(self, node: ast.List | ast.Tuple) -> list[Any]:
        values = [self.read(each) for each in node.elts]
        if any(isinstance(value, RecordedColumn) for value in values):
            raise _refused("a list of columns")
        return values

    def _logic(self, node: ast.BoolOp) -> Any:
        joined = LOGIC["&"] if isinstance(node.op, ast.And) else LOGIC["|"]
        outcome, *others = [self._column(each, "and / or") for each in node.values]
        for other in others:
            outcome = joined(outcome, other)
        return outcome

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.read(node.operand)
        if isinstance(node.op, (ast.Not, ast.Invert)):
            return ~self._column(node.operand, "not")
        return -value if isinstance(node.op, ast.USub) else +value

    def _column(self, node: ast.expr, step: str) -> RecordedColumn:
        value = self.read(node)
        if not isinstance(value, RecordedColumn):
            msg = f"query uses {step} on {ast.unparse(node)}, which is no condition."
            raise NotProvedError(msg, step=step)
        return value

    def _binary(self, node: ast.BinOp) -> Any:
        operation = _BINARY.get(type(node.op))
        if operation is None:
            raise _refused(type(node.op).__name__)
        left, right = self.read(node.left), self.read(node.right)
        columns = [isinstance(side, RecordedColumn) for side in (left, right)]
        if isinstance(node.op, ast.Pow) and not any(columns):
            raise _refused("a power of two literals")
        if isinstance(left, list) or isinstance(right, list):
            raise _refused("arithmetic with a list")
        return operation(left, right)

    def _compare(self, node: ast.Compare) -> Any:
        parts = [node.left, *node.comparators]
        outcome: Any = None
        for operation, first, second in zip(node.ops, parts, parts[1:], strict=False):
            pair = self._pair(operation, self.read(first), self.read(second))
            outcome = pair if outcome is None else LOGIC["&"](outcome, pair)
        return outcome

    def _pair(self, operation: ast.cmpop, left: Any, right: Any) -> RecordedColumn:
        if not isinstance(left, RecordedColumn) and not isinstance(
            right, RecordedColumn
        ):
            raise _refused("a comparison of two literals")
        listed = isinstance(right, list)
        negative = isinstance(operation, (ast.NotIn, ast.NotEq))
        if isinstance(operation, (ast.In, ast.NotIn)) or (
            listed and isinstance(operation, (ast.Eq, ast.NotEq))
        ):
            if not listed or not isinstance(left, RecordedColumn):
                raise _refused("in without a list of public values")
            return ~left.isin(right) if negative else left.isin(right)
        compare = _COMPARE.get(type(operation))
        if compare is None or listed or isinstance(left, list):
            raise _refused(type(operation).__name__)
        return compare(left, right)

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.read(node.value)
        if node.attr.startswith("_") or node.attr == "recording":
            raise _refused(f".{node.attr}")
        if not isinstance(owner, _OWNERS):
            raise _refused(f".{node.attr} of a literal")
        return getattr(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        """Take letters or parts of text: `.str[0]`, `.str[1:3]`."""
        owner = self.read(node.value)
        if not isinstance(owner, (RecordedText, RecordedLists)):
            raise _refused(f"[...] of {ast.unparse(node.value)}")
        if not isinstance(node.slice, ast.Slice):
            return owner[self.read(node.slice)]
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        return owner[slice(*(None if p is None else self.read(p) for p in parts))]

    def _function(self, node: ast.Call) -> Any:
        """Apply a mathematical function to one column, as pandas' grammar has it."""
        name = getattr(node.func, "id", "")
        function = _FUNCTIONS.get(name)
        if function is None or len(node.args) != 1 or node.keywords:
            raise _refused(f"the function {ast.unparse(node.func)}")
        return function(self._column(node.args[0], name))

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name):
            return self._function(node)
        if not isinstance(node.func, ast.Attribute):
            raise _refused(f"the function {ast.unparse(node.func)}")
        if any(isinstance(each, ast.Starred) for each in node.args):
            raise _refused("* in a call")
        method = self.read(node.func)
        if isinstance(method, RecordedColumn):
            raise _refused(f"a call of {ast.unparse(node.func)}")
        args = [self.read(each) for each in node.args]
        options = {key.arg: self.read(key.value) for key in node.keywords if key.arg}
        if len(options) < len(node.keywords):
            raise _refused("** in a call")
        return method(*args, **options)


def _refused(what: str) -> NotProvedError:
    return NotProvedError(
        f"query does not know {what}.",
        step="query",
        hint=(
            "it knows columns, literals, @variables, comparisons, and/or/not, "
            "arithmetic, in [...], and the elementwise methods of columns."
        ),
    )
