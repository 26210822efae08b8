"""The verbs that pandas users write, on frames that carry a budget."""

from __future__ import annotations
