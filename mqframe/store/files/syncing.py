"""Waiting for the disk: contents of files, and names in folders.

What is on the disk after a power cut is what was synced: of a file that was made, renamed or removed also the
folder that names it. The order in which a store does it is written down in docs/spec/store.md §4.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from mqframe.store.files.modes import file_mode, make_folder

Sync = Callable[[int], None]
"""Waits until the disk holds the contents of the file behind a descriptor. Raises OSError."""


def sync_really(descriptor: int) -> None:
    """Wait until the disk holds the file's contents and its size."""
    os.fdatasync(descriptor)


def sync_directory(directory: str | os.PathLike[str]) -> None:
    """Make names that were made or removed in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(directory: Path) -> None:
    """Make `directory` and those above it that are missing, durably. Raises OSError."""
    for made in make_folder(directory):
        sync_directory(made.parent)


def write_durably(path: Path, content: bytes) -> None:
    """Put a file with `content` in the place of the one at `path`, if there is one: all of it or nothing.

    Raises OSError; the former file is in place then.
    """
    os.replace(write_fresh(path, content), path)
    sync_directory(path.parent)


def write_unsynced(path: Path, content: bytes) -> None:
    """As `write_durably`, without waiting for the disk: for what may be lost, or empty, after a power cut."""
    os.replace(write_fresh(path, content, sync=False), path)


def write_fresh(path: Path, content: bytes, *, sync: bool = True) -> Path:
    """Write `content` to a file beside `path`, to take its place, and bring it to disk; where it is.

    `sync`: False where the disk is not waited for. Raises OSError, and leaves nothing then.
    """
    fresh = path.with_name(path.name + ".tmp")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, file_mode())
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def sync_file_system(directory: str | os.PathLike[str]) -> None:
    """Bring everything to disk that the file system of `directory` has in memory. Raises OSError.

    `os.sync` would keep it to itself when the disk fails.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:  # not Linux
        os.sync()
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if call(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fspath(directory))
    finally:
        os.close(descriptor)
