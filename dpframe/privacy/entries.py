"""The record of a budget: rows that are added and never changed.

Each row holds the digest of the row before it, so that a row that is edited, left out
or put elsewhere is noticed. Nothing in a row comes from the data.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Final

from dpframe.privacy.scope import ROOT, Scope

OPENED: Final = "opened"
CHARGED: Final = "charged"
RELEASED: Final = "released"
CLOSED: Final = "closed"


@dataclass(frozen=True, kw_only=True)
class Event:
    """What a charge pays for, in public words only.

    Attributes
    ----------
    mechanism : str
        The release, as in ``"histogram"``.
    columns : tuple of str
        Columns it reads.
    parameters : str
        Its public parameters, as text.
    steps : tuple of str
        The proved steps that led to the frame; recorded with the parameters.
    scope : Scope
        Where in the budget it is charged.
    """

    mechanism: str
    columns: tuple[str, ...]
    parameters: str
    steps: tuple[str, ...] = ()
    scope: Scope = ROOT


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of the record, as text.

    Attributes
    ----------
    sequence : int
        Its place; the row that opens the budget is 0.
    time : str
        When, by the clock of the process; the order is that of `sequence`.
    state : str
        `OPENED` and `CLOSED` for a budget or child, `CHARGED` and `RELEASED` for a
        release.
    account : str
        The budget or child: ``"visits"``, ``"visits/daily"``.
    request : str
        Names a charge; its release repeats it. Of the first row it names the ledger.
    mechanism, columns, parameters : str
        What is paid for.
    cost : str
        The exact loss; of an opening, the exact total.
    scope, path : str
        Where it is charged, by name and as `Scope.path`.
    charged : str
        By how much it raised what the account has spent, in each measure.
    previous : str
        Digest of the row before.
    """

    sequence: int
    time: str
    state: str
    account: str
    request: str
    mechanism: str = ""
    columns: str = ""
    parameters: str = ""
    cost: str = ""
    scope: str = ""
    path: str = ""
    charged: str = ""
    previous: str

    def is_below(self, path: str) -> bool:
        """Return whether it is a row of an account, or of one below that."""
        return f"{self.account}/".startswith(f"{path}/")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the row, that of the row before included."""
        text = json.dumps(_VALUES(self), separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


COLUMNS: Final = tuple(field.name for field in fields(Entry))
"""The columns of the record, in the order of `Entry`."""

_VALUES: Final = attrgetter(*COLUMNS)


def plain(text: str) -> str:
    """Return text that every database keeps: half characters and NUL are escaped."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return whole.replace("\0", "\\x00")


def now() -> str:
    """Return the time of a row, in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
