"""How a budget stands: in each measure what was spent, set aside and remains."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.privacy.entries import CHARGED
from dpframe.privacy.loss import Loss
from dpframe.privacy.scope import ROOT
from dpframe.privacy.total import DELTA, MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dpframe.privacy.book import Account, Book
    from dpframe.privacy.entries import Entry
    from dpframe.privacy.total import Total

SHOWN: Final = 20
"""So many charges and children are shown."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """What an account holds in one measure.

    Attributes
    ----------
    measure : str
        ``"epsilon"``, ``"rho"`` or ``"delta"``.
    total : Fraction
    spent : Fraction
        By releases, and in children that were closed.
    aside : Fraction
        In children that are open, whether they spent it or not.
    holds : bool
        Whether all that was spent or set aside is within this lane, in the whole
        budget.
    """

    measure: str
    total: Fraction
    spent: Fraction
    aside: Fraction = Fraction(0)
    holds: bool = True

    @property
    def remaining(self) -> Fraction:
        """What is neither spent nor set aside; 0 where the lane does not hold."""
        rest = self.total - self.spent - self.aside
        return max(rest, Fraction(0)) if self.holds else Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Child:
    """A child as it stands.

    Attributes
    ----------
    name : str
        As its parent calls it.
    depth : int
        1 for a child, 2 for a child of a child.
    lanes : tuple of Lane
    closed : bool
        Whether what it had not spent went back.
    """

    name: str
    depth: int
    lanes: tuple[Lane, ...]
    closed: bool


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge.

    Attributes
    ----------
    number : int
        Its place among the charges.
    mechanism, columns : str
        What it paid for.
    child : str
        The child that paid; empty where it was the budget itself.
    scope : str
        The part of a partition that it was charged to; empty for the whole.
    cost : Loss
    raised : Loss
        By how much it raised what is spent, in each measure.
    """

    number: int
    mechanism: str
    columns: str
    child: str
    scope: str
    cost: Loss
    raised: Loss


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A budget or a child, with all below it.

    Attributes
    ----------
    path, place : str
        Its name, and where its record is kept.
    durable : bool
        Whether that is a ledger.
    total : Total
    lanes : tuple of Lane
        The measures in which losses add up; one of epsilon and rho has to hold.
    pure : bool
        Whether every release so far was pure, save for its own delta.
    closed : bool
        Whether it is a child that was closed, or its parent was.
    children : tuple of Child
        The first, each followed by those below it.
    charges : tuple of Charge
        The last, in order, those of children too.
    more_children, earlier_charges : int
        How many are left out.
    """

    path: str
    place: str
    durable: bool
    total: Total
    lanes: tuple[Lane, ...]
    pure: bool
    closed: bool
    children: tuple[Child, ...]
    charges: tuple[Charge, ...]
    more_children: int = 0
    earlier_charges: int = 0


def standing_of(
    book: Book,
    account: Account,
    rows: Iterable[Entry],
    *,
    place: str,
    durable: bool,
    most: int = SHOWN,
) -> Standing:
    """Return how an account stands.

    Parameters
    ----------
    book, account
    rows : iterable of Entry
        The record of the whole budget.
    place : str
        Where the record is kept.
    durable : bool
        Whether that is a ledger.
    most : int
        How many charges and children to show.
    """
    below = [*_below(account)]
    room = book.room(account, ROOT)  # a lane holds in the whole tree, or nowhere
    holds = {measure: getattr(room, measure) is not None for measure in MEASURES}
    charged, last = 0, deque["tuple[int, Entry]"](maxlen=most)
    for row in rows:
        if row.state == CHARGED and row.is_below(account.path):
            charged += 1
            last.append((charged, row))
    return Standing(
        path=account.path,
        place=place,
        durable=durable,
        total=account.total,
        lanes=_lanes(account, holds),
        pure=book.pure,
        closed=account.closed,
        children=tuple(
            Child(
                name=child.path.rpartition("/")[2],
                depth=depth,
                lanes=_lanes(child, holds),
                closed=child.closed,
            )
            for depth, child in below[:most]
        ),
        charges=tuple(_charge(number, row, account) for number, row in last),
        more_children=max(len(below) - most, 0),
        earlier_charges=charged - len(last),
    )


def _below(account: Account, depth: int = 1) -> Iterator[tuple[int, Account]]:
    for child in account.children:
        yield depth, child
        yield from _below(child, depth + 1)


def _lanes(account: Account, holds: Mapping[str, bool]) -> tuple[Lane, ...]:
    lanes = [*account.total.lanes, *([DELTA] if account.total.keys_delta else [])]
    return tuple(
        Lane(
            measure=measure,
            total=account.total.limit(measure),
            spent=account.used(measure) - _aside(account, measure),
            aside=_aside(account, measure),
            holds=holds[measure],
        )
        for measure in lanes
    )


def _aside(account: Account, measure: str) -> Fraction:
    claims = (c.claim(measure) for c in account.children if not c.closed)
    return sum(claims, Fraction(0))


def _charge(number: int, row: Entry, account: Account) -> Charge:
    return Charge(
        number=number,
        mechanism=row.mechanism,
        columns=row.columns,
        child=row.account.removeprefix(account.path).removeprefix("/"),
        scope="" if row.scope == ROOT.name else row.scope,
        cost=Loss.parsed(row.cost),
        raised=Loss.parsed(row.charged),
    )
