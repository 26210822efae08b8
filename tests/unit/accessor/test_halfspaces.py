"""What a halfspace oracle takes and refuses, and on which data it is fitted."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.errors import (
    BoundsRequiredError,
    BudgetExceededError,
    ColumnNotFoundError,
    FewRowsWarning,
    ParameterError,
    ParameterTypeError,
)
from dpframe.testing import recording

if TYPE_CHECKING:
    from tests.conftest import Host

MANY = [f"x{number}" for number in range(51)]
DAY = dt.date(2020, 1, 1)
DATA: dict[str, Any] = {
    "a": [1, 2, 3, 4, 5] * 8,
    "b": [0.0, 1.5, 3.0, 4.5, 4.8] * 8,
    "t": [True, False, True, True, False] * 8,
    "s": ["canary"] * 40,
    "d": [DAY] * 40,
    "loose": [1.0] * 40,
    "u": list(range(20)) * 2,
    **dict.fromkeys(MANY, [0.5] * 40),
}
BOUNDS: dict[str, Any] = {"a": (0, 5), "b": (0, 5), **dict.fromkeys(MANY, (0, 1))}
METHODS = ("net", "sliced", "kd", "jl_net")


def attached(data: Any = None, *, epsilon: Any = 10, **declared: Any) -> Any:
    frame: Any = data
    if not isinstance(data, (pd.DataFrame, pl.LazyFrame)):
        frame = pl.DataFrame(DATA if data is None else data)
    bounds = {"bounds": BOUNDS} if data is None else {}
    return frame.dp.attach(dpframe.Accountant(epsilon=epsilon), **bounds | declared)


def asked(frame: Any, columns: Any = ("a", "b"), **options: Any) -> Any:
    options = {"margin": 0.5, "epsilon": 1} | options
    return frame.dp.halfspace_oracle(columns, **options)


# Refused before anything is spent

T, N, P = ParameterTypeError, ColumnNotFoundError, ParameterError

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"columns": ["a"]}, P, "synthetic_intervals"),
    ({"columns": "a"}, P, "synthetic_intervals"),
    ({"columns": []}, P, "empty"),
    ({"columns": None}, T, "list of names"),
    ({"columns": [1, 2]}, T, "named by its text"),
    ({"columns": ["a", "a"]}, P, "twice"),
    ({"columns": MANY}, P, "at most 50 columns, not 51"),
    ({"columns": ["a", "nowhere"]}, N, "no column 'nowhere'"),
    ({"columns": ["a", "s"]}, T, "'s' holds text: no weighted sum"),
    ({"columns": ["a", "d"]}, T, "'d' holds dates: no weighted sum"),
    (
        {"columns": ["a", "d"], "bounds": {"d": (DAY, DAY.replace(year=2021))}},
        T,
        "make it a number in a step first",
    ),
    ({"columns": ["a", "loose"]}, BoundsRequiredError, "'loose' are needed"),
    *(
        ({"margin": margin}, P, "greater than 0 and less than 1")
        for margin in (0, 1, -1, 2.5, Fraction(10**20 - 1, 10**20))
    ),
    *(({"margin": value}, P, "finite") for value in (float("nan"), float("inf"))),
    *(
        ({"margin": value}, T, "margin must be a number")
        for value in (True, "0.1", None, [0.1], np.array(0.1))
    ),
    ({"method": "boxes"}, P, "not 'boxes'"),
    ({"method": None}, T, "method must be"),
    ({"label": "loose"}, T, "'loose' holds numbers, not Booleans"),
    ({"label": "s"}, T, "such as a comparison"),
    ({"label": "nowhere"}, N, "no column 'nowhere'"),
    ({"label": True}, T, "named by its text"),
    ({"label": ["t"]}, T, "named by its text"),
    ({"columns": ["a", "t"], "label": "t"}, P, "among the columns, too"),
    ({"label": "t", "method": "jl_net"}, P, "has no labels"),
    ({"bounds": {"x1": (0, 1)}}, P, "'x1', which is not among the columns"),
    ({"bounds": (0, 1)}, T, "mapping by column"),
    ({"bounds": {"a": (1, 1)}}, P, "low < high"),
    ({"bounds": {"a": (2, 1)}}, P, "low < high"),
    ({"bounds": {"a": (0, float("nan"))}}, P, "finite"),
    ({"bounds": {"a": 3}}, T, "pair"),
    (
        {"columns": MANY[:4], "method": "net"},
        P,
        "about 5.1e+02 directions for 4 columns at a margin of 0.5",
    ),
    (
        {"columns": MANY[:4], "method": "net", "margin": 0.9},
        P,
        "there for two and three columns",
    ),
    ({"columns": MANY[:50], "method": "net"}, P, "e+44 directions for 50 columns"),
    (
        {"columns": MANY[:3], "method": "net", "margin": 0.03},
        P,
        "directions for 3 columns at a margin of 0.03, and the most is 4096",
    ),
    ({"method": "net", "margin": 1e-3}, P, "margins of at least 0.00781"),
    ({"method": "net", "margin": 1e-320}, P, "margins of at least 0.00781"),
    ({"columns": MANY[:21], "method": "kd"}, P, "at most 20 columns, not 21"),
    ({"rows": 0}, P, "rows must be a whole number"),
    ({"rows": "many"}, T, "rows must be a number"),
    ({"epsilon": None}, T, "exactly one of epsilon= and rho="),
    ({"epsilon": 1, "rho": 1}, T, "exactly one of epsilon= and rho="),
    ({"epsilon": None, "rho": 1}, P, "this one is pure"),
    ({"epsilon": 51}, P, "allow_weak"),
    ({"epsilon": 11}, BudgetExceededError, "only epsilon=10 remains"),
]


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(
    ("options", "error", "words"), REFUSED, ids=[str(case[0])[:60] for case in REFUSED]
)
def test_a_mistake_is_refused_before_anything_is_spent(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    frame = attached()
    with pytest.raises(error) as caught:
        asked(frame, **options)
    assert words in str(caught.value)
    assert "canary" not in str(caught.value)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
def test_a_unit_needs_a_limit_of_its_rows() -> None:
    frame = attached(privacy_unit="u")
    with pytest.raises(BoundsRequiredError, match="max_rows"):
        asked(frame)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        (pl.Int8, (0, 200)),
        (pl.UInt8, (-1, 5)),
        (pl.Int64, (0, 2**64)),
        (pl.Decimal(4, 2), (0, 1000)),
        (pl.Float32, (0, 1e60)),
    ],
)
def test_bounds_that_a_dtype_cannot_hold_are_refused_before_anything_is_spent(
    method: str, dtype: Any, bounds: tuple[Any, Any]
) -> None:
    frame = attached({"a": pl.Series([1, 2], dtype=dtype), "b": [1, 2]})
    with pytest.raises(ParameterError, match=r"beyond what .* holds"):
        asked(frame, bounds={"a": bounds, "b": (0, 5)}, method=method)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ends", [(2**53, 2**53 + 6), (1, 1 + 2.0**-52)])
def test_bounds_whose_middle_is_far_from_all_floats_are_refused(
    ends: tuple[float, float], method: str
) -> None:
    frame = attached({"a": [0.5, 1.5], "b": [1, 2]})
    bounds = {"a": tuple(map(float, ends)), "b": (0, 5)}
    with pytest.raises(ParameterError, match="too few floats"):
        asked(frame, bounds=bounds, method=method)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.usefixtures("nothing_is_read")
def test_boxes_whose_middles_are_far_from_all_floats_are_refused() -> None:
    names = list("abcd")
    frame = attached({name: [1.5] for name in names})
    bounds = dict.fromkeys(names, (1.0, 1.0 + 2.0**-51))
    ask = partial(
        frame.dp.preview.halfspace_oracle, names, bounds=bounds, margin=0.5, epsilon=1
    )
    ask(method="sliced")
    with pytest.raises(ParameterError, match="too few floats"):
        ask(method="kd")


def test_a_warning_of_few_rows_comes_before_the_charge_and_names_the_callers_line(
    nothing_is_read: None,
) -> None:
    del nothing_is_read
    frame = attached()
    with warnings.catch_warnings(action="error"):
        for ask in (frame.dp, frame.dp.preview):
            with pytest.raises(FewRowsWarning, match=r"100 rows are few .* 5000"):
                ask.halfspace_oracle(["a", "b"], margin=0.5, rows=100, epsilon=1)
        assert len(frame.dp.state.accountant.events) == 0
        preview = frame.dp.preview.halfspace_oracle
        preview(["a", "b"], margin=0.5, rows=5000, epsilon=1)
        with pytest.raises(FewRowsWarning, match="about 50000"):
            preview(["a", "b"], margin=0.5, rows=5000, epsilon=0.1)
        with pytest.raises(FewRowsWarning, match=r"20 columns .* about 10000"):
            preview(MANY[:20], margin=0.5, rows=5000, epsilon=1)
    with pytest.warns(FewRowsWarning) as caught:
        preview(["a", "b"], margin=0.5, rows=100, epsilon=1)
    assert Path(caught[0].filename) == Path(__file__)


# Previews


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("method", METHODS)
def test_a_preview_spends_nothing_and_says_what_would_be_released(method: str) -> None:
    frame = attached()
    label = None if method == "jl_net" else "t"
    preview = frame.dp.preview.halfspace_oracle(
        ["a", "b"], margin=0.5, label=label, method=method, epsilon=0.25
    )
    expected = f"Preview(halfspaces of a and b, {method}, ε=0.25 of 10 left, nothing"
    assert repr(preview).startswith(expected)
    labels = {} if label is None else {"t": pl.Boolean()}
    assert preview.schema == {"a": pl.Int64(), "b": pl.Float64(), **labels}
    assert len(frame.dp.state.accountant.events) == 0


# Methods


def test_the_method_follows_from_the_columns_at_every_margin() -> None:
    preview = attached().dp.preview
    for columns, margin, method in (
        (["a", "b"], 0.999, "kd"),
        (["a", "b"], 1e-12, "kd"),
        (["a", "b", "x0"], Fraction(1, 10**300), "kd"),
        (MANY[:4], 1e-320, "sliced"),
        (MANY[:50], 0.5, "sliced"),
    ):
        planned = preview.halfspace_oracle(columns, margin=margin, epsilon=1)
        assert f", {method}, ε=1" in repr(planned)


@pytest.mark.parametrize("method", ["net", "sliced", "kd"])
def test_three_columns_are_answered_by_every_method(method: str) -> None:
    made = asked(attached(), ("a", "b", "t"), method=method, margin=0.9)
    assert made.method == method
    assert 0 <= made.query({"t": 1}, 1).value <= 1
    assert made.to_polars().schema == {"a": pl.Int64, "b": pl.Float64, "t": pl.Boolean}


@pytest.mark.parametrize(("columns", "method"), [(50, "sliced"), (20, "kd")])
def test_as_many_columns_as_a_method_has_are_answered(
    columns: int, method: str
) -> None:
    made = asked(attached(), MANY[:columns], method=method)
    assert made.sample(3).columns == MANY[:columns]
    assert 0 <= made.query([1] * columns, columns / 2).value <= 1


# Data of every kind


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["empty", "one row", "constant", "missing", "NaN"])
def test_odd_data_is_released(method: str, kind: str) -> None:
    schema: dict[str, Any] = {"a": pl.Int64, "b": pl.Float64, "t": pl.Boolean}
    rows: dict[str, list[Any]] = {
        "empty": [[], [], []],
        "one row": [[3], [2.0], [True]],
        "constant": [[3] * 50, [2.0] * 50, [False] * 50],
        "missing": [[None] * 50, [2.0] * 50, [True] * 50],
        "NaN": [[3] * 50, [float("nan")] * 50, [True] * 50],
    }
    data = pl.DataFrame(dict(zip(schema, rows[kind], strict=True)), schema=schema)
    label = None if method == "jl_net" else "t"
    frame = attached(data, epsilon=1000, bounds={"a": (0, 5), "b": (0, 5)})
    made = asked(frame, method=method, label=label, epsilon=1)
    answer = made.query({"a": 1}, 2)
    assert 0 <= answer.value <= 1
    assert made.low_count == answer.low_count
    if made.low_count:
        assert tuple(answer.interval()) == (0, 1)
        assert "low count" in repr(made)
    with recording(noiseless=True):
        exact = asked(frame, method=method, label=label, epsilon=50)
    whole = exact.shape.total.rows
    assert whole == {"one row": 1, "constant": 50}.get(kind, 0)
    if method != "jl_net":
        table = made.to_polars()
        assert table.height == made.row_count > 0
        assert sum(table.null_count().row(0)) == 0
    if kind == "constant" and method != "jl_net":
        assert exact.best_halfspace().error.value == 0
        assert exact.query({"a": 1}, 2).value == 1
        assert exact.query({"a": 1, "b": 1}, 6.5).value == 0


def test_rows_with_a_missing_value_or_label_are_dropped() -> None:
    data = {
        "a": [1, 2, None, 4, 5],
        "b": [0.5, 1.0, 1.0, float("nan"), 2.0],
        "t": [True, None, True, True, False],
    }
    frame = attached(data, epsilon=1000, bounds={"a": (0, 5), "b": (0, 5)})
    for method in ("net", "sliced", "kd"):
        with recording(noiseless=True):
            one = asked(frame, method=method)
            labelled = asked(frame, method=method, label="t")
        assert one.shape.total.rows == 3
        assert labelled.shape.total.rows == 2


WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128)
WHOLE += (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    **{str(dtype): (dtype, [1, 50, 100]) for dtype in WHOLE},
    "all of Int64": (pl.Int64, [-(2**63), 0, 2**63 - 1]),
    "all of UInt64": (pl.UInt64, [0, 2**63, 2**64 - 1]),
    "far off": (pl.Int64, [2**60, 2**60 + 512, 2**60 + 1024]),
    "Decimal": (pl.Decimal(12, 3), [Decimal(x) for x in ("0.125", "50", "99.999")]),
    "Float32": (pl.Float32, [0.1, 0.2, 0.3]),
    "Float64": (pl.Float64, [0.1, 0.2, 0.3]),
    "thirds": (pl.Float64, [Fraction(k, 3) for k in (1, 2, 4)]),
    "huge": (pl.Float64, [-1e150, 0.0, 1e150]),
    "tiny": (pl.Float64, [1e-150, 2e-150, 3e-150]),
    "narrow": (pl.Float64, [1.0, 1.0 + 2**-45, 1.0 + 2**-44]),
}
LIMITS = ("Int8", "all of UInt64", "far off", "Decimal", "Float32", "huge", "narrow")


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "net") for name in VALUES),
        *((name, method) for name in LIMITS for method in ("sliced", "kd")),
    ],
)
def test_columns_of_every_number_are_answered_and_drawn_within_their_bounds(
    name: str, method: str
) -> None:
    dtype, values = VALUES[name]
    low, middle, high = values
    held = [float(x) if dtype.is_float() else x for x in values]
    data = pl.DataFrame({"a": pl.Series(held, dtype=dtype), "b": [0.5] * 3})
    frame = attached(pl.concat([data] * 40), epsilon=1000)
    with recording(noiseless=True):
        made = asked(
            frame,
            bounds={"a": (low, high), "b": (0, 1)},
            method=method,
            margin=0.2,
            epsilon=50,
        )
    table = made.to_polars()
    assert table.schema == data.schema
    assert sum(table.null_count().row(0)) == 0
    drawn = [Fraction(value) for value in table["a"].to_list()]
    assert Fraction(held[0]) <= min(drawn) < max(drawn) <= Fraction(held[-1])
    for least, fraction in ((low, 1), ((low + middle) / 2, 2 / 3)):
        found = made.query({"a": 1}, float(least))
        assert found.value == pytest.approx(fraction, abs=0.03)
    assert made.query({"b": 1}, 0.25).value == 1
    fewer = made.query({"a": -1}, -float((low + middle) / 2)).value
    assert fewer == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (1e-300, 3e-300), (0, 1e-310)]
)
def test_bounds_beyond_exact_arithmetic_are_refused(low: float, high: float) -> None:
    frame = attached({"a": [0.5], "b": [0.5]})
    for method in METHODS:
        with pytest.raises(ParameterError, match="too wide or too narrow"):
            asked(frame, bounds={"a": (low, high), "b": (0, 1)}, method=method)
    assert len(frame.dp.state.accountant.events) == 0


@pytest.mark.parametrize("method", ["net", "sliced", "kd", "jl_net"])
def test_every_host_is_released_alike(host: Host, method: str) -> None:
    data = {"a": [1, 2, 3, 4, 5] * 8, "b": [0.0, 1.5, 3.0, 4.5, 4.8] * 8}
    frame = host.attached(data, bounds={"a": (0, 5), "b": (0, 5)})
    with recording(noiseless=True):
        made = asked(frame, method=method, margin=0.2, epsilon=50)
    answer = made.query({"a": 1}, 2.5)
    frames = {"pandas": pd.DataFrame}.get(host.name, pl.DataFrame)
    assert type(answer.to_native()) is frames
    if method == "jl_net":
        return
    assert answer.value == pytest.approx(0.6, abs=0.1)
    for table in (made.value, made.to_native(), made.sample(5)):
        assert type(table) is frames
        assert list(table.columns) == ["a", "b"]
    assert [str(dtype).lower() for dtype in made.to_native().dtypes] == [
        "int64",
        "float64",
    ]


def test_pandas_columns_keep_their_dtypes() -> None:
    data = pd.DataFrame(
        {
            "a": pd.array([1, None, 3] * 9, dtype="Int32"),
            "b": np.array([1, 2, 3] * 9, dtype="float32"),
            "t": pd.array([True, None, False] * 9, dtype="boolean"),
        }
    )
    frame = attached(data, bounds={"a": (0, 5), "b": (0, 5)})
    made = asked(frame, label="t", method="kd")
    assert made.to_native().dtypes.to_dict() == data.dtypes.to_dict()
    assert made.sample(4).dtypes.to_dict() == data.dtypes.to_dict()


# Units and budgets


def test_rows_of_a_unit_are_weighted_within_its_limit() -> None:
    rows = 90 * [(1, 0)] + [(4, unit) for unit in range(10)]
    data = {
        "a": [a for _ in range(90) for a, _ in rows],
        "b": [1.0] * 9000,
        "u": [10 * copy + unit for copy in range(90) for _, unit in rows],
    }
    for method in ("net", "sliced", "kd"):
        frame = attached(
            data,
            epsilon=1000,
            privacy_unit="u",
            max_rows=2,
            bounds={"a": (0, 5), "b": (0, 5)},
        )
        with recording(noiseless=True):
            made = asked(frame, method=method)
        # One unit in ten has 91 rows, which count 2/91 each; the others one row each.
        assert made.shape.total.rows == pytest.approx(11 * 90, rel=0.001)
        wanted = (9 + 2 / 91) / 11
        assert made.query({"a": 1}, 3).value == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("budget", "loss", "law"),
    [
        ({"rho": 1}, {"rho": 0.5}, "discrete Gaussian"),
        ({"epsilon": 5, "delta": 1e-6}, {"epsilon": 2}, "discrete Laplace"),
        ({"epsilon": 5, "delta": 1e-6}, {"rho": 0.1}, "discrete Gaussian"),
        ({"epsilon": 2}, {"epsilon": Fraction(1, 3)}, "discrete Laplace"),
    ],
)
def test_budgets_of_every_kind_pay(
    method: str, budget: dict[str, Any], loss: dict[str, Any], law: str
) -> None:
    frame: Any = pl.DataFrame(DATA).dp.attach(
        dpframe.Accountant(**budget), bounds=BOUNDS
    )
    made = asked(frame, method=method, **{"epsilon": None} | loss)
    assert str(made.noise).startswith(law)
    assert made.cost == dpframe.Loss(
        **{name: Fraction(str(value)) for name, value in loss.items()}
    )
    (event,) = frame.dp.state.accountant.events.to_polars().filter(
        pl.col("state") == "charged"
    )["mechanism"]
    assert event == "halfspace_oracle"


def test_bounds_that_are_passed_win_over_those_carried() -> None:
    frame = attached(epsilon=1000)
    with recording(noiseless=True):
        made = asked(frame, bounds={"b": (0, 1)}, method="kd", epsilon=50)
    assert made.to_polars()["b"].max() <= 1
    assert made.to_polars()["a"].max() > 1
    assert made.query({"b": 1}, 0.99).value == pytest.approx(0.8, abs=0.01)
    carried = frame.dp.state.bounds["b"]
    assert (carried.low, carried.high) == (0, 5)


def test_a_filter_before_a_release_is_a_step_of_it() -> None:
    with recording(noiseless=True):
        made = asked(attached(epsilon=1000).filter(pl.col("a") > 2))
    assert made.shape.total.rows == 24
    assert "filter" in str(made.provenance)


@pytest.mark.usefixtures("nothing_is_read")
def test_python_objects_are_to_be_cast_before_and_not_bounded() -> None:
    data = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series(["x", "y"], dtype=object)})
    private = data.dp.attach(dpframe.Accountant(epsilon=1), bounds={"a": (0, 3)})
    for words in ({}, {"label": "b"}):
        columns = ["a", "b"] if not words else ["a", "a2"]
        with pytest.raises(ParameterTypeError, match="before attaching"):
            private.assign(a2=lambda d: d["a"] + 1).dp.bounds(
                a2=(0, 4)
            ).dp.halfspace_oracle(columns, margin=0.1, epsilon=1, **words)


@pytest.mark.usefixtures("nothing_is_read")
def test_a_margin_out_of_range_is_told_what_it_would_be_in_the_columns_units() -> None:
    frame = attached({"a": [0.5, 1.5], "b": [1, 2]})
    with pytest.raises(ParameterError, match=r"0\.1 there is 0\.354 of 'a'"):
        asked(frame, bounds={"a": (0, 5), "b": (0, 5)}, margin=5)
