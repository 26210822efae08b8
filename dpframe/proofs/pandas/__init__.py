"""The proof that a pandas step is row-local or unit-local."""

from __future__ import annotations
