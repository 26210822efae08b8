"""Every kind of release, as a call on a private frame of one small layout.

The frame has a column `x` of any dtype, numbers `y`, text `g` and Booleans `b`, and
may have a privacy unit `u`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl
from checks.columns import LEVELS, WORDS

import dpframe
from dpframe.testing import recording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from checks.columns import Column

    from dpframe.testing import Record

    Row = dict[str, Any]

Y_BOUNDS = (-1.0, 2.0)
Y_VALUES = (None, math.nan, math.inf, -math.inf, -1.0, 2.0, 1e300, -0.5)
SALT = bytes(16)
LIMITS = {"privacy_unit": "u", "max_rows": 2, "max_groups": 2}
ENUM = pl.Enum([*WORDS])


@dataclass(frozen=True)
class Call:
    """A release, the dtypes it is for, and its only noise if it has not both."""

    name: str
    run: Callable[[Any, Column], Any]
    numbers: bool = False
    sums: bool = False
    noise: str | None = None

    def suits(self, column: Column) -> bool:
        return (column.is_number or not self.numbers) and (
            column.has_sum or not self.sums
        )

    def __str__(self) -> str:
        return self.name


def bounded(frame: Any, column: Column) -> Any:
    return frame.dp.bounds(x=column.bounds).dp


def _moments(kind: str, of: str) -> Call:
    def run(frame: Any, column: Column) -> Any:
        method = getattr(frame.dp, kind)
        return method("x", of=of, bounds=column.bounds, epsilon=1)

    return Call(f"{kind} of {of}", run, numbers=kind != "mean")


def _grouped(kind: str, of: str) -> Call:
    def run(frame: Any, column: Column) -> Any:
        groups = frame.dp.group_by("g", keys=LEVELS)
        return getattr(groups, kind)("x", of=of, bounds=column.bounds, epsilon=1)

    return Call(f"{kind} of {of} by group", run, numbers=kind != "mean")


def _mean_cov(norm: str, method: str) -> Call:
    def run(frame: Any, column: Column) -> Any:
        asked: dict[str, Any] = {"bounds": {"x": column.bounds, "y": Y_BOUNDS}}
        if norm != "box":
            asked = {"radius": 1.5}
        return frame.dp.mean_cov(
            ["x", "y"], norm=norm, method=method, epsilon=1, **asked
        )

    noise = "gaussian" if method == "gauss" else "pure"
    return Call(f"mean_cov {norm} {method}", run, numbers=True, noise=noise)


def _tuples(frame: Any, column: Column) -> Any:
    keys = [(word, key) for word in LEVELS for key in column.keys][::-1]
    return frame.dp.contingency(["g", "x"], keys=keys, other=True, epsilon=1)


def _agg(frame: Any, column: Column) -> Any:
    kinds = ["count", "mean", *["var", "std"] * column.is_number]
    kinds += ["sum"] * column.has_sum
    asked = {f"x_{kind}": ("x", kind) for kind in kinds}
    asked |= {"n": "count", "present": ("y", "count")}
    return bounded(frame, column).agg(asked, epsilon=1)


def _grouped_agg(frame: Any, column: Column) -> Any:
    groups = bounded(frame, column).group_by("b", keys=[True, False])
    return groups.agg(n="count", m=("x", "mean"), k=("g", "count"), epsilon=1)


CALLS = (
    Call("count of rows", lambda f, _: f.dp.count(epsilon=1)),
    Call("count of units", lambda f, _: f.dp.count(of="units", epsilon=1)),
    Call("count of a column", lambda f, _: f.dp.count("x", epsilon=1)),
    Call(
        "count of units with a column",
        lambda f, _: f.dp.count("x", of="units", epsilon=1),
    ),
    Call("n_unique", lambda f, _: f.dp.n_unique("x", epsilon=1)),
    Call("n_unique of tuples", lambda f, _: f.dp.n_unique(["g", "x"], epsilon=1)),
    Call(
        "sum of rows",
        lambda f, c: f.dp.sum("x", bounds=c.bounds, epsilon=1),
        sums=True,
    ),
    Call(
        "sum of totals",
        lambda f, c: f.dp.sum("x", bound="total", bounds=c.total, epsilon=1),
        sums=True,
    ),
    *(
        _moments(kind, of)
        for kind in ("mean", "var", "std")
        for of in ("rows", "units")
    ),
    Call("agg", _agg),
    Call(
        "histogram by even bins",
        lambda f, c: f.dp.histogram("x", bins=5, bounds=c.bounds, epsilon=1),
    ),
    Call(
        "histogram by edges",
        lambda f, c: f.dp.histogram("x", bins=c.edges, other=True, epsilon=1),
    ),
    Call(
        "histogram by edges, clipped",
        lambda f, c: f.dp.histogram("x", bins=c.edges, bounds=c.bounds, epsilon=1),
    ),
    Call("histogram by keys", lambda f, c: f.dp.histogram("x", keys=c.keys, epsilon=1)),
    Call(
        "histogram of units",
        lambda f, c: f.dp.histogram("x", bins=c.edges, of="units", epsilon=1),
    ),
    Call(
        "value_counts",
        lambda f, c: f.dp.value_counts("x", keys=c.keys, other=True, epsilon=1),
    ),
    Call(
        "contingency of keys and bins",
        lambda f, c: f.dp.contingency(
            ["g", "x"], keys={"g": LEVELS}, bins={"x": c.edges}, epsilon=1
        ),
    ),
    Call("contingency of tuples", _tuples),
    Call(
        "contingency of units",
        lambda f, c: f.dp.contingency(
            ["b", "x"],
            keys={"b": [True, False], "x": c.keys},
            other=True,
            of="units",
            epsilon=1,
        ),
    ),
    Call(
        "count by group",
        lambda f, c: f.dp.group_by("g", "x", keys={"g": LEVELS, "x": c.keys}).count(
            epsilon=1
        ),
    ),
    Call(
        "count of units by group",
        lambda f, _: f.dp.group_by("g", keys=LEVELS).count(of="units", epsilon=1),
    ),
    Call(
        "sum by group",
        lambda f, c: f.dp.group_by("g", keys=LEVELS).sum(
            "x", bounds=c.bounds, epsilon=1
        ),
        sums=True,
    ),
    Call(
        "sum of totals by group",
        lambda f, c: f.dp.group_by("g", keys=LEVELS).sum(
            "x", bound="total", bounds=c.total, epsilon=1
        ),
        sums=True,
    ),
    *(
        _grouped(kind, of)
        for kind in ("mean", "var", "std")
        for of in ("rows", "units")
    ),
    Call("agg by group", _grouped_agg),
    *(_mean_cov("box", method) for method in ("linf", "sym", "dwork", "bernstein")),
    *(_mean_cov(norm, m) for norm in ("l1", "l2") for m in ("sym", "dwork")),
)

GAUSSIAN_CALLS = tuple(_mean_cov(norm, "gauss") for norm in ("box", "l1", "l2"))
"""Those that need a budget with Gaussian noise."""


def random_rows(rng: Random, column: Column, *, most: int, units: int) -> list[Row]:
    """Return rows of some units, where one unit in three has many rows."""
    rows: list[Row] = []
    for unit in range(units):
        size = rng.randint(1, most) if rng.random() < 1 / 3 else rng.randint(0, 2)
        rows += [random_row(rng, column, unit) for _ in range(size)]
    rng.shuffle(rows)
    return rows


def random_row(rng: Random, column: Column, unit: int) -> Row:
    return {
        "x": column.value(rng),
        "y": rng.choice((*Y_VALUES, rng.random())),
        "g": rng.choice((None, *WORDS)),
        "b": rng.choice((None, True, False)),
        "u": unit,
    }


def native(rows: Sequence[Row], column: Column) -> pl.DataFrame:
    schema = {
        "x": column.dtype,
        "y": pl.Float64(),
        "g": ENUM,
        "b": pl.Boolean(),
        "u": pl.Int64(),
    }
    columns = {
        name: pl.Series(name, [row[name] for row in rows], dtype=dtype, strict=True)
        for name, dtype in schema.items()
    }
    return pl.DataFrame(columns)


def attached(frame: Any, *, gaussian: bool = False, **declared: Any) -> Any:
    """Return a private frame whose units keep the same cells each time.

    With `gaussian` an epsilon of 1 buys Gaussian noise of rho 1/2.
    """
    budget = {"rho": 10**6} if gaussian else {"epsilon": 10**6}
    private = dpframe.attach(frame, dpframe.Accountant(**budget), **declared)
    return private.with_state(replace(private.private_state, salt=SALT))


def limits(call: Call, column: Column) -> dict[str, Any]:
    """Return contribution limits; the spelling of floats in a hash is not tested."""
    if "n_unique" in call.name and column.dtype.is_float():
        return LIMITS | {"max_groups": 64}
    return LIMITS


def record(frame: Any, call: Call, column: Column) -> Record:
    """Return what one release on a private frame saw."""
    return released(frame, call, column)[0]


def released(frame: Any, call: Call, column: Column) -> tuple[Record, Any]:
    """Return what one release saw, and the release."""
    with recording(noiseless=True) as recorder:
        result = call.run(frame, column)
    (seen,) = recorder.records
    return seen, result


def integers(seen: Record) -> list[list[list[int]]]:
    """Return the exact outputs of each part, by cell."""
    return [
        [
            [figure for block in part.blocks for figure in block.exact[cell]]
            for cell in range(len(part.blocks[0].exact))
        ]
        for part in seen.parts
    ]
