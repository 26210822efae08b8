from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.asked import CHOSEN, DATA, DECLARED, GOALS, LOSSES

import dpframe
from dpframe import NotProvedError, ParameterError, Preview
from dpframe.accessor.namespace import PreviewNamespace
from dpframe.testing import recording

if TYPE_CHECKING:
    from tests.conftest import Host

OF_ROWS = ("mean", "var", "std", "mean_cov", "cdf")
"""Names of releases whose error depends on the number of rows end in one of these."""


def depends_on_rows(name: str) -> bool:
    return name.removeprefix("group_by ").split()[0] in OF_ROWS


def private(host: Host, *, epsilon: Any = 1000) -> Any:
    return host.attached(host.unreadable(DATA), epsilon=epsilon, **DECLARED)


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", LOSSES)
def test_a_preview_reads_and_spends_nothing(host: Host, name: str) -> None:
    frame = private(host)
    preview = LOSSES[name](frame.dp.preview, epsilon=0.3)
    assert isinstance(preview, Preview)
    assert preview.cost == dpframe.Loss(epsilon=Fraction(3, 10))
    assert "ε=0.3 of 1000 left, nothing spent)" in repr(preview)
    assert "nothing spent" in preview._repr_html_()
    assert preview.schema
    budget = frame.dp.state.accountant
    assert len(budget.events) == 0
    assert budget.spent.epsilon == 0


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_read_as_its_shortest_decimal(host: Host, name: str) -> None:
    dp = private(host).dp.preview
    tenth = Fraction(1, 10)
    for amount in (0.1, np.float64(0.1), np.float32(0.1), Decimal("0.1"), tenth):
        assert LOSSES[name](dp, epsilon=amount).cost.epsilon == tenth
    for amount in (3, np.int64(3), 3.0):
        assert LOSSES[name](dp, epsilon=amount).cost.epsilon == 3
    strong = LOSSES[name](dp, epsilon=60, allow_weak=True)
    assert strong.cost.epsilon == 60


@pytest.mark.parametrize("name", LOSSES)
def test_a_preview_costs_and_looks_as_its_release(host: Host, name: str) -> None:
    frame = host.attached(DATA, epsilon=1000, **DECLARED)
    preview = LOSSES[name](frame.dp.preview, epsilon=0.3)
    with recording() as recorder:
        made = preview.release()
        again = LOSSES[name](frame.dp, epsilon=0.3)
    one, other = recorder.records
    assert frame.dp.state.accountant.spent.epsilon == Fraction(6, 10)
    assert made.cost == again.cost == preview.cost
    assert type(made) is type(again)
    assert dict(made.to_polars().schema) == preview.schema
    assert one.parameters == other.parameters
    assert [block.scale for block in one.blocks] == [b.scale for b in other.blocks]


@pytest.mark.parametrize("name", [n for n in GOALS if not depends_on_rows(n)])
def test_a_preview_is_as_far_off_as_its_release(host: Host, name: str) -> None:
    frame = host.attached(DATA, epsilon=1000, **DECLARED)
    preview = GOALS[name](frame.dp.preview, epsilon=0.3)
    made = preview.release()
    for confidence in (0.5, 0.95, 0.999):
        promised = preview.accuracy(confidence)
        assert np.max(made.accuracy(confidence)) == pytest.approx(promised, abs=0.5)
    assert preview.noise.name == made.noise.name
    assert preview.noise.scale == made.noise.scale
    assert preview.accuracy(joint=True) >= preview.accuracy()


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", [n for n in GOALS if depends_on_rows(n)])
def test_an_error_of_rows_prints_as_a_formula_until_they_are_guessed(
    host: Host, name: str
) -> None:
    dp = private(host).dp.preview
    unknown = GOALS[name](dp, epsilon=1)
    assert "± " in repr(unknown)
    assert "n" in repr(unknown).split("± ")[1].split(", ε=")[0]
    with pytest.raises(ParameterError, match="rows="):
        unknown.accuracy()
    few, many = GOALS[name](dp, epsilon=1, rows=1_000), unknown.accuracy(rows=100_000)
    assert few.accuracy() > many > 0
    assert few.accuracy(rows=100_000) == many


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", GOALS)
def test_within_finds_the_smallest_loss_that_stays_within(
    host: Host, name: str
) -> None:
    dp = private(host).dp.preview
    rows = 100_000 if depends_on_rows(name) else None
    start = GOALS[name](dp, epsilon=0.5, rows=rows)
    within = start.accuracy(0.9, joint=True)
    found = GOALS[name](dp, within=within, confidence=0.9, rows=rows)
    cost = found.cost.epsilon
    assert cost.denominator <= 10**6
    assert found.accuracy(0.9, joint=True) <= within
    less = GOALS[name](dp, epsilon=cost - Fraction(1, 10**6), rows=rows)
    assert less.accuracy(0.9, joint=True) >= within or cost == Fraction(1, 2)
    assert cost <= Fraction(1, 2)


@pytest.mark.usefixtures("nothing_is_read")
def test_more_confidence_and_more_cells_cost_more(host: Host) -> None:
    dp = private(host).dp.preview

    def cost(cells: int, confidence: float) -> Fraction:
        return dp.histogram(
            "days", keys=range(cells), within=50, confidence=confidence
        ).cost.epsilon

    assert cost(1, 0.9) < cost(1, 0.99) < cost(100, 0.99)
    assert cost(1, 0.9) < cost(100, 0.9)


def test_a_loss_found_by_within_is_what_is_charged(host: Host) -> None:
    frame = host.attached(DATA, epsilon=1000, **DECLARED)
    preview = frame.dp.preview.count(within=20)
    made = frame.dp.count(within=20)
    assert made.cost == preview.cost
    assert frame.dp.state.accountant.spent == preview.cost
    assert made.accuracy() <= 20.5  # the noise's, and half a row of rounding


def test_within_of_times_is_a_timedelta(host: Host) -> None:
    year = (dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))  # noqa: DTZ001 - naive
    dp = private(host).dp.bounds(day=year).dp.preview
    preview = dp.mean("day", within=dt.timedelta(days=1), rows=1_000)
    assert dt.timedelta() < preview.accuracy(rows=1_000) <= dt.timedelta(days=1)
    with pytest.raises(dpframe.ParameterTypeError, match="timedelta"):
        dp.mean("day", within=1, rows=1_000)


def test_every_release_of_a_preview_pays_again(host: Host) -> None:
    frame = host.attached(DATA, epsilon=1, **DECLARED)
    preview = frame.dp.preview.count(epsilon=0.4)
    preview.release()
    preview.release()
    with pytest.raises(dpframe.BudgetExceededError):
        preview.release()
    assert frame.dp.state.accountant.remaining.epsilon == Fraction(1, 5)
    assert "ε=0.4 of 0.2 left" in repr(preview)


def test_what_does_not_fit_can_be_previewed(host: Host) -> None:
    preview = private(host, epsilon=1).dp.preview.count(epsilon=7)
    assert "ε=7 of 1 left" in repr(preview)


@pytest.mark.parametrize("name", ["groupby", "bounds", "detach", "state", "preview"])
def test_only_releases_can_be_previewed(host: Host, name: str) -> None:
    with pytest.raises(NotProvedError):
        getattr(private(host).dp.preview, name)


def test_every_release_can_be_previewed() -> None:
    declared = {"bounds", "domain", "contributions", "partition"}
    declared |= {"trust", "detach", "state", "preview"}
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(epsilon=1))
    releases = {n for n in dir(frame.dp) if not n.startswith("_")} - declared
    assert releases == {n for n in dir(PreviewNamespace) if not n.startswith("_")}
    groups = {n for n in dir(frame.dp.group_by("female")) if not n.startswith("_")}
    previewed = frame.dp.preview.group_by("female")
    assert groups == {n for n in dir(previewed) if not n.startswith("_")}


def test_what_has_releases_prints_them(host: Host) -> None:
    frame = private(host)
    assert "count, detach, discover_keys, domain, group_by," in repr(frame.dp)
    assert "mean, mean_cov, median, n_unique" in repr(frame.dp.preview)
    groups = frame.dp.group_by("female")
    assert repr(groups) == "GroupBy(agg, count, mean, median, quantile, std, sum, var)"


# Budgets with Gaussian noise


def shown(budget: dict[str, Any], before: dict[str, Any] | None = None) -> Any:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(**budget), **DECLARED)
    if before is not None:
        frame.dp.count(**before)
    return lambda **loss: repr(frame.dp.preview.count(of="units", **loss))


BOTH: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


def test_a_budget_of_epsilons_has_no_noise_to_name() -> None:
    preview = shown({"epsilon": 3}, {"epsilon": 0.9})
    assert preview(epsilon=0.3) == (
        "Preview(count of units, ± 10, ε=0.3 of 2.1 left, nothing spent)"
    )


def test_a_budget_of_rhos_shows_every_cost_as_a_rho() -> None:
    preview = shown({"rho": 0.25}, {"rho": 0.05})
    expected = "discrete Gaussian, ρ=0.045 of 0.2 left, nothing spent)"
    assert preview(rho=0.045).endswith(expected)
    assert preview(epsilon=0.3).endswith(expected)
    assert preview(rho=0.3).endswith("ρ=0.3 of 0.2 left, too much, nothing spent)")
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(rho=0.25), **DECLARED)
    pure = frame.dp.preview.mean_cov(["age", "days"], method="linf", epsilon=0.5)
    assert "max-norm, ρ=0.125 of 0.25 left, nothing spent)" in repr(pure)


def test_a_budget_of_both_shows_which_noise_was_taken_and_of_what() -> None:
    preview = shown(BOTH)
    assert "discrete Laplace, ε=0.3 of 1 left, nothing" in preview(epsilon=0.3)
    assert "discrete Gaussian, ρ=0.00005 of 0.0243559 left" in preview(epsilon=0.01)
    first = preview(rho=0.01)
    assert "Gaussian, ρ=0.01 of 0.0243559 left, ends the ε lane, nothing" in first
    assert "ρ=0.1 of 0.0243559 left, too much" in preview(rho=0.1)


def test_once_a_release_was_gaussian_nothing_is_left_but_a_rho() -> None:
    preview = shown(BOTH, {"rho": 0.01})
    assert "discrete Gaussian, ρ=0.005 of 0.0143559 left" in preview(epsilon=0.1)
    assert "ρ=0.045 of 0.0143559 left, too much" in preview(epsilon=0.3)


def test_where_only_epsilons_are_left_a_rho_does_not_fit() -> None:
    preview = shown(BOTH, {"epsilon": 0.5})
    assert "discrete Laplace, ε=0.5 of 0.5 left, nothing" in preview(epsilon=0.5)
    assert "ρ=0.001 of 0 left, too much" in preview(rho=0.001)


@pytest.mark.parametrize("name", LOSSES)
def test_a_gaussian_preview_costs_and_looks_as_its_release(name: str) -> None:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(rho=10), **DECLARED)
    preview = LOSSES[name](frame.dp.preview, rho=0.3)
    law = "discrete Gaussian"
    if name in CHOSEN and "group_by agg" not in name:  # that begins with a count
        law = "exponential mechanism"
    assert f"{law}, ρ=0.3 of 10 left, nothing spent)" in repr(preview)
    with recording() as recorder:
        made = preview.release()
        again = LOSSES[name](frame.dp, rho=0.3)
    one, other = recorder.records
    assert made.cost == again.cost == preview.cost
    assert dict(made.to_polars().schema) == preview.schema
    assert [block.sigma2 for block in one.blocks] == [b.sigma2 for b in other.blocks]
    assert {block.law for block in one.blocks} <= {"discrete Gaussian"}
    assert one.blocks or one.searches or name in CHOSEN


@pytest.mark.parametrize("name", [n for n in GOALS if not depends_on_rows(n)])
def test_a_gaussian_preview_is_as_far_off_as_its_release(name: str) -> None:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(rho=10), **DECLARED)
    preview = GOALS[name](frame.dp.preview, rho=0.3)
    made = preview.release()
    for confidence in (0.5, 0.95, 0.999):
        promised = preview.accuracy(confidence)
        assert np.max(made.accuracy(confidence)) == pytest.approx(promised, abs=0.5)
    assert preview.noise == made.noise
    if name in CHOSEN:
        assert str(preview.noise).startswith("exponential mechanism, scale ")
    elif "tree" in name:
        assert str(preview.noise).startswith("discrete Gaussian in each sum, ")
    else:
        assert preview.noise.scale == pytest.approx(preview.noise.stddev, rel=1e-3)
        assert str(preview.noise).startswith("discrete Gaussian, scale ")
    assert preview.accuracy(joint=True) >= preview.accuracy()


def test_a_preview_is_of_one_frame_and_moves_to_no_other() -> None:
    """Its sensitivity is that of the frame that it was planned for."""
    rows = pl.DataFrame({"u": [1] * 50, "x": [1.0] * 50})
    alone = rows.dp.attach(dpframe.Accountant(epsilon=1)).dp.preview.count(epsilon=1)
    other = rows.dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="u", max_rows=50)
    assert "frame" not in {field.name for field in dataclasses.fields(alone)}
    with pytest.raises(TypeError):
        dataclasses.replace(alone, frame=other)
