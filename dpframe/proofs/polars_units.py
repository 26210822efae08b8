"""Polars expressions over the rows of one privacy unit, taken apart to be proved.

An expression such as ``x - x.mean()`` within a unit is three steps: what each figure
reads is computed row by row, the figure is taken over the unit's rows, and the rest
is computed row by row again, with the figure as one more column. The first and the
last are proved like any other step on rows; the one in the middle is an aggregate
that ignores order, over groups that never hold rows of two units. What is not
recognised here stays in the tree, where the proof for rows refuses it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from dpframe.errors import NotProvedError
from dpframe.proofs.polars_parts import step_text
from dpframe.proofs.polars_tree import Node, build, head, items, pairs, parts, reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_HIDDEN: Final = "__dpframe_{}__"
_NULL: Final[Node] = {"Literal": {"Scalar": {"Null": "Null"}}}
_TRUE: Final[Node] = {"Literal": {"Scalar": {"Boolean": True}}}
_NAMES: Final = {"NUnique": "n_unique", "AggGroups": "agg_groups", "Len": "len"}
_FUNCTIONS: Final = {
    "NullCount": "null_count",
    "ApproxNUnique": "approx_n_unique",
    "ArgMin": "arg_min",
    "ArgMax": "arg_max",
    **{
        name: name.lower()
        for name in ("Product", "Mode", "Skew", "Kurtosis", "Entropy", "Quantile")
    },
}
_SKIPPING: Final = frozenset("count sum mean min max median any all".split())  # noqa: SIM905 - a table of words
"""Aggregates that pass over what is missing."""

_RANKS: Final = {
    "Min": "min",
    "Max": "max",
    "Dense": "dense",
    "Average": "average",
}
_SPREADING: Final = frozenset(
    {
        "MinHorizontal",
        "MaxHorizontal",
        "SumHorizontal",
        "MeanHorizontal",
        "Coalesce",
        "AsStruct",
        "Boolean.AnyHorizontal",
        "Boolean.AllHorizontal",
        "StringExpr.ConcatHorizontal",
        "StringExpr.Format",
        "ListExpr.Concat",
        "ArrayExpr.Concat",
    }
)
"""Functions that take the columns of a selector one beside the other."""

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
        return {name: changed} if changed != fields else node

    # ------------------------------------------------------------------- leaves

    def _in_group(self, node: Node) -> Node | None:
        name, _ = head(node)
        if name == "Over":
            _refuse(
                "A window stands inside an aggregation",
                node,
                'compute it before, in .with_columns(name=... .over("unit")).',
            )
        if name == "Column":
            _refuse(
                "It gives a list of values per unit, in no order",
                node,
                "aggregate it, as in .max(), or name it among the keys of group_by.",
            )
        if _rank(node) is not None:
            _refuse(
                "It gives a list of ranks per unit",
                node,
                f'rank in .with_columns(... .rank("min").over("{self.unit}")).',
            )
        return self._figure(node, ())

    def _beside_rows(self, node: Node) -> Node | None:
        name, body = head(node)
        if name == "Over":
            return self._window(node, pairs(body))
        if aggregation(node) is not None:
            _refuse(
                "It looks at the rows of all units",
                node,
                f'write .over("{self.unit}") for the rows of one unit, or release'
                " the figure: .dp.mean(...) and others.",
            )
        return None

    def _window(self, node: Node, body: Mapping[str, Node]) -> Node:
        if set(body) != {"function", "partition_by", "order_by", "mapping"}:
            _refuse("This window is not known", node, "write .over(unit).")
        if body["order_by"] is not None:
            _refuse(
                "A window with order_by depends on the order of tied rows",
                node,
                "leave order_by out, or use .rank('min').over(unit).",
            )
        if body["mapping"] != "GroupsToRows":
            _refuse(
                "A mapping strategy puts values into other rows",
                node,
                "leave mapping_strategy out.",
            )
        keys = items(body["partition_by"])
        others = [key for key in keys if key != {"Column": self.unit}]
        if len(others) == len(keys):
            _refuse(
                "A window without the privacy unit looks at the rows of all units",
                node,
                f'name the unit too: .over("{self.unit}", ...).',
            )
        names = tuple(sorted({self._column(key) for key in others}))

        def inside(part: Node) -> Node | None:
            if head(part)[0] == "Over":
                _refuse(
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
        name, inner = _without_missing(name, inner)
        if not reads(inner):
            _refuse(
                "A figure of a literal is the same whatever rows there are",
                node,
                "write pl.len() to count rows, or the literal itself.",
            )
        return self._hidden(
            Figure(name=name, value=self._column(inner), keys=keys), node
        )

    def _ranked(self, node: Node, keys: tuple[str, ...]) -> Node | None:
        found = _rank(node)
        if found is None:
            return None
        inner, options = found
        method = _RANKS.get(str(options.get("method")))
        if method is None:
            _refuse(
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


def singly(node: Node, names: Mapping[str, Sequence[str]]) -> Iterator[Node]:
    """Yield a tree for each of its outputs, with columns in place of selectors.

    Parameters
    ----------
    node : tree
        With selectors, or without.
    names : mapping
        The columns of each selector, by its JSON text.
    """
    spread = _spread(node, names)
    counts = {len(names[text]) for text in _selectors(spread)}
    if len(counts) > 1:
        _refuse(
            "It brings selections of different lengths together",
            node,
            "name the columns, in an expression for each.",
        )
    for place in range(counts.pop() if counts else 1):
        yield _nth(spread, names, place)


def _spread(node: Node, names: Mapping[str, Sequence[str]]) -> Node:
    """Return a tree where selections that are lists of arguments are written out."""
    if isinstance(node, list):
        return [_spread(part, names) for part in items(node)]
    if not isinstance(node, dict):
        return node
    inner = {key: _spread(part, names) for key, part in pairs(node).items()}
    body = pairs(inner.get("Function"))
    if not body or _function(body) not in _SPREADING:
        return inner
    flat = [
        part
        for given in items(body["input"])
        for part in (
            [{"Column": column} for column in names[json.dumps(given)]]
            if _selects(given)
            else [given]
        )
    ]
    return {"Function": {**body, "input": flat}}


def _nth(node: Node, names: Mapping[str, Sequence[str]], place: int) -> Node:
    if _selects(node):
        return {"Column": names[json.dumps(node)][place]}
    if isinstance(node, list):
        return [_nth(part, names, place) for part in items(node)]
    if isinstance(node, dict):
        return {key: _nth(part, names, place) for key, part in pairs(node).items()}
    return node


def columns_read(node: Node) -> set[str]:
    """Return the columns that a tree reads by name."""
    if isinstance(node, dict) and "Column" in node:
        return {str(pairs(node)["Column"])}
    return {name for part in parts(node) for name in columns_read(part)}


def all_selectors(node: Node) -> list[str]:
    """Return the distinct selectors of a tree, lists of names too, as JSON text."""
    return list(dict.fromkeys(_selectors(node)))


def _selectors(node: Node) -> Iterator[str]:
    if _selects(node):
        yield json.dumps(node)
        return
    for part in parts(node):
        yield from _selectors(part)


def _selects(node: Node) -> bool:
    return isinstance(node, dict) and head(node)[0] == "Selector"


def spans_rows(node: Node, *, windows: bool) -> bool:
    """Return whether a window, or else a figure, occurs in an expression."""
    name, body = head(node)
    if name == "Over":
        return windows
    if not windows and aggregation(node) is not None:
        return True
    return any(spans_rows(part, windows=windows) for part in _inner(name, body))


def _inner(name: str, body: Node) -> Iterator[Node]:
    """Yield the expressions that a node holds."""
    if name == "Alias":
        yield from items(body)[:1]
    if name == "KeepName":
        yield body
    for key in _FIELDS.get(name, ()):
        part = pairs(body).get(key)
        yield from items(part) if isinstance(part, list) else (part,)


def names_stripped(node: Node) -> Node:
    """Return what is below all names that an expression was given."""
    name, body = head(node)
    if name == "Alias" and isinstance(body, list):
        return names_stripped(items(body)[0])
    if name == "KeepName":
        return names_stripped(body)
    if name == "RenameAlias" and "expr" in pairs(body):
        return names_stripped(pairs(body)["expr"])
    return node


def aggregation(node: Node) -> tuple[str, Node | None] | None:
    """Return the aggregate that a node is, and what it is taken of."""
    if node == "Len":
        return "len", None
    name, body = head(node)
    if name == "Agg":
        return _agg(node, *head(body))
    if name != "Function":
        return None
    given = items(pairs(body).get("input"))
    function = _function(pairs(body))
    options = head(pairs(body).get("function"))[1]
    if function in ("Boolean.Any", "Boolean.All") and len(given) == 1:
        if head(options)[1] != {"ignore_nulls": True}:
            _refuse(
                "It is missing where a value is, by the order of rules",
                node,
                "leave ignore_nulls=False out, or fill what is missing first.",
            )
        return function.rpartition(".")[2].lower(), given[0]
    if function in _FUNCTIONS and given:
        return _FUNCTIONS[function], given[0]
    return None


def _agg(node: Node, variant: str, body: Node) -> tuple[str, Node]:
    options = pairs(body)
    inner = options.get("input", body)
    if variant in ("Min", "Max"):
        if options.get("propagate_nans") is not False:
            _refuse(
                "NaN is a missing value here",
                node,
                f"use .{variant.lower()}(), or ask for .is_nan().any().",
            )
        return variant.lower(), inner
    if variant == "Count":
        return ("len" if options.get("include_nulls") is True else "count"), inner
    if isinstance(body, list):
        inner = items(body)[0]
    return _NAMES.get(variant, variant.lower()), inner


def _without_missing(name: str, inner: Node) -> tuple[str, Node]:
    """Return an aggregate of kept values as one that passes over the others."""
    kind, body = head(inner)
    if kind == "Filter" and pairs(body).keys() == {"input", "by"}:
        value, condition = pairs(body)["input"], pairs(body)["by"]
        if name == "len" and head(value)[0] == "Column":
            kept = {"predicate": condition, "truthy": _TRUE, "falsy": _NULL}
            return "count", {"Ternary": kept}
        chosen = {"predicate": condition, "truthy": value, "falsy": _NULL}
        if name in _SKIPPING:
            return name, {"Ternary": chosen}
    if kind == "Function" and pairs(body).get("function") in ("DropNulls", "DropNans"):
        value = items(pairs(body)["input"])[0]
        if name == "len" and pairs(body)["function"] == "DropNulls":
            return "count", value
        if name in _SKIPPING:
            return name, value
    return name, inner


def _rank(node: Node) -> tuple[Node, Mapping[str, Node]] | None:
    name, body = head(node)
    if name != "Function":
        return None
    function, options = head(pairs(body).get("function"))
    given = items(pairs(body).get("input"))
    if function != "Rank" or len(given) != 1:
        return None
    return given[0], pairs(pairs(options).get("options"))


def _function(body: Mapping[str, Node]) -> str:
    """Return the name of a function, after that of its family."""
    name, options = head(body.get("function"))
    own = head(options)[0]
    family = name in ("Boolean", "StringExpr", "ListExpr", "ArrayExpr")
    return f"{name}.{own}" if family else name


def _refuse(fact: str, node: Node, hint: str) -> NoReturn:
    step = step_text(build(node))
    raise NotProvedError(f"{fact}: {step}.", step=step, hint=hint)
