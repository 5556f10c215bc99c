"""The disk below a store: how its space is allocated, how much there is, and how it is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mqframe.store.files.log_file import Allocate, allocate_really
from mqframe.store.files.syncing import Sync, sync_really

DiskUsage = Callable[[Path], tuple[int, int]]
"""Total and free bytes of the disk that holds a directory."""


def disk_usage(directory: Path) -> tuple[int, int]:
    """What the operating system says; free is what this user may use."""
    found = os.statvfs(directory)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


class Disk(NamedTuple):
    """How a store gets space (`allocate`), learns how much there is (`usage`) and waits for it (`sync`)."""

    allocate: Allocate = allocate_really
    usage: DiskUsage = disk_usage
    sync: Sync = sync_really
