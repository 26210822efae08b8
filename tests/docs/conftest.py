"""How printed output is compared: words to the letter, noisy figures by their error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = re.compile(r"(?<![\w=.])[-−]?\d[\d_,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_AFTER_SIGN = re.compile(r"± *([\d.,e+-]+)")


def difference(got: str, want: str) -> str | None:
    """Return where output differs from what is printed in the docs, None if nowhere.

    Blanks are compared as one, so that columns may be wider. A figure before a ± may
    be off by 8 times its error (the noise is, once in 10^10 releases), and the error
    itself by a half; in a table the header says which columns these are. All else,
    such as keys and what stands after a ``=``, is compared to the letter.
    """
    lines, wanted = got.strip("\n").splitlines(), want.strip("\n").splitlines()
    if len(lines) != len(wanted):
        return f"{len(lines)} lines instead of {len(wanted)}:\n{got}"
    header: list[str] = []
    for line, form in zip(lines, wanted, strict=True):
        if not form.startswith(" "):
            header = []
        same = line.split() == form.split()
        if not (same or _near(line, form) or _near_row(line, form, header)):
            return f"{line!r} instead of {form!r}"
        if form.endswith("±"):
            header = form.split()
    return None


def _near(line: str, form: str) -> bool:
    errors = [_number(text) for text in _AFTER_SIGN.findall(form)]
    if not errors or _words(line) != _words(form):
        return False
    found, figures = ([_number(x) for x in _NUMBER.findall(y)] for y in (line, form))
    return all(
        abs(a - b) <= (b / 2 if b in errors else 8 * max(errors))
        for a, b in zip(found, figures, strict=True)
    )


def _near_row(line: str, form: str, header: list[str]) -> bool:
    found, wanted = line.split(), form.split()
    if not header or not len(found) == len(wanted) == len(header):
        return False
    for place, name in enumerate(header):
        noisy = name == "±" or header[place + 1 : place + 2] == ["±"]
        if not noisy:
            if found[place] != wanted[place]:
                return False
            continue
        error = _number(wanted[place if name == "±" else place + 1])
        most = error / 2 if name == "±" else 8 * error
        if abs(_number(found[place]) - _number(wanted[place])) > most:
            return False
    return True


def _number(text: str) -> float:
    return float(re.sub("[,_]", "", text.rstrip(",")).replace("−", "-"))


def _words(line: str) -> str:
    return " ".join(_NUMBER.sub(" # ", line).split())


@pytest.fixture(name="difference")
def _difference() -> Callable[[str, str], str | None]:
    return difference
