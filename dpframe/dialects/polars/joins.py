"""Joins of a private Polars frame with public frames and with private ones.

With a public frame, what becomes of a private row depends on that row and on public
rows alone, as long as no public row appears by itself. With a private frame, rows
meet on the hidden unit column, so that those of two units never do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import pandas as pd
import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.combine import check_combinable, combined
from dpframe.dialects.polars.keys import (
    Key,
    check_distinct,
    keys_of,
    one_column_each,
)
from dpframe.dialects.polars.made import Rows
from dpframe.dialects.polars.steps import check_names, explained
from dpframe.dialects.shared import unit_gone
from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.frame import UNIT, PrivateFrame, Step
from dpframe.proofs.polars.sample import sample_rows
from dpframe.public import Public

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from dpframe.frame import State

T = TypeVar("T")

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


def join(left: Rows, other: object, asked: Join) -> Rows:
    """Return a private frame joined with a public or a private one.

    Raises
    ------
    NotProvedError
        If rows of several units could meet, a private row could count several
        times, or the other frame is neither public nor attached.
    ParameterTypeError
        If Polars cannot join columns of these dtypes, or the frames are of two
        libraries.
    ParameterError
        If a word is not known, or two columns would have one name.
    ColumnNotFoundError
        If a key is not there.
    """
    asked.check()
    if isinstance(other, Public):
        return _with_public(left, other, asked)
    if isinstance(other, (pl.DataFrame, pl.LazyFrame, pd.DataFrame)):
        _refuse(
            "join was given a raw frame: nothing says that its rows are public.",
            "wrap it in dpframe.public(...) if they are; else attach it to the same "
            "Accountant with the same privacy unit.",
        )
    kind = type(other).__name__
    what = "a private frame of another library" if _is_private(other) else f"a {kind}"
    msg = f"A private Polars frame cannot be joined with {what}."
    raise ParameterTypeError(
        msg, hint="pass a private Polars frame, or dpframe.public(table)."
    )


def _is_private(frame: object) -> bool:
    return isinstance(frame, PrivateFrame)


def _refuse(fact: str, hint: str) -> NoReturn:
    raise NotProvedError(fact, step="join", hint=hint)


# ------------------------------------------------------------------ with a public frame


def _with_public(left: Rows, public: Public, asked: Join) -> Rows:
    native, types = _public_rows(public)
    if asked.how == "cross":
        _refuse(
            "A cross join puts every row beside all others.",
            "give both frames a constant column and join on it, with a privacy unit.",
        )
    if asked.how in {"right", "full"}:
        _refuse(
            f"In a {asked.how} join a public row appears where no private row "
            "matches, which depends on all private rows.",
            'write how="left" or how="inner".',
        )
    if asked.validate not in {"m:m", "m:1"}:
        _refuse(
            f"join(validate={asked.validate!r}) fails or not by the private rows.",
            'write validate="m:1", which looks at the public frame alone.',
        )
    plan = _planned(left.types, types, asked)
    keeps = asked.how in {"semi", "anti"}
    unique = keeps
    if not keeps and (left.state.rows_are_units or asked.validate == "m:1"):
        collected = native.collect()  # what was checked is what will be joined
        native, unique = collected.lazy(), _are_unique(collected, plan, asked)
    if not unique and asked.validate == "m:1":
        msg = 'join(validate="m:1"): the keys of the public frame repeat.'
        raise ParameterError(msg, hint='write validate="m:m", or make them unique.')
    if not unique and left.state.privacy_unit is None:
        _refuse(
            "The keys of the public frame repeat, and the private frame has no "
            "privacy unit: a row could count several times.",
            "make the keys unique: table.unique(keys); or attach with "
            'privacy_unit="...".',
        )
    text = f"join({public}, {asked.step(*plan.keys)})"
    state = left.state.after(Step(text, f"join({asked.step(*plan.keys)})"))
    return _finished(
        _run(left.native, native, plan, asked, unit=None),
        plan,
        replace(state, one_row=state.one_row and unique),
    )


def _public_rows(public: Public) -> tuple[pl.LazyFrame, Mapping[str, pl.DataType]]:
    table = cast("object", public.native)
    if not isinstance(table, (pl.DataFrame, pl.LazyFrame)):
        msg = f"A private Polars frame cannot be joined with a {_library(table)}."
        raise ParameterTypeError(
            msg, hint="make it a Polars frame: dpframe.public(pl.DataFrame(table))."
        )
    types = table.collect_schema()
    check_names(types)
    for name, dtype in types.items():
        if isinstance(dtype, pl.Object):
            msg = f"Column {name!r} of the public frame holds Python objects."
            raise ParameterTypeError(msg, hint="convert it, or drop it, first.")
    return table.lazy(), types


def _library(table: object) -> str:
    return f"public {type(table).__module__.split('.')[0]} {type(table).__name__}"


def _are_unique(table: pl.DataFrame, plan: _Plan, asked: Join) -> bool:
    """Return whether no private row can match two rows, as the join compares keys."""
    keys = table.select(
        key.alias(str(place)) for place, key in enumerate(plan.exprs[1])
    )
    if not asked.nulls_equal:
        keys = keys.drop_nulls()
    return keys.n_unique() == keys.height


# ---------------------------------------------------------------- with a private frame


def join_private(left: Rows, right: Rows, asked: Join) -> Rows:
    """Return two private frames joined on their unit; raises as `join` does."""
    asked.check()
    units = [rows.native.collect_schema()[UNIT] for rows in (left, right)]
    check_combinable("join", (left.state, right.state), units=units)
    if asked.validate != "m:m":
        _refuse(
            f"join(validate={asked.validate!r}) fails or not by the private rows.",
            "leave it out.",
        )
    if asked.how == "cross":
        _refuse(
            "A cross join puts the rows of a unit beside those of all others.",
            f'join on the unit: .join(other, on="{left.state.privacy_unit}").',
        )
    plan = _planned(left.types, right.types, asked)
    place = _place_of_unit(left.state, right.state, plan)
    return _finished(
        _run(left.native, right.native, plan, asked, unit=place),
        plan,
        _combined_state(left.state, right.state, units, plan, asked),
    )


def _place_of_unit(left: State, right: State, plan: _Plan) -> int:
    """Return which key is the unit on both sides."""
    for place, (mine, theirs) in enumerate(zip(*plan.keys, strict=True)):
        if (mine.column, theirs.column) == (left.privacy_unit, right.privacy_unit):
            if left.unit_visible and right.unit_visible:
                return place
            raise unit_gone(right if left.unit_visible else left, "join")
    _refuse(
        "A join of private frames needs the privacy unit among its keys on both "
        "sides: rows of two units would meet.",
        f'write .join(other, left_on=["{left.privacy_unit}", ...], '
        f'right_on=["{right.privacy_unit}", ...]).',
    )


def _combined_state(
    left: State, right: State, units: Sequence[object], plan: _Plan, asked: Join
) -> State:
    state = combined(
        "join",
        (left, right),
        units=units,
        options=asked.step(*plan.keys),
        bounds=_declared(left.bounds, right.bounds, plan.sources),
        domain=_declared(left.domain, right.domain, plan.sources),
    )
    if asked.how not in {"right", "full"}:
        return state
    if asked.how == "full" and not plan.coalesced:  # missing where nothing matched
        return replace(state, unit_visible=False)
    shown = next(
        name
        for name, (_, theirs) in plan.sources.items()
        if theirs == right.privacy_unit
    )
    return replace(state, privacy_unit=shown, unit_visible=True)


def _declared(
    left: Mapping[str, T], right: Mapping[str, T], sources: Sources
) -> dict[str, T]:
    """Return what is declared for the outputs: where two make one, what both say."""
    found: dict[str, T] = {}
    for name, (mine, theirs) in sources.items():
        said = [left.get(mine)] if mine is not None else []
        said += [right.get(theirs)] if theirs is not None else []
        if said[0] is not None and all(each == said[0] for each in said):
            found[name] = said[0]
    return found


# --------------------------------------------------------------------------- schema


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """A join of two schemas: its keys, proved, and its outputs."""

    keys: tuple[Sequence[Key], Sequence[Key]]
    types: Mapping[str, pl.DataType]
    sources: Sources
    coalesced: bool

    @property
    def exprs(self) -> tuple[list[pl.Expr], list[pl.Expr]]:
        """The keys of each side, as they are run."""
        return [key.expr for key in self.keys[0]], [key.expr for key in self.keys[1]]


def _planned(
    left: Mapping[str, pl.DataType], right: Mapping[str, pl.DataType], asked: Join
) -> _Plan:
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
    return _Plan(keys=keys, types=types, sources=sources, coalesced=coalesced)


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


def _run(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    plan: _Plan,
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


def _finished(native: pl.LazyFrame, plan: _Plan, state: State) -> Rows:
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
