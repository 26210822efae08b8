"""Proof that a pandas step is row-local: by what it can do, not by what it says.

A callable or a `pd.col` expression never meets the rows. It is called once with a
stand-in for the frame whose columns know elementwise operations and nothing else,
and what it did to them is written down. That recording runs on the real columns;
the callable does not. Whatever the stand-ins do not know is refused by name.
"""

# pandas' accessors are loosely typed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

import numpy as np
import pandas as pd

from dpframe.declare import no_such_column
from dpframe.errors import (
    NotProvedAttributeError,
    NotProvedError,
    NotProvedTypeError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.proofs.pandas_kinds import is_missing, literal_kind
from dpframe.proofs.pandas_recording import Recording, record_column, record_step
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
from dpframe.proofs.pandas_vocabulary import (
    COLUMN_HINTS,
    INCLUSIVE,
    TEXT_METHODS,
    TIME_METHODS,
    TIME_PARTS,
    UFUNC_SYMBOLS,
    UFUNCS,
)
from dpframe.values import Kind, listed_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The visible columns of a frame, as a step may know them."""

    dtypes: Mapping[str, Any]
    duplicates: frozenset[str] = frozenset()

    def column(self, name: object) -> Recording:
        """Return the recording of one column.

        Raises
        ------
        ParameterTypeError
            If `name` is not text, or the column cannot be read.
        ColumnNotFoundError
            If there is no such column.
        ParameterError
            If the name stands for more than one.
        """
        if not isinstance(name, str):
            msg = f"A column is named by its text, not by a {type(name).__name__}."
            raise ParameterTypeError(msg)
        if name in self.duplicates:
            msg = f"Column {name!r} occurs more than once."
            raise ParameterError(msg, hint="rename one of them before attaching.")
        if name not in self.dtypes:
            raise no_such_column(name, self.dtypes)
        return record_column(name, self.dtypes[name])


def record(step: Any, schema: Schema, *, what: str) -> Recording | Any:
    """Return what a callable or `pd.col` expression does, or the scalar it gives.

    Parameters
    ----------
    step : callable or pandas.api.typing.Expression
        Called once, with a stand-in for the frame.
    schema : Schema
        The columns it may use.
    what : str
        The verb, for messages.

    Raises
    ------
    NotProvedError
        If it does, or gives, anything that is not elementwise.
    """
    if isinstance(step, pd.api.typing.Expression):
        evaluate = getattr(step, "_eval_expression", None)  # pandas has no other way
        if not callable(evaluate):
            msg = "This version of pandas keeps pd.col expressions in another way."
            raise NotProvedError(
                msg, step=what, hint="write a callable: lambda df: df[name]."
            )
        outcome = evaluate(RecordedFrame(schema, any_name=True))
    else:
        outcome = step(RecordedFrame(schema))
    if isinstance(outcome, RecordedColumn):
        return outcome.recording
    if literal_kind(outcome) is None and not is_missing(outcome):
        msg = f"{what} was given a callable that makes a {type(outcome).__name__}."
        raise NotProvedError(
            msg, step=what, hint="return elementwise work on its argument's columns."
        )
    return outcome


class _AnyName(tuple[str, ...]):
    """Column names among which any can be looked up, so that a miss is named by us."""

    __slots__ = ()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)


@final
class RecordedFrame:
    """The stand-in for a frame: its columns by name, and nothing else."""

    __slots__ = ("_names", "_schema")

    def __init__(self, schema: Schema, *, any_name: bool = False) -> None:
        self._schema = schema
        self._names = (_AnyName if any_name else tuple)(schema.dtypes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._names

    def __getitem__(self, name: object) -> RecordedColumn:
        if not isinstance(name, str):
            msg = f"df[...] takes one column name here, not a {type(name).__name__}."
            raise NotProvedTypeError(msg, step="[...]")
        return RecordedColumn(self._schema.column(name))

    def __getattr__(self, name: str) -> RecordedColumn:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._schema.dtypes or name in self._schema.duplicates:
            return self[name]
        raise _not_elementwise(name, "a frame")

    def __repr__(self) -> str:
        return f"RecordedFrame({', '.join(self._names)})"

    def __len__(self) -> NoReturn:
        raise _not_a_value("len()")

    def __iter__(self) -> NoReturn:
        raise _not_a_value("iteration")

    def __contains__(self, key: object) -> NoReturn:
        raise _not_a_value("in", hint="df.columns holds the names.")

    def __bool__(self) -> NoReturn:
        raise _not_a_value("a truth value")


def _not_a_value(step: str, *, hint: str | None = None) -> NotProvedTypeError:
    msg = f"A private column has no {step}: that would read its rows."
    return NotProvedTypeError(
        msg,
        step=step,
        hint=hint or "stay elementwise: & | ~ for logic, where(), isin(), isna().",
    )


def _not_elementwise(name: str, on: str) -> NotProvedAttributeError:
    msg = f"{name} on {on} looks at other rows, or is not known to work row by row."
    hint = COLUMN_HINTS.get(name, "write it as elementwise operations on columns.")
    return NotProvedAttributeError(msg, step=name, hint=hint)


def _unwrap(value: Any) -> Any:
    return value.recording if isinstance(value, RecordedColumn) else value


def _refuse_options(step: str, options: Mapping[str, Any]) -> None:
    for name in options:
        msg = f"{step}({name}=...) is not known to work row by row."
        raise NotProvedTypeError(
            msg, step=f"{step}({name}=)", hint=f"leave {name} out."
        )


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
        return RecordedAccessor(self.recording, "str")

    @property
    def dt(self) -> RecordedAccessor:
        """Parts of instants and durations."""
        return RecordedAccessor(self.recording, "dt")

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
        _refuse_options("astype", options)
        return RecordedColumn(cast_column(self.recording, dtype))

    def fillna(self, value: Any = None, **options: Any) -> RecordedColumn:
        """Fill missing values with a scalar or another column."""
        _refuse_options("fillna", options)
        return RecordedColumn(fill_missing(self.recording, _unwrap(value)))

    def isin(self, values: Any, **options: Any) -> RecordedColumn:
        """Tell which values are among public ones."""
        _refuse_options("isin", options)
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
        _refuse_options("between", options)
        symbols = INCLUSIVE.get(inclusive)
        if symbols is None:
            msg = f"inclusive must be one of {', '.join(INCLUSIVE)}."
            raise ParameterError(msg)
        low = binary(symbols[0], self.recording, _unwrap(left))
        high = binary(symbols[1], self.recording, _unwrap(right))
        return RecordedColumn(binary("&", low, high))

    def clip(
        self, lower: Any = None, upper: Any = None, **options: Any
    ) -> RecordedColumn:
        """Move values outside public bounds onto them."""
        _refuse_options("clip", options)
        column = self.recording
        step = f"{column.text}.clip({lower!r}, {upper!r})"
        limits = [filler(column, b, step=step) for b in (lower, upper) if b is not None]
        self._need("clip", {Kind.INTEGER, Kind.FLOAT, Kind.DATETIME, Kind.DURATION})
        if any(isinstance(_unwrap(limit), Recording) for limit in limits):
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
        _refuse_options(verb, options)
        column, cond = self.recording, _unwrap(cond)
        if not isinstance(cond, Recording) or cond.kind is not Kind.BOOLEAN:
            msg = f"{verb} needs a condition made of columns."
            raise NotProvedError(msg, step=verb)
        step = f"{column.text}.{verb}({cond.text})"
        if column.kind in {Kind.OBJECT, Kind.DECIMAL}:
            raise unsuited(step, column)
        other = filler(column, _unwrap(other), step=step, missing=True)

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
        _refuse_options(verb, options)
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
            return RecordedColumn(binary(symbol, *map(_unwrap, inputs)))
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
        raise _not_elementwise(name, "a column")

    def __getitem__(self, key: object) -> NoReturn:
        raise _not_a_value("[...]", hint="rows are chosen by frame[condition].")

    def __len__(self) -> NoReturn:
        raise _not_a_value("len()")

    def __iter__(self) -> NoReturn:
        raise _not_a_value("iteration")

    def __contains__(self, key: object) -> NoReturn:
        raise _not_a_value("in")

    def __bool__(self) -> NoReturn:
        raise _not_a_value("truth value")

    def __float__(self) -> NoReturn:
        raise _not_a_value("float()")

    def __int__(self) -> NoReturn:
        raise _not_a_value("int()")

    def __index__(self) -> NoReturn:
        raise _not_a_value("index()")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise _not_a_value("array")


def _add_operators() -> None:
    """Give the stand-in Python's operators and pandas' methods of the same meaning."""

    def forward(symbol: str, *, reflected: bool) -> Callable[..., RecordedColumn]:
        def operate(self: RecordedColumn, other: Any, **options: Any) -> RecordedColumn:
            _refuse_options(symbol, options)
            pair = (other, self) if reflected else (self, other)
            return RecordedColumn(binary(symbol, *map(_unwrap, pair)))

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


@final
class RecordedAccessor:
    """The stand-in for `.str` and `.dt`."""

    __slots__ = ("_accessor", "_column")

    def __init__(self, column: Recording, accessor: str) -> None:
        self._column = column
        self._accessor = accessor
        kinds = {Kind.TEXT} if accessor == "str" else _TIMES
        if column.kind not in kinds:
            raise unsuited(f"{column.text}.{accessor}", column)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        text = f"{self._column.text}.{self._accessor}.{name}"
        accessor = self._accessor
        if accessor == "dt" and name in TIME_PARTS:
            return RecordedColumn(
                record_step(text, lambda rows: getattr(rows.dt, name), self._column)
            )
        if name not in (TEXT_METHODS if accessor == "str" else TIME_METHODS):
            raise _not_elementwise(name, f".{accessor}")

        def call(*args: Any, **options: Any) -> RecordedColumn:
            for value in (*args, *options.values()):
                _check_argument(value, step=text)
            shown = [*map(repr, args), *(f"{k}={v!r}" for k, v in options.items())]

            def compute(rows: Any) -> Any:
                return getattr(getattr(rows, accessor), name)(*args, **options)

            step = f"{text}({', '.join(shown)})"
            return RecordedColumn(record_step(step, compute, self._column))

        return call

    def __getitem__(self, key: object) -> RecordedColumn:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.get(key)

    def __iter__(self) -> NoReturn:
        raise _not_a_value("iteration")


_TIMES: Final = frozenset({Kind.DATE, Kind.DATETIME, Kind.DURATION})


def _check_argument(value: Any, *, step: str) -> None:
    plain = isinstance(value, (str, int, bool)) or value is None
    if isinstance(value, tuple):
        plain = all(isinstance(part, str) for part in value)
    if not plain:
        msg = f"A {type(value).__name__} cannot be an argument of {step}."
        raise NotProvedError(msg, step=step, hint="write text or a whole number.")
