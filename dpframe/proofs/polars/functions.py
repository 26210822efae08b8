"""The Polars functions that are row-local, with the arguments they may take.

A function is row-local when its value in a row depends on that row alone, and it
is listed here only if it also raises for no value of its column: a function that
can fail says by failing what the data are. (Times beyond what Polars can print,
truncate or shift are never read: see `times`.)

What a function may be given is a shape: options that are not as written, or that
a newer Polars adds, are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dpframe.proofs.polars.tree import head, pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Shape: TypeAlias = "Callable[[Any], bool]"

NAMESPACES: Final = frozenset(
    {
        "Bitwise",
        "Boolean",
        "Categorical",
        "ListExpr",
        "Pow",
        "StringExpr",
        "StructExpr",
        "TemporalExpr",
        "Trigonometry",
    }
)
"""Families of functions: their name is that of the family and their own."""

ALL: Final = 1_000
"""As many leading arguments as there may be can read columns."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What one function may be given.

    Attributes
    ----------
    reading : int
        How many leading arguments may read columns; the others are literals.
    options : callable
        Whether the options of the function are as expected.
    at_least : int
        How many arguments there must be.
    mixing : bool
        Whether the arguments are brought to one dtype first.
    zoned : bool
        Whether it is also safe where clocks skip or repeat an hour.
    """

    reading: int = 1
    options: Shape | None = None
    at_least: int = 1
    mixing: bool = False
    zoned: bool = True


def anything(_: Any) -> bool:
    """Accept any value of an option that is plain data."""
    return True


def one_of(*values: Any) -> Shape:
    """Accept these values of an option; True is not 1."""
    return lambda found: any(
        type(found) is type(value) and found == value for value in values
    )


def exactly(**shapes: Shape) -> Shape:
    """Accept options with exactly these names, each of its shape."""

    def fits(found: Any) -> bool:
        given = pairs(found)
        return given.keys() == shapes.keys() and all(
            shape(given[name]) for name, shape in shapes.items()
        )

    return fits


def breaks_given(method: Any) -> bool:
    """Accept bins whose edges are written out; a number of bins spans the rows."""
    name, intervals = head(method)
    given = pairs(intervals)
    return (
        name == "Intervals"
        and given.keys() == {"spec", "right_closed"}
        and head(given["spec"])[0] == "Breaks"
    )


def _family(family: str, names: str, rule: Rule) -> dict[str, Rule]:
    return {f"{family}.{name}": rule for name in names.split()}


_LOCAL: Final = Rule()
_LITERALS: Final = Rule(at_least=2)
_TOGETHER: Final = Rule(reading=ALL, mixing=True)
_ANY_OPTION: Final = Rule(options=anything)

FUNCTIONS: Final[Mapping[str, Rule]] = {
    # numbers
    **dict.fromkeys(
        ("Abs", "Negate", "Sign", "Floor", "Ceil", "Exp", "Log1p", "Erf", "Erfc"),
        _LOCAL,
    ),
    "Log": _LITERALS,
    "Round": Rule(options=exactly(decimals=anything, mode=anything)),
    "RoundSF": Rule(options=exactly(digits=anything)),
    "Truncate": Rule(options=exactly(decimals=anything)),
    "Clip": Rule(
        reading=ALL,
        mixing=True,
        at_least=2,
        options=exactly(has_min=anything, has_max=anything),
    ),
    "Atan2": Rule(reading=2, at_least=2),
    "Reinterpret": _ANY_OPTION,
    "Cut": Rule(
        options=exactly(
            breaks=anything,
            labels=anything,
            left_closed=anything,
            include_breaks=anything,
        )
    ),
    "Bin": Rule(
        options=exactly(
            method=breaks_given, labels=anything, include_intervals=anything
        )
    ),
    **_family("Pow", "Sqrt Cbrt", _LOCAL),
    "Pow.Generic": Rule(reading=2, at_least=2),
    **_family(
        "Trigonometry",
        "Cos Cot Sin Tan ArcCos ArcSin ArcTan Cosh Sinh Tanh ArcCosh ArcSinh ArcTanh"
        " Degrees Radians",
        _LOCAL,
    ),
    **_family(
        "Bitwise",
        "CountOnes CountZeros LeadingOnes LeadingZeros TrailingOnes TrailingZeros",
        _LOCAL,
    ),
    # missing values, comparison, choice
    **_family(
        "Boolean", "IsNull IsNotNull IsNan IsNotNan IsFinite IsInfinite Not", _LOCAL
    ),
    **_family("Boolean", "AnyHorizontal AllHorizontal", Rule(reading=ALL)),
    "Boolean.IsBetween": Rule(
        reading=3, at_least=3, mixing=True, options=exactly(closed=anything)
    ),
    "Boolean.IsIn": Rule(at_least=2, options=exactly(nulls_equal=anything)),
    "Boolean.IsClose": Rule(
        reading=2,
        at_least=2,
        options=exactly(abs_tol=anything, rel_tol=anything, nans_equal=anything),
    ),
    "FillNull": Rule(reading=2, at_least=2, mixing=True),
    "Coalesce": _TOGETHER,
    "MinHorizontal": _TOGETHER,
    "MaxHorizontal": _TOGETHER,
    "SumHorizontal": Rule(
        reading=ALL, mixing=True, options=exactly(ignore_nulls=anything)
    ),
    "Replace": Rule(at_least=3),
    # text
    **_family(
        "StringExpr",
        "LenBytes LenChars Uppercase Lowercase Titlecase Reverse HexEncode"
        " Base64Encode EscapeRegex",
        _LOCAL,
    ),
    **_family(
        "StringExpr",
        "StripChars StripCharsStart StripCharsEnd StripPrefix StripSuffix"
        " StartsWith EndsWith",
        Rule(reading=2, at_least=2),
    ),
    **_family(
        "StringExpr",
        "ZFill Slice Head Tail ExtractAll JsonPathMatch",
        _LITERALS,
    ),
    "StringExpr.PadStart": Rule(at_least=2, options=exactly(fill_char=anything)),
    "StringExpr.PadEnd": Rule(at_least=2, options=exactly(fill_char=anything)),
    "StringExpr.Contains": Rule(
        at_least=2, options=exactly(literal=anything, strict=anything)
    ),
    "StringExpr.Find": Rule(
        at_least=2, options=exactly(literal=anything, strict=anything)
    ),
    "StringExpr.Replace": Rule(
        at_least=3, options=exactly(n=anything, literal=anything)
    ),
    "StringExpr.Extract": Rule(at_least=2, options=anything),
    "StringExpr.ExtractGroups": Rule(options=exactly(dtype=anything, pat=anything)),
    "StringExpr.CountMatches": Rule(at_least=2, options=anything),
    "StringExpr.Split": Rule(at_least=2, options=anything),
    "StringExpr.SplitExact": Rule(
        at_least=2, options=exactly(n=anything, inclusive=anything)
    ),
    "StringExpr.SplitN": Rule(at_least=2, options=anything),
    "StringExpr.Normalize": Rule(options=exactly(form=anything)),
    "StringExpr.ToDecimal": Rule(options=exactly(scale=anything)),
    "StringExpr.ToInteger": Rule(
        at_least=2, options=exactly(dtype=anything, strict=one_of(False))
    ),
    "StringExpr.HexDecode": Rule(options=one_of(False)),
    "StringExpr.Base64Decode": Rule(options=one_of(False)),
    "StringExpr.ConcatHorizontal": Rule(
        reading=ALL, options=exactly(delimiter=anything, ignore_nulls=anything)
    ),
    "StringExpr.Format": Rule(
        reading=ALL, options=exactly(format=anything, insertions=anything)
    ),
    "StringExpr.ContainsAny": Rule(
        at_least=2, options=exactly(ascii_case_insensitive=anything)
    ),
    **_family("Categorical", "LenBytes LenChars", _LOCAL),
    **_family("Categorical", "StartsWith EndsWith Slice", _ANY_OPTION),
    # dates and times
    **_family(
        "TemporalExpr",
        "Millennium Century Year IsoYear IsLeapYear Quarter Month DaysInMonth Week"
        " WeekDay Day OrdinalDay Hour Minute Second Millisecond Microsecond"
        " Nanosecond Date Time BaseUtcOffset DSTOffset",
        _LOCAL,
    ),
    **_family("TemporalExpr", "MonthStart MonthEnd", Rule(zoned=False)),
    **_family(
        "TemporalExpr",
        "TotalDays TotalHours TotalMinutes TotalSeconds TotalMilliseconds"
        " TotalMicroseconds TotalNanoseconds",
        Rule(options=exactly(fractional=anything)),
    ),
    **_family("TemporalExpr", "Truncate Round OffsetBy", _LITERALS),
    **_family(
        "TemporalExpr", "ToString TimeStamp CastTimeUnit ConvertTimeZone", _ANY_OPTION
    ),
    "TemporalExpr.ReplaceTimeZone": Rule(at_least=2, options=anything),
    "TemporalExpr.Combine": Rule(reading=2, at_least=2, options=anything, zoned=False),
    "TemporalExpr.DatetimeFunction": Rule(
        reading=7,
        at_least=8,
        options=exactly(
            time_unit=one_of("Microseconds", "Milliseconds"), time_zone=one_of(None)
        ),
    ),
    "TemporalExpr.Duration": Rule(reading=ALL, options=anything),
    # structures and lists
    "AsStruct": Rule(reading=ALL),
    "StructExpr.FieldByName": _ANY_OPTION,
    **_family("ListExpr", "Length DropNulls ArgMin ArgMax Min Max", _LOCAL),
    **_family("ListExpr", "Slice CountMatches", _LITERALS),
    "ListExpr.Get": Rule(at_least=2, options=one_of(True)),
    "ListExpr.Contains": Rule(at_least=2, options=exactly(nulls_equal=anything)),
    "ListExpr.Concat": Rule(reading=ALL),
    "ListExpr.Join": Rule(at_least=2, options=anything),
}
"""The functions a private frame can be given, by family and name."""

ARITHMETIC: Final = frozenset(
    {
        "Plus",
        "Minus",
        "Multiply",
        "TrueDivide",
        "FloorDivide",
        "TruncDivide",
        "Modulus",
    }
)
"""Operators that compute, and so may not fit the dtype."""

ORDERINGS: Final = frozenset({"Gt", "GtEq", "Lt", "LtEq"})
"""Operators that say which of two values comes first."""

OPERATORS: Final = (
    ARITHMETIC
    | ORDERINGS
    | {
        "And",
        "Eq",
        "EqValidity",
        "LogicalAnd",
        "LogicalOr",
        "NotEq",
        "NotEqValidity",
        "Or",
        "Xor",
    }
)
"""All operators between two expressions."""
