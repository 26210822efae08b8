"""A release changes nothing but the budget, and keeps nothing but its figures."""

from __future__ import annotations

import gc
import locale
import os
import random
import re
import threading
import warnings
import weakref
from decimal import getcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = {
    "x": [1.0, 2.0, None, 4.0],
    "n": [1, 2, 3, 4],
    "g": ["a", "b", None, "a"],
    "u": [1, 1, 2, 3],
}

RELEASES: dict[str, Callable[[Any], Any]] = {
    "count": lambda dp: dp.count("x", epsilon=1),
    "n_unique": lambda dp: dp.n_unique("g", epsilon=1),
    "sum": lambda dp: dp.sum("x", epsilon=1),
    "mean": lambda dp: dp.mean("n", epsilon=1),
    "var": lambda dp: dp.var("x", epsilon=1),
    "agg": lambda dp: dp.agg(a="count", m=("x", "mean"), epsilon=1),
    "histogram": lambda dp: dp.histogram("x", bins=4, other=True, epsilon=1),
    "value_counts": lambda dp: dp.value_counts("g", keys=["a", "b"], epsilon=1),
    "contingency": lambda dp: dp.contingency(
        ["g", "x"], keys={"g": ["a", "b"]}, bins={"x": [0, 2, 5]}, epsilon=1
    ),
    "group_by": lambda dp: dp.group_by("g", keys=["a", "b"]).sum("x", epsilon=1),
    "units": lambda dp: dp.group_by("g", keys=["a", "b"]).count(of="units", epsilon=1),
    "mean_cov": lambda dp: dp.mean_cov(["x", "n"], epsilon=1),
    "halfspace_oracle": lambda dp: dp.halfspace_oracle(
        ["x", "n"], margin=0.5, method="sliced", epsilon=1
    ),
}

HOSTS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[9, 9, -1, 0]),
    "nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "arrow": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "category": lambda: pd.DataFrame(COLUMNS).astype({"g": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "lazy": lambda: pl.LazyFrame(COLUMNS),
}

hosts = pytest.mark.parametrize("native", list(HOSTS.values()), ids=list(HOSTS))


def attach(native: Any) -> Any:
    private = native.dp.attach(
        dpframe.Accountant(epsilon=10_000),
        privacy_unit="u",
        max_rows=2,
        max_groups=2,
    )
    return private.dp.bounds(x=(0, 5), n=(0, 5))


# The process


def pandas_options() -> dict[str, Any]:
    described = pd.describe_option(_print_desc=False)
    names = re.findall(r"^([a-z_]+(?:\.[a-z_]+)+) ", described, flags=re.MULTILINE)
    with warnings.catch_warnings(action="ignore"):  # some options are deprecated
        return {name: pd.get_option(name) for name in names}


def process_state() -> dict[str, Any]:
    """Return what a library could change behind its caller's back."""
    return {
        "numpy errors": np.geterr(),
        "numpy printing": np.get_printoptions(),
        "numpy random": np.random.get_state()[1].tolist(),  # noqa: NPY002 - watched
        "random": random.getstate(),
        "warnings": list(warnings.filters),
        "pandas": pandas_options(),
        "polars": pl.Config.state(),
        "decimal": (getcontext().prec, getcontext().rounding, dict(getcontext().flags)),
        "environment": dict(os.environ),
        "directory": os.getcwd(),  # noqa: PTH109 - a comparison
        "locale": locale.setlocale(locale.LC_ALL),
        "polars threads": pl.thread_pool_size(),
        "collector": (gc.isenabled(), gc.get_threshold()),
    }


@hosts
def test_releases_leave_the_process_as_it_was(native: Any) -> None:
    private = attach(native())
    for release in RELEASES.values():
        repr(release(private.dp))  # what is loaded at first use
    before, threads = process_state(), threading.active_count()
    attached = attach(native())
    for release in RELEASES.values():
        result = release(attached.dp)
        repr(result)
        result.to_polars()
        result.to_pandas()
    after = process_state()
    assert {name: after[name] for name in before if after[name] != before[name]} == {}
    assert threading.active_count() == threads


def test_what_is_watched_in_the_process_can_change() -> None:
    before = process_state()
    with np.errstate(over="ignore"), pd.option_context("display.max_rows", 7):
        after = process_state()
    assert {name for name in before if after[name] != before[name]} == {
        "numpy errors",
        "pandas",
    }


def test_releases_give_no_warnings(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    for native in HOSTS.values():
        private = attach(native())
        for release in RELEASES.values():
            release(private.dp).to_pandas()
    assert len(recwarn) == 0


# The caller's frame


@pytest.mark.parametrize("name", [name for name in HOSTS if name != "lazy"])
def test_the_caller_s_frame_is_not_written_to(name: str) -> None:
    native, same = HOSTS[name](), HOSTS[name]()
    pandas = isinstance(native, pd.DataFrame)
    if pandas:
        native.attrs["note"] = "mine"
    names = list(native.columns)
    private = attach(native)
    for release in RELEASES.values():
        release(private.dp)
    assert list(native.columns) == names
    if pandas:
        pd.testing.assert_frame_equal(native, same)
        assert native.attrs == {"note": "mine"}
    else:
        assert native.equals(same)


@pytest.mark.parametrize("name", ["pandas", "nullable", "arrow", "category", "polars"])
def test_read_only_memory_can_be_released(name: str) -> None:
    native = HOSTS[name]()
    if name == "pandas":
        memory = np.array([1.0, 2.0, 3.0, 4.0])
        memory.flags.writeable = False
        native["x"] = pd.Series(memory, index=native.index, copy=False)
    private = attach(native)
    for release in RELEASES.values():
        release(private.dp)


def exact_sum(private: Any) -> int:
    with recording(noiseless=True) as seen:
        private.dp.sum("n", epsilon=1)
    return seen.records[0].blocks[0].exact[0][0]


@pytest.mark.parametrize("name", ["pandas", "nullable", "arrow", "polars"])
def test_a_frame_changed_in_place_after_attach_is_not_seen(name: str) -> None:
    native = HOSTS[name]()
    private = attach(native)
    before = exact_sum(private)
    if isinstance(native, pd.DataFrame):
        native.iloc[:, native.columns.get_loc("n")] = 0
        native.loc[native.index[0], "n"] = 0
        native["n"] = 0
        del native["x"]
    else:
        native[0, "n"] = 0
        native.replace_column(native.get_column_index("n"), pl.Series("n", [0] * 4))
        native.drop_in_place("x")
    assert exact_sum(private) == before
    private.dp.mean("x", epsilon=1)


def test_a_change_through_an_older_view_of_pandas_is_not_seen() -> None:
    native = HOSTS["pandas"]()
    column, twin = native["n"], native[:]
    private = attach(native)
    before = exact_sum(private)
    column.iloc[0] = 0
    twin.loc[:, "n"] = 0
    del native
    gc.collect()
    column.iloc[1] = 0
    assert exact_sum(private) == before


@hosts
def test_what_a_release_hands_out_can_be_changed_freely(native: Any) -> None:
    release = attach(native()).dp.value_counts("g", keys=["a", "b"], epsilon=1)
    before = repr(release)
    table = release.to_pandas()
    table.iloc[:, -1] = -77
    host = release.to_native()
    if isinstance(host, pd.DataFrame):
        host.iloc[:, -1] = -77
    else:
        host[0, "count"] = -77
    release.to_numpy()[...] = 0
    assert repr(release) == before
    assert -77 not in release.to_polars()["count"].to_list()


# What a release keeps


@hosts
@pytest.mark.parametrize("release", list(RELEASES.values()), ids=list(RELEASES))
def test_a_release_keeps_neither_frame_alive(native: Any, release: Any) -> None:
    raw = native()
    private = attach(raw)
    budget = private.private_state.accountant
    raw_gone, private_gone = weakref.ref(raw), []
    weakref.finalize(private._native, private_gone.append, 1)  # noqa: SLF001 - its death is the test
    result = release(private.dp)
    printed = repr(result)
    del raw, private
    gc.collect()
    assert raw_gone() is None
    assert private_gone
    assert repr(result) == printed
    result.to_native()
    result.to_pandas()
    assert budget.spent.epsilon == 1


@hosts
def test_an_accountant_keeps_no_frame_alive(native: Any) -> None:
    raw = native()
    private = attach(raw)
    budget = private.private_state.accountant
    private.dp.count(epsilon=1)
    gone = weakref.ref(raw)
    del raw, private
    gc.collect()
    assert gone() is None
    assert len(budget.events) == 2
