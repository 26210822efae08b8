"""What a budget holds: a total for each measure in which losses add up.

With a delta there are two lanes, each a privacy filter of its own [1]_: while every
release is pure the epsilons may add up to epsilon; in any case the rhos may add up to
the largest rho that is (epsilon, delta)-DP. A charge needs one lane that holds.
Both at once are sound: where only the first holds the loss is at most epsilon surely,
and all other outcomes are outcomes of the rho filter, which fails with a chance of
delta at most.

Delta is divided once, when the budget is made: `keys_delta` is for releases that
spend delta themselves. Such a release is an epsilon-DP one but for a chance of its
own delta [2]_, so its epsilon counts in both lanes like that of any pure release.

References
----------
.. [1] Rogers, Roth, Ullman and Vadhan (2016), Privacy Odometers and Filters; Feldman
   and Zrnic (2021), Individual Privacy Accounting via a Rényi Filter.
.. [2] Kairouz, Oh and Viswanath (2015), The Composition Theorem for Differential
   Privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.conversion import rho_within
from dpframe.privacy.loss import (
    Loss,
    decimal_text,
    exact_amount,
    exact_rational,
    exact_text,
    parse_amounts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

EPSILON: Final = "epsilon"
RHO: Final = "rho"
DELTA: Final = "delta"
MEASURES: Final = (EPSILON, RHO, DELTA)
"""What is added up for every charge; the first two are lanes."""


@dataclass(frozen=True, kw_only=True)
class Total:
    """The limits of a budget or of a child; a lane that it has not is None.

    Attributes
    ----------
    epsilon, rho : Fraction or None
        What the losses may add up to, in each lane.
    delta : Fraction or None
        The failure probability of the whole, as stated.
    keys_delta : Fraction
        What releases that spend delta themselves may add up to.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    keys_delta: Fraction = Fraction(0)

    @classmethod
    def stated(
        cls, *, epsilon: object, delta: object, rho: object, keys_delta: object
    ) -> Total:
        """Return the total that a caller asks for.

        Raises
        ------
        ParameterTypeError
            If neither or both of `epsilon` and `rho` are given, or one is no number.
        ParameterError
            If an amount is out of range, or the deltas do not fit together.
        """
        if (epsilon is None) == (rho is None):
            found = "none is given" if rho is None else "both are given"
            msg = f"a budget has one of epsilon= and rho=, but {found}."
            hint = "write Accountant(epsilon=1), with delta=1e-6 or without."
            raise ParameterTypeError(msg, hint=hint)
        keys = probability_or_zero(keys_delta, what="keys_delta")
        if rho is not None:
            if delta is not None:
                msg = "a budget in rho has no delta of its own."
                hint = "convert it: .total.at(delta=1e-6); for keys pass keys_delta=."
                raise ParameterError(msg, hint=hint)
            amount = exact_amount(rho, what="rho")
            return cls(rho=amount, delta=keys or None, keys_delta=keys)
        amount = exact_amount(epsilon, what="epsilon")
        if delta is None:
            if keys:
                msg = "keys_delta= is a part of delta=, which is not given."
                raise ParameterError(msg, hint="pass delta= too, at least as large.")
            return cls(epsilon=amount)
        whole = _probability(delta, what="delta")
        if keys > whole:
            msg = "keys_delta= is a part of delta= and cannot be larger."
            raise ParameterError(msg)
        rest = whole - keys
        lane = rho_within(amount, rest) if rest else None
        return cls(epsilon=amount, delta=whole, rho=lane, keys_delta=keys)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The measures of which one has to hold."""
        lanes = ((EPSILON, self.epsilon), (RHO, self.rho))
        return tuple(name for name, limit in lanes if limit is not None)

    def limit(self, measure: str) -> Fraction:
        """Return what the losses may add up to in a measure; 0 where there is none."""
        limits = {EPSILON: self.epsilon, RHO: self.rho, DELTA: self.keys_delta}
        return limits[measure] or Fraction(0)

    @property
    def loss(self) -> Loss:
        """The total as a loss."""
        return Loss(epsilon=self.epsilon, delta=self.delta, rho=self.rho, either=True)

    @property
    def exact(self) -> str:
        """The total without rounding, as text that `parsed` reads."""
        return exact_text(
            {
                EPSILON: self.epsilon,
                DELTA: self.delta,
                RHO: self.rho,
                "keys_delta": self.keys_delta or None,
            }
        )

    @property
    def words(self) -> str:
        """The total as a caller states it, without rounding and without what follows.

        Where there is an epsilon, rho follows from it and the deltas.
        """
        stated = {
            EPSILON: self.epsilon,
            DELTA: self.delta,
            RHO: self.rho if self.epsilon is None else None,
            "keys_delta": self.keys_delta or None,
        }
        return ", ".join(f"{k}={_short(v)}" for k, v in stated.items() if v is not None)

    @property
    def words_of_child(self) -> str:
        """The total of a child as a caller states it: by one lane, without delta."""
        by_rho = not self.epsilon
        stated = Total(
            epsilon=None if by_rho else self.epsilon,
            rho=self.rho if by_rho else None,
            keys_delta=self.keys_delta,
        )
        return stated.words

    @classmethod
    def parsed(cls, text: str) -> Total:
        """Return the total that `exact` wrote."""
        return cls(**parse_amounts(text))


def _short(amount: Fraction) -> str:
    """Return a decimal where that is exact."""
    text = decimal_text(amount)
    return text if Fraction(text) == amount else str(amount)


def measures_of(cost: Loss, total: Total) -> Mapping[str, Fraction]:
    """Return what a charge adds in each measure of a budget.

    A loss without an epsilon is in no lane of epsilons: it ends that lane.
    """
    amounts: dict[str, Fraction] = {}
    if total.epsilon is not None and cost.epsilon is not None:
        amounts[EPSILON] = cost.epsilon
    if total.delta is not None:
        amounts[DELTA] = cost.delta or Fraction(0)
    if total.rho is not None:
        amounts[RHO] = cost.as_rho
    return amounts


def probability_or_zero(delta: object, *, what: str) -> Fraction:
    """Return a delta that may be 0."""
    if exact_rational(delta, what=what) == 0:
        return Fraction(0)
    return _probability(delta, what=what)


def _probability(delta: object, *, what: str) -> Fraction:
    amount = exact_amount(delta, what=what)
    if amount >= 1:
        msg = f"{what} must be less than 1."
        raise ParameterError(msg)
    return amount
