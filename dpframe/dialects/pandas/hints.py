"""What to write instead of the pandas methods that a private frame does not have."""

from __future__ import annotations

from typing import Final

_SHOW: Final = (
    "rows are private: print the frame for its schema, or release a statistic."
)
_SPREAD: Final = "see where values lie: .dp.histogram(column, bins=..., ...)."
_ORDER: Final = "rows have no order here; .dp.histogram(...) releases how values lie."
_OTHERS: Final = (
    "it compares rows with each other: release .dp.n_unique(...), or take one row for "
    "each unit by .groupby(unit).agg(...)."
)
HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(("head", "tail", "iterrows", "itertuples", "items"), _SHOW),
    **dict.fromkeys(("values", "to_numpy", "T", "info", "style"), _SHOW),
    **dict.fromkeys(("sort_values", "sort_index", "shift", "diff"), _ORDER),
    **dict.fromkeys(("rank", "cumsum", "rolling", "nlargest", "nsmallest"), _ORDER),
    **{
        verb: f"release it: .dp.{verb}(column, ...)."
        for verb in ("mean", "sum", "std", "var", "count")
    },
    **dict.fromkeys(("median", "quantile", "min", "max"), _SPREAD),
    "describe": "release it: .dp.agg(...), for columns with bounds.",
    "value_counts": "release it: .dp.value_counts(column, keys=[...], ...).",
    "nunique": "release it: .dp.n_unique(...).",
    "group_by": "write groupby(unit), or release: .dp.group_by(column, keys=[...]).",
    "pivot": "the columns would be read off the rows: .dp.contingency(columns, ...).",
    "pivot_table": "release it: .dp.contingency(columns, ...).",
    "corr": "release it: .dp.mean_cov(columns, ...).corr().",
    "cov": "release it: .dp.mean_cov(columns, ...).",
    "hist": "release it: .dp.histogram(column, bins=...).plot().",
    "plot": "release it first: .dp.histogram(column, bins=...).plot().",
    "shape": "the number of rows is private: .dp.count(...); .columns has the names.",
    "size": "the number of rows is private: release .dp.count(...).",
    "empty": "the number of rows is private: release .dp.count(...).",
    "index": "index labels are dropped at attach.",
    "reset_index": "index labels are dropped at attach: reset before attaching.",
    "set_index": "index labels never matter here; keep it as a column.",
    "iloc": "rows have no positions to ask for: write frame[condition].",
    "at": "a single cell is private.",
    "iat": "a single cell is private.",
    "apply": "write assign(name=lambda df: ...) with elementwise operations.",
    "map": "write assign(name=lambda df: ...) with elementwise operations.",
    "transform": (
        'write assign(total=lambda d: d.groupby(unit)["x"].transform("sum")), with '
        "the privacy unit; else elementwise operations."
    ),
    **dict.fromkeys(
        ("agg", "aggregate"), "write groupby(unit).agg(...), or release: .dp.agg(...)."
    ),
    "eval": "write query(...) or assign(name=lambda df: ...).",
    "join": "write merge(dpframe.public(frame), on=...): index labels are dropped.",
    "merge_asof": "it looks at other rows: do it before attaching.",
    "drop_duplicates": _OTHERS,
    "duplicated": _OTHERS,
    "sample": "noise protects the rows already; frame[condition] takes a part.",
    **dict.fromkeys(
        ("ffill", "bfill", "interpolate"),
        "it takes values from other rows: write fillna(value).",
    ),
    "isna": "write frame[lambda df: df[name].isna()], or .dp.count(column, ...).",
    "copy": "steps never change a private frame, so no copy is needed.",
    "to_csv": "rows do not leave; save a release: .dp.histogram(...).save(path).",
    "to_parquet": "rows do not leave; save a release: .dp.histogram(...).save(path).",
    "to_dict": "rows are private: releases have to_dict().",
    "attrs": "a budget lives in the accountant, never in attrs.",
}

_FIGURE: Final = (
    "write agg(name=(column, figure)) with size, count, nunique, sum, mean, median, "
    "min, max, any or all."
)
_SPREAD_ROWS: Final = 'write agg(low=("x", "min"), high=("x", "max")).'
GROUP_HINTS: Final[dict[str, str]] = {
    "transform": (
        'write assign(total=lambda d: d.groupby(unit)["x"].transform("sum")), with '
        "the privacy unit."
    ),
    **dict.fromkeys(("apply", "pipe", "map"), _FIGURE),
    **dict.fromkeys(
        ("first", "last", "nth", "head", "tail", "sample"),
        "rows have no order here: min and max pick a value whatever the order.",
    ),
    **dict.fromkeys(
        ("cumsum", "cumcount", "cumprod", "cummax", "cummin", "shift", "diff"), _ORDER
    ),
    **dict.fromkeys(("rank", "rolling", "expanding", "ewm", "ffill", "bfill"), _ORDER),
    **dict.fromkeys(
        ("std", "var", "sem", "skew", "kurt", "cov", "corr"),
        "its float sums depend on order: take the mean of x and of x * x, by agg.",
    ),
    **dict.fromkeys(("quantile", "describe", "ohlc"), _SPREAD_ROWS),
    **dict.fromkeys(("idxmin", "idxmax"), _SPREAD_ROWS),
    "prod": "its value depends on order: take the sum of logarithms, by agg.",
    "value_counts": "group by the unit and the column: groupby([unit, column]).size().",
    "unique": "group by the unit and the column: groupby([unit, column]).size().",
    "filter": 'write assign(n=lambda d: d.groupby(unit)["x"].transform("size")).',
    **dict.fromkeys(("groups", "indices", "ngroups", "get_group", "ngroup"), _SHOW),
}
"""What to write instead of the methods that private groups do not have."""
