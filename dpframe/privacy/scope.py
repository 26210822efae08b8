"""Where in a budget a frame is charged: parallel composition, as a tree.

A partition splits a frame into parts that no privacy unit shares, save for at most
`most` of them. Whatever is released in the parts, one unit sees the releases of at
most that many; so the parts together cost the sum of the `most` largest of their
costs, not of all [1]_. Parts are scopes of their own and can be partitioned again:

    cost of a scope = its own releases + the charges of the partitions made from it

References
----------
.. [1] McSherry (2009), Privacy integrated queries, Thm 4; for units in several parts
   by group privacy over the parts that they are in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False, kw_only=True)
class Scope:
    """The whole budget, or one part of a partition.

    Attributes
    ----------
    name : str
        In public words: ``"root"``, or the path of parts that leads here, as in
        ``"state=CA/year=2013"``.
    partition : Partition or None
        The partition that this is a part of; None for the whole.
    """

    name: str
    partition: Partition | None = None

    def __copy__(self) -> Self:
        """Return the same: a copy would be another part, and cost nothing beside it."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return the same."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the whole budget's scope one object."""
        return _restored, (self.name, self.partition)


@dataclass(frozen=True, eq=False, kw_only=True)
class Partition:
    """Disjoint parts of one frame.

    Attributes
    ----------
    scope : Scope
        Where the frame itself is charged.
    most : int
        In how many parts one privacy unit can be.
    """

    scope: Scope
    most: int = 1

    def part(self, label: str) -> Scope:
        """Return the scope of one part, named by its column and key."""
        path = "" if self.scope.partition is None else f"{self.scope.name}/"
        return Scope(name=f"{path}{label}", partition=self)


ROOT: Final = Scope(name="root")
"""The whole budget: what every frame is charged to at first."""


def _restored(name: str, partition: Partition | None) -> Scope:
    return ROOT if partition is None else Scope(name=name, partition=partition)


def common_ancestor(one: Scope, other: Scope) -> Scope:
    """Return the nearest scope that holds both: where what is made of both is charged.

    Charged to one of them only, a unit of the other would be spent twice.
    """
    above = set(_path(one))
    return next(scope for scope in _path(other) if scope in above)


def _path(scope: Scope) -> list[Scope]:
    """Return a scope and all above it, the whole budget last."""
    path = [scope]
    while path[-1].partition is not None:
        path.append(path[-1].partition.scope)
    return path


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What every scope costs so far; a value, replaced and never changed.

    Attributes
    ----------
    scopes : mapping of Scope to Fraction
        Cost of each scope that was charged, with all partitions below it.
    parts : mapping of Partition to tuple of Fraction
        Costs of the parts of each partition that were charged, in increasing order.
    """

    scopes: Mapping[Scope, Fraction] = field(
        default_factory=lambda: MappingProxyType({})
    )
    parts: Mapping[Partition, tuple[Fraction, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def of(self, scope: Scope) -> Fraction:
        """Return what a scope costs so far."""
        return self.scopes.get(scope, Fraction(0))

    def slack(self, scope: Scope) -> Fraction:
        """Return how much can be charged to a scope before the whole costs more.

        That is how far it lags behind the parts of its partition that count, and its
        frame behind those of the partition above, and so on.
        """
        total = Fraction(0)
        while scope.partition is not None:
            total += self._lag(scope, scope.partition)
            scope = scope.partition.scope
        return total

    def after(self, scope: Scope, amount: Fraction) -> Costs:
        """Return the costs with one more charge."""
        scopes, parts = dict(self.scopes), dict(self.parts)
        scopes[scope] = self.of(scope) + amount
        while scope.partition is not None:
            partition = scope.partition
            costs = self._others(scope, partition)
            insort(costs, scopes[scope])
            parts[partition] = tuple(costs)
            amount = max(amount - self._lag(scope, partition), Fraction(0))
            scope = partition.scope
            scopes[scope] = self.of(scope) + amount
        return Costs(scopes=MappingProxyType(scopes), parts=MappingProxyType(parts))

    def _lag(self, scope: Scope, partition: Partition) -> Fraction:
        """Return how much less a part costs than the least that counts in its place."""
        others = self._others(scope, partition)
        least = others[-partition.most] if len(others) >= partition.most else 0
        return max(least - self.of(scope), Fraction(0))

    def _others(self, scope: Scope, partition: Partition) -> list[Fraction]:
        """Return what the other parts of a partition cost, in increasing order."""
        costs = [*self.parts.get(partition, ())]
        if scope in self.scopes:
            del costs[bisect_left(costs, self.scopes[scope])]
        return costs
