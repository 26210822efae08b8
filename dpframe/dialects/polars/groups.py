"""Groups of a private Polars frame: the rows of each unit, or of each unit and key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

import polars as pl

from dpframe.dialects.polars.figures import (
    Types,
    Wide,
    check_key,
    computed_before,
    exact_column,
    exactly,
    hidden_texts,
    singled,
    taken_figures,
)
from dpframe.dialects.polars.inputs import expressions
from dpframe.dialects.polars.made import Rows
from dpframe.dialects.polars.steps import carried, check_names, prove_outputs
from dpframe.dialects.shared import refuse_attribute, refuse_protocol, unit_gone
from dpframe.errors import NotProvedError
from dpframe.frame import UNIT, Step
from dpframe.proofs.polars.hints import for_unit, turned_hint
from dpframe.proofs.polars.parts import step_text
from dpframe.proofs.polars.sample import sample_rows
from dpframe.proofs.polars.units import Split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpframe.frame import State

F = TypeVar("F")

_ORDER: Final = turned_hint("Agg.First")
_LISTS: Final = "it gives lists, which have an order; use .agg(...) with figures."
_HINTS: Final = {
    **dict.fromkeys(("first", "last", "head", "tail"), _ORDER),
    **dict.fromkeys(("all", "map_groups"), _LISTS),
    "quantile": "use .median(), .min() or .max().",
    "having": "aggregate first, as in .agg(n=pl.len()), then .filter(...).",
    **dict.fromkeys(
        ("var", "std"), "take the mean of squares and the mean, in .agg(...)."
    ),
    "count": "use .len(), or .agg(pl.col(...).count()).",
}


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What rows are grouped by, proved; the unit is among it.

    Attributes
    ----------
    given : list of pl.Expr
        As the caller wrote them, one for each output.
    exprs : mapping of str to pl.Expr
        What to run for each output.
    types : mapping of str to pl.DataType
        The dtypes of the outputs.
    sources : mapping of str to str
        The outputs that are a column as it is, and which.
    units : list of str
        The outputs that are the unit.
    """

    given: Sequence[pl.Expr]
    exprs: Mapping[str, pl.Expr]
    types: Types
    sources: Mapping[str, str]
    units: Sequence[str]

    @property
    def text(self) -> str:
        """The keys in public words."""
        return ", ".join(self.types)

    @property
    def others(self) -> list[str]:
        """The outputs beside the unit."""
        return [name for name in self.types if name not in self.units]


def group_keys(types: Types, state: State, listed: Sequence[pl.Expr]) -> Keys:
    """Prove what rows are grouped by.

    Raises
    ------
    NotProvedError
        If the unit is not among it, or a key is not shown to be row-local.
    """
    rows = sample_rows(types).lazy()
    step = f"group_by({', '.join(map(step_text, listed))})"
    given = [
        exactly(tree, expr).alias(name)
        for expr in listed
        for name, tree in singled("group_by", expr, types, rows.select)
    ]
    found = prove_outputs(types, "group_by", given)
    names = list(found.types)
    unit = state.privacy_unit
    units = [name for name, old in found.sources.items() if old == unit]
    if unit is None or not units:
        raise _without_unit(unit, names, step)
    if not state.unit_visible:
        raise unit_gone(state, step)
    for dtype in found.types.values():
        check_key(dtype, step)
    return Keys(
        given=given,
        exprs=dict(zip(names, found.exprs, strict=True)),
        types=found.types,
        sources=found.sources,
        units=units,
    )


def _without_unit(unit: str | None, names: Sequence[str], step: str) -> NotProvedError:
    key = f'"{names[0]}"' if names else "column"
    private = f".dp.group_by({key}, keys=[...]) releases figures of groups"
    if unit is None:
        return NotProvedError(
            f"Groups bring rows together, and each row is a unit: {step}.",
            step=step,
            hint=f"{private}.",
        )
    return NotProvedError(
        f"Groups without the privacy unit hold rows of several units: {step}.",
        step=step,
        hint=f'{private}; or name the unit too: .group_by("{unit}", {key}).',
    )


def aggregated(rows: Rows, keys: Keys, exprs: Sequence[pl.Expr]) -> Rows:
    """Return one row for each unit, or for each unit and key, of figures of its rows.

    Raises
    ------
    NotProvedError
        If a figure depends on the order of rows, or is not known.
    ParameterError
        If two outputs have one name, or one has the reserved name.
    """
    types = rows.types
    groups = sample_rows(types).lazy().group_by(*keys.given)
    split = Split(unit=keys.units[0], taken=frozenset((*types, *keys.types)))
    outer = [
        exactly(split.grouped(tree), expr).alias(name)
        for expr in exprs
        for name, tree in singled("agg", expr, types, groups.agg, keys=len(keys.types))
    ]
    native, columns = computed_before(rows.native, types, split)
    taken = taken_figures(split, columns)
    held = {name: split.fresh({"Column": name}) for name in keys.others}
    unit = split.fresh({"Column": keys.units[0]})
    native = native.with_columns(
        _one_zero(keys.exprs[name], keys.types[name]).alias(hidden)
        for name, hidden in held.items()
    )
    parts = [part.alias(name) for one in taken for name, part in one.parts()]
    shown = exact_column(keys.sources[keys.units[0]]).first().alias(unit)
    if keys.types[keys.units[0]].is_float():  # a zero of whichever sign came first
        shown = pl.col(UNIT).first().alias(unit)
    made = native.group_by(UNIT, *held.values()).agg(shown, *parts)
    wide = Wide(
        native=made.select(
            UNIT,
            *(pl.col(held.get(name, unit)).alias(name) for name in keys.types),
            *(one.finished() for one in taken),
        ),
        types={**keys.types, **{one.name: one.made.dtype for one in taken}},
        exprs=[*map(exact_column, keys.types), *outer],
        unit=keys.units[0],
        texts=hidden_texts(split),
    )
    found = wide.outputs("agg")
    check_names(found.types)
    short = f"group_by({keys.text}).agg({', '.join([*found.types][len(keys.types) :])})"
    text = f"group_by({keys.text}).agg({', '.join(map(step_text, exprs))})"
    return Rows(
        native=wide.native.select(*found.exprs, UNIT),
        types=found.types,
        state=_after(rows.state, keys, Step(text, short)),
    )


def _one_zero(key: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a key whose zeros have one sign: which comes first depends on order."""
    if not dtype.is_float():
        return key
    return pl.when(key == 0).then(pl.lit(0.0, dtype=dtype)).otherwise(key)


def _after(state: State, keys: Keys, step: Step) -> State:
    """Return the state of grouped rows: only keys taken as they are stay declared."""
    kept = replace(
        carried(state, keys.sources, step),
        privacy_unit=keys.units[0],
        unit_visible=True,
    )
    return kept if keys.others else replace(kept, one_row=True, max_rows=1)


class PrivateGroupBy(Generic[F]):
    """The rows of a private frame by unit, to be aggregated.

    Made by `group_by`. What an aggregation gives depends on the rows of one unit
    each, whatever their order.
    """

    __slots__ = ("_keys", "_run")

    def __init__(self, keys: Keys, run: Callable[[Sequence[pl.Expr]], F]) -> None:
        self._keys = keys
        self._run = run

    def agg(self, *aggs: Any, **named_aggs: Any) -> F:
        """Aggregate each group to one row.

        Parameters
        ----------
        *aggs : expression or str
            Expressions of figures: len, count, null_count, n_unique, sum, mean, min,
            max, median, any, all.
        **named_aggs : expression or str
            ``name=expression`` names the column.

        Returns
        -------
        PrivatePolars
            One row for each unit, or for each unit and key. Keys stay declared as
            they were; figures are to be declared.

        Privacy
        -------
        Costs nothing. NaN is missing, and floats are added as whole steps of 2^-103,
        each within ±2^63, so that no other unit's rows change a figure's last digit.
        """
        return self._run(expressions("agg", aggs, named_aggs))

    def len(self, name: str | None = None) -> F:
        """Count the rows of each group.

        Parameters
        ----------
        name : str, optional
            Of the column. Default: ``"len"``.
        """
        return self._run([pl.len() if name is None else pl.len().alias(name)])

    def sum(self) -> F:
        """Sum each column."""
        return self._run([pl.all().sum()])

    def mean(self) -> F:
        """Take the mean of each column."""
        return self._run([pl.all().mean()])

    def min(self) -> F:
        """Take the smallest value of each column."""
        return self._run([pl.all().min()])

    def max(self) -> F:
        """Take the largest value of each column."""
        return self._run([pl.all().max()])

    def median(self) -> F:
        """Take the median of each column."""
        return self._run([pl.all().median()])

    def n_unique(self) -> F:
        """Count the distinct values of each column."""
        return self._run([pl.all().n_unique()])

    def __iter__(self) -> NoReturn:
        raise refuse_protocol("iteration", "use .agg(...) with figures.")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            refuse_attribute(name, {})
        unit = self._keys.units[0]
        hints = {key: for_unit(hint, unit) for key, hint in _HINTS.items()}
        refuse_attribute(name, hints)

    def __repr__(self) -> str:
        return f"PrivateGroupBy({self._keys.text})"
