"""Planes and points of the unit ball, against exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpframe
from dpframe.errors import ColumnNotFoundError, ParameterError, ParameterTypeError
from dpframe.grid import EvenGrid
from dpframe.releases.halfspaces.ball import UnitBall
from dpframe.releases.halfspaces.weights import read_weights
from dpframe.values import column_type

FLOAT, WHOLE = pl.Float64(), pl.Int64()


def ball(*limits: tuple[Any, Any], dtype: Any = FLOAT) -> UnitBall:
    """Return columns x0, x1, ... with these bounds, a grid of 1001 points each."""
    grids = [
        EvenGrid(
            column=column_type(f"x{place}", dtype),
            low=Fraction(low),
            step=(Fraction(high) - Fraction(low)) / 1000,
            size=1001,
        )
        for place, (low, high) in enumerate(limits)
    ]
    pairs = tuple((Fraction(low), Fraction(high)) for low, high in limits)
    return UnitBall(grids=tuple(grids), limits=pairs)


def exactly(
    limits: list[tuple[Fraction, Fraction]], w: list[Fraction], b: Fraction
) -> tuple[list[float], float]:
    """Return the unit normal and the offset of a plane, by exact arithmetic.

    A row is ``middle + half * sqrt(d) * x``.
    """
    halves = [(high - low) / 2 for low, high in limits]
    middles = [(high + low) / 2 for low, high in limits]
    normal = [one * half for one, half in zip(w, halves, strict=True)]
    longest = max(map(abs, normal))
    normal = [one / longest for one in normal]
    rest = b - sum(one * middle for one, middle in zip(w, middles, strict=True))
    root = math.sqrt(len(w))
    length = math.sqrt(float(sum(one * one for one in normal)))
    offset = min(max(rest / longest, Fraction(-(10**9))), Fraction(10**9))
    return [float(one) / length for one in normal], float(offset) / (root * length)


def planes(of: UnitBall, w: Any, b: Any = 0, *, scaled: bool = False) -> Any:
    return of.planes(w, b, scaled=scaled)


def random_limits(rng: Random, scale: float) -> tuple[Fraction, Fraction]:
    low = Fraction(rng.uniform(-1, 1) * scale)
    return low, low + Fraction(rng.uniform(0.01, 1) * scale)


# Original units


@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e140, 1e6])
@pytest.mark.parametrize("weight", [1.0, 1e-300, 1e300])
def test_planes_in_the_columns_units_are_those_of_exact_arithmetic(
    scale: float, weight: float
) -> None:
    rng = Random(f"{scale} {weight}")  # noqa: S311 - test data
    for size in (2, 3, 7):
        for _ in range(20):
            limits = [random_limits(rng, scale) for _ in range(size)]
            w = [rng.uniform(-1, 1) * weight for _ in range(size)]
            inside = [rng.uniform(float(low), float(high)) for low, high in limits]
            exact = sum(
                Fraction(a) * Fraction(x) for a, x in zip(w, inside, strict=True)
            )
            if not Fraction(1e-290) < abs(exact) < Fraction(1.7e308):
                continue  # no float says so
            b = float(exact)
            normal, offset = exactly(limits, list(map(Fraction, w)), Fraction(b))
            found = planes(ball(*limits), w, b)
            assert found.normals[0] == pytest.approx(normal, rel=1e-12, abs=1e-15)
            assert found.offsets[0] == pytest.approx(offset, abs=1e-9)
            again = planes(ball(*limits), found.normals, found.offsets, scaled=True)
            assert again.normals == pytest.approx(found.normals, abs=1e-15)
            assert again.offsets == pytest.approx(found.offsets, abs=1e-15)


def test_columns_of_very_different_sizes_and_places_lose_nothing() -> None:
    limits = [
        (Fraction(2**60), Fraction(2**60 + 4096)),
        (Fraction(1e-140), Fraction(3e-140)),
        (Fraction(1), 1 + Fraction(1, 2**44)),
        (Fraction(-1e140), Fraction(1e140)),
    ]
    of = ball(*limits)
    rng = Random(3)  # noqa: S311 - test data
    for _ in range(50):
        w = [rng.uniform(-1, 1) / float(high - low) for low, high in limits]
        share = Fraction(rng.random())
        exact = sum(
            Fraction(a) * (low + share * (high - low))
            for a, (low, high) in zip(w, limits, strict=True)
        )
        b = float(exact)
        normal, offset = exactly(limits, list(map(Fraction, w)), Fraction(b))
        found = planes(of, w, b)
        assert found.normals[0] == pytest.approx(normal, rel=1e-12)
        assert found.offsets[0] == pytest.approx(offset, abs=1e-12)


def test_sizes_beyond_floats_are_planes_beyond_all_rows() -> None:
    of = ball((0, 1), (0, 10))
    assert planes(of, [1e-300, 0], 1e300).offsets.tolist() == [2.0]
    assert planes(of, [1e-300, 0], -1e300).offsets.tolist() == [-2.0]
    assert planes(of, [5e-324, 0], 1e308, scaled=True).offsets.tolist() == [2.0]
    assert planes(of, [1e308, 1e308], 1e308).normals[0] == pytest.approx(
        [1 / math.sqrt(101), 10 / math.sqrt(101)]
    )
    wide = ball((-1e150, 1e150), (0, 1e-150))
    found = planes(wide, [1e300, 1], 0)
    assert found.normals.tolist() == [[1.0, 0.0]]
    assert found.offsets.tolist() == [0.0]


def test_offsets_of_a_scale_do_not_change_a_plane() -> None:
    of = ball((0, 100), (10, 50))
    one = planes(of, [1, 0.5], 40)
    for factor in (1e-300, 2.0**-40, 3.0, 1e300):
        two = planes(of, [factor, 0.5 * factor], 40 * factor)
        assert two.normals == pytest.approx(one.normals, abs=1e-15)
        assert two.offsets == pytest.approx(one.offsets, abs=1e-14)


def test_a_decimal_column_is_asked_in_its_own_unit() -> None:
    column = column_type("price", pl.Decimal(10, 2))
    grid = EvenGrid(column=column, low=Fraction(0), step=Fraction(1), size=1001)
    other = EvenGrid(
        column=column_type("x", WHOLE), low=Fraction(0), step=Fraction(1), size=11
    )
    limits = ((Fraction(0), Fraction(1000)), (Fraction(0), Fraction(10)))
    of = UnitBall(grids=(grid, other), limits=limits)
    found = planes(of, {"price": 1}, Decimal("7.5"))
    assert found.normals.tolist() == [[1.0, 0.0]]
    assert found.offsets[0] == pytest.approx(0.5 / math.sqrt(2))


def test_own_units_of_a_plane_are_that_plane() -> None:
    rng = np.random.default_rng(5)
    limits = [(0, 100), (-3, 5), (1000, 1001)]
    of = ball(*limits)
    for _ in range(30):
        normal = rng.normal(size=3)
        normal /= np.sqrt(normal @ normal)
        offset = float(rng.uniform(-1, 1))
        weights, own = of.own(normal, offset)
        found = planes(of, weights, own)
        assert found.normals[0] == pytest.approx(normal, abs=1e-12)
        assert found.offsets[0] == pytest.approx(offset, abs=1e-10)
        assert list(weights) == list(of.names)
        assert max(map(abs, weights.values())) == 1


# Forms


FORMS: dict[str, Any] = {
    "list": [2, -1, 0],
    "tuple": (2.0, -1.0, 0.0),
    "numpy": np.array([2, -1, 0], dtype=np.float32),
    "numpy of whole numbers": np.array([2, -1, 0], dtype=np.int8),
    "pandas": pd.Series([2, -1, 0]),
    "nullable pandas": pd.Series([2, -1, 0], dtype="Int64"),
    "arrow pandas": pd.Series([2, -1, 0], dtype="float64[pyarrow]"),
    "Polars": pl.Series([2, -1, 0]),
    "fractions": [Fraction(2), Decimal(-1), 0],
    "mapping": {"x0": 2, "x1": -1, "x2": 0},
    "out of order": {"x2": 0, "x1": -1, "x0": 2},
    "part": {"x1": -1, "x0": np.float64(2)},
    "listed": [[2, -1, 0]],
    "listed mapping": [{"x1": -1, "x0": 2}],
    "matrix": np.array([[2, -1, 0]]),
    "pandas frame": pd.DataFrame({"x2": [0], "x0": [2], "x1": [-1]}),
    "Polars frame": pl.DataFrame({"x1": [-1.0], "x0": [2.0]}),
    "public": dpframe.public(pl.Series([2, -1, 0])),
}


@pytest.mark.parametrize("form", FORMS)
def test_directions_come_in_every_form(form: str) -> None:
    of = ball((0, 1), (0, 4), (-1, 1))
    expected = planes(of, [2, -1, 0], 0.5)
    found = planes(of, FORMS[form], 0.5)
    assert found.normals.tolist() == expected.normals.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert read_weights(FORMS[form], of.names).tolist() == [[2.0, -1.0, 0.0]]


OFFSETS: dict[str, Any] = {
    "list": [0.5, 1],
    "numpy": np.array([0.5, 1.0]),
    "pandas": pd.Series([0.5, 1.0], index=[5, 5]),
    "Polars": pl.Series([0.5, 1.0]),
    "mixed": (Fraction(1, 2), Decimal(1)),
}


@pytest.mark.parametrize("form", OFFSETS)
def test_offsets_come_one_each_or_one_for_all(form: str) -> None:
    of = ball((0, 1), (0, 4))
    directions = [[1, 0], [0, 1]]
    found = planes(of, directions, OFFSETS[form])
    one = planes(of, [1, 0], 0.5), planes(of, [0, 1], 1)
    assert found.offsets.tolist() == [float(each.offsets[0]) for each in one]
    same = planes(of, directions, np.float32(0.5))
    assert same.offsets.tolist() == planes(of, directions, [0.5, 0.5]).offsets.tolist()


def test_no_directions_are_no_planes() -> None:
    of = ball((0, 1), (0, 4))
    for none in (np.zeros((0, 2)), pl.DataFrame({"x0": []}, schema={"x0": pl.Float64})):
        assert len(planes(of, none)) == 0


# Mistakes

NAN, INF = float("nan"), float("inf")
T, P = ParameterTypeError, ParameterError

MISTAKES: list[tuple[Any, Any, type[Exception], str]] = [
    ([0, 0], 0, P, "direction is zero"),
    ({}, 0, P, "direction is zero"),
    ({"x0": 0}, 0, P, "direction is zero"),
    ([[1, 0], [0, 0]], 0, P, "direction is zero"),
    ([NAN, 1], 0, P, "A direction holds NaN or infinity"),
    ([1, INF], 0, P, "A direction holds NaN or infinity"),
    ({"x1": -INF}, 0, P, "NaN or infinity"),
    (pl.Series([1.0, None]), 0, P, "NaN or infinity"),
    ([1, 1], NAN, P, "An offset holds NaN or infinity"),
    ([1, 1], INF, P, "An offset holds NaN or infinity"),
    ([1], 0, P, "1 weights, and there are the columns x0 and x1"),
    ([1, 2, 3], 0, P, "3 weights"),
    ([], 0, P, "0 weights"),
    (3, 0, P, "pass 2 numbers, or a mapping by column"),
    (np.zeros((2, 2, 2)), 0, P, "2 weights"),
    (np.ones((4, 3)), 0, P, "3 weights"),
    (["1", 2], 0, T, "A direction is made of numbers"),
    ("ab", 0, T, "made of numbers"),
    ([b"1", 2], 0, T, "made of numbers"),
    ([None, 1], 0, T, "made of numbers"),
    (None, 0, T, "made of numbers"),
    ([True, False], 0, T, "made of numbers"),
    ([True, 2.5], 0, T, "made of numbers"),
    ([2, np.True_], 0, T, "made of numbers"),
    (np.array([True, False]), 0, T, "made of numbers"),
    (pl.Series([True, False]), 0, T, "made of numbers"),
    ({"x0": True}, 0, T, "made of numbers"),
    ({"x0": "1"}, 0, T, "made of numbers"),
    ({"x0": [1, 2]}, 0, T, "made of numbers"),
    ([1j, 1], 0, T, "made of numbers"),
    ([[1, 2], [3]], 0, T, "made of numbers"),
    ([1, [2]], 0, T, "made of numbers"),
    ([np.datetime64("2020-01-01"), 1], 0, T, "made of numbers"),
    (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), 0, T, "made of numbers"),
    (np.array([1, 2], dtype="m8[s]"), 0, T, "made of numbers"),
    ({1, 2}, 0, T, "made of numbers"),
    (pl.LazyFrame({"x0": [1]}), 0, T, "made of numbers"),
    ([10**400, 1], 0, T, "made of numbers"),
    ([{"x0": 1}, [1, 2]], 0, T, "all mappings of columns to numbers, or none"),
    ({"x2": 1}, 0, ColumnNotFoundError, "it has x0 and x1"),
    ({0: 1}, 0, ColumnNotFoundError, "no column 0"),
    ([{"x0": 1}, {"y": 1}], 0, ColumnNotFoundError, "no column 'y'"),
    (pl.DataFrame({"z": [1]}), 0, ColumnNotFoundError, "no column 'z'"),
    (pl.DataFrame({"x0": [True]}), 0, T, "made of numbers"),
    (pd.DataFrame({"x0": ["a"]}), 0, T, "made of numbers"),
    ([1, 1], "3", T, "An offset is made of numbers"),
    ([1, 1], True, T, "An offset is made of numbers"),
    ([1, 1], None, T, "An offset is made of numbers"),
    ([1, 1], [True, 1], T, "An offset is made of numbers"),
    ([[1, 1]] * 3, [1, 2], P, "There are 3 directions and 2 offsets"),
    ([[1, 1]] * 4, [[1, 2], [3, 4]], P, "There are 4 directions and 2 x 2 offsets"),
]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("w", "b", "error", "words"),
    MISTAKES,
    ids=[f"{str(case[0])[:30]} {str(case[1])[:20]}" for case in MISTAKES],
)
def test_mistakes_are_refused_by_what_they_are(
    w: Any,
    b: Any,
    error: type[Exception],
    words: str,
    scaled: bool,  # noqa: FBT001 - a case
) -> None:
    with pytest.raises(error) as caught:
        planes(ball((0, 1), (0, 1)), w, b, scaled=scaled)
    assert words in str(caught.value)


def test_a_ball_without_bounds_for_each_column_is_refused() -> None:
    of = ball((0, 1), (0, 1))
    for limits in (of.limits[:1], ((Fraction(1), Fraction(1)), of.limits[1])):
        with pytest.raises(ValueError, match="two bounds"):
            UnitBall(grids=of.grids, limits=limits)


# Points


@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e140])
def test_points_of_the_grids_are_places_and_come_back(scale: float) -> None:
    of = ball((0, scale), (-3 * scale, 2 * scale), (scale, 1.5 * scale))
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1001, size=(300, 3)).astype(np.uint64)
    codes[0], codes[1] = 0, 1000
    places = of.places(codes)
    assert places.min() == pytest.approx(-1 / math.sqrt(3), rel=1e-15)
    assert places.max() == pytest.approx(1 / math.sqrt(3), rel=1e-15)
    assert np.array_equal(of.codes(places), codes)
    for axis, (low, high) in enumerate(of.limits):
        value = low + (high - low) * Fraction(int(codes[7, axis]), 1000)
        y = (2 * value - low - high) / (high - low)
        assert places[7, axis] * math.sqrt(3) == pytest.approx(float(y), abs=1e-14)
    far = of.codes(np.array([[-5.0, 5.0, 0.0]]))
    assert far.tolist() == [[0, 1000, 500]]


def test_drawn_floats_stay_within_bounds_that_they_round_across() -> None:
    limits = ((0.1, 0.3), (Fraction(1, 3), Fraction(2, 3)))
    for dtype, size in ((pl.Float32(), np.float32), (pl.Float64(), np.float64)):
        of = ball(*limits, dtype=dtype)
        codes = np.array([[0, 0], [1000, 1000], [500, 500]], dtype=np.uint64)
        for column, (low, high) in zip(of.columns(codes), limits, strict=True):
            assert column.dtype == dtype
            found = [Fraction(value) for value in column.to_list()]
            assert Fraction(low) <= found[0] < found[2] < found[1] <= Fraction(high)
            assert found[0] - Fraction(low) < Fraction(float(np.spacing(size(low))))
            assert Fraction(high) - found[1] < Fraction(float(np.spacing(size(high))))


def test_one_direction_with_several_offsets_is_as_many_questions() -> None:
    of = ball((0, 10), (-1, 1))
    found = of.planes({"x1": 1}, [0, 0.5], scaled=False)
    one, two = (of.planes([0, 1], offset, scaled=False) for offset in (0, 0.5))
    assert np.array_equal(found.normals, np.concatenate([one.normals, two.normals]))
    assert np.array_equal(found.offsets, np.concatenate([one.offsets, two.offsets]))


def test_a_pandas_series_is_read_by_its_names_and_without_them_by_place() -> None:
    of = ball((0, 10), (-1, 1))
    named = pd.Series({"x1": 2.0, "x0": 1.0})
    assert read_weights(named, of.names).tolist() == [[1.0, 2.0]]
    assert read_weights(pd.Series({"x1": 2.0}), of.names).tolist() == [[0.0, 2.0]]
    assert read_weights(pd.Series([2.0, 1.0]), of.names).tolist() == [[2.0, 1.0]]
    with pytest.raises(ColumnNotFoundError, match="no column 'x9'"):
        read_weights(pd.Series({"x9": 2.0}), of.names)


def test_a_margin_is_as_long_in_each_column_as_rows_are_apart() -> None:
    of = ball((0, 10), (-1, 1))
    assert of.lengths(0.1) == pytest.approx({"x0": 0.5 * 2**0.5, "x1": 0.1 * 2**0.5})
    middle = of.places(np.array([[500, 500]], dtype=np.uint64))
    moved = of.places(np.array([[500 + 50, 500]], dtype=np.uint64))  # half a unit
    apart = float(np.linalg.norm(moved - middle))
    assert apart == pytest.approx(0.1 * 0.5 / of.lengths(0.1)["x0"])
