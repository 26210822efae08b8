"""What histograms along directions prove: against the rows, counted apart."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.planes import KINDS, World, made, proved, world

import dpframe
from dpframe.releases.halfspaces.projections import Projections
from dpframe.testing import recording

if TYPE_CHECKING:
    from dpframe.releases.halfspaces.ball import Planes

Array = np.ndarray[Any, np.dtype[Any]]

ROWS = 60
PLANES = 240
NETS = [(2, 0.1), (2, 0.33), (2, 0.9), (3, 0.25), (3, 0.6)]


def histograms(
    here: World, method: str, margin: float = 0.2, *, label: bool = False
) -> Projections:
    shape = here.oracle(method, margin, label=label).shape
    assert isinstance(shape, Projections)
    return shape


def tiny(*, labels: int = 1, bins: int = 4) -> Projections:
    """Return two directions of few bins."""
    here = world(3, 2, 40, "even")
    shape = histograms(here, "net", 0.9)
    directions = np.array([[1 << 20, 0], [0, 1 << 20]])
    bits = round(math.log2(2 * math.sqrt(2) * 2**40 / bins))
    counts = np.zeros((labels, 2, bins))
    return replace(shape, directions=directions, shift=bits, counts=counts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", [False, True], ids=["rows", "labels"])
@pytest.mark.parametrize(
    ("method", "dimension"),
    [("net", 2), ("net", 3), *(("sliced", d) for d in (2, 3, 6, 20, 50))],
)
def test_histograms_prove_nothing_untrue_of_any_plane(
    method: str, dimension: int, kind: str, *, label: bool
) -> None:
    for seed in range(3 if dimension < 10 else 1):
        here = world(100 * dimension + seed, dimension, ROWS, kind)
        shape = histograms(here, method, label=label)
        planes = here.planes(np.random.default_rng(seed), PLANES, shape.units)
        assert shape.total.rows == ROWS
        assert proved(here, shape, planes)
        assert not proved(here, shape, planes, by=-1.5)
        assert not proved(here, shape, planes, by=1.5)
        if label:
            assert proved(here, shape, planes, wrong=True)
            flipped = made(-planes.normals, -planes.offsets)
            assert proved(here, shape, flipped, wrong=True)


@pytest.mark.parametrize("label", [False, True], ids=["rows", "labels"])
def test_noises_are_those_of_the_counts_that_are_added_up(*, label: bool) -> None:
    shape = tiny(labels=1 + label)
    here = world(4, 2, 30, "even")
    planes = here.planes(np.random.default_rng(1), 300, shape.units)
    for wrong in (False, True) if label else (False,):
        known = shape.evidence(planes, wrong=wrong)
        squares, total = np.zeros((2, len(planes))), 0.0
        for place in product(*map(range, shape.counts.shape)):
            counts = np.zeros(shape.counts.shape)
            counts[place] = 1
            one = replace(shape, counts=counts)
            found = one.evidence(planes, wrong=wrong)
            squares += np.stack([found.sure, found.possible]) ** 2
            total += one.total.rows**2
        assert (squares[0] == known.sure_noises).all()
        assert (squares[1] == known.possible_noises).all()
        assert known.possible_noises.max() > known.sure_noises.min()
        assert total == pytest.approx(shape.total.noises / shape.total.sums**2)


@pytest.mark.parametrize("label", [False, True], ids=["rows", "labels"])
def test_planes_choose_among_no_more_sums_than_is_said(*, label: bool) -> None:
    shape = tiny(labels=1 + label)
    names = 2.0 ** np.arange(shape.counts.size).reshape(shape.counts.shape)
    named = replace(shape, counts=names)
    here = world(5, 2, 30, "even")
    planes = here.planes(np.random.default_rng(2), 20_000, shape.units)
    for wrong in (False, True) if label else (False,):
        known = named.evidence(planes, wrong=wrong)
        for sums in (known.sure, known.possible):
            assert 10 < len(np.unique(sums)) <= math.exp(shape.choices)


# The margin


def edged(planes: Planes, margin: float) -> Planes:
    """Return the same, with some that just touch the ball, or the margin's ends."""
    b = planes.offsets.copy()
    ends = [-1.0, 1.0, 1 - margin, margin - 1, 1 + margin, -1 - margin, 0.0, margin]
    b[: len(ends) * 40] = np.tile(ends, 40)
    return made(planes.normals, b)


class Stubborn:
    """Synthetic rows that were fitted to nothing: all above any plane, or none."""

    def __init__(self, answer: float) -> None:
        self._answer = answer

    def above(self, planes: Planes) -> Array:
        return np.full(len(planes), self._answer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dimension", "margin"), NETS)
def test_every_answer_keeps_the_margin_whatever_the_fit_where_there_is_no_noise(
    dimension: int, margin: float, kind: str
) -> None:
    here = world(6, dimension, 400, kind)
    shape = histograms(here, "net", margin)
    rng = np.random.default_rng(7)
    planes = edged(here.planes(rng, 2000, shape.units), margin)
    low = here.shares(planes.moved(margin))
    high = here.shares(planes.moved(-margin))
    closer = here.shares(planes.moved(margin / 3))
    further = here.shares(planes.moved(-margin / 3))
    answers = [shape.above(planes, margin)]
    for answer in (0.0, 1.0):
        other = replace(shape)
        vars(other)["cloud"] = Stubborn(answer)
        answers.append(other.above(planes, margin))
    for found in answers:
        assert (found >= low - 1e-12).all()
        assert (found <= high + 1e-12).all()
    if kind == "even":  # a third of the margin is more than bins can tell
        assert (answers[1] < closer - 1e-12).any()
        assert (answers[2] > further + 1e-12).any()
    assert 0 < shape.alpha(0.95, margin) < 1  # that of the noise that there might be


def test_alpha_says_nothing_where_directions_are_too_far_or_bins_too_wide() -> None:
    here = world(8, 2, 4000, "even")
    net = histograms(here, "net", 0.2)
    assert net.alpha(0.95, 0.2) < 1
    assert net.alpha(0.95, 0.12) == 1
    assert replace(net, radius=0.19).alpha(0.95, 0.2) == 1
    assert replace(net, counts=-net.counts).alpha(0.95, 0.2) == 1
    assert histograms(here, "sliced", 0.9).alpha(0.95, 0.9) == 1


def test_alpha_of_noise_of_every_kind_bounds_answers_for_all_planes() -> None:
    here = world(9, 2, 2000, "even")
    margin = 0.3
    exact = histograms(here, "net", margin)
    planes = edged(here.planes(np.random.default_rng(10), 1500, exact.units), margin)
    low = here.shares(planes.moved(margin))
    high = here.shares(planes.moved(-margin))
    rng = np.random.default_rng(11)
    shape = exact.counts.shape
    scale = 4.0
    noises = {
        "even": scale * rng.choice([-1.0, 1.0], size=shape),
        "falling": -scale * np.ones(shape),
        "rising": scale * np.ones(shape),
        "in turns": scale
        * np.where(np.arange(shape[2]) % 2, 1.0, -1.0)
        * np.ones(shape),
        "at ends": scale * 10 * (np.arange(shape[2]) == 0) * np.ones(shape),
    }
    for noise in noises.values():
        made_ = replace(exact, counts=exact.counts + noise)
        found = made_.above(planes, margin)
        sums = np.abs(np.cumsum(noise.sum(axis=0), axis=1)).max()
        total = abs(made_.total.rows - len(here.labels))
        alpha = (sums + total) / made_.total.rows  # what `worst` bounds
        assert (found >= low - alpha - 1e-12).all()
        assert (found <= high + alpha + 1e-12).all()


def test_worst_is_exceeded_by_no_more_simulations_than_it_says() -> None:
    here = world(12, 2, 20, "even")
    with recording():
        oracle = here.attached().dp.halfspace_oracle(
            here.names, margin=0.9, method="net", epsilon=1
        )
    shape = oracle.shape
    draws = 4000
    noise = shape.noise.sample(draws * shape.counts.size)
    sums = noise.reshape(draws, *shape.counts.shape).astype(float).sum(axis=1)
    total = np.abs(sums.sum(axis=(1, 2)) / sums.shape[1])
    ends = np.abs(np.cumsum(sums, axis=2)).max(axis=(1, 2))
    assert (ends + total > shape.worst(0.8)).mean() < 0.2
    assert (ends + total > shape.worst(0.8) / 3).mean() > 0.2


# Figures of few rows


def test_four_points_are_told_apart_exactly() -> None:
    signs = np.array([(a, b) for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
    frame: Any = pl.DataFrame({"a": signs[:, 0], "b": signs[:, 1]})
    x = signs / math.sqrt(2)
    angles = np.linspace(0, 2 * math.pi, 360, endpoint=False)
    w = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for method in ("net", "sliced", "kd"):
        private = frame.dp.attach(
            dpframe.Accountant(epsilon=10**9), bounds={"a": (-1, 1), "b": (-1, 1)}
        )
        oracle = private.dp.halfspace_oracle(
            ["a", "b"], margin=0.3, method=method, epsilon=10**8, allow_weak=True
        )
        assert oracle.query({"a": 1}, 0).value == pytest.approx(0.5, abs=0.01)
        assert oracle.query({"b": -1}, 0).value == pytest.approx(0.5, abs=0.01)
        for b in (-0.6, -0.4, -0.1, 0.0, 0.2, 0.4):
            found = oracle.query_many(w, b, scaled=True).to_polars()["fraction"]
            low = (x @ w.T >= b + 0.3).mean(axis=0)
            high = (x @ w.T >= b - 0.3).mean(axis=0)
            assert (found.to_numpy() >= low - 0.01).all()
            assert (found.to_numpy() <= high + 0.01).all()


@pytest.mark.parametrize("method", ["net", "sliced", "jl_net"])
def test_no_rows_make_a_release_that_says_so(method: str) -> None:
    frame: Any = pl.DataFrame(
        {"a": [], "b": [], "l": []},
        schema={"a": pl.Float64, "b": pl.Int64, "l": pl.Boolean},
    )
    label = None if method == "jl_net" else "l"
    private = frame.dp.attach(
        dpframe.Accountant(epsilon=10), bounds={"a": (0, 1), "b": (0, 9)}
    )
    with recording(noiseless=True):
        oracle = private.dp.halfspace_oracle(
            ["a", "b"], margin=0.2, label=label, method=method, epsilon=1
        )
    assert oracle.low_count
    assert oracle.alpha() == 1
    answer = oracle.query({"a": 1}, 0.3)
    assert 0 <= answer.value <= 1
    assert answer.interval()[:2] == (0, 1)
    assert answer.count.value == 0
    if label is not None:
        assert 0 <= oracle.classify_error({"a": 1}, 0.3).value <= 1
        assert len(oracle.to_native()) == oracle.row_count


def test_shapes_that_are_none_are_refused() -> None:
    shape = tiny()
    for broken in (
        {"directions": np.zeros((2, 2), dtype=np.int64)},
        {"directions": shape.directions.astype(float)},
        {"counts": np.zeros((1, 2, 5))},
        {"counts": np.zeros((1, 2, 0))},
        {"counts": np.zeros((3, 2, 4))},
        {"counts": np.full((1, 2, 4), np.nan)},
        {"radius": -1.0},
    ):
        with pytest.raises(ValueError, match=r"direction|bins"):
            replace(shape, **broken)
