"""Polars expressions over the rows of one privacy unit, taken apart to be proved.

An expression such as ``x - x.mean()`` within a unit is three steps: what each figure
reads is computed row by row, the figure is taken over the unit's rows, and the rest
is computed row by row again, with the figure as one more column. The first and the
last are proved like any other step on rows; the one in the middle is an aggregate
that ignores order, over groups that never hold rows of two units. What is not
recognised here stays in the tree, where the proof for rows refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from dpframe.proofs.polars.aggregations import (
    RANKS,
    aggregation,
    function_name,
    ranking,
    refuse,
    without_missing,
)
from dpframe.proofs.polars.hints import for_unit, turned
from dpframe.proofs.polars.tree import Node, build, head, items, pairs, reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HIDDEN: Final = "__dpframe_{}__"
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "BinaryExpr": ("left", "right"),
    "Ternary": ("predicate", "truthy", "falsy"),
    "Cast": ("expr",),
    "Function": ("input",),
    "RenameAlias": ("expr",),
}
"""Where the nodes of an expression hold further expressions."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of the rows of a unit.

    Attributes
    ----------
    name : str
        Of the aggregate, or ``rank``.
    value : str or None
        The column it is taken of; None for ``len``.
    keys : tuple of str
        The columns that split a unit's rows, beside the unit.
    options : tuple
        Of a rank: its method, and whether the largest value is first.
    """

    name: str
    value: str | None
    keys: tuple[str, ...] = ()
    options: tuple[str, bool] | None = None


@dataclass(frozen=True, kw_only=True)
class Split:
    """Expressions of one step, taken apart.

    Attributes
    ----------
    unit : str
        The visible column that holds the unit.
    taken : collection of str
        Names that are in use.
    before : dict of str to tree
        What is computed row by row first, by hidden name.
    figures : dict of str to Figure
        What is taken over the rows of a unit, by hidden name.
    texts : dict of str to tree
        What each hidden name stands for.
    """

    unit: str
    taken: frozenset[str]
    before: dict[str, Node] = field(default_factory=dict[str, Node])
    figures: dict[str, Figure] = field(default_factory=dict[str, Figure])
    texts: dict[str, Node] = field(default_factory=dict[str, Node])

    def grouped(self, node: Node) -> Node:
        """Return what is computed of the figures in ``group_by(...).agg(...)``.

        Raises
        ------
        NotProvedError
            If values stand beside the figures, or a figure is not recognised.
        """
        return self._replaced(node, self._in_group)

    def windowed(self, node: Node) -> Node:
        """Return an expression with its windows over the unit as hidden columns.

        Raises
        ------
        NotProvedError
            If a window does not have the unit among its keys, or a figure is taken
            of all rows.
        """
        return self._replaced(node, self._beside_rows)

    def _replaced(self, node: Node, leaf: Callable[[Node], Node | None]) -> Node:
        found = leaf(node)
        if found is not None:
            return found
        name, body = head(node)
        if name == "Alias" and isinstance(body, list):
            inner, *rest = items(body)
            return {name: [self._replaced(inner, leaf), *rest]}
        if name == "KeepName":
            return {name: self._replaced(body, leaf)}
        fields = pairs(body)
        changed = dict(fields)
        for key in _FIELDS.get(name, ()):
            part = fields.get(key)
            changed[key] = (
                [self._replaced(each, leaf) for each in items(part)]
                if isinstance(part, list)
                else self._replaced(part, leaf)
            )
        if fields.get("function") == "AsStruct":
            given = zip(items(fields["input"]), items(changed["input"]), strict=True)
            changed["input"] = [_named_as(before, after) for before, after in given]
        return {name: changed} if changed != fields else node

    # ------------------------------------------------------------------- leaves

    def _check_turned(self, node: Node) -> None:
        """Refuse what asks for other rows of a unit, with the way that it has."""
        name, body = head(node)
        options = pairs(body)
        if name == "Function":
            name = function_name(options)
        if name == "Agg":
            name = f"Agg.{head(body)[0]}"
        found = turned(name)
        if found is not None:
            refuse(found[0], node, for_unit(found[1], self.unit))

    def _in_group(self, node: Node) -> Node | None:
        self._check_turned(node)
        name, _ = head(node)
        if name == "Over":
            refuse(
                "A window stands inside an aggregation",
                node,
                'compute it before, in .with_columns(name=... .over("unit")).',
            )
        if name == "Column":
            refuse(
                "It gives a list of values per unit, in no order",
                node,
                "aggregate it, as in .max(), or name it among the keys of group_by.",
            )
        if ranking(node) is not None:
            refuse(
                "It gives a list of ranks per unit",
                node,
                f'rank in .with_columns(... .rank("min").over("{self.unit}")).',
            )
        return self._figure(node, ())

    def _beside_rows(self, node: Node) -> Node | None:
        self._check_turned(node)
        name, body = head(node)
        if name == "Over":
            return self._window(node, pairs(body))
        if aggregation(node) is not None:
            refuse(
                "It looks at the rows of all units",
                node,
                f'write .over("{self.unit}") for the rows of one unit, or release'
                " the figure: .dp.mean(...) and others.",
            )
        if ranking(node) is not None:
            refuse(
                "It ranks among the rows of all units",
                node,
                f'write .rank("min").over("{self.unit}") for the rows of one unit, or '
                "release how values lie: .dp.histogram(...).",
            )
        return None

    def _window(self, node: Node, body: Mapping[str, Node]) -> Node:
        if set(body) != {"function", "partition_by", "order_by", "mapping"}:
            refuse("This window is not known", node, "write .over(unit).")
        for part in _all_inner(body["function"]):
            self._check_turned(part)
        if body["order_by"] is not None:
            refuse(
                "A window with order_by depends on the order of tied rows",
                node,
                "leave order_by out, or use .rank('min').over(unit).",
            )
        if body["mapping"] != "GroupsToRows":
            refuse(
                "A mapping strategy puts values into other rows",
                node,
                "leave mapping_strategy out.",
            )
        keys = items(body["partition_by"])
        others = [key for key in keys if key != {"Column": self.unit}]
        if len(others) == len(keys):
            refuse(
                "A window without the privacy unit looks at the rows of all units",
                node,
                f'name the unit too: .over("{self.unit}", ...).',
            )
        names = tuple(sorted({self._column(key) for key in others}))

        def inside(part: Node) -> Node | None:
            if head(part)[0] == "Over":
                refuse(
                    "A window stands inside a window",
                    node,
                    "compute the inner one before, in a .with_columns(...).",
                )
            return self._ranked(part, names) or self._figure(part, names)

        return self._replaced(body["function"], inside)

    def _figure(self, node: Node, keys: tuple[str, ...]) -> Node | None:
        found = aggregation(node)
        if found is None:
            return None
        name, inner = found
        if inner is None:
            return self._hidden(Figure(name=name, value=None, keys=keys), node)
        name, inner = without_missing(name, inner)
        if not reads(inner):
            refuse(
                "A figure of a literal is the same whatever rows there are",
                node,
                "write pl.len() to count rows, or the literal itself.",
            )
        return self._hidden(
            Figure(name=name, value=self._column(inner), keys=keys), node
        )

    def _ranked(self, node: Node, keys: tuple[str, ...]) -> Node | None:
        found = ranking(node)
        if found is None:
            return None
        inner, options = found
        method = RANKS.get(str(options.get("method")))
        if method is None:
            refuse(
                "It ranks tied rows by their order, or at random",
                node,
                'use .rank("min"), "max", "dense" or "average".',
            )
        ranked = (method, options.get("descending") is True)
        value = self._column(inner)
        return self._hidden(
            Figure(name="rank", value=value, keys=keys, options=ranked), node
        )

    def _hidden(self, figure: Figure, node: Node) -> Node:
        for name, known in self.figures.items():
            if known == figure:
                return {"Column": name}
        name = self.fresh(node)
        self.figures[name] = figure
        return {"Column": name}

    def _column(self, inner: Node) -> str:
        """Return the column of what is computed row by row."""
        name, body = head(inner)
        if name == "Column":
            return str(body)
        for known, tree in self.before.items():
            if tree == inner:
                return known
        fresh = self.fresh(inner)
        self.before[fresh] = inner
        return fresh

    def fresh(self, node: Node) -> str:
        """Return a hidden name for what a tree stands for."""
        place = len(self.texts)
        name = _HIDDEN.format(place)
        while any(known.startswith(name) for known in (*self.taken, *self.texts)):
            place += 1
            name = _HIDDEN.format(place)
        self.texts[name] = node
        return name


def _named_as(before: Node, after: Node) -> Node:
    """Return a field under the name that it had, not that of a hidden column."""
    if after == before:
        return after
    name = build(before).meta.output_name(raise_if_undetermined=False)
    return after if name is None else {"Alias": [after, name]}


def spans_rows(node: Node, *, windows: bool) -> bool:
    """Return whether a window, or else a figure, occurs in an expression."""
    name, body = head(node)
    if name == "Over":
        return windows
    if not windows and (aggregation(node) or ranking(node)) is not None:
        return True
    return any(spans_rows(part, windows=windows) for part in _inner(name, body))


def _all_inner(node: Node) -> Iterator[Node]:
    """Yield an expression and all that it holds."""
    yield node
    for part in _inner(*head(node)):
        yield from _all_inner(part)


def _inner(name: str, body: Node) -> Iterator[Node]:
    """Yield the expressions that a node holds."""
    if name == "Alias":
        yield from items(body)[:1]
    if name == "KeepName":
        yield body
    for key in _FIELDS.get(name, ()):
        part = pairs(body).get(key)
        yield from items(part) if isinstance(part, list) else (part,)
