"""One file of the commit log: really allocated, mapped."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path

from mqframe.store.files.descriptors import write_all
from mqframe.store.files.layout import file_name
from mqframe.store.files.modes import file_mode

Allocate = Callable[[int, int], None]
"""Allocates that many bytes of disk for the file behind a descriptor. Raises OSError on a full disk."""


def allocate_really(descriptor: int, size: int) -> None:
    """Allocate `size` bytes, so that writing through a map cannot fail later."""
    os.posix_fallocate(descriptor, 0, size)


class LogFile:
    """One mapped file of the commit log.

    `base`: log offset of its first byte; `map`: its bytes; `view`: the same as memoryview.
    """

    __slots__ = ("__weakref__", "base", "descriptor", "map", "path", "removed", "size", "view")

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.base = int(path.name)
        self.size = size
        self.descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.removed = False
        self.map = mmap.mmap(self.descriptor, size)
        self.view = memoryview(self.map)

    @classmethod
    def create(cls, directory: Path, base: int, size: int, allocate: Allocate) -> LogFile:
        """A new file of zeros. Raises OSError, leaving nothing behind, when the disk is full."""
        path = directory / file_name(base)
        # Allocated under another name: a crash half-way must not leave a log file of the wrong size.
        unready = path.with_suffix(".allocating")
        descriptor = os.open(unready, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, file_mode())
        try:
            allocate(descriptor, size)
        except OSError:
            unready.unlink()
            raise
        finally:
            os.close(descriptor)
        unready.rename(path)
        sync_directory(directory)
        return cls(path, size)

    def clear_from(self, at: int, allocate: Allocate) -> None:
        """Make everything from byte `at` zeros again, so that no stale record can follow the end."""
        os.ftruncate(self.descriptor, at)
        allocate(self.descriptor, self.size)

    def sync(self) -> None:
        """Wait until the disk holds what was written. Releases the interpreter lock.

        For a thread, during which the loop may `remove` the file: nothing of it has to be on disk then.
        """
        try:
            os.fdatasync(self.descriptor)
        except OSError:
            if not self.removed:
                raise

    def write(self, at: int, data: bytes) -> None:
        """Write `data` at byte `at`; the map shows it at once.

        Through the descriptor: the first touch of each mapped page costs more than the call (on ext4 some
        10 µs a page against 1 µs). Raises OSError.
        """
        if os.pwrite(self.descriptor, data, at) != len(data):
            write_all(self.descriptor, data, at)

    def read_now(self, at: int, size: int) -> bytearray | None:
        """`size` bytes from byte `at` on; `None` where the disk would have to be waited for."""
        buffer = bytearray(size)
        try:
            got = os.preadv(self.descriptor, [buffer], at, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as problem:
            if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            return None  # a file system that cannot tell
        return buffer if got == size else None

    def modified_ms(self) -> int:
        """When the file was last changed, ms."""
        return int(os.fstat(self.descriptor).st_mtime * 1000)

    def close(self) -> None:
        """Let go. The map goes when the last slice that was handed out is gone."""
        self.view.release()
        os.close(self.descriptor)

    def remove(self) -> None:
        """Delete the file; slices that were handed out stay readable."""
        self.removed = True
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def sync_directory(directory: Path) -> None:
    """Make names that were made or removed in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
