"""The namespace itself: declarations, the way out, releases and their previews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from dpframe.accessor.groups import GroupBy, Grouped, group_cells
from dpframe.accessor.models import Models
from dpframe.accessor.numbers import Numbers
from dpframe.accessor.run import Previewer, previewed
from dpframe.accessor.tables import Tables
from dpframe.declare import check_contributions, declare_bounds, declare_domain
from dpframe.errors import NotProvedAttributeError, ParameterTypeError
from dpframe.frame import PrivateFrame
from dpframe.table import enumeration

if TYPE_CHECKING:
    from dpframe.frame import State

F = TypeVar("F", bound=PrivateFrame)
N = TypeVar("N")


class PrivateNamespace(Numbers[N], Tables[N], Models[N], Generic[F, N]):
    """What `.dp` on a private frame leads to.

    Declarations give the same rows under another state; releases pay from the
    frame's budget.
    """

    __slots__ = ()

    def bounds(self, bounds: Mapping[str, Any] | None = None, /, **columns: Any) -> F:
        """Return the frame with public clipping bounds, by column.

        They are used by every later release of these columns, until a step overwrites
        one.

        Parameters
        ----------
        bounds : mapping, optional
            The same as the keywords, for names that are no identifiers.
        **columns : (low, high)
            Finite bounds with ``low < high``, in the column's unit. Public: they must
            come from what is known without the data.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If bounds are no increasing pair of the column's type, or a column comes
            twice.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.bounds(days=(0, 30))
        PrivateFrame · polars DataFrame · each row a unit · 1 of ε 1 left
          days  Int64  bounds 0 to 30
        """
        found = declare_bounds(self._frame, _merged(bounds, columns, what="bounds"))
        return self._with(self.state.declare(bounds=found))

    def domain(self, keys: Mapping[str, Any] | None = None, /, **columns: Any) -> F:
        """Return the frame with public keys, by column.

        They are used by every later table of these columns, until a step overwrites
        one.

        Parameters
        ----------
        keys : mapping, optional
            The same as the keywords, for names that are no identifiers.
        **columns : list
            Distinct values, none missing. Public: they must come from what is known
            without the data.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If keys are empty, repeat one, or are of another type than the column.

        Examples
        --------
        >>> stays = pl.DataFrame({"ward": ["A", "B"]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.domain(ward=["A", "B", "C"])
        PrivateFrame · polars DataFrame · each row a unit · 1 of ε 1 left
          ward  String  3 keys: A, B, C
        """
        found = declare_domain(self._frame, _merged(keys, columns, what="domain"))
        return self._with(self.state.declare(domain=found))

    def contributions(
        self, *, max_rows: int | None = None, max_groups: int | None = None
    ) -> F:
        """Return the frame with other limits on what one privacy unit contributes.

        Parameters
        ----------
        max_rows : int, optional
            How many rows' worth a unit may count; the rows of a unit with more share
            that weight. Public. Default: as before.
        max_groups : int, optional
            In how many cells a unit may count where it counts once per cell. Public.
            Default: as before.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ParameterError, ParameterTypeError
            If a limit is no whole number of at least 1, or the frame has no privacy
            unit to limit.

        Examples
        --------
        >>> stays = pl.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="patient"
        ... )
        >>> stays.dp.contributions(max_rows=2).dp.state.max_rows
        2
        """
        state = self.state
        rows, groups = check_contributions(
            max_rows, max_groups, unit=state.privacy_unit
        )
        return self._with(
            replace(
                state,
                max_rows=state.max_rows if rows is None else rows,
                max_groups=state.max_groups if groups is None else groups,
            )
        )

    def detach(self) -> Any:
        """Return the native frame, unclipped; tracking ends.

        Returns
        -------
        polars.DataFrame, polars.LazyFrame or pandas.DataFrame
            With the steps so far, and without rows whose privacy unit is missing.

        Privacy
        -------
        None: what is read off it afterwards is not private and not charged.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.detach().columns
        ['days']
        """
        return self._frame.detach()

    @property
    def state(self) -> State:
        """The frozen privacy state: unit, limits, bounds, keys, budget and steps."""
        return self._frame.private_state

    @property
    def preview(self) -> PreviewNamespace[N]:
        """The same releases, only looked at: nothing is read and nothing spent."""
        return PreviewNamespace(self._frame)

    def _with(self, state: State) -> F:
        return cast("F", self._frame.with_state(state))

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_such_release(name)


class PreviewGroupBy(Grouped[N]):
    """Groups whose releases are only looked at."""

    __slots__ = ()

    count = previewed(GroupBy[Any].count)
    sum = previewed(GroupBy[Any].sum)
    mean = previewed(GroupBy[Any].mean)
    var = previewed(GroupBy[Any].var)
    std = previewed(GroupBy[Any].std)
    agg = previewed(GroupBy[Any].agg)


class PreviewNamespace(Previewer[N]):
    """Previews of every release: cost, noise and error from public facts alone."""

    __slots__ = ()

    count = previewed(Numbers[Any].count)
    n_unique = previewed(Numbers[Any].n_unique)
    sum = previewed(Numbers[Any].sum)
    mean = previewed(Numbers[Any].mean)
    var = previewed(Numbers[Any].var)
    std = previewed(Numbers[Any].std)
    agg = previewed(Numbers[Any].agg)
    histogram = previewed(Tables[Any].histogram)
    value_counts = previewed(Tables[Any].value_counts)
    contingency = previewed(Tables[Any].contingency)
    mean_cov = previewed(Models[Any].mean_cov)

    def group_by(
        self,
        *columns: str | list[str],
        keys: Any = None,
        bins: Any = None,
    ) -> PreviewGroupBy[N]:
        """Group by public keys or bins; the previews follow as methods.

        Parameters
        ----------
        *columns : str or list of str
            Columns to group by, one by one or as a list.
        keys : mapping or list, optional
            For each column the values of its groups; for one column a list, for several
            a list of tuples. Public. Default: those of `.dp.domain`, or of a column's
            type.
        bins : mapping, int or list, optional
            For each column the number of its bins, or their edges; for one column these
            alone. Public.

        Returns
        -------
        PreviewGroupBy
            With a preview for each release of `.dp.group_by`.

        Raises
        ------
        DomainRequiredError
            If a column has no keys and no bins.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If keys or bins are empty, repeat one, or are of another type than the
            column.

        Examples
        --------
        >>> stays = pl.DataFrame(
        ...     {"ward": ["A", "A", "B", "C"] * 250, "days": [3, 7, 2, 9] * 250}
        ... )
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=2), bounds={"days": (0, 30)}
        ... )
        >>> wards = stays.dp.preview.group_by("ward", keys=["A", "B", "C"])
        >>> wards.count(epsilon=0.5)
        Preview(count by ward, 3 rows, ± 6 each, ε=0.5 of 2 left, nothing spent)
        """
        cells = group_cells(self._frame, columns, keys, bins)
        return PreviewGroupBy(self._frame, self._run, cells)

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_such_release(name)


def _no_such_release(name: str) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(name)
    msg = f"There is no release {name!r}. Nothing was released and nothing was spent."
    return NotProvedAttributeError(msg, step=name, hint=_HINTS.get(name) or _near(name))


def _near(name: str) -> str:
    """Return the releases that are named alike, or all that there are."""
    offered = [each for each in dir(PreviewNamespace) if not each.startswith("_")]
    near = get_close_matches(name, offered)
    if near:
        return f"did you mean {enumeration([f'.dp.{each}' for each in near], 'or')}?"
    return f"releases are {enumeration(offered)}."


_HINTS = {
    **dict.fromkeys(
        ("median", "quantile", "min", "max"),
        "not offered; .dp.histogram(column, bins=..., epsilon=...) shows the spread.",
    ),
    "attach": "the frame is attached already; .dp.detach() gives it back.",
    "groupby": "write .dp.group_by(column, keys=[...]).",
    "average": "write .dp.mean(column, epsilon=...).",
    "len": "write .dp.count(epsilon=...).",
    "size": "write .dp.count(epsilon=...).",
    "nunique": "write .dp.n_unique(column, epsilon=...).",
    "hist": "write .dp.histogram(column, bins=..., epsilon=...).",
    "cov": "write .dp.mean_cov([columns], epsilon=...).",
}


def _merged(
    given: object, named: Mapping[str, Any], *, what: str
) -> Mapping[object, Any]:
    """Return what a mapping and keywords declare together."""
    if given is None:
        return {**named}
    if not isinstance(given, Mapping):
        msg = f"{what} must be a mapping by column, not {type(given).__name__}."
        raise ParameterTypeError(msg, hint=f"write .dp.{what}(column=...).")
    listed = cast("Mapping[object, Any]", given)
    both = set(listed) & set(named)
    if both:
        msg = f"{what} of {min(map(str, both))!r} are declared twice."
        raise ParameterTypeError(msg)
    return {**listed, **named}
