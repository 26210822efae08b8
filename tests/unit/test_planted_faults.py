"""Faults that a library of private releases can have, each planted and each found.

What finds them are the checks that other tests run on the library as it is.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks import promises
from checks.promises import BY_NAME
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from dpframe import measure
from dpframe.accessor import run
from dpframe.accessor.namespace import PrivateNamespace
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.engines import local, rows
from dpframe.mechanisms import tables
from dpframe.noise import DiscreteLaplace, randomness
from dpframe.privacy.scope import Costs
from dpframe.query import Part
from dpframe.tally import Contribution, Quantity, Tally

if TYPE_CHECKING:
    from collections.abc import Callable


def halve_the_noise(patch: pytest.MonkeyPatch) -> None:
    noise = Part.noise

    def halved(self: Part, block: Any) -> Any:
        found: Any = noise(self, block)
        return dataclasses.replace(found, scale=found.scale / 2)

    patch.setattr(Part, "noise", halved)


def halve_the_gaussian_noise(patch: pytest.MonkeyPatch) -> None:
    noise = Part.noise

    def halved(self: Part, block: Any) -> Any:
        found: Any = noise(self, block)
        return dataclasses.replace(found, sigma2=found.sigma2 / 4)

    patch.setattr(Part, "noise", halved)


def take_rows_for_orthogonal(patch: pytest.MonkeyPatch) -> None:
    squared = property(lambda c: c.limit * c.resolution**2)
    patch.setattr(Contribution, "multiplicity_squared", squared)


def take_cells_for_one(patch: pytest.MonkeyPatch) -> None:
    squared = property(lambda tally: tally.contribution.resolution**2)
    patch.setattr(Tally, "multiplicity_squared", squared)


def round_the_sensitivity_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Quantity, "reach", property(lambda q: max(-q.low, q.high) - 1))


def keep_missing_values(patch: pytest.MonkeyPatch) -> None:
    scan = PrivatePolars.scan

    def filled(self: Any, columns: Any) -> pl.LazyFrame:
        return scan(self, columns).with_columns(pl.col("x").fill_nan(0).fill_null(0))

    patch.setattr(PrivatePolars, "scan", filled)


def skip_the_clip(patch: pytest.MonkeyPatch) -> None:
    far = 1 << 50

    def bare(tally: Any) -> Any:
        quantities = [
            dataclasses.replace(q, clip=(-far, far), low=-far, high=far)
            for q in tally.quantities
        ]
        return dataclasses.replace(tally, quantities=tuple(quantities))

    def unclipped(source: Any, tally: Any) -> Any:
        return local.evaluate(source, bare(tally))

    patch.setattr(measure, "evaluate", unclipped)


def charge_after_the_release(patch: pytest.MonkeyPatch) -> None:
    release = run.release

    def late(query: Any) -> Any:
        for part in query.parts:
            local.evaluate(query.frame, part.statistic)
        return release(query)

    patch.setattr(run, "release", late)


def account_in_floats(patch: pytest.MonkeyPatch) -> None:
    sums: dict[int, float] = {}

    def add(self: Costs, scope: Any, amount: Any) -> None:
        del scope
        sums[id(self)] = sums.get(id(self), 0.0) + float(amount)

    patch.setattr(Costs, "add", add)
    patch.setattr(Costs, "of", lambda self, _scope: sums.get(id(self), 0.0))
    patch.setattr(Costs, "rise", lambda _self, _scope, amount: float(amount))


def draw_from_a_small_generator(patch: pytest.MonkeyPatch) -> None:
    def sample(self: DiscreteLaplace, size: int) -> Any:
        generator = np.random.default_rng()
        noise = generator.laplace(scale=float(self.scale), size=size)
        return np.rint(noise).astype(np.int64)

    patch.setattr(DiscreteLaplace, "sample", sample)


def add_floats(patch: pytest.MonkeyPatch) -> None:
    def summed(source: Any, tally: Any) -> Any:
        (quantity,) = tally.quantities
        rows = source.scan(tally.columns).collect()
        values = rows[quantity.column.name].to_numpy()
        steps = (values - float(quantity.origin)) / float(quantity.unit)
        powers = [steps ** len(monomial) for monomial in tally.monomials]
        sums = [int(np.cumsum(power)[-1]) for power in powers]
        return tally.combine(np.array([sums], dtype=object))

    patch.setattr(measure, "evaluate", summed)


def look_keys_up(patch: pytest.MonkeyPatch) -> None:
    one_axis = tables.one_axis

    def found(frame: Any, name: str, **given: Any) -> Any:
        column = frame.scan({name: frame.types()[name]}).select(name)
        keys = column.collect()[name].drop_nulls().unique().sort().to_list()
        return one_axis(frame, name, **{**given, "keys": keys})

    patch.setattr(tables, "one_axis", found)


def accept_a_seed(patch: pytest.MonkeyPatch) -> None:
    count = PrivateNamespace.count

    def seeded(self: Any, *, epsilon: float, seed: int = 0) -> Any:
        del seed
        return count(self, epsilon=epsilon)

    seeded.__module__ = count.__module__
    patch.setattr(PrivateNamespace, "count", seeded)


def keep_a_stream(patch: pytest.MonkeyPatch) -> None:
    cipher = Cipher(algorithms.ChaCha20(bytes(range(32)), bytes(16)), mode=None)
    stream = cipher.encryptor()
    patch.setattr(randomness, "random_bytes", lambda size: stream.update(bytes(size)))


def close_bins_on_the_right(patch: pytest.MonkeyPatch) -> None:
    def right(value: pl.Expr, points: pl.Series) -> pl.Expr:
        found = pl.lit(points).search_sorted(value, side="left").cast(pl.Int32) - 1
        return found.clip(0, len(points) - 2)

    patch.setattr(rows, "_even_bin", right)
    patch.setattr(rows, "_any_bin", right)


@dataclass(frozen=True)
class Fault:
    """A fault, and the check that finds it."""

    plant: Callable[[pytest.MonkeyPatch], None]
    check: Callable[[], None]


def on(check: Callable[..., None], *names: str, **options: Any) -> Callable[[], None]:
    """Return a check of some kinds of release."""

    def checked() -> None:
        for name in names:
            check(BY_NAME[name], **options)

    return checked


FAULTS = [
    Fault(
        halve_the_noise,
        on(promises.noise_follows_the_claim, "count", "mean", number=5_000),
    ),
    Fault(
        halve_the_gaussian_noise,
        on(
            promises.noise_follows_the_claim,
            "count",
            "histogram of units",
            number=5_000,
            gaussian=True,
        ),
    ),
    Fault(
        take_rows_for_orthogonal,
        on(promises.neighbors_stay_within_the_claim, "count", "mean", gaussian=True),
    ),
    Fault(
        take_cells_for_one,
        on(
            promises.neighbors_stay_within_the_claim,
            "histogram of units",
            gaussian=True,
        ),
    ),
    Fault(
        round_the_sensitivity_down,
        on(promises.neighbors_stay_within_the_claim, "sum", "sum without unit"),
    ),
    Fault(keep_missing_values, promises.missing_values_add_nothing),
    Fault(skip_the_clip, on(promises.bounds_hold, "sum")),
    Fault(
        charge_after_the_release,
        on(promises.charges_come_first, "count", "std without unit"),
    ),
    Fault(account_in_floats, promises.budgets_are_exact),
    Fault(
        draw_from_a_small_generator,
        on(promises.noise_is_not_pseudo_random, "count", "histogram"),
    ),
    Fault(add_floats, promises.order_does_not_matter),
    Fault(look_keys_up, promises.keys_are_declared),
    Fault(accept_a_seed, promises.no_seed_is_accepted),
    Fault(keep_a_stream, promises.forks_draw_apart),
    Fault(close_bins_on_the_right, promises.bins_are_closed_on_the_left),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.plant.__name__)
def test_a_planted_fault_is_found_and_nothing_without_it(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.check()
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError):
        fault.check()
    monkeypatch.undo()
    fault.check()
