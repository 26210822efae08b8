"""Why a Polars expression is refused, and what to write instead."""

from __future__ import annotations

from typing import Final

UNIT_NAME: Final = '"unit"'
"""What stands in a hint for the name of the column of the privacy unit."""

_ACROSS: Final = (
    "It looks at other rows",
    "figures over rows are released: .dp.mean(...), .dp.histogram(...) and others.",
)
_PLACE: Final = "It depends on the order or the place of rows"
_ORDER: Final = (
    _PLACE,
    "rows of a private frame have no order; derive columns from their own row.",
)
_LAG: Final = (
    _PLACE,
    (
        "rows have no order; within a unit, join the frame with itself: "
        'f.join(f.select("unit", pl.col("year") + 1, previous="x"), '
        'on=["unit", "year"], how="left").'
    ),
)
_RUNNING: Final = (
    _PLACE,
    (
        "rows have no order; within a unit, join the frame with itself: "
        'f.join(f.select("unit", before="year", earlier="x"), on="unit")'
        '.filter(pl.col("before") <= pl.col("year"))'
        '.group_by("unit", "year").agg(pl.col("earlier").sum()).'
    ),
)
_ROLLING: Final = (
    _PLACE,
    (
        "rows have no order; within a unit, join the frame with itself: "
        'f.join(f.select("unit", before="year", earlier="x"), on="unit")'
        '.filter(pl.col("before").is_between(pl.col("year") - 2, pl.col("year")))'
        '.group_by("unit", "year").agg(pl.col("earlier").mean()).'
    ),
)
_COUNTED: Final = (
    _PLACE,
    'rows have no order; within a unit, write pl.col("year").rank("min").over("unit").',
)
_FILLED: Final = (
    "A strategy takes values from other rows",
    (
        "use .fill_null(value), or within a unit "
        '.fill_null(pl.col("x").mean().over("unit")).'
    ),
)
_ENDS: Final = (
    _PLACE,
    (
        "rows have no order; within a unit, keep the last by a column: "
        '.filter(pl.col("year") == pl.col("year").max().over("unit")), '
        "or the first by .min()."
    ),
)
_REPEATED: Final = (
    "It looks at other rows",
    (
        "within a unit, count rows of one value: "
        'pl.len().over("unit", "x") > 1 says that it is repeated.'
    ),
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

_TURNED: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("Shift", "Diff", "PctChange"), _LAG),
    **dict.fromkeys(("CumSum", "CumProd", "CumMin", "CumMax"), _RUNNING),
    **dict.fromkeys(("RollingExpr", "RollingExprBy", "Rolling"), _ROLLING),
    "CumCount": _COUNTED,
    **dict.fromkeys(("FillNullWithStrategy", "Interpolate", "InterpolateBy"), _FILLED),
    **dict.fromkeys(("Sort", "SortBy", "Gather", "Slice"), _ENDS),
    **dict.fromkeys(("Agg.First", "Agg.Last", "Agg.Item"), _ENDS),
    **dict.fromkeys(
        (
            *("Boolean.IsUnique", "Boolean.IsDuplicated"),
            *("Boolean.IsFirstDistinct", "Boolean.IsLastDistinct"),
        ),
        _REPEATED,
    ),
}
"""What asks for other rows of a unit, and how a unit's rows are brought together."""

_REASONS: Final[dict[str, tuple[str, str]]] = {
    "Len": _ACROSS,
    "Agg": _ACROSS,
    "Over": _ACROSS,
    "Rolling": _ACROSS,
    "Element": _ACROSS,
    **_TURNED,
    "Mode": (
        "It looks at other rows",
        (
            'within a unit, write .median().over("unit"), or .min() or .max(); '
            ".dp.value_counts(...) releases how often values occur."
        ),
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
        (
            "give literals their dtype: pl.lit(-1, dtype=pl.Int64), "
            'pl.lit("a", dtype=pl.Enum(["a", "b"])).'
        ),
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
        (
            "divide by how many are there: "
            'pl.sum_horizontal("x", "y") '
            '/ pl.sum_horizontal(pl.col("x", "y").is_not_null()).'
        ),
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
        "Only whole numbers, in no time zone, are known to make an instant or none",
        (
            "cast the parts to pl.Int64 first, with strict=False, and leave out the "
            "zone and nanoseconds."
        ),
    ),
    "TemporalExpr.Replace": (
        "It fails on parts that are no date",
        'use .dt.truncate("1mo") or .dt.offset_by("1d").',
    ),
    "StringExpr.Strptime": (
        "A missing format is guessed from the rows, and strict parsing fails on some",
        'write .str.to_date("%Y-%m-%d", strict=False).',
    ),
    "StringExpr.Strptime.Datetime": (
        "A missing format is guessed from the rows, and strict parsing fails on some",
        'write .str.to_datetime("%Y-%m-%d %H:%M", strict=False).',
    ),
    "StringExpr.Strptime.Time": (
        "A missing format is guessed from the rows, and strict parsing fails on some",
        'write .str.to_time("%H:%M", strict=False).',
    ),
    "ListExpr.Concat": (
        "Values of several dtypes do not all fit one list",
        "cast the columns to one plain dtype first.",
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
    "QCut Rank ValueCounts UniqueCounts Quantile Skew Kurtosis"
    " Entropy NullCount NUnique ApproxNUnique Product Correlation"
    " EwmMean EwmStd EwmVar Hist Boolean.All Boolean.Any Boolean.HasNulls"
    " Boolean.IsSorted Boolean.IsEmpty ArgMax ArgMin MinBy MaxBy PeakMin PeakMax"
    " LowerBound UpperBound": _ACROSS,
    "Reverse ArgSort RLE RLEID GatherEvery"
    " SearchSorted IndexOf Range SetSortedFlag": _ORDER,
    "Unique ArgUnique ArgWhere DropNulls DropNans TopK TopKBy Append ExtendConstant"
    " RepeatBy Reshape Repeat": _LENGTH,
}.items():
    _REASONS.update(dict.fromkeys(_names.split(), _reason))


def turned(what: str) -> tuple[str, str] | None:
    """Return why what asks for other rows is refused, by its name; None of others.

    The hint says `UNIT_NAME` where the name of the privacy unit is to stand.
    """
    return _TURNED.get(what)


def turned_hint(what: str) -> str:
    """Return how a unit's rows are brought together, for what asks for others."""
    return _TURNED[what][1]


def for_unit(hint: str, unit: str | None) -> str:
    """Return a hint with the name of the privacy unit in it."""
    return hint if unit is None else hint.replace(UNIT_NAME, f'"{unit}"')


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
