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
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol
from uuid import uuid4

import polars as pl
import pyarrow as pa

from dpframe.errors import ParameterError
from dpframe.releases.exact_json import to_json
from dpframe.releases.hosts import StoredHost

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from dpframe.privacy.loss import Loss
    from dpframe.provenance import Provenance

_FORMATS: Final = frozenset({".csv", ".json", ".parquet", ".tsv", ".xlsx"})
"""Endings that promise a reader a format; another is the caller's own."""
_KEY: Final = "dpframe"
FORMAT: Final = 1
_PARQUET: Final = b"PAR1"


BROKEN: Final[tuple[type[Exception], ...]] = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
)
"""What reading a file that is no saved release may raise."""


class Storable(Protocol):
    """What a release tells of itself to be written down."""

    @property
    def title(self) -> str:
        """What was released, in words."""
        ...

    @property
    def value(self) -> Any:
        """The answer."""
        ...

    @property
    def cost(self) -> Loss:
        """The privacy loss."""
        ...

    @property
    def provenance(self) -> Provenance:
        """How it came about."""
        ...

    @property
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""
        ...

    suffix: ClassVar[str]
    """``".json"`` for a single figure, ``".parquet"`` for what has rows."""

    def saved_parts(self) -> dict[str, Any]:
        """Return what it is rebuilt from."""
        ...

    def handed_out(self) -> Any:
        """Return its native table."""
        ...


def save(
    release: Storable, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a release to a file; see `Release.save`."""
    if release.provenance.is_test:
        msg = "This release was made with noise that is not private; it is not saved."
        raise ParameterError(msg, hint="release again outside of dpframe.testing.")
    parts = release.saved_parts()
    keys: pl.DataFrame | None = parts.pop("keys", None)
    target, suffix = Path(path), release.suffix
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
        "format": FORMAT,
        "kind": type(release).__name__,
        "cost": to_json(release.cost),
        "provenance": to_json(release.provenance),
        "host": to_json(StoredHost.of(release.handed_out())),
        "parts": {name: to_json(part) for name, part in parts.items()},
    }
    if keys is not None:
        said["keys"] = [to_json(dtype) for dtype in keys.dtypes]
    if suffix == ".json":
        document = {**_plainly(release), _KEY: said}
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        _replace(target, text.encode())
    else:
        _replace(target, _as_parquet(release.handed_out(), said))
    return target


def read(content: bytes) -> tuple[Any, pl.DataFrame | None]:
    """Return what a file says of itself, and its table where it has one."""
    if content[:4] == _PARQUET:
        said = pl.read_parquet_metadata(io.BytesIO(content))
        return json.loads(said[_KEY]), pl.read_parquet(content)
    return json.loads(content)[_KEY], None


def _plainly(release: Storable) -> dict[str, Any]:
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
