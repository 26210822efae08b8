"""A PostgreSQL server for one run, of the programs that Debian's package brings."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING = "no PostgreSQL server is installed (Debian: postgresql)"


def programs() -> Path | None:
    """Return the folder of the server's programs, of the latest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def postgres_server(folder_of_programs: Path) -> Iterator[str]:
    """Run a server on a socket in a new folder; yield the address of a database."""
    folder = Path(tempfile.mkdtemp(prefix="dpframe-"))
    as_user: list[str] = []
    if os.getuid() == 0:  # a server refuses to run as root
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603 - our own
            [*as_user, str(folder_of_programs / program), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    data, log = f"{folder}/data", f"{folder}/log"
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
    try:
        run("initdb", "-D", data, "-U", "dpframe", "-A", "trust", "-E", "UTF8", "-N")
        run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)
        try:
            yield f"postgresql://dpframe@/postgres?host={quote(str(folder), safe='')}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate", "-D", data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
