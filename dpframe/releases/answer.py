"""What every release can say and be turned into, whatever its kind."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    NamedTuple,
    NoReturn,
    TypeVar,
)

from dpframe.errors import ParameterTypeError
from dpframe.goal import checked_confidence
from dpframe.releases.hosts import handed_out, with_columns
from dpframe.releases.storage import save
from dpframe.table import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

    from dpframe.privacy.loss import Loss
    from dpframe.provenance import Provenance
    from dpframe.query import Measured
    from dpframe.releases.hosts import Host

N = TypeVar("N")

_MACHINERY: Final = frozenset(
    [
        "columns_of",
        "counted",
        "display_name",
        "figures",
        "free",
        "handed_out",
        "headline",
        "html_lines",
        "interval_columns",
        "lines",
        "measured_on",
        "native_table",
        "no_error",
        "plane",
        "polars_table",
        "saved_parts",
        "suffix",
        "table_schema",
    ]
)
"""What releases are drawn, printed and kept with: not for those who read them."""


class Interval(NamedTuple):
    """A confidence interval of one figure, in the figure's own type."""

    lower: Any
    upper: Any


class Release(ABC, Generic[N]):
    """A published answer: its figures, their error, what they cost and guarantee.

    Not built directly: every `.dp` method that spends returns one. It keeps no
    reference to the frame it came from.
    """

    __slots__ = (
        "__weakref__",
        "_cost",
        "_like",
        "_native",
        "_polars",
        "_provenance",
        "_title",
    )

    def __init__(
        self,
        *,
        table: pl.DataFrame,
        like: Mapping[str, str],
        measured: Measured,
        host: Host[N],
        title: str,
    ) -> None:
        self._polars = table
        self._native: N = host(table, like)
        self._like = dict(like)
        self._cost = measured.cost
        self._provenance = measured.provenance
        self._title = title

    # What it cost and what it guarantees

    @property
    def cost(self) -> Loss:
        """The privacy loss of the whole call."""
        return self._cost

    @property
    def provenance(self) -> Provenance:
        """Method, public parameters, privacy unit, limits and steps."""
        return self._provenance

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        return self._provenance.guarantee

    @property
    def title(self) -> str:
        """What was released, in words."""
        return self._title

    # What it says, by kind

    @property
    @abstractmethod
    def value(self) -> Any:
        """The answer, after post-processing."""

    @property
    @abstractmethod
    def raw(self) -> Any:
        """The unbiased noisy figures, multiples of their grid."""

    @property
    @abstractmethod
    def noise(self) -> Any:
        """The family and scale of the noise, in the answer's unit."""

    @property
    @abstractmethod
    def low_count(self) -> Any:
        """Where the noisy count is within its own error of 0."""

    @property
    @abstractmethod
    def stddev(self) -> Any:
        """Standard deviation of the noise, in the answer's unit."""

    @abstractmethod
    def interval(
        self, confidence: float = 0.95, *, joint: bool = False, population: bool = False
    ) -> Any:
        """Return confidence intervals, in the answer's own type."""

    @abstractmethod
    def accuracy(self, confidence: float = 0.95, *, joint: bool = False) -> Any:
        """Return half-widths of the noise, in the answer's unit."""

    @abstractmethod
    def to_numpy(self) -> Any:
        """Return the figures as a numpy array."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figures with 95% error bars."""

    @abstractmethod
    def interval_columns(self, confidence: float) -> list[pl.Series]:
        """Return the ends of the intervals as columns that fit the table."""

    @abstractmethod
    def saved_parts(self) -> dict[str, Any]:
        """Return what `dpframe.load` rebuilds this kind from.

        Those of its parameters that a file can hold, in classes that
        `exact_json` knows. Key columns, as ``"keys"``, come from the table.
        """

    @abstractmethod
    def headline(self) -> str:
        """Return what stands between the parentheses, before the cost."""

    def lines(self) -> list[str]:
        """Return the lines below the headline."""
        return []

    def html_lines(self) -> str:
        """Return what stands below the headline, as HTML."""
        return ""

    suffix: ClassVar[str] = ".parquet"
    """The ending of a saved file: what has rows is Parquet."""

    # Conversions

    def to_native(self, interval: float | None = None) -> N:
        """Return the table in the library that the data came from.

        Parameters
        ----------
        interval : float, optional
            A confidence in ``(0, 1)``: adds the columns `lower` and `upper`, or
            ``<measure>_lower`` and ``<measure>_upper`` where there are several.
        """
        return with_columns(self.native_table(), self._ends(interval))

    def to_polars(self, interval: float | None = None) -> pl.DataFrame:
        """Return the table as a Polars frame; `interval` as in `to_native`."""
        return self.polars_table().with_columns(self._ends(interval))

    def to_pandas(self, interval: float | None = None) -> pd.DataFrame:
        """Return the table as a pandas frame with a RangeIndex; as `to_native`."""
        native: Any = self.to_native(interval)
        return native.to_pandas() if hasattr(native, "to_pandas") else native

    def to_dict(self) -> dict[str, list[Any]]:
        """Return each column of the table as a list."""
        return self.polars_table().to_dict(as_series=False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table through the Arrow PyCapsule interface."""
        return self.polars_table().__arrow_c_stream__(requested_schema)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a file that `dpframe.load` and other readers open.

        Parameters
        ----------
        path : path-like
            Without a suffix, ``.parquet`` (tables) or ``.json`` (single figures)
            is added.
        overwrite : bool, default False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            Where it was written: whole, or not at all.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is False.
        ParameterError
            For a test release, which guarantees nothing, and for the suffix of
            another format, such as ``.csv``.
        """
        return save(self, path, overwrite=overwrite)

    def polars_table(self) -> pl.DataFrame:
        """Return the table as a Polars frame."""
        return self._polars

    def native_table(self) -> N:
        """Return the table as a native frame."""
        return self._native

    def handed_out(self) -> N:
        """Return the native frame, safe to be changed by whoever gets it."""
        return handed_out(self.native_table())

    def _ends(self, interval: float | None) -> Sequence[pl.Series]:
        if interval is None:
            return []
        return self.interval_columns(checked_confidence(interval))

    # In print

    def __dir__(self) -> list[str]:
        """Return what completion offers: what readers of a release call."""
        return [name for name in super().__dir__() if name not in _MACHINERY]

    def __bool__(self) -> NoReturn:
        """Refuse: whether an answer is true is not what `if` should ask."""
        msg = "A release has no truth value."
        raise ParameterTypeError(msg, hint="use .value.")

    def _first_line(self) -> str:
        mark = ", TEST" if self._provenance.is_test else ""
        return f"{type(self).display_name()}({self.headline()}, {self._cost}{mark})"

    @classmethod
    def display_name(cls) -> str:
        """Return the word that a printed release starts with."""
        return "Release"

    def __repr__(self) -> str:
        return "\n".join([self._first_line(), *(f"  {x}" for x in self.lines())])

    def _repr_html_(self) -> str:
        title = "" if self.lines() else f"{html.escape(cell_text(self._title))}: "
        return (
            '<div style="color: inherit">'
            f"<div>{title}<strong>{html.escape(self._first_line())}</strong></div>"
            f"{self.html_lines()}"
            '<div style="opacity: 0.75; font-size: smaller">'
            f"{html.escape(cell_text(self.guarantee))}</div></div>"
        )
