"""What all tests share: one frame on every host, and the names of examples.

Tests of behaviour take `host` and so run on pandas, on Polars and on lazy Polars.
The examples in docstrings are run by ``tests/docs/test_docstrings.py`` with the
names of `namespace`; there an example that follows a release is compared loosely
(its figures within their own ±), and every other one to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from polars.io.plugins import register_io_source

import dpframe
from dpframe.dialects.pandas.private import PrivatePandas
from dpframe.dialects.polars.private import PrivatePolars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOSTS = ("pandas", "polars", "polars lazy")


@dataclass(frozen=True)
class Host:
    """A library of frames, and how to fill one of its frames."""

    name: str

    @property
    def is_pandas(self) -> bool:
        return self.name == "pandas"

    def frame(self, data: Mapping[str, Any] | pl.DataFrame) -> Any:
        """Return a native frame of columns by name."""
        if self.is_pandas:
            polars = isinstance(data, pl.DataFrame)
            return data.to_pandas() if polars else pd.DataFrame(dict(data))
        return pl.DataFrame(data) if self.name == "polars" else pl.LazyFrame(data)

    def attached(
        self, data: Any, *, budget: Any = None, epsilon: Any = 1000, **declared: Any
    ) -> Any:
        """Return a private frame of columns by name, or of a native frame."""
        native = self.frame(data) if isinstance(data, dict) else data
        account = dpframe.Accountant(epsilon=epsilon) if budget is None else budget
        return dpframe.attach(native, account, **declared)

    def unreadable(self, data: Mapping[str, Any]) -> Any:
        """Return a native frame that cannot be read, where the library has such."""
        if self.name != "polars lazy":
            return self.frame(data)

        def read(*_: object) -> Iterator[pl.DataFrame]:
            msg = "a row was read"
            raise AssertionError(msg)

        return register_io_source(read, schema=pl.DataFrame(data).schema)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    """Each library whose frames a budget can be attached to."""
    return Host(request.param)


@pytest.fixture
def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a private frame hands its rows to an engine."""

    def scan(*_: object) -> None:
        msg = "a row was read"
        raise AssertionError(msg)

    for dialect in (PrivatePandas, PrivatePolars):
        monkeypatch.setattr(dialect, "scan", scan)


@pytest.fixture
def namespace() -> dict[str, Any]:
    """The names that every example in a docstring may use."""
    return {"dpframe": dpframe, "pd": pd, "pl": pl}
