"""The noise of some figures: its law, its share of the loss, and what it hides.

Its scale follows from the loss, from how much one row can change the figures, and from
how many rows' worth one privacy unit adds to the statistic they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm

if TYPE_CHECKING:
    from dpframe.noise import Noise
    from dpframe.privacy.loss import Loss

LAPLACE: Final = "discrete Laplace"
MAX_NORM: Final = "max-norm"
GAUSSIAN: Final = "discrete Gaussian"


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring outputs of one statistic that share one noise law.

    Attributes
    ----------
    start, stop : int
        Which outputs of the statistic.
    law : str
        `LAPLACE`: independent noise for each figure, calibrated to an L1
        sensitivity. `MAX_NORM`: one joint draw for the outputs of a single cell,
        calibrated to a max-norm sensitivity. `GAUSSIAN`: independent noise for each
        figure, calibrated to a squared L2 sensitivity.
    row_sensitivity : int
        The largest such norm (or its square) of what one full row adds, in grid units.
    loss : Loss
        This block's share of what the query costs: an epsilon for the first two laws,
        a rho for Gaussian noise.
    """

    start: int = 0
    stop: int = 1
    law: str = LAPLACE
    row_sensitivity: int = 1
    loss: Loss

    def __post_init__(self) -> None:
        """Refuse a law that cannot spend the loss."""
        if (self.law == GAUSSIAN) != (self.loss.epsilon is None):
            msg = f"{self.law} noise cannot be planned at a loss of {self.loss}"
            raise ValueError(msg)

    @classmethod
    def independent(
        cls,
        loss: Loss,
        *,
        start: int = 0,
        stop: int = 1,
        row: int = 1,
        row_squared: int | None = None,
    ) -> Block:
        """Return a block of the independent noise that a loss buys.

        Parameters
        ----------
        loss : Loss
            An epsilon buys Laplace noise, a rho Gaussian noise.
        start, stop : int
            Which outputs of the statistic.
        row : int, default 1
            The largest L1 norm of what one full row adds.
        row_squared : int, optional
            Its largest squared L2 norm. Default: that of a row that adds to one output
            alone, or the most that outputs of this L1 norm can have.
        """
        if loss.epsilon is not None:
            return cls(start=start, stop=stop, row_sensitivity=row, loss=loss)
        squared = row**2 if row_squared is None else row_squared
        return cls(
            start=start, stop=stop, law=GAUSSIAN, row_sensitivity=squared, loss=loss
        )

    def sensitivity(self, statistic: Multiplied) -> int:
        """Return by how much one privacy unit can change the block, in grid units.

        In the norm of the block's law; for Gaussian noise the square of the L2 norm.
        """
        if self.law == GAUSSIAN:
            return self.row_sensitivity * statistic.multiplicity_squared
        return self.row_sensitivity * statistic.multiplicity

    def noise(self, statistic: Multiplied) -> Noise:
        """Return the noise that makes the block private at its share of the loss.

        Laplace and max-norm noise of scale ``sensitivity / epsilon`` is epsilon-DP,
        Gaussian noise of ``sigma^2 = squared sensitivity / (2 rho)`` is rho-zCDP (Bun
        and Steinke 2016, Prop. 1.6; Canonne, Kamath and Steinke 2020, Thm 4).
        """
        sensitivity = self.sensitivity(statistic)
        if self.loss.epsilon is None:
            return DiscreteGaussian(sigma2=sensitivity / (2 * self.loss.as_rho))
        scale = sensitivity / self.loss.epsilon
        if self.law == MAX_NORM:
            return MaxNorm(dimension=self.stop - self.start, scale=scale)
        return DiscreteLaplace(scale=scale)


class Multiplied(Protocol):
    """A statistic that says how much of one row's worth a unit can add."""

    @property
    def multiplicity(self) -> int:
        """So many rows' worths, in any norm, in grid units."""
        ...

    @property
    def multiplicity_squared(self) -> int:
        """The square of that in the L2 norm."""
        ...
