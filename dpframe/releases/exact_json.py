"""Exact JSON for what a release is made of: fractions, arrays, dtypes and laws.

Nothing is pickled and nothing is rounded. A class is written by the name it has in
a registry, and only registered names are read back.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.grid import EvenGrid, ListedGrid
from dpframe.noise import DiscreteGaussian, DiscreteLaplace, MaxNorm
from dpframe.privacy.loss import Loss
from dpframe.provenance import Provenance
from dpframe.releases.boxes import Boxes
from dpframe.releases.cut_error import BoxError, CutError, StatedError, TreeError
from dpframe.releases.figures import Figures, GridError, WeightedError
from dpframe.releases.halfspaces.ball import UnitBall
from dpframe.releases.halfspaces.evidence import AllRows, BandError, HalfspaceError
from dpframe.releases.halfspaces.leaves import Leaves
from dpframe.releases.halfspaces.projections import Projections
from dpframe.releases.halfspaces.sketches import Sketches
from dpframe.releases.hosts import StoredHost
from dpframe.releases.intervals import Sampling
from dpframe.releases.line import Line
from dpframe.releases.quantile_error import QuantileError
from dpframe.releases.rank_error import (
    Choice,
    RankError,
    ShareError,
    TreeRankError,
)
from dpframe.releases.second_moments import Layout, NoisySums
from dpframe.values import ColumnType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CLASSES: Final[Mapping[str, type[Any]]] = {
    "all rows": AllRows,
    "band error": BandError,
    "box error": BoxError,
    "boxes": Boxes,
    "choice": Choice,
    "column": ColumnType,
    "cut error": CutError,
    "discrete Gaussian": DiscreteGaussian,
    "discrete Laplace": DiscreteLaplace,
    "even grid": EvenGrid,
    "figures": Figures,
    "grid error": GridError,
    "halfspace error": HalfspaceError,
    "host": StoredHost,
    "layout": Layout,
    "leaves": Leaves,
    "line": Line,
    "listed grid": ListedGrid,
    "loss": Loss,
    "max-norm": MaxNorm,
    "noisy sums": NoisySums,
    "projections": Projections,
    "provenance": Provenance,
    "quantile error": QuantileError,
    "rank error": RankError,
    "sampling": Sampling,
    "share error": ShareError,
    "sketches": Sketches,
    "stated error": StatedError,
    "tree error": TreeError,
    "tree rank error": TreeRankError,
    "unit ball": UnitBall,
    "weighted error": WeightedError,
}
"""Frozen dataclasses that are written field by field, by the name in the file."""

_NAMES: Final = {kind: name for name, kind in _CLASSES.items()}

_DTYPES: Final[Mapping[str, Callable[..., Any]]] = {
    **{
        kind.__name__: kind
        for kind in (
            pl.Boolean,
            pl.Categorical,
            pl.Date,
            pl.Float32,
            pl.Float64,
            pl.Int8,
            pl.Int16,
            pl.Int32,
            pl.Int64,
            pl.Int128,
            pl.Null,
            pl.Object,
            pl.String,
            pl.UInt8,
            pl.UInt16,
            pl.UInt32,
            pl.UInt64,
            pl.UInt128,
        )
    },
    "Datetime": pl.Datetime,
    "Decimal": pl.Decimal,
    "Duration": pl.Duration,
    "Enum": pl.Enum,
}
_LISTED: Final = 100
"""Arrays of more numbers are written as their bytes."""

_WIDEST_INT: Final = 2**53
"""Whole numbers beyond this are text: other readers of JSON hold them as doubles."""


def to_json(value: Any) -> Any:
    """Return a value in types that `json` writes and `from_json` reads back.

    Raises
    ------
    ParameterError
        For a value of a class that is not registered.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, Fraction)):
        return _number_to_json(value)
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, Kind):
        return {"kind": value.name}
    if isinstance(value, pl.DataType):
        return {"dtype": _dtype_to_json(value)}
    if isinstance(value, np.ndarray):
        return _array_to_json(cast("np.ndarray[Any, Any]", value))
    if isinstance(value, (tuple, list)):
        return {"tuple": [to_json(x) for x in cast("tuple[Any, ...]", value)]}
    name = _NAMES.get(cast("type[Any]", type(value)))
    if name is not None:
        return {"is": name} | {
            field.name: to_json(getattr(value, field.name)) for field in fields(value)
        }
    if hasattr(value, "items"):
        return {"mapping": {key: to_json(held) for key, held in value.items()}}
    msg = f"A {type(value).__name__} cannot be written to a file."
    raise ParameterError(msg)


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote.

    Raises
    ------
    ParameterError
        For a form that this version does not know.
    """
    if not isinstance(value, dict):
        return value
    form = cast("dict[str, Any]", value)
    if "is" in form:
        kind = _CLASSES.get(form["is"])
        if kind is None:
            msg = f"The file holds {form['is']!r}, which this version does not know."
            raise ParameterError(msg, hint="a newer dpframe can read it.")
        made: Any = kind(**{k: from_json(v) for k, v in form.items() if k != "is"})
        return made
    for name, read in _READERS.items():
        if name in form:
            return read(form)
    msg = "The file holds a value that this version does not know."
    raise ParameterError(msg, hint="a newer dpframe can read it.")


def _number_to_json(value: float | Fraction) -> Any:
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, int):
        return value if abs(value) <= _WIDEST_INT else {"int": str(value)}
    return value if math.isfinite(value) else {"float": str(value)}


def _array_to_json(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    held = {"array": array.dtype.str, "shape": list(array.shape)}
    if array.size > _LISTED and array.dtype != object:
        return held | {"base64": b64encode(array.tobytes()).decode()}
    return held | {"cells": [to_json(cell) for cell in array.ravel().tolist()]}


def _array(form: dict[str, Any]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(form["array"])
    if "base64" in form:
        held = np.frombuffer(b64decode(form["base64"]), dtype=dtype)
        return held.reshape(form["shape"]).copy()
    cells = [from_json(cell) for cell in form["cells"]]
    array = np.empty(len(cells), dtype=dtype)
    array[:] = cells
    shape: list[int] = form["shape"]
    return array.reshape(shape)


def _dtype_to_json(dtype: pl.DataType) -> dict[str, Any]:
    name = type(dtype).__name__
    if isinstance(dtype, pl.Datetime):
        return {"name": name, "of": [dtype.time_unit, dtype.time_zone]}
    if isinstance(dtype, pl.Duration):
        return {"name": name, "of": [dtype.time_unit]}
    if isinstance(dtype, pl.Decimal):
        return {"name": name, "of": [dtype.precision, dtype.scale]}
    if isinstance(dtype, pl.Enum):
        return {"name": name, "of": [dtype.categories.to_list()]}
    if name not in _DTYPES:
        msg = f"A column of {dtype} cannot be written to a file."
        raise ParameterError(msg)
    return {"name": name, "of": []}


def _dtype(form: dict[str, Any]) -> pl.DataType:
    made = _DTYPES.get(form["dtype"]["name"])
    if made is None:
        msg = f"The file holds a column of {form['dtype']['name']}."
        raise ParameterError(msg, hint="a newer dpframe can read it.")
    return made(*form["dtype"]["of"])


def _plain(form: dict[str, Any], *, name: str, read: Callable[[str], Any]) -> Any:
    return read(form[name])


_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "int": partial(_plain, name="int", read=int),
    "float": partial(_plain, name="float", read=float),
    "decimal": partial(_plain, name="decimal", read=Decimal),
    "fraction": partial(_plain, name="fraction", read=Fraction),
    "kind": partial(_plain, name="kind", read=Kind.__getitem__),
    "array": _array,
    "dtype": _dtype,
    "tuple": lambda form: tuple(from_json(cell) for cell in form["tuple"]),
    "mapping": lambda form: {k: from_json(v) for k, v in form["mapping"].items()},
}
