"""The `.dp` namespace of private frames: what is declared, and every release."""

from __future__ import annotations

from dpframe.accessor.namespace import PrivateNamespace

__all__ = ["PrivateNamespace"]
