"""The record of a budget as a table, for whoever reads it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

import polars as pl

from dpframe.privacy.entries import CHARGED, RELEASED
from dpframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpframe.privacy.entries import Entry

_SCHEMA: Final = {
    "sequence": pl.Int64(),
    "time": pl.Datetime("us", "UTC"),
    "dataset": pl.String(),
    "mechanism": pl.String(),
    "columns": pl.String(),
    "parameters": pl.String(),
    "cost": pl.String(),
    "scope": pl.String(),
    "charged": pl.String(),
    "state": pl.String(),
}


def events_table(entries: Iterable[Entry], path: str) -> Table:
    """Return the charges of an account and of those below it, and their releases."""
    rows = [
        (
            entry.sequence,
            dt.datetime.fromisoformat(entry.time),
            entry.account,
            entry.mechanism,
            entry.columns,
            entry.parameters,
            entry.cost,
            entry.scope,
            entry.charged,
            entry.state,
        )
        for entry in entries
        if entry.state in {CHARGED, RELEASED} and entry.is_below(path)
    ]
    return Table(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))
