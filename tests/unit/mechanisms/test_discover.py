"""Keys that are found in the data: which are published, at what cost, to what end."""

from __future__ import annotations

import datetime as dt
import io
import pickle
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks.columns import COLUMNS, Column, seeded

import dpframe
from dpframe import (
    BoundsRequiredError,
    BudgetExceededError,
    ColumnNotFoundError,
    DomainRequiredError,
    KeysRelease,
    ParameterError,
    ParameterTypeError,
)
from dpframe.mechanisms.discover import keys_loss
from dpframe.noise import DiscreteLaplace
from dpframe.preview import KeysPreview
from dpframe.privacy.loss import Loss
from dpframe.query import Selection
from dpframe.tally import Contribution, Occupied, Per
from dpframe.testing import recording
from dpframe.values import column_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.testing import RecordedSelection

CANARY = "canary-7f3a"
LOSS: dict[str, Any] = {"delta": 1e-6, "epsilon": 1}
CASES = {1: 15, 2: 30, 3: 45}  # thresholds at this loss, by max_groups


def budget(**total: Any) -> Any:
    return dpframe.Accountant(
        **{"epsilon": 1000, "delta": 0.1, "keys_delta": 0.09, **total}
    )


def attached(host: Any, data: Any, **declared: Any) -> Any:
    return host.attached(data, **{"budget": budget(), **declared})


def repeated(**counts: int) -> dict[str, Any]:
    """Return rows that hold each key so many times."""
    return {"g": [key for key, count in counts.items() for _ in range(count)]}


def seen(private: Any, columns: Any = "g", **loss: Any) -> RecordedSelection:
    with recording(noiseless=True) as recorder:
        private.dp.discover_keys(columns, **{**LOSS, **loss})
    (record,) = recorder.records
    assert record.selection is not None
    return record.selection


def counts(selection: RecordedSelection) -> dict[Any, int]:
    return dict(zip(selection.keys, selection.exact, strict=True))


# The threshold


def selection(limit: int, epsilon: Fraction, delta: Fraction) -> Selection:
    contribution = Contribution(per=Per.UNITS, limit=limit)
    keys = (column_type("g", pl.String()),)
    statistic = Occupied(keys=keys, contribution=contribution)
    return Selection(statistic=statistic, loss=Loss(epsilon=epsilon, delta=delta))


def passing(scale: Fraction, most: int) -> list[Decimal]:
    """Return P(z >= k) for k = 0, 1, .. by adding up the chance of each value."""
    ratio = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    chance = (1 - ratio) / (1 + ratio)
    tails = [(1 + chance) / 2]
    for _ in range(most):
        tails.append(tails[-1] - chance)
        chance *= ratio
    return tails


@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("epsilon", ["1/10", "1/3", "1/2", "1", "5", "50"])
def test_the_threshold_is_the_smallest_that_hides_the_keys_of_a_single_unit(
    limit: int, epsilon: str
) -> None:
    with localcontext() as arithmetic:
        arithmetic.prec = 120
        tails = passing(limit / Fraction(epsilon), 4000)
        for delta in ("1e-1", "1/3000", "1e-6", "1e-9", "1/7000000000000"):
            share = Fraction(delta) / limit
            most = Decimal(share.numerator) / Decimal(share.denominator)
            found = selection(limit, Fraction(epsilon), Fraction(delta)).threshold
            assert tails[found - 1] <= most, delta
            assert tails[found - 2] > most, delta


def test_the_thresholds_that_are_known() -> None:
    assert selection(1, Fraction(1), Fraction(1, 10**6)).threshold == 15
    twelve = DiscreteLaplace(scale=Fraction(12))  # three keys, two rows in each
    assert 2 + twelve.upper_quantile(Fraction(1, 3 * 10**6)) == 174


@pytest.mark.parametrize(("groups", "threshold"), CASES.items())
def test_a_key_of_exactly_the_threshold_is_published_and_one_below_is_not(
    groups: int, threshold: int, host: Any
) -> None:
    data = repeated(low=threshold - 1, high=threshold, higher=threshold + 1)
    data["u"] = [*range(len(data["g"]))]
    private = attached(host, data, privacy_unit="u", max_groups=groups)
    with recording(noiseless=True):
        assert private.dp.discover_keys("g", **LOSS).value == ["high", "higher"]


def test_noise_decides_which_keys_are_published(host: Any) -> None:
    data = repeated(**{f"k{i}": 15 for i in range(40)})
    private = attached(host, data)
    with recording() as recorder:
        found = private.dp.discover_keys("g", **LOSS)
    (record,) = recorder.records
    kept = record.selection
    assert kept is not None
    passed = [
        key for (key,), count in zip(kept.keys, kept.noisy, strict=True) if count >= 15
    ]
    assert found.value == passed
    assert 0 < len(passed) < 40  # neither all nor none, save once in 10^9
    assert kept.scale == 1


# What one unit can change of the chance of an outcome


def reached(scale: Fraction, least: int) -> Decimal:
    """Return P(z >= least) of discrete Laplace noise."""
    rate = Decimal(scale.denominator) / Decimal(scale.numerator)
    tail = (-abs(least) * rate).exp() / (1 + (-rate).exp())
    return tail if least >= 0 else 1 - tail * (-rate).exp()


def excess(
    some: tuple[int, ...], others: tuple[int, ...], found: Selection, threshold: int
) -> Decimal:
    """Return how much more likely than e^epsilon times any set of outcomes can be.

    The counts of the same keys in two frames; a key of count 0 is not there at all.
    """
    epsilon = found.loss.epsilon or Fraction(0)
    factor = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()

    def chance(counts: tuple[int, ...], outcome: tuple[bool, ...]) -> Decimal:
        found_so = Decimal(1)
        for count, published in zip(counts, outcome, strict=True):
            passed = Decimal(0)
            if count:
                passed = reached(found.noise.scale, threshold - count)
            found_so *= passed if published else 1 - passed
        return found_so

    return sum(
        (
            max(chance(some, outcome) - factor * chance(others, outcome), Decimal(0))
            for outcome in product((False, True), repeat=len(some))
        ),
        Decimal(0),
    )


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["1/5", "1", "3"])
@pytest.mark.parametrize("delta", ["1/100", "1e-6"])
def test_no_set_of_outcomes_is_more_likely_than_the_loss_allows(
    limit: int, epsilon: str, delta: str
) -> None:
    found = selection(limit, Fraction(epsilon), Fraction(delta))
    share = Fraction(delta)
    most = Decimal(share.numerator) / Decimal(share.denominator)
    edge = found.threshold
    worst = worst_below = Decimal(0)
    with localcontext() as arithmetic:
        arithmetic.prec = 60
        for more in combinations_with_replacement(
            (1, 2, edge - 1, edge, edge + 3), limit
        ):
            less = tuple(count - 1 for count in more)
            for some, others in ((more, less), (less, more)):
                worst = max(worst, excess(some, others, found, edge))
                worst_below = max(worst_below, excess(some, others, found, edge - 1))
    assert worst <= most
    assert worst_below > most  # one threshold less would not do


# Neighbours


@pytest.mark.parametrize("column", COLUMNS, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_unit_changes_few_counts_by_one_and_its_own_keys_vanish(
    column: Column, groups: int
) -> None:
    rng = seeded(f"keys {column} {groups}")
    rows = [
        {"u": unit, "g": rng.choice(column.special)}
        for unit in range(6)
        for _ in range(rng.randint(1, 7))
    ]
    schema = {"u": pl.Int64(), "g": column.dtype}
    frame = pl.DataFrame(rows, schema=schema)
    declared = {"privacy_unit": "u", "max_groups": groups}

    def of(some: pl.DataFrame) -> dict[Any, int]:
        return counts(seen(with_salt(dpframe.attach(some, account, **declared))))

    account = budget()
    whole = of(frame)
    moved = 0
    for unit in range(6):
        less = of(frame.filter(pl.col("u") != unit))
        assert less.keys() <= whole.keys()
        gaps = [whole[key] - less.get(key, 0) for key in whole]
        assert set(gaps) <= {0, 1}
        assert sum(gaps) <= groups
        moved = max(moved, sum(gaps))
        for key in whole.keys() - less.keys():
            assert whole[key] == 1
    assert 0 < moved <= groups


def with_salt(private: Any) -> Any:
    """Return the frame with a fixed choice of the keys that a unit keeps."""
    return private.with_state(replace(private.private_state, salt=b"salt"))


def test_a_row_without_a_unit_changes_one_count_by_one(host: Any) -> None:
    whole = counts(seen(attached(host, repeated(a=3, b=1))))
    assert whole == {("a",): 3, ("b",): 1}
    assert counts(seen(attached(host, repeated(a=3)))) == {("a",): 3}
    assert counts(seen(attached(host, repeated(a=2, b=1)))) == {("a",): 2, ("b",): 1}


def test_the_claim_is_the_number_of_keys_of_a_unit(host: Any) -> None:
    data = {"u": [1, 1, 2], "g": ["a", "b", "a"]}
    many = seen(attached(host, data, privacy_unit="u", max_groups=5))
    assert (many.sensitivity, many.scale) == (5, 5)
    alone = seen(attached(host, data))
    assert (alone.sensitivity, alone.scale) == (1, 1)
    itself = seen(attached(host, data, privacy_unit="u"), "u")
    assert (itself.sensitivity, set(itself.exact)) == (1, {1})


def test_one_row_per_unit_needs_no_limit() -> None:
    rows = pl.DataFrame({"u": [1, 1, 2], "g": ["a", "b", "c"]})
    private = dpframe.attach(rows, budget(), privacy_unit="u")
    single = private.group_by("u").agg(pl.col("g").max())
    assert counts(seen(single)) == {("b",): 1, ("c",): 1}


# What comes out


def test_keys_of_several_columns_are_tuples_in_the_order_of_the_columns(
    host: Any,
) -> None:
    data = {"a": ["y", "x", "x"] * 100, "b": [1, 2, 1] * 100}
    found = attached(host, data).dp.discover_keys(["b", "a"], **LOSS)
    assert found.value == [(1, "x"), (1, "y"), (2, "x")]
    assert found.columns == ("b", "a")
    assert found.to_dict() == {"b": [1, 1, 2], "a": ["x", "y", "x"]}
    assert found.to_numpy().tolist() == [[1, "x"], [1, "y"], [2, "x"]]


def test_a_release_tells_its_cost_its_noise_and_its_guarantee(host: Any) -> None:
    data = {**repeated(a=500, b=400), "u": [*range(900)]}
    private = attached(host, data, privacy_unit="u", max_groups=2)
    found = private.dp.discover_keys("g", delta=1e-6, epsilon=0.5)
    assert found.cost == Loss(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    assert repr(found).splitlines()[0] == "Release(2 keys of g, ε=0.5, δ=1e-6)"
    assert found.noise.scale == 4
    assert (
        found.threshold
        == private.dp.preview.discover_keys("g", delta=1e-6, epsilon=0.5).threshold
    )
    assert len(found) == 2
    assert "e^(1/2)" in found.guarantee
    assert "1/1000000 on top" in found.guarantee
    assert found.provenance.parameters["threshold"] == str(found.threshold)
    assert type(found.to_native()) is type(
        host.frame({}) if host.is_pandas else pl.DataFrame()
    )
    assert "<td" in found._repr_html_()


def test_a_preview_tells_what_is_left_of_epsilon_and_of_delta(host: Any) -> None:
    total = budget(epsilon=1, delta=1e-6, keys_delta=5e-7)
    private = attached(host, repeated(a=200), budget=total)
    search = private.dp.preview.discover_keys("g", delta=4e-7, epsilon=0.1)
    assert "ε=0.1 of 1 and δ=4e-7 of 5e-7 left, nothing spent" in repr(search)
    search.release()
    assert "ε=0.1 of 0.9 and δ=4e-7 of 1e-7 left, too much, nothing" in repr(search)


def test_libraries_find_the_same_keys() -> None:
    data = {"u": [i % 300 for i in range(3000)], "g": [i % 41 for i in range(3000)]}
    found: list[Any] = []
    for native in (pl.DataFrame(data), pl.LazyFrame(data), pd.DataFrame(data)):
        private = dpframe.attach(native, budget(), privacy_unit="u", max_groups=3)
        kept = seen(with_salt(private))
        found.append((kept.keys, kept.exact, kept.threshold))
    assert found[0] == found[1] == found[2]
    assert sum(found[0][1]) == 900


def test_nothing_is_published_of_a_frame_without_keys(host: Any) -> None:
    empty = pl.DataFrame({"g": pl.Series([], dtype=pl.String)})
    native = empty.to_pandas().astype({"g": "str"}) if host.is_pandas else empty
    found = attached(host, native).dp.discover_keys("g", **LOSS)
    assert found.value == []
    assert repr(found) == "Release(0 keys of g, ε=1, δ=1e-6)"
    assert found.to_polars().schema == {"g": pl.String()}


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.raw,
        lambda found: found.stddev,
        lambda found: found.low_count,
        lambda found: found.interval(),
        lambda found: found.accuracy(),
        lambda found: found.to_native(interval=0.95),
        lambda found: found.plot(),
    ],
)
def test_keys_have_no_error_bars(ask: Callable[[Any], Any], host: Any) -> None:
    found = attached(host, repeated(a=99)).dp.discover_keys("g", **LOSS)
    with pytest.raises(
        ParameterError, match=r"Published keys have no .*\n.*keys=found"
    ):
        ask(found)


def test_keys_are_saved_and_loaded(host: Any, tmp_path: Any) -> None:
    data = {"a": ["y", "x", "x"] * 100, "b": [1, 2, 1] * 100}
    found = attached(host, data).dp.discover_keys(["b", "a"], **LOSS)
    back = dpframe.load(found.save(tmp_path / "keys"))
    assert isinstance(back, KeysRelease)
    assert back.value == found.value
    assert (back.cost, back.threshold, back.noise) == (
        found.cost,
        found.threshold,
        found.noise,
    )
    assert repr(back) == repr(found)
    assert back.guarantee == found.guarantee
    again = attached(host, data).dp.group_by("b", "a", keys=back).count(epsilon=50)
    assert again.to_dict()["count"] == pytest.approx([100, 100, 100], abs=2)


# As keys


def everywhere(private: Any, found: Any) -> dict[str, Callable[[], Any]]:
    """Return every call that takes keys of one column, by name."""
    return {
        "histogram": lambda: private.dp.histogram("g", keys=found, epsilon=9),
        "value_counts": lambda: private.dp.value_counts("g", keys=found, epsilon=9),
        "contingency": lambda: private.dp.contingency("g", keys=found, epsilon=9),
        "contingency by column": lambda: private.dp.contingency(
            ["g"], keys={"g": found}, epsilon=9
        ),
        "group_by": lambda: private.dp.group_by("g", keys=found).count(epsilon=9),
        "domain": lambda: private.dp.domain(g=found).dp.value_counts("g", epsilon=9),
        "attach": lambda: dpframe.attach(
            private.detach(), budget(), domain={"g": found}
        ).dp.value_counts("g", epsilon=9),
    }


@pytest.mark.parametrize("name", everywhere(None, None))
def test_a_release_of_keys_is_taken_wherever_keys_are(name: str, host: Any) -> None:
    private = attached(host, repeated(b=300, a=200, rare=1))
    found = private.dp.discover_keys("g", **LOSS)
    table = everywhere(private, found)[name]()
    assert table.to_dict()["g"] == ["a", "b"]
    assert table.to_dict()["count"] == pytest.approx([200, 300], abs=4)


def test_a_release_of_keys_makes_parts(host: Any) -> None:
    private = attached(host, repeated(b=300, a=200))
    parts = private.dp.partition("g", keys=private.dp.discover_keys("g", **LOSS))
    assert list(parts) == ["a", "b"]


def test_a_part_that_is_named_by_a_key_is_told_on_one_line(host: Any) -> None:
    private = attached(host, {"g": ["a\n\x1b[31mb"] * 100})
    (part,) = private.dp.partition(
        "g", keys=private.dp.discover_keys("g", **LOSS)
    ).values()
    for text in (repr(part), str(part.dp.count(epsilon=1).provenance)):
        assert "g=a\\n\\x1b[31mb" in text
        assert "\x1b" not in text


def test_means_by_keys_that_were_found(host: Any) -> None:
    data = {
        "u": [*range(400)],
        "state": ["NY", "CA", "CA", "TX"] * 100,
        "x": [1.0, 2.0, 4.0, 5.0] * 100,
    }
    private = attached(
        host, data, privacy_unit="u", max_rows=1, max_groups=1, bounds={"x": (0, 9)}
    )
    found = private.dp.discover_keys("state", **LOSS)
    table = private.dp.group_by("state", keys=found).mean("x", epsilon=50)
    assert table.to_dict()["state"] == ["CA", "NY", "TX"]
    assert table.to_dict()["x"] == pytest.approx([3, 1, 5], abs=0.1)


def test_tuples_stand_for_the_same_columns_in_the_same_order(host: Any) -> None:
    data = {"a": ["y", "x", "x"] * 100, "b": [1, 2, 1] * 100}
    private = attached(host, data)
    found = private.dp.discover_keys(["a", "b"], **LOSS)
    for table in (
        private.dp.contingency(["a", "b"], keys=found, epsilon=9),
        private.dp.group_by("a", "b", keys=found).count(epsilon=9),
    ):
        assert table.to_dict()["a"] == ["x", "x", "y"]
        assert table.to_dict()["b"] == [1, 2, 1]
    for ask in (
        lambda: private.dp.contingency(["b", "a"], keys=found, epsilon=9),
        lambda: private.dp.group_by("a", keys=found),
        lambda: private.dp.value_counts("a", keys=found, epsilon=9),
        lambda: private.dp.domain(a=found),
    ):
        with pytest.raises(ParameterError, match="the keys of a and b, and those of"):
            ask()
    table = private.dp.contingency(["a", "b"], keys=found.value, epsilon=9)
    assert len(table.to_dict()["count"]) == 3


def test_keys_of_another_column_are_refused_and_its_list_is_not(host: Any) -> None:
    private = attached(host, {"a": ["x"] * 100, "b": ["x"] * 100})
    found = private.dp.discover_keys("a", **LOSS)
    with pytest.raises(
        ParameterError, match=r"keys of a, and those of b .*\n.*\.value"
    ):
        private.dp.value_counts("b", keys=found, epsilon=9)
    table = private.dp.value_counts("b", keys=found.value, epsilon=9)
    assert table.to_dict()["b"] == ["x"]


def test_keys_are_neither_bins_nor_bounds(host: Any) -> None:
    private = attached(host, {"x": [1, 2] * 100})
    found = private.dp.discover_keys("x", **LOSS)
    for ask in (
        lambda: private.dp.histogram("x", bins=found, epsilon=1),
        lambda: private.dp.bounds(x=found),
        lambda: private.dp.sum("x", bounds=found, epsilon=1),
    ):
        with pytest.raises(ParameterTypeError, match="KeysRelease"):
            ask()


def test_no_key_at_all_is_said_so(host: Any) -> None:
    private = attached(host, repeated(rare=1))
    found = private.dp.discover_keys("g", **LOSS)
    with pytest.raises(
        ParameterError, match=r"No key of g was published.*\nHint: find"
    ):
        private.dp.value_counts("g", keys=found, epsilon=1)


def test_keys_of_test_noise_are_for_tests_alone(host: Any) -> None:
    private = attached(host, repeated(a=99))
    with recording(noiseless=True):
        found = private.dp.discover_keys("g", **LOSS)
        table = private.dp.value_counts("g", keys=found, epsilon=1)
        assert table.to_dict()["count"] == [99]
    assert "TEST" in repr(found)
    with pytest.raises(ParameterError, match="noise that is not private"):
        private.dp.value_counts("g", keys=found, epsilon=1)


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_keys_of_every_dtype_count_what_they_were_found_in(column: Column) -> None:
    values = pl.Series("g", list(column.special) * 60, dtype=column.dtype)
    private = dpframe.attach(values.to_frame(), budget())
    with recording(noiseless=True) as recorder:
        found = private.dp.discover_keys("g", **LOSS)
        table = private.dp.value_counts("g", keys=found, epsilon=1)
    kept = recorder.records[0].selection
    assert kept is not None
    assert table.to_dict()["count"] == list(kept.exact)
    assert table.to_polars()["g"].to_list() == found.to_polars()["g"].to_list()
    assert found.to_polars().schema["g"] == column.dtype


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_keys_of_every_dtype_are_saved(column: Column, tmp_path: Any) -> None:
    values = pl.Series("g", list(column.special) * 90, dtype=column.dtype)
    private = dpframe.attach(values.to_frame(), budget())
    found = private.dp.discover_keys("g", **LOSS)
    back = dpframe.load(found.save(tmp_path / "keys"))
    assert back.value == found.value
    assert back.to_polars().schema == found.to_polars().schema


NANOSECONDS = pd.Series(pd.to_datetime([3, 1, 2], unit="ns"))
IN_BERLIN = NANOSECONDS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
DURATIONS = pd.Series(pd.to_timedelta([3, 1, 2], unit="ns"))
WHOLE = pd.Series([2**64 - 1, 1, 2], dtype="uint64")
PANDAS: dict[str, pd.Series[Any]] = {
    "instants": NANOSECONDS,
    "instants in Arrow": NANOSECONDS.astype(pd.ArrowDtype(pa.timestamp("ns"))),
    "instants in categories": NANOSECONDS.astype("category"),
    "instants in seconds": NANOSECONDS.astype("datetime64[s]"),
    "instants of a zone": IN_BERLIN,
    "instants of a zone in categories": IN_BERLIN.astype("category"),
    "durations": DURATIONS,
    "durations in Arrow": DURATIONS.astype(pd.ArrowDtype(pa.duration("ns"))),
    "dates": pd.Series([dt.date(9999, 12, 31)], dtype=pd.ArrowDtype(pa.date32())),
    "days far from every calendar": pd.Series(
        np.array(["9999-12-31", "10000-01-01"], dtype="datetime64[s]")
    ),
    "whole numbers": WHOLE,
    "nullable whole numbers": WHOLE.astype("UInt64"),
    "whole numbers in Arrow": WHOLE.astype(pd.ArrowDtype(pa.uint64())),
    "whole numbers in categories": WHOLE.astype("category"),
    "single numbers": pd.Series([0.1, -0.0, 0.0, np.nan], dtype="float32"),
    "nullable numbers": pd.Series([0.1, None, 0.0], dtype="Float64"),
    "decimals": pd.Series([Decimal("1.10")], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
    "truths": pd.Series([True, False]),
    "nullable truths": pd.Series([True, None], dtype="boolean"),
    "text": pd.Series(["b", "a", None], dtype="str"),
    "text in Arrow": pd.Series(["b", "a"], dtype=pd.ArrowDtype(pa.string())),
    "text in categories": pd.Series(["b", "a"], dtype="category"),
}


@pytest.mark.parametrize("column", PANDAS.values(), ids=PANDAS)
def test_keys_of_every_pandas_dtype_come_back_in_it(column: pd.Series[Any]) -> None:
    frame = pd.DataFrame({"g": pd.concat([column] * 99, ignore_index=True)})
    private = dpframe.attach(frame, budget())
    with recording(noiseless=True) as recorder:
        found = private.dp.discover_keys("g", **LOSS)
        table = private.dp.value_counts("g", keys=found, epsilon=1)
    kept = recorder.records[0].selection
    assert kept is not None
    assert table.to_dict()["count"] == list(kept.exact)
    keys = found.to_pandas()["g"]
    assert keys.is_unique
    assert len(keys) == len(kept.keys)
    assert keys.isin(frame["g"]).all()
    if not isinstance(column.dtype, pd.CategoricalDtype):
        assert keys.dtype == column.dtype


def test_levels_of_a_category_are_those_published() -> None:
    column = pd.Series(["b", "a", "rare"], dtype="category").repeat([99, 99, 1])
    frame = pd.DataFrame({"g": column.to_numpy()}).astype({"g": "category"})
    private = dpframe.attach(frame, budget(), domain={"g": ["z"]})
    table = private.dp.discover_keys("g", **LOSS).to_pandas()
    assert table["g"].tolist() == ["a", "b"]
    assert table["g"].cat.categories.tolist() == ["a", "b"]


def test_objects_are_found_in_their_declared_type() -> None:
    frame = pd.DataFrame({"g": pd.Series(["b", "a", 7] * 99, dtype=object)})
    private = dpframe.attach(frame, budget(), domain={"g": ["z"]})
    assert private.dp.discover_keys("g", **LOSS).value == ["a", "b"]


# Refusals

REFUSED: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "no delta": (TypeError, "delta", lambda p: p.dp.discover_keys("g", epsilon=1)),
    "no loss": (
        ParameterTypeError,
        "exactly one of",
        lambda p: p.dp.discover_keys("g", delta=1e-6),
    ),
    "two losses": (
        ParameterTypeError,
        "exactly one of",
        lambda p: p.dp.discover_keys("g", delta=1e-6, epsilon=1, rho=1),
    ),
    "a delta of 0": (
        ParameterError,
        "delta must be greater than 0",
        lambda p: p.dp.discover_keys("g", delta=0, epsilon=1),
    ),
    "a delta of 1": (
        ParameterError,
        "delta must be less than 1",
        lambda p: p.dp.discover_keys("g", delta=1, epsilon=1),
    ),
    "a delta in words": (
        ParameterTypeError,
        "delta must be a number",
        lambda p: p.dp.discover_keys("g", delta="1e-6", epsilon=1),
    ),
    "a weak epsilon": (
        ParameterError,
        "protects nobody",
        lambda p: p.dp.discover_keys("g", delta=1e-6, epsilon=51),
    ),
    "no such column": (
        ColumnNotFoundError,
        "no column 'f'",
        lambda p: p.dp.discover_keys("f", **LOSS),
    ),
    "no columns": (
        ParameterError,
        "columns are empty",
        lambda p: p.dp.discover_keys([], **LOSS),
    ),
    "a column twice": (
        ParameterError,
        "twice",
        lambda p: p.dp.discover_keys(["g", "g"], **LOSS),
    ),
    "too much epsilon": (
        BudgetExceededError,
        "epsilon=20",
        lambda p: p.dp.discover_keys("g", delta=1e-6, epsilon=20),
    ),
    "too much delta": (
        BudgetExceededError,
        "delta=",
        lambda p: p.dp.discover_keys("g", delta=1e-4, epsilon=1),
    ),
}


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_search_reads_and_spends_nothing(name: str, host: Any) -> None:
    error, words, ask = REFUSED[name]
    account = budget(epsilon=10, delta=2e-5, keys_delta=1e-5)
    before = account.spent
    with pytest.raises(error, match=words) as caught:
        ask(host.attached({"g": [CANARY]}, budget=account))
    assert CANARY not in str(caught.value)
    assert account.spent == before
    assert len(account.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(
    "total",
    [{"epsilon": 3}, {"epsilon": 3, "delta": 1e-5}, {"rho": 1}],
    ids=["epsilon", "delta", "rho"],
)
def test_a_budget_without_a_delta_for_keys_is_told_how_to_be_opened(
    total: dict[str, Any], host: Any
) -> None:
    account = dpframe.Accountant(**total)
    private = host.attached(repeated(a=9), budget=account)
    for space in (private.dp, private.dp.preview):
        with pytest.raises(ParameterError, match=r"keys_delta=\.\.\."):
            space.discover_keys("g", **LOSS)
    assert len(account.events) == 0
    child = account.child("a", epsilon=1)
    private = host.attached(repeated(a=9), budget=child)
    with pytest.raises(ParameterError, match=r"child\(\.\.\., keys_delta=\.\.\.\)"):
        private.dp.discover_keys("g", **LOSS)


@pytest.mark.usefixtures("nothing_is_read")
def test_objects_of_no_declared_type_have_no_keys() -> None:
    frame = pd.DataFrame({"g": pd.Series([CANARY], dtype=object)})
    account = budget()
    with pytest.raises(DomainRequiredError, match="no declared type"):
        dpframe.attach(frame, account).dp.discover_keys("g", **LOSS)
    assert len(account.events) == 0


def test_a_column_that_is_missing_throughout_has_no_keys() -> None:
    frame = pl.DataFrame({"g": [None, None]})
    assert dpframe.attach(frame, budget()).dp.discover_keys("g", **LOSS).value == []


@pytest.mark.usefixtures("nothing_is_read")
def test_a_unit_of_many_keys_needs_a_limit(host: Any) -> None:
    data = {"u": [1, 1], "g": [CANARY, "b"]}
    private = attached(host, data, privacy_unit="u", max_rows=2)
    with pytest.raises(BoundsRequiredError, match="max_groups"):
        private.dp.discover_keys("g", **LOSS)


def test_a_key_that_is_not_published_is_told_nowhere(host: Any) -> None:
    account = budget()
    data = {"u": [1, *range(100)], "g": [CANARY, *["a"] * 100]}
    private = host.attached(data, budget=account, privacy_unit="u", max_groups=2)
    found = private.dp.discover_keys("g", **LOSS)
    shown = [
        repr(found),
        found._repr_html_(),
        str(found.provenance),
        repr(account),
        str(account.events.to_dicts()),
        repr(private),
        repr(private.dp.preview.discover_keys("g", **LOSS)),
        str(found.to_dict()),
    ]
    assert all(CANARY not in text for text in shown)
    assert found.value == ["a"]


@pytest.mark.parametrize("columns", ["g", ["g", "h"]])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_the_bytes_of_a_key_that_is_not_published_are_handed_to_nobody(
    dtype: Any, columns: Any, tmp_path: Any
) -> None:
    common, rare = "a key that many units hold", f"a long and rare {CANARY}"
    texts = pl.Series([*[common] * 100, rare]).cast(dtype)
    private = dpframe.attach(pl.DataFrame({"g": texts, "h": texts}), budget())
    found = private.dp.discover_keys(columns, **LOSS)
    table = found.to_polars()
    streamed, written = io.BytesIO(), io.BytesIO()
    table.write_ipc(streamed)
    with pa.ipc.new_file(written, pa.table(found).schema) as file:
        file.write_table(pa.table(found))
    handed = [
        pickle.dumps(found),
        pickle.dumps(table),
        streamed.getvalue(),
        written.getvalue(),
        found.save(tmp_path / "found").read_bytes(),
    ]
    assert all(common.encode() in data for data in handed)
    assert all(rare.encode() not in data for data in handed)


# Costs


def test_a_search_spends_its_epsilon_and_its_delta(host: Any) -> None:
    account = budget(epsilon=10, delta=2e-5, keys_delta=1e-5)
    private = host.attached(repeated(a=99), budget=account)
    private.dp.discover_keys("g", **LOSS)
    assert account.spent.epsilon == 1
    assert account.spent.delta == Fraction(1, 10**6)
    (charged, _) = account.events.to_dicts()
    assert charged["cost"] == "epsilon=1, delta=1/1000000"


def test_a_budget_in_rho_pays_for_the_square_of_epsilon(host: Any) -> None:
    account = dpframe.Accountant(rho=2, keys_delta=1e-5)
    private = host.attached(repeated(a=99), budget=account)
    found = private.dp.discover_keys("g", delta=1e-6, rho=0.5)
    assert found.cost.epsilon == 1
    assert account.spent.rho == Fraction(1, 2)
    private.dp.discover_keys("g", delta=1e-6, epsilon=1)
    assert account.spent.rho == 1


@pytest.mark.parametrize("rho", [Fraction(1, 3), 1e-6, 0.123, 12])
def test_a_rho_is_rounded_down_to_an_epsilon(rho: Any) -> None:
    loss = keys_loss(epsilon=None, rho=rho, delta=1e-6, allow_weak=False)
    assert loss.epsilon is not None
    stated = Fraction(str(rho))
    assert loss.epsilon**2 / 2 <= stated
    assert (loss.epsilon + Fraction(1, 10**9)) ** 2 / 2 > stated


@pytest.mark.usefixtures("nothing_is_read")
def test_a_preview_tells_all_but_the_keys(host: Any) -> None:
    account = budget(epsilon=10, delta=2e-5, keys_delta=1e-5)
    data = {"u": [1], "g": [CANARY]}
    private = host.attached(data, budget=account, privacy_unit="u", max_groups=3)
    preview = private.dp.preview.discover_keys("g", **LOSS)
    assert isinstance(preview, KeysPreview)
    assert preview.threshold == CASES[3]
    assert preview.cost == Loss(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert preview.noise.scale == 3
    assert preview.schema == {"g": pl.String()}
    assert "held by about 45 units or more" in repr(preview)
    assert "too much" not in repr(preview)
    dear = private.dp.preview.discover_keys("g", delta=1e-4, epsilon=1)
    assert "too much" in repr(dear)
    with pytest.raises(ParameterError, match="no error bars"):
        preview.accuracy()
    assert len(account.events) == 0


def test_a_preview_is_released(host: Any) -> None:
    private = attached(host, repeated(a=99))
    assert private.dp.preview.discover_keys("g", **LOSS).release().value == ["a"]


@pytest.mark.parametrize("name", ["unique", "keys", "categories"])
def test_who_asks_for_keys_by_another_name_is_told(name: str, host: Any) -> None:
    private = attached(host, repeated(a=1))
    with pytest.raises(AttributeError, match=r"\.dp\.discover_keys\("):
        getattr(private.dp, name)
