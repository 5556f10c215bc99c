"""Appending another log as it is: a slave's log is its master's, byte for byte (replication.md §1.2)."""

from __future__ import annotations

import struct
from typing import Final

from mqframe.core.errors import StoreError
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_records
from mqframe.core.storage.record import BLANK_BYTES, HEAD, MAGIC_V1, MAGIC_V2
from mqframe.store.log.commit_log import CommitLog

_SIZE_MAGIC: Final = struct.Struct(">ii")


class LogCopy:
    """Appends to `log` what comes of its master's, in whole records: so the log never ends inside of one.

    What has come of the next record is kept in memory; whoever reconnects asks for it again.
    """

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._rest = bytearray()
        self._wanted = 0

    @property
    def received(self) -> int:
        """Log offset behind the last byte that came."""
        return self._log.end + len(self._rest)

    def forget(self) -> None:
        """Drop what has come of a record that is not whole."""
        self._rest.clear()
        self._wanted = 0

    def take(self, data: bytes) -> list[LogRecord]:
        """Append the records that are whole now, and the blank ends of files; returns the records.

        Raises `StoreError` where no record lies in the place of one; it and what follows is not appended.
        `StoreUnavailable` when the disk is full.
        """
        rest, log = self._rest, self._log
        rest += data
        taken: list[LogRecord] = []
        while len(rest) > self._wanted:
            room = log.file_bytes - log.end % log.file_bytes
            some = bytes(rest[:room])
            records = read_records(some, 0, log.end)
            if records:
                size = records[-1].end - log.end
            elif is_blank(some, 0):
                size = room
            else:
                size = self._size_of_next(some, room)
            if size > len(rest):
                self._wanted = size - 1
                break
            log.append_copy(rest[:size])
            del rest[:size]
            self._wanted = 0
            taken += records
        return taken

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
