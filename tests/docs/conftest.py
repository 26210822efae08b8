"""How printed output is compared: words to the letter, noisy figures by their error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = re.compile(r"(?<![\w=.])[-−]?\d[\d_,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_AFTER_SIGN = re.compile(r"± *([\d.,e+-]+)")
_ROW_OF_FIGURES = re.compile(r"^\s+[-−\d.e+ ]+$")


def difference(got: str, want: str) -> str | None:
    """Return where output differs from what is printed in the docs, None if nowhere.

    Blanks are compared as one, so that columns may be wider. On a line with ±, or in
    a row of figures whose last one is its ±, a figure may be off by 8 times that (the
    noise is, once in 10^10 releases) and the ± itself by a half. All other lines, and
    figures after a ``=``, are compared to the letter.
    """
    lines, wanted = got.strip("\n").splitlines(), want.strip("\n").splitlines()
    if len(lines) != len(wanted):
        return f"{len(lines)} lines instead of {len(wanted)}:\n{got}"
    for line, form in zip(lines, wanted, strict=True):
        if _blank(line) != _blank(form) and not _near(line, form):
            return f"{line!r} instead of {form!r}"
    return None


def _near(line: str, form: str) -> bool:
    errors = [_number(text) for text in _AFTER_SIGN.findall(form)]
    figures = [_number(text) for text in _NUMBER.findall(form)]
    if not errors and _ROW_OF_FIGURES.match(form):
        errors = figures[-1:]
    if not errors or _words(line) != _words(form):
        return False
    found = [_number(text) for text in _NUMBER.findall(line)]
    return all(
        abs(a - b) <= (b / 2 if b in errors else 8 * max(errors))
        for a, b in zip(found, figures, strict=True)
    )


def _number(text: str) -> float:
    return float(re.sub("[,_]", "", text.rstrip(",")).replace("−", "-"))


def _words(line: str) -> str:
    return _blank(_NUMBER.sub(" # ", line))


def _blank(line: str) -> str:
    return " ".join(line.split())


@pytest.fixture(name="difference")
def _difference() -> Callable[[str, str], str | None]:
    return difference
