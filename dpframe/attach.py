"""Attaching a budget to a frame, and the `.dp` accessor of raw frames.

The accessor holds nothing but the frame: pandas makes a new one at every access, and
whatever were kept there would be forgotten or copied.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, cast, overload

import pandas as pd
import polars as pl

from dpframe.declare import check_contributions, declare_bounds, declare_domain
from dpframe.errors import NotAttachedError, ParameterTypeError
from dpframe.frame import PrivateFrame, State
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpframe.dialects.pandas.private import PrivatePandas
    from dpframe.dialects.polars.private import PrivatePolars

N = TypeVar("N", pl.DataFrame, pl.LazyFrame, pd.DataFrame)

HOSTS: Final = (pl.DataFrame, pl.LazyFrame, pd.DataFrame)


class AccessorConflictWarning(UserWarning):
    """Another package owns the accessor's name; it was left alone."""


@overload
def attach(
    frame: pl.DataFrame,
    accountant: Accountant,
    *,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    domain: Mapping[str, Any] | None = None,
) -> PrivatePolars[pl.DataFrame]: ...
@overload
def attach(
    frame: pl.LazyFrame,
    accountant: Accountant,
    *,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    domain: Mapping[str, Any] | None = None,
) -> PrivatePolars[pl.LazyFrame]: ...
@overload
def attach(
    frame: pd.DataFrame,
    accountant: Accountant,
    *,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    domain: Mapping[str, Any] | None = None,
) -> PrivatePandas: ...
def attach(
    frame: Any,
    accountant: Accountant,
    *,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    domain: Mapping[str, Any] | None = None,
) -> PrivateFrame:
    """Attach a budget to a frame: from here on only releases show anything of it.

    Parameters
    ----------
    frame : polars.DataFrame, polars.LazyFrame or pandas.DataFrame
        A snapshot is taken: later changes of the frame in place are not seen. Its
        schema (names, dtypes, Enum levels) is taken as public.
    accountant : Accountant
        The budget that releases are charged to; shared by reference.
    privacy_unit : str, optional
        Column that says whom a row belongs to: whoever it names is protected with
        all their rows. Rows where it is missing are dropped. Default: each row is a
        unit of its own.
    max_rows : int, optional
        Public. How many rows' worth a unit may count; the rows of a unit with more
        share that weight.
    max_groups : int, optional
        Public. In how many cells a unit may count where it counts once per cell.
    bounds : mapping of str to (low, high), optional
        Public clipping bounds by column, as in `.dp.bounds`.
    domain : mapping of str to list, optional
        Public keys by column, as in `.dp.domain`.

    Returns
    -------
    PrivateFrame
        Of the frame's own library.

    Raises
    ------
    ParameterTypeError
        If `frame` is no supported frame, or `accountant` no `Accountant`.
    ColumnNotFoundError
        If `privacy_unit` or a declared column is not there.

    Examples
    --------
    >>> budget = dpframe.Accountant(epsilon=1)
    >>> stays = pl.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]})
    >>> dpframe.attach(stays, budget, privacy_unit="patient", max_rows=2).columns
    ['patient', 'days']
    """
    dialect = _dialect_of(frame)
    _check_accountant(accountant)
    rows, groups = check_contributions(max_rows, max_groups, unit=privacy_unit)
    state = State(
        accountant=accountant,
        privacy_unit=privacy_unit,
        max_rows=rows,
        max_groups=groups,
        salt=os.urandom(16),
    )
    bare = dialect.bare(frame, state)
    declared = state.declare(
        bounds=declare_bounds(bare, bounds), domain=declare_domain(bare, domain)
    )
    return bare.with_state(declared).with_unit()


def _dialect_of(frame: object) -> type[PrivateFrame]:
    """Return the private frames of a library; its dialect is loaded with the first."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        from dpframe.dialects.polars.private import PrivatePolars  # noqa: PLC0415

        return PrivatePolars
    if isinstance(frame, pd.DataFrame):
        from dpframe.dialects.pandas.private import PrivatePandas  # noqa: PLC0415

        return PrivatePandas
    if isinstance(frame, PrivateFrame):
        msg = "This frame is attached already."
        raise ParameterTypeError(
            msg, hint="frame.dp.detach() gives the native frame back."
        )
    msg = f"A {type(frame).__name__} cannot be attached."
    raise ParameterTypeError(
        msg, hint="pass a pandas or Polars frame, such as series.to_frame()."
    )


def _check_accountant(accountant: object) -> None:
    if not isinstance(accountant, Accountant):
        msg = f"attach takes an Accountant, not {type(accountant).__name__}."
        raise ParameterTypeError(
            msg, hint="write .dp.attach(dpframe.Accountant(epsilon=1))."
        )


class RawNamespace(Generic[N]):
    """What `.dp` on a raw frame leads to: `attach`, and the hint to use it."""

    __slots__ = ("_frame",)

    def __init__(self, frame: N) -> None:
        self._frame = frame

    @overload
    def attach(
        self: RawNamespace[pl.DataFrame],
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivatePolars[pl.DataFrame]: ...
    @overload
    def attach(
        self: RawNamespace[pl.LazyFrame],
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivatePolars[pl.LazyFrame]: ...
    @overload
    def attach(
        self: RawNamespace[pd.DataFrame],
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivatePandas: ...
    def attach(
        self,
        accountant: Accountant,
        *,
        privacy_unit: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, Any] | None = None,
        domain: Mapping[str, Any] | None = None,
    ) -> PrivateFrame:
        """Attach a budget to this frame; see `dpframe.attach`, its typed twin.

        Parameters
        ----------
        accountant : Accountant
            The budget that releases are charged to; shared by reference.
        privacy_unit : str, optional
            Column that says whom a row belongs to. Rows where it is missing are left
            out. Default: each row is a unit of its own.
        max_rows, max_groups : int, optional
            Public. How many rows' worth a unit may count, and in how many cells. They
            can also be declared later, by `.dp.contributions`.
        bounds, domain : mapping, optional
            Public clipping bounds and keys by column, as in `.dp.bounds` and
            `.dp.domain`.

        Returns
        -------
        PrivateFrame
            With the verbs of its library, and releases under `.dp`.
        """
        with_budget = cast("Callable[..., PrivateFrame]", attach)
        return with_budget(
            self._frame,
            accountant,
            privacy_unit=privacy_unit,
            max_rows=max_rows,
            max_groups=max_groups,
            bounds=bounds,
            domain=domain,
        )

    def __getattr__(self, name: str) -> NoReturn:
        from dpframe.accessor import PrivateNamespace  # noqa: PLC0415 - a slow import

        if name.startswith("_") or not hasattr(PrivateNamespace, name):
            raise AttributeError(name)
        msg = f"This frame has no budget yet, so .dp.{name} cannot be released."
        hint = (
            'write .dp.attach(dpframe.Accountant(epsilon=1), privacy_unit="...") '
            "and call it on the frame that comes back."
        )
        raise NotAttachedError(msg, hint=hint)


def register(name: str = "dp") -> None:
    """Register the accessor on pandas and Polars frames under a name.

    Importing dpframe registers ``.dp``. An attribute of that name that belongs to
    someone else is left alone, with an `AccessorConflictWarning`; registering twice
    changes nothing.

    Parameters
    ----------
    name : str
        An identifier.

    Raises
    ------
    ParameterTypeError
        If `name` is no identifier.
    """
    if not (isinstance(name, str) and name.isidentifier()):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        msg = f"An accessor's name is an identifier, not {name!r}."
        raise ParameterTypeError(msg)
    for host in HOSTS:
        owner = _owner(host, name)
        if owner is RawNamespace:
            continue
        if owner is not None:
            warnings.warn(
                f"{host.__name__}.{name} belongs to another package and was left "
                "alone: use dpframe.attach(frame, ...), or dpframe.register() with "
                "another name.",
                AccessorConflictWarning,
                stacklevel=2,
            )
        elif host is pd.DataFrame:
            pd.api.extensions.register_dataframe_accessor(name)(RawNamespace)
        elif host is pl.DataFrame:
            pl.api.register_dataframe_namespace(name)(RawNamespace)
        else:
            pl.api.register_lazyframe_namespace(name)(RawNamespace)


def _owner(host: type, name: str) -> Any:
    """Return whose attribute a name is: None where it is free."""
    found: Any = host.__dict__.get(name, getattr(host, name, None))
    if found is None:
        return None
    kept: Mapping[str, Any] = getattr(found, "__dict__", {})
    for place in ("_accessor", "_ns"):  # where pandas and Polars keep the class
        if isinstance(kept.get(place), type):
            return kept[place]
    return found
