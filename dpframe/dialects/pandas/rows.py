"""The pandas verbs that look at one row at a time, each proved before it is taken."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import pandas as pd

from dpframe.declare import declare_domain
from dpframe.dialects.pandas.frame import (
    PandasFrame,
    column_hint,
    duplicates,
    kept_rows,
    schema_of,
)
from dpframe.dialects.pandas.loc import Locator
from dpframe.dialects.pandas.names import NameVerbs, listed
from dpframe.errors import (
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import Step, is_reserved
from dpframe.proofs.pandas.casts import cast_column
from dpframe.proofs.pandas.kinds import is_missing, literal_kind, polars_dtype
from dpframe.proofs.pandas.query import record_query
from dpframe.proofs.pandas.record import record
from dpframe.proofs.pandas.recording import Recording, replay
from dpframe.proofs.pandas.refusals import refuse_options
from dpframe.proofs.pandas.rules import fill_missing, release_hint
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

    from dpframe.frame import State
    from dpframe.values import Keys


class RowVerbs(NameVerbs):
    """Verbs whose output rows depend on one input row each."""

    __slots__ = ()

    def query(self, expr: str, **options: Any) -> Self:
        """Keep the rows for which a query holds.

        Parameters
        ----------
        expr : str
            In pandas' grammar: columns (backticked where the name is no
            identifier), literals, comparisons, ``and``, ``or``, ``not``,
            arithmetic, ``in [...]``, elementwise methods, and ``@name`` for the
            caller's public variables.
        **options
            ``local_dict`` and ``global_dict``, as in pandas; others are refused.

        Raises
        ------
        NotProvedError
            If the query is more than that.
        """
        names = self._caller_names(options)
        recording = record_query(expr, schema_of(self._native, self._state), names)
        return self._filter(
            recording, Step(f"query({recording.text})", f"query({expr!r})")
        )

    def _caller_names(self, options: dict[str, Any]) -> Mapping[str, Any]:
        given = {**(options.pop("global_dict", None) or {})}
        local = options.pop("local_dict", None)
        refuse_options("query", options, like=pd.DataFrame.query)
        if local is not None or given:
            return {**given, **(local or {})}
        here = inspect.currentframe()
        method = here.f_back if here is not None else None
        caller = method.f_back if method is not None else None
        return {} if caller is None else {**caller.f_globals, **caller.f_locals}

    def assign(self, **columns: Any) -> Self:
        """Add or overwrite columns by scalars, callables and `pd.col` expressions.

        A later column sees those before it, as in pandas. Bounds and keys of an
        overwritten column are forgotten.

        Raises
        ------
        NotProvedError
            If a callable does more than elementwise work, or a Series, array or
            list is given: these are matched by index or position.
        """
        native, state = self._native, self._state
        texts: list[str] = []
        for name, value in columns.items():
            native, text, levels = _with_column(native, state, name, value)
            state = state.forget([name])
            if levels is not None:
                state = state.declare(domain={name: levels})
            texts.append(f"{name}={text}")
        if columns:
            short = f"assign({', '.join(columns)})"
            state = state.after(Step(f"assign({', '.join(texts)})", short))
        return type(self)(native, state)

    def __getitem__(self, key: Any) -> Self:
        """Select columns by a list, or rows by a callable or `pd.col` condition."""
        if isinstance(key, list):
            return self._selected(cast("list[object]", key))
        if callable(key):
            recording = record(key, schema_of(self._native, self._state), what="[...]")
            if not isinstance(recording, Recording):
                msg = "[...] was given a condition that asks nothing of the rows."
                raise NotProvedError(msg, step="[...]")
            return self._filter(recording, f"[{recording.text}]")
        if isinstance(key, str):
            msg = f"A column cannot be taken out of a private frame: [{key!r}]."
            raise NotProvedTypeError(
                msg,
                step=f"[{key!r}]",
                hint=column_hint(key),
            )
        msg = f"[...] does not take a {type(key).__name__}."
        raise NotProvedTypeError(
            msg,
            step="[...]",
            hint="give a list of names, or a condition: lambda df: df[name] > 0.",
        )

    def filter(
        self,
        arg: Any = None,
        /,
        like: str | None = None,
        regex: str | None = None,
        axis: Any = None,
        *,
        items: Any = None,
        cond: Any = None,
        **options: Any,
    ) -> Self:
        """Keep the rows for which a condition holds, or select columns by name.

        A condition is a callable or a `pd.col` expression, as in ``frame[condition]``.
        Columns are named by a list, by a part of their names or by a pattern; the
        unit is kept.
        """
        refuse_options("filter", options, like=pd.DataFrame.filter)
        if callable(arg):
            arg, cond = None, arg
        given = [each for each in (arg, items, like, regex, cond) if each is not None]
        if len(given) != 1:
            msg = "filter takes one of a condition, items, like and regex."
            raise ParameterError(msg)
        if cond is None:
            names = arg if items is None else items
            return self._named("filter", items=names, like=like, regex=regex, axis=axis)
        if axis not in (None, 0, "index") or not callable(cond):
            msg = f"filter was given a {type(cond).__name__} as a condition of rows."
            raise NotProvedTypeError(
                msg, step="filter", hint="write filter(lambda df: df[name] > 0)."
            )
        return self[cond]

    @property
    def loc(self) -> Locator[Self]:
        """Select rows by a condition and columns by a list: `loc[condition, [...]]`.

        Labels and slices of rows are refused: index labels are dropped at attach.
        """
        return Locator(self)

    def dropna(self, **options: Any) -> Self:
        """Drop rows with a missing value in `subset` (default: any column)."""
        subset = options.pop("subset", None)
        how = options.pop("how", "any")
        options.pop("ignore_index", None)
        refuse_options("dropna", options, like=pd.DataFrame.dropna)
        if how not in ("any", "all"):
            msg = f'dropna(how=) is "any" or "all", not {how!r}.'
            raise ParameterError(msg)
        schema = schema_of(self._native, self._state)
        names = list(schema.dtypes) if subset is None else listed(subset)
        for name in names:
            schema.column(name)
        present = self._native[names].notna()
        kept = present.all(axis=1) if how == "any" else present.any(axis=1)
        if not names:
            return self
        text = f"dropna({', '.join(map(str, names))})"
        native = kept_rows(self._native, kept.to_numpy())
        return type(self)(native, self._state.after(text))

    def fillna(self, value: Any = None, **options: Any) -> Self:
        """Fill missing values by a scalar, or by column with a mapping of scalars."""
        refuse_options("fillna", options, like=pd.DataFrame.fillna)
        schema = schema_of(self._native, self._state)
        if isinstance(value, Mapping):
            fills = dict(cast("Mapping[str, Any]", value))
        elif literal_kind(value) is None:
            msg = f"fillna takes a scalar or a mapping, not a {type(value).__name__}."
            raise NotProvedError(
                msg,
                step="fillna",
                hint=release_hint(value) or "a Series is matched by its index.",
            )
        else:
            fills = {
                name: value
                for name, dtype in schema.dtypes.items()
                if not (isinstance(dtype, np.dtype) and dtype.kind in "biu")
            }
        made = {n: fill_missing(schema.column(n), v) for n, v in fills.items()}
        shown = ", ".join(f"{name}={fill!r}" for name, fill in fills.items())
        return self._replaced(made, f"fillna({shown})")

    def astype(self, dtype: Any, **options: Any) -> Self:
        """Cast columns, where no value can fail the cast.

        Bounds stay where the values stay ordered, keys where they stay of a kind.
        """
        refuse_options("astype", options, like=pd.DataFrame.astype)
        schema = schema_of(self._native, self._state)
        if isinstance(dtype, Mapping):
            wanted = dict(cast("Mapping[str, Any]", dtype))
        else:
            wanted = dict.fromkeys(schema.dtypes, dtype)
        made = {n: cast_column(schema.column(n), to) for n, to in wanted.items()}
        shown = ", ".join(f"{name}={cast_.dtype}" for name, cast_ in made.items())
        return self._replaced(made, f"astype({shown})")

    def pipe(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with this private frame."""
        if isinstance(func, tuple):
            function, name = cast("tuple[Callable[..., Any], str]", func)
            return function(*args, **{**kwargs, name: self})
        return func(self, *args, **kwargs)

    # How verbs are carried out

    def _filter(self, recording: Recording, step: str) -> Self:
        if recording.kind is not Kind.BOOLEAN:
            msg = f"{step} does not tell true from false."
            raise ParameterTypeError(msg)
        holds = replay(recording, self._native)
        kept = holds.fillna(False).to_numpy(dtype=bool)
        return type(self)(kept_rows(self._native, kept), self._state.after(step))

    def _replaced(self, made: Mapping[str, Recording], step: str) -> Self:
        """Put new columns in place; what was declared stays where it still suits."""
        before = self.types()
        native = self._native.copy(deep=False)
        for name, recording in made.items():
            native[name] = replay(recording, self._native)
        frame = type(self)(native, self._state)
        after = frame.types()
        changed = [n for n in made if not _same_line(before[n], after[n])]
        state = _fitting(frame.with_state(self._state.forget(changed)), made)
        unit = state.privacy_unit
        if (
            unit is not None
            and unit in made
            and (
                made[unit].category is not None  # what is none of its levels is missing
                or not _keeps_apart(self._native[unit], native[unit])
            )
        ):
            state = replace(state, unit_visible=False)
        levels = {n: r.levels for n, r in made.items() if r.levels is not None}
        return frame.with_state(state.declare(domain=levels).after(step))


def _with_column(
    native: pd.DataFrame, state: State, name: str, value: Any
) -> tuple[pd.DataFrame, str, Keys | None]:
    """Return the frame with one more column, its text, and its public keys if any.

    It goes before the hidden column.
    """
    if is_reserved(name) or name in duplicates(native):
        msg = f"assign cannot write column {name!r}."
        raise ParameterError(msg, hint="choose another name.")
    made, levels = value, None
    if callable(value):
        made = record(value, schema_of(native, state), what=f"assign({name}=)")
    if isinstance(made, Recording):
        column, text, levels = replay(made, native), made.text, made.levels
    elif literal_kind(made) is None and not is_missing(made):
        msg = f"assign({name}=) was given a {type(made).__name__}."
        raise NotProvedError(
            msg,
            step=f"assign({name}=)",
            hint=release_hint(made)
            or (
                "a Series, array or list is matched by index or position: give a "
                "scalar, or a callable of the frame."
            ),
        )
    else:
        column, text = made, repr(made)
    wider = native.copy(deep=False)
    if name not in wider.columns:
        wider.insert(wider.shape[1] - 1, name, column)
    else:
        wider[name] = column
    return wider, text, levels


def _keeps_apart(before: pd.Series[Any], after: pd.Series[Any]) -> bool:
    """Whether a cast or a fill kept the values of two dtypes apart, by these alone.

    Polars has one dtype for some of pandas' (instants by the second are held by the
    millisecond, the shortest floats in 32 bits), and instants are held on the calendar.
    """
    dtype = polars_dtype(before.dtype)
    if dtype.is_temporal():
        return False
    same = before.dtype == after.dtype
    return same or (dtype == polars_dtype(after.dtype) and not dtype.is_float())


def _fitting(frame: PandasFrame, names: Iterable[str]) -> State:
    """Return the state without public keys that some columns cannot hold."""
    state = frame.private_state
    domain = dict(state.domain)
    for name in domain.keys() & {*names}:
        try:
            declare_domain(frame, {name: domain[name]})
        except (ParameterError, ParameterTypeError):
            del domain[name]
    return replace(state, domain=MappingProxyType(domain))


def _same_line(before: pl.DataType, after: pl.DataType) -> bool:
    """Whether bounds and keys of one dtype still suit values cast to another."""
    if before.is_numeric() and after.is_numeric():
        return True
    return before.base_type() == after.base_type()
