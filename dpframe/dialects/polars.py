"""The private Polars frame: Polars' verbs, each proved before it is taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    cast,
)

import polars as pl

from dpframe.accessor import PrivateNamespace
from dpframe.declare import (
    check_contributions,
    declare_bounds,
    declare_domain,
    find_column,
    no_such_column,
)
from dpframe.dialects.polars_inputs import expressions, filled_dtypes, predicates
from dpframe.dialects.polars_refusals import PROTOCOLS, private_way
from dpframe.dialects.polars_steps import (
    carried,
    check_names,
    fitting,
    prove_filter,
    prove_selection,
)
from dpframe.dialects.shared import (
    check_accountant,
    describe,
    describe_html,
    refuse_attribute,
    refuse_protocol,
)
from dpframe.errors import (
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT, PrivateFrame, State
from dpframe.proofs.polars import (
    expand,
    first_line,
    step_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpframe.privacy.accountant import Accountant

N = TypeVar("N", pl.DataFrame, pl.LazyFrame)
T = TypeVar("T")
P = ParamSpec("P")


class PrivatePolars(PrivateFrame, Generic[N]):
    """A Polars frame that only proved steps and paid releases can be made from.

    It has the verbs of Polars that look at one row at a time, with Polars' own
    arguments, and releases under `.dp`. Nothing is run before a release.
    """

    __slots__ = ("_eager", "_types")

    _native: pl.LazyFrame
    _types: Mapping[str, pl.DataType]
    _eager: bool
    dp: PrivateNamespace[PrivatePolars[N], pl.DataFrame]

    def __init__(
        self,
        native: pl.LazyFrame,
        state: State,
        *,
        types: Mapping[str, pl.DataType],
        eager: bool,
    ) -> None:
        self._native = native
        self._state = state
        self._types = MappingProxyType(dict(types))
        self._eager = eager
        self.dp = PrivateNamespace(self)

    @classmethod
    def attach(
        cls,
        frame: N,
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivatePolars[N]:
        """Return the frame under a budget; later edits of it are not seen.

        Parameters
        ----------
        frame : pl.DataFrame or pl.LazyFrame
            Private rows. Names, dtypes and Enum levels are taken as public.
        accountant : Accountant
            The budget that releases are charged to.
        privacy_unit : str, optional
            Column that says whom a row belongs to; rows without it are dropped.
            Default: each row is a unit.
        max_rows, max_groups : int, optional
            Contribution limits per unit. Public.
        bounds, domain : mapping, optional
            Clipping bounds and keys by column. Public.

        Raises
        ------
        ColumnNotFoundError
            If a column is not there.
        ParameterTypeError
            If `accountant` is no Accountant, or a column holds Python objects.
        ParameterError
            If a limit is below 1, or a declaration does not suit its column.
        """
        check_accountant(accountant)
        limits = check_contributions(max_rows, max_groups, unit=privacy_unit)
        native = frame.clone().lazy() if isinstance(frame, pl.DataFrame) else frame
        types = native.collect_schema()
        if UNIT in types:
            msg = f"A column is named {UNIT!r}, which is reserved."
            raise ParameterError(msg, hint="rename it before attaching.")
        for name, dtype in types.items():
            if isinstance(dtype, pl.Object):
                msg = f"Column {name!r} holds Python objects, which Polars cannot read."
                raise ParameterTypeError(
                    msg, hint="convert it, or drop it, before attaching."
                )
        plain = cls(
            native,
            State(
                accountant=accountant,
                privacy_unit=privacy_unit,
                max_rows=limits[0],
                max_groups=limits[1],
                salt=os.urandom(16),
            ),
            types=types,
            eager=isinstance(frame, pl.DataFrame),
        )
        held = plain._with_native(plain._with_unit(privacy_unit))
        return cast(
            "PrivatePolars[N]",
            held.with_state(
                held.private_state.declare(
                    bounds=declare_bounds(held, bounds),
                    domain=declare_domain(held, domain),
                )
            ),
        )

    # ------------------------------------------------------------------ schema

    @property
    def schema(self) -> pl.Schema:
        """Names and dtypes of the visible columns."""
        return pl.Schema(self._types)

    @property
    def columns(self) -> list[str]:
        """Names of the visible columns."""
        return list(self._types)

    @property
    def dtypes(self) -> list[pl.DataType]:
        """Dtypes of the visible columns."""
        return list(self._types.values())

    @property
    def width(self) -> int:
        """Number of visible columns."""
        return len(self._types)

    # ------------------------------------------------------------------- verbs

    def filter(self, *predicates_: Any, **constraints: Any) -> Self:
        """Keep the rows where all conditions hold.

        Parameters
        ----------
        *predicates_ : expression
            Conditions on columns.
        **constraints : value
            ``column=value`` keeps the rows where the column equals the value.

        Returns
        -------
        PrivatePolars
            What was declared for the columns stays.

        Privacy
        -------
        Costs nothing. A condition must look at one row alone.
        """
        conditions = predicates(predicates_, constraints)
        step = f"filter({', '.join(map(step_text, conditions))})"
        prove_filter(self._types, conditions)
        bound = [expand(condition, schema=self._types) for condition in conditions]
        return self._after(step, self._native.filter(*bound))

    def select(self, *exprs: Any, **named_exprs: Any) -> Self:
        """Keep or derive these columns; the unit column rides along.

        Parameters
        ----------
        *exprs : expression or str
            Columns, selectors or expressions.
        **named_exprs : expression or str
            ``name=expression`` names the column.

        Returns
        -------
        PrivatePolars
            Bounds and keys stay with columns that are taken as they are, under a
            new name too; those of derived columns are to be declared.

        Privacy
        -------
        Costs nothing. An expression must look at one row alone.
        """
        listed = expressions("select", exprs, named_exprs)
        types, sources = prove_selection(self._types, "select", listed)
        unit = self._state.privacy_unit
        bound = [expand(expr, schema=self._types) for expr in listed]
        if unit is not None and unit in self._types and unit not in types:
            bound.append(pl.col(unit))
            types = {**types, unit: self._types[unit]}
            sources = {**sources, unit: unit}
        return self._derived(
            f"select({', '.join(types)})",
            self._native.select(*bound, UNIT),
            types,
            sources,
        )

    def with_columns(self, *exprs: Any, **named_exprs: Any) -> Self:
        """Add columns, or replace those of the same name.

        Parameters
        ----------
        *exprs : expression or str
            Expressions; a name that is there is replaced.
        **named_exprs : expression or str
            ``name=expression`` names the column.

        Returns
        -------
        PrivatePolars
            What was declared for a replaced column is forgotten.

        Privacy
        -------
        Costs nothing. An expression must look at one row alone.
        """
        listed = expressions("with_columns", exprs, named_exprs)
        added, sources = prove_selection(self._types, "with_columns", listed)
        kept = {name: name for name in self._types if name not in added}
        bound = [expand(expr, schema=self._types) for expr in listed]
        return self._derived(
            f"with_columns({', '.join(added)})",
            self._native.with_columns(*bound),
            {**self._types, **added},
            {**kept, **sources},
        )

    def rename(self, mapping: Mapping[str, str], *, strict: bool = True) -> Self:
        """Rename columns; bounds and keys move with them.

        Parameters
        ----------
        mapping : mapping of str to str
            New names by old name.
        strict : bool
            Whether a name that is not there is an error.
        """
        if not isinstance(cast("object", mapping), Mapping):
            msg = f"rename takes a mapping, not {type(mapping).__name__}."
            raise ParameterTypeError(msg, hint='write .rename({"old": "new"}).')
        for old, new in mapping.items():
            if not isinstance(cast("object", old), str) or not isinstance(
                cast("object", new), str
            ):
                msg = "rename takes names as text."
                raise ParameterTypeError(msg, hint='write .rename({"old": "new"}).')
            if strict and old not in self._types:
                raise no_such_column(old, self._types)
        names = {old: new for old, new in mapping.items() if old in self._types}
        types = {names.get(name, name): dtype for name, dtype in self._types.items()}
        check_names(types)
        if len(types) != len(self._types):
            msg = f"rename gives two columns one name: {', '.join(names.values())}."
            raise ParameterError(msg)
        state = self._state.rename(names)
        step = ", ".join(f"{old}: {new}" for old, new in names.items())
        return self._made(
            self._native.rename(names), state.after(f"rename({step})"), types
        )

    def drop(self, *columns: Any, strict: bool = True) -> Self:
        """Leave columns out; what was declared for them is forgotten.

        Parameters
        ----------
        *columns : str or selector
            Columns to leave out. Rows still belong to their units.
        strict : bool
            Whether a name that is not there is an error.
        """
        gone = self._names("drop", columns, strict=strict)
        types = {name: dtype for name, dtype in self._types.items() if name not in gone}
        state = self._state.forget(gone).after(f"drop({', '.join(gone)})")
        exactly = pl.selectors.by_name(*gone)  # a plain text could be a pattern
        return self._made(self._native.drop(exactly), state, types)

    def cast(self, dtypes: Any, *, strict: bool = True) -> Self:
        """Cast columns; bounds and keys stay where the new dtype can hold them.

        Parameters
        ----------
        dtypes : dtype, or mapping of columns, selectors or dtypes to dtypes
            The new dtypes.
        strict : bool
            A strict cast is accepted only where it cannot fail; pass False to turn
            what does not fit into null.
        """
        given: list[tuple[Any, Any]] = (
            list(cast("Mapping[Any, Any]", dtypes).items())
            if isinstance(dtypes, Mapping)
            else [(pl.all(), dtypes)]
        )
        try:
            chosen = [
                (key if isinstance(key, pl.Expr) else pl.col(key), dtype)
                for key, dtype in given
            ]
            _ = [column.cast(dtype) for column, dtype in chosen]
        except TypeError as error:
            msg = "cast takes dtypes, by column if several."
            raise ParameterTypeError(msg, hint=first_line(error)) from None
        # Name by name: columns of several dtypes are not cast in one expression.
        casts = [
            pl.col(name).cast(dtype, strict=strict)
            for column, dtype in chosen
            for name in self._names("cast", [column])
        ]
        return self._replaced("cast", casts)

    def fill_null(
        self,
        value: Any = None,
        strategy: object = None,
        limit: object = None,
        *,
        matches_supertype: bool = True,
    ) -> Self:
        """Put a value where one is missing, in the columns whose dtype it suits.

        Parameters
        ----------
        value : value or expression
            The value. Public, or computed from the same row.
        strategy, limit : None
            Polars' strategies take values from other rows; they are refused.
        matches_supertype : bool
            Whether a number fills all columns of numbers.
        """
        if strategy is not None or limit is not None:
            raise NotProvedError(
                "fill_null with a strategy or a limit takes values from other rows.",
                step="fill_null(strategy=...)",
                hint="use .fill_null(value).",
            )
        if value is None:
            msg = "fill_null takes a value."
            raise ParameterError(msg, hint="write .fill_null(0).")
        suits = filled_dtypes(value, matches_supertype=matches_supertype)
        names = self._names("fill_null", [pl.all() if suits is None else pl.col(suits)])
        return self._replaced(
            "fill_null", [pl.col(name).fill_null(value) for name in names]
        )

    def fill_nan(self, value: Any) -> Self:
        """Put a value, or None, in place of NaN.

        Parameters
        ----------
        value : value or expression
            The value. Public, or computed from the same row.
        """
        floats = [name for name, dtype in self._types.items() if dtype.is_float()]
        return self._replaced(
            "fill_nan", [pl.col(name).fill_nan(value) for name in floats]
        )

    def drop_nulls(self, subset: Any = None) -> Self:
        """Keep the rows where nothing is missing.

        Parameters
        ----------
        subset : columns, optional
            Columns to look at. Default: all.
        """
        names = self._subset("drop_nulls", subset)
        missing = [pl.col(name).is_null() for name in names]
        step = f"drop_nulls({'' if subset is None else ', '.join(names)})"
        return self._after(step, self._without(missing))

    def drop_nans(self, subset: Any = None) -> Self:
        """Keep the rows where no number is NaN; missing values stay.

        Parameters
        ----------
        subset : columns, optional
            Columns of floats to look at. Default: all.
        """
        names = self._subset("drop_nans", subset)
        floats = [name for name in names if self._types[name].is_float()]
        nans = [pl.col(name).is_nan().fill_null(value=False) for name in floats]
        step = f"drop_nans({'' if subset is None else ', '.join(names)})"
        return self._after(step, self._without(nans))

    def pipe(
        self,
        function: Callable[Concatenate[Self, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a function with this private frame."""
        return function(self, *args, **kwargs)

    # ------------------------------------------------------ for engines and others

    def with_state(self, state: State) -> Self:
        """Return the same rows under another state."""
        return self._made(self._native, state, self._types)

    def types(self) -> Mapping[str, pl.DataType]:
        """Return the dtype of each visible column, in order."""
        return self._types

    def duplicate_names(self) -> frozenset[str]:
        """Return no names: those of Polars are distinct."""
        return frozenset()

    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand these columns and `UNIT` to an engine."""
        return self._native.select(
            *(
                pl.col(name).cast(dtype)
                if isinstance(self._types[name], pl.Null)
                else pl.col(name)
                for name, dtype in columns.items()
            ),
            UNIT,
        )

    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> pl.DataFrame:
        """Return a public table in the dtypes of this frame."""
        wanted = {name: self._types[source] for name, source in like.items()}
        return table.with_columns(
            pl.col(name).cast(dtype)
            for name, dtype in wanted.items()
            if table.schema[name] != dtype and not isinstance(dtype, pl.Null)
        )

    def detach(self) -> N:
        """Return the native frame without the hidden column; tracking ends."""
        rows = self._native.select(self.columns)
        return cast("N", rows.collect() if self._eager else rows)

    # ----------------------------------------------------------------- refusals

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(name, {name: private_way(name)})

    def __repr__(self) -> str:
        return describe(self._state, self._host(), self._dtype_texts())

    def _repr_html_(self) -> str:
        return describe_html(self._state, self._host(), self._dtype_texts())

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in PROTOCOLS]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        state = {
            "accountant": self._state.accountant,  # first: it may refuse
            "privacy_unit": self._state.privacy_unit,
            "max_rows": self._state.max_rows,
            "max_groups": self._state.max_groups,
            "steps": self._state.steps,
            "salt": self._state.salt,
        }
        declared = {
            "bounds": dict(self._state.bounds),
            "domain": dict(self._state.domain),
        }
        kept = {"types": dict(self._types), "eager": self._eager}
        return _restored, (type(self), state, declared, kept, self._native)

    # ------------------------------------------------------------------ private

    def _with_unit(self, unit: str | None) -> pl.LazyFrame:
        """Return the native frame with the hidden column, taken from `unit`."""
        if unit is None:
            return self._native.with_columns(pl.lit(0, dtype=pl.UInt8).alias(UNIT))
        ctype = find_column(self, unit)
        column = pl.col(unit)
        if ctype.dtype.is_float():
            zero = pl.lit(0.0, dtype=ctype.dtype)  # of both signs: one unit
            column = pl.when(column == 0).then(zero).otherwise(column.fill_nan(None))
        if isinstance(ctype.dtype, pl.Categorical):
            column = column.cast(pl.String)
        named = self._native.with_columns(column.alias(UNIT))
        return named.filter(pl.col(UNIT).is_not_null())

    def _replaced(self, verb: str, exprs: Sequence[pl.Expr]) -> Self:
        """Replace columns by themselves in other values: declarations that fit stay."""
        added, _ = prove_selection(self._types, verb, exprs)
        types = {**self._types, **added}
        bound = [expand(expr, schema=self._types) for expr in exprs]
        state = fitting(self._state, added)
        step = f"{verb}({', '.join(added)})"
        return self._made(self._native.with_columns(*bound), state.after(step), types)

    def _derived(
        self,
        step: str,
        native: pl.LazyFrame,
        types: Mapping[str, pl.DataType],
        sources: Mapping[str, str],
    ) -> Self:
        """Return the frame with what was declared for columns taken as they are."""
        state = carried(self._state, sources)
        return self._made(native, state.after(step), types)

    def _names(
        self, verb: str, columns: Sequence[Any], *, strict: bool = True
    ) -> list[str]:
        """Return the visible columns that names and selectors stand for."""
        listed = expressions(verb, columns, {})
        names: dict[str, None] = {}
        for expr in listed:
            if not expr.meta.is_column_selection():
                msg = f"{verb} takes columns, not an expression."
                raise ParameterTypeError(msg, hint="derive columns in with_columns.")
            if not strict and expr.meta.is_column():
                found = [n for n in [expr.meta.output_name()] if n in self._types]
            else:
                found = list(prove_selection(self._types, verb, [expr])[0])
            names.update(dict.fromkeys(found))
        return list(names)

    def _subset(self, verb: str, subset: Any) -> list[str]:
        if subset is None:
            return list(self._types)
        several = isinstance(subset, Collection) and not isinstance(subset, str)
        return self._names(verb, list(cast("Any", subset)) if several else [subset])

    def _without(self, conditions: Sequence[pl.Expr]) -> pl.LazyFrame:
        if not conditions:
            return self._native
        return self._native.filter(~pl.any_horizontal(conditions))

    def _after(self, step: str, native: pl.LazyFrame) -> Self:
        return self._made(native, self._state.after(step), self._types)

    def _with_native(self, native: pl.LazyFrame) -> Self:
        return self._made(native, self._state, self._types)

    def _made(
        self,
        native: pl.LazyFrame,
        state: State,
        types: Mapping[str, pl.DataType],
    ) -> Self:
        return type(self)(native, state, types=types, eager=self._eager)

    def _host(self) -> str:
        return "polars DataFrame" if self._eager else "polars LazyFrame"

    def _dtype_texts(self) -> dict[str, str]:
        return {name: str(dtype) for name, dtype in self._types.items()}


def _refused(name: str) -> Callable[..., NoReturn]:
    asked, hint = PROTOCOLS[name]

    def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
        del self, args, kwargs
        raise refuse_protocol(asked, hint)

    return refuse


for _name in PROTOCOLS:
    setattr(PrivatePolars, _name, _refused(_name))


def _restored(
    cls: type[PrivatePolars[Any]],
    state: dict[str, Any],
    declared: dict[str, Any],
    kept: dict[str, Any],
    native: pl.LazyFrame,
) -> PrivatePolars[Any]:
    """Return a frame that was pickled with a budget that outlives its process."""
    return cls(native, State(**state).declare(**declared), **kept)
