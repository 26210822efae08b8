"""Pictures of releases: every figure with its 95% error bar. Needs matplotlib."""

# matplotlib's artists take keywords that it leaves without types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import polars as pl

from dpframe.errors import MissingExtraError, ParameterError
from dpframe.grid import series
from dpframe.releases.line import Line
from dpframe.table import cell_text
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dpframe.releases.boxes import Boxes
    from dpframe.releases.figures import Figures

Array = np.ndarray[Any, np.dtype[Any]]

_CONFIDENCE: Final = 0.95
_CROWDED: Final = 30
"""Above this many keys only some are named."""

_LONG: Final = 60
"""Characters of tick labels that fit side by side."""

_DRAWN: Final = 2_000
"""Points of a line that are drawn."""

_SCATTERED: Final = 5_000
"""Synthetic rows that are."""

_BAR: Final[dict[str, Any]] = {"alpha": 0.55}
_WHISKER: Final[dict[str, Any]] = {"fmt": "none", "ecolor": "0.35", "capsize": 3}
_POINT: Final[dict[str, Any]] = {"fmt": "o", "capsize": 3}


class Drawn(Protocol):
    """What every picture takes from a release."""

    @property
    def title(self) -> str:
        """What was released, in words."""
        ...

    def to_polars(self, interval: float | None = None) -> pl.DataFrame:
        """Return the table, with the ends of the intervals at a confidence."""
        ...


class OneFigure(Drawn, Protocol):
    """A release of one figure."""

    @property
    def figures(self) -> Figures:
        """The figure and its error."""
        ...


class CellFigures(Drawn, Protocol):
    """A release of figures in cells."""

    @property
    def figures(self) -> tuple[Figures, ...]:
        """The measures."""
        ...

    @property
    def keys(self) -> pl.DataFrame:
        """The key columns, one row per cell."""
        ...


class Intervals(Protocol):
    """A release of all intervals of a column, or boxes of several."""

    @property
    def title(self) -> str:
        """What was released, in words."""
        ...

    @property
    def shape(self) -> Line | Boxes:
        """The cells and their rows."""
        ...

    def columns_of(self, number: int) -> list[pl.Series]:
        """Return so many synthetic rows."""
        ...

    def accuracy(self, confidence: float = 0.95) -> float:
        """Return the largest error of any interval, in rows."""
        ...


class Chosen(Protocol):
    """A halfspace in the units of the columns."""

    @property
    def w(self) -> dict[str, float]:
        """Weights by column."""
        ...

    @property
    def offset(self) -> float:
        """What a weighted sum must reach."""
        ...


class Halfspaces(Protocol):
    """A release of all halfspaces of some columns."""

    @property
    def title(self) -> str:
        """What was released, in words."""
        ...

    @property
    def is_labelled(self) -> bool:
        """Whether the last column of its rows is a label."""
        ...

    def columns_of(self, number: int) -> list[pl.Series]:
        """Return so many synthetic rows."""
        ...

    def best_halfspace(self) -> Chosen:
        """Return the one that classifies best."""
        ...


class LabelledMatrix(Protocol):
    """A square matrix with names, whose entries know their errors."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        ...

    def __len__(self) -> int:
        """Return the number of columns."""
        ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: FBT001 - numpy's protocol
        """Return the values, square."""
        ...

    def shown(self, *places: int) -> str:
        """Return one entry and its error as text."""
        ...


def plot_scalar(release: OneFigure, ax: Axes | None = None) -> Axes:
    """Draw one figure as a point with its 95% error bar.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axes = _axes(ax, height=1.6)
    name, table = release.to_polars().columns[0], release.to_polars(_CONFIDENCE)
    middle, low, high = (_points(table[c]) for c in (name, "lower", "upper"))
    arms = _arms(release.figures, middle, low, high)
    axes.errorbar(middle, [0.0], xerr=arms, **_POINT)
    axes.set_yticks([])
    axes.set_ylim(-1, 1)
    axes.set_xlabel(f"{cell_text(release.title)}{_unit([release.figures])}")
    _name_dates(axes.xaxis, release.figures)
    _without_frame(axes, "left", "right", "top")
    return axes


def plot_table(release: CellFigures, ax: Axes | None = None) -> Axes:
    """Draw every cell with its 95% error bar.

    A measure of whole numbers is drawn as bars, any other as points. Bins keep
    their place and width; other keys are named below the axis. Several measures
    share it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the measures are of several kinds, and so share no axis.
    """
    figures = release.figures
    if len({measure.column.kind.is_temporal for measure in figures}) > 1:
        msg = "Numbers and times share no axis, so this release is not drawn."
        raise ParameterError(msg, hint="draw .to_pandas(interval=0.95) instead.")
    axes = _axes(ax, height=4.0)
    places, widths = _places(axes, release)
    table = release.to_polars(_CONFIDENCE)
    for number, measure in enumerate(figures):
        prefix = f"{measure.name}_" if len(figures) > 1 else ""
        columns = (measure.name, f"{prefix}lower", f"{prefix}upper")
        middle, low, high = (_points(table[name]) for name in columns)
        arms = _arms(measure, middle, low, high)
        label = cell_text(measure.name)
        if len(figures) == 1 and measure.column.kind is Kind.INTEGER:
            axes.bar(places, middle, width=widths * 0.92, **_BAR)
            axes.errorbar(places, middle, yerr=arms, **_WHISKER)
        else:
            step = (number - (len(figures) - 1) / 2) * 0.15
            spots = places + step * widths
            axes.errorbar(spots, middle, yerr=arms, label=label, **_POINT)
    edges = places - widths / 2, places + widths / 2
    axes.set_xlim(float(edges[0].min()), float(edges[1].max()))
    names = ", ".join(cell_text(measure.name) for measure in figures)
    axes.set_ylabel(f"{names}{_unit(figures)}")
    _name_dates(axes.yaxis, next(iter(figures)))
    axes.set_title(cell_text(release.title), loc="left")
    _without_frame(axes, "right", "top")
    if len(figures) > 1:
        axes.legend(frameon=False)
    return axes


def plot_intervals(release: Intervals, ax: Axes | None = None) -> Axes:
    """Draw released counts of intervals: the fraction of rows below each value.

    With the 95% band that holds for all of them; of several columns, synthetic rows.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axes = _axes(ax, height=4.0)
    shape = release.shape
    axes.set_title(cell_text(release.title), loc="left")
    _without_frame(axes, "right", "top")
    if not isinstance(shape, Line):
        _scatter(axes, release.columns_of(_SCATTERED)[:2])
        return axes
    last = shape.grid.size - 1
    evenly = [last * place // (_DRAWN - 1) for place in range(_DRAWN)]
    codes = np.unique(np.array(evenly, dtype=np.uint64))
    places = _points(series(shape.grid, codes))
    rows = max(shape.rows, 1.0)
    share = np.append(shape.prefixes(codes[:-1] + np.uint64(1)), shape.rows) / rows
    band = release.accuracy(_CONFIDENCE) / rows
    axes.step(places, share, where="post")
    low, high = (np.clip(share + sign * band, 0, 1) for sign in (-1, 1))
    axes.fill_between(places, low, high, step="post", alpha=0.25)
    axes.set_ylim(0, 1)
    axes.set_xlabel(cell_text(shape.grid.column.name))
    _name_kind(axes.xaxis, shape.grid.column.kind)
    axes.set_ylabel("fraction of rows up to (band: 95%, noise)")
    return axes


def plot_halfspaces(release: Halfspaces, ax: Axes | None = None) -> Axes:
    """Draw synthetic rows on the first two columns, coloured by label.

    With a label and two columns also the halfspace that classifies them best.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axes = _axes(ax, height=4.0)
    axes.set_title(cell_text(release.title), loc="left")
    _without_frame(axes, "right", "top")
    *columns, last = release.columns_of(_SCATTERED)
    if not release.is_labelled:
        _scatter(axes, [*columns, last][:2])
        return axes
    for label in (False, True):
        _scatter(axes, [c.filter(last == label) for c in columns[:2]], str(label))
    axes.legend(title=cell_text(last.name), markerscale=6.0)
    if len(columns) == 2:  # noqa: PLR2004 - a line divides a plane
        _divide(axes, release)
    return axes


def _scatter(axes: Axes, columns: Sequence[pl.Series], label: str = "") -> None:
    """Draw rows as points of two columns."""
    axes.plot(*map(_points, columns), ".", markersize=1.5, alpha=0.5, label=label)
    for axis, column in zip((axes.xaxis, axes.yaxis), columns, strict=True):
        axis.set_label_text(cell_text(column.name))
        if column.dtype.base_type() in {pl.Date, pl.Datetime}:
            _name_kind(axis, Kind.DATE)


def _divide(axes: Axes, release: Halfspaces) -> None:
    """Draw the line of the halfspace that classifies best, as far as rows reach."""
    found = release.best_halfspace()
    (across, up), limits = found.w.values(), (axes.get_xlim(), axes.get_ylim())
    normal = np.array([across, up])
    foot = normal * found.offset / (normal @ normal)
    along = np.array([-up, across])
    axes.axline(tuple(foot), tuple(foot + along), color="0.35")
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])


def _unit(figures: Sequence[Figures]) -> str:
    """Return what stands behind the name of an axis."""
    hours = any(measure.column.kind is Kind.DURATION for measure in figures)
    notes = ["hours"] if hours else []
    if any(measure.error_line is None for measure in figures):
        notes.append("error bars: 95%, noise")
    return f" ({'; '.join(notes)})" if notes else ""


def _name_dates(axis: Any, figures: Figures) -> None:
    _name_kind(axis, figures.column.kind)


def _name_kind(axis: Any, kind: Kind) -> None:
    if kind in {Kind.DATE, Kind.DATETIME}:
        axis.axis_date()
        locator = axis.get_major_locator()
        axis.set_major_formatter(_matplotlib("dates").ConciseDateFormatter(locator))


def _places(axes: Axes, release: CellFigures) -> tuple[Array, Array]:
    """Return where the cells lie on the axis and how wide they are; name them."""
    keys = release.keys
    left, right = keys.columns[:2] if keys.width == 2 else ("", "")  # noqa: PLR2004 - an edge on either side
    if left.endswith("_left") and right.endswith("_right"):
        label = left.removesuffix("_left")
        axes.set_xlabel("bin" if label == "bin" else cell_text(label))
        edges = keys.drop_nulls()
        if edges.height == keys.height and keys[left].dtype.is_numeric():
            low, high = (keys[c].cast(pl.Float64).to_numpy() for c in (left, right))
            return (low + high) / 2, high - low
    else:
        axes.set_xlabel(", ".join(cell_text(name) for name in keys.columns))
    places = np.arange(release.to_polars().height, dtype=np.float64)
    labels = [_key_text(row) for row in keys.rows()] or [""]
    every = -(-len(labels) // _CROWDED)
    shown = labels[::every]
    tilted = sum(map(len, shown)) > _LONG
    axes.set_xticks(
        places[::every],
        shown,
        rotation=45 if tilted else 0,
        ha="right" if tilted else "center",
        rotation_mode="anchor" if tilted else "default",
    )
    return places, np.ones(len(places))


def plot_matrix(matrix: LabelledMatrix, ax: Axes | None = None) -> Axes:
    """Draw correlations as a coloured grid, each entry with its 95% error.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    size = len(matrix)
    axes = _axes(ax, height=1.2 + 0.7 * size)
    axes.imshow(np.asarray(matrix), vmin=-1, vmax=1, cmap="RdBu")
    labels = [cell_text(name) for name in matrix.names]
    axes.set_xticks(range(size), labels)
    axes.set_yticks(range(size), labels)
    for row in range(size):
        for column in range(size):
            text = "1" if row == column else matrix.shown(row, column)
            axes.text(column, row, text, ha="center", va="center", size="small")
    axes.set_title("correlation ± 95% of the noise", size="medium")
    return axes


def _key_text(row: tuple[Any, ...]) -> str:
    if all(cell is None for cell in row):
        return "other"
    return ", ".join(cell_text(cell) for cell in row)


def _points(column: pl.Series) -> Array:
    """Return a column as matplotlib takes it: floats, days, or hours of a duration."""
    if isinstance(column.dtype, pl.Duration):
        return column.dt.total_microseconds().to_numpy() / 3.6e9
    if column.dtype.is_temporal():
        micros = column.cast(pl.Datetime("us")).to_physical().to_numpy()
        return micros / 8.64e10
    return column.cast(pl.Float64).to_numpy()


def _arms(figures: Figures, middle: Array, low: Array, high: Array) -> Array:
    """Return how far the error bars reach; a rank error has none in values."""
    if figures.error_line is not None:
        return np.zeros((2, len(middle)))
    return np.maximum(np.stack([middle - low, high - middle]), 0)


def _without_frame(axes: Axes, *sides: str) -> None:
    for side in sides:
        axes.spines[side].set_visible(False)


def _axes(ax: Axes | None, *, height: float) -> Axes:
    if ax is not None:
        return ax
    pyplot = _matplotlib("pyplot")
    axes: Axes = pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]
    return axes


def _matplotlib(name: str) -> Any:
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        msg = "Pictures need matplotlib, which is not installed."
        hint = 'pip install "dpframe[plot]"'
        raise MissingExtraError(msg, hint=hint) from error
