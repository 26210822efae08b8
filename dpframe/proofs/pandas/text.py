"""Text that is taken apart and put together, where that stays one text per row."""

# pandas' arithmetic is loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import pandas as pd

from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.proofs.pandas.casts import as_whole
from dpframe.proofs.pandas.recording import Recording, record_step
from dpframe.proofs.pandas.refusals import not_a_value, not_elementwise
from dpframe.proofs.pandas.rules import check_storage, text_of, unsuited
from dpframe.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def extract(
    column: Recording, pattern: object, flags: int, *, expand: bool
) -> Recording:
    """Record what one group of a pattern matches."""
    step = f"{column.text}.str.extract({pattern!r})"
    if expand:
        msg = f"{step} makes a frame: one column for each group."
        raise NotProvedError(
            msg, step="extract", hint="pass expand=False, and write one group in it."
        )

    def compute(rows: Any) -> Any:
        return _texts(rows.str.extract(pattern, flags=flags, expand=False), rows)

    return record_step(step, compute, column)


def join_columns(
    column: Recording, others: Sequence[Any], sep: str | None, na_rep: str | None
) -> Recording:
    """Record str.cat: the texts of several columns in one."""
    step = f"{column.text}.str.cat({', '.join(map(text_of, others))}, sep={sep!r})"
    for other in others:
        if not isinstance(other, Recording):
            msg = f"{step} takes columns of the same frame."
            raise NotProvedError(msg, step="cat", hint="others are matched by index.")
        if other.kind is not Kind.TEXT:
            raise unsuited(step, other)
    if not others:
        msg = f"{step} would join the texts of all rows."
        raise NotProvedError(msg, step="cat", hint="give it another column.")

    check_storage(step, column, *others)

    def compute(rows: Any, *more: Any) -> Any:
        return _texts(rows.str.cat(list(more), sep=sep, na_rep=na_rep), rows)

    return record_step(step, compute, column, *others)


def _texts(found: Any, rows: Any) -> Any:
    """Return texts in the dtype of the column that they were taken from."""
    words = found.to_numpy(dtype=object)
    return pd.Series(words, index=rows.index, dtype=rows.dtype)


@final
class RecordedLists:
    """The stand-in for a text column that was split: parts by place, nothing else."""

    __slots__ = ("_column", "_split", "_text", "_wrap")

    def __init__(
        self,
        column: Recording,
        text: str,
        split: Callable[[Any], Any],
        wrap: Callable[[Recording], Any],
    ) -> None:
        self._column = column
        self._text = text
        self._split = split
        self._wrap = wrap

    @property
    def str(self) -> RecordedLists:
        """The parts of each row."""
        return self

    def get(self, i: object) -> Any:
        """Take one part; missing where there are fewer."""
        if not isinstance(i, int):
            msg = f"{self._text}.str[...] takes the place of one part."
            raise ParameterTypeError(msg)

        def part(rows: Any) -> Any:
            return _texts(self._split(rows).str.get(i), rows)

        return self._wrap(record_step(f"{self._text}.str[{i}]", part, self._column))

    def __getitem__(self, i: object) -> Any:
        return self.get(i)

    def len(self) -> Any:
        """Count the parts."""

        def count(rows: Any) -> Any:
            parts = self._split(rows).to_numpy(dtype=object)
            counts = (len(p) if isinstance(p, (list, tuple)) else np.nan for p in parts)
            held = np.fromiter(counts, np.float64, len(parts))
            return as_whole(pd.Series(held, rows.index))

        return self._wrap(record_step(f"{self._text}.str.len()", count, self._column))

    def join(self, sep: object) -> Any:
        """Put the parts together again."""
        step = f"{self._text}.str.join({sep!r})"

        def join(rows: Any) -> Any:
            return _texts(self._split(rows).str.join(sep), rows)

        return self._wrap(record_step(step, join, self._column))

    def __getattr__(self, name: object) -> NoReturn:
        word = f"{name}"
        if word.startswith("_"):
            raise AttributeError(word)
        raise not_elementwise(word, "parts of text")

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration", hint="take one part: .str[0].")
