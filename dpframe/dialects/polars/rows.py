"""The Polars verbs that keep and derive columns, each proved before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

import polars as pl

from dpframe.declare import no_such_column
from dpframe.dialects.polars.figures import within_units
from dpframe.dialects.polars.fills import alike, by_dtype, prove_fills, suited
from dpframe.dialects.polars.frame import PolarsFrame
from dpframe.dialects.polars.inputs import (
    column_names,
    expressions,
    filled_dtypes,
    predicates,
)
from dpframe.dialects.polars.reshapes import unnest
from dpframe.dialects.polars.steps import (
    carried,
    check_names,
    fitting,
    prove_outputs,
)
from dpframe.errors import NotProvedError, ParameterError, ParameterTypeError
from dpframe.frame import UNIT, Step
from dpframe.proofs.polars.hints import for_unit, turned_hint
from dpframe.proofs.polars.parts import first_line, step_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.dialects.polars.figures import Wide
    from dpframe.dialects.polars.steps import Outputs

T = TypeVar("T")
P = ParamSpec("P")


class RowVerbs(PolarsFrame):
    """Verbs whose output rows depend on one input row each, or on its unit's rows."""

    __slots__ = ()

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
        Costs nothing. A condition must look at one row alone, or in ``.over(unit)``
        at the rows of its unit.
        """
        conditions = predicates(predicates_, constraints)
        wide = self._wide("filter", conditions)
        proved = wide.conditions()
        step = Step(f"filter({_texts(conditions)})")
        return self._after(step, wide.narrowed(wide.native.filter(*proved)))

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
        Costs nothing. An expression must look at one row alone, or in ``.over(unit)``
        at the rows of its unit.
        """
        listed = expressions("select", exprs, named_exprs)
        wide = self._wide("select", listed)
        found = wide.outputs("select")
        exprs_, types, sources = found.exprs, found.types, found.sources
        unit = self._state.privacy_unit
        if unit is not None and unit in self._types and unit not in types:
            exprs_ = [*exprs_, pl.col(unit)]
            types = {**types, unit: self._types[unit]}
            sources = {**sources, unit: unit}
        return self._derived(
            Step(f"select({_texts(listed)})", f"select({', '.join(types)})"),
            wide.native.select(*exprs_, UNIT),
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
        Costs nothing. An expression must look at one row alone, or in ``.over(unit)``
        at the rows of its unit.
        """
        listed = expressions("with_columns", exprs, named_exprs)
        wide = self._wide("with_columns", listed)
        found = wide.outputs("with_columns")
        kept = {name: name for name in self._state.known if name not in found.types}
        return self._derived(
            Step(
                f"with_columns({_texts(listed)})",
                f"with_columns({', '.join(found.types)})",
            ),
            wide.narrowed(wide.native.with_columns(*found.exprs)),
            {**self._types, **found.types},
            {**kept, **found.sources},
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
        casts = [
            several.cast(dtype, strict=strict)
            for column, dtype in chosen
            for several in self._alike(self._names("cast", [column]))
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
                hint=for_unit(
                    turned_hint("FillNullWithStrategy"), self._state.privacy_unit
                ),
            )
        if value is None:
            msg = "fill_null takes a value."
            raise ParameterError(msg, hint="write .fill_null(0).")
        suits = filled_dtypes(value, matches_supertype=matches_supertype)
        groups = suited(by_dtype(self._types, list(self._types)), suits)
        return self._with("fill_null", *prove_fills(self._types, value, groups))

    def fill_nan(self, value: Any) -> Self:
        """Put a value, or None, in place of NaN.

        Parameters
        ----------
        value : value or expression
            The value. Public, or computed from the same row.
        """
        floats = [name for name, dtype in self._types.items() if dtype.is_float()]
        return self._replaced(
            "fill_nan", [several.fill_nan(value) for several in self._alike(floats)]
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

    def unnest(
        self, columns: Any = None, *more_columns: Any, separator: str | None = None
    ) -> Self:
        """Put the fields of structs in columns of their own.

        Parameters
        ----------
        columns : columns, optional
            Columns of structs. Default: all.
        separator : str, optional
            The new columns are named by the struct, this text and the field.
            Default: by the field alone.

        Returns
        -------
        PrivatePolars
            The fields are to be declared; what was declared for others stays.

        Privacy
        -------
        Costs nothing.
        """
        given = [*([] if columns is None else [columns]), *more_columns]
        names = self._names("unnest", given) if given else None
        native, types, gone = unnest(
            self._native, self._types, names, separator=separator
        )
        state = self._state.forget(gone).after(f"unnest({', '.join(gone)})")
        return self._made(native, state, types)

    def pipe(
        self,
        function: Callable[Concatenate[Self, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a function with this private frame."""
        return function(self, *args, **kwargs)

    def _wide(self, verb: str, exprs: Sequence[pl.Expr]) -> Wide:
        return within_units(self._native, self._types, self._state, verb, exprs)

    def _alike(self, names: Sequence[str]) -> list[pl.Expr]:
        """Return columns as one expression for each dtype: each is proved once."""
        return [alike(group) for group in by_dtype(self._types, names).values()]

    def _replaced(self, verb: str, exprs: Sequence[pl.Expr]) -> Self:
        """Replace columns by themselves in other values: declarations that fit stay."""
        return self._with(verb, exprs, prove_outputs(self._types, verb, exprs))

    def _with(self, verb: str, exprs: Sequence[pl.Expr], found: Outputs) -> Self:
        types = {**self._types, **found.types}
        state = fitting(self._state, self._types, found.types)
        step = Step(f"{verb}({_texts(exprs)})", f"{verb}({', '.join(found.types)})")
        native = self._native.with_columns(*found.exprs)
        return self._made(native, state.after(step), types)

    def _derived(
        self,
        step: Step,
        native: pl.LazyFrame,
        types: Mapping[str, pl.DataType],
        sources: Mapping[str, str],
    ) -> Self:
        """Return the frame with what was declared for columns taken as they are."""
        return self._made(native, carried(self._state, sources, step), types)

    def _names(
        self, verb: str, columns: Sequence[Any], *, strict: bool = True
    ) -> list[str]:
        return column_names(self._types, verb, columns, strict=strict)

    def _subset(self, verb: str, subset: Any) -> list[str]:
        if subset is None:
            return list(self._types)
        several = isinstance(subset, Collection) and not isinstance(subset, str)
        return self._names(verb, list(cast("Any", subset)) if several else [subset])

    def _without(self, conditions: Sequence[pl.Expr]) -> pl.LazyFrame:
        if not conditions:
            return self._native
        return self._native.filter(~pl.any_horizontal(conditions))


def _texts(exprs: Sequence[pl.Expr]) -> str:
    return ", ".join(map(step_text, exprs))
