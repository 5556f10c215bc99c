"""What the operating system says of a disk."""

from __future__ import annotations

import os
from types import SimpleNamespace

from mqframe.store.files.disk import Disk, disk_usage


def test_total_and_what_this_user_may_use(tmp_path, monkeypatch) -> None:
    blocks = SimpleNamespace(f_blocks=1000, f_frsize=4096, f_bavail=200, f_bfree=300)
    monkeypatch.setattr(os, "statvfs", {tmp_path: blocks}.__getitem__)
    assert disk_usage(tmp_path) == (4_096_000, 819_200)
    assert Disk().usage(tmp_path) == (4_096_000, 819_200)


def test_space_is_really_allocated(tmp_path) -> None:
    with open(tmp_path / "file", "wb") as file:
        Disk().allocate(file.fileno(), 100_000)
    found = (tmp_path / "file").stat()
    assert found.st_size == 100_000
    assert found.st_blocks * 512 >= 100_000
