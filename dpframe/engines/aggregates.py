"""Figures of one unit's rows that depend on the multiset of these rows alone.

A sum of floats depends on the order in which they are added, and an engine that adds
in parallel chooses that order by what other rows there are: the sum of one unit's
rows would then tell of other units. So floats are added as whole numbers, which come
to the same total in any order: steps of 2^-40, and what is left of each float as steps
of 2^-103. Zeros lose their sign, since which of two zeros is the smaller depends on
order too, and NaN is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

import polars as pl

from dpframe.errors import NotProvedError

if TYPE_CHECKING:
    from collections.abc import Callable

_STEP: Final = 2.0**-40
_FINER: Final = 2.0**-63
"""What a step is divided into: half a step is 2^62 of them."""

_LARGEST: Final = 2.0**63
"""Floats beyond are clamped: then every one is less than 2^104 steps."""

_INT128: Final = pl.Int128()
_COUNTS: Final = pl.UInt32()

_REFUSED: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("first", "last", "item", "get", "head", "tail", "arg_min", "arg_max"),
        (
            "rows have no order",
            "use .max() or .min() of a column that is the same in all rows of a unit.",
        ),
    ),
    **dict.fromkeys(
        ("var", "std", "skew", "kurtosis"),
        (
            "its sums of floats depend on the order of rows",
            "take (x * x).mean() and x.mean(), and compute it from these.",
        ),
    ),
    **dict.fromkeys(
        ("product", "entropy"),
        (
            "its value depends on the order of rows",
            "use .sum(), perhaps of logarithms: x.log().sum().",
        ),
    ),
    "quantile": (
        "only the middle is offered",
        "use .median(), .min() or .max().",
    ),
    **dict.fromkeys(
        ("implode", "agg_groups", "groups"),
        (
            "a list has an order, and rows have none",
            "use a figure such as .sum(), .max() or .n_unique().",
        ),
    ),
    "mode": (
        "there may be several, in no order",
        "use .median(), .min() or .max().",
    ),
    **dict.fromkeys(
        ("min_by", "max_by"),
        (
            "tied rows are taken by their order",
            "keep rows by .filter(x == x.max().over(unit)), and aggregate them.",
        ),
    ),
    "corr": (
        "its sums of floats depend on the order of rows",
        "take means of x, y, x * y, x * x and y * y, and compute it from these.",
    ),
    "has_nulls": ("it is not offered", "write .null_count() > 0."),
    "approx_n_unique": (
        "it is not the same in every version of Polars",
        "use .n_unique().",
    ),
}

_OFFERED: Final = (
    "use len, count, null_count, n_unique, sum, mean, min, max, median, any or all."
)


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """A figure of one unit's rows, whatever their order and whatever other rows.

    Attributes
    ----------
    parts : tuple of pl.Expr
        Plain aggregations of the rows; each stands in ``group_by(keys).agg(part)``
        and in ``part.over(keys)``.
    finish : callable
        Takes the columns that hold the parts; returns the figure, row by row.
    dtype : pl.DataType
        Of the figure.
    """

    parts: tuple[pl.Expr, ...]
    finish: Callable[..., pl.Expr]
    dtype: pl.DataType


def aggregate(name: str, value: pl.Expr | None, dtype: pl.DataType | None) -> Aggregate:
    """Return an aggregate by its name in Polars.

    Parameters
    ----------
    name : str
        One of len, count, null_count, n_unique, sum, mean, min, max, median, any, all.
    value : pl.Expr or None
        What is aggregated, computed row by row; None for ``len`` alone.
    dtype : pl.DataType or None
        Of the value.

    Returns
    -------
    Aggregate
        With Polars' dtype, and Polars' result save that NaN is missing and that
        floats are added in steps of 2^-103, each within ±2^63.

    Raises
    ------
    NotProvedError
        If there is no such aggregate, or not of this dtype.
    """
    if name == "len":
        return _plain(pl.len(), _COUNTS)
    if name not in _MAKERS or value is None or dtype is None:
        why, hint = _REFUSED.get(name, ("it is not known to ignore order", _OFFERED))
        raise NotProvedError(
            f"{name} is not a figure of a unit's rows: {why}.", step=name, hint=hint
        )
    made = _MAKERS[name](_settled(value, dtype), dtype)
    if made is None:
        raise NotProvedError(
            f"{name} of {dtype} is not offered for the rows of a unit.",
            step=name,
            hint=_other_dtype(name, dtype),
        )
    return made


def ranks(
    value: pl.Expr,
    dtype: pl.DataType,
    method: str,
    descending: bool,  # noqa: FBT001 - as Polars
) -> Aggregate:
    """Return the rank of each row within its unit, alike for rows that tie.

    Parameters
    ----------
    value : pl.Expr
        What rows are ranked by; what is missing has no rank.
    dtype : pl.DataType
        Of the value.
    method : str
        One of min, max, dense, average.
    descending : bool
        Whether the largest value is first.

    Returns
    -------
    Aggregate
        For ``part.over(keys)`` alone.

    Raises
    ------
    NotProvedError
        If values of the dtype are not ordered by what they are.
    """
    if not _is_ordered(dtype):
        raise NotProvedError(
            f"rank of {dtype} is not offered for the rows of a unit.",
            step="rank",
            hint=_other_dtype("rank", dtype),
        )
    ranked = _settled(value, dtype).rank(
        cast("Literal['min', 'max', 'dense', 'average']", method),
        descending=descending,
    )
    return _plain(ranked, pl.Float64() if method == "average" else _COUNTS)


def _settled(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a value whose NaN is missing and whose zeros have one sign."""
    if not dtype.is_float():
        return value
    zero = pl.lit(0.0, dtype=dtype)
    return pl.when(value == 0).then(zero).otherwise(value.fill_nan(None))


def _plain(part: pl.Expr, dtype: pl.DataType) -> Aggregate:
    return Aggregate(parts=(part,), finish=_as_it_is, dtype=dtype)


def _as_it_is(part: pl.Expr) -> pl.Expr:
    return part


def _count(value: pl.Expr, dtype: pl.DataType) -> Aggregate:
    del dtype
    return _plain(value.count(), _COUNTS)


def _null_count(value: pl.Expr, dtype: pl.DataType) -> Aggregate:
    del dtype
    return _plain(value.null_count(), _COUNTS)


def _n_unique(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    if dtype.is_nested() or isinstance(dtype, pl.Object):
        return None
    return _plain(value.n_unique(), _COUNTS)


def _smallest(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    return _plain(value.min(), dtype) if _is_ordered(dtype) else None


def _largest(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    return _plain(value.max(), dtype) if _is_ordered(dtype) else None


def _is_ordered(dtype: pl.DataType) -> bool:
    """Return whether values are compared by what they are, not by their codes."""
    return (
        dtype.is_numeric()
        or dtype.is_temporal()
        or isinstance(dtype, (pl.Boolean, pl.String, pl.Enum))
    )


def _any(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    return _plain(value.any(), dtype) if isinstance(dtype, pl.Boolean) else None


def _all(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    return _plain(value.all(), dtype) if isinstance(dtype, pl.Boolean) else None


def _sum(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    if dtype.is_float():

        def added(steps: pl.Expr, finer: pl.Expr) -> pl.Expr:
            return _float(steps, finer, _STEP).cast(dtype)

        steps, finer = _steps(value)
        return Aggregate(parts=(steps.sum(), finer.sum()), finish=added, dtype=dtype)
    if dtype.is_integer() or isinstance(dtype, pl.Duration):
        narrow = dtype in {pl.Int8(), pl.Int16(), pl.UInt8(), pl.UInt16()}
        return _plain(value.sum(), pl.Int64() if narrow else dtype)
    if isinstance(dtype, pl.Boolean):
        return _plain(value.sum(), _COUNTS)
    return None


def _mean(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    if dtype.is_float():
        steps, finer = _steps(value)
        sums, step, result = (steps.sum(), finer.sum()), _STEP, dtype
    elif isinstance(dtype, pl.Boolean) or (
        dtype.is_integer() and dtype != pl.UInt128()
    ):
        sums, step, result = (value.cast(_INT128).sum(),), 1.0, pl.Float64()
    else:
        return None

    def shared(count: pl.Expr, steps: pl.Expr, *finer: pl.Expr) -> pl.Expr:
        # In whole numbers: floats are divided otherwise in chunks of one row.
        rows = pl.when(count > 0).then(count.cast(_INT128))
        each = steps // rows
        rest = (steps - each * rows) * int(1 / _FINER)
        return _float(each, sum(finer, rest) // rows, step).cast(result)

    return Aggregate(parts=(value.count(), *sums), finish=shared, dtype=result)


def _median(value: pl.Expr, dtype: pl.DataType) -> Aggregate | None:
    if dtype.is_float():
        return _plain(value.median(), dtype)
    if dtype.is_integer():
        return _plain(value.median(), pl.Float64())
    if isinstance(dtype, (pl.Datetime, pl.Duration, pl.Time)):

        def in_time(ticks: pl.Expr) -> pl.Expr:
            return ticks.cast(pl.Int64, strict=False).cast(dtype, strict=False)

        middle = value.to_physical().median()
        return Aggregate(parts=(middle,), finish=in_time, dtype=dtype)
    return None


def _steps(value: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return floats as whole steps, and what is left of them in finer ones.

    Ties go to the even step; of what is left nothing is lost down to 2^-103.
    """
    clamped = value.cast(pl.Float64).clip(-_LARGEST, _LARGEST)
    steps = (clamped * (1 / _STEP)).round(0, mode="half_to_even")
    rest = (clamped - steps * _STEP) * (1 / _STEP / _FINER)
    finer = rest.round(0, mode="half_to_even")
    return steps.cast(_INT128), finer.cast(_INT128)


def _float(steps: pl.Expr, finer: pl.Expr, step: float) -> pl.Expr:
    """Return whole steps and finer ones as a float; powers of two are exact."""
    coarse = steps.cast(pl.Float64) * step
    return coarse + finer.cast(pl.Float64) * (step * _FINER)


_MAKERS: Final[dict[str, Callable[[pl.Expr, pl.DataType], Aggregate | None]]] = {
    "count": _count,
    "null_count": _null_count,
    "n_unique": _n_unique,
    "sum": _sum,
    "mean": _mean,
    "min": _smallest,
    "max": _largest,
    "median": _median,
    "any": _any,
    "all": _all,
}


def _other_dtype(name: str, dtype: pl.DataType) -> str:
    if dtype.is_decimal():
        return "cast to pl.Float64 first, with strict=False: a Decimal can overflow."
    if isinstance(dtype, pl.Categorical):
        return "cast to pl.String, or to a pl.Enum with its levels."
    if isinstance(dtype, pl.Boolean):
        return "use .mean(), the share of truths, or cast to pl.Int8."
    if name in {"any", "all"}:
        return f"write a condition: (column > 0).{name}()."
    if isinstance(dtype, pl.Date):
        return 'cast to pl.Datetime("ms") for a median; .min() and .max() take dates.'
    if dtype.is_temporal():
        return "use .median(), .min() or .max(), or derive a number from it."
    return "derive a number, a text or a truth from it first."
