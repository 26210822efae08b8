"""What the dtypes of arguments must be for no value of theirs to make a step fail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PolarsError

from dpframe.proofs.polars.casts import cast_is_local, cast_never_fails
from dpframe.proofs.polars.times import is_short
from dpframe.proofs.polars.tree import Node, head, items, reads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.proofs.polars.functions import Rule
    from dpframe.proofs.polars.parts import Parts

_FRAGILE_WORDS: Final = (
    *("Decimal", "List", "Array", "Struct", "Split", "Extract", "Nanoseconds"),
    *("include_breaks", "include_intervals", '"Binary"', "HexDecode", "Base64Decode"),
)
_UNSIGNED: Final = frozenset({pl.UInt64(), pl.UInt128()})
_UNSIGNED_WORDS: Final = ("UInt64", "UInt128", "Reinterpret")
_WIDEST: Final = frozenset({pl.Int128(), pl.UInt128()})
_SHIFTS: Final = frozenset(
    {"TemporalExpr.OffsetBy", "TemporalExpr.Truncate", "TemporalExpr.Round"}
)
_LEVEL_WORDS: Final = ('"Enum"', '"Cut"', '"Bin"')
_UTC: Final = {"inner": "UTC"}
_LARGEST_EXPONENT: Final = 2**32 - 1


def is_fragile(parts: Parts) -> bool:
    """Return whether dtypes may meet in an expression that do not go together.

    Those are Decimals, lists, nanoseconds, and numbers beside text.
    """
    words, found = parts.text, parts.read_dtypes
    texts = '"String"' in words or any(isinstance(d, pl.String) for d in found)
    return (
        any(word in words for word in _FRAGILE_WORDS)
        or any(map(_is_delicate, found))
        or (texts and ("Float" in words or any(d.is_numeric() for d in found)))
    )


@dataclass(frozen=True, kw_only=True)
class Checks:
    """The checks of one expression; each refuses it, or does nothing.

    Attributes
    ----------
    parts : Parts
        The expression.
    fragile : bool
        Whether dtypes may meet in it that do not go together.
    """

    parts: Parts
    fragile: bool

    def function(
        self, name: str, rule: Rule, arguments: Sequence[Node], node: Node
    ) -> None:
        """Check the arguments of a function that its rule accepts."""
        if rule.mixing:
            self.mixing(arguments)
        self._calendar(name, rule, arguments)
        self._values(name, arguments)
        match name:
            case "Reinterpret":
                self._no_floats(arguments[0])
            case "Clip":
                self._bounds(arguments)
            case "Pow.Generic":
                self._power(*arguments[:2])
            case "Boolean.IsIn" if head(arguments[1])[0] != "Literal":
                self.parts.refuse(name)
            case "ListExpr.Concat":
                self._listed(arguments, node)
            case "TemporalExpr.DatetimeFunction":
                self._date_parts(arguments[:-1])
            case "TemporalExpr.CastTimeUnit":
                self._time_unit(arguments[0], node)
            case "TemporalExpr.ReplaceTimeZone":
                options = head(head(head(node)[1]["function"])[1])[1]
                self._replace_zone(options, arguments[1])
            case _:
                pass

    def arithmetic(self, sides: Sequence[Node]) -> None:
        """Refuse Decimals, whose arithmetic overflows, and lists."""
        if not self.fragile:
            return
        for dtype in [dtype for side in sides for dtype in self.parts.dtypes(side)]:
            if dtype.is_decimal() or dtype.is_nested():
                self.parts.refuse("Decimal" if dtype.is_decimal() else "Nested")

    def whole(self, operator: str, sides: Sequence[Node]) -> None:
        """Refuse an operator that is not the same on floats in all chunks."""
        if any(d.is_float() for side in sides for d in self.parts.dtypes(side)):
            self.parts.refuse(operator)

    def cast(self, node: Node) -> None:
        """Refuse a cast that looks at other rows, or fails for some values."""
        body = head(node)[1]
        sources, targets = self.parts.dtypes(body["expr"]), self.parts.dtypes(node)
        for source, target in zip(sources, targets, strict=True):
            if not cast_is_local(source, target):
                categorical = isinstance(source, pl.Categorical) or isinstance(
                    target, pl.Categorical
                )
                self.parts.refuse("Cast.Categorical" if categorical else "Cast")
            if body["options"] == "Strict" and not cast_never_fails(source, target):
                self.parts.refuse("Cast.Strict")
            if body["options"] == "Overflowing" and not (
                source.is_integer() and target.is_integer()
            ):
                self.parts.refuse("Cast")

    def mixing(self, given: Sequence[Node], *, compared: bool = False) -> None:
        """Refuse columns that Polars would bring to a dtype that may not hold them."""
        if self.fragile:
            self._fragile(given, compared=compared)
        if not compared:
            self._unsigned(given)

    def _fragile(self, given: Sequence[Node], *, compared: bool) -> None:
        found = [dtype for part in given for dtype in self.parts.dtypes(part)]
        if sum(head(part)[0] != "Literal" for part in given) > 1 and any(
            dtype.is_decimal() and dtype != other for dtype in found for other in found
        ):
            self.parts.refuse("Decimal")
        if any(dtype.is_decimal() for dtype in found) and _WIDEST & set(found):
            self.parts.refuse("Decimal")
        read = [d for part in given if reads(part) for d in self.parts.dtypes(part)]
        if any(map(_is_opaque, read)) and len({*found} - {pl.Null()}) > 1:
            self.parts.refuse("Nested")
        if any(isinstance(dtype, pl.String) for dtype in found) and any(
            dtype.is_float() for dtype in found
        ):
            self.parts.refuse("Text")
        if (
            not compared
            and any(isinstance(dtype, pl.Date) for dtype in found)
            and any(map(_in_nanoseconds, found))
        ):
            self.parts.refuse("Nanoseconds")

    def ordered(self, given: Sequence[Node]) -> None:
        """Refuse texts that Polars would make levels of an Enum to order them."""
        if not any(word in self.parts.text for word in _LEVEL_WORDS) and not any(
            isinstance(dtype, pl.Enum) for dtype in self.parts.read_dtypes
        ):
            return
        found = [dtype for part in given for dtype in self.parts.dtypes(part)]
        read = [d for part in given if reads(part) for d in self.parts.dtypes(part)]
        if any(isinstance(dtype, pl.Enum) for dtype in found) and any(
            isinstance(dtype, pl.String) for dtype in read
        ):
            self.parts.refuse("Levels")

    def _unsigned(self, given: Sequence[Node]) -> None:
        """Refuse the widest unsigned numbers beside a signed one of their width."""
        if not _UNSIGNED & self.parts.read_dtypes and not any(
            word in self.parts.text for word in _UNSIGNED_WORDS
        ):
            return
        for one, other in permutations(given, 2):
            if reads(one) and any(map(_loses, *self._joined(one, other))):
                self.parts.refuse("Unsigned")

    def _joined(
        self, one: Node, other: Node
    ) -> tuple[list[pl.DataType], list[pl.DataType]]:
        """Return the dtypes of a part, and those that they are brought to."""
        together = {"Function": {"input": [one, other], "function": "Coalesce"}}
        try:
            return self.parts.ask(one), self.parts.ask(together)
        except PolarsError:
            return [], []  # which the step comes up with when it is tried

    def _values(self, name: str, arguments: Sequence[Node]) -> None:
        """Refuse dtypes of which some values do not fit what is made of them."""
        match name:
            case "SumHorizontal":
                self._no_decimals(arguments)
                self._not_all_null(arguments)
            case "RoundSF":
                self._no_decimals(arguments)
            case "TemporalExpr.Duration":
                self._lengths(arguments)
            case "StringExpr.Format" | "StringExpr.ConcatHorizontal":
                self._written(arguments)
            case "Boolean.IsClose":
                self._no_decimals(arguments)
                self._unsigned(arguments)
            case "Boolean.IsBetween":
                self.ordered(arguments)
            case _:
                pass

    def _no_floats(self, argument: Node) -> None:
        if any(dtype.is_float() for dtype in self.parts.dtypes(argument)):
            self.parts.refuse("Reinterpret")

    def _written(self, arguments: Sequence[Node]) -> None:
        if any(_is_opaque(d) for part in arguments for d in self.parts.dtypes(part)):
            self.parts.refuse("Nested")

    def _lengths(self, arguments: Sequence[Node]) -> None:
        """Refuse numbers of days, hours and so on that may not fit 64 bits."""
        read = filter(reads, arguments)
        found = [dtype for part in read for dtype in self.parts.dtypes(part)]
        if not all(d.is_float() or cast_never_fails(d, pl.Int64()) for d in found):
            self.parts.refuse("Cast.Strict")

    def _no_decimals(self, arguments: Sequence[Node]) -> None:
        if any(d.is_decimal() for part in arguments for d in self.parts.dtypes(part)):
            self.parts.refuse("Decimal")

    def _not_all_null(self, arguments: Sequence[Node]) -> None:
        """Refuse a sum without a dtype, which Polars gives for one row only."""
        found = [dtype for part in arguments for dtype in self.parts.dtypes(part)]
        if all(isinstance(dtype, pl.Null) for dtype in found):
            self.parts.refuse("Dtype")

    def _listed(self, arguments: Sequence[Node], node: Node) -> None:
        """Refuse to list columns of several dtypes, or of lists."""
        read = {d for part in arguments if reads(part) for d in self.parts.dtypes(part)}
        if len(read) != 1 or any(_is_unlisted(dtype) for dtype in read):
            self.parts.refuse("ListExpr.Concat")
        if set(self.parts.dtypes(node)) != {pl.List(dtype) for dtype in read}:
            self.parts.refuse("ListExpr.Concat")

    def _date_parts(self, arguments: Sequence[Node]) -> None:
        """Refuse parts of dates that are not whole numbers."""
        found = [dtype for part in arguments for dtype in self.parts.dtypes(part)]
        if not all(dtype.is_integer() for dtype in found):
            self.parts.refuse("TemporalExpr.DatetimeFunction")

    def _time_unit(self, argument: Node, node: Node) -> None:
        before, after = self.parts.dtypes(argument), self.parts.dtypes(node)
        if not all(map(cast_never_fails, before, after)):
            self.parts.refuse("TemporalExpr.CastTimeUnit")

    def _calendar(self, name: str, rule: Rule, arguments: Sequence[Node]) -> None:
        if not rule.zoned and any(map(_is_zoned, self.parts.dtypes(arguments[0]))):
            self.parts.refuse("Zone")
        if name in _SHIFTS:
            words = _text(arguments[1])
            if words is None or not is_short(words):
                self.parts.refuse("Calendar")

    def _bounds(self, arguments: Sequence[Node]) -> None:
        """Refuse columns as bounds that the clipped column may not hold."""
        for bound in arguments[1:]:
            if head(bound)[0] != "Literal" and not all(
                cast_never_fails(limit, dtype)
                for limit in self.parts.dtypes(bound)
                for dtype in self.parts.dtypes(arguments[0])
            ):
                self.parts.refuse("Cast.Strict")

    def _power(self, base: Node, exponent: Node) -> None:
        name, value = head(exponent)
        number = head(head(value)[1])[1] if name == "Literal" else None
        whole = isinstance(number, int) and 0 <= number <= _LARGEST_EXPONENT
        floats = any(
            dtype.is_float()
            for part in (base, exponent)
            for dtype in self.parts.dtypes(part)
        )
        if name != "Literal" or not (whole or floats):
            self.parts.refuse("Pow.Generic")

    def _replace_zone(self, options: Node, ambiguous: Node) -> None:
        if len(items(options)) != 2:  # noqa: PLR2004 - zone, what to do without one
            self.parts.refuse("TemporalExpr.ReplaceTimeZone")
        zone, missing = items(options)
        if zone is None or zone == _UTC:
            return
        if missing != "Null" or _text(ambiguous) not in {"earliest", "latest", "null"}:
            self.parts.refuse("TemporalExpr.ReplaceTimeZone")


def _loses(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether not all unsigned numbers of a dtype are in a whole one."""
    whole = source in _UNSIGNED and target.is_integer()
    return whole and not cast_never_fails(source, target)


@lru_cache(maxsize=512)
def _is_delicate(dtype: pl.DataType) -> bool:
    return dtype.is_decimal() or _is_opaque(dtype) or _in_nanoseconds(dtype)


def _is_opaque(dtype: pl.DataType) -> bool:
    """Return whether not all values of a dtype can be brought to another."""
    return dtype.is_nested() or isinstance(dtype, pl.Binary)


def _is_unlisted(dtype: pl.DataType) -> bool:
    return _is_opaque(dtype) or isinstance(dtype, (pl.Categorical, pl.Object, pl.Null))


def _in_nanoseconds(dtype: pl.DataType) -> bool:
    return getattr(dtype, "time_unit", None) == "ns"


def _is_zoned(dtype: pl.DataType) -> bool:
    return getattr(dtype, "time_zone", None) not in {None, "UTC"}


def _text(node: Node) -> str | None:
    """Return the text of a literal."""
    value = head(head(head(node)[1])[1])[1]
    return value if isinstance(value, str) else None
