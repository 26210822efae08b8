"""Promises as checks: each raises AssertionError where the promise is broken.

Tests call them on the library as it is, and once more with a fault planted.
"""

from __future__ import annotations

import inspect
import multiprocessing
import random
import unittest.mock
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from checks.kinds import BASE, KINDS, SCHEMA, attached
from checks.power import ALPHA, confirmed, law_p_value
from checks.releases import bulk, seen

import dpframe
from dpframe.accessor.groups import GroupBy
from dpframe.accessor.namespace import PrivateNamespace
from dpframe.attach import RawNamespace
from dpframe.block import GAUSSIAN, MAX_NORM
from dpframe.dialects.polars.private import PrivatePolars
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.testing import norm

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from multiprocessing.connection import Connection

    from checks.kinds import Kind
    from checks.releases import Seen

    from dpframe.noise import Noise

BY_NAME = {kind.name: kind for kind in KINDS}
SEEDS = ("seed", "rng", "random", "generator", "entropy")


def refused(error: type[Exception], call: Callable[[], Any]) -> None:
    """Check that a call raises an error."""
    raised = False
    try:
        call()
    except error:
        raised = True
    assert raised


# Sensitivity and noise


def distances(kind: Kind, *, gaussian: bool = False) -> list[tuple[int, int]]:
    """Return for each block how far a kind's neighbours lie apart, and the claim."""
    here, there = (seen(frame, kind.ask) for frame in kind.frames(gaussian=gaussian))
    found: list[tuple[int, int]] = []
    for (part, block, first), (_, _, second) in zip(
        here.blocks, there.blocks, strict=True
    ):
        gaps = [abs(int(a) - int(b)) for a, b in zip(first, second, strict=True)]
        found.append((norm(block.law, gaps), part.sensitivity(block)))
    return found


def neighbors_stay_within_the_claim(kind: Kind, *, gaussian: bool = False) -> None:
    """Check one pair of neighbours, exactly."""
    for distance, claim in distances(kind, gaussian=gaussian):
        assert distance <= claim


def bounds_hold(kind: Kind) -> None:
    """Check that a value far beyond its bounds counts as the bound."""
    far = [(key, 1e3 if x > 0 else -1e3, y) for key, x, y in kind.rows]
    assert distances(replace(kind, rows=far)) == distances(kind)


def claimed_law(kind: Kind, shown: Seen, place: int) -> Noise:
    """Return the law that a block's noise should have, by the written scale."""
    scale = Fraction(kind.scales[place])
    _, block, _ = shown.blocks[place]
    if block.law == GAUSSIAN:
        return DiscreteGaussian(sigma2=kind.sigma2s[place])
    if block.law == MAX_NORM:
        return MaxNorm(dimension=block.stop - block.start, scale=scale)
    return DiscreteLaplace(scale=scale)


def drawn(noise: Noise, number: int) -> Any:
    """Return one coordinate of the noise, many times."""
    size = noise.dimension if isinstance(noise, MaxNorm) else 1
    return bulk(noise, size, number)[:, 0]


def noise_follows_the_claim(kind: Kind, number: int, *, gaussian: bool = False) -> None:
    """Check the noise of every block against the scale that is written down."""
    shown = seen(kind.frames(gaussian=gaussian)[1], kind.ask)
    assert len(shown.blocks) == len(kind.scales)
    for place, (part, block, _) in enumerate(shown.blocks):
        law, noise = claimed_law(kind, shown, place), part.noise(block)

        def rejects(count: int, law: Noise = law, noise: Noise = noise) -> bool:
            return law_p_value(drawn(noise, count), law) < ALPHA

        assert not confirmed(rejects, number)


# Exact figures


def exact(frame: Any, kind: Kind) -> list[list[int]]:
    """Return a release's exact figures."""
    blocks = seen(frame, kind.ask).blocks
    return [[int(figure) for figure in figures] for _, _, figures in blocks]


def missing_values_add_nothing() -> None:
    """Check that NaN and null rows change no sum and no moment."""
    gone = {"u": [7, 8], "k": ["a", "b"], "x": [float("nan"), None], "y": [0.5, 0.5]}
    longer = {name: [*BASE[name], *gone[name]] for name in BASE}
    for name in ("count without unit", "sum without unit", "mean of units", "var"):
        kind = BY_NAME[name]
        with_them = exact(attached(longer, unit=kind.unit), kind)
        assert with_them == exact(attached(BASE, unit=kind.unit), kind)


def order_does_not_matter() -> None:
    """Check sums of squares on rows in three orders."""
    values = [(-1) ** i + i / 997 for i in range(900)]
    rows = {"u": list(range(900)), "k": ["a"] * 900, "x": values, "y": [0.5] * 900}
    orders = [
        range(900),
        range(899, -1, -1),
        sorted(range(900), key=values.__getitem__),
    ]
    found = [
        exact(
            attached({n: [c[i] for i in order] for n, c in rows.items()}, unit=False),
            BY_NAME["std without unit"],
        )
        for order in orders
    ]
    assert found[0] == found[1] == found[2]


def bins_are_closed_on_the_left() -> None:
    """Check values that lie on edges: each in the bin that it opens."""
    rows = {
        "u": [1, 2, 3, 4],
        "k": ["a"] * 4,
        "x": [-1.0, 0.0, 1.0, 3.0],
        "y": [0.5] * 4,
    }
    frame = attached(rows, unit=False)
    wanted = {(-1, 0, 1, 3): [1, 1, 2], (-1, 0, 1, 2, 3): [1, 1, 1, 1]}
    for edges, counts in wanted.items():
        shown = seen(
            frame, lambda dp, bins=list(edges): dp.histogram("x", bins=bins, epsilon=1)
        )
        assert shown.blocks[0][2].tolist() == counts


def keys_are_declared() -> None:
    """Check that a new category changes no shape, and that none is looked up."""
    longer = {name: [*BASE[name], BASE[name][0]] for name in BASE}
    longer["k"][-1] = "undeclared"
    tables = [attached(rows).dp.histogram("k", epsilon=1) for rows in (BASE, longer)]
    assert tables[0].keys.equals(tables[1].keys)
    assert tables[0].keys["k"].to_list() == ["a", "b", "c"]
    budget = dpframe.Accountant(epsilon=1)
    undeclared = pl.DataFrame(BASE, schema=SCHEMA).dp.attach(budget)
    refused(
        dpframe.DomainRequiredError, lambda: undeclared.dp.histogram("k", epsilon=1)
    )


# The budget


def budgets_are_exact() -> None:
    """Check that tenths fill a budget, and that nothing fits after them."""
    for total, amounts in ((1, [0.1] * 10), (0.3, [0.1, 0.2]), (0.3, [0.1] * 3)):
        budget = dpframe.Accountant(epsilon=total)
        frame = pl.DataFrame({"x": [1]}).dp.attach(budget)
        for amount in amounts:
            assert budget.allows(epsilon=amount)
            try:
                frame.dp.count(epsilon=amount)
            except dpframe.BudgetExceededError as error:
                raise AssertionError from error
        assert not budget.allows(epsilon=1e-18)


def charges_come_first(kind: Kind) -> None:
    """Check that rows are read after the charge, and never when it is refused."""
    read: list[Fraction | None] = []
    scan = PrivatePolars.scan

    def noted(self: Any, columns: Any) -> Any:
        read.append(self.private_state.accountant.spent.epsilon)
        return scan(self, columns)

    frame = kind.frames()[1]
    poor = attached(BASE, unit=kind.unit, epsilon=Fraction(1, 2))
    with unittest.mock.patch.object(PrivatePolars, "scan", noted):
        kind.ask(frame.dp)
        assert read
        assert set(read) == {Fraction(1)}
        read.clear()
        refused(dpframe.BudgetExceededError, lambda: kind.ask(poor.dp))
        assert not read
    assert poor.private_state.accountant.spent.epsilon == 0


# Randomness


class PseudoRandomError(AssertionError):
    """A generator that can be predicted was asked for numbers."""


def _refuse(*_: object, **__: object) -> Any:
    raise PseudoRandomError


@contextmanager
def no_pseudo_random() -> Generator[None]:
    """Make every function of `random` and `numpy.random` raise."""
    with (
        unittest.mock.patch.multiple("random", **_refusals(random)),
        unittest.mock.patch.multiple("numpy.random", **_refusals(np.random)),
    ):
        yield


def _refusals(module: Any) -> dict[str, Any]:
    return {
        name: _refuse
        for name in dir(module)
        if not name.startswith("_") and callable(getattr(module, name))
    }


def noise_is_not_pseudo_random(kind: Kind) -> None:
    """Check that a release asks no generator for its noise."""
    frame = kind.frames()[1]
    with no_pseudo_random():
        kind.ask(frame.dp)


def _report(end: Connection) -> None:
    end.send(DiscreteLaplace(scale=Fraction(10)).sample(64).tolist())


def forks_draw_apart() -> None:
    """Check that two forked children draw different noise."""
    DiscreteLaplace(scale=Fraction(10)).sample(64)  # children inherit what it sets up
    context = multiprocessing.get_context("fork")
    pairs = [context.Pipe(duplex=False) for _ in range(2)]
    workers = [context.Process(target=_report, args=(end,)) for _, end in pairs]
    for worker in workers:
        worker.start()
    vectors = [tuple(end.recv()) for end, _ in pairs]
    for worker in workers:
        worker.join()
    assert len(set(vectors)) == len(workers)


def public_callables() -> dict[str, Any]:
    """Return every public function and method, by name."""
    found: dict[str, Any] = {}
    owners = [getattr(dpframe, name) for name in dpframe.__all__]
    for owner in [*owners, PrivateNamespace, GroupBy, RawNamespace]:
        if not inspect.ismodule(owner):
            found[owner.__qualname__] = owner
        if inspect.isclass(owner) or inspect.ismodule(owner):
            found |= {
                f"{owner.__name__}.{name}": member
                for name, member in inspect.getmembers(owner, callable)
                if not name.startswith("_")
            }
    return found


def no_seed_is_accepted() -> None:
    """Check that no public parameter of a release could fix its noise."""
    for name, function in public_callables().items():
        module = getattr(function, "__module__", None) or ""
        if not module.startswith(("dpframe", "checks")) or ".dialects" in module:
            continue
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:
            continue
        for parameter in parameters:
            assert not any(word in parameter.lower() for word in SEEDS), name
