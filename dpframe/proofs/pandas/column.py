"""The stand-in for a pandas column in a step."""

# pandas' accessors are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import pandas as pd

from dpframe.errors import (
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.proofs.pandas.accessor import RecordedText, RecordedTimes
from dpframe.proofs.pandas.casts import cast_column
from dpframe.proofs.pandas.choices import (
    NOT_GIVEN,
    choose,
    choose_first,
    condition,
    look_up,
    replace_values,
)
from dpframe.proofs.pandas.cut import cut_column
from dpframe.proofs.pandas.hints import FREE_HINTS
from dpframe.proofs.pandas.kinds import literal_kind
from dpframe.proofs.pandas.parse import parse_number, parse_time
from dpframe.proofs.pandas.recording import Recording, record_step
from dpframe.proofs.pandas.refusals import (
    not_a_value,
    not_elementwise,
    refuse_options,
)
from dpframe.proofs.pandas.rules import (
    ARITHMETIC,
    COMPARISONS,
    LOGIC,
    NUMBERS,
    binary,
    fill_missing,
    filler,
    members,
    text_of,
    unsuited,
)
from dpframe.proofs.pandas.vocabulary import INCLUSIVE, UFUNC_SYMBOLS, UFUNCS
from dpframe.public import Public
from dpframe.values import Kind, listed_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def unwrap(value: Any) -> Any:
    """Return the recording behind a stand-in for a column, and any other as it is."""
    return value.recording if isinstance(value, RecordedColumn) else value


@final
class RecordedColumn:
    """The stand-in for a column: elementwise operations, which it writes down."""

    __slots__ = ("recording",)
    __hash__ = None  # pyright: ignore[reportAssignmentType] - equality is elementwise

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def __repr__(self) -> str:
        return f"RecordedColumn({self.recording.text})"

    @property
    def dtype(self) -> Any:
        """The dtype in which it is computed."""
        return self.recording.dtype

    @property
    def str(self) -> RecordedText:
        """Text methods, where they work value by value and cannot fail."""
        return RecordedText(self.recording, RecordedColumn, unwrap)

    @property
    def dt(self) -> RecordedTimes:
        """Parts of instants and durations, and what moves them."""
        return RecordedTimes(self.recording, RecordedColumn, unwrap)

    def isna(self) -> RecordedColumn:
        """Tell where values are missing."""
        return self._step("isna", lambda rows: rows.isna())

    def notna(self) -> RecordedColumn:
        """Tell where values are not missing."""
        return self._step("notna", lambda rows: rows.notna())

    isnull = isna
    notnull = notna

    def copy(self, deep: object = True) -> RecordedColumn:  # noqa: ARG002, FBT002 - as pandas has it
        """Return the column itself: steps never change one."""
        return self

    def pipe(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with this column."""
        return func(self, *args, **kwargs)

    def apply(self, func: Any, *args: Any, **options: Any) -> RecordedColumn:
        """Apply a numpy function of single numbers; any other is not recorded."""
        return self._applied("apply", func, args, options)

    def transform(self, func: Any, *args: Any, **options: Any) -> RecordedColumn:
        """Apply a numpy function of single numbers; any other is not recorded."""
        return self._applied("transform", func, args, options)

    def _applied(
        self, verb: str, func: Any, args: Any, options: Mapping[str, Any]
    ) -> RecordedColumn:
        if args or options or not isinstance(func, np.ufunc) or func.nin != 1:
            raise not_elementwise(verb, "a column")
        return func(self)

    def map(
        self, func: Any = None, na_action: Any = None, **options: Any
    ) -> RecordedColumn:
        """Look public keys up; what is no key becomes missing."""
        refuse_options("map", options, like=pd.Series.map)
        if na_action not in (None, "ignore"):
            msg = f'map(na_action=) is None or "ignore", not {na_action!r}.'
            raise ParameterError(msg)
        if isinstance(func, np.ufunc):
            return self._applied("map", func, (), {})
        return RecordedColumn(look_up(self.recording, func))

    def replace(
        self, to_replace: Any = None, value: Any = NOT_GIVEN, **options: Any
    ) -> RecordedColumn:
        """Replace public values by others of the column's dtype."""
        refuse_options("replace", options, like=pd.Series.replace)
        return RecordedColumn(replace_values(self.recording, to_replace, value))

    def case_when(self, caselist: Any) -> RecordedColumn:
        """Take the replacement of the first condition that holds."""
        cases = caselist
        if isinstance(caselist, list):
            cases = [
                tuple(unwrap(self._called(part)) for part in case)
                if isinstance(case, tuple)
                else case
                for case in caselist
            ]
        return RecordedColumn(choose_first(self.recording, cases))

    def combine_first(self, other: Any) -> RecordedColumn:
        """Fill missing values from another column."""
        return RecordedColumn(fill_missing(self.recording, unwrap(other)))

    def abs(self) -> RecordedColumn:
        """Take absolute values."""
        self._need("abs", NUMBERS | {Kind.DURATION})
        if self.recording.kind is not Kind.DURATION:
            return self._step("abs", abs)

        def magnitude(rows: Any) -> Any:  # wraps where pandas would raise
            return pd.Series(np.abs(rows.to_numpy()), index=rows.index)

        return self._step("abs", magnitude)

    def round(self, decimals: int = 0) -> RecordedColumn:
        """Round to a number of decimals."""
        self._need("round", {Kind.INTEGER, Kind.FLOAT})
        if literal_kind(decimals) is not Kind.INTEGER:
            msg = "round takes a whole number of decimals."
            raise ParameterTypeError(msg)
        return self._step(f"round({decimals})", lambda rows: rows.round(decimals))

    def astype(self, dtype: Any, **options: Any) -> RecordedColumn:
        """Cast, where no value can fail it."""
        refuse_options("astype", options, like=pd.Series.astype)
        return RecordedColumn(cast_column(self.recording, dtype))

    def fillna(self, value: Any = None, **options: Any) -> RecordedColumn:
        """Fill missing values with a scalar or another column."""
        refuse_options("fillna", options, like=pd.Series.fillna)
        return RecordedColumn(fill_missing(self.recording, unwrap(value)))

    def isin(self, values: Any) -> RecordedColumn:
        """Tell which values are among public ones."""
        if isinstance(values, Public):
            values = list(values.__public_value__())
        if isinstance(values, (set, frozenset)):
            values = list(values)
        if not isinstance(values, (list, tuple, range, np.ndarray)):
            msg = f"isin takes public values written out, not {type(values).__name__}."
            raise NotProvedError(
                msg, step="isin", hint="write a list, or dpframe.public(series)."
            )
        if not values:
            return self._step("isin([])", lambda rows: rows.isin([]))
        return RecordedColumn(
            members(self.recording, listed_values(values, what="values of isin"))
        )

    def between(self, left: Any, right: Any, inclusive: Any = "both") -> RecordedColumn:
        """Tell which values lie between two others."""
        symbols = INCLUSIVE.get(inclusive)
        if symbols is None:
            msg = f"inclusive must be one of {', '.join(INCLUSIVE)}."
            raise ParameterError(msg)
        low = binary(symbols[0], self.recording, unwrap(left))
        high = binary(symbols[1], self.recording, unwrap(right))
        return RecordedColumn(binary("&", low, high))

    def clip(
        self, lower: Any = None, upper: Any = None, **options: Any
    ) -> RecordedColumn:
        """Move values outside public bounds onto them."""
        refuse_options("clip", options, like=pd.Series.clip)
        column = self.recording
        step = f"{column.text}.clip({lower!r}, {upper!r})"
        limits = [filler(column, b, step=step) for b in (lower, upper) if b is not None]
        self._need("clip", {Kind.INTEGER, Kind.FLOAT, Kind.DATETIME, Kind.DURATION})
        if any(isinstance(unwrap(limit), Recording) for limit in limits):
            msg = "clip takes public bounds, not columns."
            raise NotProvedError(msg, step="clip", hint="write dpframe.where().")
        if len(limits) == 2 and not limits[0] <= limits[1]:  # noqa: PLR2004 - low and high
            msg = f"clip must have lower <= upper, not {lower!r} and {upper!r}."
            raise ParameterError(msg)
        low, high = (None if b is None else limits.pop(0) for b in (lower, upper))
        return RecordedColumn(
            record_step(step, lambda rows: rows.clip(low, high), column)
        )

    def where(self, cond: Any, other: Any = np.nan, **options: Any) -> RecordedColumn:
        """Keep values where a condition holds, and take `other` elsewhere."""
        refuse_options("where", options, like=pd.Series.where)
        return self._choose("where", cond, other)

    def mask(self, cond: Any, other: Any = np.nan, **options: Any) -> RecordedColumn:
        """Take `other` where a condition holds, and keep values elsewhere."""
        refuse_options("mask", options, like=pd.Series.mask)
        return self._choose("mask", cond, other)

    def _called(self, value: Any) -> Any:
        """Return what a callable of the column gives, as pandas takes it."""
        plain = callable(value) and not isinstance(value, (RecordedColumn, type))
        return value(self) if plain else value

    def _choose(self, verb: str, cond: Any, other: Any) -> RecordedColumn:
        column = self.recording
        holds = condition(unwrap(self._called(cond)), step=verb)
        other = unwrap(self._called(other))
        step = f"{column.text}.{verb}({holds.text}, {text_of(other)})"
        if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
            raise unsuited(step, column)
        other = filler(column, other, step=step, missing=True)

        def choose_rows(rows: Any, holds: Any, instead: Any) -> Any:
            holds = holds.fillna(False).astype(bool)
            return getattr(rows, verb)(holds, instead)

        return RecordedColumn(record_step(step, choose_rows, column, holds, other))

    # What dpframe's free functions call; pd.col expressions carry them along

    def __dpframe_where__(self, first: Any, second: Any) -> RecordedColumn:
        pair = (unwrap(first), unwrap(second))
        return RecordedColumn(choose(self.recording, *pair, step="where"))

    def __dpframe_cut__(self, bins: Any, options: Mapping[str, Any]) -> RecordedColumn:
        return RecordedColumn(cut_column(self.recording, bins, **options))

    def __dpframe_to_datetime__(self, form: Any, utc: Any) -> RecordedColumn:
        return RecordedColumn(parse_time(self.recording, form, utc=utc))

    def __dpframe_to_numeric__(self) -> RecordedColumn:
        return RecordedColumn(parse_number(self.recording))

    def _need(self, verb: str, kinds: set[Kind] | frozenset[Kind]) -> None:
        if self.recording.kind not in kinds:
            raise unsuited(f"{self.recording.text}.{verb}", self.recording)

    def _step(self, verb: str, function: Callable[[Any], Any]) -> RecordedColumn:
        call = verb if verb.endswith(")") else f"{verb}()"
        text = f"{self.recording.text}.{call}"
        return RecordedColumn(record_step(text, function, self.recording))

    def __invert__(self) -> RecordedColumn:
        self._need("~", {Kind.BOOLEAN})
        text = f"~{self.recording.text}"
        return RecordedColumn(record_step(text, lambda rows: ~rows, self.recording))

    def __neg__(self) -> RecordedColumn:
        if self.recording.kind is Kind.DURATION:
            return RecordedColumn(binary("-", pd.Timedelta(0), self.recording))
        self._need("-", {Kind.INTEGER, Kind.FLOAT})
        text = f"-{self.recording.text}"
        return RecordedColumn(record_step(text, operator.neg, self.recording))

    def __pos__(self) -> RecordedColumn:
        self._need("+", NUMBERS)
        return self

    def __abs__(self) -> RecordedColumn:
        return self.abs()

    def __round__(self, decimals: int = 0) -> RecordedColumn:
        return self.round(decimals)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> RecordedColumn:
        name = ufunc.__name__
        symbol = UFUNC_SYMBOLS.get(name)
        if method != "__call__" or options or not (symbol or name in UFUNCS):
            msg = f"numpy's {name} is not known to work row by row in this form."
            hint = FREE_HINTS.get(f"np.{name}")
            raise NotProvedTypeError(msg, step=f"np.{name}", hint=hint)
        if symbol is not None and len(inputs) == ufunc.nin == 2:  # noqa: PLR2004 - binary
            return RecordedColumn(binary(symbol, *map(unwrap, inputs)))
        self._need(f"np.{name}", {Kind.INTEGER, Kind.FLOAT})
        text = f"{name}({self.recording.text})"
        if name.startswith("is") and not self.recording.is_numpy:
            msg = f"{text} is missing where the value is."
            raise NotProvedTypeError(msg, step=f"np.{name}", hint="write isna().")

        def compute(rows: Any) -> Any:
            values = rows.to_numpy()
            if rows.dtype.kind not in "fiu" or not isinstance(rows.dtype, np.dtype):
                values = rows.to_numpy(dtype="float64", na_value=np.nan)
            values = np.ascontiguousarray(values)  # strides may choose other code
            return pd.Series(ufunc(values), index=rows.index)

        return RecordedColumn(record_step(text, compute, self.recording))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> NoReturn:
        name = getattr(func, "__name__", "a function")
        msg = f"numpy's {name} is not known to work row by row."
        raise NotProvedTypeError(
            msg,
            step=f"np.{name}",
            hint=FREE_HINTS.get(f"np.{name}", "write a method of the column."),
        )

    def __getattr__(self, name: str) -> NoReturn:  # pyright: ignore[reportInvalidTypeForm] - str is an accessor here
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_elementwise(name, "a column")

    def __getitem__(self, key: object) -> NoReturn:
        raise not_a_value("[...]", hint="rows are chosen by frame[condition].")

    def __len__(self) -> NoReturn:
        raise not_a_value("len()")

    def __iter__(self) -> NoReturn:
        raise not_a_value("iteration")

    def __contains__(self, key: object) -> NoReturn:
        raise not_a_value("in")

    def __bool__(self) -> NoReturn:
        raise not_a_value("truth value")

    def __float__(self) -> NoReturn:
        raise not_a_value("float()")

    def __int__(self) -> NoReturn:
        raise not_a_value("int()")

    def __index__(self) -> NoReturn:
        raise not_a_value("index()")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise not_a_value("array")


def _add_operators() -> None:
    """Give the stand-in Python's operators and pandas' methods of the same meaning."""

    def forward(symbol: str, *, reflected: bool) -> Callable[..., RecordedColumn]:
        def operate(
            self: RecordedColumn,
            other: Any,
            level: Any = None,
            fill_value: Any = None,
            axis: Any = 0,
        ) -> RecordedColumn:
            options = {"level": level, "fill_value": fill_value, "axis": axis}
            refuse_options(symbol, options, like=pd.Series.add)
            pair = (other, self) if reflected else (self, other)
            return RecordedColumn(binary(symbol, *map(unwrap, pair)))

        return operate

    for symbol, function in {**ARITHMETIC, **LOGIC, **COMPARISONS}.items():
        name = function.__name__.strip("_")
        plain = forward(symbol, reflected=False)
        setattr(RecordedColumn, f"__{name}__", plain)
        if symbol in COMPARISONS:
            setattr(RecordedColumn, name, plain)
            continue
        swapped = forward(symbol, reflected=True)
        setattr(RecordedColumn, f"__r{name}__", swapped)
        if symbol in ARITHMETIC:
            setattr(RecordedColumn, name, plain)
            setattr(RecordedColumn, f"r{name}", swapped)
    RecordedColumn.div = RecordedColumn.divide = RecordedColumn.truediv  # type: ignore[attr-defined]

    def both(self: RecordedColumn, other: Any) -> tuple[RecordedColumn, ...]:
        return self // other, self % other

    def swapped_both(self: RecordedColumn, other: Any) -> tuple[RecordedColumn, ...]:
        return other // self, other % self

    RecordedColumn.divmod = RecordedColumn.__divmod__ = both  # type: ignore[attr-defined]
    RecordedColumn.rdivmod = RecordedColumn.__rdivmod__ = swapped_both  # type: ignore[attr-defined]
    RecordedColumn.multiply = RecordedColumn.mul  # type: ignore[attr-defined]
    RecordedColumn.subtract = RecordedColumn.sub  # type: ignore[attr-defined]
    RecordedColumn.rdiv = RecordedColumn.rtruediv  # type: ignore[attr-defined]


_add_operators()
