"""Tests, audits and benchmarks of dpframe."""

from __future__ import annotations
