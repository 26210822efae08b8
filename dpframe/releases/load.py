"""Saved releases, read back as what they were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpframe.errors import ParameterError
from dpframe.query import Measured
from dpframe.releases.exact_json import from_json
from dpframe.releases.halfspaces.answer import HalfspaceAnswer
from dpframe.releases.halfspaces.oracle import HalfspaceOracle
from dpframe.releases.keys import KeysRelease
from dpframe.releases.mean_cov import MeanCov
from dpframe.releases.quantiles import QuantilesRelease
from dpframe.releases.scalar import ScalarRelease
from dpframe.releases.storage import BROKEN, FORMAT, read
from dpframe.releases.synthetic_intervals import SyntheticIntervals
from dpframe.releases.tabular import TableRelease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl

    from dpframe.releases.answer import Release

_KINDS: Final[Mapping[str, type[Release[Any]]]] = {
    "HalfspaceAnswer": HalfspaceAnswer,
    "HalfspaceOracle": HalfspaceOracle,
    "KeysRelease": KeysRelease,
    "MeanCov": MeanCov,
    "QuantilesRelease": QuantilesRelease,
    "ScalarRelease": ScalarRelease,
    "SyntheticIntervals": SyntheticIntervals,
    "TableRelease": TableRelease,
}


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
        said, table = read(content)
        return _rebuilt(said, table)
    except ParameterError as error:
        msg = f"{path} cannot be read: {error}"
        raise ParameterError(msg) from None
    except BROKEN:
        msg = f"{path} is not a release that was saved."
        raise ParameterError(msg, hint="write one with release.save(path).") from None


def _rebuilt(said: Mapping[str, Any], table: pl.DataFrame | None) -> Release[Any]:
    kind: Any = _KINDS.get(said["kind"])
    if said["format"] != FORMAT or kind is None:
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
