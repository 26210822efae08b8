from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.asked import DATA, DECLARED, LOSSES, SYNTHETIC
from polars.testing import assert_frame_equal

import dpframe
from dpframe.errors import ParameterError
from dpframe.noise import DiscreteLaplace, MaxNorm
from dpframe.releases.exact_json import from_json, to_json
from dpframe.releases.figures import GridError, WeightedError
from dpframe.releases.hosts import StoredHost
from dpframe.releases.intervals import Sampling
from dpframe.releases.load import load
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.tabular import TableRelease
from dpframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import SimpleNamespace

KINDS = {
    "integer": (pl.Int64(), [5, -7]),
    "float": (pl.Float64(), [0.1, 1e300]),
    "decimal": (pl.Decimal(12, 2), [1234, -5]),
    "date": (pl.Date(), [8000, 8001]),
    "instant": (pl.Datetime("ns", "Europe/Paris"), [8 * 10**17, 8 * 10**17 + 1]),
    "duration": (pl.Duration("ms"), [7_200_000, 0]),
}


def alike(one: Any, two: Any) -> None:
    if isinstance(one, Table):
        assert_frame_equal(one.to_polars(), two.to_polars())
    else:
        assert np.all(one == two)


def same(one: Any, two: Any) -> None:
    assert type(one) is type(two)
    assert repr(one) == repr(two)
    assert one._repr_html_() == two._repr_html_()
    assert one.cost == two.cost
    assert one.provenance == two.provenance
    assert one.interval(0.9).__repr__() == two.interval(0.9).__repr__()
    alike(one.accuracy(0.8, joint=True), two.accuracy(0.8, joint=True))
    alike(one.stddev, two.stddev)
    assert str(one.noise) == str(two.noise)
    assert_frame_equal(one.to_polars(0.95), two.to_polars(0.95))


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_comes_back_as_it_was_saved(
    made: SimpleNamespace, tmp_path: Path, kind: str
) -> None:
    dtype, values = KINDS[kind]
    column = made.column("x", dtype)
    release = made.scalar(values[0], column=column, scale="7/3", low=Fraction(-(2**90)))
    path = release.save(tmp_path / "figure")
    assert path == tmp_path / "figure.json"
    again = load(path)
    same(release, again)
    assert again.value == release.value
    assert again.raw == release.raw
    assert type(again.raw) is type(release.raw)


@pytest.mark.parametrize("host", ["pandas_host", "polars_host"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_as_it_was_saved(
    made: SimpleNamespace, tmp_path: Path, kind: str, host: str
) -> None:
    dtype, values = KINDS[kind]
    figures = made.figures(values, column=made.column("x", dtype), scale="7/3")
    release = made.table({"g": ["a", "b"]}, figures, host=getattr(made, host))
    path = release.save(str(tmp_path / "table"))
    assert path.name == "table.parquet"
    again = load(path)
    same(release, again)
    assert type(again.value) is type(release.value)


def test_a_weighted_error_an_other_cell_and_odd_numbers_survive(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    error = WeightedError(
        noise=DiscreteLaplace(scale=Fraction(1, 3)),
        weights=np.array([[0.1, 0.2], [0.3, 1e-17]]),
        square=np.array([[0.1], [0.2]]),
    )
    fractions = np.array([Fraction(1, 3), Fraction(2**80)], dtype=object)
    mean = made.figures(
        [0.5, 0.25],
        column=made.column("age", pl.Float64()),
        centre=fractions,
        error=error,
        raw={"n": np.array([3, 2**70], dtype=object), "sum": np.array([np.inf, 1.0])},
        low=Fraction(0),
        high=Fraction(1),
        low_count=np.array([False, True]),
        rooted=True,
    )
    release = TableRelease(
        keys=pl.DataFrame({"g": [1, 2]}),
        like={},
        figures=(mean,),
        shape=(2,),
        other=False,
        measured=made.measured(),
        host=made.polars_host,
        title="std of age by g",
        sampling={"age": Sampling(stderr=np.array([0.1, 0.2]))},
    )
    again = load(release.save(tmp_path / "std"))
    same(release, again)
    assert_frame_equal(release.raw, again.raw)
    expected = release.interval(population=True).to_polars()
    assert_frame_equal(again.interval(population=True).to_polars(), expected)
    keys = {"g": [True, None]}
    counts = made.table(keys, made.figures([4, 9]), other=True)
    same(counts.other, load(counts.save(tmp_path / "count")).other)


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series("k", ["a", "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series("k", ["a", "b"], dtype=pl.Categorical),
        pl.Series("k", [1, None], dtype=pl.UInt8),
        pl.Series("k", [True, None]),
        pl.Series("k", [dt.date(2020, 1, 1), None]),
        pl.Series("k", [0, 1], dtype=pl.Int64).cast(pl.Datetime("ms", "UTC")),
        pl.Series("k", [dt.timedelta(1)] * 2, dtype=pl.Duration("ns")),
        pl.Series("k", ["1.20", "3.40"]).cast(pl.Decimal(20, 2)),
        pl.Series("k", [2**100, 1], dtype=pl.Int128),
        pl.Series("k", [0.1, 1e300], dtype=pl.Float32, strict=False),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_key_columns_keep_their_dtype(
    made: SimpleNamespace, tmp_path: Path, keys: Any
) -> None:
    release = made.table({"k": keys}, made.figures([4, 9]))
    path = release.save(tmp_path / "keys")
    again = load(path)
    assert_frame_equal(again.value, release.value, categorical_as_str=False)
    assert again.value.schema == release.value.schema
    assert pl.read_parquet(path).equals(release.value)


LIKE = {
    "category": pd.CategoricalDtype(["b", "a", "c"], ordered=True),
    "text": pd.StringDtype(na_value=np.nan),
    "object": np.dtype(object),
    "arrow": pd.ArrowDtype(pa.large_string()),
}


@pytest.mark.parametrize("kind", LIKE)
def test_pandas_tables_keep_the_dtypes_of_their_keys(
    made: SimpleNamespace, tmp_path: Path, kind: str
) -> None:
    def host(table: pl.DataFrame, like: Mapping[str, str]) -> pd.DataFrame:
        frame = table.to_pandas()
        return frame.astype(dict.fromkeys(like, LIKE[kind]))

    release = made.table({"k": ["b", "a"]}, made.figures([4, 9]), host=host)
    path = release.save(tmp_path / "keys")
    again = load(path)
    pd.testing.assert_frame_equal(again.value, release.value)
    pd.testing.assert_frame_equal(again.raw, release.raw)
    read = pd.read_parquet(path)
    assert read["count"].tolist() == [4, 9]
    assert read["k"].tolist() == ["b", "a"]
    if kind == "category":
        assert read["k"].dtype == LIKE[kind]


def test_nullable_keys_of_pandas_come_back_nullable(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    def host(table: pl.DataFrame, like: Mapping[str, str]) -> pd.DataFrame:
        return table.to_pandas().astype(dict.fromkeys(like, "Int64"))

    keys = {"k": [1, None]}
    release = made.table(keys, made.figures([4, 9]), host=host, other=True)
    again = load(release.save(tmp_path / "keys"))
    pd.testing.assert_frame_equal(again.value, release.value)


def test_a_saved_figure_is_plain_to_read(made: SimpleNamespace, tmp_path: Path) -> None:
    path = made.scalar(9419).save(tmp_path / "count")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["value"] == 9419
    assert document["printed"] == "Release(9419 ± 180, ε=0.5)"
    assert "differential privacy" in document["guarantee"]


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in SYNTHETIC])
def test_a_release_with_gaussian_noise_comes_back_as_it_was_saved(
    tmp_path: Path, name: str
) -> None:
    frame = pl.DataFrame(DATA).dp.attach(dpframe.Accountant(rho=1), **DECLARED)
    release = LOSSES[name](frame.dp, rho=0.3)
    again = load(release.save(tmp_path / "release"))
    same(release, again)
    assert "zero-concentrated" in again.guarantee


@pytest.mark.parametrize("kind", ["scalar", "table"])
def test_sums_of_decimals_come_back_as_they_were_saved(
    tmp_path: Path, kind: str
) -> None:
    prices = pl.Series("x", ["1.50", "2.25"] * 20).cast(pl.Decimal(12, 2))
    frame = pl.DataFrame({"x": prices, "g": ["a", "b"] * 20}).dp.attach(
        dpframe.Accountant(epsilon=1)
    )
    asked = frame.dp if kind == "scalar" else frame.dp.group_by("g", keys=["a", "b"])
    release = asked.sum("x", bounds=(Decimal(0), Decimal(9)), epsilon=1)
    same(release, load(release.save(tmp_path / kind)))


def test_an_existing_file_is_only_replaced_when_asked(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    path = made.scalar(1).save(tmp_path / "count.json")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        made.scalar(2).save(path)
    assert load(path).value == 1
    assert made.scalar(2).save(path, overwrite=True) == path
    assert load(path).value == 2
    assert [file.name for file in tmp_path.iterdir()] == ["count.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    made: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made.scalar(1).save(tmp_path / "count")

    def fail(_: int) -> None:
        raise OSError

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError):  # noqa: PT011 - it has no words
        made.scalar(2).save(path, overwrite=True)
    assert load(path).value == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_suffix_of_the_callers_own_is_kept(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    path = made.table({"g": [1]}, made.figures([4])).save(tmp_path / "count.v1")
    assert path.name == "count.v1"
    assert load(path).value.to_dict(as_series=False) == {"g": [1], "count": [4]}


@pytest.mark.parametrize(
    ("name", "hint"), [("count.csv", "count.parquet"), ("count.JSON", "count.parquet")]
)
def test_a_table_is_not_saved_under_the_ending_of_another_format(
    made: SimpleNamespace, tmp_path: Path, name: str, hint: str
) -> None:
    table = made.table({"g": [1]}, made.figures([4]))
    with pytest.raises(ParameterError, match="saved as parquet, not as") as caught:
        table.save(tmp_path / name)
    assert hint in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_figure_is_not_saved_as_a_table(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match="saved as json, not as parquet"):
        made.scalar(1).save(tmp_path / "count.parquet")
    assert not list(tmp_path.iterdir())


def test_a_test_release_is_not_saved(made: SimpleNamespace, tmp_path: Path) -> None:
    release = ScalarRelease(
        figures=made.figures([1]),
        measured=made.measured(is_test=True),
        host=made.polars_host,
        title="count",
    )
    with pytest.raises(ParameterError, match="not private"):
        release.save(tmp_path / "count")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"{}", b"[1]", b"\xff\xfe", b'{"dpframe": {"format": 1}}', b"null"],
)
def test_a_file_that_is_no_release_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ParameterError):
        load(path)


def test_a_parquet_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(ParameterError, match="not a release"):
        load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"format": 1', '"format": 2'),
        ('"ScalarRelease"', '"FutureRelease"'),
        ('"grid error"', '"os.system"'),
        ('"discrete Laplace"', '"future law"'),
        ('"polars"', '"future library"'),
    ],
)
def test_a_file_of_a_newer_version_is_refused(
    made: SimpleNamespace, tmp_path: Path, old: str, new: str
) -> None:
    path = made.scalar(1).save(tmp_path / "count")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ParameterError):
        load(path)


def test_a_missing_file_is_pythons_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**53 + 1,
        0.1,
        float("inf"),
        Fraction(-1, 3),
        (1, ("a", None)),
        {"is": 1, "tuple": 2},
        pl.Datetime("ns", "UTC"),
        pl.Enum(["a", "b"]),
        GridError(noise=MaxNorm(dimension=3, scale=Fraction(9)), unit=Fraction(1, 8)),
    ],
)
def test_what_a_release_is_made_of_is_written_exactly(value: Any) -> None:
    assert from_json(json.loads(json.dumps(to_json(value), allow_nan=False))) == value


def test_a_value_without_an_exact_form_is_refused() -> None:
    for value in (object(), b"bytes", pl.List(pl.Int64)):
        with pytest.raises(ParameterError):
            to_json(value)


def test_a_file_holds_what_is_public_and_no_more(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    secret = "canary-7f3a"  # noqa: S105 - text to look for, no password

    class Frame:
        rows = secret

        def to_host(self, table: pl.DataFrame, like: Mapping[str, str]) -> Any:
            assert self.rows
            del like
            return table.to_pandas()

    host = Frame().to_host
    table = made.table({"g": ["a", "b"]}, made.figures([4, 9]), host=host)
    scalar = made.scalar(4, host=host)
    for release in (table, scalar):
        content = release.save(tmp_path / "file", overwrite=True).read_bytes()
        said = f"{release!r}{release._repr_html_()}".encode() + content
        assert secret.encode() not in said
        assert b"count" in said
    metadata = pq.read_metadata(tmp_path / "file.parquet").metadata
    assert set(metadata) == {b"dpframe", b"pandas", b"ARROW:schema"}


def test_a_stored_host_of_another_library_is_refused() -> None:
    with pytest.raises(ParameterError):
        StoredHost(library="spark")(pl.DataFrame({"a": [1]}), {})


@pytest.mark.parametrize("library", [pl, pd])
def test_moments_come_back_with_their_figures(tmp_path: Path, library: Any) -> None:
    rows = {"a": [0.0, 1.0] * 500, "b": [1, 2] * 500}
    frame = library.DataFrame(rows).dp.attach(dpframe.Accountant(epsilon=9))
    release = frame.dp.mean_cov(
        ["a", "b"], bounds={"a": (0, 1), "b": (0, 3)}, epsilon=9
    )
    path = release.save(tmp_path / "moments")
    assert pl.read_parquet(path).columns == release.to_polars().columns
    again = load(path)
    assert type(again) is type(release)
    assert type(again.to_native()) is type(release.to_native())
    assert again.value.n == release.value.n
    assert np.array_equal(again.value.cov, release.value.cov)
    assert (again.cost, again.provenance) == (release.cost, release.provenance)
