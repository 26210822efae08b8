from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dpframe

if TYPE_CHECKING:
    from tests.conftest import Host

EVERY_RELEASE = {
    "accuracy",
    "cost",
    "guarantee",
    "interval",
    "low_count",
    "noise",
    "plot",
    "provenance",
    "raw",
    "save",
    "stddev",
    "title",
    "to_dict",
    "to_native",
    "to_numpy",
    "to_pandas",
    "to_polars",
    "value",
}
OFFERED = {
    "number": EVERY_RELEASE,
    "table": EVERY_RELEASE | {"keys", "other"},
    "moments": EVERY_RELEASE | {"n", "mean", "cov", "corr"},
    "part": {
        "accuracy",
        "interval",
        "names",
        "shape",
        "stddev",
        "to_pandas",
        "to_polars",
    },
    "preview": {"accuracy", "cost", "frame", "noise", "release", "rows", "schema"},
}
PANDAS_VERBS = {
    "add_prefix",
    "add_suffix",
    "assign",
    "astype",
    "drop",
    "dropna",
    "fillna",
    "filter",
    "groupby",
    "loc",
    "merge",
    "pipe",
    "query",
    "rename",
    "reset_index",
    "select_dtypes",
}
POLARS_VERBS = {
    "cast",
    "drop",
    "drop_nans",
    "drop_nulls",
    "explode",
    "fill_nan",
    "fill_null",
    "filter",
    "group_by",
    "join",
    "pipe",
    "rename",
    "select",
    "unnest",
    "unpivot",
    "with_columns",
}


def frame(host: Host) -> Any:
    return host.attached({"x": [1.0, 2.0], "y": [0.0, 3.0]}).dp.bounds(
        x=(0, 3), y=(0, 3)
    )


def offered(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("kind", OFFERED)
def test_completion_offers_what_readers_of_a_release_call(
    host: Host, kind: str
) -> None:
    dp = frame(host).dp
    moments = dp.mean_cov(["x", "y"], epsilon=1)
    made = {
        "number": dp.mean("x", epsilon=1),
        "table": dp.histogram("x", bins=2, epsilon=1),
        "moments": moments,
        "part": moments.cov,
        "preview": dp.preview.count(epsilon=1),
    }
    assert offered(made[kind]) == OFFERED[kind]


def test_completion_offers_the_verbs_and_schema_of_a_private_frame(host: Host) -> None:
    verbs = PANDAS_VERBS if host.is_pandas else POLARS_VERBS | {"width"}
    assert offered(frame(host)) == verbs | {
        "columns",
        "detach",
        "dp",
        "dtypes",
        "schema",
    }


def test_completion_of_the_package_offers_its_public_names() -> None:
    assert dir(dpframe) == sorted(dpframe.__all__)
