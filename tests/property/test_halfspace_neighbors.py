"""No unit moves what a halfspace oracle looks at further than it claims.

Neighbours differ by one privacy unit with all its rows, or by one row where there is no
unit. Everything else in their records is equal, but for what was drawn; and nothing but
the noisy figures reaches a release.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from checks.calls import Y_BOUNDS, attached, native
from checks.columns import COLUMNS, Column
from checks.neighbours import moved, neighbours
from checks.releases import seen

import dpframe
from dpframe import measure
from dpframe.block import GAUSSIAN
from dpframe.testing import Recorder

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from dpframe.testing import Record

Array = np.ndarray[Any, np.dtype[Any]]

AUDIT = int(os.environ.get("DPFRAME_AUDIT", "1"))
PAIRS = 3 * AUDIT
LIMITS = {"privacy_unit": "u", "max_rows": 2}
NUMBERS = [column for column in COLUMNS if column.is_number and column.has_sum]
METHODS = ("net", "sliced", "kd", "jl_net")
ROWS = 3 * 10**5
"""What the noise of a first count makes of few rows: enough for many directions."""


class Counted(Recorder):
    """A recorder whose first noise makes any few rows about as many."""

    def draw(self, noise: Any, size: int) -> Array:
        drawn = super().draw(noise, size)
        return drawn + ROWS if size == 1 else drawn


@pytest.fixture
def counted() -> Generator[Counted]:
    recorder = Counted()
    token = measure.probe.set(recorder)
    try:
        yield recorder
    finally:
        measure.probe.reset(token)


def ask(
    dp: Any, column: Column, method: str, *, label: bool, gaussian: bool = False
) -> Any:
    loss = {"rho": 0.5} if gaussian else {"epsilon": 1}
    return dp.halfspace_oracle(
        ["x", "y"],
        margin=0.6,
        bounds={"x": column.bounds, "y": Y_BOUNDS},
        label="b" if label else None,
        method=method,
        **loss,
    )


def recorded(
    recorder: Counted, frame: Any, column: Column, method: str, **given: Any
) -> tuple[Record, Any]:
    made = ask(frame.dp, column, method, **given)
    return recorder.records.pop(), made


def public(made: Any) -> tuple[Any, ...]:
    """Return what a release says that must not follow from rows."""
    facts = (made.method, made.margin, made.is_labelled, made.cost, made.provenance)
    shape = made.shape
    return (*facts, shape.ball, shape.noise, shape.unit, shape.points, made.guarantee)


@pytest.mark.parametrize("unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "rho"])
@pytest.mark.parametrize("method", METHODS)
def test_no_unit_moves_an_oracle_further_than_claimed(
    counted: Counted, method: str, *, unit: bool, gaussian: bool
) -> None:
    wide = not gaussian and method != "jl_net"
    for place, column in enumerate(NUMBERS[:: 1 if wide else 6]):
        label = bool(place % 2) and method != "jl_net"
        widest: dict[int, float] = {}
        for pair in range(PAIRS):
            (whole, one), (less, other) = (
                recorded(
                    counted,
                    attached(
                        native(rows, column),
                        gaussian=gaussian,
                        **(LIMITS if unit else {}),
                    ),
                    column,
                    method,
                    label=label,
                    gaussian=gaussian,
                )
                for rows in neighbours(column, pair, unit=unit, name="halfspaces")
            )
            assert public(one) == public(other)
            assert (whole.parameters, whole.cost) == (less.parameters, less.cost)
            assert len(whole.parts) == len(less.parts)
            found = list(whole.distance(less))
            for mine, theirs in zip(whole.parts, less.parts, strict=True):
                assert mine.statistic == theirs.statistic
                for here, there in zip(mine.blocks, theirs.blocks, strict=True):
                    assert (here.law == GAUSSIAN) == gaussian
                    assert here.scale == there.scale
                    assert here.sensitivity == there.sensitivity
                    assert len(here.exact) == len(there.exact)
            for mine, theirs in zip(whole.searches, less.searches, strict=True):
                assert mine.ordering == theirs.ordering
                assert mine.loss == theirs.loss
                found.append((moved(mine, theirs), mine.ordering.multiplicity))
            assert len(found) == (2 if method == "sliced" else 1)
            for part, (distance, claimed) in enumerate(found):
                assert distance <= claimed
                widest[part] = max(widest.get(part, 0), distance / claimed)
        # A claim of less would be refuted: the first pair moves all it may.
        assert set(widest.values()) == {1.0}, (method, column.name)


# Nothing but the noisy figures reaches a release


def rows(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": rng.uniform(0, 1, 50 + 20 * seed),
            "y": rng.uniform(-1, 2, 50 + 20 * seed) * (seed / 3),
            "b": rng.random(50 + 20 * seed) < 0.2 * seed,
        }
    )


def released(frame: pl.DataFrame, method: str) -> Any:
    """Return what a release saw, and itself."""
    private: Any = frame.dp.attach(dpframe.Accountant(epsilon=100))
    return seen(
        private,
        lambda dp: dp.halfspace_oracle(
            ["x", "y"],
            margin=0.5,
            bounds={"x": (0, 1), "y": (-1, 2)},
            label=None if method == "jl_net" else "b",
            method=method,
            epsilon=1,
        ),
    )


def answers(made: Any, method: str) -> list[Any]:
    """Return all that a release says, bit for bit."""
    w = np.array([[1.0, 0.0], [0.3, -0.7], [-1.0, -1.0], [0.0, 1.0]])
    table = made.query_many(w, 0.1, confidence=0.9).to_polars()
    found = [table.to_dict(as_series=False), made.alpha(), made.raw.tolist()]
    if method != "jl_net":
        error = made.classify_error([1, 1], 0.2)
        found += [error.value, error.interval(), made.to_polars().rows()]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_two_frames_with_the_same_figures_make_the_same_release(
    method: str,
) -> None:
    first, second = released(rows(1), method), released(rows(2), method)
    for figures in (first.noisy, second.noisy):
        one, other = first.finish(figures), second.finish(figures)
        assert answers(one, method) == answers(other, method)
    # Other figures make another release, so this compares what follows from them.
    assert answers(first.finish(first.noisy), method) != answers(
        first.finish(second.noisy), method
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_release_answers_the_same_bit_for_bit(
    method: str, tmp_path: Path
) -> None:
    private: Any = rows(2).dp.attach(dpframe.Accountant(epsilon=100))
    made = private.dp.halfspace_oracle(
        ["x", "y"],
        margin=0.5,
        bounds={"x": (0, 1), "y": (-1, 2)},
        label=None if method == "jl_net" else "b",
        method=method,
        epsilon=1,
    )
    path = tmp_path / f"oracle{made.suffix}"
    made.save(path)
    again = dpframe.load(path)
    assert answers(again, method) == answers(made, method)
