"""Stand-ins for the free functions of pandas, which would look at all rows.

`numpy.where`, `pandas.cut` and others ask for values, which a step never has. These
work on the columns of a step: those that a callable is given, and `pd.col`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import pandas as pd
import polars as pl

from dpframe.errors import NotProvedError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence


def where(condition: Any, a: Any, b: Any) -> Any:
    """Take one value where a condition holds, and another elsewhere.

    Stands in for `numpy.where` in the steps of a private frame.

    Parameters
    ----------
    condition : column or expression
        True or false for each row, made of the step's own columns. Where it is
        missing, it does not hold.
    a, b : column, expression or scalar
        Taken where it holds, and where it does not. Scalars are public.

    Returns
    -------
    column or expression
        In the dtype that holds both, which depends on their dtypes alone. Whole
        numbers beside None are `Int64`, beside NaN `float64`.

    Raises
    ------
    NotProvedError
        If the condition is not made of columns.
    ParameterTypeError
        If no dtype holds both.

    Privacy
    -------
    Row-local: costs nothing.

    Examples
    --------
    Inside a step, on the columns of a callable or on `pd.col`:

    >>> people = pd.DataFrame({"age": [12, 40, 71], "fee": [1.0, 2.0, 3.0]})
    >>> private = people.dp.attach(dpframe.Accountant(epsilon=1))
    >>> private = private.assign(
    ...     group=lambda d: dpframe.where(d.age < 18, "child", "adult"),
    ...     due=dpframe.where(pd.col("age") < 18, 0, pd.col("fee")) * 2,
    ... )
    >>> dict(private.dtypes)["due"]
    dtype('float64')
    """
    if any(isinstance(value, pl.Expr) for value in (condition, a, b)):
        first, second = (v if isinstance(v, pl.Expr) else pl.lit(v) for v in (a, b))
        return pl.when(condition).then(first).otherwise(second)
    method = _recorder(condition, "where", "__dpframe_where__")
    return method(a, b)


def cut(
    x: Any,
    bins: Sequence[Any],
    *,
    right: bool = True,
    labels: Sequence[Any] | bool | None = None,
    include_lowest: bool = False,
    precision: int = 3,
    ordered: bool = True,
) -> Any:
    """Put numbers or times into bins with public edges.

    Stands in for `pandas.cut` in the steps of a private frame.

    Parameters
    ----------
    x : column or expression
        Numbers, instants or durations.
    bins : list
        The edges, which increase. Public. A number of bins is refused, since their
        edges would depend on all rows.
    right : bool
        Whether bins hold their right edge, or else their left one.
    labels : list, False or None
        One label for each bin, text or whole numbers. Public. None writes the
        bins as pandas does, ``"(0, 18]"``; False numbers them from 0, as `Int64`.
    include_lowest : bool
        Whether the first bin holds its left edge too.
    precision : int
        Decimals of edges in labels.
    ordered : bool
        Whether the labels are ordered; if not, two bins may have one label.

    Returns
    -------
    column or expression
        A category of the labels, which `assign` declares as the column's public
        keys. What is in no bin is missing.

    Raises
    ------
    NotProvedError
        If `bins` is a number.
    ParameterError
        If edges do not increase, or there are not as many labels as bins.
    ParameterTypeError
        If the edges do not suit the column.

    Privacy
    -------
    Row-local: costs nothing.

    Examples
    --------
    Counting by groups of age:

    >>> people = pd.DataFrame({"age": [3, 15, 40, 71] * 500})
    >>> private = people.dp.attach(dpframe.Accountant(epsilon=1))
    >>> private = private.assign(
    ...     group=lambda d: dpframe.cut(d.age, [0, 17, 64, 120], labels=["a", "b", "c"])
    ... )
    >>> list(private.dp.value_counts("group", epsilon=0.5).to_pandas()["group"])
    ['a', 'b', 'c']
    """
    if isinstance(x, pl.Expr):
        _refuse_polars("cut", "x.cut(breaks, labels=[...])")
    options = {
        "right": right,
        "labels": labels,
        "include_lowest": include_lowest,
        "precision": precision,
        "ordered": ordered,
    }
    return _recorder(x, "cut", "__dpframe_cut__")(bins, options)


def to_datetime(
    x: Any,
    *,
    format: str | None = None,  # noqa: A002 - as pandas has it
    utc: bool = False,
    errors: str = "coerce",
) -> Any:
    """Read instants from text.

    Stands in for `pandas.to_datetime` in the steps of a private frame.

    Parameters
    ----------
    x : column or expression
        Text, or whole numbers such as 20240229.
    format : str
        As for `pandas.to_datetime`: ``"%Y-%m-%d %H:%M:%S"``. Public, and required:
        pandas would guess it from the rows.
    utc : bool
        Whether the instants are in UTC; needed where the text has zones (``%z``).
    errors : str
        ``"coerce"``: what does not fit is missing. pandas' others are refused.

    Returns
    -------
    column or expression
        Instants in microseconds; what does not fit the format is missing.

    Raises
    ------
    NotProvedError
        If the format has parts about which nothing is known, or `errors` says to
        fail on a value.
    ParameterTypeError
        If there is no format, or `x` does not hold text.

    Privacy
    -------
    Row-local: costs nothing.

    Examples
    --------
    >>> visits = pd.DataFrame({"day": ["2024-02-29", "unknown"]})
    >>> private = visits.dp.attach(dpframe.Accountant(epsilon=1))
    >>> private = private.assign(
    ...     year=lambda d: dpframe.to_datetime(d.day, format="%Y-%m-%d").dt.year
    ... )
    >>> dict(private.dtypes)["year"]
    Int64Dtype()
    """
    if isinstance(x, pl.Expr):
        _refuse_polars("to_datetime", "x.str.to_datetime(format, strict=False)")
    _check_errors("to_datetime", errors)
    return _recorder(x, "to_datetime", "__dpframe_to_datetime__")(format, utc)


def to_numeric(x: Any, errors: str = "coerce") -> Any:
    """Read numbers from text.

    Stands in for `pandas.to_numeric` in the steps of a private frame.

    Parameters
    ----------
    x : column or expression
        Text; numbers stay as they are.
    errors : str
        ``"coerce"``: what is no number is missing. pandas' others are refused.

    Returns
    -------
    column or expression
        Doubles; what is no number is missing.

    Raises
    ------
    NotProvedError
        If `errors` says to fail on a value.
    ParameterTypeError
        If `x` holds neither text nor numbers.

    Privacy
    -------
    Row-local: costs nothing.

    Examples
    --------
    >>> bills = pd.DataFrame({"amount": ["12.50", "n/a"]})
    >>> private = bills.dp.attach(dpframe.Accountant(epsilon=1))
    >>> private = private.assign(amount=dpframe.to_numeric(pd.col("amount")))
    >>> dict(private.dtypes)["amount"]
    dtype('float64')
    """
    if isinstance(x, pl.Expr):
        _refuse_polars("to_numeric", "x.cast(pl.Float64, strict=False)")
    _check_errors("to_numeric", errors)
    return _recorder(x, "to_numeric", "__dpframe_to_numeric__")()


_RAW: Final = {
    "where": "Raw columns have numpy.where.",
    "cut": "Raw columns have pandas.cut.",
    "to_datetime": "Raw columns have pandas.to_datetime.",
    "to_numeric": "Raw columns have pandas.to_numeric.",
}


def _check_errors(function: str, errors: object) -> None:
    if errors != "coerce":
        msg = (
            f"{function}(errors={errors!r}) would fail, or not, by what the rows hold."
        )
        hint = 'leave errors out, or write errors="coerce": what is unread is missing.'
        raise NotProvedError(msg, step=f"{function}(errors=)", hint=hint)


def _recorder(x: object, function: str, method: str) -> Any:
    """Return the method that records a function on a column or expression.

    A `pd.col` expression puts off every method, this one too, until it is given
    its columns; so what comes out is an expression like any other.
    """
    kind = type(x)
    if kind is pd.api.typing.Expression or hasattr(kind, method):
        return getattr(x, method)
    msg = f"dpframe.{function} takes a column of a step, not a {kind.__name__}."
    hint = f"give it df[name] in a callable, or pd.col(name). {_RAW[function]}"
    raise ParameterTypeError(msg, hint=hint)


def _refuse_polars(function: str, spelling: str) -> NoReturn:
    msg = f"dpframe.{function} stands in for a function of pandas."
    raise NotProvedError(msg, step=function, hint=f"in Polars write {spelling}.")
