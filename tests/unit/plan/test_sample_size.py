"""Plans of sample sizes say what the releases will say of themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import dpframe
from dpframe import ParameterError, ParameterTypeError
from dpframe.mechanisms.interval_search import rows_needed as search_rows
from dpframe.plan import alpha_reached, epsilon_needed, rows_needed
from dpframe.privacy.loss import Loss
from dpframe.testing import recording

SHAPES: list[tuple[str, dict[str, Any]]] = [
    ("count", {}),
    ("histogram", {"cells": 12}),
    ("sum", {}),
    ("mean", {}),
    ("cdf", {"bins": 20}),
    ("median", {"points": 1024}),
    ("quantile", {"points": 1024, "q": 0.9}),
    ("quantile", {"points": 64, "q": [0.1, 0.5, 0.9]}),
    ("quantile", {"points": 16, "q": [k / 20 for k in range(1, 20)]}),
    ("synthetic_intervals", {"points": 512}),
    ("synthetic_intervals", {"points": 4096, "method": "tree"}),
]
LOSSES: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 0.25}, {"rho": 0.1}]


def released(release: str, shape: dict[str, Any], rows: int, **loss: Any) -> Any:
    """Return a release of so many rows, a plan of which had that shape."""
    integer = release in {"median", "quantile", "synthetic_intervals"}
    values = pl.Series([0] * rows, dtype=pl.Int64 if integer else pl.Float64)
    data = pl.DataFrame({"x": values})
    top = shape["points"] - 1 if integer else shape.get("bins", 1)
    budget = dpframe.Accountant(rho=1000) if "rho" in loss else None
    frame = data.dp.attach(
        budget or dpframe.Accountant(epsilon=1000), bounds={"x": (0, top)}
    )
    with recording(noiseless=True):
        match release:
            case "count":
                return frame.dp.count(**loss)
            case "histogram":
                return frame.dp.histogram("x", bins=shape["cells"], **loss)
            case "cdf":
                return frame.dp.cdf("x", bins=shape["bins"], **loss)
            case "quantile":
                return frame.dp.quantile("x", shape["q"], **loss)
            case "synthetic_intervals":
                return frame.dp.synthetic_intervals(
                    "x", method=shape.get("method", "auto"), **loss
                )
            case _:
                return getattr(frame.dp, release)("x", **loss)


def stated(release: str, found: Any, rows: int, confidence: float) -> float:
    """Return what a release says of its error, as a part of the rows."""
    width = found.accuracy(confidence, joint=True)
    width = max(width) if hasattr(width, "__iter__") else width
    return float(width) / (1 if release in {"mean", "cdf"} else rows)


@pytest.mark.parametrize(("release", "shape"), SHAPES, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_release_of_so_many_rows_says_that_it_errs_so_little(
    release: str, shape: dict[str, Any], loss: dict[str, Any]
) -> None:
    plan = rows_needed(release, alpha=0.05, confidence=0.9, **loss, **shape)
    found = released(release, shape, plan.rows, **loss)
    error = stated(release, found, plan.rows, 0.9)
    assert error <= 0.05 * (1 + 1e-9)
    fewer = released(release, shape, max(plan.rows // 2, 1), **loss)
    assert stated(release, fewer, max(plan.rows // 2, 1), 0.9) > 0.05  # the control


@pytest.mark.parametrize(("release", "shape"), SHAPES, ids=str)
@pytest.mark.parametrize("limit", [1, 3])
def test_rows_error_and_loss_are_inverse_to_each_other(
    release: str, shape: dict[str, Any], limit: int
) -> None:
    shape = {**shape, "max_rows": limit}
    plan = rows_needed(release, alpha=0.02, epsilon=0.5, **shape)
    reached = alpha_reached(release, rows=plan.rows, epsilon=0.5, **shape)
    assert reached.alpha <= 0.02
    if plan.rows > 1:
        less = alpha_reached(release, rows=plan.rows - 1, epsilon=0.5, **shape)
        assert less.alpha > 0.02
    needed = epsilon_needed(release, rows=plan.rows, alpha=0.02, **shape)
    assert needed.epsilon is not None
    assert needed.epsilon <= Fraction(1, 2)
    assert needed.alpha <= 0.02
    weaker = needed.epsilon - Fraction(1, 10**6)
    worse = alpha_reached(release, rows=plan.rows, epsilon=weaker, **shape)
    assert worse.alpha > 0.02


@pytest.mark.parametrize(
    ("release", "shape", "known"),
    [
        ("count", {}, math.log(20)),
        ("histogram", {"cells": 1000}, math.log(1000 / 0.05)),
        ("mean", {}, math.log(2 / 0.05)),
        ("median", {"points": 2**20}, math.log(2**20 / 0.05)),
        ("quantile", {"points": 2**20, "q": 0.9}, 1.8 * math.log(2**20 / 0.05)),
        ("synthetic_intervals", {"points": 2**10}, 65),
        ("synthetic_intervals", {"points": 2**16}, 172),
        ("synthetic_intervals", {"points": 2**20}, 269),
    ],
    ids=str,
)
def test_known_formulas_are_met(
    release: str, shape: dict[str, Any], known: float
) -> None:
    plan = rows_needed(release, alpha=0.001, epsilon=0.1, **shape)
    factor = plan.rows * 0.001 * 0.1 / known
    # A mean's own error is that of one noise at worst: ln(1 / 0.05), not ln(2 / 0.05).
    assert 0.8 < factor < 1.08
    capped = rows_needed(release, alpha=0.001, epsilon=0.1, max_rows=4, **shape)
    assert 3.9 < capped.rows / plan.rows < 4.1


def test_a_search_needs_what_its_theorem_asks_for() -> None:
    shape: dict[str, Any] = {"points": 2**10, "method": "binary_search"}
    plan = rows_needed("synthetic_intervals", alpha=0.4, epsilon=4, **shape)
    assert alpha_reached(
        "synthetic_intervals", rows=plan.rows, epsilon=4, **shape
    ).alpha == pytest.approx(0.4, rel=1e-3)
    found = released("synthetic_intervals", shape, plan.rows, epsilon=4)
    assert found.accuracy(0.95) <= 0.4 * plan.rows * (1 + 1e-6)
    published = search_rows(
        alpha=0.01, bits=10, loss=Loss(epsilon=Fraction(1)), cap=Fraction(1)
    )
    assert f"{published:.1e}" == "2.3e+10"
    ours = rows_needed("synthetic_intervals", alpha=0.01, epsilon=1, **shape)
    assert published < ours.rows < 5 * published
    with pytest.raises(ParameterError, match="a confidence up to"):
        rows_needed(
            "synthetic_intervals", alpha=0.4, epsilon=1, confidence=0.99, **shape
        )
    with pytest.raises(ParameterError, match="Nothing is known"):
        alpha_reached("synthetic_intervals", rows=100, epsilon=1, **shape)
    with pytest.raises(ParameterError, match="known to reach"):
        rows_needed("synthetic_intervals", alpha=1e-6, epsilon=1, **shape)


def test_no_release_of_intervals_needs_fewer_rows_than_the_lower_bound() -> None:
    plan = rows_needed(
        "synthetic_intervals", points=2**64, alpha=0.1, confidence=0.5, epsilon=0.01
    )
    assert plan.necessary == 2184
    assert plan.rows > plan.necessary
    four = rows_needed(
        "synthetic_intervals",
        points=2**64,
        alpha=0.1,
        confidence=0.5,
        epsilon=0.01,
        max_rows=4,
    )
    assert four.necessary == 8733  # 2183 units of 4 rows are too few, and one row more
    options: dict[str, Any] = {"points": 2**10, "alpha": 0.01}
    assert rows_needed("synthetic_intervals", rho=1, **options).necessary is None
    assert rows_needed("count", alpha=0.01, epsilon=1).necessary is None
    near = rows_needed("synthetic_intervals", points=2**10, alpha=0.6, epsilon=1)
    assert near.necessary is None  # an error of half the rows tells nothing apart


def test_a_plan_prints_as_a_sentence_and_is_a_number() -> None:
    plan = rows_needed("mean", alpha=0.01, confidence=0.999, rho=0.02, max_rows=2)
    assert int(plan) == plan.rows
    first, *assumed = repr(plan).splitlines()
    assert first == (
        f"{plan.rows} rows: mean at ρ=0.02 errs by at most 0.01 of the bounds' width, "
        "in 99.9% of releases."
    )
    assert assumed == [
        "Assumed: the error is that of the noise: nothing is clipped or sampled.",
        "Assumed: a privacy unit has at most 2 rows.",
    ]
    assert plan.assumptions[-1] == "a privacy unit has at most 2 rows"
    many = rows_needed("synthetic_intervals", points=2**21, alpha=0.1, epsilon=1)
    assert "privtree" in repr(many)
    assert repr(rows_needed("count", alpha=0.9, epsilon=50)).startswith("1 row: count")


def test_a_plan_never_prints_more_confidence_than_it_has() -> None:
    plan = rows_needed("count", alpha=0.1, confidence=0.999999999, epsilon=1)
    assert "in 99.9999% of releases." in repr(plan)
    assert "in 57% of" in repr(
        rows_needed("count", alpha=0.1, confidence=0.57, epsilon=1)
    )


def test_planning_reads_and_spends_nothing_and_is_found_lazily() -> None:
    with recording() as recorder:
        rows_needed("cdf", bins=10, alpha=0.1, epsilon=1)
    assert recorder.records == []
    assert dpframe.plan.rows_needed is rows_needed
    assert dpframe.plan.budget
    assert dpframe.plan.Plan


@pytest.mark.parametrize(
    ("release", "options", "error", "words"),
    [
        (
            "variance",
            {},
            ParameterError,
            '"cdf", "count", "halfspace_oracle", "histogram"',
        ),
        (7, {}, ParameterTypeError, "not int"),
        ("count", {"cells": 3}, ParameterError, "takes no word of its own, not cells="),
        ("quantile", {"bins": 3}, ParameterError, "takes points= and q=, not bins="),
        ("median", {"points": 9, "q": 0.5}, ParameterError, "not q="),
        ("histogram", {}, ParameterError, "needs cells="),
        ("cdf", {"bins": 2.5}, ParameterTypeError, "whole number"),
        ("cdf", {"bins": 0}, ParameterError, "from 1 to"),
        ("median", {"points": 2**64 + 1}, ParameterError, "from 2 to"),
        ("quantile", {"points": 9, "q": 1.5}, ParameterError, "q must be from 0"),
        (
            "synthetic_intervals",
            {"points": 9, "method": "privtree"},
            ParameterError,
            "method must be",
        ),
        ("count", {"alpha": 1}, ParameterError, "alpha must lie"),
        ("count", {"alpha": 0}, ParameterError, "alpha"),
        ("count", {"alpha": "a"}, ParameterTypeError, "alpha"),
        ("count", {"confidence": 1}, ParameterError, "confidence"),
        ("count", {"epsilon": None}, ParameterTypeError, "exactly one"),
        ("count", {"rho": 1}, ParameterTypeError, "exactly one"),
        ("count", {"epsilon": 51}, ParameterError, "protects nobody"),
        ("count", {"max_rows": 0}, ParameterError, "max_rows"),
        ("count", {"max_rows": 1.5}, ParameterTypeError, "max_rows"),
    ],
    ids=range(20),
)
def test_a_wrong_word_is_named(
    release: Any, options: dict[str, Any], error: Any, words: str
) -> None:
    with pytest.raises(error, match=words):
        rows_needed(release, **{"alpha": 0.1, "epsilon": 1, **options})


def test_what_no_loss_reaches_is_refused() -> None:
    with pytest.raises(ParameterError, match="No epsilon up to 50"):
        epsilon_needed("mean", rows=3, alpha=1e-6)
    with pytest.raises(ParameterTypeError, match="rows must be"):
        alpha_reached("mean", rows=None, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="rows must be"):
        alpha_reached("mean", rows=0, epsilon=1)
