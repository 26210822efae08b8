"""Unit-local Polars steps that are accepted give what plain Polars gives.

Random expressions, with selectors in all places, are run on a private frame and on
the frame itself: names, dtypes, rows and values are the same, up to rounding.
"""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars import selectors as cs
from polars.testing import assert_frame_equal

import dpframe
from dpframe.errors import DPFrameError

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS: list[tuple[Any, ...]] = [("u",), ("u", "t"), ("u", pl.col("a") % 2)]
LEAVES: list[Callable[[random.Random], pl.Expr]] = [
    lambda rng: pl.col(rng.choice("abfg")),
    lambda rng: pl.col(rng.choice("abfg")),
    lambda _: pl.col("a", "f"),
    lambda _: cs.float().as_expr(),
    lambda _: cs.by_name("b", "g").as_expr(),
    lambda _: pl.exclude("u", "t"),
    lambda _: pl.lit(2),
]


def rows() -> pl.DataFrame:
    rng = random.Random(1)  # noqa: S311 - no secret
    count = 60
    return pl.DataFrame(
        {
            "u": [rng.randrange(8) for _ in range(count)],
            "a": [rng.randrange(-5, 6) for _ in range(count)],
            "b": [rng.randrange(1, 9) for _ in range(count)],
            "f": [rng.gauss(0, 3) for _ in range(count)],
            "g": [
                rng.gauss(0, 3) if rng.random() > 0.2 else None for _ in range(count)
            ],
            "t": [rng.random() < 0.5 for _ in range(count)],
        }
    )


def _figure(rng: random.Random, one: pl.Expr, *, windows: bool) -> pl.Expr:
    choices: list[Callable[[], pl.Expr]] = [
        *(one.sum, one.mean, one.max, one.n_unique, one.count, one.median, one.len),
        *(pl.len, one.null_count, lambda: one.filter(pl.col("t")).sum()),
    ]
    if not windows:
        return rng.choice(choices)()
    return rng.choice([*choices, lambda: one.rank("min")])().over(*rng.choice(KEYS))


def grown(rng: random.Random, depth: int, *, windows: bool) -> pl.Expr:
    """Return a random expression of figures, one that Polars can run or not."""
    if depth == 0:
        return rng.choice(LEAVES)(rng)
    one, two = (grown(rng, depth - 1, windows=windows) for _ in range(2))
    choices: list[Callable[[], pl.Expr]] = [
        lambda: one + two,
        lambda: one * two,
        lambda: pl.when(one > two).then(one).otherwise(two),
        lambda: pl.max_horizontal(one, two),
        lambda: pl.sum_horizontal(cs.float(), one),
        lambda: one.fill_null(two),
        lambda: pl.coalesce(one, two),
        lambda: one.clip(-2, 2),
        lambda: one.is_between(two, 5),
        lambda: _figure(rng, one, windows=windows),
        lambda: _figure(rng, one, windows=windows) + two,
        lambda: _figure(rng, one, windows=windows) - _figure(rng, two, windows=windows),
    ]
    return rng.choice(choices)()


@pytest.mark.parametrize("windows", [True, False], ids=["windows", "groups"])
def test_what_is_accepted_is_what_polars_gives(*, windows: bool) -> None:
    rng = random.Random(11)  # noqa: S311 - no secret
    frame, budget = rows(), dpframe.Accountant(epsilon=1)
    private = dpframe.attach(frame, budget, privacy_unit="u")

    def run(rows: Any, expr: pl.Expr) -> Any:
        return rows.with_columns(expr) if windows else rows.group_by("u").agg(expr)

    agreed = 0
    for _ in range(1_200):
        expr = grown(rng, rng.choice([1, 1, 2, 2, 3]), windows=windows)
        try:
            found = run(private, expr).detach()
        except DPFrameError:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Polars means to change
            plain = run(frame, expr)
        assert found.schema == plain.schema, str(expr)
        assert_frame_equal(
            found, plain, check_row_order=windows, rel_tol=1e-6, abs_tol=1e-8
        )
        agreed += 1
    assert agreed > 80
