"""What happens to a private Polars frame's schema and declarations in a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError as PolarsColumnNotFoundError
from polars.exceptions import DuplicateError, PanicException, PolarsError

from dpframe.declare import forget_unsuited
from dpframe.errors import (
    ColumnNotFoundError,
    DPFrameError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import is_reserved
from dpframe.proofs.polars.parts import first_line
from dpframe.proofs.polars.prove import prove
from dpframe.proofs.polars.sample import sample_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpframe.frame import State, Step
    from dpframe.proofs.polars.proved import Proved


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What a proved step selects or derives.

    Attributes
    ----------
    exprs : list of pl.Expr
        What to run on the native frame.
    types : dict of str to pl.DataType
        The dtypes of the outputs.
    sources : dict of str to str
        The outputs that are a column as it is, and which.
    """

    exprs: list[pl.Expr]
    types: dict[str, pl.DataType]
    sources: dict[str, str]


def prove_outputs(
    types: Mapping[str, pl.DataType],
    verb: str,
    exprs: Sequence[pl.Expr],
    texts: Sequence[str | None] | None = None,
) -> Outputs:
    """Prove what a step selects or derives.

    `texts` are what the expressions are serialised to, where that is known.

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
    proved = _prove(types, exprs, texts)
    found = _run(types, verb, proved)
    check_names(found)
    sources = {new: old for one in proved for new, old in (one.sources or {}).items()}
    return Outputs(
        exprs=[one.runnable() for one in proved], types=found, sources=sources
    )


def prove_conditions(
    types: Mapping[str, pl.DataType],
    exprs: Sequence[pl.Expr],
    texts: Sequence[str | None] | None = None,
) -> list[pl.Expr]:
    """Prove conditions and return what to run; raises as `prove_outputs` does."""
    proved = _prove(types, exprs, texts)
    tried = [found for found in proved if not found.is_condition]
    if not _gives_truths(types, tried):
        try:
            _made_up(types, proved).lazy().filter(*exprs).collect()
        except (PolarsError, PanicException) as error:
            raise explained("filter", error) from None
    return [found.runnable() for found in proved]


def _prove(
    types: Mapping[str, pl.DataType],
    exprs: Sequence[pl.Expr],
    texts: Sequence[str | None] | None,
) -> list[Proved]:
    pairs = zip(exprs, texts or repeat(None, len(exprs)), strict=True)
    return [prove(expr, schema=types, text=text) for expr, text in pairs]


def _gives_truths(types: Mapping[str, pl.DataType], proved: Sequence[Proved]) -> bool:
    """Return whether each expression gives one truth for each row.

    That is found much faster than by filtering, which also says what is wrong.
    """
    if not proved:
        return True
    named = [one.parts.expr.alias(str(place)) for place, one in enumerate(proved)]
    try:
        found = _made_up(types, proved).select(named)
    except (PolarsError, PanicException):
        return False
    return found.width == len(proved) and all(d == pl.Boolean for d in found.dtypes)


def _run(
    types: Mapping[str, pl.DataType], verb: str, proved: Sequence[Proved]
) -> dict[str, pl.DataType]:
    """Return the dtypes of what is derived; what may be wrong is tried."""
    tried = [one for one in proved if one.needs_trial]
    try:
        found = _dtypes(types, proved)
        if tried:
            _made_up(types, tried).select(one.parts.expr for one in tried)
    except (PolarsError, PanicException) as error:
        raise explained(verb, error) from None
    return found


def _dtypes(
    types: Mapping[str, pl.DataType], proved: Sequence[Proved]
) -> dict[str, pl.DataType]:
    """Return the outputs of a step; errors are those of Polars."""
    if sum(one.sources is None for one in proved) <= 1:
        each = [
            one.parts.outputs
            if one.sources is None
            else {new: types[old] for new, old in one.sources.items()}
            for one in proved
        ]
        found = {name: dtype for part in each for name, dtype in part.items()}
        if len(found) == sum(map(len, each)):
            return found
    exprs = [one.parts.expr for one in proved]
    return dict(_made_up(types, proved).lazy().select(exprs).collect_schema())


def _made_up(
    types: Mapping[str, pl.DataType], proved: Sequence[Proved]
) -> pl.DataFrame:
    """Return made-up rows of what expressions read, or of one column at least."""
    if any(one.parts.selecting for one in proved):
        return sample_rows(types)  # in their order, which selectors may go by
    read = {name: dtype for one in proved for name, dtype in one.parts.read.items()}
    return sample_rows(read or dict(islice(types.items(), 1)))


def check_names(names: Iterable[str]) -> None:
    """Refuse the reserved names of hidden columns."""
    for name in names:
        if is_reserved(name):
            msg = f"A column cannot be named {name!r}, which is reserved."
            raise ParameterError(msg)


def carried(state: State, sources: Mapping[str, str], step: Step) -> State:
    """Return the state after a step that takes some columns as they are.

    `sources` maps each such output to its column: what was declared for it stays, and
    all else is forgotten.
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
        steps=(*state.steps, step),
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
        forget_unsuited(state, after),
        unit_visible=state.unit_visible and same,
    )


def explained(verb: str, error: Exception | PanicException) -> DPFrameError:
    """Return what Polars says about a step on made-up rows."""
    says = first_line(error)
    if isinstance(error, PolarsColumnNotFoundError):
        return ColumnNotFoundError(f"{verb}: {says}.", column=says.strip('"'))
    if isinstance(error, DuplicateError):
        return ParameterError(f"{verb} gives two columns one name: {says}.")
    return ParameterTypeError(f"Polars cannot run this {verb}.", hint=says)
