"""What to write instead of the pandas methods that a private frame does not have."""

from __future__ import annotations

from typing import Final

from dpframe.proofs.pandas.hints import GROUP_ORDER_HINTS, LAG, RUNNING

_SHOW: Final = (
    "rows are private: print the frame for its schema, or release a statistic."
)
_SPREAD: Final = "see where values lie: .dp.histogram(column, bins=..., ...)."
_ORDER: Final = "rows have no order here; .dp.histogram(...) releases how values lie."
_LABELS: Final = "index labels are dropped at attach: keep them as a column."
_SELECT: Final = "write frame[condition] for rows, or frame[[...]] for columns."
_OUT: Final = "rows do not leave; save a release: .dp.histogram(...).save(path)."
_OPERATOR: Final = 'write assign(y=lambda d: d["x"] * 2), column by column.'
_LONGER: Final = (
    "stack selections of the columns: dpframe.concat([f[[name]].rename(columns="
    '{name: "value"}).assign(variable=name) for name in ["x", "y"]]).'
)
_WIDER: Final = (
    "the columns would be read off the rows: write one for each key, "
    'assign(a=lambda d: dpframe.where(d["k"] == "a", d["x"], None)).'
)
_OTHERS: Final = (
    "it compares rows with each other: release .dp.n_unique(...), or take one row for "
    "each unit by .groupby(unit).agg(...)."
)
_FILES: Final = (
    *("csv", "parquet", "excel", "json", "sql", "pickle", "feather", "hdf", "html"),
    *("clipboard", "iceberg", "latex", "markdown", "orc", "records", "stata"),
    *("string", "xarray", "xml"),
)
HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(("head", "tail", "iterrows", "itertuples", "items"), _SHOW),
    **dict.fromkeys(("values", "to_numpy", "T", "info", "style"), _SHOW),
    **dict.fromkeys(("sort_values", "sort_index", "rank"), _ORDER),
    **dict.fromkeys(("nlargest", "nsmallest"), _ORDER),
    **dict.fromkeys(("shift", "diff", "pct_change"), LAG),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), RUNNING),
    **dict.fromkeys(("rolling", "expanding", "ewm"), RUNNING),
    **dict.fromkeys(
        ("resample", "asfreq"),
        'write assign(month=lambda d: d["t"].dt.strftime("%Y-%m")), and release '
        ".dp.group_by(month, keys=[...]).",
    ),
    **{
        verb: f"release it: .dp.{verb}(column, ...)."
        for verb in ("mean", "sum", "std", "var", "count")
    },
    "median": "write .dp.median(column, epsilon=...).",
    "quantile": "write .dp.quantile(column, 0.9, epsilon=...).",
    **dict.fromkeys(("min", "max"), _SPREAD),
    **dict.fromkeys(("mode", "idxmin", "idxmax", "boxplot"), _SPREAD),
    **dict.fromkeys(
        ("skew", "kurt", "kurtosis", "sem", "prod", "product", "all", "any"),
        "release a statistic: .dp.mean(...), .dp.std(...), .dp.count(...), ....",
    ),
    "describe": "release it: .dp.agg(...), for columns with bounds.",
    "value_counts": "release it: .dp.value_counts(column, keys=[...], ...).",
    "nunique": "release it: .dp.n_unique(...).",
    "group_by": "write groupby(unit), or release: .dp.group_by(column, keys=[...]).",
    "pivot": "the columns would be read off the rows: .dp.contingency(columns, ...).",
    "unstack": _WIDER,
    "stack": _LONGER,
    "melt": _LONGER,
    "explode": (
        "that makes several rows out of one: before attaching, or in Polars, where "
        "private frames have it."
    ),
    "pivot_table": "release it: .dp.contingency(columns, ...).",
    "corr": "release it: .dp.mean_cov(columns, ...).corr().",
    **dict.fromkeys(("corrwith", "dot"), "release .dp.mean_cov(columns, ...)."),
    "cov": "release it: .dp.mean_cov(columns, ...).",
    "hist": "release it: .dp.histogram(column, bins=...).plot().",
    "plot": "release it first: .dp.histogram(column, bins=...).plot().",
    "shape": "the number of rows is private: .dp.count(...); .columns has the names.",
    "size": "the number of rows is private: release .dp.count(...).",
    "empty": "the number of rows is private: release .dp.count(...).",
    "index": "index labels are dropped at attach.",
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
    "append": "write dpframe.concat([...]), of private frames.",
    **dict.fromkeys(
        ("combine", "combine_first", "update"),
        "write merge(other, on=...) and then "
        'assign(x=lambda d: d["x"].fillna(d["x_y"])).',
    ),
    **dict.fromkeys(
        ("compare", "equals"),
        "it would tell about rows: release .dp.count(...) of each.",
    ),
    "merge_asof": "it looks at other rows: do it before attaching.",
    "drop_duplicates": _OTHERS,
    "duplicated": _OTHERS,
    "sample": "noise protects the rows already; frame[condition] takes a part.",
    **dict.fromkeys(
        ("ffill", "bfill", "interpolate"),
        "it takes values from other rows: write fillna(value), or "
        'assign(x=lambda d: d["x"].fillna(d.groupby(unit)["x"].transform("max"))).',
    ),
    **dict.fromkeys(
        ("isna", "isnull", "notna", "notnull"),
        "write frame[lambda df: df[name].isna()], or .dp.count(column, ...).",
    ),
    "isin": 'write frame[lambda d: d["x"].isin([...])].',
    "replace": 'write assign(x=lambda d: d["x"].replace({old: new})).',
    "round": 'write assign(x=lambda d: d["x"].round(2)).',
    "abs": 'write assign(x=lambda d: d["x"].abs()).',
    "clip": (
        'write assign(x=lambda d: d["x"].clip(0, 1)); releases clip to .dp.bounds(...) '
        "anyway."
    ),
    **dict.fromkeys(
        ("where", "mask"),
        'write assign(x=lambda d: d["x"].where(d["x"] > 0, 0)), or frame[condition].',
    ),
    **dict.fromkeys(
        ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "truediv"),
        _OPERATOR,
    ),
    **dict.fromkeys(("floordiv", "mod", "pow", "radd", "rsub", "rmul"), _OPERATOR),
    **dict.fromkeys(("rdiv", "rtruediv", "rfloordiv", "rmod", "rpow"), _OPERATOR),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _SELECT),
    **dict.fromkeys(("insert", "isetitem"), "write assign(name=lambda df: ...)."),
    "get": (
        'write frame[["x"]] to select, or lambda df: df["x"] in a step, as in '
        'assign(y=lambda df: df["x"] * 2).'
    ),
    "pop": "write drop(columns=...).",
    **dict.fromkeys(
        ("convert_dtypes", "infer_objects"),
        'dtypes would depend on the rows: write astype({"x": "Int64"}).',
    ),
    **dict.fromkeys(("keys", "axes"), "write .columns for the names."),
    "ndim": "a frame has two dimensions.",
    **dict.fromkeys(("flags", "set_flags"), "they say how raw frames are kept."),
    "memory_usage": "the number of rows is private: release .dp.count(...).",
    "squeeze": 'write lambda df: df["x"] in a step, or .dp for a release.',
    **dict.fromkeys(("select", "take", "xs", "truncate"), _SELECT),
    **dict.fromkeys(("align", "reindex", "reindex_like", "set_axis"), _LABELS),
    **dict.fromkeys(("rename_axis", "reorder_levels", "swaplevel"), _LABELS),
    **dict.fromkeys(("droplevel", "first_valid_index", "last_valid_index"), _LABELS),
    **dict.fromkeys(
        ("at_time", "between_time", "asof"),
        'write frame[lambda d: d["t"].dt.hour.between(9, 17)].',
    ),
    **dict.fromkeys(
        ("tz_convert", "tz_localize", "to_period", "to_timestamp"),
        'write assign(t=lambda d: d["t"].dt.tz_convert("UTC")), or another of .dt.',
    ),
    "copy": "steps never change a private frame, so no copy is needed.",
    **{f"to_{kind}": _OUT for kind in _FILES},
    "transpose": _SHOW,
    "sparse": "cast before attaching.",
    **dict.fromkeys(
        ("from_arrow", "from_dict", "from_records"),
        "make a raw pandas frame, and attach that.",
    ),
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
    **GROUP_ORDER_HINTS,
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
    **dict.fromkeys(("groups", "indices", "ngroups", "get_group", "take"), _SHOW),
    **dict.fromkeys(
        ("plot", "hist", "boxplot"), "release it first: .dp.histogram(...).plot()."
    ),
    "corrwith": "release .dp.mean_cov(columns, ...).",
    "ndim": "groups are of frames, which have two dimensions.",
}
"""What to write instead of the methods that private groups do not have."""
