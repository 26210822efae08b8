"""How a release came about, in public words: what every release says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpframe.privacy.loss import Loss
from dpframe.table import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpframe.frame import State

_DELTA: Final = Fraction(1, 10**6)
"""At which chance of failure a rho is told as an epsilon, too."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Method, public parameters, privacy unit, limits and steps of a release.

    Attributes
    ----------
    mechanism : str
        The method that was called.
    columns : tuple of str
        The columns it named.
    parameters : mapping
        Public parameters, as text.
    privacy_unit : str or None
        Column that says whom a row belongs to; None where each row is a unit.
    max_rows, max_groups : int or None
        Contribution limits per privacy unit.
    steps : tuple of str
        The steps from attach to the release.
    cost : str
        The exact loss.
    scope : str
        Where in the budget it was charged: ``root``, or the part of a partition.
    is_test : bool
        Whether noise was repeatable or observed: then nothing is guaranteed.
    """

    mechanism: str
    columns: tuple[str, ...]
    parameters: Mapping[str, str]
    privacy_unit: str | None
    max_rows: int | None
    max_groups: int | None
    steps: tuple[str, ...]
    cost: str
    scope: str = "root"
    is_test: bool = False

    @classmethod
    def of(
        cls,
        state: State,
        *,
        mechanism: str,
        columns: tuple[str, ...],
        parameters: Mapping[str, str],
        cost: Loss,
        is_test: bool,
    ) -> Provenance:
        """Return the provenance of a release made from a frame in this state."""
        return cls(
            mechanism=mechanism,
            columns=columns,
            parameters=dict(parameters),
            privacy_unit=state.privacy_unit,
            max_rows=state.max_rows,
            max_groups=state.max_groups,
            steps=state.steps,
            cost=cost.exact,
            scope=state.scope.name,
            is_test=is_test,
        )

    @property
    def trust(self) -> tuple[str, ...]:
        """The steps that nobody proved, with the reasons that were given."""
        return tuple(step for step in self.steps if "trust(" in step)

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        if self.is_test:
            return "TEST: the noise was not private, so nothing is guaranteed."
        whom = "any one row"
        if self.privacy_unit is not None:
            whom = f"any one {self.privacy_unit!r} with all its rows"
        start = f"If the trusted steps keep units apart, adding or removing {whom}"
        if not self.trust:
            start = f"Adding or removing {whom}"
        return f"{start} changes {self._bound}."

    @property
    def _bound(self) -> str:
        """By how much the chances of outcomes can change, in words."""
        amounts = dict(pair.split("=") for pair in self.cost.split(", "))
        if "rho" in amounts:
            implied = Loss(rho=Fraction(amounts["rho"])).at(delta=_DELTA)
            return (
                "the chances of outcomes by a Rényi divergence of at most "
                f"a*({amounts['rho']}), at every order a > 1 (zero-concentrated "
                f"differential privacy, {self.cost}), which is (ε, δ)-differential "
                f"privacy with {implied}, for example"
            )
        factor = (
            "the probability of any outcome by at most a factor "
            f"e^({amounts['epsilon']})"
        )
        if "delta" not in amounts:
            return f"{factor} (pure differential privacy, {self.cost})"
        return (
            f"{factor} and {amounts['delta']} on top "
            f"(approximate differential privacy, {self.cost})"
        )

    def __str__(self) -> str:
        """Return all of it as lines of text, the steps in their order."""
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        columns = ", ".join(self.columns)
        limits = {"max_rows": self.max_rows, "max_groups": self.max_groups}
        shown = [f"{name}={limit}" for name, limit in limits.items() if limit]
        unit = self.privacy_unit or "each row"
        lines = [
            f"{self.mechanism}({', '.join(filter(None, [columns, given]))})",
            f"privacy unit: {', '.join([unit, *shown])}",
            f"cost: {self.cost}, charged to {cell_text(self.scope)}",
            *(f"step {place}: {step}" for place, step in enumerate(self.steps, 1)),
            self.guarantee,
        ]
        return "\n".join(lines)
