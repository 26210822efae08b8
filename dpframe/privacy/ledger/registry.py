"""One store for each budget in a process, and none of them in use during a fork."""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.privacy.ledger.durable import DurableStore
    from dpframe.privacy.store import Reference


class Registry:
    """The stores that are in use, by what leads to them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._stores: WeakValueDictionary[tuple[str, str, str], DurableStore] = (
            WeakValueDictionary()
        )
        self._held: list[DurableStore] = []

    def find(self, reference: Reference) -> DurableStore | None:
        """Return the store that a reference leads to, if it is in use."""
        with self._lock:
            return self._stores.get(_key(reference))

    def shared(
        self, reference: Reference, make: Callable[[], DurableStore]
    ) -> DurableStore:
        """Return the store that a reference leads to; made, if it is not in use."""
        with self._lock:
            store = self._stores.get(_key(reference))
            if store is None:
                store = self._stores[_key(reference)] = make()
            return store

    def before_fork(self) -> None:
        """Wait for all transactions: a child must not inherit half of one."""
        self._lock.acquire()
        for store in list(self._stores.values()):
            store.lock.acquire()  # an interrupt may end the wait, but not the fork
            self._held.append(store)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        held, self._held = self._held, []
        for store in held:
            store.lock.release()
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start afresh; locks may be held by threads that are not here."""
        self._lock = RLock()
        self._held = []
        for store in list(self._stores.values()):
            store.left_behind()


def _key(reference: Reference) -> tuple[str, str, str]:
    return reference.ledger, reference.dataset, reference.identity


REGISTRY: Final = Registry()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=REGISTRY.before_fork,
        after_in_parent=REGISTRY.after_fork_in_parent,
        after_in_child=REGISTRY.after_fork_in_child,
    )
