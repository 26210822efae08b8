"""What type checkers see of the public surface; checked by pyright and never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import pandas as pd
import polars as pl

import dpframe
from dpframe import (
    Accountant,
    HalfspaceOracle,
    KeysPreview,
    KeysRelease,
    Loss,
    MeanCov,
    Preview,
    PrivateFrame,
    PrivatePandas,
    PrivatePolars,
    Release,
    ScalarRelease,
    SyntheticIntervals,
    Table,
    TableRelease,
)
from dpframe.attach import RawNamespace

budget = Accountant(epsilon=1)
eager = pl.DataFrame({"id": [1], "age": [30.0], "state": ["CA"]})
lazy = eager.lazy()
pandas = pd.DataFrame({"id": [1], "age": [30.0], "state": ["CA"]})

# Attaching keeps the host

of_eager = dpframe.attach(eager, budget, privacy_unit="id", max_rows=2)
of_lazy = dpframe.attach(lazy, budget, bounds={"age": (0, 65)})
of_pandas = dpframe.attach(pandas, budget, domain={"state": ["CA", "NY"]})

assert_type(of_eager, PrivatePolars[pl.DataFrame])
assert_type(of_lazy, PrivatePolars[pl.LazyFrame])
assert_type(of_pandas, PrivatePandas)

assert_type(
    eager.pipe(dpframe.attach, budget, privacy_unit="id"), PrivatePolars[pl.DataFrame]
)
assert_type(
    lazy.pipe(dpframe.attach, budget, privacy_unit="id"), PrivatePolars[pl.LazyFrame]
)
assert_type(pandas.pipe(dpframe.attach, budget, privacy_unit="id"), PrivatePandas)

# No checker sees `.dp` on a raw frame, which is registered as pandas and Polars ask;
# what it leads to is typed all the same.

assert_type(RawNamespace(eager).attach(budget), PrivatePolars[pl.DataFrame])
assert_type(RawNamespace(lazy).attach(budget), PrivatePolars[pl.LazyFrame])
assert_type(RawNamespace(pandas).attach(budget), PrivatePandas)

# Joining and stacking keep it too

assert_type(of_lazy.join(dpframe.public(eager), on="id"), PrivatePolars[pl.LazyFrame])
assert_type(of_eager.join(of_eager, on="id"), PrivatePolars[pl.DataFrame])
assert_type(dpframe.concat([of_lazy, of_lazy]), PrivatePolars[pl.LazyFrame])
assert_type(dpframe.concat([of_pandas]), PrivatePandas)

any_frame: PrivateFrame = of_eager
any_frame = of_lazy
any_frame = of_pandas

# Verbs and declarations keep the type

assert_type(of_eager.filter(pl.col("age") > 18), PrivatePolars[pl.DataFrame])
assert_type(of_lazy.with_columns(x=pl.col("age")), PrivatePolars[pl.LazyFrame])
assert_type(of_lazy.select("age").rename({"age": "x"}), PrivatePolars[pl.LazyFrame])
assert_type(of_pandas.query("age > 18"), PrivatePandas)
assert_type(of_pandas[["age"]], PrivatePandas)
assert_type(of_pandas.assign(x=1).dropna(), PrivatePandas)

assert_type(of_eager.dp.bounds(age=(0, 65)), PrivatePolars[pl.DataFrame])
assert_type(of_lazy.dp.domain({"state": ["CA"]}), PrivatePolars[pl.LazyFrame])
assert_type(of_pandas.dp.contributions(max_rows=3), PrivatePandas)

# Releases are typed by kind and by the native frame of their tables

assert_type(of_eager.dp.count(epsilon=1), ScalarRelease[pl.DataFrame])
assert_type(of_lazy.dp.count(epsilon=1), ScalarRelease[pl.DataFrame])
assert_type(of_pandas.dp.count(epsilon=1), ScalarRelease[pd.DataFrame])
assert_type(of_pandas.dp.n_unique("state", epsilon=1), ScalarRelease[pd.DataFrame])
assert_type(of_pandas.dp.sum("age", epsilon=1), ScalarRelease[pd.DataFrame])
assert_type(of_pandas.dp.mean("age", within=2, rows=9), ScalarRelease[pd.DataFrame])
assert_type(of_lazy.dp.var("age", rho=1), ScalarRelease[pl.DataFrame])
assert_type(of_lazy.dp.std("age", epsilon=1), ScalarRelease[pl.DataFrame])
assert_type(of_lazy.dp.median("age", epsilon=1), ScalarRelease[pl.DataFrame])
assert_type(of_lazy.dp.quantile("age", 0.9, within=20), ScalarRelease[pl.DataFrame])
assert_type(of_lazy.dp.quantile("age", [0.1, 0.9], rho=1), TableRelease[pl.DataFrame])
assert_type(of_pandas.dp.cdf("age", bins=3, epsilon=1), TableRelease[pd.DataFrame])
assert_type(of_lazy.dp.agg(n="count", epsilon=1), TableRelease[pl.DataFrame])

assert_type(of_lazy.dp.histogram("age", bins=3, epsilon=1), TableRelease[pl.DataFrame])
assert_type(of_pandas.dp.value_counts("state", epsilon=1), TableRelease[pd.DataFrame])
assert_type(of_eager.dp.contingency(["state"], epsilon=1), TableRelease[pl.DataFrame])
assert_type(of_eager.dp.mean_cov(["age"], epsilon=1), MeanCov[pl.DataFrame])

found = of_pandas.dp.discover_keys("state", delta=1e-6, epsilon=1)
assert_type(found, KeysRelease[pd.DataFrame])
assert_type(found.value, list[Any])
assert_type(found.to_native(), pd.DataFrame)
assert_type(
    of_lazy.dp.discover_keys(["state", "age"], delta=1e-6, rho=1),
    KeysRelease[pl.DataFrame],
)

groups = of_pandas.dp.group_by("state")
assert_type(groups.count(epsilon=1), TableRelease[pd.DataFrame])
assert_type(groups.sum("age", epsilon=1), TableRelease[pd.DataFrame])
assert_type(groups.mean("age", epsilon=1), TableRelease[pd.DataFrame])
assert_type(groups.median("age", epsilon=1), TableRelease[pd.DataFrame])
assert_type(groups.quantile("age", [0.1, 0.9], epsilon=1), TableRelease[pd.DataFrame])
assert_type(groups.agg(n="count", epsilon=1), TableRelease[pd.DataFrame])

# What comes out of them

table = of_pandas.dp.histogram("age", bins=3, epsilon=1)
assert_type(table.to_native(), pd.DataFrame)
assert_type(table.to_polars(), pl.DataFrame)
assert_type(table.to_pandas(), pd.DataFrame)
assert_type(table.interval(), Table)
assert_type(table.raw, pd.DataFrame)
assert_type(table.other, ScalarRelease[pd.DataFrame])
assert_type(table.cost, Loss)
assert_type(of_lazy.dp.count(epsilon=1).to_native(), pl.DataFrame)
assert_type(float(of_lazy.dp.count(epsilon=1)), float)

any_release: Release[pd.DataFrame] = table


def save(path: Path) -> None:
    assert_type(table.save(path), Path)
    assert_type(dpframe.load(path), Release[Any])


# Previews know what they are a preview of

preview = of_pandas.dp.preview
assert_type(preview.count(epsilon=1), Preview[ScalarRelease[pd.DataFrame]])
assert_type(preview.median("age", within=5), Preview[ScalarRelease[pd.DataFrame]])
assert_type(preview.quantile("age", epsilon=1), Preview[ScalarRelease[pd.DataFrame]])
assert_type(
    preview.quantile("age", [0.1, 0.9], epsilon=1), Preview[TableRelease[pd.DataFrame]]
)
assert_type(preview.count(epsilon=1).release(), ScalarRelease[pd.DataFrame])
assert_type(
    of_lazy.dp.preview.histogram("age", bins=3, within=5),
    Preview[TableRelease[pl.DataFrame]],
)
assert_type(
    of_eager.dp.preview.group_by("state").mean("age", epsilon=1, rows=100),
    Preview[TableRelease[pl.DataFrame]],
)
assert_type(preview.mean_cov(["age"], epsilon=1).release(), MeanCov[pd.DataFrame])
assert_type(
    preview.discover_keys("state", delta=1e-6, epsilon=1),
    KeysPreview[KeysRelease[pd.DataFrame]],
)
assert_type(preview.count(epsilon=1).schema, dict[str, pl.DataType])

plan = dpframe.plan.budget(
    [
        preview.count(epsilon=1),
        of_lazy.dp.preview.histogram("age", bins=3, within=5),
        preview.discover_keys("state", delta=1e-6, epsilon=1),
    ]
)
assert_type(plan.epsilon, Fraction | None)
assert_type(plan.at(delta=1e-6), dpframe.Loss)
assert_type(plan.accountant(), str)
needed = dpframe.plan.rows_needed("median", points=1000, alpha=0.01, epsilon=1)
assert_type(needed, dpframe.plan.SampleSize)
assert_type(needed.rows, int)
assert_type(dpframe.plan.alpha_reached("count", rows=100, rho=0.1).alpha, float)
synthetic = of_eager.dp.synthetic_intervals("age", epsilon=1)
assert_type(synthetic, SyntheticIntervals[pl.DataFrame])
assert_type(synthetic.to_native(), pl.DataFrame)
assert_type(synthetic.sample(10), pl.DataFrame)
assert_type(synthetic.count(20, 30), ScalarRelease[pl.DataFrame])
assert_type(synthetic.count_many([(20, 30), (None, 40)]), dpframe.Table)
assert_type(synthetic.accuracy(), float)
assert_type(of_pandas.dp.synthetic_intervals(["age"], rho=1).value, pd.DataFrame)
assert_type(
    preview.synthetic_intervals("age", epsilon=1),
    Preview[SyntheticIntervals[pd.DataFrame]],
)
assert_type(
    of_eager.dp.largest_error(synthetic, [(0, 20)], epsilon=1),
    ScalarRelease[pl.DataFrame],
)
assert_type(
    preview.largest_error(synthetic, epsilon=1).release(), ScalarRelease[pd.DataFrame]
)
oracle = of_eager.dp.halfspace_oracle(["age", "id"], margin=0.1, epsilon=1)
assert_type(oracle, HalfspaceOracle[pl.DataFrame])
assert_type(
    of_pandas.dp.largest_error(oracle, [({"age": 1}, 20)], epsilon=1),
    ScalarRelease[pd.DataFrame],
)
assert_type(oracle.to_native(), pl.DataFrame)
assert_type(oracle.sample(10), pl.DataFrame)
answer = oracle.query({"age": 0.02}, offset=1)
assert_type(answer.count, ScalarRelease[pl.DataFrame])
assert_type(answer.margin_band, float)
assert_type(float(answer), float)
assert_type(oracle.query([1, 2], scaled=True).title, str)
assert_type(oracle.query_many([[1, 2], [3, 4]], [0, 1], confidence=0.9), Table)
assert_type(oracle.margin_band({"age": 1}, 30), ScalarRelease[pl.DataFrame])
assert_type(oracle.classify_error({"age": 1}, 30).count, ScalarRelease[pl.DataFrame])
best = oracle.best_halfspace()
assert_type(best.w, dict[str, float])
assert_type(best.offset, float)
assert_type(float(best.error), float)
assert_type(oracle.alpha(0.9), float)
assert_type(oracle.nbytes, int)
assert_type(
    oracle.evaluate(of_eager, [({"age": 1}, 30)], epsilon=1), ScalarRelease[Any]
)
assert_type(
    of_pandas.dp.halfspace_oracle(("age", "id"), margin=0.1, label="b", rho=1).value,
    pd.DataFrame,
)
assert_type(
    preview.halfspace_oracle(["age", "id"], margin=0.1, epsilon=1),
    Preview[HalfspaceOracle[pd.DataFrame]],
)

# Mistakes that a checker finds: each line must be an error

dpframe.attach({"a": [1]}, budget)  # pyright: ignore[reportCallIssue, reportArgumentType]
dpframe.attach(eager, 1.0)  # pyright: ignore[reportCallIssue, reportArgumentType]
of_eager.dp.count(eps=1)  # pyright: ignore[reportCallIssue]
of_eager.dp.count("age", "rows", epsilon=1)  # pyright: ignore[reportCallIssue]
of_eager.dp.discover_keys("state", epsilon=1)  # pyright: ignore[reportCallIssue]
of_eager.dp.count(epsilon="0.1")  # pyright: ignore[reportArgumentType]
dpframe.plan.budget([table])  # pyright: ignore[reportArgumentType]
of_eager.dp.halfspace_oracle(["a", "b"], epsilon=1)  # pyright: ignore[reportCallIssue]
of_eager.dp.mean(["age"], epsilon=1)  # pyright: ignore[reportArgumentType]
