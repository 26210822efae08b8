"""Proofs that a step keeps privacy units apart; what is unknown fails."""

from __future__ import annotations
