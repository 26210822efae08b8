"""A file on a network, or of a kind not known, is refused unless that is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from checks.ledgers import granted

from dpframe.errors import LedgerError, NotDurableWarning
from dpframe.privacy.accountant import Accountant
from dpframe.privacy.ledger import filesystem
from dpframe.privacy.ledger.filesystem import file_system

if TYPE_CHECKING:
    from pathlib import Path

REMOTE = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "lustre", "afs"]
REMOTE += ["ocfs2", "fuse", "fuse.sshfs", "fuse.s3fs", "virtiofs", "some-new-fs"]
LOCAL = ["ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs", "overlay", "apfs", "fuseblk"]


def mounted(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that the test's directory is a file system of its own."""
    point = str(tmp_path).replace("\\", r"\134").replace(" ", r"\040")
    table = tmp_path.parent / f"{tmp_path.name}-mounts"
    table.write_text(
        "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"21 20 0:50 / {point} rw,relatime shared:2 master:1 - {kind} host:/share rw\n"
        f"22 20 0:51 / {point}x rw - xfs /dev/sdb rw\n"
        "\n"
    )
    monkeypatch.setattr(filesystem, "MOUNTS", table)


@pytest.mark.parametrize("kind", REMOTE)
def test_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path, other = tmp_path / "budget.db", tmp_path / "other.db"
    budget = Accountant(1, ledger=path, create=True)
    mounted(kind, tmp_path, monkeypatch)
    for act in (
        lambda: Accountant(1, ledger=path),
        lambda: Accountant(1, ledger=path, create=True),
        lambda: Accountant.open(path),
        lambda: Accountant(1, ledger=other, create=True),
    ):
        with pytest.raises(LedgerError, match=f"(?s)kind '{kind}'.*unsafe_network_fs"):
            act()
    assert [entry.name for entry in tmp_path.iterdir()] == ["budget.db"]
    assert granted(budget, 1)


def test_network_file_system_may_be_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.db"
    mounted("nfs4", tmp_path, monkeypatch)
    budget = Accountant(1, ledger=path, create=True, unsafe_network_fs=True)
    assert granted(budget, 0.5)
    assert granted(Accountant.open(path, unsafe_network_fs=True), 0.5)
    _, (reference, _) = budget.__reduce_ex__(4)
    assert reference.unsafe_network_fs


@pytest.mark.parametrize("kind", LOCAL)
def test_local_file_system_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounted(kind, tmp_path, monkeypatch)
    assert granted(Accountant(1, ledger=tmp_path / "budget.db", create=True), 1)


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_file_system_in_memory_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounted(kind, tmp_path, monkeypatch)
    with pytest.warns(NotDurableWarning, match=f"in memory \\({kind}\\)") as found:
        budget = Accountant(1, ledger=tmp_path / "budget.db", create=True)
    assert [warning.filename for warning in found] == [__file__]
    assert granted(budget, 1)
    with pytest.warns(NotDurableWarning):
        Accountant.open(tmp_path / "budget.db")


def test_nearest_mount_tells_the_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a b\\c"
    folder.mkdir()
    mounted("nfs", folder, monkeypatch)
    assert file_system(f"{folder}/budget.db") == "nfs"
    assert file_system(str(folder)) == "nfs"
    assert file_system(f"{folder}x/budget.db") == "xfs"
    assert file_system(f"{folder}y/budget.db") == "ext4"
    assert file_system("/") == "ext4"


def test_link_to_a_network_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, link = tmp_path / "share", tmp_path / "link"
    share.mkdir()
    link.symlink_to(share)
    mounted("nfs", share, monkeypatch)
    with pytest.raises(LedgerError, match="'nfs'"):
        Accountant(1, ledger=link / "budget.db", create=True)


def test_kind_is_not_looked_at_where_no_table_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "none")
    assert file_system(str(tmp_path)) is None
    assert granted(Accountant(1, ledger=tmp_path / "budget.db", create=True), 1)


def test_own_table_is_read() -> None:
    if not filesystem.MOUNTS.exists():
        pytest.skip("this system has no table of mounts")
    assert file_system("/proc/self") == "proc"
