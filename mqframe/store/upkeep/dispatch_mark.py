"""How far a process that was killed had written queues and index, on a machine that ran on (store.md §4)."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from typing import Final

from mqframe.net.clock import boot_id
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import file_mode

CHECKED_AGAIN_BYTES: Final = 32 << 20
"""Of the log, at least so much is checked again after a kill: where it was written last, it is torn."""

_MARK: Final = struct.Struct(">4s40sqq")
_CRC: Final = struct.Struct(">I")
_MAGIC: Final = b"MQD1"


class DispatchMark:
    """A log offset before which all records are in queues and index, as far as the page cache knows.

    It is never waited for until it is on disk, and counts only for the same boot and the very `abort` file
    of its process: not after a power loss, not in a copy, and not once another broker was there.
    """

    def __init__(self, layout: Layout, boot: Callable[[], str] = boot_id) -> None:
        self._path = layout.dispatched
        self._abort = layout.abort
        self._boot = boot
        self._from = self._next = -1
        self._owner: tuple[bytes, int] | None = None
        self._written = -1

    def trusted(self) -> int | None:
        """The offset, bytes; `None` when nothing is known of what the page cache held."""
        owner = self._identity()
        try:
            raw = self._path.read_bytes()
        except OSError:
            return None
        if owner is None or len(raw) != _MARK.size + _CRC.size:
            return None
        magic, boot, abort, position = _MARK.unpack_from(raw)
        whole = _CRC.unpack_from(raw, _MARK.size)[0] == zlib.crc32(raw[: _MARK.size])
        return position if whole and magic == _MAGIC and (boot.rstrip(b"\0"), abort) == owner else None

    def _identity(self) -> tuple[bytes, int] | None:
        boot = self._boot().encode()[:40]
        try:
            return (boot, os.stat(self._abort).st_ctime_ns) if boot else None
        except OSError:
            return None

    def clear(self) -> None:
        """What it says does not hold any more. Raises OSError."""
        self._path.unlink(missing_ok=True)

    def note(self, done: int) -> None:
        """All before log offset `done` is dispatched. Raises OSError."""
        if self._owner is None:
            self._owner = self._identity()
            self._from = self._next = done
        elif done - self._next >= CHECKED_AGAIN_BYTES:
            self._from, self._next = self._next, done
        if self._owner is None or self._from == self._written:
            return
        packed = _MARK.pack(_MAGIC, *self._owner, self._from)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, file_mode())
        try:
            os.pwrite(descriptor, packed + _CRC.pack(zlib.crc32(packed)), 0)
        finally:
            os.close(descriptor)
        self._written = self._from
