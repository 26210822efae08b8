"""One ledger on either database, and a server for the second."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
import pytest

from dpframe.privacy.accountant import Accountant
from dpframe.privacy.ledger.registry import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="dpframe-"))
    as_user: list[str] = []
    if os.getuid() == 0:  # a server refuses to run as root
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs[-1].with_name(program)), *arguments]
        subprocess.run(  # noqa: S603 - our own
            command,
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    data, log = f"{folder}/data", f"{folder}/log"
    run("initdb", "-D", data, "-U", "dpframe", "-A", "trust", "--no-sync", "-E", "UTF8")
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
    run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)
    try:
        yield f"postgresql://dpframe@/postgres?host={quote(str(folder), safe='')}"
    finally:
        run("pg_ctl", "stop", "-m", "immediate", "-D", data)
        shutil.rmtree(folder, ignore_errors=True)


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
