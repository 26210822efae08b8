from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Host


@pytest.mark.parametrize("part", ["mean", "cov", "corr"])
def test_a_part_of_a_matrix_shows_in_notebooks_what_it_prints(
    host: Host, part: str
) -> None:
    frame = host.attached({"<x>": [1.0, 2.0], "y": [0.0, 3.0]}, epsilon=10)
    frame = frame.dp.bounds({"<x>": (0, 3), "y": (0, 3)})
    moments = frame.dp.mean_cov(["<x>", "y"], epsilon=1)
    found: Any = moments.corr() if part == "corr" else getattr(moments, part)
    page = found._repr_html_()
    assert page.startswith(f"<div>{part}</div><table>")
    assert "&lt;x&gt;" in page
    assert "<x>" not in page
    entries = [("<x>",), ("y",)] if part == "mean" else [("<x>", "y"), ("y", "y")]
    for names in entries:
        shown = found.shown(*(found.names.index(name) for name in names))
        assert f">{shown}</td>" in page
        assert shown in repr(found)
