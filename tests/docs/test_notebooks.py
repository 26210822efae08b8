from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell: NotebookNode) -> list[str]:
    """Return the outputs of a cell; printed text may come in several pieces."""
    others = [o.output_type for o in cell.outputs if o.output_type != "stream"]
    streams = {f"stream {o.name}" for o in cell.outputs if o.output_type == "stream"}
    return sorted([*others, *streams])


def test_the_notebooks_are_those_that_the_readme_lists() -> None:
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| .+\? \| \[(\w+)\]\(notebooks/\1\.ipynb\) \|$", re.MULTILINE)
    listed = row.findall(readme)
    assert [path.stem for path in NOTEBOOKS] == listed
    assert listed[:1] == ["01_first_release"]


@pytest.mark.filterwarnings("default")  # the kernel and its client warn of themselves
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PYTHONWARNINGS", "ignore::UserWarning"
    )  # the folder's, if tmpfs
    kept, again = read(path), read(path)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, kernel_name="python3", timeout=120, resources=where).execute()
    shown = [kinds(cell) for cell in code(kept)]
    assert [kinds(cell) for cell in code(again)] == shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_as_it_ran(path: Path) -> None:
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    kept = [output for output in outputs if output.output_type == "error"]
    kept += [output for output in outputs if output.get("name") == "stderr"]
    assert kept == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_opens_with_its_question(path: Path) -> None:
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "?*" in first.source
