"""Every prompt in a docstring runs, with the names of `namespace`."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

MODULES = [
    module.name
    for module in pkgutil.walk_packages(dpframe.__path__, "dpframe.")
    if not module.name.endswith("__main__")
]


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in ["dpframe", *MODULES]
        for test in finder.find(import_module(name), name)
    ]
    return [test for test in found if test.examples]


class Checker(doctest.OutputChecker):
    """Compares output to the letter, and what is noisy by its own error."""

    def __init__(self, difference: Callable[[str, str], str | None]) -> None:
        self._difference = difference

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags | LOOSE):
            return True
        return self._difference(got, want) is None


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_every_prompt_of_a_docstring_gives_what_is_printed_below_it(
    test: doctest.DocTest,
    namespace: dict[str, Any],
    difference: Callable[[str, str], str | None],
) -> None:
    test.globs = {**test.globs, **namespace}
    said: list[str] = []
    runner = doctest.DocTestRunner(checker=Checker(difference), verbose=False)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize(
    ("want", "got", "agrees"),
    [
        ("Release(9419 ± 180, ε=0.5)", "Release(9388 ± 180, ε=0.5)", True),
        ("Release(9419 ± 180, ε=0.5)", "Release(9388 ± 180, ε=0.6)", False),
        ("Release(9419 ± 180, ε=0.5)", "Release(3 ± 180, ε=0.5)", False),
        ("Fraction(1, 10)", "Fraction(2, 10)", False),
        ("0.3", "0.4", False),
    ],
)
def test_only_noise_is_compared_loosely(
    want: str,
    got: str,
    agrees: bool,  # noqa: FBT001 - a parameter of the table above
    difference: Callable[[str, str], str | None],
) -> None:
    checker = Checker(difference)
    assert checker.check_output(f"{want}\n", f"{got}\n", 0) is agrees
