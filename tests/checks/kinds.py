"""Every kind of release, with neighbours that lie as far apart as it may change.

The noise scales are written down by hand, from the papers' sensitivities, and not
read off the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FULL = 2**16
"""Grid units that a row of a unit within its limits counts."""

FINE = 2**30
"""Grid steps across the bounds of a column whose moments are released."""

COARSE = 2**20
"""Grid steps from the middle of the bounds to one of them, for products."""

SUM_UNIT = Fraction(2**2, 2**30)
"""A grid step of sums whose larger bound is 3: 3 / SUM_UNIT is below 2^30."""

BASE = {
    "u": [1, 2, 3, 4, 5, 6],
    "k": ["a", "b", "a", "c", None, "z"],
    "x": [0.25, -1.0, 2.0, 9.0, 1.0, float("nan")],
    "y": [0.0, 0.5, 1.0, 0.25, 0.75, 0.5],
}

SCHEMA = {"u": pl.Int64(), "k": pl.String(), "x": pl.Float64(), "y": pl.Float64()}


def attached(
    rows: Mapping[str, Any],
    *,
    unit: bool = True,
    epsilon: int = 10**9,
    gaussian: bool = False,
    max_rows: int = 2,
) -> Any:
    """Return a private Polars frame: x within (-1, 3), y within (0, 1), keys of k.

    With `gaussian` its budget is one of rhos, where an epsilon buys Gaussian noise of
    ``epsilon**2 / 2``.
    """
    declared: dict[str, Any] = {}
    if unit:
        declared = {"privacy_unit": "u", "max_rows": max_rows, "max_groups": 2}
    frame: Any = pl.DataFrame(rows, schema=SCHEMA)
    budget = {"rho": epsilon**2} if gaussian else {"epsilon": epsilon}
    return frame.dp.attach(
        dpframe.Accountant(**budget),
        bounds={"x": (-1, 3), "y": (0, 1)},
        domain={"k": ["a", "b", "c"]},
        **declared,
    )


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A release at epsilon 1, and one privacy unit that changes it the most.

    Attributes
    ----------
    name : str
    ask : callable
        Makes the release from the `.dp` of a frame.
    rows : list of tuple
        The rows ``(k, x, y)`` of the unit that is there or not.
    scales : tuple of Fraction
        The scale of each block's noise at epsilon 1, in grid units.
    squares : tuple of Fraction, optional
        Sigma squared of each block where an epsilon of 1 buys Gaussian noise, of
        rho 1/2: the squared L2 sensitivity. Default: the squared scales, as for
        statistics whose units can add to one figure alone.
    unit : bool
        Whether the frame has a privacy unit; else the first row alone is added.
    """

    name: str
    ask: Callable[[Any], Any]
    rows: list[tuple[Any, float, float]]
    scales: tuple[int | Fraction, ...]
    squares: tuple[int | Fraction, ...] | None = None
    unit: bool = True

    @property
    def sigma2s(self) -> tuple[Fraction, ...]:
        """Sigma squared of each block's Gaussian noise."""
        squares = self.squares or tuple(scale**2 for scale in self.scales)
        return tuple(Fraction(square) for square in squares)

    def frames(self, *, gaussian: bool = False) -> tuple[Any, Any]:
        """Return the frames of two neighbours: without the unit, and with it."""
        added = self.rows if self.unit else self.rows[:1]
        longer = {
            "u": BASE["u"] + [9] * len(added),
            **{c: BASE[c] + [row[i] for row in added] for i, c in enumerate("kxy")},
        }
        without, with_it = (
            attached(rows, unit=self.unit, gaussian=gaussian) for rows in (BASE, longer)
        )
        return without, with_it


TOP = round(3 / SUM_UNIT)
HIGH = [("a", 3.0, 1.0), ("b", 3.0, 1.0)]
LOW = [("a", -1.0, 0.0), ("b", -7.0, 0.0)]
AXIS = [("a", 1.0, 0.0), ("b", 1.0, 0.0)]

KINDS = [
    Kind(
        name="count",
        ask=lambda dp: dp.count(epsilon=1),
        rows=HIGH,
        scales=(2 * FULL,),
    ),
    Kind(
        name="count without unit",
        ask=lambda dp: dp.count("x", epsilon=1),
        rows=HIGH,
        scales=(1,),
        unit=False,
    ),
    Kind(
        name="count of units",
        ask=lambda dp: dp.count(of="units", epsilon=1),
        rows=HIGH,
        scales=(1,),
    ),
    Kind(
        name="n_unique",
        ask=lambda dp: dp.n_unique("k", epsilon=1),
        rows=[("p", 0.0, 0.0), ("q", 0.0, 0.0), ("r", 0.0, 0.0)],
        scales=(2,),
    ),
    Kind(
        name="sum",
        ask=lambda dp: dp.sum("x", epsilon=1),
        rows=HIGH,
        scales=(2 * FULL * TOP,),
    ),
    Kind(
        name="sum without unit",
        ask=lambda dp: dp.sum("x", epsilon=1),
        rows=HIGH,
        scales=(TOP,),
        unit=False,
    ),
    Kind(
        name="sum of totals",
        ask=lambda dp: dp.sum("x", bound="total", bounds=(-1, 3), epsilon=1),
        rows=HIGH,
        scales=(TOP,),
    ),
    Kind(
        name="mean",
        ask=lambda dp: dp.mean("x", epsilon=1),
        rows=LOW,
        scales=(2 * FULL * FINE,),
    ),
    Kind(
        name="mean of units",
        ask=lambda dp: dp.mean("x", of="units", epsilon=1),
        rows=HIGH,
        scales=(FINE,),
    ),
    Kind(
        name="var",
        ask=lambda dp: dp.var("x", epsilon=1),
        rows=HIGH,
        scales=(2 * FULL * FINE**2,),
    ),
    Kind(
        name="std without unit",
        ask=lambda dp: dp.std("x", epsilon=1),
        rows=LOW,
        scales=(FINE**2,),
        unit=False,
    ),
    Kind(
        name="histogram",
        ask=lambda dp: dp.histogram("k", epsilon=1),
        rows=HIGH,
        scales=(2 * FULL,),
    ),
    Kind(
        name="histogram of bins",
        ask=lambda dp: dp.histogram("x", bins=4, epsilon=1),
        rows=HIGH,
        scales=(1,),
        unit=False,
    ),
    Kind(
        name="histogram of units",
        ask=lambda dp: dp.histogram("k", of="units", other=True, epsilon=1),
        rows=HIGH,
        scales=(2,),
        squares=(2,),
    ),
    Kind(
        name="contingency",
        ask=lambda dp: dp.contingency(["k", "y"], bins={"y": [0, 0.5, 1]}, epsilon=1),
        rows=HIGH,
        scales=(2 * FULL,),
    ),
    Kind(
        name="cdf",
        ask=lambda dp: dp.cdf("y", bins=300, epsilon=1),
        rows=HIGH,
        scales=(2 * 2 * FULL,),  # a row is in a node of two levels
        squares=(2 * (2 * FULL) ** 2,),
    ),
    Kind(
        name="deciles off a tree",
        ask=lambda dp: dp.quantile(
            "x", [k / 10 for k in range(1, 10)], step=1, epsilon=1
        ),
        rows=HIGH,
        scales=(2 * FULL,),
    ),
    Kind(
        name="sum by group",
        ask=lambda dp: dp.group_by("k").sum("x", epsilon=1),
        rows=HIGH,
        scales=(2 * FULL * TOP,),
    ),
    Kind(
        name="intervals",  # 401 points: two levels, and both rows in one node of each
        ask=lambda dp: dp.synthetic_intervals("x", step=0.01, epsilon=1),
        rows=HIGH,
        scales=(2 * 2 * FULL,),
        squares=(2 * (2 * FULL) ** 2,),
    ),
    Kind(
        name="boxes",  # 41 x 41 points: two levels
        ask=lambda dp: dp.synthetic_intervals(
            ["x", "y"], step={"x": 0.1, "y": 0.025}, epsilon=1
        ),
        rows=HIGH,
        scales=(2 * 2 * FULL,),
        squares=(2 * (2 * FULL) ** 2,),
    ),
    Kind(
        name="halfspaces",  # 4 directions, and both rows in one bin along each
        ask=lambda dp: dp.halfspace_oracle(
            ["x", "y"], margin=0.9, method="net", epsilon=1
        ),
        rows=HIGH,
        scales=(4 * 2 * FULL,),
        squares=(4 * (2 * FULL) ** 2,),
    ),
    Kind(
        name="halfspaces without unit",
        ask=lambda dp: dp.halfspace_oracle(
            ["x", "y"], margin=0.9, method="net", epsilon=1
        ),
        rows=LOW,
        scales=(4,),
        squares=(4,),
        unit=False,
    ),
    Kind(
        name="mean by group",
        ask=lambda dp: dp.group_by("k").mean("x", epsilon=1),
        rows=LOW,
        scales=(2 * FULL * FINE,),
    ),
    Kind(
        name="agg",
        ask=lambda dp: dp.agg(n="count", m=("x", "mean"), s=("y", "std"), epsilon=1),
        rows=HIGH,
        scales=(3 * 2 * FULL, 3 * 2 * FULL * FINE, 3 * 2 * FULL * FINE**2),
        squares=(
            3 * (2 * FULL) ** 2,
            3 * (2 * FULL * FINE) ** 2,
            3 * (2 * FULL * FINE**2) ** 2,
        ),
    ),
    Kind(
        name="mean_cov of a box",
        ask=lambda dp: dp.mean_cov(["x"], epsilon=1),
        rows=HIGH,
        scales=(2 * FULL * COARSE**2,),
        squares=(3 * (2 * FULL * COARSE**2) ** 2,),
    ),
    Kind(
        name="mean_cov of a pair",
        ask=lambda dp: dp.mean_cov(["x", "y"], epsilon=1),
        rows=HIGH,
        scales=(2 * FULL * COARSE**2,),
        squares=(7 * (2 * FULL * COARSE**2) ** 2,),
    ),
    Kind(
        name="mean_cov of an L1 ball",
        ask=lambda dp: dp.mean_cov(["x", "y"], norm="l1", radius=1, epsilon=1),
        rows=AXIS,
        scales=(
            10 * 2 * FULL,
            Fraction(10, 3) * 2 * FULL * COARSE,
            Fraction(10, 6) * 2 * FULL * COARSE**2,
        ),
        squares=(
            10 * (2 * FULL) ** 2,
            Fraction(10, 3) * (2 * FULL * COARSE) ** 2,
            Fraction(10, 6) * (2 * FULL * COARSE**2) ** 2,
        ),
    ),
    Kind(
        name="mean_cov of 2006",
        ask=lambda dp: dp.mean_cov(
            ["x", "y"], norm="l1", radius=1, method="dwork", epsilon=1
        ),
        rows=AXIS,
        scales=(3, 3 * COARSE, 3 * COARSE**2),
        unit=False,
    ),
]

GAUSSIAN_KINDS = [kind for kind in KINDS if kind.name != "mean_cov of 2006"]
"""Those that have Gaussian noise where the budget has."""
