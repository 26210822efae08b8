from __future__ import annotations

import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dpframe.noise import DiscreteLaplace
from dpframe.privacy.loss import Loss
from dpframe.provenance import Provenance
from dpframe.query import Measured
from dpframe.releases.figures import COUNT, Figures, GridError
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.tabular import TableRelease
from dpframe.values import ColumnType, column_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def polars_host(table: pl.DataFrame, _: Mapping[str, str]) -> pl.DataFrame:
    return table


def pandas_host(table: pl.DataFrame, _: Mapping[str, str]) -> Any:
    return table.to_pandas()


def measured(*, epsilon: str = "1/2", is_test: bool = False) -> Measured:
    cost = Loss(epsilon=Fraction(epsilon))
    return Measured(
        figures=(),
        cost=cost,
        provenance=Provenance(
            mechanism="count",
            columns=("days",),
            parameters={"of": "rows"},
            privacy_unit="id",
            max_rows=5,
            max_groups=None,
            steps=("filter((days) > (1))",),
            cost=cost.exact,
            is_test=is_test,
        ),
    )


def figures(
    values: Sequence[Any],
    *,
    scale: int | str = 60,
    column: ColumnType = COUNT,
    **options: Any,
) -> Figures:
    array = np.array(values)
    error = GridError(noise=DiscreteLaplace(scale=Fraction(scale)), unit=Fraction(1))
    given = {
        "name": column.name,
        "values": array,
        "centre": array,
        "raw": {column.name: array},
        "error": error,
    }
    return Figures(column=column, **{**given, **options})


def scalar(value: Any, *, host: Any = polars_host, **options: Any) -> Any:
    return ScalarRelease(
        figures=figures([value], **options),
        measured=measured(),
        host=host,
        title=f"{options.get('column', COUNT).name} of rows",
    )


def table(
    keys: Mapping[str, Any],
    *measures: Figures,
    host: Any = polars_host,
    title: str = "count by decade",
    shape: tuple[int, ...] | None = None,
    other: bool = False,
    epsilon: str = "3/10",
) -> Any:
    columns = pl.DataFrame(keys)
    cells = len(measures[0].values) - other
    return TableRelease(
        keys=columns,
        like={name: name for name in columns.columns},
        figures=measures,
        shape=(cells,) if shape is None else shape,
        other=other,
        measured=measured(epsilon=epsilon),
        host=host,
        title=title,
    )


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close what a test drew: more than 20 open figures are a warning."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def made() -> SimpleNamespace:
    """Hand-made releases: no frame, no noise, every figure known."""
    return SimpleNamespace(
        column=column_type,
        figures=figures,
        measured=measured,
        pandas_host=pandas_host,
        polars_host=polars_host,
        scalar=scalar,
        table=table,
    )
