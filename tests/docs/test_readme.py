from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dpframe

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = FENCE.findall(README)


def output(code: str, names: dict[str, Any]) -> str:
    """Return what a block prints, or the error that it ends in."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own page
        except dpframe.DPFrameError as error:
            return f"{printed.getvalue()}{type(error).__name__}: {error}"
    return printed.getvalue()


def test_every_python_block_prints_what_stands_below_it(
    difference: Callable[[str, str], str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    compared = 0
    for place, (language, code) in enumerate(BLOCKS):
        if language == "python":
            below, shown = BLOCKS[place + 1]
            assert below == "text"
            assert difference(output(code, names), shown) is None
            compared += 1
    assert compared == 9


def test_twelve_lines_lead_from_import_to_result() -> None:
    first = next(code for language, code in BLOCKS if language == "python")
    assert len(first.rstrip().splitlines()) == 12
    assert first.startswith("import")


def test_the_page_has_one_command_to_try_it_and_one_to_test_it() -> None:
    commands = [code.strip() for language, code in BLOCKS if language == "sh"]
    assert commands == [
        'pip install -e ".[demo]" && python -m dpframe demo',
        "python -m dpframe ledger budget.db",
        'pip install -e ".[test]" && pytest -n auto',
    ]


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_every_release_that_the_table_names_is_there() -> None:
    table = README.split("| `.dp.` |")[1].split("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines()[2:]]
    names = {name for cell in first for name in re.findall(r"`(\w+)", cell)}
    assert {"mean_cov", "histogram", "group_by", "preview"} <= names
    people = dpframe.attach(pl.DataFrame({"x": [1.0]}), dpframe.Accountant(epsilon=1))
    assert [name for name in sorted(names) if not hasattr(people.dp, name)] == []
    previews = {name for name in dir(people.dp.preview) if not name.startswith("_")}
    assert previews - names == set()


TABLE = "  age  count   ±\n"
ROW = f"{TABLE}   10   2184  50"


@pytest.mark.parametrize(
    ("got", "want", "same"),
    [
        (f"{TABLE}   10   12184  50", ROW, False),
        (f"{TABLE}   10   2300  50", ROW, True),
        (f"{TABLE}   10   2700  50", ROW, False),
        (f"{TABLE}   10   2184  80", ROW, False),
        (f"{TABLE}   10   2184", ROW, False),
        (f"{TABLE}   20   2184  50", ROW, False),
        ("  10   2300  50", "  10   2184  50", False),
        ("Release(9300 ± 180, ε=0.5)", "Release(9419 ± 180, ε=0.5)", True),
        ("Release(9300 ± 180, ε=0.6)", "Release(9419 ± 180, ε=0.5)", False),
        ("Release(9300 ± 18, ε=0.5)", "Release(9419 ± 180, ε=0.5)", False),
        ("  spent 0.4 · remaining 2.7", "  spent 0.3 · remaining 2.7", False),
        ("  1  histogram  decade  0.2", "  1  histogram  decade  0.3", False),
        ("a\nb", "a", False),
    ],
)
def test_output_is_compared_within_its_own_error(
    got: str,
    want: str,
    same: bool,  # noqa: FBT001 - a column of the table
    difference: Callable[[str, str], str | None],
) -> None:
    assert (difference(got, want) is None) is same
