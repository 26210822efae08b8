"""How releases of intervals are planned: methods, noise, charges, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dpframe
from dpframe.adaptive.session import Session
from dpframe.errors import (
    BoundsRequiredError,
    BudgetExceededError,
    ColumnNotFoundError,
    EvaluationError,
    NotAttachedError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.mechanisms.interval_search import IntervalSearch
from dpframe.noise import DiscreteGaussian, DiscreteLaplace
from dpframe.testing import recording

if TYPE_CHECKING:
    from conftest import Host

FULL = 2**16
ROWS = {
    "u": [1, 1, 1, 2, 3, 4, 5, 6, 7, 8],
    "x": [0, 1, 1, 2, 3, 3, 3, 9, 40, None],
    "y": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, float("nan"), 0.9],
    "s": list("abcdefghij"),
}
CHARGED = ["charged", "released"]
BOX = {"bounds": {"x": (0, 15), "y": (0, 1)}, "step": {"y": 0.1}}
LINE = {"bounds": (0, 15)}
WAYS: list[tuple[Any, str, dict[str, Any]]] = [
    ("x", "tree", LINE),
    ("x", "privtree", LINE),
    ("x", "binary_search", LINE),
    (["x", "y"], "quad", BOX),
    (["x", "y"], "privtree", BOX),
]
every_way = pytest.mark.parametrize(
    ("columns", "method", "declared"),
    WAYS,
    ids=[f"{way[1]}-{len(way[0])}" for way in WAYS],
)


def private(rows: Any = None, *, budget: Any = None, **declared: Any) -> Any:
    frame: Any = pl.DataFrame(ROWS if rows is None else rows)
    return frame.dp.attach(budget or dpframe.Accountant(epsilon=100), **declared)


# Which method


@pytest.mark.parametrize(
    ("columns", "declared", "expected"),
    [
        ("x", {"bounds": (0, 1)}, "tree"),
        ("x", {"bounds": (0, 2**20)}, "tree"),
        ("x", {"bounds": (0, 2**20 + 1)}, "privtree"),
        ("x", {"bounds": (-(2**63), 2**63 - 1)}, "privtree"),
        (["x"], {"bounds": {"x": (0, 9)}}, "tree"),
        (["x", "y"], {"bounds": {"x": (0, 63), "y": (0, 6.3)}}, "quad"),
        (["x", "y"], {"bounds": {"x": (0, 64), "y": (0, 6.3)}}, "privtree"),
    ],
)
def test_the_method_follows_from_the_public_grid_alone(
    columns: Any, declared: dict[str, Any], expected: str
) -> None:
    step = {} if columns in ("x", ["x"]) else {"step": {"y": 0.1}}
    for rows in (ROWS, {name: values[:0] for name, values in ROWS.items()}):
        schema = {"u": pl.Int64, "x": pl.Int64, "y": pl.Float64, "s": pl.String}
        frame = private(pl.DataFrame(rows, schema=schema))
        preview = frame.dp.preview.synthetic_intervals(
            columns, epsilon=1, **declared, **step
        )
        assert expected in repr(preview)


@pytest.mark.parametrize(
    ("columns", "asked", "words"),
    [
        (["x", "y"], BOX | {"method": "tree"}, "for one column"),
        (["x", "y"], BOX | {"method": "binary_search"}, "for one column"),
        ("x", LINE | {"method": "quad"}, "several columns"),
        ("x", {"bounds": (0, 2**22), "method": "tree"}, "at most"),
        (
            ["x", "y"],
            BOX | {"bounds": {"x": (0, 2**20), "y": (0, 1)}, "method": "quad"},
            "at most",
        ),
        ("x", LINE | {"method": "net"}, "method"),
        ([f"c{k}" for k in range(7)], {}, "at most 6 columns"),
        (["x", "x"], BOX, "twice"),
        ([], {}, ""),
        ("x", {"bounds": {"z": (0, 1)}}, "not among the columns"),
        (["x", "y"], BOX | {"step": {"z": 1}}, "step names"),
        (["x", "y"], BOX | {"domain": {"z": [1, 2]}}, "domain names"),
        ("x", LINE | {"epsilon": 0}, "epsilon"),
        ("x", LINE | {"epsilon": -1}, "epsilon"),
        ("x", LINE | {"epsilon": float("nan")}, "epsilon"),
        ("x", LINE | {"epsilon": 51}, "allow_weak"),
        ("x", LINE | {"epsilon": None, "rho": 1}, "rho"),
    ],
)
def test_parameters_out_of_range_are_refused(
    columns: Any, asked: dict[str, Any], words: str, nothing_is_read: None
) -> None:
    _refused(ParameterError, columns, asked, words)
    del nothing_is_read


@pytest.mark.parametrize(
    ("columns", "asked", "words"),
    [
        (["x", "y"], {"bounds": (0, 1), "step": {"y": 0.1}}, "mapping by column"),
        (["x", "y"], BOX | {"step": 0.1}, "mapping by column"),
        ("x", LINE | {"method": None}, "method"),
        ("x", LINE | {"method": 3}, "method"),
        (pl.col("x"), LINE, ""),
        (None, LINE, ""),
        (["x", 5], LINE, ""),
        ("x", LINE | {"epsilon": "0.1"}, "epsilon"),
        ("x", LINE | {"epsilon": True}, "epsilon"),
        ("x", LINE | {"epsilon": None}, "epsilon"),
        ("x", LINE | {"epsilon": 1, "rho": 1}, "rho"),
        ("s", LINE, "text"),
    ],
)
def test_parameters_of_the_wrong_kind_are_refused(
    columns: Any, asked: dict[str, Any], words: str, nothing_is_read: None
) -> None:
    _refused(ParameterTypeError, columns, asked, words)
    del nothing_is_read


def _refused(
    error: type[Exception], columns: Any, asked: dict[str, Any], words: str, **more: Any
) -> None:
    budget = dpframe.Accountant(epsilon=100)
    frame = private(budget=budget, **more)
    for ask in (frame.dp, frame.dp.preview):
        with recording() as recorder, pytest.raises(error) as caught:
            ask.synthetic_intervals(columns, **({"epsilon": 1} | asked))
        assert type(caught.value) is error
        assert words in str(caught.value)
        assert recorder.bytes_used == 0
    assert not budget.events.to_dicts()


def test_other_mistakes_are_refused_as_everywhere(nothing_is_read: None) -> None:
    del nothing_is_read
    with pytest.raises(NotAttachedError):
        pl.DataFrame(ROWS).dp.synthetic_intervals("x", epsilon=1)  # type: ignore[attr-defined]
    _refused(ColumnNotFoundError, "z", LINE, "z")
    _refused(BoundsRequiredError, "x", {}, "bounds")
    _refused(BoundsRequiredError, "x", LINE, "max_rows", privacy_unit="u")
    frame = private()
    with pytest.raises(TypeError):
        frame.dp.synthetic_intervals("x", "tree", epsilon=1)
    with pytest.raises(NotProvedError):
        _ = frame.dp.synthetic_interval
    budget = dpframe.Accountant(epsilon=Fraction(1, 2))
    with pytest.raises(BudgetExceededError):
        private(budget=budget).dp.synthetic_intervals("x", epsilon=1, **LINE)
    assert budget.spent.epsilon == 0


# What it costs, and when


@every_way
def test_a_release_is_one_charge_and_previewed_as_it_is(
    columns: Any, method: str, declared: dict[str, Any], host: Host
) -> None:
    budget = dpframe.Accountant(epsilon=10)
    rows = ROWS | {"x": [5 if x is None else x for x in ROWS["x"]]}
    frame = host.attached(rows, budget=budget, privacy_unit="u", max_rows=2)
    asked = declared | {"method": method, "epsilon": Fraction(3, 10)}
    preview = frame.dp.preview.synthetic_intervals(columns, **asked)
    assert budget.spent.epsilon == 0
    made = frame.dp.synthetic_intervals(columns, **asked)
    assert preview.cost == made.cost
    assert preview.cost.epsilon == budget.spent.epsilon == Fraction(3, 10)
    event, released = budget.events.to_dicts()
    assert (event["state"], released["state"]) == ("charged", "released")
    assert event["mechanism"] == "synthetic_intervals"
    assert method in event["parameters"]
    assert f"{made.shape.grids[0].size}" in event["parameters"]
    assert dict(preview.schema) == dict(made.to_polars().schema)
    again = preview.release()
    assert type(again) is type(made)
    assert budget.spent.epsilon == Fraction(6, 10)
    if method == "tree":
        assert preview.accuracy() == pytest.approx(made.accuracy())


@every_way
def test_answers_are_free(columns: Any, method: str, declared: dict[str, Any]) -> None:
    budget = dpframe.Accountant(epsilon=10)
    frame = private(budget=budget)
    made = frame.dp.synthetic_intervals(columns, method=method, epsilon=1, **declared)
    end = {"x": (1, 3)} if isinstance(columns, list) else 1
    answers = [made.count(end), made.fraction(end)]
    if not isinstance(columns, list):
        answers += [made.cdf(3), made.quantile(0.5)]
    for answer in answers:
        assert answer.cost.epsilon == 0
        assert "ε=0" in repr(answer)
        assert answer.provenance == made.provenance
    made.sample(10)
    made.to_native()
    assert budget.spent.epsilon == 1
    assert [event["state"] for event in budget.events.to_dicts()] == CHARGED


@every_way
def test_a_frame_that_fails_keeps_its_charge_and_says_nothing(
    columns: Any, method: str, declared: dict[str, Any]
) -> None:
    budget = dpframe.Accountant(epsilon=10)
    lazy: Any = pl.LazyFrame({"x": ["secret"], "y": [0.5]}).with_columns(
        pl.col("x").cast(pl.Int64)
    )
    frame = lazy.dp.attach(budget)
    with pytest.raises(EvaluationError) as caught:
        frame.dp.synthetic_intervals(columns, method=method, epsilon=1, **declared)
    assert "secret" not in str(caught.value)
    (event,) = budget.events.to_dicts()
    assert event["state"] == "charged"
    assert budget.spent.epsilon == 1


@pytest.mark.parametrize(
    ("method", "step"), [("privtree", "tree"), ("binary_search", "_answer")]
)
def test_an_interrupt_in_the_middle_keeps_the_whole_charge(
    method: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, step, interrupt)
    budget = dpframe.Accountant(epsilon=10)
    with pytest.raises(KeyboardInterrupt):
        private(budget=budget).dp.synthetic_intervals(
            "x", method=method, epsilon=1, **LINE
        )
    (event,) = budget.events.to_dicts()
    assert event["state"] == "charged"
    assert budget.spent.epsilon == 1


# How much noise: scales written down by hand


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    ("points", "levels"), [(2, 1), (16, 1), (255, 1), (256, 2), (4096, 3), (2**16, 4)]
)
def test_a_tree_shares_its_loss_among_its_levels(
    points: int, levels: int, *, unit: bool
) -> None:
    limits = {"privacy_unit": "u", "max_rows": 3} if unit else {}
    rows = 3 * FULL if unit else 1
    for budget, loss, noise in (
        (
            dpframe.Accountant(epsilon=1),
            {"epsilon": Fraction(1, 2)},
            DiscreteLaplace(scale=Fraction(2 * levels * rows)),
        ),
        (
            dpframe.Accountant(rho=1),
            {"rho": Fraction(1, 8)},
            DiscreteGaussian(sigma2=Fraction(4 * levels * rows**2)),
        ),
        (
            dpframe.Accountant(epsilon=1, delta=1e-6),
            {"rho": Fraction(1, 100)},
            DiscreteGaussian(sigma2=Fraction(50 * levels * rows**2)),
        ),
    ):
        frame = private(budget=budget, **limits)
        made = frame.dp.synthetic_intervals("x", bounds=(0, points - 1), **loss)
        assert made.shape.error.noise == noise
        assert made.noise.name == noise.name
        assert made.noise.scale == pytest.approx(
            float(noise.scale) / (FULL if unit else 1)
        )
        assert made.provenance.parameters["levels"] == str(levels)


def test_a_partition_has_two_fifths_of_the_loss_and_its_counts_the_rest() -> None:
    for columns, declared in (("x", LINE), (["x", "y"], BOX)):
        for budget, loss, noise in (
            (
                dpframe.Accountant(epsilon=1),
                {"epsilon": Fraction(1, 2)},
                DiscreteLaplace(scale=Fraction(10, 3)),
            ),
            (
                dpframe.Accountant(rho=1),
                {"rho": Fraction(1, 2)},
                DiscreteGaussian(sigma2=Fraction(5, 3)),
            ),
        ):
            asked = declared | {"method": "privtree"} | loss
            made = private(budget=budget).dp.synthetic_intervals(columns, **asked)
            law = made.shape.error.noise if columns == "x" else made.shape.noise
            assert law == noise


@pytest.mark.parametrize("unit", [False, True])
def test_a_binary_search_states_the_noise_of_each_count(*, unit: bool) -> None:
    limits = {"privacy_unit": "u", "max_rows": 3} if unit else {}
    frame = private(**limits)
    asked = LINE | {"method": "binary_search", "epsilon": Fraction(1, 2)}
    made = frame.dp.synthetic_intervals("x", **asked)
    probes = IntervalSearch(size=16, alpha=0.5).probes
    rows = 3 if unit else 1
    assert made.noise.scale == pytest.approx(rows * probes / (0.5 * 0.9))


# What is read


@every_way
def test_the_plan_is_all_that_is_read_of_the_rows(
    columns: Any, method: str, declared: dict[str, Any]
) -> None:
    frame = private()
    with recording() as recorder:
        frame.dp.synthetic_intervals(columns, method=method, epsilon=1, **declared)
    (record,) = recorder.records
    names = {columns} if isinstance(columns, str) else {*columns}
    assert set(record.columns) == names
    if method in {"tree", "quad"}:
        (part,) = record.parts
        assert not record.searches
        assert set(part.statistic.columns) == names
        assert len(part.blocks) == 1
    else:
        (search,) = record.searches
        assert not record.parts
        assert set(search.ordering.columns) == names
        assert search.loss.epsilon == 1


def questions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Take note of what a search asks, and of what each question costs."""
    asked: list[tuple[str, Any]] = []
    take, answer = Session._take, Session._answer  # noqa: SLF001 - watched

    def taken(self: Session, loss: Any) -> None:
        asked.append(("loss", loss.epsilon))
        take(self, loss)

    def answered(self: Session, exact: int, loss: Any) -> int:
        asked.append(("count", None))
        return answer(self, exact, loss)

    monkeypatch.setattr(Session, "_take", taken)
    monkeypatch.setattr(Session, "_answer", answered)
    return asked


def test_a_partition_asks_for_its_shape_and_its_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = questions(monkeypatch)
    private().dp.synthetic_intervals("x", method="privtree", epsilon=1, **LINE)
    assert asked == [("loss", Fraction(2, 5)), ("loss", Fraction(3, 5))]


def test_a_binary_search_asks_no_more_counts_than_it_pays_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = questions(monkeypatch)
    private().dp.synthetic_intervals("x", method="binary_search", epsilon=1, **LINE)
    losses = [loss for what, loss in asked if what == "loss"]
    assert losses[0] == Fraction(1, 10)
    assert set(losses[1:]) == {
        Fraction(9, 10) / IntervalSearch(size=16, alpha=0.5).probes
    }
    assert sum(losses) <= 1


@pytest.mark.parametrize(
    ("budget", "loss", "law"),
    [
        ({"rho": 10}, {"rho": 1}, "discrete Gaussian, "),
        ({"rho": 10}, {"epsilon": 1}, "discrete Gaussian, "),
        ({"epsilon": 10, "delta": 1e-6}, {"epsilon": 1}, "discrete Laplace, "),
        ({"epsilon": 10}, {"epsilon": 1}, ""),
    ],
)
@every_way
def test_a_preview_names_the_noise_and_says_where_the_error_is_found(  # noqa: PLR0917
    columns: Any,
    method: str,
    declared: dict[str, Any],
    budget: dict[str, Any],
    loss: dict[str, Any],
    law: str,
) -> None:
    frame = private(budget=dpframe.Accountant(**budget))
    preview = frame.dp.preview.synthetic_intervals(
        columns, method=method, **declared, **loss
    )
    shown = repr(preview).partition(f"points, {method}, ")[2]
    if method == "tree":
        assert "rows of any interval" in shown
        shown = shown.partition("interval, ")[2]
    else:
        for ask in (preview.accuracy, lambda: preview.noise):
            with pytest.raises(ParameterError, match="what is released"):
                ask()
    assert shown.startswith(law)
    assert shown.removeprefix(law)[0] in "ερ"
