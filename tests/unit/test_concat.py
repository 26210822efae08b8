from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe
from dpframe import NotProvedError, ParameterError, ParameterTypeError
from dpframe.errors import EvaluationError
from dpframe.frame import UNIT
from dpframe.privacy.scope import ROOT, Partition
from dpframe.testing import recording
from dpframe.values import Bounds

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Host

CELLS = {"u": [1, 1, 2], "k": ["a", "b", "a"], "x": [1.0, 2.0, None]}


@pytest.fixture
def budget() -> dpframe.Accountant:
    return dpframe.Accountant(epsilon=10)


def attached(host: Host, budget: Any, cells: Any = None, **options: Any) -> Any:
    given = {"privacy_unit": "u", "max_rows": 1, "bounds": {"x": (0, 9)}, **options}
    return dpframe.attach(host.frame(cells or CELLS), budget, **given)


def rows_of(frame: Any) -> list[str]:
    """Return the rows with their hidden units, in any order."""
    return sorted(map(repr, frame.scan(frame.types()).collect().rows()))


def counted(frame: Any) -> float:
    with recording(noiseless=True) as seen:
        frame.dp.count(epsilon=1)
    block = seen.records[0].blocks[0]
    assert block.sensitivity == 2**16
    return block.exact[0][0] / 2**16


def test_all_rows_of_all_frames_are_there(host: Host, budget: Any) -> None:
    one, two = attached(host, budget), attached(host, budget, {**CELLS, "u": [3] * 3})
    found = dpframe.concat([one, two, one])
    assert rows_of(found) == sorted(rows_of(one) * 2 + rows_of(two))
    assert found.types() == one.types()
    assert type(found) is type(one)


def test_columns_go_by_name(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    two = attached(host, budget, {name: CELLS[name] for name in ("x", "u", "k")})
    found = dpframe.concat([one, two])
    assert list(found.columns) == ["u", "k", "x"]
    assert rows_of(found) == sorted(rows_of(one) * 2)


def test_a_frame_alone_and_any_listing_will_do(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    assert rows_of(dpframe.concat([one])) == rows_of(one)
    assert rows_of(dpframe.concat(frame for frame in (one, one))) == sorted(
        rows_of(one) * 2
    )


def test_rows_given_twice_share_the_weight_of_their_unit(
    host: Host, budget: Any
) -> None:
    cells = {"u": [1, 2, 3], "k": ["a"] * 3, "x": [1.0] * 3}
    one = attached(host, budget, cells)
    assert counted(one) == 3
    assert counted(dpframe.concat([one, one])) == 3
    once = one.with_state(replace(one.private_state, one_row=True))
    assert counted(dpframe.concat([once, once])) == 3


def test_without_a_unit_nothing_is_stacked(host: Host, budget: Any) -> None:
    one = attached(host, budget, privacy_unit=None, max_rows=None)
    with pytest.raises(NotProvedError, match="count several times"):
        dpframe.concat([one, one])
    with pytest.raises(NotProvedError, match="privacy unit"):
        dpframe.concat([one, attached(host, budget)])


def test_limits_are_those_of_the_first(host: Host, budget: Any) -> None:
    one, two = attached(host, budget), attached(host, budget, max_rows=5)
    assert dpframe.concat([one, two]).private_state.max_rows == 1
    assert dpframe.concat([two, one]).private_state.max_rows == 5


def test_declarations_stay_where_all_frames_agree(host: Host, budget: Any) -> None:
    one = attached(host, budget, domain={"k": ["a", "b"]})
    other = attached(host, budget, domain={"k": ["a"]})
    state = dpframe.concat([one, other]).private_state
    assert (dict(state.bounds), dict(state.domain)) == ({"x": Bounds(0, 9)}, {})
    wider = one.dp.bounds(x=(0, 10))
    state = dpframe.concat([one, wider]).private_state
    assert (dict(state.bounds), dict(state.domain)) == ({}, {"k": ("a", "b")})


def test_the_steps_of_all_frames_are_on_record(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    two = one.with_state(one.private_state.after("trust(f, reason='checked')"))
    steps = dpframe.concat([one, two]).private_state.steps
    assert list(steps) == [
        "concat(private frame [trust(f, reason='checked')], 2 frames)"
    ]
    assert steps[0].short == "concat(2 frames)"


def test_units_that_were_written_over_are_not_grouped_by(budget: Any) -> None:
    one = dpframe.attach(pl.DataFrame(CELLS), budget, privacy_unit="u", max_rows=1)
    other = one.with_columns(u=pl.lit(7, dtype=pl.Int64))
    one.group_by("u")
    for frames in ([one, other], [other, one]):
        with pytest.raises(NotProvedError):
            dpframe.concat(frames).group_by("u")


def test_parts_are_charged_where_both_are(host: Host, budget: Any) -> None:
    frame, partition = attached(host, budget), Partition(scope=ROOT, most=1)
    one, two = (
        frame.with_state(replace(frame.private_state, scope=partition.part(name)))
        for name in "ab"
    )
    one.dp.count(epsilon=1)
    two.dp.count(epsilon=1)
    assert budget.spent.epsilon == 1
    both = dpframe.concat([one, two])
    assert both.private_state.scope is ROOT
    both.dp.count(epsilon=1)
    assert budget.spent.epsilon == 2
    assert dpframe.concat([two, two]).private_state.scope is two.private_state.scope


def test_frames_of_several_budgets_or_units_are_refused(
    host: Host, budget: Any
) -> None:
    one = attached(host, budget)
    with pytest.raises(NotProvedError, match="budgets"):
        dpframe.concat([one, attached(host, dpframe.Accountant(epsilon=10))])
    cells = {**CELLS, "v": CELLS["u"]}
    with pytest.raises(NotProvedError, match="units: u, v"):
        dpframe.concat(
            [attached(host, budget, cells, privacy_unit=name) for name in "uv"]
        )


def test_what_is_not_private_is_refused(host: Host, budget: Any) -> None:
    one, raw = attached(host, budget), host.frame(CELLS)
    for other in (raw, dpframe.public(raw)):
        for frames in ([one, other], [other]):
            with pytest.raises(NotProvedError, match="not private") as caught:
                dpframe.concat(frames)
            assert "attach" in str(caught.value.hint)


def test_other_arguments_are_refused(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    wrong: list[Any] = [one, None, "ab", 1, [one, 1], [None]]
    for frames in wrong:
        with pytest.raises(ParameterTypeError):
            dpframe.concat(frames)
    with pytest.raises(ParameterError):
        dpframe.concat([])


def test_columns_and_dtypes_must_be_the_same(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    fewer = {name: CELLS[name] for name in ("u", "x")}
    for pair in ([one, attached(host, budget, fewer)],):
        for frames in (pair, pair[::-1]):
            with pytest.raises(ParameterError, match="'k'"):
                dpframe.concat(frames)
    whole = attached(host, budget, {**CELLS, "x": [1, 2, 3]})
    with pytest.raises(ParameterTypeError, match="'x'"):
        dpframe.concat([one, whole])
    texts = attached(host, budget, {**CELLS, "u": ["1", "1", "2"]})
    with pytest.raises(ParameterTypeError, match="'u'"):
        dpframe.concat([one, texts])


def test_frames_of_two_libraries_are_refused(budget: Any) -> None:
    frames = [
        dpframe.attach(kind(CELLS), budget, privacy_unit="u")
        for kind in (pl.DataFrame, pd.DataFrame)
    ]
    with pytest.raises(ParameterTypeError, match="libraries"):
        dpframe.concat(frames)


def test_the_free_functions_of_the_libraries_refuse(host: Host, budget: Any) -> None:
    one = attached(host, budget)
    for stack in (pd.concat, pl.concat):
        with pytest.raises(TypeError):
            stack([one, one])


def test_pandas_categories_and_repeated_names_are_refused(budget: Any) -> None:
    rows = pd.DataFrame({"u": [1, 2], "k": pd.Series(["a", "b"], dtype="category")})
    one = dpframe.attach(rows, budget, privacy_unit="u")
    with pytest.raises(ParameterTypeError, match="'k', a category"):
        dpframe.concat([one, one])
    levels = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    coded = dpframe.attach(rows.astype({"k": levels}), budget, privacy_unit="u")
    with pytest.raises(ParameterTypeError, match="'k', a category"):
        dpframe.concat([coded, coded])
    unit = dpframe.attach(rows, budget, privacy_unit="k")
    with pytest.raises(ParameterTypeError, match="'k', a category"):
        dpframe.concat([unit, unit])
    twice = pd.DataFrame([[1, 2, 3]], columns=["u", "x", "x"])
    one = dpframe.attach(twice, budget, privacy_unit="u")
    with pytest.raises(ParameterError, match="more than once"):
        dpframe.concat([one, one])


def test_pandas_columns_that_cannot_be_named_ride_along(budget: Any) -> None:
    rows = pd.DataFrame({"u": [1, 2], 7: [1, 2]})
    one = dpframe.attach(rows, budget, privacy_unit="u")
    assert list(dpframe.concat([one, one]).detach().columns) == ["u", 7]
    other = dpframe.attach(rows[["u"]], budget, privacy_unit="u")
    with pytest.raises(ParameterError, match="several columns"):
        dpframe.concat([one, other])
    texts = dpframe.attach(rows.astype({7: "str"}), budget, privacy_unit="u")
    with pytest.raises(ParameterTypeError, match="two dtypes"):
        dpframe.concat([one, texts])


def test_nothing_is_read_before_a_release(budget: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(CELLS).write_parquet(path)
    one = dpframe.attach(pl.scan_parquet(path), budget, privacy_unit="u", max_rows=1)
    path.unlink()
    both = dpframe.concat([one, one.filter(pl.col("x") > 1)])
    assert both.columns == ["u", "k", "x"]
    assert UNIT not in both.columns
    with pytest.raises(EvaluationError):
        both.dp.count(epsilon=1)
