"""The `.dp` namespace of private frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpframe.frame import PrivateFrame


class PrivateNamespace:
    """What `.dp` on a private frame leads to."""

    def __init__(self, frame: PrivateFrame) -> None:
        self._frame = frame

    def detach(self) -> Any:
        """Return the native frame; tracking ends."""
        return self._frame.detach()
