"""Interrupts at a chosen line."""

from __future__ import annotations

import linecache
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

LOCKING = ("with self.lock", "with self._lock", "with self._turn")
"""Python delivers no signal between a lock and its block; a trace function can."""


def interrupted(act: Callable[[], object], *modules: ModuleType, at: int) -> bool:
    """Interrupt an act at the line of this number, counted in some modules.

    Returns False where it ended before.
    """
    lines = 0
    files = {module.__file__ for module in modules}

    def trace(frame: FrameType, what: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if what == "line" and not line.startswith(LOCKING):
            lines += 1
            if lines == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
