"""What to write instead of the pandas methods that a private frame does not have."""

from __future__ import annotations

from typing import Final

_SHOW: Final = (
    "rows are private: print the frame for its schema, or release a statistic."
)
_SPREAD: Final = "see where values lie: .dp.histogram(column, bins=..., ...)."
_ORDER: Final = "rows have no order here."
HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("head", "tail", "sample", "iterrows", "itertuples", "items"), _SHOW
    ),
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
    "groupby": "release it: .dp.group_by(column, keys=[...]).count(...).",
    "group_by": "release it: .dp.group_by(column, keys=[...]).count(...).",
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
    "transform": "write assign(name=lambda df: ...) with elementwise operations.",
    "eval": "write query(...) or assign(name=lambda df: ...).",
    "join": "write merge(dpframe.public(frame), on=...): index labels are dropped.",
    "merge_asof": "it looks at other rows: do it before attaching.",
    "drop_duplicates": "it compares rows with each other: do it before attaching.",
    "duplicated": "it compares rows with each other: do it before attaching.",
    "isna": "write frame[lambda df: df[name].isna()], or .dp.count(column, ...).",
    "copy": "steps never change a private frame, so no copy is needed.",
    "to_csv": "rows do not leave; save a release: .dp.histogram(...).save(path).",
    "to_parquet": "rows do not leave; save a release: .dp.histogram(...).save(path).",
    "to_dict": "rows are private: releases have to_dict().",
    "attrs": "a budget lives in the accountant, never in attrs.",
}
