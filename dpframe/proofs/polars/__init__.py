"""The proof that a Polars step is row-local or unit-local."""

from __future__ import annotations
