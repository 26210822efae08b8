"""The state that a record leads to: who holds what, and what was spent.

A `Book` is made by reading entries in order, and only by that, in memory as from a
ledger. It writes the next entry, or refuses to; it checks every entry that it reads
by the same rules, so that a record that overspends is no record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.errors import (
    LedgerCorruptError,
    LedgerError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.privacy.entries import CHARGED, CLOSED, OPENED, RELEASED, Entry, now, plain
from dpframe.privacy.loss import Loss, exact_text
from dpframe.privacy.refusals import exceeded
from dpframe.privacy.scope import ROOT, Costs, scope_at
from dpframe.privacy.total import DELTA, EPSILON, MEASURES, RHO, Total, measures_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.privacy.entries import Event
    from dpframe.privacy.scope import Scope

_DEEPEST: Final = 50
"""Children below children; a record of many more could not be read again."""


@dataclass(eq=False, kw_only=True)
class Account:
    """A budget, or a child whose total is set aside in its parent.

    Attributes
    ----------
    path : str
        Its name after those of its parents: ``"visits/daily"``.
    total : Total
    parent : Account or None
    children : list of Account
    open : dict of str to Account
        Those children that are not closed, by path.
    ended : dict of str to Fraction
        What the closed ones had spent together, by measure.
    closed : bool
        Whether what it had not spent went back to its parent.
    costs : dict of str to Costs
        What its own releases cost, by measure.
    """

    path: str
    total: Total
    parent: Account | None = None
    children: list[Account] = field(default_factory=list["Account"])
    open: dict[str, Account] = field(default_factory=dict[str, "Account"])
    ended: dict[str, Fraction] = field(
        default_factory=lambda: dict.fromkeys(MEASURES, Fraction(0))
    )
    closed: bool = False
    costs: dict[str, Costs] = field(
        default_factory=lambda: {measure: Costs() for measure in MEASURES}
    )

    @property
    def is_divided(self) -> bool:
        """Whether a part of it is set aside in a child."""
        return bool(self.open)

    def used(self, measure: str) -> Fraction:
        """Return what is spent and what is set aside in open children."""
        own = self.costs[measure].of(ROOT) + self.ended[measure]
        return sum((child.claim(measure) for child in self.open.values()), own)

    def claim(self, measure: str) -> Fraction:
        """Return what this account takes of its parent's total while it is open."""
        return max(self.used(measure), self.total.limit(measure))

    def has_room(self, measure: str, *, at: Account, more: Fraction) -> bool:
        """Return whether this account and all below it would be within their totals.

        `more` is what the account `at` would spend or set aside beside the rest.
        """
        return self.standing(measure, at=at, more=more)[1]

    def standing(
        self, measure: str, *, at: Account, more: Fraction
    ) -> tuple[Fraction, bool]:
        """Return the claim on the parent, and whether all totals are kept."""
        used = self.costs[measure].of(ROOT) + self.ended[measure]
        used += more if self is at else 0
        fits = True
        for child in self.open.values():
            claim, kept = child.standing(measure, at=at, more=more)
            used, fits = used + claim, fits and kept
        limit = self.total.limit(measure)
        return max(used, limit), fits and used <= limit


class Book:
    """All accounts of one budget, and the place where its record ends.

    Attributes
    ----------
    accounts : dict of str to Account
        By path; the first is the whole budget.
    length : int
        How many entries were read.
    head : str
        Digest of the last one.
    lasting : (int, str)
        Place and digest of the last one that no loss of power undoes: rows of releases
        after it may be lost, and nothing is spent by them.
    pure : bool
        Whether every release so far was pure, save for its own delta.
    """

    __slots__ = (
        "_released",
        "_requests",
        "accounts",
        "head",
        "lasting",
        "length",
        "pure",
    )

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.length = 0
        self.head = ""
        self.lasting = 0, ""
        self.pure = True
        self._requests: dict[str, Entry] = {}
        self._released: set[str] = set()

    @property
    def root(self) -> Account:
        """The whole budget."""
        return next(iter(self.accounts.values()))

    @property
    def identity(self) -> str:
        """The name that the ledger was given when it was made."""
        return next(iter(self._requests))

    def account(self, path: str) -> Account:
        """Return an account.

        Raises
        ------
        LedgerError
            If there is none of this name.
        """
        if path not in self.accounts:
            msg = f"there is no budget named {path!r}."
            known = ", ".join(repr(name) for name in self.accounts)
            raise LedgerError(msg, hint=f"there are {known}.")
        return self.accounts[path]

    # What is spent and what remains

    def spent(self, account: Account) -> Loss:
        """Return what an account has spent or set aside."""
        used = {measure: account.used(measure) for measure in MEASURES}
        return self._loss(used, account.total, either=False)

    def room(self, account: Account, scope: Scope) -> Loss:
        """Return the most that a release in a scope could cost now, in each measure.

        A lane that holds no longer is None. In a part of a partition there may be
        more room than in the whole: up to the cost of other parts a charge raises
        nothing. In an account that is closed there is none.
        """
        room = {
            measure: account.total.limit(measure)
            - account.used(measure)
            + account.costs[measure].slack(scope)
            if not account.closed
            else Fraction(0)
            for measure in MEASURES
        }
        for lane in (EPSILON, RHO):
            if not self._lane_holds(lane, at=account, more=Fraction(0)):
                del room[lane]
        return self._loss(room, account.total, either=True)

    def _loss(
        self, amounts: Mapping[str, Fraction], total: Total, *, either: bool
    ) -> Loss:
        shown = {
            lane: amounts[lane]
            for lane in total.lanes
            if lane in amounts and (lane == RHO or self.pure)
        }
        if total.delta is not None:
            shown[DELTA] = amounts[DELTA]
        return Loss(**shown, either=either)

    def _lane_holds(self, lane: str, *, at: Account, more: Fraction) -> bool:
        if lane not in self.root.total.lanes or (lane == EPSILON and not self.pure):
            return False
        return self.root.has_room(lane, at=at, more=more)

    def grants(self, account: Account, more: Mapping[str, Fraction]) -> bool:
        """Return whether one lane and the deltas would hold with this much more."""
        keys = more.get(DELTA, Fraction(0))
        if keys and not self.root.has_room(DELTA, at=account, more=keys):
            return False
        return any(
            lane in more and self._lane_holds(lane, at=account, more=more[lane])
            for lane in (EPSILON, RHO)
        )

    def allows(self, account: Account, cost: Loss, scope: Scope) -> bool:
        """Return whether a charge would be granted now."""
        rise = _rise(account, cost, scope)
        return not account.closed and self.grants(account, rise)

    @property
    def is_divided(self) -> bool:
        """Whether a part of the budget is set aside in a child."""
        return self.root.is_divided

    # Entries to write

    def opening(self, path: str, total: Total, request: str) -> Entry:
        """Return the entry that makes the budget, or a child of an account.

        Raises
        ------
        BudgetExceededError
            If a child's total is more than what remains.
        LedgerError
            If the parent is closed.
        """
        if path in self.accounts:
            msg = f"there is a budget named {path!r} on record."
            raise LedgerError(msg, hint="choose another name.")
        if self.accounts:
            parent = self.account(path.rpartition("/")[0])
            _check_open(parent)
            if path.count("/") > _DEEPEST:
                msg = f"children are nested {_DEEPEST} deep at most."
                raise LedgerError(msg, hint="make a child of a budget further up.")
            if not self.grants(parent, _taken(total)):
                raise exceeded(
                    total.loss,
                    self.room(parent, ROOT),
                    what=f"child {path!r}",
                    divided=parent.is_divided,
                )
        return self._entry(OPENED, path, request, cost=total.exact)

    def closing(self, path: str, request: str) -> Entry:
        """Return the entry that ends a child and gives back what it has not spent."""
        account = self.account(path)
        if account.parent is None:
            msg = "only a child is closed: what the whole has not spent goes nowhere."
            raise LedgerError(msg)
        _check_open(account)
        return self._entry(CLOSED, path, request, cost=self.spent(account).exact)

    def charge(self, path: str, cost: Loss, event: Event, request: str) -> Entry:
        """Return the entry of a charge.

        Raises
        ------
        BudgetExceededError
            If `cost` is more than what remains.
        ParameterError
            If it is 0, or of a kind that the budget does not have.
        LedgerError
            If the account is closed, or the request was charged before.
        """
        account = self.account(path)
        _check_open(account)
        if request in self._requests:
            msg = "this request was charged before; it is answered once."
            raise LedgerError(msg, hint="a fresh release needs a fresh charge.")
        _check_kind(cost, account.total)
        rise = _rise(account, cost, event.scope)
        if not self.grants(account, rise):
            room = self.room(account, event.scope)
            child = None if account.parent is None else path
            raise exceeded(cost, room, child=child, divided=account.is_divided)
        return self._entry(
            CHARGED,
            path,
            request,
            mechanism=plain(event.mechanism),
            columns=plain(", ".join(event.columns)),
            parameters=plain("; ".join([event.parameters, *event.steps])),
            cost=cost.exact,
            scope=plain(event.scope.name),
            path=event.scope.path,
            charged=exact_text(rise),
        )

    def release(self, request: str) -> Entry:
        """Return the entry that marks a charge as released; it repeats the charge.

        Raises
        ------
        LedgerError
            If there is no such charge, or it was released before.
        """
        charge = self._requests.get(request)
        if charge is None or charge.state != CHARGED or request in self._released:
            msg = "this charge has been released already, or was made elsewhere."
            raise LedgerError(msg, hint="charge again for another release.")
        return self._entry(
            RELEASED,
            charge.account,
            request,
            mechanism=charge.mechanism,
            columns=charge.columns,
            parameters=charge.parameters,
            cost=charge.cost,
            scope=charge.scope,
            path=charge.path,
            charged=charge.charged,
        )

    def _entry(self, state: str, account: str, request: str, **rest: str) -> Entry:
        return Entry(
            sequence=self.length,
            time=now(),
            state=state,
            account=account,
            request=request,
            previous=self.head,
            **rest,
        )

    # Entries to read

    def read(self, entry: Entry) -> None:
        """Take note of the next entry of the record.

        Raises
        ------
        LedgerCorruptError
            If it does not follow the one before, or breaks a rule. The book is of no
            use afterwards.
        """
        if (entry.sequence, entry.previous) != (self.length, self.head):
            raise _corrupt(entry, "does not follow the row before it")
        readers = {
            OPENED: self._read_opening,
            CHARGED: self._read_charge,
            RELEASED: self._read_release,
            CLOSED: self._read_closing,
        }
        if entry.state not in readers:
            raise _corrupt(entry, "is of no known kind")
        try:
            readers[entry.state](entry)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, LedgerError) as e:
            if isinstance(e, LedgerCorruptError):
                raise
            raise _corrupt(entry, "cannot be read") from None
        self.length, self.head = self.length + 1, entry.digest
        if entry.state != RELEASED:
            self.lasting = entry.sequence, entry.digest

    def _read_opening(self, entry: Entry) -> None:
        total = Total.parsed(entry.cost)
        if entry.account in self.accounts or entry.request in self._requests:
            raise _corrupt(entry, "opens what is there")
        parent = None
        if self.accounts:
            parent = self.account(entry.account.rpartition("/")[0])
            _check_open(parent)
            if not self.grants(parent, _taken(total)):
                raise _corrupt(entry, "sets aside more than there was")
        account = Account(path=entry.account, total=total, parent=parent)
        self.accounts[entry.account] = account
        self._requests[entry.request] = entry
        if parent is not None:
            parent.children.append(account)
            parent.open[account.path] = account

    def _read_charge(self, entry: Entry) -> None:
        account, cost = self.account(entry.account), Loss.parsed(entry.cost)
        scope = scope_at(entry.path)
        _check_open(account)
        _check_kind(cost, account.total)
        rise = _rise(account, cost, scope)
        if entry.request in self._requests or plain(scope.name) != entry.scope:
            raise _corrupt(entry, "charges twice, or elsewhere")
        if entry.charged != exact_text(rise):
            raise _corrupt(entry, "does not add up")
        if not self.grants(account, rise):
            raise _corrupt(entry, "spends more than there was")
        for measure, amount in measures_of(cost, account.total).items():
            account.costs[measure].add(scope, amount)
        self.pure = self.pure and cost.epsilon is not None
        self._requests[entry.request] = entry

    def _read_release(self, entry: Entry) -> None:
        charge = self._requests[entry.request]
        if charge.state != CHARGED or entry.request in self._released:
            raise _corrupt(entry, "releases what was not charged")
        self._released.add(entry.request)

    def _read_closing(self, entry: Entry) -> None:
        account = self.account(entry.account)
        _check_open(account)
        if account.parent is None:
            raise _corrupt(entry, "closes the whole budget")
        _close(account)


def _close(account: Account) -> None:
    """Close an account and all below it; its parent remembers what it had spent."""
    for child in [*account.open.values()]:
        _close(child)
    account.closed = True
    if account.parent is not None:
        del account.parent.open[account.path]
        for measure in MEASURES:
            account.parent.ended[measure] += account.used(measure)


def _rise(account: Account, cost: Loss, scope: Scope) -> dict[str, Fraction]:
    """Return by how much a charge raises what an account has spent, by measure."""
    return {
        measure: account.costs[measure].rise(scope, amount)
        for measure, amount in measures_of(cost, account.total).items()
    }


def _taken(total: Total) -> dict[str, Fraction]:
    """Return what a child takes of its parent, in each measure.

    It can be charged in no lane of which it takes nothing: such a lane grants nothing.
    """
    limits = ((measure, total.limit(measure)) for measure in MEASURES)
    return {measure: limit for measure, limit in limits if limit}


def _check_open(account: Account) -> None:
    closed: Account | None = account
    while closed is not None:
        if closed.closed:
            msg = (
                f"the budget {account.path!r} was closed: what it had left is back "
                "in its parent.\nNothing was released and nothing was spent."
            )
            raise LedgerError(msg, hint="charge the parent, or set aside a new child.")
        closed = closed.parent


def _check_kind(cost: Loss, total: Total) -> None:
    # Callers may not be type-checked, and a charge is where it matters.
    if not isinstance(cost, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        msg = f"a charge must be a Loss, not {type(cost).__name__}."
        raise ParameterTypeError(msg)
    if (cost.epsilon is None) == (cost.rho is None):
        msg = f"a charge has one of epsilon and rho, not {cost}."
        raise ParameterError(msg)
    if cost.epsilon is None and RHO not in total.lanes:
        msg = f"this budget is pure epsilon, and a loss of {cost} is not."
        raise ParameterError(msg, hint="pass epsilon= instead.")
    if not (cost.epsilon or cost.rho):
        msg = "a charge must be greater than 0."
        raise ParameterError(msg)
    if cost.delta is not None and not total.keys_delta:
        msg = f"nothing of this budget was set aside for a loss of {cost}."
        hint = "open one with Accountant(epsilon=..., delta=..., keys_delta=...)."
        raise ParameterError(msg, hint=hint)


def _corrupt(entry: Entry, what: str) -> LedgerCorruptError:
    msg = (
        f"Row {entry.sequence} of the record {what}: it was damaged or changed.\n"
        "Nothing was released and nothing was spent."
    )
    return LedgerCorruptError(msg, hint="go back to a copy, or open a new budget.")
