"""The only code that touches rows: a tally becomes exact integers."""

from __future__ import annotations
