"""A forked process does not have the threads that Polars started before the fork.

Work handed to them there is never done, and whoever waits for it waits for ever. So a
process that was forked tries them once, before its first charge.
"""

from __future__ import annotations

import os
from threading import Thread
from typing import Final

import polars as pl

from dpframe.errors import EvaluationError

PATIENCE: Final = 10.0
"""Seconds that a query of four rows may take on a busy machine."""


class Forks:
    """Whether this process was forked, and whether Polars works in it."""

    __slots__ = ("_untried",)

    def __init__(self) -> None:
        self._untried = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self._untried = True

    def check(self) -> None:
        """Refuse to go on where Polars has lost its threads.

        Raises
        ------
        EvaluationError
            Before anything is charged.
        """
        if not self._untried:
            return
        trial = Thread(target=_trial, daemon=True)
        trial.start()
        trial.join(PATIENCE)
        if trial.is_alive():
            msg = (
                "this process was forked after Polars had started its threads, and "
                "does not have them: a release would wait for ever.\n"
                "Nothing was released and nothing was spent."
            )
            hint = (
                'start workers by multiprocessing.get_context("spawn") or by joblib, '
                "or fork them before the first frame is attached."
            )
            raise EvaluationError(msg, hint=hint)
        self._untried = False


def _trial() -> None:
    rows = pl.LazyFrame({"a": [1, 2, 3, 4]}).filter(pl.col("a") > 1)
    rows.group_by("a").len().collect(engine="streaming")


FORKS: Final = Forks()
