"""What a private Polars frame does not have, and the private way instead."""

from __future__ import annotations

from typing import Final

from dpframe.proofs.polars.hints import for_unit, turned_hint

_FIGURES: Final = "release it: .dp.{name}(column, epsilon=...)."
_SPREAD: Final = ".dp.histogram(column, bins=..., epsilon=...) shows where values lie."
_LOOK: Final = "rows are not shown; .dp.agg(..., epsilon=...) releases statistics."
_COUNT: Final = "the number of rows is private: .dp.count(epsilon=...)."
_ORDER: Final = (
    "rows have no order here; .dp.histogram(...) releases their distribution."
)
_KEYS: Final = ".dp.value_counts(column, keys=[...], epsilon=...) counts public keys."
_EXPORT: Final = "rows do not leave; release an answer and hand out its table."
_LAZY: Final = "nothing is run before a release: .dp.count(epsilon=...) and others."
_LAG: Final = turned_hint("Shift")
_FILLED: Final = turned_hint("Interpolate")
_STACK: Final = "dpframe.concat([one, other]), with a privacy unit."
_OTHER_ROWS: Final = "steps look at one row: .filter, .select, .with_columns."


def _each(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


_HINTS: Final[dict[str, str]] = {
    **_each("sum mean std var", _FIGURES),
    "median": "write .dp.median(column, epsilon=...).",
    "quantile": "write .dp.quantile(column, 0.9, epsilon=...).",
    **_each("min max", _SPREAD),
    **_each("head tail limit first last slice glimpse show item row rows", _LOOK),
    **_each("iter_rows iter_slices iter_columns", _LOOK),
    **_each("height shape count len null_count is_empty", _COUNT),
    **_each("sort top_k bottom_k reverse set_sorted rank", _ORDER),
    **_each("with_row_index with_row_count gather gather_every", _ORDER),
    **_each("value_counts is_unique is_duplicated", _KEYS),
    "unique": f'.group_by("unit").agg(...) gives a unit one row; {_KEYS}',
    **_each("collect collect_async collect_schema fetch lazy", _LAZY),
    **_each("explain profile show_graph inspect cache", _LAZY),
    **_each("map_columns map_rows map_batches", _OTHER_ROWS),
    "shift": _LAG,
    "interpolate": _FILLED,
    **_each("rolling upsample group_by_dynamic", _OTHER_ROWS),
    **_each("vstack extend merge_sorted", _STACK),
    "n_unique": ".dp.n_unique(column, epsilon=...).",
    "approx_n_unique": ".dp.n_unique(column, epsilon=...).",
    "describe": ".dp.agg(..., epsilon=...), after .dp.bounds(...).",
    "corr": ".dp.mean_cov(columns, epsilon=...).corr().",
    "groupby": ".dp.group_by(column, keys=[...]).count(epsilon=...).",
    "partition_by": ".dp.partition(column, keys=[...]).",
    "hist": ".dp.histogram(column, bins=..., epsilon=...).",
    "plot": "plot a release: .dp.histogram(column, bins=..., epsilon=...).plot().",
    "sample": "noise protects the rows already; .filter(condition) takes a part.",
    "join_where": '.join(other, on="id"), then .filter(condition).',
    "join_asof": "it looks at the rows beside; .join(other, on=...) takes equal keys.",
    "melt": ".unpivot(on, index=...), with a privacy unit.",
    "pivot": "the columns would be read off the rows; .dp.contingency(...).",
    "transpose": "rows do not become columns; .dp.agg(..., epsilon=...).",
    "hstack": "its values would go to rows by their place; use .with_columns(...).",
    "clone": "a private frame never changes: use it as it is.",
    "sql": "write the step with .filter, .select and .with_columns.",
    "update": "its values would go to rows by their place; use .with_columns(...).",
    "remove": ".filter(~condition).",
    "attach": "it is attached already.",
}
_PREFIXES: Final = {
    "to_": _EXPORT,
    "write_": _EXPORT,
    "sink_": _EXPORT,
    "rolling_": _OTHER_ROWS,
    "is_": _COUNT,
}


def private_way(name: str, unit: str | None) -> str:
    """Return what to write instead of an attribute that a private frame lacks.

    `unit` is the column of the privacy unit.
    """
    found = _HINTS.get(name) or next(
        (hint for start, hint in _PREFIXES.items() if name.startswith(start)),
        "steps are .filter, .select, .with_columns, .join, .group_by and what dir() "
        "lists; answers are under .dp.",
    )
    return for_unit(found.format(name=name), unit)


PROTOCOLS: Final = {
    "__len__": ("len()", _COUNT),
    "__iter__": ("iteration", _LOOK),
    "__contains__": ("in", ".dp.value_counts(column, keys=[value], epsilon=...)."),
    "__bool__": ("truth value", "compare a release's .value instead."),
    "__array__": ("numpy array", _EXPORT),
    "__dataframe__": ("interchange frame", _EXPORT),
    "__arrow_c_stream__": ("Arrow stream", _EXPORT),
    "__getitem__": ("[...]", '.select("column"), or .filter(condition).'),
    "__setitem__": ("[...] =", "write frame = frame.with_columns(name=...)."),
    "__delitem__": ("del [...]", '.drop("column").'),
}
"""Protocols that a private frame refuses: what was asked, and the private way."""
