"""Planning: what a budget must hold to pay for a list of releases."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

import polars as pl

from dpframe.errors import (
    BudgetExceededError,
    LedgerError,
    ParameterError,
    ParameterTypeError,
)
from dpframe.preview import Preview
from dpframe.privacy.conversion import epsilon_of, rho_within
from dpframe.privacy.entries import Event
from dpframe.privacy.identity import new_identity
from dpframe.privacy.loss import Loss, decimal_text, exact_amount
from dpframe.privacy.scope import ROOT, Costs
from dpframe.privacy.total import DELTA, EPSILON, MEASURES, RHO
from dpframe.table import Table, aligned_lines, cell_text, html_table

if TYPE_CHECKING:
    from dpframe.privacy.accountant import Accountant
    from dpframe.privacy.book import Book
    from dpframe.privacy.loss import Amount

_DELTA: Final = Fraction(1, 10**6)
_LEAST: Final = Fraction(1, 10**6)
_SHOWN: Final = 20


def budget(previews: Iterable[Preview[Any]]) -> Plan:
    """Add up what a list of planned releases costs; nothing is read or spent.

    Parameters
    ----------
    previews : iterable of Preview
        From ``.dp.preview``, of one frame or of several. One that was planned with
        `within` has found the smallest loss for its own error; here these add up.

    Returns
    -------
    Plan
        The sums, whether the budgets of the frames can pay for all of them, and a
        budget that could.

    Raises
    ------
    ParameterTypeError
        If something in the list is no preview.
    ParameterError
        If the list is empty.

    Examples
    --------
    >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 200})
    >>> frame = stays.dp.attach(dpframe.Accountant(epsilon=1))
    >>> plan = dpframe.plan.budget(
    ...     [
    ...         frame.dp.preview.count(epsilon=0.1),
    ...         frame.dp.preview.sum("days", bounds=(0, 30), within=300),
    ...     ]
    ... )
    >>> plan
    Plan(2 releases, ε=0.399074, fits what is left)
      count of rows  ε=0.1       ± 30
      sum of days    ε=0.299074  ± 300
    A budget for them alone: Accountant(epsilon=0.399074)
    >>> plan.epsilon, plan.fits
    (Fraction(199537, 500000), True)
    """
    given = cast("object", previews)  # callers may not be type-checked
    if not isinstance(given, Iterable):
        msg = f"a plan is made of a list of previews, not of a {type(given).__name__}."
        raise ParameterTypeError(msg, hint="write budget([v.dp.preview.count(...)]).")
    planned = tuple(cast("Iterable[object]", given))
    for each in planned:
        if not isinstance(each, Preview):
            msg = f"a plan is made of previews, and one is a {type(each).__name__}."
            raise ParameterTypeError(msg, hint="write v.dp.preview.count(...).")
    if not planned:
        msg = "a plan needs at least one preview."
        raise ParameterError(msg, hint="write budget([v.dp.preview.count(...)]).")
    return Plan(previews=cast("tuple[Preview[Any], ...]", planned))


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What planned releases cost together.

    Sums follow the rules of a budget that has paid for nothing else: releases from
    disjoint parts of a partition cost as much as the largest part, all others add up.

    Attributes
    ----------
    previews : tuple of Preview
        In the order in which they would be paid.

    Examples
    --------
    Planning with Gaussian noise:

    >>> stays = pl.DataFrame({"days": [3, 7, 2, 31, 5] * 200})
    >>> budget = dpframe.Accountant(epsilon=1, delta=1e-6)
    >>> frame = stays.dp.attach(budget)
    >>> count = frame.dp.preview.count
    >>> plan = dpframe.plan.budget([count(rho=0.002), count(rho=0.002)])
    >>> plan
    Plan(2 releases, ρ=0.004, fits what is left)
      2 × count of rows  ρ=0.002  ± 31
    A budget for them alone: Accountant(epsilon=0.381865, delta=1e-6)
    >>> round(float(plan.at(delta=1e-9)), 3)
    0.503
    """

    previews: tuple[Preview[Any], ...]

    @property
    def epsilon(self) -> Fraction | None:
        """The ε of all, exactly; None where Gaussian noise is planned."""
        return self._sums.get(EPSILON)

    @property
    def rho(self) -> Fraction:
        """The ρ of all, where a pure release of ε counts ε²/2."""
        return self._sums[RHO]

    @property
    def delta(self) -> Fraction:
        """The δ that the releases spend themselves: that of `discover_keys`."""
        return self._sums[DELTA]

    @property
    def _sums(self) -> dict[str, Fraction]:
        costs = {measure: Costs() for measure in MEASURES}
        for preview in self.previews:
            cost, scope = preview.cost, preview.frame.private_state.scope
            if cost.epsilon is None:
                costs.pop(EPSILON, None)
            elif EPSILON in costs:
                costs[EPSILON].add(scope, cost.epsilon)
            costs[RHO].add(scope, cost.as_rho)
            costs[DELTA].add(scope, cost.delta or Fraction(0))
        return {measure: cost.of(ROOT) for measure, cost in costs.items()}

    @property
    def loss(self) -> Loss:
        """The sums as a loss."""
        return Loss(epsilon=self.epsilon, delta=self.delta or None, rho=self.rho)

    def at(self, *, delta: Amount) -> Loss:
        """Return an ``(epsilon, delta)`` that all together are.

        Parameters
        ----------
        delta : float
            Failure probability δ, unitless, in ``(0, 1)``. What the releases spend
            themselves is a part of it.

        Returns
        -------
        Loss
            The smaller of the sum of epsilons, if all are pure, and the tight
            conversion of the sum of rhos.

        Raises
        ------
        ParameterError
            If `delta` is out of range, or less than what the releases spend.
        """
        return self.loss.at(delta=delta)

    @property
    def fits(self) -> bool:
        """Whether the budgets of the frames could pay for all of them now, in order.

        Each is charged to the budget or child of its own frame, in its own part of a
        partition, by the rules of a real charge; but on a copy of the record.
        """
        copies: dict[Accountant, Book] = {}
        books: dict[str, Book] = {}
        for preview in self.previews:
            state, query = preview.frame.private_state, preview.query
            account = state.accountant
            if account not in copies:
                copy = account.rehearsal()  # children and parents share one
                copies[account] = books.setdefault(copy.identity, copy)
            book = copies[account]
            event = Event(
                mechanism=query.mechanism,
                columns=query.columns,
                parameters="",
                scope=state.scope,
            )
            try:
                request = new_identity()
                entry = book.charge(account.path, preview.cost, event, request)
            except (BudgetExceededError, LedgerError):
                return False
            book.read(entry)
        return True

    def accountant(self, *, delta: Amount | None = None) -> str:
        """Return the line that opens a budget which pays for all of them, and no more.

        Parameters
        ----------
        delta : float, optional
            Where Gaussian noise is planned: the failure probability δ that is
            converted; what the releases spend themselves comes on top. Default: the
            least that is converted in the budgets of the frames, or 1e-6.

        Raises
        ------
        ParameterError
            If the deltas add up to 1 or more.
        """
        keys = Fraction(decimal_text(self.delta))
        accounts = [preview.frame.private_state.accountant for preview in self.previews]
        amounts: dict[str, Fraction] = {}
        whole = keys
        if self.epsilon is not None:
            amounts["epsilon"] = self.epsilon
        elif all(account.lanes == (RHO,) for account in accounts):
            amounts["rho"] = self.rho
        else:
            wanted = self._converted() if delta is None else delta
            whole = Fraction(decimal_text(exact_amount(wanted, what="delta") + keys))
        if whole >= 1:
            msg = f"the deltas add up to {decimal_text(whole)}, which is not below 1."
            raise ParameterError(msg, hint="plan with smaller deltas.")
        if not amounts:
            amounts["epsilon"] = self._enough(whole - keys)
        if "rho" not in amounts:
            amounts["delta"] = whole
        amounts["keys_delta"] = keys
        stated = [f"{name}={decimal_text(v)}" for name, v in amounts.items() if v]
        return f"Accountant({', '.join(stated)})"

    def _converted(self) -> Fraction:
        """Return the delta that the frames' own budgets convert."""
        budgets = {preview.frame.private_state.accountant for preview in self.previews}
        deltas = [(budget.total.delta or 0) - budget.keys_delta for budget in budgets]
        return min((delta for delta in deltas if delta > 0), default=_DELTA)

    def _enough(self, delta: Fraction) -> Fraction:
        """Return an epsilon of few digits whose largest rho is that of all."""
        epsilon = Fraction(decimal_text(epsilon_of(self.rho, delta) or _LEAST))
        while rho_within(epsilon, delta) < self.rho:  # both conversions are rounded
            epsilon = Fraction(decimal_text(epsilon * (1 + _LEAST)))
        return epsilon

    @property
    def table(self) -> Table:
        """The releases, one a row.

        Columns are ``release``, ``cost``, ``accuracy`` (±, as a preview prints it)
        and ``charged_to``: the budget or child, and the part of a partition.
        """
        names: tuple[str, ...] = ("release", "cost", "accuracy", "charged_to")
        rows = [
            (
                preview.query.outlook.title,
                str(preview.cost),
                ", ".join(preview.facts()) or None,
                _place(preview),
            )
            for preview in self.previews
        ]
        return Table(
            pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
        )

    def __repr__(self) -> str:
        lines = [f"Plan({self._summary()})"]
        lines += [f"  {line}" for line in aligned_lines(self._rows(), right=())]
        return "\n".join([*lines, *self._advice()])

    def _repr_html_(self) -> str:
        parts = [f"<div>Plan({html.escape(self._summary())})</div>"]
        parts.append(html_table([], self._rows(), ()))
        parts += [f"<div>{html.escape(line)}</div>" for line in self._advice()]
        return f"<div>{''.join(parts)}</div>"

    def _summary(self) -> str:
        count = len(self.previews)
        loss = Loss(
            epsilon=self.epsilon,
            delta=self.delta or None,
            rho=self.rho if self.epsilon is None else None,
        )
        fits = "fits" if self.fits else "too much for"
        return f"{count} release{'s'[: count - 1]}, {loss}, {fits} what is left"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return what is printed of the releases; equal ones in a row are counted."""
        rows = [
            tuple("" if cell is None else cell_text(cell) for cell in row.values())
            for row in self.table.to_dicts()
        ]
        if len({place for *_, place in rows}) == 1:
            rows = [row[:-1] for row in rows]
        counted = [(row, len([*equal])) for row, equal in groupby(rows)]
        shown = [
            (f"{count} × {title}" if count > 1 else title, *rest)
            for (title, *rest), count in counted[:_SHOWN]
        ]
        more = sum(count for _, count in counted[_SHOWN:])
        if not more:
            return shown
        return [*shown, (f"… {more} more", *[""] * (len(rows[0]) - 1))]

    def _advice(self) -> list[str]:
        if self.delta + self._converted() >= 1:
            return []
        return [f"A budget for them alone: {self.accountant()}"]


def _place(preview: Preview[Any]) -> str:
    state = preview.frame.private_state
    part = "" if state.scope == ROOT else f", {state.scope.name}"
    return f"{state.accountant.path}{part}"
