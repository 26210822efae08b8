"""How often a key that a single unit holds is published, from a million searches.

A search over a million keys, each of one unit, is a million searches for one key: each
key has its own noise. One threshold less is shown to be refuted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from checks.power import ALPHA, clopper_pearson, confirmed, draws

import dpframe
from dpframe.query import Selection

pytestmark = pytest.mark.audit

SINGLE = 1_000_000
DELTA = Fraction(1, 1000)
LAWS = [
    (1, 1),
    (3, 3),
    (10, 10),
]  # max_groups and epsilon: one less is 1.8 times as often
every_law = pytest.mark.parametrize(("groups", "epsilon"), LAWS)


def published(number: int, groups: int, epsilon: int) -> int:
    """Return how many keys of a single unit are published, one per unit."""
    places = np.arange(number)
    rows = pl.DataFrame({"u": places, "g": places})
    account = dpframe.Accountant(epsilon=100, delta=0.1, keys_delta=0.09)
    private = dpframe.attach(rows.lazy(), account, privacy_unit="u", max_groups=groups)
    return len(private.dp.discover_keys("g", delta=DELTA, epsilon=epsilon))


def is_too_often(number: int, groups: int, epsilon: int) -> bool:
    found = published(number, groups, epsilon)
    return clopper_pearson(found, number, ALPHA)[0] > DELTA / groups


@every_law
def test_a_key_of_a_single_unit_is_published_with_a_chance_of_delta(
    groups: int, epsilon: int
) -> None:
    assert not confirmed(lambda n: is_too_often(n, groups, epsilon), draws(SINGLE))


@pytest.fixture
def one_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish keys whose noisy count is one below the threshold, too."""
    exact: Any = vars(Selection)["threshold"].func
    monkeypatch.setattr(Selection, "threshold", property(lambda s: exact(s) - 1))


@pytest.mark.usefixtures("one_less")
@every_law
def test_one_threshold_less_publishes_too_many(groups: int, epsilon: int) -> None:
    assert confirmed(lambda n: is_too_often(n, groups, epsilon), draws(SINGLE))


@every_law
def test_a_key_of_a_single_unit_is_not_held_back_for_longer_than_needed(
    groups: int, epsilon: int
) -> None:
    def is_rare(number: int) -> bool:
        found = published(number, groups, epsilon)
        least = float(DELTA / groups) * np.exp(-epsilon / groups)
        return clopper_pearson(found, number, ALPHA)[1] < least

    assert not confirmed(is_rare, draws(SINGLE))
