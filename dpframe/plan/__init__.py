"""Planning: what releases cost together, and how many rows an error needs."""

from __future__ import annotations

from dpframe.plan.costs import Plan, budget
from dpframe.plan.sample_size import (
    SampleSize,
    alpha_reached,
    epsilon_needed,
    rows_needed,
)

__all__ = [
    "Plan",
    "SampleSize",
    "alpha_reached",
    "budget",
    "epsilon_needed",
    "rows_needed",
]
