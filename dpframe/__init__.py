"""Differentially private releases from pandas and Polars frames."""

from __future__ import annotations
