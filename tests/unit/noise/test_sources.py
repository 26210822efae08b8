"""No other randomness, and no float on the way from bytes to noise."""

from __future__ import annotations

import ast
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpframe.errors
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm

PACKAGE = Path(dpframe.errors.__file__).parent
SAMPLING = [
    "randomness",
    "bernoulli",
    "geometric",
    "decay",
    "brackets",
    "choice",
    "max_norm",
    "gaussian",
]
INTEGERS = {"gcd", "isqrt", "lcm"}  # what math computes without a float
GENERATORS = {"random", "numpy.random", "secrets"}


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def uses_other_randomness(source: str) -> bool:
    tree = ast.parse(source)
    attributes = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    reached = {"np.random", "numpy.random"} & attributes
    return bool(imported(tree) & GENERATORS or reached)


def uses_floats(source: str) -> bool:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "float" or called.startswith(("np.exp", "np.log", "math.")):
                return True
        if isinstance(node, ast.Attribute) and node.attr.startswith("float"):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            if {alias.name for alias in node.names} - INTEGERS:
                return True
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = imported(node)
            if {"math", "cmath"} & names:
                return True
    return False


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
    ],
)
def test_the_scan_sees_other_randomness(source: str) -> None:
    assert uses_other_randomness(source)


@pytest.mark.parametrize(
    "source",
    [
        "x < 0.5",
        "np.exp(x)",
        "import math",
        "from math import isqrt, sqrt",
        "float(x)",
        "x.astype(np.float32)",
    ],
)
def test_the_scan_sees_floats(source: str) -> None:
    assert uses_floats(source)


def test_no_module_uses_other_randomness() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    assert modules
    found = [path.name for path in modules if uses_other_randomness(path.read_text())]
    assert found == []


@pytest.mark.parametrize("module", SAMPLING)
def test_sampling_uses_no_floats(module: str) -> None:
    assert not uses_floats((PACKAGE / "noise" / f"{module}.py").read_text())


def test_noise_needs_no_other_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        pytest.fail("noise came from another generator")

    for module in (random, np.random):
        for name in vars(module):
            if callable(getattr(module, name)) and name[0].islower():
                monkeypatch.setattr(module, name, fail)
    assert DiscreteLaplace(scale=Fraction(9)).sample(1000).shape == (1000,)
    assert DiscreteGaussian(sigma2=Fraction(9)).sample(1000).shape == (1000,)
    assert MaxNorm(dimension=3, scale=Fraction(9)).sample(3).shape == (3,)
