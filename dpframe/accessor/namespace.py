"""The namespace itself: every release, its preview, and what is not there."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Generic, NoReturn, TypeVar

from dpframe.accessor.frames import FrameMethods
from dpframe.accessor.grouped import Grouped, group_cells
from dpframe.accessor.groups import GroupBy
from dpframe.accessor.halfspaces import HalfspaceMethods
from dpframe.accessor.intervals import IntervalMethods
from dpframe.accessor.keys import KeyMethods
from dpframe.accessor.models import Models
from dpframe.accessor.numbers import Numbers
from dpframe.accessor.quantiles import Distributions, PreviewDistributions
from dpframe.accessor.run import previewed
from dpframe.accessor.tables import Tables
from dpframe.errors import NotProvedAttributeError
from dpframe.frame import PrivateFrame
from dpframe.table import enumeration

F = TypeVar("F", bound=PrivateFrame)
N = TypeVar("N")


class PrivateNamespace(
    Numbers[N],
    Distributions[N],
    Tables[N],
    KeyMethods[N],
    IntervalMethods[N],
    HalfspaceMethods[N],
    Models[N],
    FrameMethods[F, N],
    Generic[F, N],
):
    """What `.dp` on a private frame leads to: other frames, and releases that pay."""

    __slots__ = ()

    @property
    def preview(self) -> PreviewNamespace[N]:
        """The same releases, only looked at: nothing is read and nothing spent."""
        return PreviewNamespace(self._frame)

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
    median = previewed(GroupBy[Any].median)
    quantile = previewed(GroupBy[Any].quantile)
    agg = previewed(GroupBy[Any].agg)


class PreviewNamespace(PreviewDistributions[N]):
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
    discover_keys = previewed(KeyMethods[Any].discover_keys)
    mean_cov = previewed(Models[Any].mean_cov)
    synthetic_intervals = previewed(IntervalMethods[Any].synthetic_intervals)
    halfspace_oracle = previewed(HalfspaceMethods[Any].halfspace_oracle)
    largest_error = previewed(IntervalMethods[Any].largest_error)

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
            a list of tuples. Public, or what `.dp.discover_keys` released. Default:
            those of `.dp.domain`, or of a column's type.
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
        ("min", "max"),
        "not offered; .dp.quantile(column, [0.01, 0.99], epsilon=...) is close.",
    ),
    **dict.fromkeys(
        ("keys", "unique", "categories", "levels"),
        "write .dp.discover_keys(column, delta=..., epsilon=...).",
    ),
    "attach": "the frame is attached already; .dp.detach() gives it back.",
    "groupby": "write .dp.group_by(column, keys=[...]).",
    "percentile": "write .dp.quantile(column, 0.95, epsilon=...).",
    "average": "write .dp.mean(column, epsilon=...).",
    "len": "write .dp.count(epsilon=...).",
    "size": "write .dp.count(epsilon=...).",
    "nunique": "write .dp.n_unique(column, epsilon=...).",
    "hist": "write .dp.histogram(column, bins=..., epsilon=...).",
    "cov": "write .dp.mean_cov([columns], epsilon=...).",
}
