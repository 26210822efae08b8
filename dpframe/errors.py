"""What can go wrong, and what it costs: nothing, but for three that come late.

The errors below are raised from parameters and schema alone, before a row is read
and before anything is charged. `EvaluationError`, `RandomnessError` and, where a ledger
is lost during a release, `LedgerError` may come after the charge, which then stays
spent; none quotes what it met.

    DPFrameError
    ├─ PrivacyError
    │  ├─ BudgetExceededError    more was asked than remains
    │  ├─ NotProvedError         a step could not be shown to keep units apart
    │  │  ├─ NotProvedAttributeError    met as an attribute (an AttributeError)
    │  │  └─ NotProvedTypeError         met as a protocol (a TypeError)
    │  └─ NotAttachedError       a release on a raw frame (an AttributeError)
    ├─ ParameterError            a value out of range (a ValueError)
    │  ├─ BoundsRequiredError    clipping bounds or contribution limits are missing
    │  ├─ DomainRequiredError    keys, edges or a step are missing
    │  └─ ColumnNotFoundError    no such column
    ├─ ParameterTypeError        a value of the wrong kind (a TypeError)
    ├─ EvaluationError           the engine could not run the frame's own plan
    ├─ LedgerError               a budget's record could not be used
    │  ├─ LedgerBusyError
    │  └─ LedgerCorruptError
    ├─ RandomnessError           the operating system gave no usable random bytes
    └─ MissingExtraError         an optional package is missing (an ImportError)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


class Amounts(Protocol):
    """What a `Loss` holds: exact amounts, None where one is not tracked."""

    @property
    def epsilon(self) -> Fraction | None:
        """The ε, unitless."""
        ...

    @property
    def delta(self) -> Fraction | None:
        """The δ, unitless."""
        ...

    @property
    def rho(self) -> Fraction | None:
        """The ρ, unitless."""
        ...


class DPFrameError(Exception):
    """Base of all errors of this package: a fact, a consequence and a hint."""

    def __init__(self, fact: str, *, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(fact if hint is None else f"{fact}\nHint: {hint}")


class PrivacyError(DPFrameError):
    """A request that the privacy guarantee does not allow."""


class BudgetExceededError(PrivacyError):
    """A release costs more than what remains; nothing was released or spent."""

    def __init__(
        self,
        fact: str,
        *,
        requested: Amounts,
        remaining: Amounts,
        hint: str | None = None,
    ) -> None:
        self.requested = requested
        self.remaining = remaining
        super().__init__(fact, hint=hint)


class NotProvedError(PrivacyError):
    """A step that could not be shown to keep privacy units apart."""

    def __init__(self, fact: str, *, step: str, hint: str | None = None) -> None:
        self.step = step
        super().__init__(fact, hint=hint)


class NotProvedAttributeError(NotProvedError, AttributeError):
    """The same, met as an attribute that a private frame does not have."""


class NotProvedTypeError(NotProvedError, TypeError):
    """The same, met as a protocol (length, iteration) that it does not have."""


class NotAttachedError(PrivacyError, AttributeError):
    """A release on a frame that has no budget yet."""


class ParameterError(DPFrameError, ValueError):
    """A parameter of the right kind with a value that cannot be used."""


class BoundsRequiredError(ParameterError):
    """Clipping bounds or a contribution limit are needed and not declared."""


class DomainRequiredError(ParameterError):
    """Keys, edges or a step are needed and not declared."""


class ColumnNotFoundError(ParameterError):
    """A column that the frame does not have."""

    def __init__(
        self,
        fact: str,
        *,
        column: str,
        close_matches: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        self.column = column
        self.close_matches = tuple(close_matches)
        super().__init__(fact, hint=hint)


class ParameterTypeError(DPFrameError, TypeError):
    """A parameter of the wrong kind."""


class EvaluationError(DPFrameError):
    """The engine could not evaluate the frame; its own words are withheld."""


class LedgerError(DPFrameError):
    """A budget's record could not be used."""


class LedgerBusyError(LedgerError):
    """Another process holds the ledger."""


class LedgerCorruptError(LedgerError):
    """The ledger is damaged or was changed."""


class NotDurableWarning(UserWarning):
    """A ledger is kept where it may be lost, and what was spent with it."""


class FewRowsWarning(UserWarning):
    """There are too few rows for answers that are worth their cost."""


class RandomnessError(DPFrameError):
    """The operating system gave no usable random bytes; nothing was released."""


class MissingExtraError(DPFrameError, ImportError):
    """An optional package is missing; the message names the extra."""
