"""What `.dp` makes of a private frame besides releases: declarations, parts, trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from dpframe.accessor.run import Runner
from dpframe.declare import check_contributions, declare_bounds, declare_domain
from dpframe.errors import ParameterError, ParameterTypeError
from dpframe.frame import PrivateFrame, Step
from dpframe.mechanisms.cells import one_axis
from dpframe.mechanisms.inputs import unit_contribution
from dpframe.privacy.scope import Partition
from dpframe.tally import KeyAxis, Per
from dpframe.trusted import trusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpframe.frame import State

F = TypeVar("F", bound=PrivateFrame)
N = TypeVar("N")


class FrameMethods(Runner[N], Generic[F, N]):
    """Methods that give frames: nothing is released and nothing is spent."""

    __slots__ = ()

    def bounds(self, bounds: Mapping[str, Any] | None = None, /, **columns: Any) -> F:
        """Return the frame with public clipping bounds, by column.

        They are used by every later release of these columns, until a step overwrites
        one.

        Parameters
        ----------
        bounds : mapping, optional
            The same as the keywords, for names that are no identifiers.
        **columns : (low, high)
            Finite bounds with ``low < high``, in the column's unit. Public: they must
            come from what is known without the data.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If bounds are no increasing pair of the column's type, or a column comes
            twice.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.bounds(days=(0, 30))
        PrivateFrame · polars DataFrame · each row a unit · 1 of ε 1 left
          days  Int64  bounds 0 to 30
        """
        found = declare_bounds(self._frame, _merged(bounds, columns, what="bounds"))
        return self._with(self.state.declare(bounds=found))

    def domain(self, keys: Mapping[str, Any] | None = None, /, **columns: Any) -> F:
        """Return the frame with public keys, by column.

        They are used by every later table of these columns, until a step overwrites
        one.

        Parameters
        ----------
        keys : mapping, optional
            The same as the keywords, for names that are no identifiers.
        **columns : list
            Distinct values, none missing. Public: they must come from what is known
            without the data, or be what `.dp.discover_keys` released.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ColumnNotFoundError
            If the frame has no such column.
        ParameterError, ParameterTypeError
            If keys are empty, repeat one, or are of another type than the column.

        Examples
        --------
        >>> stays = pl.DataFrame({"ward": ["A", "B"]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.domain(ward=["A", "B", "C"])
        PrivateFrame · polars DataFrame · each row a unit · 1 of ε 1 left
          ward  String  3 keys: A, B, C
        """
        found = declare_domain(self._frame, _merged(keys, columns, what="domain"))
        return self._with(self.state.declare(domain=found))

    def contributions(
        self, *, max_rows: int | None = None, max_groups: int | None = None
    ) -> F:
        """Return the frame with other limits on what one privacy unit contributes.

        Parameters
        ----------
        max_rows : int, optional
            How many rows' worth a unit may count; the rows of a unit with more share
            that weight. Public. Default: as before.
        max_groups : int, optional
            In how many cells a unit may count where it counts once per cell. Public.
            Default: as before.

        Returns
        -------
        PrivateFrame
            The same rows and budget. Nothing is spent.

        Raises
        ------
        ParameterError, ParameterTypeError
            If a limit is no whole number of at least 1, or the frame has no privacy
            unit to limit.

        Examples
        --------
        >>> stays = pl.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="patient"
        ... )
        >>> stays.dp.contributions(max_rows=2).dp.state.max_rows
        2
        """
        state = self.state
        rows, groups = check_contributions(
            max_rows, max_groups, unit=state.privacy_unit
        )
        return self._with(
            replace(
                state,
                max_rows=state.max_rows if rows is None else rows,
                max_groups=state.max_groups if groups is None else groups,
            )
        )

    def partition(self, column: str, *, keys: Any = None) -> dict[Any, F]:
        """Split the frame into disjoint parts that are paid for once, not each.

        A unit that is in one part does not see what the others release. So whatever
        is released from the parts, chosen as one goes along, costs the whole budget
        the largest of what the parts spend (parallel composition), and not their sum.

        Parameters
        ----------
        column : str
            Whose values tell the parts apart; it may be derived in a step. Rows in
            which it is missing, or no key, are in no part.
        keys : list, optional
            One part for each. Public, or what `.dp.discover_keys` released. Default:
            those of `.dp.domain`, or of the column's type.

        Returns
        -------
        dict
            A private frame by key, in the order of the keys. Each can be partitioned
            again.

        Raises
        ------
        ColumnNotFoundError
            If the frame has no such column.
        DomainRequiredError
            If there are no keys.
        BoundsRequiredError
            If a privacy unit may be in several parts and `max_groups` is not declared.
        ParameterError, ParameterTypeError
            If keys are empty, repeat one, or are of another type than the column.

        Privacy
        -------
        Costs nothing by itself. With a privacy unit whose rows may be in several
        parts, each unit keeps its rows in at most `max_groups` of them, chosen once by
        a hash of the unit and the key, and the parts together cost the sum of the
        `max_groups` largest. `max_rows` counts a unit's rows within a part.

        References
        ----------
        .. [1] Dwork (2006), Differential privacy, section on disjoint analyses;
           McSherry (2009), Privacy integrated queries, Thm 4.

        Examples
        --------
        >>> budget = dpframe.Accountant(epsilon=1)
        >>> stays = pl.DataFrame({"ward": ["A", "B"] * 500, "days": [3, 7] * 500})
        >>> stays = stays.dp.attach(budget, bounds={"days": (0, 30)})
        >>> for ward in stays.dp.partition("ward", keys=["A", "B"]).values():
        ...     answer = ward.dp.mean("days", epsilon=0.5)
        >>> budget
        Accountant(epsilon=1) · in memory
          spent 0.5 · remaining 0.5   ██████████░░░░░░░░░░ 50%
          1  mean  days  0.5  in ward=A
          2  mean  days  0.5  in ward=B: adds nothing
        """
        axis = one_axis(self._frame, column, keys=keys)
        if not isinstance(axis, KeyAxis):  # bins alone make another axis
            msg = "partition takes keys."
            raise ParameterError(msg)
        if len(set(axis.keys)) < axis.size:  # of an hour that a clock shows twice
            msg = f"keys of {column!r} hold two instants that Python takes for equal."
            hint = 'give the column a zone without summer time in a step first: "UTC".'
            raise ParameterError(msg, hint=hint)
        units = unit_contribution(self._frame, Per.UNITS, cells=axis.size)
        state = self.state
        partition = Partition(scope=state.scope, most=units.limit)
        parts = self._frame.parts(axis, units)
        return {
            key: cast(
                "F",
                part.with_state(
                    replace(
                        state.after(Step(f"partition({column} = {key!r})")),
                        scope=partition.part(f"{column}={key}"),
                    )
                ),
            )
            for key, part in zip(axis.keys, parts, strict=True)
        }

    def trust(self, step: Callable[[Any], Any], *, reason: str) -> F:
        """Take a step that is not proved, on the analyst's word.

        Parameters
        ----------
        step : callable
            Called once with the native frame, to give another one of the same class.
            Whatever it makes of a row may depend only on rows of the same privacy unit;
            without a unit, on that row alone. Nobody checks it.
        reason : str
            Why it is so. It goes on record, with the step's name, in every later
            charge and in the provenance of every later release.

        Returns
        -------
        PrivateFrame
            Bounds and keys stay by name, where they suit the new columns. Nothing is
            spent.

        Raises
        ------
        ParameterTypeError
            If `step` cannot be called, gives something else than a frame of the same
            class, or `reason` is no text.
        ParameterError
            If `reason` is empty, or the column of the privacy unit is not there before
            or after the step.

        Privacy
        -------
        As good as the analyst's word: a step that mixes units voids the guarantee of
        all that follows. Errors that the step raises are its own.

        Examples
        --------
        >>> stays = pl.DataFrame({"patient": [1, 1, 2], "days": [3, 7, 2]})
        >>> stays = stays.dp.attach(
        ...     dpframe.Accountant(epsilon=1), privacy_unit="patient", max_rows=1
        ... )
        >>> def longest(frame):
        ...     return frame.sort("days").unique("patient", keep="last")
        >>> stays.dp.trust(longest, reason="keeps rows by patient").dp.state.steps
        ("trust(longest, reason='keeps rows by patient')",)
        """
        name = _step_name(step)
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            msg = f"reason must be text, not {type(reason).__name__}."
            raise ParameterTypeError(msg)
        if not reason.strip():
            msg = "reason is empty: what is trusted goes on record with its reason."
            raise ParameterError(msg)
        record = Step(f"trust({name}, reason={reason!r})", f"trust({name})")
        return cast("F", trusted(self._frame, step, record))

    def detach(self) -> Any:
        """Return the native frame, unclipped; tracking ends.

        Returns
        -------
        polars.DataFrame, polars.LazyFrame or pandas.DataFrame
            With the steps so far, and without rows whose privacy unit is missing.

        Privacy
        -------
        None: what is read off it afterwards is not private and not charged.

        Examples
        --------
        >>> stays = pl.DataFrame({"days": [3, 7, 2]}).dp.attach(
        ...     dpframe.Accountant(epsilon=1)
        ... )
        >>> stays.dp.detach().columns
        ['days']
        """
        return self._frame.detach()

    @property
    def state(self) -> State:
        """The frozen privacy state: unit, limits, bounds, keys, budget and steps."""
        return self._frame.private_state

    def _with(self, state: State) -> F:
        return cast("F", self._frame.with_state(state))


def _step_name(step: object) -> str:
    if not callable(step):
        msg = f"trust takes a function of the native frame, not {type(step).__name__}."
        raise ParameterTypeError(
            msg, hint="write .dp.trust(lambda frame: ..., reason=...)."
        )
    return str(getattr(step, "__name__", type(step).__name__))


def _merged(
    given: object, named: Mapping[str, Any], *, what: str
) -> Mapping[object, Any]:
    """Return what a mapping and keywords declare together."""
    if given is None:
        return {**named}
    if not isinstance(given, Mapping):
        msg = f"{what} must be a mapping by column, not {type(given).__name__}."
        raise ParameterTypeError(msg, hint=f"write .dp.{what}(column=...).")
    listed = cast("Mapping[object, Any]", given)
    both = set(listed) & set(named)
    if both:
        msg = f"{what} of {min(map(str, both))!r} are declared twice."
        raise ParameterTypeError(msg)
    return {**listed, **named}
