from __future__ import annotations

import datetime as dt
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from dpframe.errors import ParameterError
from dpframe.frame import State
from dpframe.noise import DiscreteLaplace
from dpframe.outlook import Outlook
from dpframe.preview import Preview
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.entries import Event
from dpframe.privacy.loss import Loss
from dpframe.releases.figures import COUNT, GridError
from dpframe.values import column_type

COST = Loss(epsilon=Fraction(3, 10))


def law(scale: Any) -> GridError:
    return GridError(noise=DiscreteLaplace(scale=Fraction(scale)), unit=Fraction(1))


def preview(*, spent: Any = "9/10", rows: Any = None, **outlook: Any) -> Preview[Any]:
    accountant = Accountant(epsilon=3)
    event = Event(mechanism="count", columns=(), parameters="")
    accountant.charge(Loss(epsilon=Fraction(spent)), event)
    frame = SimpleNamespace(private_state=State(accountant=accountant))
    given = {"column": COUNT, "error": lambda _: law("50/3"), **outlook}
    query = SimpleNamespace(frame=frame, cost=COST, outlook=Outlook(**given))
    return Preview(query, rows=rows)


def of_rows(rows: Any) -> GridError | None:
    if rows is None:
        return None
    return GridError(noise=law(Fraction(10_000)).noise, unit=Fraction(1, rows))


def test_a_preview_prints_the_shape_the_error_and_what_is_left() -> None:
    text = "Preview(count by decade, 7 rows, ± 50 each, ε=0.3 of 2.1 left, "
    text += "nothing spent)"
    made = preview(title="count by decade, 7 rows", cells=7)
    assert repr(made) == text
    assert made._repr_html_() == f"<div>{text}</div>"


def test_a_preview_of_one_figure_prints_its_error() -> None:
    made = preview(title="count of rows")
    assert repr(made) == (
        "Preview(count of rows, ± 50, ε=0.3 of 2.1 left, nothing spent)"
    )


def test_what_is_left_is_rounded_down() -> None:
    assert "of 2.33333 left" in repr(preview(title="count", spent="2/3"))
    assert "of 0 left" in repr(preview(title="count", spent="3"))


def test_a_preview_that_the_budget_does_not_allow_says_so() -> None:
    enough = repr(preview(title="count", spent="2.7"))
    assert enough.endswith("ε=0.3 of 0.3 left, nothing spent)")
    short = repr(preview(title="count", spent="2.71"))
    assert short.endswith("ε=0.3 of 0.29 left, too much, nothing spent)")


def test_an_error_that_depends_on_the_rows_prints_as_a_formula_of_them() -> None:
    unknown = preview(title="mean of x", error=of_rows, unit=" steps")
    assert repr(unknown) == (
        "Preview(mean of x, ± 29957 steps / n, ε=0.3 of 2.1 left, nothing spent)"
    )
    with pytest.raises(ParameterError, match="rows="):
        unknown.accuracy()
    with pytest.raises(ParameterError, match="rows="):
        _ = unknown.noise
    guessed = preview(title="mean of x", error=of_rows, rows=600)
    assert "± 50" in repr(guessed)
    assert guessed.accuracy() == unknown.accuracy(rows=600)
    assert guessed.accuracy() == pytest.approx(50, rel=0.01)
    assert guessed.accuracy(rows=60) > 400


def test_the_joint_error_holds_for_all_cells_together() -> None:
    made = preview(title="count by decade, 7 rows", cells=7)
    assert made.accuracy(joint=True) > made.accuracy() == 50.0
    assert made.accuracy(0.99) > made.accuracy(0.9)


def test_a_preview_answers_in_the_unit_of_the_release() -> None:
    day = column_type("day", pl.Date())
    made = preview(title="mean of day", column=day, schema={"day": pl.Date()})
    assert made.accuracy() == dt.timedelta(days=50)
    assert "± 50 days" in repr(made)
    assert made.schema == {"day": pl.Date()}
    assert made.cost == COST
    assert isinstance(made.noise.scale, dt.timedelta)


@pytest.mark.parametrize("rows", [0, -1, 2.5])
def test_a_guess_that_is_no_row_count_is_refused(rows: Any) -> None:
    with pytest.raises(ParameterError):
        preview(title="mean", error=of_rows).accuracy(rows=rows)
