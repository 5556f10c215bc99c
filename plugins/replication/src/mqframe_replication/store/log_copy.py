"""Appending another log as it is: a slave's log is its master's, byte for byte (replication.md §1.2)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

from mqframe.core.errors import StoreError
from mqframe.core.storage.log_reading import LogRuns
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_records
from mqframe.core.storage.record import BLANK_BYTES, HEAD, MAGIC_V1, MAGIC_V2
from mqframe.store.log.commit_log import CommitLog

_SIZE_MAGIC: Final = struct.Struct(">ii")
ALONE_BYTES, LEFT_BYTES = 1 << 18, 1 << 12
"""So much Python reads at once: until something was said ahead; then, before it asks again what can be."""
Ahead = Callable[[memoryview, int, int], LogRuns | None]
"""As `LogReading.read`: given a view, a byte of it, the log offset of the view."""


class LogCopy:
    """Appends to `log` what comes of its master's, in whole records: so the log never ends inside of one.

    What has come of the next record is kept in memory; whoever reconnects asks for it again. `ahead`: says
    what the records that follow hold, or leaves them to Python.
    """

    def __init__(self, log: CommitLog, ahead: Ahead = lambda view, at, base: None) -> None:
        self._log = log
        self._ahead = ahead
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = 0

    @property
    def received(self) -> int:
        """Log offset behind the last byte that came."""
        return self._log.end + self._size

    def forget(self) -> None:
        """Drop what has come of a record that is not whole."""
        self._keep(b"", 0)

    def _keep(self, rest: bytes, wanted: int) -> None:
        self._parts = [rest] if rest else []
        self._size, self._wanted = len(rest), wanted

    def take(self, *parts: bytes | memoryview) -> Iterator[list[LogRecord] | LogRuns]:
        """Append the records that are whole now, and the blank ends of files; the records, many at a time, or
        what is said of them.

        `parts`: what came, one behind the other. Raises `StoreError` where no record lies in the place of
        one; it and what follows is not appended. `StoreUnavailable` when the disk is full.
        """
        self._size += sum(map(len, parts))
        if self._size < self._wanted:
            # Parts of a large record are joined once, when the last of them is there.
            self._parts += map(bytes, parts)
            return
        some, at, log = b"".join([*self._parts, *parts]), 0, self._log
        view, wanted, left = memoryview(some), 0, ALONE_BYTES
        try:
            while at < len(some):
                room = log.file_bytes - log.end % log.file_bytes
                said = self._ahead(view[: at + room], at, log.end - at)
                of_file = some if len(some) - at <= room else some[: at + room]
                records: list[LogRecord] | LogRuns
                if said is not None:
                    records, size, left = said, said.end - log.end, LEFT_BYTES
                elif records := read_records(of_file, at, log.end - at, at + left):
                    size = records[-1].end - log.end
                elif is_blank(of_file, at):
                    size = room
                else:
                    size = self._size_of_next(of_file[at:], room)
                if size > len(some) - at:
                    wanted = size
                    break
                log.append_copy(view[at : at + size])
                at += size
                self._size = len(some) - at
                if records:
                    yield records
        finally:
            self._keep(some[at:], wanted)

    def _size_of_next(self, some: bytes, room: int) -> int:
        """How many bytes have to be there to look again. Raises `StoreError` where no record begins."""
        if len(some) < _SIZE_MAGIC.size:
            return _SIZE_MAGIC.size
        size, magic = _SIZE_MAGIC.unpack_from(some)
        if magic in (MAGIC_V1, MAGIC_V2) and HEAD.size < size <= room - BLANK_BYTES and size > len(some):
            return int(size)
        raise StoreError(
            f"what the master sent for log offset {self._log.end} is no sound record. If its files have"
            f" another size than {self._log.file_bytes} bytes here, set store.commit_log_file_bytes"
            " (mappedFileSizeCommitLog) to that of the master and start with an empty store; else its log is"
            " damaged there, or this one is not a copy of it"
        )
