"""The verbs that pandas users write, on frames that carry a budget."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, cast

import numpy as np
import pandas as pd
import polars as pl

from dpframe.accessor import PrivateNamespace
from dpframe.declare import (
    check_contributions,
    declare_bounds,
    declare_domain,
    find_column,
)
from dpframe.dialects.pandas_columns import polars_column, unit_column
from dpframe.dialects.pandas_hints import HINTS
from dpframe.dialects.shared import (
    check_accountant,
    describe,
    describe_html,
    refuse_attribute,
    refuse_protocol,
)
from dpframe.errors import (
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT, PrivateFrame, State
from dpframe.proofs.pandas import Schema, record
from dpframe.proofs.pandas_kinds import is_missing, literal_kind, polars_dtype
from dpframe.proofs.pandas_query import record_query
from dpframe.proofs.pandas_recording import Recording, replay
from dpframe.proofs.pandas_rules import cast_column, fill_missing
from dpframe.releases.pandas_tables import host_column
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpframe.privacy.accountant import Accountant

_HOST: Final = "pandas DataFrame"


class PrivatePandas(PrivateFrame):
    """A pandas frame that only row-local steps and paid releases can be made from.

    Verbs take pandas' own arguments; what could mix rows is refused when it is
    written, before a row is read. Index labels never matter: rows are taken by
    position, and every step numbers them anew.

    Notes
    -----
    `attach` takes a copy-on-write snapshot: what is later done to the raw frame by
    pandas is not seen. Writing into a numpy array that shares memory with the frame
    goes behind pandas' back and is seen, as it is by any copy-on-write copy.

    Columns whose names are not text, or occur twice, ride along but cannot be used.
    Object columns allow `isna` and `notna` alone, since what pandas makes of Python
    objects depends on every one of them.
    """

    __slots__ = ()

    dp: PrivateNamespace[PrivatePandas, pd.DataFrame]

    def __init__(self, native: pd.DataFrame, state: State) -> None:
        self._native = native
        self._state = state
        self.dp = PrivateNamespace(self)

    @classmethod
    def attach(
        cls,
        frame: pd.DataFrame,
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> Self:
        """Attach a budget to a pandas frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            The raw frame; it is never written to.
        accountant : Accountant
            The budget that releases are charged to.
        privacy_unit : str, optional
            Column that says whom a row belongs to; rows where it is missing are
            dropped. Default: each row is a unit of its own.
        max_rows, max_groups : int, optional
            Public limits on what one unit contributes.
        bounds, domain : mapping, optional
            Public clipping bounds and keys, by column.

        Returns
        -------
        PrivatePandas
            Nothing is read from it but by a release.

        Raises
        ------
        ParameterTypeError
            If `frame` is no pandas frame, has MultiIndex columns, or `accountant`
            is no budget.
        ColumnNotFoundError
            If the unit or a declared column is not there.

        Privacy
        -------
        Costs nothing. The schema (names and dtypes) is taken as public, the
        categories of a categorical column are not.
        """
        check_accountant(accountant)
        _check_attached(frame)
        limits = check_contributions(max_rows, max_groups, unit=privacy_unit)
        native = pd.DataFrame(frame)
        native.index = pd.RangeIndex(len(native))
        state = State(
            accountant=accountant,
            privacy_unit=privacy_unit,
            max_rows=limits[0],
            max_groups=limits[1],
            salt=os.urandom(16),
        )
        bare = cls(native, state)
        if privacy_unit is not None:
            find_column(bare, privacy_unit)
        declared = state.declare(
            bounds=declare_bounds(bare, bounds), domain=declare_domain(bare, domain)
        )
        if privacy_unit is None:
            native[UNIT] = np.zeros(len(native), dtype=np.uint8)
        else:
            native[UNIT] = unit_column(native[privacy_unit])
            known = native[UNIT].notna().to_numpy()
            if not known.all():
                native = _kept(native, known)
        return cls(native, declared)

    # What it shows

    @property
    def columns(self) -> pd.Index[Any]:
        """Column names, as pandas gives them."""
        return self._native.columns[: self._native.shape[1] - 1]

    @property
    def dtypes(self) -> pd.Series[Any]:
        """The dtype of each column; a category does not show its categories."""
        shown = [_public_dtype(dtype) for dtype in self._native.dtypes.iloc[:-1]]
        return pd.Series(shown, index=self.columns, dtype=object)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The dtype of each column by name; duplicate names are absent."""
        dtypes = _usable(self._native)
        return MappingProxyType({k: _public_dtype(v) for k, v in dtypes.items()})

    def __repr__(self) -> str:
        return describe(self._state, _HOST, self._shown())

    def _repr_html_(self) -> str:
        return describe_html(self._state, _HOST, self._shown())

    def _shown(self) -> dict[str, str]:
        pairs = zip(self.columns, self._native.dtypes, strict=False)
        return {str(name): str(_public_dtype(dtype)) for name, dtype in pairs}

    # What engines and releases need

    def with_state(self, state: State) -> Self:
        """Return the same rows under another state."""
        return type(self)(self._native, state)

    def types(self) -> Mapping[str, pl.DataType]:
        """Return the Polars dtype of each usable column, in order."""
        return {
            name: polars_dtype(dtype) for name, dtype in _usable(self._native).items()
        }

    def duplicate_names(self) -> frozenset[str]:
        """Return the names that stand for more than one column."""
        return _duplicates(self._native)

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand these columns and the unit to an engine, without other columns.

        Memory is shared where it can be: collect while this frame is alive, since
        pandas lets the raw frame write in place once its last snapshot is gone.
        """
        host = self._native[UNIT]
        unit = polars_column(UNIT, host, polars_dtype(host.dtype))
        found = [
            polars_column(name, self._native[name], dtype)
            for name, dtype in columns.items()
        ]
        named = {column.name: column for column in [*found, unit]}  # even ""
        return pl.DataFrame(named).lazy()

    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> pd.DataFrame:
        """Return a public table as a pandas frame, its keys as columns.

        A column in `like` takes this frame's dtype: a category has the declared
        keys as its categories, never those of the data. Whole numbers with a
        missing cell are nullable `Int64`.
        """
        made: dict[str, pd.Series[Any]] = {}
        for column in table:
            source = like.get(column.name)
            host = None if source is None else self._native[source].dtype
            keys = None if source is None else self._state.domain.get(source)
            made[column.name] = host_column(column, host, keys)
        return pd.DataFrame(made, index=pd.RangeIndex(table.height))

    def detach(self) -> pd.DataFrame:
        """Return the native frame without the hidden column; tracking ends."""
        return self._native.iloc[:, :-1].copy(deep=False)

    # Verbs

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
        recording = record_query(expr, _schema(self._native), names)
        return self._filter(recording, f"query({expr!r})")

    def _caller_names(self, options: dict[str, Any]) -> Mapping[str, Any]:
        given = {**(options.pop("global_dict", None) or {})}
        local = options.pop("local_dict", None)
        _refuse_options("query", options)
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
        for name, value in columns.items():
            native = _with_column(native, name, value)
            state = state.forget([name])
        if columns:
            state = state.after(f"assign({', '.join(columns)})")
        return type(self)(native, state)

    def __getitem__(self, key: Any) -> Self:
        """Select columns by a list, or rows by a callable or `pd.col` condition."""
        if isinstance(key, list):
            return self._selected(cast("list[object]", key))
        if callable(key):
            recording = record(key, _schema(self._native), what="[...]")
            if not isinstance(recording, Recording):
                msg = "[...] was given a condition that asks nothing of the rows."
                raise NotProvedError(msg, step="[...]")
            return self._filter(recording, f"[{recording.text}]")
        if isinstance(key, str):
            msg = f"A column cannot be taken out of a private frame: [{key!r}]."
            raise NotProvedTypeError(
                msg,
                step=f"[{key!r}]",
                hint=_column_hint(key),
            )
        msg = f"[...] does not take a {type(key).__name__}."
        raise NotProvedTypeError(
            msg,
            step="[...]",
            hint="give a list of names, or a condition: lambda df: df[name] > 0.",
        )

    def _selected(self, names: Sequence[object]) -> Self:
        unit = self._state.privacy_unit
        wanted = [self._checked(name) for name in names]
        if len(set(wanted)) < len(wanted):
            msg = "[[...]] names a column twice."
            raise ParameterError(msg)
        if unit is not None and unit in _usable(self._native) and unit not in wanted:
            wanted = [unit, *wanted]
        gone = [name for name in _usable(self._native) if name not in wanted]
        native = self._native[[*wanted, UNIT]]
        state = self._state.forget(gone)
        return type(self)(native, state.after(f"[{', '.join(wanted)}]"))

    def rename(self, mapper: Any = None, **options: Any) -> Self:
        """Rename columns by a mapping; bounds and keys move along."""
        columns = options.pop("columns", None)
        errors = options.pop("errors", "ignore")
        _refuse_options("rename", options)
        if mapper is not None or not isinstance(columns, Mapping):
            msg = "rename takes columns=, a mapping from old names to new ones."
            raise ParameterTypeError(msg, hint='write rename(columns={"old": "new"}).')
        names = dict(cast("Mapping[object, object]", columns))
        present = {k: v for k, v in names.items() if k in self._native.columns}
        for name in names if errors == "raise" else present:
            self._checked(name)
        for new in present.values():
            if not isinstance(new, str) or new == UNIT:
                msg = f"rename needs text for new names, not {new!r}."
                raise ParameterTypeError(msg)
        texts = cast("dict[str, str]", present)
        after = [texts.get(name, name) for name in self._native.columns]
        if len(set(after)) < len(after) - self._native.columns.duplicated().sum():
            msg = "rename would give two columns one name."
            raise ParameterError(msg)
        native = self._native.rename(columns=texts)
        state = self._state.rename(texts)
        return type(self)(native, state.after(f"rename({texts})"))

    def drop(self, labels: Any = None, **options: Any) -> Self:
        """Drop columns; their bounds and keys are forgotten, the unit is kept."""
        columns = options.pop("columns", None)
        if labels is not None and options.pop("axis", 0) in (1, "columns"):
            columns, labels = labels, None
        _refuse_options("drop", options)
        if labels is not None or columns is None:
            msg = "drop takes columns=: rows have no labels here."
            raise NotProvedTypeError(
                msg, step="drop", hint="write query(...) to drop rows."
            )
        names = [self._checked(name) for name in _listed(columns)]
        native = self._native.drop(columns=names)
        state = self._state.forget(names)
        return type(self)(native, state.after(f"drop({', '.join(names)})"))

    def dropna(self, **options: Any) -> Self:
        """Drop rows with a missing value in `subset` (default: any column)."""
        subset = options.pop("subset", None)
        how = options.pop("how", "any")
        options.pop("ignore_index", None)
        if options.get("axis") in (0, "index"):
            del options["axis"]
        _refuse_options("dropna", options)
        if how not in ("any", "all"):
            msg = f'dropna(how=) is "any" or "all", not {how!r}.'
            raise ParameterError(msg)
        schema = _schema(self._native)
        names = list(schema.dtypes) if subset is None else _listed(subset)
        for name in names:
            schema.column(name)
        present = self._native[names].notna()
        kept = present.all(axis=1) if how == "any" else present.any(axis=1)
        if not names:
            return self
        text = f"dropna({', '.join(map(str, names))})"
        native = _kept(self._native, kept.to_numpy())
        return type(self)(native, self._state.after(text))

    def fillna(self, value: Any = None, **options: Any) -> Self:
        """Fill missing values by a scalar, or by column with a mapping of scalars."""
        _refuse_options("fillna", options)
        schema = _schema(self._native)
        if isinstance(value, Mapping):
            fills = dict(cast("Mapping[str, Any]", value))
        elif literal_kind(value) is None:
            msg = f"fillna takes a scalar or a mapping, not a {type(value).__name__}."
            raise NotProvedError(
                msg, step="fillna", hint="a Series is matched by its index."
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
        options.pop("copy", None)
        _refuse_options("astype", options)
        schema = _schema(self._native)
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

    def _checked(self, name: object) -> str:
        """Check that a name stands for one visible column, of whatever dtype."""
        if isinstance(name, str) and name in _usable(self._native):
            return name
        return find_column(self, name).name

    def _filter(self, recording: Recording, step: str) -> Self:
        if recording.kind is not Kind.BOOLEAN:
            msg = f"{step} does not tell true from false."
            raise ParameterTypeError(msg)
        holds = replay(recording, self._native)
        kept = holds.fillna(False).to_numpy(dtype=bool)
        return type(self)(_kept(self._native, kept), self._state.after(step))

    def _replaced(self, made: Mapping[str, Recording], step: str) -> Self:
        """Put new columns in place; what was declared stays where it still suits."""
        before = self.types()
        native = self._native.copy(deep=False)
        for name, recording in made.items():
            native[name] = replay(recording, self._native)
        frame = type(self)(native, self._state)
        after = frame.types()
        changed = [n for n in made if not _same_line(before[n], after[n])]
        return frame.with_state(self._state.forget(changed).after(step))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restored, (type(self), self._state, self._native)  # it may refuse first

    # What it refuses

    def __getattr__(self, name: str) -> NoReturn:
        hints: Mapping[str, str] = HINTS
        if name not in HINTS and not name.startswith("_") and name in self.schema:
            hints = {name: _column_hint(name)}
        refuse_attribute(name, hints)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        step = f"[{key!r}] = ..."
        msg = f"A private frame is not changed in place: {step}"
        raise NotProvedTypeError(
            msg, step=step, hint="write frame = frame.assign(name=lambda df: ...)."
        )

    def __delitem__(self, key: object) -> NoReturn:
        step = f"del [{key!r}]"
        msg = f"A private frame is not changed in place: {step}"
        raise NotProvedTypeError(msg, step=step, hint="write frame.drop(columns=...).")

    def __len__(self) -> NoReturn:
        raise refuse_protocol("len()", "release it: .dp.count(...).")

    def __iter__(self) -> NoReturn:
        raise refuse_protocol("iteration", ".columns holds the names.")

    def __contains__(self, key: object) -> NoReturn:
        raise refuse_protocol("in", "write name in frame.columns.")

    def __bool__(self) -> NoReturn:
        raise refuse_protocol("truth value", "write frame is not None.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise refuse_protocol("array", "releases have to_numpy().")

    def __dataframe__(self, *args: Any, **options: Any) -> NoReturn:
        raise refuse_protocol("interchange", "write .dp.detach() to end tracking.")

    def __arrow_c_stream__(self, requested_schema: object = None) -> NoReturn:
        raise refuse_protocol("Arrow stream", "write .dp.detach() to end tracking.")


def _restored(
    cls: type[PrivatePandas], state: State, native: pd.DataFrame
) -> PrivatePandas:
    """Return a frame that was pickled with a budget that outlives its process."""
    return cls(native, state)


def _check_attached(frame: object) -> None:
    if not isinstance(frame, pd.DataFrame):
        msg = f"attach needs a frame, not a {type(frame).__name__}."
        raise ParameterTypeError(msg, hint="write series.to_frame() for a Series.")
    if isinstance(frame.columns, pd.MultiIndex):
        msg = "Columns with several levels cannot be attached."
        raise ParameterTypeError(msg, hint="flatten them to one name each first.")
    if UNIT in frame.columns:
        msg = f"The column name {UNIT!r} is reserved."
        raise ParameterError(msg, hint="rename it before attaching.")


def _duplicates(native: pd.DataFrame) -> frozenset[str]:
    columns = native.columns
    return frozenset(columns[columns.duplicated()])


def _usable(native: pd.DataFrame) -> dict[str, Any]:
    """Return the dtype of each column that a step can name."""
    repeated = _duplicates(native)
    return {
        name: dtype
        for name, dtype in native.dtypes.items()
        if isinstance(name, str) and name != UNIT and name not in repeated
    }


def _schema(native: pd.DataFrame) -> Schema:
    return Schema(dtypes=_usable(native), duplicates=_duplicates(native))


def _with_column(native: pd.DataFrame, name: str, value: Any) -> pd.DataFrame:
    """Return the frame with one more column, just before the hidden one."""
    if name == UNIT or name in _duplicates(native):
        msg = f"assign cannot write column {name!r}."
        raise ParameterError(msg, hint="choose another name.")
    made = value
    if callable(value):
        made = record(value, _schema(native), what=f"assign({name}=)")
    if isinstance(made, Recording):
        column = replay(made, native)
    elif literal_kind(made) is None and not is_missing(made):
        msg = f"assign({name}=) was given a {type(made).__name__}."
        raise NotProvedError(
            msg,
            step=f"assign({name}=)",
            hint=(
                "a Series, array or list is matched by index or position: give a "
                "scalar, or a callable of the frame."
            ),
        )
    else:
        column = made
    wider = native.copy(deep=False)
    if name not in wider.columns:
        wider.insert(wider.shape[1] - 1, name, column)
    else:
        wider[name] = column
    return wider


def _kept(native: pd.DataFrame, kept: Any) -> pd.DataFrame:
    rows = native[kept]
    rows.index = pd.RangeIndex(len(rows))
    return rows


def _public_dtype(dtype: Any) -> Any:
    """Return a dtype as it may be shown: categories may come from the data."""
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.CategoricalDtype(ordered=dtype.ordered)
    return dtype


def _same_line(before: pl.DataType, after: pl.DataType) -> bool:
    """Whether bounds and keys of one dtype still suit values cast to another."""
    if before.is_numeric() and after.is_numeric():
        return True
    return before.base_type() == after.base_type()


def _listed(names: object) -> list[Any]:
    return [names] if isinstance(names, str) else list(cast("list[Any]", names))


def _column_hint(name: str) -> str:
    """Return how a step or a release names a column that was asked for itself."""
    return (
        f'write pd.col("{name}") or lambda df: df["{name}"] in a step, '
        f'[["{name}"]] to select, or .dp for a release.'
    )


def _refuse_options(verb: str, options: Mapping[str, Any]) -> None:
    for name in options:
        msg = f"{verb}({name}=...) is not offered on private frames."
        raise NotProvedTypeError(
            msg, step=f"{verb}({name}=)", hint=f"leave {name} out."
        )
