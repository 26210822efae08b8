"""Fractions of rows in halfspaces: what was released, and what it tells of them."""

from __future__ import annotations
