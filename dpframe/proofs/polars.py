"""The proof that a Polars expression is row-local: an allow-list, and no exception.

Row-local means that the value in a row depends on that row alone, whatever other
rows there are, and that there is a value for every row. The whole tree is walked;
a node, a function, an option or a literal that is not listed is refused, and so
is whatever can fail on a value, since failing would say what the data are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.declare import no_such_column
from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.proofs.polars_calendar import MixedTimesError, is_short, keep
from dpframe.proofs.polars_casts import cast_is_local, cast_never_fails
from dpframe.proofs.polars_functions import (
    ARITHMETIC,
    FUNCTIONS,
    NAMESPACES,
    OPERATORS,
    Rule,
)
from dpframe.proofs.polars_hints import reason
from dpframe.proofs.polars_sample import sample_rows
from dpframe.proofs.polars_settle import MixedFloatsError, divides, settle
from dpframe.proofs.polars_tree import (
    Node,
    build,
    build_exactly,
    column_names,
    head,
    items,
    pairs,
    read_tree,
    replace_selectors,
    selectors,
    selects,
    strip_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SCALARS: Final = frozenset(
    """
    Null Boolean String Binary Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64
    UInt128 Float16 Float32 Float64 Decimal Date Datetime Duration Time List Enum
    """.split()  # noqa: SIM905 - a table of words
)
_RENAMERS: Final = frozenset(
    {"Prefix", "Suffix", "Replace", "ToLowercase", "ToUppercase"}
)
_DYNAMIC: Final = re.compile(r"dyn (int|float|str): ")
_FRAGILE_WORDS: Final = (
    *("Decimal", "List", "Array", "Struct", "Split", "Extract", "Nanoseconds"),
    *("include_breaks", "include_intervals", '"Binary"', "HexDecode", "Base64Decode"),
)
_WIDEST: Final = frozenset({pl.Int128(), pl.UInt128()})
_SHIFTS: Final = frozenset(
    {"TemporalExpr.OffsetBy", "TemporalExpr.Truncate", "TemporalExpr.Round"}
)
_OTHER_WORDS: Final = (
    *('"String', '"Date', '"Duration', '"Time', '"Cut"', '"Bin"', "Struct"),
)
_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "BinaryExpr": ("left", "right"),
    "Ternary": ("predicate", "truthy", "falsy"),
    "Cast": ("expr",),
    "Function": ("input",),
}
_PLAIN: Final = frozenset({"Column", "Selector", "Literal"})
_UTC: Final = {"inner": "UTC"}
_LARGEST_EXPONENT: Final = 2**32 - 1


def prove(expr: pl.Expr, *, schema: Mapping[str, pl.DataType]) -> None:
    """Prove that an expression is row-local over columns of these dtypes.

    Parameters
    ----------
    expr : pl.Expr
        As the caller wrote it; selectors are among the columns of `schema`.
    schema : mapping of str to pl.DataType
        The visible columns.

    Raises
    ------
    NotProvedError
        If it is not shown to be row-local, or can fail on a value.
    ColumnNotFoundError
        If it reads a column that is not there.
    ParameterTypeError
        If Polars finds no dtype for a part of it.
    """
    step = step_text(expr)
    tree = read_tree(expr)
    if tree is None:
        raise _refusal("AnonymousFunction", step)
    try:
        fragile = _is_fragile(tree, schema)
        _Proof(
            schema=schema,
            step=step,
            fragile=fragile,
            plain=_is_plain(tree, schema),
            rows=sample_rows(schema),
        ).walk(tree)
    except RecursionError:
        raise _refusal("Deep", step) from None


def expand(expr: pl.Expr, *, schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return a proved expression as it is run: bound and settled.

    Its selectors are bound to the visible columns: the frame that it runs on holds
    one more, `UNIT`, that they could take in. Its float arithmetic is settled, so
    that a row comes out with the same bits whatever rows are beside it, and its
    times are kept within the calendar, so that no row makes it fail.

    Raises
    ------
    NotProvedError
        If Polars cannot rebuild the expression exactly.
    """
    tree = read_tree(expr)
    names = {found: _selected(found, schema) for found in selectors(tree)}
    bound = replace_selectors(tree, names)
    step = step_text(expr)
    frame = sample_rows(schema)

    def dtypes(part: Node) -> list[pl.DataType]:
        return frame.select(build(part)).collect_schema().dtypes()

    try:
        if _has_times(bound, schema):
            bound = keep(bound, dtypes)
        if divides(bound):
            bound = settle(bound, dtypes)
        if bound == tree:
            return expr
        rebuilt = build_exactly(bound)
        same = rebuilt is not None and (
            frame.select(rebuilt).collect_schema()
            == frame.select(expr).collect_schema()
        )
    except (MixedFloatsError, MixedTimesError, PolarsError, RecursionError):
        raise _refusal("Unsettled", step) from None
    if rebuilt is None or not same:
        raise _refusal("Unsettled", step)
    return rebuilt


def plain_columns(expr: pl.Expr, outputs: Sequence[str]) -> dict[str, str]:
    """Return which outputs are a column as it is, perhaps renamed, and of which."""
    name, body = head(strip_names(read_tree(expr)))
    if name == "Column" and len(outputs) == 1:
        return {outputs[0]: str(body)}
    if head(read_tree(expr))[0] == "Selector":
        return {output: output for output in outputs}
    return {}


def step_text(expr: pl.Expr) -> str:
    """Return an expression as Polars prints it, on one line."""
    return _DYNAMIC.sub("", " ".join(str(expr).split()))


def _selected(selector: str, schema: Mapping[str, pl.DataType]) -> list[str]:
    chosen = sample_rows(schema).select(build(json.loads(selector)))
    return chosen.collect_schema().names()


@dataclass(frozen=True, kw_only=True)
class _Proof:
    """One walk over the tree of one expression."""

    schema: Mapping[str, pl.DataType]
    step: str
    fragile: bool
    plain: bool
    rows: pl.LazyFrame

    def walk(self, node: Node) -> bool:
        """Prove a part of the tree; return whether it reads a column."""
        name, body = head(node)
        steps: dict[str, Callable[[Node], bool]] = {
            "Column": self._column,
            "Selector": lambda _: True,
            "Literal": self._literal,
            "Alias": self._alias,
            "KeepName": self.walk,
            "RenameAlias": self._renamed,
            "BinaryExpr": self._operator,
            "Ternary": self._choice,
            "Cast": self._cast,
            "Function": self._function,
        }
        if name not in steps:
            self._refuse(name)
        reads = steps[name](body)
        if reads and name in _ARGUMENTS and not (name == "BinaryExpr" and self.plain):
            self._try_on_values(name, pairs(body))
        return reads

    def _try_on_values(self, name: str, body: dict[str, Node]) -> None:
        """Refuse a part that fails on whatever values of the dtypes it reads.

        The trial of the whole step does not show it where a condition in the step
        keeps the made-up values from the part.
        """
        given, schema = dict(body), dict(self.schema)

        def made_up(argument: Node) -> Node:
            found = self._dtypes(argument) if _reads(argument) else []
            if len(found) != 1:
                return argument
            column = f"__{len(schema)}__"
            schema[column] = found[0]
            return {"Column": column}

        parts = [part for key in _ARGUMENTS[name] for part in _listed(body[key])]
        if all(head(part)[0] in _PLAIN for part in parts):
            return
        for key in _ARGUMENTS[name]:
            part = body[key]
            many = isinstance(part, list)
            given[key] = [made_up(p) for p in items(part)] if many else made_up(part)
        try:
            sample_rows(schema).select(build({name: given})).collect()
        except (PolarsError, PanicException):
            self._refuse("Values")

    def _column(self, name: Node) -> bool:
        if not isinstance(name, str) or name not in self.schema:
            raise no_such_column(str(name), self.schema)
        return True

    def _literal(self, body: Node) -> bool:
        kind, value = head(body)
        known = {"Dyn": {"Int", "Float", "Str"}, "Scalar": _SCALARS}.get(kind, set())
        if head(value)[0] not in known:
            self._refuse("Literal.Series" if kind == "Series" else "Literal")
        return False

    def _alias(self, body: Node) -> bool:
        parts = items(body)
        if len(parts) != 2 or not isinstance(parts[1], str):  # noqa: PLR2004 - and name
            self._refuse("Alias")
        return self.walk(parts[0])

    def _renamed(self, body: Node) -> bool:
        parts = self._parts("RenameAlias", body, "function", "expr")
        if head(parts["function"])[0] not in _RENAMERS:
            self._refuse("AnonymousFunction")
        return self.walk(parts["expr"])

    def _choice(self, body: Node) -> bool:
        parts = self._parts("Ternary", body, "predicate", "truthy", "falsy")
        reads = [self.walk(part) for part in parts.values()]
        self._check_mixing([parts["truthy"], parts["falsy"]])
        return any(reads)

    def _operator(self, body: Node) -> bool:
        parts = self._parts("BinaryExpr", body, "left", "op", "right")
        operator, sides = parts["op"], [parts["left"], parts["right"]]
        reads = [self.walk(side) for side in sides]
        if operator not in OPERATORS:
            self._refuse(str(operator))
        if operator not in ARITHMETIC:
            self._check_mixing(sides, dates=False)
        elif self.fragile:
            for dtype in (*self._dtypes(sides[0]), *self._dtypes(sides[1])):
                if dtype.is_decimal() or dtype.is_nested():
                    self._refuse("Decimal" if dtype.is_decimal() else "Nested")
        if operator == "TruncDivide" and any(
            dtype.is_float() for side in sides for dtype in self._dtypes(side)
        ):
            self._refuse(operator)
        return any(reads)

    def _cast(self, body: Node) -> bool:
        parts = self._parts("Cast", body, "expr", "dtype", "options")
        reads = self.walk(parts["expr"])
        if parts["options"] not in ("Strict", "NonStrict", "Overflowing"):
            self._refuse("Cast")
        if head(parts["dtype"])[0] != "Literal":
            self._refuse("Cast")
        if not reads:
            return False
        sources = self._dtypes(parts["expr"])
        targets = self._dtypes({"Cast": parts})
        for source, target in zip(sources, targets, strict=True):
            if not cast_is_local(source, target):
                categorical = isinstance(source, pl.Categorical) or isinstance(
                    target, pl.Categorical
                )
                self._refuse("Cast.Categorical" if categorical else "Cast")
            if parts["options"] == "Strict" and not cast_never_fails(source, target):
                self._refuse("Cast.Strict")
            if parts["options"] == "Overflowing" and not (
                source.is_integer() and target.is_integer()
            ):
                self._refuse("Cast")
        return True

    def _function(self, body: Node) -> bool:
        parts = self._parts("Function", body, "input", "function")
        name, options = head(parts["function"])
        if name in NAMESPACES:
            own, options = head(options)
            name = f"{name}.{own}"
        arguments = items(parts["input"])
        if name == "ReplaceStrict":
            return self._replace_strict(arguments, options)
        if name == "StringExpr.Strptime":
            return self._strptime(arguments, options)
        rule = FUNCTIONS.get(name)
        if rule is None:
            self._refuse(name)
        self._check_options(name, rule, options)
        if len(arguments) < rule.at_least:
            self._refuse(name)
        reads = [self.walk(argument) for argument in arguments]
        if any(reads[rule.reading :]):
            self._refuse("argument")
        if any(reads):
            self._check_dtypes(name, rule, arguments, options)
        return any(reads)

    def _check_options(self, name: str, rule: Rule, options: Node) -> None:
        fits = options is None if rule.options is None else rule.options(options)
        if not fits:
            self._refuse(name)

    def _check_dtypes(
        self, name: str, rule: Rule, arguments: Sequence[Node], options: Node
    ) -> None:
        if rule.mixing:
            self._check_mixing(arguments)
        self._check_calendar(name, rule, arguments)
        self._check_values(name, arguments)
        match name:
            case "Reinterpret":
                self._check_no_floats(arguments[0])
            case "Clip":
                self._check_bounds(arguments)
            case "Pow.Generic":
                self._power(*arguments[:2])
            case "Boolean.IsIn" if head(arguments[1])[0] != "Literal":
                self._refuse(name)
            case "TemporalExpr.CastTimeUnit":
                self._time_unit(arguments, options)
            case "TemporalExpr.ReplaceTimeZone":
                self._replace_zone(options, arguments[1])
            case _:
                pass

    def _check_no_floats(self, argument: Node) -> None:
        if any(dtype.is_float() for dtype in self._dtypes(argument)):
            self._refuse("Reinterpret")

    def _check_values(self, name: str, arguments: Sequence[Node]) -> None:
        """Refuse dtypes of which some values do not fit what is made of them."""
        match name:
            case "SumHorizontal" | "RoundSF":
                self._check_no_decimals(arguments)
            case "TemporalExpr.Duration":
                self._check_lengths(arguments)
            case "StringExpr.Format" | "StringExpr.ConcatHorizontal":
                self._check_written(arguments)
            case _:
                pass

    def _check_written(self, arguments: Sequence[Node]) -> None:
        if any(_is_opaque(dtype) for part in arguments for dtype in self._dtypes(part)):
            self._refuse("Nested")

    def _check_lengths(self, arguments: Sequence[Node]) -> None:
        """Refuse numbers of days, hours and so on that may not fit 64 bits."""
        found = [d for part in arguments if _reads(part) for d in self._dtypes(part)]
        if not all(d.is_float() or cast_never_fails(d, pl.Int64()) for d in found):
            self._refuse("Cast.Strict")

    def _check_no_decimals(self, arguments: Sequence[Node]) -> None:
        if any(d.is_decimal() for part in arguments for d in self._dtypes(part)):
            self._refuse("Decimal")

    def _time_unit(self, arguments: Sequence[Node], options: Node) -> None:
        function = {"TemporalExpr": {"CastTimeUnit": options}}
        after = self._dtypes({"Function": {"input": arguments, "function": function}})
        if not all(map(cast_never_fails, self._dtypes(arguments[0]), after)):
            self._refuse("TemporalExpr.CastTimeUnit")

    def _check_calendar(self, name: str, rule: Rule, arguments: Sequence[Node]) -> None:
        if not rule.zoned and any(map(_is_zoned, self._dtypes(arguments[0]))):
            self._refuse("Zone")
        if name in _SHIFTS:
            words = _text(arguments[1])
            if words is None or not is_short(words):
                self._refuse("Calendar")

    def _check_bounds(self, arguments: Sequence[Node]) -> None:
        """Refuse columns as bounds that the clipped column may not hold."""
        for bound in arguments[1:]:
            if head(bound)[0] != "Literal" and not all(
                cast_never_fails(limit, dtype)
                for limit in self._dtypes(bound)
                for dtype in self._dtypes(arguments[0])
            ):
                self._refuse("Cast.Strict")

    def _power(self, base: Node, exponent: Node) -> None:
        kind, value = head(exponent)
        number = head(head(value)[1])[1] if kind == "Literal" else None
        whole = isinstance(number, int) and 0 <= number <= _LARGEST_EXPONENT
        floats = any(
            dtype.is_float()
            for part in (base, exponent)
            for dtype in self._dtypes(part)
        )
        if kind != "Literal" or not (whole or floats):
            self._refuse("Pow.Generic")

    def _replace_zone(self, options: Node, ambiguous: Node) -> None:
        if len(items(options)) != 2:  # noqa: PLR2004 - zone, what to do without one
            self._refuse("TemporalExpr.ReplaceTimeZone")
        zone, missing = items(options)
        if zone is None or zone == _UTC:
            return
        if missing != "Null" or _text(ambiguous) not in {"earliest", "latest", "null"}:
            self._refuse("TemporalExpr.ReplaceTimeZone")

    def _strptime(self, arguments: Sequence[Node], options: Node) -> bool:
        parts = items(options)
        if len(parts) != 2 or len(arguments) != 2:  # noqa: PLR2004 - text, ambiguous
            self._refuse("StringExpr.Strptime")
        given = pairs(parts[1])
        if given.keys() != {"format", "strict", "exact", "cache"}:
            self._refuse("StringExpr.Strptime")
        if given["strict"] is not False or not isinstance(given["format"], str):
            self._refuse("StringExpr.Strptime")
        literal, dtype = head(parts[0])
        kind, unit_and_zone = head(dtype)
        if literal != "Literal" or kind not in {"Date", "Datetime", "Time"}:
            self._refuse("StringExpr.Strptime")
        if kind == "Datetime" and items(unit_and_zone)[1:] not in ([None], [_UTC]):
            self._refuse("Zone")
        if self.walk(arguments[1]):
            self._refuse("argument")
        return self.walk(arguments[0])

    def _replace_strict(self, arguments: Sequence[Node], options: Node) -> bool:
        if len(arguments) != 4:  # noqa: PLR2004 - column, old, new, default
            self._refuse("ReplaceStrict")
        reads = [self.walk(argument) for argument in arguments]
        given = pairs(options)
        if given.keys() != {"return_dtype"} or any(reads[1:3]):
            self._refuse("argument")
        if given["return_dtype"] is not None and reads[3]:
            self._refuse("ReplaceStrict")
        self._check_mixing(arguments[2:])
        return any(reads)

    def _check_mixing(self, parts: Sequence[Node], *, dates: bool = True) -> None:
        """Refuse columns that Polars would bring to a dtype that may not hold them."""
        if not self.fragile:
            return
        found = [dtype for part in parts for dtype in self._dtypes(part)]
        if sum(head(part)[0] != "Literal" for part in parts) > 1 and any(
            dtype.is_decimal() and dtype != other for dtype in found for other in found
        ):
            self._refuse("Decimal")
        if any(dtype.is_decimal() for dtype in found) and _WIDEST & set(found):
            self._refuse("Decimal")
        read = [d for part in parts if _reads(part) for d in self._dtypes(part)]
        if any(map(_is_opaque, read)) and len({*found} - {pl.Null()}) > 1:
            self._refuse("Nested")
        if any(isinstance(dtype, pl.String) for dtype in found) and any(
            dtype.is_float() for dtype in found
        ):
            self._refuse("Text")
        if (
            dates
            and any(isinstance(dtype, pl.Date) for dtype in found)
            and any(map(_in_nanoseconds, found))
        ):
            self._refuse("Nanoseconds")

    def _dtypes(self, node: Node) -> list[pl.DataType]:
        try:
            part = build(node)
        except PolarsError:
            self._refuse("Deep")
        try:
            return self.rows.select(part).collect_schema().dtypes()
        except PolarsError as error:
            msg = f"Polars finds no dtype for a part of {self.step}."
            raise ParameterTypeError(msg, hint=first_line(error)) from None

    def _parts(self, name: str, body: Node, *expected: str) -> dict[str, Node]:
        found = pairs(body)
        if tuple(sorted(found)) != tuple(sorted(expected)):
            self._refuse(name)
        return {key: found[key] for key in expected}

    def _refuse(self, what: str) -> NoReturn:
        raise _refusal(what, self.step)


def _refusal(what: str, step: str) -> NotProvedError:
    fact, hint = reason(what)
    return NotProvedError(f"{fact}: {step}.", step=step, hint=hint)


def _is_fragile(tree: Node, schema: Mapping[str, pl.DataType]) -> bool:
    """Return whether dtypes may meet in an expression that do not go together.

    Those are Decimals, lists, nanoseconds, and numbers beside text.
    """
    words = json.dumps(tree)
    read = schema if '"Selector"' in words else column_names(tree)
    found = [dtype for name, dtype in schema.items() if name in read]
    texts = '"String"' in words or any(isinstance(d, pl.String) for d in found)
    return (
        any(word in words for word in _FRAGILE_WORDS)
        or any(d.is_decimal() or _is_opaque(d) or _in_nanoseconds(d) for d in found)
        or (texts and ("Float" in words or any(d.is_numeric() for d in found)))
    )


def _is_plain(tree: Node, schema: Mapping[str, pl.DataType]) -> bool:
    """Return whether an expression only computes with numbers."""
    words = json.dumps(tree)
    read = schema if '"Selector"' in words else column_names(tree)
    return not any(word in words for word in _OTHER_WORDS) and all(
        schema[name].is_numeric() or isinstance(schema[name], pl.Boolean)
        for name in read
        if name in schema
    )


def _has_times(tree: Node, schema: Mapping[str, pl.DataType]) -> bool:
    """Return whether dates or instants occur in an expression."""
    words = json.dumps(tree)
    read = schema if '"Selector"' in words else column_names(tree)
    return '"Date' in words or any(
        isinstance(dtype, (pl.Date, pl.Datetime))
        for name, dtype in schema.items()
        if name in read
    )


def _reads(tree: Node) -> bool:
    return bool(column_names(tree)) or selects(tree)


def _listed(part: Node) -> list[Node]:
    return items(part) if isinstance(part, list) else [part]


def _is_opaque(dtype: pl.DataType) -> bool:
    """Return whether not all values of a dtype can be brought to another."""
    return dtype.is_nested() or isinstance(dtype, pl.Binary)


def _in_nanoseconds(dtype: pl.DataType) -> bool:
    return getattr(dtype, "time_unit", None) == "ns"


def _is_zoned(dtype: pl.DataType) -> bool:
    return getattr(dtype, "time_zone", None) not in {None, "UTC"}


def _text(node: Node) -> str | None:
    """Return the text of a literal."""
    value = head(head(head(node)[1])[1])[1]
    return value if isinstance(value, str) else None


def first_line(error: Exception) -> str:
    """Return the first line of what Polars says about a schema."""
    return str(error).split("\n", maxsplit=1)[0]
