"""A ledger in an SQLite file.

Each transaction has a connection of its own, so that none is open when a process
forks and each one meets the file that is at the path. Nothing else here opens the
file: closing a file drops all locks that its process has on it, those of SQLite too.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import stat
import time
import warnings
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from dpframe.errors import (
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    NotDurableWarning,
)
from dpframe.privacy.identity import new_identity
from dpframe.privacy.ledger import database, tables
from dpframe.privacy.ledger.filesystem import (
    IN_MEMORY,
    check_file_system,
    file_system,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

PRAGMAS: Final = (
    "PRAGMA journal_mode=DELETE",  # one file: a copy of it is complete
    "PRAGMA fullfsync=ON",  # what is written is on the disk, on macOS too
)
_LASTING: Final = "PRAGMA synchronous=EXTRA"  # a commit outlives a loss of power
_WHOLE: Final = "PRAGMA synchronous=FULL"  # it is undone or done, as a whole
_IS_WHOLE: Final = "typeof(\"{}\") = 'integer'"
_SECONDS_TO_MAKE: Final = 2
"""How long a new file may have the name of its draft beside its own."""

_DAMAGED: Final = {"SQLITE_NOTADB", "SQLITE_CORRUPT"}
_WORDS: Final = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it can only be read",
    "SQLITE_IOERR": "reading or writing failed",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_PERM": "access is denied",
    "SQLITE_CONSTRAINT": "a row breaks its rules",
}


@final
class FileSession(database.Session):
    """A transaction of one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def rows_of(
        self, statement: str, values: Mapping[str, object]
    ) -> Sequence[Sequence[object]]:
        """Run a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Roll back what was not committed, and close the connection."""
        if self.is_left_behind:
            # Not even when the process ends: it would delete the parent's journal.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
        else:
            self._connection.close()


@final
class SQLiteFile(database.Database):
    """A file; it stays the one that it was when it was recognised."""

    def __init__(self, path: str, *, unsafe_network_fs: bool) -> None:
        self._path = os.path.realpath(path)
        self._unsafe_network_fs = unsafe_network_fs
        self._known: tuple[int, int] | None = None

    @property
    def place(self) -> str:
        """The path, from the working directory where it is below that."""
        with suppress(OSError, ValueError):
            return str(Path(self._path).relative_to(Path.cwd()))
        return self._path

    @property
    def address(self) -> str:
        """The whole path."""
        return self._path

    @property
    def unsafe_network_fs(self) -> bool:
        """Whether a network file system was accepted."""
        return self._unsafe_network_fs

    def prepare(self) -> None:
        """Make the file, complete or not at all, and only where there is none."""
        if os.path.lexists(self._path):
            return
        self._check_file_system()
        if os.path.lexists(f"{self._path}-journal"):  # SQLite would apply it
            raise self._failure("the journal of a lost ledger is beside it")
        draft = f"{self._path}.{new_identity()[:12]}.new"
        try:
            with self._transaction("IMMEDIATE", draft, mode="rwc") as session:
                for statement in tables.creation(is_whole=_IS_WHOLE):
                    session.run(statement)
            with suppress(FileExistsError):  # another process was faster
                os.link(draft, self._path)
            _sync_directory(Path(self._path).parent)
        except OSError as error:
            reason = error.strerror
        else:
            return
        finally:
            with suppress(OSError):
                Path(draft).unlink()
        raise self._failure(f"it could not be made ({reason})")

    def recognise(self) -> None:
        """Take the file at the path for the ledger, from here on."""
        self._known = None
        self._known = self._found()
        self._check_file_system()
        self._check_one_name()

    def warn(self, stacklevel: int) -> None:
        """Warn of a file in memory."""
        kind = file_system(self._path)
        if kind in IN_MEMORY:
            msg = f"{self.place} is in memory ({kind}): it is lost with this machine."
            warnings.warn(msg, NotDurableWarning, stacklevel=stacklevel + 1)

    @contextmanager
    def reading(self) -> Generator[FileSession]:
        """Return a transaction that holds off writers until it ends."""
        self._check_same()
        with self._transaction("DEFERRED", self._path) as session:
            self._check_same()
            yield session

    @contextmanager
    def writing(
        self,
        dataset: str,  # noqa: ARG002 - a file has one lock for all
        *,
        lasting: bool,
    ) -> Generator[FileSession]:
        """Return the transaction of the only writer of the file."""
        self._check_same()
        with self._transaction("IMMEDIATE", self._path, lasting=lasting) as session:
            self._check_same()
            yield session
        self._check_same()

    def check(self, session: database.Session) -> None:
        """Let SQLite look through the whole file."""
        found = session.run("PRAGMA integrity_check(1)")
        if [tuple(row) for row in found] != [("ok",)]:
            raise self._damage("is damaged")

    def left_behind(self) -> None:
        """Nothing: no connection is open between transactions."""

    @contextmanager
    def _transaction(
        self, kind: str, path: str, *, mode: str = "rw", lasting: bool = True
    ) -> Generator[FileSession]:
        ends = False
        try:
            with closing(_session(path, mode)) as session:
                for pragma in (*PRAGMAS, _LASTING if lasting else _WHOLE):
                    session.run(pragma)
                session.run(f"BEGIN {kind}")
                yield session
                ends = True
                session.run("COMMIT")
        except sqlite3.Error as error:
            failed = error
        else:
            return
        raise self._translated(failed, at_the_end=ends) from None

    def _check_file_system(self) -> None:
        check_file_system(
            self._path, place=self.place, unsafe_network_fs=self._unsafe_network_fs
        )

    def _check_one_name(self) -> None:
        """Refuse a file that has two names, by hard links.

        After a crash its journal is beside one of them. Opened by the other one, the
        file would be used as it was left halfway, and what was spent since be undone
        by whoever opens it by the first.
        """
        last = time.monotonic() + _SECONDS_TO_MAKE
        while (found := self._stat()).st_nlink > 1 and stat.S_ISREG(found.st_mode):
            if time.monotonic() > last:
                msg = (
                    f"the file {self.place} has another name, too: after a crash its "
                    "journal would be found by one of them alone.\n"
                    "Nothing was released and nothing was spent."
                )
                hint = "keep the name with a journal beside it, and delete the other."
                raise LedgerError(msg, hint=hint)
            time.sleep(0.01)

    def _check_same(self) -> None:
        """Refuse another file in the place of the one that was recognised."""
        if self._known is not None and self._found() != self._known:
            msg = (
                f"another file is in the place of {self.place}, which was opened.\n"
                "Nothing was released."
            )
            raise LedgerError(
                msg, hint="bring the file back, or open the new one as a budget."
            )

    def _found(self) -> tuple[int, int]:
        """Return what identifies the file at the path."""
        found = self._stat()
        return found.st_dev, found.st_ino

    def _stat(self) -> os.stat_result:
        """Return what is known of the file at the path; it is not opened for that."""
        try:
            return Path(self._path).stat()
        except FileNotFoundError:
            msg = (
                f"there is no ledger {self.place}.\n"
                "Nothing was released and nothing was spent."
            )
            hint = 'make it: Accountant(epsilon=..., ledger="...", create=True).'
        except OSError as error:
            msg, hint = f"{self.place} cannot be used: {error.strerror}.", None
        raise LedgerError(msg, hint=hint)

    def _translated(self, error: sqlite3.Error, *, at_the_end: bool) -> LedgerError:
        """Return the error in our words; those of SQLite may quote a row."""
        name: str = getattr(error, "sqlite_errorname", "")
        kind = "_".join(name.split("_")[:2])
        if kind in {"SQLITE_BUSY", "SQLITE_LOCKED"}:
            msg = (
                f"other processes kept {self.place} busy for "
                f"{database.BUSY_SECONDS} seconds.\n"
                "Nothing was released and nothing was spent."
            )
            return LedgerBusyError(msg, hint="try again.")
        if kind in _DAMAGED:
            return self._damage("is no ledger, or is damaged")
        if str(error).startswith("no such table"):
            return self._damage("holds no ledger: it was emptied, or never was one")
        reason = _WORDS.get(kind, f"SQLite failed with {name or 'an error'}")
        return self._failure(reason, at_the_end=at_the_end)

    def _failure(self, reason: str, *, at_the_end: bool = False) -> LedgerError:
        cost = database.consequence(at_the_end=at_the_end)
        msg = f"{self.place} cannot be used: {reason}.\n{cost}"
        hint = "make it a file that can be written, in a directory that can be."
        return LedgerError(msg, hint=hint)

    def _damage(self, what: str) -> LedgerCorruptError:
        msg = f"{self.place} {what}.\nNothing was released and nothing was spent."
        hint = "go back to a copy, or open a new budget in another file."
        return LedgerCorruptError(msg, hint=hint)


def _session(path: str, mode: str) -> FileSession:
    return FileSession(
        sqlite3.connect(
            f"{Path(path).as_uri()}?mode={mode}",
            uri=True,
            timeout=database.BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
    )


def _sync_directory(path: Path) -> None:
    """Make the name of a new file outlive a loss of power, where that is possible."""
    if os.name == "posix":
        directory = os.open(path, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
