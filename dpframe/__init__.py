"""Differentially private releases from pandas and Polars frames.

Importing registers ``.dp`` on the frames of both libraries.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dpframe.attach import AccessorConflictWarning, attach, register
from dpframe.concat import concat
from dpframe.errors import (
    BoundsRequiredError,
    BudgetExceededError,
    ColumnNotFoundError,
    DomainRequiredError,
    DPFrameError,
    EvaluationError,
    FewRowsWarning,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    MissingExtraError,
    NotAttachedError,
    NotDurableWarning,
    NotProvedError,
    ParameterError,
    ParameterTypeError,
    PrivacyError,
    RandomnessError,
)
from dpframe.frame import PrivateFrame
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.loss import Loss
from dpframe.public import Public, public
from dpframe.table import Table

if TYPE_CHECKING:
    from dpframe import plan
    from dpframe.dialects.pandas.private import PrivatePandas
    from dpframe.dialects.polars.private import PrivatePolars
    from dpframe.functions import cut, to_datetime, to_numeric, where
    from dpframe.preview import KeysPreview, Preview
    from dpframe.releases.answer import Release
    from dpframe.releases.halfspaces.oracle import HalfspaceOracle
    from dpframe.releases.keys import KeysRelease
    from dpframe.releases.load import load
    from dpframe.releases.mean_cov import MeanCov
    from dpframe.releases.scalar import ScalarRelease
    from dpframe.releases.synthetic_intervals import SyntheticIntervals
    from dpframe.releases.tabular import TableRelease

__all__ = [
    "AccessorConflictWarning",
    "Accountant",
    "BoundsRequiredError",
    "BudgetExceededError",
    "ColumnNotFoundError",
    "DPFrameError",
    "DomainRequiredError",
    "EvaluationError",
    "FewRowsWarning",
    "HalfspaceOracle",
    "KeysPreview",
    "KeysRelease",
    "LedgerBusyError",
    "LedgerCorruptError",
    "LedgerError",
    "Loss",
    "MeanCov",
    "MissingExtraError",
    "NotAttachedError",
    "NotDurableWarning",
    "NotProvedError",
    "ParameterError",
    "ParameterTypeError",
    "Preview",
    "PrivacyError",
    "PrivateFrame",
    "PrivatePandas",
    "PrivatePolars",
    "Public",
    "RandomnessError",
    "Release",
    "ScalarRelease",
    "SyntheticIntervals",
    "Table",
    "TableRelease",
    "attach",
    "concat",
    "cut",
    "load",
    "plan",
    "public",
    "register",
    "to_datetime",
    "to_numeric",
    "where",
]

register()


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


_ROOMS = {
    "HalfspaceOracle": "releases.halfspaces.oracle",
    "KeysPreview": "preview",
    "KeysRelease": "releases.keys",
    "MeanCov": "releases.mean_cov",
    "Preview": "preview",
    "PrivatePandas": "dialects.pandas.private",
    "PrivatePolars": "dialects.polars.private",
    "Release": "releases.answer",
    "ScalarRelease": "releases.scalar",
    "SyntheticIntervals": "releases.synthetic_intervals",
    "TableRelease": "releases.tabular",
    "cut": "functions",
    "load": "releases.load",
    "to_datetime": "functions",
    "to_numeric": "functions",
    "where": "functions",
}
"""Where the names are that most imports do not need; no module is called as one."""

_MODULES = ("plan",)
"""Modules that are names themselves, loaded in the same way."""


def __getattr__(name: str) -> object:
    """Load what is not needed before a frame is attached when it is first asked for."""
    if name in _MODULES:
        return importlib.import_module(f"dpframe.{name}")
    if name not in _ROOMS:
        msg = f"module 'dpframe' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"dpframe.{_ROOMS[name]}"), name)
