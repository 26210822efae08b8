"""The budget: one object that the caller creates, and that no copy spends twice.

An accountant is a privacy filter. It compares exact rationals, so that ten charges
of 0.1 fill a budget of 1 and nothing fits after them. What it knows is the record
of what was charged, kept in a `Store`: in memory, or durably in a ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, SupportsIndex, TypeVar, final, overload

from dpframe.errors import ParameterTypeError
from dpframe.privacy.book import Book
from dpframe.privacy.children import (
    Shares,
    checked_name,
    set_aside,
    total_of_child,
)
from dpframe.privacy.display import accountant_text
from dpframe.privacy.display_html import accountant_html
from dpframe.privacy.entries import plain
from dpframe.privacy.events import events_table
from dpframe.privacy.identity import new_identity
from dpframe.privacy.lanes import chosen, only_meaning
from dpframe.privacy.loss import Loss, stated_loss
from dpframe.privacy.scope import ROOT
from dpframe.privacy.standing import standing_of
from dpframe.privacy.store import MemoryStore
from dpframe.privacy.total import Total

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from fractions import Fraction

    from dpframe.privacy.book import Account
    from dpframe.privacy.entries import Event
    from dpframe.privacy.loss import Amount
    from dpframe.privacy.scope import Scope
    from dpframe.privacy.standing import Standing
    from dpframe.privacy.store import Reference, Store
    from dpframe.table import Table

T = TypeVar("T")


@final
class Accountant:
    """A privacy budget, and the record of what it paid for.

    Copies of it are the same object, and so is what pandas copies from `attrs`.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy loss ε, unitless, in ``(0, inf)``. Floats are read as their
        shortest decimal: ``0.1`` is exactly 1/10. Alone, all releases are pure and
        their epsilons add up.
    delta : float, optional
        With `epsilon`: the failure probability δ of the whole, unitless, in
        ``(0, 1)``. Gaussian noise becomes available.
    rho : float, optional
        Instead of `epsilon`: total zCDP loss ρ, unitless, in ``(0, inf)``.
    ledger : str or path, optional
        Where the budget is kept: a file such as ``"budget.db"``, or
        ``"postgresql://user@host/database"`` (extra ``postgres``). Default: in the
        memory of this process; running the line again starts a fresh budget.
    dataset : str, default "default"
        Name of the budget in its ledger. Its total is fixed when it is made.
    create : bool, default False
        Make what is missing, the file too; what is there is opened.
    keys_delta : float, default 0
        The part of `delta` that `discover_keys` may spend; with `rho`, a delta
        beside it.
    anchor : str, optional
        What `.anchor` returned earlier: an older copy of the ledger is then refused.
    unsafe_network_fs : bool, default False
        Accept a file on a network file system, whose locks may not work.

    Privacy
    -------
    Everything charged here together is (ε, δ)-DP, or ρ-zCDP, also when what is asked
    depends on earlier answers. With a delta a charge is granted if, with all before
    it, either every release was pure and the epsilons add up to at most `epsilon`,
    or the rhos (ε²/2 of a pure release) add up to at most ``.total.rho``: the
    largest rho that is (ε, δ − keys_delta)-DP.

    Raises
    ------
    ParameterTypeError
        If an amount is not a number, or neither or both of `epsilon` and `rho` are
        given.
    ParameterError
        If one is 0, negative, NaN or infinite, or the deltas do not fit together.
    LedgerError
        If the ledger is missing and not created, has another total on record, or
        cannot be used; `LedgerBusyError` and `LedgerCorruptError` are such errors.

    Examples
    --------
    >>> budget = Accountant(epsilon=3)
    >>> budget.allows(epsilon=2), budget.allows(epsilon=4)
    (True, False)
    >>> round(float(Accountant(epsilon=1, delta=1e-6).total.rho), 6)
    0.024356
    """

    __slots__ = ("__weakref__", "_path", "_store", "_total")

    def __init__(
        self,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        rho: Amount | None = None,
        *,
        ledger: str | os.PathLike[str] | None = None,
        dataset: str = "default",
        create: bool = False,
        keys_delta: Amount = 0,
        anchor: str | None = None,
        unsafe_network_fs: bool = False,
    ) -> None:
        if hasattr(self, "_store"):
            msg = "a budget is made once: what it spent is not forgotten."
            raise ParameterTypeError(msg, hint="make a new Accountant.")
        total = Total.stated(
            epsilon=epsilon, delta=delta, rho=rho, keys_delta=keys_delta
        )
        name = checked_name(dataset, what="dataset")
        if ledger is None:
            if anchor is not None or create:
                msg = "create= and anchor= are for a ledger, and none is named."
                raise ParameterTypeError(msg, hint='pass ledger="budget.db".')
            store: Store = MemoryStore()
            store.add(lambda book: book.opening(name, total, new_identity()))
        else:
            from dpframe.privacy.ledger import open_ledger  # noqa: PLC0415 - seldom

            store = open_ledger(
                ledger,
                dataset=name,
                total=total,
                create=create,
                anchor=anchor,
                unsafe_network_fs=unsafe_network_fs,
            )
        self._store, self._path = store, name
        self._total = self._view(lambda _book, account: account.total)

    @classmethod
    def open(
        cls,
        ledger: str | os.PathLike[str],
        dataset: str = "default",
        *,
        anchor: str | None = None,
        unsafe_network_fs: bool = False,
    ) -> Self:
        """Open a budget that is in a ledger; its total is read from there.

        Parameters
        ----------
        ledger : str or path
            A file, or a database as ``"postgresql://..."``.
        dataset : str, default "default"
            Name of the budget, or of a child: ``"visits/daily"``.
        anchor : str, optional
            What `.anchor` returned earlier.
        unsafe_network_fs : bool, default False
            Accept a file on a network file system.

        Returns
        -------
        Accountant

        Raises
        ------
        LedgerError
            If the ledger or the budget is not there, or cannot be used.
        """
        from dpframe.privacy.ledger import open_ledger  # noqa: PLC0415 - seldom

        root, *below = str(dataset).split("/")
        for name in (root, *below):
            checked_name(name, what="dataset")
        store = open_ledger(
            ledger,
            dataset=root,
            anchor=anchor,
            unsafe_network_fs=unsafe_network_fs,
        )
        return cls.at(store, str(dataset))

    @classmethod
    def at(cls, store: Store, path: str) -> Self:
        """Return the budget or child of this name in a store."""
        found = object.__new__(cls)
        found._store, found._path = store, path
        found._total = store.view(lambda book: book.account(path).total)
        return found

    @property
    def total(self) -> Loss:
        """The whole budget."""
        return self._total.loss

    @property
    def spent(self) -> Loss:
        """What was charged so far, and what is set aside in children.

        The epsilon is None once a release was not pure: epsilons of such releases do
        not add up. The delta is what `discover_keys` has spent.
        """
        return self._view(lambda book, account: book.spent(account))

    @property
    def remaining(self) -> Loss:
        """What can still be charged, in each lane that still holds."""
        return self.room(ROOT)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The measures in which losses add up here: ``"epsilon"``, ``"rho"``, or both.

        Each is a filter of its own; a charge needs one that still holds.
        """
        return self._total.lanes

    @property
    def path(self) -> str:
        """Its name in its record; that of a child after its parent's."""
        return self._path

    @property
    def durable(self) -> bool:
        """Whether the budget is kept in a ledger."""
        return self._store.reference is not None

    @property
    def keys_delta(self) -> Fraction:
        """The delta that releases may spend themselves, all together."""
        return self._total.keys_delta

    @property
    def anchor(self) -> str:
        """Where the record ends now, as text to keep elsewhere.

        Passed as ``anchor=`` when the ledger is opened again, it makes sure that the
        record still holds everything that was spent up to here: an older copy is
        refused.
        """
        return self._store.view(lambda book: "{}:{}".format(*book.lasting))

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
        meant, epsilon = only_meaning(stated, self._total), stated.epsilon
        if meant is not None or epsilon is None:  # no record has to be read
            return meant or stated
        return self._view(lambda book, account: chosen(epsilon, book, account, scope))

    def allows(
        self, *, epsilon: Amount | None = None, rho: Amount | None = None
    ) -> bool:
        """Tell whether a charge would be granted now; nothing is spent.

        Parameters
        ----------
        epsilon : float, optional
            Privacy loss ε, unitless, in ``(0, inf)``.
        rho : float, optional
            Instead: zCDP loss ρ.

        Returns
        -------
        bool
            True where it fits into what remains.
        """
        stated = stated_loss(epsilon=epsilon, rho=rho, allow_weak=True)
        cost = self.settle(stated)
        return self._view(lambda book, account: book.allows(account, cost, ROOT))

    def child(
        self,
        name: str,
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        keys_delta: Amount = 0,
    ) -> Accountant:
        """Set a part of this budget aside under a name.

        A child is a budget of its own: its releases are charged to it alone, and its
        total is taken from this one at once. A child of this name that is there, open
        and of the same total, is returned as it is.

        Parameters
        ----------
        name : str
            In a ledger it is opened again as ``"dataset/name"``.
        epsilon : float, optional
            Its total ε. Where rhos add up it holds what one pure release of it costs
            there, ``epsilon**2 / 2``. With two lanes that may be more than the lane of
            rhos has: while the child is open, all releases then have pure noise.
        rho : float, optional
            Instead: its total ρ.
        keys_delta : float, default 0
            The part of this budget's `keys_delta` that it may spend.

        Returns
        -------
        Accountant

        Raises
        ------
        BudgetExceededError
            If that is more than what remains.
        LedgerError
            If there is a child of this name with another total, or it was closed.

        Examples
        --------
        >>> budget = Accountant(epsilon=3)
        >>> daily = budget.child("daily", epsilon=1)
        >>> float(budget.remaining), float(daily.remaining)
        (2.0, 1.0)
        """
        path = f"{self._path}/{checked_name(name, what='name')}"
        total = total_of_child(
            self._total, epsilon=epsilon, rho=rho, keys_delta=keys_delta
        )
        self._store.add(lambda book: set_aside(book, path, total))
        return Accountant.at(self._store, path)

    @overload
    def split(self, parts: int) -> list[Accountant]: ...
    @overload
    def split(self, parts: Mapping[str, Amount]) -> dict[str, Accountant]: ...
    def split(
        self, parts: int | Mapping[str, Amount]
    ) -> list[Accountant] | dict[str, Accountant]:
        """Share what remains among children, exactly.

        Parameters
        ----------
        parts : int or mapping of str to float
            How many equal parts, or weights by name.

        Returns
        -------
        list or dict of Accountant
            The children; of equal parts they are named by numbers.

        Raises
        ------
        ParameterError
            If there are no parts, or a weight is not positive.
        BudgetExceededError
            If nothing remains.

        Examples
        --------
        >>> stages = Accountant(epsilon=1).split({"daily": 3, "weekly": 1})
        >>> stages["daily"].total.epsilon
        Fraction(3, 4)
        """
        shares = Shares(self._path, parts)
        self._store.add(*shares.writes)
        made = [Accountant.at(self._store, path) for path in shares.paths]
        if isinstance(parts, Mapping):
            return dict(zip(shares.names, made, strict=True))
        return made

    def close(self) -> None:
        """End this child and give what it has not spent back to its parent.

        It can be charged no more, by any process; nor can its own children.

        Raises
        ------
        LedgerError
            If it is no child, or was closed before.
        """
        self._store.add(lambda book: book.closing(self._path, new_identity()))

    @property
    def events(self) -> Table:
        """The record, one row per charge and one more when it is released.

        Columns are ``sequence``, ``time``, ``dataset``, ``mechanism``, ``columns``,
        ``parameters``, ``cost``, ``scope``, ``charged`` and ``state``. Costs are
        exact. The row of a release repeats that of its charge, with state
        ``released``. The dataset tells children apart. The scope is ``root``, or
        the part of a partition that was released from; ``charged`` is by how much the
        release raised what its budget has spent. That is less than its cost, or
        nothing, where other parts of the partition had cost more.
        """
        return events_table(self._store.entries(), self._path)

    def charge(
        self, cost: Loss, event: Event, *, request: str | None = None
    ) -> Receipt:
        """Spend `cost` before anything is read, or refuse and change nothing.

        Parameters
        ----------
        cost : Loss
            An epsilon or a rho greater than 0; an epsilon may have a delta.
        event : Event
            What it pays for, in public words.
        request : str, optional
            Names the charge; one that is on record is refused. Default: a fresh one.

        Returns
        -------
        Receipt
            To be marked when the answer is handed out.

        Raises
        ------
        BudgetExceededError
            If `cost` is more than what remains.
        ParameterError
            If the budget has no such losses, or `cost` is 0.
        ParameterTypeError
            If `cost` is no loss, or `request` no text.
        LedgerError
            If the record cannot be used, the child was closed, or the request was
            charged before; in a forked child, for a budget in memory.
        RandomnessError
            If the operating system gives no random bytes to name the charge with.
        """
        # Callers may not be type-checked, and a database keeps a number as text.
        if not isinstance(request, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            msg = f"request must be text, not {type(request).__name__}."
            raise ParameterTypeError(msg)
        name = new_identity() if request is None else plain(request)
        self._store.add(lambda book: book.charge(self._path, cost, event, name))
        return Receipt(accountant=self, cost=cost, request=name)

    def room(self, scope: Scope) -> Loss:
        """Return the most that a release in a scope could cost now, in each lane.

        In a part of a partition that is more than `remaining` where other parts have
        cost more: up to their cost it raises nothing.
        """
        return self._view(lambda book, account: book.room(account, scope))

    def rehearsal(self) -> Book:
        """Return a copy of the whole record's state, to try charges on."""
        book = Book()
        for row in self._store.entries():
            book.read(row)
        return book

    def mark_released(self, request: str) -> None:
        """Record that the answer of a charge was handed out; see `Receipt.released`."""
        self._store.add(lambda book: book.release(request), lasting=False)

    def _view(self, look: Callable[[Book, Account], T]) -> T:
        return self._store.view(lambda book: look(book, book.account(self._path)))

    def __eq__(self, other: object) -> bool:
        """Tell whether two handles are one budget."""
        if not isinstance(other, Accountant):
            return NotImplemented
        return self._store is other._store and self._path == other._path

    def __hash__(self) -> int:
        return hash((id(self._store), self._path))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        reference = self._store.reference
        if reference is None:
            msg = (
                "a budget in memory cannot be pickled: its copies would be spent twice."
            )
            raise ParameterTypeError(
                msg,
                hint="give it a ledger, which several processes can share: "
                'Accountant(..., ledger="budget.db", create=True).',
            )
        return _reopened, (reference, self._path)

    def __repr__(self) -> str:
        return accountant_text(self._standing())

    def _repr_html_(self) -> str:
        return accountant_html(self._standing())

    def _standing(self) -> Standing:
        """Return what is shown of this budget."""
        rows, store = self._store.entries(), self._store
        return self._view(
            lambda book, account: standing_of(
                book,
                account,
                rows,
                place=store.place,
                durable=self.durable,
            )
        )


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Proof that a charge was granted; good for one release.

    Attributes
    ----------
    accountant : Accountant
        Where it was charged.
    cost : Loss
        What was charged.
    request : str
        Names the charge.
    """

    accountant: Accountant = field(repr=False)
    cost: Loss
    request: str = field(repr=False)

    def released(self) -> None:
        """Record that the answer was handed out.

        Raises
        ------
        LedgerError
            If this was recorded before, or in a forked child.
        """
        self.accountant.mark_released(self.request)


def _reopened(reference: Reference, path: str) -> Accountant:
    """Return the budget that was pickled as a reference to its ledger."""
    from dpframe.privacy.ledger import reopened  # noqa: PLC0415 - seldom

    return Accountant.at(reopened(reference), path)
