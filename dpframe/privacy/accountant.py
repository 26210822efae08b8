"""The budget: one object that the caller creates, and that no copy spends twice.

An accountant is a privacy filter. It compares exact rationals, so that ten charges
of 0.1 fill a budget of 1 and nothing fits after them.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR
from threading import Lock
from typing import TYPE_CHECKING, Final, NoReturn, Self, SupportsIndex, final
from uuid import UUID, uuid4

import polars as pl

from dpframe.errors import (
    BudgetExceededError,
    LedgerError,
    ParameterError,
    ParameterTypeError,
    RandomnessError,
)
from dpframe.privacy.display import Charge, accountant_html, accountant_text
from dpframe.privacy.loss import Loss, decimal_text, exact_amount
from dpframe.privacy.scope import ROOT, Costs
from dpframe.table import Table

if TYPE_CHECKING:
    from fractions import Fraction

    from dpframe.privacy.loss import Amount
    from dpframe.privacy.scope import Scope

_DATASET: Final = "default"
_SCHEMA: Final = {
    "sequence": pl.Int64(),
    "time": pl.Datetime("us", "UTC"),
    "dataset": pl.String(),
    "mechanism": pl.String(),
    "columns": pl.String(),
    "parameters": pl.String(),
    "cost": pl.String(),
    "scope": pl.String(),
    "charged": pl.String(),
    "state": pl.String(),
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """What a charge pays for, in public words only.

    Attributes
    ----------
    mechanism : str
        The release, as in ``"histogram"``.
    columns : tuple of str
        Columns it reads.
    parameters : str
        Its public parameters, as text.
    steps : tuple of str
        The proved steps that led to the frame; recorded with the parameters.
    scope : Scope
        Where in the budget it is charged.
    """

    mechanism: str
    columns: tuple[str, ...]
    parameters: str
    steps: tuple[str, ...] = ()
    scope: Scope = ROOT


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One row of the record; rows are never changed."""

    time: dt.datetime
    event: Event
    cost: Loss
    charged: Fraction
    state: str
    request: UUID


@dataclass(frozen=True, kw_only=True)
class _State:
    """All that changes, replaced in one assignment so that no half is ever seen."""

    costs: Costs = field(default_factory=Costs)
    rows: tuple[_Row, ...] = ()
    unreleased: frozenset[UUID] = frozenset()

    @property
    def spent(self) -> Fraction:
        """What the whole budget has paid for."""
        return self.costs.of(ROOT)


@final
class Accountant:
    """A privacy budget in this process's memory: epsilons that add up.

    Copies of it are the same object, and so is what pandas copies from `attrs`.

    Parameters
    ----------
    epsilon : float
        Total privacy loss ε, unitless, in ``(0, inf)``. Floats are read as their
        shortest decimal: ``0.1`` is exactly 1/10.

    Privacy
    -------
    Everything charged here together is ε-DP, also when what is asked depends on
    earlier answers. The budget ends with the process: making it again starts a
    fresh one.

    Raises
    ------
    ParameterTypeError
        If `epsilon` is not a number.
    ParameterError
        If it is 0, negative, NaN or infinite.

    Examples
    --------
    >>> budget = Accountant(epsilon=3)
    >>> budget.allows(epsilon=2), budget.allows(epsilon=4)
    (True, False)
    """

    __slots__ = ("__weakref__", "_lock", "_pid", "_state", "_total")

    def __init__(self, epsilon: Amount) -> None:
        if hasattr(self, "_state"):
            msg = "a budget is made once: what it spent is not forgotten."
            raise ParameterTypeError(msg, hint="make a new Accountant.")
        self._total = exact_amount(epsilon, what="epsilon")
        self._state = _State()
        self._lock = Lock()
        self._pid = os.getpid()

    @property
    def total(self) -> Loss:
        """The whole budget."""
        return Loss(epsilon=self._total)

    @property
    def spent(self) -> Loss:
        """What was charged so far."""
        return Loss(epsilon=self._state.spent)

    @property
    def remaining(self) -> Loss:
        """What can still be charged."""
        return Loss(epsilon=self._total - self._state.spent)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The measures in which losses add up here: ``"epsilon"``, ``"rho"``, or both.

        Each is a filter of its own; a charge needs one that still holds.
        """
        return ("epsilon",)

    def settle(self, stated: Loss, scope: Scope = ROOT) -> Loss:
        """Return the loss that a call's stated one means here: which noise it buys.

        Parameters
        ----------
        stated : Loss
            An epsilon or a rho, as the caller wrote it.
        scope : Scope
            Where it would be charged.

        Returns
        -------
        Loss
            An epsilon for pure noise, a rho for Gaussian noise.

        Raises
        ------
        ParameterError
            For a rho where only epsilons add up.
        """
        del scope
        if stated.epsilon is None:
            msg = "rho= needs a budget in rho or (epsilon, delta); this one is pure."
            raise ParameterError(msg, hint="pass epsilon= instead.")
        return stated

    def allows(self, *, epsilon: Amount) -> bool:
        """Tell whether a charge would be granted now; nothing is spent.

        Parameters
        ----------
        epsilon : float
            Privacy loss ε, unitless, in ``(0, inf)``.

        Returns
        -------
        bool
            True where it fits into what remains.
        """
        amount = exact_amount(epsilon, what="epsilon")
        return self._state.spent + amount <= self._total

    @property
    def events(self) -> Table:
        """The record, one row per charge and one more when it is released.

        Columns are ``sequence``, ``time``, ``dataset``, ``mechanism``, ``columns``,
        ``parameters``, ``cost``, ``scope``, ``charged`` and ``state``. Costs are
        exact. The row of a release repeats that of its charge, with state
        ``released``. In memory the dataset is ``default``. The scope is ``root``, or
        the part of a partition that was released from; ``charged`` is by how much the
        release raised what the whole budget has spent. That is less than its cost, or
        nothing, where other parts of the partition had cost more.
        """
        rows = [
            (
                sequence,
                row.time,
                _DATASET,
                row.event.mechanism,
                ", ".join(row.event.columns),
                "; ".join([row.event.parameters, *row.event.steps]),
                row.cost.exact,
                row.event.scope.name,
                Loss(epsilon=row.charged).exact,
                row.state,
            )
            for sequence, row in enumerate(self._state.rows, start=1)
        ]
        return Table(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))

    def charge(self, cost: Loss, event: Event) -> Receipt:
        """Spend `cost` before anything is read, or refuse and change nothing.

        Parameters
        ----------
        cost : Loss
            A pure loss, greater than 0.
        event : Event
            What it pays for, in public words.

        Returns
        -------
        Receipt
            To be marked when the answer is handed out.

        Raises
        ------
        BudgetExceededError
            If `cost` is more than what remains.
        ParameterError
            If `cost` is no pure loss, or 0.
        LedgerError
            In a forked child, whose copy of the budget would be spent twice.
        RandomnessError
            If the operating system gives no random bytes to name the charge with.
        """
        amount = _pure(cost)
        now, request = dt.datetime.now(dt.UTC), _new_request()
        self._check_process()
        with self._lock:
            state = self._state
            costs = state.costs.after(event.scope, amount)
            if costs.of(ROOT) > self._total:
                raise _exceeded(cost, self._room(event.scope))
            row = _Row(
                time=now,
                event=event,
                cost=cost,
                charged=costs.of(ROOT) - state.spent,
                state="charged",
                request=request,
            )
            self._state = replace(
                state,
                costs=costs,
                rows=(*state.rows, row),
                unreleased=state.unreleased | {request},
            )
        return Receipt(accountant=self, cost=cost, request=request)

    def room(self, scope: Scope) -> Loss:
        """Return the most that a release in a scope could cost now.

        In a part of a partition that is more than `remaining` where other parts have
        cost more: up to their cost it raises nothing.
        """
        return Loss(epsilon=self._room(scope))

    def _room(self, scope: Scope) -> Fraction:
        costs = self._state.costs
        return self._total - costs.of(ROOT) + costs.slack(scope)

    def mark_released(self, request: UUID) -> None:
        """Record that the answer of a charge was handed out; see `Receipt.released`."""
        self._check_process()
        now = dt.datetime.now(dt.UTC)
        with self._lock:
            state = self._state
            if request not in state.unreleased:
                msg = "this charge has been released already, or was made elsewhere."
                raise LedgerError(msg, hint="charge again for another release.")
            charged = next(r for r in reversed(state.rows) if r.request == request)
            self._state = replace(
                state,
                rows=(*state.rows, replace(charged, time=now, state="released")),
                unreleased=state.unreleased - {request},
            )

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            msg = (
                "this budget lives in the memory of the process that made it, "
                "not in this forked child.\n"
                "Nothing was released and nothing was spent."
            )
            raise LedgerError(
                msg, hint="charge in the parent; several processes need a ledger."
            )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        msg = "a budget in memory cannot be pickled: its copies would be spent twice."
        raise ParameterTypeError(
            msg, hint="a budget that several processes share needs a ledger."
        )

    def _charges(self) -> list[Charge]:
        return [
            Charge(
                mechanism=row.event.mechanism,
                columns=", ".join(row.event.columns),
                cost=_pure(row.cost),
                scope="" if row.event.scope is ROOT else row.event.scope.name,
                charged=row.charged,
            )
            for row in self._state.rows
            if row.state == "charged"
        ]

    def __repr__(self) -> str:
        return accountant_text(self._total, self._charges())

    def _repr_html_(self) -> str:
        return accountant_html(self._total, self._charges())


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Proof that a charge was granted; good for one release.

    Attributes
    ----------
    accountant : Accountant
        Where it was charged.
    cost : Loss
        What was charged.
    request : UUID
        Names the charge.
    """

    accountant: Accountant = field(repr=False)
    cost: Loss
    request: UUID = field(repr=False)

    def released(self) -> None:
        """Record that the answer was handed out.

        Raises
        ------
        LedgerError
            If this was recorded before, or in a forked child.
        """
        self.accountant.mark_released(self.request)


def _new_request() -> UUID:
    """Return a name for a charge, from the operating system's random bytes."""
    try:
        return uuid4()
    except (OSError, ValueError):  # no bytes, or too few
        msg = "The source of random bytes failed.\nNothing was released or spent."
    raise RandomnessError(msg)


def _pure(cost: Loss) -> Fraction:
    # Callers may not be type-checked, and a charge is where it matters.
    if not isinstance(cost, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        msg = f"a charge must be a Loss, not {type(cost).__name__}."
        raise ParameterTypeError(msg)
    if cost.epsilon is None or cost.delta:
        msg = f"this budget is pure epsilon, and a loss of {cost} is not."
        raise ParameterError(msg, hint="pass epsilon= instead.")
    if cost.epsilon == 0:
        msg = "a charge must be greater than 0."
        raise ParameterError(msg)
    return cost.epsilon


def _exceeded(cost: Loss, remaining: Fraction) -> BudgetExceededError:
    asked = f"this release costs epsilon={decimal_text(_pure(cost))}"
    fits = f"epsilon={decimal_text(remaining, ROUND_FLOOR)}"
    left = f"only {fits} remains" if remaining else "nothing remains of this budget"
    return BudgetExceededError(
        f"{asked}, but {left}.\nNothing was released and nothing was spent.",
        requested=cost,
        remaining=Loss(epsilon=remaining),
        hint=f"pass {fits} or less, or open a new budget."
        if remaining
        else "open a new budget.",
    )
