"""One ledger on either database, and a server for the second."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from checks.server import MISSING, postgres_server, programs

from dpframe.privacy.accountant import Accountant
from dpframe.privacy.ledger.registry import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERS = count()


@dataclass(frozen=True)
class Ledger:
    """A place for budgets that a test has for itself."""

    kind: str
    address: str

    @property
    def is_file(self) -> bool:
        return self.kind == "SQLite"

    def budget(self, *amounts: Any, **options: Any) -> Accountant:
        """Open a budget, and make it where it is missing."""
        return Accountant(*amounts, ledger=self.address, create=True, **options)

    def open(self, dataset: str = "default", **options: Any) -> Accountant:
        return Accountant.open(self.address, dataset, **options)

    def afresh(self, dataset: str = "default", **options: Any) -> Accountant:
        """Open a budget as a process would that knows nothing of it."""
        REGISTRY._stores.clear()  # noqa: SLF001 - there is no other way to forget
        return self.open(dataset, **options)

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements behind the library's back; return the last one's rows."""
        rows: list[tuple[Any, ...]] = []
        with closing(self.connect()) as connection:
            for statement in statements:
                cursor: Any = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
            connection.commit()
        return rows

    def connect(self) -> Any:
        if self.is_file:
            return sqlite3.connect(self.address)
        return psycopg.connect(self.address)

    def snapshot(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of all tables."""
        return {
            table: self.sql(f"SELECT * FROM {table}")  # noqa: S608 - tables of ours
            for table in ("dpframe_budget", "dpframe_event")
        }

    def restore(self, copy: dict[str, list[tuple[Any, ...]]]) -> None:
        """Put back the rows that were there."""
        mark = "?" if self.is_file else "%s"
        with closing(self.connect()) as connection:
            for table, rows in copy.items():
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - as above
                for row in rows:
                    marks = ", ".join([mark] * len(row))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608 - as above
            connection.commit()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server of this test run; the address of an empty database."""
    folder = programs()
    if folder is None:
        pytest.skip(MISSING)
    with postgres_server(folder) as address:
        yield address


@pytest.fixture
def postgres(server: str) -> Ledger:
    """A schema of its own, which stands for an empty database."""
    name = f"test_{next(_NUMBERS)}"
    with psycopg.connect(server) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return Ledger("PostgreSQL", f"{server}&options=-csearch_path%3D{name}")


@pytest.fixture
def sqlite(tmp_path: Path) -> Ledger:
    """A path where no file is yet."""
    return Ledger("SQLite", str(tmp_path / "budget.db"))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """Each of the two databases."""
    return request.getfixturevalue(
        {"SQLite": "sqlite", "PostgreSQL": "postgres"}[request.param]
    )
