from __future__ import annotations

import re
from pathlib import Path

import dpframe
from dpframe.accessor import PrivateNamespace

SOURCES = sorted(Path(dpframe.__file__).parent.rglob("*.py"))


def test_hints_name_only_what_there_is() -> None:
    named = {
        name
        for path in SOURCES
        for name in re.findall(r"\.dp\.(\w+)\(", path.read_text())
    }
    assert "count" in named
    offered = {"attach", *dir(PrivateNamespace)}
    assert sorted(named - offered) == []


def test_messages_name_only_public_functions_of_the_package() -> None:
    quoted = r"[\"`' ]dpframe\.([a-z]\w*)\("
    named = {name for path in SOURCES for name in re.findall(quoted, path.read_text())}
    assert "attach" in named
    assert sorted(name for name in named if not hasattr(dpframe, name)) == []
