"""The pandas verbs that look at the names and dtypes of columns alone."""

# pandas' own methods are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self, cast

import pandas as pd

from dpframe.dialects.pandas.frame import PandasFrame, public_dtype, usable
from dpframe.errors import NotProvedTypeError, ParameterError, ParameterTypeError
from dpframe.frame import UNIT, is_reserved
from dpframe.proofs.pandas.refusals import refuse_options

if TYPE_CHECKING:
    from collections.abc import Sequence


_COLUMNS: Final = (1, "columns")


class NameVerbs(PandasFrame):
    """Verbs that choose and name columns, whatever the rows are."""

    __slots__ = ()

    def rename(self, mapper: Any = None, **options: Any) -> Self:
        """Rename columns by a mapping or a function of names.

        Bounds and keys move along.
        """
        columns = options.pop("columns", None)
        errors = options.pop("errors", "ignore")
        if mapper is not None and options.get("axis") in _COLUMNS:
            del options["axis"]
            columns, mapper = mapper, None
        if callable(columns) and not isinstance(columns, Mapping):
            columns = {name: columns(name) for name in usable(self._native)}
        refuse_options("rename", options, like=pd.DataFrame.rename)
        if mapper is not None or not isinstance(columns, Mapping):
            msg = "rename takes columns=, a mapping from old names to new ones."
            raise ParameterTypeError(msg, hint='write rename(columns={"old": "new"}).')
        names = dict(cast("Mapping[object, object]", columns))
        present = {k: v for k, v in names.items() if k in self._native.columns}
        for name in names if errors == "raise" else present:
            self._checked(name)
        for new in present.values():
            if not isinstance(new, str) or is_reserved(new):
                msg = f"rename needs text for new names, not {new!r}."
                raise ParameterTypeError(msg)
        texts = cast("dict[str, str]", present)
        after = [texts.get(name, name) for name in self._native.columns]
        if len(set(after)) < len(after) - self._native.columns.duplicated().sum():
            msg = "rename would give two columns one name."
            raise ParameterError(msg)
        native = self._native.rename(columns=texts)
        state = self._state.rename(texts)
        return type(self)(native, state.after(f"rename({texts})"))

    def add_prefix(self, prefix: str, axis: Any = None) -> Self:
        """Put text before the name of each column, the privacy unit's too."""
        _check_columns("add_prefix", axis)
        names = {name: f"{prefix}{name}" for name in usable(self._native)}
        return self.rename(columns=names)

    def add_suffix(self, suffix: str, axis: Any = None) -> Self:
        """Put text after the name of each column, the privacy unit's too."""
        _check_columns("add_suffix", axis)
        names = {name: f"{name}{suffix}" for name in usable(self._native)}
        return self.rename(columns=names)

    def select_dtypes(self, include: Any = None, exclude: Any = None) -> Self:
        """Select columns by dtype, as pandas does; the unit is kept."""
        held = {n: public_dtype(dtype) for n, dtype in usable(self._native).items()}
        bare = pd.DataFrame({n: pd.Series(dtype=dtype) for n, dtype in held.items()})
        try:
            names = list(bare.select_dtypes(include, exclude).columns)
        except (TypeError, ValueError) as error:
            msg = f"select_dtypes cannot choose columns so: {error}."
            raise ParameterError(msg) from None
        return self._selected(names)

    def reset_index(
        self, level: Any = None, *, drop: bool = False, **options: Any
    ) -> Self:
        """Return the frame as it is: index labels are dropped at attach."""
        del drop
        for name in ("name", "names"):
            if options.get(name) is not None:
                msg = f"reset_index({name}=) names what is a column here already."
                hint = 'write .rename(columns={"old": "new"}).'
                raise NotProvedTypeError(msg, step=f"reset_index({name}=)", hint=hint)
        options = {**options, "level": level}
        refuse_options("reset_index", options, like=pd.DataFrame.reset_index)
        return self

    def drop(self, labels: Any = None, **options: Any) -> Self:
        """Drop columns; their bounds and keys are forgotten, the unit is kept."""
        columns = options.pop("columns", None)
        errors = options.pop("errors", "raise")
        if labels is not None and options.get("axis") in _COLUMNS:
            del options["axis"]
            columns, labels = labels, None
        refuse_options("drop", options, like=pd.DataFrame.drop)
        if labels is not None or columns is None:
            msg = "drop takes columns=: rows have no labels here."
            raise NotProvedTypeError(
                msg, step="drop", hint="write query(...) to drop rows."
            )
        wanted = listed(columns)
        if errors == "ignore":
            wanted = [name for name in wanted if name in self._native.columns]
        names = [self._checked(name) for name in wanted]
        native = self._native.drop(columns=names)
        state = self._state.forget(names)
        return type(self)(native, state.after(f"drop({', '.join(names)})"))

    # For other verbs

    def _selected(self, names: Sequence[object]) -> Self:
        """Return these columns, the visible one of the unit among them."""
        unit = self._state.privacy_unit
        wanted = [self._checked(name) for name in names]
        if len(set(wanted)) < len(wanted):
            msg = "[[...]] names a column twice."
            raise ParameterError(msg)
        if unit is not None and unit in usable(self._native) and unit not in wanted:
            wanted = [unit, *wanted]
        gone = [name for name in usable(self._native) if name not in wanted]
        native = self._native[[*wanted, UNIT]]
        state = self._state.forget(gone)
        return type(self)(native, state.after(f"[{', '.join(wanted)}]"))

    def _named(
        self, verb: str, *, items: Any, like: object, regex: object, axis: object
    ) -> Self:
        """Select columns by a list of names, by a part of them or by a pattern."""
        _check_columns(verb, axis)
        names = list(usable(self._native))
        if items is not None:
            wanted = listed(items)
            return self._selected([name for name in wanted if name in names])
        part = regex if like is None else like
        if not isinstance(part, str):
            msg = f"{verb} takes the names of columns as text."
            raise ParameterTypeError(msg)
        try:
            pattern = re.compile(part if like is None else re.escape(part))
        except re.error as error:
            msg = f"{verb} cannot read the pattern {regex!r}: {error}."
            raise ParameterError(msg) from None
        return self._selected([name for name in names if pattern.search(name)])


def _check_columns(verb: str, axis: object) -> None:
    if axis not in (None, *_COLUMNS):
        msg = f"{verb}(axis={axis!r}) is about index labels, dropped at attach."
        raise NotProvedTypeError(msg, step=f"{verb}(axis=)", hint="leave axis out.")


def listed(names: object) -> list[Any]:
    """Return names as a list; a text is one name."""
    return [names] if isinstance(names, str) else list(cast("list[Any]", names))
