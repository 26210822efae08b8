"""Shares of rows in halfspaces: points fitted to a release, and what they answer."""

from __future__ import annotations
