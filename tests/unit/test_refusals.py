"""The mistakes that people make first: each is refused and names the private way.

Every row of the two tables is a mistake, words that its hint must hold, and the
private way that the hint means, which must work as it is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.asked import DATA, DECLARED

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[Any], Any]

age, state = pl.col("age"), pl.col("state")
KEYS = ["CA", "NY"]
TABLE = pd.DataFrame({"state": KEYS, "region": ["west", "east"]})


def histogram(p: Any) -> Any:
    return p.dp.histogram("age", bins=4, epsilon=1)


def counted(p: Any) -> Any:
    return p.dp.count(epsilon=1)


POLARS: dict[str, tuple[Call, str, Call]] = {
    "head": (lambda p: p.head(), ".dp.agg(", lambda p: p.dp.agg(n="count", epsilon=1)),
    "tail": (lambda p: p.tail(3), ".dp.agg(", lambda p: p.dp.agg(n="count", epsilon=1)),
    "glimpse": (
        lambda p: p.glimpse(),
        ".dp.agg(",
        lambda p: p.dp.agg(n="count", epsilon=1),
    ),
    "sort": (lambda p: p.sort("age"), ".dp.histogram(", histogram),
    "top_k": (lambda p: p.top_k(3, by="age"), ".dp.histogram(", histogram),
    "row numbers": (lambda p: p.with_row_index(), ".dp.histogram(", histogram),
    "sample": (
        lambda p: p.sample(2),
        ".filter(condition)",
        lambda p: p.filter(age > 20),
    ),
    "unique": (
        lambda p: p.unique("state"),
        '.group_by("id").agg(',
        lambda p: p.group_by("id").agg(state.max()),
    ),
    "describe": (
        lambda p: p.describe(),
        ".dp.agg(",
        lambda p: p.dp.agg(a=("age", "mean"), epsilon=1),
    ),
    "plot": (lambda p: p.plot, ".plot()", lambda p: histogram(p).plot()),
    "hist": (lambda p: p.hist(), ".dp.histogram(", histogram),
    "len": (len, ".dp.count(", counted),
    "height": (lambda p: p.height, ".dp.count(", counted),
    "shape": (lambda p: p.shape, ".dp.count(", counted),
    "null_count": (
        lambda p: p.null_count(),
        ".dp.count(",
        lambda p: p.dp.count("age", epsilon=1),
    ),
    "iteration": (list, ".dp.agg(", lambda p: p.dp.agg(n="count", epsilon=1)),
    "collect": (lambda p: p.collect(), ".dp.count(", counted),
    "to_numpy": (
        lambda p: p.to_numpy(),
        "release an answer",
        lambda p: histogram(p).to_numpy(),
    ),
    "np.asarray": (
        np.asarray,
        "release an answer",
        lambda p: histogram(p).to_numpy(),
    ),
    "to_pandas": (
        lambda p: p.to_pandas(),
        "release an answer",
        lambda p: histogram(p).to_pandas(),
    ),
    "write_csv": (
        lambda p: p.write_csv("rows.csv"),
        "release an answer",
        lambda p: histogram(p).to_polars().write_csv(),
    ),
    "a column": (lambda p: p["age"], ".select(", lambda p: p.select("age")),
    "a new column in place": (
        lambda p: p.__setitem__("y", 1),
        ".with_columns(",
        lambda p: p.with_columns(y=1),
    ),
    "a mask of a Series": (
        lambda p: p.filter(pl.Series([True, False, True, True])),
        "expression of columns",
        lambda p: p.filter(age > 20),
    ),
    "a mask of a list": (
        lambda p: p.filter([True, False, True, True]),
        "expression of columns",
        lambda p: p.filter(age > 20),
    ),
    "mean": (
        lambda p: p.mean(),
        ".dp.mean(",
        lambda p: p.dp.mean("age", epsilon=1),
    ),
    "sum": (lambda p: p.sum(), ".dp.sum(", lambda p: p.dp.sum("age", epsilon=1)),
    "max": (lambda p: p.max(), ".dp.histogram(", histogram),
    "median": (
        lambda p: p.median(),
        ".dp.median(",
        lambda p: p.dp.median("age", epsilon=1),
    ),
    "quantile": (
        lambda p: p.quantile(0.9),
        ".dp.quantile(",
        lambda p: p.dp.quantile("age", 0.9, epsilon=1),
    ),
    "n_unique": (
        lambda p: p.n_unique(),
        ".dp.n_unique(",
        lambda p: p.dp.n_unique("state", epsilon=1),
    ),
    "corr": (
        lambda p: p.corr(),
        ".dp.mean_cov(",
        lambda p: p.dp.mean_cov(["age", "days"], epsilon=1).corr(),
    ),
    "pivot": (
        lambda p: p.pivot("state"),  # noqa: PD010 - Polars has pivot
        ".dp.contingency(",
        lambda p: p.dp.contingency(["state", "female"], epsilon=1),
    ),
    "group_by without the unit": (
        lambda p: p.group_by("state"),
        ".dp.group_by(",
        lambda p: p.dp.group_by("state", keys=KEYS).count(epsilon=1),
    ),
    "partition_by": (
        lambda p: p.partition_by("state"),
        ".dp.partition(",
        lambda p: p.dp.partition("state", keys=KEYS),
    ),
    "shift": (
        lambda p: p.with_columns(age.shift(1)),
        'f.join(f.select("id", ',
        lambda p: p.join(
            p.select("id", pl.col("days") + 1, previous="age"),
            on=["id", "days"],
            how="left",
        ),
    ),
    "rank": (
        lambda p: p.with_columns(age.rank()),
        '.over("id")',
        lambda p: p.with_columns(age.rank().over("id")),
    ),
    "cum_sum": (
        lambda p: p.with_columns(age.cum_sum()),
        'f.join(f.select("id", ',
        lambda p: (
            p.join(p.select("id", before="days", earlier="age"), on="id")
            .filter(pl.col("before") <= pl.col("days"))
            .group_by("id", "days")
            .agg(pl.col("earlier").sum())
        ),
    ),
    "a mean in a step": (
        lambda p: p.with_columns(age - age.mean()),
        '.over("id")',
        lambda p: p.with_columns(age - age.mean().over("id")),
    ),
    "a window by another column": (
        lambda p: p.with_columns(age.mean().over("state")),
        '.over("id"',
        lambda p: p.with_columns(age.mean().over("id", "state")),
    ),
    "fill forward": (
        lambda p: p.fill_null(strategy="forward"),
        '.mean().over("id")',
        lambda p: p.with_columns(age.fill_null(age.mean().over("id"))),
    ),
    "a Python function": (
        lambda p: p.with_columns(age.map_elements(round, return_dtype=pl.Float64)),
        "Polars' own expressions",
        lambda p: p.with_columns(age.round()),
    ),
    "a strict cast": (
        lambda p: p.with_columns(state.cast(pl.Int64)),
        "strict=False",
        lambda p: p.with_columns(state.cast(pl.Int64, strict=False)),
    ),
    "a join with a raw frame": (
        lambda p: p.join(pl.DataFrame(TABLE), on="state"),
        "dpframe.public(",
        lambda p: p.join(dpframe.public(pl.DataFrame(TABLE)), on="state"),
    ),
    "vstack": (
        lambda p: p.vstack(p),
        "dpframe.concat(",
        lambda p: dpframe.concat([p, p]),
    ),
    "if": (bool, ".value", lambda p: bool(counted(p).value)),
    "groupby of pandas": (
        lambda p: p.groupby("state"),
        ".dp.group_by(",
        lambda p: p.dp.group_by("state", keys=KEYS).count(epsilon=1),
    ),
    "attached twice": (lambda p: p.dp.attach, ".dp.detach()", lambda p: p.dp.detach()),
}

PANDAS: dict[str, tuple[Call, str, Call]] = {
    "head": (lambda p: p.head(), "print the frame", repr),
    "sample": (
        lambda p: p.sample(2),
        "frame[condition]",
        lambda p: p[pd.col("age") > 1],
    ),
    "sort_values": (lambda p: p.sort_values("age"), ".dp.histogram(", histogram),
    "nlargest": (lambda p: p.nlargest(3, "age"), ".dp.histogram(", histogram),
    "describe": (
        lambda p: p.describe(),
        ".dp.agg(",
        lambda p: p.dp.agg(a=("age", "mean"), epsilon=1),
    ),
    "value_counts": (
        lambda p: p.value_counts("state"),
        ".dp.value_counts(",
        lambda p: p.dp.value_counts("state", keys=KEYS, epsilon=1),
    ),
    "plot": (lambda p: p.plot(), ".plot()", lambda p: histogram(p).plot()),
    "hist": (lambda p: p.hist("age"), ".plot()", lambda p: histogram(p).plot()),
    "len": (len, ".dp.count(", counted),
    "shape": (lambda p: p.shape, ".dp.count(", counted),
    "empty": (lambda p: p.empty, ".dp.count(", counted),
    "iteration": (list, ".columns", lambda p: list(p.columns)),
    "iterrows": (lambda p: p.iterrows(), "release a statistic", counted),
    "to_numpy": (lambda p: p.to_numpy(), "release a statistic", counted),
    "np.asarray": (np.asarray, "to_numpy()", lambda p: histogram(p).to_numpy()),
    "to_csv": (lambda p: p.to_csv("rows.csv"), ".save(", histogram),
    "a column": (lambda p: p["age"], '[["age"]]', lambda p: p[["age"]]),
    "an attribute": (lambda p: p.age, '[["age"]]', lambda p: p[["age"]]),
    "a raw mask": (
        lambda p: p[pd.Series([True, False, True, True])],
        "lambda df: df[name] > 0",
        lambda p: p[lambda df: df["age"] > 0],
    ),
    "a mask of an array": (
        lambda p: p[np.array([True, False, True, True])],
        "lambda df: df[name] > 0",
        lambda p: p[lambda df: df["age"] > 0],
    ),
    "a new column in place": (
        lambda p: p.__setitem__("y", 1),
        ".assign(",
        lambda p: p.assign(y=lambda df: df["age"] + 1),
    ),
    "inplace": (
        lambda p: p.fillna(0, inplace=True),  # noqa: PD002 - the mistake
        "inplace",
        lambda p: p.fillna({"age": 0}),
    ),
    "fill forward": (
        lambda p: p.fillna(method="ffill"),
        "method",
        lambda p: p.fillna({"age": 0}),
    ),
    "ffill": (lambda p: p.ffill(), "fillna(value)", lambda p: p.fillna({"age": 0})),
    "mean": (lambda p: p.mean(), ".dp.mean(", lambda p: p.dp.mean("age", epsilon=1)),
    "max": (lambda p: p.max(), ".dp.histogram(", histogram),
    "nunique": (
        lambda p: p.nunique(),
        ".dp.n_unique(",
        lambda p: p.dp.n_unique("state", epsilon=1),
    ),
    "corr": (
        lambda p: p.corr(),
        ".dp.mean_cov(",
        lambda p: p.dp.mean_cov(["age", "days"], epsilon=1).corr(),
    ),
    "pivot_table": (
        lambda p: p.pivot_table(index="state"),
        ".dp.contingency(",
        lambda p: p.dp.contingency(["state", "female"], epsilon=1),
    ),
    "groupby without the unit": (
        lambda p: p.groupby("state"),
        ".dp.group_by(",
        lambda p: p.dp.group_by("state", keys=KEYS).count(epsilon=1),
    ),
    "drop_duplicates": (
        lambda p: p.drop_duplicates("state"),
        ".dp.n_unique(",
        lambda p: p.dp.n_unique("state", epsilon=1),
    ),
    "iloc": (lambda p: p.iloc[0], "frame[condition]", lambda p: p[pd.col("age") > 1]),
    "loc by labels": (
        lambda p: p.loc[0],
        "condition",
        lambda p: p.loc[pd.col("age") > 1],
    ),
    "set_index": (lambda p: p.set_index("state"), "keep it as a column", repr),
    "apply": (
        lambda p: p.apply(len),
        "assign(name=lambda df: ...)",
        lambda p: p.assign(name=lambda df: df["age"] * 2),
    ),
    "eval": (
        lambda p: p.eval("y = age + 1"),
        "assign(name=lambda df: ...)",
        lambda p: p.assign(y=lambda df: df["age"] + 1),
    ),
    "shift": (
        lambda p: p.assign(y=lambda df: df["age"].shift()),
        'f.merge(f[["id", ',
        lambda p: p.merge(
            p[["id", "days", "age"]]
            .assign(days=lambda d: d["days"] + 1)
            .rename(columns={"age": "previous"}),
            on=["id", "days"],
            how="left",
        ),
    ),
    "cumsum": (
        lambda p: p.groupby("id")["age"].cumsum(),
        'f.merge(f[["id", ',
        lambda p: (
            p.merge(
                p[["id", "days", "age"]].rename(
                    columns={"days": "then", "age": "earlier"}
                ),
                on="id",
            )
            .query("then <= days")
            .groupby(["id", "days"])["earlier"]
            .sum()
        ),
    ),
    "ffill by unit": (
        lambda p: p.assign(y=lambda df: df.groupby("id")["age"].ffill()),
        '.fillna(d.groupby(unit)["x"].transform("max"))',
        lambda p: p.assign(
            y=lambda d: d["age"].fillna(d.groupby("id")["age"].transform("max"))
        ),
    ),
    "melt": (
        lambda p: p.melt(),
        "dpframe.concat(",
        lambda p: dpframe.concat(
            [
                p[[name]].rename(columns={name: "value"}).assign(variable=name)
                for name in ["age"]
            ]
        ),
    ),
    "reset_index with a name": (
        lambda p: p.groupby("id")["age"].sum().reset_index(name="total"),
        ".rename(columns=",
        lambda p: p.groupby("id")["age"].sum().rename(columns={"age": "total"}),
    ),
    "a sum across columns": (
        lambda p: p.assign(y=lambda df: df[["age", "days"]].sum(axis=1)),
        'd["x"] + d["y"]',
        lambda p: p.assign(y=lambda d: d["age"] + d["days"]),
    ),
    "floats to int": (
        lambda p: p.assign(y=lambda df: (df["age"] / 10).astype(int)),
        '.astype("Int64")',
        lambda p: p.assign(y=lambda df: (df["age"] / 10).round().astype("Int64")),
    ),
    "round": (
        lambda p: p.round(1),
        'd["x"].round(2)',
        lambda p: p.assign(age=lambda d: d["age"].round(2)),
    ),
    "to_numeric that raises": (
        lambda p: p.assign(y=lambda df: dpframe.to_numeric(df["state"], "raise")),
        'errors="coerce"',
        lambda p: p.assign(y=lambda df: dpframe.to_numeric(df["state"], "coerce")),
    ),
    "a mean in a step": (
        lambda p: p.assign(y=lambda df: df["age"] - df["age"].mean()),
        ".dp.mean(",
        lambda p: p.dp.mean("age", epsilon=1),
    ),
    "apply on a column": (
        lambda p: p.assign(y=lambda df: df["age"].apply(round)),
        "elementwise",
        lambda p: p.assign(y=lambda df: df["age"].round()),
    ),
    "a Series in assign": (
        lambda p: p.assign(y=pd.Series([1, 2, 3, 4])),
        "a callable of the frame",
        lambda p: p.assign(y=lambda df: df["age"]),
    ),
    "a Python if": (
        lambda p: p.assign(y=lambda df: 1 if df["age"] > 3 else 0),
        "where()",
        lambda p: p.assign(y=lambda df: dpframe.where(df["age"] > 3, 1, 0)),
    ),
    "and between conditions": (
        lambda p: p[lambda df: (df["age"] > 3) and (df["days"] > 1)],
        "& | ~",
        lambda p: p[lambda df: (df["age"] > 3) & (df["days"] > 1)],
    ),
    "np.where": (
        lambda p: p.assign(y=lambda df: np.where(df["age"] > 3, 1, 0)),
        "dpframe.where(",
        lambda p: p.assign(y=lambda df: dpframe.where(df["age"] > 3, 1, 0)),
    ),
    "pd.cut": (
        lambda p: p.assign(y=lambda df: pd.cut(df["age"], [0, 30, 65])),
        "dpframe.cut",
        lambda p: p.assign(
            y=lambda df: dpframe.cut(df["age"], [0, 30, 65], labels=["a", "b"])
        ),
    ),
    "pd.to_datetime": (
        lambda p: p.assign(y=lambda df: pd.to_datetime(df["state"])),
        "dpframe.to_datetime",
        lambda p: p.assign(
            y=lambda df: dpframe.to_datetime(df["state"], format="%Y-%m-%d")
        ),
    ),
    "a statistic in a query": (
        lambda p: p.query("age > age.mean()"),
        ".dp.mean(",
        lambda p: p.query("age > 30"),
    ),
    "a merge with a raw frame": (
        lambda p: p.merge(TABLE, on="state"),
        "dpframe.public(",
        lambda p: p.merge(dpframe.public(TABLE), on="state"),
    ),
    "if": (bool, "is not None", lambda p: p is not None),
    "group_by of Polars": (
        lambda p: p.group_by("state"),
        ".dp.group_by(",
        lambda p: p.dp.group_by("state", keys=KEYS).count(epsilon=1),
    ),
}


def private(host: str, accountant: dpframe.Accountant) -> Any:
    rows = {**DATA, "state": ["CA", "NY", "CA", "NY"]}
    native = pl.DataFrame(rows) if host == "polars" else pd.DataFrame(rows)
    return dpframe.attach(native, accountant, **DECLARED)


ROWS = [
    (host, name, *row)
    for host, rows in (("polars", POLARS), ("pandas", PANDAS))
    for name, row in rows.items()
]


@pytest.mark.parametrize(
    ("host", "name", "mistake", "words", "way"),
    ROWS,
    ids=[f"{host}: {name}" for host, name, *_ in ROWS],
)
def test_a_mistake_is_refused_with_the_private_way(
    host: str, name: str, mistake: Call, words: str, way: Call
) -> None:
    budget = dpframe.Accountant(epsilon=10)
    frame = private(host, budget)
    with pytest.raises(dpframe.NotProvedError) as refused:
        mistake(frame)
    assert refused.value.hint is not None, name
    assert words in refused.value.hint
    assert "41.4242" not in str(refused.value)
    assert budget.spent.epsilon == 0
    way(frame)


def test_each_library_has_its_40_mistakes() -> None:
    assert min(len(POLARS), len(PANDAS)) >= 40


@pytest.mark.parametrize("host", ["polars", "pandas"])
def test_concatenation_by_the_library_is_refused_by_itself(host: str) -> None:
    frame = private(host, dpframe.Accountant(epsilon=1))
    concat: Call = pl.concat if host == "polars" else pd.concat
    with pytest.raises(TypeError):
        concat([frame, frame])
    dpframe.concat([frame, frame])
