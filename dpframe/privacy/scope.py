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

import json
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Self

from dpframe.privacy.identity import new_identity


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The whole budget, or one part of a partition.

    Two are the same where they have one name in one partition, in whatever process.

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
        """Return the same."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return the same."""
        return self

    @property
    def path(self) -> str:
        """The scope as text that `scope_at` reads: its partitions from the top."""
        steps = [
            (part.partition.identity, part.partition.most, part.name)
            for part in reversed(_path(self))
            if part.partition is not None
        ]
        return json.dumps(steps, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Disjoint parts of one frame.

    Attributes
    ----------
    scope : Scope
        Where the frame itself is charged.
    most : int
        In how many parts one privacy unit can be.
    identity : str
        Tells it from all others, also from another one of the same frame.
    """

    scope: Scope = field(compare=False)
    most: int = field(default=1, compare=False)
    identity: str = field(default_factory=new_identity)

    def part(self, label: str) -> Scope:
        """Return the scope of one part, named by its column and key."""
        path = "" if self.scope.partition is None else f"{self.scope.name}/"
        return Scope(name=f"{path}{label}", partition=self)


ROOT: Final = Scope(name="root")
"""The whole budget: what every frame is charged to at first."""


def scope_at(path: str) -> Scope:
    """Return the scope that a path leads to, the inverse of `Scope.path`."""
    scope = ROOT
    for identity, most, name in json.loads(path):
        partition = Partition(scope=scope, most=most, identity=identity)
        scope = Scope(name=name, partition=partition)
    return scope


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


class Costs:
    """What every scope costs so far, in one measure."""

    __slots__ = ("_parts", "_scopes")

    def __init__(self) -> None:
        self._scopes: dict[Scope, Fraction] = {}
        self._parts: dict[Partition, list[Fraction]] = {}

    def of(self, scope: Scope) -> Fraction:
        """Return what a scope costs so far, with all partitions below it."""
        return self._scopes.get(scope, Fraction(0))

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

    def rise(self, scope: Scope, amount: Fraction) -> Fraction:
        """Return by how much the whole would cost more after a charge."""
        return max(amount - self.slack(scope), Fraction(0))

    def add(self, scope: Scope, amount: Fraction) -> None:
        """Take note of a charge."""
        while scope.partition is not None:
            above = max(amount - self._lag(scope, scope.partition), Fraction(0))
            costs, before = self._parts.setdefault(scope.partition, []), self.of(scope)
            if scope in self._scopes:
                del costs[bisect_left(costs, before)]
            insort(costs, before + amount)
            self._scopes[scope] = before + amount
            scope, amount = scope.partition.scope, above
        self._scopes[scope] = self.of(scope) + amount

    def _lag(self, scope: Scope, partition: Partition) -> Fraction:
        """Return how much less a part costs than the least that counts in its place.

        That is the `most`-th largest of what the other parts cost.
        """
        costs, own = self._parts.get(partition, []), self.of(scope)
        place = len(costs) - partition.most
        if scope in self._scopes and bisect_left(costs, own) >= place:
            place -= 1  # the part itself is among the largest
        least = costs[place] if place >= 0 else Fraction(0)
        return max(least - own, Fraction(0))
