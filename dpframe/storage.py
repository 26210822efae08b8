"""Releases as files: Parquet for tables, JSON for single figures.

A file describes itself: beside the table, any reader's to open, it holds all that
the release knows, in exact JSON. It is written whole or not at all.
"""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import polars as pl
import pyarrow as pa

from dpframe.errors import ParameterError
from dpframe.exact_json import from_json, to_json
from dpframe.hosts import StoredHost
from dpframe.mean_cov import MeanCov
from dpframe.measure import Measured
from dpframe.release import ScalarRelease, TableRelease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from dpframe.answer import Release

_KINDS: Final[Mapping[str, type[Release[Any]]]] = {
    "MeanCov": MeanCov,
    "ScalarRelease": ScalarRelease,
    "TableRelease": TableRelease,
}
_FORMATS: Final = frozenset({".csv", ".json", ".parquet", ".tsv", ".xlsx"})
"""Endings that promise a reader a format; another is the caller's own."""
_KEY: Final = "dpframe"
_FORMAT: Final = 1
_PARQUET: Final = b"PAR1"
_BROKEN: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
)
"""What reading a file that is no saved release may raise."""


def save(
    release: Release[Any], path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a release to a file; see `Release.save`."""
    if release.provenance.is_test:
        msg = "This release was made with noise that is not private; it is not saved."
        raise ParameterError(msg, hint="release again outside of dpframe.testing.")
    parts = release.saved_parts()
    keys: pl.DataFrame | None = parts.pop("keys", None)
    alone = isinstance(release, ScalarRelease)
    target = Path(path)
    suffix = ".json" if alone else ".parquet"
    if not target.suffix:
        target = target.with_name(target.name + suffix)
    elif target.suffix.lower() in _FORMATS - {suffix}:
        msg = f"This release is saved as {suffix[1:]}, not as {target.suffix[1:]}."
        hint = (
            f"save it as {target.with_suffix(suffix).name}; to_pandas() and "
            "to_polars() write other formats."
        )
        raise ParameterError(msg, hint=hint)
    if target.exists() and not overwrite:
        msg = f"{target} exists; pass overwrite=True to replace it."
        raise FileExistsError(msg)
    said = {
        "format": _FORMAT,
        "kind": type(release).__name__,
        "cost": to_json(release.cost),
        "provenance": to_json(release.provenance),
        "host": to_json(StoredHost.of(release.handed_out())),
        "parts": {name: to_json(part) for name, part in parts.items()},
    }
    if keys is not None:
        said["keys"] = [to_json(dtype) for dtype in keys.dtypes]
    if alone:
        document = {**_plainly(release), _KEY: said}
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        _replace(target, text.encode())
    else:
        _replace(target, _as_parquet(release.handed_out(), said))
    return target


def load(path: str | PathLike[str]) -> Release[Any]:
    """Read a release that was saved.

    Parameters
    ----------
    path : path-like
        A file that `Release.save` wrote.

    Returns
    -------
    Release
        Of the same kind, with the same figures, errors, cost and provenance.

    Raises
    ------
    ParameterError
        If the file is not a saved release, or was saved by a newer version.

    Privacy
    -------
    Nothing is charged: the release was paid for when it was made.
    """
    content = Path(path).read_bytes()
    try:
        said, table = _read(content)
        return _rebuilt(said, table)
    except ParameterError as error:
        msg = f"{path} cannot be read: {error}"
        raise ParameterError(msg) from None
    except _BROKEN:
        msg = f"{path} is not a release that was saved."
        raise ParameterError(msg, hint="write one with release.save(path).") from None


def _rebuilt(said: Mapping[str, Any], table: pl.DataFrame | None) -> Release[Any]:
    kind: Any = _KINDS.get(said["kind"])
    if said["format"] != _FORMAT or kind is None:
        msg = "it was saved by another version of dpframe."
        raise ParameterError(msg, hint="a newer version can read it.")
    parts = {name: from_json(part) for name, part in said["parts"].items()}
    if table is not None and "keys" in said:
        dtypes = [from_json(dtype) for dtype in said["keys"]]
        names = table.columns[: len(dtypes)]
        parts["keys"] = table.select(names).cast(dict(zip(names, dtypes, strict=True)))
    measured = Measured(
        figures=(),
        cost=from_json(said["cost"]),
        provenance=from_json(said["provenance"]),
    )
    release: Release[Any] = kind(
        **parts, measured=measured, host=from_json(said["host"])
    )
    return release


def _read(content: bytes) -> tuple[Any, pl.DataFrame | None]:
    """Return what a file says of itself, and its table where it has one."""
    if content[:4] == _PARQUET:
        said = pl.read_parquet_metadata(io.BytesIO(content))
        return json.loads(said[_KEY]), pl.read_parquet(content)
    return json.loads(content)[_KEY], None


def _plainly(release: Release[Any]) -> dict[str, Any]:
    """Return a figure in words and numbers for whoever opens the file."""
    value: Any = release.value
    return {
        "title": release.title,
        "value": value if isinstance(value, (int, float)) else str(value),
        "printed": str(release),
        "guarantee": release.guarantee,
    }


def _as_parquet(native: Any, said: Mapping[str, Any]) -> bytes:
    """Return the native table as Parquet: its own library finds its dtypes again."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, seldom needed

    text = json.dumps(said, ensure_ascii=False, allow_nan=False)
    if isinstance(native, pl.DataFrame):
        sink = io.BytesIO()
        native.write_parquet(sink, metadata={_KEY: text})
        return sink.getvalue()
    table = pa.Table.from_pandas(native, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: text})
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue().to_pybytes()


def _replace(target: Path, content: bytes) -> None:
    """Write a file next to its place, then put it there in one step."""
    spare = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with spare.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        spare.replace(target)
    except BaseException:
        spare.unlink(missing_ok=True)
        raise
