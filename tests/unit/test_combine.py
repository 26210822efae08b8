from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from dpframe.combine import combined
from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.frame import State
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.scope import ROOT, Partition

BUDGET = Accountant(epsilon=1)
STATE = State(accountant=BUDGET, privacy_unit="u", max_rows=3, salt=b"first")


def merged(*states: State, units: list[Any] | None = None, options: str = "") -> State:
    return combined(
        "join",
        states,
        units=[pl.Int64()] * len(states) if units is None else units,
        options=options,
        bounds={},
        domain={},
    )


def test_limits_and_salt_are_those_of_the_first() -> None:
    other = replace(STATE, max_rows=9, max_groups=2, salt=b"second")
    found = merged(STATE, other)
    assert (found.max_rows, found.max_groups, found.salt) == (3, None, b"first")


def test_one_row_each_does_not_outlive_a_combination() -> None:
    alone = replace(STATE, one_row=True)
    assert not merged(alone, alone).one_row


def test_the_unit_shows_where_it_does_in_all_frames() -> None:
    hidden = replace(STATE, unit_visible=False)
    assert merged(STATE, STATE).unit_visible
    assert not merged(STATE, hidden).unit_visible
    assert not merged(hidden, STATE).unit_visible


def test_parts_are_charged_to_their_common_scope() -> None:
    partition = Partition(scope=ROOT, most=1)
    one, two = (replace(STATE, scope=partition.part(name)) for name in "ab")
    inner = replace(two, scope=Partition(scope=two.scope).part("c"))
    assert merged(one, two).scope is ROOT
    assert merged(two, inner).scope is two.scope
    assert merged(two, two).scope is two.scope
    assert merged(inner, two, one).scope is ROOT


def test_the_steps_of_all_frames_stay_on_record() -> None:
    one = STATE.after("filter(a)").after("filter(b)")
    two = STATE.after("filter(a)").after("trust(f, reason='checked')")
    found = merged(one, two, options="on=u")
    assert found.steps[:2] == one.steps
    assert found.steps[2] == (
        "join(private frame [as here, trust(f, reason='checked')], on=u)"
    )
    assert found.steps[2].short == "join(on=u)"


def test_a_record_does_not_double_with_each_combination() -> None:
    state = STATE.after("filter(a)")
    for _ in range(50):
        state = merged(state, state)
    assert len("".join(state.steps)) < 5_000


def test_frames_without_a_unit_are_not_combined() -> None:
    with pytest.raises(NotProvedError, match="privacy unit"):
        merged(STATE, replace(STATE, privacy_unit=None))


def test_frames_of_two_budgets_are_not_combined() -> None:
    with pytest.raises(NotProvedError, match="budgets"):
        merged(STATE, replace(STATE, accountant=Accountant(epsilon=1)))


def test_units_of_two_dtypes_are_not_combined() -> None:
    with pytest.raises(ParameterTypeError, match="Int64 and String"):
        merged(STATE, STATE, units=[pl.Int64(), pl.String()])
