"""How many rows an error needs, which error rows reach, and at which loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.goal import checked_confidence, checked_rows
from dpframe.plan.promises import promised
from dpframe.plan.setting import Promise, Setting, checked_limit
from dpframe.privacy.loss import (
    WEAK,
    Loss,
    decimal_text,
    exact_amount,
    stated_loss,
)
from dpframe.releases.figures import PRINTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.privacy.loss import Amount

_MOST_ROWS: Final = 1 << 100
_STEPS: Final = 10**6
"""Losses that are found are multiples of one over this."""
_HALF: Final = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class SampleSize:
    """A number of rows, an error and a loss that go together.

    Attributes
    ----------
    release : str
        What is planned, with its shape: ``"quantile(points=1024)"``.
    rows : int
        How many rows; ``int(...)`` of a plan is this number. One with more digits than
        can be read is printed as a power of ten, to its nearest tenth.
    alpha : float
        The error, as a part of what `unit` says.
    unit : str
        ``"of the rows"``, for example.
    confidence : float
        With which chance a release keeps to it, all of its figures together.
    cost : Loss
        The loss of the release.
    assumptions : tuple of str
        What the error leaves out.
    necessary : int or None
        For intervals at an ε: with fewer rows than this no release whatever answers
        all of them so well with that chance, on every data set.
    """

    release: str
    rows: int
    alpha: float
    unit: str
    confidence: float
    cost: Loss
    assumptions: tuple[str, ...]
    necessary: int | None = None

    def __int__(self) -> int:
        """Return the number of rows."""
        return self.rows

    @property
    def epsilon(self) -> Fraction | None:
        """The ε of the release; None where a ρ is planned."""
        return self.cost.epsilon

    def __repr__(self) -> str:
        chance = exact_amount(self.confidence, what="confidence")
        percent = decimal_text(100 * chance, ROUND_FLOOR)  # never more than it is
        error = decimal_text(exact_amount(self.alpha, what="alpha"))
        rows = _rows_text(self.rows)
        kept = f"errs by at most {error} {self.unit}, in {percent}% of releases"
        lines = [f"{rows}: {self.release} at {self.cost} {kept}."]
        lines += [f"Assumed: {text}." for text in self.assumptions]
        if self.necessary is not None:
            lines.append(
                f"No release of all intervals does so with fewer than {self.necessary}."
            )
        return "\n".join(lines)


def rows_needed(
    release: str,
    *,
    alpha: Amount,
    confidence: float = PRINTED,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    max_rows: int = 1,
    **shape: Any,
) -> SampleSize:
    """Return how many rows keep the error of a release within a part of them.

    Parameters
    ----------
    release : str
        ``"count"``; ``"histogram"`` with ``cells=``; ``"sum"``; ``"mean"``; ``"cdf"``
        with ``bins=``; ``"median"`` with ``points=``, ``"quantile"`` also with ``q=``;
        ``"synthetic_intervals"`` with ``points=`` and ``method=``, which is ``"tree"``
        or ``"binary_search"``; ``"halfspace_oracle"`` with ``columns=``, their number,
        ``margin=``, ``method=``, which is ``"net"`` or ``"jl_net"``, and ``label=``,
        whether there is one.
    alpha : float
        The error, in ``(0, 1)``: as a part of the rows; of a mean, of the bounds'
        width; of a sum, of the rows times the larger bound.
    confidence : float, default 0.95
        In ``(0, 1)``: with which chance all figures of a release keep to it.
    epsilon : float, optional
        Privacy loss ε of the release, unitless, in ``(0, 50]``.
    rho : float, optional
        zCDP loss ρ instead: Gaussian noise.
    max_rows : int, default 1
        Rows that one privacy unit has at most.
    **shape
        The words of the release.

    Returns
    -------
    SampleSize
        With `.rows`, and in words what is assumed.

    Privacy
    -------
    No data is read: everything follows from the parameters.

    Accuracy
    --------
    It is the error that the release states of itself in `.accuracy(confidence,
    joint=True)`, and of halfspaces in `.alpha(confidence)`. These, a mean and a cdf
    divide by the noisy number of rows: what they state is then a little more in some
    releases, and less in others.

    Of halfspaces it is proved for two or three columns. What the published theorem asks
    for in any number of them has thousands of digits, and is there to be compared with:
    `alpha_reached` knows nothing of it.

    Raises
    ------
    ParameterError
        If a word is unknown or out of range, or no number of rows is enough.

    References
    ----------
    .. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
       Database Privacy, Section 5 and Cor. 5.2.

    Examples
    --------
    Every interval of 1,024 points within a hundredth of the rows:

    >>> every = {"points": 2**10, "alpha": 0.01, "epsilon": 1}
    >>> needed = dpframe.plan.rows_needed("synthetic_intervals", **every)
    >>> needed
    6783 rows: synthetic_intervals(points=1024, method=tree) at ε=1 errs by at most
    0.01 of the rows, in 95% of releases.
    Assumed: the error is that of the noise: nothing is clipped or sampled.
    Assumed: values lie on the grid, and no interval cuts a cell.
    Assumed: a privacy unit has at most 1 row.
    No release of all intervals does so with fewer than 4.

    The search of Blum, Ligett and Roth is known to need 2.3e10 rows for that [1]_, and
    more where ties are broken, as they are here:

    >>> blum = dpframe.plan.rows_needed(
    ...     "synthetic_intervals", method="binary_search", **every
    ... )
    >>> f"{blum.rows:.1e}"
    '8.7e+10'

    Halfspaces of two columns. The theorem that was published for any number of columns
    is of another size [1]_:

    >>> planes = {"columns": 2, "margin": 0.2, "alpha": 0.1, "epsilon": 1}
    >>> dpframe.plan.rows_needed("halfspace_oracle", method="net", **planes).rows
    6989
    >>> dpframe.plan.rows_needed("halfspace_oracle", method="jl_net", **planes)
    10^22712.8 rows: halfspace_oracle(columns=2, margin=0.2, method=jl_net) at ε=1 errs
    by at most 0.1 of the rows, in 95% of releases.
    Assumed: rows are unit vectors, and planes go through their middle.
    Assumed: rows within 0.225 of a plane may be taken for its other side.
    Assumed: what is released is the theorem's, and not a few projections to compare.
    Assumed: a privacy unit has at most 1 row.

    What any release of intervals needs, however it is made:

    >>> dpframe.plan.rows_needed(
    ...     "synthetic_intervals",
    ...     points=2**64,
    ...     alpha=0.1,
    ...     confidence=0.5,
    ...     epsilon=0.01,
    ... ).necessary
    2184
    """
    setting = _setting(confidence, max_rows, epsilon=epsilon, rho=rho)
    share = _share(alpha)
    promise = promised(release, setting, shape)
    number = (promise.fewest or partial(_fewest, promise.alpha))(share)
    return _found(release, promise, setting, number, share)


def alpha_reached(
    release: str,
    *,
    rows: int,
    confidence: float = PRINTED,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    max_rows: int = 1,
    **shape: Any,
) -> SampleSize:
    """Return which error a release keeps to with so many rows.

    Parameters
    ----------
    release, confidence, epsilon, rho, max_rows, **shape
        As in `rows_needed`.
    rows : int
        A public guess of the number of rows.

    Returns
    -------
    SampleSize
        With `.alpha`.

    Raises
    ------
    ParameterError
        If a word is unknown or out of range, or nothing is known with so few rows.

    Examples
    --------
    >>> found = dpframe.plan.alpha_reached("count", rows=1000, epsilon=0.1)
    >>> found.alpha
    0.03
    """
    setting = _setting(confidence, max_rows, epsilon=epsilon, rho=rho)
    number = _rows(rows)
    promise = promised(release, setting, shape)
    alpha = promise.alpha(number)
    if math.isinf(alpha):
        msg = f"Nothing is known of the error with {number} rows."
        raise ParameterError(msg, hint="ask rows_needed(..., alpha=0.5) for how many.")
    return _found(release, promise, setting, number, alpha)


def epsilon_needed(
    release: str,
    *,
    rows: int,
    alpha: Amount,
    confidence: float = PRINTED,
    max_rows: int = 1,
    **shape: Any,
) -> SampleSize:
    """Return at which ε so many rows keep the error of a release within a part.

    Parameters
    ----------
    release, alpha, confidence, max_rows, **shape
        As in `rows_needed`.
    rows : int
        A public guess of the number of rows.

    Returns
    -------
    SampleSize
        With `.epsilon`, the least multiple of 10^-6 that is enough.

    Raises
    ------
    ParameterError
        If a word is unknown or out of range, or no ε up to 50 is enough.

    Examples
    --------
    >>> dpframe.plan.epsilon_needed("mean", rows=10_000, alpha=0.01).epsilon
    Fraction(14979, 500000)
    """
    number, share = _rows(rows), _share(alpha)

    def attempt(steps: int) -> tuple[Setting, Promise]:
        setting = _setting(confidence, max_rows, epsilon=Fraction(steps, _STEPS))
        return setting, promised(release, setting, shape)

    low, high = 0, int(WEAK) * _STEPS
    if attempt(high)[1].alpha(number) > share:
        msg = f"No epsilon up to {WEAK} keeps {number} rows to alpha={share:g}."
        raise ParameterError(msg, hint="ask for a larger alpha, or more rows.")
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(middle)[1].alpha(number) > share:
            low = middle
        else:
            high = middle
    setting, promise = attempt(high)
    return _found(release, promise, setting, number, promise.alpha(number))


def _rows_text(rows: int) -> str:
    """Return a number of rows; one of many digits as a power of ten."""
    if rows > _MOST_ROWS:
        return f"10^{math.log10(rows):.1f} rows"
    return f"{rows} row{'s'[: rows - 1]}"


def _setting(
    confidence: object, max_rows: object, *, epsilon: object = None, rho: object = None
) -> Setting:
    return Setting(
        loss=stated_loss(epsilon=epsilon, rho=rho, allow_weak=False),
        confidence=checked_confidence(confidence),
        max_rows=checked_limit(max_rows),
    )


def _share(alpha: object) -> float:
    share = float(exact_amount(alpha, what="alpha"))
    if share >= 1:
        msg = f"alpha must lie between 0 and 1, not {share:g}."
        raise ParameterError(msg, hint="0.01 is a hundredth.")
    return share


def _rows(rows: object) -> int:
    number = checked_rows(rows)
    if number is None:
        msg = "rows must be a whole number, not NoneType."
        raise ParameterTypeError(msg)
    return number


def _fewest(alpha: Callable[[int], float], share: float) -> int:
    """Return the least number of rows whose error is within a share."""
    low, high = 0, 1
    while alpha(high) > share:
        low, high = high, 2 * high
        if high > _MOST_ROWS:
            msg = f"No number of rows is known to reach alpha={share:g}."
            raise ParameterError(msg, hint="ask for a larger alpha.")
    while high - low > 1:
        middle = (low + high) // 2
        if alpha(middle) > share:
            low = middle
        else:
            high = middle
    return high


def _found(
    release: str, promise: Promise, setting: Setting, rows: int, alpha: float
) -> SampleSize:
    words = ", ".join(f"{name}={value}" for name, value in promise.shape.items())
    limit = setting.max_rows
    held = f"a privacy unit has at most {limit} row{'s'[: limit - 1]}"
    return SampleSize(
        release=f"{release}({words})" if words else release,
        rows=rows,
        alpha=alpha,
        unit=promise.unit,
        confidence=setting.confidence,
        cost=setting.loss,
        assumptions=(*promise.assumed, held),
        necessary=_necessary(promise.points, setting, alpha),
    )


def _necessary(points: int | None, setting: Setting, alpha: float) -> int | None:
    """Return how many rows any release of all intervals needs, at an epsilon.

    Let n rows all be at one of N points. An error below half of them tells which one,
    with a chance of p. Any two such data sets are 2n rows apart, so on one of them each
    of the N events has a chance of at least ``p * exp(-2 n epsilon)``, and together
    they have no more than 1 [1]_. A unit of m rows takes that many at a time: so many
    units are needed, all of them but one with m rows.

    References
    ----------
    .. [1] Blum, Ligett and Roth (2013), A Learning Theory Approach to Non-Interactive
       Database Privacy, Cor. 5.2.
    """
    epsilon = setting.loss.epsilon
    if points is None or epsilon is None or alpha >= _HALF:
        return None
    folds = math.log(points) + math.log(setting.confidence)
    units = math.ceil(folds / (2 * float(epsilon)))
    return setting.max_rows * (units - 1) + 1 if units > 0 else 0
