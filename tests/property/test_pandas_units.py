"""Worlds that share a few units and differ in all others: what those units get.

A step that brings rows of a unit together, or multiplies them, is run on each world.
A shared unit must come out with the same rows in all of them, every row must belong
to a unit, and the dtypes must be the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dpframe
from dpframe.dialects.pandas.private import PrivatePandas
from dpframe.errors import DPFrameError
from dpframe.frame import UNIT
from dpframe.privacy.accountant import Accountant

if TYPE_CHECKING:
    from collections.abc import Sequence

World = tuple[pd.DataFrame, pd.DataFrame]
Step = Callable[[PrivatePandas, PrivatePandas], PrivatePandas]

SHARED = (0.0, 1.0, 2.0, 3.0)
DTYPES = {
    "u": "float64",
    "k": "str",
    "x": "int64",
    "i": "int8",
    "f": "float64",
    "n": "Int64",
    "b": "bool",
    "m": "boolean",
    "a": "int64[pyarrow]",
    "c": "category",
    "t": "datetime64[s]",
    "d": "timedelta64[ns]",
    "o": "object",
}
NUMBERS = ["x", "i", "f", "n", "b", "m", "a"]
TABLE = pd.DataFrame(
    {
        "k": ["a", "b", "b", None],
        "f": [0.0, np.nan, 1.5, 7.0],
        "z": [1, 2, 3, 4],
        "yes": [True, False, True, True],
        "x": np.array([0, 1, 2, 3], dtype="uint8"),
    }
)
PUBLIC = dpframe.public(TABLE)
ONCE = dpframe.public(TABLE.iloc[[0, 1, 3]])
NAMED = pd.DataFrame({"u": SHARED[:3], "ward": [1, 2, 3], "open": [True, False, True]})
BUDGET = Accountant(epsilon=1)


def row(rng: random.Random, unit: float) -> dict[str, Any]:
    """Draw a row of a unit, zeros of both signs and missing cells among its cells."""

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    return {
        "u": -unit if unit == 0 and rng.random() < 0.5 else unit,
        "k": maybe(rng.choice("abc")),
        "x": rng.choice([0, 1, 2, -7, 2**62]),
        "i": rng.choice([127, -128, 1]),
        "f": maybe(rng.choice([0.0, -0.0, 0.1, 1.5, -1e300, 1e-9])),
        "n": maybe(rng.choice([0, 1, 2**62])),
        "b": rng.random() < 0.5,
        "m": maybe(rng.random() < 0.5),
        "a": maybe(rng.choice([3, -3, 2**61])),
        "c": maybe(rng.choice("pqr")),
        "t": maybe(rng.choice(["2024-02-29", "1970-01-01"])),
        "d": maybe(rng.choice(["1h", "-5min"])),
        "o": rng.choice(["a", "b"]) if unit < 9 else rng.choice(["a", 1, None]),
    }


def side(rng: random.Random, kept: Sequence[dict[str, Any]], others: int) -> Any:
    """Return the kept rows among those of other units, in some order."""
    rows = [*kept, *(row(rng, rng.randrange(10, 16)) for _ in range(others))]
    rng.shuffle(rows)
    return pd.DataFrame(rows, columns=list(DTYPES)).astype(DTYPES)


@cache
def worlds() -> tuple[World, ...]:
    """Return pairs of frames: unit 2 is in the first alone, unit 3 in the second."""
    rng = random.Random(1)  # noqa: S311 - no secret
    one = [row(rng, unit) for unit in (0, 0, 0, 1, 2, 2)]
    two = [row(rng, unit) for unit in (0, 0, 1, 1, 3)]
    return tuple(
        (side(rng, one, many), side(rng, two, more))
        for many, more in [(40, 40), (25, 5), (5, 25), (0, 20), (20, 0), (0, 0), (1, 1)]
    )


def cells(column: pd.Series) -> list[str]:
    """Return cells as text, to the last bit; what is missing is so in one way."""
    plain = column.astype(object)
    pairs = zip(plain.isna(), plain, strict=True)
    return ["missing" if missing else repr(cell) for missing, cell in pairs]


def by_unit(frame: pd.DataFrame, units: list[float]) -> dict[float, Counter[Any]]:
    """Return the rows of each unit, as often as they occur."""
    found: dict[float, Counter[Any]] = {}
    listed = zip(
        *[cells(frame.iloc[:, at]) for at in range(frame.shape[1])], strict=True
    )
    for unit, one in zip(units, listed, strict=True):
        found.setdefault(unit, Counter())[one] += 1
    return found


Outcome = tuple[pd.DataFrame, list[float]]


def refuted(run: Callable[[World], Outcome]) -> str | None:
    """Return how a step is refuted; None where all worlds agree."""
    seen: dict[float, Counter[Any]] = {}
    dtypes: list[str] | None = None
    for world in worlds():
        frame, units = run(world)
        shown = [
            "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
            for dtype in frame.dtypes
        ]
        if dtypes is not None and shown != dtypes:
            return "the dtypes depend on the rows"
        dtypes = shown
        found = by_unit(frame, units)
        if found.keys() - {unit for each in world for unit in each["u"]}:
            return "a row belongs to no unit"
        for unit in SHARED:
            rows = found.get(unit, Counter())
            if seen.setdefault(unit, rows) != rows:
                return f"unit {unit} has other rows beside other units"
    return None


def proved(step: Step) -> Callable[[World], Outcome]:
    """Return a step of private frames, with the unit of each row that it gives."""

    def run(world: World) -> Outcome:
        one, two = (
            dpframe.attach(rows, BUDGET, privacy_unit="u", max_rows=1) for rows in world
        )
        made = step(one, two)
        return made.detach(), made.scan({}).collect()[UNIT].to_list()

    return run


ANY_DTYPE = [name for name in DTYPES if name not in {"u", "k", "o"}]
PLAIN = [name for name in ANY_DTYPE if name != "c"]
STEPS: dict[str, Step] = {
    **{
        f"public {how} on {'-'.join(on)}": lambda v, _, how=how, on=on: v.merge(
            PUBLIC, how=how, on=list(on)
        )
        for how in ("inner", "left", "left_anti")
        for on in (("k",), ("f",), ("x",), ("k", "f"))
    },
    "public on the unit": lambda v, _: v.merge(
        dpframe.public(NAMED), on="u", how="left"
    ),
    "public by two names": lambda v, _: v.merge(
        PUBLIC, how="left", left_on=["x", "k"], right_on=["z", "k"]
    ),
    **{
        f"private {how}{' on more' * more}": lambda v, w, how=how, more=more: v.merge(
            w, how=how, on=["u", "k", "n"][: 1 + 2 * more]
        )
        for how in ("inner", "left", "left_anti", "right", "outer")
        for more in (False, True)
    },
    "private by two names": lambda v, w: v.merge(
        w.rename(columns={"u": "who", "c": "k2"})[["who", "k2", "f"]],
        how="outer",
        left_on=["u", "k"],
        right_on=["who", "k2"],
    ),
    **{
        f"{name} by unit": lambda v, _, name=name, of=of: v.groupby("u")[of].agg(name)
        for name, of in {
            "count": ANY_DTYPE,
            "nunique": ANY_DTYPE,
            "size": PLAIN,
            "sum": [*NUMBERS, "d"],
            "mean": NUMBERS,
            "median": [*NUMBERS, "t", "d"],
            "min": PLAIN,
            "max": PLAIN,
            "any": ["b", "m"],
            "all": ["b", "m"],
        }.items()
    },
    **{
        f"figures by unit and {key}{'' if dropna else ' or none'}": (
            lambda v, _, key=key, dropna=dropna: v.groupby(
                [key, "u"], dropna=dropna
            ).agg(rows=("x", "size"), s=("f", "sum"), most=("t", "max"), k=("k", "min"))
        )
        for key in ("c", "f", "n", "t", "b")
        for dropna in (True, False)
    },
    "in each row": lambda v, _: v.assign(
        n=lambda d: d.groupby("u")["x"].transform("size"),
        s=lambda d: d["f"] / d.groupby("u")["f"].transform("sum"),
        m=lambda d: d.groupby(["u", "k"])["i"].transform("mean"),
        t=lambda d: d.groupby(["u", "c"])["t"].transform("max"),
    ),
    "rows by a figure": lambda v, _: v[
        lambda d: d["x"] == d.groupby("u")["x"].transform("max")
    ],
    "a chain": lambda v, w: (
        v.merge(ONCE, on="k", how="left")
        .assign(z=lambda d: d["z"].fillna(0) * 2)
        .groupby("u")
        .agg(z=("z", "sum"), f=("f_x", "mean"))
        .merge(w.groupby(["u", "b"]).size(), on="u", how="outer")
        .assign(share=lambda d: d["size"] / d.groupby("u")["size"].transform("sum"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(STEPS))
def test_what_a_unit_gets_does_not_depend_on_other_units(name: str) -> None:
    assert refuted(proved(STEPS[name])) is None


def total(rows: pd.DataFrame) -> Outcome:
    """Return rows of a raw frame with the unit of each."""
    return rows, (rows["u"] + 0.0).tolist()


CONTROLS: dict[str, Callable[[World], Outcome]] = {
    "a public row appears": lambda w: total(
        w[0].merge(NAMED.assign(u=[0.0, 1.0, 11.0]), on="u", how="right")
    ),
    "whole numbers become floats": lambda w: total(
        w[0].merge(NAMED[["u", "ward"]], on="u", how="left")
    ),
    "truths become objects": lambda w: total(
        w[0].merge(NAMED[["u", "open"]], on="u", how="left")
    ),
    "a figure over units": lambda w: total(
        w[0].assign(n=w[0].groupby("b")["x"].transform("size"))
    ),
    "rows of several units meet": lambda w: total(w[0].merge(w[1][["k", "f"]], on="k")),
    "the first row of a unit": lambda w: total(
        w[0].groupby("u", as_index=False)["x"].first()
    ),
    "a running sum": lambda w: total(
        w[0].assign(s=w[0].groupby("u")["x"].transform("cumsum"))
    ),
}


@pytest.mark.parametrize("name", list(CONTROLS))
def test_the_oracle_refutes_what_pandas_does_to_raw_rows(name: str) -> None:
    assert refuted(CONTROLS[name]) is not None


REFUSED: dict[str, Step] = {
    "a public row appears": lambda v, _: v.merge(PUBLIC, on="k", how="right"),
    "a figure over units": lambda v, _: v.assign(
        n=lambda d: d.groupby("b")["x"].transform("size")
    ),
    "rows of several units meet": lambda v, w: v.merge(w, on="k"),
    "the first row of a unit": lambda v, _: v.groupby("u")["x"].agg("first"),
    "a running sum": lambda v, _: v.assign(
        n=lambda d: d.groupby("u")["x"].transform("cumsum")
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_the_oracle_refutes_is_refused(name: str) -> None:
    with pytest.raises(DPFrameError):
        proved(REFUSED[name])(worlds()[0])
