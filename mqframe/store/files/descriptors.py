"""A bounded cache of open files, so that 40,000 queues do not need 40,000 descriptors."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Final

from mqframe.store.files.modes import file_mode, make_folder
from mqframe.store.files.syncing import Sync, sync_directory, sync_really

_PAGE_BYTES: Final = 4096


class Descriptors:
    """At most `limit` open files, the one unused for longest is closed first. Belongs to one thread.

    `writable`: False for whoever only looks. `new_names`: folders in which files and folders were made that
    may not be on disk yet.
    """

    def __init__(self, limit: int, *, writable: bool = True) -> None:
        self._limit = limit
        self._writable = writable
        self._open: OrderedDict[str, int] = OrderedDict()
        self.new_names: set[str] = set()

    def get(self, path: str, size: int | None = None) -> int:
        """A descriptor of the file at `path`; valid until the next call.

        With `size` a missing file is made, sparse, with that many bytes. Raises OSError.
        """
        descriptor = self._open.get(path)
        if descriptor is not None:
            self._open.move_to_end(path)
            return descriptor
        if len(self._open) >= self._limit:
            os.close(self._open.popitem(last=False)[1])
        if self._writable:
            descriptor, made = _open(path, size)
            self.new_names.update(made)
        else:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._open[path] = descriptor
        return descriptor

    def forget(self, path: str) -> None:
        """Close the file at `path`, if it is open."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Close all."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


def _open(path: str, size: int | None) -> tuple[int, list[str]]:
    """A descriptor, and the folders in which a name was made for it."""
    if size is None:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC), []
    made: list[str] = []
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, file_mode())
    except FileNotFoundError:
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
            made.append(folder)
        make_folder(os.path.dirname(path))
        descriptor = os.open(path, flags, file_mode())
    # A file that was just made is empty; what it is made of another size for is as new to the disk.
    if os.fstat(descriptor).st_size != size:
        made.append(os.path.dirname(path))
        os.ftruncate(descriptor, size)
    return descriptor, made


def save_page(path: str | os.PathLike[str], data: bytes, sync: Sync = sync_really) -> None:
    """Write `data` at the beginning of the file at `path`, which has one page, and wait for the disk."""
    descriptor, made = _open(os.fspath(path), _PAGE_BYTES)
    try:
        os.pwrite(descriptor, data, 0)
        sync(descriptor)
    finally:
        os.close(descriptor)
    for folder in made:
        sync_directory(folder)


def write_all(descriptor: int, data: bytes | bytearray | memoryview, at: int) -> None:
    """Write `data` at byte `at`, however many calls it takes. Raises OSError."""
    written = os.pwrite(descriptor, data, at)
    while written < len(data):
        more = os.pwrite(descriptor, data[written:], at + written)
        written += more
