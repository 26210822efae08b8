"""What is known of pandas and numpy: names of elementwise, infallible operations."""

from __future__ import annotations

from typing import Final

UFUNCS: Final = frozenset(
    [
        *("log", "log2", "log10", "log1p", "exp", "exp2"),
        *("expm1", "sqrt", "cbrt", "square", "absolute", "fabs"),
        *("sign", "floor", "ceil", "trunc", "rint", "negative"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("deg2rad", "rad2deg", "isnan", "isinf", "isfinite"),
    ]
)
"""numpy functions of one number."""

UFUNC_SYMBOLS: Final[dict[str, str]] = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "&",
    "logical_or": "|",
    "logical_xor": "^",
}
"""numpy functions that are operators."""

TEXT_METHODS: Final = frozenset(
    [
        *("lower", "upper", "title", "capitalize", "swapcase", "casefold"),
        *("strip", "lstrip", "rstrip", "len", "startswith", "endswith"),
        *("contains", "match", "fullmatch", "replace", "slice", "slice_replace"),
        *("get", "zfill", "pad", "ljust", "rjust", "center"),
        *("removeprefix", "removesuffix", "count", "find", "rfind", "isalnum"),
        *("isalpha", "isdigit", "isspace", "islower", "isupper", "istitle"),
        *("isnumeric", "isdecimal", "isascii", "repeat", "normalize", "translate"),
    ]
)
"""Methods of `.str`; those that can fail on a value (index, encode) are not here."""

WHOLE_METHODS: Final = frozenset(["len", "count", "find", "rfind"])
"""Methods of `.str` that count: whole numbers, missing where the text is."""

TIME_PARTS: Final = frozenset(
    [
        *("year", "quarter", "month", "day", "hour", "minute", "second"),
        *("microsecond", "nanosecond", "weekday", "dayofweek", "day_of_week"),
        *("dayofyear", "day_of_year", "daysinmonth", "days_in_month"),
        *("is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end"),
        *("is_year_start", "is_year_end", "is_leap_year"),
        *("days", "seconds", "microseconds", "nanoseconds"),
    ]
)
"""Attributes of `.dt`."""

INCLUSIVE: Final = {
    "both": (">=", "<="),
    "left": (">=", "<"),
    "right": (">", "<="),
    "neither": (">", "<"),
}
"""Comparisons that `between` stands for."""
