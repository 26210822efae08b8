"""Plans of halfspace oracles say what a net says of itself, and what was published."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe
from dpframe import ParameterError, ParameterTypeError
from dpframe.plan import alpha_reached, epsilon_needed, rows_needed
from dpframe.plan.halfspaces import Published
from dpframe.testing import recording

ORACLE = "halfspace_oracle"
NETS: list[dict[str, Any]] = [
    {"columns": 2, "margin": 0.3, "method": "net"},
    {"columns": 2, "margin": 0.07, "method": "net"},
    {"columns": 2, "margin": 0.5, "method": "net", "label": True},
    {"columns": 3, "margin": 0.5, "method": "net"},
]
LOSSES: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 0.25}, {"rho": 0.1}]


def released(shape: dict[str, Any], rows: int, **loss: Any) -> Any:
    """Return a release of so many rows, a plan of which had that shape."""
    limit = loss.pop("max_rows", 1)
    names = [f"c{i}" for i in range(shape["columns"])]
    data = pl.DataFrame(
        {
            "unit": range(rows),
            **{name: np.zeros(rows) for name in names},
            "sick": np.zeros(rows, dtype=bool),
        }
    )
    budget = dpframe.Accountant(**{"rho" if "rho" in loss else "epsilon": 1000})
    units = {} if limit == 1 else {"privacy_unit": "unit", "max_rows": limit}
    frame = data.dp.attach(budget, bounds=dict.fromkeys(names, (-1, 1)), **units)
    with recording(noiseless=True):
        return frame.dp.halfspace_oracle(
            names,
            margin=shape["margin"],
            method=shape.get("method", "auto"),
            label="sick" if shape.get("label") else None,
            **loss,
        )


@pytest.mark.parametrize("shape", NETS, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_net_of_so_many_rows_says_that_it_errs_so_little(
    shape: dict[str, Any], loss: dict[str, Any]
) -> None:
    plan = rows_needed(ORACLE, alpha=0.2, confidence=0.9, **loss, **shape)
    assert released(shape, plan.rows, **loss).alpha(0.9) <= 0.2
    fewer = released(shape, plan.rows - 1, **loss)
    assert fewer.alpha(0.9) > 0.2  # the control
    reached = alpha_reached(ORACLE, rows=plan.rows, confidence=0.9, **loss, **shape)
    assert reached.alpha == released(shape, plan.rows, **loss).alpha(0.9)


@pytest.mark.parametrize("shape", NETS, ids=str)
@pytest.mark.parametrize("limit", [1, 3])
def test_an_oracle_needs_as_many_rows_as_its_plan(
    shape: dict[str, Any], limit: int
) -> None:
    for epsilon in (1, 0.3, Fraction(7, 9)):
        loss: dict[str, Any] = {"epsilon": epsilon, "max_rows": limit}
        plan = rows_needed(ORACLE, alpha=0.1, **loss, **shape)
        assert plan.rows == released(shape, 50, **loss).rows_needed


@pytest.mark.parametrize("shape", NETS, ids=str)
def test_rows_error_and_loss_are_inverse_to_each_other(shape: dict[str, Any]) -> None:
    plan = rows_needed(ORACLE, alpha=0.02, epsilon=0.5, **shape)
    reached = alpha_reached(ORACLE, rows=plan.rows, epsilon=0.5, **shape)
    assert reached.alpha <= 0.02
    less = alpha_reached(ORACLE, rows=plan.rows - 1, epsilon=0.5, **shape)
    assert less.alpha > 0.02
    needed = epsilon_needed(ORACLE, rows=plan.rows, alpha=0.02, **shape)
    assert needed.epsilon is not None
    assert needed.epsilon <= Fraction(1, 2)
    weaker = needed.epsilon - Fraction(1, 10**6)
    worse = alpha_reached(ORACLE, rows=plan.rows, epsilon=weaker, **shape)
    assert worse.alpha > 0.02


def test_more_is_needed_for_less_error_less_loss_and_less_margin() -> None:
    base: dict[str, Any] = {
        "columns": 2,
        "method": "net",
        "margin": 0.3,
        "alpha": 0.1,
        "epsilon": 1,
        "confidence": 0.95,
        "max_rows": 1,
    }

    def rows(**other: Any) -> int:
        return rows_needed(ORACLE, **{**base, **other}).rows

    for word, values in (
        ("alpha", (0.5, 0.1, 0.01)),
        ("epsilon", (10, 1, 0.1)),
        ("margin", (0.9, 0.3, 0.1, 0.07)),
        ("confidence", (0.5, 0.95, 0.999)),
        ("max_rows", (1, 2, 5)),
        ("label", (False, True)),
    ):
        found = [rows(**{word: value}) for value in values]
        assert found == sorted(found)
        assert len(set(found)) == len(found)
    assert rows(columns=3) > rows()


def test_the_noise_of_all_sums_at_once_is_within_what_is_planned() -> None:
    # Drawn here, and added up from either side: the largest of all sums, and of the
    # mean of what all directions count.
    oracle = released({"columns": 2, "margin": 0.2, "method": "net"}, 50, epsilon=1)
    _, size, bins = oracle.shape.counts.shape
    draw = np.random.default_rng(7)
    ratio = math.exp(-1 / size)  # of discrete Laplace noise of scale K / epsilon
    largest = np.empty(4000)
    for i in range(len(largest)):
        up, down = draw.geometric(1 - ratio, (2, size, bins))
        noise = up - down
        ends = np.cumsum(noise, axis=1)
        other = np.cumsum(noise[:, ::-1], axis=1)
        total = abs(noise.sum()) / size
        largest[i] = max(np.abs(ends).max(), np.abs(other).max()) + total
    for confidence in (0.5, 0.95, 0.99):
        planned = rows_needed(
            ORACLE,
            columns=2,
            margin=0.2,
            method="net",
            alpha=0.01,
            epsilon=1,
            confidence=confidence,
        )
        missed = (largest > planned.rows * 0.01).mean()
        assert missed <= 1 - confidence
    tight = np.quantile(largest, 0.95)
    planned = rows_needed(
        ORACLE, columns=2, margin=0.2, method="net", alpha=0.01, epsilon=1
    )
    assert planned.rows * 0.01 < 1.6 * tight


# The published theorem


def exactly(
    *, columns: int, margin: str, alpha: str, delta: str, epsilon: str
) -> Decimal:
    """Return the rows that the theorem asks for, from its formula."""
    gamma, error, chance = Decimal(margin), Decimal(alpha), Decimal(delta)
    t = math.ceil(6 * (128 / error).ln() * 16 / gamma**2)
    cover = (1 + 4 / gamma) ** t
    planes = (1 + 8 * Decimal(columns).sqrt() / gamma) ** columns
    m = math.ceil(Decimal(32) / 9 * (2 * planes / chance).ln())
    counts = 2 * m * cover
    return counts / (error * Decimal(epsilon)) * (counts / chance).ln()


@pytest.mark.parametrize(
    ("columns", "margin", "alpha", "delta", "epsilon"),
    [
        (2, "0.5", "0.1", "0.05", "1"),
        (20, "0.2", "0.1", "0.05", "1"),
        (50, "0.9", "0.9", "0.5", "50"),
        (2, "0.9", "0.999", "0.5", "50"),
    ],
)
def test_the_published_theorem_asks_for_what_its_formula_says(
    columns: int, margin: str, alpha: str, delta: str, epsilon: str
) -> None:
    plan = rows_needed(
        ORACLE,
        columns=columns,
        margin=float(margin),
        method="jl_net",
        alpha=float(alpha),
        confidence=1 - float(delta),
        epsilon=float(epsilon),
    )
    with localcontext() as context:
        context.prec = 60
        context.Emax = 10**9
        known = exactly(
            columns=columns, margin=margin, alpha=alpha, delta=delta, epsilon=epsilon
        )
        assert 0 <= math.log10(plan.rows) - float(known.log10()) < 1e-4
    assert plan.rows > 10**308  # no double holds it, so no number of rows is enough
    assert repr(plan).startswith(f"10^{math.log10(plan.rows):.1f} rows: ")
    four = rows_needed(
        ORACLE,
        columns=columns,
        margin=float(margin),
        method="jl_net",
        alpha=float(alpha),
        confidence=1 - float(delta),
        epsilon=float(epsilon),
        max_rows=4,
    )
    assert math.log10(four.rows) - math.log10(plan.rows) == pytest.approx(
        math.log10(4), abs=1e-3
    )


def test_the_published_numbers_are_met() -> None:
    scheme = Published(columns=2, margin=0.2, chance=0.05, scale=1.0)
    assert scheme.projected(0.1) == 17172
    wide = Published(columns=2, margin=0.5, chance=0.05, scale=1.0)
    assert wide.projected(0.1) == 2748
    plan = rows_needed(
        ORACLE, columns=2, margin=0.2, method="jl_net", alpha=0.1, epsilon=1
    )
    assert math.log10(plan.rows) > 22000
    assert "10^22712.8 rows" in repr(plan)
    sketched = released({"columns": 2, "margin": 0.2, "method": "jl_net"}, 9, epsilon=1)
    assert math.isinf(sketched.rows_needed)


def test_no_number_of_rows_is_enough_for_the_published_scheme() -> None:
    shape: dict[str, Any] = {"columns": 2, "margin": 0.5, "method": "jl_net"}
    with pytest.raises(ParameterError, match="Nothing is known"):
        alpha_reached(ORACLE, rows=10**18, epsilon=1, **shape)
    with pytest.raises(ParameterError, match="No epsilon up to 50"):
        epsilon_needed(ORACLE, rows=10**18, alpha=0.1, **shape)
    with pytest.raises(ParameterError, match="has pure noise"):
        rows_needed(ORACLE, alpha=0.1, rho=1, **shape)
    tiny = {**shape, "margin": 1e-4}
    with pytest.raises(ParameterError, match=r"about 10\^3.161e\+11 rows"):
        rows_needed(ORACLE, alpha=0.1, epsilon=1, **tiny)


# What nothing is proved of


@pytest.mark.parametrize(
    ("shape", "few"),
    [
        ({"columns": 5, "margin": 0.1}, 5000),
        ({"columns": 20, "margin": 0.1, "method": "sliced"}, 10000),
        ({"columns": 3, "margin": 0.1, "method": "kd"}, 5000),
        ({"columns": 20, "margin": 0.1, "max_rows": 3}, 30000),
    ],
    ids=str,
)
def test_where_nothing_is_proved_a_rule_of_thumb_is_given(
    shape: dict[str, Any], few: int
) -> None:
    with pytest.raises(ParameterError, match="Nothing is proved") as refused:
        rows_needed(ORACLE, alpha=0.1, epsilon=1, **shape)
    assert f"from about {few} rows on" in str(refused.value)
    with pytest.raises(ParameterError, match=f"about {10 * few} rows"):
        rows_needed(ORACLE, alpha=0.1, epsilon=0.1, **shape)
    with pytest.raises(ParameterError, match="Nothing is proved"):
        alpha_reached(ORACLE, rows=10**6, epsilon=1, **shape)
    with pytest.raises(ParameterError, match="Nothing is proved"):
        epsilon_needed(ORACLE, rows=10**6, alpha=0.1, **shape)


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        ({"columns": 2}, ParameterError, "needs margin="),
        ({"margin": 0.1}, ParameterError, "needs columns="),
        ({"columns": 1, "margin": 0.1}, ParameterError, "from 2 to 50"),
        ({"columns": 51, "margin": 0.1}, ParameterError, "from 2 to 50"),
        ({"columns": 2.0, "margin": 0.1}, ParameterTypeError, "whole number"),
        ({"columns": 2, "margin": 1}, ParameterError, "greater than 0 and less"),
        ({"columns": 2, "margin": "a"}, ParameterTypeError, "margin must be a number"),
        ({"columns": 2, "margin": 0.1, "label": 1}, ParameterTypeError, "label must"),
        ({"columns": 2, "margin": 0.1, "method": "a"}, ParameterError, "method must"),
        ({"columns": 2, "margin": 0.1, "points": 9}, ParameterError, "not points="),
        (
            {"columns": 5, "margin": 0.5, "method": "net"},
            ParameterError,
            "two and three columns",
        ),
    ],
    ids=range(11),
)
def test_a_wrong_word_is_named(shape: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        rows_needed(ORACLE, alpha=0.1, epsilon=1, **shape)


def test_a_plan_says_what_is_assumed() -> None:
    plan = rows_needed(
        ORACLE,
        columns=2,
        margin=0.5,
        method="net",
        label=True,
        alpha=0.1,
        epsilon=1,
        max_rows=2,
    )
    first, *assumed = repr(plan).splitlines()
    assert first == (
        f"{plan.rows} rows: halfspace_oracle(columns=2, margin=0.5, method=net, "
        "label=True) at ε=1 errs by at most 0.1 of the rows, in 95% of releases."
    )
    assert assumed == [
        "Assumed: the error is that of the noise: nothing is clipped or sampled.",
        "Assumed: rows within 0.5 of a plane may be taken for its other side.",
        "Assumed: a privacy unit has at most 2 rows.",
    ]
    assert plan.necessary is None
