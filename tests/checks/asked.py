"""Every release as one call, for tests that go through all of them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

DATA: Final = {
    "id": [1, 1, 2, 3],
    "age": [41.4242, 20.0, 30.0, 7.5],
    "days": [3, 4, 5, 6],
    "state": ["CA", "NY", "CA", "canary"],
    "day": [dt.datetime(2020, 1, d) for d in (1, 2, 3, 4)],  # noqa: DTZ001 - naive
    "female": [True, False, True, True],
}
"""Rows with values (41.4242, canary) that no message may quote."""

DECLARED: Final = {
    "privacy_unit": "id",
    "max_rows": 2,
    "max_groups": 2,
    "bounds": {"age": (0, 65), "days": (0, 30)},
    "domain": {"state": ["CA", "NY"]},
}

_PUBLIC: Any = pl.DataFrame({"age": [41.0, 20, 30, 7], "days": [3, 4, 5, 6]})
_ANSWERING: Final = _PUBLIC.dp.attach(
    dpframe.Accountant(epsilon=2), bounds=DECLARED["bounds"]
).dp
ANSWERED: Final = _ANSWERING.synthetic_intervals("days", epsilon=1)
ORACLE: Final = _ANSWERING.halfspace_oracle(["age", "days"], margin=0.5, epsilon=1)
"""Answers to compare rows with."""

Call: TypeAlias = "Callable[..., Any]"

GOALS: Final[dict[str, Call]] = {
    "count": lambda dp, **goal: dp.count(**goal),
    "count of a column": lambda dp, **goal: dp.count("age", **goal),
    "count of units": lambda dp, **goal: dp.count(of="units", **goal),
    "n_unique": lambda dp, **goal: dp.n_unique("state", **goal),
    "sum": lambda dp, **goal: dp.sum("age", **goal),
    "sum of totals": lambda dp, **goal: dp.sum(
        "age", bound="total", bounds=(0, 99), **goal
    ),
    "mean": lambda dp, **goal: dp.mean("age", **goal),
    "mean of units": lambda dp, **goal: dp.mean("age", of="units", **goal),
    "var": lambda dp, **goal: dp.var("age", **goal),
    "std": lambda dp, **goal: dp.std("age", **goal),
    "quantile": lambda dp, **goal: dp.quantile("age", 0.9, **goal),
    "quantiles": lambda dp, **goal: dp.quantile("days", [0.75, 0.25], **goal),
    "quantiles of a tree": lambda dp, **goal: dp.quantile(
        "days", [k / 10 for k in range(1, 10)], **goal
    ),
    "median": lambda dp, **goal: dp.median("days", **goal),
    "median of Booleans": lambda dp, **goal: dp.median("female", **goal),
    "cdf": lambda dp, **goal: dp.cdf("age", bins=4, **goal),
    "histogram": lambda dp, **goal: dp.histogram("age", bins=4, **goal),
    "histogram by keys": lambda dp, **goal: dp.histogram("state", other=True, **goal),
    "value_counts": lambda dp, **goal: dp.value_counts("state", **goal),
    "contingency": lambda dp, **goal: dp.contingency(["state", "female"], **goal),
    "group_by count": lambda dp, **goal: dp.group_by("state").count(**goal),
    "group_by sum": lambda dp, **goal: dp.group_by("state").sum("days", **goal),
    "group_by mean": lambda dp, **goal: dp.group_by("state").mean("age", **goal),
    "group_by var": lambda dp, **goal: dp.group_by("state").var("age", **goal),
    "group_by std": lambda dp, **goal: dp.group_by("state").std("age", **goal),
    "group_by median": lambda dp, **goal: dp.group_by("state").median("age", **goal),
    "group_by quantile": lambda dp, **goal: dp.group_by("state").quantile(
        "days", 0.1, **goal
    ),
    "group_by quantiles": lambda dp, **goal: dp.group_by("state").quantile(
        "days", [0.1, 0.5, 0.9], **goal
    ),
    "mean_cov": lambda dp, **goal: dp.mean_cov(["age", "days"], **goal),
}
"""Releases that take a loss or `within=`."""

LOSSES: Final[dict[str, Call]] = {
    **GOALS,
    "agg": lambda dp, **loss: dp.agg(
        n="count", total=("days", "sum"), average=("age", "mean"), **loss
    ),
    "agg of quantiles": lambda dp, **loss: dp.agg(
        middle=("age", "median"),
        n="count",
        high=("days", "quantile", 0.9),
        higher=("days", "quantile", 0.99),
        **loss,
    ),
    "group_by agg": lambda dp, **loss: dp.group_by("state").agg(
        n="count", spread=("age", "std"), **loss
    ),
    "intervals": lambda dp, **loss: dp.synthetic_intervals("days", **loss),
    "intervals of a partition": lambda dp, **loss: dp.synthetic_intervals(
        "days", method="privtree", **loss
    ),
    "intervals of a search": lambda dp, **loss: dp.synthetic_intervals(
        "day",
        bounds=(DATA["day"][0], DATA["day"][3]),
        step=dt.timedelta(days=1),
        method="binary_search",
        **loss,
    ),
    "boxes": lambda dp, **loss: dp.synthetic_intervals(
        ["age", "days"], step={"age": 5}, **loss
    ),
    "boxes of a partition": lambda dp, **loss: dp.synthetic_intervals(
        ["age", "days"], step={"age": 5}, method="privtree", **loss
    ),
    "halfspaces": lambda dp, **loss: dp.halfspace_oracle(
        ["age", "days"], margin=0.5, label="female", method="sliced", **loss
    ),
    "halfspaces of a net": lambda dp, **loss: dp.halfspace_oracle(
        ["age", "days"], margin=0.5, method="net", **loss
    ),
    "halfspaces of boxes": lambda dp, **loss: dp.halfspace_oracle(
        ["age", "days"], margin=0.5, label="female", method="kd", **loss
    ),
    "largest_error": lambda dp, **loss: dp.largest_error(ANSWERED, **loss),
    "largest_error of a list": lambda dp, **loss: dp.largest_error(
        ANSWERED, [(0, 7), (3, None)], **loss
    ),
    "largest_error of halfspaces": lambda dp, **loss: dp.largest_error(
        ORACLE, [({"age": 1}, 30), ([1, -2], 5)], **loss
    ),
    "group_by agg of quantiles": lambda dp, **loss: dp.group_by("state").agg(
        n="count", middle=("days", "median"), **loss
    ),
}
"""Releases that take a loss: all of them."""

SYNTHETIC: Final = frozenset(
    name for name in LOSSES if name.startswith(("intervals", "boxes", "halfspaces"))
)
"""Releases of synthetic rows, which have no errors."""

CHOSEN: Final = frozenset(
    name
    for name in LOSSES
    if ("quantile" in name or "median" in name) and "tree" not in name
)
"""Releases some of whose figures are chosen, and have no noise of their own."""
