"""Searches whose questions follow from their answers, on exact private counts."""
