"""Steps that make several rows of one: the rows of lists, columns, and other frames.

Each new row belongs to the unit of the row that it was made from, so they need a
privacy unit, and its limit counts them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.dialects.polars.made import Rows
from dpframe.dialects.polars.steps import carried, check_names, explained
from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.frame import UNIT, Step
from dpframe.proofs.polars.sample import sample_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.frame import State

_PLAIN: Final = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32),
    *(pl.UInt64, pl.Float32, pl.Float64),
)
"""Numbers that Polars brings to one dtype whatever their values."""


def explode(
    rows: Rows, columns: Sequence[str], *, empty_as_null: bool, keep_nulls: bool
) -> Rows:
    """Return one row for each element of a list.

    Raises
    ------
    NotProvedError
        If there is no privacy unit, or more than one column.
    ParameterTypeError
        If the column holds no lists.
    """
    _check_unit("explode", rows.state)
    if not columns:
        msg = "explode takes a column of lists."
        raise ParameterTypeError(msg, hint='write .explode("column").')
    if len(columns) > 1:
        raise NotProvedError(
            "explode of several columns fails where their lists differ in length.",
            step="explode",
            hint="explode one column at a time, or a list of structs.",
        )
    (name,) = columns
    dtype = rows.types[name]
    if isinstance(dtype, pl.Array) and dtype.size == 0:
        msg = f"Column {name!r} holds arrays of no elements."
        raise ParameterTypeError(msg, hint="drop it.")

    def run(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.explode(
            pl.selectors.by_name(name),
            empty_as_null=empty_as_null,
            keep_nulls=keep_nulls,
        )

    types = tried("explode", rows.types, run)
    kept = {name: name for name in types if name not in columns}
    state = carried(rows.state, kept, Step(f"explode({name})"))
    return Rows(native=run(rows.native), types=types, state=_several(state))


def unpivot(
    rows: Rows,
    on: Sequence[str] | None,
    index: Sequence[str],
    *,
    variable_name: str | None,
    value_name: str | None,
) -> Rows:
    """Return one row for each row and column of `on`, beside those of `index`.

    Raises
    ------
    NotProvedError
        If there is no privacy unit.
    ParameterTypeError
        If the columns are neither of one dtype nor plain numbers.
    ParameterError
        If two columns would have one name.
    """
    _check_unit("unpivot", rows.state)
    unit = rows.state.privacy_unit
    if unit is not None and unit in rows.types and unit not in index:
        index = [unit, *index]
    if on is None:
        on = [name for name in rows.types if name not in index]
    found = {rows.types[name] for name in on}
    if len(found) > 1 and not all(isinstance(dtype, _PLAIN) for dtype in found):
        msg = (
            f"unpivot was given columns of dtypes {', '.join(sorted(map(str, found)))}."
        )
        raise ParameterTypeError(msg, hint="cast them to one dtype first.")
    chosen = tuple(on)
    names = (
        "variable" if variable_name is None else variable_name,
        "value" if value_name is None else value_name,
    )

    def run(frame: pl.LazyFrame, *hidden: str) -> pl.LazyFrame:
        return frame.unpivot(
            pl.selectors.by_name(*chosen),
            index=pl.selectors.by_name(*index, *hidden),
            variable_name=names[0],
            value_name=names[1],
        )

    types = tried("unpivot", rows.types, run)
    step = Step(f"unpivot({', '.join(on)}, index=[{', '.join(index)}])")
    state = carried(rows.state, {name: name for name in index}, step)
    native = run(rows.native, UNIT).select(pl.selectors.by_name(*types), UNIT)
    return Rows(native=native, types=types, state=_several(state))


def unnest(
    native: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    columns: Sequence[str] | None,
    *,
    separator: str | None,
) -> tuple[pl.LazyFrame, Mapping[str, pl.DataType], Sequence[str]]:
    """Return the rows with the fields of structs as columns; which is row-local.

    Beside them come the visible columns, and the names of the structs that are gone.

    Raises
    ------
    ParameterTypeError
        If a column holds no structs.
    ParameterError
        If two columns would have one name.
    """
    if columns is None:
        columns = [name for name, of in types.items() if isinstance(of, pl.Struct)]

    def run(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.unnest(pl.selectors.by_name(*columns), separator=separator)

    found = tried("unnest", types, run)
    return run(native), found, columns


def tried(
    verb: str,
    types: Mapping[str, pl.DataType],
    run: Callable[[pl.LazyFrame], pl.LazyFrame],
) -> Mapping[str, pl.DataType]:
    """Return the columns that a step gives on made-up rows.

    Raises
    ------
    ParameterTypeError, ParameterError, ColumnNotFoundError
        As Polars finds when it runs the step.
    """
    try:
        found = run(sample_rows(types).lazy()).collect().schema
    except (PolarsError, PanicException, TypeError) as error:
        raise explained(verb, error) from None
    check_names(found)
    return found


def _check_unit(verb: str, state: State) -> None:
    if state.privacy_unit is None:
        raise NotProvedError(
            f"{verb} makes several rows of one, and without a privacy unit each "
            "would count by itself.",
            step=verb,
            hint='attach with privacy_unit="..."; its limit counts all rows.',
        )


def _several(state: State) -> State:
    return replace(state, one_row=False)
