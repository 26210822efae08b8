"""A proved Polars expression: what it gives, and how it is run.

Its selectors are bound to the visible columns: the frame that it runs on holds one
more, the privacy unit's, that they could take in. Its float arithmetic is settled,
so that a row comes out with the same bits whatever rows are beside it, and its
times are kept within the calendar, so that no row makes it fail.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from dpframe.proofs.polars.calendar import guard
from dpframe.proofs.polars.kinds import gives_no_floats, kind
from dpframe.proofs.polars.sample import sample_rows
from dpframe.proofs.polars.settle import MixedFloatsError, divides, settle
from dpframe.proofs.polars.times import MixedTimesError, keep
from dpframe.proofs.polars.tree import (
    Node,
    build,
    build_exactly,
    build_text,
    head,
    named_columns,
    replace_selectors,
    selectors,
    strip_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpframe.proofs.polars.parts import Parts


class Proved:
    """An expression that the proof accepted.

    Parameters
    ----------
    parts : Parts
        The expression, taken apart.
    """

    was_tried: bool = False
    """Whether each of its parts ran on made-up rows, so that it will itself."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    @cached_property
    def kind(self) -> str | None:
        """The kind of its values where they need no trial; None where they do."""
        try:
            return kind(self._bound, self.parts.schema)
        except PolarsError:
            return None

    @property
    def is_condition(self) -> bool:
        """Whether it is one truth for each row that needs no trial."""
        if self.parts.selecting:
            return False
        if self.kind is not None or not self.was_tried:
            return self.kind == "truth"
        return self.parts.outputs.dtypes() == [pl.Boolean()]

    @property
    def needs_trial(self) -> bool:
        """Whether only a trial shows that Polars can run it."""
        return self.sources is None and self.kind is None and not self.was_tried

    @cached_property
    def sources(self) -> dict[str, str] | None:
        """Its outputs that are columns as they are, and of which; None if derived."""
        name, body = head(strip_names(self.parts.tree))
        if name == "Column":
            outer, given = head(self.parts.tree)
            return {str(given[1] if outer == "Alias" else body): str(body)}
        if head(self.parts.tree)[0] != "Selector":
            return None
        try:
            names = named_columns(self._bound)
        except PolarsError:
            return None
        if names is None or not self.parts.schema.keys() >= set(names):
            return None
        found = {name: name for name in names}
        return found if len(found) == len(names) else None

    def runnable(self) -> pl.Expr:
        """Return the expression as it is run: bound and settled.

        Raises
        ------
        NotProvedError
            If Polars cannot rebuild the expression exactly.
        """
        if self._settled is None:
            self.parts.refuse("Unsettled")
        return self._settled

    @cached_property
    def _settled(self) -> pl.Expr | None:
        """The expression as it is run; None where Polars cannot rebuild it."""
        try:
            return self._rebuilt()
        except (MixedFloatsError, MixedTimesError, PolarsError, RecursionError):
            return None

    def _rebuilt(self) -> pl.Expr | None:
        bound = self._bound
        if named_columns(bound) is None:
            if self._has_times():
                bound = keep(bound, self.parts.ask)
            if divides(self.parts.text) and not self._is_whole():
                bound = settle(bound, self.parts.ask)
        if '"DatetimeFunction"' in self.parts.text:
            bound = guard(bound)
        if bound == self.parts.tree:
            return self.parts.expr
        if named_columns(bound) is not None:
            return build(bound)
        rebuilt = build_exactly(bound)
        same = (
            rebuilt is not None and self.parts.schema_of(rebuilt) == self.parts.outputs
        )
        return rebuilt if same else None

    @cached_property
    def _bound(self) -> Node:
        """The tree with its selectors bound to the visible columns."""
        tree = self.parts.tree
        if not self.parts.selecting:
            return tree
        columns = tuple(self.parts.schema.items())
        return replace_selectors(
            tree, {found: _selected(found, columns) for found in selectors(tree)}
        )

    def _is_whole(self) -> bool:
        """Return whether the expression is known to compute with no floats."""
        return self.kind is not None and gives_no_floats(
            self.parts.text, self.parts.read_dtypes
        )

    def _has_times(self) -> bool:
        """Return whether dates or instants occur in the expression."""
        return '"Date' in self.parts.text or any(
            isinstance(dtype, (pl.Date, pl.Datetime))
            for dtype in self.parts.read_dtypes
        )


@lru_cache(maxsize=512)
def _selected(
    selector: str, columns: tuple[tuple[str, pl.DataType], ...]
) -> Sequence[str]:
    """Return the columns of a schema that a selector takes."""
    chosen = sample_rows(dict(columns)).lazy().select(build_text(selector))
    return chosen.collect_schema().names()
