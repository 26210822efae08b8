"""A private frame: a native frame, and the frozen privacy state it carries.

The verbs of each library live in `dpframe.dialects`; this module holds what they
share. A private frame never shows a value: its only way out is a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from dpframe.privacy.scope import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from dpframe.privacy.accountant import Accountant
    from dpframe.privacy.scope import Scope
    from dpframe.tally import Contribution, KeyAxis
    from dpframe.values import Bounds, Keys

UNIT: Final = "__dpframe_unit__"
"""The hidden column that carries the privacy unit through every step.

It is taken at attach and no verb can name it. A frame without a privacy unit
carries a constant there, so that every frame keeps its rows whatever is selected.
"""


def is_reserved(name: object) -> bool:
    """Return whether a column name is kept for hidden columns.

    All that begin like `UNIT` are: steps need names that no visible column has.
    """
    return isinstance(name, str) and name.startswith(UNIT)


class Step(str):
    """One proved step, in public words.

    Parameters
    ----------
    text : str
        The whole step, for records: ``with_columns(decade=[(col("age")) // (10)])``.
    short : str, optional
        The same where space is scarce: ``with_columns(decade)``.
    """

    __slots__ = ("short",)

    short: str

    def __new__(cls, text: str, short: str | None = None) -> Self:
        """Return the text, which knows its short form."""
        step = super().__new__(cls, text)
        step.short = text if short is None else short
        return step

    def __reduce__(self) -> tuple[type[Step], tuple[str, str]]:
        """Pickle both texts."""
        return Step, (str(self), self.short)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a private frame carries beside its rows.

    Attributes
    ----------
    accountant : Accountant
        The budget that releases of this frame are charged to; shared, never copied.
    privacy_unit : str or None
        Column that says whom a row belongs to; None where each row is a unit.
    max_rows, max_groups : int or None
        Contribution limits per privacy unit.
    bounds, domain : mapping
        Public clipping bounds and public keys, by column.
    steps : tuple of Step
        The proved steps since attach, as text.
    salt : bytes
        Decides which cells a unit over `max_groups` keeps. Need not be secret.
    scope : Scope
        Where in the budget releases are charged: the whole of it, or a part of a
        partition.
    one_row : bool
        Whether every unit has one row at most by construction, so that no limit has
        to be enforced.
    unit_visible : bool
        Whether the column `privacy_unit` is there and still says whose a row is.
    """

    accountant: Accountant
    privacy_unit: str | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=lambda: MappingProxyType({}))
    domain: Mapping[str, Keys] = field(default_factory=lambda: MappingProxyType({}))
    steps: tuple[Step, ...] = ()
    salt: bytes = b""
    scope: Scope = ROOT
    one_row: bool = False
    unit_visible: bool = True

    @property
    def rows_are_units(self) -> bool:
        """Whether one row is all that a privacy unit has, without a limit."""
        return self.privacy_unit is None or self.one_row

    @property
    def known(self) -> set[str]:
        """The columns that something is known of: the unit's, and those declared."""
        unit = () if self.privacy_unit is None else (self.privacy_unit,)
        return {*unit, *self.bounds, *self.domain}

    def declare(
        self,
        *,
        bounds: Mapping[str, Bounds] | None = None,
        domain: Mapping[str, Keys] | None = None,
    ) -> State:
        """Return the state with these declarations added; the last one wins."""
        return replace(
            self,
            bounds=MappingProxyType({**self.bounds, **(bounds or {})}),
            domain=MappingProxyType({**self.domain, **(domain or {})}),
        )

    def after(self, step: str) -> State:
        """Return the state with one more proved step on record."""
        return replace(
            self,
            steps=(*self.steps, step if isinstance(step, Step) else Step(step)),
        )

    def forget(self, columns: Sequence[str]) -> State:
        """Return the state without what was known of these columns."""
        gone = set(columns)
        return replace(
            self,
            unit_visible=self.unit_visible and self.privacy_unit not in gone,
            bounds=MappingProxyType(
                {k: v for k, v in self.bounds.items() if k not in gone}
            ),
            domain=MappingProxyType(
                {k: v for k, v in self.domain.items() if k not in gone}
            ),
        )

    def rename(self, names: Mapping[str, str]) -> State:
        """Return the state with its unit and declarations under the new names."""
        unit = self.privacy_unit
        return replace(
            self,
            privacy_unit=None if unit is None else names.get(unit, unit),
            bounds=MappingProxyType(
                {names.get(k, k): v for k, v in self.bounds.items()}
            ),
            domain=MappingProxyType(
                {names.get(k, k): v for k, v in self.domain.items()}
            ),
        )

    def __reduce__(self) -> tuple[Callable[..., State], tuple[dict[str, Any]]]:
        """Pickle the fields; the accountant first, since it may refuse."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return _restored, (
            {**held, "bounds": dict(self.bounds), "domain": dict(self.domain)},
        )


def _restored(held: dict[str, Any]) -> State:
    """Return a state that was pickled."""
    return State(**held).declare()


_MACHINERY: Final = frozenset(
    [
        "bare",
        "duplicate_names",
        "parts",
        "private_state",
        "scan",
        "stacked",
        "to_host",
        "types",
        "unit_dtype",
        "with_state",
        "with_unit",
    ]
)
"""What engines and the namespace take from a private frame: not for its users."""


class PrivateFrame(ABC):
    """A native frame that only proved steps and paid releases can be made from.

    Not built directly: `frame.dp.attach(...)` or `dpframe.attach(frame, ...)`.
    """

    __slots__ = ("_native", "_state", "dp")

    _native: Any
    _state: State

    def __dir__(self) -> Iterable[str]:
        """Return what completion offers: verbs, the schema and `dp`."""
        return [name for name in super().__dir__() if name not in _MACHINERY]

    @property
    def private_state(self) -> State:
        """The frozen privacy state, public by nature (also `.dp.state`)."""
        return self._state

    @classmethod
    @abstractmethod
    def bare(cls, native: Any, state: State) -> Self:
        """Return native rows under a state, checked by their schema alone.

        They have no hidden unit column yet: `with_unit` reads it off the rows.
        """

    @abstractmethod
    def with_unit(self) -> Self:
        """Return the rows that have a unit, with the hidden column taken from it."""

    @abstractmethod
    def with_state(self, state: State) -> Self:
        """Return the same rows under another state."""

    @abstractmethod
    def types(self) -> Mapping[str, pl.DataType]:
        """Return the Polars dtype of each visible column, in order.

        A pandas object column is `pl.Object`. Duplicate names are absent, so that
        they are refused when used; `duplicate_names` has them.
        """

    @abstractmethod
    def duplicate_names(self) -> frozenset[str]:
        """Return the names that stand for more than one column."""

    @abstractmethod
    def scan(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Hand the rows to an engine: these columns in these dtypes, and `UNIT`.

        The dtypes are those of `types()`, save for object columns, which take the
        one asked for; there a value of another type becomes null. No other
        column is read. Called by engines alone, after the charge.
        """

    @abstractmethod
    def parts(self, axis: KeyAxis, units: Contribution) -> Sequence[Self]:
        """Return the rows of each key, under this frame's own state.

        `units` says how many parts a unit keeps; its choice is made by its own rows.
        """

    @abstractmethod
    def unit_dtype(self) -> object:
        """Return the host's dtype of the hidden unit column."""

    @abstractmethod
    def stacked(self, others: Sequence[Any]) -> Self:
        """Return the rows of this frame and of others, under this frame's state.

        They have the same columns by name, of the same dtypes.
        """

    @abstractmethod
    def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> Any:
        """Return a public table as this library's frame.

        `like` maps a column of the table to the column of this frame whose host
        dtype it takes (a pandas category stays a category).
        """

    @abstractmethod
    def detach(self) -> Any:
        """Return the native frame without the hidden column; tracking ends."""
