"""Budgets that outlive a process: in an SQLite file, or in a PostgreSQL database."""

from __future__ import annotations

from dpframe.privacy.ledger.opening import open_ledger, reopened

__all__ = ["open_ledger", "reopened"]
