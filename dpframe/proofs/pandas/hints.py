"""What to write instead of what a column does not have in a pandas step."""

from __future__ import annotations

from typing import Final

_RELEASED: Final = "release it: .dp.{0}(...), and use its value."
_RELEASE: Final = "release a statistic: .dp.mean(...), .dp.count(...), ..."
_SPREAD: Final = "see where values lie: .dp.histogram(column, bins=..., ...)."
_ORDER: Final = "rows have no order here."
LAG: Final = (
    "rows have no order here: for the row of the year before, merge the frame with "
    'itself: f.merge(f[["id", "year", "x"]].assign(year=lambda d: d["year"] + 1)'
    '.rename(columns={"x": "previous"}), on=["id", "year"], how="left").'
)
FILL: Final = (
    "fill by a public value: .fillna(value), or by a figure of the unit's rows: "
    '.fillna(d.groupby(unit)["x"].transform("max")).'
)
RUNNING: Final = (
    "rows have no order here: over all rows of a unit it is "
    'd.groupby("id")["x"].transform("sum"); up to a row\'s own year, merge the frame '
    'with itself: f.merge(f[["id", "year", "x"]].rename(columns={"year": "then", '
    '"x": "earlier"}), on="id").query("then <= year").groupby(["id", "year"])'
    '["earlier"].sum().'
)
GROUP_ORDER_HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(("shift", "diff", "pct_change"), LAG),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumcount"), RUNNING),
    **dict.fromkeys(("rolling", "expanding", "ewm", "resample"), RUNNING),
    **dict.fromkeys(("rank", "ngroup"), RUNNING),
    **dict.fromkeys(("ffill", "bfill", "fillna", "interpolate"), FILL),
}
"""What to write instead of figures of a unit's rows that depend on their order."""
_ACROSS: Final = (
    'across columns write d["x"] + d["y"], or dpframe.where(d["x"] > d["y"], d["x"], '
    'd["y"]); over rows, release it: .dp.mean(...), .dp.sum(...), ....'
)
ACROSS_HINTS: Final[dict[str, str]] = {
    **dict.fromkeys(("sum", "mean", "min", "max", "any", "all"), _ACROSS),
    **dict.fromkeys(("prod", "count", "median", "std", "var"), _ACROSS),
    "apply": (
        'write it on columns: d["x"] + d["y"], d["x"].str.lower(), or '
        'dpframe.where(d["x"] > 0, d["x"], 0).'
    ),
}
"""What a frame inside a step has no more than a column, but is asked for by rows."""
_INDEX: Final = "index labels are dropped at attach."
_SHOW: Final = "rows are private: release a statistic of them."
_SIZE: Final = "the number of rows is private: release .dp.count(...)."
_WINDOW: Final = "rows have no order here, so there are no windows of them."
_SELECT: Final = "rows are chosen by frame[condition]."
_NAMED: Final = "columns are named by assign(name=...)."
_KEYS: Final = "declare public keys: .dp.domain(...)."
_WRITTEN: Final = "write it as elementwise operations on the column itself."
_CAST: Final = "write the dtype that you want: .astype(...)."
_ITEM: Final = "a single cell is private."
_CLOCK: Final = "write .dt.hour * 60 + .dt.minute."
_BOUNDS: Final = "declare public bounds: .dp.bounds(...)."
_BYTES: Final = "bytes are not read here."

COLUMN_HINTS: Final[dict[str, str]] = {
    **{
        name: _RELEASED.format(name)
        for name in ("mean", "sum", "std", "var", "count", "value_counts")
    },
    **dict.fromkeys(("median", "quantile", "mode", "describe"), _SPREAD),
    **dict.fromkeys(("skew", "kurt", "kurtosis", "sem", "prod", "product"), _RELEASE),
    **dict.fromkeys(("all", "any", "agg", "aggregate"), _RELEASE),
    **dict.fromkeys(("min", "max", "argmin", "argmax", "idxmin", "idxmax"), _BOUNDS),
    **dict.fromkeys(("corr", "cov", "dot"), "release .dp.mean_cov([...], ...)."),
    "autocorr": _ORDER,
    **dict.fromkeys(("shift", "diff", "pct_change"), LAG),
    **dict.fromkeys(("rank", "searchsorted", "argsort"), _ORDER),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), RUNNING),
    **dict.fromkeys(("sort_values", "sort_index", "nlargest", "nsmallest"), _ORDER),
    **dict.fromkeys(("is_monotonic_increasing", "is_monotonic_decreasing"), _ORDER),
    **dict.fromkeys(("first_valid_index", "last_valid_index", "asof"), _ORDER),
    **dict.fromkeys(("rolling", "expanding", "ewm", "resample", "asfreq"), _WINDOW),
    **dict.fromkeys(("ffill", "bfill", "interpolate"), FILL),
    **dict.fromkeys(
        ("index", "axes", "keys", "reindex", "reindex_like", "reset_index"), _INDEX
    ),
    **dict.fromkeys(("set_axis", "rename_axis", "reorder_levels", "swaplevel"), _INDEX),
    **dict.fromkeys(("droplevel", "unstack", "xs", "align", "truncate"), _INDEX),
    **dict.fromkeys(("add_prefix", "add_suffix", "to_timestamp", "to_period"), _INDEX),
    **dict.fromkeys(("tz_convert", "tz_localize"), "write .dt.tz_convert(...)."),
    **dict.fromkeys(("at_time", "between_time"), "compare .dt.hour, .dt.minute."),
    **dict.fromkeys(("head", "tail", "sample", "items", "item", "take"), _SHOW),
    **dict.fromkeys(("values", "array", "to_numpy", "tolist", "to_list"), _SHOW),
    **dict.fromkeys(("info", "plot", "hist", "T", "transpose"), _SHOW),
    **dict.fromkeys(
        [f"to_{kind}" for kind in ("csv", "json", "dict", "excel", "sql", "pickle")],
        "rows do not leave; save a release: .dp.histogram(...).save(path).",
    ),
    **dict.fromkeys(
        [f"to_{kind}" for kind in ("clipboard", "hdf", "latex", "markdown", "string")],
        "rows do not leave; save a release: .dp.histogram(...).save(path).",
    ),
    **dict.fromkeys(("to_xarray", "from_arrow", "to_frame", "squeeze"), _SHOW),
    **dict.fromkeys(("shape", "size", "empty", "nbytes", "memory_usage"), _SIZE),
    "ndim": "a column has one dimension.",
    **dict.fromkeys(("at", "iat", "iloc", "loc", "get", "pop"), _ITEM),
    **dict.fromkeys(("filter", "drop", "dropna", "drop_duplicates"), _SELECT),
    **dict.fromkeys(("duplicated", "is_unique", "compare", "equals"), _SHOW),
    **dict.fromkeys(("rename", "name", "set_flags", "flags", "attrs"), _NAMED),
    **dict.fromkeys(("unique", "factorize"), _KEYS),
    "nunique": "release it: .dp.n_unique(...).",
    "hasnans": "ask by .isna() for each row, or release .dp.count(column, ...).",
    **dict.fromkeys(("apply", "combine"), _WRITTEN),
    "transform": 'write d.groupby(unit)["x"].transform("sum"), with the privacy unit.',
    "pipe": _WRITTEN,
    **dict.fromkeys(("convert_dtypes", "infer_objects", "dtypes"), _CAST),
    "groupby": (
        'group the frame: d.groupby(unit)["x"].transform("sum"); or release it: '
        ".dp.group_by(column, keys=[...])."
    ),
    **dict.fromkeys(("explode", "repeat"), "that makes several rows out of one."),
    "update": "a column is not changed in place: write .fillna(other) or .where().",
    "cat": "a category is computed with as its values: compare them, or .isin([...]).",
    **dict.fromkeys(("list", "struct", "sparse"), "cast before attaching."),
    "str.cat": "give it another column: .str.cat(other, sep=...).",
    "str.extract": "one group at a time: .str.extract(pattern, expand=False).",
    "str.extractall": "one group at a time: .str.extract(pattern, expand=False).",
    "str.get_dummies": "write .str.contains(...), one condition for each word.",
    "str.index": "it fails where nothing is found: write .str.find(...).",
    "str.rindex": "it fails where nothing is found: write .str.rfind(...).",
    **dict.fromkeys(("str.encode", "str.decode"), _BYTES),
    "str.wrap": "write .str.slice(stop=...).",
    "dt.date": "write .dt.normalize().",
    **dict.fromkeys(("dt.time", "dt.timetz"), _CLOCK),
    "dt.to_period": 'write .dt.strftime("%Y-%m"), or .dt.year and .dt.month.',
    "dt.to_pydatetime": "times are computed with as they are.",
    "dt.to_pytimedelta": "durations are computed with as they are.",
    "dt.components": "write .dt.days, .dt.seconds or .dt.total_seconds().",
    "dt.to_timestamp": "times are computed with as they are.",
    "dt.qyear": "write .dt.year.",
    "dt.start_time": 'write .dt.floor("D").',
    "dt.end_time": 'write .dt.ceil("D").',
}
OPTION_REASONS: Final[dict[str, str]] = {
    "inplace": "would change a private column in place.",
    "axis": "is for frames: a column has one axis.",
    "level": "matches rows by index labels, which are dropped at attach.",
    "limit": "counts rows, so it looks at other rows.",
    "method": "fills a row from other rows.",
    "errors": "would raise, or not, by what the rows hold.",
    "downcast": "gives a dtype that depends on the rows.",
    "infer_datetime_format": "reads the format off the rows.",
    "regex": "is for text: write .str.replace(pattern, text, regex=True).",
    "fill_value": "is better said by .fillna(value) before the operation.",
    "skipna": "is for statistics, which look at other rows.",
    "args": "is for functions of single values, which are not recorded.",
    "engine": "chooses other code, with other last digits.",
    "thresh": "is not offered.",
    "retbins": "would give the bins back: they are public, and yours already.",
    "duplicates": "is not offered: write each edge once.",
    "copy": "changes nothing here.",
}
"""Why a keyword of pandas is refused: the rest of a sentence that names it."""

HARMLESS: Final[dict[str, tuple[object, ...]]] = {
    "inplace": (False,),
    "axis": (0, "index", None),
    "copy": (True, False),
    "level": (None,),
    "engine": ("python",),
}
"""What these keywords may say beside pandas' default: it changes nothing."""

_WHERE: Final = "write dpframe.where(condition, a, b)."
_CUT: Final = "write dpframe.cut(column, [edges])."
FREE_HINTS: Final[dict[str, str]] = {
    "pd.cut": _CUT,
    "pd.qcut": "quantiles depend on all rows: write dpframe.cut(column, [edges]).",
    "pd.to_datetime": 'write dpframe.to_datetime(column, format="%Y-%m-%d").',
    "pd.to_numeric": "write dpframe.to_numeric(column).",
    "pd.to_timedelta": (
        "count in whole numbers, such as minutes, or convert before attaching; "
        "durations are given as numbers by .dt.total_seconds()."
    ),
    "pd.isna": "write column.isna().",
    "pd.isnull": "write column.isna().",
    "pd.notna": "write column.notna().",
    "pd.notnull": "write column.notna().",
    "pd.get_dummies": "write (column == key), one condition for each key.",
    "pd.factorize": _KEYS,
    "pd.unique": _KEYS,
    "np.where": _WHERE,
    "np.select": "write column.case_when([(condition, value), ...]), or dpframe.where.",
    "np.choose": _WHERE,
    "np.piecewise": _WHERE,
    "np.clip": "write column.clip(low, high).",
    "np.round": "write column.round(decimals).",
    "np.around": "write column.round(decimals).",
    "np.digitize": _CUT,
    "np.searchsorted": _CUT,
    "np.isin": "write column.isin([...]).",
    "np.in1d": "write column.isin([...]).",
    "np.nan_to_num": "write column.fillna(0).",
    "np.maximum": "write column.clip(lower=...), or dpframe.where(a > b, a, b).",
    "np.minimum": "write column.clip(upper=...), or dpframe.where(a < b, a, b).",
    "np.fmax": "write column.clip(lower=...), or dpframe.where(a > b, a, b).",
    "np.fmin": "write column.clip(upper=...), or dpframe.where(a < b, a, b).",
    "np.vectorize": _WRITTEN,
    **{f"np.{n}": _RELEASED.format(n) for n in ("mean", "sum", "std", "var")},
    **{f"np.{n}": _SPREAD for n in ("median", "quantile", "percentile")},
    **{f"np.{n}": _KEYS for n in ("unique",)},
    **{f"np.{n}": _ORDER for n in ("cumsum", "cumprod", "diff", "sort", "argsort")},
    **{f"np.{n}": _BOUNDS for n in ("min", "max", "amin", "amax")},
}
"""What stands in for the functions of pandas and numpy, by their usual names."""
