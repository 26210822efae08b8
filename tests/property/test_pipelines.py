"""The same script in pandas and in Polars gives the same exact integers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from checks.pipelines import (
    FLIGHTS,
    RAND,
    RELEASES,
    flights_pandas,
    flights_polars,
    rand_pandas,
    rand_polars,
    table,
)

import dpframe
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPTS: dict[str, tuple[Any, dict[str, Any], Callable[[], Any], Callable[[], Any]]] = {
    "rand": (("sampleSelection", "RandHIE"), RAND, rand_polars, rand_pandas),
    "flights": (("nycflights13", "flights"), FLIGHTS, flights_polars, flights_pandas),
}
HOSTS = ("polars", "polars lazy", "pandas")


@cache
def finished(script: str, host: str) -> Any:
    """Return the private frame at the end of a script."""
    source, declared, in_polars, in_pandas = SCRIPTS[script]
    raw = table(*source)
    native: Any = raw if host == "pandas" else pl.from_pandas(raw)
    native = native.lazy() if host == "polars lazy" else native
    frame: Any = dpframe.attach(native, dpframe.Accountant(epsilon=1_000), **declared)
    salted = replace(frame.dp.state, salt=b"the same for all")
    frame = frame.with_state(salted)
    for step in in_pandas() if host == "pandas" else in_polars():
        frame = step(frame)
    return frame


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_have_25_steps_in_both_libraries(script: str) -> None:
    *_, in_polars, in_pandas = SCRIPTS[script]
    assert len(in_polars()) == len(in_pandas()) == 25


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_end_with_the_same_columns(script: str) -> None:
    first, *others = ([*finished(script, host).columns] for host in HOSTS)
    assert all(sorted(other) == sorted(first) for other in others)


@pytest.mark.parametrize(
    ("script", "release"),
    [(script, release) for script in SCRIPTS for release in RELEASES[script]],
)
def test_both_libraries_give_the_same_exact_integers(script: str, release: str) -> None:
    found: list[list[Any]] = []
    for host in HOSTS:
        with recording(noiseless=True) as recorder:
            RELEASES[script][release](finished(script, host))
        found.append(
            [
                (block.exact, block.sensitivity, block.scale)
                for record in recorder.records
                for part in record.parts
                for block in part.blocks
            ]
        )
    assert found[0] == found[1] == found[2]
    assert any(any(map(any, exact)) for exact, *_ in found[0])


def test_the_comparison_tells_scripts_apart_that_differ_in_one_row() -> None:
    frame = finished("rand", "polars")
    exact: list[Any] = []
    for shown in (frame, frame.filter(pl.col("spending") < 1_000)):
        with recording(noiseless=True) as recorder:
            RELEASES["rand"]["count"](shown)
        exact.append(recorder.records[0].parts[0].blocks[0].exact)
    assert exact[0] != exact[1]
