"""The verbs of each library, on frames that carry a budget."""

from __future__ import annotations
