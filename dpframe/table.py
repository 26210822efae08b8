"""A small frozen table that prints itself and converts to every dataframe library."""

from __future__ import annotations

import datetime as dt
import html
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd
    import polars as pl

_SHOWN: Final = 20
_ELLIPSIS: Final = "…"


class Table:
    """Rows and named columns that can be read, and not changed.

    Parameters
    ----------
    frame : pl.DataFrame
        Public rows.

    Examples
    --------
    >>> Table(pl.DataFrame({"decade": [0, 10], "count": [2041, 2229]}))
    Table(2 rows)
      decade  count
           0   2041
          10   2229
    """

    __slots__ = ("_frame",)

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame.clone()

    @property
    def columns(self) -> list[str]:
        """Column names, in order."""
        return self._frame.columns

    def __len__(self) -> int:
        return self._frame.height

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a Polars frame."""
        return self._frame.clone()

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas frame with a RangeIndex."""
        return self._frame.to_pandas()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return self._frame.to_dicts()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export through the Arrow PyCapsule interface."""
        return self._frame.__arrow_c_stream__(requested_schema)

    def _cells(self) -> tuple[list[list[str]], set[int]]:
        """Return the rows to show as text, and the places of numeric columns."""
        frame = self._frame
        if frame.height > _SHOWN:
            half = _SHOWN // 2
            ends = (frame.head(half), frame.tail(half))
            head, tail = ([[*map(cell_text, r)] for r in end.rows()] for end in ends)
            rows = [*head, [_ELLIPSIS] * frame.width, *tail]
        else:
            rows = [[*map(cell_text, row)] for row in frame.rows()]
        numeric = {i for i, dtype in enumerate(frame.dtypes) if dtype.is_numeric()}
        return rows, numeric

    def __repr__(self) -> str:
        title = f"Table({len(self)} row{'' if len(self) == 1 else 's'})"
        if not self.columns:
            return title
        rows, numeric = self._cells()
        header = [cell_text(name) for name in self.columns]
        lines = aligned_lines([header, *rows], right=numeric)
        return "\n".join([title, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        rows, numeric = self._cells()
        return html_table([cell_text(name) for name in self.columns], rows, numeric)


def cell_text(value: object) -> str:
    """Return one cell as text on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def enumeration(names: Sequence[str], last: str = "and") -> str:
    """Return names in a sentence: ``a, b and c``."""
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def aligned_lines(
    rows: Sequence[Sequence[str]], *, right: Collection[int]
) -> list[str]:
    """Return rows of text in aligned columns, those in `right` flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int]
) -> str:
    """Return an HTML table, escaped, in the colours of the page around it."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} style="text-align: {"right" if place in right else "left"}">'
            f"{html.escape(text)}</{tag}>"
            for place, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', header)}</tr></thead>" if header else ""
    return f"<table>{head}<tbody>{body}</tbody></table>"
