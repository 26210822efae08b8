"""A release of keys: those that enough privacy units hold."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
import pandas as pd

from dpframe.errors import ParameterError
from dpframe.measure import is_test
from dpframe.releases.answer import Release
from dpframe.releases.figures import COUNT, GridError
from dpframe.releases.noise_law import NoiseLaw
from dpframe.table import aligned_lines, cell_text, enumeration, html_table
from dpframe.values import Kind, column_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from dpframe.noise import DiscreteLaplace
    from dpframe.query import Measured
    from dpframe.releases.hosts import Host

N = TypeVar("N")

_SHOWN: Final = 20


class NoErrorError(ParameterError, AttributeError):
    """Keys have no figures, and so no error."""


class KeysRelease(Release[N]):
    """Published keys of a column, or of several together, sorted.

    Wherever `keys=` is taken for the same columns, and in `.dp.domain`, the release
    itself stands for its keys.

    Parameters
    ----------
    keys : pl.DataFrame
        The published keys, one in each row.
    like : mapping
        Key column to the frame's column whose host dtype it takes.
    noise : DiscreteLaplace
        What was added to the count of each key.
    threshold : int
        The least noisy count of a key that is published.
    measured : Measured
        Carries the cost and the provenance.
    host : callable
        Makes the table a native frame; not kept.
    title : str
        What was released, in words.
    """

    __slots__ = ("_noise", "_threshold")

    def __init__(
        self,
        *,
        keys: pl.DataFrame,
        like: Mapping[str, str],
        noise: DiscreteLaplace,
        threshold: int,
        measured: Measured,
        host: Host[N],
        title: str,
    ) -> None:
        super().__init__(
            table=keys, like=like, measured=measured, host=host, title=title
        )
        self._noise = noise
        self._threshold = threshold

    @property
    def value(self) -> list[Any]:
        """The keys as a list; tuples where they are of several columns.

        Times to the nanosecond are pandas' `Timestamp` and `Timedelta`.
        """
        columns = [_values(column) for column in self._polars]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose keys these are."""
        return tuple(self._polars.columns)

    @property
    def threshold(self) -> int:
        """The least noisy count of units with which a key was published."""
        return self._threshold

    @property
    def noise(self) -> NoiseLaw:
        """The noise in each count that was compared with the threshold, in units."""
        return NoiseLaw.of(GridError(noise=self._noise, unit=Fraction(1)), COUNT)

    def __len__(self) -> int:
        return self._polars.height

    def to_numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the keys as an array of objects: one row for each, if of several."""
        array = np.empty((len(self), self._polars.width), dtype=object)
        for place, column in enumerate(self._polars):
            array[:, place] = _values(column)
        return array[:, 0] if array.shape[1] == 1 else array

    def __public_keys__(self, columns: Sequence[object]) -> list[Any]:
        """Return the keys for these columns, where a release takes public keys.

        Raises
        ------
        ParameterError
            If they are of other columns, there is none, or they were found with
            noise that is not private and are not used with such noise.
        """
        if tuple(columns) != self.columns:
            own, asked = (enumeration([*map(str, x)]) for x in (self.columns, columns))
            msg = f"These are the keys of {own}, and those of {asked} are needed."
            hint = "name the same columns in the same order, or pass its .value."
            raise ParameterError(msg, hint=hint)
        if not len(self):
            msg = (
                f"No key of {enumeration(self.columns)} was published: it takes about "
                f"{self._threshold} units that hold one."
            )
            hint = "find keys of coarser values, or at a larger epsilon or delta."
            raise ParameterError(msg, hint=hint)
        if self.provenance.is_test and not is_test():
            msg = "These keys were found with noise that is not private."
            hint = "find them again outside of dpframe.testing."
            raise ParameterError(msg, hint=hint)
        return self.value

    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from."""
        return {
            "keys": self._polars,
            "like": self._like,
            "noise": self._noise,
            "threshold": self._threshold,
            "title": self._title,
        }

    # What keys do not have

    @property
    def raw(self) -> NoReturn:
        """Not there: the noisy counts are not published."""
        raise _no_error("figures")

    @property
    def stddev(self) -> NoReturn:
        """Not there: a key has no error bars."""
        raise _no_error("error bars")

    @property
    def low_count(self) -> NoReturn:
        """Not there: keys of a low count are not published."""
        raise _no_error("counts")

    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> NoReturn:
        """Refuse: a key has no error bars."""
        del confidence, joint, population
        raise _no_error("error bars")

    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> NoReturn:
        """Refuse: a key has no error bars."""
        del confidence, joint
        raise _no_error("error bars")

    def interval_columns(self, confidence: float) -> NoReturn:
        """Refuse: a key has no error bars."""
        del confidence
        raise _no_error("error bars")

    def plot(self, ax: Axes | None = None) -> NoReturn:
        """Refuse: there is no figure to draw."""
        del ax
        raise _no_error("figures")

    # In print

    def headline(self) -> str:
        """Return how many keys there are, and of what."""
        number = len(self)
        of = cell_text(enumeration(self.columns))
        return f"{number} key{'' if number == 1 else 's'} of {of}"

    def lines(self) -> list[str]:
        """Return the first keys as text."""
        if not len(self):
            return []
        header, rows, numeric = self._cells()
        return aligned_lines([header, *rows], right=numeric)

    def html_lines(self) -> str:
        """Return the first keys as HTML."""
        return html_table(*self._cells()) if len(self) else ""

    def _cells(self) -> tuple[list[str], list[list[str]], set[int]]:
        shown = self._polars.head(_SHOWN)
        header = [cell_text(name) for name in shown.columns]
        rows = [[cell_text(cell) for cell in row] for row in shown.rows()]
        if len(self) > _SHOWN:
            rows.append(["…", *[""] * (len(header) - 1)])
        numeric = {i for i, dtype in enumerate(shown.dtypes) if dtype.is_numeric()}
        return header, rows, numeric


def _values(column: pl.Series) -> list[Any]:
    """Return keys as Python writes them, each exactly."""
    ctype = column_type(column.name, column.dtype)
    if not ctype.kind.is_temporal:
        return column.to_list()
    points: list[int] = column.to_physical().to_list()
    if ctype.kind is not Kind.DATE and ctype.time_unit == "ns":
        if ctype.kind is Kind.DURATION:
            return [pd.Timedelta(point, unit="ns") for point in points]
        return [_stamp(point, ctype.zone) for point in points]
    return [ctype.value(Fraction(point)) for point in points]


def _stamp(point: int, zone: str | None) -> pd.Timestamp:
    instant = pd.Timestamp(point, unit="ns")
    if zone is None:
        return instant
    return instant.tz_localize("UTC").tz_convert(zone)


def _no_error(what: str) -> NoErrorError:
    msg = f"Published keys have no {what}: each is a key that units hold."
    hint = "count them: .dp.value_counts(column, keys=found, epsilon=...)."
    return NoErrorError(msg, hint=hint)
