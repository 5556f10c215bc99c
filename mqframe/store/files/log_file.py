"""One file of the commit log: really allocated, mapped."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path

from mqframe.core.errors import StoreUnavailable
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.durability import Durability
from mqframe.store.files.layout import file_name
from mqframe.store.files.modes import file_mode

Allocate = Callable[[int, int], None]
"""Allocates that many bytes of disk for the file behind a descriptor. Raises OSError on a full disk."""


def allocate_really(descriptor: int, size: int) -> None:
    """Allocate `size` bytes, so that writing through a map cannot fail later."""
    os.posix_fallocate(descriptor, 0, size)


class LogFile:
    """One mapped file of the commit log.

    `base`: log offset of its first byte; `map`: its bytes; `view`: the same as memoryview. `durability`: is
    told when the disk fails. `writable`: False for whoever only looks.
    """

    __slots__ = ("__weakref__", "_durability", "base", "descriptor", "map", "path", "removed", "size", "view")

    def __init__(
        self, path: Path, size: int, durability: Durability | None = None, *, writable: bool = True
    ) -> None:
        self._durability = durability or Durability()
        self.path = path
        self.base = int(path.name)
        self.size = size
        self.descriptor = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        self.removed = False
        try:
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            self.map = mmap.mmap(self.descriptor, size, access=access)
        except BaseException:
            os.close(self.descriptor)
            raise
        self.view = memoryview(self.map)

    @classmethod
    def create(
        cls, directory: Path, base: int, size: int, allocate: Allocate, durability: Durability | None = None
    ) -> LogFile:
        """A new file of zeros, on disk with its name.

        Raises OSError, leaving nothing behind, when the disk is full, and `StoreUnavailable` when it fails.
        """
        path = directory / file_name(base)
        durability = durability or Durability()
        # Allocated under another name: a crash half-way must not leave a log file of the wrong size.
        unready = path.with_suffix(".allocating")
        descriptor = os.open(unready, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, file_mode())
        try:
            allocate(descriptor, size)
            _sync(descriptor, path, durability)
        except (OSError, StoreUnavailable):
            unready.unlink()
            raise
        finally:
            os.close(descriptor)
        unready.rename(path)
        try:
            durability.sync_names(directory)
        except OSError as problem:
            raise durability.lost(directory, problem) from problem
        return cls(path, size, durability)

    def clear_from(self, at: int, allocate: Allocate) -> None:
        """Make everything from byte `at` zeros again, so that no stale record can follow the end."""
        os.ftruncate(self.descriptor, at)
        allocate(self.descriptor, self.size)

    def sync(self) -> None:
        """Wait until the disk holds what was written. Releases the interpreter lock.

        For a thread, during which the loop may `remove` the file: nothing of it has to be on disk then.
        Raises OSError, and nothing is stored any more then.
        """
        try:
            self._durability.sync(self.descriptor)
        except OSError as problem:
            if not self.removed:
                self._durability.lost(self.path, problem)
                raise

    def write(self, at: int, data: bytes | bytearray | memoryview) -> None:
        """Write `data` at byte `at`; the map shows it at once.

        Through the descriptor: the first touch of each mapped page costs more than the call (on ext4 some
        10 µs a page against 1 µs). Raises `StoreUnavailable`, and nothing is stored any more then.
        """
        try:
            if os.pwrite(self.descriptor, data, at) != len(data):
                write_all(self.descriptor, data, at)
        except OSError as problem:
            raise self._durability.lost(self.path, problem) from problem

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

    def data_from(self, at: int) -> list[tuple[int, int]]:
        """(start, end) of the parts from byte `at` on that may hold anything but zeros, in order."""
        found = []
        while at < self.size:
            try:
                start = os.lseek(self.descriptor, at, os.SEEK_DATA)
            except OSError as problem:
                if problem.errno != errno.ENXIO:
                    raise
                break
            at = min(os.lseek(self.descriptor, start, os.SEEK_HOLE), self.size)
            found.append((start, at))
        return found

    def modified_ms(self) -> int:
        """When the file was last changed, ms."""
        return int(os.fstat(self.descriptor).st_mtime * 1000)

    def close(self) -> None:
        """Let go. The map goes when the last slice that was handed out is gone."""
        self.view.release()
        os.close(self.descriptor)

    def remove(self) -> None:
        """Delete the file, durably; slices that were handed out stay readable.

        For a thread. Raises OSError, and can be called again then.
        """
        self.removed = True
        self.path.unlink(missing_ok=True)
        self._durability.sync_names(self.path.parent)
        os.close(self.descriptor)


def _sync(descriptor: int, path: Path, durability: Durability) -> None:
    try:
        durability.sync(descriptor)
    except OSError as problem:
        raise durability.lost(path, problem) from problem
