"""What happens to a private Polars frame's schema and declarations in a step."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from polars.exceptions import ColumnNotFoundError as PolarsColumnNotFoundError
from polars.exceptions import DuplicateError, PanicException, PolarsError

from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT
from dpframe.proofs.polars import first_line, plain_columns, prove
from dpframe.proofs.polars_sample import sample_rows
from dpframe.values import column_type, parse_bounds, parse_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from dpframe.frame import State


def prove_selection(
    types: Mapping[str, pl.DataType], verb: str, exprs: Sequence[pl.Expr]
) -> tuple[dict[str, pl.DataType], dict[str, str]]:
    """Prove what a step selects or derives.

    Returns
    -------
    dict, dict
        The dtypes of the outputs, and of which column an output is the values as
        they are.

    Raises
    ------
    NotProvedError
        If an expression is not shown to be row-local.
    ColumnNotFoundError
        If a column is not there.
    ParameterError
        If two outputs have one name, or one has the reserved name.
    ParameterTypeError
        If Polars cannot run the step on rows of these dtypes.
    """
    for expr in exprs:
        prove(expr, schema=types)
    frame, sources = sample_rows(types), dict[str, str]()
    try:
        found = frame.select(*exprs).collect_schema()
        frame.select(*exprs).collect()
        for expr in exprs:
            outputs = frame.select(expr).collect_schema().names()
            sources.update(plain_columns(expr, outputs))
    except (PolarsError, PanicException) as error:
        raise _explained(verb, error) from None
    check_names(found)
    return dict(found), sources


def prove_filter(types: Mapping[str, pl.DataType], exprs: Sequence[pl.Expr]) -> None:
    """Prove conditions; raises as `prove_selection` does."""
    for expr in exprs:
        prove(expr, schema=types)
    try:
        sample_rows(types).filter(*exprs).collect()
    except (PolarsError, PanicException) as error:
        raise _explained("filter", error) from None


def check_names(names: Iterable[str]) -> None:
    """Refuse the reserved name of the hidden column."""
    if UNIT in names:
        msg = f"A column cannot be named {UNIT!r}, which is reserved."
        raise ParameterError(msg)


def carried(state: State, sources: Mapping[str, str]) -> State:
    """Return the state with what was declared for columns taken as they are.

    `sources` maps each such output to its column; all else is forgotten.
    """
    bounds, domain, unit = state.bounds, state.domain, state.privacy_unit
    return replace(
        state,
        unit_visible=state.unit_visible
        and unit is not None
        and sources.get(unit) == unit,
        bounds=MappingProxyType(
            {new: bounds[old] for new, old in sources.items() if old in bounds}
        ),
        domain=MappingProxyType(
            {new: domain[old] for new, old in sources.items() if old in domain}
        ),
    )


def fitting(
    state: State,
    before: Mapping[str, pl.DataType],
    after: Mapping[str, pl.DataType],
) -> State:
    """Return the state where columns of some dtypes were cast or filled.

    Declarations stay that suit the new dtypes. The unit, which is never missing, stays
    what it was where its dtype did.
    """
    unit = state.privacy_unit
    same = unit is None or unit not in after or before[unit] == after[unit]
    return replace(
        state.forget([name for name in after if not _fits(state, name, after[name])]),
        unit_visible=state.unit_visible and same,
    )


def _fits(state: State, name: str, dtype: pl.DataType) -> bool:
    try:
        ctype = column_type(name, dtype)
        if name in state.bounds:
            parse_bounds(ctype, state.bounds[name])
        if name in state.domain:
            parse_keys(ctype, state.domain[name])
    except (ParameterError, ParameterTypeError):
        return False
    return True


def _explained(verb: str, error: Exception | PanicException) -> DPFrameError:
    """Return what Polars says about a step on made-up rows."""
    says = first_line(error)
    if isinstance(error, PolarsColumnNotFoundError):
        return ColumnNotFoundError(f"{verb}: {says}.", column=says.strip('"'))
    if isinstance(error, DuplicateError):
        return ParameterError(f"{verb} gives two columns one name: {says}.")
    return ParameterTypeError(f"Polars cannot run this {verb}.", hint=says)
