"""Who uses a store directory: the lock, and the abort mark that an unclean end leaves (store.md §1)."""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import file_mode
from mqframe.store.files.syncing import make_directories, sync_directory, write_durably


class Ownership:
    """Exclusive use of a store directory: byte 0 of its file `lock` is locked.

    Raises `StoreError` when somebody else has it, and when its files cannot be opened or written.
    `was_killed`: whether the last owner did not stop in good order.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        try:
            make_directories(layout.root)
            self._descriptor = _locked(layout)
            self.was_killed = layout.abort.exists()
        except OSError as problem:
            raise StoreError(f"the store in {layout.root} cannot be used: {told(problem)}") from problem

    def mark(self) -> None:
        """From now on, as soon as this returns, an end without `unmark` is an unclean one.

        To be called before anything of the store is changed. Raises OSError.
        """
        write_durably(self._layout.abort, str(os.getpid()).encode())

    def unmark(self) -> None:
        """Everything is on disk. Raises OSError."""
        self._layout.abort.unlink(missing_ok=True)
        sync_directory(self._layout.root)

    def release(self) -> None:
        """Let others use the directory."""
        os.close(self._descriptor)


def _locked(layout: Layout) -> int:
    descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, file_mode())
    try:
        _lock_first_byte(descriptor)
    except OSError as problem:
        os.close(descriptor)
        if problem.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise StoreError(
            f"{layout.root} is in use by another broker (it holds {layout.lock}): stop that one, or give this"
            " one a directory of its own"
        ) from None
    try:
        os.pwrite(descriptor, b"lock", 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _lock_first_byte(descriptor: int) -> None:
    if hasattr(fcntl, "F_OFD_SETLK"):
        # Belongs to the open file, not to the process: a second store in this process is refused too, and
        # closing that one's descriptor does not give this lock away. Java's lock of the same byte conflicts.
        request = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
