"""Privacy loss as exact rationals, and how public amounts are read.

A float is read as its shortest decimal: ``0.1`` is exactly 1/10, and that same
rational sets the noise and the charge. Text that stands for a loss is rounded
towards more loss, text that stands for what remains towards less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.privacy.conversion import epsilon_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Amount: TypeAlias = "float | Fraction | Decimal | np.integer[Any] | np.floating[Any]"
"""What callers may write for a public amount; ints are included, Booleans are not."""

WEAK: Final = 50
"""An epsilon above this needs ``allow_weak=True``."""

LEAST: Final = Fraction(1, 10**100)
"""An epsilon below this is refused: figures under its noise are no floats."""

_LARGEST: Final = 10**308
_FINEST: Final = 10**330


def exact_amount(value: object, *, what: str) -> Fraction:
    """Return a public amount as an exact positive fraction.

    Parameters
    ----------
    value : int, float, Fraction, Decimal or numpy scalar
        Public. A float of any width is read as its own shortest decimal.
    what : str
        Name of the parameter, for messages.

    Returns
    -------
    Fraction
        Greater than 0.

    Raises
    ------
    ParameterTypeError
        For anything that is not a real number; Booleans and arrays are not.
    ParameterError
        For 0, negative amounts, NaN and infinities, and for amounts with more
        than 300 digits before or after the point.

    Examples
    --------
    >>> exact_amount(0.1, what="epsilon")
    Fraction(1, 10)
    """
    number = exact_rational(value, what=what)
    if number <= 0:
        msg = f"{what} must be greater than 0, not {decimal_text(number)}."
        raise ParameterError(msg)
    if number.numerator > _LARGEST or number.denominator > _FINEST:
        msg = f"{what} has too many digits to be charged exactly."
        raise ParameterError(msg, hint="pass a number with fewer digits.")
    return number


def exact_rational(value: object, *, what: str) -> Fraction:
    """Return a number of any sign exactly; see `exact_amount`."""
    kind = type(value).__name__
    if isinstance(value, (bool, np.bool_, np.timedelta64)) or not isinstance(
        value, (int, float, Fraction, Decimal, np.integer, np.floating)
    ):
        msg = f"{what} must be a number, not {kind}."
        raise ParameterTypeError(msg, hint="pass an int, float, Fraction or Decimal.")
    if isinstance(value, Fraction):  # its own numbers may be numpy's, which overflow
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (int, np.integer)):
        return Fraction(int(cast("int", value)))
    # The shortest decimal that reads back as the same float, whatever its width.
    text = (
        repr(float(value)) if isinstance(value, float) else str(cast("object", value))
    )
    number = Decimal(text)
    if not number.is_finite():
        msg = f"{what} must be finite, not {text}."
        raise ParameterError(msg)
    if abs(number.adjusted()) > 2 * len(str(_FINEST)):  # too long to write out
        msg = f"{what} must be of a usable size, not {text}."
        raise ParameterError(msg)
    return Fraction(number)


def decimal_text(amount: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Return an amount in at most 6 significant digits, rounded up by default.

    Examples
    --------
    >>> decimal_text(Fraction(3, 10)), decimal_text(Fraction(1, 3))
    ('0.3', '0.333334')
    """
    context = Context(prec=6, rounding=rounding, traps=[])
    quotient = context.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    digits = quotient.normalize(context)
    return f"{digits:f}" if -5 <= digits.adjusted() < 16 else f"{digits:e}"  # noqa: PLR2004 - where Python's floats switch, too


def exact_text(amounts: Mapping[str, Fraction | None]) -> str:
    """Return amounts without rounding, as in ``epsilon=3/10, delta=1/100``."""
    try:
        return ", ".join(f"{k}={v}" for k, v in amounts.items() if v is not None)
    except ValueError:  # Python writes and reads some thousand digits at most
        msg = "amounts that add up to so many digits cannot be put down exactly."
    raise ParameterError(msg, hint="use amounts with fewer digits.")


def parse_amounts(text: str) -> dict[str, Fraction]:
    """Return the amounts that `exact_text` wrote."""
    pairs = (pair.split("=") for pair in text.split(", ") if pair)
    return {name: Fraction(value) for name, value in pairs}


@dataclass(frozen=True)
class Loss:
    """A privacy loss, exact; a measure that is not tracked is None.

    Parameters
    ----------
    epsilon, delta, rho : Fraction, optional
        Unitless, not negative. At least one of `epsilon` and `rho` is tracked.
    either : bool, default False
        Whether the epsilon and the rho are limits of two lanes, of which only one is
        kept: those of a budget, as against both of what was spent.

    Privacy
    -------
    Losses of one kind add up under sequential composition, whatever the answers
    in between led to.

    Examples
    --------
    >>> loss = Loss(epsilon=Fraction(1, 10)) + Loss(epsilon=Fraction(1, 5))
    >>> loss.exact, float(loss)
    ('epsilon=3/10', 0.3)
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    either: bool = field(default=False, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            msg = "a loss needs an epsilon or a rho."
            raise ParameterTypeError(msg)
        for name, amount in self._tracked().items():
            # Callers may not be type-checked: a negative loss would be a refund.
            if not isinstance(amount, Fraction):  # pyright: ignore[reportUnnecessaryIsInstance]
                msg = f"{name} of a loss must be a Fraction."
                raise ParameterTypeError(msg, hint="read it with exact_amount first.")
            if amount < 0:
                msg = f"{name} of a loss must not be negative."
                raise ParameterError(msg)

    def _tracked(self) -> dict[str, Fraction]:
        measures = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: value for name, value in measures.items() if value is not None}

    def __add__(self, other: object) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        ours, theirs = self._tracked(), other._tracked()
        if ours.keys() != theirs.keys():
            msg = f"losses of different kinds do not add up: {self} and {other}."
            raise ParameterError(msg)
        both = {name: ours[name] + theirs[name] for name in ours}
        return Loss(**both, either=self.either or other.either)

    def __float__(self) -> float:
        return float(next(v for v in (self.epsilon, self.rho) if v is not None))

    def __str__(self) -> str:
        symbols = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        return ", ".join(
            f"{symbols[name]}={decimal_text(amount)}"
            for name, amount in self._tracked().items()
        )

    @property
    def exact(self) -> str:
        """The loss without rounding, as in ``epsilon=3/10``."""
        return exact_text(self._tracked())

    @classmethod
    def parsed(cls, text: str) -> Loss:
        """Return the loss that `exact` wrote."""
        return cls(**parse_amounts(text), either=False)

    @property
    def as_rho(self) -> Fraction:
        """The rho of zCDP that this loss implies, save for its own delta.

        That of a pure loss is ``epsilon**2 / 2`` [1]_.

        References
        ----------
        .. [1] Bun and Steinke (2016), Concentrated Differential Privacy, Prop. 1.4.
        """
        if self.rho is not None:
            return self.rho
        return (self.epsilon or Fraction(0)) ** 2 / 2

    @property
    def pure(self) -> Fraction:
        """The epsilon of pure noise that this loss pays for, save for its own delta.

        That of a rho is ``sqrt(2 rho)``, rounded down to nine digits.
        """
        if self.epsilon is not None:
            return self.epsilon
        double = 2 * self.as_rho
        finest = 10 ** (9 + len(str(double.denominator // (double.numerator or 1))))
        return Fraction(isqrt(int(double * finest**2)), finest)

    def exceeds(self, other: Loss) -> bool:
        """Return whether a loss of the same kind is greater, in any measure."""
        ours, theirs = self._tracked(), other._tracked()
        return any(ours[name] > theirs.get(name, 0) for name in ours)

    def share(self, part: Fraction) -> Loss:
        """Return a part of the loss, of the same kind.

        Examples
        --------
        >>> Loss(rho=Fraction(1, 2)).share(Fraction(1, 3)).exact
        'rho=1/6'
        """
        parts = {name: value * part for name, value in self._tracked().items()}
        return Loss(**parts, either=self.either)

    def at(self, *, delta: Amount) -> Loss:
        """Return an ``(epsilon, delta)`` that this loss implies.

        Parameters
        ----------
        delta : float
            Failure probability δ, unitless, in ``(0, 1)``.

        Returns
        -------
        Loss
            With `epsilon`, rounded up, and `delta`.

        Privacy
        -------
        A pure ε-DP loss is (ε, δ)-DP for every δ. A rho is converted tightly: by the
        best order of Rényi divergence [1]_. Where both are tracked the smaller
        epsilon is returned.

        What releases have spent is converted as if it had been settled beforehand
        that they would be all. Of a rho, one who asks on until the answers please
        can lose somewhat more than this [2]_: the total of the budget holds for
        everybody.

        Raises
        ------
        ParameterError
            If `delta` is out of range, or what the loss itself fails with leaves
            nothing of it; for the limits of two lanes, which nothing converts.

        References
        ----------
        .. [1] Canonne, Kamath and Steinke (2020), The Discrete Gaussian for
           Differential Privacy, Prop. 12.
        .. [2] Rogers, Roth, Ullman and Vadhan (2016), Privacy Odometers and Filters.

        Examples
        --------
        >>> round(float(Loss(rho=Fraction(1, 2)).at(delta=1e-3)), 3)
        3.537
        """
        given = exact_amount(delta, what="delta")
        if given >= 1:
            msg = f"delta must be less than 1, not {decimal_text(given)}."
            raise ParameterError(msg)
        if self.either and self.epsilon is not None and self.rho is not None:
            msg = "a budget with two lanes keeps its epsilon or its rho, not both."
            hint = "read .total.epsilon and .total.delta, or convert .spent."
            raise ParameterError(msg, hint=hint)
        rest = given - (self.delta or 0)
        if rest < 0 or (rest == 0 and self.epsilon is None):
            msg = f"a loss of {self} says nothing about a delta this small."
            hint = f"pass a delta above {decimal_text(self.delta or Fraction(0))}."
            raise ParameterError(msg, hint=hint)
        implied = [] if self.epsilon is None else [self.epsilon]
        if self.rho is not None and rest:
            implied.append(epsilon_of(self.rho, rest))
        return Loss(epsilon=min(implied), delta=given)


def stated_loss(*, epsilon: object, rho: object, allow_weak: object) -> Loss:
    """Return the loss of a call that takes exactly one of `epsilon` and `rho`.

    Raises
    ------
    ParameterTypeError
        If none or both are given, or one is not a number, or `allow_weak` is not
        a bool.
    ParameterError
        If the amount is out of range, or `epsilon` is below 1e-100, or above 50
        without `allow_weak`, or `rho` beyond what these are.
    """
    _exactly_one(epsilon=epsilon, rho=rho)
    weak = flag(allow_weak, what="allow_weak")
    name, given, least, most = "epsilon", epsilon, LEAST, Fraction(WEAK)
    if epsilon is None:
        name, given, least, most = "rho", rho, LEAST**2 / 2, Fraction(WEAK) ** 2 / 2
    amount = exact_amount(given, what=name)
    if amount < least:
        limit = decimal_text(least)
        msg = f"{name}={decimal_text(amount)} is below {limit}: it buys noise alone."
        raise ParameterError(msg, hint=f"pass {name}={limit} or more.")
    if amount > most and not weak:
        limit = decimal_text(most)
        msg = f"{name}={decimal_text(amount)} is above {limit} and protects nobody."
        raise ParameterError(
            msg, hint=f"pass {name}={limit} or less, or allow_weak=True if it is meant."
        )
    return Loss(**{name: amount}, either=False)


def requested_loss(
    *, epsilon: object, rho: object, within: object, allow_weak: object
) -> Loss | None:
    """Return the loss of a call that also takes `within`, None where that is given.

    Raises
    ------
    ParameterTypeError, ParameterError
        As `stated_loss`; exactly one of the three must be given.
    """
    _exactly_one(epsilon=epsilon, rho=rho, within=within)
    if within is None:
        return stated_loss(epsilon=epsilon, rho=rho, allow_weak=allow_weak)
    flag(allow_weak, what="allow_weak")  # what is planned is checked against it later
    return None


def flag(value: object, *, what: str) -> bool:
    """Return True or False, refusing anything else."""
    if not isinstance(value, bool):
        msg = f"{what} must be True or False, not {type(value).__name__}."
        raise ParameterTypeError(msg)
    return value


def _exactly_one(**options: object) -> None:
    given = [f"{name}=" for name, value in options.items() if value is not None]
    if len(given) == 1:
        return
    *names, last = [f"{name}=" for name in options]
    allowed = f"{', '.join(names)} and {last}"
    found = f"{' and '.join(given)} are given together" if given else "none is given"
    msg = f"exactly one of {allowed} is needed, but {found}."
    raise ParameterTypeError(msg, hint="pass epsilon=0.1, for example, and no other.")
