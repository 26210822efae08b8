"""What the columns of a merged pandas frame are called, by pandas' rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from dpframe.declare import no_such_column
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import is_reserved

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The columns that are matched, pair by pair."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """The keys of one name on both sides: one column of the merged frame."""
        pairs = zip(self.left, self.right, strict=True)
        return tuple(one for one, other in pairs if one == other)

    def __str__(self) -> str:
        if self.left == self.right:
            return f"on={list(self.left)}"
        return f"left_on={list(self.left)}, right_on={list(self.right)}"


@dataclass(frozen=True, kw_only=True)
class Names:
    """New names of columns that occur on both sides, by old name."""

    left: Mapping[str, str]
    right: Mapping[str, str]


def find_keys(
    on: object,
    left_on: object,
    right_on: object,
    left: Collection[str],
    right: Collection[str],
) -> Keys:
    """Return the keys of a merge.

    Raises
    ------
    ColumnNotFoundError
        If one is not there.
    ParameterError, ParameterTypeError
        If they are given twice, not at all, not in pairs, or not by name.
    """
    if on is not None:
        if left_on is not None or right_on is not None:
            msg = "merge takes on=, or left_on= with right_on=, not both."
            raise ParameterError(msg)
        left_on = right_on = on
    elif left_on is None and right_on is None:
        left_on = right_on = [name for name in left if name in right]
        if not left_on:
            msg = "The two frames have no column in common to merge on."
            raise ParameterError(msg, hint="write left_on= and right_on=.")
    pair = _listed(left_on, what="left_on"), _listed(right_on, what="right_on")
    if len(pair[0]) != len(pair[1]) or not pair[0]:
        msg = "merge needs as many keys on the left as on the right, at least one."
        raise ParameterError(msg)
    for names, columns in zip(pair, (left, right), strict=True):
        for name in names:
            if name not in columns:
                raise no_such_column(name, columns)
        if len(set(names)) < len(names):
            msg = "merge was given one key twice."
            raise ParameterError(msg)
    return Keys(left=pair[0], right=pair[1])


def _listed(names: object, *, what: str) -> tuple[str, ...]:
    listed: list[Any] = [names] if isinstance(names, str) else []
    if isinstance(names, (list, tuple)):
        listed = list(cast("Iterable[Any]", names))
    if not isinstance(names, (str, list, tuple)) or not all(
        isinstance(name, str) for name in listed
    ):
        msg = f"merge({what}=) takes the names of columns."
        raise ParameterTypeError(msg, hint='write on="id", or on=["id", "year"].')
    return tuple(listed)


def name_columns(
    left: Iterable[Any], right: Iterable[Any], keys: Keys, suffixes: object
) -> Names:
    """Return the new names of columns that occur on both sides.

    Raises
    ------
    ParameterError, ParameterTypeError
        If the suffixes are none, or give two columns one name.
    """
    columns = list(left), [name for name in right if name not in keys.shared]
    both = [name for name in columns[0] if name in columns[1]]
    pair = _suffixes(suffixes)
    if both and not any(pair):
        msg = f"Both frames have {', '.join(map(repr, both))}, and there is no suffix."
        raise ParameterError(msg, hint='write suffixes=("_x", "_y").')
    renamed = tuple(
        {str(name): f"{name}{suffix}" for name in both} if suffix else dict[str, str]()
        for suffix in pair
    )
    for name in filter(is_reserved, chain(*(names.values() for names in renamed))):
        msg = f"The suffixes {pair} give the name {name!r}, which is reserved."
        raise ParameterError(msg, hint="choose other suffixes.")
    after = [
        {*side, *names.values()} - names.keys()
        for side, names in zip(columns, renamed, strict=True)
    ]
    sizes = [len(set(side)) for side in columns]
    if after[0] & after[1] or [len(side) for side in after] != sizes:
        msg = f"The suffixes {pair} give two columns one name."
        raise ParameterError(msg, hint="choose other suffixes.")
    return Names(left=renamed[0], right=renamed[1])


def _suffixes(suffixes: object) -> tuple[str | None, str | None]:
    texts: list[Any] = []
    if isinstance(suffixes, (list, tuple)):
        texts = list(cast("Iterable[Any]", suffixes))
    known = all(text is None or isinstance(text, str) for text in texts)
    if not known or len(texts) != 2:  # noqa: PLR2004 - of the left and of the right
        msg = "merge(suffixes=) takes two texts, either of them None for no suffix."
        raise ParameterTypeError(msg, hint='write suffixes=("_x", "_y").')
    return texts[0], texts[1]
