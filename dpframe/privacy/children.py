"""How a budget is divided: names, totals and weights of its children."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from dpframe.errors import LedgerError, ParameterError, ParameterTypeError
from dpframe.privacy.identity import new_identity
from dpframe.privacy.lanes import check_kind
from dpframe.privacy.loss import exact_amount, stated_loss
from dpframe.privacy.refusals import nothing_to_split
from dpframe.privacy.scope import ROOT
from dpframe.privacy.total import EPSILON, RHO, Total, probability_or_zero

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.privacy.book import Book
    from dpframe.privacy.entries import Entry
    from dpframe.privacy.loss import Loss

_LONGEST: Final = 200
_MOST: Final = 10_000


def checked_name(name: object, *, what: str) -> str:
    """Return the name of a budget or child.

    Raises
    ------
    ParameterTypeError
        If it is no text.
    ParameterError
        If it is empty, too long, or holds a slash or an unprintable character.
    """
    if not isinstance(name, str):
        msg = f"{what} must be text, not {type(name).__name__}."
        raise ParameterTypeError(msg)
    if not name or len(name) > _LONGEST or "/" in name or not name.isprintable():
        msg = f"{what} must be printable text of 1 to {_LONGEST} characters, no slash."
        raise ParameterError(msg)
    return name


def total_of_child(
    whole: Total, *, epsilon: object, rho: object, keys_delta: object
) -> Total:
    """Return the total of a child of a budget, as a caller asks for it.

    Raises
    ------
    ParameterTypeError
        If neither or both of `epsilon` and `rho` are given, or one is no number.
    ParameterError
        If an amount is out of range, or a rho is asked of a budget that has none.
    """
    stated = stated_loss(epsilon=epsilon, rho=rho, allow_weak=True)
    check_kind(stated, whole)
    keys = probability_or_zero(keys_delta, what="keys_delta")
    return _part(whole, epsilon=stated.epsilon, rho=stated.as_rho, keys=keys)


def _part(
    whole: Total,
    *,
    epsilon: Fraction | None,
    rho: Fraction | None,
    keys: Fraction | None,
) -> Total:
    """Return the total of a child, in each lane that the budget has."""
    none = Fraction(0)
    return Total(
        epsilon=(epsilon or none) if EPSILON in whole.lanes else None,
        rho=(rho or none) if RHO in whole.lanes else None,
        delta=keys or None,
        keys_delta=keys or none,
    )


def set_aside(book: Book, path: str, total: Total) -> Entry | None:
    """Return the entry that opens a child; None where it is there, with this total.

    Raises
    ------
    BudgetExceededError
        If it is more than what remains.
    LedgerError
        If there is a child of this name with another total, or it was closed.
    """
    account = book.accounts.get(path)
    if account is None:
        return book.opening(path, total, new_identity())
    if account.closed:
        msg = f"a child {path!r} is on record and was closed."
        raise LedgerError(msg, hint="choose another name.")
    if account.total != total:
        one, other = account.total.words_of_child, total.words_of_child
        if one == other:
            one, other = account.total.exact, total.exact
        msg = (
            f"a child {path!r} is on record and has another total: {one}, not {other}."
        )
        hint = "pass the total on record, or choose another name."
        raise LedgerError(msg, hint=hint)
    return None


class Shares:
    """The children among which all that remains of an account is shared.

    Parameters
    ----------
    path : str
        Of the account.
    parts : int or mapping of str to number
        How many equal parts, or weights by name.

    Attributes
    ----------
    paths : list of str
        Of the children, in order; filled as they are written.

    Raises
    ------
    ParameterTypeError, ParameterError
        As `weights_of`.
    """

    def __init__(self, path: str, parts: object) -> None:
        self._path = path
        self._are_named = isinstance(parts, Mapping)
        self._weights = weights_of(parts)
        self._rest: Loss | None = None
        self.paths: list[str] = []

    @property
    def names(self) -> list[str]:
        """The names as given, or numbers."""
        return list(self._weights)

    @property
    def writes(self) -> list[Callable[[Book], Entry]]:
        """What makes the entries that open the children, one after the other.

        The first finds out how much remains; it raises `BudgetExceededError` if that
        is nothing.
        """
        return [partial(self._opening, name) for name in self._weights]

    def _opening(self, name: str, book: Book) -> Entry:
        account = book.account(self._path)
        if self._rest is None:
            self._rest = book.room(account, ROOT)
            if not (account.closed or self._rest.epsilon or self._rest.rho):
                raise nothing_to_split(self._rest)
        free = name if self._are_named else _free_name(book, self._path)
        self.paths.append(f"{self._path}/{free}")
        whole = sum(self._weights.values(), Fraction(0))
        share = self._rest.share(self._weights[name] / whole)
        total = _part(
            account.total, epsilon=share.epsilon, rho=share.rho, keys=share.delta
        )
        return book.opening(self.paths[-1], total, new_identity())


def weights_of(parts: object) -> dict[str, Fraction]:
    """Return a weight for each part of a budget, by name or by number.

    Raises
    ------
    ParameterTypeError
        If it is neither a number of parts nor a mapping of weights.
    ParameterError
        If there are none, too many, or a weight is not positive.
    """
    if isinstance(parts, Mapping):
        given = cast("Mapping[object, object]", parts)
        weights = {
            checked_name(name, what="a name"): exact_amount(weight, what="a weight")
            for name, weight in given.items()
        }
    elif isinstance(parts, int) and not isinstance(parts, bool):
        weights = {str(n): Fraction(1) for n in range(1, min(parts, _MOST + 1) + 1)}
    else:
        msg = "a budget is split into a number of parts or by a mapping of weights."
        raise ParameterTypeError(
            msg, hint='write .split(3) or .split({"a": 2, "b": 1}).'
        )
    if not 0 < len(weights) <= _MOST:
        msg = f"a budget is split into 1 to {_MOST} parts."
        raise ParameterError(msg)
    return weights


def _free_name(book: Book, path: str) -> str:
    """Return the first number that no child of an account is named by."""
    number = 1
    while f"{path}/{number}" in book.accounts:
        number += 1
    return str(number)
