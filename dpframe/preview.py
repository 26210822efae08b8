"""What a release would cost and look like, told before anything is read or spent."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from dpframe.errors import ParameterError
from dpframe.goal import checked_confidence, checked_rows
from dpframe.measure import release
from dpframe.privacy.loss import Loss, decimal_text
from dpframe.releases.figures import PRINTED, RootError, column_length
from dpframe.releases.noise_law import NoiseLaw
from dpframe.releases.rounding import error_phrase
from dpframe.table import cell_text

if TYPE_CHECKING:
    import polars as pl

    from dpframe.frame import PrivateFrame
    from dpframe.outlook import ErrorLaw
    from dpframe.query import Query, Selection

R = TypeVar("R")

_MANY = 10**9  # rows so many that only the first order of an error is left


@dataclass(frozen=True, repr=False)
class Preview(Generic[R]):
    """A planned release; nothing of the data is in it.

    Attributes
    ----------
    query : Query
        The plan.
    rows : int or None
        A public guess of the number of rows, for errors that depend on it.

    Examples
    --------
    A preview prints its error and what would remain to be spent:

    ``Preview(count by decade, 7 rows, ± 50 each, ε=0.3 of 2.1 left, nothing spent)``

    Where a budget has more than pure noise, the noise has a name:

    ``Preview(count of rows, ± 14, discrete Gaussian, ρ=0.01 of 0.02 left, nothing
    spent)``

    Of two lanes the first Gaussian release ends that of pure noise; its preview says
    so: ``ends the ε lane``.
    """

    query: Query[R]
    rows: int | None = None

    @property
    def frame(self) -> PrivateFrame:
        """What would be read: the frame that it was planned for, and no other."""
        return self.query.frame

    @property
    def cost(self) -> Loss:
        """What the release would cost."""
        return self.query.cost

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Names and dtypes of the release's table (of one row for one figure)."""
        return dict(self.query.outlook.schema)

    @property
    def noise(self) -> NoiseLaw:
        """The family and scale of the noise, in the answer's unit.

        Raises
        ------
        ParameterError
            If it depends on the number of rows and no guess was given.
        """
        return NoiseLaw.of(self._error(None), self.query.outlook.column)

    def accuracy(
        self, confidence: float = 0.95, *, joint: bool = False, rows: int | None = None
    ) -> Any:
        """Return the half-width of a cell's noise: a float, or a timedelta for times.

        Parameters
        ----------
        confidence : float, default 0.95
            In ``(0, 1)``: of each cell, or of all together where `joint`.
        joint : bool, default False
            Whether all cells keep it together, as `within=` asks.
        rows : int, optional
            A public guess of the number of rows. Default: that of the preview.

        Raises
        ------
        ParameterError
            If the error depends on the number of rows and no guess was given.
        """
        outlook = self.query.outlook
        width = self._error(rows).half_width(
            checked_confidence(confidence), cells=outlook.cells if joint else 1
        )
        return column_length(outlook.column, float(width.max()))

    def release(self) -> R:
        """Charge the cost and release; every call is a fresh release and charge.

        Raises
        ------
        BudgetExceededError
            If it costs more than what remains. Nothing is spent.
        """
        return release(self.query)

    def _error(self, rows: int | None) -> ErrorLaw:
        guess = self.rows if rows is None else checked_rows(rows)
        return self.query.outlook.known_error(guess)

    def __dir__(self) -> list[str]:
        ours = {"query", "facts"}  # of no use to who reads a preview
        return [name for name in super().__dir__() if name not in ours]

    def __repr__(self) -> str:
        state = self.frame.private_state
        room = state.accountant.room(state.scope)
        parts = [cell_text(self.query.outlook.title), *self.facts(), *self._law()]
        parts.append(f"{' and '.join(self._shares(room))} left")
        if not self._fits(room):
            parts.append("too much")
        elif self.cost.epsilon is None and room.epsilon is not None:
            parts.append("ends the ε lane")  # from then on only rhos add up
        return f"Preview({', '.join(parts)}, nothing spent)"

    def facts(self) -> list[str]:
        """Return the error, where it is known, or how it falls with the rows."""
        outlook = self.query.outlook
        error, factor, per_row = outlook.error(self.rows), 1.0, ""
        if error is None:  # it falls as 1 / n, to first order; at worst, for a root
            error, factor, per_row = outlook.error(_MANY), float(_MANY), " / n"
            if isinstance(error, RootError):
                factor, per_row = math.sqrt(_MANY), " / sqrt(n)"
        if error is None:
            return []
        width = factor * float(error.half_width(PRINTED, cells=1).max())
        each = " each" if outlook.cells > 1 else ""
        shown = f"{error_phrase(outlook.column, width)}{outlook.unit}"
        return [f"{shown}{per_row}{each}"]

    def _repr_html_(self) -> str:
        return f"<div>{html.escape(repr(self))}</div>"

    def _law(self) -> list[str]:
        """Return the name of the noise where the budget has more than pure noise."""
        error = self.query.outlook.error(self.rows or _MANY)
        name = self.query.outlook.law if error is None else error.noise.name
        if not name or self.frame.private_state.accountant.lanes == ("epsilon",):
            return []
        return [name]

    def _shares(self, room: Loss) -> list[str]:
        """Return what it takes of what is left."""
        shown, _, left = self._spending(room)
        return [f"{shown} of {decimal_text(left, ROUND_FLOOR)}"]

    def _fits(self, room: Loss) -> bool:
        _, amount, left = self._spending(room)
        return amount <= left

    def _spending(self, room: Loss) -> tuple[Loss, Fraction, Fraction]:
        """Return the cost, and its amount and what is left in the measure charged.

        A pure cost is one of epsilons, unless it fits only as the rho that it implies.
        """
        cost = self.cost
        rho, left = cost.as_rho, room.rho or Fraction(0)
        if cost.epsilon is None or room.epsilon is None:
            return Loss(rho=rho), rho, left
        if cost.epsilon > room.epsilon and rho <= left:
            return Loss(rho=rho), rho, left
        return Loss(epsilon=cost.epsilon), cost.epsilon, room.epsilon


@dataclass(frozen=True, repr=False)
class KeysPreview(Preview[R]):
    """A planned search for keys: which are published is not known before."""

    @property
    def threshold(self) -> int:
        """The least noisy count of units with which a key is published."""
        return self._selection.threshold

    def accuracy(
        self, confidence: float = 0.95, *, joint: bool = False, rows: int | None = None
    ) -> NoReturn:
        """Refuse: a key has no error bars.

        Raises
        ------
        ParameterError
        """
        del confidence, joint, rows
        msg = "Published keys have no error bars."
        raise ParameterError(msg, hint="see .threshold: so many units hold a key.")

    def facts(self) -> list[str]:
        """Return how many units hold a key that is published."""
        return [f"held by about {self.threshold} units or more"]

    def _shares(self, room: Loss) -> list[str]:
        delta, left = self._deltas(room)
        share = f"δ={decimal_text(delta)} of {decimal_text(left, ROUND_FLOOR)}"
        return [*super()._shares(room), share]

    def _fits(self, room: Loss) -> bool:
        delta, left = self._deltas(room)
        return super()._fits(room) and delta <= left

    def _deltas(self, room: Loss) -> tuple[Fraction, Fraction]:
        """Return the delta that it spends, and what is left of that for keys."""
        return self.cost.delta or Fraction(0), room.delta or Fraction(0)

    @property
    def _selection(self) -> Selection:
        selection = self.query.selection
        if selection is None:
            msg = "a preview of keys needs a search for keys"
            raise ValueError(msg)
        return selection
