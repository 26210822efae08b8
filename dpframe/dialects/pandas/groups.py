"""groupby: the rows of each privacy unit, brought together as figures."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, final

import pandas as pd

from dpframe.declare import no_such_column
from dpframe.dialects.pandas.figures import figure
from dpframe.dialects.pandas.grouping import (
    OFFERED,
    Grouping,
    figure_name,
    group_hint,
)
from dpframe.dialects.pandas.hints import GROUP_HINTS
from dpframe.errors import (
    NotProvedAttributeError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import is_reserved
from dpframe.proofs.pandas.kinds import polars_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpframe.dialects.pandas.figures import Figure

F = TypeVar("F")


@final
class PandasGroups(Generic[F]):
    """The groups of a `groupby` with the privacy unit among its keys.

    A figure of them is a private frame with one row for each unit, or for each unit
    and key. A series does not exist here: ``groupby("id")["x"].sum()`` is the frame
    of ``id`` and ``x``. Keys are columns whatever ``as_index`` says, since index
    labels never matter.
    """

    __slots__ = ("_dtypes", "_grouping", "_made", "_picked", "_single")

    def __init__(
        self,
        asked: Grouping,
        dtypes: Mapping[str, Any],
        made: Callable[[Grouping, Mapping[str, Figure]], F],
        picked: Sequence[str] | None = None,
        *,
        single: bool = False,
    ) -> None:
        self._grouping = asked
        self._dtypes = dtypes
        self._made = made
        self._picked = picked
        self._single = single

    def __getitem__(self, columns: str | list[str]) -> PandasGroups[F]:
        """Choose the columns that figures are made of."""
        listed: list[Any] = columns if isinstance(columns, list) else [columns]
        for name in listed:
            if not isinstance(name, str) or name not in self._dtypes:
                raise no_such_column(str(name), self._dtypes)
        if len(set(listed)) < len(listed):
            msg = "groupby(...)[...] names a column twice."
            raise ParameterError(msg)
        return PandasGroups(
            self._grouping,
            self._dtypes,
            self._made,
            listed,
            single=isinstance(columns, str),
        )

    def agg(self, func: Any = None, **named: Any) -> F:
        """Return figures of each group, by pandas' names.

        Parameters
        ----------
        func : str, function, dict or list, optional
            The name of a figure, by column where a dict; a list where one column was
            chosen. `len` and numpy's ``sum``, ``mean``, ... stand for their names.
        **named : (column, figure)
            ``total=("x", "sum")`` names the outcome.

        Returns
        -------
        PrivatePandas
            The keys and the figures. Bounds and keys of the group's keys stay.

        Raises
        ------
        NotProvedError
            If a figure is not known to depend on the unit's rows alone, whatever
            their order.

        Privacy
        -------
        Costs nothing. Sums of floats are taken in steps of 2^-103, so that they do not
        depend on what other units there are.

        Examples
        --------
        >>> stays = pd.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="patient"
        ... )
        >>> stays.groupby("patient").agg(stays=("days", "size"), most=("days", "max"))
        PrivateFrame · pandas DataFrame · unit patient, one row each · 1 of ε 1 left
          patient  int64  privacy unit
          stays    int64
          most     int64
        steps: groupby(['patient']).agg(stays, most)
        """
        if func is None and not named:
            msg = "agg needs to know what to compute."
            raise ParameterError(msg, hint='write agg(total=("x", "sum")).')
        if func is not None and named:
            msg = "agg takes one figure for all columns, or named ones, not both."
            raise ParameterError(msg)
        pairs = self._named(named) if func is None else self._listed(func)
        return self._figures(pairs)

    aggregate = agg

    def size(self) -> F:
        """Count the rows of each group, in a column ``size``."""
        return self._figures({"size": (None, "size")})

    def count(self) -> F:
        """Count the values that are not missing."""
        return self.agg("count")

    def nunique(self) -> F:
        """Count the distinct values that are not missing."""
        return self.agg("nunique")

    def sum(self, *, numeric_only: bool = False) -> F:
        """Add up what is not missing; of nothing, 0."""
        return self._each("sum", numeric_only=numeric_only)

    def mean(self, *, numeric_only: bool = False) -> F:
        """Average what is not missing."""
        return self._each("mean", numeric_only=numeric_only)

    def median(self, *, numeric_only: bool = False) -> F:
        """Return the middle of what is not missing."""
        return self._each("median", numeric_only=numeric_only)

    def min(self, *, numeric_only: bool = False) -> F:
        """Return the smallest value that is not missing."""
        return self._each("min", numeric_only=numeric_only)

    def max(self, *, numeric_only: bool = False) -> F:
        """Return the largest value that is not missing."""
        return self._each("max", numeric_only=numeric_only)

    def any(self) -> F:
        """Tell whether any value is true."""
        return self.agg("any")

    def all(self) -> F:
        """Tell whether all values that are not missing are true."""
        return self.agg("all")

    def _each(self, name: str, *, numeric_only: bool) -> F:
        chosen = [
            column
            for column in self._columns()
            if not numeric_only or _is_number(self._dtypes[column])
        ]
        return self._figures({column: (column, name) for column in chosen})

    def _columns(self) -> Sequence[str]:
        if self._picked is not None:
            return self._picked
        return [name for name in self._dtypes if name not in self._grouping.keys]

    def _listed(self, func: Any) -> dict[str, tuple[str | None, str]]:
        """Return the figures of an unnamed `agg`, by column of the outcome."""
        if isinstance(func, Mapping) and not self._single:
            by_column = cast("Mapping[Any, Any]", func)
            for column, name in by_column.items():
                if isinstance(name, list):
                    raise _several_levels()
                if column not in self._columns():
                    raise no_such_column(str(column), self._columns())
            return {c: (c, figure_name(name)) for c, name in by_column.items()}
        if isinstance(func, (list, tuple)):
            if not self._single:
                raise _several_levels()
            (column,) = self._columns()
            names = [figure_name(each) for each in cast("list[Any]", func)]
            return {name: (column, name) for name in names}
        name = figure_name(func)
        if name == "size":
            return {"size": (None, "size")}
        return {column: (column, name) for column in self._columns()}

    def _named(self, named: Mapping[str, Any]) -> dict[str, tuple[str | None, str]]:
        pairs: dict[str, tuple[str | None, str]] = {}
        for name, given in named.items():
            asked: Any = given
            if isinstance(given, pd.NamedAgg) and not (asked.args or asked.kwargs):
                asked = (given.column, given.aggfunc)
            if self._single and not isinstance(asked, tuple):
                pairs[name] = (self._columns()[0], figure_name(asked))
                continue
            pair = cast("tuple[Any, ...]", asked)
            if not isinstance(asked, tuple) or len(pair) != 2:  # noqa: PLR2004 - a column and a figure
                msg = f"agg({name}=...) takes a column and the name of a figure."
                raise ParameterTypeError(msg, hint='write agg(total=("x", "sum")).')
            column, func = pair
            if not isinstance(column, str) or column not in self._dtypes:
                raise no_such_column(str(column), self._dtypes)
            pairs[name] = (column, figure_name(func))
        return pairs

    def _figures(self, pairs: Mapping[str, tuple[str | None, str]]) -> F:
        figures: dict[str, Figure] = {}
        for name, (column, asked) in pairs.items():
            if name in self._grouping.keys or is_reserved(name):
                msg = f"The figure {name!r} has the name of a key."
                raise ParameterError(msg, hint='name it: agg(total=("x", "sum")).')
            host = None if column is None else self._dtypes[column]
            figures[name] = figure(asked, column, host)
        return self._made(self._grouping, figures)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._dtypes and name not in GROUP_HINTS:
            return self[name]
        msg = f"{name} of a groupby is not known to depend on a unit's rows alone."
        raise NotProvedAttributeError(msg, step=name, hint=group_hint(name))

    def __repr__(self) -> str:
        return f"PandasGroups({self._grouping})"

    def __iter__(self) -> NoReturn:
        msg = "Groups of private rows cannot be gone through."
        raise NotProvedTypeError(msg, step="iteration", hint=OFFERED)

    def __len__(self) -> NoReturn:
        msg = "The number of groups is private."
        raise NotProvedTypeError(
            msg, step="len()", hint="release it: .dp.n_unique(...)."
        )


def _several_levels() -> NotProvedTypeError:
    msg = "agg with lists makes columns of several levels, which are not offered."
    return NotProvedTypeError(
        msg, step="agg", hint='name them: agg(low=("x", "min"), high=("x", "max")).'
    )


def _is_number(host: Any) -> bool:
    if isinstance(host, pd.CategoricalDtype):
        return False
    dtype = polars_dtype(host)
    return dtype.is_numeric() or str(dtype) == "Boolean"
