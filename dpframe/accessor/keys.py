"""Keys of a private frame that are found in its rows, and bought with a delta."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dpframe.accessor.run import Runner
from dpframe.mechanisms.discover import discover_keys, keys_loss

if TYPE_CHECKING:
    from dpframe.privacy.loss import Amount
    from dpframe.releases.keys import KeysRelease

N = TypeVar("N")


class KeyMethods(Runner[N]):
    """Releases of keys that are not declared."""

    __slots__ = ()

    def discover_keys(
        self,
        columns: str | list[str] | tuple[str, ...],
        *,
        delta: Amount,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        allow_weak: bool = False,
    ) -> KeysRelease[N]:
        """Release the keys that enough units hold, where they are not known before.

        A key is published if the number of its units, plus noise, reaches a
        threshold: a key of about so many units or more is found, a rare one is not.
        The release stands for its keys wherever `keys=` is taken for the same
        columns, and in `.dp.domain`.

        Parameters
        ----------
        columns : str or list of str
            A column, or several whose combinations are the keys. A row with a missing
            or an infinite value has no key.
        delta : float
            Chance δ that a key which depends on a single unit is published, unitless,
            in ``(0, 1)``; far below one over the number of units.
        epsilon : float, optional
            Privacy loss ε of this release, unitless, in ``(0, 50]``.
        rho : float, optional
            Instead of `epsilon`: the ε whose square is twice it, rounded down, is used
            and charged.
        allow_weak : bool, optional
            Whether an `epsilon` above 50 is meant.

        Returns
        -------
        KeysRelease
            `columns`, sorted; `.value` is the list of keys, tuples for several
            columns. Numbers are sorted by value, text by code point, times by instant,
            False before True.

        Privacy
        -------
        (ε, δ)-DP per privacy unit, add-or-remove-one. Costs `epsilon` and `delta`; the
        budget needs a part of its delta set aside as ``keys_delta=``. Each unit counts
        once for each of at most `max_groups` keys, chosen by a hash of the unit and
        the key; without a privacy unit a row counts for its one key. The noise is
        discrete Laplace, the counts themselves are not published. How long the search
        takes depends on the number of keys that occur.

        Accuracy
        --------
        The threshold is ``1 + ceil(scale * ln(max_groups / ((1 + a) * delta)))``,
        where ``scale = max_groups / epsilon`` and ``a = exp(-1 / scale)``: see
        ``.threshold`` of a preview. A key of twice as many units is missed with a
        chance of about `delta`, one of as many with 1/2. Rare keys never appear, and
        counts of the published keys are biased by this choice: keys that few units
        hold are published because the noise was large.

        Raises
        ------
        BudgetExceededError
            If the cost is more than what remains. Nothing is spent.
        BoundsRequiredError
            If a privacy unit may have several keys and `max_groups` is not declared.
        DomainRequiredError
            If a column of Python objects has no declared type.
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If a parameter is out of range or of the wrong kind, exactly one of
            `epsilon` and `rho` is not given, or the budget has no `keys_delta`.

        References
        ----------
        .. [1] Korolova, Kenthapadi, Mishra and Ntoulas (2009), Releasing search
           queries and clicks privately, WWW.
        .. [2] Ghosh, Roughgarden and Sundararajan (2012), Universally
           utility-maximizing privacy mechanisms.

        Examples
        --------
        >>> budget = dpframe.Accountant(epsilon=3, delta=1e-6, keys_delta=5e-7)
        >>> wards = pl.DataFrame({"ward": ["B", "A", "A", "C"] * 250 + ["rare"]})
        >>> wards = wards.dp.attach(budget)
        >>> found = wards.dp.discover_keys("ward", delta=1e-7, epsilon=1)
        >>> found
        Release(3 keys of ward, ε=1, δ=1e-7)
          ward
          A
          B
          C
        >>> wards.dp.value_counts("ward", keys=found, epsilon=1)
        Release(count by ward, 3 rows, ± 3 each, ε=1)
          ward  count  ±
          A       501  3
          B       250  3
          C       249  3
        """
        loss = keys_loss(epsilon=epsilon, rho=rho, delta=delta, allow_weak=allow_weak)
        plan = partial(discover_keys, self._frame, columns=columns)
        return self._run(plan, loss, noise="pure")
