"""Joins of a private Polars frame with public frames and with private ones.

With a public frame, what becomes of a private row depends on that row and on public
rows alone, as long as no public row appears by itself. With a private frame, rows
meet on the hidden unit column, so that those of two units never do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import pandas as pd
import polars as pl

from dpframe.combine import check_combinable, combined
from dpframe.dialects.polars.join_plan import finished, planned, run
from dpframe.dialects.polars.steps import check_names
from dpframe.dialects.shared import unit_gone
from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.frame import UNIT, PrivateFrame, Step
from dpframe.public import Public

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from dpframe.dialects.polars.join_plan import Join, Plan, Sources
    from dpframe.dialects.polars.made import Rows
    from dpframe.frame import State

T = TypeVar("T")


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
    plan = planned(left.types, types, asked)
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
    return finished(
        run(left.native, native, plan, asked, unit=None),
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


def _are_unique(table: pl.DataFrame, plan: Plan, asked: Join) -> bool:
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
    plan = planned(left.types, right.types, asked)
    place = _place_of_unit(left.state, right.state, plan)
    return finished(
        run(left.native, right.native, plan, asked, unit=place),
        plan,
        _combined_state(left.state, right.state, units, plan, asked),
    )


def _place_of_unit(left: State, right: State, plan: Plan) -> int:
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
    left: State, right: State, units: Sequence[object], plan: Plan, asked: Join
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
