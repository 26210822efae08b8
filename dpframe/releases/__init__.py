"""What a caller gets: answers with their errors, their cost and their provenance."""

from __future__ import annotations
