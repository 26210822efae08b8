"""Where a ledger's file may be: where the locks of one process bind all others.

Network file systems lock badly or not at all, and two machines would then spend one
budget twice. A kind that is not known to be local is refused. The kind is known on
Linux alone; elsewhere it is not looked at.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dpframe.errors import LedgerError

MOUNTS: Final = Path("/proc/self/mountinfo")
_LOCAL: Final = re.compile(
    "ext[234]|xfs|btrfs|zfs|f2fs|bcachefs|jfs|reiserfs|nilfs2|ubifs|ecryptfs"
    "|overlay|aufs|ntfs3?|fuseblk|vfat|msdos|exfat|hfs|hfsplus|apfs|ufs|udf"
)
IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "rootfs"})
"""Kinds that are local, and lost with the machine."""


def file_system(path: str) -> str | None:
    """Return the kind of file system that a path is on; None where that is not known.

    Parameters
    ----------
    path : str
        Absolute, without links.
    """
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    found, kind = "", None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) < 5:  # noqa: PLR2004 - the mount point is the fifth
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4])
        inside = point in {"/", path} or path.startswith(f"{point}/")
        if inside and len(point) >= len(found):  # a later one hides an earlier one
            found, kind = point, kinds[0]
    return kind


def check_file_system(path: str, *, place: str, unsafe_network_fs: bool) -> None:
    """Refuse a file system that is not known to be local.

    Raises
    ------
    LedgerError
    """
    kind = file_system(path)
    if kind is None or kind in IN_MEMORY or unsafe_network_fs:
        return
    if not _LOCAL.fullmatch(kind):
        msg = (
            f"{place} is on a file system of kind {kind!r}, which is a network's or "
            "not known to be local: its locks may let a budget be spent twice.\n"
            "Nothing was released and nothing was spent."
        )
        raise LedgerError(
            msg,
            hint="put the ledger on a local disk or into PostgreSQL, "
            "or pass unsafe_network_fs=True.",
        )
