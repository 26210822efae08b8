from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks.asked import DATA, DECLARED, GOALS, LOSSES

import dpframe
from dpframe import (
    BoundsRequiredError,
    BudgetExceededError,
    ColumnNotFoundError,
    DomainRequiredError,
    NotAttachedError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Host

pytestmark = pytest.mark.usefixtures("nothing_is_read")

NAN, INF = float("nan"), float("inf")
YEAR = (dt.date(2020, 1, 1), dt.date(2021, 1, 1))


def private(host: Host, **changed: Any) -> Any:
    declared = {**DECLARED, **changed}
    return host.attached(host.unreadable(DATA), epsilon=10, **declared)


def bare(host: Host) -> Any:
    return host.attached(host.unreadable(DATA), epsilon=10, privacy_unit="id")


def refusal(frame: Any, call: Callable[[Any], object], error: type) -> Any:
    """Return the error of a call that must be refused, and leave all as it was."""
    budget = frame.dp.state.accountant
    before = (budget.spent, budget.remaining, budget.events.to_dicts(), frame.dp.state)
    with pytest.raises(error) as caught:
        call(frame)
    after = (budget.spent, budget.remaining, budget.events.to_dicts(), frame.dp.state)
    assert after == before
    found = caught.value
    assert isinstance(found, dpframe.DPFrameError)
    while found is not None:
        told = f"{found} {found.args} {getattr(found, '__notes__', '')}"
        assert "canary" not in told
        assert "41.4242" not in told
        found = found.__cause__ or found.__context__
    return caught.value


def message(error: Any) -> str:
    """Return the whole text, which has a fact and may have a hint."""
    fact, *hints = str(error).split("\nHint: ")
    assert fact
    assert hints == ([] if error.hint is None else [error.hint])
    return str(error)


# What every release takes: a loss

NO_LOSSES: list[tuple[dict[str, Any], type]] = [
    ({}, ParameterTypeError),
    ({"epsilon": 1, "rho": 1}, ParameterTypeError),
    ({"epsilon": "0.1"}, ParameterTypeError),
    ({"epsilon": True}, ParameterTypeError),
    ({"epsilon": np.True_}, ParameterTypeError),
    ({"epsilon": 1j}, ParameterTypeError),
    ({"epsilon": [1]}, ParameterTypeError),
    ({"epsilon": np.array(1.0)}, ParameterTypeError),
    ({"epsilon": np.array([1.0])}, ParameterTypeError),
    ({"epsilon": pd.Series([1.0])}, ParameterTypeError),
    ({"epsilon": pd.NA}, ParameterTypeError),
    ({"epsilon": dt.timedelta(1)}, ParameterTypeError),
    ({"epsilon": np.timedelta64(1, "s")}, ParameterTypeError),
    ({"epsilon": 0}, ParameterError),
    ({"epsilon": 0.0}, ParameterError),
    ({"epsilon": -0.0}, ParameterError),
    ({"epsilon": -1}, ParameterError),
    ({"epsilon": Fraction(-1, 3)}, ParameterError),
    ({"epsilon": Decimal("NaN")}, ParameterError),
    ({"epsilon": NAN}, ParameterError),
    ({"epsilon": np.float32("nan")}, ParameterError),
    ({"epsilon": INF}, ParameterError),
    ({"epsilon": -INF}, ParameterError),
    ({"epsilon": 50.5}, ParameterError),
    ({"epsilon": 51, "allow_weak": False}, ParameterError),
    ({"epsilon": 1, "allow_weak": 1}, ParameterTypeError),
    ({"epsilon": 1, "allow_weak": None}, ParameterTypeError),
    ({"rho": 0}, ParameterError),
    ({"rho": 0.1}, ParameterError),
]


@pytest.mark.parametrize("release", LOSSES.values(), ids=LOSSES)
def test_a_loss_that_is_no_loss_is_refused_by_every_release(
    host: Host, release: Any
) -> None:
    frame = private(host)
    for loss, error in NO_LOSSES:
        for spell in (lambda f: f.dp, lambda f: f.dp.preview):
            found = refusal(frame, lambda f: release(spell(f), **loss), error)  # noqa: B023 - called at once
            assert type(found) is error
            assert any(name in message(found) for name in ("epsilon", "rho", "weak"))


WHOLE = ("count of units", "n_unique")
"""Releases of whole numbers, whose noise is exactly 0 often enough at a large loss."""

NO_GOALS: list[tuple[dict[str, Any], type, str]] = [
    ({"epsilon": 1, "within": 5}, ParameterTypeError, "given together"),
    ({"within": "5"}, ParameterTypeError, "within"),
    ({"within": True}, ParameterTypeError, "within"),
    ({"within": dt.timedelta(1)}, ParameterTypeError, "within"),
    ({"within": 0}, ParameterError, "within"),
    ({"within": -1}, ParameterError, "within"),
    ({"within": NAN}, ParameterError, "within"),
    ({"within": INF}, ParameterError, "within"),
    ({"within": 5, "confidence": 0}, ParameterError, "confidence"),
    ({"within": 5, "confidence": 1}, ParameterError, "confidence"),
    ({"within": 5, "confidence": "95%"}, ParameterTypeError, "confidence"),
    ({"within": 5, "rows": 0}, ParameterError, "rows"),
    ({"within": 5, "rows": 2.5}, ParameterError, "rows"),
    ({"within": 5, "rows": "many"}, ParameterTypeError, "rows"),
    ({"epsilon": 1, "confidence": NAN}, ParameterError, "confidence"),
]


@pytest.mark.parametrize("release", GOALS.values(), ids=GOALS)
def test_an_error_that_cannot_be_met_is_refused_by_every_release(
    host: Host, release: Any
) -> None:
    frame = private(host)
    for goal, error, word in NO_GOALS:
        given = {"rows": 100, **goal}
        found = refusal(frame, lambda f: release(f.dp, **given), error)  # noqa: B023 - called at once
        assert type(found) is error
        assert word in message(found)


@pytest.mark.parametrize("name", [name for name in GOALS if name not in WHOLE])
def test_an_error_below_that_of_epsilon_50_is_out_of_reach(
    host: Host, name: str
) -> None:
    found = refusal(
        private(host),
        lambda f: GOALS[name](f.dp, within=1e-12, rows=100),
        ParameterError,
    )
    assert "No epsilon up to 50" in message(found)


@pytest.mark.parametrize("name", ["mean", "var", "std", "group_by mean", "mean_cov"])
def test_an_error_that_depends_on_the_rows_needs_a_guess_of_them(
    host: Host, name: str
) -> None:
    found = refusal(
        private(host), lambda f: GOALS[name](f.dp, within=5), ParameterError
    )
    assert "rows=" in found.hint


@pytest.mark.parametrize("release", LOSSES.values(), ids=LOSSES)
def test_more_than_remains_is_refused_with_what_would_fit(
    host: Host, release: Any
) -> None:
    frame = private(host)
    found = refusal(frame, lambda f: release(f.dp, epsilon=10.5), BudgetExceededError)
    assert found.requested == dpframe.Loss(epsilon=Fraction(21, 2))
    assert found.remaining == dpframe.Loss(epsilon=Fraction(10))
    assert "costs epsilon=10.5" in message(found)
    assert "only epsilon=10 remains" in message(found)
    assert "Nothing was released and nothing was spent." in message(found)
    assert found.hint == "pass epsilon=10 or less, or open a new budget."


@pytest.mark.parametrize("name", ["group_by mean", "agg", "mean_cov"])
def test_a_weak_epsilon_that_is_meant_still_needs_the_budget(
    host: Host, name: str
) -> None:
    found = refusal(
        private(host),
        lambda f: LOSSES[name](f.dp, epsilon=51, allow_weak=True),
        BudgetExceededError,
    )
    assert found.requested == dpframe.Loss(epsilon=Fraction(51))


# One mistake, one error: (call, error, words of the fact, words of the hint)

MISTAKES: dict[str, tuple[Callable[[Any], object], type, str, str | None]] = {
    "bounds that are one number": (
        lambda f: f.dp.bounds(age=65),
        ParameterTypeError,
        "pair (low, high), not int",
        "age=(low, high)",
    ),
    "bounds of three": (
        lambda f: f.dp.bounds(age=(0, 1, 2)),
        ParameterTypeError,
        "3 values",
        None,
    ),
    "bounds that are no mapping": (
        lambda f: f.dp.bounds((0, 65)),
        ParameterTypeError,
        "mapping by column, not tuple",
        ".dp.bounds(column=...)",
    ),
    "bounds given twice": (
        lambda f: f.dp.bounds({"age": (0, 1)}, age=(0, 2)),
        ParameterTypeError,
        "declared twice",
        None,
    ),
    "bounds as bound": (
        lambda f: f.dp.sum("age", bound=(0, 5), epsilon=1),
        ParameterTypeError,
        '"rows" or "total"',
        "bounds=",
    ),
    "bounds as bound in groups": (
        lambda f: f.dp.group_by("state").sum("age", bound=(0, 5), epsilon=1),
        ParameterTypeError,
        '"rows" or "total"',
        "bounds=",
    ),
    "dates as text": (
        lambda f: f.dp.mean("day", bounds=("2020-01-01", "2021-01-01"), epsilon=1),
        ParameterTypeError,
        "datetime.datetime, not str",
        None,
    ),
    "bounds of text": (
        lambda f: f.dp.mean("state", bounds=("A", "Z"), epsilon=1),
        ParameterTypeError,
        "text, which has no bounds",
        None,
    ),
    "numbers as bounds of dates": (
        lambda f: f.dp.bounds(day=(0, 1)),
        ParameterTypeError,
        "datetime.datetime, not int",
        None,
    ),
    "reversed bounds": (
        lambda f: f.dp.mean("age", bounds=(65, 0), epsilon=1),
        ParameterError,
        "low < high, not 65 to 0",
        None,
    ),
    "equal bounds": (
        lambda f: f.dp.bounds(age=(5, 5)),
        ParameterError,
        "low < high",
        None,
    ),
    "a bound that is missing": (
        lambda f: f.dp.sum("age", bounds=(0, NAN), epsilon=1),
        ParameterError,
        "finite, not nan",
        None,
    ),
    "an infinite bound": (
        lambda f: f.dp.histogram("age", bins=3, bounds=(0, INF), epsilon=1),
        ParameterError,
        "finite, not inf",
        None,
    ),
    "bounds too wide for exact sums": (
        lambda f: f.dp.sum("age", bounds=(0, 1e300), epsilon=1),
        ParameterError,
        "too wide",
        None,
    ),
    "whole bounds too wide for exact sums": (
        lambda f: f.dp.sum("days", bounds=(0, 10**40), epsilon=1),
        ParameterError,
        "too wide",
        None,
    ),
    "a list where one column is meant": (
        lambda f: f.dp.mean(["age"], epsilon=1),
        ParameterTypeError,
        "not by a list",
        '"age"; for several, .dp.agg(...) or .dp.mean_cov([...]).',
    ),
    "a list where one column of a group is meant": (
        lambda f: f.dp.group_by("state").sum(["age", "days"], epsilon=1),
        ParameterTypeError,
        "not by a list",
        ".dp.agg(...)",
    ),
    "a list of columns in a histogram": (
        lambda f: f.dp.histogram(["age"], bins=3, epsilon=1),
        ParameterTypeError,
        "not by a list",
        '"age"; for several, .dp.contingency([...]).',
    ),
    "a list of columns to count": (
        lambda f: f.dp.count(["age"], epsilon=1),
        ParameterTypeError,
        "not by a list",
        '"age"',
    ),
    "an expression where a column is meant": (
        lambda f: f.dp.group_by("state").mean(pl.col("age"), epsilon=1),
        ParameterTypeError,
        "not by an Expr",
        "derive a column",
    ),
    "an expression as a group": (
        lambda f: f.dp.group_by(pl.col("state")).count(epsilon=1),
        ParameterTypeError,
        "",
        None,
    ),
    "a number as columns": (
        lambda f: f.dp.mean_cov(3, epsilon=1),
        ParameterTypeError,
        "list of names",
        None,
    ),
    "a Polars Series as keys": (
        lambda f: f.dp.histogram("state", keys=pl.Series(["CA"]), epsilon=1),
        ParameterTypeError,
        "not Series",
        "private",
    ),
    "a pandas Series as keys": (
        lambda f: f.dp.value_counts("state", keys=pd.Series(["CA"]), epsilon=1),
        ParameterTypeError,
        "not Series",
        "private",
    ),
    "a pandas Index as keys": (
        lambda f: f.dp.domain(state=pd.Index(["CA"])),
        ParameterTypeError,
        "not Index",
        "private",
    ),
    "a range of dates as keys": (
        lambda f: f.dp.domain(day=pd.date_range("2020-01-01", periods=3)),
        ParameterTypeError,
        "not DatetimeIndex",
        "for public ones, such as pd.date_range(...), pass list(...).",
    ),
    "categories as bins": (
        lambda f: f.dp.histogram("age", bins=pd.Categorical([0, 65]), epsilon=1),
        ParameterTypeError,
        "not Categorical",
        "list(...)",
    ),
    "an extension array as keys": (
        lambda f: f.dp.histogram("state", keys=pd.array(["CA"]), epsilon=1),
        ParameterTypeError,
        "numpy array",
        "private",
    ),
    "a set as keys": (
        lambda f: f.dp.group_by("state", keys={"CA"}).count(epsilon=1),
        ParameterTypeError,
        "not set",
        None,
    ),
    "text as keys": (
        lambda f: f.dp.domain(state="CA"),
        ParameterTypeError,
        "not str",
        None,
    ),
    "numbers as keys of text": (
        lambda f: f.dp.histogram("state", keys=[1], epsilon=1),
        ParameterTypeError,
        "text, not int",
        None,
    ),
    "text as keys of numbers": (
        lambda f: f.dp.value_counts("days", keys=["1"], epsilon=1),
        ParameterTypeError,
        "number, not str",
        None,
    ),
    "Booleans as keys of numbers": (
        lambda f: f.dp.histogram("days", keys=[True], epsilon=1),
        ParameterTypeError,
        "number, not bool",
        None,
    ),
    "numbers as keys of Booleans": (
        lambda f: f.dp.histogram("female", keys=[0, 1], epsilon=1),
        ParameterTypeError,
        "True or False, not int",
        None,
    ),
    "edges of another type": (
        lambda f: f.dp.histogram("day", bins=[0, 1], epsilon=1),
        ParameterTypeError,
        "datetime.datetime, not int",
        None,
    ),
    "edges of dates as text": (
        lambda f: f.dp.histogram("day", bins=["2020-01-01", "2021-01-01"], epsilon=1),
        ParameterTypeError,
        "bins of 'day' must be a datetime.datetime, not str",
        "datetime.date(2024, 1, 31)",
    ),
    "instants elsewhere than the column": (
        lambda f: f.dp.domain(day=[dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
        ParameterTypeError,
        "keys of 'day' have a time zone, but the column has none",
        ".replace(tzinfo=None)",
    ),
    "bins of text": (
        lambda f: f.dp.histogram("state", bins=["a", "b"], epsilon=1),
        ParameterTypeError,
        "no bins",
        "keys=",
    ),
    "a number of bins of text": (
        lambda f: f.dp.histogram("state", bins=3, epsilon=1),
        ParameterTypeError,
        "no bins",
        "keys=",
    ),
    "a word as bins": (
        lambda f: f.dp.histogram("age", bins="auto", epsilon=1),
        ParameterTypeError,
        "not str",
        None,
    ),
    "True as bins": (
        lambda f: f.dp.histogram("age", bins=True, epsilon=1),
        ParameterTypeError,
        "not bool",
        None,
    ),
    "no bins at all": (
        lambda f: f.dp.histogram("age", bins=0, epsilon=1),
        ParameterError,
        "at least 1, not 0",
        None,
    ),
    "bins and keys": (
        lambda f: f.dp.histogram("age", bins=3, keys=[1], epsilon=1),
        ParameterError,
        "exclude each other",
        None,
    ),
    "bins and keys in groups of one column": (
        lambda f: f.dp.group_by("age", bins=3, keys=[1]),
        ParameterError,
        "exclude each other",
        None,
    ),
    "bins of several columns at once": (
        lambda f: f.dp.contingency(["age", "days"], bins=3, epsilon=1),
        ParameterTypeError,
        "bins must be a mapping by column, not int",
        None,
    ),
    "bins and keys in groups": (
        lambda f: f.dp.group_by("age", bins={"age": 3}, keys={"age": [1]}),
        ParameterError,
        "exclude each other",
        None,
    ),
    "a number of bins without bounds": (
        lambda f: f.dp.histogram("day", bins=3, epsilon=1),
        BoundsRequiredError,
        "3 bins need the bounds",
        "edges as bins=[...]",
    ),
    "unsorted edges": (
        lambda f: f.dp.histogram("age", bins=[3, 1, 2], epsilon=1),
        ParameterError,
        "increasing",
        None,
    ),
    "one edge twice": (
        lambda f: f.dp.histogram("age", bins=[1, 1, 2], epsilon=1),
        ParameterError,
        "increasing",
        None,
    ),
    "one edge": (
        lambda f: f.dp.histogram("age", bins=[1], epsilon=1),
        ParameterError,
        "at least two",
        None,
    ),
    "an edge that is missing": (
        lambda f: f.dp.histogram("age", bins=[0, NAN, 2], epsilon=1),
        ParameterError,
        "finite, not nan",
        None,
    ),
    "no edges": (
        lambda f: f.dp.histogram("age", bins=[], epsilon=1),
        ParameterError,
        "empty",
        None,
    ),
    "no keys": (
        lambda f: f.dp.domain(state=[]),
        ParameterError,
        "empty",
        None,
    ),
    "a key twice": (
        lambda f: f.dp.histogram("age", keys=[1, 1.0], epsilon=1),
        ParameterError,
        "repeat",
        None,
    ),
    "a missing key": (
        lambda f: f.dp.value_counts("state", keys=["CA", None], epsilon=1),
        ParameterError,
        "missing",
        "other=True",
    ),
    "a missing key as pandas has it": (
        lambda f: f.dp.value_counts("state", keys=["CA", pd.NA], epsilon=1),
        ParameterError,
        "missing",
        "other=True",
    ),
    "a missing key in a combination": (
        lambda f: f.dp.contingency(["state", "days"], keys=[("CA", NAN)], epsilon=1),
        ParameterError,
        "keys of 'days' hold a missing value",
        "other=True",
    ),
    "a key that no whole number is": (
        lambda f: f.dp.histogram("days", keys=[1.5], epsilon=1),
        ParameterError,
        "no value",
        None,
    ),
    "keys of another column": (
        lambda f: f.dp.contingency(["state"], keys={"age": [1]}, epsilon=1),
        ParameterError,
        "'age', which is not among the columns",
        None,
    ),
    "keys of too few columns": (
        lambda f: f.dp.contingency(["state", "female"], keys=[("CA",)], epsilon=1),
        ParameterTypeError,
        "tuples of 2",
        None,
    ),
    "a combination twice": (
        lambda f: f.dp.contingency(
            ["state", "female"], keys=[("CA", True), ("CA", True)], epsilon=1
        ),
        ParameterError,
        "repeat",
        None,
    ),
    "a column twice": (
        lambda f: f.dp.contingency(["state", "state"], epsilon=1),
        ParameterError,
        "twice",
        None,
    ),
    "no columns": (
        lambda f: f.dp.mean_cov([], epsilon=1),
        ParameterError,
        "empty",
        None,
    ),
    "an unknown word": (
        lambda f: f.dp.count(of="people", epsilon=1),
        ParameterError,
        '"rows" or "units", not \'people\'',
        None,
    ),
    "an unknown norm": (
        lambda f: f.dp.mean_cov(["age", "days"], norm="l3", epsilon=1),
        ParameterError,
        "'l3'",
        None,
    ),
    "an unknown method": (
        lambda f: f.dp.mean_cov(["age", "days"], method="best", epsilon=1),
        ParameterError,
        "'best'",
        None,
    ),
    "Gaussian noise of a pure budget": (
        lambda f: f.dp.mean_cov(["age", "days"], method="gauss", epsilon=1),
        ParameterError,
        "pure",
        '"auto"',
    ),
    "a ball without its radius": (
        lambda f: f.dp.mean_cov(["age", "days"], norm="l2", epsilon=1),
        ParameterError,
        "radius=",
        None,
    ),
    "a box with a radius": (
        lambda f: f.dp.mean_cov(["age", "days"], radius=3, epsilon=1),
        ParameterError,
        "radius=",
        None,
    ),
    "other that is no flag": (
        lambda f: f.dp.histogram("state", other="yes", epsilon=1),
        ParameterTypeError,
        "True or False, not str",
        None,
    ),
    "the sum of dates": (
        lambda f: f.dp.sum("day", bounds=YEAR, epsilon=1),
        ParameterTypeError,
        "no sum",
        "mean",
    ),
    "the variance of dates": (
        lambda f: f.dp.var("day", bounds=YEAR, epsilon=1),
        ParameterTypeError,
        "instants",
        "(column - datetime.datetime(2000, 1, 1)).dt.total_seconds()",
    ),
    "no statistics": (
        lambda f: f.dp.agg(epsilon=1),
        ParameterError,
        "at least one",
        '"mean"',
    ),
    "a statistic without a column": (
        lambda f: f.dp.agg(average="mean", epsilon=1),
        ParameterTypeError,
        "tuple (column, statistic)",
        'average=("column", "mean")',
    ),
    "a statistic by its column": (
        lambda f: f.dp.agg({"age": "std"}, epsilon=1),
        ParameterTypeError,
        "tuple (column, statistic)",
        'write age=("age", "std").',
    ),
    "an unknown statistic": (
        lambda f: f.dp.agg(middle=("age", "mode"), epsilon=1),
        ParameterError,
        "'mode'",
        None,
    ),
    "within where it is not offered": (
        lambda f: f.dp.group_by("state").agg(n="count", within=5),
        ParameterTypeError,
        "none is given",
        "epsilon=",
    ),
    "a list of statistics": (
        lambda f: f.dp.agg([("age", "mean")], epsilon=1),
        ParameterTypeError,
        "mapping",
        None,
    ),
    "a statistic named twice": (
        lambda f: f.dp.agg({"n": "count"}, n="count", epsilon=1),
        ParameterError,
        "'n'",
        None,
    ),
    "a statistic named like its group": (
        lambda f: f.dp.group_by("state").agg(state="count", epsilon=1),
        ParameterError,
        "two columns named 'state'",
        "rename",
    ),
    "max_rows of 0": (
        lambda f: f.dp.contributions(max_rows=0),
        ParameterError,
        "max_rows must be at least 1, not 0",
        None,
    ),
    "half a row": (
        lambda f: f.dp.contributions(max_rows=1.5),
        ParameterTypeError,
        "whole number, not float",
        None,
    ),
    "max_groups of -1": (
        lambda f: f.dp.contributions(max_groups=-1),
        ParameterError,
        "max_groups must be at least 1, not -1",
        None,
    ),
    "True as max_groups": (
        lambda f: f.dp.contributions(max_groups=True),
        ParameterTypeError,
        "whole number, not bool",
        None,
    ),
    "a mean without bounds": (
        lambda f: f.dp.mean("day", epsilon=1),
        BoundsRequiredError,
        "'day' are needed and not declared",
        ".dp.bounds({'day': (low, high)})",
    ),
    "a release that is spelt otherwise": (
        lambda f: f.dp.meen("age", epsilon=1),
        NotProvedError,
        "'meen'",
        "did you mean .dp.mean or .dp.median?",
    ),
    "a maximum, which is one row's value": (
        lambda f: f.dp.max("age", epsilon=1),
        NotProvedError,
        "'max'",
        ".dp.quantile(column, [0.01, 0.99]",
    ),
    "a release that there is not": (
        lambda f: f.dp.preview.kurtosis("age", epsilon=1),
        NotProvedError,
        "'kurtosis'",
        "releases are agg, cdf, contingency, count,",
    ),
    "a release there is not": (
        lambda f: f.dp.groupby("state"),
        NotProvedError,
        "'groupby'",
        ".dp.group_by(",
    ),
    "a frame attached again": (
        lambda f: f.dp.attach(dpframe.Accountant(epsilon=1)),
        NotProvedError,
        "'attach'",
        "detach",
    ),
    "a private frame attached by the function": (
        lambda f: dpframe.attach(f, dpframe.Accountant(epsilon=1)),
        ParameterTypeError,
        "attached already",
        "detach",
    ),
    "a private frame pickled": (
        pickle.dumps,
        ParameterTypeError,
        "cannot be pickled",
        "ledger",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_says_what_is_wrong_and_changes_nothing(
    host: Host, name: str
) -> None:
    call, error, fact, hint = MISTAKES[name]
    found = refusal(private(host), call, error)
    assert fact in message(found)
    if hint is not None:
        assert hint in found.hint


ZONED = {"at": pd.Series(pd.date_range("2020-01-01", periods=3, tz="Europe/Rome"))}


def test_times_have_a_spread_after_the_step_that_the_hint_names(host: Host) -> None:
    start = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - naive
    frame = private(host)
    if host.is_pandas:
        derived = frame.assign(s=lambda rows: (rows["day"] - start).dt.total_seconds())
    else:
        derived = frame.with_columns(s=(pl.col("day") - start).dt.total_seconds())
    preview = derived.dp.bounds(s=(0, 10**9)).dp.preview.std("s", epsilon=1)
    assert preview.cost.epsilon == 1


def test_times_of_a_zoned_column_have_a_zone(host: Host) -> None:
    frame = host.attached(
        ZONED if host.is_pandas else pl.from_pandas(pd.DataFrame(ZONED))
    )
    naive = (dt.datetime(2020, 1, 1), np.datetime64("2020-01-01"))  # noqa: DTZ001 - naive
    calls = [lambda f, low=low: f.dp.bounds(at=(low, low)) for low in naive]
    for call in calls:
        found = refusal(frame, call, ParameterTypeError)
        assert "bounds of 'at' have no time zone" in message(found)
        assert "tzinfo=datetime.UTC" in found.hint


def test_objects_that_may_be_missing_are_declared_or_cast() -> None:
    people = pd.DataFrame({"state": pd.Series(["CA", None], dtype=object)})
    frame = people.dp.attach(dpframe.Accountant(epsilon=1))
    found = refusal(frame, lambda f: f.dp.domain(state=["CA", None]), ParameterError)
    assert "missing" in message(found)
    assert "other=True" in found.hint
    found = refusal(
        frame, lambda f: f.dp.count("state", epsilon=1), DomainRequiredError
    )
    assert ".dp.domain({'state': [...]})" in found.hint
    assert 'before attaching, as by .astype("str")' in found.hint


UNDECLARED: dict[str, tuple[Callable[[Any], object], type, str]] = {
    "mean": (lambda dp: dp.mean("age", epsilon=1), BoundsRequiredError, ".dp.bounds("),
    "sum": (lambda dp: dp.sum("age", epsilon=1), BoundsRequiredError, ".dp.bounds("),
    "std": (lambda dp: dp.std("age", epsilon=1), BoundsRequiredError, ".dp.bounds("),
    "mean_cov": (
        lambda dp: dp.mean_cov(["age", "days"], epsilon=1),
        BoundsRequiredError,
        ".dp.bounds(",
    ),
    "agg": (
        lambda dp: dp.agg(a=("age", "mean"), epsilon=1),
        BoundsRequiredError,
        ".dp.bounds(",
    ),
    "a number of bins": (
        lambda dp: dp.histogram("age", bins=3, epsilon=1),
        BoundsRequiredError,
        ".dp.bounds(",
    ),
    "totals": (
        lambda dp: dp.sum("age", bound="total", epsilon=1),
        BoundsRequiredError,
        "bounds=(low, high)",
    ),
    "rows": (
        lambda dp: dp.count(epsilon=1),
        BoundsRequiredError,
        ".dp.contributions(max_rows=...)",
    ),
    "rows of a column": (
        lambda dp: dp.mean("age", bounds=(0, 65), epsilon=1),
        BoundsRequiredError,
        ".dp.contributions(max_rows=...)",
    ),
    "rows in cells": (
        lambda dp: dp.histogram("state", keys=["CA", "NY"], epsilon=1),
        BoundsRequiredError,
        ".dp.contributions(max_rows=...)",
    ),
    "distinct values": (
        lambda dp: dp.n_unique("state", epsilon=1),
        BoundsRequiredError,
        ".dp.contributions(max_groups=...)",
    ),
    "units in cells": (
        lambda dp: dp.histogram("state", keys=["CA", "NY"], of="units", epsilon=1),
        BoundsRequiredError,
        ".dp.contributions(max_groups=...)",
    ),
    "totals in cells": (
        lambda dp: dp.group_by("state", keys=["CA", "NY"]).sum(
            "age", bound="total", bounds=(0, 9), epsilon=1
        ),
        BoundsRequiredError,
        ".dp.contributions(max_groups=...)",
    ),
    "histogram": (
        lambda dp: dp.histogram("state", epsilon=1),
        DomainRequiredError,
        ".dp.domain({'state': [...]})",
    ),
    "value_counts": (
        lambda dp: dp.value_counts("state", epsilon=1),
        DomainRequiredError,
        ".dp.domain({'state': [...]})",
    ),
    "group_by": (
        lambda dp: dp.group_by("state").count(epsilon=1),
        DomainRequiredError,
        ".dp.domain({'state': [...]})",
    ),
    "contingency": (
        lambda dp: dp.contingency(["female", "state"], epsilon=1),
        DomainRequiredError,
        ".dp.domain({'state': [...]})",
    ),
}


@pytest.mark.parametrize("name", UNDECLARED)
def test_what_is_not_declared_is_named_with_the_call_to_write(
    host: Host, name: str
) -> None:
    call, error, hint = UNDECLARED[name]
    for spell in (lambda f: f.dp, lambda f: f.dp.preview):
        found = refusal(bare(host), lambda f: call(spell(f)), error)  # noqa: B023 - called at once
        assert type(found) is error
        assert hint in found.hint


def test_units_counted_in_one_cell_need_no_limit(host: Host) -> None:
    dp = bare(host).dp.preview
    assert dp.count(of="units", epsilon=1).cost.epsilon == 1
    assert dp.sum("age", bound="total", bounds=(0, 9), epsilon=1).cost.epsilon == 1


def test_bounds_of_rows_are_no_bounds_of_a_total(host: Host) -> None:
    refusal(
        private(host),
        lambda f: f.dp.sum("age", bound="total", epsilon=1),
        BoundsRequiredError,
    )


def test_bounds_of_an_overwritten_column_are_gone(host: Host) -> None:
    frame = private(host)
    if host.is_pandas:
        changed = frame.assign(age=lambda rows: rows["age"] * 2)
    else:
        changed = frame.with_columns(age=pl.col("age") * 2)
    refusal(changed, lambda f: f.dp.mean("age", epsilon=1), BoundsRequiredError)


# Columns that are not there

ABSENT: dict[str, Callable[[Any], object]] = {
    "count": lambda f: f.dp.count("aeg", epsilon=1),
    "n_unique": lambda f: f.dp.n_unique(["aeg"], epsilon=1),
    "sum": lambda f: f.dp.sum("aeg", bounds=(0, 1), epsilon=1),
    "histogram": lambda f: f.dp.histogram("aeg", bins=[0, 1], epsilon=1),
    "value_counts": lambda f: f.dp.value_counts("aeg", keys=[0, 1], epsilon=1),
    "contingency": lambda f: f.dp.contingency(["female", "aeg"], epsilon=1),
    "group_by": lambda f: f.dp.group_by("aeg", keys=[1]),
    "group_by mean": lambda f: f.dp.group_by("state").mean("aeg", epsilon=1),
    "agg": lambda f: f.dp.agg(x=("aeg", "mean"), epsilon=1),
    "mean_cov": lambda f: f.dp.mean_cov(["age", "aeg"], epsilon=1),
    "bounds": lambda f: f.dp.bounds(aeg=(0, 1)),
    "domain": lambda f: f.dp.domain(aeg=[0, 1]),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_column_that_is_not_there_is_named_with_the_nearest(
    host: Host, name: str
) -> None:
    found = refusal(private(host), ABSENT[name], ColumnNotFoundError)
    assert found.column == "aeg"
    assert found.close_matches == ("age",)
    assert "'aeg'" in message(found)
    assert found.hint == "did you mean 'age'?"


def test_a_name_that_is_near_no_column_has_no_hint(host: Host) -> None:
    found = refusal(
        private(host), lambda f: f.dp.count("zzz", epsilon=1), ColumnNotFoundError
    )
    assert found.close_matches == ()
    assert found.hint is None


def test_the_hidden_unit_column_cannot_be_named(host: Host) -> None:
    hidden = "__dpframe_unit__"
    for call in (
        lambda f: f.dp.n_unique(hidden, epsilon=1),
        lambda f: f.dp.bounds({hidden: (0, 1)}),
    ):
        found = refusal(private(host), call, ColumnNotFoundError)
        assert hidden not in found.close_matches


# Attaching

UNATTACHABLE: dict[str, tuple[dict[str, Any], type, str]] = {
    "a number as budget": (
        {"accountant": 1.0},
        ParameterTypeError,
        "attach takes an Accountant, not float.\nHint: write .dp.attach(",
    ),
    "no budget": ({"accountant": None}, ParameterTypeError, "NoneType"),
    "a unit that is not there": ({"privacy_unit": "iid"}, ColumnNotFoundError, "'iid'"),
    "several units": ({"privacy_unit": ["id"]}, ParameterTypeError, "list"),
    "max_rows of 0": ({"max_rows": 0}, ParameterError, "max_rows"),
    "max_rows as text": ({"max_rows": "2"}, ParameterTypeError, "max_rows"),
    "max_groups of 0": ({"max_groups": 0}, ParameterError, "max_groups"),
    "bounds of one number": ({"bounds": {"age": 65}}, ParameterTypeError, "pair"),
    "bounds by no column": ({"bounds": (0, 65)}, ParameterTypeError, "mapping"),
    "bounds elsewhere": ({"bounds": {"x": (0, 1)}}, ColumnNotFoundError, "'x'"),
    "reversed bounds": ({"bounds": {"age": (65, 0)}}, ParameterError, "low < high"),
    "keys twice": ({"domain": {"state": ["CA", "CA"]}}, ParameterError, "repeat"),
    "keys in a Series": (
        {"domain": {"state": pd.Series(["CA"])}},
        ParameterTypeError,
        "Series",
    ),
}


@pytest.mark.parametrize("name", UNATTACHABLE)
def test_what_cannot_be_attached_is_refused_when_it_is_attached(
    host: Host, name: str
) -> None:
    changed, error, fact = UNATTACHABLE[name]
    budget = dpframe.Accountant(epsilon=1)
    declared: dict[str, Any] = {"accountant": budget, **DECLARED, **changed}
    accountant = declared.pop("accountant")
    frame = host.unreadable(DATA)
    for attach in (dpframe.attach, lambda f, *a, **d: f.dp.attach(*a, **d)):
        with pytest.raises(error) as caught:
            attach(frame, accountant, **declared)
        assert fact in message(caught.value)
        assert "canary" not in str(caught.value)
    assert len(budget.events) == 0


@pytest.mark.parametrize("thing", [{"a": [1]}, [1, 2], None, pl.Series([1]), 3])
def test_what_is_no_frame_cannot_be_attached(thing: Any) -> None:
    with pytest.raises(ParameterTypeError, match="cannot be attached"):
        dpframe.attach(thing, dpframe.Accountant(epsilon=1))


@pytest.mark.parametrize("release", LOSSES.values(), ids=LOSSES)
def test_a_release_on_a_raw_frame_says_how_to_attach(host: Host, release: Any) -> None:
    raw = host.unreadable(DATA)
    with pytest.raises(NotAttachedError) as caught:
        release(raw.dp, epsilon=1)
    assert isinstance(caught.value, AttributeError)
    assert "has no budget" in message(caught.value)
    assert ".dp.attach(dpframe.Accountant(epsilon=" in caught.value.hint


def test_a_column_that_occurs_twice_cannot_be_used() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    private_frame = frame.dp.attach(dpframe.Accountant(epsilon=1))
    found = refusal(
        private_frame,
        lambda f: f.dp.mean("a", bounds=(0, 1), epsilon=1),
        ParameterError,
    )
    assert "more than once" in message(found)


# What a budget itself refuses


@pytest.mark.parametrize(
    ("total", "error"),
    [
        ("1", ParameterTypeError),
        (True, ParameterTypeError),
        (None, ParameterTypeError),
        (0, ParameterError),
        (-1, ParameterError),
        (NAN, ParameterError),
        (INF, ParameterError),
    ],
)
def test_a_budget_that_is_no_budget_is_refused(total: Any, error: type) -> None:
    with pytest.raises(error) as caught:
        dpframe.Accountant(epsilon=total)
    assert type(caught.value) is error


def test_an_empty_budget_says_that_nothing_remains() -> None:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(epsilon=1))
    budget = frame.dp.state.accountant
    event = dpframe.privacy.entries.Event(mechanism="count", columns=(), parameters="")
    budget.charge(dpframe.Loss(epsilon=Fraction(1)), event)
    found = refusal(frame, lambda f: f.dp.count(epsilon=0.1), BudgetExceededError)
    assert "nothing remains" in message(found)
    assert found.hint == "open a new budget."


def test_every_error_is_one_of_the_tree() -> None:
    tree = {
        "PrivacyError": "DPFrameError",
        "BudgetExceededError": "PrivacyError",
        "NotProvedError": "PrivacyError",
        "NotAttachedError": "PrivacyError",
        "ParameterError": "DPFrameError",
        "BoundsRequiredError": "ParameterError",
        "DomainRequiredError": "ParameterError",
        "ColumnNotFoundError": "ParameterError",
        "ParameterTypeError": "DPFrameError",
        "LedgerError": "DPFrameError",
        "LedgerBusyError": "LedgerError",
        "LedgerCorruptError": "LedgerError",
        "RandomnessError": "DPFrameError",
        "MissingExtraError": "DPFrameError",
    }
    for name, parent in tree.items():
        assert getattr(dpframe, parent) in getattr(dpframe, name).__bases__
    assert issubclass(dpframe.ParameterError, ValueError)
    assert issubclass(dpframe.ParameterTypeError, TypeError)
    assert issubclass(dpframe.NotAttachedError, AttributeError)
    assert issubclass(dpframe.MissingExtraError, ImportError)
