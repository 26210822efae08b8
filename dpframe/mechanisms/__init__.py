"""One file per release: its plan from public facts, its answer from noisy sums."""

from __future__ import annotations
