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
from dpframe.proofs.pandas_accessor import RecordedAccessor
from dpframe.proofs.pandas_kinds import literal_kind
from dpframe.proofs.pandas_recording import Recording, record_step
from dpframe.proofs.pandas_refusals import (
    not_a_value,
    not_elementwise,
    refuse_options,
)
from dpframe.proofs.pandas_rules import (
    ARITHMETIC,
    COMPARISONS,
    LOGIC,
    NUMBERS,
    binary,
    cast_column,
    fill_missing,
    filler,
    members,
    unsuited,
)
from dpframe.proofs.pandas_vocabulary import INCLUSIVE, UFUNC_SYMBOLS, UFUNCS
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
    def str(self) -> RecordedAccessor:
        """Text methods, where they work value by value and cannot fail."""
        return RecordedAccessor(self.recording, "str", RecordedColumn)

    @property
    def dt(self) -> RecordedAccessor:
        """Parts of instants and durations."""
        return RecordedAccessor(self.recording, "dt", RecordedColumn)

    def isna(self, **options: Any) -> RecordedColumn:
        """Tell where values are missing."""
        return self._step("isna", lambda rows: rows.isna(), options)

    def notna(self, **options: Any) -> RecordedColumn:
        """Tell where values are not missing."""
        return self._step("notna", lambda rows: rows.notna(), options)

    isnull = isna
    notnull = notna

    def abs(self, **options: Any) -> RecordedColumn:
        """Take absolute values."""
        self._need("abs", NUMBERS | {Kind.DURATION})
        if self.recording.kind is not Kind.DURATION:
            return self._step("abs", abs, options)

        def magnitude(rows: Any) -> Any:  # wraps where pandas would raise
            return pd.Series(np.abs(rows.to_numpy()), index=rows.index)

        return self._step("abs", magnitude, options)

    def round(self, decimals: int = 0, **options: Any) -> RecordedColumn:
        """Round to a number of decimals."""
        self._need("round", {Kind.INTEGER, Kind.FLOAT})
        if literal_kind(decimals) is not Kind.INTEGER:
            msg = "round takes a whole number of decimals."
            raise ParameterTypeError(msg)
        return self._step(
            f"round({decimals})", lambda rows: rows.round(decimals), options
        )

    def astype(self, dtype: Any, **options: Any) -> RecordedColumn:
        """Cast, where no value can fail it."""
        refuse_options("astype", options)
        return RecordedColumn(cast_column(self.recording, dtype))

    def fillna(self, value: Any = None, **options: Any) -> RecordedColumn:
        """Fill missing values with a scalar or another column."""
        refuse_options("fillna", options)
        return RecordedColumn(fill_missing(self.recording, unwrap(value)))

    def isin(self, values: Any, **options: Any) -> RecordedColumn:
        """Tell which values are among public ones."""
        refuse_options("isin", options)
        if isinstance(values, (set, frozenset)):
            values = list(values)
        if not isinstance(values, (list, tuple, range, np.ndarray)):
            msg = f"isin takes public values written out, not {type(values).__name__}."
            raise NotProvedError(msg, step="isin", hint="write a list of values.")
        if not values:
            return self._step("isin([])", lambda rows: rows.isin([]), {})
        return RecordedColumn(
            members(self.recording, listed_values(values, what="values of isin"))
        )

    def between(
        self, left: Any, right: Any, inclusive: str = "both", **options: Any
    ) -> RecordedColumn:
        """Tell which values lie between two others."""
        refuse_options("between", options)
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
        refuse_options("clip", options)
        column = self.recording
        step = f"{column.text}.clip({lower!r}, {upper!r})"
        limits = [filler(column, b, step=step) for b in (lower, upper) if b is not None]
        self._need("clip", {Kind.INTEGER, Kind.FLOAT, Kind.DATETIME, Kind.DURATION})
        if any(isinstance(unwrap(limit), Recording) for limit in limits):
            msg = "clip takes public bounds, not columns."
            raise NotProvedError(msg, step="clip", hint="write where().")
        if len(limits) == 2 and not limits[0] <= limits[1]:  # noqa: PLR2004 - low and high
            msg = f"clip must have lower <= upper, not {lower!r} and {upper!r}."
            raise ParameterError(msg)
        low, high = (None if b is None else limits.pop(0) for b in (lower, upper))
        return RecordedColumn(
            record_step(step, lambda rows: rows.clip(low, high), column)
        )

    def where(self, cond: Any, other: Any = np.nan, **options: Any) -> RecordedColumn:
        """Keep values where a condition holds, and take `other` elsewhere."""
        return self._choose("where", cond, other, options)

    def mask(self, cond: Any, other: Any = np.nan, **options: Any) -> RecordedColumn:
        """Take `other` where a condition holds, and keep values elsewhere."""
        return self._choose("mask", cond, other, options)

    def _choose(
        self, verb: str, cond: Any, other: Any, options: Mapping[str, Any]
    ) -> RecordedColumn:
        refuse_options(verb, options)
        column, cond = self.recording, unwrap(cond)
        if not isinstance(cond, Recording) or cond.kind is not Kind.BOOLEAN:
            msg = f"{verb} needs a condition made of columns."
            raise NotProvedError(msg, step=verb)
        step = f"{column.text}.{verb}({cond.text})"
        if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
            raise unsuited(step, column)
        other = filler(column, unwrap(other), step=step, missing=True)

        def choose(rows: Any, holds: Any, instead: Any) -> Any:
            holds = holds.fillna(False).astype(bool)
            return getattr(rows, verb)(holds, instead)

        return RecordedColumn(record_step(step, choose, column, cond, other))

    def _need(self, verb: str, kinds: set[Kind] | frozenset[Kind]) -> None:
        if self.recording.kind not in kinds:
            raise unsuited(f"{self.recording.text}.{verb}", self.recording)

    def _step(
        self, verb: str, function: Callable[[Any], Any], options: Mapping[str, Any]
    ) -> RecordedColumn:
        refuse_options(verb, options)
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
            raise NotProvedTypeError(msg, step=f"np.{name}")
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
            msg, step=f"np.{name}", hint="for np.where write column.where(cond, other)."
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
        def operate(self: RecordedColumn, other: Any, **options: Any) -> RecordedColumn:
            refuse_options(symbol, options)
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
    RecordedColumn.rdiv = RecordedColumn.rtruediv  # type: ignore[attr-defined]


_add_operators()
