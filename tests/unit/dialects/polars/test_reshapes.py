from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import pytest

import dpframe
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    EvaluationError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant
from dpframe.testing import recording
from dpframe.values import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Frame = PrivatePolars[Any]

ROWS = pl.DataFrame(
    {
        "u": [1, 1, 2, 3],
        "drugs": [["a", "b"], [], None, ["a", None, "a"]],
        "pair": pl.Series([[1, 2], [3, 4], None, [5, 6]], dtype=pl.Array(pl.Int8, 2)),
        "place": [{"ward": "A", "bed": 1}, None, {"ward": "B", "bed": 2}, {}],
        "before": [1, 2, 3, None],
        "after": [1.5, 2.5, None, float("nan")],
        "name": ["x", "y", None, "z"],
    }
)


@pytest.fixture
def people() -> Frame:
    return attached(ROWS)


def attached(rows: Any, unit: str | None = "u") -> Frame:
    options: dict[str, Any] = {"privacy_unit": unit, "max_rows": unit and 1}
    bounds = {"before": (0, 9), "after": (0, 9)}
    return dpframe.attach(rows, Accountant(epsilon=10), bounds=bounds, **options)


def same(found: Frame, wanted: pl.DataFrame) -> None:
    shown = found.detach()
    assert shown.schema == wanted.schema == found.schema
    assert sorted(map(repr, shown.rows())) == sorted(map(repr, wanted.rows()))
    hidden = found.scan(found.types()).collect()
    assert hidden["u"].to_list() == hidden[UNIT].to_list()


@pytest.mark.parametrize("column", ["drugs", "pair"])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_explode_gives_what_polars_gives(
    people: Frame, column: str, *, empty: bool, kept: bool
) -> None:
    words: dict[str, Any] = {"empty_as_null": empty, "keep_nulls": kept}
    same(people.explode(column, **words), ROWS.explode(column, **words))


def test_explode_takes_one_column_however_it_is_named(people: Frame) -> None:
    wanted = ROWS.explode("pair")
    for given in (["pair"], pl.col("pair"), cs.array()):
        same(people.explode(given), wanted)
    for several in (["drugs", "pair"], cs.list() | cs.array()):
        with pytest.raises(NotProvedError, match="differ in length"):
            people.explode(several)
    with pytest.raises(NotProvedError, match="differ in length"):
        people.explode("drugs", "pair")


@pytest.mark.parametrize(
    "words",
    [
        {"on": "name"},
        {"on": ["before", "after"], "index": "u"},
        {"on": ["before", "after"], "index": ["name", "u"]},
        {"on": ["before", "u"], "index": ["u"]},
        {"on": ["before", "after"], "variable_name": "when", "value_name": "dose"},
        {"on": cs.float(), "index": cs.integer()},
    ],
)
def test_unpivot_gives_what_polars_gives(people: Frame, words: dict[str, Any]) -> None:
    wanted = ROWS.unpivot(**{"index": "u", **words})
    same(people.unpivot(**words), wanted)


def test_unpivot_keeps_the_unit_beside_the_columns_that_it_takes_by_itself() -> None:
    rows = ROWS.select("u", "before", "after")
    same(attached(rows).unpivot(), rows.unpivot(index="u"))
    found = attached(rows).unpivot("before", index="after")
    assert found.columns == ["u", "after", "variable", "value"]


def test_unpivot_of_other_dtypes_is_refused(people: Frame) -> None:
    for on in (["before", "name"], ["drugs", "name"], None):
        with pytest.raises(ParameterTypeError, match="dtypes"):
            people.unpivot(on)


@pytest.mark.parametrize("separator", [None, ".", ""])
def test_unnest_gives_what_polars_gives(people: Frame, separator: str | None) -> None:
    wanted = ROWS.unnest("place", separator=separator)
    same(people.unnest("place", separator=separator), wanted)
    same(people.unnest(separator=separator), wanted)
    same(people.unnest(cs.struct(), separator=separator), wanted)


def test_unnest_needs_no_unit_and_the_others_do(people: Frame) -> None:
    rows = attached(ROWS, None)
    assert rows.unnest("place").private_state.rows_are_units
    for step in (lambda p: p.explode("drugs"), lambda p: p.unpivot("before")):
        with pytest.raises(NotProvedError, match="privacy unit") as caught:
            step(rows)
        assert "privacy_unit=" in str(caught.value.hint)
        step(people)


def test_what_makes_rows_forgets_that_each_unit_has_one(people: Frame) -> None:
    one = people.with_state(replace(people.private_state, one_row=True))
    assert not one.explode("drugs").private_state.one_row
    assert not one.unpivot("before").private_state.one_row
    assert one.unnest("place").private_state.one_row


def test_declarations_stay_with_columns_that_are_not_taken(people: Frame) -> None:
    both = {"before": Bounds(0, 9), "after": Bounds(0, 9)}
    assert dict(people.explode("drugs").private_state.bounds) == both
    assert dict(people.unnest("place").private_state.bounds) == both
    state = people.unpivot("before", index="after").private_state
    assert dict(state.bounds) == {"after": Bounds(0, 9)}
    assert state.unit_visible


def test_steps_are_on_record(people: Frame) -> None:
    steps = people.explode("drugs").unnest("place").unpivot("bed").private_state.steps
    assert list(steps) == [
        "explode(drugs)",
        "unnest(place)",
        "unpivot(bed, index=[u])",
    ]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda p: p.explode("drug"), ColumnNotFoundError),
        (lambda p: p.explode("name"), ParameterTypeError),
        (lambda p: p.explode([]), ParameterTypeError),
        (lambda p: p.explode("u"), ParameterTypeError),
        (lambda p: p.explode(pl.col("drugs").list.head(1)), ParameterTypeError),
        (lambda p: p.unnest("name"), ParameterTypeError),
        (lambda p: p.unnest("plaice"), ColumnNotFoundError),
        (lambda p: p.rename({"name": "bed"}).unnest("place"), ParameterError),
        (lambda p: p.unnest("place", separator=1), ParameterTypeError),
        (lambda p: p.unpivot("befor"), ColumnNotFoundError),
        (lambda p: p.unpivot("before", value_name="u"), ParameterError),
        (lambda p: p.unpivot("before", variable_name="value"), ParameterError),
        (lambda p: p.unpivot("before", variable_name=UNIT), ParameterError),
        (lambda p: p.unpivot("before", value_name=UNIT), ParameterError),
        (lambda p: p.unpivot("before", value_name=1), ParameterTypeError),
    ],
)
def test_mistakes_come_up_where_they_are_written(
    people: Frame, step: Callable[[Frame], Any], error: type[DPFrameError]
) -> None:
    with pytest.raises(error):
        step(people)


def test_a_field_of_the_reserved_name_is_refused() -> None:
    rows = pl.DataFrame({"u": [1], "s": [{UNIT: 1}]})
    frame = dpframe.attach(rows, Accountant(epsilon=1), privacy_unit="u")
    with pytest.raises(ParameterError, match="reserved"):
        frame.unnest("s")


def test_arrays_of_no_elements_are_not_exploded() -> None:
    rows = pl.DataFrame({"u": [1], "a": pl.Series([[]], dtype=pl.Array(pl.Int8, 0))})
    frame = dpframe.attach(rows, Accountant(epsilon=1), privacy_unit="u")
    with pytest.raises(ParameterTypeError, match="no elements"):
        frame.explode("a")


def test_plain_numbers_of_every_size_are_unpivoted_without_failing() -> None:
    limits = {
        **{f"i{n}": (pl.Int64 if n == 64 else getattr(pl, f"Int{n}")) for n in (8, 64)},
        **{f"u{n}": getattr(pl, f"UInt{n}") for n in (8, 64)},
        "f": pl.Float32,
        "d": pl.Float64,
    }
    rows = pl.DataFrame({"u": [1]}).with_columns(
        getattr(pl, str(dtype))().max().alias(name)
        if dtype.is_integer()
        else pl.lit(1e38, dtype=dtype).alias(name)
        for name, dtype in limits.items()
    )
    frame = dpframe.attach(rows.lazy(), Accountant(epsilon=1), privacy_unit="u")
    for one in limits:
        for two in limits:
            found = frame.unpivot([one, two] if one != two else one).detach()
            for engine in ("in-memory", "streaming"):
                assert found.collect(engine=engine)["value"].null_count() == 0


def test_rows_that_are_made_share_the_weight_of_their_unit(people: Frame) -> None:
    for made in (people.explode("pair"), people.unpivot(["before", "after"])):
        with recording(noiseless=True) as seen:
            made.dp.count(epsilon=1)
        assert made.detach().height > 6
        block = seen.records[0].blocks[0]
        assert block.sensitivity == 2**16
        assert block.exact[0][0] == pytest.approx(3 * 2**16, abs=8)


def test_nothing_is_read_before_a_release(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    frame = attached(pl.scan_parquet(path))
    path.unlink()
    made = frame.explode("drugs").unnest("place").unpivot(["before", "after"])
    assert made.columns == ["u", "variable", "value"]
    with pytest.raises(EvaluationError):
        made.dp.count(epsilon=1)
