from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpframe.noise.powers import Powers

RATES = [Fraction(1), Fraction(1, 3), Fraction(7, 2**20), Fraction(3, 2**60)]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("largest", [0, 1, 255, 256, 70_000, 2**61, 2**90])
def test_an_integer_lies_below_its_power_by_no_more_than_the_slack(
    rate: Fraction, largest: int
) -> None:
    powers = Powers.of(rate, largest=largest, bits=250)
    source = random.Random(largest)  # noqa: S311 - any steps will do
    steps = [0, largest, *(source.randint(0, largest) for _ in range(60))]
    steps += [min(step, largest) for step in range(0, 300, 7)]
    found = powers.at(np.array(steps, dtype=object)).tolist()
    assert found[0] == 2**250
    assert powers.slack < 2**14
    with localcontext() as arithmetic:
        arithmetic.prec = 150
        for step, integer in zip(steps, found, strict=True):
            exponent = -Decimal(rate.numerator * step) / rate.denominator
            power = exponent.exp() * 2**250
            assert integer <= power <= integer + powers.slack
            assert power <= powers.above(step)


def test_steps_of_int64_and_python_integers_have_the_same_powers() -> None:
    steps = np.array([0, 5, 255, 256, 2**40 + 3, 2**61], dtype=np.int64)
    powers = Powers.of(Fraction(1, 2**38), largest=2**61, bits=200)
    assert powers.at(steps).tolist() == powers.at(steps.astype(object)).tolist()
