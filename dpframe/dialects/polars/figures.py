"""Polars steps over the rows of one privacy unit, run as steps over rows and figures.

What figures read is computed row by row; the figures become hidden columns; then come
the caller's expressions over all of these. The first and the last are proved to look
at one row, like any other step; the middle is an exact aggregate over rows of one
unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dpframe.declare import no_such_column
from dpframe.dialects.polars.steps import (
    Outputs,
    explained,
    prove_conditions,
    prove_outputs,
)
from dpframe.dialects.shared import unit_gone
from dpframe.engines.aggregates import Aggregate, aggregate, ranks
from dpframe.errors import (
    DPFrameError,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.frame import UNIT, State
from dpframe.proofs.polars.hints import UNIT_NAME, for_unit
from dpframe.proofs.polars.outputs import (
    all_selectors,
    columns_read,
    names_stripped,
    singly,
)
from dpframe.proofs.polars.parts import refusal, step_text
from dpframe.proofs.polars.sample import sample_rows
from dpframe.proofs.polars.tree import (
    Node,
    build,
    build_exactly,
    build_text,
    read_tree,
    replace_selectors,
    selectors,
    write,
)
from dpframe.proofs.polars.units import Figure, Split, spans_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

Types = Mapping[str, pl.DataType]

_WORDS: Final = (
    *('"Over"', '"Agg"', '"Len"', '"NullCount"', '"HasNulls"', '"Any"', '"All"'),
    *('"Product"', '"Quantile"', '"Correlation"', '"ArgMin"', '"ArgMax"', '"Rank"'),
)
"""What the text of an expression over several rows holds; others may hold it too."""

_MARK: Final = "__dpframe_name__"


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Rows with the figures of their units beside them, and expressions over both.

    Attributes
    ----------
    native : pl.LazyFrame
        The visible columns, `UNIT` and the hidden columns.
    types : mapping of str to pl.DataType
        The visible and the hidden columns.
    exprs : list of pl.Expr
        The caller's, row by row of these columns.
    unit : str or None
        The column of the privacy unit, for hints.
    written : sequence of str, optional
        What the expressions are serialised to, where that is known.
    texts : mapping of str to str
        What each hidden column stands for, in public words.
    """

    native: pl.LazyFrame
    types: Types
    exprs: Sequence[pl.Expr]
    unit: str | None
    written: Sequence[str | None] | None = None
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    def outputs(self, verb: str) -> Outputs:
        """Prove what the expressions give; raises as `prove_outputs` does."""
        with reworded(self.texts, unit=self.unit):
            found = prove_outputs(self.types, verb, self.exprs, self.written)
        for name in self.texts.keys() & found.types:
            msg = f"A column cannot be named {name!r}, which is in use."
            raise ParameterError(msg)
        return found

    def conditions(self) -> list[pl.Expr]:
        """Prove that they are conditions; raises as `prove_conditions` does."""
        with reworded(self.texts, unit=self.unit):
            return prove_conditions(self.types, self.exprs, self.written)

    def narrowed(self, native: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows without the hidden columns."""
        return native.drop(self.texts) if self.texts else native


def within_units(
    native: pl.LazyFrame,
    types: Types,
    state: State,
    verb: str,
    exprs: Sequence[pl.Expr],
) -> Wide:
    """Return rows with what the windows of expressions stand for beside them.

    Raises
    ------
    NotProvedError
        If a figure is of rows of several units, or depends on their order.
    """
    written = [write(expr) for expr in exprs]
    trees = [_spanning(*pair, state) for pair in zip(exprs, written, strict=True)]
    if all(tree is None for tree in trees):
        return Wide(
            native=native,
            types=types,
            exprs=exprs,
            written=written,
            unit=state.privacy_unit,
        )
    split = Split(unit=str(state.privacy_unit), taken=frozenset(types))
    rows = sample_rows(types).lazy()
    outer = list[pl.Expr]()
    for expr, tree in zip(exprs, trees, strict=True):
        if tree is None:
            outer.append(_bound(verb, expr, types))
            continue
        for name, part in singled(verb, expr, types, rows.select):
            outer.append(exactly(split.windowed(part), expr).alias(name))
    if split.figures and not state.unit_visible:
        raise unit_gone(state, "over(...)")
    wide, columns = computed_before(native, types, split)
    taken = taken_figures(split, columns)
    if taken:
        windows = [
            part.over(UNIT, *map(exact_column, one.figure.keys)).alias(name)
            for one in taken
            for name, part in one.parts()
        ]
        wide = wide.with_columns(windows).with_columns(
            [one.finished() for one in taken]
        )
        wide = wide.drop(name for one in taken for name in one.held)
    return Wide(
        native=wide,
        types={**columns, **{one.name: one.made.dtype for one in taken}},
        exprs=outer,
        unit=state.privacy_unit,
        texts=hidden_texts(split),
    )


def singled(
    verb: str,
    expr: pl.Expr,
    types: Types,
    run: Callable[[pl.Expr], pl.LazyFrame],
    *,
    keys: int = 0,
) -> Iterator[tuple[str, Node]]:
    """Yield the name and the tree of each output of an expression.

    Parameters
    ----------
    verb : str
        For messages.
    expr : pl.Expr
        As the caller wrote it.
    types : mapping of str to pl.DataType
        The visible columns.
    run : callable
        Runs it on made-up rows: its names and its selectors are taken from there.
    keys : int
        How many columns come before its outputs.
    """
    text = write(expr)
    if text is None:
        raise refusal("AnonymousFunction", expr)
    tree = read_tree(text)
    for name in sorted(columns_read(tree) - types.keys()):
        raise no_such_column(name, types)

    def names_of(one: pl.Expr) -> list[str]:
        try:
            return run(one).collect_schema().names()[keys:]
        except (PolarsError, PanicException) as error:
            raise explained(verb, error) from None

    chosen = {
        selector: [
            name.removesuffix(_MARK)
            for name in names_of(build_text(selector).name.suffix(_MARK))
        ]
        for selector in all_selectors(tree)
    }
    names, parts = names_of(expr), list(singly(names_stripped(tree), chosen))
    if len(names) != len(parts):
        raise refusal("Unsettled", expr)
    yield from zip(names, parts, strict=True)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A figure as it is run, with the columns that hold its parts."""

    name: str
    figure: Figure
    made: Aggregate
    held: tuple[str, ...]

    def parts(self) -> Iterator[tuple[str, pl.Expr]]:
        """Yield the aggregations of the rows, by the column that holds each."""
        return zip(self.held, self.made.parts, strict=True)

    def finished(self) -> pl.Expr:
        """Return the figure, row by row of its parts."""
        return self.made.finish(*map(pl.col, self.held)).alias(self.name)


def computed_before(
    native: pl.LazyFrame, types: Types, split: Split
) -> tuple[pl.LazyFrame, dict[str, pl.DataType]]:
    """Return rows with what figures read, proved to look at one row each."""
    read = [exactly(t, build(t)).alias(name) for name, t in split.before.items()]
    if not read:
        return native, dict(types)
    with reworded(hidden_texts(split), unit=split.unit):
        found = prove_outputs(types, "with_columns", read)
    return native.with_columns(found.exprs), {**types, **found.types}


def taken_figures(split: Split, types: Types) -> list[Taken]:
    """Return figures as they are run.

    Raises
    ------
    NotProvedError
        If one depends on the order of rows, or is not offered for a dtype.
    """
    return [_taken(split, name, types) for name in split.figures]


def _taken(split: Split, name: str, types: Types) -> Taken:
    figure = split.figures[name]
    step = step_text(build(split.texts[name]))
    read = [] if figure.value is None else [figure.value]
    for column in (*figure.keys, *read):
        if column not in types:
            raise no_such_column(column, types)
    for key in figure.keys:
        check_key(types[key], step)
    made = None
    try:
        for column in read:
            value, dtype = exact_column(column), types[column]
            if figure.options is not None:
                made = ranks(value, dtype, *figure.options)
            else:
                made = aggregate(figure.name, value, dtype)
        if made is None:
            made = aggregate(figure.name, None, None)
    except NotProvedError as error:
        fact = f"{_fact(error).rstrip('.')}: {step}."
        raise NotProvedError(fact, step=step, hint=error.hint) from None
    held = tuple(f"{name}{place}" for place in range(len(made.parts)))
    return Taken(name=name, figure=figure, made=made, held=held)


def check_key(dtype: pl.DataType, step: str) -> None:
    """Refuse to group rows by what has no plain equality."""
    if dtype.is_nested() or isinstance(dtype, pl.Object):
        raise NotProvedError(
            f"Rows are not grouped by lists or structures: {step}.",
            step=step,
            hint="group by plain columns.",
        )


def exact_column(name: str) -> pl.Expr:
    """Return a column by its very name, which is no pattern."""
    return build({"Column": name})


def exactly(tree: Node, expr: pl.Expr) -> pl.Expr:
    """Return the expression of a tree with all its numbers, or refuse."""
    found = build_exactly(tree)
    if found is None:
        raise refusal("Unsettled", expr)
    return found


def hidden_texts(split: Split) -> dict[str, str]:
    """Return what each hidden column stands for, in public words."""
    return {name: step_text(build(tree)) for name, tree in split.texts.items()}


@contextmanager
def reworded(texts: Mapping[str, str], *, unit: str | None) -> Generator[None]:
    """Put public words for hidden columns, and the unit's name, into errors."""
    try:
        yield
    except DPFrameError as error:
        if not any(name in str(error) for name in (*texts, UNIT_NAME)):
            raise
        raise _reworded(error, texts, unit) from None


def _reworded(
    error: DPFrameError, texts: Mapping[str, str], unit: str | None
) -> DPFrameError:
    def said(text: str) -> str:
        for name, stands_for in texts.items():
            text = text.replace(f'.alias("{name}")', "")
            text = text.replace(f'col("{name}")', stands_for).replace(name, stands_for)
        return text

    hint = None if error.hint is None else for_unit(said(error.hint), unit)
    if isinstance(error, NotProvedError):
        return NotProvedError(said(_fact(error)), step=said(error.step), hint=hint)
    if not any(name in str(error) for name in texts):
        return error
    return ParameterTypeError(said(_fact(error)), hint=hint)


def _fact(error: DPFrameError) -> str:
    return str(error).split("\nHint: ", maxsplit=1)[0]


def _spanning(expr: pl.Expr, text: str | None, state: State) -> Node | None:
    """Return the tree of an expression over several rows; None of any other."""
    if text is None or not any(word in text for word in _WORDS):
        return None
    tree = read_tree(text)
    windows = spans_rows(tree, windows=True)
    if windows and state.privacy_unit is None:
        raise NotProvedError(
            f"A window looks at other rows, and each row is a unit: {step_text(expr)}.",
            step=step_text(expr),
            hint='attach with privacy_unit="...", and write .over(unit).',
        )
    figures = state.privacy_unit is not None and spans_rows(tree, windows=False)
    return tree if windows or figures else None


def _bound(verb: str, expr: pl.Expr, types: Types) -> pl.Expr:
    """Return an expression with its selectors among the visible columns."""
    text = write(expr)
    tree = None if text is None else read_tree(text)
    listed = list(selectors(tree))
    if not listed:
        return expr
    rows = sample_rows(types).lazy()
    try:
        names = {
            found: rows.select(build_text(found)).collect_schema().names()
            for found in listed
        }
    except (PolarsError, PanicException) as error:
        raise explained(verb, error) from None
    return exactly(replace_selectors(tree, names), expr)
