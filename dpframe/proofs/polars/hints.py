"""Why a Polars expression is refused, and what to write instead."""

from __future__ import annotations

from typing import Final

_ACROSS: Final = (
    "It looks at other rows",
    "figures over rows are released: .dp.mean(...), .dp.histogram(...) and others.",
)
_ORDER: Final = (
    "It depends on the order or the place of rows",
    "rows of a private frame have no order; derive columns from their own row.",
)
_LENGTH: Final = (
    "It changes the number of rows",
    "keep rows with .filter(condition); values stay in their rows.",
)
_RANDOM: Final = (
    "It is random",
    "noise is drawn by releases alone; filter on a column to take a part.",
)
_FAILS: Final = (
    "It fails on some values, and failing would say what the data are",
    "write the variant that gives null instead, or wrap it in pl.when(...).",
)
_PARTS: Final = (
    "Only literals may stand here, since a column could make it fail",
    "write the value out, or choose among values with pl.when(...).",
)

_REASONS: Final[dict[str, tuple[str, str]]] = {
    "Len": _ACROSS,
    "Agg": _ACROSS,
    "Over": _ACROSS,
    "Rolling": _ACROSS,
    "Element": _ACROSS,
    "Sort": _ORDER,
    "SortBy": _ORDER,
    "Gather": _ORDER,
    "Slice": _ORDER,
    "FillNullWithStrategy": (
        "A strategy takes values from other rows",
        "use .fill_null(value).",
    ),
    "Filter": _LENGTH,
    "Explode": _LENGTH,
    "Random": _RANDOM,
    "AnonymousFunction": (
        "A Python function cannot be shown to look at one row alone",
        "write the step with Polars' own expressions.",
    ),
    "Literal.Series": (
        "The values of a Series go to rows by their place",
        "write single values out, or a list of them in .is_in([...]).",
    ),
    "Literal": (
        "This literal is not a single plain value",
        "use a number, text, a truth, a date or a duration.",
    ),
    "argument": _PARTS,
    "Boolean.IsIn": (
        "Values to look for must be written out, since a column of them is all rows",
        'write them as a list: .is_in(["a", "b"]).',
    ),
    "Cast": (
        "This cast is not known to look at one row alone",
        "cast through text or numbers; text is read by .str.to_date(format, ...).",
    ),
    "Cast.Categorical": (
        "The codes of a Categorical depend on all rows",
        "cast to pl.String, or to a pl.Enum with its levels.",
    ),
    "Cast.Strict": (
        "A strict cast fails on values that do not fit",
        "pass strict=False: what does not fit becomes null.",
    ),
    "Bin": (
        "Bins that are not written out are read off the rows",
        "write the edges as a list.",
    ),
    "Calendar": (
        "A shift of more than 100,000 years, or one that is not written out, can fail",
        'write a shorter one, such as "1mo".',
    ),
    "Values": (
        "A part of it fails on values that are not missing",
        "check what is given to it: a format, a dtype, a number.",
    ),
    "Dtype": (
        "A part of it comes out in another dtype than Polars plans with",
        "give literals their dtype: pl.lit(-1, dtype=pl.Int64).",
    ),
    "Levels": (
        "Texts are ordered by the levels of an Enum, and one that is no level fails",
        "cast the text to the Enum first, with strict=False.",
    ),
    "Deep": (
        "The expression is too deep to be read",
        "split it into several .with_columns(...).",
    ),
    "Decimal": (
        "Arithmetic on Decimals, or between them and other numbers, can overflow",
        "cast to pl.Float64 or to one Decimal dtype first, with strict=False.",
    ),
    "Unsigned": (
        "Numbers of UInt64 or UInt128 do not all fit the signed ones beside them",
        "cast to pl.Int64 or pl.Float64 first, with strict=False.",
    ),
    "Nested": (
        "Lists, structures and bytes fail here for some values",
        "compute on plain columns.",
    ),
    "Nanoseconds": (
        "Dates beyond the year 2262 do not fit nanoseconds",
        'cast to pl.Datetime("us") first, with strict=False.',
    ),
    "Text": (
        "Floats are turned into text here, which is not the same on all chunks",
        "write .cast(pl.String) where it is meant.",
    ),
    "Zone": (
        "It fails where clocks skip or repeat an hour",
        'convert to UTC first: .dt.convert_time_zone("UTC").',
    ),
    "Pow.Generic": (
        (
            "A power to a column is not the same on all chunks, and one of whole"
            " numbers fails on exponents that are negative or too large"
        ),
        "write the exponent as a number, or use (y * x.log()).exp() for x**y.",
    ),
    "TruncDivide": (
        "It is not the same on chunks of one row",
        "use (x / y).truncate(0).",
    ),
    "MeanHorizontal": (
        "It is not the same on all chunks",
        "divide pl.sum_horizontal(...) by a number.",
    ),
    "Unsettled": (
        "Polars cannot rebuild this expression exactly",
        (
            "name the columns instead of selecting them, and keep divisions apart"
            " from infinite numbers: in a .with_columns(...) of their own."
        ),
    ),
    "TemporalExpr.ReplaceTimeZone": (
        "It fails where clocks skip or repeat an hour",
        'pass ambiguous="null" (or "earliest") and non_existent="null".',
    ),
    "TemporalExpr.CastTimeUnit": (
        "A finer time unit does not hold all instants",
        'use .cast(pl.Datetime("ns"), strict=False).',
    ),
    "TemporalExpr.DatetimeFunction": (
        "It fails on parts that are no date",
        'join the parts to text and use .str.to_date("%Y-%m-%d", strict=False).',
    ),
    "TemporalExpr.Replace": (
        "It fails on parts that are no date",
        'use .dt.truncate("1mo") or .dt.offset_by("1d").',
    ),
    "StringExpr.Strptime": (
        "A missing format is guessed from the rows, and strict parsing fails on some",
        'write .str.to_date("%Y-%m-%d", strict=False).',
    ),
    "StringExpr.ToInteger": (
        "Strict parsing fails on text that is no number",
        "pass strict=False: what does not parse becomes null.",
    ),
    "ReplaceStrict": (
        "It fails on values that are not listed",
        "pass default= (and no return_dtype= where the default is a column).",
    ),
    "ListExpr.Get": (
        "It fails on lists that are too short",
        "pass null_on_oob=True.",
    ),
    "StringExpr.JsonDecode": _FAILS,
    "StringExpr.HexDecode": _FAILS,
    "StringExpr.Base64Decode": _FAILS,
    "StringExpr.ConcatVertical": _ACROSS,
    "Hash": (
        "A hash is not the same in every version of Polars",
        "filter on the column itself.",
    ),
}
for _names, _reason in {
    "QCut Rank Diff PctChange Mode ValueCounts UniqueCounts Quantile Skew Kurtosis"
    " Entropy NullCount NUnique ApproxNUnique Product Correlation RollingExpr"
    " RollingExprBy Interpolate InterpolateBy EwmMean EwmStd EwmVar Hist"
    " Boolean.IsUnique Boolean.IsDuplicated Boolean.IsFirstDistinct"
    " Boolean.IsLastDistinct Boolean.All Boolean.Any Boolean.HasNulls"
    " Boolean.IsSorted Boolean.IsEmpty ArgMax ArgMin MinBy MaxBy PeakMin PeakMax"
    " LowerBound UpperBound": _ACROSS,
    "Shift Reverse CumSum CumProd CumMin CumMax CumCount ArgSort RLE RLEID GatherEvery"
    " SearchSorted IndexOf Range SetSortedFlag": _ORDER,
    "Unique ArgUnique ArgWhere DropNulls DropNans TopK TopKBy Append ExtendConstant"
    " RepeatBy Reshape Repeat": _LENGTH,
}.items():
    _REASONS.update(dict.fromkeys(_names.split(), _reason))


def reason(what: str) -> tuple[str, str]:
    """Return why a part of an expression is refused, and what to write instead.

    `what` is the name of a node or a function, of a family before a dot included.
    """
    family = what.split(".", maxsplit=1)[0]
    return (
        _REASONS.get(what)
        or _REASONS.get(family)
        or (
            f"{what or 'This'} is not known to look at one row alone",
            "derive columns from their own row, or do this step before attaching.",
        )
    )
