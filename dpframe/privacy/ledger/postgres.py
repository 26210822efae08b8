"""A ledger in a PostgreSQL database, for several machines; the extra ``postgres``."""

from __future__ import annotations

import warnings
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, final
from weakref import finalize

from dpframe.errors import (
    LedgerBusyError,
    LedgerError,
    MissingExtraError,
    NotDurableWarning,
    ParameterError,
)
from dpframe.privacy.ledger import database, tables

try:
    import psycopg as _  # noqa: F401 - the driver that SQLAlchemy loads by its name
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
except ImportError:
    raise MissingExtraError(
        "a ledger in PostgreSQL needs the packages sqlalchemy and psycopg.",
        hint='pip install "dpframe[postgres]"',
    ) from None

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

_CREATORS: Final = 0x6470_6672_616D_65  # the lock of those who make the tables
_WORDS: Final = {
    "08": "the connection failed",
    "28": "access is denied",
    "3D": "there is no such database",
    "42501": "access is denied",
    "42P01": "it holds no ledger",
    "53": "the server is out of space or connections",
    "57": "the server is shutting down",
    "58": "the server failed to read or write",
    "23": "a row breaks its rules",
    "25006": "it can only be read",
}
_BUSY: Final = {"55P03", "40P01", "40001"}  # no lock in time, deadlock, raced
_HINTS: Final = {
    "42501": "have the owner grant SELECT, INSERT and UPDATE on dpframe_budget and "
    "dpframe_event to this user; to make a ledger, CREATE on the schema.",
    "42P01": "make one: Accountant(..., create=True).",
}
_UNREACHED: Final = (
    "check that the server can be reached, that the database exists, and the user "
    "and the password (PGPASSWORD or ~/.pgpass)."
)
_INHERITED: Final[list[sqlalchemy.Engine | sqlalchemy.Connection]] = []


@final
class ServerSession(database.Session):
    """A transaction of one connection."""

    def __init__(self, engine: sqlalchemy.Engine) -> None:
        super().__init__()
        self._engine = engine
        self._connection: sqlalchemy.Connection | None = None  # until it is needed

    def rows_of(
        self, statement: str, values: Mapping[str, object]
    ) -> Sequence[Sequence[object]]:
        """Run a statement and return its rows."""
        if self._connection is None:
            self._connection = self._engine.connect()
        result = self._connection.execute(sqlalchemy.text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []

    def close(self) -> None:
        """Roll back what was not committed, and give the connection back."""
        if self._connection is not None:
            if self.is_left_behind:
                _INHERITED.append(self._connection)
            else:
                self._connection.close()


@final
class PostgresDatabase(database.Database):
    """A database on a server; a password in its address is shown nowhere."""

    def __init__(self, address: str) -> None:
        try:
            url = sqlalchemy.make_url(address)
        except (ArgumentError, ValueError):
            url = None
        if url is None:  # the error would quote the address, and the password in it
            msg = "the address of the ledger cannot be read."
            raise ParameterError(msg, hint='write "postgresql://user@host/name".')
        self._url = url.set(drivername="postgresql+psycopg")
        self._engine: sqlalchemy.Engine | None = None

    @property
    def place(self) -> str:
        """The address without its password and options."""
        shown = self._url.set(drivername="postgresql", query={})
        shown = shown._replace(password=None)
        return shown.render_as_string()

    @property
    def address(self) -> str:
        """The whole address, with its password if it has one."""
        shown = self._url.set(drivername="postgresql")
        return shown.render_as_string(hide_password=False)

    def prepare(self) -> None:
        """Make the tables, unless they are there."""
        with self._transaction() as session:
            session.run(_patience())
            session.run("SELECT pg_advisory_xact_lock(:key)", {"key": _CREATORS})
            found = session.run("SELECT to_regclass('dpframe_event')::text")
            if found[0][0] is None:
                for statement in tables.creation():
                    session.run(statement)

    def recognise(self) -> None:
        """Nothing: a budget is known by its identity."""

    def warn(self, stacklevel: int) -> None:
        """Warn of a server that does not wait for its disk."""
        with self._transaction() as session:
            waits = session.run("SELECT current_setting('fsync')")
        if waits[0][0] != "on":
            msg = f"{self.place} runs without fsync: a loss of power may lose charges."
            warnings.warn(msg, NotDurableWarning, stacklevel=stacklevel + 1)

    @contextmanager
    def reading(self) -> Generator[ServerSession]:
        """Return a transaction that sees one state of the record."""
        with self._transaction() as session:
            session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            session.run(_patience())
            yield session

    @contextmanager
    def writing(self, dataset: str, *, lasting: bool) -> Generator[ServerSession]:
        """Return a transaction that holds the row of a budget."""
        with self._transaction() as session:
            waits = "on" if lasting else "off"
            session.run(f"SET LOCAL synchronous_commit = {waits}")
            session.run(_patience())
            session.run(
                'SELECT 1 FROM dpframe_budget WHERE "dataset" = :dataset FOR UPDATE',
                {"dataset": dataset},
            )
            yield session

    def check(self, session: database.Session) -> None:
        """Nothing: the server looks after its files."""

    def left_behind(self) -> None:
        """Leave the connections to the parent, who still uses them."""
        if self._engine is not None:
            self._end.detach()
            _INHERITED.append(self._engine)  # so that none is closed when it is dropped
            self._engine = None

    @contextmanager
    def _transaction(self) -> Generator[ServerSession]:
        ends = False
        try:
            with closing(ServerSession(self._connected())) as session:
                yield session
                ends = True
                session.run("COMMIT")
        except SQLAlchemyError as error:
            failed = error
        else:
            return
        raise self._translated(failed, at_the_end=ends) from None

    def _connected(self) -> sqlalchemy.Engine:
        if self._engine is None:
            self._engine = sqlalchemy.create_engine(
                self._url,
                isolation_level="READ COMMITTED",
                pool_size=1,
                max_overflow=-1,  # one that an interrupt lost must not block others
                pool_pre_ping=True,
                hide_parameters=True,
                connect_args={"client_encoding": "utf8"},  # whatever the database has
            )
            self._end = finalize(self, self._engine.dispose)
        return self._engine

    def _translated(self, error: SQLAlchemyError, *, at_the_end: bool) -> LedgerError:
        """Return the error in our words; those of the server may quote a row."""
        state = str(getattr(getattr(error, "orig", None), "sqlstate", None) or "08")
        if state in _BUSY:
            msg = (
                f"others kept {self.place} busy for {database.BUSY_SECONDS} seconds.\n"
                "Nothing was released and nothing was spent."
            )
            return LedgerBusyError(msg, hint="try again.")
        reason = _WORDS.get(state) or _WORDS.get(
            state[:2], f"PostgreSQL failed with {state}"
        )
        cost = database.consequence(at_the_end=at_the_end)
        hint = _HINTS.get(state, _UNREACHED)
        return LedgerError(f"{self.place} cannot be used: {reason}.\n{cost}", hint=hint)


def _patience() -> str:
    return f"SET LOCAL lock_timeout = '{database.BUSY_SECONDS * 1000:.0f}ms'"
