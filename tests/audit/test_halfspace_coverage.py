"""Whether the errors of halfspaces hold: how often they cover the truth.

The truth is counted apart, in plain numpy. What is claimed for all planes together is
tested on the worst of many in each release, and what holds of a plane that was chosen
by looking, on that plane.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.power import covers, draws
from checks.releases import seen

import dpframe
from dpframe.adaptive.session import CHANCE, Session
from dpframe.query import Following, Part, Search
from dpframe.releases.halfspaces import leaves, projections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checks.releases import Seen

pytestmark = pytest.mark.audit

Array = np.ndarray[Any, np.dtype[Any]]

NUMBER = 20
LEVELS = (0.5, 0.8, 0.95, 0.99)
ASKED = 6
MARGIN = 0.3
SIDE = 12
"""The columns run from 0 to this."""


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit fewer rows than releases do: what is claimed holds of any fit."""
    monkeypatch.setattr(projections, "POINTS", 300)
    monkeypatch.setattr(leaves, "POINTS", 1000)


@dataclass(frozen=True)
class World:
    """Rows, their labels, and what one release of them saw."""

    rows: Array
    labels: Array
    release: Seen

    @property
    def places(self) -> Array:
        """The rows in the unit ball."""
        return (2 * self.rows / SIDE - 1) / math.sqrt(self.rows.shape[1])

    def share(self, w: Array, b: Array, *, wrong: bool = False) -> Array:
        """Return which fraction of the rows is above planes of the unit ball."""
        found = self.places @ w.T >= b - 1e-12
        return (found != self.labels[:, None] if wrong else found).mean(axis=0)

    def releases(self, number: int, *, louder: int = 1) -> Iterator[Any]:
        """Return releases of the same rows, each with fresh noise.

        `louder` makes the noise so many times what the release says that it is.
        """
        query = self.release.query
        for _ in range(number):
            figures: list[Any] = []
            for planned, exact in zip(query.parts, self.release.exact, strict=True):
                part = _settled(planned, self.release)
                if isinstance(part, Search):
                    figures.append(_searched(part, exact, louder))
                else:
                    noise = part.noise(part.blocks[0])
                    drawn = louder * noise.sample(exact.size)
                    figures.append(exact + drawn.reshape(exact.shape))
            figures[: len(figures) - 1] = self.release.noisy[:-1]
            yield self.release.finish(tuple(figures))


def _settled(planned: Part | Following | Search, release: Seen) -> Part | Search:
    """Return a part: one that follows from a count follows from that of the record."""
    if isinstance(planned, Following):
        return planned.part(release.noisy[:1])
    return planned


class Louder:
    """Chances whose noise is greater than it says."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def draw(self, noise: Any, size: int) -> Array:
        return self._factor * CHANCE.draw(noise, size)

    def select(self, *args: Any, **given: Any) -> int:
        return CHANCE.select(*args, **given)


def _searched(part: Search, orders: Any, louder: int) -> Any:
    session = Session(
        orders=orders,
        ordering=part.ordering,
        allowance=part.loss,
        chance=Louder(louder) if louder > 1 else CHANCE,
    )
    return part.run(session)


@cache
def world(
    method: str, noise: str = "pure", dimension: int = 2, *, label: bool, rows: int
) -> World:
    rng = np.random.default_rng(3)
    mixed = rng.normal(size=(rows, dimension)) * 1.5
    mixed[: rows // 2] += 2.5
    values = np.clip(np.rint(mixed + 4), 0, SIDE).astype(np.int64)
    labels = values @ np.arange(1, dimension + 1) + 3 * rng.normal(size=rows) > (
        5 * dimension * (dimension + 1) / 2
    )
    names = [f"c{place}" for place in range(dimension)]
    frame: Any = pl.DataFrame(dict(zip(names, values.T, strict=True)))
    frame = frame.with_columns(
        label=pl.Series(labels), u=pl.Series(np.arange(rows) // 2)
    )
    budget = {"rho": 10**9} if noise == "rho" else {"epsilon": 10**9}
    units = {"privacy_unit": "u", "max_rows": 2} if noise == "units" else {}
    private = frame.dp.attach(
        dpframe.Accountant(**budget), bounds=dict.fromkeys(names, (0, SIDE)), **units
    )
    loss = {"rho": 0.5} if noise == "rho" else {"epsilon": 1}
    release = seen(
        private,
        lambda dp: dp.halfspace_oracle(
            names,
            margin=MARGIN,
            method=method,
            label="label" if label else None,
            **loss,
        ),
    )
    return World(rows=values, labels=labels, release=release)


def planes(dimension: int, number: int, seed: int = 1) -> tuple[Array, Array]:
    """Return planes: across axes first, then random ones."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(number, dimension))
    w[: min(dimension, number // 2)] = np.eye(dimension)[: number // 2]
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return w, rng.uniform(-0.5, 0.5, size=number)


def inside(answer: Any, truth: float, confidence: float) -> bool:
    lower, upper = answer.interval(confidence)[:2]
    return bool(lower - 1e-9 <= truth <= upper + 1e-9)


CASES = [
    *(("net", "pure", 2, False), ("net", "rho", 2, True), ("net", "units", 2, True)),
    *(("net", "pure", 3, False), ("sliced", "pure", 4, True)),
    *(("sliced", "rho", 4, False), ("sliced", "units", 3, False)),
    *(("kd", "pure", 2, True), ("kd", "rho", 3, False), ("kd", "units", 2, False)),
]
every_case = pytest.mark.parametrize(
    ("method", "noise", "dimension", "label"),
    CASES,
    ids=["-".join(map(str, case)) for case in CASES],
)


def hits(
    here: World, number: int, *, label: bool, louder: int = 1
) -> Counter[tuple[str, float, int]]:
    """Return how often each interval of each plane holds the truth."""
    w, b = planes(here.rows.shape[1], ASKED)
    rows = len(here.rows)
    shares = here.share(w, b)
    bands = here.share(w, b - MARGIN) - here.share(w, b + MARGIN + 2e-12)
    wrong = here.share(w, b, wrong=True)
    found: Counter[tuple[str, float, int]] = Counter()
    for made in here.releases(number, louder=louder):
        for place in range(ASKED):
            answer = made.query(w[place], b[place], scaled=True)
            asked = {
                "fraction": (answer, shares[place]),
                "count": (answer.count, shares[place] * rows),
                "band": (
                    made.margin_band(w[place], b[place], scaled=True),
                    bands[place],
                ),
            }
            if label:
                error = made.classify_error(w[place], b[place], scaled=True)
                asked["wrong"] = (error, wrong[place])
            for level in LEVELS:
                for what, (one, truth) in asked.items():
                    held = inside(one, float(truth), level)
                    found[what, level, place] += held
    return found


@every_case
def test_each_answer_is_within_its_own_error(
    method: str, noise: str, dimension: int, *, label: bool
) -> None:
    here = world(method, noise, dimension, label=label, rows=600)
    number = draws(NUMBER)
    found = hits(here, number, label=label)
    assert len(found) == (3 + label) * len(LEVELS) * ASKED
    for (_, level, _), held in found.items():
        assert covers(held, number, level)


@pytest.mark.parametrize("method", ["net", "kd"])
def test_all_answers_are_within_alpha_together(method: str) -> None:
    here = world(method, label=False, rows=20_000)
    w, b = planes(2, 500, seed=2)
    b[-100:] *= 2.2  # some hardly touch the ball
    low, high = here.share(w, b + MARGIN + 2e-12), here.share(w, b - MARGIN)
    number = draws(NUMBER)
    held: Counter[float] = Counter()
    close = 0
    for made in here.releases(number):
        answers = made.query_many(w, b, scaled=True).to_polars()["fraction"].to_numpy()
        worst = float(np.maximum(low - answers, answers - high).max())
        for level in LEVELS:
            assert made.alpha(level) < 1
            held[level] += worst <= made.alpha(level) + 1e-9
        plain = np.abs(answers - here.share(w, b)).max()
        close += bool(plain <= made.alpha(0.95) / 30)
    for level in LEVELS:
        assert covers(held[level], number, level)
    assert not covers(close, number, 0.95)


@pytest.mark.parametrize("method", ["net", "kd"])
def test_the_error_of_the_best_halfspace_holds_although_it_was_chosen(
    method: str,
) -> None:
    here = world(method, label=True, rows=600)
    number = draws(NUMBER // 2)
    held: Counter[float] = Counter()
    close = 0
    for made in here.releases(number):
        best = made.best_halfspace()
        along = here.rows @ np.array([best.w["c0"], best.w["c1"]])
        wrong = float(((along >= best.offset) != here.labels).mean())
        for level in LEVELS:
            held[level] += inside(best.error, wrong, level)
        close += abs(best.error.value - wrong) < 1e-4
    for level in LEVELS:
        assert covers(held[level], number, level)
    assert not covers(close, number, 0.95)


# Controls: what has more noise than it says


@pytest.mark.parametrize(("method", "louder"), [("net", 12), ("kd", 12)])
def test_much_more_noise_than_is_said_is_found(method: str, louder: int) -> None:
    here = world(method, label=False, rows=600)
    number = draws(NUMBER)
    found = hits(here, number, label=False, louder=louder)
    fooled = [key for key, held in found.items() if not covers(held, number, key[1])]
    assert fooled
