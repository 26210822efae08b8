"""One expression taken apart: its tree, what it reads, and the dtypes of its parts."""

from __future__ import annotations

import json
import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from polars.exceptions import PolarsError

from dpframe.errors import NotProvedError, ParameterTypeError
from dpframe.proofs.polars.hints import reason
from dpframe.proofs.polars.sample import sample_rows
from dpframe.proofs.polars.tree import Node, build, head, read_tree, strip_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

_COLUMN: Final = re.compile(r'"Column":\s*("(?:[^"\\]|\\.)*")')
_DYNAMIC: Final = re.compile(r"dyn (int|float|str): ")


class Parts:
    """An expression over columns of a schema; Polars is asked once for each part.

    Parameters
    ----------
    expr : pl.Expr
        As the caller wrote it.
    text : str
        What it is serialised to.
    schema : mapping of str to pl.DataType
        The visible columns.
    """

    def __init__(
        self, expr: pl.Expr, text: str, *, schema: Mapping[str, pl.DataType]
    ) -> None:
        self.expr = expr
        self.text = text
        self.schema = schema
        self.tree: Node = read_tree(text)
        self.selecting = columns_named(text) is None
        self._known: dict[int, tuple[Node, list[pl.DataType]]] = {}

    @cached_property
    def read(self) -> Mapping[str, pl.DataType]:
        """The columns it may read: all where it holds a selector."""
        names = columns_named(self.text)
        if names is None:
            return self.schema
        return {name: self.schema[name] for name in names if name in self.schema}

    @cached_property
    def read_dtypes(self) -> set[pl.DataType]:
        """The dtypes of the columns it may read."""
        return set(self.read.values())

    @property
    def step(self) -> str:
        """The expression in public words."""
        return step_text(self.expr)

    def dtypes(self, node: Node) -> list[pl.DataType]:
        """Return the dtypes of a part, or refuse the expression.

        Raises
        ------
        NotProvedError
            If Polars cannot read the part.
        ParameterTypeError
            If Polars finds no dtype for it.
        """
        try:
            return self.ask(node)
        except RebuildError:
            self.refuse("Deep")
        except PolarsError as error:
            msg = f"Polars finds no dtype for a part of {self.step}."
            raise ParameterTypeError(msg, hint=first_line(error)) from None

    def ask(self, node: Node) -> list[pl.DataType]:
        """Return the dtypes of a part; errors are those of Polars."""
        name, body = head(node)
        if name == "Column" and body in self.schema:
            return [self.schema[body]]
        known = self._known.get(id(node))
        if known is not None:
            return known[1]
        try:
            part = build(node)
        except PolarsError:
            raise RebuildError from None
        found = self.schema_of(part).dtypes()
        self._known[id(node)] = (node, found)  # holding the node keeps its id its own
        return found

    def schema_of(self, expr: pl.Expr) -> pl.Schema:
        """Return the outputs of an expression on the columns read, as Polars does."""
        return sample_rows(self.read).lazy().select(expr).collect_schema()

    @cached_property
    def outputs(self) -> pl.Schema:
        """The outputs of the whole expression; errors are those of Polars."""
        found = self.schema_of(self.expr)
        unnamed = strip_names(self.tree)
        self._known[id(unnamed)] = (unnamed, found.dtypes())
        return found

    def refuse(self, what: str) -> NoReturn:
        """Refuse the expression for a reason, by its key in the hints."""
        raise refusal(what, self.expr)


@lru_cache(maxsize=512)
def columns_named(text: str) -> tuple[str, ...] | None:
    """Return the columns that an expression may read; None where it selects them."""
    if '"Selector"' in text:
        return None
    return tuple(sorted({json.loads(name) for name in _COLUMN.findall(text)}))


class RebuildError(PolarsError):
    """Polars cannot read a part of an expression back."""


def refusal(what: str, expr: pl.Expr) -> NotProvedError:
    """Return the error that refuses an expression, by the key of its reason."""
    fact, hint = reason(what)
    step = step_text(expr)
    return NotProvedError(f"{fact}: {step}.", step=step, hint=hint)


def step_text(expr: pl.Expr) -> str:
    """Return an expression as Polars prints it, on one line."""
    return _DYNAMIC.sub("", " ".join(str(expr).split()))


def first_line(error: BaseException) -> str:
    """Return the first line of what Polars says about a schema."""
    return str(error).split("\n", maxsplit=1)[0]
