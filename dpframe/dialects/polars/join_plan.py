"""A join as Polars runs it: planned on made-up rows, then run with the unit hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.dialects.polars.keys import (
    Key,
    check_distinct,
    keys_of,
    one_column_each,
)
from dpframe.dialects.polars.made import Rows
from dpframe.dialects.polars.steps import check_names, explained
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import UNIT
from dpframe.proofs.polars.sample import sample_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpframe.frame import State

_HOWS: Final = ("inner", "left", "right", "full", "semi", "anti", "cross")
_VALIDATES: Final = ("m:m", "m:1", "1:m", "1:1")
_FAILURES: Final = (PolarsError, PanicException, TypeError, ValueError)
_OTHER: Final = f"{UNIT}right__"
"""The hidden unit column of the other private frame, while they are joined."""

Sources = dict[str, tuple[str | None, str | None]]
"""Of which columns, left and right, an output is the values as they are."""


@dataclass(frozen=True, kw_only=True)
class Join:
    """How two frames are to be joined: Polars' own arguments, by their names.

    `running` holds those that say how it is run and change no row.
    """

    on: Any
    left_on: Any
    right_on: Any
    how: str
    suffix: str
    validate: str
    nulls_equal: bool
    coalesce: bool | None
    running: Mapping[str, Any]

    def check(self) -> None:
        """Refuse words that are not known, and keys given twice or not at all."""
        for name, word, known in (
            ("how", self.how, _HOWS),
            ("validate", self.validate, _VALIDATES),
        ):
            if word not in known:
                msg = f"join({name}=) is one of {', '.join(known)}, not {word!r}."
                raise ParameterError(msg)
        given = [side is not None for side in (self.on, self.left_on, self.right_on)]
        if self.how != "cross" and given not in (
            [True, False, False],
            [False] + [True] * 2,
        ):
            msg = "join takes on=, or left_on= and right_on=."
            raise ParameterTypeError(msg, hint='write .join(other, on="id").')

    def step(self, left: Sequence[Key], right: Sequence[Key]) -> str:
        """Return the arguments in public words."""
        texts = [", ".join(key.text for key in side) for side in (left, right)]
        sides = zip(("left_on", "right_on"), texts, strict=True)
        keys = [f"on=[{texts[0]}]"]
        if self.on is None:
            keys = [f"{name}=[{text}]" for name, text in sides]
        more = [f"how={self.how}"]
        more += ["nulls_equal=True"] if self.nulls_equal else []
        return ", ".join([*keys, *more])

    def run(
        self,
        rows: tuple[pl.LazyFrame, pl.LazyFrame],
        keys: tuple[Sequence[pl.Expr], Sequence[pl.Expr]],
        *,
        coalesce: bool,
        validate: str = "m:m",
    ) -> pl.LazyFrame:
        """Return two native frames joined on these keys."""
        words: dict[str, Any] = {"how": self.how, "validate": validate}
        return rows[0].join(
            rows[1],
            left_on=keys[0],
            right_on=keys[1],
            suffix=self.suffix,
            nulls_equal=self.nulls_equal,
            coalesce=coalesce,
            **words,
            **self.running,
        )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A join of two schemas: its keys, proved, and its outputs."""

    keys: tuple[Sequence[Key], Sequence[Key]]
    types: Mapping[str, pl.DataType]
    sources: Sources
    coalesced: bool

    @property
    def exprs(self) -> tuple[list[pl.Expr], list[pl.Expr]]:
        """The keys of each side, as they are run."""
        return [key.expr for key in self.keys[0]], [key.expr for key in self.keys[1]]


def planned(
    left: Mapping[str, pl.DataType], right: Mapping[str, pl.DataType], asked: Join
) -> Plan:
    """Prove the keys, and try the join on made-up rows."""
    given = (
        (asked.on, asked.on)
        if asked.on is not None
        else (asked.left_on, asked.right_on)
    )
    keys = keys_of(given[0], left), keys_of(given[1], right)
    if len(keys[0]) != len(keys[1]) or not keys[0]:
        counts = " and ".join(str(len(side)) for side in keys)
        msg = f"join was given {counts} keys on the left and on the right."
        raise ParameterError(msg, hint="write as many on both sides, one at least.")
    for side in keys:
        check_distinct(side)
    plain = one_column_each(keys[0]) and one_column_each(keys[1])
    if asked.coalesce and not plain:
        msg = "join(coalesce=True) takes keys that are columns."
        raise ParameterError(msg, hint="derive them in .with_columns first.")
    coalesced = plain and (
        asked.how != "full" if asked.coalesce is None else asked.coalesce
    )
    made_up = sample_rows(left).head(1).lazy(), sample_rows(right).head(1).lazy()
    exprs = [key.expr for key in keys[0]], [key.expr for key in keys[1]]
    try:
        tried = asked.run(made_up, exprs, coalesce=coalesced, validate=asked.validate)
        types = tried.collect().schema
    except _FAILURES as error:
        raise explained("join", error) from None
    check_names(types)
    sources = _sources(left, right, keys, asked, coalesced=coalesced)
    if list(sources) != list(types):  # Polars takes a name with the suffix for a key
        msg = f"join(suffix={asked.suffix!r}) gives a column the name of another."
        raise ParameterError(msg, hint="choose another suffix.")
    return Plan(keys=keys, types=types, sources=sources, coalesced=coalesced)


def _sources(
    left: Mapping[str, object],
    right: Mapping[str, object],
    keys: tuple[Sequence[Key], Sequence[Key]],
    asked: Join,
    *,
    coalesced: bool,
) -> Sources:
    """Return the outputs by name, as Polars names and orders them."""
    pairs = {key.column: by.column for by, key in zip(*keys, strict=True)}
    if asked.how in {"semi", "anti"}:
        return {name: (name, None) for name in left}
    if not coalesced:
        pairs = {}
    if asked.how == "right":
        kept = [name for name in left if name not in pairs.values()]
        added = list(right)
    else:
        kept, added = list(left), [name for name in right if name not in pairs]
    merged = {mine: key for key, mine in pairs.items()} if asked.how == "full" else {}
    found: Sources = {name: (name, merged.get(name)) for name in kept}
    for name in added:
        found[f"{name}{asked.suffix}" if name in kept else name] = (None, name)
    return found


def run(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    plan: Plan,
    asked: Join,
    *,
    unit: int | None,
) -> pl.LazyFrame:
    """Return the joined rows with their hidden unit column.

    `unit` says which key is the unit: there the hidden columns meet, and the visible
    ones ride along. Two keys are made one here and not by Polars, which fails on some
    rows where names are alike.
    """
    rows, keys = [left, right], plan.exprs
    hidden: pl.Expr = pl.col(UNIT)
    twins: dict[str, str] = {}
    if plan.coalesced and asked.how not in {"semi", "anti"}:
        gone = int(asked.how != "right")  # the side whose keys are left out
        named = [cast("str", key.column) for key in plan.keys[gone]]
        twins = {name: f"{UNIT}key{i}__" for i, name in enumerate(named)}
        rows[gone] = rows[gone].rename(twins)
        keys[gone][:] = map(pl.col, twins.values())
    if unit is not None:
        rows[1] = rows[1].rename({UNIT: _OTHER})
        keys[0][unit], keys[1][unit] = pl.col(UNIT), pl.col(_OTHER)
        if asked.how in {"right", "full"}:
            hidden = pl.coalesce(_OTHER, UNIT)
    joined = asked.run((rows[0], rows[1]), keys, coalesce=False)
    if asked.how == "full":
        kept = [cast("str", key.column) for key in plan.keys[0]] if twins else []
        joined = joined.with_columns(
            pl.coalesce(pl.selectors.by_name(name), twin).alias(name)
            for name, twin in zip(kept, twins.values(), strict=True)
        )
    return joined.select(pl.selectors.by_name(*plan.types), hidden.alias(UNIT))


def finished(native: pl.LazyFrame, plan: Plan, state: State) -> Rows:
    """Return the joined rows; their own plan must give what the trial gave."""
    try:
        found = dict(native.collect_schema())
    except PolarsError as error:
        raise explained("join", error) from None
    found.pop(UNIT)
    if found != dict(plan.types):
        msg = "Polars joins these columns otherwise than made-up ones."
        raise ParameterTypeError(msg, hint="rename or cast columns before the join.")
    return Rows(native=native, types=plan.types, state=state)
